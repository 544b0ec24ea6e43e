//! Files in TOML that people may write by hand: read up to a size, told of with the line.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
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
            "this {name} is of form {}, this pipec knows forms up to {format}: use a newer pipec, or make it anew with `{made_by}`",
            head.format
        ));
    }
    toml::from_str(text).map_err(|it| wrong(text, &it, what))
}

/// What is wrong with a text, with the line.
fn wrong(text: &str, error: &toml::de::Error, What { name, made_by, .. }: What) -> String {
    let at = error.span().map_or(0, |it| it.start.min(text.len()));
    let line = text.as_bytes()[..at].iter().filter(|it| **it == b'\n').count() + 1;
    let message = error.message().trim();
    format!(
        "line {line} of this {name} is wrong: {message}; mend it, or make it anew with `{made_by}`"
    )
}

/// A string in quotes. Those of JSON are ones of TOML, but for DEL, which TOML wants escaped.
pub(crate) fn quoted(it: &(impl Serialize + ?Sized)) -> String {
    let text = serde_json::to_string(it).unwrap_or_else(|_| "\"\"".to_owned());
    text.replace('\u{7f}', "\\u007F")
}
