//! Where a record ends.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use memchr::{memchr, memchr_iter, memchr2};

use super::{FileError, RecordFault};

/// Bytes that a record may have, with its line end.
pub const RECORD_MAX: usize = 64 * 1024 * 1024;

/// Bytes of a file's begin that a format may need to tell how long its header is.
pub const HEADER_MAX: usize = 1024 * 1024;

/// A format whose files are no text: how its records lie in a file, and what they hold.
///
/// It and its source are one file of `sources`, such as `records.rs`, or the source one and this another.
pub trait BinaryFormat: fmt::Debug + Send + Sync {
    /// Where the record ends that begins these bytes. It depends on the bytes of that record alone;
    /// where all have one size, it follows from that.
    fn end(&self, bytes: &[u8]) -> End {
        match self.size() {
            Some(size) if bytes.len() as u64 >= size => End::At { end: size as usize, n_lines: 1 },
            _ => End::Later { quoted: false },
        }
    }

    /// Bytes of a record, where all have one size and lie end to end; what is left at the end of a file is one too.
    fn size(&self) -> Option<u64> {
        None
    }

    /// Bytes before the first record of a file that begins with these bytes and has `len` of them, as far as that is
    /// known; none where that takes more bytes to tell, which is never said of [`HEADER_MAX`] of them.
    ///
    /// # Errors
    /// No record of the file can be read.
    fn header(&self, bytes: &[u8], len: Option<u64>) -> Result<Option<u64>, RecordFault> {
        let _ = (bytes, len);
        Ok(Some(0))
    }

    /// Hands the place of each record of a file to `visit`, in order, and gives the file's length in bytes. It finds the
    /// records that [`BinaryFormat::end`] finds, and reads as little as it can for that. It is not asked where
    /// [`BinaryFormat::size`] tells where they lie.
    ///
    /// # Errors
    /// The file cannot be read.
    fn starts(&self, path: &Path, visit: &mut dyn FnMut(u64)) -> Result<u64, FileError> {
        let _ = visit;
        let message = "its records cannot be located";
        Err(FileError::whole(path, RecordFault::new(message, "this is a bug in pipec")))
    }

    /// What a record holds, without what frames it; its key comes first, empty where it has none.
    ///
    /// # Errors
    /// It is damaged or cut off.
    fn record<'r>(&self, raw: &'r [u8]) -> Result<(String, &'r [u8]), RecordFault>;

    /// Whether what a record holds is all of its bytes.
    fn is_verbatim(&self) -> bool {
        false
    }

    /// Whether what is left at the end of a file, which has no end of its own, is a record: one that is cut off.
    fn is_record(&self, _rest: &[u8]) -> bool {
        true
    }
}

/// What a file's records are.
#[derive(Debug, Clone)]
pub enum Framing {
    /// Lines, which end in `\n` or `\r\n`; the last may do without.
    Lines,
    /// CSV records (RFC 4180): lines too, but fields between quotes may hold line ends. Blank lines are
    /// not records.
    Csv {
        /// What stands between two fields.
        delimiter: u8,
    },
    /// Those of a format that is no text.
    Binary(Arc<dyn BinaryFormat>),
}

/// Where the record ends that begins at a place, if it does so in what has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// At this byte, behind the line end where it has one.
    At {
        /// Bytes from the record's begin.
        end: usize,
        /// Lines of it; 1 where there are none.
        n_lines: u32,
    },
    /// Later.
    Later {
        /// Whether inside quotes.
        quoted: bool,
    },
    /// Nobody knows where.
    Lost,
    /// What ends here is no record.
    Passed {
        /// Bytes up to there.
        end: usize,
    },
}

impl Framing {
    /// Cuts the first record out of `raw` and takes its line end away.
    #[must_use]
    pub fn content<'r>(&self, raw: &'r [u8]) -> &'r [u8] {
        match self.end(raw) {
            End::At { end, .. } if self.is_text() => trim(&raw[..end]),
            End::At { end, .. } => &raw[..end],
            End::Later { .. } | End::Lost => raw,
            End::Passed { .. } => &[],
        }
    }

    /// Whether the files are text in UTF-8.
    pub(super) fn is_text(&self) -> bool {
        !matches!(self, Framing::Binary(_))
    }

    pub(super) fn end(&self, bytes: &[u8]) -> End {
        let (start, n_lines) = match self {
            Framing::Lines => (0, 0),
            Framing::Csv { delimiter } => match skip_quotes(bytes, *delimiter) {
                Ok(skipped) => skipped,
                Err(end) => return end,
            },
            Framing::Binary(format) => return format.end(bytes),
        };
        match memchr(b'\n', &bytes[start..]) {
            Some(at) => End::At { end: start + at + 1, n_lines: n_lines + 1 },
            None => End::Later { quoted: false },
        }
    }

    /// The mistake of a record that has no end within [`RECORD_MAX`], or within the file.
    pub(super) fn endless(&self, quoted: bool) -> RecordFault {
        if !self.is_text() {
            let message = format!("the record is longer than {} MiB", RECORD_MAX >> 20);
            return RecordFault::new(message, "write smaller records");
        }
        if quoted {
            return unclosed();
        }
        let message = format!("the line is longer than {} MiB", RECORD_MAX >> 20);
        RecordFault::new(
            message,
            "check that this is a text file; store larger records in a binary format",
        )
    }
}

/// The mistake of a quote without its other one.
pub(super) fn unclosed() -> RecordFault {
    let help = "close it with `\"`; inside a quoted field, write a quote as `\"\"`";
    RecordFault::new("unclosed quote in the record that begins here", help)
}

/// Goes past the last field between quotes in the first record: where that ends, and the line ends
/// inside of quotes so far.
fn skip_quotes(bytes: &[u8], delimiter: u8) -> Result<(usize, u32), End> {
    let (mut at, mut n_lines) = (0, 0);

    while let Some(found) = memchr2(b'"', b'\n', &bytes[at..]).map(|it| at + it) {
        if bytes[found] == b'\n' {
            break;
        }
        at = found + 1;
        // Elsewhere than at the start of a field, a quote is a character like any other.
        if found == 0 || bytes[found - 1] == delimiter {
            let inside = closing_quote(&bytes[at..]).ok_or(End::Later { quoted: true })?;
            n_lines += memchr_iter(b'\n', &bytes[at..at + inside]).count() as u32;
            at += inside + 1;
        }
    }
    Ok((at, n_lines))
}

/// The quote that closes a field, of the bytes behind the one that opens it. A doubled one does not.
pub(super) fn closing_quote(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let quote = at + memchr(b'"', &bytes[at..])?;
        if bytes.get(quote + 1) != Some(&b'"') {
            return Some(quote);
        }
        at = quote + 2;
    }
}

/// Takes away `\n` or `\r\n`.
pub(crate) fn trim(line: &[u8]) -> &[u8] {
    let Some(line) = line.strip_suffix(b"\n") else { return line };
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// What may stand in front of a file in UTF-8.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The bytes of the mark in front of a file that says it is UTF-8.
pub(crate) fn byte_order_mark(bytes: &[u8]) -> usize {
    if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 }
}
