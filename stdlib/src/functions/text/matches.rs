//! `matches`: whether a regular expression matches somewhere in a text.

use super::patterns::compiled;
use crate::prelude::*;

function! {
    /// Returns true if a regular expression matches anywhere in a string.
    ///
    /// `pattern` is known at compile time, and compiled once. The whole string must match if it begins with `^` and
    /// ends with `$`. The syntax is that of Rust's crate `regex`, which is Python's for most patterns: `\d`, `\w`, `\s`
    /// and `\b` know all of Unicode, `(?i)` ignores case, `(?m)` lets `^` and `$` match at each line. Look-around and
    /// backreferences do not exist: the time grows linearly with the string, whatever the pattern is. In a string
    /// written with `'…'`, backslashes and braces need no escapes.
    ///
    /// ```pipe
    /// range(2) |> map { has_year: matches("since 1999", '\b(19|20)\d\d\b') }    # { has_year: bool }
    /// ```
    "matches(text: str, pattern: text) -> bool",
    // Assumed: a lazy DFA, a few bytes a nanosecond.
    cost: Cost { ns_byte_in: 1.5, ..Cost::call(60.0) },
    result: Some(|applied| compiled(&applied.args[1]).map(|_| Type::scalar(DType::Bool))),
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let pattern = compiled(&call.args[1]);
    let pattern = pattern.map_err(|why| Failure::Program(format!("`matches`: {why}")))?;
    Ok(Kernel::compute(move |args, out| out.scalar(pattern.is_match(args.tensor(0).as_str()))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    /// `re.search(pattern, text) is not None` of Python 3.11.
    #[test]
    fn agrees_with_python() {
        let cases = [
            ("since 1999", r"\b(19|20)\d\d\b", true),
            ("since 19999", r"\b(19|20)\d\d\b", false),
            ("Grüße", r"^\w+$", true),
            ("Grüße!", r"^\w+$", false),
            ("a\nb", "^b", false),
            ("a\nb", "(?m)^b", true),
            ("LOREM ipsum", "(?i)lorem", true),
            ("", "", true),
            ("", ".", false),
            ("\n", ".", false),
            ("٣", r"\d", true),
            ("aXXb", "a(X{2,3}|Y)b", true),
            ("日本語", "[一-龯]{3}", true),
        ];
        for (text, pattern, yes) in cases {
            let trial = Trial::of(&ENTRY).text(text).arg(Arg::Text(pattern.to_owned()));
            assert_eq!(trial.run(), Ok(Value::of(&[], &[yes])), "{pattern} in {text:?}");
        }
        let wrong = Trial::of(&ENTRY).text("a").arg(Arg::Text("a(".to_owned())).refused();
        assert_eq!(wrong, "the pattern is wrong at character 2, `(`: unclosed group");
    }

    /// What takes Python's `re` longer than anybody waits: `(a*)*b` on so many letters.
    #[test]
    fn no_pattern_takes_forever() {
        let text = "a".repeat(1 << 20);
        for pattern in ["(a*)*b", "(a|a)*b", "(x+x+)+y|(.*)*c"] {
            let trial = Trial::of(&ENTRY).text(&text).arg(Arg::Text(pattern.to_owned()));
            assert_eq!(trial.run(), Ok(Value::of(&[], &[false])));
        }
    }
}
