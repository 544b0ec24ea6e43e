//! What a run says: how far it is, what came of it, why it ended.

use super::super::failed;
use crate::{
    Exit,
    figures::{bytes, count, percent, rate, things, time},
    talk::{Style, Talk},
};
use driver::{
    ClassesSummary, Constant, ConstantProgress, Dropped, FillingSummary, KeptSummary, Known,
    LeftOver, Loss, Outcome, Progress, SampleProgress, SparedSummary, StageSummary, Summary,
};
use runtime::Failure;
use std::path::Path;

/// The line that is rewritten while it runs.
pub(super) struct Line<'a> {
    pub(super) pipeline: &'a str,
    pub(super) batched: bool,
    pub(super) epochs: u32,
}

impl Line<'_> {
    /// How far the run is.
    pub(super) fn progress(&self, it: &Progress) -> String {
        let elapsed = it.elapsed.as_secs_f64();
        let Some(first) = it.first else {
            let what = if self.batched { "batch" } else { "record" };
            return format!("{}: waiting for the first {what}, {}", self.pipeline, time(elapsed));
        };
        // From the first batch on, unless that was most of the time.
        let since = (elapsed - first.as_secs_f64()).max(elapsed / 2.0).max(1e-3);
        let mut parts = Vec::new();
        if self.batched {
            parts.push(things(it.outputs, "batch", "batches"));
        }
        parts.push(things(it.records, "record", "records"));
        parts.push(rate(it.records as f64 / since, ""));
        parts.push(format!("{}/s", bytes(it.bytes as f64 / since)));
        if self.epochs > 1 {
            parts.push(format!("epoch {} of {}", it.epoch + 1, self.epochs));
        }
        if let Some(done) = it.done.filter(|it| *it > 0.0) {
            parts.push(percent(done));
            parts.push(format!("{} left", time((elapsed * (1.0 / done - 1.0)).max(0.0))));
        }
        format!("{}: {}", self.pipeline, parts.join(", "))
    }
}

/// How far the stream of a constant is.
pub(in super::super) fn constant_progress(it: &ConstantProgress) -> String {
    let records = things(it.records, "record", "records");
    let done = it.done.filter(|it| *it > 0.0).map(|it| format!(", {}", percent(it)));
    format!("computing {}: {records}{}", it.name, done.unwrap_or_default())
}

/// That a constant was computed, and of what.
pub(in super::super) fn constant(it: &Constant) -> String {
    let Known::Computed { records, lost, elapsed, kept } = it.known else {
        return format!("{} is known", it.name);
    };
    let skipped = match lost {
        0 => String::new(),
        n => format!(" ({} skipped)", count(n)),
    };
    let kept = if kept { ", cached for later runs" } else { "" };
    let (records, elapsed) = (things(records, "record", "records"), time(elapsed.as_secs_f64()));
    format!("computed {} from {records}{skipped} in {elapsed}{kept}", it.name)
}

/// That a sample set is made first.
pub(super) fn sample_begins(it: &SampleProgress) -> String {
    let (count, things) = (count(it.count), it.things);
    format!("generating {count} sample {things} in `{}` (once)", it.folder.display())
}

/// What came of a run.
///
/// `state` is the file that it went on from, `tuned` what a lock has said, `out` where the output is.
pub(super) fn summary(
    talk: &Talk,
    outcome: &Outcome,
    (state, tuned, out): (Option<&Path>, Option<String>, &Path),
) {
    let summary = &outcome.summary;
    if let (0, None, Some(before), Some(state)) =
        (summary.records, &outcome.failure, summary.resumed_at, state)
    {
        return complete(talk, summary, (before, state));
    }
    if outcome.failure.is_some() && summary.records == 0 {
        return;
    }
    if let Some(damage) = &summary.damage {
        let from = match summary.resumed_at {
            Some(before) => {
                let (one, many) = things_of(summary);
                format!("recomputed everything after the first {}", things(before, one, many))
            }
            None => "recomputed everything".to_owned(),
        };
        talk.say(&format!("{}: the output was damaged: {damage}; {from}", summary.pipeline));
    } else if let Some(before) = summary.resumed_at {
        let (one, many) = things_of(summary);
        talk.say(&format!("{}: resumed after {}", summary.pipeline, things(before, one, many)));
    }
    let name = talk.styled(Style::Strong, &format!("{}:", summary.pipeline));
    let stopped = if outcome.failure.is_some() { ", then stopped" } else { "" };
    talk.say(&format!("{name} {} in {}{stopped}", amount(summary), time(summary.seconds)));
    let is_folder = !["null", "-"].map(Path::new).contains(&out);
    let written = is_folder.then(|| ("output", format!("in `{}`", out.display())));
    let tuned = tuned.map(|it| ("tuned", it));
    for (what, text) in rows(summary).into_iter().chain(tuned).chain(written) {
        talk.say(&format!("  {} {text}", talk.styled(Style::Dim, &format!("{what:<12}"))));
    }
    if let Some(why) = &summary.nothing_came {
        talk.say(&format!("  {} {why}", talk.styled(Style::Warning, &format!("{:<12}", "empty"))));
    }
    for note in &summary.notes {
        talk.say(&format!("  {} {note}", talk.styled(Style::Warning, &format!("{:<12}", "cache"))));
    }
    for (code, loss) in &summary.lost {
        lost(talk, code, loss);
    }
}

/// There was nothing left to do.
fn complete(talk: &Talk, summary: &Summary, (before, state): (u64, &Path)) {
    let (one, many) = things_of(summary);
    let (name, state) =
        (talk.styled(Style::Strong, &format!("{}:", summary.pipeline)), state.display());
    let written = match before {
        1 => format!("its 1 {one} was written by an earlier run"),
        n => format!("all {} were written by earlier runs", things(n, one, many)),
    };
    talk.say(&format!("{name} the checkpoint `{state}` is complete: {written}"));
    let help = format!(
        "to start again, remove `{state}` or name another file; a larger `--epochs` or `--limit` continues from it"
    );
    talk.say(&format!("{} {help}", talk.styled(Style::Help, " help:")));
}

/// What leaves the pipeline, by number.
fn things_of(it: &Summary) -> (&'static str, &'static str) {
    if it.batches.is_some() { ("batch", "batches") } else { ("record", "records") }
}

fn amount(it: &Summary) -> String {
    let records = things(it.records, "record", "records");
    match it.batches {
        Some(n) => format!("{}, {records}", things(n, "batch", "batches")),
        None => records,
    }
}

fn rows(it: &Summary) -> Vec<(&'static str, String)> {
    let speed = rate(it.records_per_second, " records");
    let speed = format!("{speed}, {}/s", bytes(it.bytes_per_second));
    let mut rows = vec![("rate", speed)];
    if let Some(first) = it.first_batch_seconds {
        let what = if it.batches.is_some() { "first batch" } else { "first record" };
        rows.push((what, format!("after {}", time(first))));
    }
    let next = if it.batches.is_some() { "batch" } else { "record" };
    rows.push(("waiting", format!("{} of the time, for the next {next}", percent(it.stall_share))));
    if let Some(stage) = it.busiest() {
        rows.push(("busiest", busiest(stage)));
    }
    rows.extend(it.stages.iter().filter_map(|it| Some(("padding", padding(it, it.filling?)))));
    let slower = runtime::tokens::slower();
    if slower > 1.0 {
        let rate = rate(it.records_per_second * slower, " records");
        rows.push((
            "virtual",
            format!("cores slowed down {slower:.0} times: at full speed {rate}"),
        ));
    }
    rows.extend(it.kept.iter().map(|it| ("cached", kept(it))));
    rows.extend(it.spared.iter().map(|it| ("not read", spared(it))));
    rows.extend(it.dropped.as_ref().map(|it| ("dropped", dropped(*it))));
    rows.extend(it.left_over.as_ref().map(|of| ("ranks", left_over(of, things_of(it)))));
    rows.extend(it.classes.iter().map(|it| ("classes", classes(it))));
    if let Some(peak) = it.memory_peak {
        rows.push(("memory", format!("{} peak", bytes(peak as f64))));
    }
    rows
}

/// How much of what a stage makes is padding.
fn padding(stage: &StageSummary, of: FillingSummary) -> String {
    let step = stage.steps.last().map_or("", String::as_str);
    let elements = rate(of.elements_per_second, " elements");
    format!("{} of {step} ({elements} without it)", percent(of.padding_share))
}

/// What a source does not read, for a filter.
pub(in crate::commands) fn spared(it: &SparedSummary) -> String {
    let SparedSummary { label, what, parts, of, records, bytes: stored } = it;
    let stored = if *stored > 0 { format!(", {}", bytes(*stored as f64)) } else { String::new() };
    let records = things(*records, "record", "records");
    format!("{} of {} {what} ({records}{stored}), by `where`: {label}", count(*parts), count(*of))
}

/// What was left at the ends of epochs.
fn dropped(Dropped { records, of }: Dropped) -> String {
    let of = things(of, "record", "records");
    format!(
        "{} of {of}, fewer than a batch at the end of an epoch: `tail: keep` returns them",
        count(records)
    )
}

/// That ranks have equally many, and what goes to none for that.
fn left_over(it: &LeftOver, (one, many): (&str, &str)) -> String {
    let LeftOver { dropped, of, each } = *it;
    let of = things(of, one, many);
    let each = things(each, one, many);
    match dropped {
        1 => format!("each rank gets {each} per epoch; the last of {of} is dropped"),
        n => format!("each rank gets {each} per epoch; the last {} of {of} are dropped", count(n)),
    }
}

fn classes(it: &ClassesSummary) -> String {
    let label = it.field.as_ref().map_or(String::new(), |it| format!("{it}: "));
    let names: Vec<_> = it.first.iter().map(|it| format!("`{it}`")).collect();
    let more = if it.count > it.first.len() { ", …" } else { "" };
    let names = format!("{}{more}", names.join(", "));
    match it.count {
        1 => format!("{label}1 class, {names}: every label is 0"),
        n => format!("{label}{} classes, {names}", count(n as u64)),
    }
}

fn kept(it: &KeptSummary) -> String {
    let KeptSummary { step, function, hits, misses, bytes: used, disk, .. } = it;
    let from_disk = disk.as_ref().map_or(0, |it| it.hits);
    let all = (hits + misses + from_disk).max(1) as f64;
    let found = |n: u64| percent(n as f64 / all);
    let memory = format!("{}, hit {} of the time", bytes(*used as f64), found(*hits));
    let Some(disk) = disk else { return format!("{function} ({step}): {memory}") };
    let there = bytes(disk.bytes as f64);
    let disk = format!("{there} on disk, hit {} of the time", found(from_disk));
    match it.limit {
        0 => format!("{function} ({step}): {disk}"),
        _ => format!("{function} ({step}): {memory}; {disk}"),
    }
}

fn busiest(stage: &StageSummary) -> String {
    let StageSummary { steps, label, busy_share, .. } = stage;
    let steps = match steps.as_slice() {
        [] => "the executor".to_owned(),
        [one] => one.clone(),
        [first, .., last] => format!("{first} … {last}"),
    };
    format!("{steps} ({label}), {} of the work", percent(*busy_share))
}

fn lost(talk: &Talk, code: &str, loss: &Loss) {
    let head = talk.styled(Style::Warning, &format!("{:<12}", "failed"));
    talk.say(&format!("  {head} {}: {code}", things(loss.records, "record", "records")));
    for example in &loss.examples {
        talk.say(&format!("  {:<12} {example}", ""));
    }
    if loss.records > loss.examples.len() as u64 {
        talk.say(&format!("  {:<12} …", ""));
    }
}

/// Says why a run ended early, and gives how the process ends.
pub(super) fn failure(talk: &Talk, pipeline: &str, failure: &Failure) -> Exit {
    match failure {
        Failure::Record { label, record, fault, .. } => {
            let message = format!("`{pipeline}` stopped at a failed record");
            let help = "`else skip` skips such records, `else another` substitutes another record, and \
                        `else` with a value replaces the value that failed";
            talk.error(&message, None);
            let fault_text = fault.to_string();
            for (what, text) in [("record", &**record), ("step", label), ("why", &fault_text)] {
                talk.say(&format!("  {} {text}", talk.styled(Style::Dim, &format!("{what:<7}"))));
            }
            talk.say(&format!("{} {help}", talk.styled(Style::Help, " help:")));
            Exit::Budget
        }
        other => failed(talk, other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_line_says_how_far_it_is() {
        let mut it = Progress { elapsed: Duration::from_secs(3), ..Progress::default() };
        let line = Line { pipeline: "p", batched: true, epochs: 2 };
        assert_eq!(line.progress(&it), "p: waiting for the first batch, 3.0 s");
        it.first = Some(Duration::from_secs(1));
        it.outputs = 20;
        it.records = 2560;
        it.bytes = 80_000_000;
        it.done = Some(0.25);
        let expected =
            "p: 20 batches, 2,560 records, 1,280/s, 40 MB/s, epoch 1 of 2, 25%, 9.0 s left";
        assert_eq!(line.progress(&it), expected);
    }
}
