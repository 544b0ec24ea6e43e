//! Moves a tree to another place of its text, or to another file.

use super::{
    Arg, Call, Declaration, DeclarationKind, Expr, ExprKind, Extent, Formal, Name, Otherwise, Part,
    Place, Policy, Signature, Stage, TypeExpr, TypeKind,
};
use plan::Span;

/// Calls `move_` for every place in a declaration.
pub(crate) fn declaration(it: &mut Declaration, move_: &mut dyn FnMut(&mut Span)) {
    it.docs.iter_mut().for_each(|it| move_(&mut it.span));
    move_(&mut it.span);
    match &mut it.kind {
        DeclarationKind::Param(it) => {
            name(&mut it.name, move_);
            it.type_.iter_mut().for_each(|it| type_(it, move_));
            it.default.iter_mut().for_each(|it| expr(it, move_));
        }
        DeclarationKind::Const(it) => {
            name(&mut it.name, move_);
            expr(&mut it.value, move_);
        }
        DeclarationKind::Fn(it) => {
            signature(&mut it.signature, move_);
            expr(&mut it.body, move_);
        }
        DeclarationKind::Extern(it) => {
            signature(&mut it.signature, move_);
            move_(&mut it.target.span);
        }
        DeclarationKind::Pipeline(it) => {
            name(&mut it.name, move_);
            it.formals.iter_mut().flatten().for_each(|it| formal(it, move_));
            expr(&mut it.body, move_);
        }
        DeclarationKind::Use(it) => {
            it.names.iter_mut().for_each(|it| name(it, move_));
            move_(&mut it.from.span);
        }
    }
}

fn name(it: &mut Name, move_: &mut dyn FnMut(&mut Span)) {
    move_(&mut it.span);
}

fn signature(it: &mut Signature, move_: &mut dyn FnMut(&mut Span)) {
    name(&mut it.name, move_);
    it.formals.iter_mut().for_each(|it| formal(it, move_));
    it.effects.iter_mut().for_each(|it| move_(&mut it.span));
    it.result.iter_mut().for_each(|it| type_(it, move_));
}

fn formal(it: &mut Formal, move_: &mut dyn FnMut(&mut Span)) {
    name(&mut it.name, move_);
    it.type_.iter_mut().for_each(|it| type_(it, move_));
    it.default.iter_mut().for_each(|it| expr(it, move_));
    move_(&mut it.span);
}

fn type_(it: &mut TypeExpr, move_: &mut dyn FnMut(&mut Span)) {
    move_(&mut it.span);
    match &mut it.kind {
        TypeKind::Words(words) => words.iter_mut().for_each(|it| name(it, move_)),
        TypeKind::Named { name: named, extents } => {
            name(named, move_);
            extents.iter_mut().for_each(|it| match it {
                Extent::Unknown(it) => move_(it),
                Extent::Known(it) => expr(it, move_),
            });
        }
        TypeKind::Record { fields, .. } => fields.iter_mut().for_each(|it| {
            name(&mut it.name, move_);
            type_(&mut it.type_, move_);
        }),
        TypeKind::Broken => {}
    }
}

fn args(all: &mut [Arg], move_: &mut dyn FnMut(&mut Span)) {
    for it in all {
        it.name.iter_mut().for_each(|it| name(it, move_));
        expr(&mut it.value, move_);
    }
}

fn call(it: &mut Call, move_: &mut dyn FnMut(&mut Span)) {
    name(&mut it.name, move_);
    args(&mut it.args, move_);
    move_(&mut it.span);
}

fn policy(it: &mut Policy, move_: &mut dyn FnMut(&mut Span)) {
    args(&mut it.args, move_);
    move_(&mut it.span);
}

fn expr(it: &mut Expr, move_: &mut dyn FnMut(&mut Span)) {
    move_(&mut it.span);
    match &mut it.kind {
        ExprKind::Name(_)
        | ExprKind::It
        | ExprKind::Number(_)
        | ExprKind::Bool(_)
        | ExprKind::Broken => {}
        ExprKind::Str { parts, .. } => parts.iter_mut().for_each(|it| {
            if let Part::Hole(it) = it {
                name(it, move_);
            }
        }),
        ExprKind::List(all) => all.iter_mut().for_each(|it| expr(it, move_)),
        ExprKind::Comprehension { body, var, over } => {
            expr(body, move_);
            name(var, move_);
            expr(over, move_);
        }
        ExprKind::Record(all) => all.iter_mut().for_each(|it| {
            name(&mut it.name, move_);
            expr(&mut it.value, move_);
        }),
        ExprKind::Call(it) => call(it, move_),
        ExprKind::Pipe { lhs, stage } => {
            expr(lhs, move_);
            match stage {
                Stage::Each(it) => {
                    move_(&mut it.at);
                    expr(&mut it.body, move_);
                }
                Stage::Call(it) => call(it, move_),
            }
        }
        ExprKind::Else { lhs, otherwise } => {
            expr(lhs, move_);
            match otherwise {
                Otherwise::Policy(it) => policy(it, move_),
                Otherwise::Value(it) => expr(it, move_),
            }
        }
        ExprKind::Binary { at, lhs, rhs, .. } | ExprKind::Compare { at, lhs, rhs, .. } => {
            move_(at);
            [lhs, rhs].into_iter().for_each(|it| expr(it, move_));
        }
        ExprKind::Unary { at, operand, .. } => {
            move_(at);
            expr(operand, move_);
        }
        ExprKind::In { value, set, .. } => [value, set].into_iter().for_each(|it| expr(it, move_)),
        ExprKind::Interval { from, to } => [from, to].into_iter().for_each(|it| expr(it, move_)),
        ExprKind::If { cond, then, otherwise } => {
            [cond, then, otherwise].into_iter().for_each(|it| expr(it, move_));
        }
        ExprKind::Index { base, places } => {
            expr(base, move_);
            places.iter_mut().for_each(|it| place(it, move_));
        }
        ExprKind::Field { base, name: field } => {
            expr(base, move_);
            name(field, move_);
        }
        ExprKind::As { value, type_: claimed } => {
            expr(value, move_);
            type_(claimed, move_);
        }
    }
}

fn place(it: &mut Place, move_: &mut dyn FnMut(&mut Span)) {
    match it {
        Place::At(it) => expr(it, move_),
        Place::Slice { from, to, span } => {
            [from, to].into_iter().flatten().for_each(|it| expr(it, move_));
            move_(span);
        }
    }
}
