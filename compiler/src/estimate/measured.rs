//! What was measured takes the place of what was assumed.
//!
//! A stage does the work of several steps. Its processor time is known; how it is shared among its
//! values is known from the records of which each value was timed. Each value is of one step, so
//! the sum over the steps is the processor time of the stage, to the nanosecond.

use super::{CallEstimate, Figure, Filled, Origin, StepEstimate};
use crate::{
    analysis::role::{Role, operator},
    lower::Lowered,
    registry::Registry,
};
use plan::{
    Arg, Code, Expr, ExprId, Graph, Index, Measured, OpId, OpKind, Plan, StageId, StageMeasured,
    called,
};
use std::collections::BTreeMap;

/// What was measured of one step, over the whole run.
#[derive(Default)]
struct Found {
    /// Records that have entered it.
    entered: f64,
    /// Processor time, in nanoseconds.
    ns: f64,
    /// The part of it that was done in order.
    serial_ns: f64,
    /// Bytes of a record that leaves it, where it is the last one of a stage.
    bytes: Option<f64>,
    /// Where it pads, how much of that is of records.
    filled: Option<Filled>,
    calls: BTreeMap<String, Call>,
}

/// What was measured of a function within a step.
#[derive(Default)]
struct Call {
    times: f64,
    ns: f64,
    bytes: Option<f64>,
}

/// Records that leave for each that enters: of the steps of which only a run can tell.
pub(super) fn ratios(
    plan: &Plan,
    (lowered, registry): (&Lowered, &Registry),
    measured: &Measured,
) -> BTreeMap<OpId, f64> {
    let mut ratios = BTreeMap::new();
    for ((id, _), stage) in lowered.program.stages.iter().zip(&measured.stages) {
        let tells = |op: &OpId| match &plan.ops[*op].kind {
            OpKind::Where { .. } | OpKind::FlatMap { .. } => true,
            OpKind::Operator { entry, args, .. } => {
                fills_tokens((entry, args), registry)
                    || matches!(operator(entry, args, 1, registry), Role::Packs { .. })
            }
            _ => false,
        };
        let ops: Vec<OpId> = ops_of(lowered, id).into_iter().filter(tells).collect();
        if stage.entered > 0 && stage.left > 0 {
            // What several do together they are taken to do in equal parts.
            let ratio = stage.left as f64 / stage.entered as f64;
            let each = ratio.powf(1.0 / ops.len().max(1) as f64);
            ratios.extend(ops.into_iter().map(|it| (it, each)));
        }
    }
    ratios
}

/// Whether an operator makes batches of as many records as make so many tokens.
fn fills_tokens((entry, args): (&str, &[Arg]), registry: &Registry) -> bool {
    let entry = registry.operator(entry);
    let tokens = entry.and_then(|it| registry.argument(it, args, "tokens"));
    matches!(tokens, Some(Arg::Int(_) | Arg::Float(_)))
}

/// The operators that a stage does the work of, in order.
fn ops_of(lowered: &Lowered, stage: StageId) -> Vec<OpId> {
    let own = lowered.stages_of.iter().filter(|(_, all)| all.contains(&stage));
    own.map(|it| it.0).collect()
}

/// Puts what was measured into `steps`, which are those of `plan`, in its order.
pub(super) fn apply(
    steps: &mut [StepEstimate],
    plan: &Plan,
    (lowered, registry): (&Lowered, &Registry),
    measured: &Measured,
) {
    let mut all: BTreeMap<OpId, Found> = BTreeMap::new();
    for ((id, _), stage) in lowered.program.stages.iter().zip(&measured.stages) {
        if stage.entered > 0 {
            for op in ops_of(lowered, id) {
                steps[op.row()].spread = stage.spread;
            }
            add(&mut all, (id, stage), plan, (lowered, registry));
        }
    }
    for (op, found) in all {
        let step = &mut steps[op.row()];
        if step.moved || found.entered == 0.0 {
            continue;
        }
        step.entered = found.entered;
        step.ns = known(found.ns / found.entered);
        step.serial = if found.ns > 0.0 { found.serial_ns / found.ns } else { 0.0 };
        if let Some(bytes) = found.bytes {
            step.bytes = known(bytes);
        }
        step.filled = found.filled.or(step.filled);
        step.calls = found.calls.into_iter().map(|it| as_call(it, found.entered)).collect();
    }
}

fn known(value: f64) -> Figure {
    Figure { value, origin: Origin::Measured }
}

fn as_call((name, call): (String, Call), entered: f64) -> CallEstimate {
    let bytes = call.bytes.map_or(Figure::ZERO, known);
    let (times, ns) = (call.times / entered, known(call.ns / entered));
    CallEstimate { name, times, ns, bytes, share: 0.0, alone: false }
}

/// Adds what was measured of a stage to its steps.
fn add(
    all: &mut BTreeMap<OpId, Found>,
    (id, measured): (StageId, &StageMeasured),
    plan: &Plan,
    (lowered, registry): (&Lowered, &Registry),
) {
    let ops = ops_of(lowered, id);
    let (Some(&first), Some(&last)) = (ops.first(), ops.last()) else { return };
    enter(all, &ops, measured, plan);
    all.entry(last).or_default().bytes =
        (measured.left > 0).then(|| measured.bytes as f64 / measured.left as f64);

    let stage = &lowered.program.stages[id];
    let Code::Transform(transform) = &stage.code else {
        let found = all.entry(first).or_default();
        found.serial_ns += measured.serial_ns;
        found.filled = filled(measured);
        let name = stage.entry().unwrap_or_default();
        found.add(name, (measured.cpu_ns, measured.entered as f64, None));
        return;
    };
    if measured.timed == 0 {
        all.entry(first).or_default().ns += measured.cpu_ns;
    }
    for call in &measured.calls {
        let Some(ns) = measured.call_ns(call.node) else { continue };
        let node = ExprId(call.node);
        let own = lowered.origins[&id].get(node.row()).filter(|it| ops.contains(it));
        let entered = measured.entered as f64;
        let times = entered * call.times as f64 / measured.timed as f64;
        let name = name(&transform.graph, node);
        let found = all.entry(own.copied().unwrap_or(first)).or_default();
        if registry.is_alone(&transform.graph, transform.graph.expr(node)) {
            found.serial_ns += ns * entered;
        }
        found.add(&name, (ns * entered, times, measured.call_bytes(call.node)));
    }
}

/// How much of what an operator makes is of records, where it pads.
fn filled(of: &StageMeasured) -> Option<Filled> {
    let (filled, all, left) = (of.filled as f64, of.elements as f64, of.left as f64);
    let share = (filled / all).min(1.0);
    (all > 0.0 && left > 0.0)
        .then(|| Filled { elements: known(filled / left), share: known(share) })
}

/// Counts the records that enter each step of a stage: fewer after a filter.
fn enter(all: &mut BTreeMap<OpId, Found>, ops: &[OpId], measured: &StageMeasured, plan: &Plan) {
    let mut come = measured.entered as f64;
    for &op in ops {
        let found = all.entry(op).or_default();
        // A step that reads ahead stands in several stages; its records enter it once.
        if found.entered == 0.0 {
            found.entered = come;
        }
        if matches!(plan.ops[op].kind, OpKind::Where { .. }) {
            come = measured.left as f64;
        }
    }
}

impl Found {
    fn add(&mut self, name: &str, (ns, times, bytes): (f64, f64, Option<f64>)) {
        self.ns += ns;
        let call = self.calls.entry(name.to_owned()).or_default();
        call.ns += ns;
        call.times += times;
        call.bytes = bytes.or(call.bytes);
    }
}

/// What a value is called where costs are shown.
pub(crate) fn name(graph: &Graph, node: ExprId) -> String {
    match graph.iter().find(|(id, ..)| *id == node) {
        Some((_, Expr::Call { function, args, .. }, _)) => called(function, args),
        Some((_, Expr::Column(_) | Expr::Const(_), _)) => "copy".to_owned(),
        _ => "arithmetic".to_owned(),
    }
}
