//! What is taken out of an untyped field by name is a column of the source: `row["a"] as f32`.
//!
//! A source that declares so ([`plan::Property::TypedColumns`]) reads these values while it has the record at hand, all in
//! one pass, as columns with types. What it cannot read, for whatever reason, is found the long way, in the very
//! expression that was written: so what fails fails as it did, and where it did.

use super::{Pass, Proposal, rebuild};
use crate::{
    analysis::{
        live::{live, values},
        role::{Role, role},
    },
    check::library::{AS_TYPE, UNTYPED_FIELD},
    registry::Registry,
};
use plan::{
    Arg, Const, DType, Expr, ExprId, Extent, Field, Graph, Index, Op, OpId, OpKind, Plan, Type,
    TypedColumns,
};

pub(super) const PASS: Pass = Pass {
    name: "typed-columns",
    formerly: None,
    summary: "reads fields of untyped records as typed columns",
    doc: "A source reads what is taken out of its untyped field as columns with types, in one pass over the record.",
    law: "The library states that a value which the source reads is the one that the expression gives; where it reads \
          none, the expression itself is computed.",
    exact: true,
    always: false,
    takes_parts: false,
    propose,
    refuse: super::nothing_refused,
};

/// Columns of a source, at the most.
const COLUMNS_MAX: usize = 64;
/// Columns that a person is told by name.
const TOLD_MAX: usize = 4;

fn propose(plan: &Plan, registry: &Registry) -> Vec<Proposal> {
    let sources = plan.ops.iter().filter_map(|(id, op)| Site::of(plan, (id, op), registry));
    sources.filter_map(|it| it.proposal()).collect()
}

/// A source, and the steps that use its untyped field.
struct Site<'a> {
    plan: &'a Plan,
    source: OpId,
    typed: &'static TypedColumns,
    /// Which of its fields that is.
    column: u32,
    /// What reads its records, one after the other: the last one makes others of them.
    readers: Vec<OpId>,
}

impl<'a> Site<'a> {
    fn of(plan: &'a Plan, (source, op): (OpId, &Op), registry: &Registry) -> Option<Self> {
        let OpKind::Source { entry, args } = &op.kind else { return None };
        let typed = registry.source(entry)?.typed_columns()?;
        let is_free = args.get(typed.argument) == Some(&Arg::None);
        let is_read = |it: &Field| it.name == typed.field && it.ty == Type::Untyped(typed.of);
        let column = op.output.iter().position(is_read).filter(|_| is_free)?;
        let readers = readers(plan, source, registry)?;
        Some(Self { plan, source, typed, column: u32::try_from(column).ok()?, readers })
    }

    fn proposal(&self) -> Option<Proposal> {
        let wanted = self.wanted();
        if wanted.is_empty() {
            return None;
        }
        let is_needed = self.readers.iter().any(|it| self.needs_whole(*it, &wanted));
        // What else is read is a text that is long, as a rule, and would be copied once more.
        if is_needed && !self.typed.texts {
            return None;
        }
        let columns = Columns::new(self, &wanted, is_needed);
        let mut plan = self.plan.clone();
        plan.ops[self.source] = columns.source(&plan.ops[self.source]);
        for (i, &reader) in self.readers.iter().enumerate() {
            let mut op = columns.rewritten(self, reader);
            if i + 1 < self.readers.len() {
                op.output.clone_from(&columns.fields);
            }
            plan.ops[reader] = op;
        }
        let step = &plan.ops[self.source].step;
        let why = format!("{step} reads {} as typed columns", self.told(&wanted));
        Some(Proposal { plan, why })
    }

    /// What the source reads, for people.
    fn told(&self, wanted: &[Wanted]) -> String {
        if wanted.len() > TOLD_MAX {
            return format!("{} members of `{}`", wanted.len(), self.typed.field);
        }
        let name = |it: &Wanted| {
            let path: String = it.path.iter().map(|it| format!("[{it:?}]")).collect();
            format!("`{}{path}`", self.typed.field)
        };
        wanted.iter().map(name).collect::<Vec<_>>().join(", ")
    }

    /// What is taken out of the field, each once, in the order in which it is written.
    fn wanted(&self) -> Vec<Wanted> {
        let mut wanted: Vec<Wanted> = Vec::new();
        for &reader in &self.readers {
            let op = &self.plan.ops[reader];
            let live = live(&op.graph, &values(op), &[]);
            for (id, ..) in op.graph.iter().filter(|it| live[it.0.row()]) {
                let Some(found) = self.taken(&op.graph, id) else { continue };
                let goes =
                    wanted.len() < COLUMNS_MAX && wanted.iter().all(|it| it.goes_with(&found));
                wanted.extend(goes.then_some(found));
            }
        }
        wanted
    }

    /// What the node `id` takes out of the field, if it does nothing else.
    fn taken(&self, graph: &Graph, id: ExprId) -> Option<Wanted> {
        let Expr::Call { function, args, .. } = graph.expr(id) else { return None };
        let [Arg::Expr(of), Arg::Type(ty)] = &args[..] else { return None };
        let is_read = function == AS_TYPE && self.reads(ty);
        let path = self.path(graph, *of).filter(|it| (1..=self.typed.depth).contains(&it.len()))?;
        is_read.then(|| Wanted { path, ty: ty.clone() })
    }

    /// Whether the source can read such a value.
    fn reads(&self, ty: &Type) -> bool {
        let (Some(dtype), Some(shape)) = (ty.dtype(), ty.shape()) else { return false };
        let n_open = shape.iter().filter(|it| !matches!(it, Extent::Known(_))).count();
        let is_array = self.typed.arrays && n_open <= 1 && !dtype.is_text();
        (shape.is_empty() || is_array) && (self.typed.texts || !dtype.is_text())
    }

    /// The names of members, outermost first, by which the node `id` is found in the field.
    fn path(&self, graph: &Graph, id: ExprId) -> Option<Vec<String>> {
        match graph.expr(id) {
            Expr::Column(i) => (*i == self.column).then(Vec::new),
            Expr::Call { function, args, .. } if function == UNTYPED_FIELD => {
                let [Arg::Expr(of), Arg::Expr(key)] = args[..] else { return None };
                let Expr::Const(Const::Text(DType::Str, key)) = graph.expr(key) else {
                    return None;
                };
                let mut path = self.path(graph, of)?;
                path.push(String::from_utf8(key.clone()).ok()?);
                Some(path)
            }
            _ => None,
        }
    }

    /// Whether a step needs the field for something else.
    fn needs_whole(&self, reader: OpId, wanted: &[Wanted]) -> bool {
        let op = &self.plan.ops[reader];
        let is_typed = |id| self.taken(&op.graph, id).is_some_and(|it| wanted.contains(&it));
        let typed: Vec<ExprId> =
            op.graph.iter().map(|it| it.0).filter(|it| is_typed(*it)).collect();
        let live = live(&op.graph, &values(op), &typed);
        op.graph.iter().any(|(id, expr, _)| live[id.row()] && *expr == Expr::Column(self.column))
    }
}

/// The steps that read the records of a source, up to one that makes others of them; none where they leave the
/// pipeline, or several streams come together, before.
fn readers(plan: &Plan, source: OpId, registry: &Registry) -> Option<Vec<OpId>> {
    let (needed, mut readers, mut last) = (plan.needed(), Vec::new(), source);
    loop {
        let mut all =
            plan.ops.iter().filter(|(id, it)| needed[id.row()] && it.inputs.contains(&last));
        let (id, op) = all.next().filter(|_| last != plan.root)?;
        if all.next().is_some() {
            return None;
        }
        readers.push(id);
        last = id;
        match role(op, registry) {
            Role::Map | Role::FlatMap => return Some(readers),
            Role::Where
            | Role::Permute
            | Role::ShuffleWithin(_)
            | Role::Take(_)
            | Role::Skip(_)
            | Role::Repeat(_) => {}
            _ => return None,
        }
    }
}

/// A value that is taken out of the field.
#[derive(Debug, Clone, PartialEq)]
struct Wanted {
    path: Vec<String>,
    ty: Type,
}

impl Wanted {
    /// Whether one record can hold both.
    fn goes_with(&self, other: &Self) -> bool {
        !self.path.starts_with(&other.path) && !other.path.starts_with(&self.path)
    }

    /// Its path as a JSON Pointer.
    fn pointer(&self) -> String {
        let escaped = self.path.iter().map(|it| it.replace('~', "~0").replace('/', "~1"));
        escaped.map(|it| format!("/{it}")).collect()
    }
}

/// The fields that the source has then.
struct Columns<'a> {
    typed: &'static TypedColumns,
    wanted: &'a [Wanted],
    fields: Vec<Field>,
    /// Where they stand: the first of those that are wanted, and what says whether all could be read. What they are
    /// found in otherwise stands where the untyped field did.
    first: u32,
    known: u32,
}

impl<'a> Columns<'a> {
    fn new(site: &Site<'_>, wanted: &'a [Wanted], is_needed: bool) -> Self {
        let typed = site.typed;
        let mut fields = site.plan.ops[site.source].output.clone();
        if !is_needed {
            typed.rest.clone_into(&mut fields[site.column as usize].name);
        }
        let place = |fields: &[Field]| u32::try_from(fields.len()).unwrap_or(u32::MAX);
        let first = place(&fields);
        fields.extend(wanted.iter().map(|it| {
            let name = format!("{}{}", typed.field, it.pointer());
            Field { name, ty: it.ty.clone() }
        }));
        let known = place(&fields);
        fields.push(Field { name: typed.known.to_owned(), ty: Type::scalar(DType::Bool) });
        Self { typed, wanted, fields, first, known }
    }

    fn source(&self, op: &Op) -> Op {
        let mut op = Op { output: self.fields.clone(), ..op.clone() };
        let of = |it: &Wanted| (it.pointer(), Arg::Type(it.ty.clone()));
        if let OpKind::Source { args, .. } = &mut op.kind {
            args[self.typed.argument] = Arg::Record(self.wanted.iter().map(of).collect());
        }
        op
    }

    fn rewritten(&self, site: &Site<'_>, reader: OpId) -> Op {
        let op = &site.plan.ops[reader];
        let mut chooses = false;
        let mut op = rebuild::remade(op, |graph, new, id| {
            let taken = site.taken(&op.graph, id)?;
            let place = self.wanted.iter().position(|it| *it == taken)?;
            let ty = op.graph.ty(id);
            let slow = graph.add(op.graph.expr(id).clone().with_needs(|it| new[&it]), ty.clone());
            let known = graph.add(Expr::Column(self.known), Type::scalar(DType::Bool));
            let column = graph.add(Expr::Column(self.first + place as u32), ty.clone());
            chooses = true;
            Some(graph.add(Expr::Select(known, column, slow), ty.clone()))
        });
        op.graph.clean |= chooses;
        op
    }
}
