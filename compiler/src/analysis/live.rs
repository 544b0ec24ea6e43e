//! What is asked for, and which nodes of a graph that needs.

use plan::{Arg, Expr, ExprId, Graph, Index, Op, OpKind, Records};
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

/// The columns among the `live` nodes, by their number.
pub(crate) fn live_columns(graph: &Graph, live: &[bool]) -> BTreeMap<u32, ExprId> {
    let column = |(id, expr, _): (ExprId, &Expr, _)| match expr {
        Expr::Column(i) if live[id.row()] => Some((*i, id)),
        _ => None,
    };
    graph.iter().filter_map(column).collect()
}
