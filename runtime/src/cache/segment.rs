//! A segment of a store: a file of values, each behind its record, and an index of the records; both are only ever made
//! longer. Who opens a store reads the index; who reads a value reads it with its record, in one go.

use super::{
    mapped::Windows,
    record::{BYTES, Found, Record, Written},
};
use crate::{os, reads};
use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

/// Records of a segment: 1.7 GB of them. An index that is longer was not written by pipec, and would
/// be read for minutes.
pub(super) const RECORDS_MAX: u32 = 1 << 24;
/// Records that are read at once.
const READ_RECORDS: usize = 4096;

/// A segment, open.
#[derive(Debug)]
pub(super) struct Segment {
    index: File,
    values: File,
    windows: Windows,
    /// Bytes of both when it was opened: another process may have made them longer since.
    index_len: u64,
    values_len: u64,
}

/// The names of the segments in a folder, the oldest first, without `.idx`.
pub(super) fn names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name();
        names.extend(name.to_str().and_then(|it| it.strip_suffix(".idx")).map(str::to_owned));
    }
    names.sort_unstable();
    Ok(names)
}

/// The two files of a segment.
pub(super) fn files_of(folder: &Path, name: &str) -> [PathBuf; 2] {
    ["idx", "seg"].map(|it| folder.join(format!("{name}.{it}")))
}

impl Segment {
    /// Opens the segment of this name; to be written as well where `writes`.
    pub(super) fn open(folder: &Path, name: &str, writes: bool) -> io::Result<Self> {
        // Whoever has filled the folder may have put links there.
        let open = |path: &PathBuf| match writes {
            true => safe_file::create_here(path),
            false => safe_file::patiently(|| safe_file::open_here(path), || ()),
        };
        let [index, values] = files_of(folder, name);
        // A segment that another process begins is there for this one once its index is: the values before it.
        let values = open(&values)?;
        let index = open(&index)?;
        // A value is there before its record is: so in this order.
        let index_len = index.metadata()?.len();
        if index_len > at(RECORDS_MAX) {
            return Err(io::Error::other(format!("`{name}.idx` is larger than an index can be")));
        }
        let values_len = values.metadata()?.len();
        let windows = Windows::new(&values);
        Ok(Self { index, values, windows, index_len, values_len })
    }

    /// Lets nobody else append to it until it is closed; whether nobody else did.
    pub(super) fn lock(&self) -> bool {
        self.index.try_lock().is_ok()
    }

    /// Lets others append to it.
    pub(super) fn unlock(&self) {
        // Where that fails it is free once it is closed.
        let _ = self.index.unlock();
    }

    /// The two files: of records, of values.
    pub(super) fn files(&self) -> [&File; 2] {
        [&self.index, &self.values]
    }

    /// Hands what stands at each place of the index to `visit`; a piece of a record at the end is
    /// none.
    pub(super) fn each(&self, seed: u64, visit: &mut dyn FnMut(u32, Found)) -> io::Result<()> {
        let mut all = (&self.index).take(self.index_len);
        let mut block = vec![0; READ_RECORDS * BYTES];
        let (mut number, mut left) = (0, self.values_len);
        loop {
            let n_bytes = filled(&mut all, &mut block)?;
            for written in block[..n_bytes].chunks_exact(BYTES) {
                visit(number, self.sound(Record::read(&whole(written), seed), &mut left));
                number += 1;
            }
            if n_bytes < block.len() {
                return Ok(());
            }
        }
    }

    /// The record at a place of the index.
    fn record(&self, number: u32, seed: u64) -> io::Result<Found> {
        let mut written = [0; BYTES];
        os::read_exact_at(&self.index, &mut written, at(number))?;
        reads::count_cached(BYTES as u64);
        Ok(Record::read(&written, seed))
    }

    /// The record at a place of a segment that another process appends to, if it and its value are there.
    pub(super) fn next_record(&self, number: u32, seed: u64) -> io::Result<Option<Record>> {
        if self.index.metadata()?.len() < at(number + 1) {
            return Ok(None);
        }
        let Found::Record(it) = self.record(number, seed)? else { return Ok(None) };
        let values = self.values.metadata()?.len();
        Ok(it.end().is_some_and(|end| end <= values).then_some(it))
    }

    /// Reads what stands at a place of the values.
    pub(super) fn read(&self, room: &mut [u8], offset: u64) -> io::Result<()> {
        os::read_exact_at(&self.values, room, offset)?;
        reads::count_cached(room.len() as u64);
        Ok(())
    }

    /// Whether what stands at a place of the values is in the system's memory, and may be used there.
    pub(super) fn holds(&self, place: (u64, usize)) -> bool {
        self.windows.holds(&self.values, place)
    }

    /// What stands at a place of the values where it lies, if that is in the system's memory.
    pub(super) fn mapped(&self, place: (u64, usize)) -> Option<&[u8]> {
        let bytes = if self.holds(place) { self.windows.bytes(&self.values, place) } else { None }?;
        reads::count_cached(bytes.len() as u64);
        Some(bytes)
    }

    /// Lets go of the pages of what was used where it lies.
    pub(super) fn let_go(&self) {
        self.windows.let_go();
    }

    /// Writes a value behind its record, without saying that it is there.
    pub(super) fn write_value(
        &self,
        record: &Written,
        frame: &[u8],
        offset: u64,
    ) -> io::Result<()> {
        os::write_all_at(&self.values, record, offset)?;
        os::write_all_at(&self.values, frame, offset + BYTES as u64)
    }

    /// Says that a value is there.
    pub(super) fn write_record(&self, written: &Written, number: u32) -> io::Result<()> {
        os::write_all_at(&self.index, written, at(number))
    }

    /// Says that the value whose record stands at `offset` is not there.
    pub(super) fn forget_at(&self, offset: u64, seed: u64) {
        let Ok(index) = self.index.metadata() else { return };
        let all = (0..(index.len() / BYTES as u64) as u32).rev();
        let is_it = |number: &u32| {
            let found = self.record(*number, seed);
            matches!(found, Ok(Found::Record(it)) if it.offset == offset)
        };
        if let Some(number) = all.into_iter().find(is_it) {
            self.forget(number);
        }
    }

    /// Says that there is none at a place of the index.
    pub(super) fn forget(&self, number: u32) {
        // Where that fails it is found damaged once more, and nothing worse.
        let _ = os::write_all_at(&self.index, &[0; BYTES], at(number));
    }

    /// Cuts off what was claimed and not used: records, bytes of values.
    pub(super) fn end_at(&self, (records, values): (u32, u64)) {
        // What cannot be cut off is claimed for longer.
        let _ = self.index.set_len(at(records));
        let _ = self.values.set_len(values);
    }

    /// A value that reaches past the end of its file is not there; nor is one where the values before take
    /// more than is `left` of the file: they lie beside each other, so who reads all reads no byte twice.
    fn sound(&self, found: Found, left: &mut u64) -> Found {
        let Found::Record(it) = found else { return found };
        let ends_within = it.end().is_some_and(|end| end <= self.values_len);
        match left.checked_sub(it.span()).filter(|_| ends_within) {
            Some(rest) => {
                *left = rest;
                Found::Record(it)
            }
            None => Found::Damaged,
        }
    }
}

/// Where a record stands in its file.
pub(super) fn at(number: u32) -> u64 {
    u64::from(number) * BYTES as u64
}

fn whole(written: &[u8]) -> Written {
    let mut whole = [0; BYTES];
    whole.copy_from_slice(written);
    whole
}

/// Reads until `block` is full or the file ends; how much.
fn filled(file: &mut impl Read, block: &mut [u8]) -> io::Result<usize> {
    let mut n_bytes = 0;
    while n_bytes < block.len() {
        match file.read(&mut block[n_bytes..]) {
            Ok(0) => break,
            Ok(more) => n_bytes += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(n_bytes)
}
