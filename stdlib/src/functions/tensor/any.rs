//! `any`: whether one of all elements is true, or of those along an axis.

use super::reduce::{Fold, kernel, reduced};
use crate::prelude::*;

function! {
    /// Returns true if any element, or any along `axis`, is true.
    ///
    /// `axis` is removed from the result; a negative one counts from the last. It is `false` for no elements.
    ///
    /// ```pipe
    /// range(2) |> map { x: any(plasma(i, 4, 6) > 9, axis: 2) }    # { x: bool[4, 6] }
    /// ```
    "any(x: any, axis: int = none) -> any",
    // Assumed: as `sum`.
    cost: Cost { ns_byte_in: 0.25, ..Cost::out(15.0, 1.2) },
    properties: &[Property::Reduces(Reduction::Any)],
    result: Some(|it| reduced(it, truth)),
}

fn truth(dtype: DType) -> Result<DType, String> {
    if dtype != DType::Bool {
        return Err(format!("expected `bool`, found `{dtype}`: use a comparison"));
    }
    Ok(dtype)
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(kernel::<bool, One>(call))
}

struct One;

impl Fold<bool> for One {
    type Total = bool;
    type Out = bool;
    const START: bool = false;
    fn take(total: bool, x: bool) -> bool {
        total | x
    }
    fn merge(total: bool, other: bool) -> bool {
        total | other
    }
    fn finish(total: bool, _: usize) -> Option<bool> {
        Some(total)
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, Value};
    use super::*;

    #[test]
    fn over_all_and_along_an_axis() {
        let run = |x: Tensor<'_>, axis| Trial::of(&ENTRY).value(x).arg(axis).run();
        let x = Tensor::new(&[2, 2], &[true, false, true, true]);
        assert_eq!(run(x, Arg::None), Ok(Value::of(&[], &[true])));
        assert_eq!(run(x, Arg::Int(0)), Ok(Value::of(&[2], &[true, true])));
        assert_eq!(run(x.element(0), Arg::None), Ok(Value::of(&[], &[true])));
        assert_eq!(run(Tensor::new::<bool>(&[0], &[]), Arg::None), Ok(Value::of(&[], &[false])));
    }

    #[test]
    fn numbers_are_no_truths() {
        let refused = Trial::of(&ENTRY).value(Tensor::new(&[], &[1_u8])).arg(Arg::None).refused();
        assert!(refused.contains("comparison"), "{refused}");
    }
}
