//! What bounds a pipeline on a machine, and what would help: the estimate as a network of the
//! operational model, solved.

mod requests;
mod tail;

use super::{Basis, Estimate, Origin, StepEstimate};
use crate::{
    analysis::role::{Ends, Role, role},
    caches::{Budget, Choice, Part},
    registry::Registry,
};
use model::{
    Machine, Network, Solution, Step, Wishes,
    network::{Amount, Count, Input, Pattern, Reads, Varies},
    next::{Help, helps},
    solve,
};
use plan::{Expr, Index, Library, Op, OpKind, Plan, Property};
pub use requests::Requests;
use serde::Serialize;
use std::collections::BTreeMap;
use tail::{with_counted, with_tails};

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
    /// The same if there were room for what is too large.
    pub with_room: Option<Solution>,
    /// What it takes to fill it, and what that gives back, where the length of an epoch is known.
    pub payback: Option<Payback>,
    /// Where the number of records that leave each step comes from: `measured` is about so many,
    /// `assumed` is a guess.
    pub counts: Vec<Origin>,
    /// Records at the end of an epoch that are computed for nothing.
    pub dropped: Vec<Dropped>,
    /// How fast it was when it was measured, and what is predicted for that.
    pub seen: Option<(Seen, Predicted)>,
}

/// Records that come to a `batch` and are too few for one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Dropped {
    /// The step.
    pub step: String,
    /// How many they are in an epoch.
    pub records: f64,
    /// Of how many that reach it.
    pub of: f64,
    /// How sure that is: exact, or about so many.
    pub origin: Origin,
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
    /// Values that the disk of it holds already: see [`crate::caches::Occasion::filled`].
    pub filled: BTreeMap<u64, u64>,
    /// Those that runs with this disk keep there, and no others, by their names too; none where any may be kept.
    pub only: Vec<u64>,
    /// How fast it was when it was measured, and the machine as it was then.
    pub seen: Option<(Seen, Machine)>,
    /// Records of a pass through each source, in the order of the plan, where they are known.
    pub pass_lens: Vec<Option<u64>>,
    /// Records that leave steps of which the lengths of the sources do not tell, where they were counted.
    pub counted: Vec<Counted>,
    /// The storage that each source lies on, where it is known.
    pub storages: Vec<Option<usize>>,
}

/// Records that leave a step in an epoch, as they were counted.
#[derive(Debug, Clone, PartialEq)]
pub struct Counted {
    /// The step.
    pub step: String,
    /// The records of one epoch.
    pub records: u64,
    /// Whether other epochs have others.
    pub varies: bool,
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
    /// Bytes of files that were read while its steps were measured.
    pub bytes_read: f64,
    /// The share of the cores that it could use which it kept busy: 0 to 1; none where nobody knows.
    pub cpu_use: Option<f64>,
}

/// What is predicted for a run that was measured, on the machine that it ran on: outputs in a
/// second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Predicted {
    /// With what was measured of its steps.
    pub measured: f64,
    /// With what is assumed of them.
    pub assumed: f64,
    /// Whether it ran on the machine that is looked at, with a consumer that only takes.
    pub here: bool,
}

/// Nanoseconds to find a kept value. Assumed: a hash of its key, a look under a lock, a view.
const FIND_NS: f64 = 300.0;
/// Nanoseconds a byte of it, which comes from memory, where one that was just made lies in a cache.
/// Assumed: pictures of 600 kB on a Zen 5, of which two fifths are used, each row asked for before it is
/// read; twice as much where they are not.
const FOUND_NS: f64 = 0.015;

/// What `plan` will do on the machine of `view`; none where its steps are no tree.
pub fn outlook(plan: &Plan, library: &Library, estimate: &Estimate, view: View) -> Option<Outlook> {
    let (network, dropped, counts) = observed(plan, library, (estimate, &view))?;
    let wishes = Wishes::default();
    let solution = solve(&network, &view.machine, &wishes);
    let kept: Vec<&Choice> = view.choices.iter().filter(|it| it.kept).collect();
    let disk = view.budget.and_then(|it| it.disk);
    let storage = disk.map_or(0, |it| it.storage);
    let full = |kept: &[&Choice]| {
        let network = (!kept.is_empty()).then(|| warm(&network, plan, (kept, storage)))?;
        Some(solve(&network, &view.machine, &wishes))
    };
    let warm = full(&kept);
    let with_room = (!view.too_large.is_empty()).then(|| full(&roomy(&kept, &view.too_large)));
    let with_room = with_room.flatten();
    let payback = warm.as_ref().and_then(|it| payback(&network, plan, (&view, [&solution, it])));
    let helps = helps(&network, &view.machine, &wishes);
    let View { machine, choices, too_large, budget, seen, storages, .. } = view;
    let seen = seen.and_then(|(seen, then)| {
        let before =
            super::estimate(plan, library, Basis { cores: estimate.cores, ..Basis::default() })
                .ok()?;
        let before = self::network(plan, &Registry::new(*library), of(&before))?;
        let rate = |network: &Network| solve(network, &then, &wishes).rate;
        let (measured, assumed) = (rate(&network), rate(&placed(before, &storages)));
        // How much may be kept is no matter of a run that keeps nothing.
        let here = Machine { memory_bytes: then.memory_bytes, ..machine.clone() } == then;
        Some((seen, Predicted { measured, assumed, here }))
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
        with_room,
        payback,
        counts,
        dropped,
        seen,
    })
}

/// The network as `view` has it: so many records, read from these storages; what is dropped at the end of an epoch, and how
/// sure the number of records of each step is.
pub(super) fn observed(
    plan: &Plan,
    library: &Library,
    (estimate, view): (&Estimate, &View),
) -> Option<(Network, Vec<Dropped>, Vec<Origin>)> {
    let mut network = network(plan, &Registry::new(*library), of(estimate))?;
    for (at, len) in sources(&network).into_iter().zip(&view.pass_lens) {
        let amount = len.map_or(Amount::Unknown, |it| Amount::Finite(it as f64));
        network = network.with(at, |step| step.count = Count::Source(amount));
    }
    network = with_counted(network, plan, &view.counted);
    let registry = Registry::new(*library);
    let counts = tail::origins(&network, (plan, &registry), (&estimate.steps, &view.counted));
    let (with_tails, dropped) = with_tails(network, plan, (&registry, &counts));
    network = with_tails;
    if let Some((seen, _)) = &view.seen {
        network = reading(network, &estimate.steps, seen);
    }
    Some((placed(network, &view.storages), dropped, counts))
}

/// The steps, and what each worker computes with.
fn of(estimate: &Estimate) -> (&[StepEstimate], f64) {
    (&estimate.steps, estimate.memory.each_worker.value)
}

/// The plan as the model sees it.
fn network(
    plan: &Plan,
    registry: &Registry,
    (steps, worker_bytes): (&[StepEstimate], f64),
) -> Option<Network> {
    let mut leaving = vec![0.0; steps.len()];
    leaving[plan.root.row()] = 1.0;
    let mut all: Vec<Step> = vec![Step::default(); steps.len()];
    for (id, op) in plan.ops.iter().rev() {
        let (at, own) = (id.row(), &steps[id.row()]);
        let shares = super::steps::input_shares(op, registry);
        let inputs = op.inputs.iter().zip(shares);
        let inputs: Vec<Input> =
            inputs.map(|(it, share)| Input { step: it.row(), share }).collect();
        inputs.iter().for_each(|it| leaving[it.step] += own.visits.value * it.share);
        let inputs = (leaving[at], inputs);
        all[at] = Step { worker_bytes, ..step(op, own, inputs, registry) };
    }
    Network::new(all).ok()
}

fn step(
    op: &Op,
    own: &StepEstimate,
    (leaving, inputs): (f64, Vec<Input>),
    registry: &Registry,
) -> Step {
    let is_source = inputs.is_empty();
    // What another thread could do meanwhile is too little to be told.
    let sequential = own.serial > 0.99;
    // All functions outside wait for the same lock, or for the same process.
    let segment = if own.calls_outside() { u32::MAX } else { op.place as u32 };
    let taken = if is_source || leaving <= 0.0 { 1.0 } else { own.visits.value / leaving };
    Step {
        name: own.step.clone(),
        inputs,
        taken,
        ns: own.ns,
        segment: sequential.then_some(segment),
        serial: if sequential { 0.0 } else { own.serial },
        bytes_out: own.bytes,
        // Written once and read once; for each record entering, of which several may go into one.
        bytes_moved: if own.moved { 0.0 } else { 2.0 * own.bytes.value / taken.max(1e-9) },
        varies: draws(op).then_some(Varies::Random),
        reads: reads(op, own, registry),
        count: count(op, own, registry),
        filled_by: own.filled_by.clone(),
        spread: own.spread,
        ..Step::default()
    }
}

/// How many records leave it.
fn count(op: &Op, own: &StepEstimate, registry: &Registry) -> Count {
    match role(op, registry) {
        Role::Source => Count::Source(Amount::Unknown),
        Role::Take(n) => Count::Take(n),
        // What the source leaves out itself is in no count of its records.
        Role::Skip(n) if !own.moved => Count::Skip(n),
        Role::Repeat(n) => Count::Repeat(n),
        Role::Merge(Ends::Never) => Count::Repeat(None),
        // The first stream alone has a share in the records of a join.
        Role::Zip | Role::Join { .. } | Role::Merge(Ends::First) => Count::Shortest,
        _ => Count::Ratio,
    }
}

fn draws(op: &Op) -> bool {
    op.graph
        .iter()
        .any(|(_, expr, _)| matches!(expr, Expr::Call { draw: Some(_), .. } | Expr::Epoch))
}

/// What a step reads from files: what its calls give that read.
fn reads(op: &Op, own: &StepEstimate, registry: &Registry) -> Option<Reads> {
    let (bytes, requests) = match &op.kind {
        OpKind::Source { entry, .. } if reads_files(entry, registry) => (own.bytes.value, 0.0),
        _ => {
            let reading = own.calls.iter().filter(|it| registry.reads(&it.name));
            let sum = reading.map(|it| (it.times * it.bytes.value, it.times));
            sum.fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1))
        }
    };
    let reads = Reads { storage: 0, bytes, requests, pattern: Pattern::Random };
    (bytes > 0.0).then_some(reads)
}

fn reads_files(source: &str, registry: &Registry) -> bool {
    registry.source(source).is_some_and(|it| it.has(Property::ReadsFiles))
}

/// The steps that read no other.
fn sources(network: &Network) -> Vec<usize> {
    let steps = network.steps().iter().enumerate();
    steps.filter(|it| it.1.inputs.is_empty()).map(|it| it.0).collect()
}

/// The network where as many bytes are read as were counted: all of them together, not step by step.
fn reading(network: Network, steps: &[StepEstimate], seen: &Seen) -> Network {
    let entering = network.visits().entering;
    let outputs = seen.seconds * seen.outputs_per_second;
    let reads = |at: usize| network.steps()[at].reads.map_or(0.0, |it| it.bytes);
    // What entered a step is what it has read for: of what left at the end, some was read before.
    let entered = |at: usize| match steps[at].entered {
        0.0 => outputs * entering[at],
        entered => entered,
    };
    let all: f64 = (0..entering.len()).map(|at| reads(at) * entered(at)).sum();
    if all <= 0.0 && seen.bytes_read > 0.0 {
        // Who has read nobody says: the steps behind the sources, which run ahead of them. What has left
        // may have waited for what is before it.
        let behind = (0..entering.len()).filter(|it| !network.steps()[*it].inputs.is_empty());
        let counted = behind.filter(|it| steps[*it].entered > 0.0);
        let passes = counted.map(|at| steps[at].entered / entering[at].max(1e-9));
        let passes = passes.reduce(f64::max).unwrap_or(outputs);
        let bytes = seen.bytes_read / (passes * entering[0]).max(1e-9);
        let reads = Reads { storage: 0, bytes, requests: 0.0, pattern: Pattern::Random };
        return network.with(0, |step| step.reads = Some(reads));
    }
    let as_counted = |it: Reads| Reads { bytes: it.bytes * seen.bytes_read / all, ..it };
    (0..entering.len()).fold(network, |network, at| {
        network.with(at, |step| step.reads = step.reads.map(as_counted).filter(|it| it.bytes > 0.0))
    })
}

/// The network where each step reads from the storage that its source lies on.
fn placed(network: Network, storages: &[Option<usize>]) -> Network {
    let sources = sources(&network);
    (0..network.steps().len()).fold(network, |network, at| {
        let above = network.upstream(at);
        let own = sources.iter().zip(storages).find(|it| above[*it.0]);
        // What nobody told of is no storage of any machine.
        let storage = own.and_then(|it| *it.1).unwrap_or(usize::MAX);
        network.with(at, |step| step.reads = step.reads.map(|it| Reads { storage, ..it }))
    })
}

/// Outputs of an epoch; of one pass, where it has several.
pub(super) fn epoch(network: &Network) -> Amount {
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
        let at = place(plan, &choice.candidate.step)?;
        cold = filling(&cold, plan, choice);
        let values = entering[at] * choice.candidate.made;
        written += outputs * values * choice.written_bytes();
    }
    let disk = view.budget.and_then(|it| it.disk);
    // What the system holds back in memory is written behind the later epochs.
    let written_s = disk.map_or(0.0, |it| {
        (written - it.write_ahead as f64).max(0.0) * it.write_ns(&view.machine) * 1e-9
    });
    let cold = solve(&cold, &view.machine, &Wishes::default());
    let [plain_s, first_s, later_s] = [plain, &cold, warm].map(|it| outputs / it.rate);
    Some(Payback { plain_s, first_s: first_s.max(written_s), later_s })
}

/// What would be kept if there were room for what is too large: of a step that, and nothing else.
fn roomy<'a>(kept: &[&'a Choice], too_large: &'a [Choice]) -> Vec<&'a Choice> {
    let is_elsewhere =
        |it: &&&Choice| !too_large.iter().any(|wish| wish.candidate.excludes(&it.candidate));
    too_large.iter().chain(kept.iter().filter(is_elsewhere).copied()).collect()
}

/// Where a step stands in the network.
fn place(plan: &Plan, step: &str) -> Option<usize> {
    plan.ops.iter().find(|(_, op)| op.step == step).map(|it| it.0.row())
}

/// The network in the first epoch, which puts the values of `choice` where they are kept, and finds none.
pub(super) fn filling(network: &Network, plan: &Plan, choice: &Choice) -> Network {
    match place(plan, &choice.candidate.step) {
        Some(at) => {
            let ns = choice.fill_ns * choice.candidate.made;
            network.with(at, |step| step.ns.value += ns)
        }
        None => network.clone(),
    }
}

/// The network once all that is kept is full; what is on disk lies on this storage.
pub(super) fn warm(
    network: &Network,
    plan: &Plan,
    (kept, storage): (&[&Choice], usize),
) -> Network {
    let place = |step: &str| place(plan, step);
    kept.iter().fold(network.clone(), |network, choice| {
        let (candidate, hits) = (&choice.candidate, choice.hits());
        let less = |network: Network, part: &Part| match place(&part.step) {
            Some(at) => {
                network.with(at, |it| it.ns.value = (it.ns.value - part.ns * hits).max(0.0))
            }
            None => network,
        };
        let network = candidate.parts.iter().fold(network, less);
        let network = match place(&candidate.step) {
            Some(at) => {
                let memory = choice.share * candidate.made * candidate.bytes.value;
                let disk = candidate.made * choice.read_bytes();
                let ns = FIND_NS + memory * FOUND_NS + candidate.made * choice.found_ns();
                let values = choice.only_on_disk() * candidate.made;
                network.with(at, |it| {
                    it.ns.value += ns;
                    // Several values of a step lie in one folder.
                    let before = it.kept.unwrap_or_else(|| nothing_from(storage));
                    let (bytes, requests) = (before.bytes + disk, before.requests + values);
                    it.kept = (bytes > 0.0).then_some(Reads { bytes, requests, ..before });
                })
            }
            None => network,
        };
        let spared = candidate.spares.iter().map(|it| &it.step);
        let own = candidate.reads.then_some(&candidate.step);
        let reading = spared.chain(own).filter_map(|it| place(it));
        reading.fold(network, |network, at| {
            network.with(at, |it| it.reads = part_of(it.reads, 1.0 - hits))
        })
    })
}

fn nothing_from(storage: usize) -> Reads {
    Reads { storage, bytes: 0.0, requests: 0.0, pattern: Pattern::Random }
}

fn part_of(reads: Option<Reads>, part: f64) -> Option<Reads> {
    reads.map(|it| Reads { bytes: it.bytes * part, requests: it.requests * part, ..it })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        analysis::bed::{Bed, Cells, LIBRARY, picture},
        caches::{Occasion, candidates},
        estimate::{choose, estimate},
    };
    use plan::{Arg, DType, ExprId, StageId, Type};

    fn view(pass_lens: &[u64], choices: Vec<Choice>) -> View {
        let pass_lens = pass_lens.iter().copied().map(Some).collect();
        let machine = Machine::new(16.0, 1e9);
        View {
            machine,
            choices,
            too_large: Vec::new(),
            budget: None,
            filled: BTreeMap::new(),
            only: Vec::new(),
            seen: None,
            pass_lens,
            counted: Vec::new(),
            storages: Vec::new(),
        }
    }

    /// The outlook of `plan` where this was changed in its estimate.
    fn looked(plan: &Plan, view: View, change: impl FnOnce(&mut [StepEstimate])) -> Outlook {
        let mut estimate =
            estimate(plan, &LIBRARY, Basis { cores: 16, ..Basis::default() }).unwrap();
        change(&mut estimate.steps);
        outlook(plan, &LIBRARY, &estimate, view).unwrap()
    }

    #[test]
    fn a_batch_goes_through_the_memory_once_whatever_it_holds() {
        let mut bed = Bed::default();
        let range = bed.range();
        let root = bed.batch(range, 128);
        let found = looked(&bed.plan(root), view(&[], Vec::new()), |_| {});
        // 128 numbers of 8 bytes, written and read: at the source each, at the batch all.
        let moved: Vec<f64> = found.network.demands(16.0).iter().map(|it| it.moved).collect();
        assert_eq!(moved, [2048.0, 2048.0]);
    }

    #[test]
    fn what_is_done_in_order_in_part_bounds_by_that_part() {
        let mut bed = Bed::default();
        let range = bed.range();
        let root = bed.batch(range, 1);
        let found = looked(&bed.plan(root), view(&[], Vec::new()), |steps| {
            (steps[1].ns, steps[1].serial) = (super::super::Figure::exact(1e6), 0.55);
        });
        assert!((found.solution.rate - 1e3 / 0.55).abs() < 1e-6, "{}", found.solution.rate);
    }

    fn counts(root: impl FnOnce(&mut Bed) -> plan::OpId, pass_lens: &[u64]) -> Amount {
        let mut bed = Bed::default();
        let root = root(&mut bed);
        let found = looked(&bed.plan(root), view(pass_lens, Vec::new()), |_| {});
        *found.network.cardinalities().last().unwrap()
    }

    #[test]
    fn an_epoch_has_as_many_records_as_its_operators_let_through() {
        let in_order = |bed: &mut Bed| {
            let range = bed.range();
            bed.operator("shuffle", range, &[Arg::Int(10)])
        };
        let joined = |bed: &mut Bed| {
            let inputs = [bed.range(), bed.range()];
            bed.zip(inputs)
        };
        let of = |name: &'static str, n: Arg| {
            move |bed: &mut Bed| {
                let input = in_order(bed);
                bed.operator(name, input, &[n])
            }
        };
        let first = |bed: &mut Bed| {
            let range = bed.range();
            let batch = bed.batch(range, 32);
            bed.operator("take", batch, &[Arg::Int(2)])
        };
        let laps = |n: Arg| {
            move |bed: &mut Bed| {
                let range = bed.range();
                bed.operator("repeat", range, &[n])
            }
        };
        let left = |bed: &mut Bed| {
            let range = bed.range();
            bed.operator("skip", range, &[Arg::Int(7)])
        };
        let batches = |bed: &mut Bed| {
            let range = bed.range();
            bed.batch(range, 32)
        };
        // The last four of them make no batch.
        assert_eq!(counts(batches, &[100]), Amount::Finite(3.0));
        assert_eq!(counts(joined, &[100, 100]), Amount::Finite(100.0));
        assert_eq!(counts(of("take", Arg::Int(5)), &[100]), Amount::Finite(5.0));
        assert_eq!(counts(of("skip", Arg::Int(5)), &[100]), Amount::Finite(95.0));
        assert_eq!(counts(first, &[100]), Amount::Finite(2.0));
        assert_eq!(counts(laps(Arg::Int(3)), &[100]), Amount::Finite(300.0));
        assert_eq!(counts(laps(Arg::None), &[100]), Amount::Infinite);
        // The source skips them: they are no part of its pass.
        assert_eq!(counts(left, &[93]), Amount::Finite(93.0));
    }

    /// What is dropped at the end of an epoch of 1,000 records, where these filters were counted.
    fn dropped(
        root: impl FnOnce(&mut Bed) -> plan::OpId,
        counted: &[(&str, u64, bool)],
    ) -> Vec<Dropped> {
        let mut bed = Bed::default();
        let root = root(&mut bed);
        let mut view = view(&[1_000], Vec::new());
        let one = |(step, records, varies): &(&str, u64, bool)| Counted {
            step: (*step).to_owned(),
            records: *records,
            varies: *varies,
        };
        view.counted = counted.iter().map(one).collect();
        looked(&bed.plan(root), view, |_| {}).dropped
    }

    #[test]
    fn a_tail_is_of_the_records_that_reach_the_batch() {
        let filtered = |bed: &mut Bed| {
            let range = bed.range();
            let odd = bed.keep(range, |it| {
                let i = it.field("i");
                it.is_even(i)
            });
            bed.batch(odd, 128)
        };
        let tail = |records, of, origin| {
            vec![Dropped { step: "p.batch#2".to_owned(), records, of, origin }]
        };
        // Nobody knows how many pass: nothing is said.
        assert_eq!(dropped(filtered, &[]), []);
        assert_eq!(
            dropped(filtered, &[("p.where#1", 977, false)]),
            tail(81.0, 977.0, Origin::Exact)
        );
        assert_eq!(
            dropped(filtered, &[("p.where#1", 977, true)]),
            tail(81.0, 977.0, Origin::Measured)
        );
        // None passes, so none is dropped.
        assert_eq!(dropped(filtered, &[("p.where#1", 0, false)]), []);
        let plain = |bed: &mut Bed| {
            let range = bed.range();
            bed.batch(range, 128)
        };
        let found = dropped(plain, &[]);
        assert_eq!((found[0].records, found[0].origin), (104.0, Origin::Exact));
    }

    /// A second in which so many outputs came, and so many bytes were read.
    fn seen(outputs_per_second: f64, bytes_read: f64) -> Seen {
        Seen {
            seconds: 1.0,
            outputs_per_second,
            workers: 1,
            others: 0.0,
            stall: 0.0,
            bytes_read,
            cpu_use: None,
        }
    }

    #[test]
    fn bytes_are_those_of_the_records_that_they_were_read_for() {
        let mut bed = Bed::default();
        let files = bed.files();
        let read = bed.map(files, |it| vec![("bytes", it.read())]);
        let plan = bed.plan(read);
        let mut view = view(&[], Vec::new());
        view.machine.storages = vec![model::Storage::flat("a", 1e6)];
        view.storages = vec![Some(0)];
        // Of the 100 records that left, 20 had been read before.
        view.seen = Some((seen(100.0, 8e5), Machine::new(1.0, 1e9)));
        let rate = looked(&plan, view, |steps| steps[1].entered = 80.0).solution.rate;
        assert!((rate - 100.0).abs() < 0.1, "{rate}");
    }

    #[test]
    fn what_nobody_says_to_have_read_was_read_behind_the_source() {
        let mut bed = Bed::default();
        let range = bed.range();
        let twice = bed.twice(range);
        let plan = bed.plan(twice);
        let mut view = view(&[], Vec::new());
        view.machine.storages = vec![model::Storage::flat("a", 1e6)];
        view.storages = vec![Some(0)];
        view.seen = Some((seen(170.0, 8e5), Machine::new(1.0, 1e9)));
        // The source has run ahead, and ten more leave that had come before.
        let entered = |steps: &mut [StepEstimate]| {
            (steps[0].entered, steps[1].entered) = (1000.0, 80.0);
        };
        let rate = looked(&plan, view, entered).solution.rate;
        // 10 kB for each that entered, of which two leave.
        assert!((rate - 200.0).abs() < 0.1, "{rate}");
    }

    #[test]
    fn a_run_that_was_measured_is_held_against_the_machine_of_that_time() {
        let mut bed = Bed::default();
        let range = bed.range();
        let plan = bed.plan(range);
        let mut view = view(&[], Vec::new());
        view.seen = Some((seen(1.0, 0.0), Machine::new(1.0, 1e9)));
        view.machine.consumer = model::Consumer { seconds: Some(10.0) };
        let found = looked(&plan, view, |steps| steps[0].ns = super::super::Figure::exact(1e6));
        let predicted = found.seen.unwrap().1;
        assert!(!predicted.here);
        assert!((found.solution.rate - 0.1).abs() < 1e-9);
        assert!((predicted.measured - 1e3).abs() < 1e-6, "{predicted:?}");
    }

    #[test]
    fn each_source_is_read_from_its_own_storage() {
        let mut bed = Bed::default();
        let read = |bed: &mut Bed| {
            let files = bed.files();
            bed.map(files, |it| vec![("bytes", it.read())])
        };
        let inputs = [read(&mut bed), read(&mut bed)];
        let root = bed.zip(inputs);
        let mut view = view(&[], Vec::new());
        view.machine.storages = ["a", "b"].map(|it| model::Storage::flat(it, 1e6)).to_vec();
        view.storages = vec![Some(0), Some(1)];
        let plan = bed.plan(root);
        let both = looked(&plan, view.clone(), |_| {}).solution.rate;
        view.storages = vec![Some(0), Some(0)];
        let one = looked(&plan, view.clone(), |_| {}).solution.rate;
        assert!((both / one - 2.0).abs() < 1e-6, "{both} {one}");
        view.storages = vec![Some(1), None];
        assert_eq!(looked(&plan, view, |_| {}).solution.rate, both);
    }

    #[test]
    fn requests_to_a_far_storage_follow_from_its_latency() {
        let mut bed = Bed::default();
        let files = bed.files();
        let root = bed.map(files, |it| vec![("bytes", it.read())]);
        let plan = bed.plan(root);
        let of = |latency_s: f64| {
            let mut view = view(&[], Vec::new());
            view.storages = vec![Some(0)];
            view.machine.storages = vec![model::Storage::far("s3://", (latency_s, 1000), None)];
            // A millisecond of a core for each: 16,000 in a second.
            looked(&plan, view, |steps| steps[1].ns = super::super::Figure::exact(1e6))
        };
        let under_way = |it: &Outlook| it.requests()[0].under_way;
        // 16, a quarter more, and as many for each of 16 readers.
        let quick = of(1e-3);
        assert_eq!((under_way(&quick), quick.solution.bounds[0].limit), (32, solve::Limit::Cpu));
        // 480 would be needed.
        let slow = of(30e-3);
        assert_eq!(under_way(&slow), 256);
        assert!((slow.solution.rate - 256.0 / 30e-3).abs() < 1e-6, "{}", slow.solution.rate);
        assert_eq!(slow.solution.bounds[0].limit, solve::Limit::Storage(0));
    }

    #[test]
    fn what_is_kept_spares_each_step_its_own_part() {
        let mut bed = Bed::default();
        let files = bed.files();
        let bytes = bed.map(files, |it| vec![("bytes", it.read())]);
        let image = bed.map(bytes, |it| {
            let bytes = it.field("bytes");
            vec![("image", it.decoded(bytes))]
        });
        let small = |it: &mut Cells| -> ExprId {
            let args = [Arg::Expr(it.field("image")), Arg::Int(64)];
            it.call("resize", &args, picture())
        };
        let small = bed.map(image, |it| vec![("image", small(it))]);
        let root = bed.map(small, |it| {
            let image = it.field("image");
            vec![("flat", it.of("flip_x", image, Type::tensor(DType::U8, &[64, 64, 3])))]
        });
        let plan = bed.plan(root);
        let all = candidates(&plan, &LIBRARY, (None, 2_000.0)).unwrap();
        let resized: Vec<_> = all.into_iter().filter(|it| it.function == "resize").collect();
        let pass_lens = [(StageId(0), 100)].into();
        let occasion = Occasion { pass_lens, passes: 9.0, room: 1 << 40, ..Occasion::default() };
        let costs = estimate(&plan, &LIBRARY, Basis { cores: 2, ..Basis::default() }).unwrap();
        let found = (resized, &occasion);
        let choices = choose(&plan, &LIBRARY, (&costs, &view(&[100], Vec::new())), found);
        assert!(choices[0].kept && !choices[0].candidate.spares.is_empty(), "{choices:?}");
        let found = (FIND_NS + FOUND_NS * choices[0].candidate.bytes.value).round();
        let warm = {
            let network = network(&plan, &Registry::new(LIBRARY), (&costs.steps, 0.0)).unwrap();
            warm(&network, &plan, (&choices.iter().collect::<Vec<_>>(), 0))
        };
        let ns: Vec<f64> = warm.steps().iter().map(|it| it.ns.value.round()).collect();
        // The list of the files, nothing read or decoded, a value found, and what follows.
        assert_eq!(ns[..4], [100.0, 0.0, 0.0, found], "{ns:?}");
        assert!(warm.steps()[1].reads.is_none_or(|it| it.bytes == 0.0));
    }

    #[test]
    fn what_is_saved_later_pays_for_the_first_epoch() {
        let epochs = |plain_s, first_s, later_s| Payback { plain_s, first_s, later_s }.epochs();
        // 4 s more in the first, 8 s less in each other: all is as without after half of one.
        assert_eq!(epochs(10.0, 14.0, 2.0), Some(1.5));
        assert_eq!(epochs(10.0, 10.0, 2.0), Some(1.0));
        assert_eq!(epochs(10.0, 14.0, 10.0), None);
    }
}
