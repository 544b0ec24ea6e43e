//! The samples of a plane, an MCU row at a time, and the rows of the picture made of them.

use crate::layout::{BLOCK, Filter, Plane};
use crate::pixels::{Coded, Kernels};
use std::ops::Range;

/// Samples before the first of a row, and behind the last, that may be read.
const PAD: usize = 64;

/// A row of blocks.
pub(crate) struct BlockRow<'a> {
    /// Which of an MCU row.
    pub(crate) row: usize,
    /// The columns of blocks that are needed.
    pub(crate) columns: Range<usize>,
    /// Of all that are held: their coefficients, and their factors.
    pub(crate) coefs: &'a [i16],
    pub(crate) factors: &'a [u16; 64],
}

/// The samples of a plane for one MCU row, and the last row before them.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    samples: Vec<u8>,
    stride: usize,
    /// Samples of a side of a block.
    side: usize,
    /// The columns of the plane that are held.
    columns: Range<usize>,
    /// The row of the plane that follows the first that is held.
    first: usize,
    /// One row of the picture.
    made: Vec<u8>,
    /// Where it begins, in `made`, or, where no filter is needed, in `samples`.
    at: usize,
    is_made: bool,
}

impl Rows {
    /// Makes room for `mcus` of each row.
    pub(crate) fn begin(&mut self, plane: &Plane, mcus: &Range<usize>) {
        self.side = plane.side;
        let mcu = plane.side * plane.h;
        self.columns = mcu * mcus.start..mcu * mcus.end;
        self.stride = (self.columns.len() + 2 * PAD).next_multiple_of(64);
        // Rows that are a page apart would take each other's place in the cache.
        self.stride += if self.stride.is_multiple_of(1024) { 64 } else { 0 };
        let len = self.stride * (self.side * plane.v + 1);
        if self.samples.len() < len {
            self.samples.resize(len, 0);
        }
        let len = self.columns.len() * plane.ratio.0 + 2 * PAD;
        if self.made.len() < len {
            self.made.resize(len, 0);
        }
    }

    /// Goes to the MCU row whose first row in the plane is `first`.
    pub(crate) fn advance(&mut self, plane: &Plane, first: usize) {
        let last = self.side * plane.v * self.stride;
        self.samples.copy_within(last..last + self.stride, 0);
        self.first = first;
    }

    /// Makes samples of the blocks of a row that are held.
    pub(crate) fn put(&mut self, blocks: &BlockRow<'_>, by: &Kernels) {
        let side = self.side;
        let held = self.columns.start / side..self.columns.end / side;
        let first = blocks.columns.start.max(held.start) - held.start;
        let end = blocks.columns.end.min(held.end) - held.start;
        let at = (side * blocks.row + 1) * self.stride + PAD + side * first;
        let len = (side - 1) * self.stride + side * (end - first);
        let coded = Coded { coefs: &blocks.coefs[64 * first..64 * end], factors: blocks.factors };
        let to = &mut self.samples[at..at + len];
        match BLOCK.ilog2() - side.ilog2() {
            0 => by.idct(&coded, to, self.stride),
            shift => by.idct_scaled(shift, &coded, to, self.stride),
        }
    }

    /// Repeats the samples at the sides of the plane, which filters read, in all rows but the first.
    pub(crate) fn repeat_sides(&mut self, plane: &Plane) {
        if !matches!(plane.filter, Filter::H2V1 | Filter::H2V2) {
            return;
        }
        let right = plane.width.checked_sub(self.columns.start + 1);
        let right = right.filter(|_| plane.width <= self.columns.end);
        for row in self.samples.chunks_exact_mut(self.stride).skip(1).take(self.side * plane.v) {
            if self.columns.start == 0 {
                row[PAD - 1] = row[PAD];
            }
            if let Some(right) = right {
                row[PAD + right + 1] = row[PAD + right];
            }
        }
    }

    /// Makes `columns` of row `y` of the picture; [`Self::made`] gives them.
    pub(crate) fn make(&mut self, plane: &Plane, y: usize, columns: &Range<usize>, by: &Kernels) {
        let (across, down) = plane.ratio;
        let near = self.row(y / down);
        self.is_made = plane.filter != Filter::None;
        if !self.is_made {
            self.at = near + PAD + columns.start - self.columns.start;
            return;
        }
        let far = if plane.filter.is_vertical() { self.row(far(y, plane.height)) } else { near };
        let first = columns.start / across;
        let n = columns.end.div_ceil(across) - first;
        self.at = columns.start - first * across;

        let start = PAD + first - self.columns.start;
        let Self { samples, made, .. } = self;
        let row = |at: usize, beside: usize| &samples[at + start - beside..][..n + 2 * beside];
        let to = &mut made[..n * across];
        match plane.filter {
            Filter::None => {}
            Filter::H2V1 => by.h2v1(row(near, 1), to),
            Filter::H2V2 => by.h2v2(row(near, 1), row(far, 1), to),
            Filter::H1V2 => by.h1v2(row(near, 0), row(far, 0), 1 + (y & 1) as u16, to),
            Filter::Repeat => {
                for (to, from) in to.chunks_exact_mut(across).zip(row(near, 0)) {
                    to.fill(*from);
                }
            }
        }
    }

    /// What was made last, from its first column on.
    pub(crate) fn made(&self) -> &[u8] {
        if self.is_made { &self.made[self.at..] } else { &self.samples[self.at..] }
    }

    /// Where row `y` of the plane begins.
    fn row(&self, y: usize) -> usize {
        (y + 1 - self.first) * self.stride
    }
}

/// The row that is second nearest to row `y` of a picture of twice as many rows.
fn far(y: usize, height: usize) -> usize {
    let (near, is_lower) = (y / 2, y % 2 == 1);
    if is_lower { (near + 1).min(height - 1) } else { near.saturating_sub(1) }
}
