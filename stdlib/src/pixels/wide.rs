//! Resizing of deep pictures, and of 8-bit ones that must not be rounded in between.
//!
//! Sums are `f64`, in the order of the pixels, lines in between `f32`: as Pillow does it for
//! pictures of mode `F`.

use super::{Picture, taps::Taps};
use runtime::{Element, Working};

/// A level that can be weighed.
pub(crate) trait Level: Element + Default {
    /// Its value.
    fn value(self) -> f64;
    /// The level nearest to a value, of two equally near the even one.
    fn nearest(value: f64) -> Self;
}

/// Added to a number below 2⁵¹, it leaves no room for a fraction: the sum is rounded, and to the
/// even of two equally near numbers, by the addition itself. Unlike a call of `round_ties_even`
/// that is done to many numbers at once on any processor.
const NO_FRACTION: f64 = 1.5 * (1_u64 << 52) as f64;

/// The nearest integer, the even one of two.
#[inline(always)]
pub(crate) fn rounded(value: f64) -> f64 {
    (value + NO_FRACTION) - NO_FRACTION
}

impl Level for u8 {
    #[inline(always)]
    fn value(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn nearest(value: f64) -> Self {
        rounded(value) as Self
    }
}

impl Level for u16 {
    #[inline(always)]
    fn value(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn nearest(value: f64) -> Self {
        rounded(value) as Self
    }
}

impl Level for f32 {
    #[inline(always)]
    fn value(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn nearest(value: f64) -> Self {
        value as Self
    }
}

/// What a call needs beside its arguments; kept for the next one.
#[derive(Debug, Default)]
pub(crate) struct Room {
    rows: Vec<f32>,
    sums: Vec<f64>,
}

/// Writes `image`, resized, to `out`, which has room for it.
pub(crate) fn resample<T: Level>(
    image: &Picture<'_, T>,
    [rows, columns]: [&Taps; 2],
    room: &mut Room,
    out: &mut [T],
) {
    let len = columns.len() * image.channels;
    if len == 0 {
        return;
    }
    let _working = Working::ahead_of(len * image.height * size_of::<f32>());
    room.rows.resize(len * image.height, 0.0);
    for (row, to) in image.rows().zip(room.rows.chunks_exact_mut(len)) {
        narrow(row, image.channels, columns, to);
    }

    room.sums.resize(len, 0.0);
    for (y, to) in out.chunks_exact_mut(len).enumerate() {
        let (start, weights) = rows.window(y);
        room.sums.fill(0.0);
        for (weight, row) in weights.iter().zip(room.rows[start * len..].chunks_exact(len)) {
            room.sums.iter_mut().zip(row).for_each(|(sum, it)| *sum += f64::from(*it) * weight);
        }
        to.iter_mut().zip(&room.sums).for_each(|(to, sum)| *to = T::nearest(*sum));
    }
}

/// One row in its new width.
fn narrow<T: Level>(row: &[T], channels: usize, columns: &Taps, out: &mut [f32]) {
    for (x, to) in out.chunks_exact_mut(channels).enumerate() {
        let (start, weights) = columns.window(x);
        let pixels = &row[start * channels..];
        for (channel, to) in to.iter_mut().enumerate() {
            let levels = pixels[channel..].iter().step_by(channels);
            *to = weights.iter().zip(levels).map(|(weight, it)| it.value() * weight).sum::<f64>()
                as f32;
        }
    }
}
