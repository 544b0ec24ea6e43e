//! Tuners as far as they are arithmetic: their predictions, prefetch, hedging; E4 and E5 are in `benches`.

use super::network::{Lots, by_rates, chain, machine, tree};
use model::{
    Machine, Network, Wishes, autotune,
    policy::{Policy, Task, Tuning, tune},
    predict::{Setting, predict},
    solve,
    solve::{prefetch, under_way},
};
use proptest::prelude::*;

/// ResNet on the paper's setup A: rates per core of read, decode, transpose and the rest; 16 cores.
const RESNET_A: [f64; 4] = [200.0, 2.5, 20.0, 2000.0];

fn tuned(network: &Network, cores: f64, policy: Policy, (tries_max, seed): (usize, u64)) -> Tuning {
    let machine = Machine::new(cores, 1e9);
    let task = Task { network, machine: &machine, tries_max, seed };
    tune(policy, &task, &mut |setting| predict(network, &machine, setting).0)
}

#[test]
fn autotune_believes_in_rates_that_no_machine_has() {
    let network = by_rates(&RESNET_A);
    let bound = solve(&network, &Machine::new(16.0, 1e9), &Wishes::default()).rate;
    let lifted = autotune::tuned(&network, &Machine::new(512.0, 1e12));
    let told = 1e9 / autotune::output_ns(&network, &lifted);
    assert!(told > 3.0 * bound, "{told} beside {bound}");
    // Within its budget it tunes well enough: within 10% of the bound.
    let tuning = tuned(&network, 16.0, Policy::Autotune, (1, 0));
    assert!(tuning.tried[0].rate > 0.9 * bound, "{:?}", tuning.tried);
}

#[test]
fn autotune_predicts_by_its_formula() {
    // Read 3 ns, map 4 ns on two workers, then 1 ns on one thread, which asks the map every x = 1 ns;
    // a record takes y = 3 ns to come. Two places: (1 − 1/3)/(1 − 1/27) = 9/13 of the time they are empty.
    let network = chain(&[3e-9, 4e-9, 1e-9]).with(2, |step| step.segment = Some(0));
    let setting = Setting { workers: vec![1, 2, 1], prefetch: 0 };
    let told = autotune::output_ns(&network, &setting);
    assert!((told - (1.0 + 2.0 + 27.0 / 13.0)).abs() < 1e-12, "{told}");
}

#[test]
fn baselines_are_what_they_are_called() {
    let network = by_rates(&[100.0, 10.0]).with(0, |step| step.segment = Some(0));
    let setting = |policy| tuned(&network, 4.0, policy, (10, 0)).tried.remove(0);
    let naive = setting(Policy::Naive);
    assert_eq!(naive.setting, Setting::naive(2));
    // They take turns: 1/(10 ms + 100 ms).
    assert!((naive.rate - 1.0 / 0.11).abs() < 1e-9);
    assert_eq!(setting(Policy::Heuristic).setting.workers, [1, 4]);
    let rate = setting(Policy::Heuristic).rate;
    assert!((rate - 4.0 / 0.11).abs() < 1e-9, "{rate}");
}

#[test]
fn a_sequential_step_ends_the_search_by_its_name() {
    let network = by_rates(&[10.0, 50.0]).with(1, |step| step.segment = Some(0));
    let tuning = tuned(&network, 16.0, Policy::Step, (100, 0));
    assert!(tuning.gave_up.as_ref().unwrap().contains("`s1`"), "{:?}", tuning.gave_up);
    // 10/s a worker: five of them reach 50/s, and there it ends.
    assert_eq!(tuning.tried[tuning.best].setting.workers, [5, 1]);
    assert!(tuning.tried.len() < 10);
}

#[test]
fn the_cycle_guard_leaves_a_step_alone_that_does_not_get_better() {
    // What is measured does not follow the costs: the first step seems slow and is not.
    let network = by_rates(&[1.0, 20.0]);
    let machine = Machine::new(64.0, 1e9);
    let task = Task { network: &network, machine: &machine, tries_max: 30, seed: 0 };
    let tuning = tune(Policy::Step, &task, &mut |it| f64::from(it.workers[1]) * 20.0);
    let last = &tuning.tried.last().unwrap().setting;
    assert_eq!(last.workers[0], 6);
    assert!(tuning.tried[tuning.best].rate > 400.0);
}

#[test]
fn outputs_fetched_ahead_fill_the_pipeline_and_no_more() {
    // R_min = 1/200 + 1/2.5 + 1/20 + 1/2000 seconds, X = 35.1: N* = 16 cores busy.
    let found = solve(&by_rates(&RESNET_A), &Machine::new(16.0, 1e9), &Wishes::default());
    assert!((found.saturation - 16.0).abs() < 1e-9);
    let one_worker_busy = under_way(60.0, 60.0);
    assert_eq!(prefetch(found.saturation, one_worker_busy), 15);
    assert_eq!(prefetch(found.saturation, 15.5), 1);
    assert_eq!(prefetch(found.saturation, 16.0), 0);
    assert_eq!(prefetch(found.saturation, 20.0), 0);
    // Half the population gives half the rate.
    assert!((found.at(8.0) / found.rate - 0.5).abs() < 1e-9);
}

/// Records per second through two stages in order, with `room` records between them: a simulation,
/// the second stage skewed (one call in `rare` takes `rare` times its share, the others almost none).
fn simulated(workers: [usize; 2], seconds: [f64; 2], room: usize, rare: f64) -> f64 {
    const RECORDS: usize = 60_000;
    let mut lots = Lots(7);
    let mut first = vec![0.0_f64; workers[0]];
    let mut second = vec![0.0_f64; workers[1]];
    let mut started = vec![0.0_f64; RECORDS];
    let mut left = 0.0_f64;
    for at in 0..RECORDS {
        let skewed = seconds[1] * if lots.unit() < 1.0 / rare { 0.9 * rare } else { 0.1 };
        let one = earliest(&mut first);
        // It leaves in order, and once there is room: when the record `room` before it has started.
        let space = at.checked_sub(room).map_or(0.0, |it| started[it]);
        left = left.max(*one + seconds[0]).max(space);
        *one = left;
        let two = earliest(&mut second);
        started[at] = left.max(*two);
        *two = started[at] + skewed;
    }
    RECORDS as f64 / left
}

fn earliest(free: &mut [f64]) -> &mut f64 {
    free.iter_mut().min_by(|a, b| a.total_cmp(b)).expect("a stage has a worker")
}

#[test]
fn hedging_takes_back_what_skewed_costs_lose() {
    // Two maps, 40:1, on 24 cores: X = 24/41 per unit; one worker is busy for 0.59 of the time.
    let seconds = [40.0, 1.0];
    let network = chain(&seconds);
    let machine = Machine::new(24.0, 1e9);
    let plain = solve(&network, &machine, &Wishes::default());
    let hedged = solve(&network, &machine, &Wishes { hedge: true, ..Wishes::default() });
    assert_eq!((plain.workers[1], hedged.workers[1]), (1, 2));
    let run =
        |workers: &[u32]| simulated([workers[0] as usize, workers[1] as usize], seconds, 16, 64.0);
    let (one, two) = (run(&plain.workers), run(&hedged.workers));
    // Of what the single worker loses against the bound, hedging takes back 15% of the rate at least.
    assert!(two / one >= 1.15, "{one} and {two} of {}", plain.rate);
    // Sequential and trivial steps are left alone.
    let other = chain(&[40.0, 1.0, 1e-3]).with(1, |step| step.segment = Some(0));
    let hedged = solve(&other, &machine, &Wishes { hedge: true, ..Wishes::default() });
    assert_eq!(hedged.workers[1..], [1, 1]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_setting_and_no_tuner_beats_the_bound(
        network in tree(), machine in machine(), workers in prop::collection::vec(1..40_u32, 9),
    ) {
        let bound = solve(&network, &machine, &Wishes::default()).rate * (1.0 + 1e-9);
        let n = network.steps().len();
        let setting = Setting { workers: workers[..n].to_vec(), prefetch: 1 };
        prop_assert!(predict(&network, &machine, &setting).0 <= bound);
        let task = Task { network: &network, machine: &machine, tries_max: 12, seed: 3 };
        let ours = tune(Policy::Model, &task, &mut |it| predict(&network, &machine, it).0);
        let best = ours.tried[ours.best].rate;
        prop_assert!(best >= bound * (1.0 - 1e-6));
        for policy in [Policy::Naive, Policy::Heuristic, Policy::Autotune, Policy::Local, Policy::Step] {
            let other = tune(policy, &task, &mut |it| predict(&network, &machine, it).0);
            prop_assert!(other.tried.len() <= 12 && other.tried[other.best].rate <= bound);
        }
    }
}
