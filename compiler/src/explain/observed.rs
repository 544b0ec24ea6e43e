//! A run that was measured, as it is shown beside the plan and compared with another.

use plan::{Measured, Program};

/// A run that was measured.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    /// What ran.
    pub program: &'a Program,
    /// What was measured of its stages.
    pub measured: &'a Measured,
    /// For how long, in seconds.
    pub seconds: f64,
    /// Outputs in that time: batches, or records where it ends without `batch`.
    pub outputs: u64,
    /// Records in them.
    pub records: u64,
    /// Threads that computed.
    pub workers: usize,
    /// Cores that the process could use.
    pub cores: usize,
    /// Time that the consumer waited, in seconds.
    pub stalled_seconds: f64,
    /// Chunks by how long the consumer waited for each; the buckets are [`model::verdict::STALLS`].
    pub stalls: [u64; 4],
}

impl Observed<'_> {
    /// Records in a second.
    pub fn records_per_second(&self) -> f64 {
        if self.seconds > 0.0 { self.records as f64 / self.seconds } else { 0.0 }
    }

    /// The share of the time that the consumer waited: 0 to 1.
    pub fn stall_share(&self) -> f64 {
        if self.seconds > 0.0 { (self.stalled_seconds / self.seconds).min(1.0) } else { 0.0 }
    }

    /// Threads at work at once, on average: by Little's law the outputs under way.
    pub fn under_way(&self) -> f64 {
        self.measured.stages.iter().map(|it| it.active).sum()
    }
}
