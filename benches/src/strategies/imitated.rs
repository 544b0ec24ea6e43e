//! S3: PRESTO's pipelines by the real executor, on eight virtual cores: steps that take as long as PRESTO's, values of a tenth
//! of the bytes, and a disk with a tenth of the speed.

use super::{
    paper::{Costs, Paper, Pipeline},
    site::{Site, Target, compiled},
};
use crate::{
    Row,
    trial::{self, Virtual, Way},
};
use compiler::estimate::Strategies;
use driver::Circumstances;
use model::strategy::Objective;
use std::fmt::Write;

/// Bytes are so many times fewer.
const FEWER: f64 = 10.0;
/// Records in a real second: as slow as that, what sleeps sleeps long enough.
const EACH_SECOND: f64 = 250.0;
/// A core makes so many chunks in a second at the most.
const CHUNKS: f64 = 150.0;
/// Records of the data set: as many as are made in so many seconds, in bounds.
const FILL_SECONDS: f64 = 1.5;
const RECORDS: (f64, f64) = (12.0, 200.0);
/// Rounds, in each of which every core makes a chunk, that a rate is measured of; and bounds for the seconds of that.
const MEASURED: f64 = 20.0;
const SECONDS: (f64, f64) = (1.5, 9.0);

/// A pipeline of the paper as a program.
struct Imitation<'a> {
    of: &'a Pipeline,
    costs: Costs,
    records: u64,
    /// Bytes per second of the disk.
    disk: f64,
}

/// The rows of the table.
pub(crate) fn rows() -> Vec<Row> {
    let claim = "PRESTO's pipelines by the executor, on 8 virtual cores";
    let Some(paper) = Paper::read() else {
        return vec![Row::skipped("S3", claim, "the file of figures")];
    };
    let (mut most, mut at, mut figures) = (0.0_f64, String::new(), Vec::new());
    let (mut others, mut early) = (Vec::new(), Vec::new());
    for pipeline in &paper.pipelines {
        let it = Imitation::new(&paper, pipeline);
        let told = paper.by_law(pipeline);
        let seen: Vec<f64> = (0..told.len()).map(|at| it.rate(at, told[at])).collect();
        for (place, (told, seen)) in told.iter().zip(&seen).enumerate() {
            let off = seen / told - 1.0;
            if off.abs() > most.abs() {
                (most, at) = (off, format!("{} {}", pipeline.name, pipeline.strategies[place]));
            }
        }
        let seen: Vec<String> = seen.iter().map(|it| format!("{it:.0}")).collect();
        figures.push(format!("{} {}", pipeline.name, seen.join(" ")));
        let best = it.best(&[1.0, 2.0, 90.0]);
        let paper_best = (0..told.len()).max_by(|a, b| told[*a].total_cmp(&told[*b])).unwrap_or(0);
        for (epochs, best) in [2, 90].into_iter().zip(&best[1..]) {
            if *best != paper_best {
                others.push(format!("{} {epochs}: {}", pipeline.name, pipeline.strategies[*best]));
            }
        }
        if best[0] != 0 {
            early.push(format!("{}: {}", pipeline.name, pipeline.strategies[best[0]]));
        }
    }
    let none = |all: &[String]| if all.is_empty() { "none".to_owned() } else { all.join(", ") };
    vec![
        Row::new(
            "S3",
            &format!("{claim}: 29 rates within 15 % of the law"),
            format!("{:+.1} % at the most ({at}); records/s: {}", most * 100.0, figures.join("; ")),
            most.abs() <= 0.15,
        ),
        Row::new(
            "S3",
            &format!(
                "{claim}: from a profile, the same strategy as PRESTO's is told to be the best for 90 epochs and for 2"
            ),
            format!("others: {}", none(&others)),
            others.is_empty(),
        ),
        Row::new(
            "S3",
            &format!("{claim}: for one epoch it is told that nothing is best kept"),
            format!("others: {}", none(&early)),
            early.is_empty(),
        ),
    ]
}

impl<'a> Imitation<'a> {
    fn new(paper: &Paper, of: &'a Pipeline) -> Self {
        let costs = paper.costs(&of.name);
        let each = (costs.steps_ms.iter().sum::<f64>() + costs.open_ms) * 1e-3 / costs.threads;
        let records = (FILL_SECONDS / each).clamp(RECORDS.0, RECORDS.1) as u64;
        Self { of, costs, records, disk: paper.store() / FEWER }
    }

    /// Bytes of the values of a strategy, as PRESTO has them.
    fn bytes(&self, strategy: usize) -> f64 {
        self.of.all[strategy].bytes / self.of.outputs
    }

    /// The program; `read_ms`: what it takes to unpack what is read.
    fn text(&self, read_ms: f64) -> String {
        let Costs { steps_ms, rest_ms, open_ms, .. } = &self.costs;
        let seconds = |ms: f64| format!("{:.9}", ms * 1e-3);
        let bytes = |strategy: usize| (self.bytes(strategy) / FEWER) as u64;
        let mut text = format!(
            "pipeline p = range({}) |> shuffle\n  |> map {{ v: busy(u8(i % 251), time: {}, bytes: {}) }}\n",
            self.records,
            seconds(*open_ms),
            bytes(0)
        );
        let first = self.of.strategies.len() - 1 - steps_ms.len();
        let files = (first == 1).then_some(0.0);
        let steps = files.into_iter().chain(steps_ms.iter().copied());
        let mut element = "v";
        for (at, ms) in steps.enumerate() {
            // A value of these bytes, of one that has an element at least.
            let n = bytes(at + 1).max(1);
            let busy = if ms > 0.0 {
                format!("busy({element}, time: {})", seconds(ms))
            } else {
                element.to_owned()
            };
            let _ = writeln!(text, "  |> map {{ v: full([{n}], {busy}) }}");
            element = "v[0]";
        }
        let _ = writeln!(
            text,
            "  |> map {{ x: busy({element}, time: {}) }}",
            seconds(rest_ms + read_ms)
        );
        text
    }

    /// The value that a strategy keeps, as a lock names it.
    fn value(strategy: usize) -> Option<String> {
        (strategy > 0).then(|| format!("p.map#{}.full", strategy + 1))
    }

    /// As many cores as the paper's threads could be at work at a time.
    fn cores(&self) -> usize {
        self.costs.threads as usize
    }

    /// The paper's machine, with its disk for all.
    fn target(&self, epochs: f64) -> Target {
        let (cores, objective) = (self.cores() as f64, Objective::default());
        let (source, disk) = (self.disk, Some(self.disk));
        Target { cores, source, disk, room: 0, epochs, objective }
    }

    /// Records per second of a strategy, of which the law says that they are `told`.
    fn rate(&self, strategy: usize, told: f64) -> f64 {
        let read_ms = self.costs.per_mb_ms * self.bytes(strategy) / 1e6;
        let site = Site::of(compiled(&self.text(read_ms), &[]), self.records);
        let values: Vec<String> = Self::value(strategy).into_iter().collect();
        let kept = match &values[..] {
            [] => Vec::new(),
            values => site.points(&site.locked(&self.target(90.0), values)),
        };
        assert_eq!(kept.len(), values.len(), "the lock is followed");
        // What a chunk takes is in slow motion too: of fast records several are in one.
        let rows = (told / self.costs.threads / CHUNKS).ceil();
        let way = Way { kept, chunk_rows: Some(rows as usize), ..Way::workers(2 * self.cores()) };
        if !values.is_empty() {
            let _virtual = Virtual::begin((self.cores(), 1.0), None);
            trial::start(&site.compiled.program, &way, 0..1)
                .for_each(|it| _ = it.expect("nothing fails"));
        }
        let slower = (told / EACH_SECOND).max(1.0);
        let _virtual = Virtual::begin((self.cores(), slower), Some(self.disk as u64));
        let cores = self.cores() as f64;
        let seconds = (MEASURED * rows * cores * slower / told).clamp(SECONDS.0, SECONDS.1);
        let warm = (2.0 * rows * cores).min(told / slower) as u64 + 2;
        trial::rate(&site.compiled.program, &way, (warm, seconds))
    }

    /// The strategies that are told to be the fastest for so many epochs, from a profile of the program.
    fn best(&self, epochs: &[f64]) -> Vec<usize> {
        let told: Strategies = {
            // As it is without anything kept, in slow motion where that is fast.
            let _virtual = Virtual::begin((self.cores(), 1.0), None);
            let compiled = compiled(&self.text(0.0), &[]);
            let profile = trial::profile(&compiled, self.cores(), 4.0);
            let of = Circumstances { profile: Some(profile.clone()), ..Circumstances::default() };
            let compiled = compiled.under(&of);
            let mut site = Site::of(compiled, self.of.outputs as u64);
            site.profile = Some(profile);
            // Small values between the steps, which PRESTO's pipelines do not have.
            site.forbid(|it| it.function != "full");
            site.strategies(&self.target(90.0))
        };
        let place = |row: &compiler::estimate::Row| match &row.kept[..] {
            [] => Some(0),
            [one] if one.disk > 0.999 => {
                let step = one.step.strip_prefix("p.map#")?;
                Some(step.parse::<usize>().ok()? - 1)
            }
            _ => None,
        };
        let rows: Vec<(usize, [f64; 3])> =
            told.rows.iter().filter_map(|it| Some((place(it)?, it.seconds?))).collect();
        let best = |epochs: &f64| {
            let seconds = |it: &(usize, [f64; 3])| it.1[0] + (epochs - 1.0) * it.1[1];
            let best = rows.iter().min_by(|a, b| seconds(a).total_cmp(&seconds(b)));
            best.map_or(usize::MAX, |it| it.0)
        };
        epochs.iter().map(best).collect()
    }
}
