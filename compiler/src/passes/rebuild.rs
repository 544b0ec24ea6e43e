//! Operators on other graphs: what every rewrite of expressions needs.

use super::Proposal;
use crate::{
    analysis::live::{live, live_columns, values},
    lower::graft::Graft,
};
use plan::{ExprId, Graph, Index, Op, Plan};
use std::collections::HashMap;

/// The plan in which each operator is what `rewrite` makes of it, with what that tells of it.
pub(super) fn each(
    plan: &Plan,
    rewrite: impl Fn(&Op) -> Option<(Op, Vec<String>)>,
) -> Vec<Proposal> {
    let mut changed = plan.clone();
    let mut story = Vec::new();
    for (id, op) in plan.ops.iter() {
        if let Some((op, mut done)) = rewrite(op) {
            done.dedup();
            story.push(format!("{}: {}", op.step, done.join(", ")));
            changed.ops[id] = op;
        }
    }
    let why = story.join("; ");
    if story.is_empty() { Vec::new() } else { vec![Proposal { plan: changed, why }] }
}

/// `op` on a graph in which a node is what `make` puts in its place, if anything, and needs what stands
/// for what it needed; without what nothing needs then.
pub(super) fn remade(
    op: &Op,
    mut make: impl FnMut(&mut Graph, &HashMap<ExprId, ExprId>, ExprId) -> Option<ExprId>,
) -> Op {
    let mut graph = Graph::default();
    graph.n_vars = op.graph.n_vars;
    let mut new: HashMap<ExprId, ExprId> = HashMap::new();
    for (id, expr, ty) in op.graph.iter() {
        let made = match make(&mut graph, &new, id) {
            Some(made) => made,
            None => graph.add(expr.clone().with_needs(|it| new[&it]), ty.clone()),
        };
        new.insert(id, made);
    }
    renumbered(&on_graph(op, graph, &new), &[])
}

/// `op` without nodes that nothing needs, where column `i` is called `numbers[i]`.
pub(super) fn renumbered(op: &Op, numbers: &[u32]) -> Op {
    let old = values(op);
    let mut graph = Graph::default();
    let mut graft = Graft::keeping_vars(&op.graph, &mut graph).keeping_else();
    for (i, id) in live_columns(&op.graph, &live(&op.graph, &old, &[])) {
        graft.cut(id, numbers.get(i as usize).copied().unwrap_or(i));
    }
    let new = graft.copy(&old);
    on_graph(op, graph, &old.into_iter().zip(new).collect())
}

/// `op` on `graph`, where its values are called otherwise.
pub(super) fn on_graph(op: &Op, graph: Graph, new: &HashMap<ExprId, ExprId>) -> Op {
    let mut op = Op { graph, ..op.clone() };
    op.kind.rename(|it| *it = new[it]);
    op
}

/// How many nodes and values need each node of an operator's graph, of those that are needed at all.
pub(super) fn users(op: &Op, live: &[bool]) -> Vec<u32> {
    let mut users = vec![0; op.graph.len()];
    values(op).iter().for_each(|it| users[it.row()] += 1);
    for (id, expr, _) in op.graph.iter() {
        if live[id.row()] {
            expr.needs(|it| users[it.row()] += 1);
        }
    }
    users
}
