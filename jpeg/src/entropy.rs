//! Reads the blocks of MCUs: the hot loop.
//!
//! Coefficients are written as the look-ups give them, up to eight at a time: what runs over
//! the end of a block lies in the next of its row, which is set to zero when it begins, or in
//! the spare block behind the row.

use crate::Tier;
use crate::error::Error;
use crate::header::{BLOCKS_MAX, Codes, Parsed};
use crate::huffman::{AC_BITS, Ac, Dc, END, Symbol};
use crate::source::{Cursor, Source};
use std::ops::Range;

/// Coefficients of a block.
pub(crate) const BLOCK: usize = 64;
/// Bytes of a block.
const BLOCK_BYTES: usize = 2 * BLOCK;
/// Coefficients behind the start of a block that may be written with it.
const REACH: usize = 2 * BLOCK;

/// What a coefficient may be at most after it is multiplied. Encoders make about 1 024; beyond
/// 8 191, what is calculated in 16 bits depends on the way.
const DEQUANTISED_MAX: u32 = 8191;

/// Huffman tables, each built once for all components that refer to it.
pub(crate) struct Tables {
    dc: [Dc; 3],
    ac: [Ac; 3],
}

impl Tables {
    pub(crate) fn new() -> Box<Self> {
        Box::new(Self { dc: [const { Dc::EMPTY }; 3], ac: [const { Ac::EMPTY }; 3] })
    }

    /// Builds what the components refer to; gives the DC and AC table of each. Values that
    /// `factor_max` brings out of range are not among those that are not looked at.
    pub(crate) fn build(
        &mut self,
        parsed: &Parsed<'_>,
        factor_max: u16,
    ) -> Result<[(usize, usize); 3], Error> {
        let value_max = DEQUANTISED_MAX / u32::from(factor_max.max(1));
        let mut of = [(0, 0); 3];
        let (mut dcs, mut acs): ([Option<Codes<'_>>; 3], _) = ([None; 3], [None; 3]);
        for i in 0..parsed.header.components.min(3) {
            let (dc, ac) = (parsed.dc(&parsed.components[i])?, parsed.ac(&parsed.components[i])?);
            let known =
                |all: &[Option<Codes<'_>>; 3], it| all.iter().position(|at| *at == Some(it));
            of[i].0 = known(&dcs, dc).map_or_else(|| self.dc[i].build(dc).map(|()| i), Ok)?;
            of[i].1 =
                known(&acs, ac).map_or_else(|| self.ac[i].build(ac, value_max).map(|()| i), Ok)?;
            (dcs[of[i].0], acs[of[i].1]) = (Some(dc), Some(ac));
        }
        Ok(of)
    }
}

/// A block of each MCU.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Step {
    pub(crate) component: usize,
    pub(crate) dc: usize,
    pub(crate) ac: usize,
    /// Where the block of the first MCU that is kept lies, and that of the next behind it, in
    /// coefficients.
    pub(crate) at: usize,
    pub(crate) stride: usize,
}

/// The blocks of each MCU, and what they are read with.
pub(crate) struct Scan<'a> {
    pub(crate) tables: &'a Tables,
    pub(crate) steps: &'a [Step],
    pub(crate) source: Source<'a>,
    /// The factors of each component.
    pub(crate) quantisers: &'a [[u16; 64]; 3],
    /// The last DC coefficient of each component.
    pub(crate) last: [i32; 3],
}

/// Room for the blocks of a row of MCUs.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// Coefficients in zig-zag order, [`BLOCK`] of each.
    pub(crate) coefs: Vec<i16>,
    /// Coefficients of each block up to the last that is not 0.
    pub(crate) ends: Vec<u8>,
}

impl Blocks {
    /// Makes room for `n`.
    pub(crate) fn make_room(&mut self, n: usize) {
        if self.ends.len() < n {
            self.coefs.resize(BLOCK * n, 0);
            self.ends.resize(n, 0);
        }
    }
}

/// Reads MCUs to where `steps` say, as the `range`-th that are kept.
pub(crate) type ReadMcus = fn(&mut Scan<'_>, &mut Blocks, Range<usize>) -> Result<(), Error>;

/// The function for a tier.
pub(crate) fn of(tier: Tier) -> ReadMcus {
    match tier {
        #[cfg(target_arch = "x86_64")]
        Tier::Avx512 | Tier::Avx2 if has_bmi2() => |scan, to, mcus| {
            // SAFETY: the processor has what the function is compiled for.
            unsafe { read_bmi2(scan, to, mcus) }
        },
        _ => |scan, to, mcus| read(scan, to, mcus),
    }
}

#[cfg(target_arch = "x86_64")]
fn has_bmi2() -> bool {
    std::arch::is_x86_feature_detected!("bmi1")
        && std::arch::is_x86_feature_detected!("bmi2")
        && std::arch::is_x86_feature_detected!("avx2")
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn read_bmi2(scan: &mut Scan<'_>, to: &mut Blocks, mcus: Range<usize>) -> Result<(), Error> {
    read(scan, to, mcus)
}

#[inline(always)]
fn read(scan: &mut Scan<'_>, to: &mut Blocks, mcus: Range<usize>) -> Result<(), Error> {
    let Scan { tables, steps, quantisers, ref mut source, ref mut last } = *scan;
    let n_steps = steps.len();
    assert!((1..=BLOCKS_MAX).contains(&n_steps), "an MCU has 1 to 10 blocks");
    let Blocks { coefs, ends } = to;
    let room = coefs.len().min(BLOCK * ends.len());
    let has_room = |it: &Step| it.at + it.stride * mcus.end.saturating_sub(1) + REACH <= room;
    assert!(steps.iter().all(has_room), "there is room for all blocks and one behind");

    let steps: [_; BLOCKS_MAX] = std::array::from_fn(|i| {
        let step = steps[i.min(steps.len() - 1)];
        let (dc, ac) = (&tables.dc[step.dc], &tables.ac[step.ac]);
        (step, Codec { dc, ac, factors: &quantisers[step.component] })
    });
    let steps = &steps[..n_steps];
    let mut bits = Bits::from(source.cursor, source.room().as_ptr());
    for mcu in mcus {
        if bits.offset(source.room().as_ptr()) > source.safe() {
            source.cursor = bits.cursor(source.room().as_ptr());
            source.more()?;
            bits = Bits::from(source.cursor, source.room().as_ptr());
        }
        for (step, codec) in steps {
            let at = step.at + step.stride * mcu;
            // SAFETY: it lies in `coefs`, and with it what may be written behind; see above.
            let block = unsafe { coefs.as_mut_ptr().add(at) };
            let last = &mut last[step.component];
            // SAFETY: an MCU that begins within the code has room to be read, by `more`; what is
            // written of a block ends within REACH; and `ends` has an element for each BLOCK.
            unsafe {
                let end = bits.block(codec, last, block)?;
                *ends.as_mut_ptr().add(at / BLOCK) = end as u8;
            }
        }
    }
    source.cursor = bits.cursor(source.room().as_ptr());
    Ok(())
}

/// What the blocks of a component are read with.
struct Codec<'a> {
    dc: &'a Dc,
    ac: &'a Ac,
    factors: &'a [u16; 64],
}

impl Codec<'_> {
    /// Whether the `k`-th coefficient can be `value`.
    #[inline(always)]
    fn allows(&self, k: usize, value: i32) -> bool {
        value.unsigned_abs() * u32::from(self.factors[k & 63]) <= DEQUANTISED_MAX
    }
}

/// The bits that come next; the form of [`Cursor`] that is quick.
#[derive(Clone, Copy)]
struct Bits {
    bits: u64,
    n: u64,
    at: *const u8,
}

const NO_CODE: Error = Error::Irregular("a code stands where none can be");
const OUT_OF_RANGE: Error = Error::Irregular("a coefficient is out of range");
const TOO_LONG: Error = Error::Irregular("a block has more than 64 coefficients");

impl Bits {
    #[inline(always)]
    fn from(cursor: Cursor, room: *const u8) -> Self {
        // The offset was one, or the room has as many bytes: it is never read beyond.
        Self { bits: cursor.bits, n: u64::from(cursor.n), at: room.wrapping_add(cursor.at) }
    }

    #[inline(always)]
    fn cursor(self, room: *const u8) -> Cursor {
        Cursor { bits: self.bits, n: self.n as u32, at: self.offset(room) }
    }

    #[inline(always)]
    fn offset(self, room: *const u8) -> usize {
        self.at as usize - room as usize
    }

    /// Makes at least 56 bits ready.
    ///
    /// # Safety
    /// Eight bytes can be read.
    #[inline(always)]
    unsafe fn refill(&mut self) {
        // SAFETY: by the caller.
        let next = u64::from_be(unsafe { self.at.cast::<u64>().read_unaligned() });
        self.bits |= next >> self.n;
        self.at = self.at.wrapping_add(((63 - self.n) >> 3) as usize);
        self.n |= 56;
    }

    #[inline(always)]
    fn take(&mut self, n: u32) {
        self.bits <<= n & 63;
        self.n -= u64::from(n);
    }

    /// Gives `n` bits back, at most 64, that were taken.
    ///
    /// # Safety
    /// They lie in the room, and eight bytes can be read.
    #[inline(always)]
    unsafe fn give_back(&mut self, n: u32) {
        let back = self.n + u64::from(n);
        self.at = self.at.wrapping_sub(back.div_ceil(8) as usize);
        (self.bits, self.n) = (0, 0);
        let used = (8 - back % 8) % 8;
        // SAFETY: by the caller.
        unsafe { self.refill() };
        self.take(used as u32);
    }

    /// Reads a block; gives how many coefficients it has up to the last that is not 0.
    ///
    /// # Safety
    /// From `at` on, as many bytes can be read as a block can take, and 16 more; at `block`,
    /// [`REACH`] coefficients can be written.
    #[inline(always)]
    unsafe fn block(
        &mut self,
        codec: &Codec<'_>,
        last: &mut i32,
        block: *mut i16,
    ) -> Result<usize, Error> {
        // SAFETY: by the caller.
        unsafe {
            self.refill();
            block.write_bytes(0, BLOCK);
        }
        let Some(difference) = codec.dc.read(self.bits) else { return Err(NO_CODE) };
        self.take(difference.bits);
        *last += difference.value;
        if !codec.allows(0, *last) {
            return Err(OUT_OF_RANGE);
        }
        // SAFETY: by the caller.
        unsafe {
            *block = *last as i16;
            Ok(self.coefficients(codec, block)? / 2)
        }
    }

    /// Reads the AC coefficients of a block; gives how many bytes of it were written.
    ///
    /// # Safety
    /// As for [`Self::block`].
    #[inline(always)]
    unsafe fn coefficients(&mut self, codec: &Codec<'_>, block: *mut i16) -> Result<usize, Error> {
        let block = block.cast::<u8>();
        // Bytes of the block that were written.
        let mut done = 2;
        'refill: loop {
            // SAFETY: by the caller.
            unsafe { self.refill() };
            // 56 bits are five look-ups; the compiler unrolls it.
            for _ in 0..5 {
                let entry = codec.ac.entries[(self.bits >> (64 - AC_BITS)) as usize];
                if entry as u8 == 0 {
                    // SAFETY: by the caller.
                    match unsafe { self.single(codec, entry, block, done)? } {
                        None => return Ok(done),
                        Some(BLOCK_BYTES) => return Ok(BLOCK_BYTES),
                        Some(it) => done = it,
                    }
                    continue 'refill;
                }
                let at = done + (entry as usize >> 8 & 255);
                // SAFETY: `done` is less than 128, and byte 1 of an entry at most 30.
                unsafe { write_values(entry >> 24, block.add(at)) };
                done += entry as usize >> 16 & 255;
                self.bits <<= entry & 63;
                self.n -= entry & 255;

                if done >= BLOCK_BYTES {
                    // What ends a block counts as a block.
                    let is_whole = match entry & END {
                        0 => done == BLOCK_BYTES,
                        _ => done < 2 * BLOCK_BYTES,
                    };
                    if is_whole {
                        return Ok(if done == BLOCK_BYTES { done } else { done - BLOCK_BYTES });
                    }
                    done -= entry as usize >> 16 & 255;
                    // SAFETY: what was just taken; by the caller.
                    (*self, done) = unsafe { self.rest(codec, entry, block, done)? };
                    return Ok(done);
                }
            }
        }
    }

    /// Reads one symbol; gives how many bytes of the block are done, none at its end.
    ///
    /// # Safety
    /// As for [`Self::block`].
    #[inline(always)]
    unsafe fn single(
        &mut self,
        codec: &Codec<'_>,
        entry: u64,
        block: *mut u8,
        done: usize,
    ) -> Result<Option<usize>, Error> {
        // SAFETY: by the caller.
        unsafe { self.refill() };
        let Some(symbol) = codec.ac.single(entry, self.bits) else { return Err(NO_CODE) };
        self.take(symbol.bits);
        if symbol.run == Symbol::END {
            return Ok(None);
        }
        let at = done + 2 * symbol.run;
        if at >= BLOCK_BYTES {
            return Err(TOO_LONG);
        }
        if !codec.allows(at / 2, i32::from(symbol.value)) {
            return Err(OUT_OF_RANGE);
        }
        // SAFETY: it lies in the block.
        unsafe { block.add(at).cast::<i16>().write(symbol.value) };
        Ok(Some(at + 2))
    }

    /// Takes `entry` back, which runs over the end of the block, and reads its rest one symbol
    /// at a time. (It takes and gives the bits by value, so that they are in registers elsewhere.)
    ///
    /// # Safety
    /// As for [`Self::block`].
    #[cold]
    #[inline(never)]
    unsafe fn rest(
        mut self,
        codec: &Codec<'_>,
        entry: u64,
        block: *mut u8,
        mut done: usize,
    ) -> Result<(Self, usize), Error> {
        // SAFETY: by the caller.
        unsafe { self.give_back((entry & 255) as u32) };
        loop {
            // SAFETY: by the caller; an entry of several symbols is not one that `single` knows.
            match unsafe { self.single(codec, entry, block, done)? } {
                None => return Ok((self, done)),
                Some(BLOCK_BYTES) => return Ok((self, BLOCK_BYTES)),
                Some(it) => done = it,
            }
        }
    }
}

/// Writes eight coefficients, each of which a byte of `values` says.
///
/// # Safety
/// 16 bytes can be written.
#[inline(always)]
unsafe fn write_values(values: u64, to: *mut u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every such processor has SSE2; by the caller.
    unsafe {
        use std::arch::x86_64::*;
        let values = _mm_cvtsi64_si128(values as i64);
        let values = _mm_srai_epi16(_mm_unpacklo_epi8(values, values), 8);
        _mm_storeu_si128(to.cast(), values);
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: by the caller.
    unsafe {
        let values = values.to_le_bytes().map(|it| i16::from(it as i8));
        to.cast::<[i16; 8]>().write_unaligned(values);
    }
}
