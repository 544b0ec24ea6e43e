//! The explanation on one screen: how fast, what bounds it, what each step costs, what would help.
//! Steps have the names that stand in the text; all else is in the long form.

mod names;
mod rows;

use super::{
    Explanation, Line, dear_calls,
    figures::{bytes, percent, rough as rate, things, time},
    forecast, long,
    table::{Cell, lines},
};
use crate::estimate::{CallEstimate, Figure, Origin, StepEstimate};
use names::{Group, groups};

/// Characters of a type that are shown: with the columns before it, a line fits most screens.
const TYPE_LEN_MAX: usize = 56;

pub(super) fn text(explanation: &Explanation) -> String {
    let mut text = headline(explanation);
    text += &format!("bottleneck: {}\n\n", bottleneck(explanation));
    for line in lines(&table(explanation)) {
        text += &line;
        text.push('\n');
    }
    text.push('\n');
    text += &rows::text(explanation);
    text + &last(explanation)
}

/// `train: ~3,340 records/s (~26 batches/s) on 2 cores`; below it the prediction, where it was measured.
fn headline(explanation: &Explanation) -> String {
    let headline = &explanation.headline;
    let shown = |value: f64| rate(headline.figure(value));
    let batches = explanation.estimate.batch_rows;
    let batches = batches.map(|_| format!(" ({} batches/s)", shown(headline.outputs_per_second)));
    let (how, on) = match long::seen(explanation) {
        Some(it) => (" measured", format!("with {it}")),
        None => ("", format!("on {}", long::cores(explanation))),
    };
    let first = format!(
        "{}: {} records/s{how}{} {on}{}\n",
        explanation.pipeline,
        shown(headline.records_per_second),
        batches.unwrap_or_default(),
        long::warm(explanation).map_or(String::new(), |it| {
            let warm = Figure::assumed(it * explanation.estimate.batch_rows.unwrap_or(1.0));
            format!(", {} once values are cached", rate(warm))
        }),
    );
    let why = match &headline.why[..] {
        [] => String::new(),
        all => format!(": {}", all.join("; ")),
    };
    let off = headline.off();
    let second = long::seen(explanation).map(|_| {
        format!(
            "predicted: {} records/s on {} ({}{}){why}\n",
            rate(Figure::assumed(headline.predicted_records_per_second)),
            long::cores(explanation),
            if off < 0.0 { "-" } else { "+" },
            percent(off.abs()),
        )
    });
    first + &second.unwrap_or_default()
}

/// `decode_jpeg in train.map#1, 64% of CPU time`
fn bottleneck(explanation: &Explanation) -> String {
    if let Some(outside) = forecast::outside(explanation) {
        return outside;
    }
    let step = forecast::bottleneck(explanation);
    let Some(step) = step.and_then(|it| explanation.estimate.steps.get(it)) else {
        return "none known".to_owned();
    };
    if !step.parallel {
        return format!("{}, sequential on one thread", step.step);
    }
    let main = step.calls.first().filter(|it| it.share >= 0.5 && step.calls.len() > 1);
    match main {
        Some(call) => {
            let share = percent(call.share * step.share);
            format!("{} in {}, {share} of CPU time", call.name, step.step)
        }
        None => format!("{}, {} of CPU time", step.step, percent(step.share)),
    }
}

/// The steps with what they call: a table.
fn table(explanation: &Explanation) -> Vec<Vec<Cell>> {
    let heads = ["time/record", "size/record", "CPU", "workers"].map(Cell::right);
    let head = [Cell::left("  step")].into_iter().chain(heads).chain([Cell::left("output")]);
    let mut rows: Vec<Vec<Cell>> = vec![head.collect()];
    for group in groups(explanation) {
        rows.push(step_row(explanation, &group));
        // What the library itself is made of is in the long form.
        if let [line] = group.lines[..] {
            let step = &explanation.estimate.steps[line.estimate];
            let calls = dear_calls(explanation, line.estimate);
            rows.extend(calls.into_iter().map(|it| call_row(line, step, it)));
        }
    }
    rows
}

fn step_row(explanation: &Explanation, group: &Group<'_>) -> Vec<Cell> {
    let steps = || group.lines.iter().map(|it| &explanation.estimate.steps[it.estimate]);
    let last = group.lines[group.lines.len() - 1];
    let is_bound =
        group.lines.iter().any(|it| forecast::mark(explanation, it.estimate).starts_with('>'));
    let visits = explanation.estimate.steps[last.estimate].visits.value.max(1e-9);
    let ns: Figure = steps().map(|it| it.ns.times(it.visits.value / visits)).sum();
    let is_free = ns.value <= 0.0;
    let share: f64 = steps().map(|it| it.share).sum();
    let workers = steps().map(long::workers).max().unwrap_or(0);
    let dash = |text: String| if is_free { "–".to_owned() } else { text };
    let size = bytes(explanation.estimate.steps[last.estimate].bytes);
    let size = last.record.as_ref().map(|_| last.leaves.of(size));
    let enters = group.lines[0].enters;
    let stream = last.stream.as_ref().map_or(String::new(), |it| format!("  → {it}"));
    let mark = if is_bound { "> " } else { "  " };
    let name = format!("{mark}{}{}{stream}", "  ".repeat(last.depth), group.name);
    vec![
        Cell::left(name),
        Cell::right(dash(enters.of(time(ns)))),
        Cell::right(size.unwrap_or_else(|| "–".to_owned())),
        Cell::right(dash(percent(share))),
        Cell::right(dash(workers.to_string())),
        Cell::left(output(last)),
    ]
}

/// What leaves a step: its record where it is another one, else what is to be known of it.
fn output(line: &Line) -> String {
    match (&line.record, &line.brief) {
        (Some(record), _) => long::shortened(record, TYPE_LEN_MAX),
        (None, Some(brief)) => brief.clone(),
        (None, None) => String::new(),
    }
}

fn call_row(line: &Line, step: &StepEstimate, call: &CallEstimate) -> Vec<Cell> {
    let often = match (call.times - 1.0).abs() < 0.01 {
        true => String::new(),
        false => format!(" ×{:.1}", call.times),
    };
    vec![
        Cell::left(format!("  {}  {}{often}", "  ".repeat(line.depth), call.name)),
        Cell::right(line.enters.of(time(call.ns))),
        Cell::right(line.enters.of(bytes(call.bytes))),
        Cell::right(percent(call.share * step.share)),
    ]
}

/// What `~` means, and where there is more.
fn last(explanation: &Explanation) -> String {
    let more = "More: --verbose, --rewrites, --html";
    let seen = explanation.outlook.as_ref().and_then(|it| it.seen.as_ref());
    match (explanation.estimate.ns.origin, seen) {
        (Origin::Assumed, None) => {
            format!("~ default costs, not measured here: run `pipec profile`. {more}\n")
        }
        (_, Some((seen, _))) => {
            let workers = things(seen.workers as f64, "worker");
            format!(
                "costs measured with {workers} in {:.0} s; ~ is predicted. {more}\n",
                seen.seconds
            )
        }
        _ => format!("{more}\n"),
    }
}
