//! A record that goes is not worked on first: `where` stands before what it needs nothing of.
//!
//! Where a filter stands next to a `map`, one stage does both, and asks the filter first whatever the
//! order of the text. It matters where something stands between that the filter can pass, and it
//! lets `map` come next to operators that it can pass in turn.

use super::{Pass, Proposal, Refusal, rebuild};
use crate::{
    analysis::{
        live::{live, live_columns, values},
        role::{Role, role},
        total::{any_can_fail, any_policy, lets_go},
    },
    registry::Registry,
};
use plan::{Expr, ExprId, Index, Op, OpId, OpKind, Plan, Policy, Records};

pub(super) const PASS: Pass = Pass {
    name: "predicate-pushdown",
    formerly: Some("early-filters"),
    summary: "filters before other work",
    doc: "A filter moves before steps that compute nothing that it needs.",
    law: "A filter on fields that a step passes through drops the same records before it as after \
          it; a value that nothing needs is not computed.",
    exact: true,
    always: false,
    takes_parts: false,
    propose: |plan, registry| propose(plan, registry).into_iter().collect(),
    refuse,
};

fn propose(plan: &Plan, registry: &Registry) -> Option<Proposal> {
    let filters = plan.ops.iter().filter(|(_, op)| matches!(op.kind, OpKind::Where { .. }));
    let filters = filters.filter(|(id, _)| matters(plan, *id, registry));
    let found = filters.filter_map(|(id, _)| Some((id, passed(plan, id, registry)?.ok()?)));
    let (id, columns) = { found }.next()?;
    let below = plan.ops[id].inputs[0];
    let why = format!("{} moves before {}", plan.ops[id].step, plan.ops[below].step);
    Some(Proposal { plan: swapped(plan, (below, id), &columns), why })
}

/// Whether it changes what is run when the filter comes earlier: something makes copies or looks up keys below, or
/// holds records above.
fn matters(plan: &Plan, id: OpId, registry: &Registry) -> bool {
    let mut below = plan.ops[id].inputs[0];
    while matches!(plan.ops[below].kind, OpKind::Map { .. } | OpKind::Where { .. }) {
        below = plan.ops[below].inputs[0];
    }
    let mut above = Some(id);
    while let Some(it) = above.filter(|it| matches!(plan.ops[*it].kind, OpKind::Where { .. })) {
        above = plan.ops.iter().find(|(_, op)| op.inputs.contains(&it)).map(|it| it.0);
    }
    let holds = |it: OpId| {
        let role = role(&plan.ops[it], registry);
        matches!(role, Role::ShuffleWithin(_) | Role::Take(_) | Role::Skip(_))
    };
    let below = &plan.ops[below];
    matches!(below.kind, OpKind::FlatMap { .. })
        || matches!(role(below, registry), Role::Join { .. })
        || above.is_some_and(holds)
}

/// The plan where the filter `id` stands before `below`, which reads the columns `columns` where the
/// filter did read its own.
fn swapped(plan: &Plan, (below, id): (OpId, OpId), columns: &[u32]) -> Plan {
    let mut plan = plan.clone();
    let step = plan.ops[below].clone();
    let from = step.inputs[0];
    let mut filter = rebuild::renumbered(&plan.ops[id], columns);
    filter.inputs = vec![from];
    filter.output.clone_from(&plan.ops[from].output);
    plan.ops[below] = filter;
    let others = step.inputs[1..].iter().copied();
    let inputs = std::iter::once(below).chain(others).collect();
    plan.ops[id] = Op { inputs, ..step };
    plan
}

/// Which columns the filter `id` asks for before the step below it, by their numbers above it; why
/// it cannot come before that. None where that would change nothing.
fn passed(plan: &Plan, id: OpId, registry: &Registry) -> Option<Result<Vec<u32>, String>> {
    let (filter, below) = (&plan.ops[id], &plan.ops[*plan.ops[id].inputs.first()?]);
    let asked = asked(filter);
    let listed = |lists: &[Vec<ExprId>]| columns(below, &asked, lists);
    match &below.kind {
        OpKind::Map { outputs } if outputs.iter().all(|it| is_column(below, *it)) => None,
        OpKind::Map { outputs } => Some(listed(std::slice::from_ref(outputs))),
        OpKind::FlatMap { records } => Some(
            match records {
                Records::Listed(lists) => listed(lists),
                Records::Counted { outputs, .. } => listed(std::slice::from_ref(outputs)),
            }
            .and_then(|found| past_copies((filter, below), registry).map(|()| found))
            .and_then(|found| told_below(plan, below, registry).map(|()| found)),
        ),
        OpKind::Operator { .. } => match role(below, registry) {
            Role::Join { fails, .. } => Some(past_join(plan, (filter, below), fails, registry)),
            other => counted(other).map(Err),
        },
        _ => None,
    }
}

fn is_column(op: &Op, id: ExprId) -> bool {
    matches!(op.graph.expr(id), Expr::Column(_))
}

/// The columns that a filter asks for.
fn asked(filter: &Op) -> Vec<u32> {
    let live = live(&filter.graph, &values(filter), &[]);
    live_columns(&filter.graph, &live).into_keys().collect()
}

/// Where the fields that are `asked` for come from: the same column in every list.
fn columns(below: &Op, asked: &[u32], lists: &[Vec<ExprId>]) -> Result<Vec<u32>, String> {
    let mut columns: Vec<u32> = (0..below.output.len() as u32).collect();
    for &i in asked {
        let mut sources = lists.iter().map(|it| match below.graph.expr(it[i as usize]) {
            Expr::Column(column) => Some(*column),
            _ => None,
        });
        let first = sources.next().flatten();
        let Some(column) = first.filter(|it| sources.all(|other| other == Some(*it))) else {
            return Err(format!(
                "it needs `{}`, which is computed there",
                below.output[i as usize].name
            ));
        };
        columns[i as usize] = column;
    }
    Ok(columns)
}

/// Whether a filter can stand before what makes several records of one.
fn past_copies((filter, below): (&Op, &Op), registry: &Registry) -> Result<(), String> {
    if draws(filter) {
        return Err("it draws for each copy separately".to_owned());
    }
    if !total(filter, registry) {
        return Err("it can fail, and would be reported once instead of for each copy".to_owned());
    }
    if !total(below, registry) {
        return Err("a record that fails there would no longer be reported".to_owned());
    }
    Ok(())
}

/// Which columns of the first stream the filter asks for, where it can stand before a `join`.
fn past_join(
    plan: &Plan,
    (filter, below): (&Op, &Op),
    fails: bool,
    registry: &Registry,
) -> Result<Vec<u32>, String> {
    let first = &plan.ops[below.inputs[0]].output;
    let mut columns: Vec<u32> = (0..below.output.len() as u32).collect();
    for i in asked(filter) {
        let field = &below.output[i as usize];
        let Some(place) = first.iter().position(|it| it == field) else {
            return Err(format!(
                "it needs `{}` of the second stream, where a key that occurs twice would no longer be reported; filter \
                 that stream itself to read less",
                field.name
            ));
        };
        columns[i as usize] = place as u32;
    }
    if fails {
        return Err("a record whose key is missing would no longer be reported".to_owned());
    }
    if draws(filter) {
        return Err("it draws by the id that a record has after it".to_owned());
    }
    if !total(filter, registry) {
        return Err("it can fail, and would be reported for a record without a partner".to_owned());
    }
    told_below(plan, below, registry)?;
    Ok(columns)
}

/// Whether a filter draws.
fn draws(filter: &Op) -> bool {
    let live = live(&filter.graph, &values(filter), &[]);
    filter
        .graph
        .iter()
        .any(|(id, expr, _)| live[id.row()] && matches!(expr, Expr::Call { draw: Some(_), .. }))
}

/// Whether nothing that is computed in it can fail.
fn total(op: &Op, registry: &Registry) -> bool {
    let live = live(&op.graph, &values(op), &[]);
    !any_can_fail(&op.graph, &live, registry) && !any_policy(&op.graph, &live, |_| true)
}

/// Whether the steps below `step`, which will be asked for less, cannot fail either.
fn told_below(plan: &Plan, step: &Op, registry: &Registry) -> Result<(), String> {
    // Of how many records a share may fail is counted where they come in.
    let counts = |it: &&Op| !matches!(it.on_fault, Policy::Fail) || lets_go(it, registry);
    if let Some(it) = plan.ops.rows().iter().filter(counts).find(|it| !total(it, registry)) {
        return Err(format!("{} counts the fraction of records that fail", it.step));
    }
    let mut at = &plan.ops[step.inputs[0]];
    // What a source does itself stands between no two steps of a stage.
    let passed = |it: &Op| {
        use Role::{Map, Permute, Repeat, Skip, Take, Where};
        matches!(role(it, registry), Map | Where | Permute | Repeat(_) | Take(_) | Skip(_))
    };
    while passed(at) {
        if !total(at, registry) {
            return Err(format!("a record that fails in {} would no longer be reported", at.step));
        }
        at = &plan.ops[at.inputs[0]];
    }
    Ok(())
}

/// Why a filter stays behind an operator that looks at which records come together.
fn counted(role: Role) -> Option<String> {
    let why = match role {
        Role::ShuffleWithin(_) => "other records would share a window",
        Role::Take(_) | Role::Skip(_) => "it counts records, and would count other records",
        Role::Sample => "it draws from all of them",
        _ => return None,
    };
    Some(why.to_owned())
}

fn refuse(plan: &Plan, registry: &Registry) -> Vec<Refusal> {
    let filters = plan.ops.iter().filter(|(_, op)| matches!(op.kind, OpKind::Where { .. }));
    let refused = filters.filter_map(|(id, op)| {
        let why = passed(plan, id, registry)?.err()?;
        let what = format!("before {}", plan.ops[op.inputs[0]].step);
        Some(Refusal { pass: PASS.name.to_owned(), step: op.step.clone(), what, why })
    });
    refused.collect()
}
