//! One bit more of coefficients.
//!
//! Which coefficients of a block are not zero is known as a mask: so zeros are counted, and bits
//! given to the others, many at once. The first bit of the code is the lowest one here, as the
//! first coefficient is the lowest bit of a mask.

use super::pass::{Pass, Row, Step};
use super::table::{BITS, Kind, Table};
use super::{NO_CODE, TOO_LONG};
use crate::blocks::Block;
use crate::error::Error;
use crate::source::Cursor;
use std::ops::Range;

/// What a tier does with masks.
pub(super) trait Masks {
    /// Puts the lowest bits of `bits` where `mask` has bits, the lowest one first (x86's PDEP).
    ///
    /// # Safety
    /// The processor has the instructions of the tier.
    unsafe fn deposit(bits: u64, mask: u64) -> u64;

    /// The bit of `mask` behind `n` others; 0 where there is none.
    ///
    /// # Safety
    /// The processor has the instructions of the tier.
    unsafe fn nth(mask: u64, n: u32) -> u64;

    /// Adds to coefficients.
    ///
    /// # Safety
    /// The processor has the instructions of the tier.
    unsafe fn change(block: &mut Block, by: Change);
}

/// What changes in a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change {
    /// Coefficients that get away from zero.
    pub(super) grown: u64,
    /// Zeros that become more or, if they are among `below`, less than zero.
    pub(super) new: u64,
    pub(super) below: u64,
    /// By how much.
    pub(super) by: i16,
}

/// The bits that come next, the first one lowest; else as [`crate::bits::Bits`].
#[derive(Clone, Copy)]
struct LowBits {
    bits: u64,
    n: u64,
    at: *const u8,
}

impl LowBits {
    #[inline(always)]
    fn of(pass: &Pass<'_>) -> Self {
        let Cursor { bits, n, at } = pass.source.cursor;
        Self { bits, n: u64::from(n), at: pass.source.room().as_ptr().wrapping_add(at) }
    }

    #[inline(always)]
    fn keep(self, pass: &mut Pass<'_>) {
        let at = self.at.addr() - pass.source.room().as_ptr().addr();
        pass.source.cursor = Cursor { bits: self.bits, n: self.n as u32, at };
    }

    /// More code, and how far it may be read from.
    #[cold]
    #[inline(never)]
    fn more(self, pass: &mut Pass<'_>) -> Result<(Self, *const u8), Error> {
        self.keep(pass);
        pass.source.more()?;
        Ok((Self::of(pass), pass.limit()))
    }

    /// Makes at least 56 bits ready.
    ///
    /// # Safety
    /// Eight bytes can be read at `at`.
    #[inline(always)]
    unsafe fn refill(&mut self) {
        // SAFETY: the caller says that eight bytes can be read there; they need not be aligned.
        let next = u64::from_le(unsafe { self.at.cast::<u64>().read_unaligned() });
        self.bits |= next << self.n;
        self.at = self.at.wrapping_add(((63 - self.n) >> 3) as usize);
        self.n |= 56;
    }

    #[inline(always)]
    fn take(&mut self, n: u32) {
        self.bits >>= n & 63;
        self.n -= u64::from(n);
    }

    /// A bit for each of `mask`: those whose bit is set.
    ///
    /// # Safety
    /// Eight bytes can be read, twice; the processor has the instructions of the tier.
    #[inline(always)]
    unsafe fn for_each<M: Masks>(&mut self, mask: u64) -> u64 {
        let n = mask.count_ones();
        // SAFETY: as the caller says.
        unsafe {
            if u64::from(n) > self.n {
                return self.for_many::<M>(mask);
            }
            let set = M::deposit(self.bits, mask);
            self.take(n);
            set
        }
    }

    /// The same of more than there are ready.
    ///
    /// # Safety
    /// As for [`Self::for_each`].
    #[cold]
    #[inline(always)]
    unsafe fn for_many<M: Masks>(&mut self, mask: u64) -> u64 {
        let low = mask & u64::from(u32::MAX);
        [low, mask ^ low].into_iter().fold(0, |set, mask| {
            // SAFETY: as the caller says; neither half has more bits than are ready.
            unsafe {
                self.refill();
                let more = M::deposit(self.bits, mask);
                self.take(mask.count_ones());
                set | more
            }
        })
    }
}

/// Reads one bit more of the coefficients of a band, of blocks that lie side by side.
///
/// # Safety
/// The processor has the instructions of the tier.
#[inline(always)]
pub(super) unsafe fn coefficients<M: Masks>(
    pass: &mut Pass<'_>,
    row: Row<'_>,
) -> Result<(), Error> {
    let [table, ..] = pass.tables;
    let band = (u64::MAX << *pass.head.band.start()) & (u64::MAX >> (63 - *pass.head.band.end()));
    let by = 1 << pass.head.shift;
    let mut bits = LowBits::of(pass);
    let mut limit = pass.limit();
    for (block, mask) in row.blocks.iter_mut().zip(row.masks) {
        let mut seen = *mask & band;
        if pass.ended > 0 && seen == 0 {
            pass.ended -= 1;
            continue;
        }
        if bits.at > limit {
            (bits, limit) = bits.more(pass)?;
        }
        let mut change = Change { grown: 0, new: 0, below: 0, by };
        if pass.ended == 0 {
            let zeros = !*mask & band;
            // SAFETY: before a block, `at` was not beyond the limit, so that all of it can be read.
            let (left, ended) = unsafe { one::<M>(&mut bits, &mut change, table, (seen, zeros))? };
            pass.ended = ended;
            seen = left;
            *mask |= change.new;
        }
        if pass.ended > 0 {
            pass.ended -= 1;
            // SAFETY: the same.
            unsafe {
                bits.refill();
                change.grown |= bits.for_each::<M>(seen);
            }
        }
        if row.is_wanted && change.grown | change.new != 0 {
            // SAFETY: the caller says that the processor has what the tier needs.
            unsafe { M::change(block, change) };
        }
    }
    bits.keep(pass);
    Ok(())
}

/// Reads a block up to its end, or to where the ends of blocks begin: which coefficients other than
/// zero are left then, and how many blocks end.
///
/// # Safety
/// A block can be read at `bits`; the processor has the instructions of the tier.
#[inline(always)]
unsafe fn one<M: Masks>(
    bits: &mut LowBits,
    change: &mut Change,
    table: &Table,
    (mut seen, mut zeros): (u64, u64),
) -> Result<(u64, u32), Error> {
    while seen | zeros != 0 {
        // SAFETY: the caller says that all of a block can be read.
        unsafe { bits.refill() };
        let mut entry = table.entries[(bits.bits & ((1 << BITS) - 1)) as usize];
        if entry.is_special() {
            if entry.kind() == Kind::Long {
                entry = table.long(bits.bits.reverse_bits()).ok_or(NO_CODE)?;
            }
            if let Kind::End(blocks) = entry.kind() {
                bits.take(entry.bits());
                return Ok((seen, blocks));
            }
        }
        bits.take(entry.bits());
        // SAFETY: the same; the caller says that the processor has what the tier needs.
        let place = unsafe { M::nth(zeros, entry.run()) };
        if place == 0 {
            return Err(TOO_LONG);
        }
        // SAFETY: the same.
        change.grown |= unsafe { bits.for_each::<M>(seen & (place - 1)) };
        // Behind a run of 16 zeros, nothing is new.
        let value = entry.coefficient();
        change.new |= if value != 0 { place } else { 0 };
        change.below |= if value < 0 { place } else { 0 };
        let behind = !(place | (place - 1));
        (seen, zeros) = (seen & behind, zeros & behind);
    }
    Ok((seen, 0))
}

/// Reads one bit more of DC coefficients.
#[inline(always)]
pub(super) fn means(
    pass: &mut Pass<'_>,
    blocks: &mut [Block],
    units: Range<usize>,
) -> Result<(), Error> {
    let mut bits = LowBits::of(pass);
    let mut limit = pass.limit();
    let shift = pass.head.shift;
    for unit in units {
        if bits.at > limit {
            (bits, limit) = bits.more(pass)?;
        }
        // SAFETY: `at` is not beyond the limit; a unit has ten blocks at most, and as many bits.
        unsafe { bits.refill() };
        for &Step { first, stride, .. } in &pass.steps[..pass.n_steps] {
            blocks[first + unit * stride].0[0] |= ((bits.bits & 1) as i16) << shift;
            bits.take(1);
        }
    }
    bits.keep(pass);
    Ok(())
}

/// Masks bit by bit.
pub(super) struct Plain;

impl Masks for Plain {
    #[inline(always)]
    unsafe fn deposit(mut bits: u64, mut mask: u64) -> u64 {
        let mut set = 0;
        while mask != 0 {
            let lowest = mask & mask.wrapping_neg();
            set |= if bits & 1 == 1 { lowest } else { 0 };
            mask ^= lowest;
            bits >>= 1;
        }
        set
    }

    #[inline(always)]
    unsafe fn nth(mut mask: u64, n: u32) -> u64 {
        for _ in 0..n {
            mask &= mask.wrapping_sub(1);
        }
        mask & mask.wrapping_neg()
    }

    #[inline(always)]
    unsafe fn change(block: &mut Block, by: Change) {
        let mut changed = by.grown | by.new;
        while changed != 0 {
            let at = changed.trailing_zeros();
            let value = &mut block.0[at as usize];
            let is_below = *value < 0 || by.below >> at & 1 == 1;
            *value = value.wrapping_add(if is_below { -by.by } else { by.by });
            changed &= changed - 1;
        }
    }
}

/// Masks by the instructions for them of AVX2's time, and blocks by those of AVX2.
#[cfg(target_arch = "x86_64")]
pub(super) struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Masks for Avx2 {
    #[inline(always)]
    unsafe fn deposit(bits: u64, mask: u64) -> u64 {
        // SAFETY: the caller says that the processor has BMI2.
        unsafe { std::arch::x86_64::_pdep_u64(bits, mask) }
    }

    #[inline(always)]
    unsafe fn nth(mask: u64, n: u32) -> u64 {
        // SAFETY: the caller says that the processor has BMI2.
        unsafe { std::arch::x86_64::_pdep_u64(1 << n, mask) }
    }

    #[inline(always)]
    unsafe fn change(block: &mut Block, by: Change) {
        use std::arch::x86_64::*;
        let (changed, below) = (by.grown | by.new, by.below);
        let (changed, below) = (changed.to_le_bytes(), below.to_le_bytes());
        // SAFETY: the caller says that the processor has AVX2; a piece is 16 coefficients.
        unsafe {
            let bits = _mm256_setr_epi16(
                1,
                2,
                4,
                8,
                16,
                32,
                64,
                128,
                256,
                512,
                1024,
                2048,
                4096,
                8192,
                16384,
                i16::MIN,
            );
            let by = _mm256_set1_epi16(by.by);
            let pieces = block.0.as_chunks_mut::<16>().0.iter_mut();
            let masks = changed.as_chunks::<2>().0.iter().zip(below.as_chunks::<2>().0);
            for (piece, (changed, below)) in pieces.zip(masks) {
                let lanes = |mask: [u8; 2]| {
                    let mask = _mm256_set1_epi16(i16::from_le_bytes(mask));
                    _mm256_cmpeq_epi16(_mm256_and_si256(mask, bits), bits)
                };
                let before = _mm256_loadu_si256(piece.as_ptr().cast());
                let by = _mm256_and_si256(lanes(*changed), by);
                let sign = _mm256_or_si256(_mm256_srai_epi16(before, 15), lanes(*below));
                let by = _mm256_sub_epi16(_mm256_xor_si256(by, sign), sign);
                _mm256_storeu_si256(piece.as_mut_ptr().cast(), _mm256_add_epi16(before, by));
            }
        }
    }
}

/// Masks bit by bit, and blocks by the instructions of AVX2: for processors on which PDEP is slow.
#[cfg(target_arch = "x86_64")]
pub(super) struct Avx2Loops;

#[cfg(target_arch = "x86_64")]
impl Masks for Avx2Loops {
    #[inline(always)]
    unsafe fn deposit(bits: u64, mask: u64) -> u64 {
        // SAFETY: it asks for nothing.
        unsafe { Plain::deposit(bits, mask) }
    }

    #[inline(always)]
    unsafe fn nth(mask: u64, n: u32) -> u64 {
        // SAFETY: it asks for nothing.
        unsafe { Plain::nth(mask, n) }
    }

    #[inline(always)]
    unsafe fn change(block: &mut Block, by: Change) {
        // SAFETY: as the caller says.
        unsafe { Avx2::change(block, by) }
    }
}

/// The same as [`Avx2`], and blocks by the instructions of AVX-512.
#[cfg(target_arch = "x86_64")]
pub(super) struct Avx512;

#[cfg(target_arch = "x86_64")]
impl Masks for Avx512 {
    #[inline(always)]
    unsafe fn deposit(bits: u64, mask: u64) -> u64 {
        // SAFETY: as the caller says.
        unsafe { Avx2::deposit(bits, mask) }
    }

    #[inline(always)]
    unsafe fn nth(mask: u64, n: u32) -> u64 {
        // SAFETY: as the caller says.
        unsafe { Avx2::nth(mask, n) }
    }

    #[inline(always)]
    unsafe fn change(block: &mut Block, change: Change) {
        use std::arch::x86_64::*;
        // SAFETY: the caller says that the processor has AVX-512 BW; a piece is 32 coefficients.
        unsafe {
            let by = _mm512_set1_epi16(change.by);
            for (piece, at) in block.0.as_chunks_mut::<32>().0.iter_mut().zip([0, 32]) {
                let [grown, new, below] =
                    [change.grown, change.new, change.below].map(|it| (it >> at) as u32);
                let before = _mm512_loadu_si512(piece.as_ptr().cast());
                let less = ((grown | new) & _mm512_movepi16_mask(before)) | below;
                let more = (grown | new) & !less;
                let after = _mm512_mask_add_epi16(before, more, before, by);
                let after = _mm512_mask_sub_epi16(after, less, before, by);
                _mm512_storeu_si512(piece.as_mut_ptr().cast(), after);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tier;

    type Result = (u64, u64, Block);

    fn all<M: Masks>(bits: u64, mask: u64, n: u32, block: &Block, by: Change) -> Result {
        let mut block = *block;
        // SAFETY: the test asks first what the processor has.
        unsafe {
            M::change(&mut block, by);
            (M::deposit(bits, mask), M::nth(mask, n), block)
        }
    }

    #[test]
    fn all_tiers_do_the_same() {
        let mut state = 1_u64;
        let mut drawn = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state ^ state >> 29
        };
        for round in 0..if cfg!(miri) { 10 } else { 2000 } {
            let mut block = Block([0; 64]);
            block.0.iter_mut().for_each(|it| *it = (drawn() % 9) as i16 * 4 - 16);
            let seen = (0..64).filter(|it| block.0[*it] != 0).fold(0, |all, it| all | 1 << it);
            let new: u64 = drawn() & drawn() & !seen;
            let by = Change { grown: drawn() & seen, new, below: new & drawn(), by: 2 };
            let (bits, mask, n) = (drawn(), drawn() & drawn(), round % 16);
            let expected = all::<Plain>(bits, mask, n, &block, by);
            for tier in Tier::available() {
                let found: Result = match tier {
                    #[cfg(target_arch = "x86_64")]
                    Tier::Avx2 if round % 2 == 0 => all::<Avx2Loops>(bits, mask, n, &block, by),
                    #[cfg(target_arch = "x86_64")]
                    Tier::Avx2 => all::<Avx2>(bits, mask, n, &block, by),
                    #[cfg(target_arch = "x86_64")]
                    Tier::Avx512 => all::<Avx512>(bits, mask, n, &block, by),
                    _ => continue,
                };
                assert!((found.0, found.1, found.2.0) == (expected.0, expected.1, expected.2.0));
            }
            for at in 0..64 {
                let before = i32::from(block.0[at]);
                let expected_value = match () {
                    () if by.grown >> at & 1 == 1 => before + 2 * before.signum(),
                    () if by.below >> at & 1 == 1 => -2,
                    () if by.new >> at & 1 == 1 => 2,
                    () => before,
                };
                assert_eq!(i32::from(expected.2.0[at]), expected_value);
            }
        }
    }
}
