//! Ranks for which an epoch has no batch, or fewer than for others: told before the run, since it would end in
//! silence, or hang.

use super::stream::source_lens;
use crate::session::compiled::Compiled;
use compiler::count;
use plan::Program;
use runtime::{Rank, Run};

/// Ranks that get nothing of an epoch, or less than others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnevenRanks {
    /// How many get nothing.
    pub idle: u64,
    /// Of how many.
    pub world: u64,
    /// Batches of the first and of the last rank.
    pub each: (u64, u64),
    /// This one, where it is one of them and others are not.
    pub own: Option<u32>,
    /// Batches of an epoch; records, where the pipeline ends without `batch`.
    pub of: u64,
    /// Whether they are batches.
    pub batched: bool,
}

impl UnevenRanks {
    /// Those of a run that is about to begin, where its length is known before it is read; one that shares its work
    /// with no other is idle where an epoch has nothing. Lists the files of the sources.
    pub(super) fn of(
        compiled: &Compiled,
        (run, program): (&Run, &Program),
        rank: Rank,
    ) -> Option<Self> {
        let world = u64::from(rank.world);
        let (plan, library) = (&compiled.optimised.plan, stdlib::library());
        let lens = source_lens(run, program);
        let outputs = |ranks| count::outputs(plan, &library, &lens, ranks);
        let of = outputs((0, 1))?;
        let each = (outputs((0, world))?, outputs((world - 1, world))?);
        let is_uneven = program.batched && each.0 != each.1;
        if each.1 > 0 && !is_uneven {
            return None;
        }
        // Where the first has nothing, all are to have equally many.
        let idle = if each.0 == 0 { world } else { world.saturating_sub(of) };
        // Batches are dealt in turn, from the first rank on.
        let own = (0 < idle && idle < world && u64::from(rank.rank) >= of).then_some(rank.rank);
        Some(Self { idle, world, each, own, of, batched: program.batched })
    }

    /// What is wrong, and what to do.
    pub fn told(&self) -> (String, String) {
        let Self { idle, world, each, own, of, batched } = *self;
        let (one, many) = if batched { ("batch", "batches") } else { ("record", "records") };
        let (ranks, all) = (plan::count(world), plan::things(of, one, many));
        if of == 0 {
            let help = match batched {
                true => {
                    "make smaller batches (`batch(n)`), or keep the last records (`tail: keep`)"
                }
                false => "the sources are empty, or every record is dropped",
            };
            return (format!("an epoch has no {one}"), help.to_owned());
        }
        if idle == 0 {
            let (most, least) = (plan::things(each.0, one, many), plan::count(each.1));
            return (
                format!(
                    "some of the {ranks} ranks get {most} per epoch and others {least}: an epoch \
                     has {all}, and `tail: keep` includes the last ones"
                ),
                "training that synchronizes all ranks in each step hangs or mixes up epochs: give \
                 each rank the same number (`tail: drop` or `tail: mask`)"
                    .to_owned(),
            );
        }
        let message = match idle {
            _ if idle == world => format!(
                "none of the {ranks} ranks gets a {one}: each gets the same number, but an epoch \
                 has only {all}"
            ),
            1 => format!("1 of the {ranks} ranks gets nothing: an epoch has only {all}"),
            _ => format!(
                "{} of the {ranks} ranks get nothing: an epoch has only {all}",
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
            true => format!("training that synchronizes all ranks in each step hangs: {help}"),
            false => help,
        };
        (message + &own, help)
    }
}
