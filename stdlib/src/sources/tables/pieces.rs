//! Rows of a part as they can be read: batches, and between them rows that are lost.

use super::{Inner, Part};
use crate::tables::{Batches, Damage, LOST_MAX};
use arrow_array::RecordBatch;
use runtime::Failure;
use std::{collections::VecDeque, ops::Range};

/// Lost rows that are told of at a time.
const LOST: usize = 8 << 10;

/// Rows of a part, in ascending order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RowSet(VecDeque<Range<u64>>);

impl From<Range<u64>> for RowSet {
    fn from(rows: Range<u64>) -> Self {
        Self([rows].into_iter().filter(|it| !it.is_empty()).collect())
    }
}

impl RowSet {
    /// These rows, each once, in ascending order.
    pub(super) fn of(rows: impl Iterator<Item = u64>) -> Self {
        let mut ranges: VecDeque<Range<u64>> = VecDeque::new();
        for row in rows {
            match ranges.back_mut() {
                Some(last) if last.end == row => last.end += 1,
                _ => ranges.push_back(row..row + 1),
            }
        }
        Self(ranges)
    }

    fn first(&self) -> Option<u64> {
        self.0.front().map(|it| it.start)
    }

    /// Takes out the first rows, at most `n`, and none from `end` on.
    fn take(&mut self, n: usize, end: u64) -> Vec<u64> {
        let mut rows = Vec::new();
        while let Some(range) = self.0.front_mut()
            && range.start < end
            && rows.len() < n
        {
            let last = range.end.min(end).min(range.start + (n - rows.len()) as u64);
            rows.extend(range.start..last);
            range.start = last;
            if range.is_empty() {
                self.0.pop_front();
            }
        }
        rows
    }

    /// The rows before `end`.
    fn before(&self, end: u64) -> Vec<Range<u64>> {
        let cut = |it: &Range<u64>| it.start..it.end.min(end);
        self.0.iter().take_while(|it| it.start < end).map(cut).collect()
    }
}

/// Rows, and what they hold or why they cannot be read.
pub(super) struct Piece {
    pub(super) rows: Vec<u64>,
    pub(super) batch: Result<RecordBatch, Damage>,
}

impl Piece {
    /// Bytes that stand for so many of its rows, about.
    pub(super) fn bytes_of(&self, rows: usize) -> usize {
        let all = self.batch.as_ref().map_or(0, RecordBatch::get_array_memory_size);
        all / self.rows.len().max(1) * rows
    }
}

/// Reads rows of a part.
pub(super) struct Pieces {
    part: Part,
    left: RowSet,
    batches: Option<Batches>,
    /// Rows that cannot be read, and why; those before them are read first.
    lost: Option<(Range<u64>, Damage)>,
}

impl Pieces {
    pub(super) fn new(part: Part, rows: RowSet) -> Self {
        Self { part, left: rows, batches: None, lost: None }
    }

    /// The next rows; none at the end.
    pub(super) fn next(&mut self, inner: &Inner) -> Result<Option<Piece>, Failure> {
        while let Some(first) = self.left.first() {
            if let Some((lost, why)) = self.lost.take_if(|it| it.0.end <= first) {
                drop((lost, why));
                self.batches = None;
            }
            if let Some((lost, why)) = &self.lost
                && lost.start <= first
            {
                let rows = self.left.take(LOST, lost.end);
                return Ok(Some(Piece { rows, batch: Err(why.clone()) }));
            }
            let end = self.lost.as_ref().map_or(u64::MAX, |it| it.0.start);
            let next = match &mut self.batches {
                Some(batches) => batches.next(),
                None => match inner.read(self.part, &self.left.before(end))? {
                    Ok(batches) => {
                        self.batches = Some(batches);
                        continue;
                    }
                    Err(why) => Some(Err(why)),
                },
            };
            let why = match next {
                Some(Ok(batch)) => {
                    let rows = self.left.take(batch.num_rows(), end);
                    if rows.is_empty() {
                        continue;
                    }
                    return Ok(Some(Piece { rows, batch: Ok(batch) }));
                }
                Some(Err(why)) => why,
                None => Damage::new(
                    "it has fewer rows than the footer says",
                    "write the file again, or remove it",
                ),
            };
            let lost = why.lost.clone().unwrap_or(first..u64::MAX);
            // Rows before those that are lost cannot be read alone either: a page says that it has other rows than it has.
            let is_told = self.lost.as_ref().is_some_and(|it| it.0.start <= lost.start);
            let start = if is_told { first } else { lost.start.max(first) };
            if lost.end.min(self.part.rows) - start > LOST_MAX {
                return Err(inner.damaged(self.part, &why));
            }
            self.lost = Some((start..lost.end.max(start + 1), why));
            self.batches = None;
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_taken_in_order() {
        let mut rows = RowSet::of([1, 2, 3, 7, 9, 10].into_iter());
        assert_eq!(rows.before(8), [1..4, 7..8]);
        assert_eq!(rows.before(3), std::iter::once(1..3).collect::<Vec<_>>());
        assert_eq!(rows.take(2, 9), [1, 2]);
        assert_eq!(rows.first(), Some(3));
        assert_eq!(rows.take(9, 10), [3, 7, 9]);
        assert!(rows.take(9, 10).is_empty());
        assert_eq!(rows, RowSet::from(10..11));
        assert_eq!(RowSet::from(4..4).first(), None);
    }
}
