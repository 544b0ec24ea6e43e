//! The code of a scan, from one marker to the next, as bits.
//!
//! A piece of the file at a time is copied without its stuffed zeros; so what is held is
//! bounded, and stays in the nearest cache.

use crate::error::{Error, irregular};
use crate::unstuff::{OVERRUN, Unstuff};

/// Bytes that a block of 64 coefficients can take: each a code of 16 bits and a value of 15.
const BLOCK_BYTES_MAX: usize = (64 * (16 + 15)) / 8;
/// Bytes that are read with those of an MCU.
const BESIDE: usize = 64;
/// Bytes that an MCU can take, and that are read with them.
const MCU_BYTES_MAX: usize = crate::header::BLOCKS_MAX * BLOCK_BYTES_MAX + BESIDE;
/// Bytes of the file that are copied at once.
const PIECE: usize = 16 << 10;
/// The same where the scans of a file are read side by side.
const SMALL_PIECE: usize = 4 << 10;
/// Bytes that are read without a look at where the room ends.
pub(crate) const AHEAD: usize = 32;
/// Bytes already read that are kept, so that a reader can go back within a symbol.
const BEFORE: usize = 16;
/// Zeros behind the end of the code: an MCU that begins before the end ends within them.
const SLACK: usize = MCU_BYTES_MAX + OVERRUN;
const ROOM: usize = BEFORE + PIECE + MCU_BYTES_MAX + SLACK;

/// Room for the code that is being read.
pub(crate) struct Room(Box<[u8; ROOM]>);

impl Room {
    pub(crate) fn new() -> Self {
        Self(Box::new([0; ROOM]))
    }
}

/// Bits that are read next; what is kept between two calls of the decoding of MCUs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cursor {
    /// The next bits, from the highest one on. Those behind `n` are right too, or zeros.
    pub(crate) bits: u64,
    /// How many of them count.
    pub(crate) n: u32,
    /// Where in the room the byte stands that comes next.
    pub(crate) at: usize,
}

impl Cursor {
    /// Bits of the room before those that come next.
    fn position(&self) -> usize {
        8 * self.at - self.n as usize
    }
}

/// The code of a scan.
pub(crate) struct Source<'a> {
    bytes: &'a [u8],
    room: &'a mut [u8; ROOM],
    unstuff: Unstuff,
    /// Bytes that an MCU of this scan can take, and that are read with them.
    mcu_bytes: usize,
    /// Bytes of the file that are copied at once.
    piece_len: usize,
    /// Where in the file the bytes begin that are not in the room.
    next: usize,
    /// Where in the room they will.
    filled: usize,
    /// A place in the file, and where it is in the room.
    known: (usize, usize),
    ended: bool,
    /// Whether the first bit of a byte of the room is its lowest one.
    is_turned: bool,
    pub(crate) cursor: Cursor,
}

impl<'a> Source<'a> {
    /// The code of a file, of `n_blocks` an MCU.
    pub(crate) fn new(
        bytes: &'a [u8],
        room: &'a mut Room,
        unstuff: Unstuff,
        n_blocks: usize,
    ) -> Self {
        Self {
            bytes,
            room: &mut room.0,
            unstuff,
            mcu_bytes: (n_blocks * BLOCK_BYTES_MAX + BESIDE).min(MCU_BYTES_MAX),
            piece_len: PIECE,
            next: 0,
            filled: 0,
            known: (0, 0),
            ended: false,
            is_turned: false,
            cursor: Cursor::default(),
        }
    }

    /// Turns the bits of each byte around, for a reader to whom the first bit is the lowest one.
    pub(crate) fn turned(self) -> Self {
        Self { is_turned: true, ..self }
    }

    /// Begins to read the code of a scan that is one of many, of each of which a little is held.
    pub(crate) fn begin(&mut self, at: usize) -> Result<(), Error> {
        self.piece_len = SMALL_PIECE;
        self.seek(at, 0)
    }

    /// Expects to read `bytes` of the file from the next [`Self::seek`] on.
    pub(crate) fn expect(&mut self, bytes: usize) {
        // More than an MCU, stuffed, so that each piece is a step forward.
        self.piece_len = (bytes + self.mcu_bytes).clamp(2 * self.mcu_bytes + BESIDE, PIECE);
    }

    /// Begins to read the code at `at`, whose first `skipped` bits do not count.
    pub(crate) fn seek(&mut self, at: usize, skipped: u32) -> Result<(), Error> {
        self.next = at.min(self.bytes.len());
        self.filled = BEFORE;
        self.ended = false;
        self.cursor = Cursor { at: BEFORE, ..Cursor::default() };
        self.more()?;
        if skipped > 0 {
            let bits = u64::from(self.room[BEFORE]) << 56;
            self.cursor = Cursor { bits: bits << skipped, n: 8 - skipped, at: BEFORE + 1 };
        }
        Ok(())
    }

    /// The bytes of the room.
    pub(crate) fn room(&self) -> &[u8; ROOM] {
        self.room
    }

    /// Where in the room the cursor may stand at most for [`AHEAD`] bytes to be read; beyond,
    /// [`Self::more`] is to be called.
    pub(crate) fn safe(&self) -> usize {
        if self.ended { self.filled + size_of::<u64>() } else { self.filled.saturating_sub(AHEAD) }
    }

    /// Where in the room the cursor may stand at most for a block to be read; beyond, as for
    /// [`Self::safe`].
    pub(crate) fn safe_for_block(&self) -> usize {
        match self.ended {
            true => self.filled + size_of::<u64>(),
            false => self.filled.saturating_sub(BLOCK_BYTES_MAX + BESIDE),
        }
    }

    /// Whether all that was read is code.
    pub(crate) fn check_end(&self) -> Result<(), Error> {
        match self.ended && self.cursor.position() > 8 * self.filled {
            true => irregular("its code ends too early"),
            false => Ok(()),
        }
    }

    /// Copies the next piece, or finds out that the code has ended too early.
    #[cold]
    #[inline(never)]
    pub(crate) fn more(&mut self) -> Result<(), Error> {
        if self.ended {
            return self.check_end();
        }
        let read = self.cursor.at - BEFORE;
        self.room.copy_within(read..self.filled, 0);
        self.cursor.at = BEFORE;
        self.filled -= read;
        self.known = (self.next, self.filled);

        let piece = &self.bytes[self.next..self.bytes.len().min(self.next + self.piece_len)];
        let copied = (self.unstuff)(piece, &mut self.room[self.filled..]);
        if self.is_turned {
            let copied = &mut self.room[self.filled..][..copied.written];
            copied.iter_mut().for_each(|it| *it = it.reverse_bits());
        }
        self.next += copied.read;
        self.filled += copied.written;
        self.ended = copied.ended || self.next + 1 >= self.bytes.len();
        if self.ended {
            self.room[self.filled..][..self.mcu_bytes + OVERRUN].fill(0);
        }
        Ok(())
    }

    /// Where the marker stands behind the code, of which nothing may be left but padding.
    pub(crate) fn finish(&mut self) -> Result<usize, Error> {
        // Where much is left, there is no room for more.
        if !self.ended && self.cursor.at > self.safe() {
            self.more()?;
        }
        let (position, end) = (self.cursor.position(), 8 * self.filled);
        if !self.ended || position + 8 <= end {
            return irregular("there is more code than blocks");
        }
        if position > end {
            return irregular("its code ends too early");
        }
        Ok(self.next)
    }

    /// Where in the file the bits stand that come next: the byte, and bits of it before them.
    pub(crate) fn position(&mut self) -> (usize, u32) {
        let position = self.cursor.position();
        let (at, (next, filled)) = (position / 8, self.known);
        // Each byte of all ones takes two in the file.
        let taken = |it: &[u8]| it.len() + it.iter().filter(|&&it| it == 0xFF).count();
        let of_file = match at >= filled {
            true => next + taken(&self.room[filled..at]),
            false => next - taken(&self.room[at..filled]),
        };
        self.known = (of_file, at);
        (of_file, (position % 8) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tier;

    #[test]
    fn what_is_left_or_missing_is_seen() {
        let mut room = Room::new();
        let bytes = [0xAB, 0xFF, 0, 0xCD, 0xFF, 0xD9];
        let mut source = Source::new(&bytes, &mut room, crate::unstuff::of(Tier::Plain), 1);
        source.seek(0, 0).unwrap();
        source.cursor.at += 3;
        assert_eq!(source.position(), (4, 0));
        assert_eq!(source.finish(), Ok(4));
        source.cursor.n = 7;
        assert_eq!(source.position(), (3, 1));
        assert_eq!(source.finish(), Ok(4));
        source.cursor.n = 8;
        assert!(source.finish().is_err());
        (source.cursor.at, source.cursor.n) = (source.cursor.at + 1, 0);
        assert!(source.finish().is_err() && source.more().is_err());
    }
}
