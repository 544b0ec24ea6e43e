//! What is made smaller at once need not be made large: `resize(decode_jpeg(b), h, w)` is nearly
//! `resize(decode_jpeg_draft(b, h, w), h, w)`.
//!
//! Which functions have such a form is the library's to say ([`Property::Drafts`]).

use super::{Pass, Proposal, Refusal, rebuild};
use crate::lower::{align::values, catalog::Catalog, graft::live};
use plan::{Arg, DType, Drafted, Expr, ExprId, Extent, Graph, Index, Op, Plan, Property, Type};
use std::collections::HashMap;

pub(super) const PASS: Pass = Pass {
    name: "draft",
    doc: "A picture that is made smaller at once is decoded smaller.",
    law: "The library states that the two are nearly the same: of each block the low frequencies are \
          kept, which are what is left of it when it is made smaller.",
    exact: false,
    propose: |plan, catalog| propose(plan, catalog).into_iter().collect(),
    refuse,
};

/// A call whose result is made smaller at once.
struct Site {
    /// What makes it smaller.
    upper: ExprId,
    lower: ExprId,
    /// What asks for an extent of it.
    asks: Vec<ExprId>,
    drafted: &'static Drafted,
}

fn sites(op: &Op, catalog: &Catalog) -> Vec<Site> {
    let live = live(&op.graph, &values(op), &[]);
    let users = rebuild::users(op, &live);
    let nodes = || op.graph.iter().filter(|(id, ..)| live[id.row()]);
    let sites = nodes().filter_map(|(upper, expr, _)| {
        let Expr::Call { function: of, args, draw: None } = expr else { return None };
        let Some(Arg::Expr(lower)) = args.first() else { return None };
        let Expr::Call { function, args: below, draw: None } = op.graph.expr(*lower) else {
            return None;
        };
        let entry = catalog.function(function)?;
        let drafted = entry.properties.iter().find_map(|it| match it {
            Property::Drafts(it) if it.of == of => Some(*it),
            _ => None,
        })?;
        let defaults = catalog.has_defaults(entry, below, 1)
            && catalog.has_defaults(catalog.function(of)?, args, 3);
        let asks = nodes().filter(|(_, expr, _)| match expr {
            Expr::Call { function, args, draw: None } => {
                function == drafted.asked
                    && matches!(args[..], [Arg::Expr(of), Arg::Int(_)] if of == *lower)
            }
            _ => false,
        });
        let asks: Vec<ExprId> = asks.map(|it| it.0).collect();
        let all = 1 + asks.len() as u32;
        (defaults && users[lower.row()] == all).then_some(Site {
            upper,
            lower: *lower,
            asks,
            drafted,
        })
    });
    sites.collect()
}

fn propose(plan: &Plan, catalog: &Catalog) -> Option<Proposal> {
    let mut plan = plan.clone();
    let mut story = Vec::new();
    for id in plan.ops.ids() {
        let op = &plan.ops[id];
        let sites = sites(op, catalog);
        if sites.is_empty() {
            continue;
        }
        story.extend(sites.iter().map(|it| format!("{}: {}", op.step, words(op, it))));
        plan.ops[id] = rewritten(op, &sites);
    }
    (!story.is_empty()).then(|| Proposal { plan, why: story.join("; ") })
}

fn words(op: &Op, site: &Site) -> String {
    let Expr::Call { function, .. } = op.graph.expr(site.lower) else { return String::new() };
    format!("`{}` for `{function}`, below `{}`", site.drafted.into, site.drafted.of)
}

fn rewritten(op: &Op, sites: &[Site]) -> Op {
    let mut graph = Graph::default();
    graph.n_vars = op.graph.n_vars;
    let mut new: HashMap<ExprId, ExprId> = HashMap::new();
    for (id, expr, ty) in op.graph.iter() {
        let mut expr = expr.clone();
        if let Some(site) = sites.iter().find(|it| it.asks.contains(&id)) {
            expr = answered(expr, site, &op.graph);
        }
        let mut expr = expr.with_needs(|it| new[&it]);
        if let Some(site) = sites.iter().find(|it| it.upper == id) {
            let draft = draft(&expr, site, (&op.graph, &mut graph, &new));
            if let Expr::Call { args, .. } = &mut expr {
                args[0] = Arg::Expr(draft);
            }
        }
        let made = graph.add(expr, ty.clone());
        new.insert(id, made);
    }
    rebuild::renumbered(&rebuild::on_graph(op, graph, &new), &[])
}

/// The same question to who answers it without making the whole.
fn answered(asks: Expr, site: &Site, graph: &Graph) -> Expr {
    match (asks, graph.expr(site.lower)) {
        (Expr::Call { mut args, draw, .. }, Expr::Call { args: below, .. }) => {
            args[0] = below[0].clone();
            Expr::Call { function: site.drafted.answer.to_owned(), args, draw }
        }
        (asks, _) => asks,
    }
}

/// What is made in place of the whole, for `upper`, whose arguments are those of the new graph.
fn draft(
    upper: &Expr,
    site: &Site,
    (old, graph, new): (&Graph, &mut Graph, &HashMap<ExprId, ExprId>),
) -> ExprId {
    let (Expr::Call { args, .. }, Expr::Call { args: below, .. }) = (upper, old.expr(site.lower))
    else {
        return new[&site.lower];
    };
    let from = match &below[0] {
        Arg::Expr(it) => Arg::Expr(new[it]),
        other => other.clone(),
    };
    let args = vec![from, args[1].clone(), args[2].clone()];
    let extents = match old.ty(site.lower) {
        Type::Tensor { shape, .. } => shape.last().cloned(),
        _ => None,
    };
    let shape = vec![Extent::Unknown, Extent::Unknown, extents.unwrap_or(Extent::Unknown)];
    let made = Expr::Call { function: site.drafted.into.to_owned(), args, draw: None };
    graph.add(made, Type::Tensor { dtype: DType::U8, shape })
}

fn refuse(plan: &Plan, catalog: &Catalog) -> Vec<Refusal> {
    let refused = plan.ops.iter().flat_map(|(_, op)| {
        sites(op, catalog).into_iter().map(|it| Refusal {
            pass: PASS.name.to_owned(),
            step: op.step.clone(),
            what: words(op, &it),
            why:
                "not exact: the high frequencies of a block are left out before it is made smaller"
                    .to_owned(),
        })
    });
    refused.collect()
}
