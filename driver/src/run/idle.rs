//! Ranks for which an epoch has no batch: told before the run, since each of them would end in silence.

use super::stream::source_lens;
use crate::Compiled;
use compiler::count;
use plan::Program;
use runtime::{Rank, Run};

/// Ranks that get nothing of an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdleRanks {
    /// How many there are.
    pub idle: u64,
    /// Of how many.
    pub world: u64,
    /// This one, where it is one of them and others are not.
    pub own: Option<u32>,
    /// Batches of an epoch; records, where the pipeline ends without `batch`.
    pub of: u64,
    /// Whether they are batches.
    pub batched: bool,
}

impl IdleRanks {
    /// Those of a run that is about to begin, where it shares its work and its length is known before it
    /// is read. Lists the files of the sources.
    pub(super) fn of(
        compiled: &Compiled,
        (run, program): (&Run, &Program),
        rank: Rank,
    ) -> Option<Self> {
        let world = u64::from(rank.world);
        if world <= 1 {
            return None;
        }
        let (plan, library) = (&compiled.optimised.plan, stdlib::library());
        let lens = source_lens(run, program);
        let outputs = |ranks| count::outputs(plan, &library, &lens, ranks);
        let of = outputs((0, 1)).filter(|it| *it > 0)?;
        if outputs((world - 1, world))? > 0 {
            return None;
        }
        // Where the first has nothing, all are to have equally many.
        let idle = if outputs((0, world))? == 0 { world } else { world.saturating_sub(of) };
        // Batches are dealt in turn, from the first rank on.
        let own = (idle < world && u64::from(rank.rank) >= of).then_some(rank.rank);
        Some(Self { idle, world, own, of, batched: program.batched })
    }

    /// What is wrong, and what to do.
    pub fn told(&self) -> (String, String) {
        let Self { idle, world, own, of, batched } = *self;
        let (one, many) = if batched { ("batch", "batches") } else { ("record", "records") };
        let (ranks, all) = (plan::count(world), plan::things(of, one, many));
        let message = match idle {
            _ if idle == world => format!(
                "none of the {ranks} ranks gets a {one}: each gets equally many, and an epoch has {all}"
            ),
            1 => format!("1 of the {ranks} ranks gets nothing: an epoch has {all}"),
            _ => format!(
                "{} of the {ranks} ranks get nothing: an epoch has {all}",
                plan::count(idle)
            ),
        };
        let own = own.map_or(String::new(), |it| format!("; rank {it} is one of them"));
        let most = format!("run at most {}", plan::things(of, "rank", "ranks"));
        let help = match batched {
            true => format!(
                "{most}, make smaller batches (`batch(n)`), or give every rank a batch (`tail: mask`)"
            ),
            false => most,
        };
        let help = match idle < world {
            true => format!("training that waits for all ranks in each step hangs: {help}"),
            false => help,
        };
        (message + &own, help)
    }
}
