//! How many bytes values have, as far as types tell; the rest is assumed.

use crate::registry::Registry;
use model::{Figure, Origin};
use plan::{Arg, Const, DType, Expr, ExprId, Extent, Graph, IdVec, Property, Type};

/// Bytes of a file. Assumed: the mean of ImageNet's JPEGs (`docs/MODEL.md`).
pub(crate) const FILE_BYTES: f64 = 110_000.0;
/// Rows and columns of a picture. Assumed: the median of ImageNet.
const PICTURE: [f64; 2] = [375.0, 500.0];
/// Bytes of a text, such as a path. Assumed.
const TEXT_BYTES: f64 = 64.0;
/// Elements of an axis about which nothing is known. Assumed.
pub(crate) const AXIS: f64 = 64.0;
/// Turns of a loop whose number is found for each record. Assumed.
pub(crate) const TURNS: f64 = 8.0;

/// Bytes of a value of which only the type is known.
pub(crate) fn of_type(ty: &Type) -> Figure {
    if let Some(bytes) = ty.fixed_bytes() {
        return Figure::exact(bytes as f64);
    }
    match ty {
        Type::Tensor { dtype, shape } => {
            let text = if *dtype == DType::Bytes { FILE_BYTES } else { TEXT_BYTES };
            let each = if dtype.is_text() { text } else { dtype.size() as f64 };
            Figure::assumed(each * elements(shape))
        }
        Type::Record(fields) => fields.iter().map(|it| of_type(&it.ty)).sum(),
        // Messages and archives hold files, as a rule.
        Type::Untyped(it) if it.dtype() == DType::Bytes => Figure::assumed(FILE_BYTES),
        Type::Untyped(_) => Figure::assumed(TEXT_BYTES),
    }
}

/// Whether values of a type are lists that are as long as [`AXIS`], since nothing is known.
pub(crate) fn is_of_assumed_length(ty: &Type) -> bool {
    let Type::Tensor { shape, .. } = ty else { return false };
    !is_picture(shape) && shape.iter().any(|it| !matches!(it, Extent::Known(_)))
}

/// Whether two unknown axes stand before a few channels.
fn is_picture(shape: &[Extent]) -> bool {
    matches!(shape, [.., Extent::Known(1..=4)] if shape.len() == 3)
}

/// Elements of a tensor; two unknown axes before a few channels are those of a picture.
fn elements(shape: &[Extent]) -> f64 {
    let is_picture = is_picture(shape);
    let extent = |(i, it): (usize, &Extent)| match it {
        Extent::Known(n) => *n as f64,
        _ if is_picture => PICTURE[i.min(1)],
        _ => AXIS,
    };
    shape.iter().enumerate().map(extent).product()
}

/// Bytes of every node, on columns of these sizes.
pub(crate) fn of_nodes(
    graph: &Graph,
    columns: &[Figure],
    registry: &Registry,
) -> IdVec<ExprId, Figure> {
    let mut sizes: IdVec<ExprId, Figure> = IdVec::new();
    for (_, expr, ty) in graph.iter() {
        let size = match ty.fixed_bytes() {
            Some(bytes) => Figure::exact(bytes as f64),
            None => of_node(graph, (expr, ty), &sizes, (columns, registry)),
        };
        sizes.push(size);
    }
    sizes
}

fn of_node(
    graph: &Graph,
    (expr, ty): (&Expr, &Type),
    sizes: &IdVec<ExprId, Figure>,
    (columns, registry): (&[Figure], &Registry),
) -> Figure {
    let alike = |id: ExprId| like(sizes[id], graph.ty(id), ty);
    match expr {
        Expr::Column(i) => columns.get(*i as usize).copied().unwrap_or_else(|| of_type(ty)),
        Expr::Const(Const::Text(_, text)) => Figure::exact(text.len() as f64),
        Expr::Epoch | Expr::Var(_) | Expr::Const(_) => of_type(ty),
        Expr::Unary(_, a) | Expr::Cast(_, a) => alike(*a),
        Expr::Binary(_, a, b) | Expr::Select(_, a, b) => alike(*a).max(alike(*b)),
        Expr::Stack { count, body, .. } => {
            let turns = turns(graph, *count);
            Figure {
                origin: sizes[*body].origin.max(turns.origin),
                ..sizes[*body].times(turns.value)
            }
        }
        Expr::Else { value, .. } => sizes[*value],
        Expr::Call { function, args, .. } => {
            let first = args.iter().find_map(|it| match it {
                Arg::Expr(id) => Some(*id),
                _ => None,
            });
            of_call(function, (first.map(|it| (graph.ty(it), sizes[it])), ty), registry)
        }
    }
}

fn of_call(
    function: &str,
    (first, ty): (Option<(&Type, Figure)>, &Type),
    registry: &Registry,
) -> Figure {
    let Some((first_ty, first)) = first else { return of_type(ty) };
    let keeps = [Property::Pointwise, Property::PointwiseByChannel, Property::Moves];
    let crops = registry.has(function, Property::Crops);
    if !crops && keeps.into_iter().any(|it| registry.has(function, it)) {
        return like(first, first_ty, ty);
    }
    let named = first_ty.dtype() == Some(DType::Str);
    let file_bytes = registry.file_bytes().filter(|_| registry.reads(function));
    if let Some(value) = file_bytes {
        return Figure { value, origin: Origin::Measured };
    }
    // Most of a record of which a part is taken, such as an archive's, is that part.
    if first.origin == Origin::Measured && first_ty.is_untyped() && ty.dtype() == Some(DType::Bytes)
    {
        return Figure::assumed(first.value);
    }
    match registry.function(function) {
        // What is named by a text is not as long as the text.
        Some(entry) if !named && entry.cost.bytes_out_per_in != 1.0 => {
            Figure::assumed(first.value * entry.cost.bytes_out_per_in)
        }
        // A part is no larger than the whole.
        _ if crops => Figure { value: of_type(ty).value.min(first.value), ..of_type(ty) },
        _ => of_type(ty),
    }
}

/// As many elements as `size` bytes of `from` are, as `to`.
fn like(size: Figure, from: &Type, to: &Type) -> Figure {
    let bytes = |it: &Type| it.dtype().map_or(1, DType::size) as f64;
    size.times(bytes(to) / bytes(from))
}

/// How often a loop turns.
pub(crate) fn turns(graph: &Graph, count: ExprId) -> Figure {
    match graph.expr(count) {
        Expr::Const(Const::Ints(_, shape, all)) if shape.is_empty() => {
            Figure::exact(all.first().map_or(0.0, |it| it.max(&0).to_owned() as f64))
        }
        _ => Figure::assumed(TURNS),
    }
}
