//! Medians of the neighbourhoods of 8-bit levels.

use super::{Picture, border::Border, tiers};

/// The widest neighbourhood: the levels that reach a bound are counted in 8 bits.
pub(crate) const SIZE_MAX: usize = 15;

/// Writes the median of `size` x `size` pixels around each one, which is odd, to `out`. Beyond the border, pixels are the
/// last ones.
pub(crate) fn median(image: &Picture<'_, u8>, size: usize, room: &mut Vec<u8>, out: &mut [u8]) {
    let (len, reach, channels) = (image.row_len(), size / 2, image.channels);
    if out.is_empty() {
        return;
    }
    // The rows of a neighbourhood, with what lies beyond their ends, each in the place of the one that it follows.
    let wide = len + 2 * reach * channels;
    // Medians are found as many at a time, so that more is read than there is.
    room.resize(size * wide + LEVELS, 0);
    for i in 0..size - 1 {
        widen(image, i as i64 - reach as i64, reach, &mut room[i * wide..][..wide]);
    }
    for (y, to) in out.chunks_exact_mut(len).enumerate() {
        let last = (y + size - 1) % size;
        widen(image, (y + reach) as i64, reach, &mut room[last * wide..][..wide]);
        row(room, (size, channels), to);
    }
}

/// Copies row `y` with `reach` pixels more at both ends.
fn widen(image: &Picture<'_, u8>, y: i64, reach: usize, line: &mut [u8]) {
    let channels = image.channels;
    let row = image.row(Border::Edge.at(y, image.height).expect("it has no end"));
    let (before, rest) = line.split_at_mut(reach * channels);
    let (middle, after) = rest.split_at_mut(row.len());
    middle.copy_from_slice(row);
    before.chunks_exact_mut(channels).for_each(|it| it.copy_from_slice(&row[..channels]));
    let last = &row[row.len() - channels..];
    after.chunks_exact_mut(channels).for_each(|it| it.copy_from_slice(last));
}

tiers! {
    /// The medians of a row, whose neighbourhood is `size` lines, in any order.
    fn row(lines: &[u8], by: (usize, usize), out: &mut [u8]) = row_body
}

/// Medians that are found at a time.
const LEVELS: usize = 64;

#[inline(always)]
fn row_body(lines: &[u8], (size, channels): (usize, usize), out: &mut [u8]) {
    let wide = out.len() + (size - 1) * channels;
    for (i, to) in out.chunks_mut(LEVELS).enumerate() {
        let lines = &lines[i * LEVELS..];
        let medians = if size == 3 {
            nine(lines, (channels, wide))
        } else {
            block(lines, (size, channels, wide))
        };
        to.copy_from_slice(&medians[..to.len()]);
    }
}

/// The medians of the first levels, bit by bit from the highest: a bit is set where at least half of the levels reach
/// what it makes.
#[inline(always)]
fn block(lines: &[u8], (size, channels, wide): (usize, usize, usize)) -> [u8; LEVELS] {
    let half = (size * size).div_ceil(2) as u8;
    let mut medians = [0; LEVELS];
    for bit in [128, 64, 32, 16, 8, 4, 2, 1] {
        let mut counts = [0_u8; LEVELS];
        for y in 0..size {
            for x in 0..size {
                let levels: &[u8; LEVELS] =
                    lines[y * wide + x * channels..].first_chunk().expect("lines go on");
                for i in 0..LEVELS {
                    counts[i] += u8::from(levels[i] >= medians[i] | bit);
                }
            }
        }
        for i in 0..LEVELS {
            medians[i] |= if counts[i] >= half { bit } else { 0 };
        }
    }
    medians
}

/// The same of 3 x 3 levels, by comparisons: the median is the middle one of the greatest of the least of each line, the
/// middle of the middles and the least of the greatest.
#[inline(always)]
fn nine(lines: &[u8], (channels, wide): (usize, usize)) -> [u8; LEVELS] {
    let [mut low, mut middle, mut high] = [[0; LEVELS]; 3];
    let mut medians = [0; LEVELS];
    for y in 0..3 {
        let line = &lines[y * wide..];
        let (left, here, right) =
            (first(line), first(&line[channels..]), first(&line[2 * channels..]));
        for i in 0..LEVELS {
            let (least, between, most) = sorted(left[i], here[i], right[i]);
            if y == 0 {
                (low[i], middle[i], high[i], medians[i]) = (least, between, most, between);
                continue;
            }
            low[i] = low[i].max(least);
            high[i] = high[i].min(most);
            // Of the middles so far: the least, and the greatest.
            if y == 1 {
                (middle[i], medians[i]) = (middle[i].min(between), middle[i].max(between));
            } else {
                let (_, between, _) = sorted(middle[i], medians[i], between);
                medians[i] = sorted(low[i], between, high[i]).1;
            }
        }
    }
    medians
}

#[inline(always)]
fn first(line: &[u8]) -> &[u8; LEVELS] {
    line.first_chunk().expect("lines go on")
}

#[inline(always)]
fn sorted(a: u8, b: u8, c: u8) -> (u8, u8, u8) {
    let (a, b) = (a.min(b), a.max(b));
    let (b, c) = (b.min(c), b.max(c));
    (a.min(b), a.max(b), c)
}
