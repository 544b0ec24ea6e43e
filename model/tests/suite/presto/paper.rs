//! The figures of PRESTO (SIGMOD 2022), what its rules and ours make of them, and what that is to be. Tests compare both, and
//! so does the row of `benches` that says it.

use model::{
    strategy::{Objective, Plan, Way, best},
    weights::{Whole, by_epochs, pareto, reversals, scores},
};
use serde_json::Value;
use std::{fs, path::Path};

/// The paper: its seven pipelines, and the file that they are from.
pub(crate) struct Paper {
    golden: Value,
    costs: Value,
    pub(crate) pipelines: Vec<Pipeline>,
}

/// A pipeline of the paper.
pub(crate) struct Pipeline {
    pub(crate) name: String,
    pub(crate) strategies: Vec<String>,
    pub(crate) all: Vec<Whole>,
    pub(crate) outputs: f64,
}

/// What it costs, in milliseconds of one thread; inferred from the paper's rates.
pub(crate) struct Costs {
    /// Of each step that may be done ahead.
    pub(crate) steps_ms: Vec<f64>,
    /// Of all else.
    pub(crate) rest_ms: f64,
    /// Of a megabyte that is read.
    pub(crate) per_mb_ms: f64,
    /// Until a file is open.
    pub(crate) open_ms: f64,
    /// Threads that may work on it at a time.
    pub(crate) threads: f64,
}

/// Scores beside those of the paper.
#[derive(Debug, Default)]
pub(crate) struct Rankings {
    pub(crate) all: usize,
    /// Those that differ in the third decimal or before.
    pub(crate) differ: Vec<String>,
    /// Those with several winners.
    pub(crate) ties: Vec<String>,
}

/// The rates of a pipeline by the law, and as the paper has them.
pub(crate) struct Rates {
    pub(crate) name: String,
    pub(crate) told: Vec<f64>,
    pub(crate) seen: Vec<f64>,
}

/// What the paper's scores may be weighted by: time ahead, bytes, rate.
const WEIGHTS: [[f64; 3]; 4] = [[0., 0., 1.], [1., 0., 1.], [0., 1., 1.], [1., 1., 1.]];

/// Rankings with several winners.
pub(crate) const TIES: [&str; 3] = ["FLAC (0, 1, 1)", "FLAC (1, 0, 1)", "NILM (1, 0, 1)"];

/// After how many epochs another strategy is the fastest.
pub(crate) const SWITCHES: [&str; 9] = [
    "CV 1.12",
    "CV 3.99",
    "CV2-JPG 1.11",
    "CV2-JPG 1.38",
    "CV2-PNG 0.99",
    "FLAC 1.08",
    "MP3 1.77",
    "NILM 1.28",
    "NLP 1.03",
];

/// Strategies than which none is better in every way.
pub(crate) const UNBEATEN: [&str; 7] = [
    "CV2-JPG: unprocessed concatenated resized",
    "CV2-PNG: unprocessed concatenated resized",
    "CV: unprocessed concatenated resized",
    "FLAC: unprocessed decoded spectrogram-encoded",
    "MP3: unprocessed spectrogram-encoded",
    "NILM: unprocessed decoded aggregated",
    "NLP: unprocessed decoded bpe-encoded",
];

/// Strategies that nobody would choose, without which the score chooses another one.
pub(crate) const REVERSALS: [&str; 4] = [
    "CV (1, 0, 1) pixel-centered",
    "MP3 (0, 1, 1) decoded",
    "MP3 (1, 0, 1) decoded",
    "NLP (1, 0, 1) embedded",
];

/// How many times as fast the fastest is by the law as the first one and the last one.
pub(crate) const TIMES: [(&str, f64, f64); 7] = [
    ("CV", 16.7, 3.11),
    ("CV2-JPG", 18.1, 2.44),
    ("CV2-PNG", 116.0, 2.61),
    ("NLP", 288.0, 13.15),
    ("NILM", 214.0, 1.0),
    ("MP3", 141.0, 1.0),
    ("FLAC", 96.0, 1.0),
];

impl Paper {
    /// None where its figures are not here.
    pub(crate) fn read() -> Option<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/reference");
        let value = |name: &str| -> Option<Value> {
            let text = fs::read_to_string(folder.join(name)).ok()?;
            Some(serde_json::from_str(&text).expect("what is there is JSON"))
        };
        let (golden, costs) = (value("presto_golden.json")?, value("presto_costs.json")?);
        let of = |(name, it): (&String, &Value)| {
            let (prepare, bytes, rate) =
                (numbers(&it["offline_s"]), numbers(&it["MB"]), numbers(&it["sps"]));
            let whole =
                |at| Whole { prepare_s: prepare[at], bytes: bytes[at] * 1e6, rate: rate[at] };
            Pipeline {
                name: name.clone(),
                strategies: texts(&it["reps"]),
                all: (0..rate.len()).map(whole).collect(),
                outputs: number(&it["n"]),
            }
        };
        let all = golden["pipelines"].as_object().expect("it has pipelines");
        let pipelines = all.iter().map(of).collect();
        Some(Self { golden, costs, pipelines })
    }

    pub(crate) fn rankings(&self) -> Rankings {
        let mut found = Rankings::default();
        for it in &self.pipelines {
            for weights in WEIGHTS {
                let (key, scores) = (in_words(weights), scores(&it.all, weights));
                let wanted = self.golden["golden_rank"][&it.name][&key].as_array();
                for row in wanted.expect("each pipeline has scores") {
                    let at = it.strategies.iter().position(|name| row[0] == **name);
                    let score = scores[at.expect("it is one of the strategies")];
                    if (score - number(&row[1])).abs() >= 6e-4 {
                        found.differ.push(format!("{} {key} {row}", it.name));
                    }
                }
                let most = scores.iter().copied().fold(0.0, f64::max);
                if scores.iter().filter(|it| most - **it < 1e-9).count() > 1 {
                    found.ties.push(format!("{} {key}", it.name));
                }
                found.all += 1;
            }
        }
        found.ties.sort();
        found
    }

    /// The fastest after so many epochs that are not those of the paper, and of how many.
    pub(crate) fn other_winners(&self) -> (Vec<String>, usize) {
        let (mut other, mut all) = (Vec::new(), 0);
        for it in &self.pipelines {
            let found = by_epochs(&it.all, it.outputs);
            let wanted = &self.golden["pipelines"][&it.name]["best_total_time_at_epochs"];
            for (epochs, best) in wanted.as_object().expect("each pipeline has winners") {
                let n: f64 = epochs.parse().expect("it is a number of epochs");
                let at = found.iter().rev().find(|it| it.0 <= n).expect("one is the first").1;
                if *best != *it.strategies[at] {
                    other.push(format!("{} {epochs}", it.name));
                }
                all += 1;
            }
        }
        (other, all)
    }

    pub(crate) fn switches(&self) -> Vec<String> {
        let of = |it: &Pipeline| {
            let found = by_epochs(&it.all, it.outputs);
            let name = it.name.clone();
            found.into_iter().skip(1).map(move |at| format!("{name} {:.2}", at.0))
        };
        sorted(self.pipelines.iter().flat_map(of))
    }

    pub(crate) fn unbeaten(&self) -> Vec<String> {
        let of = |it: &Pipeline| {
            let names = it.strategies.iter().zip(pareto(&it.all)).filter(|it| it.1);
            let names: Vec<&str> = names.map(|it| &**it.0).collect();
            format!("{}: {}", it.name, names.join(" "))
        };
        sorted(self.pipelines.iter().map(of))
    }

    pub(crate) fn reversals(&self) -> Vec<String> {
        let found = self.pipelines.iter().flat_map(|it| {
            WEIGHTS.iter().flat_map(move |weights| {
                let all = reversals(&it.all, *weights).into_iter();
                all.map(move |at| {
                    format!("{} {} {}", it.name, in_words(*weights), it.strategies[at])
                })
            })
        });
        sorted(found)
    }

    /// The best score of CV, and that of the winner where a strategy is added that nobody would choose; whether it is told.
    pub(crate) fn with_one_more(&self) -> ([f64; 2], bool) {
        let cv = self.pipelines.iter().find(|it| it.name == "CV").expect("CV is one of them");
        let place = |name: &str| cv.strategies.iter().position(|it| it == name);
        let [unprocessed, resized] =
            ["unprocessed", "resized"].map(|it| place(it).expect("it is a strategy of CV"));
        let more = Whole { prepare_s: 20_000.0, bytes: 2e12, rate: 500.0 };
        let all: Vec<Whole> = cv.all.iter().copied().chain([more]).collect();
        let before = scores(&cv.all, [1.0; 3])[unprocessed];
        let after = scores(&all, [1.0; 3])[resized];
        ([before, after], reversals(&all, [1.0; 3]).contains(&cv.all.len()))
    }

    pub(crate) fn costs(&self, name: &str) -> Costs {
        let of = &self.costs["pipelines"][name];
        let steps = of["steps"].as_array().expect("it has steps");
        let sequential = of["sequential"].as_bool().expect("it is so or not");
        Costs {
            steps_ms: steps.iter().map(|it| number(&it[1])).collect(),
            rest_ms: number(&of["rest_ms"]),
            per_mb_ms: number(&of["per_MB_ms"]),
            open_ms: number(&of["open_wait_ms"]),
            threads: if sequential { 1.0 } else { number(&self.costs["threads"]) },
        }
    }

    /// Bytes per second of the paper's store.
    pub(crate) fn store(&self) -> f64 {
        number(&self.costs["store_MB_per_s"]) * 1e6
    }

    pub(crate) fn rates(&self) -> Vec<Rates> {
        let of = |it: &Pipeline| Rates {
            name: it.name.clone(),
            told: self.by_law(it),
            seen: it.all.iter().map(|it| it.rate).collect(),
        };
        self.pipelines.iter().map(of).collect()
    }

    /// The rates of a pipeline: `min(bandwidth / bytes, threads / cost)`, with the costs of its steps.
    pub(crate) fn by_law(&self, it: &Pipeline) -> Vec<f64> {
        let (costs, all_threads) = (self.costs(&it.name), number(&self.costs["threads"]));
        let rate = |(at, whole): (usize, &Whole)| {
            let bytes = whole.bytes / it.outputs;
            let online: f64 = costs.steps_ms[costs.done(it, at)..].iter().sum();
            let cost = (costs.rest_ms + costs.per_mb_ms * bytes / 1e6 + online) * 1e-3;
            let wait = if at == 0 { costs.open_ms * 1e-3 / all_threads } else { 0.0 };
            let cpu = cost / costs.threads + wait * costs.threads.min(1.0);
            let warm = vec![cpu, bytes / self.store()];
            let (fill, again) = (warm.clone(), Vec::new());
            let way = Way { fill, warm, again, bytes: vec![whole.bytes] };
            let plan = Plan {
                base: vec![0.0; 2],
                streams: vec![vec![way]],
                rooms: vec![f64::MAX],
                outputs: it.outputs,
                epochs: 1.0,
                runs: 1.0,
            };
            it.outputs / best(&plan, Objective::Rate).expect("there is one way").later_s
        };
        it.all.iter().enumerate().map(rate).collect()
    }
}

impl Costs {
    /// Steps that are done ahead in a strategy, by its place: none in the first, and in the second where the files are put
    /// end to end.
    pub(crate) fn done(&self, of: &Pipeline, strategy: usize) -> usize {
        let before = of.strategies.len() - 1 - self.steps_ms.len();
        strategy.saturating_sub(before)
    }
}

impl Rates {
    /// The place of the fastest by the law, and whether the paper's is another one.
    pub(crate) fn fastest(&self) -> (usize, bool) {
        let most = |all: &[f64]| (0..all.len()).max_by(|a, b| all[*a].total_cmp(&all[*b]));
        (most(&self.told).expect("there are strategies"), most(&self.told) != most(&self.seen))
    }

    /// By how much the law is off at the most, as a part.
    pub(crate) fn off(&self) -> f64 {
        let each = self.told.iter().zip(&self.seen).map(|(told, seen)| (told / seen - 1.0).abs());
        each.fold(0.0, f64::max)
    }

    /// How many times as fast the fastest is as the first one and the last one.
    pub(crate) fn times(&self) -> [f64; 2] {
        let best = self.told[self.fastest().0];
        [self.told[0], self.told[self.told.len() - 1]].map(|it| best / it)
    }
}

fn in_words([a, b, c]: [f64; 3]) -> String {
    format!("({a}, {b}, {c})")
}

fn sorted(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = all.collect();
    all.sort();
    all
}

fn number(it: &Value) -> f64 {
    it.as_f64().expect("it is a number")
}

fn numbers(it: &Value) -> Vec<f64> {
    it.as_array().expect("it is a list").iter().map(number).collect()
}

fn texts(it: &Value) -> Vec<String> {
    let all = it.as_array().expect("it is a list").iter();
    all.map(|it| it.as_str().expect("it is a text").to_owned()).collect()
}
