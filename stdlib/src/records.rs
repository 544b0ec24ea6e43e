//! Cuts files into records: lines, CSV records whose quotes may hold line ends, TFRecords, files of tar archives,
//! records of one size.
//!
//! [`RecordReader`] goes through the files in order, in blocks; [`RecordIndex`] says where each record
//! lies, for reading in any order; [`csv`] splits a record into fields and finds a table's columns.

pub(crate) mod compressed;
pub mod csv;
mod framing;
mod index;
mod index_store;
mod not_text;
pub mod npy;
mod offsets;
mod reader;
pub mod tar;
pub mod tfrecord;
mod walked;

use std::fmt;
use std::io;
use std::path::Path;

use runtime::storage;

#[cfg(feature = "tables")]
pub(crate) use compressed::Codec;
#[cfg(feature = "tables")]
pub(crate) use compressed::zstd;
pub(crate) use compressed::{open_by_number, whole_text};
pub use framing::{BinaryFormat, End, Framing, HEADER_MAX, RECORD_MAX};
pub(crate) use framing::{byte_order_mark, trim};
pub use index::{RecordAt, RecordIndex, line_at};
pub use index_store::keep_indices_in;
pub(crate) use not_text::told as not_text;
pub use reader::{Block, FirstLens, OwnBlock, Position, RecordReader, Span};

/// Where a record stands in its file, as a person is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In this line, from 1.
    Line(u64),
    /// It is this one, from 1, and begins at this byte.
    Record(u64, u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Record(number, byte) => write!(f, "record {number}, at byte {byte}"),
        }
    }
}

/// Why a file cannot be cut into records: a sentence, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    /// The file.
    pub path: String,
    /// Where in it, where it is about one record.
    pub place: Option<Place>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl FileError {
    /// A mistake in one record of a file.
    #[must_use]
    pub fn at(path: &Path, place: Place, fault: RecordFault) -> FileError {
        let RecordFault { mut message, help, loses_rest } = fault;
        if let (true, Place::Record(_, byte)) = (loses_rest, place) {
            let rest = storage::of(path).stat(path).map_or(0, |it| it.bytes.saturating_sub(byte));
            message = format!("{message}; the remaining {rest} bytes of the file are skipped");
        }
        let path = path.to_string_lossy().into_owned();
        FileError { path, place: Some(place), message, help }
    }

    /// A mistake in one line of a file.
    #[must_use]
    pub fn at_line(path: &Path, line: u64, fault: RecordFault) -> FileError {
        Self::at(path, Place::Line(line), fault)
    }

    /// The mistake of a file whose first bytes say that it is no text in UTF-8.
    fn not_text(path: &Path, start: &[u8]) -> Option<FileError> {
        let path = path.to_string_lossy().into_owned();
        let (message, help) = not_text::told(&path, start)?;
        Some(FileError { path, place: None, message, help })
    }

    fn unreadable(path: &Path, why: &io::Error) -> FileError {
        let of_storage = storage::of(path).remedy(why);
        FileError {
            path: path.to_string_lossy().into_owned(),
            place: None,
            message: format!("cannot be read: {why}"),
            help: of_storage.unwrap_or("check that the file exists and is readable").to_owned(),
        }
    }

    /// A mistake that keeps every record of a file from being read.
    fn whole(path: &Path, fault: RecordFault) -> FileError {
        let RecordFault { message, help, .. } = fault;
        FileError { path: path.to_string_lossy().into_owned(), place: None, message, help }
    }

    /// A file in which something is compressed that cannot be decompressed.
    fn torn(path: &Path, with: &str, why: &io::Error) -> FileError {
        FileError {
            path: path.to_string_lossy().into_owned(),
            place: None,
            message: format!("its {with} data is damaged or truncated: {why}"),
            help: "copy or write the file again".to_owned(),
        }
    }

    /// A file whose records are asked for by number, and that is compressed.
    fn in_order_only(path: &Path, with: &str) -> FileError {
        FileError {
            path: path.to_string_lossy().into_owned(),
            place: None,
            message: format!("it is compressed with {with}, so it can only be read in order"),
            help: "shuffle within a window, `shuffle(window: 10_000)`, or decompress it".to_owned(),
        }
    }

    /// A file that has another length at its end than it had when it was opened.
    fn changed(path: &Path, then: u64, now: u64) -> FileError {
        FileError {
            path: path.to_string_lossy().into_owned(),
            place: None,
            message: format!(
                "it changed while it was read: it had {then} bytes and now ends after {now}"
            ),
            help: "make sure that nothing writes to it meanwhile".to_owned(),
        }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some(place) => write!(f, "{}, {place}: {}", self.path, self.message),
            None => write!(f, "{}: {}", self.path, self.message),
        }
    }
}

impl std::error::Error for FileError {}

/// What is wrong with one record, wherever it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordFault {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
    /// Whether nobody knows where the next record begins, so that the rest of the file is lost.
    pub loses_rest: bool,
}

impl RecordFault {
    /// A fault of one record.
    pub fn new(message: impl Into<String>, help: impl Into<String>) -> RecordFault {
        RecordFault { message: message.into(), help: help.into(), loses_rest: false }
    }

    /// That of a file that ends before its first record can begin.
    fn no_header() -> RecordFault {
        RecordFault::new("the file ends within its header", "write the file again")
    }

    /// One that loses what follows in the file.
    #[must_use]
    fn losing_rest(self) -> RecordFault {
        RecordFault { loses_rest: true, ..self }
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
