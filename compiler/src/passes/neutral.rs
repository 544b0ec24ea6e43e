//! What changes nothing is left out: a border of no pixels, a cast to what a value is already.
//!
//! It costs little by itself, but it stands between others: `random_crop` is a crop of a `pad` that
//! mostly has no border.

use super::{Pass, Proposal, rebuild, sink_views::name};
use crate::lower::{align::values, catalog::Catalog, graft::live};
use plan::{Arg, Expr, ExprId, Graph, Index, Op, Plan, Property};
use std::collections::HashMap;

pub(super) const PASS: Pass = Pass {
    name: "no-ops",
    doc: "What changes nothing is left out.",
    law: "The library states with which arguments a function gives its first one as it is.",
    exact: true,
    propose: |plan, catalog| propose(plan, catalog).into_iter().collect(),
    refuse: super::nothing_refused,
};

fn propose(plan: &Plan, catalog: &Catalog) -> Option<Proposal> {
    let mut plan = plan.clone();
    let mut story = Vec::new();
    for id in plan.ops.ids() {
        let op = &plan.ops[id];
        let live = live(&op.graph, &values(op), &[]);
        let nodes = op.graph.iter().map(|(id, ..)| id).filter(|it| live[it.row()]);
        let found: HashMap<ExprId, ExprId> =
            nodes.filter_map(|id| Some((id, same(&op.graph, id, catalog)?))).collect();
        let mut names: Vec<String> = found.keys().map(|it| name(&op.graph, *it)).collect();
        names.sort();
        names.dedup();
        if !found.is_empty() {
            story.push(format!("{}: {} changes nothing", op.step, names.join(", ")));
            plan.ops[id] = without(op, &found);
        }
    }
    (!story.is_empty()).then(|| Proposal { plan, why: story.join("; ") })
}

/// What `id` is the same as, if it is a call that changes nothing.
fn same(graph: &Graph, id: ExprId, catalog: &Catalog) -> Option<ExprId> {
    let base = match graph.expr(id) {
        Expr::Cast(_, base) => *base,
        Expr::Call { function, args, draw: None } => {
            let entry = catalog.function(function)?;
            let is = |it: &Property| matches!(it, Property::Neutral(it) if (it.is)(args));
            let Some(Arg::Expr(base)) = args.first() else { return None };
            entry.properties.iter().any(is).then_some(*base)?
        }
        _ => return None,
    };
    (graph.ty(base) == graph.ty(id)).then_some(base)
}

fn without(op: &Op, found: &HashMap<ExprId, ExprId>) -> Op {
    let mut graph = Graph::default();
    graph.n_vars = op.graph.n_vars;
    let mut new: HashMap<ExprId, ExprId> = HashMap::new();
    for (id, expr, ty) in op.graph.iter() {
        let made = match found.get(&id) {
            Some(base) => new[base],
            None => graph.add(expr.clone().with_needs(|it| new[&it]), ty.clone()),
        };
        new.insert(id, made);
    }
    rebuild::renumbered(&rebuild::on_graph(op, graph, &new), &[])
}
