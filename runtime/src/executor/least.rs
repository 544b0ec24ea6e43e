//! The least memory that a run needs, as far as the types of a program and the lengths of its sources tell,
//! and what it is for: what nobody knows refuses no run.
//!
//! `State::has_memory` lets a task begin that does not fit only where no other is at work, and tasks
//! are taken from the end of the pipeline: so at the worst one task is at work, with what it reads
//! and makes, beside what operators put together and the consumer holds.

use super::{
    lanes::Lane,
    node::{Fetch, Kind, Node},
};
use crate::{Failure, memory};
use plan::{Code, Expr, Field, Index, Policy, Program, Records, Stage, shown_bytes};

/// Bytes that threads, their stacks and the allocator take beyond what is counted, whatever runs.
/// Assumed, with room to spare: a few runs of development builds with two workers took less.
const BESIDE_BYTES: u64 = 6 << 20;
/// Times that what is put together is there: it is copied into a buffer that doubles as it grows, while
/// the one before is on its way.
const COPIES: u64 = 3;

/// What a run needs at the least.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Least {
    /// By the process, before the run has begun and beside it; none where it is not bounded.
    pub(super) process: u64,
    /// Of these, by what takes the output: see [`super::Options::beside`].
    pub(super) beside: u64,
    /// By each worker, for values between those that it reads and those that it makes.
    pub(super) computing: u64,
    /// By records that are read, made, put together or with the consumer.
    pub(super) records: u64,
}

/// What the least memory of a program follows from, by stage.
pub(super) struct Needs {
    stages: Vec<Need>,
    /// See [`super::Options::beside`].
    beside: u64,
}

/// What is known of a stage before it runs.
struct Need {
    inputs: Vec<usize>,
    /// Bytes of a record, as far as types tell.
    row: u64,
    /// Bytes of the batches that it writes its records into, where it does.
    batch: Option<u64>,
    is_operator: bool,
    /// See [`crate::Operator::holds`]; and as many of them as are certain to come, in whatever blocks.
    holds: u64,
    certain: u64,
    /// Bytes of the values between its columns, as far as types tell.
    registers: u64,
}

impl Needs {
    /// Those of a program, whose nodes are `nodes`, and whose output takes `beside` bytes of the process.
    pub(super) fn of(program: &Program, nodes: &[Node], beside: u64) -> Self {
        let mut stages: Vec<Need> = Vec::with_capacity(program.stages.len());
        let mut records: Vec<Option<u64>> = Vec::with_capacity(program.stages.len());
        for (id, stage) in program.stages.rows().iter().enumerate() {
            let own = || nodes.iter().filter(|it| it.stage == id && it.lane.is_first());
            let registers = own().map(|it| match &it.kind {
                Kind::Transform { compiled, .. } => compiled.register_bytes(),
                _ => 0,
            });
            let holds = own().map(|it| match &it.kind {
                Kind::Operator(it) => it.maker.holds,
                _ => 0,
            });
            let inputs: Vec<usize> = stage.inputs.iter().map(|it| it.row()).collect();
            let come: Vec<Option<u64>> = inputs.iter().map(|it| records[*it]).collect();
            let holds = holds.max().unwrap_or(0);
            // The first block of a window has any size: at the worst the other one has as many records.
            let least_come = come.iter().map(|it| it.map_or(0, |it| it.div_ceil(2))).min();
            records.push(records_of(stage, own().next(), &come));
            stages.push(Need {
                inputs,
                row: row_bytes(&stage.columns),
                batch: batch_bytes(nodes, id),
                is_operator: matches!(stage.code, Code::Operator { .. }),
                holds,
                certain: holds.min(least_come.unwrap_or(0)),
                registers: registers.fold(0, u64::saturating_add),
            });
        }
        Self { stages, beside }
    }

    /// Bytes of the batches that leave last, where they are written in place.
    pub(super) fn batch_bytes(&self) -> Option<usize> {
        self.stages.last().and_then(|it| usize::try_from(it.batch?).ok())
    }

    /// The least memory, as far as types and lengths tell, of a process that has `process` bytes already:
    /// where that is not there, the run cannot be done.
    pub(super) fn least(&self, process: Option<usize>) -> Least {
        self.with(process, |it| it.certain)
    }

    /// What will do, where a run is refused that would need the least.
    pub(super) fn enough(&self, process: Option<usize>) -> Least {
        let mut enough = self.with(process, |it| it.holds.saturating_mul(COPIES));
        let last = &self.stages[self.stages.len() - 1];
        let given = self.read(last).saturating_mul(last.holds);
        enough.records = enough.records.saturating_add(given);
        enough
    }

    /// Bytes of a record of each of its inputs.
    fn read(&self, need: &Need) -> u64 {
        need.inputs.iter().map(|it| self.stages[*it].row).fold(0, u64::saturating_add)
    }

    /// The memory that is needed, where an operator's input is there so many times.
    fn with(&self, process: Option<usize>, held: impl Fn(&Need) -> u64) -> Least {
        let beside = process.map_or(0, |_| self.beside);
        let process = process.map_or(0, |it| it as u64 + BESIDE_BYTES);
        let mut least = Least { process, beside, ..Least::default() };
        let mut largest = 0;
        for need in &self.stages {
            least.computing = least.computing.saturating_add(need.registers);
            // A batch that its rows were written into is only handed on.
            if matches!(need.inputs[..], [input] if self.stages[input].batch.is_some()) {
                continue;
            }
            let read = self.read(need);
            let made = need.batch.unwrap_or(need.row);
            largest = made.saturating_add(read).max(largest);
            let of_made = if made > read { made.saturating_mul(COPIES) } else { 0 };
            let together = of_made.max(read.saturating_mul(held(need)));
            if need.is_operator && together > read {
                least.records = least.records.saturating_add(together);
            }
        }
        let last = &self.stages[self.stages.len() - 1];
        let given = last.batch.unwrap_or(last.row);
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

    /// As many of `workers` as there is memory for, beside the batches that are under way.
    pub(super) fn workers(&self, workers: usize, memory: u64, nodes: &[Node]) -> usize {
        let left = memory.saturating_sub(self.total(1)).checked_div(self.computing);
        let most = left.map_or(workers, |it| {
            workers.min(usize::try_from(it).unwrap_or(usize::MAX).saturating_add(1))
        });
        let memory = memory.saturating_sub(self.process);
        let cuts = nodes.iter().filter_map(|it| match &it.kind {
            Kind::Transform { cut, .. } => cut.as_ref(),
            _ => None,
        });
        cuts.fold(most, |most, it| it.workers(most, memory, self.computing))
    }

    /// Fails where `memory` is less than one worker needs; says what is `enough`.
    pub(super) fn check(&self, memory: u64, enough: &Self) -> Result<(), Failure> {
        if self.total(1) <= memory { Ok(()) } else { Err(enough.refused(memory)) }
    }

    fn refused(&self, memory: u64) -> Failure {
        let least = self.total(1);
        // A process does not take the same to the byte each time.
        let stated = (least + least / 32).div_ceil(1_000_000) * 1_000_000;
        let parts = [
            (self.process.saturating_sub(self.beside), "for the process itself"),
            (self.beside, "for the files that are written"),
            (self.computing, "for intermediate values"),
            (self.records, "for records and batches"),
        ];
        // What is less than a thousandth of the whole is not worth a word.
        let parts = parts.iter().filter(|it| it.0 > least / 1000);
        let parts: Vec<String> =
            parts.map(|(bytes, what)| format!("{} {what}", shown_bytes(*bytes))).collect();
        let detail = format!(
            "this pipeline needs about {} of memory ({}), but the limit is {}: run it with {}, or \
             make its values or batches smaller",
            shown_bytes(stated),
            parts.join(", "),
            shown_bytes(memory),
            memory::remedy(stated / 1_000_000, self.process > 0),
        );
        Failure::Memory { label: String::new(), detail }
    }
}

/// Records of an epoch that leave a stage whose inputs give these; none where nobody knows yet.
fn records_of(stage: &Stage, node: Option<&Node>, inputs: &[Option<u64>]) -> Option<u64> {
    // Others may do a part of it.
    let node = node.filter(|it| it.lane == Lane::ONE && it.deal.is_none())?;
    match (&stage.code, &node.kind) {
        (
            Code::Source { skip, take, laps, windows: None, .. },
            Kind::Fetch(Fetch { supply, given: 0, deal: None, .. }),
        ) => {
            let rest = supply.source.known_len()?.saturating_sub(*skip);
            let pass = take.map_or(rest, |it| it.min(rest));
            Some(laps.map_or(u64::MAX, |it| pass.saturating_mul(it)))
        }
        (Code::Transform(it), _) => {
            let is_one = matches!(&it.outputs, Records::Listed(lists) if lists.len() == 1);
            let handles = |it: &Expr| matches!(it, Expr::Else { .. });
            let stay = is_one
                && it.filters.is_empty()
                && it.on_fault == Policy::Fail
                && !it.graph.iter().any(|(_, expr, _)| handles(expr));
            inputs[0].filter(|_| stay)
        }
        _ => None,
    }
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
