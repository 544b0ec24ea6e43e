//! Predicted beside measured, on the cores that are here: pipelines of six shapes.
//!
//! Each is measured for a while; the model says from the costs of its steps how fast it should be,
//! and what bounds it. Then it is run with several numbers of threads, by turns: with that which
//! `tune` chooses it is to be as fast as with the best of them.

use crate::{
    Row,
    trial::{self, Virtual, Way, median},
};
use driver::{
    Circumstances, Compiled, Profile, Stop,
    tune::{Wanted, tune},
};
use model::{solve::Limit, strategy::Objective, what_if};
use std::{env, fmt::Write, fs, path::PathBuf};

/// Rounds of the comparison with other numbers of threads.
const ROUNDS: usize = 10;
/// Seconds of each run in them.
const SECONDS: f64 = 1.0;
/// The longest that tuning may take.
const TUNING_SECONDS: f64 = 24.0;

/// A pipeline of a shape.
struct Shape {
    name: &'static str,
    text: String,
    /// Bytes a second that may be read.
    disk: Option<u64>,
    /// What bounds it: a word of the bottleneck's step, or `disk`.
    bound: &'static str,
}

/// The rows of the table.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut errors: [Vec<f64>; 2] = Default::default();
    // One of them alone: `-- shapes "tiny records"`.
    let one = env::args().nth(2);
    for shape in shapes().into_iter().filter(|it| one.as_ref().is_none_or(|one| it.name == one)) {
        let _disk = shape.disk.map(Virtual::disk);
        rows.extend(rows_of(&shape, &mut errors));
    }
    let claim = "the median error is at most 10 %, none over 20 %";
    for (id, mut errors) in
        [("all, one core", errors[0].clone()), ("all, as chosen", errors[1].clone())]
    {
        errors.sort_by(f64::total_cmp);
        let (median, most) = (errors[errors.len() / 2], errors[errors.len() - 1]);
        let figure = format!("{:.1} %, {:.1} % at most", median * 100.0, most * 100.0);
        rows.push(Row::new(id, claim, figure, median <= 0.10 && most <= 0.20));
    }
    rows
}

fn shapes() -> Vec<Shape> {
    let shape = |name, text: &str, bound| Shape { name, text: text.to_owned(), disk: None, bound };
    let mut shapes = vec![
        shape(
            "processor",
            "pipeline p = range(100000) |> shuffle |> map { i: busy(i, time: 0.0005) } \
             |> map { i: busy(i, time: 0.002) } |> batch(16)",
            "map#2",
        ),
        Shape {
            disk: Some(50_000_000),
            ..shape(
                "disk",
                "pipeline p = range(100000) |> map { i: busy(i, time: 0.0002, bytes: 100000) } \
                 |> batch(16)",
                "disk",
            )
        },
        shape(
            "tiny records",
            "pipeline p = range(50000000) |> map { x: i * 3 + 1 } |> where x % 7 != 0 \
             |> shuffle(window: 8192) |> batch(256)",
            "",
        ),
        shape(
            "skewed costs",
            "pipeline p = range(100000) |> map { i, t: uniform(0.0, 1.0) } \
             |> map { i: if t < 0.05 then busy(i, time: 0.02) else busy(i, time: 0.0005) } |> batch(16)",
            "map#2",
        ),
    ];
    if let Some(lines) = lines() {
        let lines = lines.display();
        let text = format!("pipeline p = lines(\"{lines}\") |> map {{ n: 1 }} |> batch(256)");
        shapes.push(shape("in order", &text, "lines"));
    }
    if let Some(text) = trial::images_text() {
        shapes.push(shape("images", &text, "map#1"));
    }
    shapes
}

/// A file of lines that are read in order.
fn lines() -> Option<PathBuf> {
    let path = env::temp_dir().join(format!("pipec-shapes-{}.jsonl", std::process::id()));
    let mut text = String::new();
    for i in 0..400_000 {
        let _ = writeln!(text, "{{\"id\": {i}, \"x\": {}, \"y\": {}}}", f64::from(i) * 0.5, i % 97);
    }
    fs::write(&path, text).ok()?;
    Some(path)
}

fn rows_of(shape: &Shape, errors: &mut [Vec<f64>; 2]) -> Vec<Row> {
    let compiled = trial::compiled(&shape.text);
    let cores = driver::cores();
    let assumed = predicted(&compiled, (shape, cores), None);
    // Before tuning one core does it all, after it as many threads as were chosen.
    let one = trial::on_one_core(|| trial::profile(&compiled, 1, 6.0));
    let workers = tuned(&compiled);
    let all = trial::profile(&compiled, workers, 6.0);
    let told = [(1, one), (cores, all)];
    let told = told.map(|(cores, it)| predicted(&compiled, (shape, cores), Some(it)));
    let Measured { one_core, chosen, best } = sweep(&compiled, (cores, workers));
    let seen = [one_core, chosen];
    let off = [0, 1].map(|it| told[it].rate / seen[it] - 1.0);
    errors.iter_mut().zip(off).for_each(|(all, off)| all.push(off.abs()));
    let row = |claim: &str, figure: String, holds: bool| Row::new(shape.name, claim, figure, holds);
    let beside =
        |at: usize| format!("{:.1} of {:.1}/s, {:+.1} %", told[at].rate, seen[at], off[at] * 100.0);
    vec![
        row(
            "predicted within 20 % of measured, on one core and as chosen",
            format!(
                "{}; {} (with assumed costs {:+.0} %)",
                beside(0),
                beside(1),
                (assumed.rate / chosen - 1.0) * 100.0
            ),
            off.iter().all(|it| it.abs() <= 0.20),
        ),
        row(
            "the bottleneck is named",
            format!("`{}`", told[1].named),
            told[1].named.contains(shape.bound),
        ),
        row(
            "the chosen plan is within 3 % of the best",
            format!(
                "{workers} workers, {:+.1} % of that with {}",
                (chosen / best.0 - 1.0) * 100.0,
                best.1
            ),
            chosen >= 0.97 * best.0,
        ),
    ]
}

/// What is predicted.
struct Told {
    rate: f64,
    /// What bounds it: a step, or `disk`.
    named: String,
}

fn predicted(
    compiled: &Compiled,
    (shape, cores): (&Shape, usize),
    profile: Option<Profile>,
) -> Told {
    let disk = shape.disk.map_or_else(String::new, |it| format!(",disk={it}B/s"));
    let changes = format!("cores={cores}{disk}");
    let circumstances = Circumstances {
        changes: what_if::parse(&changes).expect("it is a change"),
        epochs: 1,
        profile,
        ..Circumstances::default()
    };
    let explained = trial::explained(compiled, &circumstances);
    let solution = &trial::outlook(&explained).solution;
    let bound = solution.bounds.first().map(|it| it.limit);
    let step = &explained.estimate.steps[explained.estimate.bottleneck].step;
    let named = if matches!(bound, Some(Limit::Storage(_))) { "disk" } else { step };
    Told { rate: solution.rate, named: named.to_owned() }
}

/// What was measured by turns, in outputs a second.
struct Measured {
    /// On one core alone.
    one_core: f64,
    /// With as many threads as were chosen.
    chosen: f64,
    /// With the best number of threads of all that were tried, and how many they are.
    best: (f64, usize),
}

/// Threads that `tune` chooses.
fn tuned(compiled: &Compiled) -> usize {
    let cores = driver::cores();
    let (memory, consumer, host) = (Some(trial::MEMORY), None, None);
    let wanted = Wanted {
        seconds: TUNING_SECONDS,
        cores,
        epochs: 1,
        memory,
        whole_process: false,
        consumer,
        host,
        objective: Objective::default(),
    };
    let tuned = tune(compiled, &wanted, &Stop::default(), &mut |_| {});
    tuned.expect("it can be run").chosen.workers
}

fn sweep(compiled: &Compiled, (cores, chosen): (usize, usize)) -> Measured {
    let all = [1, cores, cores + 1, 2 * cores];
    let program = &compiled.program;
    // What a disk has let through in a rush is over after a third of a second.
    let first = trial::rate(program, &Way::workers(cores), (1, SECONDS));
    let warm = ((first / 3.0) as u64).max(1);
    let (mut one_core, mut rates) = (Vec::new(), vec![Vec::new(); all.len()]);
    for _ in 0..ROUNDS {
        for (workers, rates) in all.iter().zip(&mut rates) {
            rates.push(trial::rate(program, &Way::workers(*workers), (warm, SECONDS)));
        }
        one_core.push(trial::on_one_core(|| {
            trial::rate(program, &Way::workers(1), (warm.div_ceil(2), SECONDS))
        }));
    }
    let rates: Vec<f64> = rates.into_iter().map(median).collect();
    let best = (0..all.len()).max_by(|a, b| rates[*a].total_cmp(&rates[*b])).unwrap_or(0);
    let chosen = all.iter().position(|it| *it == chosen).map_or(0.0, |it| rates[it]);
    Measured { one_core: median(one_core), chosen, best: (rates[best], all[best]) }
}
