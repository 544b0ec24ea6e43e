//! Where each record of a set of files lies, in eight bytes a record.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memchr::memchr_iter;
use runtime::{Counted, storage};

use super::framing::{Framing, RECORD_MAX};
use super::{FileError, Place, RecordFault, RecordReader, csv, tar, tfrecord};

/// Records that an index may hold: 8 GiB.
const RECORDS_MAX: usize = 1 << 30;

/// Where each record lies, so that records can be read in any order.
#[derive(Debug)]
pub struct RecordIndex {
    framing: Framing,
    /// Where the records begin, as if the files were one.
    starts: Counted<u64>,
    /// Where the files begin, as if they were one, and where the last ends.
    bases: Vec<u64>,
}

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
    /// Finds the lines of the files, reading them once.
    ///
    /// # Errors
    /// Those of [`RecordReader::next_block`], or there are more than 2³⁰ lines.
    pub fn of_lines(files: impl Into<Arc<[PathBuf]>>) -> Result<RecordIndex, FileError> {
        RecordIndex::of(RecordReader::lines(files).by_number(), Framing::Lines)
    }

    /// Finds the records of CSV files, reading them once; headers are not among them.
    ///
    /// # Errors
    /// Those of [`RecordReader::next_block`], or there are more than 2³⁰ records.
    pub fn of_csv(
        files: impl Into<Arc<[PathBuf]>>,
        table: &csv::Table,
    ) -> Result<RecordIndex, FileError> {
        RecordIndex::of(RecordReader::csv(files, table).by_number(), table.framing())
    }

    /// Finds the records of files that are no text; reads their headers alone.
    ///
    /// # Errors
    /// A file cannot be read, or there are more than 2³⁰ records.
    pub fn of_binary(files: &[PathBuf], framing: Framing) -> Result<RecordIndex, FileError> {
        let mut index = RecordIndex { framing, starts: Counted::new(), bases: vec![0] };
        for path in files {
            let base = index.bases[index.bases.len() - 1];
            let visit = |at| index.starts.push(base + at);
            let len = match framing {
                Framing::Tar => tar::starts(path, visit)?,
                _ => tfrecord::starts(path, visit)?,
            };
            if index.starts.len() > RECORDS_MAX {
                let (number, start) =
                    (index.starts.len() as u64, index.starts[index.starts.len() - 1]);
                return Err(FileError::at(path, Place::Record(number, start - base), too_many()));
            }
            index.bases.push(base + len);
        }
        Ok(index)
    }

    fn of(mut reader: RecordReader, framing: Framing) -> Result<RecordIndex, FileError> {
        let mut index = RecordIndex { framing, starts: Counted::new(), bases: vec![0] };
        let mut end_of_file = 0;

        while let Some(block) = reader.next_block()? {
            index.begin_file(block.position.file, end_of_file);
            let base = index.bases[index.bases.len() - 1];
            let starts = (0..block.records.len()).map(|it| base + block.offset(it));
            index.starts.extend(starts);
            end_of_file = base + block.position.offset + block.bytes.len() as u64;
            if index.starts.len() > RECORDS_MAX {
                let (file, line) = (block.position.file as usize, block.line(0));
                return Err(FileError::at_line(&reader.files()[file], line, too_many()));
            }
        }
        index.begin_file(reader.files().len() as u32, end_of_file);
        Ok(index)
    }

    /// Notes that the files up to this one are behind; those without records have no bytes here.
    fn begin_file(&mut self, file: u32, end_of_last: u64) {
        while self.bases.len() <= file as usize {
            self.bases.push(end_of_last);
        }
    }

    /// Number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether the files hold no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The place of record `i`.
    #[must_use]
    pub fn at(&self, i: usize) -> RecordAt {
        let start = self.starts[i];
        let file = self.bases.partition_point(|&it| it <= start) - 1;
        let end = self.starts.get(i + 1).map_or(u64::MAX, |&it| it).min(self.bases[file + 1]);

        // What is longer than a record may be are blank lines behind it.
        let len = (end - start).min(RECORD_MAX as u64) as u32;
        RecordAt { file: file as u32, offset: start - self.bases[file], len }
    }

    /// The record in the bytes that [`RecordIndex::at`] names, without its line end.
    #[must_use]
    pub fn content<'r>(&self, raw: &'r [u8]) -> &'r [u8] {
        self.framing.content(raw)
    }
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
