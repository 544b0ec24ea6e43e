//! Sharpness of 8-bit pictures: the distance of each level from the mean of its neighbours, as Pillow has it.

use super::{Picture, colour::blended, tiers};

/// Writes `image` to `out`, with each level as far as `factor` says from a smooth picture: 0 is that picture, 1 is
/// `image` itself.
///
/// The smooth picture is that of Pillow's filter `SMOOTH`: a 3 x 3 kernel of ones with 5 in the middle, divided by
/// 13, rounded. Pixels at the border are as they were.
pub(crate) fn sharpen(image: &Picture<'_, u8>, factor: f64, out: &mut [u8]) {
    let (len, channels) = (image.row_len(), image.channels);
    if len == 0 {
        return;
    }
    for (y, to) in out.chunks_exact_mut(len).enumerate() {
        let here = image.row(y);
        if y == 0 || y + 1 == image.height || image.width < 3 {
            to.copy_from_slice(here);
            continue;
        }
        let rows = [image.row(y - 1), here, image.row(y + 1)];
        to[..channels].copy_from_slice(&here[..channels]);
        to[len - channels..].copy_from_slice(&here[len - channels..]);
        sharpen_row(rows, channels, factor as f32, &mut to[channels..len - channels]);
    }
}

tiers! {
    /// One row without its first and last pixel, between the rows above and below.
    fn sharpen_row(rows: [&[u8]; 3], channels: usize, factor: f32, out: &mut [u8]) = sharpen_row_body
}

/// Levels that are computed together.
const LEVELS: usize = 32;

#[inline(always)]
fn sharpen_row_body(rows: [&[u8]; 3], channels: usize, factor: f32, out: &mut [u8]) {
    let (blocks, _) = out.as_chunks_mut::<LEVELS>();
    for (i, to) in blocks.iter_mut().enumerate() {
        sharpen_block(rows, (i * LEVELS, channels), factor, to);
    }
    // The last levels are computed with some of those before them, which come out as they did.
    let done = blocks.len() * LEVELS;
    let len = out.len();
    if len >= LEVELS && done < len {
        let to = out[len - LEVELS..].first_chunk_mut().expect("there are so many");
        sharpen_block(rows, (len - LEVELS, channels), factor, to);
    } else {
        for (i, to) in out.iter_mut().enumerate().skip(done) {
            let sum = rows.map(|row| {
                u16::from(row[i]) + u16::from(row[i + channels]) + u16::from(row[i + 2 * channels])
            });
            let level = rows[1][i + channels];
            *to = blended(smooth(sum[0] + sum[1] + sum[2], level), level, factor);
        }
    }
}

/// The levels from place `at` of the row on; `at` counts from the second pixel.
#[inline(always)]
fn sharpen_block(
    rows: [&[u8]; 3],
    (at, channels): (usize, usize),
    factor: f32,
    out: &mut [u8; LEVELS],
) {
    let mut sums = [0_u16; LEVELS];
    for row in rows {
        for place in [0, channels, 2 * channels] {
            let levels: &[u8; LEVELS] = row[at + place..].first_chunk().expect("the row goes on");
            (0..LEVELS).for_each(|i| sums[i] += u16::from(levels[i]));
        }
    }
    let levels: &[u8; LEVELS] = rows[1][at + channels..].first_chunk().expect("the row goes on");
    for i in 0..LEVELS {
        out[i] = blended(smooth(sums[i], levels[i]), levels[i], factor);
    }
}

/// The level of the smooth picture, where the level and its eight neighbours have this sum.
///
/// A sum of thirteens never lies halfway between two whole numbers, so that the `f32` of Pillow comes to the same.
#[inline(always)]
fn smooth(sum: u16, level: u8) -> u8 {
    ((sum + 4 * u16::from(level) + 6) / 13) as u8
}
