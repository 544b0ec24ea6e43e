//! `substring`: a part of a text, by the numbers of its characters.

use crate::functions::tensor::{Bounds, tensor_of};
use crate::prelude::*;

function! {
    /// Returns the characters from index `from` to before `to`.
    ///
    /// `text[a:b]` is short for it. As in Python, a bound that is omitted is the end, negative indices count
    /// from the end, and bounds out of range are clipped. For `bytes`, bytes are counted. Nothing is copied.
    ///
    /// ```pipe
    /// range(2) |> map { year: substring("2026-01-31", 0, 4) }    # { year: str }
    /// ```
    "substring(text: any, from: int = none, to: int = none) -> any",
    // Assumed: a quarter of a nanosecond a byte.
    cost: Cost { ns_byte_in: 0.25, ..Cost::call(15.0) },
    result: Some(|applied| match tensor_of(applied, 0)? {
        (dtype, _) if dtype.is_text() => Ok(Type::scalar(dtype)),
        (dtype, _) => Err(format!("expected text, found `{dtype}`")),
    }),
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let bounds = Bounds::of(call, 1);
    Ok(Kernel::view(move |args| {
        let text = args.tensor(0);
        let bytes = text.as_text();
        if text.dtype() == DType::Bytes || bytes.is_ascii() {
            let (start, len) = bounds(args).within(bytes.len());
            return Ok(Tensor::text(text.dtype(), &bytes[start..start + len]));
        }
        let text = text.as_str();
        let (start, len) = bounds(args).within(text.chars().count());
        let rest = &text[place(text, start)..];
        Ok(Tensor::text(DType::Str, &rest.as_bytes()[..place(rest, len)]))
    }))
}

/// Where character `n` begins; the end, where there are no more.
fn place(text: &str, n: usize) -> usize {
    text.char_indices().nth(n).map_or(text.len(), |it| it.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    /// `text[from:to]` of Python.
    #[test]
    fn agrees_with_python() {
        let run = |text, from: Option<i64>, to: Option<i64>| {
            let bound = |it: Option<i64>| it.map_or(Arg::None, Arg::Int);
            Trial::of(&ENTRY).value(text).arg(bound(from)).arg(bound(to)).run()
        };
        let cases = [
            ("hello", Some(1), Some(3), "el"),
            ("hello", Some(-3), None, "llo"),
            ("Grüße", Some(2), Some(4), "üß"),
            ("Grüße", None, Some(-1), "Grüß"),
            ("日本", Some(1), Some(9), "本"),
            ("日本", Some(2), Some(1), ""),
        ];
        for (text, from, to, expected) in cases {
            let text = Tensor::text(DType::Str, text.as_bytes());
            assert_eq!(run(text, from, to), Ok(Value::text(expected)));
        }
        let bytes = Tensor::text(DType::Bytes, "ü".as_bytes());
        assert_eq!(run(bytes, Some(1), None), Ok(Value::bytes(&[0xbc])));
    }
}
