//! What one `map` computes element by element, and the next one only looks at a part of, is computed
//! by the next one: there a view can sink below it.

use super::{
    moves::{How, computed, moves},
    rebuild,
};
use crate::{
    analysis::{
        live::{live, values},
        total::can_fail,
    },
    registry::Registry,
};
use plan::{Arg, Expr, ExprId, Graph, Index, Op, OpId, OpKind, Plan, Property};
use std::collections::HashMap;

/// The plan where `id` computes itself what a view in it looks at; none where nothing is to be pulled.
pub(super) fn pulled(plan: &Plan, id: OpId, registry: &Registry) -> Option<Plan> {
    let below = *plan.ops[id].inputs.first()?;
    let (OpKind::Map { .. }, OpKind::Map { outputs }) = (&plan.ops[id].kind, &plan.ops[below].kind)
    else {
        return None;
    };
    let map = &plan.ops[below];
    let users = rebuild::users(map, &live(&map.graph, &values(map), &[]));
    let column = looked_at(&plan.ops[id], registry).find(|column| {
        let upper = outputs[*column as usize];
        users[upper.row()] == 1 && movable(&map.graph, upper, registry)
    })?;
    let upper = outputs[column as usize];
    let base = computed(&map.graph, upper, registry)?.base;
    let mut plan = plan.clone();
    plan.ops[id] = above(&plan.ops[id], (column, base, upper), map);
    let mut below_now = map.clone();
    if let OpKind::Map { outputs } = &mut below_now.kind {
        outputs[column as usize] = base;
    }
    below_now.output[column as usize].ty = map.graph.ty(base).clone();
    plan.ops[below] = rebuild::renumbered(&below_now, &[]);
    Some(plan)
}

/// The columns that views of `op` look at, and those whose extents it asks for.
fn looked_at<'a>(op: &'a Op, registry: &'a Registry) -> impl Iterator<Item = u32> + use<'a> {
    let live = live(&op.graph, &values(op), &[]);
    let nodes = op.graph.iter().filter(move |(id, ..)| live[id.row()]);
    nodes.filter_map(|(_, expr, _)| {
        let Expr::Call { function, args, draw: None } = expr else { return None };
        let entry = registry.function(function)?;
        let Some(Arg::Expr(on)) = args.first() else { return None };
        match op.graph.expr(*on) {
            Expr::Column(i) if moves(entry, args) || entry.has(Property::Asks) => Some(*i),
            _ => None,
        }
    })
}

/// Whether `id` is computed from one value and constants, and cannot fail.
fn movable(graph: &Graph, id: ExprId, registry: &Registry) -> bool {
    let Some(found) = computed(graph, id, registry) else { return false };
    let mut plain = true;
    graph.expr(id).needs(|it| {
        plain &= it == found.base || matches!(graph.expr(it), Expr::Const(_));
    });
    let text = graph.ty(found.base).dtype().is_none_or(plan::DType::is_text);
    plain && !text && found.how != How::Pixel && !can_fail(graph, id, registry)
}

/// `op`, whose column is the base now, and which computes `upper` of it.
fn above(op: &Op, (column, base, upper): (u32, ExprId, ExprId), map: &Op) -> Op {
    let mut graph = Graph::default();
    graph.n_vars = op.graph.n_vars;
    let mut new: HashMap<ExprId, ExprId> = HashMap::new();
    for (id, expr, ty) in op.graph.iter() {
        let made = match expr {
            Expr::Column(i) if *i == column => {
                let on = graph.add(Expr::Column(column), map.graph.ty(base).clone());
                let moved = map.graph.expr(upper).clone().with_needs(|it| match it == base {
                    true => on,
                    false => graph.add(map.graph.expr(it).clone(), map.graph.ty(it).clone()),
                });
                graph.add(moved, map.graph.ty(upper).clone())
            }
            _ => graph.add(expr.clone().with_needs(|it| new[&it]), ty.clone()),
        };
        new.insert(id, made);
    }
    rebuild::renumbered(&rebuild::on_graph(op, graph, &new), &[])
}
