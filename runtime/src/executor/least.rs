//! The least memory that a run needs, as far as the types of a program tell, and what it is for.
//!
//! `State::has_memory` lets a task begin that does not fit only where no other is at work, and tasks
//! are taken from the end of the pipeline: so at the worst one task is at work, with what it reads
//! and makes, beside what operators put together and the consumer holds.

use super::{
    measured::Measured,
    node::{Kind, Node},
};
use crate::{Failure, memory};
use plan::{Arg, Code, Extent, Field, Index, Program, Stage, shown_bytes};

/// Bytes that threads, their stacks and the allocator take beyond what is counted, whatever runs.
/// Assumed, with room to spare: a few runs of development builds with two workers took less.
const BESIDE_BYTES: u64 = 4 << 20;
/// Times that what is put together is there: it is copied into a buffer that doubles as it grows, while
/// the one before is on its way.
const COPIES: u64 = 3;
/// Records that tell how large those are of which an operator holds many.
const TELLING: u64 = 8;

/// What a run needs at the least.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Least {
    /// By the process, before the run has begun and beside it; none where it is not bounded.
    pub(super) process: u64,
    /// By each worker, for values between those that it reads and those that it makes.
    pub(super) computing: u64,
    /// By records that are read, made, put together or with the consumer.
    pub(super) records: u64,
}

/// What the least memory of a program follows from, by stage.
pub(super) struct Needs {
    stages: Vec<Need>,
}

/// What is known of a stage before it runs.
struct Need {
    inputs: Vec<usize>,
    /// Bytes of a record, as far as types tell, and whether they tell all of it.
    row: u64,
    is_exact: bool,
    /// Bytes of the batches that it writes its records into, where it does.
    batch: Option<u64>,
    is_operator: bool,
    /// See [`crate::Operator::holds`].
    holds: u64,
    /// Bytes of the values between its columns, as far as types tell.
    registers: u64,
}

/// What a stage was seen to make, and to take.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    records: u64,
    /// Bytes of a record, the mean.
    row: u64,
    /// Bytes that a task took, what it made among them.
    task: u64,
    /// Bytes of the largest chunk.
    chunk: u64,
}

impl Seen {
    /// Adds what a node of the stage has done.
    pub(super) fn add(&mut self, measured: &Measured) {
        let row = measured.bytes.checked_div(measured.records).unwrap_or(0);
        self.records += measured.records;
        self.row = self.row.max(row);
        self.task = self.task.max(measured.task_bytes as u64);
        self.chunk = self.chunk.max(measured.chunk_bytes as u64);
    }
}

impl Needs {
    /// Those of a program, whose nodes are `nodes`.
    pub(super) fn of(program: &Program, nodes: &[Node]) -> Self {
        let need = |(id, stage): (usize, &Stage)| {
            let own = || nodes.iter().filter(|it| it.stage == id && it.lane.number == 0);
            let registers = own().map(|it| match &it.kind {
                Kind::Transform { compiled, .. } => compiled.register_bytes(),
                _ => 0,
            });
            let holds = own().map(|it| match &it.kind {
                Kind::Operator(it) => it.maker.holds,
                _ => 0,
            });
            Need {
                inputs: stage.inputs.iter().map(|it| it.row()).collect(),
                row: row_bytes(&stage.columns).saturating_add(unsized_bytes(stage)),
                is_exact: stage.columns.iter().all(|it| it.ty.fixed_bytes().is_some()),
                batch: batch_bytes(nodes, id),
                is_operator: matches!(stage.code, Code::Operator { .. }),
                holds: holds.max().unwrap_or(0),
                registers: registers.fold(0, u64::saturating_add),
            }
        };
        Self { stages: program.stages.rows().iter().enumerate().map(need).collect() }
    }

    /// How many stages there are.
    pub(super) fn n_stages(&self) -> usize {
        self.stages.len()
    }

    /// Whether types tell all of it.
    pub(super) fn is_exact(&self) -> bool {
        self.stages.iter().all(|it| it.is_exact)
    }

    /// The least memory, as far as types tell, of a process that has `process` bytes already.
    pub(super) fn least(&self, process: Option<usize>) -> Least {
        self.with(process, &vec![Seen::default(); self.stages.len()], (COPIES, 0))
    }

    /// Refuses the run where even less than it will need is more than `memory`, by what its stages have
    /// made so far.
    pub(super) fn judge(
        &self,
        seen: &[Seen],
        process: Option<usize>,
        memory: u64,
    ) -> Result<(), Failure> {
        // It is said of what cannot be, not of what is tight.
        match self.with(process, seen, (1, TELLING)).total(1) > memory {
            true => self.with(process, seen, (COPIES, TELLING)).check(memory),
            false => Ok(()),
        }
    }

    /// The least memory, where what is put together is there `copies` times; of what types do not
    /// tell, with what was `seen`.
    fn with(&self, process: Option<usize>, seen: &[Seen], (copies, telling): (u64, u64)) -> Least {
        let process = process.map_or(0, |it| it as u64 + BESIDE_BYTES);
        let mut least = Least { process, ..Least::default() };
        let row = |id: usize| {
            let Need { row, is_exact, .. } = self.stages[id];
            if is_exact { row } else { row.max(seen[id].row) }
        };
        let mut largest = 0;
        for (id, need) in self.stages.iter().enumerate() {
            if !need.is_operator {
                let made = seen[id].chunk.max(need.batch.unwrap_or(0));
                let beyond = seen[id].task.saturating_sub(made);
                least.computing = least.computing.saturating_add(need.registers.max(beyond));
            }
            // A batch that its rows were written into is only handed on.
            if matches!(need.inputs[..], [input] if self.stages[input].batch.is_some()) {
                continue;
            }
            let read = need.inputs.iter().map(|it| row(*it)).fold(0, u64::saturating_add);
            let is_told = need.inputs.iter().all(|it| {
                self.stages[*it].is_exact || seen[*it].records >= need.holds.min(telling)
            });
            let held = if is_told { read.saturating_mul(need.holds) } else { 0 };
            let made = need.batch.unwrap_or(row(id));
            largest = made.saturating_add(read).max(largest);
            let together = made.max(held);
            if need.is_operator && together > read {
                least.records = least.records.saturating_add(together.saturating_mul(copies));
            }
        }
        let last = self.stages.len() - 1;
        let given = self.stages[last].batch.unwrap_or(row(last));
        least.records = least.records.saturating_add(largest).saturating_add(given);
        least
    }
}

impl Least {
    /// All of it, with so many workers.
    pub(super) fn total(&self, workers: u64) -> u64 {
        let computing = self.computing.saturating_mul(workers);
        self.process.saturating_add(computing).saturating_add(self.records)
    }

    /// As many of `workers` as there is memory for.
    pub(super) fn workers(&self, workers: usize, memory: u64) -> usize {
        let left = memory.saturating_sub(self.total(1)).checked_div(self.computing);
        left.map_or(workers, |it| {
            workers.min(usize::try_from(it).unwrap_or(usize::MAX).saturating_add(1))
        })
    }

    /// Fails where `memory` is less than one worker needs.
    pub(super) fn check(&self, memory: u64) -> Result<(), Failure> {
        let least = self.total(1);
        if least <= memory {
            return Ok(());
        }
        // A process does not take the same to the byte each time.
        let stated = (least + least / 32).div_ceil(1_000_000) * 1_000_000;
        let parts = [
            (self.process, "for the process itself"),
            (self.computing, "for values while they are computed"),
            (self.records, "for records and batches"),
        ];
        // What is less than a thousandth of the whole is not worth a word.
        let parts = parts.iter().filter(|it| it.0 > least / 1000);
        let parts: Vec<String> =
            parts.map(|(bytes, what)| format!("{} {what}", shown_bytes(*bytes))).collect();
        let detail = format!(
            "this pipeline needs at least {} of memory ({}), and {} were given: run it with {}, or make \
             its values or batches smaller",
            shown_bytes(stated),
            parts.join(", "),
            shown_bytes(memory),
            memory::remedy(stated / 1_000_000, self.process > 0),
        );
        Err(Failure::Memory { label: String::new(), detail })
    }
}

/// Bytes of the columns of an operator whose rows are any number of records: a batch at the end may
/// have fewer than the others. No number that the operator was given is less than they can be.
fn unsized_bytes(stage: &Stage) -> u64 {
    let Code::Operator { args, .. } = &stage.code else { return 0 };
    let number = |it: &Arg| if let Arg::Int(it) = it { u64::try_from(*it).ok() } else { None };
    let most = args.iter().filter_map(number).max().unwrap_or(1);
    let bytes = |it: &Field| match it.ty.shape()? {
        [Extent::Unknown, inner @ ..] => {
            let known = |it: &Extent| if let Extent::Known(n) = it { Some(*n) } else { None };
            let size = it.ty.dtype()?.size() as u64;
            inner
                .iter()
                .try_fold(size.saturating_mul(most), |all, it| Some(all.saturating_mul(known(it)?)))
        }
        _ => None,
    };
    stage.columns.iter().filter_map(bytes).fold(0, u64::saturating_add)
}

/// Bytes of the batches that the stage writes its records into, where it does.
fn batch_bytes(nodes: &[Node], id: usize) -> Option<u64> {
    nodes.iter().filter(|it| it.stage == id).find_map(|it| match &it.kind {
        Kind::Transform { cut: Some(cut), .. } => Some(cut.batch_bytes()),
        _ => None,
    })
}

/// Bytes of a record, as far as types tell.
fn row_bytes(columns: &[Field]) -> u64 {
    let fixed = columns.iter().filter_map(|it| it.ty.fixed_bytes());
    fixed.fold(8, |all, it| all.saturating_add(it as u64))
}
