//! The coefficients of a macroblock (RFC 6386, section 13).

use crate::bits::Bits;
use crate::header::{Factors, Nodes3, Positions};
use crate::tables::ZIGZAG;

/// Blocks of a macroblock: 16 of luma, 4 of each chroma.
pub(crate) const BLOCKS: usize = 24;

/// Which blocks beside a macroblock have coefficients: of its edge 4 of luma, 2 of each chroma, and
/// the block of DC coefficients.
pub(crate) type Edge = [u8; 9];

/// What of a block is not 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Filled {
    #[default]
    Nothing,
    /// The first coefficient at most.
    First,
    /// The first three of the code at most.
    Few,
    /// More.
    More,
}

/// The coefficients of a macroblock, multiplied by their factors.
#[repr(align(64))]
pub(crate) struct Coefficients {
    pub(crate) values: [[i16; 16]; BLOCKS],
    pub(crate) filled: [Filled; BLOCKS],
}

impl Coefficients {
    pub(crate) fn new() -> Self {
        Self { values: [[0; 16]; BLOCKS], filled: [Filled::Nothing; BLOCKS] }
    }

    /// Whether some are so large that transforms could overflow 16 bits: no encoder makes these.
    #[inline(always)]
    pub(crate) fn are_wild(&self) -> bool {
        let values = self.values.as_flattened();
        let largest = values.iter().fold(0, |largest: u16, it| largest.max(it.unsigned_abs()));
        largest > WILD
    }
}

/// The most that a transform sums up is 14.8 times its largest coefficient; and 2040 makes black white.
const WILD: u16 = 2_200;

/// The kinds of blocks, as probabilities know them (section 13.3).
const LUMA_WITHOUT_DC: usize = 0;
const SECOND: usize = 1;
const CHROMA: usize = 2;
const LUMA: usize = 3;

/// Reads the coefficients of a macroblock into `to`, which holds zeros; whether there are any.
#[inline(always)]
pub(crate) fn read(
    bits: &mut Bits<'_>,
    probs: &[Positions; 4],
    factors: &Factors,
    has_subblocks: bool,
    (above, left): (&mut Edge, &mut Edge),
    to: &mut Coefficients,
) -> bool {
    let mut now = *bits;
    let (mut kind, mut first) = (LUMA, 0);
    if !has_subblocks {
        let mut dc = [0; 16];
        let neighbours = usize::from(above[8] + left[8]);
        let end = block(&mut now, &probs[SECOND], neighbours, 0, factors.second, &mut dc);
        (above[8], left[8]) = (u8::from(end > 0), u8::from(end > 0));
        if end > 1 {
            spread(&dc, &mut to.values);
        } else {
            let value = ((i32::from(dc[0]) + 3) >> 3) as i16;
            to.values[..16].iter_mut().for_each(|it| it[0] = value);
        }
        (kind, first) = (LUMA_WITHOUT_DC, 1);
    }

    let probs_luma = &probs[kind];
    let mut any = 0;
    for (y, left) in left[..4].iter_mut().enumerate() {
        for (x, above) in above[..4].iter_mut().enumerate() {
            let neighbours = usize::from(*above + *left);
            let values = &mut to.values[4 * y + x];
            let end = block(&mut now, probs_luma, neighbours, first, factors.luma, values);
            let has_some = u8::from(end > first);
            (*above, *left) = (has_some, has_some);
            let filled = filled(end, values[0]);
            to.filled[4 * y + x] = filled;
            any |= filled as u8;
        }
    }
    for plane in [4, 6] {
        for i in 0..4 {
            let (x, y) = (plane + i % 2, plane + i / 2);
            let neighbours = usize::from(above[x] + left[y]);
            let at = 16 + 2 * (plane - 4) + i;
            let values = &mut to.values[at];
            let end = block(&mut now, &probs[CHROMA], neighbours, 0, factors.chroma, values);
            (above[x], left[y]) = (u8::from(end > 0), u8::from(end > 0));
            let filled = filled(end, values[0]);
            to.filled[at] = filled;
            any |= filled as u8;
        }
    }
    *bits = now;
    any != 0
}

#[inline(always)]
fn filled(end: usize, first: i16) -> Filled {
    match end {
        4.. => Filled::More,
        2.. => Filled::Few,
        _ if first != 0 => Filled::First,
        _ => Filled::Nothing,
    }
}

/// Reads the coefficients of a block from the one at `at` on; gives where they end.
#[inline(always)]
fn block(
    bits: &mut Bits<'_>,
    probs: &Positions,
    neighbours: usize,
    mut at: usize,
    factors: [i32; 2],
    to: &mut [i16; 16],
) -> usize {
    let mut nodes: &Nodes3 = &probs[at];
    let mut p = &nodes[neighbours];
    let mut factor = factors[usize::from(at > 0)];
    loop {
        if !bits.bool(p[0]) {
            return at;
        }
        while !bits.bool(p[1]) {
            at += 1;
            if at == 16 {
                return 16;
            }
            p = &probs[at][0];
            factor = factors[1];
        }
        nodes = &probs[at + 1];
        let value = if bits.bool(p[2]) {
            let value = large(bits, p);
            p = &nodes[2];
            value
        } else {
            p = &nodes[1];
            1
        };
        to[usize::from(ZIGZAG[at]) & 15] = (bits.signed(value) * factor) as i16;
        at += 1;
        factor = factors[1];
        if at == 16 {
            return 16;
        }
    }
}

/// A value of 2 or more (section 13.2).
#[inline(always)]
fn large(bits: &mut Bits<'_>, p: &[u8; 11]) -> i32 {
    if !bits.bool(p[3]) {
        if !bits.bool(p[4]) {
            return 2;
        }
        return 3 + bits.bit(p[5]) as i32;
    }
    larger(bits, p)
}

#[inline(always)]
fn larger(bits: &mut Bits<'_>, p: &[u8; 11]) -> i32 {
    if !bits.bool(p[6]) {
        if !bits.bool(p[7]) {
            return 5 + bits.bit(159) as i32;
        }
        let upper = bits.bit(165) as i32;
        return 7 + 2 * upper + bits.bit(145) as i32;
    }
    let upper = bits.bool(p[8]);
    let category = 2 * usize::from(upper) + usize::from(bits.bool(p[9 + usize::from(upper)]));
    let mut extra = 0;
    for &prob in EXTRA[category] {
        extra = 2 * extra + bits.bit(prob) as i32;
    }
    3 + (8 << category) + extra
}

/// The probabilities of the bits that follow the categories 3 to 6.
const EXTRA: [&[u8]; 4] = [
    &[173, 148, 140],
    &[176, 155, 140, 135],
    &[180, 157, 141, 134, 130],
    &[254, 254, 243, 230, 196, 177, 153, 140, 133, 130, 129],
];

/// The inverse Walsh-Hadamard transform, to the DC coefficients of the blocks (section 14.3).
fn spread(dc: &[i16; 16], to: &mut [[i16; 16]; BLOCKS]) {
    let mut columns = [0; 16];
    for i in 0..4 {
        let [a, b, c, d] = [dc[i], dc[4 + i], dc[8 + i], dc[12 + i]].map(i32::from);
        let (outer, inner) = (a + d, b + c);
        let (outer_diff, inner_diff) = (a - d, b - c);
        columns[i] = outer + inner;
        columns[4 + i] = outer_diff + inner_diff;
        columns[8 + i] = outer - inner;
        columns[12 + i] = outer_diff - inner_diff;
    }
    let (rows, _) = columns.as_chunks::<4>();
    let (to, _) = to.as_chunks_mut::<4>();
    for (&[a, b, c, d], to) in rows.iter().zip(to) {
        let a = a + 3;
        let (outer, inner) = (a + d, b + c);
        let (outer_diff, inner_diff) = (a - d, b - c);
        let values =
            [outer + inner, outer_diff + inner_diff, outer - inner, outer_diff - inner_diff];
        for (to, value) in to.iter_mut().zip(values) {
            to[0] = (value >> 3) as i16;
        }
    }
}
