//! E12: the paper's end-to-end table, with the costs of `plumber_costs.json`, in the steady state.

use model::{
    Figure, Machine, Network, Step, Wishes,
    cache::{Horizon, Tier, choose, furnished},
    machine::Consumer,
    network::{Act, Amount, Varies},
    policy::{Policy, Task, best_setting, tune},
    predict::predict,
};
use serde_json::Value;
use std::{fs, path::Path};

/// A pipeline of the file.
struct Case {
    name: String,
    network: Network,
    machine: Machine,
}

const RECORDS: f64 = 1000.0;

/// Nothing is printed in the file of sizes, but what fits: a record read is 1 byte, a decoded one 6.
fn cases() -> Option<Vec<Case>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared/data/reference/plumber_costs.json");
    let Ok(text) = fs::read_to_string(&path) else {
        println!("skipped: {} is not here", path.display());
        return None;
    };
    let file: Value = serde_json::from_str(&text).unwrap();
    let all = file["pipelines"].as_object().unwrap();
    let with_stages = all.iter().filter(|it| it.1["stages"].is_array() || it.1["like"].is_string());
    let case = |(name, it): (&String, &Value)| {
        let of = it["like"].as_str().map_or(it, |like| &all[like]);
        let cores = it["cores"].as_f64().or(file["cores"].as_f64()).unwrap();
        let consumer = it["consumer_cap_per_s"].as_f64().map(f64::recip);
        let fits = |what: &str| of[what] == Value::Bool(true);
        let all = fits("decoded_fits_memory")
            || fits("filtered_fits_memory")
            || fits("tokens_fit_memory");
        let memory = if all { 10.0 } else { f64::from(u8::from(fits("source_fits_memory"))) * 1.2 };
        let consumer = Consumer { seconds: consumer };
        let machine = Machine { consumer, ..Machine::new(cores, memory * RECORDS) };
        Case { name: name.clone(), network: network(of["stages"].as_array().unwrap()), machine }
    };
    Some(with_stages.map(case).collect())
}

fn network(stages: &[Value]) -> Network {
    let step = |(at, it): (usize, &Value)| Step {
        inputs: if at == 0 { Vec::new() } else { Step::after("", at - 1).inputs },
        count: if at == 0 {
            Step::source("", Amount::Finite(RECORDS)).count
        } else {
            Step::default().count
        },
        name: it["name"].as_str().unwrap().to_owned(),
        ns: Figure::assumed(it["cpu_ms"].as_f64().unwrap() * 1e6),
        cap: it["source_cap_per_s"].as_f64(),
        segment: (it["sequential"] == Value::Bool(true)).then_some(at as u32),
        internal: it["internal_parallelism"].as_f64().unwrap_or(1.0),
        varies: (it["random"] == Value::Bool(true)).then_some(Varies::Random),
        bytes_out: Figure::exact(if at == 0 { 1.0 } else { 6.0 }),
        ..Step::default()
    };
    Network::new(stages.iter().enumerate().map(step).collect()).unwrap()
}

/// The steady rate of the model's choice of caches and workers.
fn ours(case: &Case) -> f64 {
    let horizon = Horizon { epochs: 1e6, partial: false, ..Horizon::default() };
    let best = choose(&case.network, &case.machine, &Wishes::default(), &horizon).best;
    let warm = furnished(&case.network, &case.machine, (&best.caches, Act::Serves), &horizon);
    predict(&warm, &case.machine, &best_setting(&warm, &case.machine)).0
}

/// Every cache that fits and every number of workers up to 32, the laws written out once more.
fn brute_force(case: &Case) -> f64 {
    let steps = case.network.steps();
    let mut best = 0.0_f64;
    for kept in 0..=steps.len() {
        let size: f64 = if kept == 0 { 0.0 } else { steps[kept - 1].bytes_out.value * RECORDS };
        let random = steps[..kept].iter().any(|it| it.varies.is_some());
        if !random && size <= 0.9 * case.machine.memory_bytes {
            best = best.max(by_workers(&steps[kept..], &case.machine));
        }
    }
    best
}

fn by_workers(steps: &[Step], machine: &Machine) -> f64 {
    let cpu: f64 = steps.iter().map(|it| it.ns.value * 1e-9).sum();
    let cap = steps.iter().filter_map(|it| it.cap).fold(f64::INFINITY, f64::min);
    let bound =
        (machine.cores / cpu).min(cap).min(machine.consumer.rate().unwrap_or(f64::INFINITY));
    let mut workers = vec![1_u32; steps.len()];
    let mut best = 0.0_f64;
    loop {
        let each = steps.iter().zip(&workers);
        let slowest = each.map(|(it, w)| f64::from(*w) * it.internal / (it.ns.value * 1e-9));
        best = best.max(slowest.fold(bound, f64::min));
        let most = |it: &Step| if it.segment.is_some() { 1 } else { 32 };
        let Some(at) = (0..workers.len()).find(|it| workers[*it] < most(&steps[*it])) else {
            return best;
        };
        workers[at] += 1;
        workers[..at].fill(1);
    }
}

fn baseline(case: &Case, policy: Policy) -> f64 {
    let task = Task { network: &case.network, machine: &case.machine, tries_max: 40, seed: 1 };
    let found = tune(policy, &task, &mut |it| predict(&case.network, &case.machine, it).0);
    found.tried[found.best].rate
}

#[test]
fn every_pipeline_is_near_its_optimum_and_beats_the_baselines() {
    let Some(cases) = cases() else { return };
    assert_eq!(cases.len(), 6);
    for case in &cases {
        let rate = ours(case);
        let best = brute_force(case);
        assert!(
            rate >= 0.97 * best && rate <= best * (1.0 + 1e-9),
            "{}: {rate} of {best}",
            case.name
        );
        let naive = baseline(case, Policy::Naive);
        let others =
            [Policy::Heuristic, Policy::Autotune, Policy::Local, Policy::Step, Policy::Random];
        let other = others.map(|it| baseline(case, it)).into_iter().fold(0.0, f64::max);
        println!("{:18} ours {rate:8.0} naive {naive:6.0} best other {other:8.0}", case.name);
        assert!(rate >= 0.98 * other, "{}: {rate} beside {other}", case.name);
        let tuners = baseline(case, Policy::Heuristic).max(baseline(case, Policy::Autotune));
        let (over_naive, over_tuners) = match case.name.as_str() {
            "ResNetLinear" => (44.0, 1.4),
            "ResNet18" => (1.0, 1.2),
            "MultiBoxSSD" => (1.0, 1.3),
            "TransformerSmall" => (1.0, 2.5),
            _ => (1.0, 0.98),
        };
        assert!(rate >= over_naive * naive, "{}: {rate} beside naive {naive}", case.name);
        assert!(rate >= over_tuners * tuners, "{}: {rate} beside {tuners}", case.name);
    }
}

#[test]
fn caches_are_where_the_paper_puts_them() {
    let Some(cases) = cases() else { return };
    let horizon = Horizon { epochs: 1e6, partial: false, ..Horizon::default() };
    for case in &cases {
        let choice = choose(&case.network, &case.machine, &Wishes::default(), &horizon);
        let held = choice
            .best
            .caches
            .iter()
            .map(|it| (it.tier, case.network.steps()[it.step].name.as_str()));
        let expected: &[(Tier, &str)] = match case.name.as_str() {
            "ResNetLinear" => &[(Tier::Memory, "decode")],
            "ResNet18" => &[(Tier::Memory, "read")],
            "MultiBoxSSD" => &[(Tier::Memory, "decode_filter")],
            "TransformerSmall" => &[(Tier::Memory, "filter")],
            // ResNet50's consumer is slower than reading without a cache; nothing of RCNN's fits.
            _ => &[],
        };
        assert_eq!(held.collect::<Vec<_>>(), expected, "{}", case.name);
    }
}
