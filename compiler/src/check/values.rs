//! Expressions, by what was written.

use super::{
    Checker, Env, Known, Val,
    remains::ends_in_step,
    scope::Scope,
    value::{Number, Size, Unit, merged},
};
use crate::{
    ast::{self, ExprKind, PolicyKind},
    errors::check as errors,
};
use plan::{DType, Expr, ExprId, Otherwise, Policy, Span, Type};

/// The share of records that may be lost unless said: 0.1%.
const MOST: f64 = 1e-3;

impl<'a> Checker<'a> {
    /// A number that is written out; an integer that is none of ours is a mistake, never a float.
    fn number(&mut self, it: &ast::Number, at: Span) -> Val {
        match number(it) {
            Some(val) => val,
            None => self.report(crate::errors::syntax::number_range(&it.text, at)),
        }
    }

    pub(super) fn expression(&mut self, expr: &ast::Expr, env: &mut Env<'_>) -> Val {
        match &expr.kind {
            ExprKind::Broken => Val::Broken,
            ExprKind::Name(name) => self.name(name, expr.span, env),
            ExprKind::It => self.it(expr.span, env),
            ExprKind::Number(it) => self.number(it, expr.span),
            ExprKind::Bool(it) => Val::Known(Known::Bool(*it)),
            ExprKind::Str { text, parts } => {
                self.string((text.as_str(), parts.as_slice()), expr.span, env)
            }
            ExprKind::List(all) => Val::List(all.iter().map(|it| self.value(it, env)).collect()),
            ExprKind::Comprehension { body, var, over } => {
                self.comprehension((body, var, over), expr.span, env)
            }
            ExprKind::Record(entries) => self.record(entries, env),
            ExprKind::Call(call) => self.call(call, None, env),
            ExprKind::Pipe { lhs, stage } => self.pipe(lhs, stage, env),
            ExprKind::Else { lhs, otherwise } => self.or_else(lhs, otherwise, env),
            ExprKind::Binary { op, at, lhs, rhs } => {
                let (a, b) = (self.value(lhs, env), self.value(rhs, env));
                self.binary(*op, (&a, lhs.span), (&b, rhs.span), *at)
            }
            // The least integer has no positive counterpart.
            ExprKind::Unary { op: ast::UnaryOp::Neg, operand, .. } if is_least(operand) => {
                Val::int(i64::MIN)
            }
            ExprKind::Unary { op, operand, .. } => {
                let a = self.value(operand, env);
                self.unary(*op, &a, operand.span)
            }
            ExprKind::Compare { op, at, lhs, rhs } => {
                let (a, b) = (self.value(lhs, env), self.value(rhs, env));
                self.compare(*op, (&a, lhs.span), (&b, rhs.span), *at)
            }
            ExprKind::In { value, set, negated } => {
                let (a, set_of) = (self.value(value, env), self.value(set, env));
                let found = self.is_in((&a, value.span), (&set_of, set.span));
                if *negated { self.unary(ast::UnaryOp::Not, &found, expr.span) } else { found }
            }
            ExprKind::Interval { from, to } => {
                let (a, b) = (self.value(from, env), self.value(to, env));
                self.interval((a, from.span), (b, to.span))
            }
            ExprKind::If { cond, then, otherwise } => self.choose(cond, [then, otherwise], env),
            ExprKind::Index { base, places } => self.index(base, places, env),
            ExprKind::Field { base, name } => self.field(base, name, env),
            ExprKind::As { value, type_ } => self.claim(value, type_, env),
        }
    }

    fn record(&mut self, entries: &[ast::Entry], env: &mut Env<'_>) -> Val {
        let mut fields: Vec<(String, Val)> = Vec::new();
        for entry in entries {
            if fields.iter().any(|(it, _)| *it == entry.name.text) {
                self.report(errors::field_twice(&entry.name));
                continue;
            }
            let value = self.value(&entry.value, env);
            if let Val::Stream(_) = value
                && env.scopes.iter().any(|it| it.is_of_a_record())
            {
                self.report(errors::stream_in_record(entry.value.span));
            }
            fields.push((entry.name.text.clone(), value));
        }
        Val::Record(fields)
    }

    /// `lhs |> stage`, of a stream or of a value.
    fn pipe(&mut self, lhs: &ast::Expr, stage: &ast::Stage, env: &mut Env<'_>) -> Val {
        if let (
            ast::ExprKind::Pipe { lhs: before, stage: ast::Stage::Each(each) },
            ast::Stage::Call(call),
        ) = (&lhs.kind, stage)
            && matches!(each.kind, ast::EachKind::Map | ast::EachKind::With)
            && self.is_function(&call.name.text, env)
            && matches!(self.value(before, env), Val::Stream(_))
        {
            return self.report(errors::function_on_stream(call));
        }
        let left = self.value(lhs, env);
        let before = self.remains.take().filter(|_| ends_in_step(lhs));
        match (left, stage) {
            (Val::Stream(input), ast::Stage::Each(each)) => self.each(input, each, env),
            (left, ast::Stage::Call(call)) => {
                self.behind = before;
                let found = self.call(call, Some((left, lhs.span)), env);
                self.behind = None;
                if !self.tells_what_remains(&call.name.text, env) {
                    self.remains = None;
                }
                found
            }
            (Val::Broken, ast::Stage::Each(each)) => self.each_behind_mistake(before, each, env),
            (left, ast::Stage::Each(each)) => {
                let found = self.each_of_one(left, lhs.span, each, env);
                self.remains = None;
                found
            }
        }
    }

    /// `map` and `with` on a single record: how a `fn` names a part.
    fn each_of_one(&mut self, left: Val, at: Span, each: &ast::Each, env: &mut Env<'_>) -> Val {
        let Val::Record(fields) = left else {
            let shown = self.shown(&left);
            return self.report(errors::each_of_no_record(each.kind, each.at, &shown, at));
        };
        self.note_scope(each.body.span, &Val::Record(fields.clone()));
        let mut inner = env.with(Scope::Record(Val::Record(fields.clone()), None));
        let found = self.value(&each.body, &mut inner);
        match (each.kind, found) {
            (_, Val::Broken) => Val::Broken,
            (ast::EachKind::Map, found) => found,
            (ast::EachKind::With, Val::Record(more)) => Val::Record(merged(fields, more)),
            (ast::EachKind::With, found) => {
                let shown = self.shown(&found);
                self.report(errors::with_no_record(each.body.span, &shown))
            }
            _ => self.report(errors::each_of_no_stream(each.kind, each.at)),
        }
    }

    /// `lhs else otherwise`, of a stream or of a value.
    fn or_else(&mut self, lhs: &ast::Expr, otherwise: &ast::Otherwise, env: &mut Env<'_>) -> Val {
        let left = self.value(lhs, env);
        let otherwise = match otherwise {
            ast::Otherwise::Policy(policy) => Otherwise::Policy(self.policy(policy, env)),
            ast::Otherwise::Value(it) => {
                let other = self.value(it, env);
                return self.instead((&left, lhs.span), (&other, it.span));
            }
        };
        match (left, otherwise) {
            (Val::Stream(op), Otherwise::Policy(policy)) => {
                self.rescue(op, policy);
                Val::Stream(op)
            }
            (left, otherwise) => self.else_of(&left, otherwise),
        }
    }

    /// A policy on a value, or on each field of a record.
    fn else_of(&mut self, left: &Val, otherwise: Otherwise) -> Val {
        match left {
            Val::Record(fields) => {
                let each = fields
                    .iter()
                    .map(|(name, it)| (name.clone(), self.else_of(it, otherwise.clone())));
                Val::Record(each.collect())
            }
            Val::Expr(value) => {
                let ty = self.ty(*value);
                Val::Expr(self.node(Expr::Else { value: *value, otherwise }, ty))
            }
            other => other.clone(),
        }
    }

    /// `left else other`, both values.
    fn instead(&mut self, (left, at): (&Val, Span), (other, other_at): (&Val, Span)) -> Val {
        match (left, other) {
            (Val::Broken, _) | (_, Val::Broken) => Val::Broken,
            (Val::Stream(_), _) => self.report(errors::stream_else_value(other_at)),
            (Val::Record(fields), Val::Record(others)) => {
                let mut all = Vec::new();
                for (name, value) in fields {
                    let Some((_, other)) = others.iter().find(|(it, _)| it == name) else {
                        return self.report(errors::branches_differ(at, other_at));
                    };
                    all.push((name.clone(), self.instead((value, at), (other, other_at))));
                }
                Val::Record(all)
            }
            _ => {
                let like = self.dtype(left);
                let Some(value) = self.node_of(left, None, at) else { return Val::Broken };
                let Some(other) = self.node_of(other, like, other_at) else { return Val::Broken };
                let Some(ty) = self.joined((value, at), (other, other_at)) else {
                    return Val::Broken;
                };
                let otherwise = Otherwise::Value(other);
                Val::Expr(self.node(Expr::Else { value, otherwise }, ty))
            }
        }
    }

    fn policy(&mut self, policy: &ast::Policy, env: &mut Env<'_>) -> Policy {
        let mut most = MOST;
        for arg in &policy.args {
            let named = arg.name.as_ref().is_none_or(|it| it.text == "most");
            let value = self.value(&arg.value, env);
            match value {
                Val::Known(Known::Number(it)) if named && (0.0..=1.0).contains(&it.as_f64()) => {
                    most = it.as_f64();
                }
                Val::Broken => {}
                _ => {
                    self.report(errors::policy_share(policy.kind.word(), arg.span()));
                }
            }
        }
        match policy.kind {
            PolicyKind::Skip => Policy::Skip { most },
            PolicyKind::Another => Policy::Another { most },
            PolicyKind::Fail => Policy::Fail,
        }
    }

    /// `if cond then a else b`.
    fn choose(
        &mut self,
        cond: &ast::Expr,
        [then, otherwise]: [&ast::Expr; 2],
        env: &mut Env<'_>,
    ) -> Val {
        let decides = self.value(cond, env);
        if let Val::Known(Known::Bool(it)) = decides {
            return self.value(if it { then } else { otherwise }, env);
        }
        let (a, b) = (self.value(then, env), self.value(otherwise, env));
        let Some(decides) = self.condition(&decides, cond.span) else { return Val::Broken };
        self.select(decides, (&a, then.span), (&b, otherwise.span))
    }

    /// A node of booleans.
    pub(super) fn condition(&mut self, val: &Val, at: Span) -> Option<ExprId> {
        let id = self.node_of(val, None, at)?;
        if self.ty(id).dtype() == Some(DType::Bool) {
            return Some(id);
        }
        let shown = self.shown(&Val::Expr(id));
        self.report(errors::not_a_condition(at, &shown));
        None
    }

    /// `a` or `b`, as `decides` says: of values, or of each field of records.
    pub(super) fn select(
        &mut self,
        decides: ExprId,
        (a, a_at): (&Val, Span),
        (b, b_at): (&Val, Span),
    ) -> Val {
        match (a, b) {
            (Val::Broken, _) | (_, Val::Broken) => Val::Broken,
            (Val::Record(fields), Val::Record(others)) => {
                let mut all = Vec::new();
                for (name, value) in fields {
                    let Some((_, other)) = others.iter().find(|(it, _)| it == name) else {
                        return self.report(errors::branches_differ(a_at, b_at));
                    };
                    all.push((name.clone(), self.select(decides, (value, a_at), (other, b_at))));
                }
                if others.len() != fields.len() {
                    return self.report(errors::branches_differ(a_at, b_at));
                }
                Val::Record(all)
            }
            _ => self.select_values(decides, (a, a_at), (b, b_at)),
        }
    }

    fn select_values(
        &mut self,
        decides: ExprId,
        (a, a_at): (&Val, Span),
        (b, b_at): (&Val, Span),
    ) -> Val {
        let like = self.met(a, b);
        let Some(a) = self.node_of(a, like, a_at) else { return Val::Broken };
        let Some(b) = self.node_of(b, like, b_at) else { return Val::Broken };
        let scalar = self.ty(decides).shape().is_some_and(<[_]>::is_empty);
        let ty = if scalar {
            self.joined((a, a_at), (b, b_at))
        } else {
            self.stretched(&[decides, a, b], a_at)
        };
        let Some(ty) = ty else { return Val::Broken };
        if !scalar && ty.dtype().is_some_and(DType::is_text) {
            return self.report(errors::texts_in_tensor(a_at.to(b_at)));
        }
        Val::Expr(self.node(Expr::Select(decides, a, b), ty))
    }

    /// The type of one or the other: the same dtype and axes, extents as far as they agree.
    pub(super) fn joined(
        &mut self,
        (a, a_at): (ExprId, Span),
        (b, b_at): (ExprId, Span),
    ) -> Option<Type> {
        let (left, right) = (self.ty(a), self.ty(b));
        if left == right {
            return Some(left);
        }
        let axes = left.shape().zip(right.shape()).filter(|(a, b)| a.len() == b.len());
        let (Some(dtype), Some((of_a, of_b))) = (left.dtype(), axes) else {
            self.report(errors::one_or_the_other(&left, &right, a_at, b_at));
            return None;
        };
        if right.dtype() != Some(dtype) {
            self.report(errors::one_or_the_other(&left, &right, a_at, b_at));
            return None;
        }
        let same = |(a, b): (&plan::Extent, &plan::Extent)| {
            if a == b { a.clone() } else { plan::Extent::Unknown }
        };
        Some(Type::Tensor { dtype, shape: of_a.iter().zip(of_b).map(same).collect() })
    }

    fn interval(&mut self, (a, a_at): (Val, Span), (b, b_at): (Val, Span)) -> Val {
        let ends = (&a, &b);
        if let (Val::Known(Known::Number(low)), Val::Known(Known::Number(high))) = ends {
            if low.unit != high.unit {
                return self.report(errors::units(low.unit, high.unit, a_at.to(b_at)));
            }
            if low.as_f64() > high.as_f64() {
                return self.report(errors::empty_interval(a_at.to(b_at)));
            }
        }
        match ends {
            (Val::Broken, _) | (_, Val::Broken) => Val::Broken,
            (
                Val::Known(Known::Number(_)) | Val::Expr(_),
                Val::Known(Known::Number(_)) | Val::Expr(_),
            ) => Val::Interval(Box::new(a), Box::new(b)),
            _ => self.report(errors::interval_of(a.kind(), b.kind(), a_at.to(b_at))),
        }
    }
}

/// Whether it is 2 ** 63, written out.
fn is_least(it: &ast::Expr) -> bool {
    let least = ast::Value::Int(i64::MIN.unsigned_abs());
    matches!(&it.kind, ExprKind::Number(it) if it.value == least && it.unit.is_none())
}

fn number(it: &ast::Number) -> Option<Val> {
    let unit = it.unit.map_or(Unit::NONE, |it| Unit::of(it.dimension()));
    let size = match (it.value, it.unit) {
        (ast::Value::Int(value), None) => Size::Int(i64::try_from(value).ok()?),
        _ => {
            let scaled = it.scaled();
            let whole = Number { size: Size::Float(scaled), unit }.as_int();
            whole.filter(|_| unit.bytes != 0).map_or(Size::Float(scaled), Size::Int)
        }
    };
    Some(Val::Known(Known::Number(Number { size, unit })))
}
