//! What a plan will cost and how fast it will be, before anything has run.
//!
//! Operational laws (Denning and Buzen, "The operational analysis of queueing network models",
//! ACM Computing Surveys 10 (1978)): a step takes its time for a record as often as records visit
//! it for each one that leaves the pipeline; the sum over all steps, the demand, shared by all
//! cores, bounds the rate, and so does each step that one thread must do in order.

mod alternatives;
mod measured;
mod memory;
mod outlook;
mod steps;
mod strategies;
mod strategy;

pub use alternatives::{Alternative, best_alternative, out_of_reach};
pub(crate) use measured::name as call_name;
pub use memory::Memory;
pub use model::{Figure, Origin};
pub use outlook::{Counted, Dropped, Outlook, Payback, Predicted, Requests, Seen, View, outlook};
pub use steps::{CallEstimate, Filled, StepEstimate};
pub use strategies::{Axis, Kept, Reversal, Row, Strategies, Turn, strategies};
pub(crate) use strategy::EPOCHS_MAX;
pub use strategy::choose;

use crate::{
    analysis::role::{Role, role},
    lower::{Lowered, lower_known},
    registry::Registry,
};
use plan::{About, Diagnostic, Index, Library, Measured, OpId, Plan};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a pipeline is expected to do on a machine with so many cores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The pipeline's name.
    pub pipeline: String,
    /// The cores that it was made for.
    pub cores: u32,
    /// One for each operator of the plan, sources first.
    pub steps: Vec<StepEstimate>,
    /// Processor time for each record that leaves the pipeline, in nanoseconds.
    pub ns: Figure,
    /// Records that leave it in a second; batches, where it makes such.
    pub rate: Figure,
    /// Rows of a batch, where records leave in batches.
    pub batch_rows: Option<f64>,
    /// What bounds the rate: the place of a step in `steps`.
    pub bottleneck: usize,
    /// Bytes that are held while it runs.
    pub memory: Memory,
    /// Processes that functions outside are called in; 0: the one that runs, one call at a time.
    #[serde(default)]
    pub processes: u32,
}

/// What an estimate is based on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Basis<'a> {
    /// Cores; 0 counts as 1.
    pub cores: u32,
    /// Bytes that a run may take, where that is to be heeded.
    pub memory: Option<u64>,
    /// What was measured, in place of what is assumed.
    pub measured: Option<&'a Measured>,
    /// What the data of its sources is like, as far as that is known.
    pub about: &'a [About],
}

/// Estimates `plan`.
///
/// # Errors
/// What cannot be run as it is written.
pub fn estimate(
    plan: &Plan,
    library: &Library,
    basis: Basis<'_>,
) -> Result<Estimate, Vec<Diagnostic>> {
    let registry = Registry::new(*library);
    // The program is what it is, whatever the data is like.
    let lowered = lower_known(plan, &registry, &|_| String::new())?;
    Ok(estimate_known(plan, &lowered, &registry.with_data(basis.about), basis))
}

/// The same where the program of the plan is known.
pub(crate) fn estimate_known(
    plan: &Plan,
    lowered: &Lowered,
    registry: &Registry,
    basis: Basis<'_>,
) -> Estimate {
    let cores = basis.cores.max(1);
    let measured = basis.measured.filter(|it| it.is_of(&lowered.program));
    let ratios =
        measured.map(|it| measured::ratios(plan, (lowered, registry), it)).unwrap_or_default();
    let mut steps = steps::steps(plan, lowered, registry, (cores, &ratios));
    if let Some(measured) = measured {
        measured::apply(&mut steps, plan, (lowered, registry), measured);
    }
    steps.iter_mut().for_each(StepEstimate::share_calls);
    let ns: Figure = steps.iter().map(|it| it.ns.times(it.visits.value)).sum();
    for step in &mut steps {
        step.share =
            if ns.value > 0.0 { step.ns.value * step.visits.value / ns.value } else { 0.0 };
    }
    let (bottleneck, rate) = bound(&steps, ns.value, cores);
    Estimate {
        pipeline: plan.name.clone(),
        cores,
        ns,
        rate: Figure { value: rate, origin: ns.origin },
        batch_rows: batch_rows(plan, registry, &ratios),
        bottleneck,
        memory: memory::memory(lowered, registry, (cores, basis.memory), (&steps, bottleneck)),
        processes: 0,
        steps,
    }
}

/// The step that bounds the rate, and the records that leave in a second; 0 where nothing costs anything.
fn bound(steps: &[StepEstimate], demand: f64, cores: u32) -> (usize, f64) {
    let own = |i: usize| steps[i].ns.value * steps[i].visits.value;
    let slowest = |all: &mut dyn Iterator<Item = usize>| {
        all.max_by(|&a, &b| own(a).total_cmp(&own(b)).then(b.cmp(&a)))
    };
    let shared = demand / f64::from(cores);
    let serial = |i: usize| own(i) * steps[i].serial;
    let in_order = (0..steps.len()).filter(|&it| steps[it].serial > 0.0);
    let slowest_in_order =
        in_order.max_by(|&a, &b| serial(a).total_cmp(&serial(b)).then(b.cmp(&a)));
    let (at, most) = match slowest_in_order {
        Some(it) if serial(it) > shared => (it, serial(it)),
        _ => (slowest(&mut (0..steps.len())).unwrap_or(0), shared),
    };
    (at, if most > 0.0 { 1e9 / most } else { 0.0 })
}

/// Rows of the batches that leave.
fn batch_rows(plan: &Plan, registry: &Registry, ratios: &BTreeMap<OpId, f64>) -> Option<f64> {
    let mut rows: Vec<Option<f64>> = Vec::with_capacity(plan.ops.len());
    for (id, op) in plan.ops.iter() {
        rows.push(match role(op, registry) {
            Role::Batch { size, .. } => match ratios.get(&id) {
                Some(ratio) => Some(1.0 / ratio.max(1e-9)),
                None => Some(size as f64),
            },
            Role::FlatMap => None,
            _ => op.inputs.first().and_then(|it| rows[it.row()]),
        });
    }
    rows[plan.root.row()]
}

impl Estimate {
    /// The same where functions outside are called in so many processes, each one call at a time.
    #[must_use]
    pub fn with_processes(mut self, processes: u32) -> Self {
        self.processes = processes;
        for step in self.steps.iter_mut().filter(|it| it.parallel && it.calls_outside()) {
            step.serial /= f64::from(processes.max(1));
        }
        (self.bottleneck, self.rate.value) = bound(&self.steps, self.ns.value, self.cores);
        self
    }

    /// Records in a second, counted before they are put into batches.
    pub fn records(&self) -> Figure {
        self.rate.times(self.batch_rows.unwrap_or(1.0))
    }

    /// Bytes of a file that is read, on average; none where no function reads.
    pub fn request_bytes(&self, library: &Library) -> Option<f64> {
        let registry = Registry::new(*library);
        let calls = self.steps.iter().flat_map(|step| step.calls.iter().map(move |it| (step, it)));
        let reading = calls.filter(|(_, it)| registry.reads(&it.name));
        let each = reading.map(|(step, it)| (step.visits.value * it.times, it.bytes.value));
        let (n, bytes) = each.fold((0.0, 0.0), |all, it| (all.0 + it.0, all.1 + it.0 * it.1));
        (n > 0.0 && bytes > 0.0).then(|| bytes / n)
    }

    /// Whether it is better than `other`, or as good: processor time, then memory.
    pub fn at_least_as_good(&self, other: &Self) -> bool {
        // What differs by less than a thousandth is no difference: these are estimates.
        let no_more = |ours: f64, theirs: f64| ours <= theirs * 1.001;
        let memory = no_more(self.memory.records().value, other.memory.records().value);
        self.ns.value < other.ns.value * 0.999 || no_more(self.ns.value, other.ns.value) && memory
    }
}
