//! The rows below the table: what was rewritten, what limits the rate, what is cached, what would help.

use super::super::{
    Explanation, TwoRanks,
    figures::{bytes, percent, rough as rate, things, time, whole},
    forecast, keeping,
    table::{Cell, lines},
};
use crate::{
    caches::Choice,
    estimate::{Dropped, Figure, Outlook, Requests},
    passes::{PASSES, Pass},
};
use model::{
    next::Remedy,
    solve::{Bound, Limit},
};

/// Characters of a row beside its label, before the next one begins.
const WIDTH: usize = 100;
/// Limits and suggestions that are shown: those that matter most.
const SHOWN: usize = 3;

pub(super) fn text(explanation: &Explanation) -> String {
    let mut all = vec![("rewrites", rewrites(explanation)), ("limits", limits(explanation))];
    all.extend(explanation.fillings.iter().map(|it| (it.label(), vec![it.text()])));
    all.extend(Some(requests(explanation)).filter(|it| !it.is_empty()).map(|it| ("requests", it)));
    all.extend(forecast::python(explanation).map(|it| ("python", vec![it])));
    let uneven = explanation.two_ranks.filter(|it| it.of > it.each.saturating_mul(2));
    all.extend(uneven.map(|it| ("ranks", vec![two_ranks(it)])));
    if let Some(outlook) = &explanation.outlook {
        all.extend(consumer(outlook).map(|it| ("step time", vec![it])));
        all.extend(cached(explanation, outlook));
        all.push(("suggestions", suggestions(explanation, outlook)));
    }
    let constants = Some(&explanation.constants).filter(|it| !it.is_empty());
    all.extend(constants.map(|it| ("constants", it.clone())));
    all.extend(forecast::lengths(explanation).map(|it| ("assumed", vec![it])));
    let rows: Vec<Vec<Cell>> = all.iter().flat_map(|(label, parts)| row(label, parts)).collect();
    lines(&rows).iter().map(|it| format!("{it}\n")).collect()
}

/// Parts beside a label, as many in a line as there is room for.
fn row(label: &str, parts: &[String]) -> Vec<Vec<Cell>> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if line.chars().count() + part.chars().count() + 3 <= WIDTH => {
                *line += &format!(" · {part}");
            }
            _ => lines.push(part.clone()),
        }
    }
    let labels = [label].into_iter().chain(std::iter::repeat(""));
    lines.into_iter().zip(labels).map(|it| vec![Cell::left(it.1), Cell::left(it.0)]).collect()
}

fn rewrites(explanation: &Explanation) -> Vec<String> {
    let kept = explanation.story.iter().filter(|it| it.kept && !it.why.is_empty());
    let mut all: Vec<(&str, f64)> = Vec::new();
    for step in kept {
        let left = step.before.map_or(1.0, |it| step.after / it.max(1e-9));
        match all.iter_mut().find(|it| it.0 == step.pass) {
            Some(same) => same.1 *= left,
            None => all.push((&step.pass, left)),
        }
    }
    let told = |(pass, left): (&str, f64)| {
        let known = PASSES.iter().find(|it| it.name == pass);
        let named = |it: &Pass| format!("{}: {}", it.title(), it.summary);
        let name = known.map_or(pass.to_owned(), named);
        let saved = 1.0 - left;
        let saves = if saved >= 0.005 {
            format!(" (saves {} of CPU time)", percent(saved))
        } else {
            String::new()
        };
        format!("{name}{saves}")
    };
    all.into_iter().map(told).collect()
}

fn records(explanation: &Explanation, outputs: f64) -> String {
    let value = outputs * explanation.estimate.batch_rows.unwrap_or(1.0);
    format!("{} records/s", rate(Figure::assumed(value)))
}

fn limits(explanation: &Explanation) -> Vec<String> {
    let mut all = Vec::new();
    if let Some(outlook) = &explanation.outlook {
        let solution = &outlook.solution;
        let near = solution.bounds.iter().filter(|it| it.rate <= solution.rate * forecast::NEAR);
        let told = |it: &Bound| {
            format!("{}: {}", limit(explanation, outlook, it.limit), records(explanation, it.rate))
        };
        all.extend(near.take(SHOWN).map(told));
    }
    all.push(format!("memory: {}", bytes(explanation.estimate.memory.total())));
    all
}

fn limit(explanation: &Explanation, outlook: &Outlook, limit: Limit) -> String {
    let (steps, estimate) = (outlook.network.steps(), &explanation.estimate);
    let how = |calls: bool| match calls {
        true => forecast::called(estimate.processes),
        false => "one thread, in order".to_owned(),
    };
    match limit {
        Limit::Cpu => "CPU".to_owned(),
        Limit::Step(at) => {
            format!("{} ({})", steps[at].name, how(estimate.steps[at].calls_outside()))
        }
        Limit::Segment(segment) => {
            let of = || (0..steps.len()).filter(|it| steps[*it].segment == Some(segment));
            let names: Vec<&str> = of().map(|it| steps[it].name.as_str()).collect();
            let outside = of().any(|it| estimate.steps[it].calls_outside());
            format!("{} ({})", names.join(", "), how(outside))
        }
        Limit::Cap(at) => steps[at].name.clone(),
        Limit::Storage(at) => {
            let storage = outlook.machine.storages.get(at);
            storage.map_or("reading".to_owned(), |it| format!("reading from {}", it.name))
        }
        Limit::Memory(_) => "memory for batches".to_owned(),
        Limit::MemoryBandwidth => "memory bandwidth".to_owned(),
        Limit::Consumer => "training step".to_owned(),
    }
}

/// Requests in flight to storages with high latency.
fn requests(explanation: &Explanation) -> Vec<String> {
    let Some(outlook) = &explanation.outlook else { return Vec::new() };
    let told = |it: Requests| {
        let storage = &outlook.machine.storages[it.storage];
        let figure = |value: f64| Figure { value, origin: storage.origin };
        format!(
            "{}: {} in flight (Little's law: {} each, {}/s), {} of memory",
            storage.name,
            whole(Figure::exact(it.under_way as f64)),
            time(figure(storage.latency_s * 1e9)),
            rate(Figure::assumed(it.rate)),
            bytes(Figure::assumed(it.under_way as f64 * it.bytes)),
        )
    };
    outlook.requests().into_iter().map(told).collect()
}

/// Who waits for whom, where it is said how long the consumer takes.
fn consumer(outlook: &Outlook) -> Option<String> {
    let seconds = outlook.machine.consumer.seconds?;
    let each = time(Figure::exact(seconds * 1e9));
    let solution = &outlook.solution;
    Some(match solution.bounds.first().map(|it| it.limit) {
        Some(Limit::Consumer) => format!(
            "data loading keeps up: the training step ({each} per batch) is slower, and {} of the CPU is enough",
            percent(solution.core_use)
        ),
        _ => format!(
            "training ({each} per batch) waits for data {} of the time",
            percent((1.0 - solution.rate * seconds).max(0.0))
        ),
    })
}

/// What ranks drop at the end of an epoch: two of them, which are the fewest.
fn two_ranks(it: TwoRanks) -> String {
    let left = it.of.saturating_sub(2 * it.each);
    let told = |it: u64| whole(Figure::exact(it as f64));
    let (of, each, left) = (told(it.of), told(it.each), told(left));
    format!(
        "`--world-size 2`: each rank gets {each} of the {of} batches of an epoch, {left} is dropped"
    )
}

/// What is kept from epoch to epoch; why other values are not is in the long form.
fn cached(explanation: &Explanation, outlook: &Outlook) -> Vec<(&'static str, Vec<String>)> {
    let rows = keeping::rows(outlook, explanation.estimate.batch_rows.unwrap_or(1.0));
    let shown = rows.into_iter().filter(|it| !["cache budget", "not cached"].contains(&it.0));
    shown.map(|(name, text)| (name, vec![text])).collect()
}

fn suggestions(explanation: &Explanation, outlook: &Outlook) -> Vec<String> {
    let today = outlook.solution.rate;
    let helps = outlook.helps.iter().filter(|it| it.rate > today * forecast::HELPS);
    // One core more is told by twice as many.
    let helps = helps.filter(|it| it.remedy != Remedy::Core).take(SHOWN);
    let told = |it: &model::next::Help| {
        let more = percent(it.rate / today - 1.0);
        format!("{}: {} (+{more})", remedy(explanation, it.remedy), records(explanation, it.rate))
    };
    let mut all: Vec<String> = helps.map(told).collect();
    all.extend(worth_caching(outlook).map(|it| {
        let size = it.bytes_in_all().unwrap_or_default();
        let size = Figure { value: size, origin: it.candidate.bytes.origin };
        format!(
            "`--epochs 2` or more caches `{}` ({}): saves {} per record from epoch 2",
            it.candidate.function,
            bytes(size),
            time(it.candidate.saves),
        )
    }));
    let dropped = outlook.dropped.iter().filter(|it| it.records >= forecast::DROPPED_TOLD * it.of);
    all.extend(dropped.map(self::dropped));
    all
}

/// The value that is most worth caching, where nothing is since each record comes once.
fn worth_caching(outlook: &Outlook) -> Option<&Choice> {
    let all = outlook.choices.iter().filter(|it| it.candidate.refused.is_none());
    let all = all.filter(|it| outlook.budget.is_none() && it.bytes_in_all().is_some());
    all.max_by(|a, b| a.candidate.saves.value.total_cmp(&b.candidate.saves.value))
}

fn dropped(of: &Dropped) -> String {
    let Dropped { records, of, origin, .. } = *of;
    let (records_told, of_told) =
        (whole(forecast::about(records, origin)), whole(forecast::about(of, origin)));
    format!(
        "keep the last {records_told} of {of_told} records: `tail: keep` ({} of the work is wasted)",
        percent(records / of)
    )
}

/// `--memory` with twice as much.
fn twice_the_memory(explanation: &Explanation) -> String {
    let now = explanation.outlook.as_ref().map_or(0.0, |it| it.machine.memory_bytes);
    format!("`--memory {}`", forecast::option_of(2.0 * now))
}

fn remedy(explanation: &Explanation, remedy: Remedy) -> String {
    let step = |at: usize| explanation.estimate.steps[at].step.as_str();
    let cores = explanation.outlook.as_ref().map_or(1.0, |it| it.machine.cores);
    match remedy {
        Remedy::Core => things(cores + 1.0, "core"),
        Remedy::TwiceTheCores => things(cores * 2.0, "core"),
        Remedy::TwiceTheStorage(at) => explanation
            .outlook
            .as_ref()
            .map_or("a disk twice as fast", |it| forecast::faster_storage(it, at))
            .to_owned(),
        Remedy::TwiceTheMemory => twice_the_memory(explanation),
        Remedy::TwiceTheMemoryBandwidth => "memory twice as fast".to_owned(),
        Remedy::Parallel(at) if explanation.estimate.steps[at].calls_outside() => {
            match explanation.estimate.processes {
                0 => format!("{} in processes (`processes=` of `pipec.load`)", step(at)),
                _ => format!("{} in more processes", step(at)),
            }
        }
        Remedy::Parallel(at) => format!("several threads for {}", step(at)),
        Remedy::NoCap(at) => format!("no limit on {}", step(at)),
        Remedy::TwiceTheConsumer => "a training step twice as fast".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Origin;

    #[test]
    fn a_row_goes_on_in_the_next_line() {
        let parts = vec!["a".repeat(60), "b".repeat(30), "c".repeat(30)];
        let rows = row("suggestions", &parts);
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0][1].text().chars().count(), 93);
        assert_eq!((rows[1][0].text(), rows[1][1].text()), ("", &*"c".repeat(30)));
    }

    #[test]
    fn a_number_of_dropped_records_says_how_sure_it_is() {
        let tail =
            |origin| Dropped { step: "p.batch#1".into(), records: 104.0, of: 1000.0, origin };
        let told = "keep the last 104 of 1,000 records: `tail: keep` (10% of the work is wasted)";
        assert_eq!(dropped(&tail(Origin::Exact)), told);
        assert!(dropped(&tail(Origin::Measured)).contains("~104 of ~1,000"));
    }
}
