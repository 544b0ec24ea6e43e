//! Which values a pipeline keeps: how often each record comes, and how much memory there is for them.

use crate::session::{compiled::Compiled, host::Host, lock::Chosen, sampled::Sampled};
use compiler::{
    caches::{
        Budget, Candidate, Choice, Disk, Occasion, Pin, PinnedBy, SAVES_MIN, Tier, candidates,
    },
    estimate::{Alternative, Strategies, View, best_alternative, choose, out_of_reach, strategies},
    passes::Optimised,
};
use model::{Machine, strategy::Objective};
use plan::{Code, Measured, Program, StageId, count, parts::Keep};
use runtime::Failure;
use std::collections::BTreeMap;

/// What a choice of what is kept is made for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    /// How often each record comes.
    pub(crate) passes: f64,
    /// Bytes that a run may take.
    pub(crate) memory: u64,
    /// Whether values may be kept on disk from run to run.
    pub(crate) on_disk: bool,
    /// What it is to be the best for.
    pub(crate) objective: Objective,
    /// Ranks that share the records.
    pub(crate) ranks: u32,
}

/// What is known when it is chosen.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Known<'a> {
    /// What was measured of a run.
    pub(crate) measured: Option<&'a Measured>,
    /// What a sample of the records says of the values.
    pub(crate) sampled: Option<&'a Sampled>,
    /// What a lock says.
    pub(crate) lock: Option<&'a Chosen>,
}

impl Asked {
    /// Bytes of memory for the tables of what is on disk.
    pub(crate) fn table_bytes(&self) -> u64 {
        if self.on_disk { self.memory / TABLE_PART } else { 0 }
    }
}

/// The part of the memory that the tables of what is on disk may take.
const TABLE_PART: u64 = 16;

impl Compiled {
    /// What is known of a run on this machine, before it is asked what it keeps: so many threads, which read so many
    /// records of each source; and what was measured of the machine.
    ///
    /// # Errors
    /// The host file cannot be read, and it is `asked` for something to be kept on disk.
    pub(crate) fn run_view(
        &self,
        workers: usize,
        asked: Asked,
        pass_lens: Vec<Option<u64>>,
    ) -> Result<(View, Option<Host>), Failure> {
        let mut machine = Machine::new(workers as f64, asked.memory as f64);
        let host = match Host::load_default() {
            Ok(host) => Some(host).filter(|it| !it.is_assumed()),
            Err(failure) if asked.on_disk => return Err(failure),
            Err(_) => None,
        };
        let storages = self.storages(&mut machine, host.as_ref());
        Ok((View { machine, storages, pass_lens, ..self.plain_view() }, host))
    }

    /// What a run of so many passes keeps, where it may take `memory`, and what not and why.
    pub(crate) fn kept(
        &self,
        (view, disk): (&View, Option<Disk>),
        asked: Asked,
        known: Known<'_>,
    ) -> Result<Vec<Choice>, Failure> {
        let (found, occasion) = self.to_keep((view, disk), asked, known)?;
        let (Optimised { plan, estimate, .. }, library) = (&self.optimised, stdlib::library());
        Ok(choose(plan, &library, (estimate, view), (found, &occasion)))
    }

    /// What could be kept, and for what; fails where no way of keeping it reaches the rate that is asked for.
    pub(crate) fn to_keep(
        &self,
        (view, disk): (&View, Option<Disk>),
        asked: Asked,
        Known { measured, sampled, lock }: Known<'_>,
    ) -> Result<(Vec<Candidate>, Occasion), Failure> {
        let library = stdlib::library();
        let mut pinned = lock.map_or(Vec::new(), |it| it.keep.clone());
        let forbidden = lock.map_or(Vec::new(), |it| it.forbid.clone());
        let are_named = !pinned.is_empty() || !forbidden.is_empty() || !view.only.is_empty();
        // Who names a value means it, however little it saves.
        let least = if are_named { 0.0 } else { SAVES_MIN };
        let measured = measured.or(sampled.map(|it| &it.measured));
        let found = candidates(&self.optimised.plan, &library, (measured, least));
        let mut found = found.unwrap_or_default();
        let missing = pinned.iter().map(|it| &it.value).find(|it| !is_one_of(it, &found));
        // What an alternative would cache need not be here to be excluded.
        let mut excluded = forbidden.iter().filter(|it| !is_one_of(it, &found));
        let missing = missing.or_else(|| excluded.find(|it| !self.has_value(it)));
        if let Some(name) = missing {
            let why = self.why_elsewhere(&pinned, disk.is_some());
            return Err(why.map_or_else(|| no_such_value(name, &found), Failure::Program));
        }
        if let Some(why) = pinned.iter().find_map(|it| cannot(it, &found, disk.is_some())) {
            return Err(Failure::Program(why));
        }
        if let Some(sampled) = sampled {
            sampled.inform(&mut found);
        }
        // A lock is asked first: it lies beside the program.
        let mut pinned_by = PinnedBy::Lock;
        let is_only = |it: &&Candidate| view.only.contains(&it.name);
        if pinned.is_empty() && disk.is_some() && found.iter().any(|it| is_only(&it)) {
            pinned = found.iter().filter(is_only).map(|it| Pin::of(&it.value_name())).collect();
            pinned_by = PinnedBy::Prepare;
        }
        let is_dear = |it: &Candidate| it.reads || it.saves.value >= SAVES_MIN;
        let is_pinned = |it: &Candidate| pinned.iter().any(|pin| pin.value == it.value_name());
        found.retain(|it| !are_named || is_dear(it) || is_pinned(it));
        let Asked { passes, memory, .. } = asked;
        let other = reserve(self, memory) + asked.table_bytes();
        let room = memory.saturating_sub(other);
        let pass_lens = by_stage(&self.program, &view.pass_lens);
        let filled = view.filled.clone();
        let disk = disk.map(|it| match sampled {
            Some(sampled) => Disk { read_ns: sampled.read_ns, ..it },
            None => it,
        });
        let Asked { objective, ranks, .. } = asked;
        let known =
            Occasion { pass_lens, passes, room, disk, filled, ranks, ..Occasion::default() };
        let occasion = Occasion { pinned, pinned_by, forbidden, objective, ..known };
        let Optimised { plan, estimate, .. } = &self.optimised;
        match out_of_reach(plan, &library, (estimate, view), (&found, &occasion)) {
            Some(most) => Err(Failure::Program(format!(
                "`--objective bytes@…`: at most {} records/s are predicted, whatever is cached: ask for fewer; \
                 `pipec explain --strategies --objective rate` shows what limits the rate",
                count(most as u64)
            ))),
            None => Ok((found, occasion)),
        }
    }
}

impl Compiled {
    /// Why an alternative that has all values of a lock cannot keep them as it says.
    fn why_elsewhere(&self, pinned: &[Pin], has_disk: bool) -> Option<String> {
        let all = self.alternatives().into_iter().map(|it| it.candidates());
        let mut own = all.filter(|all| pinned.iter().all(|it| is_one_of(&it.value, all)));
        own.find_map(|all| pinned.iter().find_map(|it| cannot(it, &all, has_disk)))
    }
}

/// A plan that is looked at, and what for.
#[derive(Clone, Copy)]
pub(crate) struct Case<'a> {
    pub(crate) compiled: &'a Compiled,
    pub(crate) view: &'a View,
    pub(crate) disk: Option<Disk>,
    pub(crate) asked: Asked,
    pub(crate) known: Known<'a>,
}

/// The best of several plans of the same pipeline with what is then cached: the place of the first where nothing can be
/// cached in any, for a reason that it gives itself.
pub(crate) fn best(cases: &[Case<'_>]) -> usize {
    let Ok(found) = possible(cases) else { return 0 };
    let best = best_alternative(&stdlib::library(), &alternatives(cases, &found));
    found.get(best).map_or(0, |it| it.0)
}

/// All that could be kept in any of these plans; none where nobody knows what the steps cost.
///
/// # Errors
/// The lock names a value that none of them has.
pub(crate) fn strategies_of(cases: &[Case<'_>]) -> Result<Option<Strategies>, Failure> {
    let found = possible(cases)?;
    let mut all = strategies(&stdlib::library(), &alternatives(cases, &found));
    for row in all.iter_mut().flat_map(|it| &mut it.rows) {
        row.plan = found[row.plan].0;
    }
    Ok(all)
}

/// What could be kept in each plan that has what is named, with its place.
///
/// # Errors
/// None has it: what the first says.
fn possible(cases: &[Case<'_>]) -> Result<Vec<(usize, ToKeep)>, Failure> {
    let (mut found, mut failure) = (Vec::new(), None);
    for (at, it) in cases.iter().enumerate() {
        match it.compiled.to_keep((it.view, it.disk), it.asked, it.known) {
            Ok(it) => found.push((at, it)),
            Err(it) => failure = failure.or(Some(it)),
        }
    }
    let is_pinned = |it: &(usize, ToKeep)| !it.1.1.pinned.is_empty();
    if found.iter().any(is_pinned) {
        found.retain(is_pinned);
    }
    match failure.filter(|_| found.is_empty()) {
        Some(failure) => Err(failure),
        None => Ok(found),
    }
}

fn alternatives<'a>(cases: &'a [Case<'_>], found: &'a [(usize, ToKeep)]) -> Vec<Alternative<'a>> {
    let of = |(at, (candidates, occasion)): &'a (usize, ToKeep)| {
        let Case { compiled, view, .. } = &cases[*at];
        let Optimised { plan, estimate, .. } = &compiled.optimised;
        Alternative { plan, estimate, view, candidates, occasion }
    };
    found.iter().map(of).collect()
}

/// What could be kept, and for what.
type ToKeep = (Vec<Candidate>, Occasion);

/// What `--keep` calls every index.
const INDEX: &str = "index";

impl Compiled {
    /// The values that are called so, by the names of what they are: every `index`, what a function makes, such as
    /// `decode_jpeg`, or what one makes in a step, `train.map#1.decode_jpeg`.
    ///
    /// # Errors
    /// One is no value that can be kept on disk.
    pub(crate) fn values_called(&self, names: &[String]) -> Result<Vec<u64>, Failure> {
        let found = self.candidates();
        let mut values = Vec::new();
        for name in names {
            let is_called = |it: &&Candidate| match it.keep {
                Keep::Index if name == INDEX => true,
                _ => [&it.function, &it.value_name()].contains(&name),
            };
            let own: Vec<&Candidate> = found.iter().filter(is_called).collect();
            let can = own.iter().filter(|it| why_not_on_disk(it).is_none());
            let can: Vec<u64> = can.map(|it| it.name).collect();
            if can.is_empty() {
                let others = self.alternatives().into_iter().flat_map(|it| it.candidates());
                let all: Vec<Candidate> = found.iter().cloned().chain(others).collect();
                return Err(not_kept(name, (&own, &all)));
            }
            values.extend(can);
        }
        Ok(values)
    }
}

/// Why a value cannot be kept on disk, whatever it saves.
fn why_not_on_disk(value: &Candidate) -> Option<&str> {
    let elsewhere = "it is read from files that no source lists";
    value.refused.as_deref().or((!value.listed).then_some(elsewhere))
}

/// What is said of `--keep name`, which can be none of the `found` values; `own` are those that are called so.
fn not_kept(name: &str, (own, found): (&[&Candidate], &[Candidate])) -> Failure {
    let why = match own.iter().find_map(|it| why_not_on_disk(it)) {
        Some(why) => format!("it cannot be cached: {why}"),
        None if name == INDEX => "there is none: no step uses a part of an image only".to_owned(),
        None => "it is not a value of this pipeline".to_owned(),
    };
    let is_dear = |it: &&Candidate| it.reads || it.saves.value >= SAVES_MIN;
    let can = found.iter().filter(is_dear).filter(|it| why_not_on_disk(it).is_none());
    let mut names: Vec<String> = can.map(|it| format!("`{}`", it.value_name())).collect();
    names.sort_unstable();
    names.dedup();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    Failure::Program(format!("`--keep {name}`: {why}; the values are {names}"))
}

fn is_one_of(name: &str, found: &[Candidate]) -> bool {
    found.iter().any(|it| it.value_name() == name)
}

/// Why what a lock names cannot be kept as it says.
fn cannot(pin: &Pin, found: &[Candidate], has_disk: bool) -> Option<String> {
    let Pin { value, tier, codec, .. } = pin;
    let own = found.iter().find(|it| it.value_name() == *value)?;
    if let Some(why) = &own.refused {
        return Some(format!(
            "the lock file caches `{value}`, which cannot be cached: {why}; correct the lock file"
        ));
    }
    if !has_disk && matches!(tier, Some(Tier::Disk | Tier::Both)) {
        return Some(format!(
            "the lock file caches `{value}` on disk: name the folder with `--cache DIR`, or correct the lock file"
        ));
    }
    let missing = codec.filter(|it| !runtime::codec::is_here(*it))?;
    Some(format!(
        "the lock file caches `{value}` with `{missing}`, which this pipec was built without: build it with \
         `--features zstd`, or correct the lock file"
    ))
}

fn no_such_value(name: &str, found: &[Candidate]) -> Failure {
    let names: Vec<String> = found.iter().map(|it| format!("`{}`", it.value_name())).collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    Failure::Program(format!(
        "the lock file names `{name}`, which is not a value of this pipeline: the values are \
         {names}; correct the lock file, or run `pipec tune` again"
    ))
}

/// Bytes of memory that a run may need for all but what it keeps.
pub(crate) fn needed(compiled: &Compiled) -> u64 {
    Budget::own_of(&compiled.optimised.estimate.memory.parts())
}

/// The same, of `memory`.
pub(crate) fn reserve(compiled: &Compiled, memory: u64) -> u64 {
    needed(compiled).min(memory)
}

/// Records of a pass through each source, where they are known, by its stage.
fn by_stage(program: &Program, lens: &[Option<u64>]) -> BTreeMap<StageId, u64> {
    let is_source = |it: &plan::Stage| matches!(it.code, Code::Source { .. });
    let sources = program.stages.iter().filter(|(_, it)| is_source(it)).map(|it| it.0);
    sources.zip(lens).filter_map(|(id, len)| Some((id, (*len)?))).collect()
}

/// How often the source that is repeated most is passed through in an epoch.
pub(crate) fn laps(program: &Program) -> f64 {
    let laps = program.stages.iter().filter_map(|(_, it)| match it.code {
        Code::Source { laps, .. } => Some(laps.map_or(f64::INFINITY, |it| it as f64)),
        _ => None,
    });
    laps.fold(1.0, f64::max)
}
