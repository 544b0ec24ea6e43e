//! `mean`: the mean of all elements, or of those along an axis.

use super::numbers::{Number, Wide, averaged, by_dtype};
use super::reduce::{Fold, kernel, reduced};
use crate::prelude::*;

function! {
    /// Returns the mean of all elements, or of those along `axis`.
    ///
    /// `axis` is removed from the result; a negative one counts from the last. Floats keep their dtype: the sum
    /// is computed in `f64`, in a defined order, divided there, and rounded once. Integers and `bool` return
    /// `f32` (`f64` in NumPy), from an exact sum. The mean of no elements is NaN.
    ///
    /// ```pipe
    /// range(2) |> map { m: mean(plasma(i, 4, 6), axis: -1) }    # { m: f32[4, 6] }
    /// ```
    "mean(x: any, axis: int = none) -> any",
    // Assumed: as `sum`.
    cost: Cost { ns_byte_in: 0.25, ..Cost::out(15.0, 1.2) },
    properties: &[Property::Reduces(Reduction::Mean)],
    result: Some(|it| reduced(it, |dtype| Ok(averaged(dtype)))),
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let dtype = call.dtype(0).expect("the checker saw to a tensor");
    Ok(by_dtype!(dtype, T => kernel::<T, Mean>(call)))
}

struct Mean;

impl<T: Number> Fold<T> for Mean {
    type Total = T::Exact;
    type Out = T::Mean;
    const START: T::Exact = T::Exact::ZERO;
    fn take(total: T::Exact, x: T) -> T::Exact {
        total.plus(x.exact())
    }
    fn merge(total: T::Exact, other: T::Exact) -> T::Exact {
        total.plus(other)
    }
    fn finish(total: T::Exact, n: usize) -> Option<T::Mean> {
        Some(T::mean(total.to_f64() / n as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, Value};
    use super::*;

    /// `np.arange(12, dtype='f4').reshape(2, 3, 2).mean(axis)` for each axis.
    #[test]
    fn agrees_with_numpy() {
        let values: Vec<f32> = (0..12).map(|it| it as f32).collect();
        let run = |axis| Trial::of(&ENTRY).value(Tensor::new(&[2, 3, 2], &values)).arg(axis).run();
        assert_eq!(run(Arg::None), Ok(Value::of(&[], &[5.5_f32])));
        assert_eq!(run(Arg::Int(0)), Ok(Value::of(&[3, 2], &[3_f32, 4., 5., 6., 7., 8.])));
        assert_eq!(run(Arg::Int(1)), Ok(Value::of(&[2, 2], &[2_f32, 3., 8., 9.])));
        assert_eq!(run(Arg::Int(2)), Ok(Value::of(&[2, 3], &[0.5_f32, 2.5, 4.5, 6.5, 8.5, 10.5])));
    }

    #[test]
    fn integers_give_f32_and_do_not_wrap() {
        let run = |x: Tensor<'_>| Trial::of(&ENTRY).value(x).arg(Arg::None).run();
        assert_eq!(run(Tensor::new(&[2], &[255_u8, 0])), Ok(Value::of(&[], &[127.5_f32])));
        assert_eq!(
            run(Tensor::new(&[4], &[true, false, true, true])),
            Ok(Value::of(&[], &[0.75_f32]))
        );
        let wide = Tensor::new(&[2], &[u64::MAX, u64::MAX]);
        assert_eq!(run(wide), Ok(Value::of(&[], &[18_446_744_073_709_551_615_f32])));
    }

    #[test]
    fn nothing_has_no_mean() {
        let found = Trial::of(&ENTRY).value(Tensor::new::<f32>(&[0], &[])).arg(Arg::None).run();
        assert!(found.unwrap().to_vec::<f32>()[0].is_nan());
    }
}
