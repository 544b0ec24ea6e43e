//! Files in TOML that people may write by hand: read up to a size, told of with the line.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::io;

/// What every form of a file begins with.
#[derive(Deserialize)]
struct Head {
    format: u32,
}

/// What a file is, for messages.
#[derive(Clone, Copy)]
pub(crate) struct What {
    /// `lock`
    pub(crate) name: &'static str,
    /// The newest form that is known.
    pub(crate) format: u32,
    /// How it is made: `pipec tune`.
    pub(crate) made_by: &'static str,
}

/// What the text of a file says. Its form is looked at first: a newer one may have other keys.
///
/// # Errors
/// A sentence: what is wrong, in which line, and what helps.
pub(crate) fn parse<T: DeserializeOwned>(text: &str, what: What) -> Result<T, String> {
    let What { name, format, made_by } = what;
    let head: Head = toml::from_str(text).map_err(|it| wrong(text, &it, what))?;
    if head.format == 0 || head.format > format {
        return Err(format!(
            "this {name} has format {}, but this pipec supports formats up to {format}: use a \
             newer pipec, or write it again with `{made_by}`",
            head.format
        ));
    }
    toml::from_str(text).map_err(|it| wrong(text, &it, what))
}

/// What is wrong with a text, with the line.
fn wrong(text: &str, error: &toml::de::Error, What { name, made_by, .. }: What) -> String {
    let at = error.span().map_or(0, |it| it.start.min(text.len()));
    let line = text.as_bytes()[..at].iter().filter(|it| **it == b'\n').count() + 1;
    let message = plain(error.message());
    format!(
        "line {line} of this {name} is invalid: {message}; correct it, or write it again with \
         `{made_by}`"
    )
}

/// The failure to read a file as text.
pub(crate) fn unreadable(error: &io::Error, What { name, made_by, .. }: What) -> String {
    match error.kind() {
        io::ErrorKind::InvalidData => {
            format!("this {name} is not UTF-8 text; write it again with `{made_by}`")
        }
        _ => error.to_string(),
    }
}

/// What is wrong with JSON that this tool has written.
pub(crate) fn damaged(error: &serde_json::Error) -> String {
    use serde_json::error::Category;
    match error.classify() {
        Category::Eof => "it is empty or truncated".to_owned(),
        Category::Syntax | Category::Io => format!("line {} is not JSON", error.line()),
        Category::Data => {
            let text = error.to_string();
            let message = text.rsplit_once(" at line ").map_or(&*text, |it| it.0);
            format!("line {}: {}", error.line(), plain(message))
        }
    }
}

/// A message of serde without the names of types of this program.
fn plain(message: &str) -> String {
    let message = message.trim();
    if let Some(key) = message.strip_prefix("missing field ") {
        return format!("{key} is missing");
    }
    if let Some((key, known)) =
        message.strip_prefix("unknown field ").and_then(|it| it.split_once(", expected "))
    {
        let known = known.strip_prefix("one of ").unwrap_or(known);
        return format!("unknown key {key}; the keys are {}", known.replace(" or ", " and "));
    }
    let of_type = ["invalid type: ", "invalid value: ", "invalid length "];
    let found = of_type.iter().find_map(|it| message.strip_prefix(it));
    let Some((found, expected)) = found.and_then(|it| it.rsplit_once(", expected ")) else {
        return message.to_owned();
    };
    // What stands in a file that may be another one is not shown: `string "…"`.
    let found = found.split_once(" \"").map_or(found, |it| it.0);
    let expected = match expected {
        "a string" => "a string",
        "a sequence" => "a list",
        "a boolean" => "`true` or `false`",
        "f32" | "f64" => "a number",
        it if it.starts_with(['u', 'i']) && it[1..].parse::<u8>().is_ok() => "an integer",
        "usize" | "isize" => "an integer",
        it if it.starts_with("struct ") || it == "a map" => "a table",
        it => it,
    };
    let expected = match found.contains('-') && expected == "an integer" {
        true => "a non-negative integer",
        false => expected,
    };
    format!("expected {expected}, found {found}")
}

/// A string in quotes. Those of JSON are ones of TOML, but for DEL, which TOML wants escaped.
pub(crate) fn quoted(it: &(impl Serialize + ?Sized)) -> String {
    let text = serde_json::to_string(it).unwrap_or_else(|_| "\"\"".to_owned());
    text.replace('\u{7f}', "\\u007F")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_serde_are_told_without_types() {
        for (message, told) in [
            ("missing field `plan`", "`plan` is missing"),
            ("unknown field `a`, expected `b` or `c`", "unknown key `a`; the keys are `b` and `c`"),
            (
                "unknown field `a`, expected one of `b`, `c`",
                "unknown key `a`; the keys are `b`, `c`",
            ),
            (
                "invalid type: integer `3`, expected a string",
                "expected a string, found integer `3`",
            ),
            (
                "invalid value: integer `-3`, expected usize",
                "expected a non-negative integer, found integer `-3`",
            ),
            (
                "invalid type: string \"x\", expected struct Chosen",
                "expected a table, found string",
            ),
            ("duplicate key", "duplicate key"),
        ] {
            assert_eq!(plain(message), told);
        }
        let wrong = |text| damaged(&serde_json::from_str::<Head>(text).map(|_| ()).unwrap_err());
        assert_eq!(wrong("{\"format\":"), "it is empty or truncated");
        assert_eq!(wrong("{\"format\":\n1,}"), "line 2 is not JSON");
        assert_eq!(wrong("{}"), "line 1: `format` is missing");
    }
}
