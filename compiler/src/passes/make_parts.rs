//! What is cropped is not made whole: `crop(decode_jpeg(b), …)` becomes `decode_jpeg_crop(b, …)`.
//!
//! Which functions have such a form is the library's to say ([`Property::Fuses`]). Where a crop depends
//! on the size of the whole, that is asked of somebody who knows it without making the whole. Where
//! several parts are wanted, making the whole once is left as it is.

use super::{Pass, Proposal, rebuild};
use crate::lower::{align::values, catalog::Catalog, graft::live};
use plan::{Arg, Expr, ExprId, Fused, Graph, Index, Op, Plan, Property};
use std::collections::HashMap;

pub(super) const PASS: Pass = Pass {
    name: "make-parts",
    doc: "Where only a part of a value is used, only that part is made.",
    law: "The library states that the part of the whole and the part made at once are the same.",
    exact: true,
    propose: |plan, catalog| propose(plan, catalog).into_iter().collect(),
    refuse: super::nothing_refused,
};

fn propose(plan: &Plan, catalog: &Catalog) -> Option<Proposal> {
    let mut plan = plan.clone();
    let mut story = Vec::new();
    for id in plan.ops.ids() {
        let op = &plan.ops[id];
        let sites = sites(op, catalog);
        if sites.is_empty() {
            continue;
        }
        for site in &sites {
            let Fused { into, .. } = site.fused;
            story.push(format!("{}: `{into}` makes the part that is used", op.step));
        }
        plan.ops[id] = rewritten(op, &sites);
    }
    (!story.is_empty()).then(|| Proposal { plan, why: story.join("; ") })
}

/// A value of which one part is used.
struct Site {
    whole: ExprId,
    /// What the whole is made of.
    from: ExprId,
    fused: &'static Fused,
}

fn sites(op: &Op, catalog: &Catalog) -> Vec<Site> {
    let roots = values(op);
    let live = live(&op.graph, &roots, &[]);
    let nodes = op.graph.iter().map(|(id, ..)| id);
    let nodes = nodes.filter(|id| live[id.row()] && !roots.contains(id));
    let site = |whole: ExprId| {
        let (from, fused) = whole_of(&op.graph, whole, catalog)?;
        let mut parts = 0;
        for (_, user, _) in op.graph.iter().filter(|(id, ..)| live[id.row()]) {
            match used(user, whole) {
                None => {}
                Some(Use::First(function)) if function == fused.part => parts += 1,
                Some(Use::First(function)) if function == fused.asked => {}
                Some(_) => return None,
            }
        }
        (parts == 1).then_some(Site { whole, from, fused })
    };
    nodes.filter_map(site).collect()
}

/// What a node that can be made in part is made of.
fn whole_of(graph: &Graph, id: ExprId, catalog: &Catalog) -> Option<(ExprId, &'static Fused)> {
    let Expr::Call { function, args, draw: None } = graph.expr(id) else { return None };
    let entry = catalog.function(function)?;
    let fused = entry.properties.iter().find_map(|it| match it {
        Property::Fuses(fused) => Some(*fused),
        _ => None,
    })?;
    let (Some(Arg::Expr(from)), true) = (args.first(), catalog.has_defaults(entry, args, 1)) else {
        return None;
    };
    Some((*from, fused))
}

/// How a node uses another.
enum Use<'a> {
    /// As the first argument of a function, and nowhere else.
    First(&'a str),
    /// In another way.
    Other,
}

fn used(user: &Expr, id: ExprId) -> Option<Use<'_>> {
    let mut times = 0;
    user.needs(|it| times += u32::from(it == id));
    match user {
        _ if times == 0 => None,
        Expr::Call { function, args, draw: None }
            if times == 1 && args.first() == Some(&Arg::Expr(id)) =>
        {
            Some(Use::First(function))
        }
        _ => Some(Use::Other),
    }
}

fn rewritten(op: &Op, sites: &[Site]) -> Op {
    let mut graph = Graph::default();
    graph.n_vars = op.graph.n_vars;
    let mut new: HashMap<ExprId, ExprId> = HashMap::new();
    for (id, expr, ty) in op.graph.iter() {
        let site = sites.iter().find(|it| matches!(used(expr, it.whole), Some(Use::First(_))));
        let expr = match site {
            Some(site) => fused(expr, site),
            None => expr.clone(),
        };
        let made = graph.add(expr.with_needs(|it| new[&it]), ty.clone());
        new.insert(id, made);
    }
    rebuild::renumbered(&rebuild::on_graph(op, graph, &new), &[])
}

/// The call `expr` on the whole, as one on what the whole is made of.
fn fused(expr: &Expr, site: &Site) -> Expr {
    let mut expr = expr.clone();
    if let Expr::Call { function, args, .. } = &mut expr {
        let Fused { part, into, answer, .. } = site.fused;
        *function = (if function == part { into } else { answer }).to_string();
        args[0] = Arg::Expr(site.from);
    }
    expr
}
