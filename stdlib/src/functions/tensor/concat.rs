//! `concat`: values one after the other along an axis.

use super::join::{common, fit, lay, types};
use super::shapes::{axis_at, axis_of};
use crate::prelude::*;

function! {
    /// Concatenates values of the same dtype along axis `axis`.
    ///
    /// Their other extents must be equal. A negative axis counts from the last. If extents do not match, this
    /// is an error at compile time if they are known then; otherwise the record fails with `extents`. Strings
    /// are concatenated with `+`.
    ///
    /// ```pipe
    /// range(2) |> map { x: concat([plasma(i, 4, 6), plasma(i, 2, 6)]) }    # { x: u8[6, 6, 3] }
    /// ```
    "concat(values: values, axis: int = 0) fails -> any",
    // Assumed: half as fast as memory.
    cost: Cost::out(10.0, 0.1),
    properties: &[Property::Joins],
    result: Some(result),
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let types = types(applied, 0)?;
    let rank = types.first().map_or(1, |it| it.1.len());
    let axis = axis_of(applied, 1, rank)?;
    let (dtype, mut shape) = common(&types, Some(axis))?;
    let known = |it: &(DType, Vec<Extent>)| match it.1[axis] {
        Extent::Known(n) => Some(n),
        _ => None,
    };
    let all: Option<Vec<u64>> = types.iter().map(known).collect();
    if types.len() > 1 {
        let sum = |it: Vec<u64>| it.iter().try_fold(0_u64, |sum, &it| sum.checked_add(it));
        shape[axis] = all.and_then(sum).map_or(Extent::Unknown, Extent::Known);
    }
    Ok(Type::Tensor { dtype, shape })
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let values = args.list(0);
        let first = values[0];
        let axis = axis_at(args.int(1), first.shape().len());
        fit(values, Some(axis))?;
        let mut shape = first.shape().to_vec();
        shape[axis] = values.iter().map(|it| it.shape()[axis]).sum();
        lay(values, axis, out.room(first.dtype(), Shape::new(&shape))?);
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, Value};
    use super::*;

    /// `np.concatenate` of the same tensors.
    #[test]
    fn agrees_with_numpy() {
        let a: Vec<i64> = (0..6).collect();
        let b = [10_i64, 11];
        let run =
            |list: &[Tensor<'_>], axis| Trial::of(&ENTRY).list(list).arg(Arg::Int(axis)).run();
        let rows = [Tensor::new(&[3, 2], &a), Tensor::new(&[1, 2], &b)];
        assert_eq!(run(&rows, 0), Ok(Value::of(&[4, 2], &[0_i64, 1, 2, 3, 4, 5, 10, 11])));
        let columns = [Tensor::new(&[2, 1], &b), Tensor::new(&[2, 3], &a)];
        assert_eq!(run(&columns, -1), Ok(Value::of(&[2, 4], &[10_i64, 0, 1, 2, 11, 3, 4, 5])));
        let none = [Tensor::new::<i64>(&[2, 0], &[]), Tensor::new(&[2, 3], &a)];
        assert_eq!(run(&none, 1), Ok(Value::of(&[2, 3], &a)));
        let no_rows = [Tensor::new::<i64>(&[0, 2], &[]), Tensor::new::<i64>(&[0, 3], &[])];
        assert_eq!(run(&no_rows, 1), Ok(Value::of::<i64>(&[0, 5], &[])));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let list = [Tensor::new(&[1, 2], &[1_u8, 2]), Tensor::new(&[1, 1], &[1_u8])];
        let trial = |axis| Trial::of(&ENTRY).list(&list).arg(Arg::Int(axis));
        assert!(trial(0).refused().contains("[1, 2], another [1, 1]"));
        assert_eq!(trial(0).unknown().run().unwrap_err().code, "extents");
        assert_eq!(trial(1).run(), Ok(Value::of(&[1, 3], &[1_u8, 2, 1])));
        let text = [Tensor::text(DType::Str, b"a"); 2];
        let refused = Trial::of(&ENTRY).list(&text).arg(Arg::Int(0)).refused();
        assert!(refused.contains("joined with `+`"), "{refused}");
    }
}
