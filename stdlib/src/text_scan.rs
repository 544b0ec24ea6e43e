//! Cuts text files into records: lines, or CSV records whose quotes may hold line ends.
//!
//! [`RecordReader`] goes through the files in order, in blocks; [`RecordIndex`] says where each record
//! lies, for reading in any order; [`csv`] splits a record into fields and finds a table's columns.

pub mod csv;
mod framing;
mod index;
mod not_text;
mod reader;

use std::fmt;
use std::io;
use std::path::Path;

pub use framing::{Framing, RECORD_MAX};
pub use index::{RecordAt, RecordIndex, line_at};
pub use reader::{Block, Position, RecordReader, Span};

/// Why a text file cannot be cut into records: a sentence, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextError {
    /// The file.
    pub path: String,
    /// The line in it, from 1, where it is about one.
    pub line: Option<u64>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl TextError {
    /// A mistake in one line of a file.
    #[must_use]
    pub fn at_line(path: &Path, line: u64, fault: RecordFault) -> TextError {
        let RecordFault { message, help } = fault;
        TextError { path: path.to_string_lossy().into_owned(), line: Some(line), message, help }
    }

    /// The mistake of a file whose first bytes say that it is no text in UTF-8.
    fn not_text(path: &Path, start: &[u8]) -> Option<TextError> {
        let path = path.to_string_lossy().into_owned();
        let (message, help) = not_text::told(&path, start)?;
        Some(TextError { path, line: None, message, help })
    }

    fn unreadable(path: &Path, why: &io::Error) -> TextError {
        TextError {
            path: path.to_string_lossy().into_owned(),
            line: None,
            message: format!("it cannot be read: {why}"),
            help: "see that the file is there and may be read".to_owned(),
        }
    }

    /// A file that has another length at its end than it had when it was opened.
    fn changed(path: &Path, then: u64, now: u64) -> TextError {
        TextError {
            path: path.to_string_lossy().into_owned(),
            line: None,
            message: format!(
                "it changed while it was read: it had {then} bytes, and now ends after {now}"
            ),
            help: "see that nothing writes to it meanwhile".to_owned(),
        }
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}, line {line}: {}", self.path, self.message),
            None => write!(f, "{}: {}", self.path, self.message),
        }
    }
}

impl std::error::Error for TextError {}

/// What is wrong with one record, wherever it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordFault {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl RecordFault {
    fn new(message: impl Into<String>, help: impl Into<String>) -> RecordFault {
        RecordFault { message: message.into(), help: help.into() }
    }
}

impl fmt::Display for RecordFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RecordFault {}

#[cfg(test)]
mod tests;
