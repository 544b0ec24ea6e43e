//! `bucketize`: which of the intervals between some bounds a number lies in.

use super::numbers::{Number, Wide, by_dtype, packed};
use super::shapes::numbers_of;
use crate::prelude::*;
use std::cmp::Ordering;

function! {
    /// Returns the number of the bucket that each element lies in, from 0 to the number of bounds.
    ///
    /// `bounds` are in ascending order. Bucket `k` begins at bound `k - 1`, which belongs to it, and ends before bound
    /// `k`: 0 is what lies below all bounds. These are the numbers of NumPy's `digitize(x, bounds)`; in PyTorch,
    /// `bucketize(x, bounds, right=True)`. Elements are compared as `f64`. NaN lies in the last bucket, as in NumPy.
    ///
    /// ```pipe
    /// range(2) |> map { x: bucketize(i, [0.5, 10, 100]) }    # { x: i64 }
    /// ```
    "bucketize(x: any, bounds: floats) -> any",
    // Assumed: two nanoseconds an element of four bytes.
    cost: Cost::out(15.0, 0.25),
    result: Some(result),
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let (_, shape) = numbers_of(applied, 0)?;
    let bounds =
        bounds_of(&applied.args[1]).ok_or("`bounds` must be a number or a list of numbers")?;
    if let Some(nan) = bounds.iter().find(|it| it.is_nan()) {
        return Err(format!("a bound cannot be {nan}"));
    }
    if let Some(pair) = bounds.windows(2).find(|it| it[0] > it[1]) {
        let (a, b) = (pair[0], pair[1]);
        return Err(format!("`bounds` must be in ascending order, but {b} follows {a}"));
    }
    Ok(Type::Tensor { dtype: DType::I64, shape })
}

fn bounds_of(arg: &Arg) -> Option<Vec<f64>> {
    match arg {
        Arg::Int(it) => Some(vec![*it as f64]),
        Arg::Float(it) => Some(vec![*it]),
        Arg::List(all) if !all.iter().any(|it| matches!(it, Arg::List(_))) => {
            all.iter().map(|it| bounds_of(it)?.first().copied()).collect()
        }
        _ => None,
    }
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let dtype = call.dtype(0).expect("the checker saw to a tensor");
    let bounds = bounds_of(&call.args[1]).expect("the checker saw to numbers");
    Ok(by_dtype!(dtype, T => kernel::<T>(bounds)))
}

fn kernel<T: Number>(bounds: Vec<f64>) -> Kernel {
    Kernel::compute(move |args, out| {
        let x = args.tensor(0);
        let room = out.tensor::<i64>(x.shape())?;
        packed::<T, _>(&x, |values| {
            for (to, x) in room.iter_mut().zip(values) {
                let x = x.total().to_f64();
                // Whatever is not below a bound lies behind it, and so does NaN.
                let below = |bound: &f64| x.partial_cmp(bound).is_none_or(Ordering::is_ge);
                *to = bounds.partition_point(below) as i64;
            }
            Ok(())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, Value};
    use super::*;

    fn of(bounds: &[f64]) -> Arg {
        Arg::List(bounds.iter().map(|it| Arg::Float(*it)).collect())
    }

    /// `np.digitize` of NumPy 2.4, of the same numbers.
    #[test]
    fn agrees_with_numpy() {
        let run = |x: Tensor<'_>, bounds: &[f64]| {
            Trial::of(&ENTRY).value(x).arg(of(bounds)).run().map(|it| it.to_vec::<i64>())
        };
        let x = [-1.0, 0.0, 0.5, 1.0, 2.5, 4.0, 10.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
        let x = Tensor::new(&[10], &x);
        assert_eq!(run(x, &[0.0, 1.0, 2.5, 4.0, 10.0]), Ok(vec![0, 1, 1, 2, 3, 4, 5, 5, 5, 0]));
        assert_eq!(run(x, &[1.0, 1.0, f64::INFINITY]), Ok(vec![0, 0, 0, 2, 2, 2, 2, 3, 3, 0]));
        assert_eq!(run(x, &[]), Ok(vec![0; 10]));
        // Neither is 0.1 as `f32` the same number as 0.1.
        assert_eq!(run(Tensor::new(&[1], &[0.1_f32]), &[0.1]), Ok(vec![1]));
        assert_eq!(run(Tensor::new(&[2], &[u64::MAX, 0]), &[1e18]), Ok(vec![1, 0]));
        assert_eq!(run(Tensor::new(&[2], &[false, true]), &[0.5]), Ok(vec![0, 1]));
    }

    #[test]
    fn keeps_the_extents() {
        let x = Tensor::new(&[2, 3], &[1_u8, 2, 3, 4, 5, 6]).permuted(&[1, 0]);
        let found = Trial::of(&ENTRY).value(x).arg(of(&[3.0])).run();
        assert_eq!(found, Ok(Value::of(&[3, 2], &[0_i64, 1, 0, 1, 1, 1])));
        let found = Trial::of(&ENTRY).value(Tensor::new(&[], &[7_i32])).arg(Arg::Int(7)).run();
        assert_eq!(found, Ok(Value::of(&[], &[1_i64])));
    }

    #[test]
    fn bounds_must_ascend() {
        let refused = |bounds: &[f64]| {
            Trial::of(&ENTRY).value(Tensor::new(&[], &[7_i32])).arg(of(bounds)).refused()
        };
        assert!(refused(&[1.0, 3.0, 2.0]).contains("but 2 follows 3"));
        assert!(refused(&[f64::NAN]).contains("cannot be NaN"));
        let text = Trial::of(&ENTRY).text("7").arg(of(&[1.0])).refused();
        assert!(text.contains("expected numbers"), "{text}");
    }
}
