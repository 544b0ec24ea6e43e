//! Cuts records that leave one by one into pieces, whatever the chunks that they came in.
//!
//! A piece ends with the record that makes it so many records or bytes, and with its epoch, so that it depends on the
//! records alone.

use plan::{Field, shown_bytes};
use runtime::{Chunk, ChunkBuilder, Failure, Pool};
use std::mem;

/// Records of a piece.
pub(super) const RECORDS_MAX: usize = 4096;
/// Bytes of a piece, but for its last record, where nobody says how many.
const BYTES_MAX: usize = 64 << 20;

/// The records of the piece that is not full yet.
pub(crate) struct Pieces {
    fields: Vec<Field>,
    /// Records of a piece.
    records: usize,
    /// Bytes of a piece, but for its last record.
    bytes: usize,
    pool: Pool,
    held: ChunkBuilder,
    held_bytes: usize,
    /// What holds the records until a piece is full.
    holder: Holder,
}

/// How much memory pieces may take.
#[derive(Clone, Copy)]
struct Holder {
    /// How often the bytes of a piece are in memory, until it is written.
    copies: u64,
    /// Bytes for all of that.
    room: u64,
    /// What a user can do beside giving the run more memory.
    remedy: &'static str,
}

impl Pieces {
    /// Nothing yet, of these fields.
    pub(super) fn new(fields: &[Field]) -> Self {
        Self::of(fields, RECORDS_MAX)
    }

    /// The same of so many records or bytes.
    pub(super) fn sized(fields: &[Field], records: usize, bytes: usize) -> Self {
        Self { bytes, ..Self::of(fields, records) }
    }

    /// The same, held to a part of the memory once [`Pieces::begin`] says how large that is.
    pub(super) fn held_by(self, copies: u64, remedy: &'static str) -> Self {
        Self { holder: Holder { copies, remedy, ..self.holder }, ..self }
    }

    /// Bytes of memory that pieces take, as far as is known before they come.
    pub(super) fn wants(&self) -> u64 {
        let fixed = self.fields.iter().try_fold(0, |all, it| Some(all + it.ty.fixed_bytes()?));
        let bytes = match fixed.map(|it: usize| it.saturating_mul(self.records)) {
            Some(of_all) => of_all.min(self.bytes),
            None => self.bytes.min(BYTES_MAX),
        };
        (bytes as u64).saturating_mul(self.holder.copies)
    }

    /// They may take no more than that.
    pub(super) fn begin(&mut self, room: u64) {
        self.holder.room = room;
    }

    /// Bytes of the records that make no whole piece yet.
    pub(super) fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// The same with so many records in a piece.
    pub(crate) fn of(fields: &[Field], records: usize) -> Self {
        // Buffers that were too small are not kept.
        let pool = Pool::within(0);
        Self {
            held: ChunkBuilder::new(fields, records.min(RECORDS_MAX), 0, &pool),
            fields: fields.to_vec(),
            records,
            bytes: BYTES_MAX,
            pool,
            held_bytes: 0,
            holder: Holder { copies: 1, room: u64::MAX, remedy: "" },
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
        }
        let mut rest = chunk.clone();
        while rest.rows > 0 {
            self.take(&mut rest).map_or(Ok(()), |it| each(&it))?;
        }
        self.check_room()
    }

    /// Fails where the records that are held take more memory than they may.
    fn check_room(&self) -> Result<(), Failure> {
        let Holder { copies, room, remedy } = self.holder;
        let held = (self.held_bytes as u64).saturating_mul(copies);
        if held <= room {
            return Ok(());
        }
        let enough = self.wants().max(held.saturating_add(held / 2));
        Err(Failure::Memory {
            label: String::new(),
            detail: format!(
                "the records of a file take {} until it is written, and there is room for {}: run it with \
                 {}{remedy}",
                shown_bytes(held),
                shown_bytes(room),
                super::memory_for(enough),
            ),
        })
    }

    /// Gives what is left to `each`.
    pub(super) fn finish(
        &mut self,
        each: &mut dyn FnMut(&Chunk) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.flush().map_or(Ok(()), |it| each(&it))
    }

    /// Takes those of `chunk`, at least one record, that belong to the present piece, and gives the
    /// piece if it is full with them; what one chunk holds of it alone is not copied.
    pub(crate) fn take(&mut self, chunk: &mut Chunk) -> Option<Chunk> {
        if self.is_empty() {
            self.held.epoch = chunk.epoch;
        }
        let (rows, full) = self.fitting(chunk);
        let (taken, rest) = (chunk.cut(0..rows), chunk.cut(rows..chunk.rows));
        *chunk = rest;
        if full && self.is_empty() {
            return Some(taken);
        }
        self.held.append(&taken, 0..rows);
        self.held_bytes += columns_bytes(&taken, rows);
        if full { self.flush() } else { None }
    }

    /// Records of every piece but the last, where that does not depend on what they hold.
    pub(crate) fn records_of_each(&self) -> Option<u64> {
        let bytes =
            self.fields.iter().try_fold(0_usize, |all, it| Some(all + it.ty.fixed_bytes()?));
        (bytes?.saturating_mul(self.records) < self.bytes).then_some(self.records as u64)
    }

    /// Whether nothing is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.held.rows() == 0
    }

    /// What is left; nothing, if that is no record.
    pub(crate) fn flush(&mut self) -> Option<Chunk> {
        if self.is_empty() {
            return None;
        }
        let room = self.records.min(RECORDS_MAX);
        let empty = ChunkBuilder::new(&self.fields, room, self.held.epoch, &self.pool);
        self.held_bytes = 0;
        Some(mem::replace(&mut self.held, empty).finish())
    }

    /// How many of the records belong to the present piece, and whether it is full with them.
    fn fitting(&self, chunk: &Chunk) -> (usize, bool) {
        let rows = chunk.rows.min(self.records - self.held.rows());
        let is_full = |rows: usize| self.held_bytes + columns_bytes(chunk, rows) >= self.bytes;
        if !is_full(rows) {
            return (rows, self.held.rows() + rows == self.records);
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
    use crate::session::sink::folder::tests::texts;

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
