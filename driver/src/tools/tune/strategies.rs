//! `tune --strategies`: what could be cached, the best of it by the model run by turns beside nothing and beside what the
//! lock says, on a part of the records; and the best of those for the lock.
//!
//! The part is what a run gives first. It is run once to fill what is cached, and then again from the same begin, where it
//! finds all of that: so a trial takes seconds, however large the data are.

use crate::{
    session::{
        compiled::Compiled,
        keep::reserve,
        lock::{self, Chosen},
        rewritten::Rewriting,
        run::{Sampling, Stop, sample},
        sampled::{Sampled, SampledValue},
        samples::{self, SampleProgress},
        store::{DiskOptions, Inputs},
    },
    tools::{
        tune::{Wanted, strategies::trial::Trial},
        view::{Circumstances, Planned},
    },
};
use compiler::{
    caches::{Candidate, Choice, Pin},
    estimate::{Kept, Row, Strategies, View},
};
use model::strategy::Objective;
use plan::Program;
use runtime::Failure;
use std::time::Instant;

mod trial;

/// Turns of each strategy.
const ROUNDS: usize = 3;
/// The part of the time that a sample may take.
const SAMPLE: f64 = 0.25;
/// A gain below this part is no reason to leave the model's choice.
const GAIN: f64 = 0.03;
/// The longest and the shortest first pass of a trial, in seconds.
const FILL_SECONDS: (f64, f64) = (10.0, 1.0);

/// What is tried.
#[derive(Debug, Clone)]
pub struct Asked {
    /// How it is tuned.
    pub wanted: Wanted,
    /// Where values may be cached for later runs.
    pub disk: Option<DiskOptions>,
    /// Strategies that are run, besides nothing and what the lock says.
    pub top: usize,
    /// What the lock says.
    pub lock: Option<Chosen>,
}

impl Asked {
    /// The lock with what is cached now.
    fn locked(&self, (compiled, all): (&Compiled, &Strategies), keep: Vec<Pin>) -> Chosen {
        let cores = self.wanted.cores;
        let records_per_second = all.rows.iter().filter_map(|it| it.measured).fold(0.0, f64::max);
        let usual = || Chosen {
            plan: compiled.hash(),
            workers: cores,
            found: lock::Found { cores, records_per_second, ..lock::Found::default() },
            ..Chosen::default()
        };
        Chosen { keep, ..self.lock.clone().unwrap_or_else(usual) }
    }
}

/// What came of it.
#[derive(Debug)]
pub struct Found {
    /// All strategies, with the rates of those that were run.
    pub strategies: Strategies,
    /// The pipeline with the costs that were measured, and what it was looked at for.
    pub planned: Planned,
    /// What a sample says.
    pub sampled: Sampled,
    /// The best of those that were run, for the lock; none where nothing was.
    pub chosen: Option<Chosen>,
    /// What is to be told, in sentences.
    pub notes: Vec<String>,
}

/// What a row of the table keeps, as a lock says it; nothing where it keeps nothing.
pub fn pins(row: &Row) -> Vec<Pin> {
    let pin = |kept: &Kept| {
        let value = format!("{}.{}", kept.step, kept.value);
        let pins = kept.forms.iter().map(move |it| Pin {
            value: value.clone(),
            tier: Some(it.tier),
            codec: Some(it.figures.codec),
            share: Some((it.share * 1e4).round() / 1e4),
        });
        pins.collect::<Vec<Pin>>()
    };
    row.kept.iter().flat_map(pin).collect()
}

/// Looks at what could be cached, and tries the best of it.
///
/// # Errors
/// Those of a run; it was stopped; or the costs of the steps are not known.
pub fn strategies(
    compiled: &Compiled,
    asked: &Asked,
    stop: &Stop,
    progress: &mut dyn FnMut(&SampleProgress),
) -> Result<Found, Failure> {
    let begun = Instant::now();
    let wanted = &asked.wanted;
    let mut programs: Vec<Part> = Vec::new();
    let all = [compiled.clone()].into_iter().chain(compiled.alternatives());
    let all: Vec<Compiled> = all.collect();
    for it in &all {
        let mut program = it.program.clone();
        samples::resolve(&mut program, progress)?;
        let sampling = Sampling {
            seconds: wanted.seconds * SAMPLE / all.len() as f64,
            seed: 0,
            workers: wanted.cores,
            memory: wanted.memory(),
            stop: stop.clone(),
        };
        let known: Vec<SampledValue> =
            programs.iter().flat_map(|it| it.sampled.values.clone()).collect();
        let sampled = sample(it, &program, &sampling, &known)?;
        programs.push(Part { rewriting: it.rewriting.clone(), program, sampled });
    }
    let inputs = {
        let options = runtime::Options::default();
        let run = runtime::start(&programs[0].program, &*compiled.kernels()?, &options)?;
        Inputs::of(&run, asked.disk.as_ref().is_some_and(|it| it.verify_inputs))?
    };
    if let Some(disk) = &asked.disk {
        let all = all.iter().zip(&programs);
        all.for_each(|(it, part)| part.sampled.write(&disk.folder, it, inputs.hash()));
    }
    let circumstances = Circumstances {
        consumer: wanted.consumer,
        epochs: wanted.epochs,
        memory: wanted.memory,
        workers: Some(wanted.cores),
        disk: asked.disk.clone(),
        host: wanted.host.clone(),
        objective: wanted.objective,
        sampled: Some(programs[0].sampled.clone()),
        // What is excluded stays so; what is cached is looked at anew.
        lock: asked.lock.as_ref().map(|it| Chosen { keep: Vec::new(), ..it.clone() }),
        ..Circumstances::default()
    };
    let part = |it: &Compiled| programs.iter().find(|part| part.rewriting == it.rewriting);
    let known = |it: &Compiled, _: Option<&Inputs>| {
        let sampled = Some(part(it)?.sampled.clone());
        Some(Circumstances { sampled, ..circumstances.clone() })
    };
    let planned = compiled.clone().planned_by(&circumstances, &known, progress)?;
    let none = || Failure::Program("the costs of the steps are not known".to_owned());
    let mut strategies = planned.strategies(wanted.epochs)?.ok_or_else(none)?;
    let bench = Bench { planned: &planned, programs: &programs, asked, stop, inputs: &inputs };
    let left = wanted.seconds - begun.elapsed().as_secs_f64();
    let Rates { rates, notes } = bench.rates(&strategies, left)?;
    for (row, rate) in rates {
        strategies.rows[row].measured = Some(rate);
    }
    let best = best(&strategies, (wanted.objective, &planned.compiled));
    let chosen = best.map(|keep| asked.locked((compiled, &strategies), keep));
    let sampled = programs.swap_remove(0).sampled;
    Ok(Found { chosen, sampled, notes, planned, strategies })
}

/// The best of those that were run, as a lock says it. They come in the order of the model, which is left for a gain beyond
/// the noise alone.
fn best(all: &Strategies, (objective, compiled): (Objective, &Compiled)) -> Option<Vec<Pin>> {
    let records = compiled.optimised.estimate.batch_rows.unwrap_or(1.0);
    let mut best: Option<(f64, &Row)> = None;
    for row in all.rows.iter().filter(|it| it.measured.is_some()) {
        let cost = cost(row, all, (objective, records));
        if best.as_ref().is_none_or(|it| cost < it.0 - GAIN * it.0.abs()) {
            best = Some((cost, row));
        }
    }
    best.map(|it| pins(it.1))
}

/// What is to be as small as possible, with the rate that was measured in place of the one that was predicted.
fn cost(row: &Row, all: &Strategies, (objective, records): (Objective, f64)) -> f64 {
    let predicted = row.rate * records;
    let rate = row.measured.unwrap_or(predicted).max(f64::MIN_POSITIVE);
    // How long it takes by that rate, as a part of what was predicted.
    let longer = row.seconds.map_or(predicted / rate, |[first, later, _]| {
        let epochs = (all.runs * all.passes - 1.0).max(0.0);
        (first + epochs * later * predicted / rate) / (first + epochs * later)
    });
    match objective {
        Objective::Time => row.seconds.map_or(rate.recip(), |it| it[2] * longer),
        Objective::Cost { .. } => row.cost.unwrap_or(rate.recip()) * longer,
        Objective::Weights(_) => row.score.map_or(rate.recip(), |it| -it),
        Objective::Bytes(least) if rate >= least => row.memory_bytes + row.disk_bytes,
        Objective::Bytes(_) => f64::MAX,
        Objective::Rate => rate.recip(),
    }
}

/// An alternative that is tried.
struct Part {
    rewriting: Rewriting,
    /// With the sets of pictures that it names as files.
    program: Program,
    sampled: Sampled,
}

/// What is tried, and how.
struct Bench<'a> {
    planned: &'a Planned,
    programs: &'a [Part],
    asked: &'a Asked,
    stop: &'a Stop,
    inputs: &'a Inputs,
}

/// One of the alternatives, as it runs.
#[derive(Clone, Copy)]
struct Runs<'a> {
    compiled: &'a Compiled,
    program: &'a Program,
}

/// Records in a second of the rows that were run, and what is to be told.
struct Rates {
    rates: Vec<(usize, f64)>,
    notes: Vec<String>,
}

impl Bench<'_> {
    /// Runs what is tried in about so many seconds.
    fn rates(&self, all: &Strategies, seconds: f64) -> Result<Rates, Failure> {
        let tried = self.wanted(all);
        // A pass to fill, and so many to measure, each of which is no longer.
        let each = seconds / (tried.len() * (1 + ROUNDS)).max(1) as f64;
        let each = each.clamp(FILL_SECONDS.1, FILL_SECONDS.0);
        let mut trials: Vec<(Option<usize>, Trial<'_>)> = Vec::new();
        for (row, lock) in tried {
            let lock = Some(lock);
            // What the lock says may be in any of them.
            let plans = match row {
                Some(row) => vec![self.planned.plan(&all.rows[row])],
                None => self.planned.plans().collect(),
            };
            let choices = |(compiled, of, view): &(&Compiled, &Circumstances, &View)| {
                let known = Circumstances { lock: lock.clone(), ..(*of).clone() };
                compiled.chosen(&known, view)
            };
            let found = plans.iter().map(|it| Ok((it.0, choices(it)?)));
            let mut found: Vec<Result<(&Compiled, Vec<Choice>), Failure>> = found.collect();
            let first = found.iter().position(Result::is_ok).unwrap_or(0);
            let (compiled, choices) = found.swap_remove(first)?;
            let first = trials.first().map(|it| &it.1);
            trials.push((row, Trial::new(self, self.runs(compiled), (choices, each), first)?));
        }
        for _ in 0..ROUNDS {
            for (_, trial) in &mut trials {
                trial.turn(self)?;
            }
        }
        let rates = trials.iter().filter_map(|(row, it)| Some(((*row)?, it.rate())));
        let notes = trials.iter().filter_map(|it| it.1.note.clone());
        Ok(Rates { rates: rates.collect(), notes: notes.collect() })
    }

    /// The rows that are tried, each as a lock; one that the lock names may be none of them.
    fn wanted(&self, all: &Strategies) -> Vec<(Option<usize>, Chosen)> {
        let lock = |row: &Row| {
            let keep = pins(row);
            let own = self.planned.plan(row).0;
            let names = || own.candidates().iter().map(Candidate::value_name).collect();
            let forbid = if keep.is_empty() { names() } else { Vec::new() };
            Chosen { keep, forbid, workers: self.asked.wanted.cores, ..Chosen::default() }
        };
        let rows = all.rows.iter().enumerate();
        let best = rows.clone().filter(|it| !it.1.kept.is_empty()).take(self.asked.top);
        let nothing = rows.filter(|it| it.1.kept.is_empty());
        let mut tried: Vec<(Option<usize>, Chosen)> =
            nothing.chain(best).map(|(at, row)| (Some(at), lock(row))).collect();
        let own = self.asked.lock.iter().filter(|it| !it.keep.is_empty());
        tried.extend(own.map(|it| (None, it.clone())));
        tried
    }

    fn runs<'b>(&'b self, compiled: &'b Compiled) -> Runs<'b> {
        let is_it = |it: &&Part| it.rewriting == compiled.rewriting;
        let part = self.programs.iter().find(is_it).expect("each of them was sampled");
        Runs { compiled, program: &part.program }
    }

    fn options(&self, runs: Runs<'_>, keeps: bool) -> runtime::Options {
        let cores = self.asked.wanted.cores;
        let all = self.asked.wanted.memory();
        let memory = if keeps { reserve(runs.compiled, all) } else { all };
        runtime::Options {
            workers: cores,
            readers: model::under_way::readers(cores),
            memory,
            bound: Some(all),
            // What other trials have cached lies in the process, too.
            process_memory: None,
            ..runtime::Options::default()
        }
    }
}
