//! What a pipeline is looked at for: a machine, some epochs, what was measured.

mod filters;

use crate::session::{
    compiled::Compiled,
    functions::Functions,
    host::Host,
    keep::{Asked, Case, Known, best, laps, needed, strategies_of},
    lock::Chosen,
    machine,
    measured::Profile,
    sampled::Sampled,
    samples::{self, SampleProgress},
    storages,
    store::{DiskOptions, Inputs, There},
};
use compiler::{
    caches::{Budget, Choice, Disk},
    estimate::{Row, Seen, Strategies, View},
    explain::Explanation,
};
use model::{Consumer, Machine, Storage, strategy::Objective, what_if::Change};
use plan::Measured;
use runtime::Failure;
use std::collections::BTreeMap;

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
    pub disk: Option<DiskOptions>,
    /// What a sample of its records says of its values.
    pub sampled: Option<Sampled>,
    /// What is kept is the best for this.
    pub objective: Objective,
}

/// What a run as somebody says makes of a pipeline.
#[derive(Debug)]
pub struct Planned {
    /// What runs: what was asked for, or an alternative to it.
    pub compiled: Compiled,
    /// What it is looked at for.
    pub view: View,
    of: Circumstances,
    /// The alternatives to it.
    others: Vec<Looked>,
}

/// One of the alternatives, looked at.
#[derive(Debug)]
struct Looked {
    compiled: Compiled,
    of: Circumstances,
    view: View,
}

/// What the sources of a pipeline have, and what a cache folder holds of it.
struct Site {
    pass_lens: Vec<Option<u64>>,
    inputs: Option<Inputs>,
    there: There,
}

impl Looked {
    fn case(&self) -> Case<'_> {
        case(&self.compiled, &self.of, &self.view)
    }
}

fn case<'a>(compiled: &'a Compiled, of: &'a Circumstances, view: &'a View) -> Case<'a> {
    let disk = view.budget.and_then(|it| it.disk);
    let asked = compiled.asked(of, (&view.machine, disk));
    Case { compiled, view, disk, asked, known: of.known() }
}

impl Planned {
    /// What explains it.
    pub fn explanation(&self) -> Explanation {
        self.compiled.explanation(self.view.clone())
    }

    /// All that could be kept in so many epochs; none where nobody knows what the steps cost.
    ///
    /// # Errors
    /// The lock names a value that is none.
    pub fn strategies(&self, epochs: u32) -> Result<Option<Strategies>, Failure> {
        let all: Vec<(&Compiled, Circumstances, &View)> = self
            .plans()
            .map(|(compiled, of, view)| (compiled, Circumstances { epochs, ..of.clone() }, view))
            .collect();
        let cases: Vec<Case<'_>> = all.iter().map(|(it, of, view)| case(it, of, view)).collect();
        strategies_of(&cases)
    }

    /// All of them.
    pub(crate) fn plans(&self) -> impl Iterator<Item = (&Compiled, &Circumstances, &View)> {
        let others = self.others.iter().map(|it| (&it.compiled, &it.of, &it.view));
        [(&self.compiled, &self.of, &self.view)].into_iter().chain(others)
    }

    /// The alternative that a row of its strategies is of, and what that is looked at for.
    pub(crate) fn plan(&self, row: &Row) -> (&Compiled, &Circumstances, &View) {
        self.plans().nth(row.plan).expect("it is of one of them")
    }
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
            filled: BTreeMap::new(),
            only: Vec::new(),
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

    /// What a run as `of` says makes of it: with the costs that were measured, and the alternative that is the best with what
    /// it caches; lists the files of its sources.
    ///
    /// # Errors
    /// A source cannot be listed, and something depends on it: it is run for several epochs.
    pub fn planned(
        self,
        of: &Circumstances,
        sample: &mut dyn FnMut(&SampleProgress),
    ) -> Result<Planned, Failure> {
        let own = |it: &Self, inputs: Option<&Inputs>| {
            let mut own = of.clone();
            if own.sampled.is_some() {
                let folder = &own.disk.as_ref()?.folder;
                own.sampled = Some(Sampled::read(folder, it, inputs?.hash())?);
            }
            // What was measured of another one says nothing of it.
            own.profile.as_ref().is_none_or(|profile| profile.is_of(it)).then_some(own)
        };
        self.planned_by(of, &own, sample)
    }

    /// The same with what is `known` of each alternative, where enough is.
    pub(crate) fn planned_by(
        self,
        of: &Circumstances,
        known: &dyn Fn(&Self, Option<&Inputs>) -> Option<Circumstances>,
        sample: &mut dyn FnMut(&SampleProgress),
    ) -> Result<Planned, Failure> {
        let keeps = self.keeps(of);
        let others = if keeps { self.alternatives() } else { Vec::new() };
        let site = self.site(of, keeps, sample)?;
        let mut all: Vec<(Self, Circumstances)> = Vec::new();
        for it in others {
            all.extend(known(&it, site.inputs.as_ref()).map(|of| (it, of)));
        }
        if of.profile.as_ref().is_none_or(|it| all.is_empty() || it.is_of(&self)) {
            all.insert(0, (self, of.clone()));
        }
        let looked = all.into_iter().map(|(compiled, of)| {
            let compiled = compiled.under(&of);
            let view = compiled.view_at(&of, &site, sample)?;
            Ok(Looked { compiled, of, view })
        });
        let mut all = looked.collect::<Result<Vec<Looked>, Failure>>()?;
        let best = best(&all.iter().map(Looked::case).collect::<Vec<_>>());
        let Looked { compiled, of, view } = all.swap_remove(best);
        Ok(Planned { compiled, of, view, others: all })
    }

    /// Looks at it as `of` says, at no alternative to it; lists the files of its sources.
    ///
    /// # Errors
    /// A source cannot be listed, and something depends on it: it is run for several epochs.
    pub fn view(
        &self,
        of: &Circumstances,
        sample: &mut dyn FnMut(&SampleProgress),
    ) -> Result<View, Failure> {
        self.view_at(of, &self.site(of, self.keeps(of), sample)?, sample)
    }

    /// Whether a run could keep something.
    pub(crate) fn keeps(&self, of: &Circumstances) -> bool {
        let has_disk = of.disk.is_some() || of.disk_cache().is_some();
        has_disk || f64::from(of.epochs.max(1)) * laps(&self.program) >= 2.0
    }

    /// What its sources have, and what a cache folder holds of it.
    fn site(
        &self,
        of: &Circumstances,
        keeps: bool,
        sample: &mut dyn FnMut(&SampleProgress),
    ) -> Result<Site, Failure> {
        let pass_lens = match keeps {
            true => self.lens(sample)?,
            false => self.listed(sample),
        };
        // The files are listed once more for it: only where something may be there.
        let disk = of.disk.as_ref().filter(|it| it.folder.is_dir());
        let inputs = disk.and_then(|it| self.inputs(it, sample).ok());
        let there =
            disk.zip(inputs.as_ref()).map_or_else(There::default, |(disk, it)| disk.there(it));
        Ok(Site { pass_lens, inputs, there })
    }

    fn view_at(
        &self,
        of: &Circumstances,
        site: &Site,
        sample: &mut dyn FnMut(&SampleProgress),
    ) -> Result<View, Failure> {
        let mut machine = of.machine(f64::from(self.optimised.estimate.cores));
        let host = of.host.as_ref();
        let mut storages = self.storages(&mut machine, host);
        // Of the machine that it was measured on no more is known than that it was this one.
        let then = if of.elsewhere { Machine::new(1.0, 0.0) } else { machine.clone() };
        let seen = of.seen().map(|(seen, cores)| (seen, Machine { cores, ..then }));
        let disk = of.disk(&mut machine, &mut storages);
        let machine = of.changed(machine);
        let asked = self.asked(of, (&machine, disk));
        let keeps = asked.passes >= 2.0 || disk.is_some();
        let pass_lens = site.pass_lens.clone();
        let known = of.known();
        let counted = filters::counted(self, sample);
        let There { values: filled, only } = site.there.clone();
        let plain = self.plain_view();
        let view = View { machine, seen, pass_lens, counted, storages, filled, only, ..plain };
        let mut choices = self.kept((&view, disk), asked, known)?;
        // Where each record comes once, it is told of what could be kept, and of nothing else.
        choices.retain(|it| keeps || it.candidate.refused.is_none() && it.values.is_some());
        let own = needed(self) + asked.table_bytes();
        let Asked { passes, memory, .. } = asked;
        let budget = keeps.then_some(Budget { memory, own, passes, disk });
        let too_large = match keeps {
            true => {
                let roomy = Asked { memory: ANY, ..asked };
                too_large(&choices, self.kept((&view, disk), roomy, known)?)
            }
            false => Vec::new(),
        };
        Ok(View { choices, too_large, budget, ..view })
    }

    /// What is kept as `of` says, where it was looked at before.
    pub(crate) fn chosen(&self, of: &Circumstances, view: &View) -> Result<Vec<Choice>, Failure> {
        let disk = view.budget.and_then(|it| it.disk);
        self.kept((view, disk), self.asked(of, (&view.machine, disk)), of.known())
    }

    /// What a sample said of it that lies in a cache folder.
    pub fn sampled(
        &self,
        disk: &DiskOptions,
        sample: &mut dyn FnMut(&SampleProgress),
    ) -> Option<Sampled> {
        let inputs = self.inputs(disk, sample).ok()?;
        Sampled::read(&disk.folder, self, inputs.hash())
    }

    fn asked(&self, of: &Circumstances, (machine, disk): (&Machine, Option<Disk>)) -> Asked {
        let passes = f64::from(of.epochs.max(1)) * laps(&self.program);
        let (memory, on_disk) = (machine.memory_bytes as u64, disk.is_some());
        Asked { passes, memory, on_disk, objective: of.objective, ranks: 1 }
    }

    /// What the files of its sources are.
    fn inputs(
        &self,
        disk: &DiskOptions,
        sample: &mut dyn FnMut(&SampleProgress),
    ) -> Result<Inputs, Failure> {
        let mut program = self.program.clone();
        samples::resolve(&mut program, sample)?;
        let run = runtime::start(&program, &Functions::unneeded(), &runtime::Options::default())?;
        Inputs::of(&run, disk.verify_inputs)
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
        let measured = self.profile.as_ref().filter(|it| !it.kept).map(|it| &it.measured);
        measured.or(self.sampled.as_ref().map(|it| &it.measured))
    }

    /// What is known when it is chosen what is kept.
    fn known(&self) -> Known<'_> {
        let (measured, sampled) = (self.costs(), self.sampled.as_ref());
        Known { measured, sampled, lock: self.lock.as_ref() }
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

    /// Bytes of a folder for values that nobody names.
    fn disk_cache(&self) -> Option<u64> {
        self.changes.iter().rev().find_map(|it| match it {
            Change::DiskCache(bytes) => Some(*bytes as u64),
            _ => None,
        })
    }

    /// Where values may be kept from run to run: as large as it is said to be. A folder that nobody names lies where the
    /// first source does. If the speed of a disk is to be tried, what nobody has measured lies on that one.
    fn disk(&self, machine: &mut Machine, storages: &mut [Option<usize>]) -> Option<Disk> {
        let tried = self.changes.iter().any(|it| matches!(it, Change::Disk(_)));
        let tried = tried.then(|| Storage::flat("disk", Disk::BYTES_PER_S));
        if let Some(disk) = tried.clone().filter(|_| storages.contains(&None)) {
            let at = storages::place_of(machine, disk);
            storages.iter_mut().for_each(|it| *it = it.or(Some(at)));
        }
        let unmeasured = tried.unwrap_or_else(storages::unmeasured);
        let room = self.disk_cache();
        let host = self.host.as_ref();
        let disk = self.disk.as_ref().map(|it| it.disk_of(host, machine, unmeasured.clone()));
        let Some(room) = room else { return disk };
        if machine.storages.is_empty() {
            machine.storages.push(unmeasured);
        }
        Some(Disk {
            room,
            ..disk.unwrap_or(Disk { room, storage: 0, write_ahead: 0, read_ns: Disk::READ_NS })
        })
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
        let mut machine = of.changed(of.machine(2.0));
        assert!(machine.storages.is_empty());
        assert_eq!(of.disk(&mut machine, &mut []).map(|it| it.room), Some(1_000_000_000_000));
    }
}
