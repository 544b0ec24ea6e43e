//! What moves elements goes below what computes each element alone.
//!
//! A view costs nothing where something reads it next, and a copy where it is the last: so
//! `channels_first(normalize(x))` becomes `normalize(channels_first(x), axis: 0)`, which reads in the
//! other order and writes each element once, where it will live. Both compute every element from
//! the same one by the same operations. What is cropped is not computed first.

use super::{Pass, Proposal, rebuild};
use crate::{
    ast::{self, ExprKind, TypeKind},
    lower::{align::values, catalog::Catalog, graft::live, total::can_fail},
};
use plan::{
    Arg, Binary, DType, Entry, Expr, ExprId, Graph, Index, Op, Plan, Property, Type, Unary,
};
use std::collections::HashMap;

pub(super) const PASS: Pass = Pass {
    name: "sink-views",
    doc: "What moves elements goes below what computes each alone, so that it costs no copy.",
    propose,
};

/// How deep a view may sink.
const SWEEPS_MAX: usize = 64;

fn propose(plan: &Plan, catalog: &Catalog) -> Option<Proposal> {
    let mut plan = plan.clone();
    let mut story = Vec::new();
    for id in plan.ops.ids() {
        let mut sunk = Vec::new();
        for _ in 0..SWEEPS_MAX {
            let Some((op, moves)) = sweep(&plan.ops[id], catalog) else { break };
            plan.ops[id] = op;
            sunk.extend(moves);
        }
        sunk.dedup();
        if !sunk.is_empty() {
            plan.ops[id] = rebuild::renumbered(&plan.ops[id], &[]);
            story.push(format!("{}: {}", plan.ops[id].step, sunk.join(", ")));
        }
    }
    (!story.is_empty()).then(|| Proposal { plan, why: story.join("; ") })
}

/// Every view of an operator one step deeper, with what was done in words.
fn sweep(op: &Op, catalog: &Catalog) -> Option<(Op, Vec<String>)> {
    let roots = values(op);
    let live = live(&op.graph, &roots, &[]);
    let users = rebuild::users(op, &live);
    let mut graph = Graph::default();
    graph.n_vars = op.graph.n_vars;
    let mut new: HashMap<ExprId, ExprId> = HashMap::new();
    let mut words = Vec::new();
    for (id, expr, ty) in op.graph.iter().filter(|(id, ..)| live[id.row()]) {
        let site = site(&op.graph, id, catalog).filter(|it| users[it.upper.row()] == 1);
        let made = match site {
            Some(site) => {
                words.push(site.words(&op.graph));
                let inner = graph.add(site.view(&new), site.view_type(&op.graph, ty));
                graph.add(site.above(&op.graph, &new, inner), ty.clone())
            }
            None => graph.add(expr.clone().with_needs(|it| new[&it]), ty.clone()),
        };
        new.insert(id, made);
    }
    (!words.is_empty()).then(|| (rebuild::on_graph(op, graph, &new), words))
}

/// A view of what is computed element by element.
struct Site<'a> {
    /// The function that moves elements.
    function: &'a str,
    /// Its arguments.
    args: &'a [Arg],
    /// What computes.
    upper: ExprId,
    /// What it computes from, element by element.
    base: ExprId,
    /// Where the channels lie after the move, for what asks: the parameter and the axis.
    axis: Option<(usize, i64)>,
}

fn site<'a>(graph: &'a Graph, id: ExprId, catalog: &Catalog) -> Option<Site<'a>> {
    let Expr::Call { function, args, draw: None } = graph.expr(id) else { return None };
    let entry = catalog.function(function).filter(|it| it.has(Property::Moves))?;
    let Some(Arg::Expr(upper)) = args.first() else { return None };
    if can_fail(graph, *upper, catalog) {
        return None;
    }
    let base = base(graph, *upper, catalog)?;
    let axis = match graph.expr(*upper) {
        Expr::Call { function, args, .. }
            if catalog.has(function, Property::PointwiseByChannel) =>
        {
            Some(channels(catalog, (catalog.function(function)?, args), (entry, graph.ty(base)))?)
        }
        _ => None,
    };
    Some(Site { function, args, upper: *upper, base, axis })
}

/// The tensor that `id` is computed from element by element, all else being scalars.
fn base(graph: &Graph, id: ExprId, catalog: &Catalog) -> Option<ExprId> {
    let scalar = |it: &ExprId| graph.ty(*it).shape() == Some(&[]);
    match graph.expr(id) {
        Expr::Unary(_, a) | Expr::Cast(_, a) => Some(*a),
        Expr::Binary(_, a, b) if scalar(b) => Some(*a),
        Expr::Binary(_, a, b) if scalar(a) => Some(*b),
        Expr::Call { function, args, draw: None } => {
            let each = [Property::Pointwise, Property::PointwiseByChannel];
            let plain = each.into_iter().any(|it| catalog.has(function, it));
            let (Some(Arg::Expr(first)), true) = (args.first(), plain) else { return None };
            let rest = args[1..].iter().all(|it| match it {
                Arg::Expr(id) => scalar(id),
                Arg::Exprs(_) => false,
                _ => true,
            });
            rest.then_some(*first)
        }
        _ => None,
    }
}

/// The parameter of `upper` that says which axis the channels are, and which one it is on the view
/// that `moving` makes: the axis that has the same name in its signature.
fn channels(
    catalog: &Catalog,
    (upper, args): (&Entry, &[Arg]),
    (moving, ty): (&Entry, &Type),
) -> Option<(usize, i64)> {
    let parameter = catalog.parameters(upper).iter().position(|it| it == "axis")?;
    let Arg::Int(axis) = args.get(parameter)? else { return None };
    let rank = ty.shape()?.len() as i64;
    let axis = usize::try_from(if *axis < 0 { axis + rank } else { *axis }).ok()?;

    let signature = catalog.signature(moving)?;
    let before = axes(signature.formals.first()?.type_.as_ref()?)?;
    let after = axes(signature.result.as_ref()?)?;
    let name = before.get(axis).filter(|_| before.len() as i64 == rank)?;
    let mut places = after.iter().enumerate().filter(|(_, it)| *it == name);
    match (places.next(), places.next()) {
        (Some((place, _)), None) => Some((parameter, place as i64)),
        _ => None,
    }
}

/// The names of the axes of a type in a signature; those that have none are empty.
fn axes(ty: &ast::TypeExpr) -> Option<Vec<String>> {
    let TypeKind::Named { extents, .. } = &ty.kind else { return None };
    let name = |it: &ast::Extent| match it {
        ast::Extent::Known(ast::Expr { kind: ExprKind::Name(name), .. }) => name.clone(),
        _ => String::new(),
    };
    (!extents.is_empty()).then(|| extents.iter().map(name).collect())
}

impl Site<'_> {
    /// The view, of what was computed from before.
    fn view(&self, new: &HashMap<ExprId, ExprId>) -> Expr {
        let (function, args) = (self.function.to_owned(), self.args.to_vec());
        let view = Expr::Call { function, args, draw: None };
        let base = new[&self.base];
        view.with_needs(|it| if it == self.upper { base } else { new[&it] })
    }

    /// Its type: the extents of the result, the dtype of what is moved now.
    fn view_type(&self, graph: &Graph, ty: &Type) -> Type {
        let dtype = graph.ty(self.base).dtype().unwrap_or(DType::U8);
        Type::Tensor { dtype, shape: ty.shape().unwrap_or_default().to_vec() }
    }

    /// What computes, on the view `inner`.
    fn above(&self, graph: &Graph, new: &HashMap<ExprId, ExprId>, inner: ExprId) -> Expr {
        let above = graph.expr(self.upper).clone();
        let mut above = above.with_needs(|it| if it == self.base { inner } else { new[&it] });
        if let (Expr::Call { args, .. }, Some((parameter, axis))) = (&mut above, self.axis) {
            args[parameter] = Arg::Int(axis);
        }
        above
    }

    fn words(&self, graph: &Graph) -> String {
        let upper = match graph.expr(self.upper) {
            Expr::Call { function, .. } => format!("`{function}`"),
            Expr::Cast(to, _) => format!("`{to}`"),
            Expr::Unary(op, _) => format!("`{}`", unary(*op)),
            Expr::Binary(op, ..) => format!("`{}`", binary(*op)),
            _ => "arithmetic".to_owned(),
        };
        format!("`{}` moves before {upper}", self.function)
    }
}

fn unary(op: Unary) -> String {
    format!("{op:?}").to_lowercase()
}

fn binary(op: Binary) -> String {
    format!("{op:?}").to_lowercase()
}
