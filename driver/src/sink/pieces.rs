//! Cuts records that leave one by one into pieces, whatever the chunks that they came in.
//!
//! A piece ends with the record that makes it [`RECORDS_MAX`] records or [`BYTES_MAX`] bytes, and
//! with its epoch, so that it depends on the records alone.

use plan::Field;
use runtime::{Chunk, ChunkBuilder, Failure, Pool};
use std::mem;

/// Records of a piece.
pub(super) const RECORDS_MAX: usize = 4096;
/// Bytes of a piece, but for its last record.
const BYTES_MAX: usize = 64 << 20;

/// The records of the piece that is not full yet.
pub(super) struct Pieces {
    fields: Vec<Field>,
    pool: Pool,
    held: ChunkBuilder,
    held_bytes: usize,
}

impl Pieces {
    /// Nothing yet, of these fields.
    pub(super) fn new(fields: &[Field]) -> Self {
        let pool = Pool::default();
        Self {
            held: ChunkBuilder::new(fields, RECORDS_MAX, 0, &pool),
            fields: fields.to_vec(),
            pool,
            held_bytes: 0,
        }
    }

    /// Takes the records of `chunk`, and gives each piece that is full to `each`.
    pub(super) fn push(
        &mut self,
        chunk: &Chunk,
        each: &mut dyn FnMut(&Chunk) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.held.epoch != chunk.epoch {
            self.finish(each)?;
            self.held.epoch = chunk.epoch;
        }
        let mut rest = chunk.clone();
        while rest.rows > 0 {
            let (rows, full) = self.fitting(&rest);
            self.held.append(&rest, 0..rows);
            self.held_bytes += columns_bytes(&rest, rows);
            rest = rest.cut(rows..rest.rows);
            if full {
                self.finish(each)?;
            }
        }
        Ok(())
    }

    /// Gives what is left to `each`.
    pub(super) fn finish(
        &mut self,
        each: &mut dyn FnMut(&Chunk) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.held.rows() == 0 {
            return Ok(());
        }
        let empty = ChunkBuilder::new(&self.fields, RECORDS_MAX, self.held.epoch, &self.pool);
        self.held_bytes = 0;
        each(&mem::replace(&mut self.held, empty).finish())
    }

    /// How many of the records belong to the present piece, and whether it is full with them.
    fn fitting(&self, chunk: &Chunk) -> (usize, bool) {
        let rows = chunk.rows.min(RECORDS_MAX - self.held.rows());
        let is_full = |rows: usize| self.held_bytes + columns_bytes(chunk, rows) >= BYTES_MAX;
        if !is_full(rows) {
            return (rows, self.held.rows() + rows == RECORDS_MAX);
        }
        // The smallest number of records that fills it.
        let (mut few, mut enough) = (0, rows);
        while enough - few > 1 {
            let middle = usize::midpoint(few, enough);
            if is_full(middle) { enough = middle } else { few = middle }
        }
        (enough, true)
    }
}

fn columns_bytes(chunk: &Chunk, rows: usize) -> usize {
    chunk.columns.iter().map(|it| it.cut(0..rows).bytes()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::folder::tests::texts;

    /// Records and bytes of the pieces that `all` is cut into when it comes in chunks of `rows`.
    fn cut(all: &[&str], rows: usize) -> Vec<(usize, usize)> {
        let mut sizes = Vec::new();
        let mut note = |it: &Chunk| {
            sizes.push((it.rows, it.bytes()));
            Ok(())
        };
        let mut pieces = Pieces::new(&texts(&[], 0).0);
        for part in all.chunks(rows) {
            pieces.push(&texts(part, 0).1, &mut note).unwrap();
        }
        pieces.finish(&mut note).unwrap();
        sizes
    }

    #[test]
    fn pieces_do_not_depend_on_chunks() {
        let all: Vec<String> = (0..10_000).map(|it| "x".repeat(it % 9)).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let pieces = cut(&all, 10_000);
        assert_eq!(pieces.iter().map(|it| it.0).collect::<Vec<_>>(), [4096, 4096, 1808]);
        assert_eq!(cut(&all, 7), pieces);
    }

    #[test]
    fn large_records_fill_a_piece_sooner() {
        let large = "x".repeat(BYTES_MAX / 4 + 1);
        let pieces = cut(&[&large, &large, &large, &large, "y"], 5);
        assert_eq!(pieces.iter().map(|it| it.0).collect::<Vec<_>>(), [4, 1]);
    }
}
