//! How many records reach each step, how sure that is, and what becomes of those that are too few for
//! a batch at the end of an epoch.

use super::{Counted, Dropped};
use crate::{
    analysis::{
        role::{Ends, Role, role},
        size,
        total::lets_none_go,
    },
    estimate::{Origin, StepEstimate},
    registry::Registry,
};
use model::{Network, network::Amount};
use plan::{Index, Op, OpKind, Plan, Records};

/// The network whose filters let through what was counted.
pub(super) fn with_counted(mut network: Network, plan: &Plan, counted: &[Counted]) -> Network {
    for (id, op) in plan.ops.iter() {
        let Some(found) = counted.iter().find(|it| it.step == op.step) else { continue };
        let entering = op.inputs.first().map(|it| network.cardinalities()[it.row()]);
        // Where none passes, nothing follows.
        if let (Some(Amount::Finite(n)), true) = (entering, found.records > 0) {
            network = network.with(id.row(), |step| step.taken = n / found.records as f64);
        }
    }
    network
}

/// Where the number of records that leave each operator comes from. A number that changes from epoch to
/// epoch, or of which failed records are missing, counts as measured: it is about so many.
pub(super) fn origins(
    network: &Network,
    (plan, registry): (&Plan, &Registry),
    (steps, counted): (&[StepEstimate], &[Counted]),
) -> Vec<Origin> {
    let mut all: Vec<Origin> = Vec::with_capacity(plan.ops.len());
    for (id, op) in plan.ops.iter() {
        let before = op.inputs.iter().map(|it| all[it.row()]).max().unwrap_or_default();
        let counted = counted.iter().find(|it| it.step == op.step);
        let own = match counted {
            Some(it) if it.records == 0 => Origin::Assumed,
            Some(it) if it.varies => Origin::Measured,
            Some(_) => Origin::Exact,
            // Only what is taken of it is known.
            None if op.inputs.is_empty()
                && network.cardinalities()[id.row()] == Amount::Unknown =>
            {
                Origin::Measured
            }
            None => ratio((op, &steps[id.row()]), registry),
        };
        let lost = if lets_none_go(op) { Origin::Exact } else { Origin::Measured };
        all.push(before.max(own).max(lost));
    }
    all
}

/// How sure it is how many records leave an operator for each that enters.
fn ratio((op, step): (&Op, &StepEstimate), registry: &Registry) -> Origin {
    let by_running = if step.entered > 0.0 { Origin::Measured } else { Origin::Assumed };
    match (role(op, registry), &op.kind) {
        (Role::Where | Role::Join { skips: true, .. }, _) => by_running,
        (Role::FlatMap, OpKind::FlatMap { records: Records::Counted { count, .. } }) => {
            match size::turns(&op.graph, *count).origin {
                Origin::Exact => Origin::Exact,
                _ => by_running,
            }
        }
        // A stream may end before another: which one, the draws decide.
        (Role::Windows { .. } | Role::Merge(Ends::First | Ends::Never), _) => Origin::Measured,
        (Role::Batch { plain: false, .. } | Role::Packs { .. } | Role::Sample | Role::Other, _) => {
            Origin::Assumed
        }
        _ => Origin::Exact,
    }
}

/// The network whose batches take what they take of an epoch that is so long: its last records make
/// a batch of fewer, or none. Where nobody knows how many they are, nothing is said of them.
pub(super) fn with_tails(
    mut network: Network,
    plan: &Plan,
    (registry, counts): (&Registry, &[Origin]),
) -> (Network, Vec<Dropped>) {
    let mut dropped = Vec::new();
    for (id, op) in plan.ops.iter() {
        let Role::Batch { size, plain: true, drops } = role(op, registry) else { continue };
        let Some(input) = op.inputs.first().map(|it| it.row()) else { continue };
        let Amount::Finite(of) = network.cardinalities()[input] else { continue };
        if counts[input] == Origin::Assumed {
            continue;
        }
        // Records are whole; a ratio gives parts of them.
        let whole = of.round();
        let batches = whole / size.max(1) as f64;
        let batches = if drops { batches.floor() } else { batches.ceil() };
        if batches >= 1.0 {
            network = network.with(id.row(), |step| step.taken = of / batches);
            let records = whole - batches * size as f64;
            if drops && records > 0.0 {
                let (step, origin) = (op.step.clone(), counts[input]);
                dropped.push(Dropped { step, records, of: whole, origin });
            }
        }
    }
    (network, dropped)
}
