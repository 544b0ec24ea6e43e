//! What commutes with moving elements: how a value is made of another, and where its axes go.

use crate::{
    ast::{self, ExprKind, TypeKind},
    registry::Registry,
};
use plan::{Arg, Const, Entry, Expr, ExprId, Extent, Graph, Property, Type};

/// A value that is made of one tensor, each element or pixel of the one at the same place.
#[derive(Debug, Clone)]
pub(super) struct Computed {
    /// The tensor.
    pub(super) base: ExprId,
    pub(super) how: How,
}

/// How it is made.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum How {
    /// Every element in the same way.
    Each,
    /// Every channel in a way of its own; the parameter that says which axis these are, and the axis.
    Channel { parameter: usize, axis: usize },
    /// Every element of the last axis with its own number of a constant.
    Along { constant: ExprId },
    /// Every pixel of all its channels, which are the last axis.
    Pixel,
}

/// Where each axis is after a move; none where it is gone or cut, so that its elements are others.
pub(super) type Axes = Vec<Option<usize>>;

/// How `id` is made of one tensor, where it is so element by element.
pub(super) fn computed(graph: &Graph, id: ExprId, registry: &Registry) -> Option<Computed> {
    let scalar = |it: &ExprId| graph.ty(*it).shape() == Some(&[]);
    let each = |base: &ExprId| Some(Computed { base: *base, how: How::Each });
    let along = |base: &ExprId, constant: ExprId| {
        is_along(graph, *base, constant)
            .then_some(Computed { base: *base, how: How::Along { constant } })
    };
    match graph.expr(id) {
        Expr::Unary(_, a) | Expr::Cast(_, a) => each(a),
        Expr::Binary(_, a, b) if scalar(b) => each(a),
        Expr::Binary(_, a, b) if scalar(a) => each(b),
        Expr::Binary(_, a, b) => along(a, *b).or_else(|| along(b, *a)),
        Expr::Call { function, args, draw: None } => {
            let (Some(Arg::Expr(base)), Some(entry)) = (args.first(), registry.function(function))
            else {
                return None;
            };
            let rest = args[1..].iter().all(|it| match it {
                Arg::Expr(id) => scalar(id),
                Arg::Exprs(_) => false,
                _ => true,
            });
            let how = called(registry, (entry, args), graph.ty(*base))?;
            rest.then_some(Computed { base: *base, how })
        }
        _ => None,
    }
}

/// Whether `constant` has a number for each element of the last axis of `base`.
fn is_along(graph: &Graph, base: ExprId, constant: ExprId) -> bool {
    let Expr::Const(Const::Floats(_, shape, _) | Const::Ints(_, shape, _)) = graph.expr(constant)
    else {
        return false;
    };
    let last = graph.ty(base).shape().and_then(<[Extent]>::last);
    matches!((&shape[..], last), ([n], Some(Extent::Known(it))) if n == it)
}

fn called(registry: &Registry, (entry, args): (&Entry, &[Arg]), ty: &Type) -> Option<How> {
    if entry.has(Property::Pointwise) {
        return Some(How::Each);
    }
    if entry.has(Property::ByPixel) {
        return Some(How::Pixel);
    }
    if !entry.has(Property::PointwiseByChannel) {
        return None;
    }
    let parameter = registry.parameters(entry).iter().position(|it| it == "axis")?;
    let Arg::Int(axis) = args.get(parameter)? else { return None };
    Some(How::Channel { parameter, axis: counted(*axis, ty.shape()?.len())? })
}

/// The axis `number` of `rank`, counted from the end where it is negative.
fn counted(number: i64, rank: usize) -> Option<usize> {
    let number = if number < 0 { number + rank as i64 } else { number };
    usize::try_from(number).ok().filter(|it| *it < rank)
}

/// Whether a call moves elements and computes nothing.
pub(super) fn moves(entry: &Entry, args: &[Arg]) -> bool {
    entry.has(Property::Moves) && matches!(args.first(), Some(Arg::Expr(_)))
}

/// Where the axes of a tensor of type `ty` are after the move `entry`: as the names of the axes in
/// its signature say, or its parameter `axis`, which says the only one that it changes.
pub(super) fn axes(
    registry: &Registry,
    (entry, args): (&Entry, &[Arg]),
    ty: &Type,
) -> Option<Axes> {
    let rank = ty.shape()?.len();
    let signature = registry.signature(entry)?;
    let before = signature.formals.first()?.type_.as_ref().and_then(names);
    let after = signature.result.as_ref().and_then(names);
    if let (Some(before), Some(after)) = (before, after) {
        let place = |name: &String| {
            let mut places = (0..after.len()).filter(|it| after[*it] == *name);
            places.next().filter(|_| places.next().is_none() && !name.is_empty())
        };
        return (before.len() == rank).then(|| before.iter().map(place).collect());
    }
    let parameter = registry.parameters(entry).iter().position(|it| it == "axis")?;
    let Arg::Int(axis) = args.get(parameter)? else { return None };
    let axis = counted(*axis, rank).filter(|_| entry.has(Property::Crops))?;
    Some((0..rank).map(|it| (it != axis).then_some(it)).collect())
}

/// The names of the axes of a type in a signature; those that have none are empty.
fn names(ty: &ast::TypeExpr) -> Option<Vec<String>> {
    let TypeKind::Named { extents, .. } = &ty.kind else { return None };
    let name = |it: &ast::Extent| match it {
        ast::Extent::Known(ast::Expr { kind: ExprKind::Name(name), .. }) => name.clone(),
        _ => String::new(),
    };
    (!extents.is_empty()).then(|| extents.iter().map(name).collect())
}

/// Whether pixels stay whole: the last axis is there, and the last.
pub(super) fn is_whole(axes: &Axes) -> bool {
    axes.len() == 3 && axes[2] == Some(2)
}

/// The law that forbids `moving` to go before what `upper` computes; none where nobody would expect
/// that it does.
pub(super) fn broken(
    (graph, upper): (&Graph, ExprId),
    (moving, args): (&Entry, &[Arg]),
    registry: &Registry,
) -> Option<String> {
    let Expr::Call { function, .. } = graph.expr(upper) else { return None };
    let entry = registry.function(function)?;
    let crops = moving.has(Property::Crops);
    let name = moving.name();
    if entry.has(Property::Gathers) && crops {
        return Some(format!(
            "an element of `{function}` is computed from several, also from some outside the part"
        ));
    }
    let gathers = entry.has(Property::Gathers) && entry.has(Property::Weighs);
    let mirrors = || {
        let axes = axes(registry, (moving, args), graph.ty(upper)).unwrap_or_default();
        !axes.is_empty() && (0..axes.len()).all(|it| axes[it] == Some(it))
    };
    (gathers && !crops && mirrors()).then(|| {
        format!(
            "`{function}` adds up pixels from one side and breaks ties towards it, so a mirrored \
             image results in the mirrored output except for the last bits; and `{name}` costs \
             nothing in its place"
        )
    })
}
