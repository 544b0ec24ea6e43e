//! What is known of the records behind a step with a mistake: the names of their fields, so that mistakes of
//! the steps behind it are found in the same run.

use super::{Checker, Env, Val, scope::Scope, value::merged};
use crate::ast::{Each, EachKind, Expr, ExprKind, Otherwise, Stage};
use plan::{OpId, OpKind, Span};

impl Checker<'_> {
    /// A step behind one with a mistake, of whose records `before` is known, if anything is.
    pub(super) fn each_behind_mistake(
        &mut self,
        before: Option<Val>,
        each: &Each,
        env: &Env<'_>,
    ) -> Val {
        let record = before.unwrap_or(Val::Broken);
        let mut inner = env.with(Scope::Record(record.clone(), None));
        let body = self.value(&each.body, &mut inner);
        self.remains = remains(each.kind, &record, &body);
        Val::Broken
    }

    /// The step between the source and `op` that leaves the field `name` out: its word, and where that stands.
    pub(super) fn left_out(&self, name: &str, op: OpId) -> Option<(&'static str, Span)> {
        let mut at = op;
        loop {
            let step = &self.ops[at];
            let [before] = step.inputs[..] else { return None };
            let has = |it: OpId| self.ops[it].output.iter().any(|it| it.name == name);
            if has(before) {
                let word = match step.kind {
                    OpKind::Map { .. } => "map",
                    OpKind::FlatMap { .. } => "flat_map",
                    _ => return None,
                };
                return Some((word, Span { end: step.at.start + word.len() as u32, ..step.at }));
            }
            at = before;
        }
    }
}

/// The record that a step gives, as far as its names are known: each value in it is broken.
pub(super) fn remains(kind: EachKind, record: &Val, body: &Val) -> Option<Val> {
    match (kind, record, body) {
        (EachKind::Where, record, _) => Some(emptied(record)),
        (EachKind::With, Val::Record(old), Val::Record(new)) => {
            Some(emptied(&Val::Record(merged(old.clone(), new.clone()))))
        }
        (EachKind::Map, _, body @ Val::Record(_)) => Some(emptied(body)),
        _ => None,
    }
}

/// Whether the value of `expr` is what a step leaves, so that `Checker::remains` is about it.
pub(super) fn ends_in_step(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Pipe { stage, .. } => matches!(stage, Stage::Each(_)),
        ExprKind::Else { lhs, otherwise } => {
            matches!(otherwise, Otherwise::Policy(_)) && ends_in_step(lhs)
        }
        _ => false,
    }
}

fn emptied(val: &Val) -> Val {
    match val {
        Val::Record(fields) => {
            Val::Record(fields.iter().map(|(name, it)| (name.clone(), emptied(it))).collect())
        }
        _ => Val::Broken,
    }
}
