//! What is made smaller at once need not be made large: `resize(decode_jpeg(b), h, w)` is nearly
//! `resize(decode_jpeg_draft(b, h, w), h, w)`.
//!
//! Which functions have such a form is the library's to say ([`Property::Drafts`]).

use super::{
    Pass,
    nearly::{Leaves, Site},
    rebuild,
};
use plan::{Arg, DType, Drafted, Expr, ExprId, Extent, Graph, Op, Property, Type};
use std::collections::HashMap;

pub(super) const PASS: Pass = Pass {
    name: "scaled-decoding",
    formerly: Some("draft"),
    summary: "decodes at a smaller scale",
    doc: "An image that is shrunk right after decoding is decoded at a smaller scale.",
    law: "The library states that the two are nearly the same: each block keeps its low \
          frequencies, which are what remains after shrinking.",
    exact: false,
    always: false,
    takes_parts: false,
    propose: |plan, registry| LEAVES.propose(plan, registry),
    refuse: |plan, registry| LEAVES.refuse(plan, registry),
};

static LEAVES: Leaves<Drafted> = Leaves {
    pass: PASS.name,
    how: |it| if let Property::Drafts(it) = it { Some(it) } else { None },
    of: |it| it.of,
    args: 3,
    asked: |it| Some(it.asked),
    words: |function, it| format!("`{}` for `{function}`, below `{}`", it.into, it.of),
    rewritten: |op, sites, _| Some(rewritten(op, sites)),
    why_not: "not exact: the high frequencies of a block are dropped before it is shrunk",
};

fn rewritten(op: &Op, sites: &[Site<Drafted>]) -> Op {
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
fn answered(asks: Expr, site: &Site<Drafted>, graph: &Graph) -> Expr {
    match (asks, graph.expr(site.lower)) {
        (Expr::Call { mut args, draw, .. }, Expr::Call { args: below, .. }) => {
            args[0] = below[0].clone();
            Expr::Call { function: site.how.answer.to_owned(), args, draw }
        }
        (asks, _) => asks,
    }
}

/// What is made in place of the whole, for `upper`, whose arguments are those of the new graph.
fn draft(
    upper: &Expr,
    site: &Site<Drafted>,
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
    let made = Expr::Call { function: site.how.into.to_owned(), args, draw: None };
    graph.add(made, Type::Tensor { dtype: DType::U8, shape })
}
