//! What filters let through, counted before a run: of those that look at paths and numbers alone.

use crate::session::{
    compiled::Compiled,
    functions::Functions,
    keep::laps,
    samples::{self, SampleProgress},
};
use compiler::{count, estimate::Counted, lower::lower};
use runtime::Options;

/// Estimated processor time that counting one filter may take, in nanoseconds. Half a second is what
/// somebody waits for an explanation without asking why; a million paths take less.
const COUNT_NS_MAX: f64 = 5e8;

/// The records that each filter lets through in the first epoch, where counting them reads nothing but
/// lists of files.
pub(super) fn counted(
    compiled: &Compiled,
    sample: &mut dyn FnMut(&SampleProgress),
) -> Vec<Counted> {
    let filters = count::filters(&compiled.optimised.plan, &stdlib::library());
    let count = |it: count::Filter| {
        let records = records(&it, sample)?;
        Some(Counted { step: it.step, records, varies: it.varies })
    };
    filters.into_iter().filter_map(count).collect()
}

/// How many records leave; none where that would take long, or fails.
fn records(of: &count::Filter, sample: &mut dyn FnMut(&SampleProgress)) -> Option<u64> {
    let mut program = lower(&of.plan, &stdlib::library(), &|_| String::new()).ok()?;
    if !samples::are_there(&program) {
        return None;
    }
    let laps = laps(&program);
    samples::resolve(&mut program, sample).ok()?;
    let options = Options { epochs: 0..1, ..Options::default() };
    let run = runtime::start(&program, &Functions::unneeded(), &options).ok()?;
    let lens: Option<Vec<u64>> = run.listed_lens().into_iter().collect();
    let entering = lens?.iter().sum::<u64>() as f64 * laps;
    if entering * of.ns > COUNT_NS_MAX {
        return None;
    }
    let mut records = 0;
    for chunk in run {
        records += chunk.ok()?.rows as u64;
    }
    Some(records)
}
