//! The passes of [`super::eight`] where bytes can be picked freely (AVX-512 with VBMI, VNNI).
//!
//! Columns: the levels under a window are picked out of 64 bytes of the row with one `vpermb`
//! for 16 results and four weights. A weight of 23 bits is three digits of 8 bits, so that
//! `vpdpbusd` sums products without loss. Rows are narrowed as the next one below is needed, and
//! stay in the nearest cache. The sums are those of the plain code, so the levels are too.

use super::{
    Picture,
    eight::{Axes, BITS, Weights},
};
use std::arch::x86_64::*;

/// Bytes of a register.
const BYTES: usize = 64;
/// So many rows before it is narrowed, a row is asked for.
const ROWS_AHEAD: usize = 4;
/// Results that are summed up in a register.
const SUMS: usize = 16;
/// Results of the shorter way, of 16 bits each.
const WORDS: usize = 32;
/// Weights from here on have more than three digits.
const WEIGHT_MAX: u32 = 0x7F_8000;
/// One in each byte.
const ALL: u32 = 0x0101_0101;
/// The even bytes of a register: the lower half of each word.
const LOWER: u64 = 0x5555_5555_5555_5555;

/// A register's worth of bytes.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Lanes([u8; BYTES]);

impl Lanes {
    const ZERO: Self = Self([0; BYTES]);

    #[inline(always)]
    fn set(&mut self, at: usize, to: [u8; 4]) {
        self.0[4 * at..][..4].copy_from_slice(&to);
    }
}

/// Four weights each of 16 levels side by side, and where the bytes are that they weigh.
#[derive(Debug, Clone, Copy)]
struct Four {
    index: Lanes,
    digits: [Lanes; 3],
    at: usize,
}

/// Two weights each of 32 levels side by side, and where the bytes are between which they lie.
#[derive(Debug, Clone, Copy)]
struct Two {
    left: Lanes,
    right: Lanes,
    weights: Lanes,
    at: usize,
}

/// What a call needs beside its arguments; kept for the next one.
#[derive(Debug, Default)]
pub(crate) struct Room {
    fours: Vec<Four>,
    twos: Vec<Two>,
    /// Registers' worth of weights for each level: `fours` come so many in a row.
    depth: usize,
    /// Whether `twos` look at 128 bytes of the row.
    is_far: bool,
    /// The last narrowed rows.
    ring: Vec<u8>,
}

/// Whether the processor has what it takes.
pub(crate) fn is_here() -> bool {
    is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512vnni")
}

/// Writes `image`, resized, to `out`, where the processor and the factors allow it this way.
pub(crate) fn resample(
    image: &Picture<'_, u8>,
    axes: &Axes<'_>,
    room: &mut Room,
    out: &mut [u8],
) -> bool {
    let fits = |it: &Weights| it.weights.iter().all(|it| it.unsigned_abs() < WEIGHT_MAX);
    if !is_here() || !axes.rows.as_deref().is_none_or(fits) {
        return false;
    }
    if let Some(columns) = axes.columns
        && !(fits(columns) && room.plan(columns, image))
    {
        return false;
    }
    // SAFETY: the processor has what it takes.
    unsafe { resample_here(image, axes, room, out) };
    true
}

impl Room {
    /// Finds what the columns need; whether they can be done this way.
    fn plan(&mut self, columns: &Weights, image: &Picture<'_, u8>) -> bool {
        if image.row_len() < 2 * BYTES {
            return false;
        }
        if columns.pairs { self.plan_twos(columns, image) } else { self.plan_fours(columns, image) }
    }

    fn plan_fours(&mut self, columns: &Weights, image: &Picture<'_, u8>) -> bool {
        let most = columns.windows.iter().map(|it| it.1).max().unwrap_or(1);
        self.depth = most.div_ceil(4) as usize;
        let registers = (columns.windows.len() * image.channels).div_ceil(BYTES) * BYTES / SUMS;
        let none = Four { index: Lanes::ZERO, digits: [Lanes::ZERO; 3], at: 0 };
        self.fours.clear();
        self.fours.resize(registers * self.depth, none);
        (0..registers)
            .all(|register| (0..self.depth).all(|i| self.plan_four(columns, image, [register, i])))
    }

    /// Fills the `i`-th weights of a register.
    fn plan_four(
        &mut self,
        columns: &Weights,
        image: &Picture<'_, u8>,
        [register, i]: [usize; 2],
    ) -> bool {
        let (channels, first) = (image.channels, register * SUMS);
        let four = &mut self.fours[register * self.depth + i];
        let last = columns.windows.len() - 1;
        let at = (columns.windows[(first / channels).min(last)].0 as usize + 4 * i) * channels;
        four.at = at.min(image.row_len() - BYTES);
        let (mut pixel, mut channel) = (first / channels, first % channels);
        let mut lane = 0;
        while lane < SUMS && pixel <= last {
            let (start, window) = columns.window(pixel);
            let window = window.get(4 * i..).unwrap_or_default();
            let window = &window[..window.len().min(4)];
            let lanes = lane..(lane + channels - channel).min(SUMS);
            for (into, digits) in four.digits.iter_mut().zip(digits(window)) {
                lanes.clone().for_each(|lane| into.set(lane, digits));
            }
            if let Some(more) = window.len().checked_sub(1) {
                let place = ((start + 4 * i) * channels + channel).wrapping_sub(four.at);
                let end = place.wrapping_add(more * channels + lanes.len());
                if place >= BYTES || end > BYTES {
                    return false;
                }
                // The channels of a pixel lie side by side, and so are all numbers one higher.
                let steps = [0, 1, 2, 3].map(|it: usize| (it.min(more) * channels) as u8);
                let first = u32::from_le_bytes(steps) + ALL * place as u32;
                for (lane, channel) in lanes.clone().zip(0..) {
                    four.index.set(lane, (first + ALL * channel).to_le_bytes());
                }
            }
            lane = lanes.end;
            (pixel, channel) = (pixel + 1, 0);
        }
        true
    }

    fn plan_twos(&mut self, columns: &Weights, image: &Picture<'_, u8>) -> bool {
        let len = columns.windows.len() * image.channels;
        let registers = len.div_ceil(BYTES) * BYTES / WORDS;
        let none = Two { left: Lanes::ZERO, right: Lanes::ZERO, weights: Lanes::ZERO, at: 0 };
        self.twos.clear();
        self.twos.resize(registers, none);
        let place = |level: usize| {
            let level = level.min(len - 1);
            columns.windows[level / image.channels].0 as usize * image.channels
                + level % image.channels
        };
        let reach = |register: usize| {
            let first = register * WORDS;
            place(first + WORDS - 1) + image.channels + 1 - place(first)
        };
        let reach = (0..registers).map(reach).max().unwrap_or(0);
        // A pixel's first channel may lie left of what the first level of a register needs.
        let reach = reach + image.channels;
        self.is_far = reach > BYTES;
        let held = if self.is_far { 2 * BYTES } else { BYTES };
        if reach > held {
            return false;
        }
        for register in 0..registers {
            self.plan_two(columns, image, register, held);
        }
        true
    }

    fn plan_two(
        &mut self,
        columns: &Weights,
        image: &Picture<'_, u8>,
        register: usize,
        held: usize,
    ) {
        let (channels, first) = (image.channels, register * WORDS);
        let two = &mut self.twos[register];
        let last = columns.windows.len() - 1;
        let at = columns.windows[(first / channels).min(last)].0 as usize * channels;
        two.at = at.min(image.row_len() - held);
        let (mut pixel, mut channel) = (first / channels, first % channels);
        for lane in 0..WORDS {
            if pixel > last {
                return;
            }
            let (start, window) = columns.window(pixel);
            let left = start * channels + channel - two.at;
            two.left.0[2 * lane] = left as u8;
            two.right.0[2 * lane] = (left + channels) as u8;
            two.weights.0[2 * lane..][..2].copy_from_slice(&word(window[1]).to_le_bytes());
            channel += 1;
            if channel == channels {
                (pixel, channel) = (pixel + 1, 0);
            }
        }
    }
}

/// The digits of up to four weights, each from -128 to 127, the lowest first.
#[inline(always)]
fn digits(weights: &[i32]) -> [[u8; 4]; 3] {
    let mut digits = [[0; 4]; 3];
    for (i, weight) in weights.iter().enumerate() {
        let mut rest = *weight;
        for digits in &mut digits {
            digits[i] = rest as u8;
            rest = (rest - i32::from(rest as i8)) >> 8;
        }
    }
    digits
}

/// The weight of the second of two, as the shorter way has it.
#[inline(always)]
fn word(weight: i32) -> i16 {
    (weight >> (BITS - 15)).min(i32::from(i16::MAX)) as i16
}

/// Goes down the rows of `out`, and narrows those of `image` as they are needed.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vnni")]
fn resample_here(image: &Picture<'_, u8>, axes: &Axes<'_>, room: &mut Room, out: &mut [u8]) {
    let len = axes.columns.map_or(image.width, |it| it.windows.len()) * image.channels;
    if len == 0 {
        return;
    }
    let stride = len.next_multiple_of(BYTES);
    let most = axes.rows.as_deref().map_or(1, |it| it.most).next_multiple_of(4);
    let slots = most.next_power_of_two();
    let mut ring = std::mem::take(&mut room.ring);
    if ring.len() < slots * stride {
        ring.resize(slots * stride, 0);
    }
    let slot = |y: usize| (y & (slots - 1)) * stride;

    let mut done = 0;
    for (y, to) in out.chunks_exact_mut(len).enumerate() {
        let (start, window) = axes.rows.as_deref().map_or((y, &[][..]), |it| it.window(y));
        let end = start + window.len().max(1);
        for row in done.max(start)..end {
            image.ask_for(row + ROWS_AHEAD);
            let to = &mut ring[slot(row)..][..stride];
            match axes.columns {
                None => to[..len].copy_from_slice(image.row(row)),
                Some(columns) if columns.pairs => room.narrow_by_twos(image.row(row), to),
                Some(_) => room.narrow_by_fours(image.row(row), to),
            }
        }
        done = done.max(end);
        let rows = |i: usize| &ring[slot(start + i)..][..stride];
        match axes.rows.as_deref() {
            None => to.copy_from_slice(&rows(0)[..len]),
            Some(all) if all.pairs => between(rows(0), rows(1), word(window[1]), to),
            Some(_) if window.len() <= 4 => blend_four(rows, window, to),
            Some(_) => blend(rows, window, to),
        }
    }
    room.ring = ring;
}

impl Room {
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vnni")]
    fn narrow_by_fours(&self, row: &[u8], out: &mut [u8]) {
        let registers = self.fours.chunks_exact(BYTES / SUMS * self.depth);
        for (fours, to) in registers.zip(out.chunks_exact_mut(BYTES)) {
            let mut sums = [_mm512_setzero_si512(); 4];
            for (sum, fours) in sums.iter_mut().zip(fours.chunks_exact(self.depth)) {
                *sum = match fours {
                    [one] => weighed(row, [one]),
                    [one, two] => weighed(row, [one, two]),
                    all => weighed_long(row, all),
                };
            }
            // Packing leaves the sums of one register apart: every fourth word is the first's.
            let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
            put(to, _mm512_permutexvar_epi32(order, packed(sums)));
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vnni")]
    fn narrow_by_twos(&self, row: &[u8], out: &mut [u8]) {
        for (twos, to) in self.twos.as_chunks::<2>().0.iter().zip(out.chunks_exact_mut(BYTES)) {
            let mut levels = [_mm512_setzero_si512(); 2];
            for (levels, two) in levels.iter_mut().zip(twos) {
                *levels = self.between_columns(row, two);
            }
            let order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
            let bytes = _mm512_packus_epi16(levels[0], levels[1]);
            put(to, _mm512_permutexvar_epi64(order, bytes));
        }
    }
}

impl Room {
    /// 32 levels, as words, each between two of `row`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vnni")]
    fn between_columns(&self, row: &[u8], two: &Two) -> __m512i {
        let (left, right) = (all(&two.left), all(&two.right));
        let near = loaded(&row[two.at..]);
        if !self.is_far {
            let left = _mm512_maskz_permutexvar_epi8(LOWER, left, near);
            let right = _mm512_maskz_permutexvar_epi8(LOWER, right, near);
            return step(left, right, all(&two.weights));
        }
        let far = loaded(&row[two.at + BYTES..]);
        let left = _mm512_maskz_permutex2var_epi8(LOWER, near, left, far);
        let right = _mm512_maskz_permutex2var_epi8(LOWER, near, right, far);
        step(left, right, all(&two.weights))
    }
}

/// Half of the last bit that is kept, before its digits are shifted in.
const HALF: i32 = 1 << (BITS - 1 - 16);

/// 16 levels, as words, of as many weights as `fours` have.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vnni")]
fn weighed<const N: usize>(row: &[u8], fours: [&Four; N]) -> __m512i {
    let mut picked = [_mm512_setzero_si512(); N];
    for (picked, four) in picked.iter_mut().zip(fours) {
        *picked = _mm512_permutexvar_epi8(all(&four.index), loaded(&row[four.at..]));
    }
    let mut sum = _mm512_set1_epi32(HALF);
    for digit in [2, 1, 0] {
        if digit < 2 {
            sum = _mm512_slli_epi32::<8>(sum);
        }
        for (four, picked) in fours.iter().zip(&picked) {
            sum = _mm512_dpbusd_epi32(sum, *picked, all(&four.digits[digit]));
        }
    }
    _mm512_srai_epi32::<{ BITS }>(sum)
}

/// The same for any number of weights.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vnni")]
fn weighed_long(row: &[u8], fours: &[Four]) -> __m512i {
    let zero = _mm512_setzero_si512();
    let mut sums = [zero, zero, _mm512_set1_epi32(HALF)];
    for four in fours {
        let picked = _mm512_permutexvar_epi8(all(&four.index), loaded(&row[four.at..]));
        for (sum, digits) in sums.iter_mut().zip(&four.digits) {
            *sum = _mm512_dpbusd_epi32(*sum, picked, all(digits));
        }
    }
    level(sums)
}

/// The level that the sums of three digits stand for.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vnni")]
fn level(sums: [__m512i; 3]) -> __m512i {
    let upper = _mm512_add_epi32(_mm512_slli_epi32::<8>(sums[2]), sums[1]);
    let sum = _mm512_add_epi32(_mm512_slli_epi32::<8>(upper), sums[0]);
    _mm512_srai_epi32::<{ BITS }>(sum)
}

/// Blends up to four rows.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vnni")]
fn blend_four<'a>(rows: impl Fn(usize) -> &'a [u8], weights: &[i32], out: &mut [u8]) {
    let rows = [0, 1, 2, 3].map(|it: usize| rows(it.min(weights.len() - 1)));
    let digits = spread(weights);
    for (i, to) in out.chunks_mut(BYTES).enumerate() {
        let at = i * BYTES;
        let [a, b, c, d] = rows;
        let mut levels =
            woven([loaded(&a[at..]), loaded(&b[at..]), loaded(&c[at..]), loaded(&d[at..])]);
        for it in &mut levels {
            let sum = _mm512_dpbusd_epi32(_mm512_set1_epi32(HALF), *it, digits[2]);
            let sum = _mm512_dpbusd_epi32(_mm512_slli_epi32::<8>(sum), *it, digits[1]);
            let sum = _mm512_dpbusd_epi32(_mm512_slli_epi32::<8>(sum), *it, digits[0]);
            *it = _mm512_srai_epi32::<{ BITS }>(sum);
        }
        put(to, packed(levels));
    }
}

/// Blends any number of rows.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vnni")]
fn blend<'a>(rows: impl Fn(usize) -> &'a [u8], weights: &[i32], out: &mut [u8]) {
    for (i, to) in out.chunks_mut(BYTES).enumerate() {
        let zero = _mm512_setzero_si512();
        let mut sums = [[zero, zero, _mm512_set1_epi32(HALF)]; 4];
        for (j, weights) in weights.chunks(4).enumerate() {
            let row = |it: usize| &rows(4 * j + it.min(weights.len() - 1))[i * BYTES..];
            let picked = woven([loaded(row(0)), loaded(row(1)), loaded(row(2)), loaded(row(3))]);
            let digits = spread(weights);
            for (sums, picked) in sums.iter_mut().zip(&picked) {
                for (sum, digits) in sums.iter_mut().zip(&digits) {
                    *sum = _mm512_dpbusd_epi32(*sum, *picked, *digits);
                }
            }
        }
        let [a, b, c, d] = sums;
        put(to, packed([level(a), level(b), level(c), level(d)]));
    }
}

/// The digits of up to four weights, for each lane.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn spread(weights: &[i32]) -> [__m512i; 3] {
    let [a, b, c] = digits(weights).map(i32::from_le_bytes);
    [_mm512_set1_epi32(a), _mm512_set1_epi32(b), _mm512_set1_epi32(c)]
}

/// Goes from `upper` towards `lower`, as far as the weight of `lower` says.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vnni")]
fn between(upper: &[u8], lower: &[u8], weight: i16, out: &mut [u8]) {
    let (zero, weight) = (_mm512_setzero_si512(), _mm512_set1_epi16(weight));
    for (i, to) in out.chunks_mut(BYTES).enumerate() {
        let (a, b) = (loaded(&upper[i * BYTES..]), loaded(&lower[i * BYTES..]));
        let (a0, a1) = (_mm512_unpacklo_epi8(a, zero), _mm512_unpackhi_epi8(a, zero));
        let (b0, b1) = (_mm512_unpacklo_epi8(b, zero), _mm512_unpackhi_epi8(b, zero));
        put(to, _mm512_packus_epi16(step(a0, b0, weight), step(a1, b1, weight)));
    }
}

/// From `a` towards `b`, words: as `between` of the plain code has it.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vnni")]
fn step(a: __m512i, b: __m512i, weight: __m512i) -> __m512i {
    let step = _mm512_mulhi_epi16(_mm512_slli_epi16::<7>(_mm512_sub_epi16(b, a)), weight);
    let from = _mm512_add_epi16(_mm512_slli_epi16::<6>(a), _mm512_set1_epi16(32));
    _mm512_srai_epi16::<6>(_mm512_add_epi16(from, step))
}

/// The bytes of four rows, those of a column side by side; [`packed`] undoes the order.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vnni")]
fn woven([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    let (ab, cd) = (_mm512_unpacklo_epi8(a, b), _mm512_unpacklo_epi8(c, d));
    let (ef, gh) = (_mm512_unpackhi_epi8(a, b), _mm512_unpackhi_epi8(c, d));
    [
        _mm512_unpacklo_epi16(ab, cd),
        _mm512_unpackhi_epi16(ab, cd),
        _mm512_unpacklo_epi16(ef, gh),
        _mm512_unpackhi_epi16(ef, gh),
    ]
}

/// Four times 16 words, clipped to bytes; within each quarter of the registers.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vnni")]
fn packed([a, b, c, d]: [__m512i; 4]) -> __m512i {
    _mm512_packus_epi16(_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn loaded(from: &[u8]) -> __m512i {
    let from: &[u8; BYTES] = from.first_chunk().expect("there is a whole register's worth");
    // SAFETY: there are so many bytes, and any alignment will do.
    unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn all(lanes: &Lanes) -> __m512i {
    // SAFETY: there are so many bytes, aligned.
    unsafe { _mm512_load_si512(lanes.0.as_ptr().cast()) }
}

/// Writes as many bytes as `to` has, at most those of a register.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn put(to: &mut [u8], bytes: __m512i) {
    if let Some(to) = to.first_chunk_mut::<BYTES>() {
        // SAFETY: there is room for so many bytes, and any alignment will do.
        return unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), bytes) };
    }
    let mask = (1_u64 << to.len()) - 1;
    // SAFETY: bytes outside the mask are not written.
    unsafe { _mm512_mask_storeu_epi8(to.as_mut_ptr().cast(), mask, bytes) };
}
