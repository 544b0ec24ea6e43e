//! What is done again when a run is resumed, and what every rank does of those that share the work
//! (`semantics.md`, 10 and 11).

use crate::{
    analysis::role::{Role, role},
    count,
    estimate::{Origin, Outlook},
    lower::lower_known,
    registry::Registry,
};
use model::network::Amount;
use plan::{Code, Index, Library, Op, OpKind, Plan};
use serde::Serialize;

/// What ranks get of an epoch that has fewer batches than there are ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Beyond {
    /// Each gets a batch, which may be empty.
    Served,
    /// Some get nothing.
    Idle,
    /// None gets anything.
    NoneServed,
}

/// What two ranks get of an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TwoRanks {
    /// Batches of an epoch of one run.
    pub of: u64,
    /// Batches of an epoch of each of the two.
    pub each: u64,
    /// What becomes of ranks beyond the number of batches.
    pub beyond: Beyond,
}

/// The numbers of ranks that can share so many lanes, as a person lists them.
fn worlds(lanes: u32) -> String {
    let all: Vec<String> =
        (1..=lanes).filter(|it| lanes.is_multiple_of(*it)).map(|it| it.to_string()).collect();
    match all.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// What is done again, at the most, when a run is resumed.
pub(super) fn resumed(plan: &Plan, registry: &Registry) -> String {
    let mut blocks: Vec<String> =
        plan.ops.rows().iter().filter_map(|op| block(op, role(op, registry))).collect();
    let program = lower_known(plan, registry, &|_| String::new());
    let lanes = program.map_or(Vec::new(), |it| it.program.lanes);
    blocks.extend(lanes.iter().map(|it| format!("the buffered records of {} lanes", it.count)));
    match blocks.as_slice() {
        [] => "resuming recomputes at most one batch or chunk".to_owned(),
        blocks => format!("resuming recomputes at most {}", blocks.join(", ")),
    }
}

/// What an operator holds, and so does again.
fn block(op: &Op, role: Role) -> Option<String> {
    let step = &op.step;
    match role {
        Role::ShuffleWithin(n) | Role::Accompany(n) => {
            Some(format!("one window of {step} ({n} records)"))
        }
        Role::Batch { plain: false, .. } => Some(format!("one block of batches of {step}")),
        Role::Merge(_) => Some(format!("one block of {step}")),
        Role::Join { .. } => Some(format!("the second stream of {step}")),
        Role::Sample | Role::Other if matches!(op.kind, OpKind::Operator { .. }) => {
            Some(format!("the records that {step} has read in the epoch"))
        }
        _ => None,
    }
}

/// Who does what where several runs share the work; nothing where it cannot be run.
pub(super) fn shared(plan: &Plan, registry: &Registry) -> Option<String> {
    let program = lower_known(plan, registry, &|_| String::new()).ok()?.program;
    let stage = program.stages.get(program.deal.stage)?;
    let step = stage.steps.last()?;
    let is_root = program.deal.stage.row() + 1 == program.stages.len();
    let lanes = |stage| program.lanes.iter().find(|it| it.stage == stage);
    let own_lanes = program.deal.own.as_ref().and_then(|it| lanes(it.stage));
    let all_lanes = lanes(program.deal.stage);
    let who = match &stage.code {
        _ if let Some(lanes) = own_lanes.or(all_lanes) => {
            let (n, worlds) = (lanes.count, worlds(lanes.count));
            let computes = match own_lanes {
                Some(_) => format!("reads and computes only its own of the {n} lanes"),
                None => format!("computes all {n} lanes up to {step}, then only its own batches"),
            };
            format!("each rank {computes}; the world size may be {worlds}")
        }
        Code::Source { .. } => "each rank computes only its own batches".to_owned(),
        _ if is_root => {
            "each rank computes everything, and returns only its own batches".to_owned()
        }
        _ => {
            format!("each rank computes everything up to {step}, then only its own batches")
        }
    };
    let is_endless = program.deal.own.as_ref().is_some_and(|it| it.take.is_none());
    let end = match program.deal.keeps_tail {
        _ if is_endless => return Some(who),
        false => "if fewer batches than ranks are left at the end of an epoch, they are dropped",
        true if program.deal.valid.is_some() => {
            "all ranks return the same number: the last batch of some may be empty"
        }
        true => "at the end of an epoch some ranks may return one batch more than others",
    };
    Some(if program.batched { format!("{who}; {end}") } else { who })
}

/// What two ranks get of an epoch; nothing where only reading tells.
pub(super) fn two_ranks(plan: &Plan, library: &Library, outlook: &Outlook) -> Option<TwoRanks> {
    let (all, needed) = (outlook.network.cardinalities(), plan.needed());
    let is_source = |op: &Op| matches!(op.kind, OpKind::Source { .. });
    let sources = plan.ops.iter().filter(|(id, op)| needed[id.row()] && is_source(op));
    let lens: Vec<Option<u64>> = sources
        .map(|(id, _)| match (all.get(id.row()), outlook.counts.get(id.row())) {
            (Some(Amount::Finite(n)), Some(Origin::Exact)) => Some(*n as u64),
            _ => None,
        })
        .collect();
    let outputs = |ranks| count::outputs(plan, library, &lens, ranks);
    let (of, each) = (outputs((0, 1))?, outputs((0, 2))?);
    let (first, last) = (outputs((0, of + 1))?, outputs((of, of + 1))?);
    let beyond = match (first, last) {
        (_, 1..) => Beyond::Served,
        (0, 0) => Beyond::NoneServed,
        (_, 0) => Beyond::Idle,
    };
    Some(TwoRanks { of, each, beyond })
}
