//! What a pipeline is looked at for: a machine, some epochs, what was measured.

mod filters;

use crate::{
    Compiled, Functions, Host, Profile, RunOptions, SampleProgress, host, lock::Chosen, machine,
    run, samples,
};
use compiler::{
    caches::{Budget, Candidate, Choice, Disk, Occasion, SAVES_MIN, candidates, choose},
    estimate::{Seen, View},
};
use model::{Consumer, Machine, Origin, Storage, curve::Curve, under_way, what_if::Change};
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
    /// Whether that is another machine than this one: then its cores and memory are meant.
    pub elsewhere: bool,
    /// Threads that compute, where they are said; as many as there are cores if not.
    pub workers: Option<usize>,
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
            counted: Vec::new(),
            storages: Vec::new(),
        }
    }

    /// The same with the estimate for the machine that `of` names, and the costs that were measured.
    #[must_use]
    pub fn under(self, of: &Circumstances) -> Self {
        let machine = of.changed(of.machine(machine::cores() as f64));
        let cores = machine.cores.ceil().max(1.0) as usize;
        self.estimated((cores, Some(machine.memory_bytes as u64)), of.costs())
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
        let mut machine = of.machine(f64::from(self.optimised.estimate.cores));
        let request = self.optimised.estimate.request_bytes(&stdlib::library());
        let storages = match &of.host {
            Some(host) => known(&mut machine, (host, request), &self.program),
            None => vec![None; sources(&self.program).count()],
        };
        // Of the machine that it was measured on no more is known than that it was this one.
        let then = if of.elsewhere { Machine::new(1.0, 0.0) } else { machine.clone() };
        let seen = of.seen().map(|(seen, cores)| (seen, Machine { cores, ..then }));
        let disk = of.disk(&machine);
        let machine = of.changed(machine);
        let passes = f64::from(of.epochs.max(1)) * laps(&self.program);
        let asked = Asked { passes, memory: machine.memory_bytes as u64, disk };
        let keeps = passes >= 2.0 || disk.is_some();
        let pass_lens = match keeps {
            true => self.lens(sample)?,
            false => self.listed(sample),
        };
        let known = (of.costs(), of.lock.as_ref());
        let lens = by_stage(&self.program, &pass_lens);
        let mut choices = self.kept(&lens, asked, known)?;
        // Where each record comes once, it is told of what could be kept, and of nothing else.
        choices.retain(|it| keeps || it.candidate.refused.is_none() && it.values.is_some());
        let own = run::needed(self) + asked.table_bytes();
        let budget = keeps.then_some(Budget { memory: asked.memory, own, passes, disk });
        let too_large = match keeps {
            true => too_large(&choices, self.kept(&lens, Asked { memory: ANY, ..asked }, known)?),
            false => Vec::new(),
        };
        let counted = filters::counted(self, sample);
        Ok(View { machine, choices, too_large, budget, seen, pass_lens, counted, storages })
    }

    /// Records of a pass through each source; makes sample sets and reads files to know it.
    fn lens(&self, sample: &mut dyn FnMut(&SampleProgress)) -> Result<Vec<Option<u64>>, Failure> {
        let mut program = self.program.clone();
        samples::resolve(&mut program, sample)?;
        let run = runtime::start(&program, &Functions::unneeded(), &runtime::Options::default())?;
        run.pass_lens()
    }

    /// The same where listing files suffices.
    fn listed(&self, sample: &mut dyn FnMut(&SampleProgress)) -> Vec<Option<u64>> {
        let mut program = self.program.clone();
        if !samples::are_there(&program) || samples::resolve(&mut program, sample).is_err() {
            return Vec::new();
        }
        let run = runtime::start(&program, &Functions::unneeded(), &runtime::Options::default());
        run.map_or(Vec::new(), |it| it.listed_lens())
    }

    /// What a run of so many passes keeps, where it may take `memory`, and what not and why.
    pub(crate) fn kept(
        &self,
        pass_lens: &BTreeMap<StageId, u64>,
        asked: Asked,
        (measured, lock): (Option<&Measured>, Option<&Chosen>),
    ) -> Result<Vec<Choice>, Failure> {
        let library = stdlib::library();
        let pins = |of: fn(&Chosen) -> &Vec<String>| lock.map_or(Vec::new(), |it| of(it).clone());
        let (pinned, forbidden) = (pins(|it| &it.keep), pins(|it| &it.forbid));
        let are_named = !pinned.is_empty() || !forbidden.is_empty();
        // Who names a value means it, however little it saves.
        let least = if are_named { 0.0 } else { SAVES_MIN };
        let found = candidates(&self.optimised.plan, &library, (measured, least));
        let mut found = found.unwrap_or_default();
        if let Some(name) = pinned.iter().chain(&forbidden).find(|it| !is_one_of(it, &found)) {
            return Err(no_such_value(name, &found));
        }
        let is_dear = |it: &Candidate| it.saves.value >= SAVES_MIN;
        found.retain(|it| !are_named || is_dear(it) || pinned.contains(&it.value_name()));
        let Asked { passes, memory, disk } = asked;
        let other = run::reserve(self, memory) + asked.table_bytes();
        let (room, pass_lens) = (memory.saturating_sub(other), pass_lens.clone());
        Ok(choose(found, &Occasion { pass_lens, passes, room, disk, pinned, forbidden }))
    }
}

fn is_one_of(name: &str, found: &[Candidate]) -> bool {
    found.iter().any(|it| it.value_name() == name)
}

fn no_such_value(name: &str, found: &[Candidate]) -> Failure {
    let names: Vec<String> = found.iter().map(|it| format!("`{}`", it.value_name())).collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    Failure::Program(format!(
        "the lock names `{name}`, and no value of this pipeline is called so: there are {names}; correct it in the lock, or tune again"
    ))
}

impl Circumstances {
    /// What was measured of the costs of the steps; nothing where values were kept, for what is
    /// found costs little.
    pub fn costs(&self) -> Option<&Measured> {
        self.profile.as_ref().filter(|it| !it.kept).map(|it| &it.measured)
    }

    /// Cores and memory, of this machine where no other is meant.
    fn machine(&self, cores: f64) -> Machine {
        let other = self.host.as_ref().filter(|_| self.elsewhere);
        let cores = match (self.workers, other) {
            (Some(workers), _) => workers as f64,
            (None, Some(host)) => host.cpu.available,
            (None, None) => cores,
        };
        let free = || other.map_or_else(machine::default_memory, |it| it.memory_available() / 4);
        Machine::new(cores, self.memory.unwrap_or_else(free) as f64)
    }

    /// The machine with what is other there, and the consumer.
    fn changed(&self, mut machine: Machine) -> Machine {
        if self.consumer.is_some() {
            machine.consumer = Consumer { seconds: self.consumer };
        }
        // What is kept on a disk is no matter of the machine here.
        let is_other = |it: &&Change| !matches!(it, Change::DiskCache(_));
        let changes: Vec<Change> = self.changes.iter().filter(is_other).copied().collect();
        machine.with(&changes)
    }

    /// Where values may be kept from run to run: as large as it is said to be.
    fn disk(&self, machine: &Machine) -> Option<Disk> {
        let room = self.changes.iter().rev().find_map(|it| match it {
            Change::DiskCache(bytes) => Some(*bytes as u64),
            _ => None,
        });
        let Some(room) = room else { return self.disk };
        let rate = machine.storages.first().map(|it| it.sequential.best(it.sequential.readers_max));
        let read_ns = rate.filter(|it| *it > 0.0).map_or(Disk::READ_NS, |it| 1e9 / it);
        let unknown = Disk { room, read_ns, write_ns: 0.0, write_ahead: 0 };
        Some(Disk { room, ..self.disk.unwrap_or(unknown) })
    }

    /// How fast it was when it was measured, and the cores that it could use then.
    fn seen(&self) -> Option<(Seen, f64)> {
        let it = self.profile.as_ref().filter(|it| !it.kept)?;
        let cores = it.workers.min(it.cores).max(1) as f64;
        let used = |cpu: f64| (cpu / (it.seconds * cores).max(1e-9)).min(1.0);
        let seen = Seen {
            seconds: it.seconds,
            outputs_per_second: it.outputs as f64 / it.seconds.max(1e-9),
            workers: it.workers,
            others: it.others.unwrap_or(0.0),
            stall: it.stalled_seconds / it.seconds.max(1e-9),
            bytes_read: it.bytes_read as f64,
            cpu_use: it.process_seconds.map(used),
        };
        Some((seen, cores))
    }
}

/// The arguments of each source.
fn sources(program: &Program) -> impl Iterator<Item = &[Arg]> {
    program.stages.iter().filter_map(|(_, it)| match &it.code {
        Code::Source { args, .. } => Some(&args[..]),
        _ => None,
    })
}

/// What a calibrated host says of the machine, which is read in requests of so many bytes; for each
/// source the place of its storage.
fn known(
    machine: &mut Machine,
    (host, request): (&Host, Option<f64>),
    program: &Program,
) -> Vec<Option<usize>> {
    let all = host.memory.all_threads.as_ref();
    machine.memory_bandwidth = all.filter(|it| it.copy.trusted).map(|it| 2.0 * it.copy.median);
    machine.origin = if host.is_assumed() { Origin::Assumed } else { Origin::Calibrated };
    let readers = under_way::readers(machine.cores as usize) as u32;
    let storages = &mut machine.storages;
    let mut place = |args: &[Arg]| {
        let mut found = storage(host.storage_of(Path::new(folder_of(args)?))?, request)?;
        for curve in [&mut found.sequential, &mut found.random] {
            curve.readers_max = curve.readers_max.min(readers);
        }
        let at = storages.iter().position(|it| it.name == found.name);
        Some(at.unwrap_or_else(|| {
            storages.push(found);
            storages.len() - 1
        }))
    };
    sources(program).map(&mut place).collect()
}

/// Where a source reads: what comes before the first wildcard of its first path.
fn folder_of(args: &[Arg]) -> Option<&str> {
    let path = args.iter().find_map(|it| match it {
        Arg::Text(path) => Some(path),
        Arg::List(all) => match all.first() {
            Some(Arg::Text(path)) => Some(path),
            _ => None,
        },
        _ => None,
    })?;
    path.split(['*', '{', '?', '[']).next()
}

/// A disk as the model sees it: as it is read when the page cache holds nothing, in requests of
/// about so many bytes; in the largest that were measured where that is not known.
pub(crate) fn storage(of: &host::Storage, request: Option<f64>) -> Option<Storage> {
    let name = of.mount.as_ref().unwrap_or(&of.path).display().to_string();
    let off = |it: &host::Sweep| match request {
        Some(request) => (it.request.max(1) as f64 / request.max(1.0)).ln().abs(),
        None => -(it.request as f64),
    };
    let sweep = |pattern: host::Pattern| {
        let fits = |it: &&host::Sweep| it.cache == host::Cache::Cold && it.pattern == pattern;
        of.read.iter().filter(fits).min_by(|a, b| off(a).total_cmp(&off(b)))
    };
    let curve = |sweep: &host::Sweep| {
        let host::Curve { m1, b1, m2, b2, thresh } = sweep.curve;
        let readers_max = sweep.points.last().map_or(1, |it| it.threads);
        Curve { rise: (m1, b1), level: (m2, b2), split: thresh, readers_max }
    };
    let random = match request {
        Some(_) => sweep(host::Pattern::Files).or_else(|| sweep(host::Pattern::Random))?,
        None => sweep(host::Pattern::Random)?,
    };
    let files = request.filter(|_| random.pattern == host::Pattern::Files);
    let smaller = files.map_or(1.0, |it| smaller(&of.read, random, it));
    let times = |(rise, height): (f64, f64)| (rise * smaller, height * smaller);
    let random_curve = curve(random);
    let (rise, level) = (times(random_curve.rise), times(random_curve.level));
    Some(Storage {
        sequential: curve(sweep(host::Pattern::Sequential)?),
        random: Curve { rise, level, ..random_curve },
        write: of.write.median,
        // Of a thread that is alone; more of them wait for each other, which is in the curve.
        latency_s: random.points.first().map_or(0.0, |it| it.latency.median),
        origin: if of.doubt.is_some() { Origin::Assumed } else { Origin::Calibrated },
        name,
    })
}

/// What is left of the bandwidth of `sweep` where a request has `bytes`, fewer than those that were
/// measured: each takes as much longer or less long as random reads of other sizes do (one thread).
fn smaller(all: &[host::Sweep], sweep: &host::Sweep, bytes: f64) -> f64 {
    let time = |it: &host::Sweep| it.points.first().map_or(0.0, |it| it.latency.median);
    let is_random =
        |it: &&host::Sweep| it.cache == host::Cache::Cold && it.pattern == host::Pattern::Random;
    let measured = sweep.request as f64;
    let below = all.iter().filter(is_random).filter(|it| (it.request as f64) < measured);
    let least = below.min_by_key(|it| it.request);
    let like = all.iter().filter(is_random).find(|it| it.request == sweep.request);
    let (Some(least), Some(like), true) = (least, like, bytes < measured) else { return 1.0 };
    let each = (time(like) - time(least)) / (measured - least.request as f64);
    let whole = time(sweep);
    let taken = (whole - each.max(0.0) * (measured - bytes)).max(whole * bytes / measured);
    (bytes / taken) / (measured / whole)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_lies_where_its_first_path_leads() {
        let text = |it: &str| Arg::Text(it.to_owned());
        assert_eq!(folder_of(&[text("data/img_*.jpg"), text(",")]), Some("data/img_"));
        assert_eq!(folder_of(&[Arg::List(vec![text("a/[0-9].csv"), text("b")])]), Some("a/"));
        assert_eq!(folder_of(&[Arg::Int(9)]), None);
    }

    #[test]
    fn another_machine_has_its_own_cores_and_memory() {
        let mut host = Host::here();
        (host.cpu.available, host.memory.total, host.memory.limit) = (5.5, 4000, None);
        let mut of = Circumstances { host: Some(host), ..Circumstances::default() };
        assert_eq!(of.machine(2.0).cores, 2.0);
        of.elsewhere = true;
        let machine = of.machine(2.0);
        assert_eq!((machine.cores, machine.memory_bytes), (5.5, 1000.0));
        of.workers = Some(3);
        assert_eq!(of.machine(2.0).cores, 3.0);
    }

    #[test]
    fn a_smaller_file_takes_less_time_and_has_less_bandwidth() {
        let sweep = |pattern, request: u64, latency| {
            let figure = |it| host::Figure::of(&[it], true).unwrap();
            let bandwidth = figure(request as f64 / latency);
            let point = host::Point { threads: 1, bandwidth, latency: figure(latency) };
            host::Sweep::of((host::Cache::Cold, pattern, request), vec![point]).unwrap()
        };
        let random = |request, latency| sweep(host::Pattern::Random, request, latency);
        let files = sweep(host::Pattern::Files, 128 << 10, 130e-6);
        let all = [random(4 << 10, 50e-6), random(128 << 10, 100e-6), files.clone()];
        let rate = |bytes: f64| smaller(&all, &files, bytes) * (128 << 10) as f64 / 130e-6;
        // 80 µs for 4 KiB, 105 µs for half.
        assert!((rate(4096.0) / (4096.0 / 80e-6) - 1.0).abs() < 1e-9);
        assert!((rate(67_584.0) / (67_584.0 / 105e-6) - 1.0).abs() < 1e-9);
        assert_eq!(smaller(&all, &files, 1e6), 1.0);
    }

    #[test]
    fn a_disk_for_what_is_kept_is_none_to_read_from() {
        let changes = model::what_if::parse("disk-cache=1TB").unwrap();
        let of = Circumstances { changes, ..Circumstances::default() };
        let machine = of.changed(of.machine(2.0));
        assert!(machine.storages.is_empty());
        assert_eq!(of.disk(&machine).map(|it| it.room), Some(1_000_000_000_000));
    }
}
