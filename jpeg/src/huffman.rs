//! Huffman tables for fast decoding: one look-up gives up to five AC coefficients (our own
//! measure: 1.6 symbols a look-up on ImageNet at 11 bits).

use crate::error::{Error, irregular};
use crate::header::Codes;

/// Bits that a look-up for AC coefficients takes into account.
pub(crate) const AC_BITS: u32 = 11;
const AC_LEN: usize = 1 << AC_BITS;
/// Bits that a look-up for a DC coefficient takes into account.
const DC_BITS: u32 = 9;
const DC_LEN: usize = 1 << DC_BITS;

/// Set in an entry of [`Ac`] that ends the block.
pub(crate) const END: u64 = 1 << 23;
/// Coefficients that an entry of [`Ac`] has room for.
const LANES: u32 = 5;

/// All codes of a table, to be found one at a time.
#[derive(Clone)]
struct Canon {
    /// For each length, the least 16 bits that begin with a longer code.
    limits: [u32; 18],
    /// For each length, what is added to a code to find its symbol.
    offsets: [i32; 18],
    symbols: [u8; 256],
}

impl Canon {
    const EMPTY: Self = Self { limits: [0; 18], offsets: [0; 18], symbols: [0; 256] };

    fn build(&mut self, codes: Codes<'_>) -> Result<(), Error> {
        let (mut code, mut n) = (0_u32, 0_u32);
        for (len, &count) in (1_u32..).zip(codes.counts) {
            let at = len as usize;
            self.offsets[at] = n as i32 - code as i32;
            code += u32::from(count);
            n += u32::from(count);
            // No code is all ones (C.2).
            if count > 0 && code >= 1 << len {
                return irregular("a Huffman table has too many codes");
            }
            self.limits[at] = code << (16 - len);
            code <<= 1;
        }
        self.symbols[..codes.symbols.len()].copy_from_slice(codes.symbols);
        Ok(())
    }

    /// The length of the code that `bits` begin with, and its symbol; none where there is none.
    #[cold]
    #[inline(never)]
    fn find(&self, bits: u64) -> Option<(u32, u8)> {
        let bits = (bits >> 48) as u32;
        let len = (1..=16_u32).find(|&it| bits < self.limits[it as usize])?;
        let at = (bits >> (16 - len)) as i32 + self.offsets[len as usize];
        Some((len, self.symbols[(at & 255) as usize]))
    }
}

/// A DC coefficient's difference.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Difference {
    pub(crate) bits: u32,
    pub(crate) value: i32,
}

/// A table for DC coefficients.
///
/// An entry holds: bits in all (byte 0), bits of the code (1), bits of the value (2); 0 where
/// the code is longer.
#[derive(Clone)]
pub(crate) struct Dc {
    entries: [u32; DC_LEN],
    canon: Canon,
}

impl Dc {
    pub(crate) const EMPTY: Self = Self { entries: [0; DC_LEN], canon: Canon::EMPTY };

    pub(crate) fn build(&mut self, codes: Codes<'_>) -> Result<(), Error> {
        self.canon.build(codes)?;
        if codes.symbols.iter().any(|&it| it > 15) {
            return irregular("a Huffman table has a symbol that is none");
        }
        self.entries.fill(0);
        for code in each_code(codes, DC_BITS) {
            self.entries[code.range(DC_BITS)].fill(dc_entry(code.len, code.symbol));
        }
        Ok(())
    }

    /// The difference that `bits` begin with.
    #[inline(always)]
    pub(crate) fn read(&self, bits: u64) -> Option<Difference> {
        let mut entry = self.entries[(bits >> (64 - DC_BITS)) as usize];
        if entry == 0 {
            let (len, symbol) = self.canon.find(bits)?;
            entry = dc_entry(len, symbol);
        }
        let value = extend(bits << (entry >> 8 & 63), entry >> 16);
        Some(Difference { bits: entry & 255, value })
    }
}

fn dc_entry(len: u32, symbol: u8) -> u32 {
    let size = u32::from(symbol);
    (len + size) | len << 8 | size << 16
}

/// One symbol of an AC table, and the value behind it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Symbol {
    pub(crate) bits: u32,
    /// Coefficients passed over before the value; [`Symbol::END`] where the block ends.
    pub(crate) run: usize,
    /// 0 after a run of 16.
    pub(crate) value: i16,
}

impl Symbol {
    pub(crate) const END: usize = 64;
}

/// A table for AC coefficients.
///
/// An entry holds, in bytes: bits in all (0), twice the zeros before the first value (1), twice
/// the coefficients in all, and [`END`] (2), up to five values and the zeros among them (3-7).
/// Where the value does not fit, byte 0 is 0 and there are: bits of the code (1), bits of the
/// value (2), zeros before it (3); 0 where the code is longer.
#[derive(Clone)]
pub(crate) struct Ac {
    pub(crate) entries: [u64; AC_LEN],
    canon: Canon,
}

impl Ac {
    pub(crate) const EMPTY: Self = Self { entries: [0; AC_LEN], canon: Canon::EMPTY };

    /// Values of more than `value_max` are found one at a time only.
    pub(crate) fn build(&mut self, codes: Codes<'_>, value_max: u32) -> Result<(), Error> {
        self.canon.build(codes)?;
        let size_max = value_max.saturating_add(1).ilog2().min(7);
        let mut singles = [Single::default(); AC_LEN];
        self.entries.fill(0);
        for code in each_code(codes, AC_BITS) {
            self.spread(code, size_max, &mut singles);
        }
        for (at, entry) in self.entries.iter_mut().enumerate() {
            if singles[at].bits > 0 {
                *entry = joined(at, &singles);
            }
        }
        Ok(())
    }

    /// Writes all entries of one code: as a single where its value lies within the look-up.
    fn spread(&mut self, code: Code, size_max: u32, singles: &mut [Single; AC_LEN]) {
        let (run, size) = (code.symbol >> 4, u32::from(code.symbol & 15));
        let range = code.range(AC_BITS);
        let bits = code.len + size;
        if size == 0 {
            let run = if run == 15 { 15 } else { Symbol::END as u8 };
            singles[range].fill(Single { bits: bits as u8, run, value: 0 });
        } else if bits <= AC_BITS && size <= size_max {
            let each = 1 << (AC_BITS - bits);
            for (x, singles) in (0_i32..).zip(singles[range].chunks_exact_mut(each)) {
                let value = if x >> (size - 1) == 0 { x - (1 << size) + 1 } else { x };
                singles.fill(Single { bits: bits as u8, run, value: value as i8 });
            }
        } else {
            let entry = code.len << 8 | size << 16 | u32::from(run) << 24;
            self.entries[range].fill(u64::from(entry));
        }
    }

    /// The symbol that `bits` begin with, and its value; `entry` is what the look-up gave.
    #[inline(never)]
    pub(crate) fn single(&self, entry: u64, bits: u64) -> Option<Symbol> {
        let (mut len, mut size, mut run) =
            (entry as u32 >> 8 & 255, entry as u32 >> 16 & 15, entry as u32 >> 24);
        if entry as u8 != 0 || len == 0 {
            let (found, symbol) = self.canon.find(bits)?;
            (len, size, run) = (found, u32::from(symbol & 15), u32::from(symbol >> 4));
        }
        if size == 0 {
            let run = if run == 15 { 15 } else { Symbol::END };
            return Some(Symbol { bits: len, run, value: 0 });
        }
        let value = extend(bits << len, size) as i16;
        Some(Symbol { bits: len + size, run: run as usize, value })
    }
}

/// A symbol and its value, where both lie within a look-up.
#[derive(Debug, Clone, Copy, Default)]
struct Single {
    bits: u8,
    run: u8,
    value: i8,
}

/// The entry at `at`: as many symbols as lie within it.
fn joined(at: usize, singles: &[Single; AC_LEN]) -> u64 {
    let first = singles[at];
    let mut bits = u32::from(first.bits);
    if usize::from(first.run) == Symbol::END {
        return u64::from(bits) | END;
    }
    if first.value == 0 {
        return u64::from(bits) | 32 << 16;
    }
    let mut values = u64::from(first.value as u8);
    let (mut lanes, mut end) = (1, 0);
    loop {
        let next = singles[at << bits & (AC_LEN - 1)];
        if next.bits == 0 || bits + u32::from(next.bits) > AC_BITS {
            break;
        }
        if usize::from(next.run) == Symbol::END {
            (bits, end) = (bits + u32::from(next.bits), END);
            break;
        }
        let lane = lanes + u32::from(next.run);
        if next.value == 0 || lane >= LANES {
            break;
        }
        values |= u64::from(next.value as u8) << (8 * lane);
        (lanes, bits) = (lane + 1, bits + u32::from(next.bits));
    }
    let run = u32::from(first.run);
    u64::from(bits | run << 9 | (run + lanes) << 17) | end | values << 24
}

/// A code of a Huffman table.
#[derive(Debug, Clone, Copy)]
struct Code {
    bits: u32,
    len: u32,
    symbol: u8,
}

impl Code {
    /// The look-ups that begin with it.
    fn range(self, bits: u32) -> std::ops::Range<usize> {
        let rest = bits - self.len;
        (self.bits << rest) as usize..((self.bits + 1) << rest) as usize
    }
}

/// The codes of at most `len_max` bits, in their order (C.2). The table was found good.
fn each_code(codes: Codes<'_>, len_max: u32) -> impl Iterator<Item = Code> + '_ {
    let lens = (1..=len_max).zip(codes.counts);
    let lens = lens.flat_map(|(len, &count)| std::iter::repeat_n(len, usize::from(count)));
    let (mut code, mut last) = (0_u32, 0);
    lens.zip(codes.symbols).map(move |(len, &symbol)| {
        code <<= len - last;
        last = len;
        code += 1;
        Code { bits: code - 1, len, symbol }
    })
}

/// The value of `size` bits, which `bits` begin with (F.2.2.1, EXTEND); 0 for none.
#[inline(always)]
fn extend(bits: u64, size: u32) -> i32 {
    let value = (bits >> 1) >> (63 - size);
    let below = ((bits >> 63) as i64 - 1) & (1 - (1_i64 << size));
    (value as i64 + below) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTS: [u8; 16] = [0, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1];
    // 00: 0/1, 01: end, 100: 1/1, 1010: run of 16, 101100000000: 0/2, 1011000000010000: 2/3
    const SYMBOLS: [u8; 6] = [0x01, 0x00, 0x11, 0xF0, 0x02, 0x23];

    fn table() -> Box<Ac> {
        let mut table = Box::new(Ac::EMPTY);
        table.build(Codes { counts: &COUNTS, symbols: &SYMBOLS }, 127).unwrap();
        table
    }

    #[test]
    fn one_entry_holds_all_symbols_within_it() {
        // 0/1 +1, 1/1 -1, 0/1 -1, then 0 of the next.
        let entry = table().entries[0b001_1000_0000];
        assert_eq!(entry & 0xFF, 10);
        assert_eq!(entry >> 8 & 0xFF, 0);
        assert_eq!(entry >> 16 & 0xFF, 8);
        assert_eq!((entry >> 24).to_le_bytes(), [1, 0, 0xFF, 0xFF, 0, 0, 0, 0]);
        // 1/1 +1, end.
        let entry = table().entries[0b100_1010_0000];
        assert_eq!(entry, 6 | 2 << 8 | (4 + 128) << 16 | 1 << 24);
    }

    #[test]
    fn long_codes_are_found_one_at_a_time() {
        let table = table();
        let bits = 0b101_1000_0000_1000_0011_u64 << 45;
        let symbol = table.single(table.entries[(bits >> 53) as usize], bits).unwrap();
        assert_eq!((symbol.bits, symbol.run, symbol.value), (19, 2, -4));
        assert!(table.single(0, u64::MAX).is_none());
    }

    #[test]
    fn a_table_with_a_code_of_all_ones_is_refused() {
        let counts = [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let codes = Codes { counts: &counts, symbols: &[0, 1] };
        assert!(Dc::EMPTY.clone().build(codes).is_err());
    }
}
