//! Huffman tables of progressive scans: one look-up gives one symbol and what belongs to it.

use crate::error::Error;
use crate::header::Codes;
use crate::huffman::{Canon, each_code, extend};

/// Bits that a look-up takes into account.
pub(super) const BITS: u32 = 10;
const LEN: usize = 1 << BITS;

/// A symbol, and what belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry(u32);

/// More than the last coefficient of a block.
const SPECIAL: u32 = 64;

impl Entry {
    /// What is not found by one look-up.
    const LONG: Self = Self(SPECIAL << 8);

    /// A coefficient behind a `run` of zeros.
    fn value(bits: u32, run: u32, value: i16) -> Self {
        Self(bits | run << 8 | u32::from(value as u16) << 16)
    }

    /// The end of the band in so many blocks, this one among them.
    fn end(bits: u32, blocks: u32) -> Self {
        Self(bits | (SPECIAL + 1) << 8 | blocks << 16)
    }

    /// A run of 16 zeros.
    fn zeros(bits: u32) -> Self {
        Self(bits | (SPECIAL + 2) << 8)
    }

    /// Bits of it all.
    #[inline(always)]
    pub(super) fn bits(self) -> u32 {
        self.0 & 255
    }

    /// Zeros before the coefficient; more than a block has where it is none.
    #[inline(always)]
    pub(super) fn run(self) -> u32 {
        self.0 >> 8 & 255
    }

    /// The coefficient, or 0.
    #[inline(always)]
    pub(super) fn coefficient(self) -> i16 {
        (self.0 >> 16) as i16
    }

    /// Whether it is a coefficient that is to be looked at.
    #[inline(always)]
    pub(super) fn is_beyond(self, meaning: Meaning) -> bool {
        let Meaning::Values { limit, .. } = meaning else { return false };
        self.kind() == Kind::Value && self.coefficient().unsigned_abs() > limit
    }

    /// Whether it is no coefficient.
    #[inline(always)]
    pub(super) fn is_special(self) -> bool {
        self.run() >= SPECIAL
    }

    /// What the entry is; it is asked where it is not a coefficient, or does not fit.
    #[inline(always)]
    pub(super) fn kind(self) -> Kind {
        match self.run() {
            SPECIAL => Kind::Long,
            run if run == SPECIAL + 1 => Kind::End(self.0 >> 16),
            run if run == SPECIAL + 2 => Kind::Zeros,
            _ => Kind::Value,
        }
    }
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A coefficient.
    Value,
    /// The end of the band in so many blocks.
    End(u32),
    /// A run of 16 zeros, among first bits.
    Zeros,
    /// Not known: the symbol is longer than a look-up.
    Long,
}

/// What the symbols of a table mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Differences of DC coefficients.
    Differences,
    /// First bits of coefficients.
    Values {
        /// The bits that are still to come.
        shift: u32,
        /// What a coefficient may be at most so far, either way, not to be looked at.
        limit: u16,
    },
    /// New coefficients among those that get one more bit: all are 1 or -1, shifted by so many. The
    /// lowest bit of a look-up comes first.
    Bits(u32),
}

/// All symbols of a table.
#[derive(Clone)]
pub(super) struct Table {
    pub(super) entries: [Entry; LEN],
    canon: Canon,
    pub(super) meaning: Meaning,
}

impl Table {
    pub(super) const EMPTY: Self =
        Self { entries: [Entry::LONG; LEN], canon: Canon::EMPTY, meaning: Meaning::Differences };

    pub(super) fn build(&mut self, codes: Codes<'_>, meaning: Meaning) -> Result<(), Error> {
        self.canon.build(codes)?;
        self.meaning = meaning;
        if meaning == Meaning::Differences && codes.symbols.iter().any(|&it| it > 15) {
            return Err(Error::Irregular("a Huffman table has a symbol that is none"));
        }
        let mut done = 0;
        for code in each_code(codes, BITS) {
            let range = code.range(BITS);
            done = range.end;
            self.put(code.len, code.symbol, range.start);
        }
        self.entries[done..].fill(Entry::LONG);
        if let Meaning::Bits(_) = meaning {
            for at in 0..LEN {
                let turned = at.reverse_bits() >> (usize::BITS - BITS);
                if at < turned {
                    self.entries.swap(at, turned);
                }
            }
        }
        Ok(())
    }

    /// Makes the entries of a symbol, whose code has `len` bits, from `at` on.
    fn put(&mut self, len: u32, symbol: u8, at: usize) {
        let all = &mut self.entries[at..at + (1 << (BITS - len))];
        let bits = extra(self.meaning, symbol);
        let Some(bits) = bits.filter(|it| len + it <= BITS) else {
            return all.fill(Entry::LONG);
        };
        for (x, to) in (0..).zip(all.chunks_exact_mut(1 << (BITS - len - bits))) {
            let found = entry(self.meaning, symbol, len + bits, x << 1 << (63 - bits));
            let found = found.filter(|it| !it.is_beyond(self.meaning));
            to.fill(found.unwrap_or(Entry::LONG));
        }
    }

    /// The symbol that `bits` begin with, of whatever length; none where there is none. The first
    /// bit is the highest one; 31 of them count.
    #[cold]
    #[inline(never)]
    pub(super) fn long(&self, bits: u64) -> Option<Entry> {
        let (len, symbol) = self.canon.find(bits, 1)?;
        let more = extra(self.meaning, symbol)?;
        entry(self.meaning, symbol, len + more, bits << len)
    }
}

/// Bits that belong to a symbol; none where there is no such symbol.
fn extra(meaning: Meaning, symbol: u8) -> Option<u32> {
    let (run, size) = (u32::from(symbol >> 4), u32::from(symbol & 15));
    match meaning {
        Meaning::Differences => Some(size),
        _ if size == 0 => Some(if run == 15 { 0 } else { run }),
        Meaning::Values { .. } => Some(size),
        Meaning::Bits(_) => (size == 1).then_some(1),
    }
}

/// The entry of a symbol that takes `bits` in all, and to which the first of `more` belong; none
/// where the coefficient has more than 16 bits.
fn entry(meaning: Meaning, symbol: u8, bits: u32, more: u64) -> Option<Entry> {
    let (run, size) = (u32::from(symbol >> 4), u32::from(symbol & 15));
    let (run, shift) = match meaning {
        Meaning::Differences => (0, 0),
        Meaning::Values { .. } if symbol == 0xF0 => return Some(Entry::zeros(bits)),
        // The last of the 16 zeros, like a new coefficient, stands behind 15.
        Meaning::Bits(_) if symbol == 0xF0 => return Some(Entry::value(bits, 15, 0)),
        Meaning::Values { .. } | Meaning::Bits(_) if size == 0 => {
            return Some(Entry::end(bits, (1 << run) + (more >> 1 >> (63 - run)) as u32));
        }
        Meaning::Values { shift, .. } | Meaning::Bits(shift) => (run, shift),
    };
    Some(Entry::value(bits, run, i16::try_from(extend(more, size) << shift).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    // 00: 0/1, 01: end, 100: end in 4 to 7 blocks, 1010: run of 16, 101100000000: 1/2
    const COUNTS: [u8; 16] = [0, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
    const SYMBOLS: [u8; 5] = [0x01, 0x00, 0x20, 0xF0, 0x12];

    #[test]
    fn an_entry_is_a_symbol_and_what_belongs_to_it() {
        let codes = Codes { counts: &COUNTS, symbols: &SYMBOLS };
        let mut table = Table::EMPTY;
        table.build(codes, Meaning::Values { shift: 2, limit: 99 }).unwrap();
        assert_eq!(table.entries[0b00_1000_0000], Entry::value(3, 0, 4));
        assert_eq!(table.entries[0b00_0111_1111], Entry::value(3, 0, -4));
        assert_eq!(table.entries[0b01_0000_0000].kind(), Kind::End(1));
        assert_eq!(table.entries[0b10_0100_0000].kind(), Kind::End(6));
        assert_eq!(table.entries[0b10_1011_1111], Entry::zeros(4));
        assert_eq!(table.entries[0b10_1100_0000].kind(), Kind::Long);
        let found = table.long(0b1011_0000_0000_0100 << 48).unwrap();
        assert_eq!(found, Entry::value(14, 1, -8));
        assert!(table.long(u64::MAX).is_none());
        table.build(codes, Meaning::Values { shift: 2, limit: 3 }).unwrap();
        assert_eq!(table.entries[0b00_1000_0000].kind(), Kind::Long);

        table.build(codes, Meaning::Bits(1)).unwrap();
        assert_eq!(table.entries[0b00_0000_0100], Entry::value(3, 0, 2));
        assert_eq!(table.entries[0b11_1111_1000], Entry::value(3, 0, -2));
        assert_eq!(table.entries[0b11_1111_0101], Entry::value(4, 15, 0));
        assert_eq!(table.entries[0b00_0000_1001].kind(), Kind::End(6));
        // No coefficient gets two bits here.
        assert!(table.long(0b1011_0000_0000_0100 << 48).is_none());
    }
}
