//! Reads progressive pictures: all scans side by side, a row of MCUs at a time.
//!
//! The scans of such a file each bring some bits of the coefficients of all blocks. Since a block
//! depends on no other one, and where each scan begins is known beforehand, a row of MCUs is read
//! from one scan after another, and is pixels before the next one is read. So the coefficients
//! stay in the nearest cache, what is held grows with the width of a picture and the number of its
//! scans and not with its height, and for a part of it no scan is read further than needed.

mod first;
mod pass;
mod refine;
mod table;

use crate::Tier;
use crate::blocks::{Block, Blocks};
use crate::decoder::{Job, Sink};
use crate::entropy::DEQUANTISED_MAX;
use crate::error::Error;
use crate::header::Scans;
use crate::making::Making;
use crate::source::{Room, Source};
use crate::unstuff::Unstuff;
use pass::{Pass, Row};
use std::ops::Range;
use table::Table;

const NO_CODE: Error = Error::Irregular("a code stands where none can be");
const OUT_OF_RANGE: Error = Error::Irregular("a coefficient is out of range");
const TOO_LONG: Error = Error::Irregular("a block has more than 64 coefficients");

/// Reads what a scan of coefficients has of a row of blocks.
type ReadRow = unsafe fn(&mut Pass<'_>, Row<'_>) -> Result<(), Error>;
/// Reads what a scan of means has of some of these blocks.
type ReadMeans = unsafe fn(&mut Pass<'_>, &mut [Block], Range<usize>) -> Result<(), Error>;

/// The functions of one tier.
struct Readers {
    first: ReadRow,
    first_means: ReadMeans,
    refine: ReadRow,
    refine_means: ReadMeans,
}

/// Readers compiled for some instructions, or for none in particular.
macro_rules! readers {
    ($tier:ident, $masks:ty $(, $features:literal)?) => {
        mod $tier {
            use super::{Block, Error, Pass, Readers, Row, first, refine};
            use std::ops::Range;

            pub(super) static READERS: Readers =
                Readers { first, first_means, refine, refine_means };

            /// # Safety
            /// The processor has the instructions of the tier.
            $(#[target_feature(enable = $features)])?
            unsafe fn first(pass: &mut Pass<'_>, row: Row<'_>) -> Result<(), Error> {
                first::coefficients(pass, row)
            }

            /// # Safety
            /// The processor has the instructions of the tier.
            $(#[target_feature(enable = $features)])?
            unsafe fn first_means(
                pass: &mut Pass<'_>,
                blocks: &mut [Block],
                units: Range<usize>,
            ) -> Result<(), Error> {
                first::means(pass, blocks, units)
            }

            /// # Safety
            /// The processor has the instructions of the tier.
            $(#[target_feature(enable = $features)])?
            unsafe fn refine(pass: &mut Pass<'_>, row: Row<'_>) -> Result<(), Error> {
                // SAFETY: the caller says that the processor has the instructions.
                unsafe { refine::coefficients::<$masks>(pass, row) }
            }

            /// # Safety
            /// The processor has the instructions of the tier.
            $(#[target_feature(enable = $features)])?
            unsafe fn refine_means(
                pass: &mut Pass<'_>,
                blocks: &mut [Block],
                units: Range<usize>,
            ) -> Result<(), Error> {
                refine::means(pass, blocks, units)
            }
        }
    };
}

readers!(plain, refine::Plain);
#[cfg(target_arch = "x86_64")]
readers!(avx2, refine::Avx2, "avx2,bmi1,bmi2,popcnt");
#[cfg(target_arch = "x86_64")]
readers!(avx2_loops, refine::Avx2Loops, "avx2,bmi1,bmi2,popcnt");
#[cfg(target_arch = "x86_64")]
readers!(avx512, refine::Avx512, "avx512f,avx512bw,avx512vl,avx2,bmi1,bmi2,popcnt");

impl Readers {
    fn of(tier: Tier) -> &'static Self {
        match tier {
            #[cfg(target_arch = "x86_64")]
            Tier::Avx2 | Tier::Avx512 if !is_x86_feature_detected!("popcnt") => &plain::READERS,
            #[cfg(target_arch = "x86_64")]
            Tier::Avx512 if tier.is_available() => &avx512::READERS,
            #[cfg(target_arch = "x86_64")]
            Tier::Avx2 | Tier::Avx512 if Tier::Avx2.is_available() => match deposits_slowly() {
                true => &avx2_loops::READERS,
                false => &avx2::READERS,
            },
            _ => &plain::READERS,
        }
    }
}

/// Whether the instruction PDEP takes a step for each bit: on AMD's processors before Zen 3, which are those
/// that have SSE4a, as no others do, and not VAES.
#[cfg(target_arch = "x86_64")]
fn deposits_slowly() -> bool {
    is_x86_feature_detected!("sse4a") && !is_x86_feature_detected!("vaes")
}

/// What is needed to read progressive pictures, in room that is kept.
pub(crate) struct Progressive {
    readers: &'static Readers,
    unstuff: Unstuff,
    /// Of each scan, the code that is being read.
    rooms: Vec<Room>,
    tables: Vec<Table>,
    /// Of each block of a row, which coefficients are not zero, but for the first.
    masks: Vec<u64>,
}

impl Progressive {
    pub(crate) fn new(tier: Tier, unstuff: Unstuff) -> Self {
        let readers = Readers::of(tier);
        Self { readers, unstuff, rooms: Vec::new(), tables: Vec::new(), masks: Vec::new() }
    }

    /// Reads what is needed, and gives all rows.
    pub(crate) fn read_all(
        &mut self,
        scans: &Scans<'_>,
        making: &mut Making<'_>,
        blocks: &mut Blocks,
        sink: Sink<'_>,
    ) -> Result<(), Error> {
        let job = making.job;
        let n = blocks.make_room(&job.layout, job.layout.mcus.0);
        let (tables, n_rooms) = (build(scans, &mut self.tables)?, scans.heads.len());
        if self.rooms.len() < n_rooms {
            self.rooms.resize_with(n_rooms, Room::new);
        }
        self.masks.resize(n, 0);
        let mut passes = Vec::with_capacity(n_rooms);
        for ((head, tables), room) in scans.heads.iter().zip(tables).zip(&mut self.rooms) {
            let source = Source::new(job.bytes, room, self.unstuff, 1);
            passes.push(Pass::new(head, scans, (job, blocks), (source, tables))?);
        }
        // A file that does not end as it should is read to its end, to find out what it lacks.
        let may_stop = job.bytes.ends_with(&[0xFF, 0xD9]) && !job.is_read_whole;
        for row in 0..job.layout.mcus.1 {
            let is_wanted = job.rows.contains(&row);
            if is_wanted {
                making.clear(blocks);
            }
            self.masks.fill(0);
            let mut is_doubtful = false;
            for pass in &mut passes {
                let all = Row { blocks: blocks.all(), masks: &mut self.masks, is_wanted };
                pass.read(row, all, self.readers)?;
                is_doubtful |= std::mem::replace(&mut pass.is_doubtful, pass.is_always_doubtful);
            }
            if is_wanted {
                if is_doubtful {
                    check_range(job, blocks)?;
                }
                making.transform(row, blocks);
                making.give(row, sink);
            }
            if may_stop && row + 1 == job.rows.end && row + 1 < job.layout.mcus.1 {
                return Ok(());
            }
        }
        passes.iter_mut().try_for_each(Pass::finish)
    }
}

/// Whether all coefficients of a row can be multiplied.
#[cold]
fn check_range(job: &Job<'_>, blocks: &Blocks) -> Result<(), Error> {
    for (i, plane) in job.layout.planes()[..job.n_planes].iter().enumerate() {
        for v in 0..plane.v {
            let coefs = blocks.coefs(i, v, &job.held_blocks(plane));
            let mut pairs = coefs.iter().zip(job.quantisers[i].iter().cycle());
            let is_beyond = |(value, factor): (&i16, &u16)| {
                u32::from(value.unsigned_abs()) * u32::from(*factor) > DEQUANTISED_MAX
            };
            if pairs.any(is_beyond) {
                return Err(OUT_OF_RANGE);
            }
        }
    }
    Ok(())
}

static NO_TABLE: Table = Table::EMPTY;

/// Builds the tables of all scans; gives those of the components of each.
fn build<'a>(scans: &Scans<'_>, all: &'a mut Vec<Table>) -> Result<Vec<[&'a Table; 3]>, Error> {
    let mut n = 0;
    let mut of = Vec::with_capacity(scans.heads.len());
    for head in &scans.heads {
        let (first, mut which) = (n, [None; 3]);
        let mut built = Vec::new();
        for (codes, which) in head.codes().zip(&mut which) {
            // The codes of a scan often are the same for two components.
            let known = built.iter().position(|it| *it == codes);
            *which = Some(first + known.unwrap_or(built.len()));
            if known.is_none() {
                built.push(codes);
                if all.len() == n {
                    all.push(Table::EMPTY);
                }
                all[n].build(codes, pass::meaning(head, scans))?;
                n += 1;
            }
        }
        of.push(which);
    }
    let all = &*all;
    Ok(of.into_iter().map(|it| it.map(|it| it.map_or(&NO_TABLE, |it| &all[it]))).collect())
}
