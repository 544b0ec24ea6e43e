//! `ends_with`: whether a text ends with another.

use crate::prelude::*;

function! {
    /// Returns true if `text` ends with `suffix`.
    ///
    /// Every string ends with the empty string. Case-sensitive; use `ends_with(lower(text), …)` to ignore case.
    ///
    /// ```pipe
    /// range(2) |> map { yes: ends_with("photo.jpg", ".jpg") }    # { yes: bool }
    /// ```
    "ends_with(text: str, suffix: str) -> bool",
    cost: Cost::call(8.0),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        out.scalar(args.tensor(0).as_text().ends_with(args.tensor(1).as_text()))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    #[test]
    fn compares_the_end() {
        let run = |a, b| Trial::of(&ENTRY).text(a).text(b).run();
        let cases = [
            ("cab", "ab", true),
            ("cab", "c", false),
            ("a", "aa", false),
            ("a", "", true),
            ("", "", true),
        ];
        for (text, part, yes) in cases {
            assert_eq!(run(text, part), Ok(Value::of(&[], &[yes])), "{text}, {part}");
        }
    }
}
