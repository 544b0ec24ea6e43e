//! `count_of`: how often a text holds another.

use crate::prelude::*;
use memchr::memmem;

function! {
    /// Returns how often `part` occurs in `text`, without overlap.
    ///
    /// As `text.count(part)` in Python: the empty string occurs before each character and at the end. What a
    /// regular expression matches is counted by `count_matches`.
    ///
    /// ```pipe
    /// range(2) |> map { commas: count_of("one, two, three", ",") }    # { commas: i64 }
    /// ```
    "count_of(text: str, part: str) -> i64",
    // Assumed: a vectorized search.
    cost: Cost { ns_byte_in: 0.2, ..Cost::call(60.0) },
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let [text, part] = [0, 1].map(|it| args.tensor(it).as_str());
        let n = match part.as_bytes() {
            [] => text.chars().count() + 1,
            [byte] => memchr::memchr_iter(*byte, text.as_bytes()).count(),
            part => memmem::find_iter(text.as_bytes(), part).count(),
        };
        out.scalar(n as i64)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    fn run(text: &str, part: &str) -> i64 {
        let found = Trial::of(&ENTRY).text(text).text(part).run().unwrap();
        assert_eq!(found, Value::of(&[], &found.to_vec::<i64>()));
        found.to_vec::<i64>()[0]
    }

    /// `text.count(part)` of Python 3.11.
    #[test]
    fn agrees_with_python() {
        let cases = [
            ("", "", 1),
            ("Grüße", "", 6),
            ("", "a", 0),
            ("aaaa", "aa", 2),
            ("aaaaa", "aa", 2),
            ("abababa", "aba", 2),
            ("a,b,,c", ",", 3),
            ("日本日本", "日本", 2),
            ("é", "e", 0),
        ];
        for (text, part, n) in cases {
            assert_eq!(run(text, part), n, "{part:?} in {text:?}");
        }
    }

    /// One occurrence after the other, each looked for at every place.
    #[test]
    fn agrees_with_a_slow_search() {
        for number in 0..500_u64 {
            let letter = |at: u64| char::from(b'a' + (plan::mix(number, at) % 2) as u8);
            let text: String = (0..40).map(letter).collect();
            let part: String = (50..51 + number % 4).map(letter).collect();
            let (mut at, mut n) = (0, 0);
            while at + part.len() <= text.len() {
                let found = text[at..].starts_with(&part);
                n += i64::from(found);
                at += if found { part.len() } else { 1 };
            }
            assert_eq!(run(&text, &part), n, "{part:?} in {text:?}");
        }
    }
}
