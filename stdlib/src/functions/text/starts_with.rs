//! `starts_with`: whether a text begins with another.

use crate::prelude::*;

function! {
    /// Returns true if `text` starts with `prefix`.
    ///
    /// Every string starts with the empty string. Case-sensitive; use `starts_with(lower(text), …)` to ignore
    /// case.
    ///
    /// ```pipe
    /// range(2) |> map { yes: starts_with("photo.jpg", "photo") }    # { yes: bool }
    /// ```
    "starts_with(text: str, prefix: str) -> bool",
    cost: Cost::call(8.0),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        out.scalar(args.tensor(0).as_text().starts_with(args.tensor(1).as_text()))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    #[test]
    fn compares_the_beginning() {
        let run = |a, b| Trial::of(&ENTRY).text(a).text(b).run();
        let cases = [
            ("abc", "ab", true),
            ("abc", "c", false),
            ("a", "aa", false),
            ("a", "", true),
            ("", "", true),
        ];
        for (text, part, yes) in cases {
            assert_eq!(run(text, part), Ok(Value::of(&[], &[yes])), "{text}, {part}");
        }
    }
}
