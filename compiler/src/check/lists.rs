//! Lists: written out, counted for each record, chosen from.

use super::{Checker, Env, Known, Val, args::Given, library, scope::Scope};
use crate::{ast, errors::check as errors, registry::Function};
use plan::{Arg, DType, Expr, ExprId, Extent, Span, Type, VarId, mix};
use std::{collections::HashMap, slice};

/// Elements that a list written in the program may have.
const LIST_MAX: i64 = 4096;

impl<'a> Checker<'a> {
    /// `[body for var in over]`.
    pub(super) fn comprehension(
        &mut self,
        (body, var, over): (&ast::Expr, &ast::Name, &ast::Expr),
        at: Span,
        env: &mut Env<'_>,
    ) -> Val {
        match self.value(over, env) {
            Val::Broken => Val::Broken,
            Val::List(all) => self.written_out(body, var, all, env),
            Val::Interval(low, high) => match (&*low, &*high) {
                (Val::Known(Known::Number(low)), Val::Known(Known::Number(high))) => {
                    let ends = low.as_int().zip(high.as_int());
                    let Some((low, high)) = ends.filter(|(a, b)| b - a < LIST_MAX) else {
                        return self.report(errors::list_too_long(over.span, LIST_MAX));
                    };
                    self.written_out(body, var, (low..=high).map(Val::int).collect(), env)
                }
                _ => self.over_counted_interval(body, var, (&low, &high, over.span), env),
            },
            Val::Counted { count, var: turn, body: each } => {
                let (turn, each) = self.beside_itself(turn, *each);
                self.in_loop(turn, |it| {
                    let mut inner = env.with(Scope::Var(var.text.clone(), each));
                    let found = it.value(body, &mut inner);
                    counted(count, turn, found)
                })
            }
            Val::Expr(id) => self.over_tensor(body, var, (id, over.span), env),
            other => {
                let shown = self.shown(&other);
                self.report(errors::not_a_list(&shown, at))
            }
        }
    }

    fn written_out(
        &mut self,
        body: &ast::Expr,
        var: &ast::Name,
        all: Vec<Val>,
        env: &Env<'_>,
    ) -> Val {
        let mut out = Vec::with_capacity(all.len());
        for (copy, element) in all.into_iter().enumerate() {
            let mut inner = env.with(Scope::Var(var.text.clone(), element));
            inner.place = place_of_copy(env.place, copy as u64);
            out.push(self.value(body, &mut inner));
            if out.last().is_some_and(Val::is_broken) {
                return Val::Broken;
            }
        }
        Val::List(out)
    }

    fn over_counted_interval(
        &mut self,
        body: &ast::Expr,
        var: &ast::Name,
        (low, high, at): (&Val, &Val, Span),
        env: &Env<'_>,
    ) -> Val {
        let one = Val::int(1);
        let wide = self.binary(ast::BinaryOp::Sub, (high, at), (low, at), at);
        let count = self.binary(ast::BinaryOp::Add, (&wide, at), (&one, at), at);
        let Some(count) = self.node_of(&count, Some(DType::I64), at) else { return Val::Broken };
        let count = self.cast(count, DType::I64);
        let turn = self.graph.var();
        let turn_node = self.node(Expr::Var(turn), Type::scalar(DType::I64));
        let element = self.binary(ast::BinaryOp::Add, (low, at), (&Val::Expr(turn_node), at), at);
        self.in_loop(turn, |it| {
            let mut inner = env.with(Scope::Var(var.text.clone(), element));
            let found = it.value(body, &mut inner);
            counted(count, turn, found)
        })
    }

    fn over_tensor(
        &mut self,
        body: &ast::Expr,
        var: &ast::Name,
        (id, at): (ExprId, Span),
        env: &Env<'_>,
    ) -> Val {
        let ty = self.ty(id);
        let Some(Some(first)) = ty.shape().map(<[_]>::first) else {
            return self.report(errors::not_a_list(&format!("`{ty}`"), at));
        };
        if let Extent::Known(n) = first
            && *n <= 64
        {
            let all = (0..*n as i64).map(|it| self.take_at(id, &Val::int(it), at)).collect();
            return self.written_out(body, var, all, env);
        }
        let Val::Expr(count) = self.library_call(library::LEN, vec![Arg::Expr(id)], at) else {
            return Val::Broken;
        };
        let turn = self.graph.var();
        let turn_node = self.node(Expr::Var(turn), Type::scalar(DType::I64));
        let element = self.take_at(id, &Val::Expr(turn_node), at);
        self.in_loop(turn, |it| {
            let mut inner = env.with(Scope::Var(var.text.clone(), element));
            let found = it.value(body, &mut inner);
            counted(count, turn, found)
        })
    }

    fn in_loop(&mut self, turn: VarId, check: impl FnOnce(&mut Self) -> Val) -> Val {
        self.loops.push(turn);
        let found = check(self);
        self.loops.pop();
        found
    }

    /// What a list is counted by, and its elements, where it is gone through while it is already being gone through,
    /// as in `[[x * y for y in xs] for x in xs]`: a variable of its own.
    fn beside_itself(&mut self, var: VarId, each: Val) -> (VarId, Val) {
        if !self.loops.contains(&var) {
            return (var, each);
        }
        let turn = self.graph.var();
        (turn, self.renamed((var, turn), each, &mut HashMap::new()))
    }

    /// The loop with the variable `var` around `values`: with one of its own where they are found by a loop with the same, as
    /// in `[x - mean(xs) for x in xs]`, which would otherwise move it on ([`plan::Graph::clash`]).
    pub(super) fn around(&mut self, var: VarId, mut values: Vec<ExprId>) -> (VarId, Vec<ExprId>) {
        if !self.graph.runs(var, &values) {
            return (var, values);
        }
        let (turn, mut known) = (self.graph.var(), HashMap::new());
        for it in &mut values {
            *it = self.renamed_node((var, turn), *it, &mut known);
        }
        (turn, values)
    }

    /// The same with another variable, but for loops that set it themselves.
    fn renamed(
        &mut self,
        vars: (VarId, VarId),
        val: Val,
        known: &mut HashMap<ExprId, ExprId>,
    ) -> Val {
        match val {
            Val::Expr(id) => Val::Expr(self.renamed_node(vars, id, known)),
            Val::Record(all) => {
                let each = all.into_iter().map(|(name, it)| (name, self.renamed(vars, it, known)));
                Val::Record(each.collect())
            }
            Val::List(all) => {
                Val::List(all.into_iter().map(|it| self.renamed(vars, it, known)).collect())
            }
            Val::Interval(low, high) => {
                let [low, high] = [*low, *high].map(|it| self.renamed(vars, it, known));
                Val::Interval(Box::new(low), Box::new(high))
            }
            Val::Counted { count, var, body } => {
                let count = self.renamed_node(vars, count, known);
                let body = if var == vars.0 { *body } else { self.renamed(vars, *body, known) };
                counted(count, var, body)
            }
            Val::Known(_) | Val::Stream(_) | Val::Broken => val,
        }
    }

    fn renamed_node(
        &mut self,
        (from, to): (VarId, VarId),
        id: ExprId,
        known: &mut HashMap<ExprId, ExprId>,
    ) -> ExprId {
        if let Some(&it) = known.get(&id) {
            return it;
        }
        let mut expr = self.graph.expr(id).clone();
        match &mut expr {
            Expr::Stack { count, var, .. } if *var == from => {
                *count = self.renamed_node((from, to), *count, known);
            }
            _ => expr = expr.with_needs(|it| self.renamed_node((from, to), it, known)),
        }
        let own: &mut [VarId] = match &mut expr {
            Expr::Var(var) => slice::from_mut(var),
            Expr::Call { draw: Some(draw), .. } => &mut draw.vars,
            _ => &mut [],
        };
        own.iter_mut().filter(|it| **it == from).for_each(|it| *it = to);
        let ty = self.ty(id);
        let renamed = self.node(expr, ty);
        known.insert(id, renamed);
        renamed
    }

    /// A tensor of a list: a constant, or what `stack` makes.
    pub(super) fn list_node(
        &mut self,
        all: &[Val],
        like: Option<DType>,
        at: Span,
    ) -> Option<ExprId> {
        if let Some((constant, ty)) = super::args::constant_list(all, like) {
            for number in super::args::numbers(all) {
                self.fits(number, ty.dtype(), at)?;
            }
            return Some(self.node(Expr::Const(constant), ty));
        }
        let ids = self.nodes(all, like, at)?;
        match self.library_call(library::STACK, vec![Arg::Exprs(ids), Arg::Int(0)], at) {
            Val::Expr(id) => Some(id),
            _ => None,
        }
    }

    /// Nodes of one dtype for all of a list.
    pub(super) fn nodes(
        &mut self,
        all: &[Val],
        like: Option<DType>,
        at: Span,
    ) -> Option<Vec<ExprId>> {
        let met =
            all.iter().filter(|it| matches!(it, Val::Expr(_))).filter_map(|it| self.dtype(it));
        let like = met.reduce(|a, b| super::arith::promoted(a, b).unwrap_or(a)).or(like);
        let mut ids = Vec::with_capacity(all.len());
        for val in all {
            let id = self.node_of(val, like, at)?;
            ids.push(like.map_or(id, |it| self.cast(id, it)));
        }
        Some(ids)
    }

    /// A tensor of as many as are counted.
    pub(super) fn counted_node(
        &mut self,
        count: ExprId,
        var: VarId,
        body: &Val,
        at: Span,
    ) -> Option<ExprId> {
        let body = self.node_of(body, None, at)?;
        let (var, values) = self.around(var, vec![body]);
        let body = values[0];
        let ty = self.ty(body);
        let (Some(dtype), Some(inner)) = (ty.dtype(), ty.shape()) else { return None };
        if dtype.is_text() {
            self.report(errors::texts_in_tensor(at));
            return None;
        }
        let shape = [Extent::Unknown].iter().chain(inner).cloned().collect();
        Some(
            self.node(
                Expr::Stack { count, var, body, joined: false },
                Type::Tensor { dtype, shape },
            ),
        )
    }

    /// `concat([e for x in xs])`: the elements end to end. They may differ along the first axis, so that no
    /// tensor of all of them could be made first.
    pub(super) fn joined_loop(&mut self, found: &Function, args: &[Arg]) -> Option<Val> {
        let [Arg::Expr(all), Arg::Int(0)] = args else { return None };
        if found.entry.name() != library::CONCAT {
            return None;
        }
        let Expr::Stack { count, var, body, joined: false } = *self.graph.expr(*all) else {
            return None;
        };
        let ty = self.ty(body);
        let (dtype, [_, inner @ ..]) = (ty.dtype()?, ty.shape()?) else { return None };
        let shape = std::iter::once(&Extent::Unknown).chain(inner).cloned().collect();
        let node = Expr::Stack { count, var, body, joined: true };
        Some(Val::Expr(self.node(node, Type::Tensor { dtype, shape })))
    }

    /// `windows(record, length: n, hop: m)`: pieces of the fields that share a first axis.
    pub(super) fn call_windows(
        &mut self,
        call: &ast::Call,
        piped: Option<(Val, Span)>,
        env: &mut Env<'_>,
    ) -> Val {
        let signature = "windows(record: record, length: int, hop: int = length, over: any = none)";
        let Ok(signature) = crate::syntax::parse_signature(signature) else { return Val::Broken };
        let Some(given) = self.bind(&signature.formals, call, piped) else { return Val::Broken };
        let mut vals = given.iter().map(|it| match it {
            Some(Given::Value(val, _)) => Some(val.clone()),
            Some(Given::Written(expr)) => Some(self.value(expr, env)),
            None => None,
        });
        let (record, length) = (vals.next().flatten(), vals.next().flatten().map(whole));
        let hop = vals.next().flatten().map(whole).or(length.clone());
        let over = vals.next().flatten();
        let (Some(record), Some(length), Some(hop)) = (record, length, hop) else {
            return Val::Broken;
        };
        match record {
            val if val.is_broken() => Val::Broken,
            Val::Record(fields) => self.windows(&fields, (&length, &hop, over), call.span),
            other => {
                let shown = self.shown(&other);
                self.report(errors::wanted("record", "a record", &shown, call.span))
            }
        }
    }

    fn windows(
        &mut self,
        fields: &[(String, Val)],
        (length, hop, over): (&Val, &Val, Option<Val>),
        at: Span,
    ) -> Val {
        let axis = |it: &Self, val: &Val| match val {
            Val::Expr(id) => it.ty(*id).shape().and_then(|it| it.first().cloned()),
            _ => None,
        };
        let lead = over.or_else(|| {
            fields.iter().find(|(_, val)| axis(self, val).is_some()).map(|it| it.1.clone())
        });
        let Some(Val::Expr(lead)) = lead else { return self.report(errors::no_axis(at)) };
        let shared = axis(self, &Val::Expr(lead));
        let Val::Expr(len) = self.library_call(library::LEN, vec![Arg::Expr(lead)], at) else {
            return Val::Broken;
        };
        let Some(count) = self.window_count(len, (length, hop), at) else { return Val::Broken };
        let var = self.graph.var();
        let turn = self.node(Expr::Var(var), Type::scalar(DType::I64));
        let start = self.binary(ast::BinaryOp::Mul, (&Val::Expr(turn), at), (hop, at), at);
        let end = self.binary(ast::BinaryOp::Add, (&start, at), (length, at), at);
        let mut body = Vec::new();
        for (name, val) in fields {
            let cut = matches!(val, Val::Expr(id) if *id == lead) || axis(self, val) == shared;
            let found = if cut && axis(self, val).is_some() {
                self.window(val, (&start, &end, length), at)
            } else {
                val.clone()
            };
            body.push((name.clone(), found));
        }
        counted(count, var, Val::Record(body))
    }

    /// How many windows fit: `(len - length) // hop + 1`, at least none.
    fn window_count(
        &mut self,
        len: ExprId,
        (length, hop): (&Val, &Val),
        at: Span,
    ) -> Option<ExprId> {
        use ast::BinaryOp::{Add, FloorDiv, Sub};
        let rest = self.binary(Sub, (&Val::Expr(len), at), (length, at), at);
        let hops = self.binary(FloorDiv, (&rest, at), (hop, at), at);
        let all = self.binary(Add, (&hops, at), (&Val::int(1), at), at);
        self.node_of(&all, Some(DType::I64), at)
    }

    fn window(&mut self, val: &Val, (start, end, length): (&Val, &Val, &Val), at: Span) -> Val {
        let Val::Expr(id) = val else { return Val::Broken };
        let (Some(from), Some(to)) = (self.int_arg(start, at), self.int_arg(end, at)) else {
            return Val::Broken;
        };
        let args = vec![Arg::Expr(*id), Arg::Int(0), from, to];
        let Val::Expr(found) = self.library_call(library::SLICE, args, at) else {
            return Val::Broken;
        };
        let known = match length {
            Val::Known(Known::Number(it)) => it.as_int().and_then(|it| u64::try_from(it).ok()),
            _ => None,
        };
        let (Some(n), Type::Tensor { dtype, mut shape }) = (known, self.ty(found)) else {
            return Val::Expr(found);
        };
        shape[0] = Extent::Known(n);
        let expr = self.graph.expr(found).clone();
        Val::Expr(self.node(expr, Type::Tensor { dtype, shape }))
    }

    /// `one_of([…])`: only the drawn one is computed.
    pub(super) fn one_of(&mut self, all: &[Val], at: Span, env: &Env<'_>) -> Val {
        let count = i64::try_from(all.len()).unwrap_or(i64::MAX);
        let Some((last, rest)) = all.split_last() else {
            return self.report(errors::empty_list(at));
        };
        let index = self.draw_call(library::RANDOM_INDEX, vec![Arg::Int(count)], at, env);
        let mut chosen = last.clone();
        for (i, val) in rest.iter().enumerate().rev() {
            let number = Val::int(i as i64);
            let is = self.compare(ast::CompareOp::Eq, (&index, at), (&number, at), at);
            let Some(is) = self.condition(&is, at) else { return Val::Broken };
            chosen = self.select(is, (val, at), (&chosen, at));
        }
        chosen
    }
}

/// A number that is whole, such as `10s * 6.4kHz`, as one.
fn whole(val: Val) -> Val {
    match &val {
        Val::Known(Known::Number(it)) => it.as_int().map_or(val, Val::int),
        _ => val,
    }
}

fn counted(count: ExprId, var: VarId, body: Val) -> Val {
    if body.is_broken() { Val::Broken } else { Val::Counted { count, var, body: Box::new(body) } }
}

/// The chain of calls of one copy in a list that is written out.
fn place_of_copy(place: u64, copy: u64) -> u64 {
    mix(mix(place, plan::hash(b"copy")), copy)
}

/// Whether what is piped is a stream of which nothing is known, such as that of files which nobody has named yet.
pub(super) fn is_lost_stream(piped: Option<&(Val, Span)>, env: &Env<'_>) -> bool {
    let in_record = env.scopes.iter().any(|it| matches!(it, Scope::Record(..)));
    !in_record && piped.is_some_and(|it| it.0.is_broken())
}
