//! Reads the MCU rows of a picture, and gives the rows of pixels that can be made of them.

use crate::blocks::Blocks;
use crate::decoder::{Channels, Job, Sink};
use crate::entropy::{self, Run, Scan};
use crate::error::{Error, irregular};
use crate::header::Colour;
use crate::index::{Entry, Index};
use crate::pixels::Kernels;
use crate::rows::{BlockRow, Rows};
use std::ops::Range;

/// MCUs of a row that may be read only to check an index.
const READ_TO_CHECK: usize = 8;

/// A picture that is being read.
pub(crate) struct Picture<'a> {
    pub(crate) job: &'a Job<'a>,
    pub(crate) run: Run,
    pub(crate) kernels: &'static Kernels,
    pub(crate) scan: Scan<'a>,
    pub(crate) blocks: &'a mut Blocks,
    pub(crate) planes: &'a mut [Rows; 3],
    pub(crate) restarts: Restarts,
    /// The row that is to be given next.
    pub(crate) y: usize,
    /// What is made of where the code is, if it is wanted.
    pub(crate) indexed: Option<Index>,
}

impl Picture<'_> {
    /// Reads what is needed, and gives all rows.
    pub(crate) fn read_all(&mut self, sink: Sink<'_>) -> Result<(), Error> {
        match self.job.index {
            Some(index) if self.indexed.is_none() => self.read_indexed(index, sink),
            _ => self.read_in_order(sink),
        }
    }

    fn read_in_order(&mut self, sink: Sink<'_>) -> Result<(), Error> {
        let job = self.job;
        self.scan.source.seek(job.parsed.scan_at, 0)?;
        // A file that does not end as it should is read to its end, to find out what it lacks.
        let may_stop = job.bytes.ends_with(&[0xFF, 0xD9]) && !job.is_read_whole;
        for row in 0..job.layout.mcus.1 {
            let is_wanted = job.rows.contains(&row);
            if is_wanted {
                self.clear();
            }
            self.read_row(0..job.layout.mcus.0)?;
            if is_wanted {
                self.transform(row);
                self.give(row, sink);
            }
            if may_stop && row + 1 == job.rows.end && row + 1 < job.layout.mcus.1 {
                return Ok(());
            }
        }
        if let Some(index) = &mut self.indexed {
            index.push(self.scan.source.position(), self.scan.last);
        }
        self.finish()
    }

    /// Reads the rows of MCUs that are needed, each from the entry before the first needed.
    fn read_indexed(&mut self, index: &Index, sink: Sink<'_>) -> Result<(), Error> {
        let job = self.job;
        for row in job.rows.clone() {
            let entry = index.before(row, job.columns.start);
            let at = entry.at.0 as usize;
            let first = job.columns.start / index.spacing() * index.spacing();
            let known = index.place_to_check(&(first..job.columns.end));
            // Where entries are far apart, one row stands for all.
            let is_far = row > job.rows.start && known > job.columns.end + READ_TO_CHECK;
            let known = if is_far { job.columns.end } else { known };
            let end = index.behind(row, job.columns.end.max(known)).at.0 as usize;
            self.scan.source.expect(end.saturating_sub(at));
            self.scan.source.seek(at, u32::from(entry.at.1))?;
            self.scan.last = entry.last.map(i32::from);
            self.restarts.begin_at(row * job.layout.mcus.0 + first);
            self.clear();
            self.read_row(first..known)?;
            let is_end = (known, row + 1) == job.layout.mcus;
            if !is_far {
                self.check_place(index.behind(row, known), is_end)?;
            }
            self.read_row(known..job.columns.end)?;
            self.transform(row);
            self.give(row, sink);
        }
        Ok(())
    }

    /// Whether the bits that come next, and what is known before them, are an entry's.
    fn check_place(&mut self, entry: Entry, is_end: bool) -> Result<(), Error> {
        if self.restarts.is_due() && !is_end {
            self.restart()?;
        }
        let (at, bits) = self.scan.source.position();
        let is_there = at == entry.at.0 as usize && bits == u32::from(entry.at.1);
        if is_there && self.scan.last == entry.last.map(i32::from) {
            Ok(())
        } else {
            irregular("its index leads to other places")
        }
    }

    /// Nothing may be left of the scan, and it must end with the file.
    fn finish(&mut self) -> Result<(), Error> {
        let marker = self.scan.source.finish()?;
        match marker_at(self.job.bytes, marker) {
            Some((0xD9, _)) => Ok(()),
            _ => irregular("its scan does not end with the file"),
        }
    }

    /// Reads `all` these MCUs of a row.
    fn read_row(&mut self, all: Range<usize>) -> Result<(), Error> {
        let held = self.job.held.start;
        let mut at = all.start;
        while at < all.end {
            if self.restarts.is_due() {
                self.restart()?;
            }
            let mut next = all.end.min(at.saturating_add(self.restarts.left()));
            if let Some(index) = &mut self.indexed {
                if at.is_multiple_of(index.spacing()) {
                    index.push(self.scan.source.position(), self.scan.last);
                }
                next = next.min((at / index.spacing() + 1) * index.spacing());
            }
            let mcus = at - held..next - held;
            // SAFETY: whoever made the two began the blocks with the tables of the scan.
            unsafe { entropy::read(&mut self.scan, self.blocks, mcus, self.run)? };
            self.restarts.count(next - at);
            at = next;
        }
        Ok(())
    }

    /// Reads the restart marker that is due, and no other.
    fn restart(&mut self) -> Result<(), Error> {
        let at = self.scan.source.finish()?;
        match marker_at(self.job.bytes, at) {
            Some((marker, behind)) if marker == self.restarts.next_marker() => {
                self.scan.last = [0; 3];
                self.scan.source.seek(behind, 0)
            }
            _ => irregular("a restart marker is missing"),
        }
    }

    /// Makes zeros of the blocks of a row that samples are made of.
    fn clear(&mut self) {
        for (i, plane) in self.job.layout.planes()[..self.job.n_planes].iter().enumerate() {
            let columns = self.job.held_blocks(plane);
            (0..plane.v).for_each(|v| self.blocks.clear(i, v, &columns));
        }
    }

    /// Makes samples of a row of MCUs, where they are needed.
    fn transform(&mut self, row: usize) {
        let job = self.job;
        let planes = job.layout.planes()[..job.n_planes].iter().zip(&mut *self.planes);
        for (i, (plane, rows)) in planes.enumerate() {
            let first = row * plane.v;
            rows.advance(plane, plane.side * first);
            let (columns, down) = job.layout.needed(plane, &job.region);
            for v in (0..plane.v).filter(|v| down.contains(&(first + v))) {
                let coefs = self.blocks.coefs(i, v, &job.held_blocks(plane));
                let factors = &job.quantisers[i];
                let row = BlockRow { row: v, columns: columns.clone(), coefs, factors };
                rows.put(&row, self.kernels);
            }
            rows.repeat_sides(plane);
        }
    }

    /// Gives the rows of the picture that can be made when a row of MCUs is there.
    fn give(&mut self, row: usize, sink: Sink<'_>) {
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

/// When restart markers are due.
pub(crate) struct Restarts {
    interval: usize,
    left: usize,
    next: u8,
}

impl Restarts {
    pub(crate) fn new(interval: usize) -> Self {
        Self { interval, left: interval, next: 0 }
    }

    /// Goes to before an MCU, behind the marker that may stand there.
    fn begin_at(&mut self, mcu: usize) {
        if let (Some(markers), Some(read)) =
            (mcu.checked_div(self.interval), mcu.checked_rem(self.interval))
        {
            (self.next, self.left) = ((markers & 7) as u8, self.interval - read);
        }
    }

    fn is_due(&self) -> bool {
        self.interval > 0 && self.left == 0
    }

    /// MCUs before the next.
    fn left(&self) -> usize {
        if self.interval == 0 { usize::MAX } else { self.left }
    }

    fn count(&mut self, mcus: usize) {
        self.left = self.left.saturating_sub(mcus);
    }

    /// The marker that is due; the interval begins again.
    fn next_marker(&mut self) -> u8 {
        let marker = 0xD0 + self.next;
        (self.next, self.left) = ((self.next + 1) & 7, self.interval);
        marker
    }
}

/// The marker at `at`, behind fill bytes, and what follows it.
fn marker_at(bytes: &[u8], at: usize) -> Option<(u8, usize)> {
    let fill = bytes.get(at..)?.iter().take_while(|&&it| it == 0xFF).count();
    let marker = *bytes.get(at + fill)?;
    (fill > 0).then_some((marker, at + fill + 1))
}
