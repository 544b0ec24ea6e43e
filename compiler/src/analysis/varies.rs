//! What makes the records of a step others in every run, or in every epoch.

use super::role::draws_order;
use crate::registry::Registry;
use plan::{Expr, Op, OpId, OpKind, Otherwise, Plan, Policy, Property};

/// What of a step depends on the seed, or on the epoch.
pub(crate) fn varies(op: &Op, registry: &Registry) -> Option<&'static str> {
    let is_another = |it: &Policy| matches!(it, Policy::Another { .. });
    let replaces = |it: &Expr| matches!(it, Expr::Else { otherwise: Otherwise::Policy(it), .. } if is_another(it));
    let expressions = || op.graph.iter().map(|it| it.1);
    let by_order =
        matches!(&op.kind, OpKind::Operator { entry, .. } if draws_order(entry, registry));
    if by_order {
        Some("this step draws which record comes next")
    } else if expressions().any(|it| matches!(it, Expr::Call { draw: Some(_), .. })) {
        Some("this step draws random numbers")
    } else if expressions().any(|it| matches!(it, Expr::Epoch)) {
        Some("this step uses `epoch`")
    } else if is_another(&op.on_fault) || expressions().any(replaces) {
        Some("`else another` draws the record that replaces a faulty one")
    } else {
        None
    }
}

/// Whether the records that leave `id` are the same in every epoch, whatever the files are then.
pub(crate) fn is_same_in_epochs(plan: &Plan, id: OpId, registry: &Registry) -> bool {
    let op = &plan.ops[id];
    let is_outside = match &op.kind {
        OpKind::Source { entry, .. } => {
            registry.source(entry).is_none_or(|it| it.has(Property::CallsOut))
        }
        _ => false,
    };
    varies(op, registry).is_none()
        && !is_outside
        && op.inputs.iter().all(|it| is_same_in_epochs(plan, *it, registry))
}
