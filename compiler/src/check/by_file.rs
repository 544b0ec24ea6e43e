//! `join(…, within: file)`: which steps hand the name of a record's file on, and where they begin.

use super::Checker;
use crate::registry::Registry;
use plan::{Action, Arg, Entry, Expr, IdVec, Op, OpId, OpKind, Otherwise, Policy, Property};

/// Whether an operator looks its second stream up in the file of each record.
pub(crate) fn is_by_file(op: &Op, registry: &Registry) -> bool {
    match &op.kind {
        OpKind::Operator { entry, args, .. } => {
            registry.operator(entry).is_some_and(|it| joins_by_file((it, args), registry))
        }
        _ => false,
    }
}

/// The same of an operator that is not in a plan yet.
pub(crate) fn joins_by_file((entry, args): (&Entry, &[Arg]), registry: &Registry) -> bool {
    let within = registry.argument(entry, args, "within");
    entry.action() == Some(Action::Join) && matches!(within, Some(Arg::Word(it)) if it == "file")
}

/// The steps from `op` down to a source that names the files of its records, the source last.
///
/// # Errors
/// The step that stands in the way, if one does.
pub(crate) fn named(
    ops: &IdVec<OpId, Op>,
    mut op: OpId,
    registry: &Registry,
) -> Result<Vec<OpId>, OpId> {
    let mut steps = Vec::new();
    loop {
        steps.push(op);
        let it = &ops[op];
        let hands_on = match &it.kind {
            OpKind::Source { entry, .. } => {
                let names = registry.source(entry).is_some_and(|it| it.has(Property::ByFile));
                return if names { Ok(steps) } else { Err(op) };
            }
            OpKind::Map { .. } | OpKind::Where { .. } | OpKind::FlatMap { .. } => true,
            OpKind::Operator { entry, .. } => {
                let is_same = |it: &Entry| it.has(Property::SameFields);
                let is_join = |it: &Entry| it.action() == Some(Action::Join);
                let entry = registry.operator(entry);
                entry.is_some_and(is_join) || it.inputs.len() == 1 && entry.is_some_and(is_same)
            }
        };
        if !hands_on {
            return Err(op);
        }
        op = it.inputs[0];
    }
}

/// Whether the records of `op` can be read file by file: those of a source, with steps on each record alone that lose
/// none and are the same in every epoch.
///
/// # Errors
/// The step that stands in the way.
pub(crate) fn readable(
    ops: &IdVec<OpId, Op>,
    mut op: OpId,
    registry: &Registry,
) -> Result<(), OpId> {
    loop {
        let it = &ops[op];
        let reads = match &it.kind {
            OpKind::Source { entry, .. } => {
                registry.source(entry).is_some_and(|it| it.has(Property::ByFile))
            }
            OpKind::Map { .. } | OpKind::Where { .. } => is_alike(it),
            OpKind::FlatMap { .. } | OpKind::Operator { .. } => false,
        };
        if !reads {
            return Err(op);
        }
        match it.inputs.first() {
            Some(input) => op = *input,
            None => return Ok(()),
        }
    }
}

/// Whether a step makes the same of a record in every epoch, or ends the run.
fn is_alike(op: &Op) -> bool {
    let varies = |it: &Expr| match it {
        Expr::Call { draw, .. } => draw.is_some(),
        Expr::Else { otherwise: Otherwise::Policy(it), .. } => *it != Policy::Fail,
        it => matches!(it, Expr::Epoch),
    };
    op.on_fault == Policy::Fail && !op.graph.iter().any(|it| varies(it.1))
}

impl Checker<'_> {
    /// Why these two streams cannot be joined within files, if they cannot.
    pub(super) fn not_by_file(&self, inputs: &[OpId]) -> Option<String> {
        let [left, right] = inputs else { return None };
        let ops = &self.ops;
        let wrong = named(ops, *left, self.registry).err().map(|it| (it, "first"));
        let in_second = || Some((readable(ops, *right, self.registry).err()?, "second"));
        let (step, which) = wrong.or_else(in_second)?;
        Some(match &ops[step].kind {
            OpKind::Source { .. } => {
                let all = self.registry.library().sources.iter();
                let all = all.filter(|it| it.has(Property::ByFile));
                let all: Vec<_> = all.map(|it| format!("`{}`", it.name())).collect();
                format!(
                    "`within: file` needs files of many records, which the {which} stream does not read: begin it with \
                     one of {}",
                    all.join(", ")
                )
            }
            OpKind::Operator { entry, .. } if which == "first" => {
                format!("with `within: file`, it must come before `{entry}`, which combines records of several files")
            }
            OpKind::Operator { entry, .. } => format!(
                "with `within: file`, `{entry}` cannot be applied to the second stream, only `map`, `with` and `where`"
            ),
            _ => "with `within: file`, the second stream must not draw random numbers, use `epoch`, or leave out records \
                  that fail: do that after the join"
                .to_owned(),
        })
    }
}
