//! `shape`: the extents of a tensor.

use super::shapes::numbers_of;
use crate::prelude::*;

function! {
    /// Returns the extents of a tensor, outermost first.
    ///
    /// `x.shape` is short for it.
    ///
    /// ```pipe
    /// range(2) |> map { s: shape(plasma(i, 4, 6)) }    # { s: i64[3] }
    /// ```
    "shape(x: any) -> any",
    cost: Cost::call(5.0),
    properties: &[Property::Asks],
    result: Some(|applied| {
        let rank = numbers_of(applied, 0)?.1.len() as u64;
        Ok(Type::tensor(DType::I64, &[rank]))
    }),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let x = args.tensor(0);
        let room = out.tensor::<i64>(&[x.shape().len()])?;
        for (to, &extent) in room.iter_mut().zip(x.shape()) {
            *to = extent as i64;
        }
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, Value};
    use super::*;

    #[test]
    fn extents() {
        let run = |x: Tensor<'_>| Trial::of(&ENTRY).value(x).run();
        let x = Tensor::new(&[2, 0, 3], &[] as &[f32]);
        assert_eq!(run(x), Ok(Value::of(&[3], &[2_i64, 0, 3])));
        assert_eq!(run(Tensor::new(&[], &[1_f32])), Ok(Value::of::<i64>(&[0], &[])));
    }
}
