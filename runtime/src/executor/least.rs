//! The least memory that a run needs, as far as the types of a program tell, and what it is for.
//!
//! `State::has_memory` lets a task begin that does not fit only where no other is at work, and tasks
//! are taken from the end of the pipeline: so at the worst one task is at work, with what it reads
//! and makes, beside what operators put together and the consumer holds.

use super::node::{Kind, Node};
use crate::Failure;
use plan::{Arg, Code, Extent, Field, Index, Program, Stage, shown_bytes};

/// Bytes that threads, their stacks and the allocator take beyond what is counted, whatever runs.
/// Assumed, with room to spare: a few runs of development builds with two workers took less.
const BESIDE_BYTES: u64 = 4 << 20;

/// What a run needs at the least.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Least {
    /// By the process, before the run has begun.
    pub(super) process: u64,
    /// By each worker, for values between those that it reads and those that it makes.
    pub(super) computing: u64,
    /// By records that are read, made, put together or with the consumer.
    pub(super) records: u64,
}

impl Least {
    /// That of a program, whose nodes are `nodes`.
    pub(super) fn of(program: &Program, nodes: &[Node], process: u64) -> Self {
        let mut least = Self { process, ..Self::default() };
        for node in nodes.iter().filter(|it| it.lane.number == 0) {
            if let Kind::Transform { compiled, .. } = &node.kind {
                least.computing = least.computing.saturating_add(compiled.register_bytes());
            }
        }
        let stages = program.stages.rows();
        let mut largest = 0;
        for (id, stage) in stages.iter().enumerate() {
            // A batch that its rows were written into is only handed on.
            if matches!(stage.inputs[..], [input] if batch_bytes(nodes, input.row()).is_some()) {
                continue;
            }
            let made = made(nodes, id, stage);
            let read = stage.inputs.iter().map(|it| row_bytes(&program.stages[*it].columns)).sum();
            largest = made.saturating_add(read).max(largest);
            // What has more bytes than it is made of is put together of several records: these are
            // copied into a buffer that doubles as it grows, while the ones before are on their way.
            let is_operator = matches!(stage.code, Code::Operator { .. });
            if is_operator && made > read {
                least.records = least.records.saturating_add(made.saturating_mul(3));
            }
        }
        let last = stages.len() - 1;
        least.records = least.records.saturating_add(largest);
        least.records = least.records.saturating_add(made(nodes, last, &stages[last]));
        least
    }

    /// All of it, with so many workers.
    pub(super) fn total(&self, workers: u64) -> u64 {
        let computing = self.computing.saturating_mul(workers);
        [self.process, BESIDE_BYTES, computing]
            .iter()
            .fold(self.records, |a, b| a.saturating_add(*b))
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
            (self.process + BESIDE_BYTES, "for the process itself"),
            (self.computing, "for values while they are computed"),
            (self.records, "for records and batches"),
        ];
        // What is less than a thousandth of the whole is not worth a word.
        let parts = parts.iter().filter(|it| it.0 > least / 1000);
        let parts: Vec<String> =
            parts.map(|(bytes, what)| format!("{} {what}", shown_bytes(*bytes))).collect();
        let detail = format!(
            "this pipeline needs at least {} of memory ({}), and {} were given: run it with \
             `--memory {}MB`, or make its values or batches smaller",
            shown_bytes(stated),
            parts.join(", "),
            shown_bytes(memory),
            stated / 1_000_000,
        );
        Err(Failure::Memory { label: String::new(), detail })
    }
}

/// Bytes of what a task of the stage makes at the least: a record, or as many as it always makes.
fn made(nodes: &[Node], id: usize, stage: &Stage) -> u64 {
    batch_bytes(nodes, id)
        .unwrap_or_else(|| row_bytes(&stage.columns).saturating_add(unsized_bytes(stage)))
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
