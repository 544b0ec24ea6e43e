//! Records of files, in order or by number: what `lines`, `jsonl`, `csv` and `tfrecord` share.

use super::listed::Listed;
use crate::records::{
    FileError, Place, Position, RecordFault, RecordIndex, RecordReader, Span, line_at,
};
use plan::unmix;
use runtime::{ChunkBuilder, Counted, Failure, Fingerprint, Source, Stream, mix, os, reads};
use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

/// Files that one source keeps open for reading by number, and the share of those that the process
/// may have.
const OPEN_MAX: usize = 64;
const OPEN_SHARE: u64 = 8;
/// Records of a file, at the most: no file has so many lines.
const RECORDS_MAX: u64 = 1 << 36;
/// Bytes that are read at once where records that follow each other are asked for.
const READ: u64 = 1 << 20;

/// How the records of a kind of files are found and read.
pub(super) trait Format: Send + Sync + 'static {
    /// What is kept from one record to the next.
    type Scratch: Default + Send;

    /// A reader of all records, in order.
    fn reader(&self, files: &Arc<[PathBuf]>) -> Result<RecordReader, Failure>;

    /// Where each record lies.
    fn index(&self, files: &Arc<[PathBuf]>) -> Result<RecordIndex, Failure>;

    /// Appends one record's fields.
    fn append(
        &self,
        record: &[u8],
        scratch: &mut Self::Scratch,
        out: &mut ChunkBuilder,
    ) -> Result<(), RecordFault>;

    /// Appends what stands for a record that could not be read, where the program asks for that.
    ///
    /// # Errors
    /// It does not ask for it: the run ends.
    fn append_fault(&self, error: FileError, out: &mut ChunkBuilder) -> Result<(), Failure> {
        let _ = out;
        Err(file_failure(error))
    }

    /// What follows the file's name where a person is told of its record `ordinal`.
    fn record(&self, ordinal: u64) -> String {
        format!(":{}", ordinal + 1)
    }

    /// Where a record stands, as a person is told: its number in the file, from 0, the byte at which it begins, and
    /// how the lines before it are counted.
    fn place(&self, _ordinal: u64, _offset: u64, line: impl FnOnce() -> u64) -> Place {
        Place::Line(line())
    }
}

/// A source of the records of files.
pub(super) struct Records<F> {
    inner: Arc<Inner<F>>,
}

struct Inner<F> {
    format: F,
    listed: Listed,
    place: u64,
    files: OnceLock<Result<Files, Failure>>,
    index: OnceLock<Result<Index, Failure>>,
    open: Mutex<Vec<(u32, Arc<File>)>>,
    /// How many of them.
    open_max: usize,
}

struct Files {
    paths: Arc<[PathBuf]>,
    /// What names each file in the lineage.
    keys: Vec<u64>,
}

/// Memory that is kept from one read to the next.
struct Reading<S> {
    bytes: Counted<u8>,
    scratch: S,
}

struct Index {
    records: RecordIndex,
    /// The number of each file's first record.
    firsts: Vec<usize>,
}

impl<F: Format> Records<F> {
    /// The records of these files; nothing is opened yet.
    pub(super) fn new(format: F, listed: Listed, place: u64) -> Self {
        let (files, index) = (OnceLock::new(), OnceLock::new());
        let share = os::open_files_max().map(|it| (it / OPEN_SHARE) as usize);
        let open_max = share.map_or(OPEN_MAX, |it| it.min(OPEN_MAX));
        let inner = Inner { format, listed, place, files, index, open: Mutex::default(), open_max };
        Self { inner: Arc::new(inner) }
    }
}

impl<F: Format> Source for Records<F> {
    fn len(&self) -> Result<u64, Failure> {
        Ok(self.inner.index()?.records.len() as u64)
    }

    fn fetch(&self, numbers: &[u64], out: &mut ChunkBuilder) -> Result<(), Failure> {
        let index = self.inner.index()?;
        let mut reading = Reading { bytes: Counted::new(), scratch: F::Scratch::default() };
        let mut from = 0;
        while from < numbers.len() {
            let run = index.run(&numbers[from..]);
            self.inner.fetch_run(&numbers[from..from + run], &mut reading, out)?;
            from += run;
        }
        Ok(())
    }

    fn stream(&self) -> Option<Box<dyn Stream>> {
        let inner = self.inner.clone();
        Some(Box::new(InOrder {
            inner,
            reader: None,
            held: Held::default(),
            scratch: F::Scratch::default(),
        }))
    }

    fn fingerprint(&self) -> Result<Option<Fingerprint>, Failure> {
        self.inner.listed.fingerprint().map(Some)
    }

    fn contents(&self) -> Result<Option<u128>, Failure> {
        self.inner.listed.contents().map(Some)
    }

    fn waits(&self) -> bool {
        true
    }

    fn describe(&self, number: u64) -> String {
        let described = || {
            let (files, index) = (self.inner.files().ok()?, self.inner.index().ok()?);
            let at = index.records.at(number as usize);
            let path = &files.paths[at.file as usize];
            let ordinal = number - index.firsts[at.file as usize] as u64;
            let line = || line_at(path, at.offset).unwrap_or_default();
            let place = self.inner.format.place(ordinal, at.offset, line);
            Some(format!("{}, {place}", path.display()))
        };
        described().unwrap_or_else(|| format!("record {number}"))
    }

    /// The file and its record, found from the id: it is made of both.
    fn named(&self, id: u64) -> Option<String> {
        let inner = &self.inner;
        let (files, of_file) = (inner.files().ok()?, unmix(inner.place, id));
        // An id that is of no record here seems to be one with a chance of one in 2²⁴ for each file.
        let ordinal = |key: &u64| Some(unmix(*key, of_file)).filter(|it| *it < RECORDS_MAX);
        let found = files.keys.iter().zip(files.paths.iter());
        let (ordinal, path) = found.filter_map(|(key, path)| Some((ordinal(key)?, path))).min()?;
        Some(format!("`{}{}`", path.display(), inner.format.record(ordinal)))
    }

    fn classes(&self) -> &[String] {
        self.inner.listed.classes()
    }
}

impl<F: Format> Inner<F> {
    fn files(&self) -> Result<&Files, Failure> {
        let files = self.files.get_or_init(|| {
            let (found, mut scratch) = (self.listed.found()?, String::new());
            let numbers = 0..found.listing.len();
            let keys = numbers.clone().map(|it| found.key(it, &mut scratch)).collect();
            Ok(Files { paths: numbers.map(|it| found.path(it)).collect(), keys })
        });
        files.as_ref().map_err(Clone::clone)
    }

    fn index(&self) -> Result<&Index, Failure> {
        let index = self.index.get_or_init(|| {
            let paths = &self.files()?.paths;
            Ok(Index::new(self.format.index(paths)?, paths.len()))
        });
        index.as_ref().map_err(Clone::clone)
    }

    fn id(&self, key: u64, ordinal: u64) -> u64 {
        mix(self.place, mix(key, ordinal))
    }

    /// Appends records that follow each other in one file.
    fn fetch_run(
        &self,
        numbers: &[u64],
        Reading { bytes, scratch }: &mut Reading<F::Scratch>,
        out: &mut ChunkBuilder,
    ) -> Result<(), Failure> {
        let (files, index) = (self.files()?, self.index()?);
        let place = |it: u64| index.records.at(it as usize);
        let (first, last) = (place(numbers[0]), place(numbers[numbers.len() - 1]));
        let (file, path) = (first.file as usize, &files.paths[first.file as usize]);
        bytes.resize((last.offset + u64::from(last.len) - first.offset) as usize, 0);
        let read =
            self.file(first.file, path).and_then(|it| reads::exact_at(&it, bytes, first.offset));
        read.map_err(|why| unreadable(path, &why))?;

        for &number in numbers {
            let at = place(number);
            let start = (at.offset - first.offset) as usize;
            let record = index.records.content(&bytes[start..start + at.len as usize]);
            let ordinal = number - index.firsts[file] as u64;
            if let Err(fault) = self.format.append(record, scratch, out) {
                out.truncate(out.rows());
                let line = || line_at(path, at.offset).unwrap_or_default();
                let place = self.format.place(ordinal, at.offset, line);
                self.format.append_fault(FileError::at(path, place, fault), out)?;
            }
            out.ids.push_scalar(self.id(files.keys[file], ordinal));
        }
        Ok(())
    }

    /// The file, open; the one that was used longest ago is closed for it.
    fn file(&self, number: u32, path: &Path) -> io::Result<Arc<File>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let found = open.iter().position(|(it, _)| *it == number);
        let file = match found {
            Some(at) => open.remove(at).1,
            // Better to open a file again later than to end for it.
            None => Arc::new(os::open(path, || open.clear())?),
        };
        open.push((number, file.clone()));
        if open.len() > self.open_max {
            open.remove(0);
        }
        Ok(file)
    }
}

impl Index {
    fn new(records: RecordIndex, files: usize) -> Self {
        let first = |file: usize| first_of(&records, file as u32);
        let firsts = (0..files).map(first).collect();
        Self { records, firsts }
    }

    /// How many of the numbers, from the first on, are worth one read.
    fn run(&self, numbers: &[u64]) -> usize {
        let first = self.records.at(numbers[0] as usize);
        let follows = |it: &usize| {
            let at = self.records.at(numbers[*it] as usize);
            numbers[*it] == numbers[0] + *it as u64
                && at.file == first.file
                && at.offset + u64::from(at.len) - first.offset <= READ
        };
        1 + (1..numbers.len()).take_while(follows).count()
    }
}

/// The first record that is not in a file before `file`.
fn first_of(records: &RecordIndex, file: u32) -> usize {
    let (mut low, mut high) = (0, records.len());
    while low < high {
        let middle = low.midpoint(high);
        if records.at(middle).file < file {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// The records one after the other.
struct InOrder<F: Format> {
    inner: Arc<Inner<F>>,
    reader: Option<RecordReader>,
    held: Held,
    scratch: F::Scratch,
}

/// Records of one file that were read and not handed on yet.
#[derive(Default)]
struct Held {
    file: usize,
    /// Where the first of them begins in it.
    offset: u64,
    /// The number, in the file, of the first of them.
    ordinal: u64,
    /// Lines of the file before them.
    line: u64,
    bytes: Counted<u8>,
    records: Counted<Span>,
    /// How many were handed on.
    next: usize,
}

impl<F: Format> Stream for InOrder<F> {
    fn next(&mut self, rows: usize, out: &mut ChunkBuilder) -> Result<(), Failure> {
        let inner = self.inner.clone();
        let files = inner.files()?;
        let mut left = rows;
        while left > 0 && (self.held.next < self.held.records.len() || self.read(files)?) {
            let held = &mut self.held;
            let (path, key) = (&files.paths[held.file], files.keys[held.file]);
            for _ in 0..left.min(held.records.len() - held.next) {
                let span = held.records[held.next];
                let record = &held.bytes[span.start as usize..span.end as usize];
                if let Err(fault) = inner.format.append(record, &mut self.scratch, out) {
                    out.truncate(out.rows());
                    let offset = held.offset + u64::from(span.start);
                    let line = held.line + u64::from(span.line) + 1;
                    let ordinal = held.ordinal + held.next as u64;
                    let place = inner.format.place(ordinal, offset, || line);
                    inner.format.append_fault(FileError::at(path, place, fault), out)?;
                }
                out.ids.push_scalar(inner.id(key, held.ordinal + held.next as u64));
                held.next += 1;
                left -= 1;
            }
        }
        Ok(())
    }

    /// The block that is held, and how many of its records were handed on.
    fn place(&self) -> Option<Vec<u64>> {
        let Held { file, offset, ordinal, line, next, .. } = &self.held;
        Some(vec![*file as u64, *offset, *line, *ordinal, *next as u64])
    }

    fn go_to(&mut self, place: &[u64]) -> Result<(), Failure> {
        let changed = || Failure::State("a file of the source is shorter than it was".to_owned());
        let &[file, offset, line, ordinal, next] = place else { return Err(changed()) };
        let inner = self.inner.clone();
        let files = inner.files()?;
        if file as usize >= files.paths.len() {
            return Err(changed());
        }
        let mut reader = inner.format.reader(&files.paths)?;
        reader.resume(Position { file: file as u32, offset, line });
        self.reader = Some(reader);
        self.held = Held { file: file as usize, ordinal, ..Held::default() };
        if next > 0 {
            let found = self.read(files)? && self.held.records.len() as u64 >= next;
            let same = self.held.file as u64 == file && self.held.offset == offset;
            if !found || !same {
                return Err(changed());
            }
            self.held.next = next as usize;
        }
        Ok(())
    }
}

impl<F: Format> InOrder<F> {
    /// Reads a block; `false` at the end.
    fn read(&mut self, files: &Files) -> Result<bool, Failure> {
        let reader = match &mut self.reader {
            Some(reader) => reader,
            None => self.reader.insert(self.inner.format.reader(&files.paths)?),
        };
        let held = &mut self.held;
        // One after the other has the memory for records: of short lines they take more than the text.
        let n_before = held.records.len() as u64;
        reader.swap_records(&mut held.records);
        let Some(block) = reader.next_block().map_err(file_failure)? else { return Ok(false) };
        let file = block.position.file as usize;
        held.ordinal = if file == held.file { held.ordinal + n_before } else { 0 };
        (held.file, held.line, held.next) = (file, block.position.line, 0);
        held.offset = block.position.offset;
        held.bytes.clear();
        held.bytes.extend_from_slice(block.bytes);
        reader.swap_records(&mut held.records);
        Ok(true)
    }
}

/// The failure that a mistake in a text file is.
pub(super) fn file_failure(why: FileError) -> Failure {
    let FileError { path, place, message, help } = why;
    let place = place.map(|it| format!("{it}: ")).unwrap_or_default();
    Failure::Io { path, detail: format!("{place}{message}: {help}") }
}

fn unreadable(path: &Path, why: &io::Error) -> Failure {
    let path = path.display().to_string();
    let help = if os::is_too_many_open(why) {
        "raise the number of files that may be open (`ulimit -n`)"
    } else {
        "see that it is there, may be read, and is not written to meanwhile"
    };
    Failure::Io { path, detail: format!("it cannot be read: {why}: {help}") }
}

/// Appends a record that is text.
pub(super) fn append_text(record: &[u8], out: &mut ChunkBuilder) -> Result<(), RecordFault> {
    check_utf8(record)?;
    out.columns.iter_mut().for_each(|it| it.push_text(record));
    Ok(())
}

/// Kernels rely on it that text is UTF-8.
pub(super) fn check_utf8(text: &[u8]) -> Result<(), RecordFault> {
    match str::from_utf8(text) {
        Ok(_) => Ok(()),
        Err(why) => Err(RecordFault::new(
            format!("byte {} of the record is not UTF-8", why.valid_up_to() + 1),
            "turn the file into UTF-8: `iconv -f latin1 -t utf-8`",
        )),
    }
}

/// Records of files of lines.
pub(super) struct Lines;

impl Format for Lines {
    type Scratch = ();

    fn reader(&self, files: &Arc<[PathBuf]>) -> Result<RecordReader, Failure> {
        Ok(RecordReader::lines(files.clone()))
    }

    fn index(&self, files: &Arc<[PathBuf]>) -> Result<RecordIndex, Failure> {
        RecordIndex::of_lines(files.clone()).map_err(file_failure)
    }

    fn append(
        &self,
        record: &[u8],
        (): &mut (),
        out: &mut ChunkBuilder,
    ) -> Result<(), RecordFault> {
        append_text(record, out)
    }
}

/// What the tests of these sources share.
#[cfg(test)]
pub(super) mod reading {
    use super::*;
    use plan::Field;
    use runtime::{Chunk, Pool};

    /// All records in order, `rows` at a time.
    pub(in super::super) fn in_order(
        source: &dyn Source,
        fields: &[Field],
        rows: usize,
    ) -> Result<Vec<Chunk>, Failure> {
        let (mut stream, mut chunks) = (source.stream().unwrap(), Vec::new());
        loop {
            let mut out = ChunkBuilder::new(fields, rows, 0, &Pool::default());
            stream.next(rows, &mut out)?;
            if out.rows() == 0 {
                return Ok(chunks);
            }
            chunks.push(out.finish());
        }
    }

    /// The records of these numbers.
    pub(in super::super) fn fetched(
        source: &dyn Source,
        fields: &[Field],
        numbers: &[u64],
    ) -> Result<Chunk, Failure> {
        let mut out = ChunkBuilder::new(fields, numbers.len(), 0, &Pool::default());
        source.fetch(numbers, &mut out)?;
        Ok(out.finish())
    }
}
