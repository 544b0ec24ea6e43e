//! `take_at`: one element of the first axis.

use super::shapes::numbers_of;
use crate::prelude::*;

function! {
    /// Returns element `i` of the first axis, and removes the axis.
    ///
    /// `x[i]` is short for it. A negative index counts from the end. An index out of range is an error at
    /// compile time if it is known then; otherwise the record fails with `index`. Nothing is copied.
    ///
    /// ```pipe
    /// range(2) |> map { row: take_at(plasma(i, 4, 6), -1) }    # { row: u8[6, 3] }
    /// ```
    "take_at(x: any, i: int) fails -> any",
    cost: Cost::call(5.0),
    properties: &[Property::Crops],
    result: Some(result),
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let (dtype, shape) = numbers_of(applied, 0)?;
    let Some((first, rest)) = shape.split_first() else {
        return Err("a single number has no elements to choose from".into());
    };
    if let (Extent::Known(n), Some(i)) = (first, applied.int(1)) {
        place(i, *n as usize)?;
    }
    Ok(Type::Tensor { dtype, shape: rest.to_vec() })
}

/// Which of `n` elements `i` means.
pub(super) fn place(i: i64, n: usize) -> Result<usize, String> {
    let found = if i < 0 { i.saturating_add(n as i64) } else { i };
    let found = usize::try_from(found).ok().filter(|it| *it < n);
    found
        .ok_or_else(|| format!("index {i} is out of range: there are {n} elements, counted from 0"))
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::view(|args| {
        let x = args.tensor(0);
        let at = place(args.int(1), x.shape()[0]).map_err(|it| Fault::new("index", it))?;
        Ok(x.element(at))
    }))
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, Value};
    use super::*;

    #[test]
    fn counts_from_either_end() {
        let values: Vec<u16> = (0..6).collect();
        let x = Tensor::new(&[3, 2], &values);
        let trial = |i| Trial::of(&ENTRY).value(x).arg(Arg::Int(i));
        assert_eq!(trial(0).run(), Ok(Value::of(&[2], &[0_u16, 1])));
        assert_eq!(trial(-1).run(), Ok(Value::of(&[2], &[4_u16, 5])));
        for outside in [3, -4, i64::MIN] {
            assert!(trial(outside).refused().contains("there are 3"));
            assert_eq!(trial(outside).unknown().run().unwrap_err().code, "index");
        }
    }
}
