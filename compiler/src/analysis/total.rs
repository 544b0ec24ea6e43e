//! Which expressions can fail on a record, and which let it go.

use super::live::{live, values};
use crate::{ast::EffectKind, check::library::TAKE_AT, registry::Registry};
use plan::{Arg, Binary, Const, Expr, ExprId, Extent, Graph, Index, Op, Otherwise, Policy, Type};

/// Whether the node `id` by itself can fail on a record; what it needs is not asked.
pub(crate) fn can_fail(graph: &Graph, id: ExprId, registry: &Registry) -> bool {
    match graph.expr(id) {
        Expr::Column(_) | Expr::Epoch | Expr::Var(_) | Expr::Const(_) => false,
        Expr::Unary(..) | Expr::Cast(..) => false,
        Expr::Call { function, args, .. } if is_inside(graph, function, args) => false,
        Expr::Call { function, args, .. } => match registry.function(function) {
            Some(entry) => {
                let fails = registry.has_effect(function, EffectKind::Fails);
                (fails && !registry.gives_default(entry, args)) || registry.reads(function)
            }
            None => true,
        },
        Expr::Binary(op, a, b) => {
            divides_by_zero(graph, *op, *b) || !broadcast(graph.ty(*a), graph.ty(*b))
        }
        Expr::Select(c, a, b) => {
            let fits = |it: ExprId| {
                graph.ty(*c).shape() == Some(&[]) || broadcast(graph.ty(*c), graph.ty(it))
            };
            !fits(*a)
                || !fits(*b)
                || (graph.ty(*c).shape() != Some(&[]) && !broadcast(graph.ty(*a), graph.ty(*b)))
        }
        Expr::Stack { .. } | Expr::Else { .. } => true,
    }
}

/// Whether a call takes an element that is there: a type whose first extent is known has been checked.
fn is_inside(graph: &Graph, function: &str, args: &[Arg]) -> bool {
    let [Arg::Expr(of), Arg::Int(_)] = args else { return false };
    let first = graph.ty(*of).shape().and_then(<[Extent]>::first);
    function == TAKE_AT && matches!(first, Some(Extent::Known(_)))
}

/// Whether one of the `live` nodes can fail.
pub(crate) fn any_can_fail(graph: &Graph, live: &[bool], registry: &Registry) -> bool {
    graph.iter().any(|(id, ..)| live[id.row()] && can_fail(graph, id, registry))
}

/// Whether one of the `live` nodes says of a faulty record what `policy` recognises.
pub(crate) fn any_policy(graph: &Graph, live: &[bool], policy: fn(&Policy) -> bool) -> bool {
    graph.iter().any(|(id, expr, _)| match expr {
        Expr::Else { otherwise: Otherwise::Policy(it), .. } => live[id.row()] && policy(it),
        _ => false,
    })
}

/// Whether `op` has an `else`, or one with a value where those alone are asked for. It is of what fails in its own step; what
/// failed in an earlier one is dealt with as that one says, also where both are computed together.
pub(crate) fn catches(op: &Op, values_alone: bool) -> bool {
    op.graph.iter().any(|it| match it.1 {
        Expr::Else { otherwise: Otherwise::Value(_), .. } => true,
        Expr::Else { .. } => !values_alone,
        _ => false,
    })
}

/// Whether faults in `op` can let a record go.
pub(crate) fn lets_go(op: &Op, registry: &Registry) -> bool {
    let skips = |it: &Policy| matches!(it, Policy::Skip { .. });
    let live = live(&op.graph, &values(op), &[]);
    any_policy(&op.graph, &live, skips)
        || skips(&op.on_fault) && any_can_fail(&op.graph, &live, registry)
}

/// Whether faults in `op` can put another record into the place of one.
pub(crate) fn replaces(op: &Op) -> bool {
    let is_another = |it: &Policy| matches!(it, Policy::Another { .. });
    is_another(&op.on_fault)
        || op.graph.iter().any(|(_, expr, _)| match expr {
            Expr::Else { otherwise: Otherwise::Policy(it), .. } => is_another(it),
            _ => false,
        })
}

/// Whether every record that enters leaves, or another in its place.
pub(crate) fn lets_none_go(op: &Op) -> bool {
    let skips = |it: &Policy| matches!(it, Policy::Skip { .. });
    !skips(&op.on_fault) && !skips_in(&op.graph)
}

fn skips_in(graph: &Graph) -> bool {
    graph.iter().any(|(_, expr, _)| {
        matches!(expr, Expr::Else { otherwise: Otherwise::Policy(Policy::Skip { .. }), .. })
    })
}

/// Whole numbers fail by zero; a constant that is not zero shows that it does not happen.
fn divides_by_zero(graph: &Graph, op: Binary, divisor: ExprId) -> bool {
    if !matches!(op, Binary::FloorDiv | Binary::Rem) {
        return false;
    }
    let whole = graph.ty(divisor).dtype().is_none_or(|it| !it.is_float());
    let never_zero = match graph.expr(divisor) {
        Expr::Const(Const::Ints(_, _, all)) => !all.contains(&0),
        _ => false,
    };
    whole && !never_zero
}

/// Whether two values go together in every record: NumPy's rule on what the types say.
fn broadcast(a: &Type, b: &Type) -> bool {
    let (Some(a), Some(b)) = (a.shape(), b.shape()) else { return false };
    let one = Extent::Known(1);
    a.iter().rev().zip(b.iter().rev()).all(|(a, b)| match (a, b) {
        (Extent::Unknown, _) | (_, Extent::Unknown) => *a == one || *b == one,
        _ => a == b || *a == one || *b == one,
    })
}
