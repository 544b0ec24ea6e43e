//! What is made grey at once need not be made in colour: `grayscale(decode_jpeg(b))` is nearly
//! `decode_jpeg(b, channels: 1)`.
//!
//! Which functions have such a form is the library's to say ([`Property::Nearly`]).

use super::{Pass, Proposal, Refusal, rebuild};
use crate::lower::{align::values, catalog::Catalog, graft::live};
use plan::{Arg, Expr, ExprId, Graph, Index, Nearly, Op, Plan, Property};
use std::collections::HashMap;

pub(super) const PASS: Pass = Pass {
    name: "make-less",
    doc: "What is thrown away at once is not made.",
    law: "The library states that the two are nearly the same: they differ by what is rounded and \
          clipped between.",
    exact: false,
    propose: |plan, catalog| propose(plan, catalog).into_iter().collect(),
    refuse,
};

/// A call whose result another one makes less of.
struct Site {
    upper: ExprId,
    lower: ExprId,
    nearly: &'static Nearly,
}

fn sites(op: &Op, catalog: &Catalog) -> Vec<Site> {
    let live = live(&op.graph, &values(op), &[]);
    let users = rebuild::users(op, &live);
    let nodes = op.graph.iter().filter(|(id, ..)| live[id.row()]);
    let sites = nodes.filter_map(|(upper, expr, _)| {
        let Expr::Call { function: of, args, draw: None } = expr else { return None };
        let Some(Arg::Expr(lower)) = args.first() else { return None };
        let Expr::Call { function, args: below, draw: None } = op.graph.expr(*lower) else {
            return None;
        };
        let entry = catalog.function(function)?;
        let nearly = entry.properties.iter().find_map(|it| match it {
            Property::Nearly(it) if it.of == of => Some(*it),
            _ => None,
        })?;
        let defaults = catalog.has_defaults(entry, below, 1)
            && catalog.has_defaults(catalog.function(of)?, args, 1);
        (defaults && users[lower.row()] == 1).then_some(Site { upper, lower: *lower, nearly })
    });
    sites.collect()
}

fn propose(plan: &Plan, catalog: &Catalog) -> Option<Proposal> {
    let mut plan = plan.clone();
    let mut story = Vec::new();
    for id in plan.ops.ids() {
        let op = &plan.ops[id];
        let sites = sites(op, catalog);
        let Some(changed) = rewritten(op, &sites, catalog).filter(|_| !sites.is_empty()) else {
            continue;
        };
        story.extend(sites.iter().map(|it| format!("{}: {}", op.step, words(op, it))));
        plan.ops[id] = changed;
    }
    (!story.is_empty()).then(|| Proposal { plan, why: story.join("; ") })
}

fn words(op: &Op, site: &Site) -> String {
    let Expr::Call { function, .. } = op.graph.expr(site.lower) else { return String::new() };
    let Nearly { of, parameter, value } = site.nearly;
    format!("`{function}` with `{parameter}: {value}` for `{of}`")
}

fn rewritten(op: &Op, sites: &[Site], catalog: &Catalog) -> Option<Op> {
    let mut graph = Graph::default();
    graph.n_vars = op.graph.n_vars;
    let mut new: HashMap<ExprId, ExprId> = HashMap::new();
    for (id, expr, ty) in op.graph.iter() {
        let mut expr = expr.clone();
        if let Some(site) = sites.iter().find(|it| it.upper == id) {
            expr = op.graph.expr(site.lower).clone();
            let Expr::Call { function, args, .. } = &mut expr else { return None };
            let names = catalog.parameters(catalog.function(function)?);
            let at = names.iter().position(|it| it == site.nearly.parameter)?;
            *args.get_mut(at)? = Arg::Int(site.nearly.value);
        }
        let made = graph.add(expr.with_needs(|it| new[&it]), ty.clone());
        new.insert(id, made);
    }
    Some(rebuild::renumbered(&rebuild::on_graph(op, graph, &new), &[]))
}

fn refuse(plan: &Plan, catalog: &Catalog) -> Vec<Refusal> {
    let refused = plan.ops.iter().flat_map(|(_, op)| {
        sites(op, catalog).into_iter().map(|it| Refusal {
            pass: PASS.name.to_owned(),
            step: op.step.clone(),
            what: words(op, &it),
            why: "not exact: colours are rounded and clipped before they are weighed".to_owned(),
        })
    });
    refused.collect()
}
