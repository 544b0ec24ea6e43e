//! `slice`: a part of a tensor along one axis.

use super::shapes::{axis_at, axis_of, numbers_of};
use crate::prelude::*;

function! {
    /// Returns the elements of an axis from index `from` to before `to`.
    ///
    /// `x[a:b]`, `x[:, a:b]` are short for it. As in NumPy, a bound that is omitted is the end, negative
    /// indices count from the end, and bounds out of range are clipped. Nothing is copied.
    ///
    /// ```pipe
    /// range(2) |> map { x: slice(plasma(i, 4, 6), 0, 1, -1) }    # { x: u8[2, 6, 3] }
    /// ```
    "slice(x: any, axis: int, from: int = none, to: int = none) -> any",
    cost: Cost::call(6.0),
    properties: &[Property::Crops, Property::Moves],
    result: Some(result),
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let (dtype, mut shape) = numbers_of(applied, 0)?;
    let axis = axis_of(applied, 1, shape.len())?;
    let given = |i: usize| !matches!(applied.args[i], Arg::None);
    let known = |i: usize| !given(i) || applied.int(i).is_some();
    shape[axis] = match &shape[axis] {
        it if !given(2) && !given(3) => it.clone(),
        Extent::Known(n) if known(2) && known(3) => {
            let bounds = Bounds { from: applied.int(2), to: applied.int(3) };
            Extent::Known(bounds.within(*n as usize).1 as u64)
        }
        _ => Extent::Unknown,
    };
    Ok(Type::Tensor { dtype, shape })
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let bounds = Bounds::of(call, 2);
    Ok(Kernel::view(move |args| {
        let x = args.tensor(0);
        let axis = axis_at(args.int(1), x.shape().len());
        let (start, len) = bounds(args).within(x.shape()[axis]);
        Ok(x.narrowed(axis, start, len))
    }))
}

/// Where a part begins and ends, as it is written: either may be left out.
pub(crate) struct Bounds {
    pub(crate) from: Option<i64>,
    pub(crate) to: Option<i64>,
}

impl Bounds {
    /// Reads parameters `i` and `i + 1`.
    pub(crate) fn of(
        call: &Call<'_>,
        i: usize,
    ) -> impl Fn(&Args<'_>) -> Self + Send + Sync + use<> {
        let (from, to) = (!call.absent(i), !call.absent(i + 1));
        move |args| Self { from: from.then(|| args.int(i)), to: to.then(|| args.int(i + 1)) }
    }

    /// The first of `n` elements that is meant, and how many are.
    pub(crate) fn within(&self, n: usize) -> (usize, usize) {
        let place = |it: i64| {
            let found = if it < 0 { it.saturating_add(n as i64) } else { it };
            found.clamp(0, n as i64) as usize
        };
        let from = self.from.map_or(0, place);
        let to = self.to.map_or(n, place);
        (from, to.saturating_sub(from))
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, Value};
    use super::*;

    fn int(it: Option<i64>) -> Arg {
        it.map_or(Arg::None, Arg::Int)
    }

    /// `list(range(5))[from:to]` in Python.
    #[test]
    fn agrees_with_python() {
        let cases = [
            (None, None, 0, 5),
            (Some(1), None, 1, 4),
            (None, Some(-1), 0, 4),
            (Some(-2), None, 3, 2),
            (Some(-9), Some(9), 0, 5),
            (Some(3), Some(3), 3, 0),
            (Some(4), Some(2), 4, 0),
            (Some(7), None, 5, 0),
            (Some(i64::MIN), Some(i64::MAX), 0, 5),
        ];
        let values: Vec<i32> = (0..5).collect();
        for (from, to, start, len) in cases {
            let x = Tensor::new(&[5], &values);
            let trial = Trial::of(&ENTRY).value(x).arg(Arg::Int(0)).arg(int(from)).arg(int(to));
            assert_eq!(
                trial.run(),
                Ok(Value::of(&[len], &values[start..start + len])),
                "{from:?}:{to:?}"
            );
        }
    }

    #[test]
    fn any_axis_of_any_strides() {
        let values: Vec<i32> = (0..6).collect();
        let x = Tensor::new(&[2, 3], &values).flipped(1);
        let trial = Trial::of(&ENTRY).value(x).arg(Arg::Int(-1)).arg(Arg::Int(1)).arg(Arg::None);
        assert_eq!(trial.run(), Ok(Value::of(&[2, 2], &[1, 0, 4, 3])));
    }
}
