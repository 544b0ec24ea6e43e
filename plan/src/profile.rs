//! What was measured of a run, by stage of its program: it flows back into the model as cost.

use crate::{Code, Program, Stage};
use serde::{Deserialize, Serialize};

/// What was measured of a pipeline.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Records that left the pipeline; batches, where it ends with `batch`.
    pub outputs: u64,
    /// One for each stage of the program, in its order.
    pub stages: Vec<StageMeasured>,
}

/// What was measured of a stage.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StageMeasured {
    /// The steps that it does, by their stable names.
    pub steps: Vec<String>,
    /// Records that have entered it; of a source, that have left it.
    pub entered: u64,
    /// Records that have left it.
    pub left: u64,
    /// Bytes that have left it.
    pub bytes: u64,
    /// Of an operator that pads what it makes: the elements of records in it.
    #[serde(default)]
    pub filled: u64,
    /// The same with the padding.
    #[serde(default)]
    pub elements: u64,
    /// Processor time of all its tasks, in nanoseconds.
    pub cpu_ns: f64,
    /// The part of it that was done in order, by one thread at a time.
    pub serial_ns: f64,
    /// Time of all its tasks by the wall clock, in nanoseconds.
    pub wall_ns: f64,
    /// The variance of a record's time over the square of its mean; 0 where nobody knows.
    #[serde(default)]
    pub spread: f64,
    /// Tasks.
    pub tasks: u64,
    /// Threads at work in it, on average.
    pub active: f64,
    /// Chunks that were begun or waited for the next stage, on average.
    pub held: f64,
    /// The share of the time that it waited for input: 0 to 1.
    pub starved: f64,
    /// The share of the time that nobody took what it had made: 0 to 1.
    pub blocked: f64,
    /// Whether its threads wait for files.
    pub reads: bool,
    /// Records of which each value was timed by itself.
    pub timed: u64,
    /// Those values.
    pub calls: Vec<CallMeasured>,
}

/// What was measured of one value of a stage's graph.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CallMeasured {
    /// Its number in the graph.
    pub node: u32,
    /// How often it was found in the records that were timed.
    pub times: u64,
    /// How long that took by the wall clock, without what it needs, in nanoseconds.
    pub busy_ns: f64,
    /// Bytes of it; 0 where it was written to where it lives.
    pub bytes: u64,
}

impl StageMeasured {
    /// Processor time of a record that enters it, in nanoseconds; none where none has.
    pub fn ns(&self) -> Option<f64> {
        (self.entered > 0).then(|| self.cpu_ns / self.entered as f64)
    }

    /// Processor time of the value `node` for each record that enters, in nanoseconds; none where
    /// no record was timed.
    pub fn call_ns(&self, node: u32) -> Option<f64> {
        let all: f64 = self.calls.iter().map(|it| it.busy_ns).sum();
        if all <= 0.0 || self.timed == 0 {
            return None;
        }
        let own: f64 = self.calls.iter().filter(|it| it.node == node).map(|it| it.busy_ns).sum();
        Some(self.ns()? * own / all)
    }

    /// Bytes of the value `node`, on average; none where none was seen.
    pub fn call_bytes(&self, node: u32) -> Option<f64> {
        let call = self.calls.iter().find(|it| it.node == node)?;
        (call.bytes > 0).then(|| call.bytes as f64 / call.times as f64)
    }
}

impl Measured {
    /// Whether it is about `program`: the same stages, each with the same steps and no other values.
    pub fn is_of(&self, program: &Program) -> bool {
        let is_of = |(stage, measured): (&Stage, &StageMeasured)| {
            let values = match &stage.code {
                Code::Transform(it) => it.graph.len(),
                _ => usize::MAX,
            };
            stage.steps == measured.steps
                && measured.calls.iter().all(|it| (it.node as usize) < values)
        };
        self.stages.len() == program.stages.len()
            && program.stages.rows().iter().zip(&self.stages).all(is_of)
    }

    /// Every figure of time and of shares, for whoever must know that they can be reckoned with.
    pub fn figures(&self) -> impl Iterator<Item = f64> {
        self.stages.iter().flat_map(|it| {
            let times = [it.cpu_ns, it.serial_ns, it.wall_ns, it.spread];
            let shares = [it.active, it.held, it.starved, it.blocked];
            times.into_iter().chain(shares).chain(it.calls.iter().map(|it| it.busy_ns))
        })
    }
}
