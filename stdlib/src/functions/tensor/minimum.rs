//! `minimum`: the smallest of all elements, or of those along an axis.

use super::numbers::{Number, by_dtype};
use super::reduce::{Fold, kernel, reduced};
use crate::prelude::*;

function! {
    /// Returns the smallest element of all, or of those along `axis`.
    ///
    /// `axis` is removed from the result; a negative one counts from the last. Keeps the dtype. If any element
    /// is NaN, the result is NaN, as in NumPy. Fails with `empty` if there are no elements. For the smaller of
    /// two numbers, use `min(a, b)`.
    ///
    /// ```pipe
    /// range(2) |> map { x: minimum(plasma(i, 4, 6), axis: 0) }    # { x: u8[6, 3] }
    /// ```
    "minimum(x: any, axis: int = none) fails -> any",
    // Assumed: as `sum`.
    cost: Cost { ns_byte_in: 0.25, ..Cost::out(15.0, 1.2) },
    properties: &[Property::Reduces(Reduction::Least)],
    result: Some(|it| reduced(it, ordered)),
}

fn ordered(dtype: DType) -> Result<DType, String> {
    if dtype == DType::Bool {
        return Err("for `bool`, use `all(x)`".into());
    }
    Ok(dtype)
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let dtype = call.dtype(0).expect("the checker saw to a tensor");
    Ok(by_dtype!(dtype, T => kernel::<T, Smallest>(call)))
}

struct Smallest;

impl<T: Number> Fold<T> for Smallest {
    type Total = T;
    type Out = T;
    const START: T = T::HIGHEST;
    fn take(total: T, x: T) -> T {
        if x < total || x.is_none() { x } else { total }
    }
    fn merge(total: T, other: T) -> T {
        Self::take(total, other)
    }
    fn finish(total: T, n: usize) -> Option<T> {
        (n > 0).then_some(total)
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, Value};
    use super::*;

    #[test]
    fn the_smallest_is_found_wherever_it_is() {
        let run = |x: Tensor<'_>, axis| Trial::of(&ENTRY).value(x).arg(axis).run();
        for at in 0..40 {
            let mut values = [0_i32; 40];
            values[at] = -7;
            let all = run(Tensor::new(&[40], &values), Arg::None);
            assert_eq!(all, Ok(Value::of(&[], &[values[at]])));
            let columns = run(Tensor::new(&[20, 2], &values), Arg::Int(0)).unwrap();
            assert_eq!(columns.to_vec::<i32>()[at % 2], values[at]);
            assert_eq!(columns.to_vec::<i32>()[1 - at % 2], 0);
        }
    }

    #[test]
    fn a_nan_stays() {
        for at in 0..3 {
            let mut values = [1_f32, -1., 2.];
            values[at] = f32::NAN;
            let x = Tensor::new(&[3], &values);
            let found = Trial::of(&ENTRY).value(x).arg(Arg::None).run().unwrap();
            assert!(found.to_vec::<f32>()[0].is_nan());
        }
    }

    #[test]
    fn infinities_are_numbers() {
        let x = Tensor::new(&[1], &[f32::INFINITY]);
        let found = Trial::of(&ENTRY).value(x).arg(Arg::None).run();
        assert_eq!(found, Ok(Value::of(&[], &[f32::INFINITY])));
    }
}
