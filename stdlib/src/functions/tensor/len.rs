//! `len`: how long a value is.

use super::shapes::tensor_of;
use crate::prelude::*;

function! {
    /// Returns the number of elements, or the length of a string.
    ///
    /// For a tensor, it is the number of elements along the first axis, for `bytes`, the number of bytes, for
    /// `str` the number of Unicode code points, as in Python. A single number has no length.
    ///
    /// ```pipe
    /// range(2) |> map { n: len("Grüße"), rows: len(plasma(i, 4, 6)) }    # { n: i64, rows: i64 }
    /// ```
    "len(x: any) -> i64",
    cost: Cost::call(5.0),
    properties: &[Property::Asks],
    result: Some(result),
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let (dtype, shape) = tensor_of(applied, 0)?;
    if shape.is_empty() && !dtype.is_text() {
        return Err("a single number has no length".into());
    }
    Ok(Type::scalar(DType::I64))
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    if call.dtype(0) != Some(DType::Str) {
        return Ok(Kernel::Extent(0));
    }
    Ok(Kernel::compute(|args, out| out.scalar(count_characters(args.tensor(0).as_text()) as i64)))
}

/// Each character of UTF-8 begins with a byte that is no continuation.
fn count_characters(text: &[u8]) -> usize {
    text.iter().filter(|&&it| it as i8 >= -64).count()
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, Value};
    use super::*;

    #[test]
    fn characters_bytes_and_rows_are_counted() {
        let run = |x: Tensor<'_>| Trial::of(&ENTRY).value(x).run();
        let long = |n: i64| Ok(Value::of(&[], &[n]));
        for text in ["", "abc", "Grüße", "日本語 🦀"] {
            let characters = text.chars().count() as i64;
            assert_eq!(run(Tensor::text(DType::Str, text.as_bytes())), long(characters));
            let bytes = text.len() as i64;
            assert_eq!(run(Tensor::text(DType::Bytes, text.as_bytes())), long(bytes));
        }
        assert_eq!(run(Tensor::new(&[2, 3], &[0_u8; 6])), long(2));
        let number = Trial::of(&ENTRY).value(Tensor::new(&[], &[1_u8])).refused();
        assert!(number.contains("no length"), "{number}");
    }
}
