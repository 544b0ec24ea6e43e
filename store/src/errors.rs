//! What stores say when they refuse, in words that a user can act on, and without what nobody may see.

use object_store::Error;
use std::{error, io};

/// Characters of what a store says that are passed on.
const SAID_MAX: usize = 200;

/// The error of the storage that one of the store is.
pub(crate) fn told(error: &Error) -> io::Error {
    let (kind, text) = match error {
        Error::NotFound { .. } => (io::ErrorKind::NotFound, "it does not exist".to_owned()),
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
            (io::ErrorKind::PermissionDenied, "the store denies access".to_owned())
        }
        Error::InvalidPath { .. } => {
            (io::ErrorKind::InvalidInput, "stores cannot have an object of that name".to_owned())
        }
        Error::Precondition { .. } => (io::ErrorKind::UnexpectedEof, "it has changed".to_owned()),
        other => {
            let text = said(other);
            let is_denied = ["AccessDenied", "403 Forbidden", "SignatureDoesNotMatch"];
            match is_denied.iter().any(|it| text.contains(it)) {
                true => (io::ErrorKind::PermissionDenied, text),
                false => (io::ErrorKind::Other, text),
            }
        }
    };
    io::Error::new(kind, text)
}

/// Whether the range that was asked for is not there.
pub(crate) fn is_beyond_end(error: &Error) -> bool {
    let text = chain(error).map(ToString::to_string).collect::<Vec<_>>().join(" ");
    text.contains("416") && text.contains("Range")
}

/// Whether there was an answer: the store is there, whatever it said.
pub(crate) fn is_answer(error: &Error) -> bool {
    !matches!(error, Error::Generic { .. }) || said_status(error).is_some() || is_cut(error)
}

/// Whether the store is there, and asks for patience.
pub(crate) fn is_away(error: &Error) -> bool {
    said_status(error).is_some_and(|it| it >= 500 || it == 429 || it == 408)
}

/// The status that the store has answered with, of those without a meaning of their own.
fn said_status(error: &Error) -> Option<u16> {
    chain(error).find_map(|it| {
        let text = it.to_string();
        let (_, rest) = text.split_once("non-2xx status code: ")?;
        rest.get(..3)?.parse().ok()
    })
}

/// Whether an answer began well and then ended.
pub(crate) fn is_cut(error: &Error) -> bool {
    let text = chain(error).map(ToString::to_string).collect::<Vec<_>>().join(" ");
    ["end of file before message length", "connection reset", "connection closed"]
        .iter()
        .any(|it| text.to_lowercase().contains(it))
}

/// The innermost of the causes, and how often it was tried.
fn said(error: &Error) -> String {
    let all: Vec<String> = chain(error).map(ToString::to_string).collect();
    let tries = all.iter().find_map(|it| {
        let (_, rest) = it.split_once("after ")?;
        rest.split_once(" retries").map(|it| it.0.to_owned())
    });
    let cause = all.last().map_or("", String::as_str);
    let cause = match (between(cause, "<Code>"), between(cause, "<Message>")) {
        (Some(code), Some(text)) => format!("the store answers {code}: {text}"),
        (Some(code), None) => format!("the store answers {code}"),
        _ => cause.replace("Server returned non-2xx status code:", "the store answers"),
    };
    let cause = without_secrets(&cause);
    match tries {
        Some(tries) => format!("{cause} (after {tries} retries)"),
        None => cause,
    }
}

/// What stands in an element of XML.
fn between<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(tag)?;
    rest.split_once("</").map(|it| it.0)
}

fn chain(error: &Error) -> impl Iterator<Item = &dyn error::Error> {
    std::iter::successors(Some(error as &dyn error::Error), |it| it.source())
}

/// One line, not too long, and of addresses nothing behind `?`: there signatures and tokens stand.
fn without_secrets(text: &str) -> String {
    let words = text.split_whitespace().map(|it| match it.split_once("://") {
        Some((scheme, rest)) => {
            let address = rest.split('?').next().unwrap_or_default();
            let host = address.split_once('@').map_or(address, |it| it.1);
            format!("{scheme}://{host}")
        }
        None => it.to_owned(),
    });
    let line = words.collect::<Vec<_>>().join(" ");
    let line = line.trim_end_matches([':', ' ']);
    match line.char_indices().nth(SAID_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_behind_a_question_mark_is_not_said() {
        let text = "get https://user:secret@host/a?sig=secret\n  failed:";
        assert_eq!(without_secrets(text), "get https://host/a failed");
        assert_eq!(without_secrets(&"x".repeat(300)).chars().count(), SAID_MAX + 1);
    }
}
