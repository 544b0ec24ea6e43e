//! `cumsum`: running sums.

use super::numbers::{Number, Wide, by_dtype, packed, summed};
use super::reduce::Split;
use super::shapes::{axis_at, axis_of, numbers_of};
use crate::prelude::*;

function! {
    /// Returns the cumulative sum along `axis`, or of all elements.
    ///
    /// Without `axis`, elements are summed in C order. A negative axis counts from the last. Integers of less
    /// than 64 bits and `bool` return `i64`. Floats keep their dtype: the running total is computed in `f64`,
    /// from the first element on, and each sum is rounded once.
    ///
    /// ```pipe
    /// range(2) |> map { x: cumsum(plasma(i, 4, 6), axis: 0) }    # { x: i64[4, 6, 3] }
    /// ```
    "cumsum(x: any, axis: int = none) -> any",
    // Assumed: a nanosecond an element of four bytes.
    cost: Cost { ns_byte_in: 0.25, ..Cost::call(15.0) },
    result: Some(result),
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let (dtype, shape) = numbers_of(applied, 0)?;
    if !matches!(applied.args[1], Arg::None) {
        axis_of(applied, 1, shape.len())?;
        return Ok(Type::Tensor { dtype: summed(dtype), shape });
    }
    let known = |it: &Extent| if let Extent::Known(n) = it { Some(*n) } else { None };
    let all: Option<u64> = shape.iter().map(known).product();
    let extent = match &shape[..] {
        [one] => one.clone(),
        _ => all.map_or(Extent::Unknown, Extent::Known),
    };
    Ok(Type::Tensor { dtype: summed(dtype), shape: vec![extent] })
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let dtype = call.dtype(0).expect("the checker saw to a tensor");
    Ok(by_dtype!(dtype, T => kernel::<T>(call)))
}

fn kernel<T: Number>(call: &Call<'_>) -> Kernel {
    let whole = call.absent(1);
    Kernel::compute(move |args, out| {
        let x = args.tensor(0);
        let axis = (!whole).then(|| axis_at(args.int(1), x.shape().len()));
        let flat = [x.elements()];
        let room = out.tensor::<T::Sum>(if whole { &flat } else { x.shape() })?;
        let Split { n, inner } = Split::new(x.shape(), axis);
        let block = (n * inner).max(1);
        packed::<T, _>(&x, |values| {
            for (room, values) in room.chunks_exact_mut(block).zip(values.chunks_exact(block)) {
                (0..inner).for_each(|column| run(values, room, (column, inner)));
            }
            Ok(())
        })
    })
}

/// The running sum of one column of `inner`.
fn run<T: Number>(values: &[T], room: &mut [T::Sum], (column, inner): (usize, usize)) {
    let mut total = T::Total::ZERO;
    let places = room.iter_mut().skip(column).step_by(inner);
    for (to, &x) in places.zip(values.iter().skip(column).step_by(inner)) {
        total = total.plus(x.total());
        *to = T::sum(total);
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, Value};
    use super::*;

    /// `np.cumsum` of the same tensor.
    #[test]
    fn agrees_with_numpy() {
        let run = |x: Tensor<'_>, axis| Trial::of(&ENTRY).value(x).arg(axis).run();
        let x = Tensor::new(&[2, 3], &[1_u8, 2, 3, 250, 5, 6]);
        assert_eq!(run(x, Arg::None), Ok(Value::of(&[6], &[1_i64, 3, 6, 256, 261, 267])));
        assert_eq!(run(x, Arg::Int(0)), Ok(Value::of(&[2, 3], &[1_i64, 2, 3, 251, 7, 9])));
        assert_eq!(run(x, Arg::Int(-1)), Ok(Value::of(&[2, 3], &[1_i64, 3, 6, 250, 255, 261])));
        let x = x.permuted(&[1, 0]);
        assert_eq!(run(x, Arg::Int(1)), Ok(Value::of(&[3, 2], &[1_i64, 251, 2, 7, 3, 9])));
        assert_eq!(run(Tensor::new::<f32>(&[0], &[]), Arg::None), Ok(Value::of::<f32>(&[0], &[])));
        assert_eq!(run(Tensor::new(&[], &[2_f64]), Arg::None), Ok(Value::of(&[1], &[2_f64])));
    }
}
