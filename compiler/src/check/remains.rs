//! What is known of the records behind a step with a mistake: the names of their fields, so that mistakes of
//! the steps behind it are found in the same run.

use super::{Checker, Env, Val, scope::Scope, stream::step, value::merged};
use crate::{
    ast::{Call, DeclarationKind, Each, EachKind, Expr, ExprKind, Otherwise},
    registry::{Function, Kind as EntryKind},
};
use plan::{DType, Extent, Field, Graph, Op, OpId, OpKind, Policy, Property, Span, Type};

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

    /// An operator of the library; behind one with a mistake, what is known of its records.
    pub(super) fn operator(
        &mut self,
        found: &Function,
        call: &Call,
        piped: Option<(Val, Span)>,
        env: &mut Env<'_>,
    ) -> Val {
        let behind = self.behind.take();
        let stream = match &piped {
            Some((Val::Stream(op), _)) => Some(*op),
            _ => None,
        };
        self.remains = None;
        match self.operator_of(found, call, piped, env) {
            Val::Broken => match stream {
                Some(input) => self.stream_behind_mistake(found, call, input, env),
                None => {
                    self.remains = behind.and_then(|it| names_behind((found, call), it));
                    Val::Broken
                }
            },
            found => {
                self.remains = None;
                found
            }
        }
    }

    /// The records behind an operator with a mistake, where their types are known all the same: those of
    /// `input`, or the rows of batches of them.
    fn stream_behind_mistake(
        &mut self,
        found: &Function,
        call: &Call,
        input: OpId,
        env: &Env<'_>,
    ) -> Val {
        if found.entry.has(Property::SameFields) {
            return Val::Stream(input);
        }
        let Some((valid, apart)) = stacks(found) else { return Val::Broken };
        if says(call, apart) {
            return Val::Broken;
        }
        let mut output: Vec<Field> = self.ops[input].output.iter().map(stacked).collect();
        if output.iter().all(|it| it.name != valid) {
            let ty = Type::Tensor { dtype: DType::Bool, shape: vec![Extent::Unknown] };
            output.push(Field { name: valid.to_owned(), ty });
        }
        // Of a program with a mistake no plan is made: nobody asks for its arguments.
        let name = found.entry.name().to_owned();
        let op = self.push(Op {
            step: step(env.pipeline, &name, self.names.ordinal(call.name.span)),
            kind: OpKind::Operator { entry: name, args: Vec::new(), names: Vec::new() },
            inputs: vec![input],
            graph: Graph::default(),
            output,
            place: self.place(&call.name, env),
            at: self.shown_place(call.span),
            on_fault: Policy::Fail,
        });
        self.keep_writers(op, input);
        Val::Stream(op)
    }

    /// Whether a call says itself, in [`Checker::remains`], what is known of the stream that it gives: an operator, and a
    /// pipeline that ends in one or in a step.
    pub(super) fn tells_what_remains(&self, name: &str, env: &Env<'_>) -> bool {
        let declared = self.names.called.get(&(env.file, name)).or(self.names.library.get(name));
        match declared.map(|it| &it.kind) {
            Some(DeclarationKind::Pipeline(it)) => ends_in_step(&it.body),
            Some(_) => false,
            None => self.registry.get(name, EntryKind::Operator).is_some(),
        }
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
        ExprKind::Pipe { .. } => true,
        ExprKind::Else { lhs, otherwise } => {
            matches!(otherwise, Otherwise::Policy(_)) && ends_in_step(lhs)
        }
        _ => false,
    }
}

/// What is known behind an operator of records of which `before` is known.
fn names_behind((found, call): (&Function, &Call), before: Val) -> Option<Val> {
    if found.entry.has(Property::SameFields) {
        return Some(before);
    }
    match (stacks(found)?, before) {
        ((valid, apart), Val::Record(mut fields)) if !says(call, apart) => {
            if fields.iter().all(|it| it.0 != valid) {
                fields.push((valid.to_owned(), Val::Broken));
            }
            Some(Val::Record(fields))
        }
        _ => None,
    }
}

/// Whether a call says something of the parameter `name`.
fn says(call: &Call, name: &str) -> bool {
    call.args.iter().any(|it| it.name.as_ref().is_some_and(|it| it.text == name))
}

fn stacks(found: &Function) -> Option<(&'static str, &'static str)> {
    found.entry.properties.iter().find_map(|it| match it {
        Property::Stacks { valid, apart } => Some((*valid, *apart)),
        _ => None,
    })
}

/// A field with an axis more. How long short rows have become is not known.
fn stacked(field: &Field) -> Field {
    let ty = match &field.ty {
        Type::Tensor { dtype, shape } => {
            let inner = shape.iter().map(|it| match it {
                Extent::Known(n) => Extent::Known(*n),
                _ => Extent::Unknown,
            });
            let shape = [Extent::Unknown].into_iter().chain(inner).collect();
            Type::Tensor { dtype: *dtype, shape }
        }
        other => other.clone(),
    };
    Field { name: field.name.clone(), ty }
}

fn emptied(val: &Val) -> Val {
    match val {
        Val::Record(fields) => {
            Val::Record(fields.iter().map(|(name, it)| (name.clone(), emptied(it))).collect())
        }
        _ => Val::Broken,
    }
}
