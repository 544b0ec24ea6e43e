//! Where records begin, from the file that other tools have written beside the data: lines of an offset and a size, as
//! DALI's `tfrecord2idx` writes them
//! (<https://docs.nvidia.com/deeplearning/dali/user-guide/docs/examples/general/data_loading/dataloading_tfrecord.html>).
//!
//! Such a file is believed where it is no older than the data, its records follow each other from the first byte to the
//! last, and some of them are where it says; else it is passed over, as if it were not there.

use std::{
    ffi::OsString,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use runtime::{
    Counted,
    storage::{self, Kind},
};

/// Bytes of a line, at most: two numbers of 20 digits.
const LINE_MAX: u64 = 64;
/// Records that are looked at.
const LOOKED_AT: usize = 16;

/// Where the records of the file at `path` begin, which has `len` bytes; `is_record` says whether one with so many bytes
/// begins at a place.
pub(super) fn beside(
    path: &Path,
    len: u64,
    is_record: impl Fn(u64, u64) -> bool,
) -> Option<Counted<u64>> {
    let mut appended = OsString::from(path);
    appended.push(".idx");
    let names = [PathBuf::from(appended), path.with_extension("idx")];
    let starts = names.iter().filter(|it| *it != path).find_map(|it| told(path, it, len))?;
    let end_of = |at: usize| starts.get(at + 1).copied().unwrap_or(len);
    let step = starts.len().div_ceil(LOOKED_AT).max(1);
    let some = (0..starts.len()).step_by(step).chain(starts.len().checked_sub(1));
    some.into_iter().all(|it| is_record(starts[it], end_of(it) - starts[it])).then_some(starts)
}

/// What the file at `index` says of the one at `path`, if it may be true.
fn told(path: &Path, index: &Path, len: u64) -> Option<Counted<u64>> {
    let storage = storage::of(path);
    let stat = |it: &Path| storage.stat(it).ok().filter(|it| it.kind == Kind::File);
    // On this machine, tags are times.
    if storage.access().is_some() || stat(index)?.tag < stat(path)?.tag {
        return None;
    }
    let mut lines = BufReader::new(storage.open(index, &mut || ()).ok()?);
    let (mut starts, mut end, mut line) = (Counted::new(), 0_u64, String::new());
    while end < len {
        line.clear();
        (&mut lines).take(LINE_MAX).read_line(&mut line).ok()?;
        let mut numbers = line.strip_suffix('\n').unwrap_or(&line).split_ascii_whitespace();
        let mut next = || numbers.next().and_then(|it| it.parse::<u64>().ok());
        let (start, size) = (next()?, next()?);
        if start != end || size == 0 || numbers.next().is_some() {
            return None;
        }
        starts.push(start);
        end = end.checked_add(size)?;
    }
    let is_all = end == len && lines.bytes().all(|it| it.is_ok_and(|it| it.is_ascii_whitespace()));
    is_all.then_some(starts)
}
