//! `one_hot`: labels as rows of zeros with one 1.

use super::numbers::{Number, Wide, by_dtype, packed};
use super::shapes::{extent, integers_of, ranked};
use crate::prelude::*;

function! {
    /// One-hot encodes labels, as `f32`.
    ///
    /// Each label becomes a row of `classes` zeros with a 1 at its index. A single label returns one row; a
    /// tensor of labels gets one more axis. Fails with `label` if a label is negative, or not less than
    /// `classes`.
    ///
    /// ```pipe
    /// range(2) |> map { y: one_hot(i, 10) }    # { y: f32[10] }
    /// ```
    "one_hot(label: any, classes: int) fails -> any",
    // Assumed: as fast as memory.
    cost: Cost::out(8.0, 0.05),
    result: Some(result),
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let (_, mut shape) = integers_of(applied, 0)?;
    shape.push(extent(applied, 1)?);
    ranked(DType::F32, shape)
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let dtype = call.dtype(0).expect("the checker saw to integers");
    Ok(by_dtype!(dtype, T => Kernel::compute(mark::<T>)))
}

fn mark<T: Number>(args: &Args<'_>, out: &mut Out<'_>) -> Result<(), Fault> {
    let label = args.tensor(0);
    let classes = args.size(1, runtime::VALUE_BYTES_MAX / size_of::<f32>())?;
    let mut shape = Shape::new(label.shape()).to_vec();
    shape.push(classes);
    let room = out.tensor::<f32>(&shape)?;
    room.fill(0.0);
    packed::<T, _>(&label, |labels| {
        for (row, &label) in room.chunks_exact_mut(classes).zip(labels) {
            let found = usize::try_from(label.exact().to_f64() as i64).ok();
            let Some(to) = found.and_then(|it| row.get_mut(it)) else {
                let detail = format!(
                    "label {label:?} is out of range for {classes} classes, counted from 0"
                );
                return Err(Fault::new("label", detail));
            };
            *to = 1.0;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, Value};
    use super::*;

    #[test]
    fn one_of_each_row() {
        let run = |x: Tensor<'_>, n| Trial::of(&ENTRY).value(x).arg(Arg::Int(n)).run();
        let one = Tensor::new(&[], &[2_i32]);
        assert_eq!(run(one, 3), Ok(Value::of(&[3], &[0_f32, 0., 1.])));
        let two = Tensor::new(&[2], &[1_u8, 0]);
        assert_eq!(run(two, 2), Ok(Value::of(&[2, 2], &[0_f32, 1., 1., 0.])));
        for outside in [-1_i64, 3, i64::MAX] {
            assert_eq!(run(Tensor::new(&[], &[outside]), 3).unwrap_err().code, "label");
        }
        assert_eq!(run(one, 0).unwrap_err().code, "size");
    }
}
