//! What each step of a plan costs: the operators as they are written, and the calls within them.

use super::{Figure, Origin};
use crate::{
    analysis::{
        cost::Prices,
        flow,
        live::values,
        role::{Role, packed, role},
        size,
    },
    lower::Lowered,
    registry::Registry,
};
use plan::{
    Arg, Code, Expr, ExprId, FOREIGN, Field, ForeignSource, IdVec, Index, Op, OpId, OpKind, Plan,
    Property, StageId, called,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One operator of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepEstimate {
    /// Its stable name, such as `train.map#1`.
    pub step: String,
    /// Records that enter it, or that a source makes, for each record that leaves the pipeline.
    pub visits: Figure,
    /// Processor time for each of those, in nanoseconds.
    pub ns: Figure,
    /// Bytes of a record that leaves it.
    pub bytes: Figure,
    /// Its share of the processor time of the pipeline.
    pub share: f64,
    /// Whether several threads can work in it at once.
    pub parallel: bool,
    /// The share of its time that one thread must do in order: 0 to 1.
    pub serial: f64,
    /// Threads that work in it, at the most.
    pub workers: u32,
    /// Whether its source does what it says, so that it costs nothing here.
    pub moved: bool,
    /// Records that entered it while it was measured; 0 where it was not.
    #[serde(default)]
    pub entered: f64,
    /// The variance of the time that records take the stage which does it, over the square of its mean; 0 where
    /// it was not measured.
    #[serde(default)]
    pub spread: f64,
    /// What it calls for each record, the dearest first.
    pub calls: Vec<CallEstimate>,
    /// Of a `batch` that several workers write into: the steps that do, by their places.
    #[serde(default)]
    pub filled_by: Vec<usize>,
    /// Where it pads, how much of what leaves it is of records, if that is known.
    #[serde(default)]
    pub filled: Option<Filled>,
}

/// How much of what leaves a step is of records, and not padding.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Filled {
    /// Elements of records in one that leaves it, such as the tokens of a sequence.
    pub elements: Figure,
    /// The share of all of its elements that these are, 0 to 1.
    pub share: Figure,
}

/// A function within a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallEstimate {
    /// Its name; `arithmetic` and `copy` are the compiler's own.
    pub name: String,
    /// How often it is called for each record that enters the step, on average.
    pub times: f64,
    /// Processor time for each record that enters the step, in nanoseconds.
    pub ns: Figure,
    /// Bytes of what it gives, for one call.
    pub bytes: Figure,
    /// Its share of the processor time of the step.
    pub share: f64,
    /// Whether one thread calls it at a time.
    #[serde(default)]
    pub alone: bool,
}

/// The steps of `plan`, in the order of its operators.
pub(super) fn steps(
    plan: &Plan,
    lowered: &Lowered,
    registry: &Registry,
    (cores, ratios): (u32, &BTreeMap<OpId, f64>),
) -> Vec<StepEstimate> {
    let visits = visits(plan, (registry, lowered), ratios);
    let mut known = Known { plan, lowered, registry, bytes: IdVec::new() };
    let mut steps = Vec::with_capacity(plan.ops.len());
    for (id, op) in plan.ops.iter() {
        let (bytes, calls) = known.step(id, op);
        known.bytes.push(bytes);
        let moved = lowered.moved.gone.contains(&id);
        let parallel = moved || is_parallel(op, registry);
        let ns: Figure = if moved { Figure::ZERO } else { calls.iter().map(|it| it.ns).sum() };
        steps.push(StepEstimate {
            step: op.step.clone(),
            visits: visits[id],
            ns,
            bytes: known.bytes[id].iter().copied().sum(),
            share: 0.0,
            parallel,
            serial: if parallel { alone(&calls) } else { 1.0 },
            workers: if moved {
                0
            } else if parallel {
                cores
            } else {
                1
            },
            moved,
            entered: 0.0,
            spread: 0.0,
            calls: if moved { Vec::new() } else { calls },
            filled_by: known.filled_by(id),
            filled: full(op, registry),
        });
    }
    steps
}

/// What is filled to the end by what it is: sequences of records that are cut.
fn full(op: &Op, registry: &Registry) -> Option<Filled> {
    let packed = packed(op, registry).filter(|it| it.is_full)?;
    let elements = packed.lengths.iter().map(|it| it.1 as f64).sum();
    Some(Filled { elements: Figure::exact(elements), share: Figure::exact(1.0) })
}

impl CallEstimate {
    /// Whether it is of a function or a source outside, which one thread calls at a time.
    pub fn is_outside(&self) -> bool {
        self.name.strip_prefix(FOREIGN).is_some_and(|it| it.starts_with(' '))
    }
}

/// The share of these calls' time that those take which one thread makes at a time.
fn alone(calls: &[CallEstimate]) -> f64 {
    let ns = |all: &mut dyn Iterator<Item = &CallEstimate>| all.map(|it| it.ns.value).sum::<f64>();
    let all = ns(&mut calls.iter());
    if all > 0.0 { ns(&mut calls.iter().filter(|it| it.alone)) / all } else { 0.0 }
}

/// Operators put records together in order; all else is done by any worker.
fn is_parallel(op: &Op, registry: &Registry) -> bool {
    match &op.kind {
        OpKind::Source { entry, .. } => {
            registry.source(entry).is_some_and(|it| it.has(Property::Indexed))
        }
        OpKind::Operator { .. } => false,
        OpKind::Map { .. } | OpKind::Where { .. } | OpKind::FlatMap { .. } => true,
    }
}

impl StepEstimate {
    /// Threads that can work in it at once, of those that it has: fewer where a part is done in order.
    pub fn hands(&self) -> f64 {
        // A source that gives its index alone has no workers of its own.
        let workers = if self.parallel { f64::from(self.workers.max(1)) } else { 1.0 };
        if self.serial > 0.0 { workers.min(1.0 / self.serial) } else { workers }
    }

    /// Whether it calls a function or reads a source outside.
    pub fn calls_outside(&self) -> bool {
        self.calls.iter().any(CallEstimate::is_outside)
    }

    /// Says which share of its time each call takes, and puts the dearest first.
    pub(super) fn share_calls(&mut self) {
        let ns = self.ns.value;
        for call in &mut self.calls {
            call.share = if ns > 0.0 { call.ns.value / ns } else { 0.0 };
        }
        let order = |a: &CallEstimate, b: &CallEstimate| {
            b.ns.value.total_cmp(&a.ns.value).then_with(|| a.name.cmp(&b.name))
        };
        self.calls.sort_by(order);
    }
}

struct Known<'a> {
    plan: &'a Plan,
    lowered: &'a Lowered,
    registry: &'a Registry,
    /// Bytes of the fields that leave each operator.
    bytes: IdVec<OpId, Vec<Figure>>,
}

impl Known<'_> {
    /// Bytes of the fields that leave `op`, and what it calls.
    fn step(&self, id: OpId, op: &Op) -> (Vec<Figure>, Vec<CallEstimate>) {
        match &op.kind {
            OpKind::Source { entry, args, .. } => self.source((id, op), (entry, args)),
            OpKind::Operator { entry, .. } => self.operator(id, op, entry),
            _ => {
                let columns = &self.bytes[op.inputs[0]];
                let mut prices = Prices::new(&op.graph, columns, self.registry);
                prices.vector = self.at_once(id);
                let bytes = match &op.kind {
                    OpKind::Map { outputs } => outputs.iter().map(|it| prices.sizes[*it]).collect(),
                    OpKind::FlatMap { records } => flow::written(records, &prices).0,
                    _ => columns.clone(),
                };
                let mut calls = calls(&prices, &values(op));
                calls.extend(self.copies(id, &prices));
                (bytes, calls)
            }
        }
    }

    fn source(
        &self,
        (id, op): (OpId, &Op),
        of: (&str, &[Arg]),
    ) -> (Vec<Figure>, Vec<CallEstimate>) {
        let stage = self.lowered.stages_of[id].first();
        let read = stage.map_or(&op.output, |it| &self.lowered.program.stages[*it].columns);
        let (sizes, ns) = flow::source(of, read, self.registry);
        let all: Figure = sizes.iter().copied().sum();
        // What nobody needs is not read.
        let size = |field: &Field| {
            let at = read.iter().position(|it| it.name == field.name);
            at.map_or(Figure::ZERO, |it| sizes[it])
        };
        let bytes = op.output.iter().map(size).collect();
        let alone = ForeignSource::of(of.0, of.1).is_some();
        (bytes, vec![CallEstimate { alone, ..call(&called(of.0, of.1), 1.0, ns, all) }])
    }

    fn operator(&self, id: OpId, op: &Op, entry: &str) -> (Vec<Figure>, Vec<CallEstimate>) {
        let inputs: Vec<(&[Field], &[Figure])> = op
            .inputs
            .iter()
            .map(|&it| (&self.plan.ops[it].output[..], &self.bytes[it][..]))
            .collect();
        let role = role_of((id, op), self.lowered, self.registry);
        let bytes = flow::columns_of(role, &op.output, &inputs);
        let sum = |all: &[Figure]| all.iter().copied().sum::<Figure>();
        let entering = inputs.iter().map(|it| sum(it.1).value).sum();
        // Rows that lie in the batch already are not copied.
        let sizes =
            if self.filler(id).is_some() { [0.0; 2] } else { [entering, sum(&bytes).value] };
        let ns = flow::price((entry, role), sizes, self.registry);
        let own = call(entry, 1.0, ns, sum(&bytes));
        let columns = op.inputs.first().map_or(&[][..], |it| &self.bytes[*it]);
        let prices = Prices::new(&op.graph, columns, self.registry);
        let arguments = calls(&prices, &values(op));
        (bytes, [own].into_iter().chain(arguments).collect())
    }

    /// Whether an operator's input is computed a whole chunk at a time.
    fn at_once(&self, id: OpId) -> bool {
        let stages = &self.lowered.stages_of[id];
        !stages.is_empty()
            && stages.iter().all(|it| self.transform(*it, |it| it.vector || it.clean_vector))
    }

    /// The stage that writes into an operator's batch, where one does.
    fn filler(&self, id: OpId) -> Option<StageId> {
        self.lowered.stages_of[id].iter().find_map(|it| {
            let stage = &self.lowered.program.stages[*it];
            let is_operator = matches!(stage.code, Code::Operator { .. });
            let direct = |it: &&StageId| self.transform(**it, |it| it.into_batch.is_some());
            stage.inputs.iter().find(direct).copied().filter(|_| is_operator)
        })
    }

    /// The steps that the stage does that writes into an operator's batch.
    fn filled_by(&self, id: OpId) -> Vec<usize> {
        let Some(filler) = self.filler(id) else { return Vec::new() };
        let does = |it: &OpId| self.lowered.stages_of[*it].contains(&filler);
        self.plan.ops.ids().filter(|it| *it != id && does(it)).map(Index::row).collect()
    }

    fn transform(&self, stage: StageId, holds: impl Fn(&plan::Transform) -> bool) -> bool {
        match &self.lowered.program.stages[stage].code {
            Code::Transform(it) => holds(it),
            _ => false,
        }
    }

    /// Copies of values that do not write themselves where they will live; who reads the records
    /// of `id` next decides whether they are written at all.
    fn copies(&self, id: OpId, prices: &Prices<'_>) -> Option<CallEstimate> {
        let reader = self.plan.ops.iter().find(|(_, it)| it.inputs.contains(&id));
        if reader.is_some_and(|(_, it)| !matches!(it.kind, OpKind::Operator { .. })) {
            return None;
        }
        let OpKind::Map { outputs } = &self.plan.ops[id].kind else { return None };
        let ns: f64 = outputs.iter().map(|it| prices.copy(*it)).sum();
        let copied = outputs.iter().filter(|it| prices.copy(**it) > 0.0);
        let bytes: Figure = copied.map(|it| prices.sizes[*it]).sum();
        (ns > 0.0).then(|| call("copy", 1.0, ns, bytes))
    }
}

/// Times that rest on coefficients are assumed until something has been measured.
fn call(name: &str, times: f64, ns: f64, bytes: Figure) -> CallEstimate {
    let ns = Figure::assumed(ns);
    CallEstimate { name: name.to_owned(), times, ns, bytes, share: 0.0, alone: false }
}

/// What `roots` call, by name.
fn calls(prices: &Prices<'_>, roots: &[ExprId]) -> Vec<CallEstimate> {
    let times = prices.times(roots);
    let mut calls: BTreeMap<(String, bool), CallEstimate> = BTreeMap::new();
    for (id, expr, _) in prices.graph.iter().filter(|(id, ..)| times[id.row()] > 0.0) {
        let (times, ns) = (times[id.row()], times[id.row()] * prices.node(id));
        let name = match expr {
            Expr::Call { function, args, .. } => called(function, args),
            _ if ns > 0.0 => "arithmetic".to_owned(),
            _ => continue,
        };
        let alone = prices.registry.is_alone(prices.graph, expr);
        let new = CallEstimate { alone, ..call(&name, 0.0, 0.0, Figure::ZERO) };
        let found = calls.entry((name, alone)).or_insert(new);
        found.times += times;
        found.ns = found.ns + Figure::assumed(ns);
        found.bytes = found.bytes.max(prices.sizes[id]);
    }
    calls.into_values().collect()
}

/// What `op` means; windows whose records come window after window take all of those of each.
fn role_of((id, op): (OpId, &Op), lowered: &Lowered, registry: &Registry) -> Role {
    match role(op, registry) {
        Role::Windows { length, by, .. } if lowered.moved.windows.contains(&id) => {
            Role::Windows { length, hop: length, by }
        }
        role => role,
    }
}

/// How often each operator is visited for a record that leaves the pipeline.
///
/// `ratios` are what was measured: records that leave a step for each that enters.
fn visits(
    plan: &Plan,
    (registry, lowered): (&Registry, &Lowered),
    ratios: &BTreeMap<OpId, f64>,
) -> IdVec<OpId, Figure> {
    let mut leaving: Vec<Figure> = vec![Figure::ZERO; plan.ops.len()];
    let mut visits: IdVec<OpId, Figure> = plan.ops.ids().map(|_| Figure::ZERO).collect();
    leaving[plan.root.row()] = Figure::exact(1.0);
    for (id, op) in plan.ops.iter().rev() {
        let role = role_of((id, op), lowered, registry);
        let out = leaving[id.row()];
        let enters = match &op.kind {
            _ if ratios.contains_key(&id) => Figure {
                value: out.value / ratios[&id].max(1e-9),
                origin: out.origin.max(Origin::Measured),
            },
            OpKind::FlatMap { records } => {
                let made = made(op, records);
                Figure {
                    value: out.value / made.value.max(1e-3),
                    origin: out.origin.max(made.origin),
                }
            }
            // Assumed: what share a filter keeps is known when it has run.
            OpKind::Where { .. } => Figure { origin: Origin::Assumed, ..out },
            _ => out.times(flow::taken(role)),
        };
        visits[id] = enters;
        let shares = input_shares(op, registry);
        for (input, share) in op.inputs.iter().zip(shares) {
            leaving[input.row()] = leaving[input.row()] + enters.times(share);
        }
    }
    visits
}

fn made(op: &Op, records: &plan::Records) -> Figure {
    match records {
        plan::Records::Listed(lists) => Figure::exact(lists.len() as f64),
        plan::Records::Counted { count, .. } => size::turns(&op.graph, *count),
    }
}

/// Which share of the records that enter an operator comes from each input.
pub(super) fn input_shares(op: &Op, registry: &Registry) -> Vec<f64> {
    let role = role(op, registry);
    let n = op.inputs.len();
    match role {
        Role::Merge(_) => {}
        // The second stream is read once: what that takes is no part of a record.
        Role::Join { .. } => return vec![1.0, 0.0],
        _ => return vec![1.0; n],
    }
    let OpKind::Operator { entry, args, names } = &op.kind else { return vec![1.0; n] };
    let weights = registry.operator(entry).and_then(|it| registry.argument(it, args, "weights"));
    let weights: Vec<f64> = match weights {
        Some(Arg::Record(all)) => {
            let of =
                |name: &String| all.iter().find(|it| it.0 == *name).map_or(0.0, |it| number(&it.1));
            names.iter().map(of).collect()
        }
        Some(Arg::List(all)) => all.iter().map(number).collect(),
        _ => Vec::new(),
    };
    let sum: f64 = weights.iter().sum();
    if weights.len() == n && sum > 0.0 {
        weights.iter().map(|it| it / sum).collect()
    } else {
        vec![1.0 / n.max(1) as f64; n]
    }
}

fn number(arg: &Arg) -> f64 {
    match arg {
        Arg::Int(it) => *it as f64,
        Arg::Float(it) => *it,
        _ => 0.0,
    }
}
