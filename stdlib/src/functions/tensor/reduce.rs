//! Reductions: many elements to one, over all of them or along an axis.
//!
//! The order is defined (`semantics.md`, 4). Of the `n` elements that are reduced together, in
//! C order, lane `k` of 16 takes elements `k`, `k + 16`, `k + 32`, …, each in turn; then lane
//! `k` takes in lane `k + 8`, for `k` below 8, then `k + 4`, `k + 2`, `k + 1`. Floats of any
//! width are reckoned in `f64`, and rounded to their own width once, at the end. So the result
//! is the same to the bit on every machine, and at least as exact as NumPy's.

use super::numbers::packed;
use super::shapes::{axis_at, axis_of, numbers_of, without};
use crate::prelude::*;
use runtime::Element;

const LANES: usize = 16;
/// Columns that are reduced at a time, where the axis is not the last: 16 lanes of them stay in
/// the first cache.
const COLUMNS: usize = 32;

/// How elements of type `T` become one.
pub(super) trait Fold<T: Element>: 'static {
    /// What a lane holds.
    type Total: Copy;
    /// The result.
    type Out: Element;
    /// What a lane without elements holds.
    const START: Self::Total;
    /// Takes in one element.
    fn take(total: Self::Total, x: T) -> Self::Total;
    /// Takes in another lane; one without elements changes nothing.
    fn merge(total: Self::Total, other: Self::Total) -> Self::Total;
    /// The result of `n` elements; none, where that is not defined.
    fn finish(total: Self::Total, n: usize) -> Option<Self::Out>;
}

/// The type of a reduction over argument 1, an axis or none, that gives `dtype`.
pub(super) fn reduced(
    applied: &Applied<'_>,
    dtype: impl FnOnce(DType) -> Result<DType, String>,
) -> Result<Type, String> {
    let (from, shape) = numbers_of(applied, 0)?;
    let axis = match applied.args[1] {
        Arg::None => None,
        _ => Some(axis_of(applied, 1, shape.len())?),
    };
    Ok(Type::Tensor { dtype: dtype(from)?, shape: without(&shape, axis) })
}

/// The kernel of a reduction over argument 1, an axis or none.
pub(super) fn kernel<T: Element, F: Fold<T>>(call: &Call<'_>) -> Kernel {
    let whole = call.absent(1);
    Kernel::compute(move |args, out| {
        let x = args.tensor(0);
        let axis = (!whole).then(|| axis_at(args.int(1), x.shape().len()));
        let room = out.tensor::<F::Out>(&without(x.shape(), axis))?;
        let split = Split::new(x.shape(), axis);
        let done = packed(&x, |values| Ok(fold::<T, F>(values, split, room)))?;
        done.ok_or_else(|| Fault::new("empty", "there are no elements to choose from"))
    })
}

/// Extents before, along and after the axis that is reduced; of all elements, they lie along it.
#[derive(Clone, Copy)]
pub(super) struct Split {
    pub(super) n: usize,
    pub(super) inner: usize,
}

impl Split {
    pub(super) fn new(shape: &[usize], axis: Option<usize>) -> Self {
        match axis {
            None => Self { n: shape.iter().product(), inner: 1 },
            Some(axis) => Self { n: shape[axis], inner: shape[axis + 1..].iter().product() },
        }
    }
}

/// Reduces each run of `n × inner` elements to `inner`; none, where that is not defined.
fn fold<T: Element, F: Fold<T>>(values: &[T], split: Split, room: &mut [F::Out]) -> Option<()> {
    let Split { n, inner } = split;
    if room.is_empty() {
        return Some(());
    }
    if n == 0 {
        return F::finish(F::START, 0).map(|it| room.fill(it));
    }
    if inner == 1 {
        for (to, row) in room.iter_mut().zip(values.chunks_exact(n)) {
            *to = F::finish(fold_row::<T, F>(row), n)?;
        }
        return Some(());
    }
    for (to, block) in room.chunks_exact_mut(inner).zip(values.chunks_exact(n * inner)) {
        for (i, to) in to.chunks_mut(COLUMNS).enumerate() {
            fold_columns::<T, F>(&block[i * COLUMNS..], split, to)?;
        }
    }
    Some(())
}

fn fold_row<T: Element, F: Fold<T>>(row: &[T]) -> F::Total {
    let mut lanes = [F::START; LANES];
    let (full, rest) = row.as_chunks::<LANES>();
    for chunk in full {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane = F::take(*lane, x);
        }
    }
    for (lane, &x) in lanes.iter_mut().zip(rest) {
        *lane = F::take(*lane, x);
    }
    merged::<T, F>(&mut lanes, row.len())
}

/// What the lanes have together, which took `n` elements: those from `n` on have none, and over a
/// small axis are most.
fn merged<T: Element, F: Fold<T>>(lanes: &mut [F::Total; LANES], n: usize) -> F::Total {
    for half in [8, 4, 2, 1].into_iter().filter(|it| *it < n) {
        let (low, high) = lanes.split_at_mut(half);
        for (lane, &other) in low.iter_mut().zip(&*high) {
            *lane = F::merge(*lane, other);
        }
    }
    lanes[0]
}

/// Reduces `room.len()` neighbouring columns, the first of which begins the block.
fn fold_columns<T: Element, F: Fold<T>>(
    block: &[T],
    split: Split,
    room: &mut [F::Out],
) -> Option<()> {
    let mut lanes = [[F::START; COLUMNS]; LANES];
    for i in 0..split.n {
        let row = &block[i * split.inner..][..room.len()];
        for (total, &x) in lanes[i % LANES].iter_mut().zip(row) {
            *total = F::take(*total, x);
        }
    }
    for (column, to) in room.iter_mut().enumerate() {
        let mut lanes: [F::Total; LANES] = std::array::from_fn(|k| lanes[k][column]);
        *to = F::finish(merged::<T, F>(&mut lanes, split.n), split.n)?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, Value};
    use super::super::{minimum, sum};
    use super::*;

    /// The definition, said plainly.
    fn sum_by_lanes(values: &[f32]) -> f32 {
        let mut lanes = [0_f64; 16];
        for (i, &x) in values.iter().enumerate() {
            lanes[i % 16] += f64::from(x);
        }
        let eight: Vec<f64> = (0..8).map(|k| lanes[k] + lanes[k + 8]).collect();
        let four: Vec<f64> = (0..4).map(|k| eight[k] + eight[k + 4]).collect();
        ((four[0] + four[2]) + (four[1] + four[3])) as f32
    }

    fn rough(n: usize) -> Vec<f32> {
        (0..n).map(|i| (runtime::mix(1, i as u64) as f32 / 1e15).powi(2) - 1e7).collect()
    }

    #[test]
    fn rows_are_summed_in_the_defined_order() {
        for n in [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 1000] {
            let values = rough(n);
            let found = Trial::of(&sum::ENTRY).value(Tensor::new(&[n], &values)).arg(Arg::None);
            assert_eq!(found.run(), Ok(Value::of(&[], &[sum_by_lanes(&values)])), "{n} elements");
        }
    }

    #[test]
    fn columns_are_summed_in_the_same_order() {
        let values = rough(2 * 37 * 70);
        let column = |o: usize, c: usize| -> Vec<f32> {
            (0..37).map(|i| values[(o * 37 + i) * 70 + c]).collect()
        };
        let expected: Vec<f32> =
            (0..140).map(|it| sum_by_lanes(&column(it / 70, it % 70))).collect();
        let x = Tensor::new(&[2, 37, 70], &values);
        for axis in [1, -2] {
            let found = Trial::of(&sum::ENTRY).value(x).arg(Arg::Int(axis));
            assert_eq!(found.run(), Ok(Value::of(&[2, 70], &expected)));
        }
    }

    #[test]
    fn strides_change_nothing() {
        let values = rough(6 * 20);
        let x = Tensor::new(&[6, 20], &values).permuted(&[1, 0]).flipped(0);
        let mut packed = vec![0_u8; x.bytes()];
        x.copy_to(&mut packed);
        let copy: Vec<f32> =
            packed.chunks_exact(4).map(|it| f32::from_ne_bytes(it.try_into().unwrap())).collect();
        for axis in [Arg::None, Arg::Int(0), Arg::Int(1)] {
            let run = |x: Tensor<'_>| Trial::of(&sum::ENTRY).value(x).arg(axis.clone()).run();
            assert_eq!(run(x), run(Tensor::new(&[20, 6], &copy)));
        }
    }

    #[test]
    fn nothing_has_no_smallest_element() {
        let empty: [f32; 0] = [];
        let run = |shape: &[usize], axis| {
            let trial = Trial::of(&minimum::ENTRY).value(Tensor::new(shape, &empty));
            trial.arg(axis).run()
        };
        assert_eq!(run(&[0], Arg::None).unwrap_err().code, "empty");
        assert_eq!(run(&[0, 2], Arg::Int(0)).unwrap_err().code, "empty");
        assert_eq!(run(&[0, 2], Arg::Int(1)), Ok(Value::of(&[0], &empty)));
    }

    #[test]
    fn an_axis_that_is_not_there_is_a_mistake() {
        let x = Tensor::new(&[2], &[1_f32, 2.]);
        let refused =
            |x: Tensor<'_>, axis| Trial::of(&sum::ENTRY).value(x).arg(Arg::Int(axis)).refused();
        assert!(refused(x, 1).contains("axis 1 is out of range"));
        assert!(refused(x, -2).contains("axis -2 is out of range"));
        assert!(refused(x.element(0), 0).contains("no axes"));
    }
}
