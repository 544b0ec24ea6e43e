//! What moves elements goes below what computes each element alone.
//!
//! A view costs nothing where something reads it next, and a copy where it is the last: so
//! `channels_first(normalize(x))` becomes `normalize(channels_first(x), axis: 0)`, which reads in the
//! other order and writes each element once, where it will live. Both compute every element from
//! the same one by the same operations. What is cropped is not computed first.

use super::{
    Pass, Proposal, Refusal,
    moves::{Axes, Computed, How, axes, broken, computed, is_whole, moves},
    pull::pulled,
    rebuild,
};
use crate::{
    analysis::{
        live::{live, values},
        total::can_fail,
    },
    registry::Registry,
};
use plan::{
    Arg, Binary, Const, DType, Expr, ExprId, Extent, Graph, Index, Op, OpId, Plan, Property, Type,
    Unary,
};
use std::collections::HashMap;

pub(super) const PASS: Pass = Pass {
    name: "view-reordering",
    formerly: Some("sink-views"),
    summary: "moves crops, flips and the like past arithmetic",
    doc: "Operations that only move elements go before elementwise arithmetic, so that they need \
          no copy.",
    law: "If each element of the result is computed from the element at the same position, moving \
          and computing elements commute.",
    exact: true,
    always: false,
    takes_parts: true,
    propose: |plan, registry| propose(plan, registry).into_iter().collect(),
    refuse,
};

/// How deep a view may sink.
const SWEEPS_MAX: usize = 64;

fn propose(plan: &Plan, registry: &Registry) -> Option<Proposal> {
    let mut plan = plan.clone();
    let mut story = Vec::new();
    for id in plan.ops.ids() {
        let mut sunk = sink(&mut plan, id, registry);
        for _ in 0..SWEEPS_MAX {
            // What stands in the step before can be passed too, if it is computed here.
            let Some(mut other) = pulled(&plan, id, registry) else { break };
            let further = sink(&mut other, id, registry);
            if further.is_empty() {
                break;
            }
            sunk.extend(further);
            plan = other;
        }
        sunk.dedup();
        if !sunk.is_empty() {
            plan.ops[id] = rebuild::renumbered(&plan.ops[id], &[]);
            story.push(format!("{}: {}", plan.ops[id].step, sunk.join(", ")));
        }
    }
    (!story.is_empty()).then(|| Proposal { plan, why: story.join("; ") })
}

/// Every view of the operator `id` as deep as it goes; what was done, in words.
fn sink(plan: &mut Plan, id: OpId, registry: &Registry) -> Vec<String> {
    let mut sunk = Vec::new();
    for _ in 0..SWEEPS_MAX {
        let Some((op, moves)) = sweep(&plan.ops[id], registry) else { break };
        plan.ops[id] = op;
        sunk.extend(moves);
    }
    sunk
}

/// Every view of an operator one step deeper, with what was done in words.
fn sweep(op: &Op, registry: &Registry) -> Option<(Op, Vec<String>)> {
    let roots = values(op);
    let live = live(&op.graph, &roots, &[]);
    let users = rebuild::users(op, &live);
    let mut graph = Graph::default();
    graph.n_vars = op.graph.n_vars;
    let mut new: HashMap<ExprId, ExprId> = HashMap::new();
    let mut words = Vec::new();
    for (id, expr, ty) in op.graph.iter().filter(|(id, ..)| live[id.row()]) {
        let site =
            site(&op.graph, id, registry).filter(|it| it.is_free() || users[it.upper.row()] == 1);
        let made = match site {
            Some(site) if site.is_free() => {
                words.push(site.words(&op.graph));
                graph.add(site.view(&new), ty.clone())
            }
            Some(site) => {
                words.push(site.words(&op.graph));
                let inner = graph.add(site.view(&new), site.view_type(&op.graph, ty));
                let above = site.above(&op.graph, &new, (&mut graph, inner));
                graph.add(above, ty.clone())
            }
            None => graph.add(expr.clone().with_needs(|it| new[&it]), ty.clone()),
        };
        new.insert(id, made);
    }
    (!words.is_empty()).then(|| (rebuild::on_graph(op, graph, &new), words))
}

/// A view of what is computed element by element.
struct Site<'a> {
    /// The function that moves elements, or asks how many there are.
    function: &'a str,
    /// Its arguments.
    args: &'a [Arg],
    /// What computes.
    upper: ExprId,
    /// What it computes from, and how.
    computed: Computed,
    /// Where each axis lies after the move; none where nothing is moved, but only asked.
    axes: Option<Axes>,
}

fn site<'a>(graph: &'a Graph, id: ExprId, registry: &Registry) -> Option<Site<'a>> {
    let Expr::Call { function, args, draw: None } = graph.expr(id) else { return None };
    let entry = registry.function(function)?;
    let Some(Arg::Expr(upper)) = args.first() else { return None };
    if can_fail(graph, *upper, registry) {
        return None;
    }
    let computed = computed(graph, *upper, registry)?;
    let site = |axes| Site { function, args, upper: *upper, computed: computed.clone(), axes };
    if entry.has(Property::Asks) {
        return (computed.how != How::Pixel).then(|| site(None));
    }
    if !moves(entry, args) {
        return None;
    }
    let axes = axes(registry, (entry, args), graph.ty(computed.base));
    match (&computed.how, axes) {
        (How::Each, axes) => Some(site(Some(axes.unwrap_or_default()))),
        (How::Channel { axis, .. }, Some(axes)) if axes.get(*axis)?.is_some() => {
            Some(site(Some(axes)))
        }
        (How::Along { .. }, Some(axes)) if axes.last()?.is_some() => Some(site(Some(axes))),
        (How::Pixel, Some(axes)) if entry.has(Property::Crops) && is_whole(&axes) => {
            Some(site(Some(axes)))
        }
        _ => None,
    }
}

impl Site<'_> {
    /// Whether it is done whoever else needs what is computed: it costs nothing by itself.
    fn is_free(&self) -> bool {
        self.axes.is_none()
    }

    /// The view, of what was computed from before.
    fn view(&self, new: &HashMap<ExprId, ExprId>) -> Expr {
        let (function, args) = (self.function.to_owned(), self.args.to_vec());
        let view = Expr::Call { function, args, draw: None };
        let base = new[&self.computed.base];
        view.with_needs(|it| if it == self.upper { base } else { new[&it] })
    }

    /// Its type: the extents of the result, the dtype and channels of what is moved now.
    fn view_type(&self, graph: &Graph, ty: &Type) -> Type {
        let base = graph.ty(self.computed.base);
        let dtype = base.dtype().unwrap_or(DType::U8);
        let mut shape = ty.shape().unwrap_or_default().to_vec();
        let channels = base.shape().and_then(<[_]>::last);
        if let (How::Pixel, Some(last), Some(channels)) =
            (&self.computed.how, shape.last_mut(), channels)
        {
            last.clone_from(channels);
        }
        Type::Tensor { dtype, shape }
    }

    /// What computes, on the view `inner`.
    fn above(&self, from: &Graph, new: &HashMap<ExprId, ExprId>, to: (&mut Graph, ExprId)) -> Expr {
        let (graph, inner) = to;
        let above = from.expr(self.upper).clone();
        let base = self.computed.base;
        let place = |axis: usize| self.axes.as_ref().and_then(|it| it.get(axis).copied().flatten());
        let mut along = None;
        if let How::Along { constant } = &self.computed.how {
            let rank = from.ty(base).shape().map_or(0, <[_]>::len);
            let behind = rank.saturating_sub(1 + place(rank.saturating_sub(1)).unwrap_or(0));
            along = Some((*constant, moved_constant(from, *constant, behind, graph)));
        }
        let mut above = above.with_needs(|it| match &along {
            _ if it == base => inner,
            Some((old, moved)) if it == *old => *moved,
            _ => new[&it],
        });
        if let (Expr::Call { args, .. }, How::Channel { parameter, axis }) =
            (&mut above, &self.computed.how)
        {
            args[*parameter] = Arg::Int(place(*axis).unwrap_or(*axis) as i64);
        }
        above
    }

    fn words(&self, graph: &Graph) -> String {
        format!("`{}` moves before {}", self.function, name(graph, self.upper))
    }
}

/// A constant for each channel, where so many axes stand behind the channels.
fn moved_constant(from: &Graph, id: ExprId, behind: usize, graph: &mut Graph) -> ExprId {
    let (mut expr, mut ty) = (from.expr(id).clone(), from.ty(id).clone());
    if let Expr::Const(Const::Floats(_, shape, _) | Const::Ints(_, shape, _)) = &mut expr {
        shape.extend(vec![1; behind]);
    }
    if let Type::Tensor { shape, .. } = &mut ty {
        shape.extend(vec![Extent::Known(1); behind]);
    }
    graph.add(expr, ty)
}

/// What stays where it is although it would be cheaper elsewhere, and why.
fn refuse(plan: &Plan, registry: &Registry) -> Vec<Refusal> {
    plan.ops.iter().flat_map(|(_, op)| refused(op, registry)).collect()
}

fn refused(op: &Op, registry: &Registry) -> Vec<Refusal> {
    let live = live(&op.graph, &values(op), &[]);
    let users = rebuild::users(op, &live);
    let nodes = op.graph.iter().filter(|(id, ..)| live[id.row()]);
    let found = nodes.filter_map(|(id, expr, _)| {
        let Expr::Call { function, args, draw: None } = expr else { return None };
        let entry = registry.function(function)?;
        let Some(Arg::Expr(upper)) = args.first().filter(|_| moves(entry, args)) else {
            return None;
        };
        let whole = site(&op.graph, id, registry).is_some() && users[upper.row()] > 1;
        let name = name(&op.graph, *upper);
        let why = match whole {
            true => format!("the whole result of {name} is also needed"),
            false => broken((&op.graph, *upper), (entry, args), registry)?,
        };
        let (pass, step) = (PASS.name.to_owned(), op.step.clone());
        Some(Refusal { pass, step, what: format!("`{function}` before {name}"), why })
    });
    found.collect()
}

/// The name of what a node computes, for people.
pub(super) fn name(graph: &Graph, id: ExprId) -> String {
    match graph.expr(id) {
        Expr::Call { function, .. } => format!("`{function}`"),
        Expr::Cast(to, _) => format!("`{to}`"),
        Expr::Unary(op, _) => format!("`{}`", unary(*op)),
        Expr::Binary(op, ..) => format!("`{}`", binary(*op)),
        _ => "arithmetic".to_owned(),
    }
}

fn unary(op: Unary) -> String {
    format!("{op:?}").to_lowercase()
}

fn binary(op: Binary) -> String {
    format!("{op:?}").to_lowercase()
}
