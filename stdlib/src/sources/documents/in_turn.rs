//! Documents of several files in turn, where these are of several kinds: the files in a drawn order, so many open at a
//! time, as those of other sources.

use super::{Inner, changed, streamed};
use runtime::{ChunkBuilder, Failure, Interleave, Permutation, Stream};
use std::sync::Arc;

/// Numbers that the place in a file may have.
const PLACE_MAX: u64 = 16;

pub(super) struct InTurn {
    inner: Arc<Inner>,
    order: Interleave,
    /// The files that are open, each in its slot.
    slots: Vec<Option<(usize, Box<dyn Stream>)>>,
    /// The slot whose turn it is.
    turn: usize,
    /// How many files were opened, in the drawn order.
    opened: u64,
}

impl InTurn {
    pub(super) fn new(inner: Arc<Inner>, order: Interleave) -> Self {
        let slots = (0..order.open.max(1)).map(|_| None).collect();
        Self { inner, order, slots, turn: 0, opened: 0 }
    }

    fn n_files(&self) -> Result<u64, Failure> {
        Ok(self.inner.parts()?.last().map_or(0, |it| it.files.end as u64))
    }

    fn stream(&self, file: usize) -> Result<Box<dyn Stream>, Failure> {
        streamed(&*self.inner.open(file..file + 1)?)
    }

    /// Opens the next file in the slot whose turn it is, if that is free.
    fn open(&mut self, n_files: u64) -> Result<(), Failure> {
        if self.slots[self.turn].is_none() && self.opened < n_files {
            let file = Permutation::new(n_files, self.order.key).at(self.opened) as usize;
            self.slots[self.turn] = Some((file, self.stream(file)?));
            self.opened += 1;
        }
        Ok(())
    }
}

impl Stream for InTurn {
    fn next(&mut self, rows: usize, out: &mut ChunkBuilder) -> Result<(), Failure> {
        let n_files = self.n_files()?;
        let mut left = rows;
        while left > 0 {
            self.open(n_files)?;
            if self.slots.iter().all(Option::is_none) {
                return Ok(());
            }
            if let Some((_, stream)) = &mut self.slots[self.turn] {
                let before = out.rows();
                stream.next(1, out)?;
                match out.rows() - before {
                    0 => self.slots[self.turn] = None,
                    _ => left -= 1,
                }
            }
            self.turn = (self.turn + 1) % self.slots.len();
        }
        Ok(())
    }

    /// Whose turn it is, how many files were opened, and each that is open with the place in it.
    fn place(&self) -> Option<Vec<u64>> {
        let mut place = vec![self.turn as u64, self.opened];
        for slot in &self.slots {
            place.push(u64::from(slot.is_some()));
            if let Some((file, stream)) = slot {
                let within = stream.place()?;
                place.extend([*file as u64, within.len() as u64]);
                place.extend(within);
            }
        }
        Some(place)
    }

    fn go_to(&mut self, place: &[u64]) -> Result<(), Failure> {
        let n_files = self.n_files()?;
        let ([turn, opened], mut rest) = place.split_first_chunk().ok_or_else(changed)?;
        (self.turn, self.opened) = (*turn as usize, *opened);
        if self.turn >= self.slots.len() || self.opened > n_files {
            return Err(changed());
        }
        for slot in 0..self.slots.len() {
            let (is_open, others) = rest.split_first().ok_or_else(changed)?;
            rest = others;
            if *is_open == 0 {
                continue;
            }
            let ([file, len], others) = rest.split_first_chunk().ok_or_else(changed)?;
            if *file >= n_files || *len > PLACE_MAX || others.len() < *len as usize {
                return Err(changed());
            }
            let (within, others) = others.split_at(*len as usize);
            rest = others;
            let mut stream = self.stream(*file as usize)?;
            stream.go_to(within)?;
            self.slots[slot] = Some((*file as usize, stream));
        }
        if rest.is_empty() { Ok(()) } else { Err(changed()) }
    }
}
