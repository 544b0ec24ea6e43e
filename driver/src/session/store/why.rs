//! Why a pipeline finds on disk what it finds, or not.

use super::{About, DiskOptions, Inputs, There, latest_like};
use crate::session::{
    compiled::Compiled,
    functions::Functions,
    keep,
    lock::Chosen,
    machine,
    sampled::Sampled,
    samples::{self, SampleProgress},
    storages,
};
use compiler::{caches::Disk, estimate::View};
use model::strategy::Objective;
use runtime::{Failure, Store};
use serde::Serialize;

/// What becomes of a value of a pipeline.
#[derive(Debug, Clone, Serialize)]
pub struct Why {
    /// The step that computes it.
    pub step: String,
    /// The function whose result it is.
    pub function: String,
    /// Whether a run of so many epochs keeps it on disk.
    pub kept: bool,
    /// Why, or why not.
    pub why: String,
    /// Where it would stand.
    pub address: Option<String>,
    /// Values that stand there.
    pub entries: u64,
    /// What differs from what was kept last, where nothing stands there.
    pub changed: Option<String>,
}

/// What becomes of each value of `compiled` that could be kept, in runs of so many epochs that may take so much memory,
/// where a lock may say what is kept.
///
/// # Errors
/// A source cannot be listed.
pub fn why(
    compiled: &Compiled,
    disk: &DiskOptions,
    (epochs, memory, objective, lock): (u32, Option<u64>, Objective, Option<&Chosen>),
    sample: &mut dyn FnMut(&SampleProgress),
) -> Result<Vec<Why>, Failure> {
    let mut program = compiled.program.clone();
    samples::resolve(&mut program, sample)?;
    let run = runtime::start(&program, &Functions::unneeded(), &runtime::Options::default())?;
    let inputs = Inputs::of(&run, disk.verify_inputs)?;
    let passes = f64::from(epochs) * keep::laps(&program);
    let memory = memory.unwrap_or_else(machine::default_memory);
    let asked = keep::Asked { passes, memory, on_disk: true, objective, ranks: 1 };
    let workers = lock.map_or_else(machine::cores, |it| it.workers);
    let mut looked: Vec<(Compiled, View, Disk, Option<Sampled>)> = Vec::new();
    for it in [compiled.clone()].into_iter().chain(compiled.alternatives()) {
        let sampled = Sampled::read(&disk.folder, &it, inputs.hash());
        if looked.first().is_some_and(|first| first.3.is_some() != sampled.is_some()) {
            continue;
        }
        let estimated = sampled.as_ref().map(|of| of.estimated(&it, (workers, memory)));
        let it = estimated.unwrap_or(it);
        let (mut view, host) = it.run_view(workers, asked, run.pass_lens()?)?;
        let room = disk.disk_of(host.as_ref(), &mut view.machine, storages::unmeasured());
        let There { values, only } = disk.there(&inputs);
        (view.filled, view.only) = (values, only);
        looked.push((it, view, room, sampled));
    }
    let cases = looked.iter().map(|(compiled, view, room, sampled)| {
        let known = keep::Known { measured: None, sampled: sampled.as_ref(), lock };
        keep::Case { compiled, view, disk: Some(*room), asked, known }
    });
    let cases: Vec<keep::Case<'_>> = cases.collect();
    let keep::Case { compiled, view, disk: room, known, .. } = cases[keep::best(&cases)];
    let choices = compiled.kept((view, room), asked, known)?;
    let each = choices.into_iter().map(|choice| {
        let candidate = &choice.candidate;
        let about = About::new(compiled, candidate, &inputs);
        let possible = candidate.refused.is_none() && candidate.listed;
        let address = possible.then(|| about.address());
        let store = address.as_ref().and_then(|it| Store::look(&disk.folder, it).ok());
        let then = || latest_like(&disk.folder, &about);
        let changed = store.is_none().then(then).flatten().map(|it| about.changed_since(&it));
        Why {
            step: candidate.step.clone(),
            function: candidate.function.clone(),
            kept: choice.kept && choice.is_on_disk(),
            // What is kept in memory alone has a reason for that.
            why: match choice.kept && !choice.is_on_disk() {
                true => choice.why_not_on_disk().to_owned(),
                false => choice.why.clone(),
            },
            entries: store.map_or(0, |it| it.stats().entries),
            changed: changed.filter(|_| possible),
            address,
        }
    });
    Ok(each.collect())
}
