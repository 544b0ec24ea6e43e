//! Bad records, found before they are met: faults, duplicates, sizes, order of the labels.
//!
//! The part of the plan that works on each record alone is run over one epoch, in the order of the
//! sources; a record that fails is left out and named, whatever the program says of it. The files
//! are looked at in a pass of their own, so that those that cannot be decoded count too.

mod faults;
mod files;
mod labels;
mod spread;

pub use faults::{Bad, Faults, Kind as FaultKind};
pub use files::{Duplicates, Files, Named};
pub use labels::Labels;
pub use spread::Spread;

use crate::{
    session::{compiled::Compiled, machine, run::Stop, samples::SampleProgress},
    tools::cut::{self, Flow, Way},
};
use plan::{Action, Arg, OpId, OpKind, Plan};
use runtime::{Chunk, Failure};
use serde::Serialize;
use std::time::Instant;

/// What is scanned.
#[derive(Debug, Clone)]
pub struct ScanOptions {
    /// All that is random follows from it.
    pub seed: u64,
    /// Threads that compute.
    pub workers: usize,
    /// Bytes that the scan may take.
    pub memory: u64,
    /// Whether they are for the whole process, which does little else.
    pub whole_process: bool,
}

impl Default for ScanOptions {
    /// Seed 0, all cores, a quarter of the memory.
    fn default() -> Self {
        let (workers, memory) = (machine::cores(), machine::default_memory());
        Self { seed: 0, workers, memory, whole_process: false }
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scan {
    /// The pipeline's name.
    pub pipeline: String,
    /// The last step that was run.
    pub step: String,
    /// Records that came through it.
    pub records: u64,
    /// Records that failed.
    pub faults: Faults,
    /// What was not looked at, and why.
    pub unseen: Option<String>,
    /// What is known of the files, where records have bytes.
    pub files: Option<Files>,
    /// The field that looks like a label, if there is one.
    pub labels: Option<Labels>,
    /// How the pipeline shuffles.
    pub shuffle: Shuffle,
    /// From the start to the end.
    pub seconds: f64,
    /// Whether it was stopped before it had seen everything: it is what was found up to then.
    pub interrupted: bool,
}

/// How a pipeline shuffles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shuffle {
    /// Not at all.
    None,
    /// Within windows of so many records.
    Window(u64),
    /// All records.
    All,
}

/// Who looks on.
pub struct ScanWatch<'a> {
    /// What may stop it: what was found up to then is given.
    pub stop: Stop,
    /// Told of each record that failed, as it is found.
    pub bad: &'a mut dyn FnMut(&Bad) -> Result<(), Failure>,
    /// Told how many records have been looked at.
    pub progress: &'a mut dyn FnMut(u64),
    /// Told of each picture of a sample set that is made first.
    pub sample: &'a mut dyn FnMut(&SampleProgress),
}

/// Scans the records of `compiled`.
///
/// # Errors
/// What ended it: inputs that are not there, an output that cannot be written.
pub fn scan(
    compiled: &Compiled,
    options: &ScanOptions,
    mut watch: ScanWatch<'_>,
) -> Result<Scan, Failure> {
    let since = Instant::now();
    let plan = part(&compiled.written);
    let scanning = Scanning { compiled, options, plan };
    let mut found = scanning.records(&mut watch)?;
    if !found.interrupted {
        scanning.files(&mut found, &mut watch)?;
    }
    // Whoever asks to stop from now on means the process.
    let _ = watch.stop.arm(None);
    found.seconds = since.elapsed().as_secs_f64();
    Ok(found)
}

struct Scanning<'a> {
    compiled: &'a Compiled,
    options: &'a ScanOptions,
    plan: Plan,
}

impl Scanning<'_> {
    /// The pass over all steps: over each stream that is zipped first, then over the whole.
    fn records(&self, watch: &mut ScanWatch<'_>) -> Result<Scan, Failure> {
        let root = self.plan.root;
        let mut found = Scan {
            pipeline: self.plan.name.clone(),
            step: self.plan.ops[root].step.clone(),
            records: 0,
            faults: Faults::default(),
            unseen: None,
            files: None,
            labels: None,
            shuffle: shuffle(&self.compiled.written),
            seconds: 0.0,
            interrupted: false,
        };
        for op in zipped(&self.plan) {
            if found.faults.records > 0 && !zipped(&cut::at(&self.plan, op)).is_empty() {
                continue;
            }
            self.stream(op, &mut found, watch)?;
            if found.interrupted {
                return Ok(found);
            }
        }
        if found.faults.records > 0 && !zipped(&self.plan).is_empty() {
            let why =
                "a stream of `zip` has records that fail: the steps after it were not scanned";
            found.unseen = Some(why.to_owned());
            return Ok(found);
        }
        found.records = 0;
        self.stream(root, &mut found, watch)?;
        Ok(found)
    }

    /// The records that leave `root`.
    fn stream(
        &self,
        root: OpId,
        found: &mut Scan,
        watch: &mut ScanWatch<'_>,
    ) -> Result<(), Failure> {
        let Some(mut flow) = self.flow(root, watch)? else {
            found.interrupted = true;
            return Ok(());
        };
        let mut labels = Labels::among(&self.plan.ops[root].output);
        loop {
            let next = unless_stopped(flow.chunk(), &mut found.interrupted)?;
            for lost in flow.take_lost() {
                let bad = Bad::of(&lost, self.compiled);
                (watch.bad)(&bad)?;
                found.faults.note(bad);
            }
            let Some(chunk) = next else { break };
            found.records += chunk.rows as u64;
            labels.iter_mut().for_each(|it| it.chunk(&chunk));
            (watch.progress)(found.records);
        }
        found.faults.count(&flow.lost_counts());
        found.labels = labels.and_then(labels::Counting::finish);
        Ok(())
    }

    /// The pass over the files.
    fn files(&self, found: &mut Scan, watch: &mut ScanWatch<'_>) -> Result<(), Failure> {
        let mut counting = None;
        for op in files::steps_with_bytes(&self.plan) {
            let column = files::bytes_column(&self.plan.ops[op].output);
            let Some(column) = column else { continue };
            let counting =
                counting.get_or_insert_with(|| files::Counting::new(self.options.memory));
            let Some(mut flow) = self.flow(op, watch)? else {
                found.interrupted = true;
                break;
            };
            while let Some(chunk) = unless_stopped(flow.chunk(), &mut found.interrupted)? {
                counting.chunk(&chunk, column);
                (watch.progress)(counting.records());
            }
        }
        let Some(counting) = counting else { return Ok(()) };
        let mut wanted = counting.finish();
        for op in files::steps_with_bytes(&self.plan) {
            let Some(mut flow) = self.flow(files::source_of(&self.plan, op), watch)? else {
                found.interrupted = true;
                break;
            };
            while wanted.needs_names()
                && let Some(chunk) = unless_stopped(flow.chunk(), &mut found.interrupted)?
            {
                wanted.name(&chunk);
            }
        }
        found.files = Some(wanted.named());
        Ok(())
    }

    /// What leaves `root`; nothing where it was asked to stop before it began.
    fn flow(&self, root: OpId, watch: &mut ScanWatch<'_>) -> Result<Option<Flow>, Failure> {
        let ScanOptions { seed, workers, memory, whole_process } = *self.options;
        let way = Way { seed, epoch: 0, workers, memory, whole_process, chunk_rows: None };
        let part = cut::at(&self.plan, root);
        let program = cut::program(&part, cut::Faults::LeftOut, self.compiled)?;
        let flow = way.start(&program, watch.sample)?;
        Ok(watch.stop.arm(Some(flow.stopper())).is_ok().then_some(flow))
    }
}

/// The same, where an end that somebody has asked for is an end, and is noted.
fn unless_stopped(
    next: Result<Option<Chunk>, Failure>,
    interrupted: &mut bool,
) -> Result<Option<Chunk>, Failure> {
    match next {
        Err(Failure::Stopped) => {
            *interrupted = true;
            Ok(None)
        }
        other => other,
    }
}

/// The steps before the first batch, in the order of the sources, each record once.
fn part(written: &Plan) -> Plan {
    let (mut plan, library) = (cut::at(written, last_alone(written)), stdlib::library());
    for op in plan.steps() {
        match library.action(&plan.ops[op]) {
            Some(Action::Shuffle | Action::Repeat) => cut::without(&mut plan, op, 0),
            // Until the last record of each stream, whatever their shares.
            Some(Action::Mix) => {
                let concat = library.doing(Action::Concat).expect("the library joins streams");
                let (entry, args, names) = (concat.name().to_owned(), Vec::new(), Vec::new());
                plan.ops[op].kind = OpKind::Operator { entry, args, names };
            }
            _ => {}
        }
    }
    plan
}

/// The last step before records are put together.
fn last_alone(plan: &Plan) -> OpId {
    let mut chain = vec![plan.root];
    while let Some(&input) = plan.ops[chain[chain.len() - 1]].inputs.first() {
        chain.push(input);
    }
    let action = |it: OpId| stdlib::library().action(&plan.ops[it]);
    let joins =
        |it: &OpId| matches!(action(*it), Some(Action::Batch | Action::Window | Action::Pack));
    let first = chain.iter().rposition(joins).map_or(0, |it| it + 1);
    let moves = |it: &&OpId| matches!(action(**it), Some(Action::Shuffle | Action::Repeat));
    let rest = &chain[first..];
    *rest.iter().find(|it| !moves(it)).unwrap_or(&rest[rest.len() - 1])
}

/// The streams that are put side by side, those of inner ones first.
fn zipped(plan: &Plan) -> Vec<OpId> {
    let zips = plan.steps().into_iter().filter(|it| cut::is_zip(&plan.ops[*it]));
    zips.flat_map(|it| plan.ops[it].inputs.clone()).collect()
}

fn shuffle(plan: &Plan) -> Shuffle {
    let mut found = Shuffle::None;
    for op in plan.steps() {
        let OpKind::Operator { args, .. } = &plan.ops[op].kind else { continue };
        if stdlib::library().action(&plan.ops[op]) == Some(Action::Shuffle) {
            let window = args.iter().find_map(|it| match it {
                Arg::Int(n) => u64::try_from(*n).ok(),
                _ => None,
            });
            match window {
                Some(n) if found == Shuffle::None => found = Shuffle::Window(n),
                Some(_) => {}
                None => found = Shuffle::All,
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
