//! Where in the picture the pixels of a block are looked up.

use crate::pixels::{border::Border, wide::rounded};
use std::ops::Range;

/// Pixels of a block.
pub(super) const LEN: usize = 64;
/// Places are computed in groups of so many, so that no loop has a rest.
const GROUP: usize = 8;

/// Kinds of places: outside of the picture,
pub(super) const OUTSIDE: u8 = 0;
/// within it, but with neighbours that are not,
pub(super) const EDGE: u8 = 1;
/// and those all neighbours of which are there.
pub(super) const INNER: u8 = 2;

/// Where a pixel of the result is looked up.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Map<'a> {
    /// At `a x + b y + c` and `d x + e y + f`; `x` and `y` are those of the middle of the pixel.
    Affine([f64; 6]),
    /// The same, divided by `g x + h y + i`.
    Perspective([f64; 9]),
    /// At what a field says.
    Field(Field<'a>),
}

/// A place for each pixel of the result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field<'a> {
    /// Column and row of each; whole numbers are the middles of pixels.
    pub(crate) places: &'a [f32],
    /// Whether they count from the pixel's own place.
    pub(crate) relative: bool,
    /// Pixels of a row of the result.
    pub(crate) width: usize,
    /// What lies beyond the border of the picture.
    pub(crate) border: Border,
}

/// What is asked of the places of a block.
pub(super) struct Limits {
    /// From a place to the number of the pixel whose middle it is.
    pub(super) shift: f64,
    /// Columns and rows of places within the picture.
    pub(super) inside: [Range<f64>; 2],
    /// Neighbours before the pixel of a place.
    pub(super) before: i32,
    /// How many columns, and rows, have first neighbours that are followed by all others.
    pub(super) inner: [u32; 2],
    /// Where in memory the first pixel lies, and how far from it the next row and the next pixel.
    pub(super) first: i32,
    pub(super) stride: i32,
    pub(super) pixel: i32,
}

/// Places of pixels side by side, and what is known of them.
pub(super) struct Block {
    x: [f64; LEN],
    y: [f64; LEN],
    /// Column and row of the pixel whose middle is at or before a place,
    pub(super) columns: [i32; LEN],
    pub(super) rows: [i32; LEN],
    /// and how far the place is from there.
    pub(super) right: [f64; LEN],
    pub(super) down: [f64; LEN],
    /// Where in memory the first neighbour lies.
    pub(super) offsets: [i32; LEN],
    kinds: [u8; LEN],
}

impl Block {
    pub(super) fn new() -> Self {
        Self {
            x: [0.0; LEN],
            y: [0.0; LEN],
            columns: [0; LEN],
            rows: [0; LEN],
            right: [0.0; LEN],
            down: [0.0; LEN],
            offsets: [0; LEN],
            kinds: [OUTSIDE; LEN],
        }
    }

    /// Finds the places of `n` pixels of the result, from this column of this row on.
    #[inline(always)]
    pub(super) fn place(&mut self, map: &Map<'_>, (column, row): (usize, usize), n: usize) {
        let n = n.next_multiple_of(GROUP).min(LEN);
        let (xs, ys) = (&mut self.x[..n], &mut self.y[..n]);
        let (first, y) = (column as i32, row as f64 + 0.5);
        match map {
            Map::Affine([a, b, c, d, e, f]) => {
                let (down_x, down_y) = (b * y, e * y);
                for i in 0..n {
                    let x = f64::from(first + i as i32) + 0.5;
                    xs[i] = a * x + down_x + c;
                    ys[i] = d * x + down_y + f;
                }
            }
            Map::Perspective([a, b, c, d, e, f, g, h, scale]) => {
                let (down_x, down_y, down) = (b * y, e * y, h * y);
                for i in 0..n {
                    let x = f64::from(first + i as i32) + 0.5;
                    let far = g * x + down + scale;
                    xs[i] = (a * x + down_x + c) / far;
                    ys[i] = (d * x + down_y + f) / far;
                }
            }
            Map::Field(field) => {
                let start = (row * field.width + column) * 2;
                let (places, _) = field.places[start..].as_chunks::<2>();
                // The last group may have fewer places than the others.
                let n = n.min(field.width - column);
                for (i, [x, y]) in places[..n].iter().enumerate() {
                    (xs[i], ys[i]) = (f64::from(*x), f64::from(*y));
                }
                if field.relative {
                    for i in 0..n {
                        xs[i] += f64::from(first + i as i32);
                        ys[i] += row as f64;
                    }
                }
            }
        }
    }

    /// Moves all places to the nearest integers.
    #[inline(always)]
    pub(super) fn round(&mut self) {
        self.x.iter_mut().chain(&mut self.y).for_each(|it| *it = rounded(*it));
    }

    /// Finds out what kind of places `n` pixels have, and where their neighbours lie.
    #[inline(always)]
    pub(super) fn locate(&mut self, limits: &Limits, n: usize) {
        let n = n.next_multiple_of(GROUP).min(LEN);
        let (xs, ys) = (&self.x[..n], &self.y[..n]);
        let (columns, rows) = (&mut self.columns[..n], &mut self.rows[..n]);
        let (right, down) = (&mut self.right[..n], &mut self.down[..n]);
        let (offsets, kinds) = (&mut self.offsets[..n], &mut self.kinds[..n]);
        let [across, along] = &limits.inside;
        for i in 0..n {
            let (x, y) = (xs[i], ys[i]);
            // Not `Range::contains`: these are computed for several places at a time, without a jump. NaN is outside.
            let inside =
                (x >= across.start) & (x < across.end) & (y >= along.start) & (y < along.end);
            let (column, over) = floor(if inside { x - limits.shift } else { 0.0 });
            let (row, below) = floor(if inside { y - limits.shift } else { 0.0 });
            (columns[i], rows[i]) = (column, row);
            (right[i], down[i]) = (over, below);
            let first = [column.wrapping_sub(limits.before), row.wrapping_sub(limits.before)];
            let whole =
                ((first[0] as u32) < limits.inner[0]) & ((first[1] as u32) < limits.inner[1]);
            kinds[i] = u8::from(inside) + u8::from(inside & whole);
            offsets[i] = first[1]
                .wrapping_mul(limits.stride)
                .wrapping_add(first[0].wrapping_mul(limits.pixel))
                .wrapping_add(limits.first);
        }
    }

    /// The kind of place that pixel `from` has, and up to which one of `n` all others have the same.
    #[inline(always)]
    pub(super) fn run(&self, from: usize, n: usize) -> (u8, usize) {
        let kind = self.kinds[from];
        (kind, from + run_of(&self.kinds[from..n], kind))
    }

    /// Where the neighbours of these pixels lie, and how far from the first the places are.
    #[inline(always)]
    pub(super) fn at(&self, from: usize, to: usize) -> (&[i32], &[f64], &[f64]) {
        (&self.offsets[from..to], &self.right[from..to], &self.down[from..to])
    }

    /// The places of all pixels.
    #[inline(always)]
    pub(super) fn both(&self) -> (&[f64; LEN], &[f64; LEN]) {
        (&self.x, &self.y)
    }
}

/// How many of `kinds` are this one before another comes.
#[inline(always)]
pub(super) fn run_of(kinds: &[u8], kind: u8) -> usize {
    let (eights, _) = kinds.as_chunks::<8>();
    let same = eights.iter().take_while(|it| **it == [kind; 8]).count() * 8;
    same + kinds[same..].iter().take_while(|it| **it == kind).count()
}

/// The greatest integer not above a number that 32 bits hold, and what is above it.
#[inline(always)]
fn floor(value: f64) -> (i32, f64) {
    // SAFETY: places within a picture are far below 2³¹, and those outside of it have become 0.
    let cut: i32 = unsafe { value.to_int_unchecked() };
    let floor = cut - i32::from(value < f64::from(cut));
    (floor, value - f64::from(floor))
}
