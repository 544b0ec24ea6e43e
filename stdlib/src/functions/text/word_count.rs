//! `word_count`: how many words a text has.

use super::words::words;
use crate::prelude::*;

function! {
    /// Returns the number of words: what stands between white space.
    ///
    /// White space is as in Python, so this is `len(text.split())` there. Punctuation belongs to the word that it is
    /// written at; languages without spaces between words have one word for each phrase.
    ///
    /// ```pipe
    /// range(2) |> map { n: word_count("To be, or\nnot to be") }    # { n: i64 }
    /// ```
    "word_count(text: str) -> i64",
    // Assumed: each character is looked at.
    cost: Cost { ns_byte_in: 1.5, ..Cost::call(15.0) },
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| out.scalar(words(args.tensor(0).as_str()).count() as i64)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    /// `len(text.split())` of Python 3.11.
    #[test]
    fn agrees_with_python() {
        let cases = [
            ("", 0),
            (" \n\t", 0),
            ("one", 1),
            (" To be, or\nnot  to be. ", 6),
            ("a\u{a0}b\u{3000}c\u{2028}d\u{85}e", 5),
            ("a\u{1c}b\u{1f}c", 3),
            ("a\u{200b}b\u{feff}c\0d", 1),
            ("日本語 テキスト", 2),
        ];
        for (text, n) in cases {
            assert_eq!(
                Trial::of(&ENTRY).text(text).run(),
                Ok(Value::of(&[], &[n as i64])),
                "{text:?}"
            );
        }
    }
}
