//! What runs: stages that hand chunks of records to each other.
//!
//! A program knows nothing of the source text but labels, and nothing of the machine: workers
//! and queues are found when it starts. Kernels are named, never pointed at (`semantics.md`, 15).

use crate::{Arg, ExprId, Field, Graph, IdVec, Policy, Records, StageId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The number of this form; a program of another form is refused.
pub const FORMAT: u32 = 10;

/// Values of a transform of which it is known what file they were read from.
pub const FILES_MAX: usize = 64;
/// Stages of a program.
pub const STAGES_MAX: usize = 1_000;

/// A pipeline that can be run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Always [`FORMAT`].
    pub format: u32,
    /// The pipeline's name.
    pub name: String,
    /// The stages, each after those that it reads from; the last one's records are the output.
    pub stages: IdVec<StageId, Stage>,
    /// Fields that leave the pipeline: the last stage's, without its hidden columns.
    pub output: Vec<Field>,
    /// Whether each record that leaves is a batch.
    pub batched: bool,
    /// How several runs share the work.
    pub deal: Deal,
    /// Where streams go through in parts, each part alone; no stage is in two of these.
    pub lanes: Vec<Lanes>,
    /// Sources whose records, or windows, are side by side in an order that is drawn for all of them: each list
    /// must have equally many.
    pub beside: Vec<Vec<StageId>>,
    /// Stages whose records are the same in every epoch, and that an operator reads which keeps what it made of them:
    /// they, and all above them, run once.
    pub once: Vec<StageId>,
    /// Whether arithmetic becomes machine code when the program is made ready to run; what comes of
    /// it is the same.
    pub jit: bool,
}

/// Lanes: a source is cut into parts, and each goes alone through the stages up to one of them;
/// what leaves that one is dealt in blocks, one from each lane in turn (`semantics.md`, 11).
///
/// A lane that has no full block left is passed over; what is left of all lanes comes at the end,
/// lane after lane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lanes {
    /// How many there are.
    pub count: u32,
    /// The last stage that each goes through alone, with all above it up to the sources.
    pub stage: StageId,
    /// Records of a block.
    pub rows: u64,
}

impl Lanes {
    /// Lanes of a source, at the most.
    pub const MAX: u32 = 256;

    /// The stages that each lane goes through alone, each before those that it reads.
    pub fn stages(&self, stages: &IdVec<StageId, Stage>) -> Vec<StageId> {
        let mut found = BTreeSet::new();
        let mut open = vec![self.stage];
        while let Some(stage) = open.pop() {
            if found.insert(stage) {
                // A stage stands behind those that it reads; of a damaged program, it may not.
                let inputs = stages.get(stage).map_or(&[][..], |it| &it.inputs);
                open.extend(inputs.iter().filter(|it| **it < stage));
            }
        }
        found.into_iter().rev().collect()
    }

    /// The sources among these stages.
    pub fn sources(&self, stages: &IdVec<StageId, Stage>) -> Vec<StageId> {
        let is_source =
            |it: &StageId| stages.get(*it).is_some_and(|it| matches!(it.code, Code::Source { .. }));
        self.stages(stages).into_iter().filter(is_source).collect()
    }
}

impl Program {
    /// Lanes that so many runs cannot share evenly, if there are any.
    pub fn uneven_lanes(&self, world: u32) -> Option<u32> {
        self.lanes.iter().map(|it| it.count).find(|it| !it.is_multiple_of(world.max(1)))
    }
}

/// How several runs share the work: the records that leave a stage are dealt to them in blocks.
///
/// From the stage on, each record is worked on alone, but for one operator that makes a batch of
/// each block, and one that makes windows, which lie whole in a block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Deal {
    /// The stage; what is above it is done by all.
    pub stage: StageId,
    /// Records of a block.
    pub rows: u64,
    /// Records of a window, where windows are put together below the stage: a block has whole ones.
    pub windows: Option<u64>,
    /// Whether the last blocks are given out too, where there are fewer than runs, or one is
    /// not full.
    pub keeps_tail: bool,
    /// The column of the output that says which rows of a batch are records: a run that has no
    /// block at the end gives a batch of none.
    pub valid: Option<u32>,
    /// Where each run can go through lanes of its own instead.
    pub own: Option<OwnLanes>,
}

/// Lanes of which none ends before an epoch does: their source is repeated for ever, or an epoch has so many
/// blocks, and a run of several fails where a lane has too few. So each block is of the lane whose turn it is,
/// and a run can do without the lanes of others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OwnLanes {
    /// The last stage of the lanes. Below it, each record is worked on alone, but for one operator that makes a
    /// batch of each block, and one that takes the first batches.
    pub stage: StageId,
    /// Blocks of an epoch, where a stage below takes so many.
    pub take: Option<u64>,
}

impl Stage {
    /// Where the first of its steps is written.
    pub fn label(&self) -> &str {
        self.labels.first().map_or("", String::as_str)
    }

    /// The entry of the library that it is, where it is one.
    pub fn entry(&self) -> Option<&str> {
        match &self.code {
            Code::Source { entry, .. } | Code::Operator { entry, .. } => Some(entry),
            Code::Transform(_) => None,
        }
    }
}

impl Deal {
    /// Each record that leaves `stage` is dealt alone.
    pub fn each(stage: StageId) -> Self {
        Self { stage, rows: 1, windows: None, keeps_tail: true, valid: None, own: None }
    }
}

/// A part of the pipeline that runs as one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// What it does.
    pub code: Code,
    /// What it reads, in order.
    pub inputs: Vec<StageId>,
    /// The columns of the chunks that leave it. Names that begin with `$` are hidden.
    pub columns: Vec<Field>,
    /// The steps of the program that it does, as they are called in the plan.
    pub steps: Vec<String>,
    /// Where each of them is written, for messages: `aug.pipe:12:8`.
    pub labels: Vec<String>,
    /// Records of the chunks that it makes, as far as it is free to choose.
    pub rows: u32,
}

/// What a stage does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "there are as many as stages")]
pub enum Code {
    /// Makes records.
    Source {
        /// Its name in the library.
        entry: String,
        /// One for each parameter.
        args: Vec<Arg>,
        /// Names the source in the lineage of its records.
        place: u64,
        /// Shuffles of its index, each by its place, the first one innermost.
        shuffles: Vec<u64>,
        /// Its spans come in a drawn order, several at a time.
        spans: Option<Spans>,
        /// The records of each pass: `skip`, then at most `take`; applied before the shuffles.
        skip: u64,
        /// See `skip`.
        take: Option<u64>,
        /// How often it is passed through within an epoch; `None` is for ever.
        laps: Option<u64>,
        /// It gives the records of windows, window after window.
        windows: Option<Windows>,
    },
    /// Computes each record alone; chunks in any order, by any worker.
    Transform(Transform),
    /// An operator of the library; arguments of the record are `Arg::Column`.
    Operator {
        /// Its name in the library.
        entry: String,
        /// One for each parameter after the inputs.
        args: Vec<Arg>,
        /// Names of the inputs, where they were given as a record.
        names: Vec<String>,
        /// Names its own draws.
        place: u64,
    },
}

/// A source whose spans are read in a drawn order, one record from each of those that are open in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spans {
    /// Names the draw of the order.
    pub place: u64,
    /// How many are open at a time: 1 to [`Spans::MAX`].
    pub open: u32,
}

impl Spans {
    /// Spans that may be open at a time.
    pub const MAX: u32 = 32;
}

/// Windows of the records of a source, in any order: their index is arithmetic.
///
/// Window `k` has the records `k·hop` to `k·hop + length - 1` of those that the source gives; of those of one series,
/// where there are several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Windows {
    /// Records of a window.
    pub length: u64,
    /// Records from the begin of one to that of the next.
    pub hop: u64,
    /// Shuffles of the windows, each by its place, the first one innermost.
    pub shuffles: Vec<u64>,
    /// What windows do not mix.
    pub series: Option<Series>,
}

impl Windows {
    /// Records of a window, and from one to the next, at the most.
    pub const MAX: u64 = 1 << 24;
}

/// Neighbouring records with the same key are a series, which no window leaves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The columns of the source that the key is computed from.
    pub columns: Vec<Field>,
    /// Computes the key of each record, and lets none go.
    pub transform: Transform,
    /// The key.
    pub key: Field,
}

/// A computation on each record alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Transform {
    /// The expressions; `Column(i)` is column `i` of the input.
    pub graph: Graph,
    /// The step that each of them is written in, by its number in [`Stage::steps`].
    pub steps: Vec<u32>,
    /// Scalars of `bool`, in order: a record goes at the first that is false.
    pub filters: Vec<ExprId>,
    /// One value for each column of the output, of one record or of several.
    pub outputs: Records,
    /// What becomes of a record that fails where no `else` says otherwise.
    pub on_fault: Policy,
    /// Values that were read from a file, each with the text that names it, at most [`FILES_MAX`]: for
    /// messages.
    pub files: Vec<(ExprId, ExprId)>,
    /// Whether it waits for files rather than computes: done by the reader threads.
    pub reads: bool,
    /// Whether it calls functions that stand outside and does little else: one thread at a time, and
    /// for a whole chunk in one go.
    pub foreign: bool,
    /// Computed a whole chunk at a time: every node is total and cheap.
    pub vector: bool,
    /// Whether the same holds of a clean chunk (`clean`).
    #[serde(default)]
    pub clean_vector: bool,
    /// Rows of the batch that the outputs are written into, where they are.
    pub into_batch: Option<u64>,
    /// Where another record of the source comes from: the stages from the source to here.
    pub another: Vec<StageId>,
}
