//! Rows of several parts in turn: the parts in a drawn order, so many open at a time.

use super::{
    Inner,
    in_order::{Reading, shorter},
};
use runtime::{Chunk, ChunkBuilder, Failure, Interleave, Permutation, Pool, Stream};
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
    /// Its number, and its rows that were given.
    part: u64,
    row: u64,
    /// What follows them.
    read: Option<Reading>,
    /// Rows that were read, and how many of them were given.
    ready: Option<Chunk>,
    given: usize,
    /// Why no more can be read.
    ended: Option<Failure>,
}

impl Slot {
    fn at(part: u64, row: u64) -> Self {
        Self { part, row, read: None, ready: None, given: 0, ended: None }
    }

    /// Whether it has a row more.
    fn has_more(&mut self, inner: &Inner, rows: usize, epoch: u32) -> Result<bool, Failure> {
        if self.ready.as_ref().is_some_and(|it| self.given < it.rows) {
            return Ok(true);
        }
        if let Some(why) = self.ended.take() {
            return Err(why);
        }
        let mut read = match self.read.take() {
            Some(read) => read,
            None => Reading::new(inner.index()?[self.part as usize], self.row),
        };
        let mut out = ChunkBuilder::new(&inner.fields, rows, epoch, &Pool::default());
        if let Err(why) = read.next(inner, rows, &mut out) {
            if out.rows() == 0 {
                return Err(why);
            }
            self.ended = Some(why);
        }
        self.read = Some(read);
        let chunk = out.finish();
        let has_more = chunk.rows > 0;
        (self.ready, self.given) = (Some(chunk), 0);
        Ok(has_more)
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
                let part = &inner.index()?[slot.part as usize];
                if !part.is_needed && slot.row < part.rows {
                    // Its turn passes, so that the order of the others is as it would be.
                    slot.row += 1;
                } else if part.is_needed && slot.has_more(&inner, ready, out.epoch)? {
                    if let Some(chunk) = &slot.ready {
                        out.append(chunk, slot.given..slot.given + 1);
                    }
                    (slot.given, slot.row, left) = (slot.given + 1, slot.row + 1, left - 1);
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
