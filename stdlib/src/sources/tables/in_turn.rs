//! Rows of several parts in turn: the parts in a drawn order, so many open at a time.

use super::{
    Inner, Part,
    in_order::{PartReader, shorter},
};
use runtime::{Chunk, ChunkBuilder, Failure, Interleave, Permutation, Pool, Stream, Unread};
use std::sync::Arc;

/// Rows of a part that are made ready at a time, of all parts together.
const READY: usize = 8 << 10;

/// The rows of parts that are open at a time, one of each in turn.
pub(super) struct InTurn {
    inner: Arc<Inner>,
    order: Interleave,
    /// The parts that are open, each in its slot.
    slots: Vec<Option<Slot>>,
    /// The slot whose turn it is.
    turn: usize,
    /// How many parts were opened, in the drawn order.
    opened: u64,
}

/// A part that is open.
struct Slot {
    /// Its number, and its rows whose turn is over.
    part: u64,
    row: u64,
    /// The next row that is needed: the turns of those before it pass.
    next: u64,
    /// What reads them, so many at a time.
    reader: Option<(PartReader, usize)>,
    /// Rows that were read, and how many of them were given.
    ready: Option<Chunk>,
    given: usize,
    /// Why no more can be read.
    ended: Option<Failure>,
}

impl Slot {
    fn at(part: u64, row: u64) -> Self {
        Self { part, row, next: row, reader: None, ready: None, given: 0, ended: None }
    }

    /// Finds the next row that is needed, and reads it with those behind it.
    fn find(
        &mut self,
        (inner, part): (&Arc<Inner>, Part),
        rows: usize,
        epoch: u32,
    ) -> Result<(), Failure> {
        if self.row < self.next || self.ready.as_ref().is_some_and(|it| self.given < it.rows) {
            return Ok(());
        }
        if let Some(why) = self.ended.take() {
            return Err(why);
        }
        (self.ready, self.given, self.next) = (None, 0, part.rows);
        if !part.is_needed {
            return Ok(());
        }
        let (reader, at_a_time) = match &mut self.reader {
            Some(reader) => reader,
            none => {
                let at_a_time = inner.at_a_time(&*inner.file_of(part)?, part)?.min(rows);
                none.insert((PartReader::new(part, self.row), at_a_time))
            }
        };
        let Some(found) = reader.next(inner, *at_a_time)? else { return Ok(()) };
        let mut out = ChunkBuilder::new(&inner.fields, found.len(), epoch, &Pool::default());
        self.ended = found.read(&mut out).err();
        (self.ready, self.next) = (Some(out.finish()), found.first);
        // Where the first of them ends the run, it does so when its turn comes.
        let has_none = self.ended.is_some() && self.ready.as_ref().is_some_and(|it| it.rows == 0);
        if has_none { self.find((inner, part), rows, epoch) } else { Ok(()) }
    }
}

impl InTurn {
    pub(super) fn new(inner: Arc<Inner>, order: Interleave) -> Self {
        let slots = (0..order.open.max(1)).map(|_| None).collect();
        Self { inner, order, slots, turn: 0, opened: 0 }
    }

    /// Opens the next part in the slot whose turn it is, if that is free.
    fn open(&mut self, n_parts: u64) {
        let slot = &mut self.slots[self.turn];
        if slot.is_none() && self.opened < n_parts {
            let part = Permutation::new(n_parts, self.order.key).at(self.opened);
            *slot = Some(Slot::at(part, 0));
            self.opened += 1;
        }
    }
}

impl Stream for InTurn {
    fn next(&mut self, rows: usize, out: &mut ChunkBuilder) -> Result<(), Failure> {
        let inner = self.inner.clone();
        let n_parts = inner.index()?.len() as u64;
        let ready = (READY / self.slots.len()).max(1);
        let mut left = rows;
        while left > 0 {
            self.open(n_parts);
            if self.slots.iter().all(Option::is_none) {
                return Ok(());
            }
            if let Some(slot) = &mut self.slots[self.turn] {
                let part = inner.index()?[slot.part as usize];
                if slot.row < part.rows {
                    slot.find((&inner, part), ready, out.epoch)?;
                    // Where the row is not needed its turn passes, so that the order of the others is as it would be.
                    if slot.row == slot.next
                        && let Some(chunk) = slot.ready.as_ref().filter(|it| slot.given < it.rows)
                    {
                        out.append(chunk, slot.given..slot.given + 1);
                        (slot.given, slot.next, left) = (slot.given + 1, slot.next + 1, left - 1);
                    }
                    slot.row += 1;
                } else {
                    self.slots[self.turn] = None;
                }
            }
            self.turn = (self.turn + 1) % self.slots.len();
        }
        Ok(())
    }

    /// Whose turn it is, how many parts were opened, and the place in each that is open.
    fn place(&self) -> Option<Vec<u64>> {
        let mut place = vec![self.turn as u64, self.opened];
        for slot in &self.slots {
            place.push(u64::from(slot.is_some()));
            place.extend(slot.iter().flat_map(|it| [it.part, it.row]));
        }
        Some(place)
    }

    fn go_to(&mut self, place: &[u64]) -> Result<(), Failure> {
        let parts = self.inner.index()?;
        let ([turn, opened], mut rest) = place.split_first_chunk().ok_or_else(shorter)?;
        (self.turn, self.opened) = (*turn as usize, *opened);
        if self.turn >= self.slots.len() || self.opened > parts.len() as u64 {
            return Err(shorter());
        }
        for slot in &mut self.slots {
            let (is_open, others) = rest.split_first().ok_or_else(shorter)?;
            rest = others;
            if *is_open == 0 {
                continue;
            }
            let ([part, row], others) = rest.split_first_chunk().ok_or_else(shorter)?;
            rest = others;
            if parts.get(*part as usize).is_none_or(|it| *row > it.rows) {
                return Err(shorter());
            }
            *slot = Some(Slot::at(*part, *row));
        }
        if rest.is_empty() { Ok(()) } else { Err(shorter()) }
    }
}
