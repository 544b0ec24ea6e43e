//! How many outputs an epoch gives, where that follows from the lengths of its sources alone.

mod filters;

pub use filters::{Filter, filters};

use crate::{
    analysis::{
        role::{Ends, Role, batch_rows, role},
        total::lets_none_go,
    },
    registry::Registry,
};
use plan::{Arg, Index, Library, Op, OpId, OpKind, Plan, Records};

/// Outputs of an epoch of `plan`, one of whose sources in its order has so many records each; shared
/// by so many runs, those that `rank` of `world` gives. None where only reading tells.
pub fn outputs(
    plan: &Plan,
    library: &Library,
    lens: &[Option<u64>],
    (rank, world): (u64, u64),
) -> Option<u64> {
    let registry = Registry::new(*library);
    let needed = plan.needed();
    let is_source = |it: &OpId| matches!(plan.ops[*it].kind, OpKind::Source { .. });
    let sources = plan.ops.ids().filter(|it| needed[it.row()]).filter(is_source).collect();
    let counting = Counting { plan, registry: &registry, sources, lens };
    if world <= 1 {
        return counting.leaving(plan.root);
    }
    counting.dealt(rank, world)
}

struct Counting<'a> {
    plan: &'a Plan,
    registry: &'a Registry,
    /// The sources that the output needs, in the order of `lens`.
    sources: Vec<OpId>,
    lens: &'a [Option<u64>],
}

impl Counting<'_> {
    /// Records that leave `id` in an epoch.
    fn leaving(&self, id: OpId) -> Option<u64> {
        let op = &self.plan.ops[id];
        let entering = || self.leaving(*op.inputs.first()?);
        match role(op, self.registry) {
            Role::Source => {
                let at = self.sources.iter().position(|it| *it == id)?;
                self.lens.get(at).copied().flatten()
            }
            Role::Map if lets_none_go(op) => entering(),
            Role::FlatMap if lets_none_go(op) => match &op.kind {
                OpKind::FlatMap { records: Records::Listed(all) } => {
                    entering()?.checked_mul(all.len() as u64)
                }
                _ => None,
            },
            Role::Permute | Role::ShuffleWithin(_) | Role::Accompany(_) => entering(),
            Role::Take(n) => Some(entering()?.min(n)),
            Role::Skip(n) => Some(entering()?.saturating_sub(n)),
            Role::Repeat(n) => entering()?.checked_mul(n?),
            Role::Batch { drops, .. } => {
                let (n, rows) = (entering()?, self.batch_rows(op)?);
                Some(if drops { n / rows } else { n.div_ceil(rows) })
            }
            // Unequal lengths and keys that are missing end the run.
            Role::Zip | Role::Join { skips: false, .. } => entering(),
            Role::Merge(Ends::Last) if !self.leaves_out_a_stream(op) => {
                let mut all = op.inputs.iter().map(|it| self.leaving(*it));
                all.try_fold(0_u64, |sum, it| sum.checked_add(it?))
            }
            _ => None,
        }
    }

    /// Outputs of one run of several, where they are dealt as batches or as records that leave one
    /// by one.
    fn dealt(&self, rank: u64, world: u64) -> Option<u64> {
        let mut id = self.plan.root;
        loop {
            let op = &self.plan.ops[id];
            match role(op, self.registry) {
                Role::Map if lets_none_go(op) => id = *op.inputs.first()?,
                Role::Batch { drops: true, .. } => return Some(self.leaving(id)? / world),
                Role::Batch { drops: false, .. } => {
                    let all = self.leaving(id)?;
                    let fills = op.output.iter().any(|it| it.name == "valid");
                    return Some(if fills {
                        all.div_ceil(world)
                    } else {
                        of_rank(all, rank, world)
                    });
                }
                Role::Source | Role::Permute => {
                    return Some(of_rank(self.leaving(self.plan.root)?, rank, world));
                }
                _ => return None,
            }
        }
    }

    /// Whether one of several streams gives nothing, since it weighs nothing.
    fn leaves_out_a_stream(&self, op: &Op) -> bool {
        let OpKind::Operator { entry, args, .. } = &op.kind else { return false };
        let entry = self.registry.operator(entry);
        let weights = entry.and_then(|it| self.registry.argument(it, args, "weights"));
        weights.is_some_and(has_zero)
    }

    fn batch_rows(&self, op: &Op) -> Option<u64> {
        match &op.kind {
            OpKind::Operator { entry, args, .. } => {
                batch_rows(self.registry, (entry, args), op.inputs.len())
            }
            _ => None,
        }
        .filter(|it| *it > 0)
    }
}

fn has_zero(arg: &Arg) -> bool {
    match arg {
        Arg::Int(it) => *it == 0,
        Arg::Float(it) => *it == 0.0,
        Arg::List(all) => all.iter().any(has_zero),
        Arg::Record(all) => all.iter().any(|(_, it)| has_zero(it)),
        _ => false,
    }
}

/// Of `all` that are dealt one by one.
fn of_rank(all: u64, rank: u64, world: u64) -> u64 {
    all.saturating_sub(rank).div_ceil(world)
}
