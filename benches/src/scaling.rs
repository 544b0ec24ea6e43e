//! The executor against the bound of the model on 16 to 96 virtual cores, for batches
//! of 16 to 1,024 records, even and uneven ones.

use crate::{
    Row,
    trial::{self, Virtual, Way},
};
use driver::{Circumstances, Compiled, Profile};
use model::{solve::Limit, what_if::Change};
use std::{env, time::Instant};

/// What records take, and what is asked.
struct Shape {
    name: &'static str,
    record: &'static str,
    /// The part of the bound that is to be reached.
    least: f64,
    /// How many times as slow everything is for each virtual core that a real one stands for: what is
    /// not slept, such as the writing of pictures, has to fit into the real ones.
    slack: f64,
    /// Seconds of the machine that is not there: uneven records have to be many.
    seconds: f64,
    /// Seconds here in which the costs are measured, at most: the same.
    profiled: f64,
}

const PICTURES: f64 = 1.5;
const NUMBERS: f64 = 0.3;

const SHAPES: [Shape; 5] = [
    Shape {
        name: "small",
        record: "{ x: busy(f32(i), 1ms) }",
        least: 0.95,
        slack: NUMBERS,
        seconds: 0.2,
        profiled: 3.0,
    },
    Shape {
        name: "large",
        record: "{ x: busy(full([3, 224, 224], f32(1)), 1ms) }",
        least: 0.95,
        slack: PICTURES,
        seconds: 0.06,
        profiled: 3.0,
    },
    // A picture of ImageNet as it costs here: decoded, cropped, normalised.
    Shape {
        name: "w1",
        record: "{ x: busy(full([3, 224, 224], f32(1)), 0.55ms * exp(normal(0.0, 0.5)) / 1.133) }",
        least: 0.95,
        slack: PICTURES,
        seconds: 0.1,
        profiled: 12.0,
    },
    // Log-normal, σ = 1: its mean is 1.
    Shape {
        name: "uneven",
        record: "{ x: busy(f32(i), 1ms * exp(normal(0.0, 1.0)) / 1.6487) }",
        least: 0.92,
        slack: NUMBERS,
        seconds: 0.8,
        profiled: 12.0,
    },
    // One in a hundred takes twenty times as long: 1.19 ms on average.
    Shape {
        name: "rare",
        record: "{ x: busy(f32(i), if uniform(0.0, 1.0) < 0.01 then 20ms else 1ms) }",
        least: 0.92,
        slack: NUMBERS,
        seconds: 0.8,
        profiled: 12.0,
    },
];
const CORES: [usize; 4] = [16, 32, 64, 96];
const BATCHES: [u64; 6] = [16, 32, 64, 128, 256, 1024];

/// The rows of the table; of the shapes, cores and batches alone that `SCALING` names, such as
/// `large 96 32`, or `all 96 all`, or of the questions alone, such as `what-if memory`. A fourth word is the slack, where other programs take the real cores.
pub(crate) fn rows() -> Vec<Row> {
    let asked = env::var("SCALING").unwrap_or_default();
    let asked: Vec<&str> = asked.split_whitespace().collect();
    let wants = |at: usize, name: &str| asked.get(at).is_none_or(|it| *it == name || *it == "all");
    let mut rows = if wants(0, "tasks") { tasks() } else { Vec::new() };
    if wants(0, "what-if") {
        rows.extend(OTHERS.iter().filter(|it| wants(1, it.name)).map(what_if));
    }
    for mut shape in SHAPES.into_iter().filter(|it| wants(0, it.name)) {
        shape.slack = asked.get(3).and_then(|it| it.parse().ok()).unwrap_or(shape.slack);
        for batch in BATCHES.into_iter().filter(|it| wants(2, &it.to_string())) {
            let record = shape.record;
            let text = format!("pipeline p = range(10_000_000) |> map {record} |> batch({batch})");
            let compiled = trial::compiled(&text);
            let profile = measured(&compiled, &shape);
            for cores in CORES.into_iter().filter(|it| wants(1, &it.to_string())) {
                let found = reached(&compiled, &shape, (cores, batch));
                let told = told(&compiled, &profile, (cores, batch));
                let (share, memory) = (found.rate / told.rate, found.memory / told.memory);
                let row = Row::new(
                    &format!("{} {cores} × {batch}", shape.name),
                    &format!(
                        "at least {:.0}% of the bound, in no more memory than is told",
                        shape.least * 100.0
                    ),
                    format!(
                        "{:.0} of {:.0} records/s ({:.1}%), {:.0} of {:.0} MB",
                        found.rate,
                        told.rate,
                        share * 100.0,
                        found.memory / 1e6,
                        told.memory / 1e6,
                    ),
                    share >= shape.least && memory <= 1.0,
                );
                println!("      {}: {}", row.id, row.figure);
                rows.push(row);
            }
        }
    }
    rows
}

/// What a task costs that does next to nothing: its way through the lock, twice, and its wake-ups.
fn tasks() -> Vec<Row> {
    let compiled = trial::compiled("pipeline p = range(1_000_000_000) |> map { x: i * 3 }");
    let one = |threads: usize| {
        let way = Way { chunk_rows: Some(1), ..Way::workers(threads) };
        let begin = Instant::now();
        let seen = trial::watch(&compiled.program, &way, (1000, 3.0));
        let tasks: u64 = seen.stats.stages.iter().map(|it| it.tasks).sum();
        let rate = tasks as f64 / begin.elapsed().as_secs_f64();
        let records: u64 = seen.stats.stages.last().map_or(1, |it| it.records);
        (rate, seen.cpu * records as f64 / tasks as f64)
    };
    let rows = [1, 2, 64, 128].map(|threads| {
        let (rate, cpu) = one(threads);
        let share = cpu * 100_000.0 / 96.0;
        let row = Row::new(
            &format!("tasks {threads} threads"),
            "100,000 a second take at most 2% of 96 cores",
            format!("{rate:.0}/s, {:.2} µs each: {:.2}%", cpu * 1e6, share * 100.0),
            share <= 0.02,
        );
        println!("      {}: {}", row.id, row.figure);
        row
    });
    rows.into()
}

/// A machine that `explain --what-if` is asked about, and what bounds there.
struct Other {
    name: &'static str,
    text: &'static str,
    cores: usize,
    memory: u64,
    bound: fn(Limit) -> bool,
}

const OTHERS: [Other; 4] = [
    Other {
        name: "cores",
        text: "pipeline p = range(10_000_000) |> map { x: busy(f32(i), 1ms) } |> batch(128)",
        cores: 96,
        memory: 1 << 30,
        bound: |it| it == Limit::Cpu,
    },
    Other {
        name: "memory",
        text: "pipeline p = range(10_000_000) \
               |> map { x: busy(full([3, 224, 224], f32(1)), 1ms) } |> batch(32)",
        cores: 96,
        memory: 100 << 20,
        bound: |it| matches!(it, Limit::Memory(_)),
    },
    Other {
        name: "a serial step",
        text: "pipeline p = range(10_000_000) |> map { x: busy(f32(i), 1ms) } \
               |> map { x: busy(x, 50us, alone: true) } |> batch(128)",
        cores: 64,
        memory: 1 << 30,
        bound: |it| matches!(it, Limit::Step(_) | Limit::Segment(_)),
    },
    Other {
        name: "batches by length",
        text: "pipeline p = range(10_000_000) |> map { x: busy(f32(i), 1ms), n: i % 3 } \
               |> batch(64, by: n, bounds: [1, 2])",
        cores: 64,
        memory: 1 << 30,
        bound: |it| it == Limit::Cpu,
    },
];

/// What `explain --what-if` says with costs that were measured on few cores, beside the run there.
fn what_if(other: &Other) -> Row {
    let Other { name, text, cores, memory, bound } = *other;
    let compiled = trial::compiled(text);
    let slack = if name == "memory" { PICTURES } else { NUMBERS };
    let slower = (slack * cores as f64 / driver::real_cores() as f64).max(2.0);
    let profile = {
        let _virtual = Virtual::begin((FEW, 8.0), None);
        trial::profile(&compiled, FEW, 5.0)
    };
    let changes = vec![Change::Cores(cores as f64), Change::Memory(memory as f64)];
    let circumstances =
        Circumstances { changes, profile: Some(profile), ..Circumstances::default() };
    let solution = trial::outlook(&trial::explained(&compiled, &circumstances)).solution.clone();
    let _virtual = Virtual::begin((cores, slower), None);
    let way = Way { memory, ..Way::workers(cores) };
    let rate = trial::rate(&compiled.program, &way, (60, 0.3 * slower));
    let off = solution.rate / rate - 1.0;
    let is_right = solution.bounds.first().is_some_and(|it| bound(it.limit));
    let row = Row::new(
        &format!("what-if {name}"),
        "within 10% of the run, and it is what bounds",
        format!("{:.0} batches/s, {rate:.0} reached ({:+.1}%)", solution.rate, off * 100.0),
        off.abs() <= 0.1 && is_right,
    );
    println!("      {}: {}, {:?}", row.id, row.figure, solution.bounds.first());
    row
}

/// Virtual cores on which the costs are measured.
const FEW: usize = 4;
/// Bytes that the host has for it.
const MEMORY: u64 = 16 << 30;

fn slower(shape: &Shape, cores: usize) -> f64 {
    (shape.slack * cores as f64 / driver::real_cores() as f64).max(1.0)
}

/// Records a second, and the bytes that it takes.
struct Figures {
    rate: f64,
    memory: f64,
}

/// What is measured on few cores.
fn measured(compiled: &Compiled, shape: &Shape) -> Profile {
    let _virtual = Virtual::begin((FEW, slower(shape, FEW).max(2.0)), None);
    trial::profile(compiled, FEW, shape.profiled)
}

/// What `explain` says of so many cores with the costs that were measured on few.
fn told(compiled: &Compiled, profile: &Profile, (cores, batch): (usize, u64)) -> Figures {
    let changes = vec![Change::Cores(cores as f64), Change::Memory(MEMORY as f64)];
    let profile = Some(profile.clone());
    let circumstances = Circumstances { changes, profile, ..Circumstances::default() };
    let explanation = trial::explained(compiled, &circumstances);
    let rate = trial::outlook(&explanation).solution.rate * batch as f64;
    Figures { rate, memory: explanation.estimate.memory.total().value }
}

/// What is reached once all is under way.
fn reached(compiled: &Compiled, shape: &Shape, (cores, batch): (usize, u64)) -> Figures {
    let slower = slower(shape, cores);
    let _virtual = Virtual::begin((cores, slower), None);
    let way = Way { memory: MEMORY, ..Way::workers(cores) };
    // What is under way at the beginning, at least, and then as many batches as make a burst small.
    let warm = (40 * cores as u64).div_ceil(batch).max(4);
    let per_batch = batch as f64 / cores as f64 * 1e-3;
    let seconds = (20.0 * per_batch).max(shape.seconds) * slower;
    let seen = trial::watch(&compiled.program, &way, (warm, seconds));
    Figures { rate: seen.rate * batch as f64, memory: seen.stats.memory_peak as f64 }
}
