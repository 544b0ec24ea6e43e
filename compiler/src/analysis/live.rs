//! What is asked for, and which nodes of a graph that needs.

use crate::registry::Registry;
use plan::{Arg, Expr, ExprId, Graph, Index, Op, OpKind, Property, Records, Type};
use std::collections::BTreeMap;

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

/// The values that are written, and how many.
pub(crate) fn output_roots(outputs: &Records) -> Vec<ExprId> {
    match outputs {
        Records::Listed(lists) => lists.concat(),
        Records::Counted { count, outputs, .. } => {
            [*count].iter().chain(outputs).copied().collect()
        }
    }
}

/// Which nodes `roots` need, themselves among them; what `stop` names is not looked into.
pub(crate) fn live(graph: &Graph, roots: &[ExprId], stop: &[ExprId]) -> Vec<bool> {
    let mut live = vec![false; graph.len()];
    roots.iter().for_each(|it| live[it.row()] = true);
    for (id, expr, _) in graph.iter().rev() {
        if live[id.row()] && !stop.contains(&id) {
            expr.needs(|it| live[it.row()] = true);
        }
    }
    live
}

/// Whether the `live` nodes are scalars, but for columns of numbers of which nothing is asked but extents: whether they can
/// be computed of all records of a chunk at once.
pub(crate) fn are_scalars(graph: &Graph, live: &[bool], registry: &Registry) -> bool {
    let is_scalar = |ty: &Type| ty.fixed().is_some_and(|it| it.is_empty());
    let mut is_used = vec![false; graph.len()];
    for (id, expr, _) in graph.iter().filter(|it| live[it.0.row()]) {
        if asked(graph, id, registry).is_none() {
            expr.needs(|it| is_used[it.row()] = true);
        }
    }
    graph.iter().filter(|it| live[it.0.row()]).all(|(id, expr, ty)| match expr {
        Expr::Var(_) => false,
        Expr::Column(_) => is_scalar(ty) || !is_used[id.row()],
        _ => is_scalar(ty),
    })
}

/// The column of numbers whose extents the node `id` asks for, if it does that.
fn asked(graph: &Graph, id: ExprId, registry: &Registry) -> Option<ExprId> {
    let Expr::Call { function, args, .. } = graph.expr(id) else { return None };
    let [Arg::Expr(of), others @ ..] = &args[..] else { return None };
    let is_column = matches!(graph.expr(*of), Expr::Column(_))
        && graph.ty(*of).dtype().is_some_and(|it| !it.is_text());
    let is_known = others.iter().all(|it| matches!(it, Arg::Int(_)));
    (is_column && is_known && registry.has(function, Property::Asks)).then_some(*of)
}

/// The columns among the `live` nodes, by their number.
pub(crate) fn live_columns(graph: &Graph, live: &[bool]) -> BTreeMap<u32, ExprId> {
    let column = |(id, expr, _): (ExprId, &Expr, _)| match expr {
        Expr::Column(i) if live[id.row()] => Some((*i, id)),
        _ => None,
    };
    graph.iter().filter_map(column).collect()
}
