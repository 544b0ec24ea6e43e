//! Makes pixels of a row of MCUs whose coefficients are there.

use crate::blocks::Blocks;
use crate::decoder::{Channels, Job, Sink};
use crate::header::Colour;
use crate::pixels::Kernels;
use crate::rows::{BlockRow, Rows};

/// A picture whose pixels are being made.
pub(crate) struct Making<'a> {
    pub(crate) job: &'a Job<'a>,
    pub(crate) kernels: &'static Kernels,
    pub(crate) planes: &'a mut [Rows; 3],
    /// The row that is to be given next.
    pub(crate) y: usize,
}

impl Making<'_> {
    /// Makes zeros of the blocks of a row that samples are made of.
    pub(crate) fn clear(&self, blocks: &mut Blocks) {
        for (i, plane) in self.job.layout.planes()[..self.job.n_planes].iter().enumerate() {
            let columns = self.job.held_blocks(plane);
            (0..plane.v).for_each(|v| blocks.clear(i, v, &columns));
        }
    }

    /// Makes samples of a row of MCUs, where they are needed.
    pub(crate) fn transform(&mut self, row: usize, blocks: &Blocks) {
        let job = self.job;
        let planes = job.layout.planes()[..job.n_planes].iter().zip(&mut *self.planes);
        for (i, (plane, rows)) in planes.enumerate() {
            let first = row * plane.v;
            rows.advance(plane, plane.side * first);
            let (columns, down) = job.layout.needed(plane, &job.region);
            for v in (0..plane.v).filter(|v| down.contains(&(first + v))) {
                let coefs = blocks.coefs(i, v, &job.held_blocks(plane));
                let factors = &job.quantisers[i];
                let row = BlockRow { row: v, columns: columns.clone(), coefs, factors };
                rows.put(&row, self.kernels);
            }
            rows.repeat_sides(plane);
        }
    }

    /// Gives the rows of the picture that can be made when a row of MCUs is there.
    pub(crate) fn give(&mut self, row: usize, sink: Sink<'_>) {
        let job = self.job;
        let planes = &job.layout.planes()[..job.n_planes];
        let is_last = row + 1 == job.layout.mcus.1;
        // The last row depends on the first of the next MCUs.
        let waits = planes.iter().any(|it| it.filter.is_vertical()) && !is_last;
        let end = (row + 1) * job.layout.mcu.1 - usize::from(waits);
        let columns = job.region.columns();
        while self.y < end.min(job.region.rows().end) {
            for (rows, plane) in self.planes.iter_mut().zip(planes) {
                rows.make(plane, self.y, &columns, self.kernels);
            }
            sink(self.y - job.region.y, &mut |to| self.colour(to));
            self.y += 1;
        }
    }

    /// Makes pixels of the row that was made of each plane.
    fn colour(&self, to: &mut [u8]) {
        let width = self.job.region.width;
        let [a, b, c] = &*self.planes;
        let first = &a.made()[..width];
        match (self.job.channels, self.job.parsed.header.colour) {
            (Channels::Gray, _) => to.copy_from_slice(first),
            (Channels::Rgb, Colour::Grey) => self.kernels.gray_to_rgb(first, to),
            (Channels::Rgb, colour) => {
                let (b, c) = (&b.made()[..width], &c.made()[..width]);
                match colour {
                    Colour::Rgb => self.kernels.interleave(first, b, c, to),
                    _ => self.kernels.ycc_to_rgb(first, b, c, to),
                }
            }
        }
    }
}
