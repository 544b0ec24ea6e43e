//! Reads files of records from front to end, in blocks of whole records.
//!
//! What a block holds depends on where it begins and on nothing else, so that a reader set to the
//! position of a block gives that block again.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use memchr::memchr_iter;
use runtime::Counted;

use super::compressed::Input;
use super::framing::{
    BYTE_ORDER_MARK, BinaryFormat, End, Framing, RECORD_MAX, byte_order_mark, closing_quote, trim,
};
use super::{FileError, Place, RecordFault, csv};
use crate::marks;

/// Bytes that a block has, unless one record has more.
const BLOCK: usize = 1024 * 1024;

/// Reads records in order, without an index.
///
/// It holds one block, 1 MiB, and so much more as the longest record needs. A byte order mark in front
/// of a file is dropped.
pub struct RecordReader {
    /// What the files had when they were first opened, where an earlier reader may have read them.
    first_lens: Option<Arc<FirstLens>>,
    files: Arc<[PathBuf]>,
    /// The file before which it ends, by its number.
    end: u32,
    framing: Framing,
    /// Bytes of a block.
    block: usize,
    /// Whether records are looked for that are to be read by number.
    by_number: bool,
    /// The header that each file begins with, for CSV that has one.
    header: Option<Vec<String>>,
    header_due: bool,
    input: Option<Input>,
    /// Bytes that the open file had when it was opened; none of what is no file but a pipe.
    len: Option<u64>,
    /// Where the next record is.
    position: Position,
    buffer: Counted<u8>,
    /// The place in the buffer of the next record.
    at: usize,
    /// Whether the buffer's end is the file's.
    at_end: bool,
    /// Whether nobody knows where the next record of the file begins.
    is_lost: bool,
    spans: Counted<Span>,
}

/// Bytes that files had when they were first opened: every epoch opens them again.
#[derive(Debug, Default)]
pub struct FirstLens(Mutex<BTreeMap<u32, u64>>);

impl FirstLens {
    /// The bytes of a file when it was first opened: now, if it was not before; none where nobody knows.
    fn of(&self, file: u32, now: Option<u64>) -> Option<u64> {
        let mut lens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match now {
            Some(now) => Some(*lens.entry(file).or_insert(now)),
            // An empty file has no length that is known, and it may have had one.
            None => lens.get(&file).copied(),
        }
    }
}

/// The place of a record: what a reader needs to go on from there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// The file, by its number.
    pub file: u32,
    /// Bytes before it in the file.
    pub offset: u64,
    /// Lines before it in the file.
    pub line: u64,
}

/// A record inside a block, without its line end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Its first byte in the block.
    pub start: u32,
    /// The byte behind its last.
    pub end: u32,
    /// Lines of the block before it.
    pub line: u32,
}

/// Some records of one file, in order. It lasts until the next is read.
#[derive(Debug, Clone, Copy)]
pub struct Block<'r> {
    /// Where it begins.
    pub position: Position,
    /// Its bytes, line ends and all.
    pub bytes: &'r [u8],
    /// Its records; never none.
    pub records: &'r [Span],
}

/// Some records of one file, in order, that nobody else has.
#[derive(Debug, Default)]
pub struct OwnBlock {
    /// Where it begins.
    pub position: Position,
    /// Its records.
    pub records: Counted<Span>,
    bytes: Counted<u8>,
    /// The place of its first byte in `bytes`.
    start: usize,
}

impl OwnBlock {
    /// One of no records.
    #[must_use]
    pub fn at(position: Position) -> OwnBlock {
        OwnBlock { position, ..OwnBlock::default() }
    }

    fn as_block(&self) -> Block<'_> {
        let Self { position, records, bytes, start } = self;
        Block { position: *position, bytes: &bytes[*start..], records }
    }

    /// The bytes of record `i`, without its line end.
    #[must_use]
    pub fn record(&self, i: usize) -> &[u8] {
        self.as_block().record(i)
    }

    /// The bytes from the first of these records to the last.
    #[must_use]
    pub fn bytes(&self, records: Range<usize>) -> &[u8] {
        let records = &self.records[records];
        let Some((first, last)) = records.first().zip(records.last()) else { return &[] };
        &self.as_block().bytes[first.start as usize..last.end as usize]
    }

    /// The number of the line, from 1, in which record `i` begins.
    #[must_use]
    pub fn line(&self, i: usize) -> u64 {
        self.as_block().line(i)
    }

    /// The byte of the file at which record `i` begins.
    #[must_use]
    pub fn offset(&self, i: usize) -> u64 {
        self.as_block().offset(i)
    }
}

impl<'r> Block<'r> {
    /// The bytes of record `i`, without its line end.
    #[must_use]
    pub fn record(&self, i: usize) -> &'r [u8] {
        let span = self.records[i];
        &self.bytes[span.start as usize..span.end as usize]
    }

    /// The number of the line, from 1, in which record `i` begins.
    #[must_use]
    pub fn line(&self, i: usize) -> u64 {
        self.position.line + u64::from(self.records[i].line) + 1
    }

    /// The byte of the file at which record `i` begins.
    #[must_use]
    pub fn offset(&self, i: usize) -> u64 {
        self.position.offset + u64::from(self.records[i].start)
    }
}

impl RecordReader {
    /// Reads the lines of the files.
    #[must_use]
    pub fn lines(files: impl Into<Arc<[PathBuf]>>) -> RecordReader {
        RecordReader::new(files.into(), Framing::Lines, None)
    }

    /// Reads the records of CSV files that are laid out alike. Their headers, which must be alike too,
    /// are not among them.
    #[must_use]
    pub fn csv(files: impl Into<Arc<[PathBuf]>>, table: &csv::Table) -> RecordReader {
        RecordReader::new(files.into(), table.framing(), table.header())
    }

    /// Reads records that are no text, whole: with what frames them.
    #[must_use]
    pub fn binary(
        files: impl Into<Arc<[PathBuf]>>,
        format: &Arc<dyn BinaryFormat>,
    ) -> RecordReader {
        RecordReader::new(files.into(), Framing::Binary(format.clone()), None)
    }

    /// Reads what an index is made of: a file that is compressed is refused.
    pub(super) fn by_number(mut self) -> RecordReader {
        self.by_number = true;
        self
    }

    /// Reads one of the files alone.
    #[must_use]
    pub fn only(mut self, file: u32) -> RecordReader {
        (self.position.file, self.end) = (file, file + 1);
        self
    }

    /// Reads in blocks of another size.
    #[must_use]
    pub fn with_blocks_of(mut self, n_bytes: usize) -> RecordReader {
        self.block = n_bytes;
        self
    }

    fn new(files: Arc<[PathBuf]>, framing: Framing, header: Option<Vec<String>>) -> RecordReader {
        RecordReader {
            end: files.len() as u32,
            files,
            framing,
            block: BLOCK,
            by_number: false,
            header,
            header_due: false,
            input: None,
            len: None,
            first_lens: None,
            position: Position::default(),
            buffer: Counted::new(),
            at: 0,
            at_end: false,
            is_lost: false,
            spans: Counted::new(),
        }
    }

    /// The files that it reads.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The place of the next record, for [`RecordReader::resume`].
    #[must_use]
    pub fn position(&self) -> Position {
        self.position
    }

    /// Goes on from a position that a reader of the same files gave.
    pub fn resume(&mut self, position: Position) {
        self.input = None;
        self.position = position;
    }

    /// Refuses files that have other lengths than when an earlier reader has opened them.
    pub fn hold_against(&mut self, first_lens: &Arc<FirstLens>) {
        self.first_lens = Some(first_lens.clone());
    }

    /// Reads the next block; none after the last file.
    ///
    /// # Errors
    /// A file cannot be read, a record is longer than [`RECORD_MAX`], a quote is not closed, or a header
    /// differs from the table's. After an error, the reader stands where it stood before.
    pub fn next_block(&mut self) -> Result<Option<Block<'_>>, FileError> {
        let Some((position, start)) = self.find_block()? else { return Ok(None) };
        let bytes = &self.buffer[start..self.at];
        Ok(Some(Block { position, bytes, records: &self.spans }))
    }

    /// The same, with the memory that it lies in.
    ///
    /// # Errors
    /// Those of [`RecordReader::next_block`].
    pub fn take_block(&mut self) -> Result<Option<OwnBlock>, FileError> {
        let Some((position, start)) = self.find_block()? else { return Ok(None) };
        let records = std::mem::take(&mut self.spans);
        // Of a small file the block is copied, so that it does not hold memory for a large one; else what stands
        // behind it is.
        let mut copy = Counted::new();
        if self.at < self.block / 2 {
            copy.extend_from_slice(&self.buffer[start..self.at]);
            return Ok(Some(OwnBlock { position, records, bytes: copy, start: 0 }));
        }
        copy.extend_from_slice(&self.buffer[self.at..]);
        let mut bytes = std::mem::replace(&mut self.buffer, copy);
        bytes.truncate(std::mem::take(&mut self.at));
        Ok(Some(OwnBlock { position, records, bytes, start }))
    }

    /// Finds the next block: its position, and its first byte in the buffer.
    fn find_block(&mut self) -> Result<Option<(Position, usize)>, FileError> {
        while self.position.file < self.end {
            if self.input.is_some() && self.is_lost {
                self.next_file();
                continue;
            }
            if self.input.is_none() {
                self.open()?;
            }

            let position = self.position;
            let start = self.cut()?;
            if self.header_due && !self.spans.is_empty() {
                self.take_header(position, start)?;
            }
            if !self.spans.is_empty() {
                return Ok(Some((position, start)));
            }
            if self.at_end && self.at == self.buffer.len() {
                self.check_len()?;
                self.next_file();
            }
        }
        Ok(None)
    }

    fn next_file(&mut self) {
        self.input = None;
        self.position = Position { file: self.position.file + 1, offset: 0, line: 0 };
    }

    fn open(&mut self) -> Result<(), FileError> {
        let Position { file, offset, line } = self.position;
        let path = &self.files[file as usize];
        let open = || {
            let (mut input, len) = Input::open(path)?;
            if offset > 0 {
                input.go_to(offset)?;
            }
            Ok((input, len))
        };
        let (input, len) = open().map_err(|why| FileError::unreadable(path, &why))?;
        if let Some(codec) = input.codec().filter(|_| self.by_number) {
            return Err(FileError::in_order_only(path, codec.name()));
        }
        let then = self.first_lens.as_ref().and_then(|it| it.of(file, len));
        if let Some(then) = then.filter(|it| len != Some(*it)) {
            return Err(FileError::changed(path, then, len.unwrap_or_default()));
        }
        (self.input, self.len) = (Some(input), len);
        self.buffer.clear();
        (self.at, self.at_end, self.is_lost) = (0, false, false);
        self.header_due = line == 0 && self.header.is_some();

        match self.framing.clone() {
            _ if offset > 0 => Ok(()),
            Framing::Binary(format) => self.skip_header(&*format),
            Framing::Lines | Framing::Csv { .. } => {
                self.fill(self.block.max(BYTE_ORDER_MARK.len()))?;
                self.skip_byte_order_mark()
            }
        }
    }

    /// Goes past what stands in front of the first record of a file.
    fn skip_header(&mut self, format: &dyn BinaryFormat) -> Result<(), FileError> {
        let mut window = 0;
        let n_bytes = loop {
            match format.header(&self.buffer, self.len) {
                Ok(Some(n_bytes)) if n_bytes <= self.buffer.len() as u64 => break n_bytes as usize,
                Ok(n_bytes) if !self.at_end => {
                    let wanted = n_bytes.map_or(window * 2, |it| it as usize);
                    window = wanted.max(self.block);
                    self.fill(window)?;
                }
                Ok(_) => return self.no_header(RecordFault::no_header()),
                Err(fault) => return self.no_header(fault),
            }
        };
        (self.at, self.position.offset) = (n_bytes, n_bytes as u64);
        Ok(())
    }

    fn no_header(&mut self, fault: RecordFault) -> Result<(), FileError> {
        self.input = None;
        Err(FileError::whole(&self.files[self.position.file as usize], fault))
    }

    /// Sees to it that a file ends where it ended when it was opened: what is cut off of it would
    /// be missing without a word, and what comes to it would be there now and then.
    fn check_len(&mut self) -> Result<(), FileError> {
        let Position { file, offset, .. } = self.position;
        match self.len {
            Some(len) if len != offset => {
                self.input = None;
                Err(FileError::changed(&self.files[file as usize], len, offset))
            }
            _ => Ok(()),
        }
    }

    /// Sees to it that a file is text, and goes past the mark in front of it.
    fn skip_byte_order_mark(&mut self) -> Result<(), FileError> {
        let path = &self.files[self.position.file as usize];
        if let Some(error) = FileError::not_text(path, &self.buffer) {
            self.input = None;
            return Err(error);
        }
        let n_bytes = byte_order_mark(&self.buffer);
        (self.at, self.position.offset) = (n_bytes, n_bytes as u64);
        Ok(())
    }

    /// Cuts the next block into spans and moves behind it; returns its place in the buffer.
    fn cut(&mut self) -> Result<usize, FileError> {
        let mut window = self.block;
        loop {
            self.fill(window)?;
            self.spans.clear();
            let bytes = &self.buffer[self.at..self.buffer.len().min(self.at + window)];
            let is_last = self.at_end && self.at + bytes.len() == self.buffer.len();
            let cut = cut(bytes, &self.framing, is_last, &mut self.spans);

            self.is_lost = cut.lost;
            if cut.end > 0 || is_last && cut.open.is_none() {
                let start = self.at;
                self.at += cut.end;
                self.position.offset += cut.end as u64;
                self.position.line += u64::from(cut.n_lines);
                return Ok(start);
            }
            if is_last || window >= RECORD_MAX {
                return Err(self.fault(0, self.framing.endless(cut.open == Some(true))));
            }
            window *= 2;
        }
    }

    /// Reads until `window` bytes lie in the buffer from `at` on, or the file ends.
    fn fill(&mut self, window: usize) -> Result<(), FileError> {
        if self.at_end || self.buffer.len() - self.at >= window {
            return Ok(());
        }
        self.buffer.remove_first(self.at);
        self.at = 0;
        self.buffer.shrink_to(self.block);

        let input = self.input.as_mut().expect("a file is open while records are cut");
        let wanted = window - self.buffer.len();
        let read = self.buffer.read(&mut *input, wanted);
        let path = &self.files[self.position.file as usize];
        let codec = input.codec();
        let found = read.map_err(|why| match codec {
            Some(codec) => FileError::torn(path, codec.name(), &why),
            None => FileError::unreadable(path, &why),
        })?;
        self.at_end = found < wanted;
        Ok(())
    }

    /// Compares the header in front of the block with the table's, and takes it out.
    fn take_header(&mut self, position: Position, start: usize) -> Result<(), FileError> {
        let first = self.spans.remove(0);
        let header = &self.buffer[start..][first.start as usize..first.end as usize];
        let line = u64::from(first.line);
        let expected = self.header.as_deref().unwrap_or_default();
        if let Err(fault) = csv::check_header(header, &self.framing, expected) {
            self.resume(Position { file: position.file, offset: 0, line: 0 });
            return Err(self.fault(line, fault));
        }
        self.header_due = false;
        Ok(())
    }

    /// An error in the line that comes so many after the next record's.
    fn fault(&self, further: u64, fault: RecordFault) -> FileError {
        let Position { file, offset, line } = self.position;
        let path: &Path = &self.files[file as usize];
        let number = line + further + 1;
        let text = self.framing.is_text();
        let place = if text { Place::Line(number) } else { Place::Record(number, offset) };
        FileError::at(path, place, fault)
    }
}

/// How far bytes could be cut into records.
struct Cut {
    end: usize,
    n_lines: u32,
    /// Whether something is left, and if so, whether inside quotes.
    open: Option<bool>,
    /// Whether the last record is one after which nobody knows where the next begins.
    lost: bool,
}

/// Cuts bytes into records; what is left at the end of a file is one, if no quote is open.
fn cut(bytes: &[u8], framing: &Framing, is_last: bool, spans: &mut Counted<Span>) -> Cut {
    match framing {
        Framing::Lines => cut_lines(bytes, is_last, spans),
        Framing::Csv { delimiter } => cut_table(bytes, *delimiter, is_last, spans),
        Framing::Binary(format) => cut_binary(bytes, &**format, is_last, spans),
    }
}

fn cut_lines(bytes: &[u8], is_last: bool, spans: &mut Counted<Span>) -> Cut {
    let (mut at, mut line) = (0, 0);
    marks::each(bytes, [b'\n'; 2], |found| {
        let end = found + 1;
        let content = trim(&bytes[at..end]).len();
        spans.push(Span { start: at as u32, end: (at + content) as u32, line });
        (at, line) = (end, line + 1);
    });
    end_of_text((at, line), bytes, is_last, spans)
}

fn cut_table(bytes: &[u8], delimiter: u8, is_last: bool, spans: &mut Counted<Span>) -> Cut {
    // The record's begin, where to look on, the lines before it, and those that end between its quotes.
    let (mut at, mut from, mut line, mut quoted) = (0, 0, 0, 0);
    let mut is_open = false;
    marks::each(bytes, *b"\n\"", |found| {
        if found < from || is_open {
            return;
        }
        from = found + 1;
        if bytes[found] == b'\n' {
            let content = trim(&bytes[at..from]).len();
            if content > 0 {
                spans.push(Span { start: at as u32, end: (at + content) as u32, line });
            }
            (at, line, quoted) = (from, line + quoted + 1, 0);
        } else if found == at || bytes[found - 1] == delimiter {
            let Some(inside) = closing_quote(&bytes[from..]) else {
                is_open = true;
                return;
            };
            quoted += memchr_iter(b'\n', &bytes[from..from + inside]).count() as u32;
            from += inside + 1;
        }
    });
    if is_open {
        return Cut { end: at, n_lines: line, open: Some(true), lost: false };
    }
    end_of_text((at, line), bytes, is_last, spans)
}

/// What stands behind the last line end is a record where the file ends.
fn end_of_text(
    (at, line): (usize, u32),
    bytes: &[u8],
    is_last: bool,
    spans: &mut Counted<Span>,
) -> Cut {
    if at == bytes.len() || !is_last {
        let open = (at < bytes.len()).then_some(false);
        return Cut { end: at, n_lines: line, open, lost: false };
    }
    spans.push(Span { start: at as u32, end: bytes.len() as u32, line });
    Cut { end: bytes.len(), n_lines: line + 1, open: None, lost: false }
}

fn cut_binary(
    bytes: &[u8],
    format: &dyn BinaryFormat,
    is_last: bool,
    spans: &mut Counted<Span>,
) -> Cut {
    let (mut at, mut line) = (0, 0);
    while at < bytes.len() {
        let rest = &bytes[at..];
        let (end, lost) = match format.end(rest) {
            End::At { end, .. } => (at + end, false),
            End::Passed { end } => {
                at += end;
                continue;
            }
            End::Later { .. } if is_last && !format.is_record(rest) => {
                return Cut { end: bytes.len(), n_lines: line, open: None, lost: false };
            }
            End::Later { quoted: false } if is_last => (bytes.len(), false),
            End::Later { quoted } => {
                return Cut { end: at, n_lines: line, open: Some(quoted), lost: false };
            }
            // What was seen of it, so that it is told what is wrong.
            End::Lost => (bytes.len(), true),
        };
        spans.push(Span { start: at as u32, end: end as u32, line });
        (at, line) = (end, line + 1);
        if lost {
            return Cut { end, n_lines: line, open: None, lost };
        }
    }
    Cut { end: at, n_lines: line, open: None, lost: false }
}
