//! The next bits of the code, in registers.

use crate::source::Cursor;

/// The bits that come next; the form of [`Cursor`] that is quick.
#[derive(Clone, Copy)]
pub(crate) struct Bits {
    pub(crate) bits: u64,
    pub(crate) n: u64,
    pub(crate) at: *const u8,
}

impl Bits {
    #[inline(always)]
    pub(crate) fn from(cursor: Cursor, room: *const u8) -> Self {
        // The offset was one, or the room has as many bytes: it is never read beyond.
        Self { bits: cursor.bits, n: u64::from(cursor.n), at: room.wrapping_add(cursor.at) }
    }

    #[inline(always)]
    pub(crate) fn cursor(self, room: *const u8) -> Cursor {
        Cursor { bits: self.bits, n: self.n as u32, at: self.at as usize - room as usize }
    }

    /// Makes at least 56 bits ready.
    ///
    /// # Safety
    /// Eight bytes can be read at `at`.
    #[inline(always)]
    pub(crate) unsafe fn refill(&mut self) {
        // SAFETY: the caller says that eight bytes can be read there; they need not be aligned.
        let next = u64::from_be(unsafe { self.at.cast::<u64>().read_unaligned() });
        self.bits |= next >> self.n;
        self.at = self.at.wrapping_add(((63 - self.n) >> 3) as usize);
        self.n |= 56;
    }

    #[inline(always)]
    pub(crate) fn take(&mut self, n: u32) {
        self.bits <<= n & 63;
        self.n -= u64::from(n);
    }
}
