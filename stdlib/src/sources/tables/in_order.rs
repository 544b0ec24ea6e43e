//! Rows as they lie in their files.

use super::{
    Inner, Part,
    pieces::{Piece, Pieces, RowSet},
};
use runtime::{ChunkBuilder, Failure, Stream};
use std::sync::Arc;

/// The rows of one part, in order.
pub(super) struct Reading {
    part: Part,
    pieces: Pieces,
    piece: Option<Piece>,
    /// Rows of the piece that were given.
    given: usize,
}

impl Reading {
    pub(super) fn new(part: Part, row: u64) -> Self {
        let pieces = Pieces::new(part, RowSet::from(row..part.rows));
        Self { part, pieces, piece: None, given: 0 }
    }

    /// Appends at most so many rows; gives how many, none at the end. Where one ends the run, those before it were
    /// appended.
    pub(super) fn next(
        &mut self,
        inner: &Inner,
        rows: usize,
        out: &mut ChunkBuilder,
    ) -> Result<usize, Failure> {
        if self.piece.as_ref().is_none_or(|it| it.rows.len() == self.given) {
            (self.piece, self.given) = (self.pieces.next(inner)?, 0);
        }
        let Some(piece) = &self.piece else { return Ok(0) };
        let (start, before) = (self.given, out.rows());
        let end = piece.rows.len().min(start.saturating_add(rows));
        let ends = inner.append(self.part, piece, start..end, out)?;
        if let Some((at, why)) = ends.into_iter().next() {
            out.truncate(before + at);
            return Err(why);
        }
        self.given = end;
        Ok(end - start)
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
            if !part.is_needed {
                (self.part, self.row, self.read) = (self.part + 1, 0, None);
                continue;
            }
            let mut read = match self.read.take() {
                Some(read) => read,
                None => Reading::new(*part, self.row),
            };
            let n = read.next(&inner, left, out)?;
            (left, self.row) = (left - n, self.row + n as u64);
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
