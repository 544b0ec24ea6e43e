//! The explanation as text, all of it: the verdict first, then the steps, then the story.

use super::{
    Beyond, Explanation, Line, TwoRanks, dear_calls,
    figures::{bytes, percent, rate, things, time},
    forecast,
    table::{Cell, lines},
};
use crate::{
    estimate::{CallEstimate, Figure, Origin, StepEstimate},
    passes::Step,
};
use plan::count;
use std::fmt::Write;

/// Characters of a type that are shown.
const TYPE_LEN_MAX: usize = 72;

/// Ranks that are not worth a word: so many at once are rare.
const RANKS_MANY: u64 = 1_024;

/// What is said where nothing was measured.
pub(super) const ASSUMED: &str = "~ default costs, not measured here: run `pipec profile`";

pub(super) fn text(explanation: &Explanation) -> String {
    let mut text = verdict(explanation);
    if explanation.estimate.ns.origin == Origin::Assumed {
        text.push_str(ASSUMED);
        text.push('\n');
    }
    text.push('\n');
    for line in lines(&rows(explanation)) {
        text.push_str(&line);
        text.push('\n');
    }
    for line in forecast::table(explanation).iter().flat_map(|it| lines(it)) {
        text.push_str(&line);
        text.push('\n');
    }
    text.push('\n');
    let row = |(name, text): (&str, String)| vec![Cell::left(name), Cell::left(text)];
    let facts: Vec<Vec<Cell>> = facts(explanation).into_iter().map(row).collect();
    for line in lines(&facts) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// `train: ~2,381 records/s (~19 batches/s) on 2 cores, bound by train.map#1 (decode_jpeg)`; where it was
/// measured, a second line says what is predicted, and why that differs.
pub(super) fn verdict(explanation: &Explanation) -> String {
    let headline = &explanation.headline;
    let shown = |value: f64| rate(headline.figure(value));
    let batches = explanation.estimate.batch_rows;
    let batches = batches.map(|_| format!(" ({} batches/s)", shown(headline.outputs_per_second)));
    let records = explanation.estimate.batch_rows.unwrap_or(1.0);
    let warm = warm(explanation).map_or(String::new(), |it| {
        let warm = Figure { value: it, ..best(explanation) }.times(records);
        format!(" in the first epoch and {} with a warm cache", rate(warm))
    });
    let (how, on) = match seen(explanation) {
        Some(it) => (" measured", format!("with {it}")),
        None => ("", format!("on {}", cores(explanation))),
    };
    format!(
        "{}: {} records/s{how}{}{warm} {on}, bottleneck: {}\n{}",
        explanation.pipeline,
        shown(headline.records_per_second),
        batches.unwrap_or_default(),
        bound(explanation),
        predicted(explanation).map_or(String::new(), |it| it + "\n"),
    )
}

/// Outputs in a second once all that is kept is full, where that is faster.
pub(super) fn warm(explanation: &Explanation) -> Option<f64> {
    let warm = explanation.outlook.as_ref()?.warm.as_ref()?;
    Some(warm.rate).filter(|it| *it > best(explanation).value * forecast::HELPS)
}

/// How it was measured, where that is what the headline says: `2 workers in 3 s`.
pub(super) fn seen(explanation: &Explanation) -> Option<String> {
    let seen =
        explanation.outlook.as_ref()?.seen.as_ref().filter(|_| explanation.headline.measured)?;
    Some(format!("{} in {:.0} s", things(seen.0.workers as f64, "worker"), seen.0.seconds))
}

/// What is predicted beside what was measured, and why it differs.
pub(super) fn predicted(explanation: &Explanation) -> Option<String> {
    let headline = Some(&explanation.headline).filter(|it| it.measured)?;
    let off = headline.off();
    let why = match &headline.why[..] {
        [] => String::new(),
        all => format!(": {}", all.join("; ")),
    };
    Some(format!(
        "predicted: {} records/s on {} ({}{}){why}",
        rate(Figure::assumed(headline.predicted_records_per_second)),
        cores(explanation),
        if off < 0.0 { "-" } else { "+" },
        percent(off.abs()),
    ))
}

/// Outputs in a second when it is as fast as it can be, as predicted.
pub(super) fn best(explanation: &Explanation) -> Figure {
    let rows = explanation.estimate.batch_rows.unwrap_or(1.0);
    let value = explanation.headline.predicted_records_per_second / rows;
    Figure { value, ..explanation.estimate.rate }
}

/// `2 cores`
pub(super) fn cores(explanation: &Explanation) -> String {
    let machine = explanation.outlook.as_ref().map(|it| it.machine.cores);
    things(machine.unwrap_or(f64::from(explanation.estimate.cores)), "core")
}

/// What bounds the rate: `train.map#1 (decode_jpeg)`, or what is no step.
pub(super) fn bound(explanation: &Explanation) -> String {
    forecast::outside(explanation).unwrap_or_else(|| bottleneck(explanation))
}

fn bottleneck(explanation: &Explanation) -> String {
    let step = forecast::bottleneck(explanation);
    let Some(step) = step.and_then(|it| explanation.estimate.steps.get(it)) else {
        return "nothing".to_owned();
    };
    let main = step.calls.first().filter(|it| it.share >= 0.5 && step.calls.len() > 1);
    let call = main.map_or(String::new(), |it| format!(" ({})", it.name));
    let serial = if step.parallel { "" } else { ", sequential" };
    format!("{}{call}{serial}", step.step)
}

/// The steps, and the dearest calls within each: a table.
pub(super) fn rows(explanation: &Explanation) -> Vec<Vec<Cell>> {
    let head = ["step", "location", "time/record", "size/record", "CPU", "workers", "output"];
    let right = |i: usize| (2..=5).contains(&i);
    let head = head.iter().enumerate();
    let head = head.map(|(i, it)| if right(i) { Cell::right(*it) } else { Cell::left(*it) });
    let mut rows = vec![head.collect()];
    for line in &explanation.steps {
        let step = &explanation.estimate.steps[line.estimate];
        rows.push(step_row(line, step));
        let calls = dear_calls(explanation, line.estimate);
        rows.extend(calls.into_iter().map(|it| call_row(line, step, it)));
        if let Some(note) = &line.note {
            let note = format!("{}  {note}", indent(line));
            rows.push(vec![Cell::left(note)]);
        }
    }
    rows
}

fn indent(line: &Line) -> String {
    "  ".repeat(line.depth)
}

fn step_row(line: &Line, step: &StepEstimate) -> Vec<Cell> {
    let name = match &line.stream {
        Some(stream) => format!("{}{}  → {stream}", indent(line), line.step),
        None => format!("{}{}", indent(line), line.step),
    };
    let workers = match workers(step) {
        0 => "source".to_owned(),
        n => n.to_string(),
    };
    let costs = if step.ns.value > 0.0 { line.enters.of(time(step.ns)) } else { "–".to_owned() };
    vec![
        Cell::left(name),
        Cell::left(line.place.clone()),
        Cell::right(costs),
        Cell::right(
            line.record.as_ref().map_or(String::new(), |_| line.leaves.of(bytes(step.bytes))),
        ),
        Cell::right(percent(step.share)),
        Cell::right(workers),
        Cell::left(line.record.as_deref().map_or(String::new(), |it| shortened(it, TYPE_LEN_MAX))),
    ]
}

/// Threads that work in a step; 0 where its source does it.
pub(super) fn workers(step: &StepEstimate) -> u32 {
    match step.workers {
        0 => 0,
        // One that does but a little beside what is done in order is one.
        n => (step.hands() - 0.1).ceil().clamp(1.0, n.into()) as u32,
    }
}

fn call_row(line: &Line, step: &StepEstimate, call: &CallEstimate) -> Vec<Cell> {
    let often = if (call.times - 1.0).abs() < 0.01 {
        String::new()
    } else {
        format!(" × {:.1}", call.times)
    };
    vec![
        Cell::left(format!("{}    {}{often}", indent(line), call.name)),
        Cell::left(""),
        Cell::right(line.enters.of(time(call.ns))),
        Cell::right(line.enters.of(bytes(call.bytes))),
        Cell::right(percent(call.share * step.share)),
    ]
}

/// A type of at most so many characters.
pub(super) fn shortened(record: &str, len_max: usize) -> String {
    if record.chars().count() <= len_max {
        return record.to_owned();
    }
    let head: String = record.chars().take(len_max - 3).collect();
    format!("{} … }}", head.trim_end())
}

/// Everything else, each row with its label.
pub(super) fn facts(explanation: &Explanation) -> Vec<(&'static str, String)> {
    let estimate = &explanation.estimate;
    let rows = estimate.batch_rows.unwrap_or(1.0);
    let mut each = format!("{} of CPU time per record", time(estimate.ns.times(1.0 / rows)));
    if estimate.batch_rows.is_some() {
        let _ = write!(each, ", {} per batch", time(estimate.ns));
    }
    let memory = &estimate.memory;
    let parts = [
        (&*batches(memory.n_batches), memory.batches),
        ("chunks", memory.chunks),
        ("operator buffers", memory.held),
        ("temporaries", memory.temporaries),
    ];
    let parts = parts.iter().filter(|it| it.1.value > 0.0);
    let parts: Vec<String> = parts.map(|(name, it)| format!("{} {name}", bytes(*it))).collect();
    let mut all = vec![
        ("time", each),
        ("memory", format!("{}: {}", bytes(memory.total()), parts.join(", "))),
    ];
    all.extend(explanation.held.iter().map(|it| ("held", it.clone())));
    all.extend(explanation.fillings.iter().map(|it| (it.label(), it.text())));
    all.extend(explanation.story.iter().filter(|it| !it.why.is_empty()).map(told));
    all.extend(forecast::rows(explanation));
    all.extend(forecast::lengths(explanation).map(|it| ("assumed", it)));
    all.extend(explanation.constants.iter().map(|it| ("constants", it.clone())));
    all.push(("resume", explanation.resume.clone()));
    all.extend(explanation.ranks.iter().map(|it| ("ranks", it.clone())));
    let few = explanation.two_ranks.filter(|it| it.of < RANKS_MANY && it.beyond != Beyond::Served);
    all.extend(few.map(|it| ("ranks", most_ranks(it, estimate.batch_rows.is_some()))));
    all
}

/// Up to how many ranks each gets something, where there may be more.
fn most_ranks(TwoRanks { of, beyond, .. }: TwoRanks, batched: bool) -> String {
    let what = match (batched, of) {
        (true, 1) => "batch",
        (true, _) => "batches",
        (false, 1) => "record",
        (false, _) => "records",
    };
    let (n, ranks) = (count(of), if of == 1 { "rank" } else { "ranks" });
    let end = if beyond == Beyond::Idle { "some get none" } else { "no rank gets any" };
    format!("an epoch has {n} {what}: with more than {n} {ranks}, {end}")
}

/// How many batches there are at a time, where that is worth a word: more than two that are made and
/// one that the consumer has.
fn batches(n: u64) -> String {
    if n > 3 { format!("batches ({n} at a time)") } else { "batches".to_owned() }
}

/// What came of a proposal.
fn told(step: &Step) -> (&'static str, String) {
    let saved = step.before.map_or(0.0, |it| 1.0 - step.after / it.max(1e-9));
    let name = if step.kept { "rewrites" } else { "rejected" };
    let effect = match () {
        () if saved.abs() < 0.001 => "no change in cost".to_owned(),
        () if saved > 0.0 => format!("saves {} of CPU time", percent(saved)),
        () => format!("would cost {} more", percent(-saved)),
    };
    (name, format!("{}: {} ({effect})", step.pass, step.why))
}
