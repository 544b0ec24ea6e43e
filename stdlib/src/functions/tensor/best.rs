//! Where the best element is: what `argmin` and `argmax` share.

use super::numbers::{Number, packed};
use super::reduce::{Split, reduced};
use super::shapes::{axis_at, without};
use crate::prelude::*;

/// The type of places.
pub(super) fn places(applied: &Applied<'_>) -> Result<Type, String> {
    reduced(applied, |_| Ok(DType::I64))
}

/// The kernel that finds the first of the largest, or else smallest, elements; a NaN is before all
/// others, as in NumPy.
pub(super) fn kernel<T: Number, const LARGEST: bool>(call: &Call<'_>) -> Kernel {
    let whole = call.absent(1);
    Kernel::compute(move |args, out| {
        let x = args.tensor(0);
        let axis = (!whole).then(|| axis_at(args.int(1), x.shape().len()));
        let room = out.tensor::<i64>(&without(x.shape(), axis))?;
        let Split { n, inner } = Split::new(x.shape(), axis);
        if n == 0 && !room.is_empty() {
            return Err(Fault::new("empty", "there are no elements to choose from"));
        }
        packed::<T, _>(&x, |values| {
            for (i, to) in room.iter_mut().enumerate() {
                let first = i / inner * inner * n + i % inner;
                *to = place::<T, LARGEST>(&values[first..], n, inner);
            }
            Ok(())
        })
    })
}

/// Where the best of `n` elements is, each `step` behind the other.
fn place<T: Number, const LARGEST: bool>(values: &[T], n: usize, step: usize) -> i64 {
    let (mut best, mut at) = (values[0], 0);
    for (i, &x) in values.iter().step_by(step).take(n).enumerate() {
        if best.is_none() {
            break;
        }
        let better = if LARGEST { x > best } else { x < best };
        if better || x.is_none() {
            (best, at) = (x, i);
        }
    }
    at as i64
}
