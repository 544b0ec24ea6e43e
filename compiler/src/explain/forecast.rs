//! What bounds a pipeline, what would help, and what is kept from epoch to epoch, in words.

use super::{
    Explanation,
    figures::{bytes, percent, rate, things, time, whole},
    keeping,
    table::Cell,
};
use crate::{
    analysis::size::AXIS,
    estimate::{CallEstimate, Dropped, Figure, Origin, Outlook},
};
use model::{
    curve::READERS_MAX,
    network::{Amount, Pattern, Step},
    next::Remedy,
    solve::{Bound, Limit},
    verdict::Verdict,
};

/// Bounds that are so many times as far away are not told.
pub(super) const NEAR: f64 = 20.0;
/// What helps by less than this part does not help.
pub(super) const HELPS: f64 = 1.005;
/// Lists that are named.
const NAMES_MAX: usize = 3;

/// What the steps do when the pipeline is as fast as it can be: a table of its own.
pub(super) fn table(explanation: &Explanation) -> Option<Vec<Vec<Cell>>> {
    let outlook = explanation.outlook.as_ref()?;
    let estimate = &explanation.estimate;
    let unit = if estimate.batch_rows.is_some() { "time/batch" } else { "time/record" };
    let (counts, sizes) = (outlook.network.cardinalities(), outlook.network.materialised_bytes());
    let is_known = counts.iter().any(|it| *it != Amount::Unknown);
    let heads = [unit, "per core", "cores used", "capacity", "records/epoch", "bytes/epoch"];
    let n_heads = if is_known { heads.len() } else { heads.len() - 2 };
    let heads = heads.into_iter().take(n_heads).map(Cell::right);
    let mut rows = vec![Vec::new(), [Cell::left("  step")].into_iter().chain(heads).collect()];
    for line in &explanation.steps {
        let (at, step) = (line.estimate, &estimate.steps[line.estimate]);
        if step.moved || step.ns.value <= 0.0 {
            continue;
        }
        let each = step.ns.times(step.visits.value);
        let figure = |value: f64| Figure { value, origin: each.origin };
        let Some(speeds) = speeds(explanation, at) else { continue };
        let shown = |it: Figure| format!("{}/s", rate(it));
        let mut row = vec![
            Cell::left(format!("{}{}", mark(explanation, at), line.step)),
            Cell::right(time(each)),
            Cell::right(shown(speeds.per_core)),
            Cell::right(format!("{:.2}", speeds.cores)),
            Cell::right(shown(speeds.capacity)),
            Cell::right(amount(counts[at], |it| rate(about(it, outlook.counts[at])))),
            Cell::right(amount(sizes[at], |it| bytes(figure(it)))),
        ];
        row.truncate(n_heads + 1);
        rows.push(row);
    }
    (rows.len() > 2).then_some(rows)
}

/// How fast a step is, in records that leave the pipeline.
pub(super) struct Speeds {
    /// In a second, for each core that it has.
    pub(super) per_core: Figure,
    /// Cores that it uses when the pipeline is as fast as it can be.
    pub(super) cores: f64,
    /// In a second, with all the workers that it may have, if nothing else were to be done.
    pub(super) capacity: Figure,
}

/// How fast the step at `at` is; nothing where it does no work.
pub(super) fn speeds(explanation: &Explanation, at: usize) -> Option<Speeds> {
    let estimate = &explanation.estimate;
    let Outlook { machine, network, solution, .. } = explanation.outlook.as_ref()?;
    let step = &estimate.steps[at];
    // With what is done for records that no batch is made of.
    let each = step.ns.times(network.visits().entering[at]);
    let per_output = estimate.batch_rows.unwrap_or(1.0);
    let figure = |value: f64| Figure { value: value * per_output, origin: each.origin };
    (each.value > 0.0).then(|| Speeds {
        per_core: figure(1e9 / each.value),
        cores: solution.cores[at],
        capacity: figure(step.hands().min(machine.cores) * 1e9 / each.value),
    })
}

/// Every bound in words, with its rate in records in a second, the tightest first.
pub(super) fn bounds(explanation: &Explanation) -> Vec<(String, Figure)> {
    let Some(outlook) = &explanation.outlook else { return Vec::new() };
    let per_output = explanation.estimate.batch_rows.unwrap_or(1.0);
    let figure = |it: &Bound| Figure { value: it.rate * per_output, origin: it.origin };
    outlook
        .solution
        .bounds
        .iter()
        .map(|it| (limit(explanation, outlook, it.limit), figure(it)))
        .collect()
}

pub(super) fn mark(explanation: &Explanation, at: usize) -> &'static str {
    let is_bound = outside(explanation).is_none() && bottleneck(explanation) == Some(at);
    if is_bound { "> " } else { "  " }
}

/// The step that bounds the rate, or at which what bounds it is used up; nothing for the consumer.
pub(super) fn bottleneck(explanation: &Explanation) -> Option<usize> {
    match &explanation.outlook {
        Some(it) if !it.solution.bounds.is_empty() => it.solution.slowest,
        _ => Some(explanation.estimate.bottleneck),
    }
}

/// What bounds the rate, where that is no step.
pub(super) fn outside(explanation: &Explanation) -> Option<String> {
    let outlook = explanation.outlook.as_ref()?;
    let limit = outlook.solution.bounds.first()?.limit;
    let is_outside = matches!(
        limit,
        Limit::Storage(_) | Limit::Memory(_) | Limit::MemoryBandwidth | Limit::Consumer
    );
    is_outside.then(|| self::limit(explanation, outlook, limit))
}

/// An amount of memory as `--memory` takes it.
pub(super) fn option_of(bytes: f64) -> String {
    format!("{:.0}MB", (bytes / 1e6).ceil())
}

/// A number of records: what is not exact is about so many.
pub(super) fn about(records: f64, origin: Origin) -> Figure {
    let origin = if origin == Origin::Exact { origin } else { Origin::Assumed };
    Figure { value: records, origin }
}

fn amount(amount: Amount, shown: impl Fn(f64) -> String) -> String {
    match amount {
        Amount::Finite(it) => shown(it),
        Amount::Infinite => "endless".to_owned(),
        Amount::Unknown => "–".to_owned(),
    }
}

/// The rows, each with its label.
pub(super) fn rows(explanation: &Explanation) -> Vec<(&'static str, String)> {
    let Some(outlook) = &explanation.outlook else { return Vec::new() };
    let told = Told { explanation, outlook };
    let mut rows = Vec::new();
    rows.extend(told.seen().map(|it| ("measured", it)));
    let dropped = outlook.dropped.iter().filter(|it| it.records >= DROPPED_TOLD * it.of);
    rows.extend(dropped.map(|it| ("dropped", told.dropped(it))));
    rows.push(("limits", told.bounds()));
    rows.push(("verdict", told.verdict()));
    rows.extend(told.python().map(|it| ("python", it)));
    rows.extend(told.next().map(|it| ("suggestions", it)));
    rows.extend(keeping::rows(outlook, explanation.estimate.batch_rows.unwrap_or(1.0)));
    rows
}

/// The part of the records of an epoch from which on it is told that they go for nothing.
pub(super) const DROPPED_TOLD: f64 = 0.01;

/// How long Python is kept busy, where functions are called there.
pub(super) fn python(explanation: &Explanation) -> Option<String> {
    let outlook = explanation.outlook.as_ref()?;
    Told { explanation, outlook }.python()
}

/// Where functions outside are called: in so many processes, or in the one that runs.
pub(super) fn called(processes: u32) -> String {
    match processes {
        0 => "one at a time under the GIL".to_owned(),
        1 => "in 1 separate process".to_owned(),
        n => format!("in {n} processes"),
    }
}

struct Told<'a> {
    explanation: &'a Explanation,
    outlook: &'a Outlook,
}

impl Told<'_> {
    /// Records in a second, of outputs in a second.
    fn records(&self, outputs: f64, origin: Origin) -> String {
        let value = outputs * self.explanation.estimate.batch_rows.unwrap_or(1.0);
        format!("{} records/s", rate(Figure { value, origin }))
    }

    fn dropped(&self, Dropped { step, records, of, origin }: &Dropped) -> String {
        let shown = |it: f64| whole(about(it, *origin));
        format!(
            "{step} drops the last {} of {} records each epoch, which wastes {} of the work: use `tail: keep` or \
             `tail: mask`, or a smaller batch",
            shown(*records),
            shown(*of),
            percent(records / of),
        )
    }

    /// Outputs in a second where all records of an epoch are given; none where they are not asked for.
    fn undropped(&self) -> Option<f64> {
        let solution = &self.outlook.solution;
        if matches!(solution.bounds.first()?.limit, Limit::Consumer) {
            return None;
        }
        let parts = self.outlook.dropped.iter().map(|it| it.of / (it.of - it.records));
        parts.max_by(f64::total_cmp).map(|it| solution.rate * it)
    }

    fn bounds(&self) -> String {
        let shown = |it: &Bound| {
            format!(
                "{}: {}",
                limit(self.explanation, self.outlook, it.limit),
                self.records(it.rate, it.origin)
            )
        };
        let solution = &self.outlook.solution;
        let near = solution.bounds.iter().filter(|it| it.rate <= solution.rate * NEAR);
        let bounds: Vec<String> = near.take(4).map(shown).collect();
        if bounds.is_empty() { "none known".to_owned() } else { bounds.join("; ") }
    }

    /// What was measured beside what was predicted.
    fn seen(&self) -> Option<String> {
        let (seen, predicted) = self.outlook.seen.as_ref()?;
        let off = |rate: f64| {
            let off = rate / seen.outputs_per_second - 1.0;
            format!("{}{}", if off < 0.0 { "-" } else { "+" }, percent(off.abs()))
        };
        let (model, before) = (predicted.measured, predicted.assumed);
        // Less is the system at its own work.
        let others = match seen.others {
            it if it < 0.2 => String::new(),
            it => format!(", while other programs used {it:.1} cores"),
        };
        Some(format!(
            "{} with {} in {:.0} s{others}; predicted from these costs: {} ({}); from default costs: {} ({})",
            self.records(seen.outputs_per_second, Origin::Measured),
            things(seen.workers as f64, "worker"),
            seen.seconds,
            self.records(model, Origin::Measured),
            off(model),
            self.records(before, Origin::Assumed),
            off(before),
        ))
    }

    /// How long Python is kept busy by the functions that are called there.
    fn python(&self) -> Option<String> {
        let steps = self.explanation.estimate.steps.iter();
        // With the calls for records that no batch is made of.
        let calls =
            steps.zip(self.outlook.network.visits().entering).flat_map(|(step, entering)| {
                let calls = step.calls.iter().filter(|it| it.is_outside());
                calls.map(move |it| (it, step.visits.value, entering))
            });
        let calls: Vec<_> = calls.collect();
        let names: Vec<String> = calls.iter().map(|it| format!("`{}`", it.0.name)).collect();
        let ns: Figure = calls.iter().map(|(it, visits, _)| it.ns.times(*visits)).sum();
        let all: f64 = calls.iter().map(|(it, _, entering)| it.ns.value * entering).sum();
        let share = all * self.outlook.solution.rate / 1e9;
        let rows = self.explanation.estimate.batch_rows.unwrap_or(1.0);
        let (names, each) = (names.join(", "), time(ns.times(1.0 / rows)));
        let processes = self.explanation.estimate.processes;
        let share = percent((share / f64::from(processes.max(1))).min(1.0));
        (!calls.is_empty()).then(|| match processes {
            0 => format!(
                "{names} holds the GIL {share} of the time, {each} per record: calls run one at a time, and other Python \
                 code waits"
            ),
            n => format!(
                "{names} is called {}, {each} per record: busy {share} of the time",
                called(n)
            ),
        })
    }

    fn verdict(&self) -> String {
        let solution = &self.outlook.solution;
        let busy = percent(solution.core_use);
        match solution.verdict {
            Verdict::Hardware => match solution.bounds.first().map(|it| it.limit) {
                Some(Limit::Cpu) => format!("hardware: {busy} of the cores are used"),
                Some(limit) => {
                    format!(
                        "hardware: limited by {}; {busy} of the cores are used",
                        self::limit(self.explanation, self.outlook, limit)
                    )
                }
                None => format!("hardware: {busy} of the cores are used"),
            },
            Verdict::Software => {
                format!("software: a step limits the pipeline to {busy} of the cores")
            }
            Verdict::Outside => "I/O: the source is the limit".to_owned(),
            Verdict::Consumer => {
                format!(
                    "data loading keeps up: the training step is slower, and {busy} of the cores are enough"
                )
            }
            Verdict::Unbounded => "no known limit".to_owned(),
        }
    }

    /// What would help next.
    fn next(&self) -> Option<String> {
        let today = self.outlook.solution.rate;
        let helps = self.outlook.helps.iter().map(|it| (self.remedy(it.remedy), it.rate));
        let helps = helps.filter(|it| it.1 > today * HELPS).take(3);
        let tail = self.undropped().filter(|it| *it > today * (1.0 + DROPPED_TOLD));
        let tail = tail.map(|it| ("`tail: keep` or `tail: mask`".to_owned(), it));
        let origin = self.explanation.estimate.rate.origin;
        let told = helps.chain(tail).map(|(what, rate)| {
            let more = percent(rate / today - 1.0);
            format!("{what}: {} (+{more})", self.records(rate, origin))
        });
        let told: Vec<String> = told.collect();
        (!told.is_empty()).then(|| told.join("; "))
    }

    fn remedy(&self, remedy: Remedy) -> String {
        let step = |at: usize| self.outlook.network.steps()[at].name.as_str();
        let cores = self.outlook.machine.cores;
        match remedy {
            Remedy::Core => format!("{} instead of {}", things(cores + 1.0, "core"), cores),
            Remedy::TwiceTheCores => {
                format!("{} instead of {}", things(cores * 2.0, "core"), cores)
            }
            Remedy::TwiceTheStorage(at) => faster_storage(self.outlook, at).to_owned(),
            Remedy::TwiceTheMemory => {
                format!("`--memory {}`", option_of(2.0 * self.outlook.machine.memory_bytes))
            }
            Remedy::TwiceTheMemoryBandwidth => "memory twice as fast".to_owned(),
            Remedy::Parallel(at) => {
                let calls = &self.explanation.estimate.steps[at].calls;
                let way = match self.explanation.estimate.processes {
                    _ if !calls.iter().any(CallEstimate::is_outside) => "on several threads",
                    0 => "in separate processes (`processes=` of `pipec.load`)",
                    _ => "in more processes",
                };
                format!("`{}` {way}", step(at))
            }
            Remedy::NoCap(at) => format!("no limit on `{}`", step(at)),
            Remedy::TwiceTheConsumer => "a training step twice as fast".to_owned(),
        }
    }
}

/// What bounds the rate, in words.
pub(super) fn limit(explanation: &Explanation, outlook: &Outlook, limit: Limit) -> String {
    let (machine, steps) = (&outlook.machine, outlook.network.steps());
    let estimate = &explanation.estimate;
    match limit {
        Limit::Step(at) if estimate.steps[at].calls_outside() => {
            format!("`{}`, called {}", steps[at].name, called(estimate.processes))
        }
        Limit::Cpu => things(machine.cores, "core"),
        Limit::Step(at) => format!("`{}`, partly sequential", steps[at].name),
        Limit::Segment(segment) => {
            let of = steps.iter().filter(|it| it.segment == Some(segment));
            let names: Vec<&str> = of.map(|it| it.name.as_str()).collect();
            let is_of = |(at, it): (usize, &Step)| {
                it.segment == Some(segment) && estimate.steps[at].calls_outside()
            };
            let how = match steps.iter().enumerate().any(is_of) {
                true => format!("called {}", called(estimate.processes)),
                false => "sequential, on one thread".to_owned(),
            };
            format!("`{}`, {how}", names.join("`, `"))
        }
        Limit::Cap(at) => format!("the rate limit of `{}`", steps[at].name),
        Limit::Storage(at) => {
            let Some(storage) = machine.storages.get(at) else { return "reading".to_owned() };
            if let Some(most) = storage.requests_max {
                let most = most.min(u64::from(READERS_MAX));
                return format!("{most} requests at a time to {}", storage.name);
            }
            let steps = steps.iter().filter_map(|it| it.reads);
            let pattern = steps.filter(|it| it.storage == at).map(|it| it.pattern).next();
            let curve = storage.curve(pattern.unwrap_or(Pattern::Random));
            let speed = Figure { value: curve.best(READERS_MAX), origin: storage.origin };
            format!("reading from {} at {}/s", storage.name, bytes(speed))
        }
        Limit::Memory(at) => {
            // Beside the one that the consumer has.
            let n = estimate.memory.n_batches.saturating_sub(1);
            let batches = plan::things(n, "batch", "batches");
            format!("memory for {batches} of {} at a time", bytes(steps[at].bytes_out))
        }
        Limit::MemoryBandwidth => "memory bandwidth".to_owned(),
        Limit::Consumer => "the training step".to_owned(),
    }
}

/// Which lists may be far longer or shorter than the figures of their steps say.
pub(super) fn lengths(explanation: &Explanation) -> Option<String> {
    let names = &explanation.assumed_lengths;
    let shown: Vec<String> = names.iter().take(NAMES_MAX).map(|it| format!("`{it}`")).collect();
    let more = if names.len() > NAMES_MAX { " and others" } else { "" };
    (!names.is_empty()).then(|| {
        format!(
            "axes of unknown length count as {AXIS} elements ({}{more}): run `pipec profile` for the real ones",
            shown.join(", ")
        )
    })
}

/// What helps where reading from a storage bounds.
pub(super) fn faster_storage(outlook: &Outlook, at: usize) -> &'static str {
    let is_far = outlook.machine.storages.get(at).is_some_and(|it| it.requests_max.is_some());
    if is_far { "a store twice as fast" } else { "a disk twice as fast" }
}
