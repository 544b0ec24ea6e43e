//! Other ways to set the threads, to compare ours with: the tuners of `model::policy`, tried on the
//! pipeline itself.
//!
//! They set so many threads for each step as it is written, as the tools do that they are from; so
//! each step is a stage of its own there. What is chosen is run by turns, all ways in each round.

use super::{Tuned, Wanted, choice::TURN_SECONDS, explained, tune};
use crate::{
    session::{
        compiled::Compiled,
        keep::reserve,
        machine,
        measured::Profile,
        run::{self, Stop, cache_point},
        samples::{self, SampleProgress},
    },
    tools::profile,
};
use model::{
    Machine, Network,
    policy::{self, Policy, Task},
    predict::Setting,
    under_way,
};
use plan::{Index, Program};
use runtime::{Cache, CachePoint, Failure, Run};
use std::{
    collections::BTreeMap,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

/// Turns of each policy in the end.
const ROUNDS: usize = 3;
/// Settings that a policy tries on its walk, where time allows.
const TRIES: f64 = 12.0;
/// The shortest and the longest time for one of them, in seconds.
const TRY_SECONDS: [f64; 2] = [0.2, 3.0];
/// Threads for each core at the most: more of them get in each other's way.
const CROWD: usize = 2;

/// What came of a policy.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// The policy.
    pub policy: Policy,
    /// How many threads, and what they may do.
    pub threads: Threads,
    /// Values that it keeps from epoch to epoch.
    pub keeps: Vec<String>,
    /// Settings that were tried before.
    pub tries: usize,
    /// Records in a second, the median of its turns.
    pub records_per_second: f64,
    /// What else is to be known of it, in a sentence.
    pub note: Option<String>,
}

/// Threads, and what they may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Threads {
    /// So many, each of which does what there is to do.
    Together(usize),
    /// So many at a time in each step that can have several.
    Apart(Vec<(String, u32)>),
}

/// Tunes `compiled` by each of these policies, and measures what each has chosen.
///
/// # Errors
/// Those of a run; it was stopped.
pub fn compare(
    compiled: &Compiled,
    policies: &[Policy],
    wanted: &Wanted,
    (stop, sample): (&Stop, &mut dyn FnMut(&SampleProgress)),
) -> Result<Vec<Compared>, Failure> {
    let looks = policies.iter().any(|it| searches(*it) || *it == Policy::Autotune);
    let part = wanted.seconds / parts(policies) as f64;
    let bench = Bench::new(compiled, (wanted, part), looks, (stop, &mut *sample))?;
    let mut found =
        policies.iter().map(|it| bench.found(*it, sample)).collect::<Result<Vec<_>, _>>()?;
    let turn = turn_seconds(part, policies).max(TRY_SECONDS[0]);
    for (way, found) in &mut found {
        found.note = found.note.take().or(bench.fill(way, turn)?);
    }
    let rates = bench.turns(found.iter().map(|it| &it.0), turn)?;
    let all = found.into_iter().zip(rates);
    Ok(all.map(|((_, it), rate)| Compared { records_per_second: rate, ..it }).collect())
}

/// Seconds of each turn in the end, where each policy that searches has `part` of the time.
fn turn_seconds(part: f64, policies: &[Policy]) -> f64 {
    part / (ROUNDS * policies.len().max(1)) as f64
}

/// Parts of the time: one for the turns, one for each policy that searches, one to look at the costs.
fn parts(policies: &[Policy]) -> usize {
    let looks = policies.iter().any(|it| searches(*it) || *it == Policy::Autotune);
    let searching = policies.iter().filter(|it| searches(**it) || **it == Policy::Model).count();
    1 + searching + usize::from(looks)
}

/// The seconds that turns need which tell these policies apart, where so many are too few.
#[must_use]
pub fn too_short(policies: &[Policy], seconds: f64) -> Option<f64> {
    let needs = TURN_SECONDS * (ROUNDS * policies.len().max(1) * parts(policies)) as f64;
    (turn_seconds(seconds / parts(policies) as f64, policies) < TURN_SECONDS).then_some(needs)
}

/// Whether a policy asks how fast a setting is before it sets the next.
fn searches(policy: Policy) -> bool {
    matches!(policy, Policy::Random | Policy::Local | Policy::Step)
}

/// How it is run.
struct Way {
    apart: bool,
    workers: usize,
    /// Threads that may work in a stage, by its place.
    caps: BTreeMap<usize, usize>,
    kept: Vec<CachePoint>,
    /// The alternative that runs, with the sets of pictures that it names as files, where it is one.
    own: Option<Box<(Compiled, Program)>>,
}

/// A pipeline that is tried.
struct Bench<'a> {
    compiled: &'a Compiled,
    wanted: &'a Wanted,
    stop: &'a Stop,
    /// Seconds for each policy that searches.
    part: f64,
    program: Program,
    /// The same, in which each step is a stage of its own.
    apart: Program,
    /// The stages of `apart` that do each step of the network.
    stages: Vec<Vec<usize>>,
    network: Network,
    machine: Machine,
}

impl<'a> Bench<'a> {
    fn new(
        compiled: &'a Compiled,
        (wanted, part): (&'a Wanted, f64),
        looks: bool,
        (stop, sample): (&'a Stop, &mut dyn FnMut(&SampleProgress)),
    ) -> Result<Self, Failure> {
        let library = stdlib::library();
        let plan = &compiled.optimised.plan;
        let apart = compiler::lower::lower_apart(plan, &library, &|_| String::new());
        let mut apart = apart.map_err(|it| {
            Failure::Program(it.first().map_or(String::new(), |it| it.message.clone()))
        })?;
        let mut program = compiled.program.clone();
        samples::resolve(&mut program, sample)?;
        samples::resolve(&mut apart, sample)?;
        let profile = looks.then(|| {
            let measuring = wanted.measuring(wanted.cores, part);
            profile::measure(compiled, &measuring, stop, sample)
        });
        let profile: Option<Profile> = profile.transpose()?;
        let (_, outlook) = explained(compiled, wanted, profile.as_ref(), sample)?;
        let all = outlook.network.steps().iter();
        let stages: Vec<_> = all.map(|it| stages_of(&apart, &it.name)).collect();
        let network = settable(outlook.network, &stages);
        let machine = outlook.machine;
        Ok(Self { compiled, wanted, stop, part, program, apart, stages, network, machine })
    }

    /// What a policy chooses; nothing of it has been measured yet.
    fn found(
        &self,
        policy: Policy,
        sample: &mut dyn FnMut(&SampleProgress),
    ) -> Result<(Way, Compared), Failure> {
        match policy {
            Policy::Model => self.ours(sample),
            Policy::Naive => Ok(together(policy, 1, Vec::new())),
            _ => self.walked(policy),
        }
    }

    fn walked(&self, policy: Policy) -> Result<(Way, Compared), Failure> {
        let each = (self.part / TRIES).clamp(TRY_SECONDS[0], TRY_SECONDS[1]);
        let tries_max = ((self.part / each) as usize).max(1);
        let task = Task { network: &self.network, machine: &self.machine, tries_max, seed: 0 };
        let (mut failure, mut tries) = (None, 0);
        let begun = Instant::now();
        let mut measure = |setting: &Setting| {
            let is_late = tries > 0 && begun.elapsed().as_secs_f64() > self.part;
            if failure.is_some() || is_late || !searches(policy) {
                return 0.0;
            }
            tries += 1;
            let rate = self.rate(&self.way(setting), each);
            rate.map_err(|it| failure = Some(it)).unwrap_or(0.0)
        };
        let tuning = policy::tune(policy, &task, &mut measure);
        if let Some(failure) = failure {
            return Err(failure);
        }
        let setting = &tuning.tried[tuning.best].setting;
        let compared = Compared {
            policy,
            threads: Threads::Apart(self.threads(setting)),
            keeps: Vec::new(),
            tries,
            records_per_second: 0.0,
            // One that ran out of time gave nothing up.
            note: tuning.gave_up.filter(|_| tries == tuning.tried.len()),
        };
        Ok((self.way(setting), compared))
    }

    /// What the model chooses, with what it keeps.
    fn ours(&self, sample: &mut dyn FnMut(&SampleProgress)) -> Result<(Way, Compared), Failure> {
        let wanted = Wanted { seconds: self.part, ..self.wanted.clone() };
        let Tuned { compiled, chosen, tried, explanation, .. } =
            tune(self.compiled, &wanted, self.stop, sample)?;
        let mut program = compiled.program.clone();
        samples::resolve(&mut program, sample)?;
        let choices = explanation.outlook.map_or(Vec::new(), |it| it.choices);
        let kept = choices.iter().filter(|it| it.kept);
        let kept = kept.map(|it| cache_point(&it.candidate, Arc::new(Cache::new(it.limit))));
        let (way, compared) = together(Policy::Model, chosen.workers, kept.collect());
        let way = Way { own: Some(Box::new((compiled, program))), ..way };
        Ok((way, Compared { keeps: chosen.kept(), tries: tried.len(), ..compared }))
    }

    fn way(&self, setting: &Setting) -> Way {
        let each = self.stages.iter().zip(&setting.workers);
        let each = each.flat_map(|(stages, n)| stages.iter().map(|it| (*it, *n as usize)));
        let caps: BTreeMap<usize, usize> = each.collect();
        let workers = caps.values().sum::<usize>().clamp(1, CROWD * self.wanted.cores);
        Way { apart: true, workers, caps, kept: Vec::new(), own: None }
    }

    /// Threads of each step that can have several.
    fn threads(&self, setting: &Setting) -> Vec<(String, u32)> {
        let steps = self.network.steps().iter().zip(&setting.workers);
        let several = steps.filter(|it| !it.0.sequential());
        several.map(|(step, n)| (step.name.clone(), *n)).collect()
    }

    fn begun(&self, way: &Way) -> Result<Run, Failure> {
        let all = self.wanted.memory.unwrap_or_else(machine::default_memory);
        let compiled = way.own.as_ref().map_or(self.compiled, |it| &it.0);
        let memory = if way.kept.is_empty() { all } else { reserve(compiled, all) };
        let options = runtime::Options {
            workers: way.workers,
            readers: under_way::readers(way.workers),
            memory,
            bound: Some(all),
            process_memory: self.wanted.whole_process.then_some(all),
            epochs: 0..u32::MAX,
            caps: way.caps.clone(),
            ..runtime::Options::default()
        };
        let kernels = self.compiled.kernels()?;
        let mut run = runtime::start(self.program(way), &*kernels, &options)?;
        run.keep(&way.kept)?;
        self.stop.arm(Some(run.stopper()))?;
        Ok(run)
    }

    fn program<'b>(&'b self, way: &'b Way) -> &'b Program {
        match &way.own {
            Some(own) => &own.1,
            None if way.apart => &self.apart,
            None => &self.program,
        }
    }

    /// Runs what keeps values through its first epoch; what is to be told where that takes longer
    /// than all turns.
    fn fill(&self, way: &Way, turn: f64) -> Result<Option<String>, Failure> {
        if way.kept.is_empty() {
            return Ok(None);
        }
        let since = Instant::now();
        for chunk in self.begun(way)? {
            if chunk?.epoch > 0 {
                return Ok(None);
            }
            if since.elapsed().as_secs_f64() > turn * ROUNDS as f64 {
                break;
            }
        }
        Ok(Some("its cache was not full yet: it becomes faster than that".to_owned()))
    }

    /// Records in a second of each, the median of its turns.
    fn turns<'w>(
        &self,
        ways: impl Iterator<Item = &'w Way> + Clone,
        turn: f64,
    ) -> Result<Vec<f64>, Failure> {
        let mut rates = vec![Vec::new(); ways.clone().count()];
        let begun = Instant::now();
        for round in 0..ROUNDS {
            // Where a batch takes long, so does each turn: then there are fewer.
            if round > 0 && begun.elapsed().as_secs_f64() > self.part {
                break;
            }
            for (way, rates) in ways.clone().zip(&mut rates) {
                rates.push(self.rate(way, turn)?);
            }
        }
        let median = |mut all: Vec<f64>| {
            all.sort_by(f64::total_cmp);
            all[all.len() / 2]
        };
        Ok(rates.into_iter().map(median).collect())
    }

    /// Records in a second, from the first output on, for so many seconds.
    fn rate(&self, way: &Way, seconds: f64) -> Result<f64, Failure> {
        let (mut begun, mut records) = (None, 0);
        let mut last = Instant::now();
        for chunk in self.begun(way)? {
            let chunk = chunk?;
            let each = self.wanted.consumer.unwrap_or(0.0) * chunk.rows as f64;
            thread::sleep(Duration::from_secs_f64(each).saturating_sub(last.elapsed()));
            last = Instant::now();
            let Some(since) = begun else {
                begun = Some(last);
                continue;
            };
            records += run::records_of(self.program(way), &chunk);
            if last.duration_since(since).as_secs_f64() >= seconds {
                break;
            }
        }
        let seconds = begun.map_or(0.0, |it: Instant| last.duration_since(it).as_secs_f64());
        Ok(if seconds > 0.0 { records as f64 / seconds } else { 0.0 })
    }
}

/// So many threads, each of which does what there is to do.
fn together(policy: Policy, workers: usize, kept: Vec<CachePoint>) -> (Way, Compared) {
    let compared = Compared {
        policy,
        threads: Threads::Together(workers),
        keeps: Vec::new(),
        tries: 0,
        records_per_second: 0.0,
        note: None,
    };
    (Way { apart: false, workers, caps: BTreeMap::new(), kept, own: None }, compared)
}

/// The stages that do a step.
fn stages_of(program: &Program, step: &str) -> Vec<usize> {
    let does = |it: &plan::Stage| it.steps.iter().any(|it| it == step);
    program.stages.iter().filter(|it| does(it.1)).map(|it| it.0.row()).collect()
}

/// The network in which steps have no threads to be set that are no stages: their source does them.
fn settable(network: Network, stages: &[Vec<usize>]) -> Network {
    let gone = (0..stages.len()).filter(|it| stages[*it].is_empty());
    gone.fold(network, |it, at| it.with(at, |step| step.workers_max = Some(1)))
}
