//! What is made grey at once need not be made in colour: `grayscale(decode_jpeg(b))` is nearly
//! `decode_jpeg(b, channels: 1)`.
//!
//! Which functions have such a form is the library's to say ([`Property::Nearly`]).

use super::{
    Pass,
    nearly::{Leaves, Site},
    rebuild,
};
use crate::registry::Registry;
use plan::{Arg, Expr, ExprId, Graph, Nearly, Op, Property};
use std::collections::HashMap;

pub(super) const PASS: Pass = Pass {
    name: "partial-evaluation",
    formerly: Some("make-less"),
    summary: "computes only what is used",
    doc: "Values that are discarded immediately are not computed.",
    law: "The library states that the two are nearly the same: they differ by intermediate \
          rounding and clipping.",
    exact: false,
    always: false,
    takes_parts: false,
    propose: |plan, registry| LEAVES.propose(plan, registry),
    refuse: |plan, registry| LEAVES.refuse(plan, registry),
};

static LEAVES: Leaves<Nearly> = Leaves {
    pass: "partial-evaluation",
    how: |it| if let Property::Nearly(it) = it { Some(it) } else { None },
    of: |it| it.of,
    args: 1,
    asked: |_| None,
    words: |function, Nearly { of, parameter, value }| {
        format!("`{function}` with `{parameter}: {value}` for `{of}`")
    },
    rewritten,
    why_not: "not exact: colors are rounded and clipped before they are weighted",
};

fn rewritten(op: &Op, sites: &[Site<Nearly>], registry: &Registry) -> Option<Op> {
    let mut graph = Graph::default();
    graph.n_vars = op.graph.n_vars;
    let mut new: HashMap<ExprId, ExprId> = HashMap::new();
    for (id, expr, ty) in op.graph.iter() {
        let mut expr = expr.clone();
        if let Some(site) = sites.iter().find(|it| it.upper == id) {
            expr = op.graph.expr(site.lower).clone();
            let Expr::Call { function, args, .. } = &mut expr else { return None };
            let names = registry.parameters(registry.function(function)?);
            let at = names.iter().position(|it| it == site.how.parameter)?;
            *args.get_mut(at)? = Arg::Int(site.how.value);
        }
        let made = graph.add(expr.with_needs(|it| new[&it]), ty.clone());
        new.insert(id, made);
    }
    Some(rebuild::renumbered(&rebuild::on_graph(op, graph, &new), &[]))
}
