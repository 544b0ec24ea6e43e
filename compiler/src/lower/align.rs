//! Streams that stand side by side must stay so: `zip` is aligned before anything is skipped
//! (`semantics.md`, 9).

use super::{
    catalog::Catalog,
    graft::live,
    group::output_roots,
    role::{Role, role},
    total::{any_can_fail, any_policy},
};
use crate::errors::lower as errors;
use plan::{Arg, Diagnostic, ExprId, Op, OpId, OpKind, Plan, Policy};
use std::collections::BTreeSet;

/// The places where a record that is skipped would misalign a `zip`.
pub(crate) fn misaligned(plan: &Plan, catalog: &Catalog) -> Vec<Diagnostic> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for (_, zip) in plan.ops.iter().filter(|(_, op)| role(op, catalog) == Role::Zip) {
        let mut open: Vec<OpId> = zip.inputs.clone();
        while let Some(id) = open.pop() {
            let op = &plan.ops[id];
            if lets_go(op, catalog) && seen.insert(id) {
                found.push(errors::misaligns(op.at, zip.at));
            }
            open.extend(&op.inputs);
        }
    }
    found
}

/// Whether faults in `op` can let a record go.
pub(crate) fn lets_go(op: &Op, catalog: &Catalog) -> bool {
    let skips = |it: &Policy| matches!(it, Policy::Skip { .. });
    let live = live(&op.graph, &values(op), &[]);
    any_policy(&op.graph, &live, skips)
        || skips(&op.on_fault) && any_can_fail(&op.graph, &live, catalog)
}

/// The values that an operator asks for.
pub(crate) fn values(op: &Op) -> Vec<ExprId> {
    let value = |arg: &Arg| match arg {
        Arg::Expr(id) => Some(*id),
        _ => None,
    };
    match &op.kind {
        OpKind::Map { outputs } => outputs.clone(),
        OpKind::Where { keep } => vec![*keep],
        OpKind::FlatMap { records } => output_roots(records),
        OpKind::Source { args, .. } | OpKind::Operator { args, .. } => {
            args.iter().filter_map(value).collect()
        }
    }
}
