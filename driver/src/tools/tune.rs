//! Tuning: measure, let the model choose, and measure by turns whether another number of workers is faster
//! than its choice.

mod choice;
mod compare;
pub mod strategies;

pub use choice::Basis;
pub use compare::{Compared, Threads, compare, too_short};
pub use model::policy::Policy;

use crate::{
    session::{
        compiled::Compiled,
        host::Host,
        lock::{Chosen, Found},
        machine,
        measured::Profile,
        run::Stop,
        samples::SampleProgress,
        store::Inputs,
    },
    tools::{
        profile::{self, Measuring},
        view::Circumstances,
    },
};
use choice::{TURN_SECONDS, Tried, Turn};
use compiler::{caches::Pin, estimate::Outlook, explain::Explanation};
use model::strategy::Objective;
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
    /// Whether they are for the whole process, which does little else.
    pub whole_process: bool,
    /// The time that the consumer takes for each output, in seconds.
    pub consumer: Option<f64>,
    /// What is known of the machine.
    pub host: Option<Host>,
    /// What caching is to be the best for.
    pub objective: Objective,
}

/// What came of it.
#[derive(Debug)]
pub struct Tuned {
    /// What was tuned: what was asked for, or an alternative to it.
    pub compiled: Compiled,
    /// What was chosen.
    pub chosen: Chosen,
    /// Why so many workers were chosen.
    pub basis: Basis,
    /// Each number of workers that was measured: records in a second, the median of its turns.
    pub tried: Vec<(usize, f64)>,
    /// The explanation of what was chosen, with what was measured.
    pub explanation: Explanation,
    /// What was measured of what was chosen.
    pub profile: Profile,
}

/// The part of the time that the first measurement may take, of which the model knows the costs.
const FIRST: f64 = 0.25;

impl Wanted {
    /// Bytes that a run may take.
    fn memory(&self) -> u64 {
        self.memory.unwrap_or_else(machine::default_memory)
    }

    /// A run of so many workers, of so many seconds at the most; as long as a turn at the least, where
    /// there is that much time.
    fn measuring(&self, workers: usize, seconds: f64) -> Measuring {
        let memory = self.memory();
        let least = TURN_SECONDS.min(seconds);
        Measuring { workers, memory, whole_process: self.whole_process, seconds, least }
    }
}

impl Turn for Profile {
    fn rate(&self) -> f64 {
        self.records_per_second()
    }
}

/// Tunes `compiled`: profiles it, lets the model choose, and measures by turns whether more workers are
/// faster. The model's choice stands unless they are, by more than the noise.
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
    let (compiled, first) = first(compiled, wanted, stop, sample)?;
    let compiled = &compiled;
    let (_, outlook) = explained(compiled, wanted, Some(&first), sample)?;
    let model = needed(&outlook, cores);
    let others = choice::others(model, cores);
    let left = wanted.seconds - begun.elapsed().as_secs_f64();
    let (tried, best, basis) = match plan(compiled, (&outlook, &first), (&others, left), wanted) {
        Ok((others, rounds, seconds)) => {
            let mut turn = |workers| {
                profile::measure(compiled, &wanted.measuring(workers, seconds), stop, sample)
            };
            let tried = choice::by_turns((model, others), rounds, &mut turn)?;
            let (best, basis) = choice::choose(&tried);
            (tried, best, basis)
        }
        Err(why) => {
            // What is locked has been measured itself, if only once.
            let profile = if model == cores {
                first
            } else {
                let seconds = TURN_SECONDS.max(left.max(0.0) * FIRST).min(wanted.seconds * FIRST);
                profile::measure(compiled, &wanted.measuring(model, seconds), stop, sample)?
            };
            (vec![Tried { workers: model, turns: vec![profile] }], 0, Basis::TooFew(why))
        }
    };
    let (workers, profile) = (tried[best].workers, tried[best].middle());
    let (explanation, outlook) = explained(compiled, wanted, Some(profile), sample)?;
    let chosen = chosen(compiled, (&explanation, &outlook), (workers, cores, profile));
    let profile = profile.clone();
    let tried = tried.iter().map(|it| (it.workers, it.rate())).collect();
    let compiled = compiled.clone();
    Ok(Tuned { compiled, chosen, basis, tried, explanation, profile })
}

/// What is tuned, and a first measurement of it: where something could be cached, the best of the alternatives with that.
fn first(
    compiled: &Compiled,
    wanted: &Wanted,
    stop: &Stop,
    sample: &mut dyn FnMut(&SampleProgress),
) -> Result<(Compiled, Profile), Failure> {
    let of = circumstances(wanted, None);
    let others = if compiled.keeps(&of) { compiled.alternatives() } else { Vec::new() };
    let measuring =
        wanted.measuring(wanted.cores, wanted.seconds * FIRST / (others.len() + 1) as f64);
    let mut all: Vec<(&Compiled, Profile)> = Vec::new();
    for it in [compiled].into_iter().chain(&others) {
        all.push((it, profile::measure(it, &measuring, stop, sample)?));
    }
    let profile_of = |it: &Compiled| all.iter().find(|of| of.0.rewriting == it.rewriting);
    let known = |it: &Compiled, _: Option<&Inputs>| {
        profile_of(it).map(|(_, profile)| circumstances(wanted, Some(profile)))
    };
    let of = circumstances(wanted, Some(&all[0].1));
    let planned = compiled.clone().planned_by(&of, &known, sample)?.compiled;
    let (best, profile) = profile_of(&planned).unwrap_or(&all[0]);
    Ok(((*best).clone(), profile.clone()))
}

/// The numbers that there is time for beside the model's choice, rounds of turns, and the longest that each
/// may take; why nothing could be told from them.
fn plan<'a>(
    compiled: &Compiled,
    (outlook, first): (&Outlook, &Profile),
    (others, left): (&'a [usize], f64),
    wanted: &Wanted,
) -> Result<(&'a [usize], usize, f64), String> {
    let network = &outlook.network;
    let outputs = network.cardinalities()[network.root()].finite();
    let unit = if compiled.program.batched { "batch" } else { "record" };
    if let Some(why) = choice::too_few(outputs, unit, wanted.cores) {
        return Err(why);
    }
    // Where an output takes long, so does a turn; and a run has to begin before it is measured.
    let output = first.seconds / first.outputs.max(1) as f64;
    let turn = (TURN_SECONDS.max(OUTPUTS_LEAST * output)) * WITH_BEGIN;
    let planned = (1..=others.len()).rev().find_map(|n| {
        let (rounds, seconds) = choice::rounds(n + 1, left, turn)?;
        Some((&others[..n], rounds, seconds))
    });
    planned.ok_or_else(|| {
        let enough = turn * (2 * choice::ROUNDS[0]) as f64 / (1.0 - FIRST);
        format!("turns of {turn:.1} s need `--seconds {:.0}s` or more", enough.ceil() + 1.0)
    })
}

/// Outputs of a turn at the least: of fewer a rate is a matter of chance.
const OUTPUTS_LEAST: f64 = 8.0;
/// A turn with the time in which its run warms up: a fifth.
const WITH_BEGIN: f64 = 1.2;

/// As many workers as the model says are busy, and no more than cores.
fn needed(outlook: &Outlook, cores: usize) -> usize {
    let busy: f64 = outlook.solution.cores.iter().sum();
    // What is busy but for rounding is not one more.
    ((busy - 1e-6).ceil() as usize).clamp(1, cores)
}

fn explained(
    compiled: &Compiled,
    wanted: &Wanted,
    profile: Option<&Profile>,
    sample: &mut dyn FnMut(&SampleProgress),
) -> Result<(Explanation, Outlook), Failure> {
    let measured = profile.map(|it| &it.measured);
    let compiled = compiled.clone().estimated((wanted.cores, wanted.memory), measured);
    let circumstances = circumstances(wanted, profile);
    let explanation = compiled.explanation(compiled.view(&circumstances, sample)?);
    let none = || Failure::Program("its steps are not a tree; this is a bug in pipec".to_owned());
    let outlook = explanation.outlook.clone().ok_or_else(none)?;
    Ok((explanation, outlook))
}

fn circumstances(wanted: &Wanted, profile: Option<&Profile>) -> Circumstances {
    Circumstances {
        consumer: wanted.consumer,
        epochs: wanted.epochs,
        memory: wanted.memory,
        profile: profile.cloned(),
        host: wanted.host.clone(),
        objective: wanted.objective,
        ..Circumstances::default()
    }
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
        plan: compiled.hash(),
        workers,
        keep: kept.map(|it| Pin::of(&it.candidate.value_name())).collect(),
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
