//! Lanes: parts of a source that go alone through the steps up to the first `batch`
//! (`semantics.md`, 11).
//!
//! What works on each record alone, and lets none go, does the same before and after the lanes are
//! dealt: so they are dealt as early as can be, and most of the work is done after it, by the rank
//! that needs it.

use super::Lowering;
use crate::{
    analysis::{
        index::Moved,
        role::{Role, batch_rows, role, spans},
    },
    errors::lower as errors,
    registry::Registry,
};
use plan::{Action, Arg, Code, Diagnostic, Entry, Index, Lanes, Op, OpId, OpKind, Plan};

/// The batches of a plan that lanes are dealt into.
#[derive(Debug, Default)]
pub(super) struct Laned {
    /// Each with the number of its lanes, and its rows.
    batches: Vec<(OpId, u32, u64)>,
    /// What cannot be done in lanes.
    pub(super) diagnostics: Vec<Diagnostic>,
    /// What to say where records leave the pipeline that are still in lanes. The parts of it that
    /// are looked at end so, and have none then.
    pub(super) undealt: Option<Diagnostic>,
}

/// Where the lanes of `plan` are dealt; `needed` are the operators that the root needs.
pub(super) fn laned(plan: &Plan, registry: &Registry, (needed, moved): (&[bool], &Moved)) -> Laned {
    let mut walk = Walk { plan, registry, moved, lanes: Vec::new(), found: Laned::default() };
    for (id, op) in plan.ops.iter() {
        let lanes = if needed[id.row()] { walk.op(id, op) } else { None };
        walk.lanes.push(lanes);
    }
    walk.end();
    walk.found
}

/// The lanes of the lowered program.
pub(super) fn of(lowering: &Lowering<'_>) -> Vec<Lanes> {
    let stages = &lowering.stages;
    let dealt = |&(batch, count, rows): &(OpId, u32, u64)| {
        let mut stage = stages[lowering.heads[&batch]].inputs[0];
        while lowering.keep_all.contains(&stage) && matches!(stages[stage].code, Code::Transform(_))
        {
            stage = stages[stage].inputs[0];
        }
        Lanes { count, stage, rows }
    };
    lowering.laned.batches.iter().map(dealt).collect()
}

/// The number of lanes that a source is cut into, where it says one.
fn asked(op: &Op, registry: &Registry) -> Option<i64> {
    let OpKind::Source { entry, args } = &op.kind else { return None };
    match registry.argument(registry.source(entry)?, args, "lanes") {
        Some(Arg::Int(it)) => Some(*it),
        _ => None,
    }
}

struct Walk<'a> {
    plan: &'a Plan,
    registry: &'a Registry,
    moved: &'a Moved,
    /// For each operator, the lanes of what leaves it, and their source.
    lanes: Vec<Option<(u32, OpId)>>,
    found: Laned,
}

impl Walk<'_> {
    fn op(&mut self, id: OpId, op: &Op) -> Option<(u32, OpId)> {
        let role = role(op, self.registry);
        if role == Role::Source {
            return self.source(id, op);
        }
        let lanes = op.inputs.iter().find_map(|it| self.lanes[it.row()])?;
        if self.moved.gone.contains(&id) {
            return Some(lanes);
        }
        match role {
            Role::Map | Role::Where | Role::FlatMap => return Some(lanes),
            Role::ShuffleWithin(_) if spans(op, self.registry).is_some() => {
                self.refuse(op, lanes, &SPANS);
            }
            Role::ShuffleWithin(_)
            | Role::Windows { .. }
            | Role::Packs { .. }
            | Role::Accompany(_) => {
                return Some(lanes);
            }
            // It has no index, which is said already.
            Role::Permute | Role::Repeat(_) => {}
            Role::Batch { .. } => self.batch(id, op, lanes),
            Role::Take(_) | Role::Skip(_) => self.refuse(op, lanes, &COUNTS),
            Role::Merge(_) if self.is_mixed_alike(op, lanes.0) => return Some(lanes),
            _ if op.inputs.len() > 1 => self.refuse(op, lanes, &JOINS),
            _ => self.refuse(op, lanes, &LOOKS_AT_ALL),
        }
        None
    }

    /// Whether `op` mixes streams that all have so many lanes: then it mixes those of one number.
    fn is_mixed_alike(&self, op: &Op, count: u32) -> bool {
        let OpKind::Operator { entry, .. } = &op.kind else { return false };
        let action = self.registry.operator(entry).and_then(Entry::action);
        let of = |it: &OpId| self.lanes[it.row()].map(|it| it.0);
        action == Some(Action::Mix) && op.inputs.iter().all(|it| of(it) == Some(count))
    }

    fn source(&mut self, id: OpId, op: &Op) -> Option<(u32, OpId)> {
        let asked = asked(op, self.registry)?;
        match u32::try_from(asked) {
            Ok(count @ 1..=Lanes::MAX) => return Some((count, id)),
            _ => self.found.diagnostics.push(errors::lanes_out_of_bounds(op.at, asked)),
        }
        None
    }

    fn batch(&mut self, id: OpId, op: &Op, lanes: (u32, OpId)) {
        let OpKind::Operator { entry, args, .. } = &op.kind else { return };
        match batch_rows(self.registry, (entry, args), op.inputs.len()) {
            Some(rows) => self.found.batches.push((id, lanes.0, rows)),
            None => self.refuse(op, lanes, &SORTS),
        }
    }

    fn refuse(&mut self, op: &Op, (_, source): (u32, OpId), why: &errors::NoLanes) {
        let at = self.plan.ops[source].at;
        self.found.diagnostics.push(errors::no_lanes(op.at, at, why));
    }

    /// What leaves the pipeline is no lane.
    fn end(&mut self) {
        let root = self.plan.root;
        let lanes = self.lanes[root.row()];
        let why = |it: (u32, OpId)| {
            errors::no_lanes(self.plan.ops[root].at, self.plan.ops[it.1].at, &UNDEALT)
        };
        self.found.undealt = lanes.map(why);
    }
}

const COUNTS: errors::NoLanes = errors::NoLanes {
    what: "this would count the records of each lane separately",
    help: "move it directly after the source, where it counts all records, or after `batch`",
};
const JOINS: errors::NoLanes = errors::NoLanes {
    what: "streams in lanes can only be mixed, if all have the same number of lanes",
    help: "remove `lanes` (ranks do not need them), or batch each stream before combining them",
};
const LOOKS_AT_ALL: errors::NoLanes = errors::NoLanes {
    what: "this needs all records of an epoch, and a lane has only a part of them",
    help: "remove `lanes`: ranks do not need them",
};
const SORTS: errors::NoLanes = errors::NoLanes {
    what: "lanes need batches of a fixed number of consecutive records",
    help: "remove `lanes` (ranks do not need them), or use batches of a fixed size, without `by` and `tokens`",
};
const SPANS: errors::NoLanes = errors::NoLanes {
    what: "a lane is a part of the records, which `spans` cannot cut into files",
    help: "remove `lanes` (ranks do not need them), or shuffle without `spans`",
};
const UNDEALT: errors::NoLanes = errors::NoLanes {
    what: "lanes without a `batch`",
    help: "end the pipeline with `batch(n)`, or remove `lanes`",
};
