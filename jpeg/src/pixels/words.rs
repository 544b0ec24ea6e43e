//! What the vector kernels ask of a processor: vectors of 16-bit words in lanes of 128 bits.
//!
//! Everything but loads and stores works within a lane, so a kernel written once over `Words`
//! serves vectors of one, two and four lanes.

use super::idct::{CORNER, PLACE, Pair};

/// Lanes of the widest vector.
pub(super) const LANES_MAX: usize = 4;

/// Functions of `Words` that only calculate.
macro_rules! calculations {
    ($(
        $(#[$told:meta])*
        fn $name:ident $(<const $n:ident: i32>)? ($($args:tt)*) -> $gives:ty;
    )*) => {$(
        $(#[$told])*
        ///
        /// # Safety
        /// The processor has the vector's instructions.
        unsafe fn $name $(<const $n: i32>)? ($($args)*) -> $gives;
    )*};
}

/// A vector of `LANES` lanes of 128 bits: 8 words, 4 double words or 16 bytes each.
///
/// # Safety
/// Every function needs a processor that has the vector's instructions, so all are called from
/// functions that have these enabled (into which they are inlined). Bytes may lie at any alignment,
/// words as words do.
pub(super) trait Words: Copy {
    /// Lanes of 128 bits.
    const LANES: usize;
    /// Bytes.
    const BYTES: usize = 16 * Self::LANES;

    calculations! {
        /// All bits are 0.
        fn zero() -> Self;
        /// The same word everywhere.
        fn splat16(word: i16) -> Self;
        /// The same double word everywhere.
        fn splat32(word: i32) -> Self;
    }

    /// Reads `BYTES` bytes.
    ///
    /// # Safety
    /// The processor has the vector's instructions; `BYTES` bytes can be read at `from`.
    unsafe fn load(from: *const u8) -> Self;
    /// Writes `BYTES` bytes.
    ///
    /// # Safety
    /// The processor has the vector's instructions; `BYTES` bytes can be written at `to`.
    unsafe fn store(self, to: *mut u8);
    /// Reads `BYTES / 2` bytes: a word each.
    ///
    /// # Safety
    /// The processor has the vector's instructions; `BYTES / 2` bytes can be read at `from`.
    unsafe fn load_wide(from: *const u8) -> Self;

    /// Reads `LANES` blocks of 64 words in zig-zag order; gives the eight rows of the blocks, one
    /// block a lane, times the 64 words at `quant`, which are in zig-zag order too.
    ///
    /// # Safety
    /// The processor has the vector's instructions; `64 * LANES` words can be read at `blocks`, and
    /// 64 at `quant`, both aligned as words.
    unsafe fn rows(blocks: *const i16, quant: *const u16) -> [Self; 8];
    /// Reads `LANES` blocks of which only the first [`CORNER`] coefficients are not 0; gives pairs of
    /// their products with the words at `quant`: rows 0 and 2, then rows 1 and 3, of the columns
    /// 0, 2, 1 and 3 of the block in each lane.
    ///
    /// # Safety
    /// As for [`Words::rows`]; `LANES` is [`LANES_MAX`] at most.
    #[inline(always)]
    unsafe fn corner(blocks: *const i16, quant: *const u16) -> [Self; 2] {
        let mut words = [[[0_i16; 8]; LANES_MAX]; 2];
        for (lanes, places) in words.iter_mut().zip(&CORNER_PLACES) {
            for (lane, words) in lanes.iter_mut().enumerate().take(Self::LANES) {
                let places =
                    places.iter().zip(words).filter_map(|(place, it)| Some(((*place)?, it)));
                for (place, word) in places.map(|(place, it)| (usize::from(place), it)) {
                    // SAFETY: the caller has 64 words of each block, and 64 at `quant`.
                    let (value, factor) =
                        unsafe { (*blocks.add(64 * lane + place), *quant.add(place)) };
                    *word = value.wrapping_mul(factor as i16);
                }
            }
        }
        // SAFETY: the caller has the instructions; there are LANES_MAX lanes.
        words.map(|it| unsafe { Self::load(it.as_ptr().cast()) })
    }
    /// The lower 8 bytes of all lanes go to `lower`, the upper 8 to `upper`: 8 bytes a lane.
    ///
    /// # Safety
    /// The processor has the vector's instructions; `BYTES / 2` bytes can be written at both.
    unsafe fn store_halves(self, lower: *mut u8, upper: *mut u8);
    /// Writes byte 0 of all three, byte 1 of all three …: 3 * `BYTES` bytes.
    ///
    /// # Safety
    /// The processor has the vector's instructions; `3 * BYTES` bytes can be written at `to`.
    unsafe fn store_3(vectors: [Self; 3], to: *mut u8);

    calculations! {
        /// Sums of words; they wrap.
        fn add16(self, other: Self) -> Self;
        /// Differences of words; they wrap.
        fn sub16(self, other: Self) -> Self;
        /// The upper 16 bits of products of signed words.
        fn mul16_high(self, other: Self) -> Self;
        /// Sums of the products of neighbouring signed words.
        fn mul_add(self, other: Self) -> Self;
        /// Sums of double words; they wrap.
        fn add32(self, other: Self) -> Self;
        /// Differences of double words; they wrap.
        fn sub32(self, other: Self) -> Self;
        /// The bits that are set in one alone.
        fn xor(self, other: Self) -> Self;
        /// The bits that are set in any.
        fn or(self, other: Self) -> Self;
        /// Whether all bits are 0.
        fn is_zero(self) -> bool;

        /// Shifts double words by `N` (1 to 31) to the right with the sign.
        fn sra32<const N: i32>(self) -> Self;
        /// Shifts words by `N` (1 to 15) to the right with the sign.
        fn sra16<const N: i32>(self) -> Self;
        /// Shifts words by `N` (1 to 15) to the right without the sign.
        fn srl16<const N: i32>(self) -> Self;
        /// Shifts words by `N` (1 to 15) to the left.
        fn sll16<const N: i32>(self) -> Self;

        /// Lane by lane the double words of `self`, then those of `other`, saturated to words.
        fn narrow32(self, other: Self) -> Self;
        /// Lane by lane the words of `self`, then those of `other`, saturated to signed bytes.
        fn narrow16(self, other: Self) -> Self;
        /// The same, to unsigned bytes.
        fn narrow16_unsigned(self, other: Self) -> Self;

        /// Lane by lane the lower halves of both, byte by byte in turn.
        fn lo8(self, other: Self) -> Self;
        /// The same of the upper halves.
        fn hi8(self, other: Self) -> Self;
        /// Lane by lane the lower halves of both, word by word in turn.
        fn lo16(self, other: Self) -> Self;
        /// The same of the upper halves.
        fn hi16(self, other: Self) -> Self;
        /// Lane by lane the lower halves of both, double word by double word in turn.
        fn lo32(self, other: Self) -> Self;
        /// The same of the upper halves.
        fn hi32(self, other: Self) -> Self;
        /// Lane by lane the lower halves of both, one after the other.
        fn lo64(self, other: Self) -> Self;
        /// The same of the upper halves.
        fn hi64(self, other: Self) -> Self;
    }

    /// The same as `mul_add`, added to `sum`; wraps.
    ///
    /// # Safety
    /// The processor has the vector's instructions.
    #[inline(always)]
    unsafe fn mul_add_to(self, by: Self, sum: Self) -> Self {
        // SAFETY: the caller has the instructions.
        unsafe { sum.add32(self.mul_add(by)) }
    }

    /// Both words of all pairs.
    ///
    /// # Safety
    /// The processor has the vector's instructions.
    #[inline(always)]
    unsafe fn splat_pair(pair: Pair) -> Self {
        let (low, high) = (pair.0 as u16, pair.1 as u16);
        // SAFETY: the caller has the instructions.
        unsafe { Self::splat32((u32::from(high) << 16 | u32::from(low)) as i32) }
    }
}

/// The places in zig-zag order of what [`Words::corner`] gives in each lane.
pub(super) const CORNER_PLACES: [[Option<u8>; 8]; 2] = {
    let mut places = [[None; 8]; 2];
    let mut at = 0;
    while at < 16 {
        let (which, column, lower) = (at / 8, [0, 2, 1, 3][at % 8 / 2], at % 2);
        let place = PLACE[8 * (2 * lower + which) + column];
        if place < CORNER {
            places[which][at % 8] = Some(place);
        }
        at += 1;
    }
    places
};
