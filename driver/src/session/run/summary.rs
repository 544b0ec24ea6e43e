//! What a run has done, in figures that say where its time went.

use super::Progress;
use crate::session::{classes::Classes, machine, spared::SparedSummary};
use plan::Program;
use runtime::{LostRecord, StageStats, Stats};
use serde::Serialize;
use std::{collections::BTreeMap, time::Duration};

/// Lost records that are told of each kind.
const EXAMPLES: usize = 3;

/// Names of classes that are told.
const NAMES: usize = 8;

/// What a run has done.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The pipeline's name.
    pub pipeline: String,
    /// Batches that came out; none, where the pipeline ends without `batch`.
    pub batches: Option<u64>,
    /// Records that came out.
    pub records: u64,
    /// Bytes that came out.
    pub bytes: u64,
    /// Batches that an earlier run had given, from which this one went on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumed_at: Option<u64>,
    /// Damage to what earlier runs had written, for which this one went back to make it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damage: Option<String>,
    /// From the start to the end.
    pub seconds: f64,
    /// From the start to the first batch.
    pub first_batch_seconds: Option<f64>,
    /// Records a second.
    pub records_per_second: f64,
    /// Bytes a second.
    pub bytes_per_second: f64,
    /// The share of the time that the consumer waited for the pipeline: 0 to 1.
    pub stall_share: f64,
    /// Chunks by how long the consumer waited for each: up to 50 µs, 1 ms, 100 ms, and longer.
    pub stalls: [u64; 4],
    /// Processor time of the process so far, where the system says it.
    pub cpu_seconds: Option<f64>,
    /// The most memory that the process held, in bytes, where the system says it.
    pub memory_peak: Option<u64>,
    /// The stages, in the order of the program.
    pub stages: Vec<StageSummary>,
    /// Records that were skipped or replaced, by the code of their fault.
    pub lost: BTreeMap<String, Loss>,
    /// Values that were kept from epoch to epoch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<KeptSummary>,
    /// What an epoch has that goes to no rank, where several share the work and that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_over: Option<LeftOver>,
    /// The classes of the labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassesSummary>,
    /// What was not read of files, for each source that is told of a filter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spared: Vec<SparedSummary>,
    /// Records that were left at the ends of epochs, too few for a batch each time, and of how many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped: Option<Dropped>,
    /// Why it has come to its end and given nothing, where that is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nothing_came: Option<String>,
    /// What else is to be told of what is kept, in sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Records that fill no batch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Dropped {
    /// How many were left.
    pub records: u64,
    /// How many came.
    pub of: u64,
}

/// Batches at the end of an epoch that are too few for one each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LeftOver {
    /// How many there are; records, where the pipeline ends without `batch`.
    pub dropped: u64,
    /// Of how many.
    pub of: u64,
    /// How many each rank has.
    pub each: u64,
}

/// The classes of a label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClassesSummary {
    /// The field with their numbers; none where they go into another value.
    pub field: Option<String>,
    /// How many there are.
    pub count: usize,
    /// The first of them, in the order of their numbers.
    pub first: Vec<String>,
}

impl ClassesSummary {
    /// One for each field that leaves with the numbers.
    pub(super) fn of(it: &Classes) -> Vec<Self> {
        let first: Vec<String> = it.names.iter().take(NAMES).cloned().collect();
        let of = |field| Self { field, count: it.names.len(), first: first.clone() };
        match &it.fields[..] {
            [] => vec![of(None)],
            fields => fields.iter().map(|it| of(Some(it.clone()))).collect(),
        }
    }
}

/// What came of keeping a value.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct KeptSummary {
    /// The step that computes it.
    pub step: String,
    /// The function whose result it is.
    pub function: String,
    /// Values that were found.
    pub hits: u64,
    /// Values that had to be computed.
    pub misses: u64,
    /// Bytes that the kept ones take.
    pub bytes: u64,
    /// Bytes that they may take.
    pub limit: u64,
    /// The same on disk, where they are kept there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskSummary>,
}

/// What came of keeping a value on disk.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct DiskSummary {
    /// Values that were found there.
    pub hits: u64,
    /// Values that were written.
    pub written: u64,
    /// Values that are there.
    pub entries: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Values that were damaged, and computed anew.
    pub damaged: u64,
}

/// What a stage has done.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StageSummary {
    /// Its steps, as the plan calls them.
    pub steps: Vec<String>,
    /// Where the first of them is written.
    pub label: String,
    /// Records that have left it.
    pub records: u64,
    /// Bytes that have left it.
    pub bytes: u64,
    /// Time that threads have spent in it, in seconds.
    pub busy_seconds: f64,
    /// The same as a share of all such time: 0 to 1.
    pub busy_share: f64,
    /// How much of what it makes is padding, where it pads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filling: Option<FillingSummary>,
}

/// How much of what a stage has made is padding: sequences of `pack`, padded fields of `batch`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FillingSummary {
    /// Elements of records, such as tokens.
    pub elements: u64,
    /// The same a second.
    pub elements_per_second: f64,
    /// The share of all elements that is padding: 0 to 1.
    pub padding_share: f64,
}

/// Records that were lost in the same way.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Loss {
    /// How many.
    pub records: u64,
    /// The first of them: where they failed, and how.
    pub examples: Vec<String>,
}

impl Summary {
    /// Of a run of `program`; without `stats` where it never began.
    pub(super) fn of(program: &Program, progress: &Progress, stats: Option<&Stats>) -> Self {
        let nothing = Stats::default();
        let stats = stats.unwrap_or(&nothing);
        let seconds = progress.elapsed.as_secs_f64();
        let rate = |n: u64| if seconds > 0.0 { n as f64 / seconds } else { 0.0 };
        let all_busy: f64 = stats.stages.iter().map(|it| it.busy.as_secs_f64()).sum();
        Self {
            pipeline: program.name.clone(),
            batches: program.batched.then_some(progress.outputs),
            records: progress.records,
            bytes: progress.bytes,
            resumed_at: None,
            damage: None,
            seconds,
            first_batch_seconds: progress.first.as_ref().map(Duration::as_secs_f64),
            records_per_second: rate(progress.records),
            bytes_per_second: rate(progress.bytes),
            stall_share: if seconds > 0.0 { stats.stalled.as_secs_f64() / seconds } else { 0.0 },
            stalls: stats.stalls,
            cpu_seconds: runtime::os::process_cpu().map(|it| it.as_secs_f64()),
            memory_peak: machine::memory_peak(),
            stages: stats.stages.iter().map(|it| StageSummary::of(it, all_busy, seconds)).collect(),
            lost: losses(&stats.lost, &stats.lost_records),
            kept: Vec::new(),
            left_over: None,
            dropped: None,
            nothing_came: None,
            classes: Vec::new(),
            spared: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The stage that threads were longest at.
    pub fn busiest(&self) -> Option<&StageSummary> {
        let busy = self.stages.iter().filter(|it| it.busy_seconds > 0.0);
        busy.max_by(|a, b| a.busy_seconds.total_cmp(&b.busy_seconds))
    }
}

impl StageSummary {
    fn of(stage: &StageStats, all_busy: f64, seconds: f64) -> Self {
        let busy_seconds = stage.busy.as_secs_f64();
        let (filled, all) = (stage.filled, stage.elements);
        let filling = (all > 0).then(|| FillingSummary {
            elements: filled,
            elements_per_second: if seconds > 0.0 { filled as f64 / seconds } else { 0.0 },
            padding_share: all.saturating_sub(filled) as f64 / all as f64,
        });
        Self {
            steps: stage.steps.clone(),
            label: stage.label.clone(),
            records: stage.records,
            bytes: stage.bytes,
            busy_seconds,
            busy_share: if all_busy > 0.0 { busy_seconds / all_busy } else { 0.0 },
            filling,
        }
    }
}

fn losses(counts: &BTreeMap<&'static str, u64>, first: &[LostRecord]) -> BTreeMap<String, Loss> {
    let examples = |code: &str| {
        let of_code = first.iter().filter(|it| it.fault.code == code);
        of_code
            .take(EXAMPLES)
            .map(|it| format!("{}: {}: {}", it.label, it.record, it.fault.reason()))
            .collect()
    };
    let loss = |code: &str, n: u64| Loss { records: n, examples: examples(code) };
    counts.iter().map(|(code, n)| ((*code).to_owned(), loss(code, *n))).collect()
}
