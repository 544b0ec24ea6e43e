//! `text_eq`: whether two texts are the same; what `==`, `!=` of texts become.

use crate::functions::tensor::tensor_of;
use crate::prelude::*;

function! {
    /// Returns true if two strings are equal.
    ///
    /// `a == b` is short for it. Compares byte by byte, without normalization, independent of any language.
    /// Both are `str`, or both are `bytes`.
    ///
    /// ```pipe
    /// range(2) |> map { yes: text_eq("a cat", "a dog") }    # { yes: bool }
    /// ```
    "text_eq(a: any, b: any) -> bool",
    cost: Cost::call(10.0),
    result: Some(result),
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let (a, b) = (tensor_of(applied, 0)?.0, tensor_of(applied, 1)?.0);
    if !a.is_text() || a != b {
        return Err(format!("`{a}` and `{b}` cannot be compared"));
    }
    Ok(Type::scalar(DType::Bool))
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        out.scalar(args.tensor(0).as_text() == args.tensor(1).as_text())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    #[test]
    fn compares_bytes() {
        let run = |a, b| Trial::of(&ENTRY).text(a).text(b).run();
        let all = ["", "A", "a", "aa", "b", "ä"];
        for (i, a) in all.into_iter().enumerate() {
            for (j, b) in all.into_iter().enumerate() {
                assert_eq!(run(a, b), Ok(Value::of(&[], &[i == j])), "{a} and {b}");
            }
        }
    }

    #[test]
    fn texts_of_two_kinds_are_not_compared() {
        let bytes = Tensor::text(DType::Bytes, b"a");
        let refused = Trial::of(&ENTRY).text("a").value(bytes).refused();
        assert!(refused.contains("`str` and `bytes`"), "{refused}");
    }
}
