//! Tuning: measure, choose, measure again, until nothing better is found.

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

/// Measurements at the most.
const TRIES_MAX: usize = 4;
/// A plan with fewer threads may be slower by this part: they are worth more elsewhere.
const AS_GOOD: f64 = 0.985;

impl Wanted {
    fn measuring(&self, workers: usize, seconds: f64) -> Measuring {
        let memory = self.memory.unwrap_or_else(machine::default_memory);
        Measuring { workers, memory, seconds }
    }
}

/// Tunes `compiled`: profiles it, lets the model choose, profiles what was chosen.
///
/// # Errors
/// Those of a run; it was stopped.
pub fn tune(
    compiled: &Compiled,
    wanted: &Wanted,
    stop: &Stop,
    sample: &mut dyn FnMut(&SampleProgress),
) -> Result<Tuned, Failure> {
    let cores = wanted.cores;
    let mut tried: Vec<(usize, Profile)> = Vec::new();
    let mut next = Some(cores);
    while let Some(workers) = next {
        let measuring = wanted.measuring(workers, wanted.seconds / TRIES_MAX as f64);
        tried.push((workers, profile::measure(compiled, &measuring, stop, sample)?));
        let (best, _) = best(&tried);
        let (_, outlook) = explained(compiled, wanted, Some(&tried[best].1), sample)?;
        let untried = |it: &usize| tried.iter().all(|tried| tried.0 != *it);
        next = candidates(&outlook, cores).into_iter().find(untried);
        next = next.filter(|_| tried.len() < TRIES_MAX);
    }
    let (best, _) = best(&tried);
    let (workers, profile) = &tried[best];
    let (explanation, outlook) = explained(compiled, wanted, Some(profile), sample)?;
    let chosen = chosen(compiled, (&explanation, &outlook), (*workers, cores, profile));
    let tried = tried.iter().map(|it| (it.0, it.1.records_per_second())).collect();
    Ok(Tuned { chosen, tried, explanation })
}

/// The fastest; of those that are as good, the one with the fewest threads.
fn best(tried: &[(usize, Profile)]) -> (usize, f64) {
    let rate = |at: usize| tried[at].1.records_per_second();
    let most = (0..tried.len()).map(rate).fold(0.0, f64::max);
    let good = (0..tried.len()).filter(|&it| rate(it) >= most * AS_GOOD);
    let at = good.min_by_key(|&it| tried[it].0).unwrap_or(0);
    (at, rate(at))
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
