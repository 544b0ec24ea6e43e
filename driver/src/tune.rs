//! Tuning: measure, choose, measure again, until nothing better is found; then what is nearly as fast by
//! turns.

mod compare;

pub use compare::{Compared, Threads, compare};
pub use model::policy::Policy;

use crate::{
    Circumstances, Compiled, Host, Profile, SampleProgress, Stop,
    lock::{Chosen, Found, hash_of},
    machine,
    profile::{self, Measuring},
};
use compiler::{estimate::Outlook, explain::Explanation};
use runtime::Failure;
use std::time::Instant;

/// How a pipeline is tuned.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The longest that it may take, in seconds.
    pub seconds: f64,
    /// Cores that there are; those of this machine, unless it plays another one.
    pub cores: usize,
    /// Passes over the data that it is tuned for.
    pub epochs: u32,
    /// Bytes that a run may take.
    pub memory: Option<u64>,
    /// The time that the consumer takes for each output, in seconds.
    pub consumer: Option<f64>,
    /// What is known of the machine.
    pub host: Option<Host>,
}

/// What came of it.
#[derive(Debug)]
pub struct Tuned {
    /// What was chosen.
    pub chosen: Chosen,
    /// Each measurement: threads, and records in a second.
    pub tried: Vec<(usize, f64)>,
    /// The explanation of what was chosen, with what was measured.
    pub explanation: Explanation,
}

/// Numbers of threads that are tried, at the most.
const TRIES_MAX: usize = 4;
/// A plan with fewer threads may be slower by this part: they are worth more elsewhere.
const AS_GOOD: f64 = 0.985;
/// What is so much slower than the best is not measured again: more than a machine may be by itself, from one
/// measurement to the next.
const FINALIST: f64 = 0.75;
/// Turns of each of those that are left, at the most; with fewer than the second number there is nothing
/// to be gained by them.
const TURNS: (usize, usize) = (5, 2);
/// What a turn is to have at the least: seconds, and outputs.
const TURN_LEAST: (f64, f64) = (0.5, 8.0);

impl Wanted {
    fn measuring(&self, workers: usize, seconds: f64) -> Measuring {
        let memory = self.memory.unwrap_or_else(machine::default_memory);
        Measuring { workers, memory, seconds }
    }
}

/// Tunes `compiled`: profiles it, lets the model choose and profiles what it chose, until it chooses nothing
/// new; then profiles those that are nearly as fast as the best by turns, and takes the fastest by the medians.
///
/// # Errors
/// Those of a run; it was stopped.
pub fn tune(
    compiled: &Compiled,
    wanted: &Wanted,
    stop: &Stop,
    sample: &mut dyn FnMut(&SampleProgress),
) -> Result<Tuned, Failure> {
    let (begun, cores) = (Instant::now(), wanted.cores);
    let mut tried: Vec<Tried> = Vec::new();
    let mut next = Some(cores);
    while let Some(workers) = next {
        let measuring = wanted.measuring(workers, wanted.seconds / TRIES_MAX as f64);
        let profile = profile::measure(compiled, &measuring, stop, sample)?;
        tried.push(Tried { workers, profiles: vec![profile] });
        let (_, outlook) = explained(compiled, wanted, Some(best(&tried).middle()), sample)?;
        let untried = |it: &usize| tried.iter().all(|tried| tried.workers != *it);
        next = candidates(&outlook, cores).into_iter().find(untried);
        next = next.filter(|_| tried.len() < TRIES_MAX);
    }
    // What is nearly as fast is measured by turns: a machine is now a little faster, now slower.
    let left = wanted.seconds - begun.elapsed().as_secs_f64();
    let finalists = finalists(&tried);
    let (rounds, seconds) = turns(finalists.len(), best(&tried).middle(), left);
    for at in (0..rounds).flat_map(|_| finalists.iter().copied()) {
        let measuring = wanted.measuring(tried[at].workers, seconds);
        tried[at].profiles.push(profile::measure(compiled, &measuring, stop, sample)?);
    }
    let best = best(&tried);
    let (workers, profile) = (best.workers, best.middle());
    let (explanation, outlook) = explained(compiled, wanted, Some(profile), sample)?;
    let chosen = chosen(compiled, (&explanation, &outlook), (workers, cores, profile));
    let tried = tried.iter().map(|it| (it.workers, it.rate())).collect();
    Ok(Tuned { chosen, tried, explanation })
}

/// A number of threads, and what was measured with it.
struct Tried {
    workers: usize,
    profiles: Vec<Profile>,
}

impl Tried {
    /// The measurement in the middle, of those by their rates.
    fn middle(&self) -> &Profile {
        let mut all: Vec<&Profile> = self.profiles.iter().collect();
        all.sort_by(|a, b| a.records_per_second().total_cmp(&b.records_per_second()));
        all[all.len() / 2]
    }

    fn rate(&self) -> f64 {
        self.middle().records_per_second()
    }
}

/// The fastest; of those that are as good, the one with the fewest threads.
fn best(tried: &[Tried]) -> &Tried {
    let most = tried.iter().map(Tried::rate).fold(0.0, f64::max);
    let good = tried.iter().filter(|it| it.rate() >= most * AS_GOOD);
    good.min_by_key(|it| it.workers).unwrap_or(&tried[0])
}

/// Those that may be the fastest; none where only one may.
fn finalists(tried: &[Tried]) -> Vec<usize> {
    let most = tried.iter().map(Tried::rate).fold(0.0, f64::max);
    let near: Vec<usize> =
        (0..tried.len()).filter(|it| tried[*it].rate() >= most * FINALIST).collect();
    if near.len() > 1 { near } else { Vec::new() }
}

/// Turns of each of so many finalists in the seconds that are left, and the longest that one may take.
fn turns(finalists: usize, best: &Profile, left: f64) -> (usize, f64) {
    let (seconds, outputs) = TURN_LEAST;
    let each = seconds.max(outputs * best.seconds / best.outputs.max(1) as f64);
    let n = finalists.max(1) as f64;
    let rounds = TURNS.0.min((left.max(0.0) / (n * each)) as usize);
    if finalists == 0 || rounds < TURNS.1 { (0, 0.0) } else { (rounds, left / (n * rounds as f64)) }
}

/// Numbers of threads that are worth a try: as many as the model says are busy, and some more
/// where threads wait.
fn candidates(outlook: &Outlook, cores: usize) -> Vec<usize> {
    let busy: f64 = outlook.solution.cores.iter().sum();
    let needed = (busy.ceil() as usize).clamp(1, cores);
    vec![needed, cores, cores + 1, 2 * cores]
}

fn explained(
    compiled: &Compiled,
    wanted: &Wanted,
    profile: Option<&Profile>,
    sample: &mut dyn FnMut(&SampleProgress),
) -> Result<(Explanation, Outlook), Failure> {
    let measured = profile.map(|it| &it.measured);
    let compiled = compiled.clone().on_cores(Some(wanted.cores), measured);
    let circumstances = Circumstances {
        consumer: wanted.consumer,
        epochs: wanted.epochs,
        memory: wanted.memory,
        profile: profile.cloned(),
        host: wanted.host.clone(),
        ..Circumstances::default()
    };
    let explanation = compiled.explanation(compiled.view(&circumstances, sample)?);
    let none = || Failure::Program("its steps are no tree, a bug of pipec".to_owned());
    let outlook = explanation.outlook.clone().ok_or_else(none)?;
    Ok((explanation, outlook))
}

fn chosen(
    compiled: &Compiled,
    (explanation, outlook): (&Explanation, &Outlook),
    (workers, cores, profile): (usize, usize, &Profile),
) -> Chosen {
    let estimate = &explanation.estimate;
    let kept = outlook.choices.iter().filter(|it| it.kept);
    let costs = estimate.steps.iter().filter(|it| it.ns.value > 0.0);
    let rows = estimate.batch_rows.unwrap_or(1.0);
    let bottleneck = estimate.steps.get(estimate.bottleneck);
    Chosen {
        plan: hash_of(compiled),
        workers,
        keep: kept.map(|it| it.candidate.value_name()).collect(),
        forbid: Vec::new(),
        found: Found {
            cores,
            records_per_second: profile.records_per_second(),
            predicted: outlook.solution.rate * rows,
            bottleneck: bottleneck.map_or(String::new(), |it| it.step.clone()),
            costs_us: costs.map(|it| (it.step.clone(), it.ns.value / 1e3)).collect(),
        },
    }
}
