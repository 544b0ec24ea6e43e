//! What may be said of a run: of any one, whatever takes what comes out of it.

use crate::session::{lock::Chosen, machine, state::StateFile, store::DiskOptions};
use model::strategy::Objective;
use runtime::Rank;
use std::path::PathBuf;

/// How a pipeline is run.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// All that is random follows from it.
    pub seed: u64,
    /// Passes over the data.
    pub epochs: u32,
    /// Batches to be given at the most; records, where the pipeline ends without `batch`.
    pub limit: Option<u64>,
    /// Threads that compute.
    pub workers: usize,
    /// Bytes that the run may take.
    pub memory: u64,
    /// Whether that is for the whole process, which does little else.
    pub whole_process: bool,
    /// Records of a chunk, in place of what the plan says: the output is the same.
    pub chunk_rows: Option<usize>,
    /// Which run it is, of several that share the work.
    pub rank: Rank,
    /// Where the state is kept: the run goes on from it, and writes it.
    pub state: Option<StateFile>,
    /// The file that tells of every record that was skipped or replaced.
    pub quarantine: Option<PathBuf>,
    /// Records that may be lost in all; beyond them the run ends.
    pub most_lost: Option<u64>,
    /// Whether values are kept in memory from epoch to epoch, where that helps.
    pub caches: bool,
    /// What was chosen for it; of that, what is kept from epoch to epoch is heeded here.
    pub lock: Option<Chosen>,
    /// The share of the cores that may be used: 0 to 1.
    pub cpu: f64,
    /// Where they are kept for later runs.
    pub disk: Option<DiskOptions>,
    /// What is kept is the best for this.
    pub objective: Objective,
    /// Where what was measured is written, at the end and every now and then.
    pub profile: Option<PathBuf>,
}

impl Default for RunOptions {
    /// One epoch, seed 0, all cores, a quarter of the memory.
    fn default() -> Self {
        Self {
            seed: 0,
            epochs: 1,
            limit: None,
            workers: machine::cores(),
            memory: machine::default_memory(),
            whole_process: false,
            chunk_rows: None,
            rank: Rank::default(),
            state: None,
            quarantine: None,
            most_lost: None,
            caches: true,
            lock: None,
            objective: Objective::default(),
            cpu: 1.0,
            disk: None,
            profile: None,
        }
    }
}
