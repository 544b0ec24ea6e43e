//! Two measured runs beside each other: what each step costs, how fast they were, what bounds them.
//!
//! A stage does the work of several steps, and another plan may cut it otherwise. So stages are put
//! together until each step is in one piece of work; its cost for a record that leaves the pipeline
//! is the sum of its stages' costs.

use super::{
    Observed,
    figures::{percent, rate, things, time},
    table::{Cell, lines},
};
use crate::estimate::{Figure, Origin, call_name};
use plan::{Code, ExprId, Index, StageId};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Calls with a smaller part of the processor time than this are not shown.
const SHOWN: f64 = 0.01;
/// Bounds that are told of each run.
const BOUNDS: usize = 3;

/// Two runs beside each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The one.
    pub a: SideFigures,
    /// The other.
    pub b: SideFigures,
    /// What both do, in the order of the first; then what the second alone does.
    pub work: Vec<WorkCompared>,
}

/// One of the runs, in all.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SideFigures {
    /// What it is called: the file that it was read from.
    pub name: String,
    /// Its pipeline.
    pub pipeline: String,
    /// Cores that it could use.
    pub cores: usize,
    /// Threads that computed.
    pub workers: usize,
    /// How fast it was.
    pub records_per_second: f64,
    /// Processor time for each record that left, in nanoseconds.
    pub ns: f64,
    /// The share of the time that the consumer waited: 0 to 1.
    pub stall_share: f64,
    /// The steps that bound it, or that take most of what does; none where nothing was measured.
    pub bottleneck: Option<String>,
    /// What bounds it, with records in a second; the tightest first.
    pub bounds: Vec<(String, f64)>,
}

/// Some work, in both runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct WorkCompared {
    /// The steps that do it, by their stable names.
    pub steps: Vec<String>,
    /// Those that are in the first run alone.
    pub only_a: Vec<String>,
    /// Those that are in the second run alone.
    pub only_b: Vec<String>,
    /// Processor time for each record that left, in nanoseconds, where a run does it.
    pub ns: [Option<f64>; 2],
    /// The same of each function within it.
    pub calls: BTreeMap<String, [Option<f64>; 2]>,
}

impl Comparison {
    /// Sets two runs, each with its name, beside each other.
    pub fn of(a: (&str, &Observed<'_>), b: (&str, &Observed<'_>)) -> Self {
        let mut work = Vec::new();
        for (side, run) in [a.1, b.1].into_iter().enumerate() {
            for stage in 0..run.measured.stages.len() {
                add(&mut work, (side, stage), run);
            }
        }
        let of_side = |run: &Observed<'_>| -> BTreeSet<String> {
            run.measured.stages.iter().flat_map(|it| it.steps.iter().cloned()).collect()
        };
        let all = [a.1, b.1].map(of_side);
        for it in &mut work {
            let alone = |other: &BTreeSet<String>| -> Vec<String> {
                it.steps.iter().filter(|step| !other.contains(*step)).cloned().collect()
            };
            (it.only_a, it.only_b) = (alone(&all[1]), alone(&all[0]));
        }
        Self { a: figures(a.0, a.1), b: figures(b.0, b.1), work }
    }

    /// As text of any width; lines end with `\n`.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        let empty = || vec![vec![Cell::left("")]];
        for table in [self.heads(), empty(), self.table(), empty(), self.rest()] {
            for line in lines(&table) {
                text.push_str(&line);
                text.push('\n');
            }
        }
        text
    }

    fn heads(&self) -> Vec<Vec<Cell>> {
        let head = |letter: &str, it: &SideFigures| {
            let bound = it.bottleneck.as_deref().unwrap_or("unknown");
            let of = format!("{} of {}", it.pipeline, it.name);
            let [cores, workers] = [(it.cores, "core"), (it.workers, "worker")]
                .map(|(n, what)| things(n as f64, what));
            let bound = format!("{cores}, {workers}, bottleneck: {bound}");
            let of = format!("{of}: {} records/s", rate(measured(it.records_per_second)));
            vec![Cell::left(letter), Cell::left(of), Cell::left(bound)]
        };
        vec![head("A", &self.a), head("B", &self.b)]
    }

    fn table(&self) -> Vec<Vec<Cell>> {
        let head = ["A", "B", "change", "share A", "share B"].map(Cell::right);
        let first = Cell::left("CPU time per record");
        let mut rows = vec![[first].into_iter().chain(head).collect()];
        let all = [self.a.ns, self.b.ns];
        for it in &self.work {
            rows.push(row(it.steps.join(", "), it.ns, all));
            // What is one call says it all by itself.
            let is_dear = |ns: &[Option<f64>; 2]| {
                ns.iter().zip(all).any(|(it, all)| it.unwrap_or(0.0) >= SHOWN * all)
            };
            let mut dear: Vec<_> = it.calls.iter().filter(|it| is_dear(it.1)).collect();
            dear.sort_by(|x, y| most(y.1).total_cmp(&most(x.1)));
            if it.calls.len() > 1 {
                rows.extend(
                    dear.into_iter().map(|(name, ns)| row(format!("    {name}"), *ns, all)),
                );
            }
        }
        rows.push(row("in all".to_owned(), all.map(Some), all));
        let rates = [self.a.records_per_second, self.b.records_per_second];
        let shown = rates.map(|it| Cell::right(rate(measured(it))));
        let mut last = vec![Cell::left("records/s")];
        last.extend(shown);
        last.push(Cell::right(change(rates.map(Some))));
        rows.push(last);
        rows
    }

    fn rest(&self) -> Vec<Vec<Cell>> {
        let mut rows = Vec::new();
        let mut row =
            |name: &str, text: String| rows.push(vec![Cell::left(name), Cell::left(text)]);
        for (name, it) in [("limits A", &self.a), ("limits B", &self.b)] {
            let bound =
                |it: &(String, f64)| format!("{}: {} records/s", it.0, rate(measured(it.1)));
            let bounds: Vec<String> = it.bounds.iter().take(BOUNDS).map(bound).collect();
            row(name, bounds.join("; "));
        }
        let [a, b] = [self.a.stall_share, self.b.stall_share].map(percent);
        row("consumer", format!("waited {a} of the time in A, {b} in B"));
        let only = |of: fn(&WorkCompared) -> &Vec<String>| {
            self.work.iter().flat_map(of).cloned().collect::<Vec<_>>().join(", ")
        };
        let alone = [("only in A", only(|it| &it.only_a)), ("only in B", only(|it| &it.only_b))];
        for (name, steps) in alone.into_iter().filter(|it| !it.1.is_empty()) {
            row(name, steps);
        }
        rows
    }
}

fn row(name: String, ns: [Option<f64>; 2], all: [f64; 2]) -> Vec<Cell> {
    let cost = |it: Option<f64>| it.map_or("–".to_owned(), |it| time(measured(it)));
    let share = |side: usize| {
        let share = ns[side].filter(|_| all[side] > 0.0).map(|it| it / all[side]);
        share.map_or("–".to_owned(), percent)
    };
    let numbers = [cost(ns[0]), cost(ns[1]), change(ns), share(0), share(1)];
    [Cell::left(name)].into_iter().chain(numbers.map(Cell::right)).collect()
}

/// By how much the second is more than the first: `+12%`.
fn change(both: [Option<f64>; 2]) -> String {
    match both {
        [Some(a), Some(b)] if a > 0.0 && b / a >= 10.0 => format!("× {}", rate(measured(b / a))),
        [Some(a), Some(b)] if a > 0.0 => format!("{:+.0}%", 100.0 * (b / a - 1.0)),
        _ => String::new(),
    }
}

fn measured(value: f64) -> Figure {
    Figure { value, origin: Origin::Measured }
}

fn most(ns: &[Option<f64>; 2]) -> f64 {
    ns.iter().flatten().copied().fold(0.0, f64::max)
}

/// Adds a stage of a run to the work that it is of, and makes one of all that it joins.
fn add(work: &mut Vec<WorkCompared>, (side, stage): (usize, usize), run: &Observed<'_>) {
    let own = &run.measured.stages[stage];
    let is_same = |it: &WorkCompared| it.steps.iter().any(|step| own.steps.contains(step));
    let at = work.iter().position(is_same).unwrap_or(work.len());
    let (joined, mut rest): (Vec<_>, Vec<_>) = work.drain(..).partition(is_same);
    let mut one = joined.into_iter().reduce(merged).unwrap_or_default();
    let new: Vec<String> = own.steps.iter().filter(|it| !one.steps.contains(it)).cloned().collect();
    one.steps.extend(new);
    let each = |ns: f64| ns / run.records.max(1) as f64;
    *one.ns[side].get_or_insert(0.0) += each(own.cpu_ns);
    for (name, ns) in calls(run, stage) {
        *one.calls.entry(name).or_default()[side].get_or_insert(0.0) += each(ns);
    }
    rest.insert(at.min(rest.len()), one);
    *work = rest;
}

fn merged(mut one: WorkCompared, other: WorkCompared) -> WorkCompared {
    let sum = |a: Option<f64>, b: Option<f64>| a.map_or(b, |a| Some(a + b.unwrap_or(0.0)));
    let both = |a: [Option<f64>; 2], b: [Option<f64>; 2]| [sum(a[0], b[0]), sum(a[1], b[1])];
    one.steps.extend(other.steps);
    one.ns = both(one.ns, other.ns);
    for (name, ns) in other.calls {
        let own = one.calls.entry(name).or_default();
        *own = both(*own, ns);
    }
    one
}

/// Processor time of each function of a stage, in nanoseconds, over the whole run.
fn calls(run: &Observed<'_>, stage: usize) -> Vec<(String, f64)> {
    let own = &run.measured.stages[stage];
    let Some(code) = run.program.stages.get(StageId::new(stage)) else { return Vec::new() };
    match &code.code {
        Code::Transform(transform) => own
            .calls
            .iter()
            .filter_map(|it| {
                let ns = own.call_ns(it.node)? * own.entered as f64;
                Some((call_name(&transform.graph, ExprId(it.node)), ns))
            })
            .collect(),
        _ => vec![(code.entry().unwrap_or_default().to_owned(), own.cpu_ns)],
    }
}

/// A run in all.
fn figures(name: &str, run: &Observed<'_>) -> SideFigures {
    let stages = &run.measured.stages;
    let records = run.records.max(1) as f64;
    let ns = stages.iter().map(|it| it.cpu_ns).sum::<f64>() / records;
    let cores = run.workers.min(run.cores).max(1);
    let dearest = stages.iter().max_by(|a, b| a.cpu_ns.total_cmp(&b.cpu_ns));
    let dearest = dearest.filter(|it| it.cpu_ns > 0.0).map(|it| it.steps.join(", "));
    let all =
        (format!("{} of CPU time", things(cores as f64, "core")), cores as f64 * 1e9 / ns, dearest);
    let in_order = stages.iter().filter(|it| it.serial_ns > 0.0).map(|it| {
        let steps = it.steps.join(", ");
        let rate = 1e9 * records / it.serial_ns;
        (format!("`{steps}`, sequential on one thread"), rate, Some(steps))
    });
    let mut bounds: Vec<_> = [all].into_iter().chain(in_order).collect();
    bounds.retain(|it| it.1.is_finite());
    bounds.sort_by(|a, b| a.1.total_cmp(&b.1));
    SideFigures {
        name: name.to_owned(),
        pipeline: run.program.name.clone(),
        cores: run.cores,
        workers: run.workers,
        records_per_second: run.records_per_second(),
        ns,
        stall_share: run.stall_share(),
        bottleneck: bounds.first().and_then(|it| it.2.clone()),
        bounds: bounds.into_iter().map(|it| (it.0, it.1)).collect(),
    }
}
