//! Gaussian blur: columns, then rows, in `f32`, mirrored at the border.

use super::{Picture, border::Border, tiers, wide::Level};

/// What a call needs beside its arguments; kept for the next one.
#[derive(Debug, Default)]
pub(crate) struct Room {
    weights: Vec<f32>,
    /// A row, and what lies beyond its ends.
    line: Vec<f32>,
    /// The picture after the first pass.
    rows: Vec<f32>,
    sums: Vec<f32>,
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
    room.rows.resize(len * image.height, 0.0);
    room.line.resize(len + 2 * reach * image.channels, 0.0);
    for (row, to) in image.rows().zip(room.rows.chunks_exact_mut(len)) {
        widen(row, image.channels, reach, &mut room.line);
        to.fill(0.0);
        sum_columns(&room.line, image.channels, &room.weights, to);
    }

    room.sums.resize(len, 0.0);
    for (y, to) in out.chunks_exact_mut(len).enumerate() {
        room.sums.fill(0.0);
        sum_rows(
            (&room.rows, image.height),
            y as i64 - reach as i64,
            &room.weights,
            &mut room.sums,
        );
        to.iter_mut().zip(&room.sums).for_each(|(to, sum)| *to = T::nearest(f64::from(*sum)));
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
    middle.iter_mut().zip(row).for_each(|(to, it)| *to = it.value() as f32);
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
    /// Adds the rows from `first` on, one for each weight; of the rows there are so many.
    fn sum_rows(rows: (&[f32], usize), first: i64, weights: &[f32], sums: &mut [f32]) = sum_rows_body
}

#[inline(always)]
fn sum_rows_body((rows, height): (&[f32], usize), first: i64, weights: &[f32], sums: &mut [f32]) {
    let len = sums.len();
    let row = |i: usize| {
        let y = Border::Reflect.at(first + i as i64, height).expect("it has no end");
        &rows[y * len..]
    };
    add(weights, sums, row);
}

/// Adds weighed rows, in order, four at a time.
#[inline(always)]
fn add<'a>(weights: &[f32], sums: &mut [f32], row: impl Fn(usize) -> &'a [f32]) {
    let len = sums.len();
    let (fours, rest) = weights.as_chunks::<4>();
    for (i, weights) in fours.iter().enumerate() {
        let [a, b, c, d] = [0, 1, 2, 3].map(|it| &row(4 * i + it)[..len]);
        for (x, sum) in sums.iter_mut().enumerate() {
            *sum = *sum
                + a[x] * weights[0]
                + b[x] * weights[1]
                + c[x] * weights[2]
                + d[x] * weights[3];
        }
    }
    for (i, weight) in rest.iter().enumerate() {
        let row = row(4 * fours.len() + i);
        sums.iter_mut().zip(row).for_each(|(sum, it)| *sum += it * weight);
    }
}
