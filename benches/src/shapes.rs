//! Predicted beside measured, on the cores that are here: pipelines of six shapes.
//!
//! Each is measured for a while; the model says from the costs of its steps how fast it should be,
//! and what bounds it. Then it is run with other numbers of threads, by turns: the plan that is
//! chosen without asking anybody is to be as fast as the best of them.

use crate::{Row, trial};
use driver::{
    Circumstances, Compiled, Stop,
    profile::{self, Measuring},
};
use model::{solve::Limit, what_if};
use runtime::reads;
use std::{env, fmt::Write, fs, path::PathBuf};

/// Rounds of the comparison with other numbers of threads.
const ROUNDS: usize = 5;
/// Seconds of each of them.
const SECONDS: f64 = 1.5;

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
    let mut errors = Vec::new();
    for shape in shapes() {
        reads::hold_back(shape.disk);
        rows.extend(rows_of(&shape, &mut errors));
        reads::hold_back(None);
    }
    errors.sort_by(f64::total_cmp);
    let (median, most) = (errors[errors.len() / 2], errors[errors.len() - 1]);
    rows.push(Row {
        id: "all".to_owned(),
        claim: "the median error is at most 10 %, none over 20 %".to_owned(),
        figure: format!("{:.1} %, {:.1} % at most", median * 100.0, most * 100.0),
        holds: median <= 0.10 && most <= 0.20,
    });
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
        let text = format!(
            "pipeline p = jsonl(\"{}\") |> map {{ x: row[\"x\"] as f64 }} |> batch(256)",
            lines.display()
        );
        shapes.push(shape("in order", &text, "jsonl"));
    }
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let images = root.join("../shared/data/images/imagenet");
    if let Ok(text) = fs::read_to_string(root.join("examples/imagenet.pipe"))
        && images.exists()
    {
        let own = "sample:images?count=1000";
        let text = text.replace(own, &images.display().to_string());
        let train = text.split("pipeline val").next().unwrap_or_default();
        shapes.push(shape("images", train, "map#1"));
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

fn rows_of(shape: &Shape, errors: &mut Vec<f64>) -> Vec<Row> {
    let compiled = trial::compiled(&shape.text);
    let cores = driver::cores();
    let measuring = Measuring { workers: cores, memory: 2 << 30, seconds: 6.0 };
    let measured = profile::measure(&compiled, &measuring, &Stop::default(), &mut |_| {});
    let profile = measured.expect("it can be run");
    let observed = profile.outputs as f64 / profile.seconds;
    let compiled = compiled.on_cores(None, Some(&profile.measured));
    let changes = shape.disk.map(|it| format!("disk={it}B/s"));
    let circumstances = Circumstances {
        changes: changes.map_or(Vec::new(), |it| what_if::parse(&it).expect("it is a change")),
        epochs: 1,
        profile: Some(profile),
        ..Circumstances::default()
    };
    let view = compiled.view(&circumstances, &mut |_| {}).expect("it can be looked at");
    let explained = compiled.explanation(view);
    let outlook = explained.outlook.as_ref().expect("it is a tree");
    let error = outlook.solution.rate / observed - 1.0;
    errors.push(error.abs());
    let bound = outlook.solution.bounds.first().map(|it| it.limit);
    let step = &explained.estimate.steps[explained.estimate.bottleneck].step;
    let named = match bound {
        Some(Limit::Storage(_)) => "disk".to_owned(),
        _ => step.clone(),
    };
    let row = |claim: &str, figure: String, holds: bool| Row {
        id: shape.name.to_owned(),
        claim: claim.to_owned(),
        figure,
        holds,
    };
    let (ours, best, workers) = sweep(&compiled, cores);
    vec![
        row(
            "predicted within 20 % of measured",
            format!(
                "{:.1} of {observed:.1} outputs/s, {:+.1} %",
                outlook.solution.rate,
                error * 100.0
            ),
            error.abs() <= 0.20,
        ),
        row("the bottleneck is named", named.clone(), named.contains(shape.bound)),
        row(
            "the chosen plan is within 3 % of the best",
            format!("{:.1} %, the best has {workers} workers", (ours / best - 1.0) * 100.0),
            ours >= 0.97 * best,
        ),
    ]
}

/// Outputs in a second as chosen, and with the best number of workers, by turns.
fn sweep(compiled: &Compiled, cores: usize) -> (f64, f64, usize) {
    let all = [1, cores, cores + 1, 2 * cores];
    let mut rates = vec![Vec::new(); all.len()];
    for _ in 0..ROUNDS {
        for (workers, rates) in all.iter().zip(&mut rates) {
            let way = trial::Way { workers: *workers, ..trial::Way::default() };
            rates.push(trial::rate(&compiled.program, way, (1, SECONDS)));
        }
    }
    let medians: Vec<f64> = rates.into_iter().map(median).collect();
    let chosen = medians[1];
    let best = (0..all.len()).max_by(|&a, &b| medians[a].total_cmp(&medians[b])).unwrap_or(1);
    (chosen, medians[best], all[best])
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}
