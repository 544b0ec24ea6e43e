//! `stack`: values side by side along a new axis.

use super::join::{common, fit, lay, types};
use super::shapes::{axis_at, axis_of, ranked, tensor_of};
use crate::prelude::*;

function! {
    /// Stacks values of the same dtype and extents along a new axis `axis`.
    ///
    /// A negative axis counts from the last axis of the result. A comprehension `[… for …]` already stacks
    /// along axis 0; use `stack` for another axis. Extents that differ are an error at compile time if they are
    /// known then; otherwise the record fails with `extents`.
    ///
    /// ```pipe
    /// range(2) |> map { x: stack([plasma(i, 4, 6), plasma(i + 1, 4, 6)], axis: 1) }    # { x: u8[4, 2, 6, 3] }
    /// ```
    "stack(values: values, axis: int = 0) fails -> any",
    // Assumed: half as fast as memory.
    cost: Cost::out(10.0, 0.1),
    result: Some(result),
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    if matches!(applied.args[0], Arg::Expr(_)) {
        let (dtype, mut shape) = tensor_of(applied, 0)?;
        let axis = axis_of(applied, 1, shape.len())?;
        shape[..=axis].rotate_left(1);
        return Ok(Type::Tensor { dtype, shape });
    }
    let types = types(applied, 0)?;
    let (dtype, mut shape) = common(&types, None)?;
    let axis = axis_of(applied, 1, shape.len() + 1)?;
    shape.insert(axis, Extent::Known(types.len() as u64));
    ranked(dtype, shape)
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    if !matches!(call.args[0], Arg::Exprs(_)) {
        return Ok(Kernel::view(|args| {
            let x = args.tensor(0);
            let axis = axis_at(args.int(1), x.shape().len());
            Ok(x.permuted(&first_to(axis, x.shape().len())))
        }));
    }
    Ok(Kernel::compute(|args, out| {
        let values = args.list(0);
        fit(values, None)?;
        let first = values[0];
        let axis = axis_at(args.int(1), first.shape().len() + 1);
        let mut shape = first.shape().to_vec();
        shape.insert(axis, values.len());
        lay(values, axis, out.room(first.dtype(), Shape::new(&shape))?);
        Ok(())
    }))
}

/// The order of axes in which the first has moved to `axis`.
fn first_to(axis: usize, rank: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rank).collect();
    order[..=axis].rotate_left(1);
    order
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, Value};
    use super::*;

    /// `np.stack([np.arange(6).reshape(2, 3), …], axis)`.
    #[test]
    fn agrees_with_numpy() {
        let (a, b): (Vec<i32>, Vec<i32>) = ((0..6).collect(), (10..16).collect());
        // The second lies turned in memory.
        let turned = [10, 13, 11, 14, 12, 15];
        let list = [Tensor::new(&[2, 3], &a), Tensor::new(&[3, 2], &turned).permuted(&[1, 0])];
        let run = |axis| Trial::of(&ENTRY).list(&list).arg(Arg::Int(axis)).run();
        assert_eq!(run(0), Ok(Value::of(&[2, 2, 3], &[&a[..], &b].concat())));
        assert_eq!(run(1), Ok(Value::of(&[2, 2, 3], &[0, 1, 2, 10, 11, 12, 3, 4, 5, 13, 14, 15])));
        assert_eq!(run(-1), Ok(Value::of(&[2, 3, 2], &[0, 10, 1, 11, 2, 12, 3, 13, 4, 14, 5, 15])));
    }

    #[test]
    fn single_numbers_make_a_row() {
        let numbers = [1_f64, 2., 3.];
        let list: Vec<Tensor<'_>> = numbers.chunks(1).map(|it| Tensor::new(&[], it)).collect();
        let run = Trial::of(&ENTRY).list(&list).arg(Arg::Int(0)).run();
        assert_eq!(run, Ok(Value::of(&[3], &numbers)));
    }

    #[test]
    fn a_list_that_was_made_by_for_is_moved() {
        let values: Vec<u8> = (0..6).collect();
        let x = Tensor::new(&[2, 3, 1], &values);
        let run = |axis| Trial::of(&ENTRY).value(x).arg(Arg::Int(axis)).run();
        assert_eq!(run(0), Ok(Value::of(&[2, 3, 1], &values)));
        assert_eq!(run(1), Ok(Value::of(&[3, 2, 1], &[0_u8, 3, 1, 4, 2, 5])));
        assert_eq!(run(-1), Ok(Value::of(&[3, 1, 2], &[0_u8, 3, 1, 4, 2, 5])));
    }

    #[test]
    fn what_differs_is_refused() {
        let list = [Tensor::new(&[2], &[1_u8, 2]), Tensor::new(&[1], &[1_u8])];
        let trial = || Trial::of(&ENTRY).list(&list).arg(Arg::Int(0));
        assert!(trial().refused().contains("[2], another [1]"));
        assert_eq!(trial().unknown().run().unwrap_err().code, "extents");
        let list = [Tensor::new(&[1], &[1_f32]), Tensor::new(&[1], &[1_u8])];
        let refused = Trial::of(&ENTRY).list(&list).arg(Arg::Int(0)).refused();
        assert!(refused.contains("`f32`, another is `u8`"), "{refused}");
        let none = Trial::of(&ENTRY).list(&[]).arg(Arg::Int(0)).refused();
        assert!(none.contains("at least one"), "{none}");
    }
}
