//! What the checker has found out about the main file, by place: for hover, hints and completion.

use super::{Checker, Known, Val};
use crate::ast::{self, ExprKind};
use plan::{Commas, Field, FileId, OpId, Span};
use std::collections::{BTreeMap, HashMap};

/// What the checker has found out about the main file of a program, by place.
///
/// Of a definition that is called in several ways it tells what the first call makes of it.
#[derive(Debug, Clone, Default)]
pub struct Notes {
    /// What an expression is.
    pub types: HashMap<Span, Found>,
    /// Names that are fields of a record, and where each was written, where that is in the main file.
    pub fields: HashMap<Span, Option<Span>>,
    /// The fields that are in scope by name within an expression, with their types; inner ones
    /// have smaller spans.
    pub scopes: HashMap<Span, Vec<(String, String)>>,
    /// The steps of plans by their stable names, such as `train.map#1`, and where each is written.
    pub steps: BTreeMap<String, Span>,
}

/// What an expression has turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A stream, and the fields of its records.
    Stream(Vec<Field>),
    /// A value: its type, or what it is where it is known.
    Value(String),
    /// A message has been given.
    Broken,
}

impl Found {
    /// As it is written: a type, the type of a stream's records, or the value itself.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Stream(fields) => format!("{{ {} }}", Commas(fields)),
            Self::Value(text) => text.clone(),
            Self::Broken => String::new(),
        }
    }
}

/// Notes while they are taken.
#[derive(Default)]
pub(super) struct Taking {
    pub(super) notes: Notes,
    /// Who wrote the fields of an operator's output, by their places in the text.
    origins: Origins,
}

/// Places by operator and field.
pub(super) type Origins = HashMap<OpId, HashMap<String, Span>>;

impl Taking {
    /// Another plan begins.
    pub(super) fn begin(&mut self) {
        self.origins.clear();
    }

    /// A plan begins within another one, of which this is given back.
    pub(super) fn set_aside(&mut self) -> Origins {
        std::mem::take(&mut self.origins)
    }

    /// The other one goes on.
    pub(super) fn take_up(&mut self, origins: Origins) {
        self.origins = origins;
    }
}

/// The file that notes are taken of.
const NOTED: FileId = FileId(0);

impl Checker<'_> {
    /// What a message about an operator's arguments points to. In `batch(csv(…), 8)` the call holds its input, which
    /// is not to blame: the name alone.
    pub(super) fn blamed(&self, inputs: &[OpId], call: &ast::Call) -> Span {
        let around = |it: Span| {
            it.file == call.span.file && it.start > call.span.start && it.end <= call.span.end
        };
        match inputs {
            [it] if around(self.ops[*it].at) => call.name.span,
            _ => call.span,
        }
    }

    /// Notes what an expression is; what is known once is not forgotten.
    pub(super) fn note_value(&mut self, at: Span, val: &Val) {
        if at.file != NOTED || self.taking.is_none() {
            return;
        }
        let known = self.taking.as_ref().and_then(|it| it.notes.types.get(&at));
        if known.is_some_and(|it| *it != Found::Broken) {
            return;
        }
        let found = match val {
            Val::Broken => Found::Broken,
            Val::Stream(op) => Found::Stream(self.ops[*op].output.clone()),
            other => Found::Value(self.type_text(other)),
        };
        if let Some(taking) = &mut self.taking {
            taking.notes.types.insert(at, found);
        }
    }

    /// The type of a value, or what it is where it is known.
    fn type_text(&self, val: &Val) -> String {
        match val {
            Val::Known(Known::Word(it)) => it.clone(),
            Val::Known(Known::Bool(it)) => it.to_string(),
            Val::Known(Known::Text(it)) => format!("{it:?}"),
            Val::Known(Known::Number(it)) => self.shown_number(it),
            Val::Expr(id) => self.graph.ty(*id).to_string(),
            Val::Record(fields) => {
                let field = |(name, it): &(String, Val)| format!("{name}: {}", self.type_text(it));
                let fields: Vec<String> = fields.iter().map(field).collect();
                format!("{{ {} }}", fields.join(", "))
            }
            Val::List(all) => match all.as_slice() {
                [] => "[]".to_owned(),
                [first, ..] => format!("a list of {}: {}", all.len(), self.type_text(first)),
            },
            Val::Counted { body, .. } => format!("a list of {}", self.type_text(body)),
            Val::Interval(a, b) => format!("{}..{}", self.type_text(a), self.type_text(b)),
            Val::Stream(op) => format!("a stream of {{ {} }}", Commas(&self.ops[*op].output)),
            Val::Broken => "?".to_owned(),
        }
    }

    fn shown_number(&self, it: &super::value::Number) -> String {
        let number = self.shown(&Val::Known(Known::Number(*it)));
        let number = number.trim_matches('`');
        match it.unit {
            super::Unit::NONE => number.to_owned(),
            unit => format!("{number} {unit}"),
        }
    }

    /// Notes that a name is a field of what `op` gives, or of a single record.
    pub(super) fn note_field(&mut self, at: Span, name: &str, op: Option<OpId>) {
        let Some(taking) = self.taking.as_mut().filter(|_| at.file == NOTED) else { return };
        let origin = op.and_then(|it| taking.origins.get(&it)?.get(name).copied());
        let noted = taking.notes.fields.entry(at).or_default();
        *noted = noted.or(origin);
    }

    /// Notes the fields that are in scope within `at`.
    pub(super) fn note_scope(&mut self, at: Span, record: &Val) {
        let Val::Record(fields) = record else { return };
        if at.file != NOTED || self.taking.is_none() {
            return;
        }
        let typed = |(name, it): &(String, Val)| (name.clone(), self.type_text(it));
        let fields = fields.iter().map(typed).collect();
        if let Some(taking) = &mut self.taking {
            taking.notes.scopes.entry(at).or_insert(fields);
        }
    }

    /// Notes a step and where its fields come from: from what `body` writes, else from its inputs.
    pub(super) fn note_step(&mut self, op: OpId, body: Option<&ast::Expr>) {
        let Some(taking) = &mut self.taking else { return };
        let of = &self.ops[op];
        if of.at.file == NOTED {
            taking.notes.steps.entry(of.step.clone()).or_insert(of.at);
        }
        let before = of.inputs.iter().rev().filter_map(|it| taking.origins.get(it));
        let mut origins: HashMap<String, Span> =
            before.flat_map(|it| it.iter().map(|(name, at)| (name.clone(), *at))).collect();
        origins.retain(|name, _| of.output.iter().any(|it| root(&it.name) == name));
        let source = of.inputs.is_empty().then_some(of.at);
        for field in &of.output {
            if let Some(at) = source {
                origins.insert(root(&field.name).to_owned(), at);
            }
        }
        for entry in body.map_or(&[][..], written) {
            origins.insert(entry.name.text.clone(), entry.name.span);
        }
        taking.origins.insert(op, origins);
    }
}

/// The entries of the record that an expression writes, where it is seen to be one.
fn written(expr: &ast::Expr) -> &[ast::Entry] {
    match &expr.kind {
        ExprKind::Record(entries) => entries,
        ExprKind::Else { lhs, .. } => written(lhs),
        ExprKind::If { then, .. } => written(then),
        ExprKind::Comprehension { body, .. } => written(body),
        ExprKind::List(all) => all.first().map_or(&[], written),
        ExprKind::Pipe { stage: ast::Stage::Each(each), .. } => written(&each.body),
        _ => &[],
    }
}

fn root(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}
