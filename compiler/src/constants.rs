//! What the stream of a constant may not do: whatever makes it differ from run to run, or never end.

use crate::{
    analysis::{
        role::{Ends, Role, role},
        varies::varies,
    },
    check::StreamConstant,
    errors::check as errors,
    registry::Registry,
};
use plan::{Diagnostic, OpId, Plan};

/// What is wrong with the stream of `constant`.
pub(crate) fn mistakes(constant: &StreamConstant, registry: &Registry) -> Vec<Diagnostic> {
    let (plan, name) = (&constant.plan, &constant.name);
    let steps = || plan.steps().into_iter().map(|it| &plan.ops[it]);
    let varying = steps().find_map(|it| Some((it, varies(it, registry)?)));
    if let Some((op, what)) = varying {
        return vec![errors::const_draws(name, what, op.at)];
    }
    if !ends(plan, plan.root, registry) {
        return vec![errors::const_endless(name, plan.ops[plan.root].at)];
    }
    Vec::new()
}

/// Whether a stream has an end.
fn ends(plan: &Plan, id: OpId, registry: &Registry) -> bool {
    let op = &plan.ops[id];
    let mut inputs = op.inputs.iter().map(|it| ends(plan, *it, registry));
    match role(op, registry) {
        Role::Take(_) => true,
        Role::Repeat(None) | Role::Merge(Ends::Never) => false,
        Role::Merge(Ends::First) => inputs.any(|it| it),
        _ => inputs.all(|it| it),
    }
}
