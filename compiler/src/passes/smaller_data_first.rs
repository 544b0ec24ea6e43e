//! What makes less of a value comes first, what makes more of it comes last: grey before `resize`,
//! floats after it.
//!
//! Weighted sums over pixels and over channels can be swapped, as sums of real numbers. What is
//! computed is rounded between, so it is never exact; and where it is clipped, it is no sum at all.

use super::{Pass, Proposal, Refusal, rebuild, view_reordering::name};
use crate::{
    analysis::live::{live, values},
    registry::Registry,
};
use plan::{Arg, DType, Entry, Expr, ExprId, Graph, Index, Op, OpId, Plan, Property, Type};
use std::collections::HashMap;

pub(super) const PASS: Pass = Pass {
    name: "smaller-data-first",
    formerly: Some("less-first"),
    summary: "shrinks images before other work on them",
    doc: "Operations that shrink a value move before other weighted sums, operations that enlarge \
          it after them.",
    law: "Weighted sums of real numbers over different axes commute; rounding between them \
          changes the result by about one level, clipping makes it wrong.",
    exact: false,
    always: false,
    takes_parts: false,
    propose,
    refuse,
};

/// A value that is made twice: by `lower`, then by `upper`.
struct Site {
    upper: ExprId,
    lower: ExprId,
    base: ExprId,
    /// What stands against it, whether or not it need be exact.
    broken: Option<String>,
    /// Why it is not exact.
    inexact: String,
}

fn sites(op: &Op, registry: &Registry) -> Vec<Site> {
    let live = live(&op.graph, &values(op), &[]);
    let users = rebuild::users(op, &live);
    let nodes = op.graph.iter().map(|(id, ..)| id).filter(|it| live[it.row()]);
    let sites = nodes.filter_map(|id| site(&op.graph, id, registry));
    sites.filter(|it| users[it.lower.row()] == 1).collect()
}

fn site(graph: &Graph, upper: ExprId, registry: &Registry) -> Option<Site> {
    let (above, lower) = first(graph, upper, registry)?;
    let size = |it: ExprId| graph.ty(it).shape().and_then(|it| it.last().cloned());
    match graph.expr(lower) {
        // More, by a cast below what rounds.
        Expr::Cast(to, base) if above.has(Property::Rounds) && widens(graph, *base, *to) => {
            let inexact = format!(
                "`{}` of `{}` is rounded to integers, of `{to}` it is not",
                above.name(),
                graph.ty(*base).dtype()?
            );
            let broken = (!above.has(Property::Weighs)).then(|| inexact.clone());
            Some(Site { upper, lower, base: *base, broken, inexact })
        }
        // Less, by a sum over the channels above what works on each.
        Expr::Call { .. }
            if above.has(Property::Weighs)
                && above.has(Property::ByPixel)
                && size(upper) != size(lower) =>
        {
            let (below, base) = first(graph, lower, registry)?;
            let name = below.name();
            if !below.has(Property::Rounds) || size(lower) != size(base) {
                return None;
            }
            let broken = (!below.has(Property::Weighs))
                .then(|| format!("`{name}` clips and mixes channels, so it is not a weighted sum"));
            let inexact =
                format!("`{name}` rounds its result, which `{}` then weights", above.name());
            Some(Site { upper, lower, base, broken, inexact })
        }
        _ => None,
    }
}

/// The function of a call on one tensor that cannot fail but for its arguments, and the tensor.
fn first<'a>(graph: &Graph, id: ExprId, registry: &'a Registry) -> Option<(&'a Entry, ExprId)> {
    let Expr::Call { function, args, draw: None } = graph.expr(id) else { return None };
    let Some(Arg::Expr(base)) = args.first() else { return None };
    Some((registry.function(function)?, *base))
}

/// Whether a cast makes floats of bytes.
fn widens(graph: &Graph, base: ExprId, to: DType) -> bool {
    graph.ty(base).dtype() == Some(DType::U8) && to == DType::F32
}

fn propose(plan: &Plan, registry: &Registry) -> Vec<Proposal> {
    let changed = |id: OpId, op: &Op, site: &Site| {
        let why = format!("{}: {}", op.step, words(&op.graph, site));
        let mut plan = plan.clone();
        plan.ops[id] = rewritten(op, site);
        Proposal { plan, why }
    };
    let proposals = plan.ops.iter().flat_map(|(id, op)| {
        // What is swapped may fail: then both fail, whichever comes first.
        let sites = sites(op, registry).into_iter().filter(|it| it.broken.is_none());
        sites.map(|it| changed(id, op, &it)).collect::<Vec<_>>()
    });
    proposals.collect()
}

fn words(graph: &Graph, site: &Site) -> String {
    match graph.expr(site.lower) {
        Expr::Cast(..) => format!("{} after {}", name(graph, site.lower), name(graph, site.upper)),
        _ => format!("{} before {}", name(graph, site.upper), name(graph, site.lower)),
    }
}

fn rewritten(op: &Op, site: &Site) -> Op {
    let mut graph = Graph::default();
    graph.n_vars = op.graph.n_vars;
    let mut new: HashMap<ExprId, ExprId> = HashMap::new();
    for (id, expr, ty) in op.graph.iter() {
        let made = if id == site.upper {
            let on = |below: ExprId, now: ExprId, new: &HashMap<ExprId, ExprId>, expr: &Expr| {
                expr.clone().with_needs(|it| if it == below { now } else { new[&it] })
            };
            let inner = on(site.lower, new[&site.base], &new, expr);
            let inner = graph.add(inner, between(&op.graph, site, ty));
            let outer = on(site.base, inner, &new, op.graph.expr(site.lower));
            graph.add(outer, ty.clone())
        } else {
            graph.add(expr.clone().with_needs(|it| new[&it]), ty.clone())
        };
        new.insert(id, made);
    }
    rebuild::renumbered(&rebuild::on_graph(op, graph, &new), &[])
}

/// The type of what stands between the two, in their new order.
fn between(graph: &Graph, site: &Site, after: &Type) -> Type {
    let base = graph.ty(site.base);
    let dtype = base.dtype().unwrap_or(DType::U8);
    let mut shape = after.shape().unwrap_or_default().to_vec();
    if let (Expr::Call { .. }, Some(before)) = (graph.expr(site.lower), base.shape()) {
        let channels = shape.last().cloned();
        shape = before.to_vec();
        shape.last_mut().zip(channels).map(|(last, it)| *last = it).unwrap_or_default();
    }
    Type::Tensor { dtype, shape }
}

fn refuse(plan: &Plan, registry: &Registry) -> Vec<Refusal> {
    let refused = plan.ops.iter().flat_map(|(_, op)| {
        sites(op, registry).into_iter().map(|it| {
            let (step, what) = (op.step.clone(), words(&op.graph, &it));
            let why = it.broken.unwrap_or_else(|| format!("not exact: {}", it.inexact));
            Refusal { pass: PASS.name.to_owned(), step, what, why }
        })
    });
    refused.collect()
}
