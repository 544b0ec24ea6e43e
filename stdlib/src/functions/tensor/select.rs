//! `select`: the elements of the first axis for which a condition holds.

use super::numbers::packed;
use super::shapes::{numbers_of, same, tensor_of};
use crate::prelude::*;
use std::ops::Range;

function! {
    /// Selects the elements of the first axis for which `keep` is true.
    ///
    /// `x[keep]` is short for it. `keep` must have one value per element. Another length is an error at compile
    /// time if both are known then; otherwise the record fails with `extents`. The number of selected elements
    /// differs between records, so `batch` needs `ragged` or `pad` for them.
    ///
    /// ```pipe
    /// range(4) |> map { x: arange(6), i } |> map { x: select(x, x % 3 == i % 3) }    # { x: i64[?] }
    /// ```
    "select(x: any, keep: bool[n]) fails -> any",
    // Assumed: as `gather`.
    cost: Cost::out(10.0, 0.1),
    result: Some(result),
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let (dtype, mut shape) = numbers_of(applied, 0)?;
    let (_, keep) = tensor_of(applied, 1)?;
    let (Some(first), [n]) = (shape.first_mut(), &keep[..]) else {
        return Err("a single number has no elements to choose from".into());
    };
    if same(first, n).is_none() {
        return Err(format!(
            "the first axis has {first} elements, but the condition has {n}: it must have one for \
             each"
        ));
    }
    *first = Extent::Unknown;
    Ok(Type::Tensor { dtype, shape })
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let (x, keep) = (args.tensor(0), args.tensor(1));
        let mut shape = Shape::new(x.shape()).to_vec();
        if shape[0] != keep.elements() {
            let (n, keep) = (shape[0], keep.elements());
            let why = format!("the first axis has {n} elements, but the condition has {keep}");
            return Err(Fault::new("extents", why));
        }
        packed::<bool, ()>(&keep, |keep| {
            shape[0] = keep.iter().filter(|it| **it).count();
            copy(&x, keep, out.room(x.dtype(), Shape::new(&shape))?);
            Ok(())
        })
    }))
}

/// Copies the elements of `x` for which `keep` is true, neighbours at once.
fn copy(x: &Tensor<'_>, keep: &[bool], mut room: &mut [u8]) {
    let each = x.dtype().size() * x.shape()[1..].iter().product::<usize>();
    let bytes = x.as_bytes();
    for Range { start, end } in runs(keep) {
        let (to, rest) = room.split_at_mut((end - start) * each);
        match bytes {
            Some(bytes) => to.copy_from_slice(&bytes[start * each..end * each]),
            None => x.narrowed(0, start, end - start).copy_to(to),
        }
        room = rest;
    }
}

/// Where neighbours are true.
fn runs(keep: &[bool]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + keep[at..].iter().position(|it| *it)?;
        at = start + keep[start..].iter().take_while(|it| **it).count();
        Some(start..at)
    })
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, Value};
    use super::*;

    fn run(x: Tensor<'_>, keep: &[bool]) -> Result<Value, Fault> {
        Trial::of(&ENTRY).value(x).value(Tensor::new(&[keep.len()], keep)).run()
    }

    /// `np.arange(12.0).reshape(4, 3)[keep]`, and the same of its transpose.
    #[test]
    fn agrees_with_numpy() {
        let values: Vec<f32> = (0..12).map(|it| it as f32).collect();
        let x = Tensor::new(&[4, 3], &values);
        let found = run(x, &[true, false, true, true]);
        assert_eq!(found, Ok(Value::of(&[3, 3], &[0_f32, 1., 2., 6., 7., 8., 9., 10., 11.])));
        let found = run(x.permuted(&[1, 0]), &[false, true, true]);
        assert_eq!(found, Ok(Value::of(&[2, 4], &[1_f32, 4., 7., 10., 2., 5., 8., 11.])));
        assert_eq!(run(x, &[false; 4]), Ok(Value::of::<f32>(&[0, 3], &[])));
        assert_eq!(run(x.narrowed(1, 0, 0), &[true; 4]), Ok(Value::of::<f32>(&[4, 0], &[])));
    }

    #[test]
    fn elements_stay_in_order() {
        for n in 0..40_u64 {
            let values: Vec<u64> = (0..2 * n).map(|it| runtime::mix(n, it)).collect();
            let keep: Vec<bool> = (0..n).map(|it| !runtime::mix(it, n).is_multiple_of(3)).collect();
            let pairs = values.chunks(2).zip(&keep).filter(|it| *it.1);
            let expected: Vec<u64> = pairs.flat_map(|it| it.0.iter().copied()).collect();
            let x = Tensor::new(&[n as usize, 2], &values);
            let shape = [expected.len() / 2, 2];
            assert_eq!(run(x, &keep), Ok(Value::of(&shape, &expected)));
        }
    }

    #[test]
    fn a_condition_of_another_length_is_refused() {
        let x = Tensor::new(&[3], &[1_i64, 2, 3]);
        let keep = Tensor::new(&[2], &[true, false]);
        let trial = || Trial::of(&ENTRY).value(x).value(keep);
        let refused = trial().refused();
        assert!(refused.contains("has 3 elements, but the condition has 2"), "{refused}");
        assert_eq!(trial().unknown().run().unwrap_err().code, "extents");
        let single = Tensor::new(&[], &[1_i64]);
        let refused = Trial::of(&ENTRY).value(single).value(keep).refused();
        assert!(refused.contains("no elements to choose from"), "{refused}");
    }
}
