//! What is opened alone where records are read from several places in turn: files, or parts of large ones.

use super::{Format, Inner, runs::Index};
use crate::records::open_by_number;
use runtime::Failure;
use std::sync::{Arc, PoisonError};

/// Bytes of a part of a file.
pub(super) const PART: u64 = 64 << 20;

/// Records of a file that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) file: u32,
    /// The byte at which the first of them begins.
    pub(super) offset: u64,
    /// Its number in the file.
    pub(super) first: u64,
    /// The number of the record behind the last one; the largest number where it is the file's last one.
    pub(super) end: u64,
}

/// What so many places read, in parts of so many bytes.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    of: (usize, u64),
    all: Arc<[Part]>,
}

impl Part {
    /// All of a file.
    fn whole(file: usize) -> Self {
        Self { file: file as u32, offset: 0, first: 0, end: u64::MAX }
    }

    /// Whether it has this record of this file.
    pub(super) fn has(&self, file: u32, ordinal: u64) -> bool {
        self.file == file && (self.first..self.end).contains(&ordinal)
    }
}

impl<F: Format> Inner<F> {
    /// What `open` places at a time read, in the order of the files: the files, where these are enough. Fewer files
    /// are read in parts of about `bytes` bytes, unless they are compressed or far away. A record is of the part in which it
    /// begins; records keep their numbers.
    pub(super) fn parts(&self, open: usize, bytes: u64) -> Result<Arc<[Part]>, Failure> {
        let mut known = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(it) = known.as_ref().filter(|it| it.of == (open, bytes)) {
            return Ok(it.all.clone());
        }
        let all: Arc<[Part]> = self.find_parts(open, bytes)?.into();
        *known = Some(Parts { of: (open, bytes), all: all.clone() });
        Ok(all)
    }

    fn find_parts(&self, open: usize, bytes: u64) -> Result<Vec<Part>, Failure> {
        let files = self.files()?;
        let all = 0..files.paths.len();
        // A file that cannot be opened is met where it is read.
        let lens = || -> Option<Vec<u64>> {
            let len = |it: usize| open_by_number(&files.paths[it]).ok().map(|it| it.1);
            all.clone().map(len).collect()
        };
        let is_few = all.len() < open && !files.are_far;
        if !(is_few && lens().is_some_and(|it| it.iter().any(|it| *it > bytes))) {
            return Ok(all.map(Part::whole).collect());
        }
        // Eight bytes a record that are not kept.
        let index = Index::new(self.format.index(&files.paths)?, files.paths.len());
        Ok(all.flat_map(|it| parts_of(it, &index, bytes)).collect())
    }
}

/// The parts of one file.
fn parts_of(file: usize, index: &Index, bytes: u64) -> Vec<Part> {
    let last = index.firsts.get(file + 1).copied().unwrap_or(index.records.len());
    let (begin, mut parts) = (index.firsts[file], vec![Part::whole(file)]);
    let mut at = begin;
    while at < last {
        // The first record of those that begin in a later part than this one.
        let next = (index.records.at(at).offset / bytes + 1) * bytes;
        at = index.records.partition_point(at..last, |it| it.offset < next);
        if at < last {
            let first = (at - begin) as u64;
            parts.last_mut().expect("the first one is there").end = first;
            let offset = index.records.at(at).offset;
            parts.push(Part { file: file as u32, offset, first, end: u64::MAX });
        }
    }
    parts
}
