//! `expand`: one axis more.

use super::shapes::{axis_at, axis_of, numbers_of, ranked};
use crate::prelude::*;

function! {
    /// Inserts a new axis of extent 1 at position `axis`.
    ///
    /// A negative axis counts from the last axis of the result, as in NumPy's `expand_dims`.
    ///
    /// ```pipe
    /// range(2) |> map { x: expand(plasma(i, 4, 6), 0) }    # { x: u8[1, 4, 6, 3] }
    /// ```
    "expand(x: any, axis: int) -> any",
    cost: Cost::call(4.0),
    properties: &[Property::Moves],
    result: Some(result),
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let (dtype, mut shape) = numbers_of(applied, 0)?;
    let axis = axis_of(applied, 1, shape.len() + 1)?;
    shape.insert(axis, Extent::Known(1));
    ranked(dtype, shape)
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::view(|args| {
        let x = args.tensor(0);
        let axis = axis_at(args.int(1), x.shape().len() + 1);
        Ok(x.expanded(axis))
    }))
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, Value};
    use super::*;

    #[test]
    fn an_axis_of_extent_one() {
        let values = [1_i16, 2, 3, 4, 5, 6];
        let x = Tensor::new(&[3, 2], &values).permuted(&[1, 0]);
        let run = |axis| Trial::of(&ENTRY).value(x).arg(Arg::Int(axis));
        let moved = [1_i16, 3, 5, 2, 4, 6];
        assert_eq!(run(0).run(), Ok(Value::of(&[1, 2, 3], &moved)));
        assert_eq!(run(1).run(), Ok(Value::of(&[2, 1, 3], &moved)));
        assert_eq!(run(-1).run(), Ok(Value::of(&[2, 3, 1], &moved)));
        assert!(run(3).refused().contains("axis 3 is out of range"));
    }
}
