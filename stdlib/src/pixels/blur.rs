//! Gaussian blur: columns, then rows, in `f32`, mirrored at the border.

use super::{Picture, border::Border, tiers};
use runtime::Element;

/// What a call needs beside its arguments; kept for the next one.
#[derive(Debug, Default)]
pub(crate) struct Room {
    weights: Vec<f32>,
    /// A row, and what lies beyond its ends.
    line: Vec<f32>,
    /// Rows after the first pass: as many as the kernel has, or all of a picture that has fewer.
    rows: Vec<f32>,
    sums: Vec<f32>,
}

/// A level that can be blurred.
pub(crate) trait Level: Element {
    /// Writes levels as numbers.
    fn soften(levels: &[Self], to: &mut [f32]);
    /// Writes the levels nearest to numbers, of two equally near the even one.
    fn harden(numbers: &[f32], to: &mut [Self]);
}

impl Level for f32 {
    fn soften(levels: &[Self], to: &mut [f32]) {
        to.copy_from_slice(levels);
    }
    fn harden(numbers: &[f32], to: &mut [Self]) {
        to.copy_from_slice(numbers);
    }
}

impl Level for u8 {
    fn soften(levels: &[Self], to: &mut [f32]) {
        soften(levels, to);
    }
    fn harden(numbers: &[f32], to: &mut [Self]) {
        harden(numbers, to);
    }
}

tiers! {
    fn soften(levels: &[u8], to: &mut [f32]) = soften_body
}

#[inline(always)]
fn soften_body(levels: &[u8], to: &mut [f32]) {
    to.iter_mut().zip(levels).for_each(|(to, it)| *to = f32::from(*it));
}

tiers! {
    fn harden(numbers: &[f32], to: &mut [u8]) = harden_body
}

/// Added to a number below 2²², it leaves no room for a fraction: the addition itself rounds.
const NO_FRACTION: f32 = 1.5 * (1_u32 << 23) as f32;

#[inline(always)]
fn harden_body(numbers: &[f32], to: &mut [u8]) {
    for (to, number) in to.iter_mut().zip(numbers) {
        let level = (number + NO_FRACTION) - NO_FRACTION;
        // SAFETY: weights are not negative and sum up to about 1, so it is about a level.
        *to = unsafe { level.to_int_unchecked::<i32>() }.clamp(0, 255) as u8;
    }
}

/// Writes `image`, blurred with a kernel of `size` pixels, which is odd, to `out`.
pub(crate) fn blur<T: Level>(
    image: &Picture<'_, T>,
    (size, sigma): (usize, f64),
    room: &mut Room,
    out: &mut [T],
) {
    let (len, reach) = (image.row_len(), size / 2);
    if out.is_empty() {
        return;
    }
    gaussian(size, sigma, &mut room.weights);
    // Rows that are mirrored at the border are among those that the kernel reaches too.
    let slots = size.min(image.height);
    room.rows.resize(len * slots, 0.0);
    room.line.resize(len + 2 * reach * image.channels, 0.0);
    room.sums.resize(len, 0.0);
    let mut next = 0;
    for (y, to) in out.chunks_exact_mut(len).enumerate() {
        while next < image.height && next <= y + reach {
            widen(image.row(next), image.channels, reach, &mut room.line);
            let to = &mut room.rows[next % slots * len..][..len];
            sum_columns(&room.line, image.channels, &room.weights, to);
            next += 1;
        }
        let first = y as i64 - reach as i64;
        let rows = (&room.rows[..], slots, image.height);
        sum_rows(rows, first, &room.weights, &mut room.sums);
        T::harden(&room.sums, to);
    }
}

/// The weights of a normal distribution at whole distances, which sum to 1.
fn gaussian(size: usize, sigma: f64, weights: &mut Vec<f32>) {
    let bell = |i: usize| {
        let far = (i as f64 - (size / 2) as f64) / sigma;
        libm::exp(-0.5 * far * far)
    };
    let sum: f64 = (0..size).map(bell).sum();
    weights.clear();
    weights.extend((0..size).map(|i| (bell(i) / sum) as f32));
}

/// A row with `reach` pixels more at both ends, mirrored.
fn widen<T: Level>(row: &[T], channels: usize, reach: usize, line: &mut [f32]) {
    let (width, edge) = (row.len() / channels, reach * channels);
    let (before, rest) = line.split_at_mut(edge);
    let (middle, after) = rest.split_at_mut(row.len());
    T::soften(row, middle);
    for (side, start) in [(before, -(reach as i64)), (after, width as i64)] {
        for (i, to) in side.chunks_exact_mut(channels).enumerate() {
            let from = Border::Reflect.at(start + i as i64, width).expect("it has no end");
            to.copy_from_slice(&middle[from * channels..][..channels]);
        }
    }
}

tiers! {
    /// Adds the pixels of a line, each of the next weight one further.
    fn sum_columns(line: &[f32], channels: usize, weights: &[f32], sums: &mut [f32]) = sum_columns_body
}

#[inline(always)]
fn sum_columns_body(line: &[f32], channels: usize, weights: &[f32], sums: &mut [f32]) {
    let row = |i: usize| &line[i * channels..];
    add(weights, sums, row);
}

tiers! {
    /// Adds the rows from `first` on, one for each weight; there are so many places for rows, and rows of the picture.
    fn sum_rows(rows: (&[f32], usize, usize), first: i64, weights: &[f32], sums: &mut [f32]) = sum_rows_body
}

#[inline(always)]
fn sum_rows_body(
    (rows, slots, height): (&[f32], usize, usize),
    first: i64,
    weights: &[f32],
    sums: &mut [f32],
) {
    let len = sums.len();
    let row = |i: usize| {
        let y = Border::Reflect.at(first + i as i64, height).expect("it has no end");
        &rows[y % slots * len..]
    };
    add(weights, sums, row);
}

/// Sums that are computed at a time: 12 registers of AVX2, so that none is written before it has all its parts.
const SUMS: usize = 96;

/// Adds weighed rows, in order.
#[inline(always)]
fn add<'a>(weights: &[f32], sums: &mut [f32], row: impl Fn(usize) -> &'a [f32]) {
    let (blocks, rest) = sums.as_chunks_mut::<SUMS>();
    let done = blocks.len() * SUMS;
    for (block, sums) in blocks.iter_mut().enumerate() {
        let mut made = [0.0; SUMS];
        for (i, weight) in weights.iter().enumerate() {
            let row: &[f32; SUMS] = row(i)[block * SUMS..].first_chunk().expect("rows go on");
            (0..SUMS).for_each(|x| made[x] += row[x] * weight);
        }
        *sums = made;
    }
    rest.fill(0.0);
    for (i, weight) in weights.iter().enumerate() {
        rest.iter_mut().zip(&row(i)[done..]).for_each(|(sum, it)| *sum += it * weight);
    }
}
