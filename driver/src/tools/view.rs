//! What a pipeline is looked at for: a machine, some epochs, what was measured.

mod filters;

use crate::session::{
    compiled::Compiled,
    functions::Functions,
    host::Host,
    keep::{Asked, by_stage, laps, needed},
    lock::Chosen,
    machine,
    measured::Profile,
    samples::{self, SampleProgress},
};
use compiler::{
    caches::{Budget, Choice, Disk},
    estimate::{Seen, View},
};
use model::{Consumer, Machine, Origin, under_way, what_if::Change};
use plan::{Arg, Code, Measured, Program};
use runtime::{Failure, storage};
use std::path::Path;

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

/// Bytes of memory in which there is room for anything.
const ANY: u64 = 1 << 60;

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
        let mut storages = match &of.host {
            Some(host) => known(&mut machine, (host, request), &self.program),
            None => vec![None; sources(&self.program).count()],
        };
        add_far(&mut machine, (&mut storages, of.host.as_ref()), &self.program);
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
        let own = needed(self) + asked.table_bytes();
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
        let mut found = host.storage_of(Path::new(folder_of(args)?))?.modelled(request)?;
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

/// Adds the storages that answer late, as they were measured or else as they answer, and says which sources lie there.
fn add_far(
    machine: &mut Machine,
    (storages, host): (&mut [Option<usize>], Option<&Host>),
    program: &Program,
) {
    for (source, at) in sources(program).zip(storages) {
        let Some(path) = folder_of(source).map(Path::new) else { continue };
        let Some(scheme) = storage::scheme_of(path.as_os_str().as_encoded_bytes()) else {
            continue;
        };
        let Some(access) = storage::of(path).access() else { continue };
        let name = format!("{scheme}://");
        let known = machine.storages.iter().position(|it| it.name == name);
        *at = Some(known.unwrap_or_else(|| {
            let answers = (access.latency.as_secs_f64(), access.requests_max as u64);
            let each = access.bytes_per_second.map(|it| it as f64);
            let measured = host.and_then(|it| it.store_of(path)).map(|it| it.modelled(&name));
            let assumed = || model::Storage::far(&name, answers, each);
            machine.storages.push(measured.unwrap_or_else(assumed));
            machine.storages.len() - 1
        }));
    }
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

/// What would be kept whole if there were room for it, and is not.
fn too_large(chosen: &[Choice], ideal: Vec<Choice>) -> Vec<Choice> {
    let name = |it: &Choice| it.candidate.value_name();
    let is_whole = |wish: &Choice| chosen.iter().any(|it| it.is_whole() && name(it) == name(wish));
    ideal.into_iter().filter(|it| it.kept && !is_whole(it)).collect()
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
    fn a_disk_for_what_is_kept_is_none_to_read_from() {
        let changes = model::what_if::parse("disk-cache=1TB").unwrap();
        let of = Circumstances { changes, ..Circumstances::default() };
        let machine = of.changed(of.machine(2.0));
        assert!(machine.storages.is_empty());
        assert_eq!(of.disk(&machine).map(|it| it.room), Some(1_000_000_000_000));
    }
}
