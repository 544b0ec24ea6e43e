//! `prod`: all elements multiplied, or those along an axis.

use super::numbers::{Number, Wide, by_dtype, summed};
use super::reduce::{Fold, kernel, reduced};
use crate::prelude::*;

function! {
    /// Returns the product of all elements, or of those along `axis`.
    ///
    /// `axis` is removed from the result; a negative one counts from the last. Integers of less than 64 bits
    /// and `bool` return `i64`, which wraps around on overflow. Floats keep their dtype; the product is
    /// computed in `f64`, in a defined order, and rounded once. The product of no elements is 1.
    ///
    /// ```pipe
    /// range(2) |> map { n: prod(shape(plasma(i, 4, 6))) }    # { n: i64 }
    /// ```
    "prod(x: any, axis: int = none) -> any",
    // Assumed: as `sum`.
    cost: Cost { ns_byte_in: 0.25, ..Cost::call(15.0) },
    result: Some(|it| reduced(it, |dtype| Ok(summed(dtype)))),
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let dtype = call.dtype(0).expect("the checker saw to a tensor");
    Ok(by_dtype!(dtype, T => kernel::<T, Product>(call)))
}

struct Product;

impl<T: Number> Fold<T> for Product {
    type Total = T::Total;
    type Out = T::Sum;
    const START: T::Total = T::Total::ONE;
    fn take(total: T::Total, x: T) -> T::Total {
        total.times(x.total())
    }
    fn merge(total: T::Total, other: T::Total) -> T::Total {
        total.times(other)
    }
    fn finish(total: T::Total, _: usize) -> Option<T::Sum> {
        Some(T::sum(total))
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, Value};
    use super::*;

    #[test]
    fn products() {
        let run = |x: Tensor<'_>, axis| Trial::of(&ENTRY).value(x).arg(axis).run();
        let x = Tensor::new(&[2, 3], &[1_i32, 2, 3, 4, 5, 6]);
        assert_eq!(run(x, Arg::None), Ok(Value::of(&[], &[720_i64])));
        assert_eq!(run(x, Arg::Int(0)), Ok(Value::of(&[3], &[4_i64, 10, 18])));
        assert_eq!(run(x, Arg::Int(-1)), Ok(Value::of(&[2], &[6_i64, 120])));
        assert_eq!(run(Tensor::new::<f32>(&[0], &[]), Arg::None), Ok(Value::of(&[], &[1_f32])));
    }
}
