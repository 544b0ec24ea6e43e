//! What the stream of a constant may not do: whatever makes it differ from run to run, or never end.

use crate::{
    analysis::{
        catalog::Catalog,
        role::{Ends, Role, draws_order, role},
    },
    check::StreamConstant,
    errors::check as errors,
};
use plan::{Diagnostic, Expr, Library, Op, OpId, OpKind, Otherwise, Plan, Policy};

/// What is wrong with the stream of `constant`.
pub(crate) fn mistakes(constant: &StreamConstant, library: &Library) -> Vec<Diagnostic> {
    let (plan, name) = (&constant.plan, &constant.name);
    let catalog = Catalog::new(library);
    let steps = || plan.steps().into_iter().map(|it| &plan.ops[it]);
    let varying = steps().find_map(|it| Some((it, varies(it, &catalog)?)));
    if let Some((op, what)) = varying {
        return vec![errors::const_draws(name, what, op.at)];
    }
    if !ends(plan, plan.root, &catalog) {
        return vec![errors::const_endless(name, plan.ops[plan.root].at)];
    }
    Vec::new()
}

/// What of a step depends on the seed, or on the epoch.
fn varies(op: &Op, catalog: &Catalog) -> Option<&'static str> {
    let is_another = |it: &Policy| matches!(it, Policy::Another { .. });
    let replaces = |it: &Expr| matches!(it, Expr::Else { otherwise: Otherwise::Policy(it), .. } if is_another(it));
    let expressions = || op.graph.iter().map(|it| it.1);
    let by_order =
        matches!(&op.kind, OpKind::Operator { entry, .. } if draws_order(entry, catalog));
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

/// Whether a stream has an end.
fn ends(plan: &Plan, id: OpId, catalog: &Catalog) -> bool {
    let op = &plan.ops[id];
    let mut inputs = op.inputs.iter().map(|it| ends(plan, *it, catalog));
    match role(op, catalog) {
        Role::Take(_) => true,
        Role::Repeat(None) | Role::Merge(Ends::Never) => false,
        Role::Merge(Ends::First) => inputs.any(|it| it),
        _ => inputs.all(|it| it),
    }
}
