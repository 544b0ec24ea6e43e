//! `extent`: how long one axis of a tensor is.

use super::shapes::{axis_at, axis_of, numbers_of};
use crate::prelude::*;

function! {
    /// Returns the extent of an axis of a tensor.
    ///
    /// `x.shape[axis]` is short for it. A negative axis counts from the last. The axis is known at compile
    /// time, so this cannot fail, unlike `shape(x)[axis]`.
    ///
    /// ```pipe
    /// range(2) |> map { width: extent(plasma(i, 4, 6), 1) }    # { width: i64 }
    /// ```
    "extent(x: any, axis: int) -> i64",
    cost: Cost::call(4.0),
    properties: &[Property::Asks],
    result: Some(|applied| {
        axis_of(applied, 1, numbers_of(applied, 0)?.1.len())?;
        Ok(Type::scalar(DType::I64))
    }),
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let rank = call.types[0].as_ref().and_then(|it| it.shape()).map(<[_]>::len);
    if let (Arg::Int(axis), Some(rank)) = (&call.args[1], rank) {
        return Ok(Kernel::Extent(axis_at(*axis, rank)));
    }
    Ok(Kernel::compute(|args, out| {
        let x = args.tensor(0);
        let axis = axis_at(args.int(1), x.shape().len());
        out.scalar(x.shape()[axis] as i64)
    }))
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, Value};
    use super::*;

    #[test]
    fn counts_from_either_end() {
        let x = Tensor::new(&[2, 3], &[0_u8; 6]);
        let run = |axis| Trial::of(&ENTRY).value(x).arg(Arg::Int(axis));
        assert_eq!(run(0).run(), Ok(Value::of(&[], &[2_i64])));
        assert_eq!(run(-1).run(), Ok(Value::of(&[], &[3_i64])));
        assert!(run(2).refused().contains("axis 2 is out of range"));
    }
}
