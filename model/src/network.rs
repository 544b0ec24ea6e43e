//! A pipeline as the model sees it: a tree of steps, each with what a record costs there.
//!
//! The output is one record that leaves the last step (the root), usually a batch. All demands are
//! told per output: visits (records leaving), CPU seconds, thread seconds, bytes.

use crate::figure::{Figure, Origin};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Steps that a network may have; plans have some dozens.
pub const STEPS_MAX: usize = 10_000;

/// One step: an operator, or several that were fused.
///
/// "Entering" counts records that come in, "leaving" those that go out. A source takes what it
/// gives: `taken` is 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// What the step is called where it is told about.
    pub name: String,
    /// Where its records come from; empty for a source.
    pub inputs: Vec<Input>,
    /// Records entering for each record leaving: 32 for batches of 32, n/k for a filter that keeps k of n (`ratio`).
    pub taken: f64,
    /// CPU time for each record entering, in nanoseconds: self time, all cores together.
    pub ns: Figure,
    /// Time for each record entering in which a worker waits and needs no core, in nanoseconds (a sleep, a network).
    pub waits_ns: Figure,
    /// Sequential steps of one number share one thread; none: any number of workers.
    pub segment: Option<u32>,
    /// Copies of the step that a parallel step around it runs: 1 where there is none.
    pub outer: u32,
    /// Workers that the step may have; none: any number.
    pub workers_max: Option<u32>,
    /// The part of its work that one thread does in order, however many workers it has: 0 to 1.
    pub serial: f64,
    /// Cores that one call uses by itself, at least 1.
    pub internal: f64,
    /// Records per second that may leave it, whatever the cores (a token bucket, a service).
    pub cap: Option<f64>,
    /// What is read from a storage for each record entering.
    pub reads: Option<Reads>,
    /// The same of values that are kept on a disk from epoch to epoch.
    #[serde(default)]
    pub kept: Option<Reads>,
    /// Bytes that go through the memory for each record entering.
    pub bytes_moved: f64,
    /// Bytes of a record leaving.
    pub bytes_out: Figure,
    /// Why its records are not the same in each epoch, if so.
    pub varies: Option<Varies>,
    /// Bytes that it holds while it runs: buffers, queues, windows.
    pub holds_bytes: f64,
    /// How many records leave.
    pub count: Count,
    /// What caches do at its output.
    pub caches: Vec<Cached>,
    /// The variance of the time of a record over the square of its mean; 0 where all take the same.
    #[serde(default)]
    pub spread: f64,
    /// Of a step that gathers records into batches: the steps that write them there, each worker into
    /// rows of its own; empty where records are gathered in order.
    pub filled_by: Vec<usize>,
    /// Bytes that each worker needs for the values it computes with, in the whole pipeline; where batches are
    /// filled in place, they bound how many workers there is memory for.
    #[serde(default)]
    pub worker_bytes: f64,
}

/// An edge of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// The index of the step.
    pub step: usize,
    /// Records that come from it for each record entering: 1 for one input and for a zip, the weight for a mix.
    pub share: f64,
}

/// Reading from a storage.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Reads {
    /// The index of the storage in the machine.
    pub storage: usize,
    /// Bytes for each record entering.
    pub bytes: f64,
    /// Requests for each record entering.
    pub requests: f64,
    /// In what order.
    pub pattern: Pattern,
}

/// The order in which a storage is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pattern {
    /// From the start of large files to their end.
    Sequential,
    /// Here and there.
    Random,
}

/// Why the records of a step are not the same in each epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Varies {
    /// It draws random numbers; with a fixed seed too, for they differ from record to record.
    Random,
    /// It reads the clock.
    Clock,
    /// It reads what may be another thing tomorrow: an environment, a network, a foreign program.
    Unrepeatable,
    /// It gives the same records in another order each epoch.
    Reorders,
}

/// A number of records or bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Amount {
    /// So many; a mean where chance has a say.
    Finite(f64),
    /// It never ends.
    Infinite,
    /// Nobody knows.
    Unknown,
}

/// How the number of records leaving follows from those entering.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Count {
    /// A source has so many.
    Source(Amount),
    /// All inputs together, divided by `taken`.
    Ratio,
    /// The first few.
    Take(u64),
    /// All but the first few.
    Skip(u64),
    /// All of it so many times; without a number, for ever.
    Repeat(Option<u64>),
    /// As many as the shortest input has; where it gives a share only, as many as last for that.
    Shortest,
}

/// What a cache does at the output of a step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cached {
    /// Whether it serves or fills.
    pub act: Act,
    /// The part of the records leaving that it does so for, 0 to 1.
    pub share: f64,
    /// CPU time for each of those, in nanoseconds.
    pub ns: f64,
    /// The storage and the bytes there for each of those.
    pub storage: Option<(usize, f64)>,
    /// Bytes through the memory for each of those.
    pub bytes_moved: f64,
}

/// What a cache is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Act {
    /// It writes records while they pass.
    Fills,
    /// It gives records, and nothing before it has to work for those.
    Serves,
}

/// A tree of steps, inputs before their users, the output last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Step>", into = "Vec<Step>")]
pub struct Network {
    steps: Vec<Step>,
}

/// Why something is no network: a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw(pub String);

/// How often each step is visited for one output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Records leaving per output: the visit ratio V, cached ones too.
    pub visits: Vec<f64>,
    /// Records leaving per output that no cache serves.
    pub worked: Vec<f64>,
    /// Records entering per output: those that cost `ns`.
    pub entering: Vec<f64>,
}

/// What one output asks of a step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Demand {
    /// Core seconds per output: 1/R in the paper's letters.
    pub cpu_s: f64,
    /// Seconds of one worker per output; with waiting, and divided by the cores that a call uses itself.
    pub worker_s: f64,
    /// Bytes through the memory per output.
    pub moved: f64,
    /// The least sure of the figures in it.
    pub origin: Origin,
}

impl Default for Step {
    fn default() -> Self {
        Self {
            name: String::new(),
            inputs: Vec::new(),
            taken: 1.0,
            ns: Figure::ZERO,
            waits_ns: Figure::ZERO,
            segment: None,
            outer: 1,
            workers_max: None,
            serial: 0.0,
            internal: 1.0,
            cap: None,
            reads: None,
            kept: None,
            bytes_moved: 0.0,
            bytes_out: Figure::ZERO,
            varies: None,
            holds_bytes: 0.0,
            count: Count::Ratio,
            caches: Vec::new(),
            spread: 0.0,
            filled_by: Vec::new(),
            worker_bytes: 0.0,
        }
    }
}

impl Step {
    /// A source of so many records.
    pub fn source(name: &str, records: Amount) -> Self {
        Self { name: name.to_owned(), count: Count::Source(records), ..Self::default() }
    }

    /// A step that reads what another gives.
    pub fn after(name: &str, step: usize) -> Self {
        let inputs = vec![Input { step, share: 1.0 }];
        Self { name: name.to_owned(), inputs, ..Self::default() }
    }

    /// The same with so many nanoseconds of CPU time per record entering.
    #[must_use]
    pub fn costs(self, ns: Figure) -> Self {
        Self { ns, ..self }
    }

    /// Workers that it can use: the copies around it where it is sequential; none: any number.
    pub fn workers_limit(&self) -> Option<u32> {
        match (self.segment, self.workers_max) {
            (Some(_), Some(most)) => Some(self.outer.max(1).min(most.max(1))),
            (Some(_), None) => Some(self.outer.max(1)),
            (None, most) => most.map(|it| it.max(1)),
        }
    }

    /// Whether it can never have a second worker.
    pub fn sequential(&self) -> bool {
        self.workers_limit() == Some(1)
    }

    /// All that is read for a record entering: from files, and of what is kept.
    pub(crate) fn all_reads(&self) -> impl Iterator<Item = Reads> {
        self.reads.into_iter().chain(self.kept)
    }

    /// The part of the records leaving that caches serve.
    pub fn served(&self) -> f64 {
        let serves = self.caches.iter().filter(|it| it.act == Act::Serves);
        serves.map(|it| it.share).sum::<f64>().clamp(0.0, 1.0)
    }
}

impl Network {
    /// A network of these steps, the last of which is the output.
    ///
    /// # Errors
    /// A step that reads a later one, that two others read, that nobody reads, or that holds a
    /// figure which is negative or no number.
    pub fn new(steps: Vec<Step>) -> Result<Self, Flaw> {
        if steps.is_empty() || steps.len() > STEPS_MAX {
            return Err(Flaw(format!("expected 1 to {STEPS_MAX} steps, found {}", steps.len())));
        }
        let mut readers = vec![0_usize; steps.len()];
        for (index, step) in steps.iter().enumerate() {
            sound(step)?;
            for input in &step.inputs {
                if input.step >= index {
                    return Err(Flaw(format!("`{}` reads a step that comes after it", step.name)));
                }
                readers[input.step] += 1;
            }
        }
        readers[steps.len() - 1] += 1;
        match readers.iter().position(|it| *it != 1) {
            Some(at) => {
                Err(Flaw(format!("{} steps read `{}`, not one", readers[at], steps[at].name)))
            }
            None => Ok(Self { steps }),
        }
    }

    /// The steps, inputs before users.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The index of the step whose records are the outputs.
    pub fn root(&self) -> usize {
        self.steps.len() - 1
    }

    /// The same with something changed at one step (not its inputs).
    #[must_use]
    pub fn with(&self, step: usize, change: impl FnOnce(&mut Step)) -> Self {
        let mut other = self.clone();
        let inputs = other.steps[step].inputs.clone();
        change(&mut other.steps[step]);
        other.steps[step].inputs = inputs;
        other
    }

    /// Visit ratios: V of the root is 1, V of an input is V of its user × taken × share.
    ///
    /// Paper section 4.4; what a cache serves is not asked of the steps before it.
    pub fn visits(&self) -> Flow {
        let n = self.steps.len();
        let mut flow = Flow { visits: vec![0.0; n], worked: vec![0.0; n], entering: vec![0.0; n] };
        flow.visits[n - 1] = 1.0;
        for (at, step) in self.steps.iter().enumerate().rev() {
            flow.worked[at] = flow.visits[at] * (1.0 - step.served());
            flow.entering[at] = flow.worked[at] * step.taken;
            for input in &step.inputs {
                flow.visits[input.step] = flow.entering[at] * input.share;
            }
        }
        flow
    }

    /// What one output asks of each step; a call uses at most `cores` cores itself.
    pub fn demands(&self, cores: f64) -> Vec<Demand> {
        let flow = self.visits();
        let each = self.steps.iter().enumerate();
        each.map(|(at, step)| demand(step, flow.visits[at], flow.entering[at], cores)).collect()
    }

    /// The steps before this one, and the step itself.
    pub fn upstream(&self, step: usize) -> Vec<bool> {
        let mut inside = vec![false; self.steps.len()];
        inside[step] = true;
        for at in (0..=step).rev() {
            if inside[at] {
                self.steps[at].inputs.iter().for_each(|it| inside[it.step] = true);
            }
        }
        inside
    }

    /// Whether caches spare the step all work: on the source side of a full cache.
    pub fn stale(&self) -> Vec<bool> {
        self.visits().worked.iter().map(|it| *it <= 1e-12).collect()
    }
}

fn demand(step: &Step, visits: f64, entering: f64, cores: f64) -> Demand {
    let internal = step.internal.min(cores).max(1.0);
    let own = step.ns.value * entering;
    let caches: f64 = step.caches.iter().map(|it| it.share * visits * it.ns).sum();
    let moved = step.caches.iter().map(|it| it.share * visits * it.bytes_moved).sum::<f64>();
    Demand {
        cpu_s: (own + caches) * 1e-9,
        worker_s: (own / internal + caches + step.waits_ns.value * entering) * 1e-9,
        moved: moved + step.bytes_moved * entering,
        origin: (step.ns + step.waits_ns).origin,
    }
}

/// Rejects figures that are negative or no number: nothing after this asks again.
fn sound(step: &Step) -> Result<(), Flaw> {
    let figures = [
        ("taken", step.taken),
        ("CPU time", step.ns.value),
        ("waiting time", step.waits_ns.value),
        ("sequential part", step.serial),
        ("cores per call", step.internal),
        ("cap", step.cap.unwrap_or(1.0)),
        ("bytes read", step.all_reads().map(|it| it.bytes + it.requests).sum()),
        ("bytes moved", step.bytes_moved),
        ("bytes leaving", step.bytes_out.value),
        ("bytes held", step.holds_bytes),
        ("share", step.inputs.iter().map(|it| it.share).sum()),
    ];
    match figures.iter().find(|it| !(it.1 >= 0.0 && it.1.is_finite())) {
        Some((what, value)) => Err(Flaw(format!("{what} of `{}` is {value}", step.name))),
        None => Ok(()),
    }
}

impl TryFrom<Vec<Step>> for Network {
    type Error = Flaw;
    fn try_from(steps: Vec<Step>) -> Result<Self, Flaw> {
        Self::new(steps)
    }
}

impl From<Network> for Vec<Step> {
    fn from(network: Network) -> Self {
        network.steps
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Flaw {}

impl fmt::Display for Varies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Random => "draws random numbers",
            Self::Clock => "reads the clock",
            Self::Unrepeatable => "may return other records each time",
            Self::Reorders => "changes the order each epoch",
        })
    }
}
