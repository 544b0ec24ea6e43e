//! A file is read when it is used (`language.md`, principle 3): not before an operator that holds
//! records, or lets some go.
//!
//! `files` gives a record its bytes at once. Where a `shuffle(window:)`, a `sample`, a `take` or a
//! `join` comes before the step that uses them, that step reads them itself, and only the path travels.

use super::{Pass, Proposal, projection_pruning, rebuild};
use crate::{
    analysis::{
        index::moved,
        live::{live, live_columns, values},
        role::{Role, role},
    },
    lower::graft::Graft,
    registry::Registry,
};
use plan::{Expr, ExprId, Field, Graph, IdVec, Op, OpId, OpKind, Otherwise, Plan, Policy, Type};

pub(super) const PASS: Pass = Pass {
    name: "late-materialization",
    formerly: Some("late-reads"),
    summary: "reads files after steps that buffer records",
    doc: "A file is read by the step that uses it, after operators that buffer or drop records.",
    law: "The contents of a file are a function of its path; an operator that only buffers or \
          drops records does not look at them.",
    exact: true,
    always: false,
    takes_parts: false,
    propose: |plan, registry| propose(plan, registry).into_iter().collect(),
    refuse: super::nothing_refused,
};

fn propose(plan: &Plan, registry: &Registry) -> Option<Proposal> {
    let (moved, _) = moved(plan, registry);
    for (id, op) in plan.ops.iter() {
        for read in reads(id, op, registry) {
            let works = |it: OpId| !moved.gone.contains(&it);
            let Some(user) = user(plan, &read, registry, works) else { continue };
            let Some(changed) = read_there(plan, &read, user) else { continue };
            let plan = projection_pruning::without_dead(&changed, registry).unwrap_or(changed);
            let step = &plan.ops[user].step;
            let why = format!("{step} reads `{}` itself, where it is used", read.field.name);
            return Some(Proposal { plan, why });
        }
    }
    None
}

/// A field that is the content of a file.
struct Read<'a> {
    /// The `map` that reads it.
    at: OpId,
    field: &'a Field,
    value: ExprId,
}

fn reads<'a>(at: OpId, op: &'a Op, registry: &Registry) -> Vec<Read<'a>> {
    let OpKind::Map { outputs } = &op.kind else { return Vec::new() };
    // A record that goes where it cannot be read must go before what counts records.
    if matches!(op.on_fault, Policy::Skip { .. }) {
        return Vec::new();
    }
    let is_read = |id: ExprId| match op.graph.expr(id) {
        Expr::Call { function, draw: None, .. } => registry.reads(function),
        _ => false,
    };
    let all = op.output.iter().zip(outputs).filter(|(_, id)| is_read(**id));
    all.map(|(field, &value)| Read { at, field, value }).collect()
}

/// The `map` that uses the field first, where an operator that works on streams lies between.
fn user(
    plan: &Plan,
    read: &Read<'_>,
    registry: &Registry,
    works: impl Fn(OpId) -> bool,
) -> Option<OpId> {
    let (mut id, mut between) = (read.at, false);
    loop {
        let (reader, op) = plan.ops.iter().find(|(_, it)| it.inputs.contains(&id))?;
        let column = place(plan, id, read.field)?;
        let uses = uses(op, column);
        let hands_on = |op: &Op| match role(op, registry) {
            Role::Join { .. } => op.inputs[0] == id,
            _ => op.output == plan.ops[id].output,
        };
        match &op.kind {
            OpKind::Map { .. } if only_hands_on(op, column, read.field) => {}
            OpKind::Map { .. } => return (between && uses).then_some(reader),
            OpKind::Where { .. } if !uses => {}
            OpKind::Operator { .. } if !uses && hands_on(op) => between |= works(reader),
            _ => return None,
        }
        id = reader;
    }
}

/// Which column of what leaves `id` the field is.
fn place(plan: &Plan, id: OpId, field: &Field) -> Option<u32> {
    let place = plan.ops[id].output.iter().position(|it| it == field)?;
    u32::try_from(place).ok()
}

fn uses(op: &Op, column: u32) -> bool {
    let live = live(&op.graph, &values(op), &[]);
    live_columns(&op.graph, &live).contains_key(&column)
}

/// Whether a `map` passes the column on under its name, and computes nothing of it.
fn only_hands_on(op: &Op, column: u32, field: &Field) -> bool {
    let OpKind::Map { outputs } = &op.kind else { return false };
    let is_column = |it: &ExprId| matches!(op.graph.expr(*it), Expr::Column(i) if *i == column);
    let (same, others): (Vec<ExprId>, Vec<ExprId>) = outputs.iter().partition(|it| is_column(it));
    let place = outputs.iter().position(is_column);
    let is_named = place.is_some_and(|it| op.output[it] == *field);
    let live = live(&op.graph, &others, &[]);
    same.len() == 1 && is_named && !live_columns(&op.graph, &live).contains_key(&column)
}

/// The plan where `user` computes what `read` gave it.
fn read_there(plan: &Plan, read: &Read<'_>, user: OpId) -> Option<Plan> {
    let (op, from) = (&plan.ops[user], &plan.ops[read.at]);
    let input = *op.inputs.first()?;
    let column = place(plan, input, read.field)?;
    let mut graph = Graph::default();
    let value = recomputed(plan, (read, from), input, &mut graph)?;
    // A fault of the file is dealt with as the step says that reads it, not as one that uses it.
    let has_else = op.graph.iter().any(|it| matches!(it.1, Expr::Else { .. }));
    let value = match from.on_fault == op.on_fault && !has_else {
        true => value,
        false => guarded(&mut graph, value, from),
    };

    let mut graft = Graft::new(&op.graph, &mut graph).keeping_else();
    for (i, id) in live_columns(&op.graph, &live(&op.graph, &values(op), &[])) {
        if i == column {
            graft.put(id, value);
        }
    }
    let old = values(op);
    let new = graft.copy(&old);
    let changed = rebuild::on_graph(op, graph, &old.into_iter().zip(new).collect());
    let mut ops: IdVec<OpId, Op> = plan.ops.clone();
    ops[user] = changed;
    Some(Plan { ops, ..plan.clone() })
}

/// What `read` computes, from the columns that leave `input`: each must be handed on to there.
fn recomputed(
    plan: &Plan,
    (read, from): (&Read<'_>, &Op),
    input: OpId,
    graph: &mut Graph,
) -> Option<ExprId> {
    let OpKind::Map { outputs } = &from.kind else { return None };
    let live = live(&from.graph, &[read.value], &[]);
    let columns: Vec<(ExprId, ExprId)> = live_columns(&from.graph, &live)
        .into_values()
        .map(|id| {
            let handed_on = outputs.iter().position(|it| *it == id)?;
            let column = place(plan, input, &from.output[handed_on])?;
            let ty: Type = from.graph.ty(id).clone();
            Some((id, graph.add(Expr::Column(column), ty)))
        })
        .collect::<Option<_>>()?;
    let mut graft = Graft::new(&from.graph, graph).keeping_else();
    columns.into_iter().for_each(|(old, new)| graft.put(old, new));
    Some(graft.copy(&[read.value])[0])
}

fn guarded(graph: &mut Graph, value: ExprId, from: &Op) -> ExprId {
    let ty = graph.ty(value).clone();
    graph.add(Expr::Else { value, otherwise: Otherwise::Policy(from.on_fault) }, ty)
}
