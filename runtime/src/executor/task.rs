//! A task: one chunk's work of one node, done without the lock.

use super::{
    bug,
    cut::Piece,
    node::{Done, Item, Left, Parcel},
    operate::{Maker, Next, Opened, Step},
    supply::{Cursor, Drawn, Pass, Places, Supply},
};
use crate::{
    Chunk, Failure, cache,
    eval::{Compiled, Destination, Lost, Registers},
    foreign,
    memory::{self, Manner},
    os,
    tokens::{self, Watch},
};
use std::{
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

/// A task that a thread has taken.
pub(super) struct Job {
    pub(super) node: usize,
    /// The stage that the node is a part of.
    pub(super) stage: usize,
    pub(super) slot: Slot,
    pub(super) label: Arc<str>,
    /// Bytes of the chunk that it reads.
    pub(super) bytes_in: usize,
    pub(super) timing: Timing,
    /// What becomes of it where it would take more memory than the run may have.
    pub(super) manner: Manner,
    /// How often that has happened to it.
    pub(super) put_off: u32,
    pub(super) work: Work,
}

/// Where the outcome is waited for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Slot {
    /// The number in the node's ring.
    Ring(u64),
    /// By a serial node, if it is still in this epoch.
    Serial(u32),
}

/// What is to be done.
pub(super) enum Work {
    /// Asks a source how many records it has.
    Count(Arc<Supply>),
    /// Fetches records of a source.
    Fetch(Arc<Supply>, Places),
    /// Reads a source on: in an epoch, so many records.
    Draw(Arc<Supply>, Option<Box<Cursor>>, (u32, usize)),
    /// Computes a transform.
    Compute(Arc<Compiled>, Chunk),
    /// Computes a transform into the rows of a batch.
    Place(Arc<Compiled>, Piece),
    /// Does the parallel step of an operator, or reads what a source has found.
    Finish(Parcel),
    /// Makes an operator, or gives it the next chunk of an input or its end.
    Step(Arc<Maker>, Option<Box<Opened>>, Option<(usize, Next)>, u32),
}

/// What came of a task.
pub(super) struct Outcome {
    pub(super) node: usize,
    pub(super) slot: Slot,
    pub(super) bytes_in: usize,
    pub(super) times: Times,
    /// The most bytes that it had beyond those before it.
    pub(super) memory: usize,
    /// Whether it had been put off before.
    pub(super) was_put_off: bool,
    pub(super) result: Result<Product, Failure>,
}

/// What a task makes.
pub(super) enum Product {
    Done(Done),
    Counted(Pass),
    Drawn(Drawn, Box<Cursor>),
    Step(Step),
    /// Nothing: it is to be done again when nobody else is at work, since it would take more memory
    /// than the run may have.
    PutOff(Box<Job>),
}

/// What is measured of a task's time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timing {
    /// Whether its processor time is.
    pub(super) cpu: bool,
    /// Whether it is, with that, for how long it waits for a core.
    pub(super) delay: bool,
}

/// What was measured of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// By the wall clock, or as long as a virtual core needs.
    pub(super) busy: Duration,
    /// The same without what it waited for memory and, where that was measured, for a core.
    pub(super) worked: Duration,
    /// Processor time, where it was measured.
    pub(super) cpu: Option<Duration>,
    /// When it ended.
    pub(super) ended: Instant,
}

/// What the clocks say when a task begins.
struct Begun {
    cpu: Option<Duration>,
    delay: Option<Duration>,
    watch: Watch,
}

impl Timing {
    fn begin(self) -> Begun {
        let Self { cpu, delay } = self;
        foreign::take_elsewhere();
        memory::take_waited();
        let delay = if cpu && delay { os::thread_delay() } else { None };
        let cpu = if cpu { os::thread_cpu() } else { None };
        Begun { cpu, delay, watch: Watch::begin() }
    }
}

impl Begun {
    fn end(self) -> Times {
        let ended = Instant::now();
        let busy = self.watch.elapsed();
        let cpu = self.cpu.and_then(|from| os::thread_cpu()?.checked_sub(from));
        // Asking takes time too, which short tasks are not to be charged with.
        let cpu = cpu.map(|it| (it + foreign::take_elsewhere()).min(busy));
        let delay = self.delay.and_then(|from| os::thread_delay()?.checked_sub(from));
        let waited = memory::take_waited() + delay.unwrap_or_default();
        let worked = busy.saturating_sub(waited).max(cpu.unwrap_or_default());
        Times { busy, worked, cpu, ended }
    }
}

/// A thread's own memory, by stage: the lanes of one share it.
#[derive(Default)]
pub(super) struct Memory {
    registers: Vec<Option<Registers>>,
}

impl Job {
    /// Does it. A panic of a kernel is a failure, and a bug.
    pub(super) fn run(self, own: &mut Memory) -> Outcome {
        let (mut outcome, longer) = tokens::slowly(|| self.run_here(own));
        outcome.times.busy += longer;
        outcome.times.worked += longer;
        outcome
    }

    fn run_here(self, own: &mut Memory) -> Outcome {
        let Self { node, stage, slot, label, bytes_in, timing, manner, put_off, work } = self;
        let again = if manner == Manner::Waits { None } else { work.again() };
        let resumed = if manner == Manner::Alone { memory::resumed() } else { 0 };
        cache::begin_counting(again.is_some());
        let begun = timing.begin();
        let run = AssertUnwindSafe(|| work.run(own.of(stage), manner));
        let (result, memory) = memory::task(manner, || catch_unwind(run));
        let mut is_beyond = false;
        let result = result.unwrap_or_else(|panic| {
            // What it has left in the registers is not to be trusted.
            own.registers[stage] = None;
            is_beyond = memory::is_beyond(&*panic);
            Err(memory::failure_of(&*panic)
                .unwrap_or_else(|| bug(&format!("the step at {label}"), &*panic)))
        });
        let is_short = match manner {
            Manner::Again => is_beyond,
            // It was not alone where somebody got the memory that he waited for.
            Manner::Alone => {
                matches!(result, Err(Failure::Memory { .. })) && memory::resumed() != resumed
            }
            Manner::Waits => false,
        };
        let was_put_off = put_off > 0;
        let result = match again.filter(|_| is_short) {
            Some(work) => {
                cache::take_back_counts();
                let (label, put_off) = (label.clone(), put_off + 1);
                let job =
                    Self { node, stage, slot, label, bytes_in, timing, manner, put_off, work };
                Ok(Product::PutOff(Box::new(job)))
            }
            None => placed(result, &label),
        };
        let times = begun.end();
        Outcome { node, slot, bytes_in, times, memory, was_put_off, result }
    }
}

/// Says where a failure happened, where it does not say so itself.
pub(super) fn at(failure: Failure, stage: &str) -> Failure {
    match failure {
        Failure::Data { label, detail } if label.is_empty() => {
            Failure::Data { label: stage.to_string(), detail }
        }
        Failure::Memory { label, detail } if label.is_empty() => {
            Failure::Memory { label: stage.to_string(), detail }
        }
        Failure::Record { label, step, id, record, fault } if label.is_empty() => {
            Failure::Record { label: stage.to_string(), step, id, record, fault }
        }
        other => other,
    }
}

/// Says so of what a task has made, also of a failure behind the records that came before it.
fn placed(result: Result<Product, Failure>, stage: &str) -> Result<Product, Failure> {
    match result {
        Ok(Product::Done(done)) => {
            let failure = done.failure.map(|it| at(it, stage));
            Ok(Product::Done(Done { failure, ..done }))
        }
        Ok(product) => Ok(product),
        Err(failure) => Err(at(failure, stage)),
    }
}

impl Memory {
    fn of(&mut self, stage: usize) -> &mut Option<Registers> {
        if self.registers.len() <= stage {
            self.registers.resize_with(stage + 1, || None);
        }
        &mut self.registers[stage]
    }
}

impl Work {
    /// Whether a node has one such task at a time.
    pub(super) fn is_serial(&self) -> bool {
        matches!(self, Self::Count(_) | Self::Draw(..) | Self::Step(..))
    }

    /// The same once more, where it comes to the same.
    fn again(&self) -> Option<Self> {
        match self {
            Self::Fetch(supply, places) => Some(Self::Fetch(supply.clone(), places.clone())),
            Self::Compute(compiled, chunk) => Some(Self::Compute(compiled.clone(), chunk.clone())),
            Self::Place(compiled, piece) => Some(Self::Place(compiled.clone(), piece.clone())),
            Self::Finish(parcel) => Some(Self::Finish(parcel.clone())),
            Self::Count(_) | Self::Draw(..) | Self::Step(..) => None,
        }
    }

    /// What becomes of it where it would take more memory than the run may have.
    pub(super) fn manner(&self) -> Manner {
        match self {
            // Who stands outside may remember how often he was called.
            Self::Compute(compiled, _) | Self::Place(compiled, _) if compiled.calls_out() => {
                Manner::Waits
            }
            Self::Count(_) | Self::Draw(..) | Self::Step(..) => Manner::Waits,
            _ => Manner::Again,
        }
    }

    fn run(self, registers: &mut Option<Registers>, manner: Manner) -> Result<Product, Failure> {
        match self {
            Self::Count(supply) => supply.pass().map(Product::Counted),
            Self::Fetch(supply, places) => fetch(&supply, &places),
            Self::Draw(supply, cursor, of) => {
                let mut cursor = cursor.unwrap_or_default();
                let drawn = supply.draw(&mut cursor, of);
                Ok(Product::Drawn(drawn, cursor))
            }
            Self::Compute(compiled, chunk) => {
                let registers = registers.get_or_insert_with(|| compiled.registers());
                let computed = compute(&compiled, registers, (&chunk, None), manner)?;
                Ok(done(computed, Parcel::new))
            }
            Self::Place(compiled, piece) => {
                let registers = registers.get_or_insert_with(|| compiled.registers());
                let to = piece.destination();
                let computed = compute(&compiled, registers, (&piece.chunk, Some(&to)), manner)?;
                Ok(done(computed, |chunk| piece.into_parcel(chunk)))
            }
            Self::Finish(parcel) => match parcel.left {
                Some(Left::Finish(finish, number)) => {
                    let item = Item::Chunk(Parcel::new(finish(parcel.chunk, number)?));
                    Ok(Product::Done(Done { item, ..Done::default() }))
                }
                Some(Left::Found(found)) => {
                    let (chunk, failure) = found.read()?;
                    let item = Item::Chunk(Parcel::new(chunk));
                    Ok(Product::Done(Done { item, failure, ..Done::default() }))
                }
                None => Ok(Product::Done(Done { item: Item::Chunk(parcel), ..Done::default() })),
            },
            Self::Step(maker, opened, input, epoch) => {
                maker.step(opened, input, epoch).map(Product::Step)
            }
        }
    }
}

/// What a transform made of a chunk, and what stopped it.
struct Computed {
    chunk: Chunk,
    failure: Option<Failure>,
    entered: usize,
    lost: Vec<Lost>,
}

fn done(computed: Computed, parcel: impl FnOnce(Chunk) -> Parcel) -> Product {
    let Computed { chunk, failure, entered, lost } = computed;
    let item = Item::Chunk(parcel(chunk));
    Product::Done(Done { item, failure, entered: entered as u64, lost })
}

fn fetch(supply: &Supply, at: &Places) -> Result<Product, Failure> {
    let chunk = supply.fetch(at);
    let rows = (at.places.end - at.places.start) as usize;
    let some = |rows: Range<usize>| supply.fetch(&at.cut(rows));
    let (chunk, failure) = up_to_failure(chunk, rows, some)?;
    Ok(Product::Done(Done { item: Item::Chunk(Parcel::new(chunk)), failure, ..Done::default() }))
}

fn compute(
    compiled: &Compiled,
    registers: &mut Registers,
    (chunk, to): (&Chunk, Option<&Destination>),
    manner: Manner,
) -> Result<Computed, Failure> {
    let mut lost = Vec::new();
    let run = |registers: &mut Registers, rows: Range<usize>, lost: &mut Vec<Lost>| {
        lost.clear();
        let to = to.map(|it| Destination { row: it.row + rows.start, ..it.clone() });
        compiled.run(registers, &chunk.cut(rows), to.as_ref(), lost)
    };
    if manner == Manner::Again {
        // Where memory is short it is done once more, and not record by record.
        let whole = run(registers, 0..chunk.rows, &mut lost);
        let some = |rows: Range<usize>| run(registers, rows, &mut lost);
        let (computed, failure) = up_to_failure(whole, chunk.rows, some)?;
        return Ok(Computed { chunk: computed, failure, entered: chunk.rows, lost });
    }
    let mut run = |rows: Range<usize>| {
        let first = rows.start;
        let is_one = rows.len() == 1;
        let done = memory::or_failure(|| run(registers, rows, &mut lost));
        done.map_err(|it| match it {
            Failure::Memory { detail, label } => {
                // What it has left in the registers is not to be trusted.
                *registers = compiled.registers();
                let name = is_one.then(|| format!("{}: ", compiled.record_name(chunk, first)));
                Failure::Memory { label, detail: name.unwrap_or_default() + &detail }
            }
            other => other,
        })
    };
    let whole = run(0..chunk.rows);
    let some = run;
    let (computed, failure) = up_to_failure(whole, chunk.rows, some)?;
    Ok(Computed { chunk: computed, failure, entered: chunk.rows, lost })
}

/// What there is of a chunk before the first record that fails, and its failure.
///
/// So what comes before a failure does not depend on how the records were cut into chunks. The
/// records are tried one by one, only after a failure; should none fail then, the first failure
/// stands for the whole chunk.
fn up_to_failure(
    whole: Result<Chunk, Failure>,
    rows: usize,
    mut some: impl FnMut(Range<usize>) -> Result<Chunk, Failure>,
) -> Result<(Chunk, Option<Failure>), Failure> {
    let failure = match whole {
        Ok(chunk) => return Ok((chunk, None)),
        Err(failure) => failure,
    };
    for row in 0..rows {
        if let Err(failure) = some(row..row + 1) {
            return match row {
                0 => Err(failure),
                _ => Ok((some(0..row)?, Some(failure))),
            };
        }
    }
    Err(failure)
}
