//! Records hand the name of their file on, to a `join` that needs it (`within: file`).

use crate::{
    check::by_file::{is_by_file, named},
    registry::Registry,
};
use plan::{DType, Expr, FILE, Field, Graph, Index, OpId, OpKind, Plan, Records, Type};

/// `plan`, where the steps between a source and such a `join` have the hidden field [`FILE`], as their last one. None
/// where no step needs it.
pub(super) fn with_names(plan: &Plan, registry: &Registry) -> Option<Plan> {
    let needed = plan.needed();
    let joins = plan.ops.iter().filter(|(id, op)| needed[id.row()] && is_by_file(op, registry));
    let joins: Vec<OpId> = joins.map(|it| it.0).collect();
    let mut naming = (!joins.is_empty()).then(|| plan.clone())?;
    for join in joins {
        // The checker has refused others.
        let steps = named(&plan.ops, plan.ops[join].inputs[0], registry).unwrap_or_default();
        steps.into_iter().rev().for_each(|it| hand_on(&mut naming, it));
    }
    Some(naming)
}

/// Gives the records that leave `op` the name, which those have that enter it.
fn hand_on(plan: &mut Plan, op: OpId) {
    let entering = plan.ops[op].inputs.first().map(|it| plan.ops[*it].output.len() - 1);
    let op = &mut plan.ops[op];
    if op.output.iter().any(|it| it.name == FILE) {
        return;
    }
    let ty = Type::scalar(DType::Str);
    op.output.push(Field { name: FILE.to_owned(), ty: ty.clone() });
    let column = |graph: &mut Graph| {
        graph.add(Expr::Column(entering.unwrap_or_default() as u32), ty.clone())
    };
    match &mut op.kind {
        OpKind::Map { outputs } | OpKind::FlatMap { records: Records::Counted { outputs, .. } } => {
            outputs.push(column(&mut op.graph));
        }
        OpKind::FlatMap { records: Records::Listed(lists) } => {
            let name = column(&mut op.graph);
            lists.iter_mut().for_each(|it| it.push(name));
        }
        OpKind::Source { .. } | OpKind::Where { .. } | OpKind::Operator { .. } => {}
    }
}
