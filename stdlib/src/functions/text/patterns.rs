//! Regular expressions that programs contain: what `matches` and `replace_all` share.

use crate::prelude::*;
use plan::shown_bytes;
use regex::{Error, Regex, RegexBuilder};

/// Bytes of a compiled expression: what the crate allows unless it is told otherwise.
const COMPILED_MAX: usize = 10 << 20;

/// The expression that an argument is.
///
/// # Errors
/// It is not known at compile time, is not a regular expression, or would take too much memory; where it is wrong is
/// said.
pub(super) fn compiled(pattern: &Arg) -> Result<Regex, String> {
    let pattern = text_of(pattern, "pattern")?;
    // It says what is wrong in one sentence, and where; `regex` draws it.
    if let Err(error) = regex_syntax::parse(pattern) {
        return Err(told(pattern, &error));
    }
    RegexBuilder::new(pattern).size_limit(COMPILED_MAX).build().map_err(|error| match error {
        Error::CompiledTooBig(limit) => format!(
            "the pattern is too large: compiled, it takes more than {}; use smaller counts in `{{…}}`, or `(?-u:\\w)` for ASCII",
            shown_bytes(limit as u64)
        ),
        other => format!("the pattern cannot be compiled: {}", plain(&other.to_string())),
    })
}

/// A string that is known at compile time.
pub(super) fn text_of<'a>(arg: &'a Arg, name: &str) -> Result<&'a str, String> {
    match arg {
        Arg::Text(it) | Arg::Word(it) => Ok(it),
        _ => Err(format!("`{name}` must be a string that is known at compile time")),
    }
}

/// What is wrong with a pattern, and at which of its characters, counted from 1.
fn told(pattern: &str, error: &regex_syntax::Error) -> String {
    let (what, start) = match error {
        regex_syntax::Error::Parse(it) => (it.kind().to_string(), it.span().start.offset),
        regex_syntax::Error::Translate(it) => (it.kind().to_string(), it.span().start.offset),
        other => return format!("the pattern is wrong: {}", plain(&other.to_string())),
    };
    let (before, rest) = pattern.split_at(start);
    let number = before.chars().count() + 1;
    let place = match rest {
        "" => "at its end".to_owned(),
        rest => {
            let shown: String = rest.chars().take(8).collect();
            let more = if shown.len() < rest.len() { "…" } else { "" };
            format!("at character {number}, `{shown}{more}`")
        }
    };
    format!("the pattern is wrong {place}: {}", plain(&what))
}

/// A message of several lines as one.
fn plain(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(pattern: &str) -> String {
        compiled(&Arg::Text(pattern.to_owned())).expect_err("it is wrong")
    }

    #[test]
    fn the_place_of_a_mistake_is_said() {
        assert_eq!(refused("ü(a|b"), "the pattern is wrong at character 2, `(a|b`: unclosed group");
        assert_eq!(
            refused("*a"),
            "the pattern is wrong at character 1, `*a`: repetition operator missing expression"
        );
        assert!(refused("a\\").starts_with("the pattern is wrong at character 2, `\\`: "));
        assert!(refused("(?=a)b").contains("look-around"), "{}", refused("(?=a)b"));
        assert!(refused(r"(a)\1").contains("backreferences are not supported"));
        assert!(refused(r"\p{Klingon}").contains("Unicode property not found"));
        assert!(refused("[z-a]bcdefghijk").contains("character 2, `z-a]bcde…`"));
        assert!(!refused(r"\u{110000}").contains('\n'));
    }

    #[test]
    fn large_patterns_are_refused() {
        for pattern in [r"\w{1000}{1000}", r"((a{100}){100}){100}", r"\pL{2000}"] {
            assert!(refused(pattern).contains("takes more than 10 MB"), "{}", refused(pattern));
        }
        let deep = "(".repeat(100_000) + &")".repeat(100_000);
        assert!(refused(&deep).contains("nest"), "{}", refused(&deep));
        assert!(compiled(&Arg::Text(r"\w{100}".to_owned())).is_ok());
    }
}
