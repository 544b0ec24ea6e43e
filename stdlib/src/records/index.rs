//! Where each record of a set of files lies, in eight bytes a record, or in none where all have one size.

use std::io::{self, Read};
use std::num::NonZero;
use std::ops::Range;
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};
use std::thread;

use memchr::memchr_iter;
use runtime::{Counted, reads, storage};

use super::framing::{BinaryFormat, Framing, HEADER_MAX, RECORD_MAX};
use super::index_store::{FileIndex, Slot};
use super::{FileError, Place, RecordFault, RecordReader, csv, open_by_number};

/// Records that an index may hold: 8 GiB.
const RECORDS_MAX: usize = 1 << 30;

/// Where each record lies, so that records can be read in any order.
#[derive(Debug)]
pub struct RecordIndex {
    framing: Framing,
    starts: Starts,
    /// Where the files begin, as if they were one, and where the last ends.
    bases: Vec<u64>,
}

/// Where records begin.
#[derive(Debug)]
enum Starts {
    /// Each of them, as if the files were one.
    Each(Counted<u64>),
    /// Every so many bytes of a file.
    Even {
        /// Bytes of a record.
        size: u64,
        /// The number of the first record of each file, and how many there are.
        firsts: Vec<u64>,
        /// Bytes before the first record of each file.
        begins: Vec<u64>,
    },
}

/// Files whose indices are made before they are put together.
const TOGETHER: usize = 256;

/// The place of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordAt {
    /// The file, by its number.
    pub file: u32,
    /// Bytes before the record in the file.
    pub offset: u64,
    /// Bytes up to the next record, at most [`RECORD_MAX`]: [`RecordIndex::content`] is in them.
    pub len: u32,
}

impl RecordIndex {
    /// Finds the lines of the files, reading each once, or its index where one is kept.
    ///
    /// # Errors
    /// Those of [`RecordReader::next_block`], or there are more than 2³⁰ lines.
    pub fn of_lines(files: impl Into<Arc<[PathBuf]>>) -> Result<RecordIndex, FileError> {
        let files = files.into();
        let scan = |file| through(RecordReader::lines(files.clone()).by_number().only(file));
        RecordIndex::of(&files, (Framing::Lines, ""), &scan)
    }

    /// Finds the records of CSV files in the same way; headers are not among them.
    ///
    /// # Errors
    /// Those of [`RecordReader::next_block`], or there are more than 2³⁰ records.
    pub fn of_csv(
        files: impl Into<Arc<[PathBuf]>>,
        table: &csv::Table,
    ) -> Result<RecordIndex, FileError> {
        let files = files.into();
        let scan = |file| through(RecordReader::csv(files.clone(), table).by_number().only(file));
        let header = format!("{:?}", table.header());
        RecordIndex::of(&files, (table.framing(), &header), &scan)
    }

    /// Finds the records of files that are no text; reads as little of them as the format needs.
    ///
    /// # Errors
    /// A file cannot be read, or there are more than 2³⁰ records that differ in size.
    pub fn of_binary(
        files: &[PathBuf],
        format: &Arc<dyn BinaryFormat>,
    ) -> Result<RecordIndex, FileError> {
        if let Some(size) = format.size() {
            return RecordIndex::even(files, format, size);
        }
        let scan = |file: u32| {
            let mut starts = Counted::new();
            let end = format.starts(&files[file as usize], &mut |at| starts.push(at))?;
            Ok(FileIndex { starts, end })
        };
        RecordIndex::of(files, (Framing::Binary(format.clone()), ""), &scan)
    }

    /// The same where records have one size.
    fn even(
        files: &[PathBuf],
        format: &Arc<dyn BinaryFormat>,
        size: u64,
    ) -> Result<RecordIndex, FileError> {
        let find = |file: usize| records_of(&files[file], &**format);
        let (mut firsts, mut begins, mut bases) = (vec![0], Vec::new(), vec![0]);
        for found in in_parallel(0..files.len(), &find) {
            let Range { start: begin, end } = found?;
            firsts.push(firsts[firsts.len() - 1] + (end - begin).div_ceil(size));
            begins.push(begin);
            bases.push(bases[bases.len() - 1] + end);
        }
        let framing = Framing::Binary(format.clone());
        Ok(RecordIndex { framing, starts: Starts::Even { size, firsts, begins }, bases })
    }

    /// Puts the indices of all files together; `scan` makes one, and is called by several threads.
    fn of(
        files: &[PathBuf],
        (framing, way): (Framing, &str),
        scan: &(dyn Fn(u32) -> Result<FileIndex, FileError> + Sync),
    ) -> Result<RecordIndex, FileError> {
        let (mut all, mut bases) = (Counted::new(), vec![0]);
        let find = |file: usize| {
            let slot = Slot::of(&files[file], (&framing, way));
            if let Some(kept) = slot.as_ref().and_then(Slot::read) {
                return Ok(kept);
            }
            let made = scan(file as u32)?;
            if let Some(slot) = slot {
                slot.write(&made);
            }
            Ok(made)
        };
        for first in (0..files.len()).step_by(TOGETHER) {
            let group = first..files.len().min(first + TOGETHER);
            for (file, found) in group.clone().zip(in_parallel(group, &find)) {
                let FileIndex { starts, end } = found?;
                let base = bases[bases.len() - 1];
                if all.len() + starts.len() > RECORDS_MAX {
                    let number = RECORDS_MAX - all.len();
                    let place = Place::Record(number as u64, starts[number]);
                    return Err(FileError::at(&files[file], place, too_many()));
                }
                all.extend(starts.iter().map(|it| base + it));
                bases.push(base + end);
            }
        }
        Ok(RecordIndex { framing, starts: Starts::Each(all), bases })
    }

    /// Number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.starts {
            Starts::Each(starts) => starts.len(),
            Starts::Even { firsts, .. } => firsts[firsts.len() - 1] as usize,
        }
    }

    /// Whether the files hold no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The place of record `i`.
    #[must_use]
    pub fn at(&self, i: usize) -> RecordAt {
        let last_at_most = |all: &[u64], of: u64| all.partition_point(|it| *it <= of) - 1;
        let (file, offset, end) = match &self.starts {
            Starts::Each(starts) => {
                let start = starts[i];
                let file = last_at_most(&self.bases, start);
                let end = starts.get(i + 1).map_or(u64::MAX, |&it| it).min(self.bases[file + 1]);
                (file, start - self.bases[file], end - self.bases[file])
            }
            Starts::Even { size, firsts, begins } => {
                let file = last_at_most(firsts, i as u64);
                let offset = begins[file] + (i as u64 - firsts[file]) * size;
                (file, offset, (self.bases[file + 1] - self.bases[file]).min(offset + size))
            }
        };
        // What is longer than a record may be are blank lines behind it.
        let len = (end - offset).min(RECORD_MAX as u64) as u32;
        RecordAt { file: file as u32, offset, len }
    }

    /// The first of these records, by its number, of which `is_before` is not true, as it is of all before that one.
    #[must_use]
    pub fn partition_point(
        &self,
        records: Range<usize>,
        is_before: impl Fn(RecordAt) -> bool,
    ) -> usize {
        let Range { start: mut low, end: mut high } = records;
        while low < high {
            let middle = low.midpoint(high);
            if is_before(self.at(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Bytes of record `i`, and how many records of its file there are from it on, where all have the same size; the last
    /// one of a file may have less.
    #[must_use]
    pub fn even_from(&self, i: usize) -> Option<(u64, u64)> {
        let Starts::Even { size, firsts, .. } = &self.starts else { return None };
        let next = firsts.partition_point(|it| *it <= i as u64);
        Some((*size, firsts.get(next)? - i as u64))
    }

    /// The record in the bytes that [`RecordIndex::at`] names, without its line end.
    #[must_use]
    pub fn content<'r>(&self, raw: &'r [u8]) -> &'r [u8] {
        self.framing.content(raw)
    }
}

/// The index of the one file that is read.
fn through(mut reader: RecordReader) -> Result<FileIndex, FileError> {
    let mut index = FileIndex::default();
    while let Some(block) = reader.next_block()? {
        index.starts.extend((0..block.records.len()).map(|it| block.offset(it)));
        index.end = block.position.offset + block.bytes.len() as u64;
        if index.starts.len() > RECORDS_MAX {
            let (file, line) = (block.position.file as usize, block.line(0));
            return Err(FileError::at_line(&reader.files()[file], line, too_many()));
        }
    }
    Ok(index)
}

/// The bytes of a file that its records take: those behind its header.
fn records_of(path: &Path, format: &dyn BinaryFormat) -> Result<Range<u64>, FileError> {
    match read_header(path, |bytes, len| format.header(bytes, Some(len)))? {
        (n_bytes, len) if n_bytes <= len => Ok(n_bytes..len),
        _ => Err(FileError::whole(path, RecordFault::no_header())),
    }
}

/// What `parse` makes of the first bytes of a file, and the bytes that it has. It is given these bytes and that length,
/// and gives none where it needs more of them.
pub(super) fn read_header<T>(
    path: &Path,
    parse: impl Fn(&[u8], u64) -> Result<Option<T>, RecordFault>,
) -> Result<(T, u64), FileError> {
    let (file, len) = open_by_number(path)?;
    let mut bytes = Vec::new();
    loop {
        if let Some(it) = parse(&bytes, len).map_err(|it| FileError::whole(path, it))? {
            return Ok((it, len));
        }
        if bytes.len() as u64 == len || bytes.len() == HEADER_MAX {
            return Err(FileError::whole(path, RecordFault::no_header()));
        }
        let more = (bytes.len() * 4).clamp(HEADER_USUAL, HEADER_MAX) as u64;
        bytes.resize(more.min(len) as usize, 0);
        let read = file.read_exact_at(&mut bytes, 0);
        read.map_err(|why| FileError::unreadable(path, &why))?;
        reads::count(bytes.len() as u64);
    }
}

/// Bytes that most headers have room in.
const HEADER_USUAL: usize = 128;

/// What `find` gives for each of these, in order, up to the first failure; as many at a time as there are cores.
fn in_parallel<T: Send>(
    files: Range<usize>,
    find: &(dyn Fn(usize) -> Result<T, FileError> + Sync),
) -> Vec<Result<T, FileError>> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    if cores.min(files.len()) <= 1 {
        return files.map(find).collect();
    }
    let (next, failed) = (AtomicUsize::new(files.start), AtomicBool::new(false));
    let worker = || {
        let mut found = Vec::new();
        // All before one that failed were taken before it.
        while !failed.load(Ordering::Relaxed) {
            let file = next.fetch_add(1, Ordering::Relaxed);
            if file >= files.end {
                break;
            }
            let one = find(file);
            failed.fetch_or(one.is_err(), Ordering::Relaxed);
            found.push((file, one));
        }
        found
    };
    let mut all: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (1..cores.min(files.len())).map(|_| scope.spawn(worker)).collect();
        let mut all = worker();
        for it in threads {
            all.extend(it.join().unwrap_or_else(|it| panic::resume_unwind(it)));
        }
        all
    });
    all.sort_by_key(|it| it.0);
    all.into_iter().map(|it| it.1).collect()
}

/// The number of the line, from 1, that holds the byte at `offset`: counted anew, for messages.
///
/// # Errors
/// The file cannot be read.
pub fn line_at(path: &Path, offset: u64) -> io::Result<u64> {
    let mut input = storage::of(path).open(path, &mut || ())?.take(offset);
    let mut block = vec![0; 64 * 1024];
    let mut line = 1;
    loop {
        match input.read(&mut block) {
            Ok(0) => return Ok(line),
            Ok(n_bytes) => line += memchr_iter(b'\n', &block[..n_bytes]).count() as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn too_many() -> RecordFault {
    let message = format!("there are more than {RECORDS_MAX} records up to here");
    RecordFault::new(message, "read them in order, with `shuffle(window: …)`, or use fewer files")
}
