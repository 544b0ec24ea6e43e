//! What bounds a pipeline on a machine, and what would help: the estimate as a network of the
//! operational model, solved.

use super::{Estimate, StepEstimate};
use crate::{
    caches::{Budget, Choice},
    lower::{
        catalog::Catalog,
        role::{Role, role},
    },
};
use model::{
    Machine, Network, Solution, Step, Wishes,
    network::{Amount, Count, Input, Pattern, Reads, Varies},
    next::{Help, helps},
    solve,
};
use plan::{Expr, Index, Library, Op, OpKind, Plan};
use serde::Serialize;

/// What a pipeline will do on a machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outlook {
    /// The machine.
    pub machine: Machine,
    /// The steps as the model sees them, in the order of the plan.
    pub network: Network,
    /// The best rate, and what bounds it.
    pub solution: Solution,
    /// What would help, the best first.
    pub helps: Vec<Help>,
    /// Values that could be kept from epoch to epoch, those first that are.
    pub choices: Vec<Choice>,
    /// Values that would be kept whole if there were room for them, and are not.
    pub too_large: Vec<Choice>,
    /// What there is to keep values in, where some could be.
    pub budget: Option<Budget>,
    /// The same where what is kept is full, if something is.
    pub warm: Option<Solution>,
    /// What it takes to fill it, and what that gives back, where the length of an epoch is known.
    pub payback: Option<Payback>,
    /// How fast it was when it was measured, and what was expected of it before.
    pub seen: Option<(Seen, f64)>,
}

/// What it takes to keep values, by the clock.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Payback {
    /// Seconds of an epoch in which nothing is kept.
    pub plain_s: f64,
    /// Seconds of the first epoch, which fills what is kept.
    pub first_s: f64,
    /// Seconds of each later one.
    pub later_s: f64,
}

impl Payback {
    /// Epochs after which all of them together have taken as long as without; none where later
    /// ones are no faster.
    pub fn epochs(&self) -> Option<f64> {
        let saved = self.plain_s - self.later_s;
        let extra = (self.first_s - self.plain_s).max(0.0);
        (saved > self.plain_s * 1e-3).then(|| 1.0 + extra / saved)
    }
}

/// What to look at beside the plan.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// The machine.
    pub machine: Machine,
    /// Values that could be kept.
    pub choices: Vec<Choice>,
    /// Values that would be kept whole if there were room for them, and are not.
    pub too_large: Vec<Choice>,
    /// What there is to keep values in, where some could be.
    pub budget: Option<Budget>,
    /// How fast it was when it was measured.
    pub seen: Option<Seen>,
    /// Records of a pass through each source, in the order of the plan, where they are known.
    pub pass_lens: Vec<Option<u64>>,
}

/// How fast a pipeline was.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Seen {
    /// For so many seconds.
    pub seconds: f64,
    /// Records that left it in a second; batches, where it ends with `batch`.
    pub outputs_per_second: f64,
    /// Threads that computed.
    pub workers: usize,
    /// Cores that others kept busy meanwhile; 0 where nobody knows.
    pub others: f64,
    /// The share of the time that the consumer waited: 0 to 1.
    pub stall: f64,
    /// Bytes of files that were read for an output.
    pub bytes_read: f64,
}

/// Nanoseconds to find a kept value. Assumed: a hash of its key, a look under a lock, a view.
const FIND_NS: f64 = 300.0;

/// What `plan` will do on the machine of `view`; none where its steps are no tree.
pub fn outlook(plan: &Plan, library: &Library, estimate: &Estimate, view: View) -> Option<Outlook> {
    let mut network = network(plan, &Catalog::new(library), &estimate.steps)?;
    let sources = (0..network.steps().len()).filter(|it| network.steps()[*it].inputs.is_empty());
    for (at, len) in sources.collect::<Vec<_>>().into_iter().zip(&view.pass_lens) {
        let amount = len.map_or(Amount::Unknown, |it| Amount::Finite(it as f64));
        network = network.with(at, |step| step.count = Count::Source(amount));
    }
    if let Some(seen) = &view.seen {
        network = reading(network, seen.bytes_read);
    }
    let wishes = Wishes::default();
    let solution = solve(&network, &view.machine, &wishes);
    let warm = warm(&network, plan, &view).map(|it| solve(&it, &view.machine, &wishes));
    let payback = warm.as_ref().and_then(|it| payback(&network, plan, (&view, [&solution, it])));
    let helps = helps(&network, &view.machine, &wishes);
    let View { machine, choices, too_large, budget, seen, .. } = view;
    let seen = seen.and_then(|seen| {
        let cores = (estimate.cores, None);
        let before = super::estimate(plan, library, cores).ok()?;
        let network = self::network(plan, &Catalog::new(library), &before.steps)?;
        Some((seen, solve(&network, &machine, &wishes).rate))
    });
    Some(Outlook {
        machine,
        network,
        solution,
        helps,
        choices,
        too_large,
        budget,
        warm,
        payback,
        seen,
    })
}

/// The plan as the model sees it.
fn network(plan: &Plan, catalog: &Catalog, steps: &[StepEstimate]) -> Option<Network> {
    let mut leaving = vec![0.0; steps.len()];
    leaving[plan.root.row()] = 1.0;
    let mut all: Vec<Step> = vec![Step::default(); steps.len()];
    for (id, op) in plan.ops.iter().rev() {
        let (at, own) = (id.row(), &steps[id.row()]);
        let shares = super::steps::input_shares(op, catalog);
        let inputs = op.inputs.iter().zip(shares);
        let inputs: Vec<Input> =
            inputs.map(|(it, share)| Input { step: it.row(), share }).collect();
        inputs.iter().for_each(|it| leaving[it.step] += own.visits.value * it.share);
        all[at] = step(op, own, (leaving[at], inputs), catalog);
    }
    Network::new(all).ok()
}

fn step(
    op: &Op,
    own: &StepEstimate,
    (leaving, inputs): (f64, Vec<Input>),
    catalog: &Catalog,
) -> Step {
    let is_source = inputs.is_empty();
    let sequential = own.serial > 0.9;
    Step {
        name: own.step.clone(),
        inputs,
        taken: if is_source || leaving <= 0.0 { 1.0 } else { own.visits.value / leaving },
        ns: own.ns,
        segment: sequential.then_some(op.place as u32),
        // As many as keep the thread busy that does the rest in order (Amdahl's law).
        workers_max: (own.serial > 0.0 && !sequential).then(|| (1.0 / own.serial) as u32),
        bytes_out: own.bytes,
        bytes_moved: own.bytes.value * if own.moved { 0.0 } else { 2.0 },
        varies: draws(op).then_some(Varies::Random),
        reads: reads(op, own, catalog),
        count: count(op, own.moved, catalog),
        ..Step::default()
    }
}

/// How many records leave a step. The number of a source is that of a pass, less what it leaves out
/// for the steps that have moved into it.
fn count(op: &Op, moved: bool, catalog: &Catalog) -> Count {
    match role(op, catalog) {
        Role::Source => Count::Source(Amount::Unknown),
        Role::Repeat(n) => Count::Repeat(n),
        Role::Take(n) if !moved => Count::Take(n),
        Role::Zip => Count::Shortest,
        _ => Count::Ratio,
    }
}

fn draws(op: &Op) -> bool {
    op.graph
        .iter()
        .any(|(_, expr, _)| matches!(expr, Expr::Call { draw: Some(_), .. } | Expr::Epoch))
}

/// What a step reads from files: what its calls give that read.
fn reads(op: &Op, own: &StepEstimate, catalog: &Catalog) -> Option<Reads> {
    let (bytes, requests) = match &op.kind {
        OpKind::Source { entry, .. } if entry != "paths" && entry != "range" => {
            (own.bytes.value, 0.0)
        }
        _ => {
            let reading = own.calls.iter().filter(|it| catalog.has_effect(&it.name, "reads"));
            let sum = reading.map(|it| (it.times * it.bytes.value, it.times));
            sum.fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1))
        }
    };
    let reads = Reads { storage: 0, bytes, requests, pattern: Pattern::Random };
    (bytes > 0.0).then_some(reads)
}

/// The network where so many bytes are read for an output: it was counted, step by step it was not.
fn reading(network: Network, bytes: f64) -> Network {
    let reads = |at: &usize| network.steps()[*at].reads.is_some();
    let at = (0..network.steps().len()).find(reads).unwrap_or(0);
    let entering = network.visits().entering[at].max(1e-9);
    let all = 0..network.steps().len();
    let network = all.fold(network, |it, step| it.with(step, |step| step.reads = None));
    let reads =
        Reads { storage: 0, bytes: bytes / entering, requests: 0.0, pattern: Pattern::Random };
    network.with(at, |step| step.reads = (bytes > 0.0).then_some(reads))
}

/// Outputs of an epoch; of one pass, where it has several.
fn epoch(network: &Network) -> Amount {
    let laps = |it: &Step| matches!(it.count, Count::Repeat(_));
    match network.steps().iter().any(laps) {
        true => network.epoch_outputs(),
        false => network.cardinalities()[network.root()],
    }
}

/// What filling takes by the clock, and gives back; beside nothing kept, and all of it full.
fn payback(
    network: &Network,
    plan: &Plan,
    (view, [plain, warm]): (&View, [&Solution; 2]),
) -> Option<Payback> {
    let outputs = epoch(network).finite()?;
    let (mut cold, mut written) = (network.clone(), 0.0);
    let entering = network.visits().entering;
    for choice in view.choices.iter().filter(|it| it.kept) {
        let at = plan.ops.iter().find(|(_, op)| op.step == choice.candidate.step)?.0.row();
        cold = cold.with(at, |step| step.ns.value += choice.fill_ns);
        written += outputs * entering[at] * choice.candidate.bytes.value * choice.disk_share;
    }
    let disk = view.budget.and_then(|it| it.disk);
    // What the system holds back in memory is written behind the later epochs.
    let written_s =
        disk.map_or(0.0, |it| (written - it.write_ahead as f64).max(0.0) * it.write_ns * 1e-9);
    let cold = solve(&cold, &view.machine, &Wishes::default());
    let [plain_s, first_s, later_s] = [plain, &cold, warm].map(|it| outputs / it.rate);
    Some(Payback { plain_s, first_s: first_s.max(written_s), later_s })
}

/// The network once all that is kept is full.
fn warm(network: &Network, plan: &Plan, view: &View) -> Option<Network> {
    let mut warm = network.clone();
    let mut changed = false;
    for choice in view.choices.iter().filter(|it| it.kept) {
        let at = plan.ops.iter().find(|(_, op)| op.step == choice.candidate.step)?.0.row();
        let spared = choice.saves_ns;
        changed = true;
        warm = warm.with(at, |step| {
            step.ns.value = (step.ns.value - spared).max(0.0) + FIND_NS;
        });
        // What is read for it alone is read in a step before.
        if choice.candidate.spares.is_empty() {
            continue;
        }
        let read = (0..at).rev().find(|it| warm.steps()[*it].reads.is_some());
        if let Some(read) = read {
            warm = warm.with(read, |step| {
                step.ns.value *= 1.0 - choice.share;
                step.reads = step.reads.map(|it| Reads {
                    bytes: it.bytes * (1.0 - choice.share),
                    requests: it.requests * (1.0 - choice.share),
                    ..it
                });
            });
        }
    }
    changed.then_some(warm)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_later_pays_for_the_first_epoch() {
        let epochs = |plain_s, first_s, later_s| Payback { plain_s, first_s, later_s }.epochs();
        // 4 s more in the first, 8 s less in each other: all is as without after half of one.
        assert_eq!(epochs(10.0, 14.0, 2.0), Some(1.5));
        assert_eq!(epochs(10.0, 10.0, 2.0), Some(1.0));
        assert_eq!(epochs(10.0, 14.0, 10.0), None);
    }
}
