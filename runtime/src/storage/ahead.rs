//! Reading an object of a far storage on from front to end: more of it is asked for the longer that goes on.

use super::{Landing, Object, ReadError, Request, Stat, Storage};
use crate::Counted;
use std::{
    io,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Bytes of a request: for stores a read of less takes as long.
const PART: u64 = 1 << 20;
/// Requests that are under way at a time, at most: memory for 8 MiB.
const PARTS_MAX: u64 = 8;

/// An object that is read on in parts, several at a time.
pub struct Ahead {
    storage: Arc<dyn Storage>,
    path: PathBuf,
    stat: Stat,
    /// Where the bytes begin that were read.
    from: u64,
    bytes: Counted<u8>,
    /// How many of them were given.
    given: usize,
    /// Parts that are asked for next.
    parts: u64,
}

impl Ahead {
    /// The object at a path of `storage`, of which so much is known.
    pub fn new(storage: Arc<dyn Storage>, path: &Path, stat: Stat) -> Self {
        let (path, bytes) = (path.to_owned(), Counted::new());
        Self { storage, path, stat, from: 0, bytes, given: 0, parts: 1 }
    }

    /// Reads the parts that come next; `false` at the end.
    fn fill(&mut self) -> io::Result<bool> {
        let from = self.from + self.bytes.len() as u64;
        let to = self.stat.bytes.min(from.saturating_add(self.parts * PART));
        (self.from, self.given) = (from, 0);
        self.bytes.clear();
        if from >= to {
            return Ok(false);
        }
        self.bytes.resize((to - from) as usize, 0);
        let done = ranges(&*self.storage, &self.path, from..to, &mut self.bytes);
        if done.is_err() {
            self.bytes.clear();
        }
        self.parts = (2 * self.parts).min(PARTS_MAX);
        done.map(|()| true)
    }
}

impl Object for Ahead {
    fn stat(&self) -> io::Result<Stat> {
        Ok(self.stat)
    }

    fn read_exact_at(&self, room: &mut [u8], offset: u64) -> io::Result<()> {
        let end = offset.saturating_add(room.len() as u64);
        ranges(&*self.storage, &self.path, offset..end, room)
    }

    fn read_on(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.given == self.bytes.len() && !self.fill()? {
            return Ok(0);
        }
        let n_bytes = room.len().min(self.bytes.len() - self.given);
        room[..n_bytes].copy_from_slice(&self.bytes[self.given..self.given + n_bytes]);
        self.given += n_bytes;
        Ok(n_bytes)
    }

    fn go_to(&mut self, offset: u64) -> io::Result<()> {
        match offset.checked_sub(self.from) {
            Some(given) if given <= self.bytes.len() as u64 => self.given = given as usize,
            _ => {
                (self.from, self.given, self.parts) = (offset, 0, 1);
                self.bytes.clear();
            }
        }
        Ok(())
    }
}

/// Fills `room` with a range of an object, in parts that are all under way at a time.
fn ranges(
    storage: &dyn Storage,
    path: &Path,
    range: Range<u64>,
    room: &mut [u8],
) -> io::Result<()> {
    let starts = (0..range.end - range.start).step_by(PART as usize).map(|it| range.start + it);
    let parts: Vec<Request<'_>> =
        starts.map(|it| Request { path, range: Some(it..range.end.min(it + PART)) }).collect();
    let mut into = Parts { room, error: None };
    storage.read(&parts, &mut into);
    into.error.map_or(Ok(()), Err)
}

/// Parts of one range, each of which is as long as the others but the last.
struct Parts<'a> {
    room: &'a mut [u8],
    error: Option<io::Error>,
}

impl Landing for Parts<'_> {
    fn room(&mut self, request: usize, bytes: u64) -> Option<&mut [u8]> {
        let start = request * PART as usize;
        self.room.get_mut(start..start + bytes as usize)
    }

    fn landed(&mut self, _: usize, result: Result<(), ReadError>) {
        let error = match result {
            Ok(()) => return,
            Err(ReadError::Io(error)) => error,
            Err(ReadError::NoFile) => io::ErrorKind::IsADirectory.into(),
            Err(ReadError::Changed | ReadError::TooLarge(_)) => io::ErrorKind::UnexpectedEof.into(),
        };
        self.error.get_or_insert(error);
    }
}
