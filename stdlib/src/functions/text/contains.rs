//! `contains`: whether a text holds another.

use crate::prelude::*;

function! {
    /// Returns true if `text` contains `part`.
    ///
    /// The empty string is in every string. Case-sensitive; use `contains(lower(text), …)` to ignore case.
    ///
    /// ```pipe
    /// range(2) |> map { yes: contains("a photo of a cat", "cat") }    # { yes: bool }
    /// ```
    "contains(text: str, part: str) -> bool",
    // Assumed: a nanosecond a byte.
    cost: Cost { ns_byte_in: 1.0, ..Cost::call(20.0) },
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        out.scalar(args.tensor(0).as_str().contains(args.tensor(1).as_str()))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    #[test]
    fn looks_everywhere() {
        let run = |a, b| Trial::of(&ENTRY).text(a).text(b).run();
        for (text, part, yes) in
            [("abc", "bc", true), ("abc", "ac", false), ("", "", true), ("", "a", false)]
        {
            assert_eq!(run(text, part), Ok(Value::of(&[], &[yes])), "{text}, {part}");
        }
    }
}
