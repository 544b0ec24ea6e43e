//! What is held is small: a `map` comes after an operator that holds records, or lets some go.
//!
//! `map { image: decode_jpeg(bytes) } |> shuffle(window: 1000)` holds a thousand pictures; the other
//! way round it holds a thousand names of files. Whether that is less is for the estimate to say.

use super::{Pass, Proposal, Refusal, projection_pruning};
use crate::{
    analysis::{
        index::moved,
        live::{live, values},
        role::{Role, role},
        total::{any_can_fail, any_policy, lets_go},
    },
    registry::Registry,
};
use plan::{Expr, Field, Op, OpId, OpKind, Plan, Policy};

pub(super) const PASS: Pass = Pass {
    name: "late-maps",
    formerly: None,
    summary: "computes fields after steps that buffer records",
    doc: "A `map` moves after steps that buffer or drop records, so that smaller records are \
          buffered.",
    law: "A `map` works on each record separately and keeps its id, so its values and random \
          draws do not depend on its position; an operator that does not look at values orders \
          the same records in the same way.",
    exact: true,
    always: false,
    takes_parts: false,
    propose,
    refuse,
};

fn propose(plan: &Plan, registry: &Registry) -> Vec<Proposal> {
    let free = pairs(plan, registry).filter(|it| blocked(plan, *it, registry).is_none());
    free.map(|it| swapped(plan, it, registry)).collect()
}

fn swapped(plan: &Plan, (below, id): (OpId, OpId), registry: &Registry) -> Proposal {
    let mut plan = plan.clone();
    let (map, holds) = (plan.ops[below].clone(), plan.ops[id].clone());
    let why = format!("{} moves after {}", map.step, holds.step);
    let output = plan.ops[map.inputs[0]].output.clone();
    plan.ops[below] = Op { inputs: map.inputs.clone(), output, ..holds };
    plan.ops[id] = Op { inputs: vec![below], ..map };
    // What the `map` did not hand on would be held now.
    let plan = projection_pruning::without_dead(&plan, registry).unwrap_or(plan);
    Proposal { plan, why }
}

/// Each `map` that computes something, and the operator above it that holds what it makes.
fn pairs<'a>(plan: &'a Plan, registry: &Registry) -> impl Iterator<Item = (OpId, OpId)> + use<'a> {
    let (moved, _) = moved(plan, registry);
    let holds = |op: &Op| {
        matches!(role(op, registry), Role::ShuffleWithin(_) | Role::Take(_) | Role::Skip(_))
    };
    let all: Vec<OpId> = plan.ops.iter().filter(|it| holds(it.1)).map(|it| it.0).collect();
    let all = all.into_iter().filter(move |it| !moved.gone.contains(it));
    all.filter_map(|id| {
        let below = *plan.ops[id].inputs.first()?;
        let map = &plan.ops[below];
        let OpKind::Map { outputs } = &map.kind else { return None };
        let computes = |it: &plan::ExprId| !matches!(map.graph.expr(*it), Expr::Column(_));
        let computes = outputs.iter().any(computes) && !is_as_small(plan, map);
        (computes && map.output == plan.ops[id].output).then_some((below, id))
    })
}

/// Whether what a `map` makes is known to be no larger than what it is made of: then there is nothing
/// to be gained, and in front of what holds records it is computed in larger chunks.
fn is_as_small(plan: &Plan, map: &Op) -> bool {
    let bytes =
        |fields: &[Field]| -> Option<usize> { fields.iter().map(|it| it.ty.fixed_bytes()).sum() };
    let before = map.inputs.first().and_then(|it| bytes(&plan.ops[*it].output));
    bytes(&map.output).zip(before).is_some_and(|(after, before)| after <= before)
}

/// Why the two must stay as they are.
fn blocked(plan: &Plan, (below, id): (OpId, OpId), registry: &Registry) -> Option<String> {
    let (map, holds) = (&plan.ops[below], &plan.ops[id]);
    let live = live(&map.graph, &values(map), &[]);
    let fails = any_can_fail(&map.graph, &live, registry);
    let another = |it: &Policy| matches!(it, Policy::Another { .. });
    let counts = !matches!(role(holds, registry), Role::ShuffleWithin(_));
    let why = if lets_go(map, registry) {
        "records that fail there are dropped, and then other records would be grouped".to_owned()
    } else if any_policy(&map.graph, &live, another) || another(&map.on_fault) && fails {
        "records that fail there are replaced by others".to_owned()
    } else if counts && fails {
        "a record that fails there would no longer be reported".to_owned()
    } else if !values(holds).is_empty() {
        format!("{} uses values", holds.step)
    } else {
        return None;
    };
    Some(why)
}

fn refuse(plan: &Plan, registry: &Registry) -> Vec<Refusal> {
    let refused = pairs(plan, registry).filter_map(|(below, id)| {
        let why = blocked(plan, (below, id), registry)?;
        let step = plan.ops[below].step.clone();
        let what = format!("after {}", plan.ops[id].step);
        Some(Refusal { pass: PASS.name.to_owned(), step, what, why })
    });
    refused.collect()
}
