//! Filters whose records can be counted before a run: those that look at paths and numbers alone, so
//! that nothing has to be read to know how many records they let through.
//!
//! The part of the plan up to a filter is cut off and rewritten like any other, so that what only
//! later steps need, such as the bytes of files, is not read.

use crate::{
    analysis::role::{Role, draws_order, role},
    passes::{Settings, optimise},
    registry::Registry,
};
use plan::{
    Const, DType, Expr, Field, Graph, Index, Library, Op, OpId, OpKind, Plan, Policy, Type,
};

/// A filter, and a plan that counts what it lets through.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    /// Its step, such as `train.where#1`.
    pub step: String,
    /// One record leaves it for each record that leaves the step.
    pub plan: Plan,
    /// Whether the count changes from epoch to epoch.
    pub varies: bool,
    /// Estimated processor time for each record of its sources, in nanoseconds.
    pub ns: f64,
}

/// The filters of `plan` that can be counted, in its order.
pub fn filters(plan: &Plan, library: &Library) -> Vec<Filter> {
    let registry = Registry::new(*library);
    let needed = plan.needed();
    let is_filter = |op: &Op| matches!(op.kind, OpKind::Where { .. } | OpKind::FlatMap { .. });
    let all = plan.ops.iter().filter(|(id, op)| needed[id.row()] && is_filter(op));
    all.filter_map(|(id, op)| filter((id, op), plan, &registry)).collect()
}

fn filter((id, op): (OpId, &Op), plan: &Plan, registry: &Registry) -> Option<Filter> {
    let settings = Settings { cores: 1, without: &[], approx: false };
    let optimised = optimise(counting(plan, id), registry.library(), &settings).ok()?;
    let (plan, ns) = (optimised.plan, optimised.estimate.ns.value);
    let needed = plan.needed();
    let ops = || plan.ops.iter().filter(|(id, _)| needed[id.row()]).map(|it| it.1);
    let can_run = |op: &Op| {
        let reads = |expr: &Expr| match expr {
            Expr::Call { function, .. } => registry.reads(function) || registry.calls_out(expr),
            _ => false,
        };
        let endless = role(op, registry) == Role::Repeat(None);
        !endless && !op.graph.iter().any(|(_, expr, _)| reads(expr))
    };
    let draws = |op: &Op| {
        let draws = |expr: &Expr| matches!(expr, Expr::Call { draw: Some(_), .. } | Expr::Epoch);
        op.graph.iter().any(|(_, expr, _)| draws(expr))
    };
    // Which records come first is another matter in each epoch; how many there are is not.
    let reorders = |op: &Op| matches!(&op.kind, OpKind::Operator { entry, .. } if draws_order(entry, registry));
    let selects = |op: &Op| {
        let counts_alone =
            |role| matches!(role, Role::Permute | Role::ShuffleWithin(_) | Role::Repeat(_));
        matches!(op.kind, OpKind::Operator { .. }) && !counts_alone(role(op, registry))
    };
    let varies = ops().any(draws) || ops().any(reorders) && ops().any(selects);
    ops().all(can_run).then(|| Filter { step: op.step.clone(), varies, ns, plan: plan.clone() })
}

/// The part of `plan` up to `root`, of whose records nothing is needed but that they come.
fn counting(plan: &Plan, root: OpId) -> Plan {
    let mut ops: Vec<Op> = plan.ops.rows()[..=root.row()].to_vec();
    let mut graph = Graph::default();
    let ty = Type::scalar(DType::Bool);
    let one = graph.add(Expr::Const(Const::Ints(DType::Bool, Vec::new(), vec![1])), ty.clone());
    ops.push(Op {
        kind: OpKind::Map { outputs: vec![one] },
        inputs: vec![root],
        graph,
        output: vec![Field { name: "one".to_owned(), ty }],
        step: format!("{}.count", plan.ops[root].step),
        place: 0,
        at: plan.ops[root].at,
        on_fault: Policy::Fail,
    });
    let root = OpId(u32::try_from(ops.len() - 1).expect("operators are numbered by a u32"));
    Plan { name: plan.name.clone(), ops: ops.into_iter().collect(), root }
}
