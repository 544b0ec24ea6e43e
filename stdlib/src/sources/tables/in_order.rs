//! Rows as they lie in their files.

use super::{Inner, Part, too_few};
use crate::tables::{Batches, Rows};
use arrow_array::RecordBatch;
use runtime::{ChunkBuilder, Failure, Stream};
use std::sync::Arc;

/// The rows of one part, in order.
pub(super) struct Reading {
    part: Part,
    batches: Batches,
    batch: Option<RecordBatch>,
    /// Rows of the batch that were given, and of the part.
    at: usize,
    row: u64,
}

impl Reading {
    pub(super) fn from(inner: &Inner, part: Part, row: u64) -> Result<Self, Failure> {
        let batches = inner.read(part, Rows::From(row))?;
        Ok(Self { part, batches, batch: None, at: 0, row })
    }

    /// Appends at most so many rows; gives how many, none at the end. Where one ends the run, those before it were
    /// appended.
    pub(super) fn next(
        &mut self,
        inner: &Inner,
        rows: usize,
        out: &mut ChunkBuilder,
    ) -> Result<usize, Failure> {
        if self.row >= self.part.rows {
            return Ok(0);
        }
        while self.batch.as_ref().is_none_or(|it| it.num_rows() == self.at) {
            let next = self.batches.next().unwrap_or_else(|| Err(too_few()));
            (self.batch, self.at) = (Some(next.map_err(|it| inner.damaged(self.part, &it))?), 0);
        }
        let Some(batch) = &self.batch else { return Ok(0) };
        let left = (self.part.rows - self.row).min(rows as u64) as usize;
        let n = left.min(batch.num_rows() - self.at);
        let (first, at, before) = (self.row, self.at, out.rows());
        let row = |it: usize| first + (it - at) as u64;
        let ends = inner.append((self.part, &row), (batch, at..at + n), out)?;
        if let Some((at, why)) = ends.into_iter().next() {
            out.truncate(before + at);
            return Err(why);
        }
        self.at += n;
        self.row += n as u64;
        Ok(n)
    }
}

/// The rows of all files, one after the other.
pub(super) struct InOrder {
    inner: Arc<Inner>,
    /// The part that is read, and its rows that were given.
    part: usize,
    row: u64,
    read: Option<Reading>,
}

impl InOrder {
    pub(super) fn new(inner: Arc<Inner>) -> Self {
        Self { inner, part: 0, row: 0, read: None }
    }
}

impl Stream for InOrder {
    fn next(&mut self, rows: usize, out: &mut ChunkBuilder) -> Result<(), Failure> {
        let inner = self.inner.clone();
        let parts = inner.index()?;
        let mut left = rows;
        while left > 0
            && let Some(part) = parts.get(self.part)
        {
            let mut read = match self.read.take() {
                Some(read) => read,
                None => Reading::from(&inner, *part, self.row)?,
            };
            let n = read.next(&inner, left, out)?;
            (left, self.row) = (left - n, read.row);
            if n == 0 {
                (self.part, self.row) = (self.part + 1, 0);
            } else {
                self.read = Some(read);
            }
        }
        Ok(())
    }

    fn place(&self) -> Option<Vec<u64>> {
        Some(vec![self.part as u64, self.row])
    }

    fn go_to(&mut self, place: &[u64]) -> Result<(), Failure> {
        let parts = self.inner.index()?;
        let [part, row] = place.try_into().map_err(|_| shorter())?;
        let most = parts.get(part as usize).map_or(0, |it| it.rows);
        if part > parts.len() as u64 || row > most {
            return Err(shorter());
        }
        (self.part, self.row, self.read) = (part as usize, row, None);
        Ok(())
    }
}

/// Why a stream cannot go on where it was.
pub(super) fn shorter() -> Failure {
    Failure::State("a file of the source became shorter".to_owned())
}
