//! What changes nothing is left out: a border of no pixels, a cast to what a value is already.
//!
//! It costs little by itself, but it stands between others: `random_crop` is a crop of a `pad` that
//! mostly has no border.

use super::{Pass, rebuild, view_reordering::name};
use crate::{
    analysis::live::{live, values},
    registry::Registry,
};
use plan::{Arg, Expr, ExprId, Graph, Index, Op, Property};
use std::collections::HashMap;

pub(super) const PASS: Pass = Pass {
    name: "identity-elimination",
    formerly: Some("no-ops"),
    summary: "removes what changes nothing",
    doc: "Calls that change nothing are removed.",
    law: "The library states for which arguments a function returns its first argument unchanged.",
    exact: true,
    always: false,
    takes_parts: false,
    propose: |plan, registry| rebuild::each(plan, |op| rewritten(op, registry)),
    refuse: super::nothing_refused,
};

fn rewritten(op: &Op, registry: &Registry) -> Option<(Op, Vec<String>)> {
    let live = live(&op.graph, &values(op), &[]);
    let nodes = op.graph.iter().map(|(id, ..)| id).filter(|it| live[it.row()]);
    let found: HashMap<ExprId, ExprId> =
        nodes.filter_map(|id| Some((id, same(&op.graph, id, registry)?))).collect();
    let mut names: Vec<String> = found.keys().map(|it| name(&op.graph, *it)).collect();
    names.sort();
    names.dedup();
    let words = format!("{} changes nothing", names.join(", "));
    (!found.is_empty())
        .then(|| (rebuild::remade(op, |_, new, id| Some(new[found.get(&id)?])), vec![words]))
}

/// What `id` is the same as, if it is a call that changes nothing.
fn same(graph: &Graph, id: ExprId, registry: &Registry) -> Option<ExprId> {
    let base = match graph.expr(id) {
        Expr::Cast(_, base) => *base,
        Expr::Call { function, args, draw: None } => {
            let entry = registry.function(function)?;
            let is = |it: &Property| matches!(it, Property::Neutral(it) if (it.is)(args));
            let Some(Arg::Expr(base)) = args.first() else { return None };
            entry.properties.iter().any(is).then_some(*base)?
        }
        _ => return None,
    };
    (graph.ty(base) == graph.ty(id)).then_some(base)
}
