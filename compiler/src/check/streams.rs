//! Constants of streams: `const SEEN = rides |> moments(of: x)`.
//!
//! The checker makes a plan of the stream, and asks for the answer ([`super::Inputs::answer`]). Where there is none yet,
//! values are assumed, since types do not depend on them. An answer is then what numbers written in its place would be.

use super::{Checker, Known, Val, value::Number};
use crate::{ast, errors::check as errors};
use plan::{Action, Arg, DType, Field, IdVec, OpId, OpKind, Plan, Span};
use std::{collections::BTreeSet, mem};

/// A constant whose value is found by running a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamConstant {
    /// Its name.
    pub name: String,
    /// Where it is declared.
    pub at: Span,
    /// The stream, which gives one record.
    pub plan: Plan,
    /// Whether the pipeline that was asked for needs it.
    pub is_needed: bool,
    /// Whether it is known; else values were assumed.
    pub is_known: bool,
    /// Whether the constants that its stream needs are known, so that it can be run.
    pub is_ready: bool,
}

/// A number that is assumed: none that a program would compare with or divide by.
const ASSUMED: f64 = 0.731_058_578_630_004_9;
const ASSUMED_INT: i64 = 1_000_003;

impl Checker<'_> {
    /// Finds the value of a constant, whose stream, if it is made of one, is a plan of its own; and notes which
    /// constants of streams it is made of.
    pub(super) fn apart(
        &mut self,
        it: &ast::Const,
        at: Span,
        find: impl FnOnce(&mut Self) -> Val,
    ) -> Val {
        let used = mem::take(&mut self.used);
        let outer = (
            mem::take(&mut self.graph),
            mem::replace(&mut self.ops, IdVec::new()),
            mem::take(&mut self.writers),
            mem::take(&mut self.loops),
            self.input.take(),
        );
        let taking = self.taking.as_mut().map(super::notes::Taking::set_aside);

        let found = match find(self) {
            Val::Broken => Val::Broken,
            Val::Stream(op) => self.of_stream(it, at, op),
            found if super::args::known_arg(&found).is_some() => found,
            found => {
                let shown = self.shown(&found);
                self.report(errors::const_of(&it.name.text, &shown, it.value.span))
            }
        };

        if let (Some(taking), Some(origins)) = (&mut self.taking, taking) {
            taking.take_up(origins);
        }
        (self.graph, self.ops, self.writers, self.loops, self.input) = outer;
        let inner = mem::replace(&mut self.used, used);
        self.used.extend(&inner);
        self.made_of.insert(at, inner);
        found
    }

    /// The value of the constant `it` that is made of the stream of `root`.
    fn of_stream(&mut self, it: &ast::Const, at: Span, root: OpId) -> Val {
        let body = it.value.span;
        if !self.reduces(root) {
            let all = self.registry.library().operators.iter();
            let made = all.filter(|it| it.action() == Some(Action::Reduce)).map(|it| it.name());
            return self.report(errors::const_of_stream(
                &it.name.text,
                &made.collect::<Vec<_>>(),
                body,
            ));
        }
        let plan = Plan { name: it.name.text.clone(), ops: mem::take(&mut self.ops), root };
        let plan = super::rows::guarded(plan, self.registry);
        let is_known = |at: &Span| self.streams.iter().any(|it| it.at == *at && it.is_known);
        let is_ready = self.used.iter().all(is_known);
        let name = it.name.text.clone();
        let (is_needed, is_known) = (false, false);
        let mut constant = StreamConstant { name, at, plan, is_needed, is_known, is_ready };
        let answer =
            Some(()).filter(|()| is_ready).and_then(|()| self.request.inputs.answer(&constant));
        let fields = constant.plan.output().to_vec();
        let assumed = assumed(&fields);
        let answer = answer.filter(|it| is_like(it, &assumed));
        constant.is_known = answer.is_some();
        self.used.insert(at);
        self.streams.push(constant);
        let answer = answer.unwrap_or(assumed);
        match (answer, &fields[..]) {
            (Arg::Record(mut all), [_]) => value_of(&all.remove(0).1),
            (answer, _) => value_of(&answer),
        }
    }

    fn reduces(&self, op: OpId) -> bool {
        let OpKind::Operator { entry, .. } = &self.ops[op].kind else { return false };
        let mut all = self.registry.library().operators.iter();
        all.any(|it| it.name() == entry && it.action() == Some(Action::Reduce))
    }

    /// Notes that a constant that is known already is used.
    pub(super) fn uses_again(&mut self, at: Span) {
        if let Some(made_of) = self.made_of.get(&at) {
            self.used.extend(made_of);
        }
    }

    /// Marks the constants that the pipeline which was asked for needs.
    pub(super) fn mark_needed(&mut self, used: &BTreeSet<Span>) {
        for it in &mut self.streams {
            it.is_needed = used.contains(&it.at);
        }
    }
}

/// What is assumed to come of a stream with these fields.
fn assumed(fields: &[Field]) -> Arg {
    let one = |it: &Field| {
        let shape = it.ty.fixed().unwrap_or_default();
        let one = match it.ty.dtype() {
            Some(DType::F64) => Arg::Float(ASSUMED),
            _ => Arg::Int(ASSUMED_INT),
        };
        let value = shape.iter().rev().fold(one, |of, n| Arg::List(vec![of; *n]));
        (it.name.clone(), value)
    };
    Arg::Record(fields.iter().map(one).collect())
}

/// Whether an answer has the fields, the numbers and the extents of `other`.
fn is_like(answer: &Arg, other: &Arg) -> bool {
    match (answer, other) {
        (Arg::Int(_), Arg::Int(_)) => true,
        (Arg::Float(it), Arg::Float(_)) => it.is_finite(),
        (Arg::List(a), Arg::List(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_like(a, b))
        }
        (Arg::Record(a), Arg::Record(b)) => {
            let mut both = a.iter().zip(b);
            a.len() == b.len() && both.all(|(a, b)| a.0 == b.0 && is_like(&a.1, &b.1))
        }
        _ => false,
    }
}

/// What a constant is, where its value would be written in its place.
fn value_of(arg: &Arg) -> Val {
    match arg {
        Arg::Int(it) => Val::Known(Known::Number(Number::int(*it))),
        Arg::Float(it) => Val::Known(Known::Number(Number::float(*it))),
        Arg::List(all) => Val::List(all.iter().map(value_of).collect()),
        Arg::Record(all) => {
            Val::Record(all.iter().map(|(name, it)| (name.clone(), value_of(it))).collect())
        }
        _ => Val::Broken,
    }
}
