//! `count_matches`: how often a regular expression matches in a text.

use super::patterns::compiled;
use crate::prelude::*;

function! {
    /// Returns how often a regular expression matches in a string, without overlap.
    ///
    /// `pattern` is as for `matches`. `(?m)^` and `(?m)$` match at each line: `count_matches(text, '(?m)[.!?]$')` is
    /// the number of lines that end in punctuation. To count a fixed string, `count_of` is faster.
    ///
    /// ```pipe
    /// range(2) |> map { numbers: count_matches("1, 22 and 333", '\d+') }    # { numbers: i64 }
    /// ```
    "count_matches(text: str, pattern: text) -> i64",
    // Assumed: a search as for `matches`, and some time for each match.
    cost: Cost { ns_byte_in: 3.0, ..Cost::call(60.0) },
    result: Some(|applied| compiled(&applied.args[1]).map(|_| Type::scalar(DType::I64))),
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let pattern = compiled(&call.args[1]);
    let pattern = pattern.map_err(|why| Failure::Program(format!("`count_matches`: {why}")))?;
    Ok(Kernel::compute(move |args, out| {
        out.scalar(pattern.find_iter(args.tensor(0).as_str()).count() as i64)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    /// `len(re.findall(pattern, text))` of Python 3.11.
    #[test]
    fn agrees_with_python() {
        let cases = [
            ("1, 22 and 333", r"\d+", 3),
            ("", "a", 0),
            ("aaaa", "aa", 2),
            ("One.\nTwo\nThree!", "(?m)[.!?]$", 2),
            ("One.\nTwo\nThree!\n", "(?m)^", 4),
            ("the Other The", r"(?i)\bthe\b", 2),
            ("a1 22 c, d4!", r"\S*[^\W\d_]\S*", 3),
            ("abc", "", 4),
        ];
        for (text, pattern, n) in cases {
            let trial = Trial::of(&ENTRY).text(text).arg(Arg::Text(pattern.to_owned()));
            assert_eq!(trial.run(), Ok(Value::of(&[], &[n as i64])), "{pattern} in {text:?}");
        }
        let wrong = Trial::of(&ENTRY).text("a").arg(Arg::Text("a)".to_owned())).refused();
        assert!(wrong.contains("at character 2, `)`"), "{wrong}");
    }
}
