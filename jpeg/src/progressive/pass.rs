//! One scan that is being read.

use super::Readers;
use super::table::{Meaning, Table};
use crate::bits::Bits;
use crate::blocks::{Block, Blocks};
use crate::decoder::Job;
use crate::entropy::DEQUANTISED_MAX;
use crate::error::{Error, irregular};
use crate::header::{BLOCKS_MAX, Head, Scans};
use crate::restarts::{Restarts, marker_at};
use crate::source::Source;

/// Blocks that are read; or all blocks of a row of MCUs.
pub(super) struct Row<'a> {
    pub(super) blocks: &'a mut [Block],
    pub(super) masks: &'a mut [u64],
    /// Whether anything is made of them: otherwise only the masks count.
    pub(super) is_wanted: bool,
}

/// Where the blocks of a scan's units lie: one of each.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Step {
    /// Which component of the scan's.
    pub(super) which: usize,
    /// That of the first unit among all blocks of a row of MCUs.
    pub(super) first: usize,
    /// From a unit's to the next one's.
    pub(super) stride: usize,
}

/// A scan that is being read.
pub(super) struct Pass<'a> {
    pub(super) head: &'a Head<'a>,
    pub(super) source: Source<'a>,
    /// Of each component of the scan, its table; where there are no codes, any.
    pub(super) tables: [&'a Table; 3],
    restarts: Restarts,
    bytes: &'a [u8],
    /// The last DC coefficient of each component of the scan.
    pub(super) last: [i32; 3],
    /// What a DC coefficient of each may be so far, either way, not to be looked at.
    pub(super) mean_limits: [i32; 3],
    /// Blocks of which nothing but bits comes before the next code.
    pub(super) ended: u32,
    pub(super) steps: [Step; BLOCKS_MAX],
    pub(super) n_steps: usize,
    /// Of a scan of one component: where the rows of its blocks begin in a row of MCUs.
    rows: Vec<usize>,
    /// Units of a row, and rows of them in the picture.
    units: (usize, usize),
    /// Whether a coefficient was read that may be out of range.
    pub(super) is_doubtful: bool,
    pub(super) is_always_doubtful: bool,
}

/// What the table of a scan means.
pub(super) fn meaning(head: &Head<'_>, scans: &Scans<'_>) -> Meaning {
    let shift = u32::from(head.shift);
    match () {
        () if head.is_dc() => Meaning::Differences,
        () if !head.is_first => Meaning::Bits(shift),
        () => {
            let limit = limit(head, scans).unwrap_or(i16::MAX as u16);
            Meaning::Values { shift, limit }
        }
    }
}

/// What a coefficient of a scan may be so far, to be in range whatever bits are still to come; none if
/// it may not be in any case.
fn limit(head: &Head<'_>, scans: &Scans<'_>) -> Option<u16> {
    let [component, ..] = head.components() else { return None };
    let factors = &scans.quantisers[*component];
    let band = usize::from(*head.band.start())..=usize::from(*head.band.end());
    let value_max = DEQUANTISED_MAX / u32::from(factors[band].iter().copied().max()?);
    let limit = (value_max + 1).checked_sub(1 << head.shift)?;
    (limit >= 1 << head.shift).then_some(limit.min(i16::MAX as u32) as u16)
}

impl<'a> Pass<'a> {
    /// Begins to read a scan, of which a row of MCUs is held.
    pub(super) fn new(
        head: &'a Head<'a>,
        scans: &Scans<'_>,
        (job, blocks): (&Job<'a>, &Blocks),
        (mut source, tables): (Source<'a>, [&'a Table; 3]),
    ) -> Result<Self, Error> {
        if !head.is_first {
            source = source.turned();
        }
        source.begin(head.code.start)?;
        let start = |component, v| blocks.row(component, v, &(0..0)).start;
        let (mut steps, mut n_steps) = ([Step::default(); BLOCKS_MAX], 0);
        let (mut rows, mut units) = (Vec::new(), job.layout.mcus);
        if let [component] = head.components() {
            let plane = &job.layout.planes()[*component];
            rows = (0..plane.v).map(|v| start(*component, v)).collect();
            units = job.blocks_of(*component);
        } else {
            for (which, &component) in head.components().iter().enumerate() {
                let plane = &job.layout.planes()[component];
                for (v, x) in (0..plane.v).flat_map(|v| (0..plane.h).map(move |x| (v, x))) {
                    steps[n_steps] =
                        Step { which, first: start(component, v) + x, stride: plane.h };
                    n_steps += 1;
                }
            }
        }
        let mut mean_limits = [0; 3];
        for (to, &component) in mean_limits.iter_mut().zip(head.components()) {
            let value_max = DEQUANTISED_MAX / u32::from(scans.quantisers[component][0]);
            *to = value_max as i32 + 1 - (1 << head.shift);
        }
        let is_always_doubtful = !head.is_dc() && limit(head, scans).is_none();
        Ok(Self {
            head,
            source,
            tables,
            restarts: Restarts::new(head.restart_interval),
            bytes: job.bytes,
            last: [0; 3],
            mean_limits,
            ended: 0,
            steps,
            n_steps,
            rows,
            units,
            is_doubtful: is_always_doubtful,
            is_always_doubtful,
        })
    }

    /// Reads what the scan says of a row of MCUs.
    pub(super) fn read(&mut self, row: usize, to: Row<'_>, readers: &Readers) -> Result<(), Error> {
        if self.rows.is_empty() {
            self.read_units(0, to, readers)?;
        } else {
            let v = self.rows.len();
            for i in 0..v.min(self.units.1.saturating_sub(v * row)) {
                let to = Row { blocks: to.blocks, masks: to.masks, ..to };
                self.read_units(self.rows[i], to, readers)?;
            }
        }
        self.source.check_end()
    }

    /// Reads a row of units; of one component, its blocks begin at `first`.
    fn read_units(&mut self, first: usize, to: Row<'_>, readers: &Readers) -> Result<(), Error> {
        let Row { blocks, masks, is_wanted } = to;
        let mut at = 0;
        while at < self.units.0 {
            if self.restarts.is_due() {
                self.restart()?;
            }
            let end = self.units.0.min(at.saturating_add(self.restarts.left()));
            if self.head.is_dc() {
                if let [_] = self.head.components() {
                    (self.steps[0], self.n_steps) = (Step { which: 0, first, stride: 1 }, 1);
                }
                let read =
                    if self.head.is_first { readers.first_means } else { readers.refine_means };
                // SAFETY: the readers are of a tier that the processor has.
                unsafe { read(self, blocks, at..end)? };
            } else {
                let read = if self.head.is_first { readers.first } else { readers.refine };
                let span = first + at..first + end;
                let row =
                    Row { blocks: &mut blocks[span.clone()], masks: &mut masks[span], is_wanted };
                // SAFETY: the readers are of a tier that the processor has.
                unsafe { read(self, row)? };
            }
            self.restarts.count(end - at);
            at = end;
        }
        Ok(())
    }

    /// Reads the restart marker that is due, and no other.
    fn restart(&mut self) -> Result<(), Error> {
        let at = self.source.finish()?;
        match marker_at(self.bytes, at) {
            Some((marker, behind)) if marker == self.restarts.next_marker() && self.ended == 0 => {
                self.last = [0; 3];
                self.source.begin(behind)
            }
            _ => irregular("a restart marker is missing"),
        }
    }

    /// Nothing may be left of the scan.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        match self.source.finish()? == self.head.code.end && self.ended == 0 {
            true => Ok(()),
            false => irregular("there is more code than blocks"),
        }
    }

    /// The bits that come next.
    #[inline(always)]
    pub(super) fn bits(&self) -> Bits {
        Bits::from(self.source.cursor, self.source.room().as_ptr())
    }

    /// Keeps what comes next for the next time.
    #[inline(always)]
    pub(super) fn keep(&mut self, bits: Bits) {
        self.source.cursor = bits.cursor(self.source.room().as_ptr());
    }

    /// How far a block may be read from.
    #[inline(always)]
    pub(super) fn limit(&self) -> *const u8 {
        self.source.room().as_ptr().wrapping_add(self.source.safe_for_block())
    }

    /// More code, and how far it may be read from.
    #[cold]
    #[inline(never)]
    pub(super) fn more(&mut self, bits: Bits) -> Result<(Bits, *const u8), Error> {
        self.keep(bits);
        self.source.more()?;
        Ok((self.bits(), self.limit()))
    }
}
