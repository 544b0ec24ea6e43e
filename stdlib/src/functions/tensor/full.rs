//! `full`: a tensor of one value.

use super::shapes::{known, ranked, tensor_of, whole_numbers};
use crate::prelude::*;
use runtime::far;

function! {
    /// Returns a tensor of the extents `shape`, filled with `value`.
    ///
    /// It has the dtype of `value`, which is a single number: `full([2, 3], i32(7))`. `zeros(shape)` and
    /// `ones(shape)` return `f32`.
    ///
    /// ```pipe
    /// range(2) |> map { x: full([2, 3], i) }    # { x: i64[2, 3] }
    /// ```
    "full(shape: floats, value: any) -> any",
    // Assumed: as fast as memory.
    cost: Cost::out(5.0, 0.05),
    result: Some(result),
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let (dtype, shape) = tensor_of(applied, 1)?;
    if dtype.is_text() || !shape.is_empty() {
        return Err("`value` must be a single number".into());
    }
    let extents: Result<Vec<_>, _> =
        whole_numbers(&applied.args[0])?.into_iter().map(known).collect();
    ranked(dtype, extents?)
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let fixed = call.result.fixed();
    let Some(extents) = fixed.filter(|_| call.result.fixed_bytes().is_some_and(fits)) else {
        return Err(Failure::Program(format!(
            "`full` would make a {}, which is too large",
            call.result
        )));
    };
    Ok(Kernel::compute(move |args, out| {
        let value = args.tensor(1);
        let is_far = out.is_far();
        let room = out.room(value.dtype(), Shape::new(&extents))?;
        let element = value.as_bytes().unwrap_or_default();
        far::fill(room, element, is_far);
        Ok(())
    }))
}

fn fits(bytes: usize) -> bool {
    bytes <= runtime::VALUE_BYTES_MAX
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, Value};
    use super::*;

    #[test]
    fn every_element_is_the_value() {
        let run = |shape: &[i64], value| {
            let shape = Arg::List(shape.iter().map(|&it| Arg::Int(it)).collect());
            Trial::of(&ENTRY).arg(shape).value(value)
        };
        let seven = Tensor::new(&[], &[7_u16]);
        assert_eq!(run(&[2, 2], seven).run(), Ok(Value::of(&[2, 2], &[7_u16; 4])));
        assert_eq!(run(&[], seven).run(), Ok(Value::of(&[], &[7_u16])));
        assert_eq!(run(&[0, 3], seven).run(), Ok(Value::of::<u16>(&[0, 3], &[])));
        assert!(run(&[-1], seven).refused().contains("at least 0"));
        assert!(run(&[1; 7], seven).refused().contains("at most 6"));
        assert!(run(&[1], Tensor::new(&[1], &[7_u16])).refused().contains("single number"));
    }
}
