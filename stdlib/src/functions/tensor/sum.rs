//! `sum`: all elements added up, or those along an axis.

use super::numbers::{Number, Wide, by_dtype, summed};
use super::reduce::{Fold, kernel, reduced};
use crate::prelude::*;

function! {
    /// Returns the sum of all elements, or of those along `axis`.
    ///
    /// `axis` is removed from the result; a negative one counts from the last. Integers of less than 64 bits
    /// and `bool` return `i64`. Floats keep their dtype; the sum is computed in `f64` and rounded once. The
    /// order is defined, so the result has the same bits on every machine. The sum of no elements is 0.
    ///
    /// ```pipe
    /// range(2) |> map { s: sum(plasma(i, 4, 6), axis: 2) }    # { s: i64[4, 6] }
    /// ```
    "sum(x: any, axis: int = none) -> any",
    // Assumed: a quarter of a nanosecond for each byte read, 5 ns for each element of a mean in `f32`.
    cost: Cost { ns_byte_in: 0.25, ..Cost::out(15.0, 1.2) },
    properties: &[Property::Reduces(Reduction::Sum)],
    result: Some(|it| reduced(it, |dtype| Ok(summed(dtype)))),
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let dtype = call.dtype(0).expect("the checker saw to a tensor");
    Ok(by_dtype!(dtype, T => kernel::<T, Sum>(call)))
}

struct Sum;

impl<T: Number> Fold<T> for Sum {
    type Total = T::Total;
    type Out = T::Sum;
    const START: T::Total = T::Total::ZERO;
    fn take(total: T::Total, x: T) -> T::Total {
        total.plus(x.total())
    }
    fn merge(total: T::Total, other: T::Total) -> T::Total {
        total.plus(other)
    }
    fn finish(total: T::Total, _: usize) -> Option<T::Sum> {
        Some(T::sum(total))
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, Value};
    use super::*;
    use half::f16;
    use runtime::Element;

    fn sum<T: Element>(values: &[T]) -> Value {
        let trial = Trial::of(&ENTRY).value(Tensor::new(&[values.len()], values));
        trial.arg(Arg::None).run().unwrap()
    }

    #[test]
    fn every_dtype_gives_its_own() {
        assert_eq!(sum(&[200_u8; 3]), Value::of(&[], &[600_i64]));
        assert_eq!(sum(&[true, false, true]), Value::of(&[], &[2_i64]));
        assert_eq!(sum(&[i32::MIN; 2]), Value::of(&[], &[-4_294_967_296_i64]));
        assert_eq!(sum(&[1_u64 << 63, 5]), Value::of(&[], &[(1_u64 << 63) + 5]));
        assert_eq!(sum(&[i64::MAX, 1]), Value::of(&[], &[i64::MIN]));
        assert_eq!(sum(&[1e300_f64, 1e300]), Value::of(&[], &[2e300_f64]));
    }

    /// `np.full(5000, 0.1, 'f2').sum()` in NumPy 2, which reckons in f32, is 500.0 as well.
    #[test]
    fn narrow_floats_are_rounded_once() {
        assert_eq!(sum(&[f16::from_f32(0.1); 5000]), Value::of(&[], &[f16::from_f32(500.0)]));
        // Lanes 0 and 2 come together first.
        assert_eq!(sum(&[1e30_f32, 1.0, -1e30]), Value::of(&[], &[1_f32]));
        assert_eq!(sum(&[1e30_f32, -1e30, 1.0]), Value::of(&[], &[0_f32]));
        assert_eq!(sum(&[16_777_216_f32, 1.0, 1.0]), Value::of(&[], &[16_777_218_f32]));
    }

    #[test]
    fn text_is_no_number() {
        let refused = Trial::of(&ENTRY).text("a").arg(Arg::None).refused();
        assert!(refused.contains("`str`"), "{refused}");
    }
}
