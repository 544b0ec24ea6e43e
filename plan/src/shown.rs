//! Text of names and data as it may be printed: nothing in it moves a cursor, hides or reorders what is read.

use std::{borrow::Cow, fmt::Write};

/// Whether a character is not printed as it is: control characters but line ends and tabs, and the
/// marks that change the direction of text.
#[must_use]
pub fn is_hidden(it: char) -> bool {
    (it.is_control() && !matches!(it, '\n' | '\t')) || is_bidi(it) || it == '\u{feff}'
}

/// Whether a character changes the direction of the text around it (Unicode, UAX 9).
#[must_use]
pub fn is_bidi(it: char) -> bool {
    matches!(it, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `text` with each hidden character as its number: `\u{1b}`.
#[must_use]
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for it in text.chars() {
        if is_hidden(it) {
            let _ = write!(shown, "{}", it.escape_unicode());
        } else {
            shown.push(it);
        }
    }
    Cow::Owned(shown)
}

/// JSON with each hidden character as JSON has it: `\u001b`. Such are in its strings alone.
#[must_use]
pub fn escaped_json(json: &str) -> Cow<'_, str> {
    if !json.contains(is_hidden) {
        return Cow::Borrowed(json);
    }
    let mut shown = String::with_capacity(json.len() + 16);
    for it in json.chars() {
        if is_hidden(it) {
            let _ = write!(shown, "\\u{:04x}", u32::from(it));
        } else {
            shown.push(it);
        }
    }
    Cow::Owned(shown)
}

/// `text` with each hidden character as another one of as many bytes, so that places in it stay.
#[must_use]
pub fn masked(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mask = |it: char| match it {
        it if !is_hidden(it) => it,
        it if it.len_utf8() == 1 => '?',
        it if it.len_utf8() == 2 => '\u{bf}',
        _ => '\u{fffd}',
    };
    Cow::Owned(text.chars().map(mask).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_shown() {
        for (text, shown) in [
            ("a\tb\nc ü \u{1f600}", "a\tb\nc ü \u{1f600}"),
            ("\u{1b}[2J\r", "\\u{1b}[2J\\u{d}"),
            ("x\u{202e}y\u{2066}\u{85}\u{7f}", "x\\u{202e}y\\u{2066}\\u{85}\\u{7f}"),
        ] {
            assert_eq!(escaped(text), shown);
            assert_eq!(escaped_json("\"\u{7f}\u{202e}\""), "\"\\u007f\\u202e\"");
            let masked = masked(text);
            assert!(masked.len() == text.len() && !masked.contains(is_hidden), "{masked:?}");
        }
    }
}
