//! Prediction from the pixels above and to the left (RFC 6386, section 12).

use crate::modes::{
    DC, HORIZONTAL, HORIZONTAL_DOWN, HORIZONTAL_UP, LEFT_DOWN, Mode, RIGHT_DOWN, TRUE_MOTION,
    VERTICAL, VERTICAL_LEFT, VERTICAL_RIGHT,
};

/// From one row of a [`Luma`] or [`Chroma`] to the next.
pub(crate) const STRIDE: usize = 32;
/// Columns to the left of the first pixel.
const BEFORE: usize = 8;
/// What is to the left of the picture, and above it.
pub(crate) const LEFT_OF_PICTURE: u8 = 129;
pub(crate) const ABOVE_PICTURE: u8 = 127;

/// The luma of a macroblock and the pixels around it: a row above, a column to the left, and four
/// pixels to the right of rows -1, 3, 7 and 11.
pub(crate) type Luma = [u8; 17 * STRIDE];
/// One plane of chroma of a macroblock, a row above it and a column to the left.
pub(crate) type Chroma = [u8; 9 * STRIDE];

/// Where pixel (0, 0) is.
pub(crate) const ORIGIN: usize = STRIDE + BEFORE;

/// What a macroblock has beside it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Beside {
    pub(crate) above: bool,
    pub(crate) left: bool,
}

/// Predicts `SIDE` by `SIDE` pixels: a macroblock's luma or one plane of its chroma.
#[inline(always)]
pub(crate) fn block<const SIDE: usize, const LEN: usize>(
    area: &mut [u8; LEN],
    mode: Mode,
    beside: Beside,
) {
    let above: [u8; SIDE] =
        area[BEFORE..BEFORE + SIDE].try_into().expect("the row above has as many");
    let (_, rows) = area.split_at_mut(STRIDE);
    let (rows, _) = rows.as_chunks_mut::<STRIDE>();
    match mode {
        VERTICAL => {
            for row in rows {
                row[BEFORE..BEFORE + SIDE].copy_from_slice(&above);
            }
        }
        HORIZONTAL => {
            for row in rows {
                let left = row[BEFORE - 1];
                row[BEFORE..BEFORE + SIDE].fill(left);
            }
        }
        TRUE_MOTION => {
            let corner = i16::from(area[BEFORE - 1]);
            let (rows, _) = area[STRIDE..].as_chunks_mut::<STRIDE>();
            for row in rows {
                let by = i16::from(row[BEFORE - 1]) - corner;
                for (to, above) in row[BEFORE..BEFORE + SIDE].iter_mut().zip(above) {
                    *to = (i16::from(above) + by).clamp(0, 255) as u8;
                }
            }
        }
        _ => {
            let log = SIDE.ilog2();
            let sum_above: u32 = above.iter().map(|&it| u32::from(it)).sum();
            let sum_left: u32 = rows.iter().map(|it| u32::from(it[BEFORE - 1])).sum();
            let half = SIDE as u32 / 2;
            let mean = match (beside.above, beside.left) {
                (true, true) => (sum_above + sum_left + SIDE as u32) >> (log + 1),
                (true, false) => (sum_above + half) >> log,
                (false, true) => (sum_left + half) >> log,
                (false, false) => 128,
            };
            for row in rows {
                row[BEFORE..BEFORE + SIDE].fill(mean as u8);
            }
        }
    }
}

/// A subblock's pixels, of the row above it and the column to its left: 4 rows of `STRIDE` bytes, and
/// one more pixel than 12 of the last.
const WINDOW: usize = 4 * STRIDE + 9;

/// Where subblock `n` of 16 has its first pixel.
#[inline(always)]
pub(crate) fn subblock_at(n: usize) -> usize {
    ORIGIN + n / 4 * 4 * STRIDE + n % 4 * 4
}

/// Predicts the subblock whose first pixel is at `at` (section 12.3): letters are those of the RFC's
/// drawing, A to H above, P in the corner, and I to L to the left.
#[inline(always)]
pub(crate) fn subblock(area: &mut Luma, at: usize, mode: Mode) {
    let start = at - STRIDE - 1;
    let window: &mut [u8; WINDOW] =
        (&mut area[start..start + WINDOW]).try_into().expect("that is its length");
    let above = u64::from_le_bytes(window[1..9].try_into().expect("eight bytes"));
    let corner = window[0];
    let left: [u8; 4] = std::array::from_fn(|y| window[(y + 1) * STRIDE]);
    let rows = match mode {
        DC => {
            let above = (above as u32).to_le_bytes();
            let sum: u32 = above.iter().chain(&left).map(|&it| u32::from(it)).sum();
            [(sum + 4) / 8 * 0x0101_0101; 4]
        }
        TRUE_MOTION => true_motion(above, left, corner),
        VERTICAL => {
            let row = mean_of_3(above << 8 | u64::from(corner), above, above >> 8);
            [row as u32; 4]
        }
        HORIZONTAL => {
            let [i, j, k, l] = left;
            let means = mean_of_3(pack([corner, i, j, k]), pack([i, j, k, l]), pack([j, k, l, l]));
            [0, 8, 16, 24].map(|shift| (means >> shift & 0xFF) as u32 * 0x0101_0101)
        }
        LEFT_DOWN => {
            let last = above & 0xFF << 56;
            let next = above >> 8 | last;
            let means = mean_of_3(above, next, next >> 8 | last);
            [0, 8, 16, 24].map(|shift| (means >> shift) as u32)
        }
        VERTICAL_LEFT => {
            let means = mean_of_3(above, above >> 8, above >> 16);
            let pairs = mean_of_2(above, above >> 8);
            let third = (pairs >> 8) as u32 & 0x00FF_FFFF | (means >> 8) as u32 & 0xFF00_0000;
            let last = (means >> 8) as u32 & 0x00FF_FFFF | (means >> 16) as u32 & 0xFF00_0000;
            [pairs as u32, means as u32, third, last]
        }
        HORIZONTAL_UP => {
            let [i, j, k, l] = left;
            let pairs = mean_of_2(pack([i, j, k, l]), pack([j, k, l, l]));
            let means = mean_of_3(pack([i, j, k, l]), pack([j, k, l, l]), pack([k, l, l, l]));
            let all = alternate(pairs as u32, means as u32);
            // The fourth pair is L and L, and so is what follows.
            let last = u32::from(l) * 0x0101_0101;
            let third = (all >> 32) as u32;
            [all as u32, (all >> 16) as u32, third, last]
        }
        _ => diagonal(above, left, corner, mode),
    };
    for (y, row) in rows.into_iter().enumerate() {
        let at = (y + 1) * STRIDE + 1;
        window[at..at + 4].copy_from_slice(&row.to_le_bytes());
    }
}

/// The modes that go down to the right; they read the edge from L up to the corner and on to D.
#[inline(always)]
fn diagonal(above: u64, left: [u8; 4], corner: u8, mode: Mode) -> [u32; 4] {
    let [i, j, k, l] = left;
    let edge = pack([l, k, j, i]) | u64::from(corner) << 32 | above << 40;
    let next = edge >> 8 | above << 32 & 0xFF << 56;
    let means = mean_of_3(edge, next, next >> 8);
    let pairs = mean_of_2(edge, next);
    match mode {
        RIGHT_DOWN => [24, 16, 8, 0].map(|shift| (means >> shift) as u32),
        VERTICAL_RIGHT => {
            let first = (pairs >> 32) as u32;
            let second = (means >> 24) as u32;
            let [third, last] = [16, 8].map(|shift| (means >> shift) as u32 & 0xFF);
            [first, second, first << 8 | third, second << 8 | last]
        }
        _ => {
            debug_assert_eq!(mode, HORIZONTAL_DOWN);
            let all = alternate(pairs as u32, means as u32);
            let first = (all >> 48) as u32 | (means >> 16) as u32 & 0xFFFF_0000;
            [first, (all >> 32) as u32, (all >> 16) as u32, all as u32]
        }
    }
}

#[inline(always)]
fn true_motion(above: u64, left: [u8; 4], corner: u8) -> [u32; 4] {
    let above = (above as u32).to_le_bytes();
    left.map(|left| {
        let by = i16::from(left) - i16::from(corner);
        u32::from_le_bytes(above.map(|it| (i16::from(it) + by).clamp(0, 255) as u8))
    })
}

#[inline(always)]
fn pack(bytes: [u8; 4]) -> u64 {
    u64::from(u32::from_le_bytes(bytes))
}

/// Byte by byte (a + b + 1) / 2.
#[inline(always)]
fn mean_of_2(a: u64, b: u64) -> u64 {
    (a | b) - ((a ^ b) >> 1 & 0x7F7F_7F7F_7F7F_7F7F)
}

/// Byte by byte (a + 2 b + c + 2) / 4: the rounded mean of b and of the mean of a and c.
#[inline(always)]
fn mean_of_3(a: u64, b: u64, c: u64) -> u64 {
    let outer = (a & c) + ((a ^ c) >> 1 & 0x7F7F_7F7F_7F7F_7F7F);
    mean_of_2(outer, b)
}

/// The bytes of `a` and `b` in turn.
#[inline(always)]
fn alternate(a: u32, b: u32) -> u64 {
    let spread = |it: u32| {
        let it = u64::from(it);
        let it = (it | it << 16) & 0x0000_FFFF_0000_FFFF;
        (it | it << 8) & 0x00FF_00FF_00FF_00FF
    };
    spread(a) | spread(b) << 8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 12.3 of the RFC, line by line.
    fn subblock_slow(a: &[u8; 8], left: [u8; 4], corner: u8, mode: Mode) -> [[u8; 4]; 4] {
        let [i, j, k, l] = left;
        let e = [l, k, j, i, corner, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]];
        let two = |x: u8, y: u8| (u16::from(x) + u16::from(y)).div_ceil(2) as u8;
        let three =
            |x: u8, y: u8, z: u8| ((u16::from(x) + 2 * u16::from(y) + u16::from(z) + 2) / 4) as u8;
        let at = |c: usize| three(e[c - 1], e[c], e[c + 1]);
        let pair = |c: usize| two(e[c], e[c + 1]);
        let above = |c: usize| three(a[c], a[c + 1], a[(c + 2).min(7)]);
        let mut b = [[0; 4]; 4];
        for (y, row) in b.iter_mut().enumerate() {
            for (x, to) in row.iter_mut().enumerate() {
                *to = match mode {
                    DC => {
                        let all = a[..4].iter().chain(&left).map(|&it| u16::from(it));
                        ((all.sum::<u16>() + 4) / 8) as u8
                    }
                    TRUE_MOTION => (i32::from(left[y]) + i32::from(a[x]) - i32::from(corner))
                        .clamp(0, 255) as u8,
                    VERTICAL => at(5 + x),
                    HORIZONTAL => match y {
                        3 => three(k, l, l),
                        _ => at(3 - y),
                    },
                    LEFT_DOWN if x + y == 6 => three(a[6], a[7], a[7]),
                    LEFT_DOWN => above(x + y),
                    RIGHT_DOWN => at(4 + x - y),
                    VERTICAL_RIGHT => match (y, x) {
                        (3, 0) => at(2),
                        (2, 0) => at(3),
                        (0 | 2, _) => pair(4 + x - y / 2),
                        _ => at(4 + x + 1 - y.div_ceil(2)),
                    },
                    VERTICAL_LEFT => match (y, x) {
                        (2, 3) => above(4),
                        (3, 3) => above(5),
                        (0 | 2, _) => two(a[x + y / 2], a[x + y / 2 + 1]),
                        _ => above(x + y / 2),
                    },
                    HORIZONTAL_DOWN => match (y, x) {
                        (0, 2 | 3) => at(4 + x - 1),
                        (_, 0 | 2) => pair(3 - y + x / 2),
                        _ => at(4 - y + x / 2),
                    },
                    _ => match 2 * y + x {
                        0 => two(i, j),
                        1 => three(i, j, k),
                        2 => two(j, k),
                        3 => three(j, k, l),
                        4 => two(k, l),
                        5 => three(k, l, l),
                        _ => l,
                    },
                };
            }
        }
        b
    }

    #[test]
    fn subblocks_are_those_of_the_rfc() {
        let mut state = 7_u32;
        let mut draw = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        for round in 0..if cfg!(miri) { 16 } else { 400 } {
            let mut area = [0; 17 * STRIDE];
            area.iter_mut().for_each(|it| *it = draw());
            for mode in DC..=HORIZONTAL_UP {
                let at = subblock_at(round % 16);
                let above = std::array::from_fn(|x| area[at - STRIDE + x]);
                let left = std::array::from_fn(|y| area[at + y * STRIDE - 1]);
                let corner = area[at - STRIDE - 1];
                let expected = subblock_slow(&above, left, corner, mode);
                subblock(&mut area, at, mode);
                let found: [[u8; 4]; 4] =
                    std::array::from_fn(|y| std::array::from_fn(|x| area[at + y * STRIDE + x]));
                assert_eq!(found, expected, "mode {mode}");
            }
        }
    }
}
