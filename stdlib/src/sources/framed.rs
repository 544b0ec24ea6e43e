//! Records of files, in order or by number: what `lines`, `jsonl`, `csv`, `tfrecord`, `tar`
//! and the source `records` share.

mod fetching;
mod in_order;
mod interleaved;
mod parts;
mod runs;

use super::listed::{Listed, name_of};
use crate::records::{
    FileError, FirstLens, OwnBlock, Place, RecordFault, RecordIndex, RecordReader, Span, line_at,
};
use in_order::InOrder;
use interleaved::Interleaved;
use parts::Parts;
use plan::unmix;
use runs::Index;
use runtime::{
    ChunkBuilder, Counted, Failure, Fingerprint, Interleave, Source, Stream, mix, os,
    storage::{self, Object, Waits},
};
use std::{
    io,
    ops::Range,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

/// Files that one source keeps open for reading by number, and the share of those that the process
/// may have.
const OPEN_MAX: usize = 64;
const OPEN_SHARE: u64 = 8;
/// Records of a file, at the most: no file has so many lines.
const RECORDS_MAX: u64 = 1 << 36;

/// A record as it lies in its file, or a field of one.
#[derive(Clone, Copy)]
pub(super) struct Raw<'r> {
    pub(super) bytes: &'r [u8],
    /// Whether it is known to be UTF-8.
    pub(super) is_utf8: bool,
}

impl Raw<'_> {
    /// Kernels rely on it that text is UTF-8.
    pub(super) fn check_utf8(self) -> Result<(), RecordFault> {
        if self.is_utf8 { Ok(()) } else { check_utf8(self.bytes) }
    }
}

/// Records of one block that follow each other.
pub(super) struct Neighbours<'r> {
    pub(super) block: &'r OwnBlock,
    pub(super) records: Range<usize>,
    /// Whether they are known to be UTF-8.
    pub(super) is_utf8: bool,
}

impl<'r> Neighbours<'r> {
    /// The first ones, at most `n`.
    pub(super) fn first(&self, n: usize) -> Self {
        let Self { block, records: Range { start, end }, is_utf8 } = *self;
        Self { block, records: start..end.min(start.saturating_add(n)), is_utf8 }
    }

    /// Their bytes, from the first to the last, and where each one lies in the block.
    pub(super) fn found(&self) -> (&'r [u8], &'r [Span]) {
        (self.block.bytes(self.records.clone()), &self.block.records[self.records.clone()])
    }
}

/// How the records of a kind of files are found and read.
pub(super) trait Format: Send + Sync + 'static {
    /// What is kept from one record to the next.
    type Scratch: Default + Send;

    /// Whether records are text in UTF-8.
    const IS_TEXT: bool = true;

    /// Whether records that come in order are only found, and any thread reads them: others are large, and little is done
    /// to them.
    fn is_found_first(&self) -> bool {
        Self::IS_TEXT
    }

    /// A reader of all records, in order.
    fn reader(&self, files: &Arc<[PathBuf]>) -> Result<RecordReader, Failure>;

    /// Where each record lies.
    fn index(&self, files: &Arc<[PathBuf]>) -> Result<RecordIndex, Failure>;

    /// Appends one record's fields.
    fn append(
        &self,
        record: Raw<'_>,
        scratch: &mut Self::Scratch,
        out: &mut ChunkBuilder,
    ) -> Result<(), RecordFault>;

    /// Appends the first of some records together, all but their ids, where that is quicker than one by one. Gives how
    /// many these are, and how many of those that follow go one by one.
    fn append_together(
        &self,
        neighbours: &Neighbours<'_>,
        scratch: &mut Self::Scratch,
        out: &mut ChunkBuilder,
    ) -> (usize, usize) {
        let _ = (scratch, out);
        (0, neighbours.records.len())
    }

    /// Appends records that lie end to end, all but their ids, where each is so many bytes as those of its columns;
    /// `false` where they go one by one.
    fn append_rows(&self, bytes: &[u8], rows: usize, out: &mut ChunkBuilder) -> bool {
        let _ = (bytes, rows, out);
        false
    }

    /// The column whose rows lie in the files as they are in memory, end to end, but for what [`Format::mend`] does: they
    /// are read straight into it, many at a time. None where there is no such column.
    fn rows(&self) -> Option<usize> {
        None
    }

    /// Makes rows that were read into [`Format::rows`] what they are in memory.
    fn mend(&self, rows: &mut [u8]) {
        let _ = rows;
    }

    /// The column that holds each record as it lies in its file, where there is one: records are read straight into it.
    fn verbatim(&self) -> Option<usize> {
        None
    }

    /// Appends the other fields of the record that is the last row of [`Format::verbatim`], all but its id.
    fn append_beside(&self, column: usize, out: &mut ChunkBuilder) -> Result<(), RecordFault> {
        let _ = (column, out);
        Ok(())
    }

    /// Appends what stands for a record that could not be read, where the program asks for that.
    ///
    /// # Errors
    /// It does not ask for it: the run ends.
    fn append_fault(
        &self,
        error: FileError,
        record: (Raw<'_>, &mut Self::Scratch),
        out: &mut ChunkBuilder,
    ) -> Result<(), Failure> {
        let _ = (record, out);
        Err(file_failure(error))
    }

    /// Ends what [`append`](Self::append) has begun: other records may follow, or none.
    fn finish(&self, out: &mut ChunkBuilder) {
        let _ = out;
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
    format: Arc<F>,
    listed: Listed,
    place: u64,
    /// Whether each record gets the name of its file, as its last field.
    names_files: bool,
    files: OnceLock<Result<Files, Failure>>,
    index: OnceLock<Result<Index, Failure>>,
    parts: Mutex<Option<Parts>>,
    first_lens: Arc<FirstLens>,
    open: Mutex<Vec<(u32, Opened)>>,
    /// How many of them.
    open_max: usize,
}

/// A file, open; several threads read in it.
type Opened = Arc<Box<dyn Object>>;

struct Files {
    paths: Arc<[PathBuf]>,
    /// What names each file in the lineage.
    keys: Vec<u64>,
    /// Whether some of them are of a storage that answers late.
    are_far: bool,
    waits: Waits,
}

/// Memory that is kept from one read to the next.
struct Reading<S> {
    bytes: Counted<u8>,
    scratch: S,
}

impl<F: Format> Records<F> {
    /// The records of these files; nothing is opened yet.
    pub(super) fn new(format: F, listed: Listed, place: u64) -> Self {
        Self::of(Arc::new(format), listed, place)
    }

    fn of(format: Arc<F>, listed: Listed, place: u64) -> Self {
        let (files, index) = (OnceLock::new(), OnceLock::new());
        let share = os::open_files_max().map(|it| (it / OPEN_SHARE) as usize);
        let open_max = share.map_or(OPEN_MAX, |it| it.min(OPEN_MAX));
        let (first_lens, open) = (Arc::default(), Mutex::default());
        let (parts, names_files) = (Mutex::default(), false);
        let inner = Inner {
            format,
            listed,
            place,
            names_files,
            files,
            index,
            parts,
            first_lens,
            open,
            open_max,
        };
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
        let mut runs = index.runs(numbers);
        let fetched = match self.inner.files()?.are_far {
            true => self.inner.fetch_runs(&runs.collect::<Vec<_>>(), &mut reading.scratch, out),
            false => runs.try_for_each(|it| self.inner.fetch_near(it, &mut reading, out)),
        };
        // Also of those before one that cannot be read.
        self.inner.format.finish(out);
        fetched
    }

    fn far(&self) -> Option<&Waits> {
        self.inner.files.get()?.as_ref().ok().map(|it| &it.waits)
    }

    fn stream(&self) -> Option<Box<dyn Stream>> {
        Some(Box::new(InOrder::new(self.inner.clone())))
    }

    /// Rows that lie end to end need no search; of many files, it would take long to look into each of them first.
    fn is_fetched_in_order(&self) -> bool {
        let inner = &self.inner;
        let is_few = || inner.files().is_ok_and(|it| it.paths.len() <= OPEN_MAX && !it.are_far);
        inner.format.rows().is_some() && is_few() && inner.index().is_ok()
    }

    fn interleaved(&self, order: Interleave) -> Option<Box<dyn Stream>> {
        Some(Box::new(Interleaved::new(self.inner.clone(), order)))
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

    fn name_files(&mut self) -> bool {
        Arc::get_mut(&mut self.inner).map(|it| it.names_files = true).is_some()
    }

    fn file(&self, name: &str) -> Result<Option<Arc<dyn Source>>, Failure> {
        let Inner { format, listed, place, .. } = &*self.inner;
        let file = listed.file(name)?;
        Ok(file.map(|it| Arc::new(Self::of(format.clone(), it, *place)) as _))
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
            let paths: Arc<[PathBuf]> = numbers.map(|it| found.path(it)).collect();
            let are_far = paths.iter().any(|it| storage::of(it).access().is_some());
            Ok(Files { paths, keys, are_far, waits: Waits::default() })
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

    /// A reader of an epoch: it refuses files that have changed since an earlier one.
    fn reader(&self, files: &Files) -> Result<RecordReader, Failure> {
        let mut reader = self.format.reader(&files.paths)?;
        reader.hold_against(&self.first_lens);
        Ok(reader)
    }

    /// Appends to the last records, which are of one file, its name, where it is asked for.
    fn append_name(&self, path: &Path, out: &mut ChunkBuilder) {
        let rows = out.rows();
        if let Some(to) = out.columns.last_mut().filter(|_| self.names_files) {
            let name = path.file_name().map_or_else(Default::default, |it| it.to_string_lossy());
            (to.rows()..rows).for_each(|_| to.push_text(name_of(&name).as_bytes()));
        }
    }

    fn id(&self, key: u64, ordinal: u64) -> u64 {
        mix(self.place, mix(key, ordinal))
    }

    /// What ends the run where a record cannot be read, with the record's name.
    fn of_record(&self, failure: Failure, (file, ordinal): (usize, u64)) -> Failure {
        match (failure, self.files()) {
            (Failure::Io { path, detail }, Ok(files)) => {
                let id = self.id(files.keys[file], ordinal);
                let record = format!("`{path}{}`", self.format.record(ordinal)).into();
                Failure::Unreadable { id, record, path, detail }
            }
            (failure, _) => failure,
        }
    }

    /// The file, open; the one that was used longest ago is closed for it.
    fn file(&self, number: u32, path: &Path) -> io::Result<Opened> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let found = open.iter().position(|(it, _)| *it == number);
        let file = match found {
            Some(at) => open.remove(at).1,
            // Better to open a file again later than to end for it.
            None => Arc::new(storage::of(path).open(path, &mut || open.clear())?),
        };
        open.push((number, file.clone()));
        if open.len() > self.open_max {
            open.remove(0);
        }
        Ok(file)
    }
}

/// The failure that a mistake in a text file is.
pub(super) fn file_failure(why: FileError) -> Failure {
    let FileError { path, place, message, help } = why;
    let place = place.map(|it| format!("{it}: ")).unwrap_or_default();
    Failure::Io { path, detail: format!("{place}{message}: {help}") }
}

fn unreadable(path: &Path, why: &io::Error) -> Failure {
    let of_storage = storage::of(path).remedy(why);
    let path = path.display().to_string();
    let help = of_storage.unwrap_or(match os::is_too_many_open(why) {
        true => "raise the limit of open files (`ulimit -n`)",
        false => "check that it exists, is readable, and is not written to meanwhile",
    });
    Failure::Io { path, detail: format!("cannot be read: {why}: {help}") }
}

fn check_utf8(text: &[u8]) -> Result<(), RecordFault> {
    match str::from_utf8(text) {
        Ok(_) => Ok(()),
        Err(why) => Err(RecordFault::new(
            format!("byte {} of the record is not UTF-8", why.valid_up_to() + 1),
            "convert the file to UTF-8: `iconv -f latin1 -t utf-8`",
        )),
    }
}

/// Records of files of lines.
pub(super) struct Lines {
    /// How many columns hold the line.
    pub(super) columns: usize,
}

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
        record: Raw<'_>,
        (): &mut (),
        out: &mut ChunkBuilder,
    ) -> Result<(), RecordFault> {
        record.check_utf8()?;
        out.columns[..self.columns].iter_mut().for_each(|it| it.push_text(record.bytes));
        Ok(())
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
