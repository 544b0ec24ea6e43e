//! Reads the blocks of MCUs: the hot loop.
//!
//! A look-up gives some coefficients, up to eight are written at a time, and where the block ends
//! the next one begins without a branch, as nobody can foretell it: the place to write to and the
//! table are chosen by arithmetic. What that leaves undone is done behind the last block: long
//! values are put where their look-ups have left room, and DC coefficients, of which there are the
//! differences, are added up.

use crate::Tier;
use crate::bits::Bits;
use crate::blocks::{BLOCK_BYTES, Blocks, LATER_MAX, Later, Place};
use crate::error::Error;
use crate::header::{BLOCKS_MAX, Parsed};
use crate::huffman::{self, Codec, END, Fill, LATER, Parts, Recipe, Symbol, Table, extend};
use crate::source::{AHEAD, Source};
use std::marker::PhantomData;
use std::mem::offset_of;
use std::ops::Range;

/// Look-ups after a refill: each takes [`huffman::TAKEN_MAX`] bits at most, of 56.
const LOOKUPS: usize = 4;
const _: () = assert!(LOOKUPS as u32 * huffman::TAKEN_MAX <= 56);

/// What a coefficient may be at most after it is multiplied. Encoders make about 1 024; beyond
/// 8 191, what is calculated in 16 bits depends on the way.
pub(crate) const DEQUANTISED_MAX: u32 = 8191;

/// Huffman tables, each built once for all components that refer to it.
pub(crate) struct Tables {
    codecs: [Codec; 3],
    parts: Parts,
    fill: Fill,
}

impl Tables {
    pub(crate) fn new(tier: Tier) -> Box<Self> {
        let fill = huffman::of(tier);
        Box::new(Self { codecs: [const { Codec::EMPTY }; 3], parts: [0; _], fill })
    }

    /// Builds what the components refer to; gives which are the tables of each. Values that
    /// `factor_max` brings out of range are not among those that are not looked at.
    pub(crate) fn build(
        &mut self,
        parsed: &Parsed<'_>,
        factor_max: u16,
    ) -> Result<[usize; 3], Error> {
        let value_max = value_max(factor_max);
        let mut of = [0; 3];
        let mut recipes = [None; 3];
        for i in 0..parsed.header.components.min(3) {
            let component = &parsed.components[i];
            let (dc, ac) = (parsed.dc(component)?, parsed.ac(component)?);
            let recipe = Recipe { dc, ac, value_max };
            let known = recipes.iter().position(|it| *it == Some(recipe));
            of[i] = known.unwrap_or(i);
            recipes[i] = Some(recipe);
            if known.is_none() {
                self.codecs[i].build(recipe, &mut self.parts, self.fill)?;
            }
        }
        Ok(of)
    }

    /// One of those that were built.
    pub(crate) fn codec(&self, which: usize) -> &Codec {
        &self.codecs[which]
    }
}

fn value_max(factor_max: u16) -> u32 {
    DEQUANTISED_MAX / u32::from(factor_max.max(1))
}

/// From the entries of a codec for DC coefficients to those for others.
const TO_AC: usize = offset_of!(Codec, ac) / size_of::<u64>();

/// The code of a scan, and what is needed to read it.
pub(crate) struct Scan<'a> {
    pub(crate) source: Source<'a>,
    /// The component of each block of an MCU.
    pub(crate) components: &'a [usize],
    /// The factors of each component, and the greatest of them.
    pub(crate) quantisers: &'a [[u16; 64]; 3],
    pub(crate) factor_max: u16,
    /// The last DC coefficient of each component.
    pub(crate) last: [i32; 3],
    /// The tables that the blocks' places name.
    pub(crate) tables: PhantomData<&'a Tables>,
}

/// The hot loop of a tier: [`State::run`].
///
/// It is a function of its own, so that all of a state fits into registers.
pub(crate) type Run = unsafe fn(&mut State, &Limits) -> Stop;

/// The function for a tier.
pub(crate) fn of(tier: Tier) -> Run {
    match tier {
        #[cfg(target_arch = "x86_64")]
        Tier::Avx512 | Tier::Avx2 if Tier::Avx2.is_available() => run_bmi2,
        _ => run_anywhere,
    }
}

/// # Safety
/// The processor has AVX2, BMI1 and BMI2; else as for [`State::run`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2")]
unsafe fn run_bmi2(state: &mut State, limits: &Limits) -> Stop {
    // SAFETY: the caller keeps what `run` asks for, and the processor has AVX2.
    unsafe { state.run(limits, write_values_avx2) }
}

/// # Safety
/// As for [`State::run`].
unsafe fn run_anywhere(state: &mut State, limits: &Limits) -> Stop {
    // SAFETY: the caller keeps what `run` asks for.
    unsafe { state.run(limits, write_values) }
}

/// Reads MCUs into the `range` of those that there is room for. What they are read to need be
/// zeros only if it is to be looked at.
///
/// # Safety
/// `to` was last begun with the tables that the scan borrows ([`Blocks::begin`] keeps where they lie, and no borrow of
/// them), and `run` is what [`of`] gave.
pub(crate) unsafe fn read(
    scan: &mut Scan<'_>,
    to: &mut Blocks,
    mcus: Range<usize>,
    run: Run,
) -> Result<(), Error> {
    let n = scan.components.len();
    assert!((1..=BLOCKS_MAX).contains(&n), "an MCU has 1 to 10 blocks");
    let places = mcus.start * n..mcus.end * n;
    assert!(places.start <= places.end && places.end + 2 <= to.places.len(), "there is room");
    let stop = to.stop();
    let stop = std::mem::replace(&mut to.places[places.end], stop);
    // SAFETY: `begin` has made the places, whose tables are alive, as the caller says; the range ends with the place
    // to stop at, and one behind it.
    let result = unsafe { read_blocks(scan, to, &places, run) };
    to.places[places.end] = stop;
    result?;
    sum(scan, &to.places[places])
}

/// Adds the differences up that stand where DC coefficients belong.
#[inline(always)]
fn sum(scan: &mut Scan<'_>, places: &[Place]) -> Result<(), Error> {
    let (mut greatest, mut done) = ([0; 3], 0);
    for (component, greatest) in greatest.iter_mut().enumerate() {
        // The blocks of a component follow each other in each MCU.
        let n = scan.components.iter().filter(|it| **it == component).count();
        let mut last = scan.last[component];
        for mcu in places.chunks_exact(scan.components.len()) {
            for place in &mcu[done..done + n] {
                let at = place.block.cast::<i16>();
                // SAFETY: a place is that of a block, which was written.
                unsafe {
                    last = last.wrapping_add(i32::from(at.read()));
                    at.write(last as i16);
                }
                *greatest = last.unsigned_abs().max(*greatest);
            }
        }
        scan.last[component] = last;
        done += n;
    }
    let factors = scan.quantisers.iter().map(|it| u32::from(it[0]));
    match greatest.iter().zip(factors).all(|(it, by)| it.saturating_mul(by) <= DEQUANTISED_MAX) {
        true => Ok(()),
        false => Err(OUT_OF_RANGE),
    }
}

/// Writes the coefficients that were left to be written.
///
/// # Safety
/// The first `n` of `to.later` were written by [`State`], for blocks that `to` still has.
#[inline(never)]
unsafe fn settle(scan: &Scan<'_>, to: &Blocks, n: usize) -> Result<(), Error> {
    let value_max = value_max(scan.factor_max);
    for later in &to.later[..n] {
        // SAFETY: the caller has had it written; it lies in a block of `to`.
        let code = u32::from(unsafe { later.at.read() });
        let value = extend(later.bits << (code >> 4), code & 15);
        // SAFETY: a coefficient lies there, aligned, whose first byte was just read.
        unsafe { later.at.cast::<i16>().write(value as i16) };
        if value.unsigned_abs() > value_max && !scan.allows(to, later.at, value) {
            return Err(OUT_OF_RANGE);
        }
    }
    Ok(())
}

impl Scan<'_> {
    /// Whether a coefficient, other than a difference, can be `value`.
    #[cold]
    fn allows(&self, blocks: &Blocks, at: *const u8, value: i32) -> bool {
        let place = at.addr() % BLOCK_BYTES / 2;
        let factor = self.quantisers[blocks.component(at)][place];
        place == 0 || value.unsigned_abs() * u32::from(factor) <= DEQUANTISED_MAX
    }
}

/// # Safety
/// The places are those of the last [`Blocks::begin`], and their tables are alive; that at the end
/// of `places` is one to stop at, with another behind it. The processor has what `run` needs.
unsafe fn read_blocks(
    scan: &mut Scan<'_>,
    to: &mut Blocks,
    places: &Range<usize>,
    run: Run,
) -> Result<(), Error> {
    let first = to.places[places.start];
    let stop_at = to.places[places.end].block;
    // Of all places, since what is read may lie before it.
    let next = to.places.as_ptr().wrapping_add(places.start + 1);
    let later = to.later.as_mut_ptr();
    let bits = Bits::from(scan.source.cursor, scan.source.room().as_ptr());
    let mut at = State { bits, to: first.block, table: first.tables, next, later };
    loop {
        let room = scan.source.room().as_ptr();
        let limits = Limits {
            at: room.wrapping_add(scan.source.safe()),
            later: later.wrapping_add(LATER_MAX),
        };
        // SAFETY: the state is one between two symbols, of places that there are.
        let stop = unsafe { run(&mut at, &limits) };
        let beyond = at.bits.at.addr().saturating_sub(limits.at.addr());
        debug_assert!(matches!(stop, Stop::Limit) || beyond < 8, "one refill at most");
        debug_assert!(scan.source.safe() + AHEAD <= scan.source.room().len(), "bytes lie there");
        match stop {
            // SAFETY: the state is what `run` left; the block is not that to stop at. `run` refills at the limit at
            // most, so this reads up to 15 bytes behind it, of `AHEAD`; `later` has room for what a look-up gives.
            Stop::Single(entry) if at.to != stop_at => unsafe { at.single(entry)? },
            // SAFETY: the same; the entry was written, and not taken. Its symbols have `TAKEN_MAX` bits together, so
            // that this reads up to 22 bytes behind the limit, and writes no more than `LATER_MORE` of `later`.
            Stop::Over(entry) => unsafe { at.over(entry)? },
            _ => {
                scan.source.cursor = at.bits.cursor(room);
                // SAFETY: all of them were written by `run`.
                unsafe { settle(scan, to, at.later.offset_from_unsigned(later))? };
                at.later = later;
                if matches!(stop, Stop::Single(_)) {
                    return scan.source.check_end();
                }
                if at.bits.at > limits.at {
                    scan.source.more()?;
                    at.bits = Bits::from(scan.source.cursor, scan.source.room().as_ptr());
                }
            }
        }
    }
}

const NO_CODE: Error = Error::Irregular("a code stands where none can be");
const OUT_OF_RANGE: Error = Error::Irregular("a coefficient is out of range");
const TOO_LONG: Error = Error::Irregular("a block has more than 64 coefficients");

/// Where reading has come to.
#[derive(Clone, Copy)]
pub(crate) struct State {
    bits: Bits,
    /// Where the next coefficient belongs.
    to: *mut u8,
    /// What the next look-up is made in.
    table: *const u64,
    /// The place behind that of the block.
    next: *const Place,
    later: *mut Later,
}

/// What reading stops for.
pub(crate) struct Limits {
    /// Beyond it, it is not known whether there are bytes to read.
    at: *const u8,
    /// From it on, there is only room for the values of one more group of look-ups.
    later: *mut Later,
}

/// Why reading has stopped.
pub(crate) enum Stop {
    /// One of the limits.
    Limit,
    /// The look-up gave no symbol but this; so it does behind the last block.
    Single(u64),
    /// This entry, which was written and not taken, reaches the end of the block or runs over it.
    Over(u64),
}

impl State {
    /// Reads until there is something out of the ordinary.
    ///
    /// # Safety
    /// A state that [`read_blocks`] or this gave; its places, up to that to stop at, and their tables
    /// are still there. Eight bytes can be read at the first limit, and [`LOOKUPS`] values written
    /// at the second one. The processor has what `write` needs, which writes 16 bytes.
    #[inline(always)]
    unsafe fn run(&mut self, limits: &Limits, write: unsafe fn(u64, *mut u8)) -> Stop {
        let mut it = *self;
        let stop = 'all: loop {
            if it.bits.at > limits.at || it.later > limits.later {
                break Stop::Limit;
            }
            // SAFETY: `at` is not beyond the limit, at which there are eight bytes.
            unsafe { it.bits.refill() };
            for _ in 0..LOOKUPS {
                let window = (it.bits.bits >> (64 - huffman::BITS)) as usize;
                // SAFETY: a table has an entry for each window.
                let entry = unsafe { *it.table.add(window) };
                if entry as u8 == 0 {
                    break 'all Stop::Single(entry);
                }
                let end = it.to.wrapping_add(entry as usize >> 16 & 127);
                // SAFETY: `to` lies in a block, and what is written ends within the next one.
                unsafe { it.write(entry, write) };
                if (end as usize ^ it.to as usize) >= BLOCK_BYTES {
                    break 'all Stop::Over(entry);
                }
                it.bits.take(entry as u32 & 255);
                // SAFETY: there is a place behind each, and one before `next`.
                unsafe { it.choose(entry, end) };
            }
        };
        *self = it;
        stop
    }

    /// Writes what an entry says, eight coefficients at once, and its bits for what it does not say.
    ///
    /// # Safety
    /// `to` lies in a block, behind which is another one; `entry` is of a table; there is room in
    /// `later`. The processor has what `write` needs, which writes 16 bytes.
    #[inline(always)]
    unsafe fn write(&mut self, entry: u64, write: unsafe fn(u64, *mut u8)) {
        let at = self.to.wrapping_add(entry as usize >> 8 & 254);
        // SAFETY: no entry passes over more than 15 coefficients first; `later` has room.
        unsafe {
            write(entry >> 24, at);
            self.later.write(Later { at, bits: self.bits.bits });
        }
        self.later = self.later.wrapping_add(usize::from(entry & LATER != 0));
    }

    /// Goes on in the block at `end`, or with the next block if `entry` ends this one.
    ///
    /// # Safety
    /// `next` and the place before it can be read.
    #[inline(always)]
    unsafe fn choose(&mut self, entry: u64, end: *mut u8) {
        // SAFETY: the place before `next` can be read, says the caller.
        let ac = unsafe { (*self.next.sub(1)).tables.wrapping_add(TO_AC) };
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: `next` can be read; a place is two addresses, read in place of `to` and `table`.
        unsafe {
            let (mut to, mut table, mut next) = (end, ac, self.next);
            // Compilers take two instructions to get at the bit.
            std::arch::asm!(
                "bt {entry}, {bit}",
                "cmovc {to}, qword ptr [{next}]",
                "cmovc {table}, qword ptr [{next} + 8]",
                "cmovc {next}, {after}",
                entry = in(reg) entry,
                bit = const END.trailing_zeros(),
                to = inout(reg) to,
                table = inout(reg) table,
                next = inout(reg) next,
                after = in(reg) self.next.wrapping_add(1),
                options(pure, readonly, nostack),
            );
            (self.to, self.table, self.next) = (to, table, next);
        }
        #[cfg(any(not(target_arch = "x86_64"), miri))]
        {
            use std::hint::select_unpredictable;
            let is_end = entry & END != 0;
            // SAFETY: `next` can be read, says the caller.
            let next = unsafe { self.next.read() };
            self.to = select_unpredictable(is_end, next.block, end);
            self.table = select_unpredictable(is_end, next.tables, ac);
            self.next = select_unpredictable(is_end, self.next.wrapping_add(1), self.next);
        }
    }

    /// The table for DC coefficients of the block's component, and the other one.
    ///
    /// # Safety
    /// The place before `next` is not that to stop at, and its codec is still there for `'a`.
    #[inline(always)]
    unsafe fn tables<'a>(&self) -> (&'a Table, &'a Table) {
        // SAFETY: the tables of all places but those to stop at are those of a codec.
        let codec = unsafe { &*(*self.next.sub(1)).tables.cast::<Codec>() };
        (&codec.dc, &codec.ac)
    }

    /// Reads the one symbol that comes next, of which the look-up gave `entry`.
    ///
    /// # Safety
    /// The state is one as for [`Self::run`], in a block that is not that to stop at; eight bytes
    /// can be read, and there is room in `later`.
    #[cold]
    #[inline(never)]
    unsafe fn single(&mut self, entry: u64) -> Result<(), Error> {
        // SAFETY: the caller has the eight bytes, and the block is not that to stop at.
        let (dc, ac) = unsafe {
            self.bits.refill();
            self.tables()
        };
        let is_first = self.to.addr().is_multiple_of(BLOCK_BYTES);
        let table = if is_first { dc } else { ac };
        let Some(symbol) = table.single(entry, self.bits.bits) else { return Err(NO_CODE) };
        let Symbol { run, size, .. } = symbol;
        let is_end = !is_first && size == 0 && run < 15;
        let left = BLOCK_BYTES - self.to.addr() % BLOCK_BYTES;
        if !is_end && 2 * run >= left {
            return Err(TOO_LONG);
        }
        // SAFETY: the value lies in the block, and there is room; places lie around `next`.
        unsafe {
            if !is_end {
                self.later_or_now(symbol);
            }
            self.bits.take(symbol.bits);
            let end = self.to.wrapping_add(if is_end { 0 } else { 2 * run + 2 });
            self.choose(if is_end || 2 * run + 2 == left { END } else { 0 }, end);
        }
        Ok(())
    }

    /// Writes the value of a symbol; leaves it to be looked at with those that are found later.
    ///
    /// # Safety
    /// The coefficient that is `symbol.run` behind `to` is of its block; there is room in `later`.
    unsafe fn later_or_now(&mut self, symbol: Symbol) {
        let at = self.to.wrapping_add(2 * symbol.run);
        if symbol.size == 0 {
            // SAFETY: the coefficient is one of the block, and aligned.
            return unsafe { at.cast::<i16>().write(symbol.value) };
        }
        let len = symbol.bits - symbol.size;
        // SAFETY: the coefficient is one of the block, and aligned; `later` has room.
        unsafe {
            at.cast::<i16>().write(symbol.size as i16);
            self.later.write(Later { at, bits: self.bits.bits << len });
        }
        self.later = self.later.wrapping_add(1);
    }

    /// Reads the symbols of `entry` up to the end of the block, which it reaches or runs over.
    ///
    /// # Safety
    /// As for [`Self::single`], for each symbol of `entry`, which is that of the look-up: it was
    /// written, and its bits were not taken.
    #[cold]
    #[inline(never)]
    unsafe fn over(&mut self, entry: u64) -> Result<(), Error> {
        let end = self.to.wrapping_add(entry as usize >> 16 & 127);
        let block_end = (self.to.addr() | (BLOCK_BYTES - 1)) + 1;
        // SAFETY: behind the block lies another one; `single` is called in this one, for no more
        // symbols than `entry` has.
        unsafe {
            if end.addr() == block_end && entry & END == 0 {
                self.bits.take(entry as u32 & 255);
                self.choose(END, end);
                return Ok(());
            }
            // What lies behind the block is of one that comes later, if of any that counts.
            end.with_addr(block_end).write_bytes(0, BLOCK_BYTES / 2);
            self.later = self.later.wrapping_sub(usize::from(entry & LATER != 0));
            let next = self.next;
            while self.next == next {
                self.single(1)?;
            }
        }
        Ok(())
    }
}

/// Writes eight coefficients, each of which a byte of `values` says.
///
/// # Safety
/// 16 bytes can be written at `to`.
#[inline(always)]
unsafe fn write_values(values: u64, to: *mut u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every such processor has SSE2; the caller has 16 bytes, which need not be aligned.
    unsafe {
        use std::arch::x86_64::*;
        let values = _mm_cvtsi64_si128(values as i64);
        let values = _mm_srai_epi16(_mm_unpacklo_epi8(values, values), 8);
        _mm_storeu_si128(to.cast(), values);
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the caller has 16 bytes, which need not be aligned.
    unsafe {
        let values = values.to_le_bytes().map(|it| i16::from(it as i8));
        to.cast::<[i16; 8]>().write_unaligned(values);
    }
}

/// The same in one instruction.
///
/// # Safety
/// The processor has AVX2, and 16 bytes can be written at `to`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn write_values_avx2(values: u64, to: *mut u8) {
    use std::arch::x86_64::*;
    // SAFETY: the caller has AVX2, and 16 bytes, which need not be aligned.
    unsafe {
        _mm_storeu_si128(to.cast(), _mm_cvtepi8_epi16(_mm_cvtsi64_si128(values as i64)));
    }
}
