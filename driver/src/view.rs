//! What a pipeline is looked at for: a machine, some epochs, what was measured.

use crate::{
    Compiled, Host, Profile, RunOptions, SampleProgress, host, lock::Chosen, machine, run, samples,
};
use compiler::{
    caches::{Budget, Choice, Disk, Occasion, SAVES_MIN, candidates, choose},
    estimate::{Seen, View},
};
use model::{Consumer, Machine, Origin, Storage, curve::Curve, what_if::Change};
use plan::{Arg, Code, Measured, Program, StageId};
use runtime::{Failure, Run};
use std::{collections::BTreeMap, path::Path};

/// What a pipeline is looked at for.
#[derive(Debug, Clone, Default)]
pub struct Circumstances {
    /// What is other than on this machine.
    pub changes: Vec<Change>,
    /// The time that the consumer takes for each output, in seconds.
    pub consumer: Option<f64>,
    /// Passes over the data.
    pub epochs: u32,
    /// Bytes that a run may take; a quarter of what is free if not said.
    pub memory: Option<u64>,
    /// What was measured of the pipeline, and how fast it was.
    pub profile: Option<Profile>,
    /// What is known of the machine, if more than its cores.
    pub host: Option<Host>,
    /// What was chosen for it.
    pub lock: Option<Chosen>,
    /// Where values may be kept from run to run.
    pub disk: Option<Disk>,
}

/// What a choice of what is kept is made for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    /// How often each record comes.
    pub(crate) passes: f64,
    /// Bytes that a run may take.
    pub(crate) memory: u64,
    /// Where values may be kept from run to run.
    pub(crate) disk: Option<Disk>,
}

impl Asked {
    /// Bytes of memory for the tables of what is on disk.
    pub(crate) fn table_bytes(&self) -> u64 {
        self.disk.map_or(0, |_| self.memory / TABLE_PART)
    }
}

/// Bytes of memory in which there is room for anything.
const ANY: u64 = 1 << 60;

/// The part of the memory that the tables of what is on disk may take.
const TABLE_PART: u64 = 16;

impl Compiled {
    /// The cores that it was estimated for, and nothing else.
    pub fn plain_view(&self) -> View {
        let cores = f64::from(self.optimised.estimate.cores);
        View {
            machine: Machine::new(cores, 0.0),
            choices: Vec::new(),
            too_large: Vec::new(),
            budget: None,
            seen: None,
            pass_lens: Vec::new(),
        }
    }

    /// Looks at it as `of` says; lists the files of its sources.
    ///
    /// # Errors
    /// A source cannot be listed, and something depends on it: it is run for several epochs.
    pub fn view(
        &self,
        of: &Circumstances,
        sample: &mut dyn FnMut(&SampleProgress),
    ) -> Result<View, Failure> {
        let machine = self.machine(of);
        let passes = f64::from(of.epochs.max(1)) * laps(&self.program);
        let asked = Asked { passes, memory: machine.memory_bytes as u64, disk: of.disk };
        let keeps = passes >= 2.0 || of.disk.is_some();
        let pass_lens = match keeps {
            true => self.lens(sample)?,
            false => self.listed(sample),
        };
        let known = (of.profile.as_ref().map(|it| &it.measured), of.lock.as_ref());
        let lens = by_stage(&self.program, &pass_lens);
        let mut choices = self.kept(&lens, asked, known);
        // Where each record comes once, it is told of what could be kept, and of nothing else.
        choices.retain(|it| keeps || it.candidate.refused.is_none() && it.values.is_some());
        let own = run::needed(self) + asked.table_bytes();
        let budget = Budget { memory: asked.memory, own, passes, disk: of.disk };
        let too_large = match keeps {
            true => too_large(&choices, self.kept(&lens, Asked { memory: ANY, ..asked }, known)),
            false => Vec::new(),
        };
        let seen = of.profile.as_ref().filter(|it| !it.kept).map(|it| Seen {
            seconds: it.seconds,
            outputs_per_second: it.outputs as f64 / it.seconds.max(1e-9),
            workers: it.workers,
            others: it.others.unwrap_or(0.0),
            stall: it.stalled_seconds / it.seconds.max(1e-9),
            bytes_read: it.bytes_read as f64 / it.outputs.max(1) as f64,
        });
        let budget = keeps.then_some(budget);
        Ok(View { machine, choices, too_large, budget, seen, pass_lens })
    }

    fn machine(&self, of: &Circumstances) -> Machine {
        let memory = of.memory.unwrap_or_else(machine::default_memory);
        let cores = f64::from(self.optimised.estimate.cores);
        let mut machine = Machine::new(cores, memory as f64);
        if let Some(host) = &of.host {
            known(&mut machine, host, &self.program);
        }
        if of.consumer.is_some() {
            machine.consumer = Consumer { seconds: of.consumer };
        }
        machine.with(&of.changes)
    }

    /// Records of a pass through each source; makes sample sets and reads files to know it.
    fn lens(&self, sample: &mut dyn FnMut(&SampleProgress)) -> Result<Vec<Option<u64>>, Failure> {
        let mut program = self.program.clone();
        samples::resolve(&mut program, sample)?;
        let run = runtime::start(&program, &stdlib::Kernels, &runtime::Options::default())?;
        run.pass_lens()
    }

    /// The same where listing files suffices.
    fn listed(&self, sample: &mut dyn FnMut(&SampleProgress)) -> Vec<Option<u64>> {
        let mut program = self.program.clone();
        if !samples::are_there(&program) || samples::resolve(&mut program, sample).is_err() {
            return Vec::new();
        }
        let run = runtime::start(&program, &stdlib::Kernels, &runtime::Options::default());
        run.map_or(Vec::new(), |it| it.listed_lens())
    }

    /// What a run of so many passes keeps, where it may take `memory`, and what not and why.
    pub(crate) fn kept(
        &self,
        pass_lens: &BTreeMap<StageId, u64>,
        asked: Asked,
        (measured, lock): (Option<&Measured>, Option<&Chosen>),
    ) -> Vec<Choice> {
        let library = stdlib::library();
        let found =
            candidates(&self.optimised.plan, &library, (measured, SAVES_MIN)).unwrap_or_default();
        let Asked { passes, memory, disk } = asked;
        let other = run::reserve(self, memory) + asked.table_bytes();
        let (room, pass_lens) = (memory.saturating_sub(other), pass_lens.clone());
        let pins = |of: fn(&Chosen) -> &Vec<String>| lock.map_or(Vec::new(), |it| of(it).clone());
        let (pinned, forbidden) = (pins(|it| &it.keep), pins(|it| &it.forbid));
        choose(found, &Occasion { pass_lens, passes, room, disk, pinned, forbidden })
    }
}

/// What a calibrated host says of the machine.
fn known(machine: &mut Machine, host: &Host, program: &Program) {
    let all = host.memory.all_threads.as_ref();
    machine.memory_bandwidth = all.filter(|it| it.copy.trusted).map(|it| 2.0 * it.copy.median);
    let sources = program.stages.iter().filter_map(|(_, it)| match &it.code {
        Code::Source { args, .. } => Some(args),
        _ => None,
    });
    let paths = sources.flatten().filter_map(|it| match it {
        Arg::Text(path) => Some(path.split(['*', '{', '?']).next().unwrap_or_default()),
        _ => None,
    });
    let found = paths.filter_map(|it| host.storage_of(Path::new(it))).next();
    machine.storages.extend(found.and_then(storage));
    machine.origin = Origin::Calibrated;
}

/// A disk as the model sees it: as it is read when the page cache holds nothing.
pub(crate) fn storage(of: &host::Storage) -> Option<Storage> {
    let name = of.mount.as_ref().unwrap_or(&of.path).display().to_string();
    let curve = |pattern: host::Pattern| {
        let fits = |it: &&host::Sweep| it.cache == host::Cache::Cold && it.pattern == pattern;
        let sweep = of.read.iter().filter(fits).max_by_key(|it| it.request)?;
        let host::Curve { m1, b1, m2, b2, thresh } = sweep.curve;
        let readers_max = sweep.points.last().map_or(1, |it| it.threads);
        Some(Curve { rise: (m1, b1), level: (m2, b2), split: thresh, readers_max })
    };
    Some(Storage {
        sequential: curve(host::Pattern::Sequential)?,
        random: curve(host::Pattern::Random)?,
        write: of.write.median,
        latency_s: 0.0,
        origin: if of.doubt.is_some() { Origin::Assumed } else { Origin::Calibrated },
        name,
    })
}

/// Records of a pass through each source, where they are known; lists the files.
pub(crate) fn lens(run: &Run, program: &Program) -> Result<BTreeMap<StageId, u64>, Failure> {
    Ok(by_stage(program, &run.pass_lens()?))
}

fn by_stage(program: &Program, lens: &[Option<u64>]) -> BTreeMap<StageId, u64> {
    let is_source = |it: &plan::Stage| matches!(it.code, Code::Source { .. });
    let sources = program.stages.iter().filter(|(_, it)| is_source(it)).map(|it| it.0);
    sources.zip(lens).filter_map(|(id, len)| Some((id, (*len)?))).collect()
}

/// What would be kept whole if there were room for it, and is not.
fn too_large(chosen: &[Choice], ideal: Vec<Choice>) -> Vec<Choice> {
    let name = |it: &Choice| it.candidate.value_name();
    let is_whole = |wish: &Choice| chosen.iter().any(|it| it.is_whole() && name(it) == name(wish));
    ideal.into_iter().filter(|it| it.kept && !is_whole(it)).collect()
}

/// How often the source that is repeated most is passed through in an epoch.
pub(crate) fn laps(program: &Program) -> f64 {
    let laps = program.stages.iter().filter_map(|(_, it)| match it.code {
        Code::Source { laps, .. } => Some(laps.map_or(f64::INFINITY, |it| it as f64)),
        _ => None,
    });
    laps.fold(1.0, f64::max)
}

/// How often each record comes in `epochs` of a run.
pub(crate) fn passes(compiled: &Compiled, options: &RunOptions, epochs: usize) -> f64 {
    if options.caches { epochs as f64 * laps(&compiled.program) } else { 0.0 }
}
