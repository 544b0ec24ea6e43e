//! The bits of a lossless picture, the lowest of each byte first.

use crate::error::Error;

/// A reader of bits; beyond the last byte it reads zeros, and knows it.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    bits: u64,
    /// Bits in `bits`.
    n: u32,
    /// Of these, how many lie beyond the last byte.
    beyond: u32,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bits: 0, n: 0, beyond: 0, rest: bytes }
    }

    /// Makes at least 56 bits ready.
    #[inline(always)]
    pub(super) fn fill(&mut self) {
        if let Some(next) = self.rest.first_chunk::<8>() {
            self.bits |= u64::from_le_bytes(*next) << self.n;
            let taken = (63 - self.n) >> 3;
            self.rest = &self.rest[taken as usize..];
            self.n += 8 * taken;
        } else {
            self.fill_last();
        }
    }

    #[cold]
    #[inline(never)]
    fn fill_last(&mut self) {
        while self.n < 56 {
            match self.rest.split_first() {
                Some((&byte, rest)) => {
                    // Beyond what `n` says there may be bits already: those of the bytes to come.
                    self.bits &= (1 << self.n) - 1;
                    self.bits |= u64::from(byte) << self.n;
                    self.rest = rest;
                }
                None => {
                    self.bits &= (1 << self.n) - 1;
                    self.beyond += 8;
                }
            }
            self.n += 8;
        }
    }

    /// The bits that come next; those that are ready.
    #[inline(always)]
    pub(super) fn peek(&self) -> u64 {
        self.bits
    }

    /// Drops `n` bits, of those that are ready.
    #[inline(always)]
    pub(super) fn drop(&mut self, n: u32) {
        self.bits >>= n;
        self.n -= n;
    }

    /// The next `n` bits, of those that are ready; 32 at most.
    #[inline(always)]
    pub(super) fn take(&mut self, n: u32) -> u32 {
        let taken = (self.bits & ((1 << n) - 1)) as u32;
        self.drop(n);
        taken
    }

    /// The next `n` bits, 32 at most.
    pub(super) fn number(&mut self, n: u32) -> u32 {
        self.fill();
        self.take(n)
    }

    pub(super) fn flag(&mut self) -> bool {
        self.number(1) == 1
    }

    /// Whether bits were taken that lie beyond the last byte.
    #[inline(always)]
    pub(super) fn is_beyond(&self) -> bool {
        self.n < self.beyond
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        if self.is_beyond() { Err(Error::Truncated) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::Reader;

    #[test]
    fn all_bits_are_read_and_no_more() {
        for len in 0..30_usize {
            let bytes: Vec<u8> = (0..len).map(|it| (it * 37 + 11) as u8).collect();
            for step in [1, 3, 7, 13, 32] {
                let mut reader = Reader::new(&bytes);
                let mut at = 0;
                while at + step <= 8 * len {
                    let expected = (at..at + step)
                        .map(|it| u32::from(bytes[it / 8] >> (it % 8) & 1) << (it - at))
                        .sum::<u32>();
                    assert_eq!(reader.number(step as u32), expected, "{len} bytes, bit {at}");
                    at += step;
                }
                assert!(reader.check().is_ok());
                reader.number(step as u32);
                assert!(reader.check().is_err());
            }
        }
    }
}
