//! S1: what PRESTO's own figures make of PRESTO's own rules. S2: the same figures by our law.

use model::{
    strategy::{Objective, Plan, Way, best},
    weights::{Whole, by_epochs, pareto, reversals, scores, winner},
};
use serde_json::Value;
use std::{fs, path::Path};

/// A pipeline of the paper.
struct Pipeline {
    name: String,
    strategies: Vec<String>,
    all: Vec<Whole>,
    outputs: f64,
}

fn golden() -> Option<(Value, Vec<Pipeline>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared/data/reference/presto_golden.json");
    let Ok(text) = fs::read_to_string(path) else {
        println!("../shared/data is absent: skipped");
        return None;
    };
    let golden: Value = serde_json::from_str(&text).unwrap();
    let of = |(name, it): (&String, &Value)| {
        let numbers = |key: &str| -> Vec<f64> {
            it[key].as_array().unwrap().iter().map(|it| it.as_f64().unwrap()).collect()
        };
        let (prepare, bytes, rate) = (numbers("offline_s"), numbers("MB"), numbers("sps"));
        let whole = |at| Whole { prepare_s: prepare[at], bytes: bytes[at] * 1e6, rate: rate[at] };
        let names = it["reps"].as_array().unwrap().iter();
        Pipeline {
            name: name.clone(),
            strategies: names.map(|it| it.as_str().unwrap().to_owned()).collect(),
            all: (0..rate.len()).map(whole).collect(),
            outputs: it["n"].as_f64().unwrap(),
        }
    };
    let pipelines = golden["pipelines"].as_object().unwrap().iter().map(of).collect();
    Some((golden, pipelines))
}

const WEIGHTS: [[f64; 3]; 4] = [[0., 0., 1.], [1., 0., 1.], [0., 1., 1.], [1., 1., 1.]];

#[test]
fn scores_are_those_of_the_paper() {
    let Some((golden, pipelines)) = golden() else { return };
    let (mut rankings, mut ties) = (0, Vec::new());
    for it in &pipelines {
        for weights in WEIGHTS {
            let key = format!("({}, {}, {})", weights[0], weights[1], weights[2]);
            let found = scores(&it.all, weights);
            let wanted = golden["golden_rank"][&it.name][&key].as_array().unwrap();
            for row in wanted {
                let at = it.strategies.iter().position(|it| *it == row[0]).unwrap();
                assert!(
                    (found[at] - row[1].as_f64().unwrap()).abs() < 6e-4,
                    "{} {key} {row}",
                    it.name
                );
            }
            let most = found.iter().copied().fold(0.0, f64::max);
            if found.iter().filter(|it| most - **it < 1e-9).count() > 1 {
                ties.push(format!("{} {key}", it.name));
            }
            rankings += 1;
        }
    }
    assert_eq!(rankings, 28);
    ties.sort();
    assert_eq!(ties, ["FLAC (0, 1, 1)", "FLAC (1, 0, 1)", "NILM (1, 0, 1)"]);
}

#[test]
fn the_best_after_so_many_epochs_is_that_of_the_paper() {
    let Some((golden, pipelines)) = golden() else { return };
    let mut switches = Vec::new();
    for it in &pipelines {
        let found = by_epochs(&it.all, it.outputs);
        let wanted =
            golden["pipelines"][&it.name]["best_total_time_at_epochs"].as_object().unwrap();
        for (epochs, best) in wanted {
            let epochs: f64 = epochs.parse().unwrap();
            let at = found.iter().rev().find(|it| it.0 <= epochs).unwrap().1;
            assert_eq!(it.strategies[at], best.as_str().unwrap(), "{} {epochs}", it.name);
        }
        switches.extend(found[1..].iter().map(|at| format!("{} {:.2}", it.name, at.0)));
    }
    switches.sort();
    let mut wanted = [
        "CV 1.12",
        "CV 3.99",
        "CV2-JPG 1.11",
        "CV2-JPG 1.38",
        "CV2-PNG 0.99",
        "NLP 1.03",
        "NILM 1.28",
        "MP3 1.77",
        "FLAC 1.08",
    ];
    wanted.sort_unstable();
    assert_eq!(switches, wanted);
}

#[test]
fn nobody_needs_the_others() {
    let Some((_, pipelines)) = golden() else { return };
    let of = |name: &str| {
        let it = pipelines.iter().find(|it| it.name == name).unwrap();
        let names = it.strategies.iter().zip(pareto(&it.all)).filter(|it| it.1);
        names.map(|it| &**it.0).collect::<Vec<_>>().join(" ")
    };
    for name in ["CV", "CV2-JPG", "CV2-PNG"] {
        assert_eq!(of(name), "unprocessed concatenated resized", "{name}");
    }
    assert_eq!(of("NLP"), "unprocessed decoded bpe-encoded");
    assert_eq!(of("MP3"), "unprocessed spectrogram-encoded");
    for name in ["NILM", "FLAC"] {
        let it = pipelines.iter().find(|it| it.name == name).unwrap();
        assert!(pareto(&it.all).iter().all(|it| *it), "{name}");
    }
}

#[test]
fn one_that_nobody_would_choose_decides() {
    let Some((_, pipelines)) = golden() else { return };
    let found = pipelines.iter().flat_map(|it| {
        WEIGHTS.iter().flat_map(move |weights| {
            let all = reversals(&it.all, *weights).into_iter();
            all.map(move |at| format!("{} {weights:?} {}", it.name, it.strategies[at]))
        })
    });
    let found: Vec<String> = found.collect();
    assert_eq!(found.len(), 4, "{found:#?}");
    let cv = pipelines.iter().find(|it| it.name == "CV").unwrap();
    let resized = cv.strategies.iter().position(|it| it == "resized").unwrap();
    let more = Whole { prepare_s: 20_000.0, bytes: 2e12, rate: 500.0 };
    let all: Vec<Whole> = cv.all.iter().copied().chain([more]).collect();
    assert!((scores(&cv.all, [1.0; 3])[0] - 2.0).abs() < 5e-4);
    assert!((scores(&all, [1.0; 3])[resized] - 2.172).abs() < 5e-4);
    assert!(reversals(&all, [1.0; 3]).contains(&cv.all.len()));
    let wins = |it: &[Whole]| cv.strategies[winner(it, [1.0; 3]).unwrap()].as_str();
    assert_eq!((wins(&cv.all), wins(&all)), ("unprocessed", "resized"));
}

/// Where scores are equal, fewer bytes win, and what another one beats never does.
#[test]
fn of_equal_scores_the_fewest_bytes_win() {
    let of = |prepare_s: f64, bytes: f64, rate: f64| Whole { prepare_s, bytes, rate };
    let all = [of(1.0, 5.0, 10.0), of(3.0, 4.0, 10.0), of(2.0, 4.0, 10.0), of(0.0, 0.0, 1.0)];
    assert_eq!(winner(&all, [0.0, 0.0, 1.0]), Some(2));
    assert_eq!(winner(&all, [0.0, 1.0, 0.0]), Some(3));
    assert_eq!(winner(&[], [1.0; 3]), None);
}

/// The rates of a pipeline by the law: `min(bandwidth / bytes, threads / cost)`, with the costs of its steps.
fn by_law(it: &Pipeline, costs: &Value) -> Vec<f64> {
    let number = |key: &str| costs["pipelines"][&it.name][key].as_f64().unwrap();
    let steps = costs["pipelines"][&it.name]["steps"].as_array().unwrap();
    let step_ms: Vec<f64> = steps.iter().map(|it| it[1].as_f64().unwrap()).collect();
    let sequential = costs["pipelines"][&it.name]["sequential"].as_bool().unwrap();
    let all_threads = costs["threads"].as_f64().unwrap();
    let threads = if sequential { 1.0 } else { all_threads };
    let store = costs["store_MB_per_s"].as_f64().unwrap() * 1e6;
    let rate = |(at, whole): (usize, &Whole)| {
        let bytes = whole.bytes / it.outputs;
        // What is kept comes after so many steps: nothing, the files end to end, or a step's result.
        let kept = it.strategies.len() - 1 - step_ms.len();
        let online: f64 = step_ms[at.saturating_sub(kept).min(step_ms.len())..].iter().sum();
        let cost = (number("rest_ms") + number("per_MB_ms") * bytes / 1e6 + online) * 1e-3;
        let wait = if at == 0 { number("open_wait_ms") * 1e-3 / all_threads } else { 0.0 };
        let warm = vec![cost / threads + wait * threads.min(1.0), bytes / store];
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
        it.outputs / best(&plan, Objective::Rate).unwrap().later_s
    };
    it.all.iter().enumerate().map(rate).collect()
}

#[test]
fn the_law_gives_the_rates_of_the_paper() {
    let Some((_, pipelines)) = golden() else { return };
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/reference/presto_costs.json");
    let costs: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let most = |all: &[f64]| (0..all.len()).max_by(|a, b| all[*a].total_cmp(&all[*b])).unwrap();
    let mut told = Vec::new();
    for it in &pipelines {
        let found = by_law(it, &costs);
        let seen: Vec<f64> = it.all.iter().map(|it| it.rate).collect();
        for (at, (found, seen)) in found.iter().zip(&seen).enumerate() {
            let off = found / seen - 1.0;
            assert!(off.abs() <= 0.08, "{} {}: {found} {seen}", it.name, it.strategies[at]);
        }
        assert_eq!(most(&found), most(&seen), "{}", it.name);
        let best = found[most(&found)];
        told.push((it.name.clone(), best / found[0], best / found[found.len() - 1]));
    }
    let of = |name: &str| told.iter().find(|it| it.0 == name).unwrap();
    for (name, over_none, over_last) in [
        ("CV", 16.7, 3.11),
        ("CV2-JPG", 18.1, 2.44),
        ("CV2-PNG", 116.0, 2.61),
        ("NLP", 288.0, 13.15),
        ("NILM", 214.0, 1.0),
        ("MP3", 141.0, 1.0),
        ("FLAC", 96.0, 1.0),
    ] {
        let (_, none, last) = of(name);
        assert!((none / over_none - 1.0).abs() < 0.01, "{name}: {none}");
        assert!((last / over_last - 1.0).abs() < 0.01, "{name}: {last}");
    }
}
