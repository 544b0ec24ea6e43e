//! Bytes that a pipeline holds while it runs.

use super::{Figure, flow::flows};
use crate::lower::{
    Lowered,
    catalog::Catalog,
    role::{Role, operator},
};
use plan::{Code, Index, StageId};
use serde::{Deserialize, Serialize};

/// What is held, by what it is for; in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// Chunks that are computed, or wait for the next stage.
    pub chunks: Figure,
    /// Batches: two under way and the one that the consumer holds.
    pub batches: Figure,
    /// What operators hold, such as the window of a shuffle.
    pub held: Figure,
}

impl Memory {
    /// All of it.
    pub fn total(&self) -> Figure {
        self.chunks + self.batches + self.held
    }
}

/// Chunks of a stage that are there at a time, besides one for each core. Assumed: of the queue
/// that the executor allows, few wait.
const CHUNKS_WAITING: f64 = 2.0;
/// Batches that are there at a time (`executor/cut.rs`).
const BATCHES: f64 = 3.0;

pub(super) fn memory(lowered: &Lowered, catalog: &Catalog, cores: u32) -> Memory {
    let stages = &lowered.program.stages;
    let flows = flows(stages, catalog);
    let mut memory = Memory::default();
    let mut times = vec![1.0; stages.len()];
    for lanes in &lowered.program.lanes {
        lanes.stages(stages).for_each(|it| times[it.row()] = f64::from(lanes.count));
    }
    for (id, stage) in stages.iter() {
        let bytes = flows[id].bytes();
        let chunks = (f64::from(cores) + CHUNKS_WAITING).max(times[id.row()]);
        let chunk = bytes.times(f64::from(stage.rows)).times(chunks);
        match &stage.code {
            Code::Transform(it) if it.into_batch.is_some() => {}
            Code::Source { .. } | Code::Transform(_) => memory.chunks = memory.chunks + chunk,
            Code::Operator { entry, args, .. } => {
                let entering = |it: &StageId| flows[*it].bytes();
                let entering: Figure = stage.inputs.iter().map(entering).sum();
                match operator(entry, args, stage.inputs.len(), catalog) {
                    Role::Batch { .. } => memory.batches = memory.batches + bytes.times(BATCHES),
                    // One window fills up while the one before is permuted.
                    Role::ShuffleWithin(n) => {
                        memory.held =
                            memory.held + entering.times(2.0 * n as f64 * times[id.row()]);
                    }
                    Role::Windows { length, .. } => {
                        memory.held = memory.held + entering.times(length as f64 * times[id.row()]);
                    }
                    _ => memory.chunks = memory.chunks + chunk,
                }
            }
        }
    }
    memory
}
