//! Reads the MCU rows of a picture, and gives the rows of pixels that can be made of them.

use crate::blocks::Blocks;
use crate::decoder::{Job, Sink};
use crate::entropy::{self, Run, Scan};
use crate::error::{Error, irregular};
use crate::index::{Entry, Index};
use crate::making::Making;
use crate::restarts::{Restarts, marker_at};
use std::ops::Range;

/// MCUs of a row that may be read only to check an index.
const READ_TO_CHECK: usize = 8;

/// A picture that is being read.
pub(crate) struct Picture<'a> {
    pub(crate) job: &'a Job<'a>,
    pub(crate) run: Run,
    pub(crate) making: Making<'a>,
    pub(crate) scan: Scan<'a>,
    pub(crate) blocks: &'a mut Blocks,
    pub(crate) restarts: Restarts,
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
                self.making.clear(self.blocks);
            }
            self.read_row(0..job.layout.mcus.0)?;
            if is_wanted {
                self.making.transform(row, self.blocks);
                self.making.give(row, sink);
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
            self.making.clear(self.blocks);
            self.read_row(first..known)?;
            let is_end = (known, row + 1) == job.layout.mcus;
            if !is_far {
                self.check_place(index.behind(row, known), is_end)?;
            }
            self.read_row(known..job.columns.end)?;
            self.making.transform(row, self.blocks);
            self.making.give(row, sink);
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
}
