//! Visits every expression within one.

use super::{Expr, ExprKind, Otherwise, Place, Stage};

/// Calls `visit` for `expr` and for all within it.
pub fn walk<'a>(expr: &'a Expr, visit: &mut dyn FnMut(&'a Expr)) {
    visit(expr);
    match &expr.kind {
        ExprKind::Name(_)
        | ExprKind::It
        | ExprKind::Number(_)
        | ExprKind::Str { .. }
        | ExprKind::Bool(_)
        | ExprKind::Broken => {}
        ExprKind::List(all) => all.iter().for_each(|it| walk(it, visit)),
        ExprKind::Comprehension { body, over, .. } => {
            [body, over].into_iter().for_each(|it| walk(it, visit));
        }
        ExprKind::Record(all) => all.iter().for_each(|it| walk(&it.value, visit)),
        ExprKind::Call(call) => call.args.iter().for_each(|it| walk(&it.value, visit)),
        ExprKind::Pipe { lhs, stage } => {
            walk(lhs, visit);
            match stage {
                Stage::Each(each) => walk(&each.body, visit),
                Stage::Call(call) => call.args.iter().for_each(|it| walk(&it.value, visit)),
            }
        }
        ExprKind::Else { lhs, otherwise } => {
            walk(lhs, visit);
            if let Otherwise::Value(it) = otherwise {
                walk(it, visit);
            }
        }
        ExprKind::Binary { lhs, rhs, .. } | ExprKind::Compare { lhs, rhs, .. } => {
            [lhs, rhs].into_iter().for_each(|it| walk(it, visit));
        }
        ExprKind::In { value, set, .. } => [value, set].into_iter().for_each(|it| walk(it, visit)),
        ExprKind::Interval { from, to } => [from, to].into_iter().for_each(|it| walk(it, visit)),
        ExprKind::Unary { operand, .. } => walk(operand, visit),
        ExprKind::If { cond, then, otherwise } => {
            [cond, then, otherwise].into_iter().for_each(|it| walk(it, visit));
        }
        ExprKind::Index { base, places } => {
            walk(base, visit);
            places.iter().for_each(|it| walk_place(it, visit));
        }
        ExprKind::Field { base, .. } => walk(base, visit),
        ExprKind::As { value, .. } => walk(value, visit),
    }
}

fn walk_place<'a>(place: &'a Place, visit: &mut dyn FnMut(&'a Expr)) {
    match place {
        Place::At(it) => walk(it, visit),
        Place::Slice { from, to, .. } => {
            [from, to].into_iter().flatten().for_each(|it| walk(it, visit));
        }
    }
}
