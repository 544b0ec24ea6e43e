//! Which records are worth one read, and what is read of files that lie far away.

use crate::records::RecordIndex;
use runtime::{
    Counted, reads,
    storage::{Landing, ReadError, Request, Storage, Waits},
};
use std::{io, iter, ops::Range, time::Instant};

/// Bytes that are read at once where records that follow each other are asked for.
const READ: u64 = 1 << 20;

/// Where the records of files lie.
pub(super) struct Index {
    pub(super) records: RecordIndex,
    /// The number of each file's first record.
    pub(super) firsts: Vec<usize>,
}

impl Index {
    pub(super) fn new(records: RecordIndex, files: usize) -> Self {
        let all = 0..records.len();
        let first = |file: usize| records.partition_point(all.clone(), |it| it.file < file as u32);
        let firsts = (0..files).map(first).collect();
        Self { records, firsts }
    }

    /// The file of records that follow each other, and where they lie in it.
    pub(super) fn span(&self, numbers: &[u64]) -> (u32, Range<u64>) {
        let place = |it: u64| self.records.at(it as usize);
        let (first, last) = (place(numbers[0]), place(numbers[numbers.len() - 1]));
        (first.file, first.offset..last.offset + u64::from(last.len))
    }

    /// The numbers in parts, each of which is worth one read.
    pub(super) fn runs<'n>(&self, numbers: &'n [u64]) -> impl Iterator<Item = &'n [u64]> {
        let mut rest = numbers;
        iter::from_fn(move || {
            let len = (!rest.is_empty()).then(|| self.run(rest))?;
            rest.split_off(..len)
        })
    }

    /// How many of the numbers, from the first on, are worth one read.
    fn run(&self, numbers: &[u64]) -> usize {
        let is_next = |it: &usize| numbers[*it] == numbers[0] + *it as u64;
        if let Some((size, left)) = self.records.even_from(numbers[0] as usize) {
            let most = (READ / size.max(1)).clamp(1, left.max(1)) as usize;
            return 1 + (1..numbers.len().min(most)).take_while(is_next).count();
        }
        let first = self.records.at(numbers[0] as usize);
        let follows = |it: &usize| {
            let at = self.records.at(numbers[*it] as usize);
            is_next(it)
                && at.file == first.file
                && at.offset + u64::from(at.len) - first.offset <= READ
        };
        1 + (1..numbers.len()).take_while(follows).count()
    }
}

/// Ranges of files that lie far away, as they come.
#[derive(Default)]
pub(super) struct Ranges {
    all: Vec<(Counted<u8>, Option<io::Result<()>>)>,
    /// When the first of them came.
    first: Option<Instant>,
}

impl Ranges {
    pub(super) fn read(&mut self, storage: &dyn Storage, requests: &[Request<'_>], waits: &Waits) {
        self.all.resize_with(requests.len(), || (Counted::new(), None));
        let begun = Instant::now();
        storage.read(requests, self);
        if let Some(first) = self.first {
            waits.note(storage, [first - begun, begun.elapsed()]);
        }
    }

    /// What came of a request, if it was made.
    pub(super) fn take(&mut self, request: usize) -> Option<io::Result<Counted<u8>>> {
        let (bytes, done) = self.all.get_mut(request)?;
        Some(done.take()?.map(|()| std::mem::take(bytes)))
    }
}

impl Landing for Ranges {
    fn room(&mut self, request: usize, bytes: u64) -> Option<&mut [u8]> {
        let room = &mut self.all[request].0;
        room.resize(bytes as usize, 0);
        Some(room)
    }

    fn landed(&mut self, request: usize, result: Result<(), ReadError>) {
        self.first.get_or_insert_with(Instant::now);
        reads::count(self.all[request].0.len() as u64);
        self.all[request].1 = Some(result.map_err(|it| match it {
            ReadError::Io(error) => error,
            ReadError::NoFile => io::ErrorKind::IsADirectory.into(),
            ReadError::Changed | ReadError::TooLarge(_) => io::ErrorKind::UnexpectedEof.into(),
        }));
    }
}
