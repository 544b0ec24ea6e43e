//! `argmin`: where the smallest element is.

use super::best::{kernel, places};
use super::numbers::by_dtype;
use crate::prelude::*;

function! {
    /// Returns the index of the smallest element of all, or of those along `axis`.
    ///
    /// If several are equal, it is the index of the first, in C order. `axis` is removed from the result; a
    /// negative one counts from the last. NaN counts as the smallest, as in NumPy. Fails with `empty` if there
    /// are no elements.
    ///
    /// ```pipe
    /// range(2) |> map { at: argmin(plasma(i, 4, 6), axis: 2) }    # { at: i64[4, 6] }
    /// ```
    "argmin(x: any, axis: int = none) fails -> any",
    // Assumed: a nanosecond an element of two bytes.
    cost: Cost { ns_byte_in: 0.5, ..Cost::call(15.0) },
    result: Some(places),
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let dtype = call.dtype(0).expect("the checker saw to a tensor");
    Ok(by_dtype!(dtype, T => kernel::<T, false>(call)))
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, Value};
    use super::*;

    /// `np.argmin` of the same tensor.
    #[test]
    fn agrees_with_numpy() {
        let run = |x: Tensor<'_>, axis| Trial::of(&ENTRY).value(x).arg(axis).run();
        let x = Tensor::new(&[2, 3], &[3_i32, 1, 1, 0, 5, 0]);
        assert_eq!(run(x, Arg::None), Ok(Value::of(&[], &[3_i64])));
        assert_eq!(run(x, Arg::Int(0)), Ok(Value::of(&[3], &[1_i64, 0, 1])));
        assert_eq!(run(x, Arg::Int(1)), Ok(Value::of(&[2], &[1_i64, 0])));
        assert_eq!(run(x.permuted(&[1, 0]), Arg::Int(0)), Ok(Value::of(&[2], &[1_i64, 0])));
        let x = Tensor::new(&[4], &[0_f32, f32::NAN, 1., f32::NAN]);
        assert_eq!(run(x, Arg::None), Ok(Value::of(&[], &[1_i64])));
    }

    #[test]
    fn nothing_has_none() {
        let found = Trial::of(&ENTRY).value(Tensor::new::<f32>(&[0], &[])).arg(Arg::None).run();
        assert_eq!(found.unwrap_err().code, "empty");
    }
}
