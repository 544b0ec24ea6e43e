//! Huffman tables for fast decoding: one look-up gives up to five coefficients, the first of a
//! block among them.
//!
//! A table is made of smaller ones: what follows a symbol within the look-up is what fewer bits
//! begin with. So no entry is searched for, and many are made at once.

use crate::Tier;
use crate::error::{Error, irregular};
use crate::header::Codes;
use std::ops::Range;

/// Bits that a look-up takes into account.
pub(crate) const BITS: u32 = 11;
const LEN: usize = 1 << BITS;
/// Bits that a look-up takes at most: 4 of them are less than a refill gives.
pub(crate) const TAKEN_MAX: u32 = 14;

/// Set in an entry that ends the block.
pub(crate) const END: u64 = 1 << 23;
/// Set in an entry whose value is found later.
pub(crate) const LATER: u64 = 1 << 8;
/// Coefficients that an entry has room for.
const LANES: u64 = 5;

/// All codes of a table, to be found one at a time.
#[derive(Clone)]
pub(crate) struct Canon {
    /// For each length, the least 16 bits that begin with a longer code.
    limits: [u32; 18],
    /// For each length, what is added to a code to find its symbol.
    offsets: [i32; 18],
    symbols: [u8; 256],
}

impl Canon {
    pub(crate) const EMPTY: Self = Self { limits: [0; 18], offsets: [0; 18], symbols: [0; 256] };

    pub(crate) fn build(&mut self, codes: Codes<'_>) -> Result<(), Error> {
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

    /// The length of the code that `bits` begin with, and its symbol; none where there is none of
    /// at least `least` bits.
    #[cold]
    #[inline(never)]
    pub(crate) fn find(&self, bits: u64, least: u32) -> Option<(u32, u8)> {
        let bits = (bits >> 48) as u32;
        let len = (least..=16).find(|&it| bits < self.limits[it as usize])?;
        let at = (bits >> (16 - len)) as i32 + self.offsets[len as usize];
        Some((len, self.symbols[(at & 255) as usize]))
    }
}

/// One symbol, and the value behind it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Symbol {
    pub(crate) bits: u32,
    /// Coefficients passed over before the value.
    pub(crate) run: usize,
    /// Bits of the value; of an AC coefficient, 0 ends the block, or follows a run of 15.
    pub(crate) size: u32,
    pub(crate) value: i16,
}

/// All symbols of a table.
///
/// An entry holds, in bytes: bits in all (0), twice the zeros before the first value, and
/// [`LATER`] (1), twice the coefficients in all, and [`END`] (2), up to five values and the zeros
/// among them (3-7). A value that is found later is the only one: instead of it there are the bits
/// of the code and of the value, four each. What is longer is not found here: byte 0 is 0, and there
/// are bits of the code (1), bits of the value (2), zeros before it (3); all 0 where the code is longer.
#[derive(Clone)]
#[repr(C, align(64))]
pub(crate) struct Table {
    pub(crate) entries: [u64; LEN],
    canon: Canon,
}

impl Table {
    const EMPTY: Self = Self { entries: [0; LEN], canon: Canon::EMPTY };

    /// The symbol that `bits` begin with, and its value; `entry` is what the look-up gave.
    #[inline(never)]
    pub(crate) fn single(&self, entry: u64, bits: u64) -> Option<Symbol> {
        let (mut len, mut size, mut run) =
            (entry as u32 >> 8 & 255, entry as u32 >> 16 & 15, entry as u32 >> 24);
        if entry as u8 != 0 || len == 0 {
            let least = if entry == 0 { BITS + 1 } else { 1 };
            let (found, symbol) = self.canon.find(bits, least)?;
            (len, size, run) = (found, u32::from(symbol & 15), u32::from(symbol >> 4));
        }
        let value = extend(bits << len, size) as i16;
        Some(Symbol { bits: len + size, run: run as usize, size, value })
    }
}

/// The two tables of a component.
#[derive(Clone)]
#[repr(C)]
pub(crate) struct Codec {
    /// What a block begins with: its first coefficient, and some more.
    pub(crate) dc: Table,
    pub(crate) ac: Table,
}

/// A table of which no entry is found: where blocks end that are to be read.
pub(crate) static STOP: [u64; LEN] = [0; LEN];

/// What windows of fewer bits begin with: those of `n` bits from the `2^n`-th on.
pub(crate) type Parts = [u64; LEN];

/// The codes of a component, and the greatest value of an AC coefficient that need not be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Recipe<'a> {
    pub(crate) dc: Codes<'a>,
    pub(crate) ac: Codes<'a>,
    pub(crate) value_max: u32,
}

/// Makes the entries of both tables, which were found good.
pub(crate) type Fill = fn(&mut Codec, &mut Parts, Recipe<'_>);

/// The function for a tier.
pub(crate) fn of(tier: Tier) -> Fill {
    match tier {
        #[cfg(target_arch = "x86_64")]
        Tier::Avx512 if tier.is_available() => |codec, parts, recipe| {
            // SAFETY: the processor has what the function is compiled for.
            unsafe { fill_avx512(codec, parts, recipe) }
        },
        #[cfg(target_arch = "x86_64")]
        Tier::Avx512 | Tier::Avx2 if Tier::Avx2.is_available() => |codec, parts, recipe| {
            // SAFETY: the processor has what the function is compiled for.
            unsafe { fill_avx2(codec, parts, recipe) }
        },
        _ => |codec, parts, recipe| fill(codec, parts, recipe),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn fill_avx512(codec: &mut Codec, parts: &mut Parts, recipe: Recipe<'_>) {
    fill(codec, parts, recipe);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn fill_avx2(codec: &mut Codec, parts: &mut Parts, recipe: Recipe<'_>) {
    fill(codec, parts, recipe);
}

#[inline(always)]
fn fill(codec: &mut Codec, parts: &mut Parts, recipe: Recipe<'_>) {
    let size_max = recipe.value_max.saturating_add(1).ilog2().min(7);
    let [dc, ac] = [recipe.dc, recipe.ac].map(|it| Shape { size_max: 7, bits: BITS, codes: it });
    let ac = Shape { size_max, ..ac };
    // The shortest symbol leaves the most bits.
    let shortest = |it: Codes<'_>| it.counts.iter().position(|it| *it > 0).unwrap_or(0) as u32 + 1;
    let longest = BITS - shortest(recipe.dc).min(shortest(recipe.ac) + 1).min(BITS);
    parts[..2].fill(0);
    for bits in 1..=longest {
        let (shorter, to) = parts[..2 << bits].split_at_mut(1 << bits);
        each_entry::<false, true>(Shape { bits, ..ac }, shorter, to);
    }
    each_entry::<true, true>(ac, &parts[..], &mut codec.ac.entries);
    each_entry::<true, false>(dc, &parts[..], &mut codec.dc.entries);
}

/// What a table is made of: the codes, its bits, and those of the longest value within.
#[derive(Clone, Copy)]
struct Shape<'a> {
    codes: Codes<'a>,
    bits: u32,
    size_max: u32,
}

/// Makes all entries; what lies not within them has one only in a `WHOLE` table.
#[inline(always)]
fn each_entry<const WHOLE: bool, const AC: bool>(
    shape: Shape<'_>,
    shorter: &[u64],
    to: &mut [u64],
) {
    let mut done = 0;
    for code in each_code(shape.codes, shape.bits) {
        let (run, size) = (code.symbol >> 4, code.symbol & 15);
        let (range, size, taken) =
            (code.range(shape.bits), u32::from(size), code.len + u32::from(size));
        done = range.end;
        let to = &mut to[range];
        if AC && size == 0 {
            // The end of the block, or a run of 16.
            to.fill(u64::from(taken) | if run == 15 { 32 << 16 } else { END });
        } else if taken <= shape.bits && size <= shape.size_max {
            let left = shape.bits - taken;
            let rests = &shorter[1 << left..2 << left];
            match left {
                0 => Joined::new(taken, run, size).write::<1>(rests, to),
                1 => Joined::new(taken, run, size).write::<2>(rests, to),
                2 => Joined::new(taken, run, size).write::<4>(rests, to),
                _ => Joined::new(taken, run, size).write::<8>(rests, to),
            }
        } else if WHOLE {
            to.fill(apart(code));
        } else {
            to.fill(0);
        }
    }
    to[done..].fill(0);
}

/// The entry of a symbol whose value lies not within the look-up.
fn apart(code: Code) -> u64 {
    let (len, run, size) = (code.len, u32::from(code.symbol >> 4), u32::from(code.symbol & 15));
    u64::from(match len + size <= TAKEN_MAX {
        true => (len + size) | ((2 * run) | 1) << 8 | (2 * run + 2) << 16 | (len << 4 | size) << 24,
        false => len << 8 | size << 16 | run << 24,
    })
}

/// Entries of one code: a symbol, its values, and what follows.
struct Joined {
    /// What the entry of the symbol alone is, but for its value.
    first: u64,
    /// What is added to values that begin with a 0.
    below: u64,
    half: u64,
}

impl Joined {
    #[inline(always)]
    fn new(taken: u32, run: u8, size: u32) -> Self {
        let run = u32::from(run);
        let first = u64::from(taken | (2 * run) << 8 | (2 * run + 2) << 16);
        Self { first, below: 1_u64.wrapping_sub(1 << size), half: (1 << size) >> 1 }
    }

    /// Writes the entries of each value: as many as there are `rests`, `N` at a time.
    #[inline(always)]
    fn write<const N: usize>(&self, rests: &[u64], to: &mut [u64]) {
        let (rests, _) = rests.as_chunks::<N>();
        for (x, to) in (0..).zip(to.chunks_exact_mut(N * rests.len())) {
            let value = if x < self.half { self.below.wrapping_add(x) } else { x } & 255;
            for (rests, to) in rests.iter().zip(to.as_chunks_mut::<N>().0) {
                for (rest, to) in rests.iter().zip(to) {
                    *to = self.entry(value, *rest);
                }
            }
        }
    }

    /// The symbol with a value, and with it the `rest` if there is room for it.
    #[inline(always)]
    fn entry(&self, value: u64, rest: u64) -> u64 {
        let fits = (rest >> 16 & 127) <= 2 * (LANES - 1);
        let rest = if fits { rest } else { 0 };
        // Behind the value and the zeros before the next one.
        let values = value | (rest >> 24) << (8 + 4 * (rest >> 8 & 31));
        self.first + (rest & 0xFF_00FF) + (values << 24)
    }
}

impl Codec {
    pub(crate) const EMPTY: Self = Self { dc: Table::EMPTY, ac: Table::EMPTY };

    /// Makes the tables by `fill`.
    pub(crate) fn build(
        &mut self,
        recipe: Recipe<'_>,
        parts: &mut Parts,
        fill: Fill,
    ) -> Result<(), Error> {
        self.dc.canon.build(recipe.dc)?;
        self.ac.canon.build(recipe.ac)?;
        if recipe.dc.symbols.iter().any(|&it| it > 15) {
            return irregular("a Huffman table has a symbol that is none");
        }
        fill(self, parts, recipe);
        Ok(())
    }
}

/// A code of a Huffman table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Code {
    bits: u32,
    pub(crate) len: u32,
    pub(crate) symbol: u8,
}

impl Code {
    /// The look-ups that begin with it.
    pub(crate) fn range(self, bits: u32) -> Range<usize> {
        let rest = bits - self.len;
        (self.bits << rest) as usize..((self.bits + 1) << rest) as usize
    }
}

/// The codes of at most `len_max` bits, in their order (C.2). The table was found good.
pub(crate) fn each_code(codes: Codes<'_>, len_max: u32) -> impl Iterator<Item = Code> + '_ {
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
pub(crate) fn extend(bits: u64, size: u32) -> i32 {
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
    // 00: 0, 01: 1 bit, 10: 6 bits, 110: 11 bits
    const DC_COUNTS: [u8; 16] = [0, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

    fn codec(tier: Tier) -> Box<Codec> {
        let recipe = Recipe {
            dc: Codes { counts: &DC_COUNTS, symbols: &[0, 1, 6, 11] },
            ac: Codes { counts: &COUNTS, symbols: &SYMBOLS },
            value_max: 127,
        };
        let (mut codec, mut parts) = (Box::new(Codec::EMPTY), [7; LEN]);
        codec.build(recipe, &mut parts, of(tier)).unwrap();
        codec
    }

    #[test]
    fn one_entry_holds_all_symbols_within_it() {
        for tier in Tier::available() {
            let codec = codec(tier);
            // 0/1 +1, 1/1 -1, 0/1 -1, then 0 of the next.
            let entry = codec.ac.entries[0b001_1000_0000];
            assert_eq!(entry & 0xFF, 10);
            assert_eq!(entry >> 8 & 0xFF, 0);
            assert_eq!(entry >> 16 & 0xFF, 8);
            assert_eq!((entry >> 24).to_le_bytes(), [1, 0, 0xFF, 0xFF, 0, 0, 0, 0]);
            // 1/1 +1, end.
            let entry = codec.ac.entries[0b100_1010_0000];
            assert_eq!(entry, 6 | 2 << 8 | (4 + 128) << 16 | 1 << 24);
            // 0, then 1/1 -1, 0/1 +1; -1, then end; and what takes 14 bits.
            let entry = codec.dc.entries[0b001_0000_0100];
            assert_eq!((entry & 0xFF, entry >> 16 & 0xFF), (9, 8));
            assert_eq!((entry >> 24).to_le_bytes(), [0, 0, 0xFF, 1, 0, 0, 0, 0]);
            assert_eq!(codec.dc.entries[0b010_0100_0000], 5 | (2 + 128) << 16 | 0xFF << 24);
            assert_eq!(codec.dc.entries[0b110 << 8], 14 | LATER | 2 << 16 | 0x3B << 24);
        }
    }

    #[test]
    fn long_codes_are_found_one_at_a_time() {
        let table = codec(Tier::Plain).ac;
        let bits = 0b101_1000_0000_1000_0011_u64 << 45;
        let symbol = table.single(table.entries[(bits >> 53) as usize], bits).unwrap();
        assert_eq!((symbol.bits, symbol.run, symbol.value), (19, 2, -4));
        assert!(table.single(0, u64::MAX).is_none());
    }

    #[test]
    fn a_table_with_a_code_of_all_ones_is_refused() {
        let counts = [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let codes = Codes { counts: &counts, symbols: &[0, 1] };
        assert!(Canon::EMPTY.clone().build(codes).is_err());
    }
}
