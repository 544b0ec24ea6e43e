//! E1: `range(100000) → map(fill) → padded_batch(4) → repeat(2)`, the counters of the paper's
//! notebook in, its printed rates out, to 1e-9.

use model::{
    Figure, Machine, Network, Step, Wishes,
    network::{Amount, Count},
    rank::{Counted, Ranking, Watch},
    ratio, solve,
    solve::Limit,
};

const WATCH: Watch = Watch { elapsed_s: 10.000346, cores: 16.0 };

fn counted() -> Vec<Counted> {
    let step = |completed, visits, ns: f64, user| Counted {
        completed,
        visits,
        cpu_s: ns * 1e-9,
        workers: 1,
        parallel: true,
        outer: 1,
        user,
        ..Counted::default()
    };
    let mut all = vec![
        step(163_468, 4.0, 106_066_504.0, Some(1)),
        step(163_468, 4.0, 3_278_206_560.0, Some(2)),
        step(40_866, 1.0, 4_194_911_717.0, Some(3)),
        step(40_866, 1.0, 42_801_011.0, None),
    ];
    all[2].parallel = false;
    all
}

/// The page gives ten digits.
fn near(found: f64, printed: f64) {
    assert!((found / printed - 1.0).abs() < 1e-9, "{found} is not {printed}");
}

#[test]
fn rates_per_core_are_the_printed_ones() {
    let rates: Vec<_> = counted().iter().map(|it| WATCH.rates(it, 0.0)).collect();
    // (C/V)/B with the counters of the page to 1e-9; its own four decimals to the last.
    for (found, counters, printed) in [
        (rates[0].core_rate, 163_468.0 / 4.0 / 0.106_066_504, 385_296.002_6),
        (rates[1].core_rate, 163_468.0 / 4.0 / 3.278_206_56, 12_466.267_5),
        (rates[2].core_rate, 40_866.0 / 4.194_911_717, 9_741.802_15),
        (rates[3].core_rate, 40_866.0 / 0.042_801_011, 954_790.530_5),
    ] {
        near(found, counters);
        assert!((found - printed).abs() <= 0.51e-4, "{found} is not {printed}");
    }
    assert!((rates[3].observed - 4086.4586).abs() < 1e-4, "{}", rates[3].observed);
    assert!((WATCH.observed(&counted()) - 4086.4586).abs() < 1e-4);
}

#[test]
fn the_batch_is_the_bottleneck_by_every_ranking_of_rates() {
    for ranking in [Ranking::ParallelRate, Ranking::Thresholded, Ranking::ScaledRate, Ranking::Busy]
    {
        assert_eq!(WATCH.ranked(&counted(), ranking)[0].0, 2, "{ranking:?}");
    }
}

#[test]
fn rankings_by_waiting_find_who_makes_others_wait() {
    let mut all = counted();
    // The batch never waits; the repeat waits for it, the map for room.
    for (step, (input, output)) in
        all.iter_mut().zip([(0.0, 9.0), (0.1, 6.0), (0.0, 0.0), (9.5, 0.0)])
    {
        (step.waited_in_s, step.waited_out_s, step.wall_s) = (input, output, step.cpu_s);
    }
    for ranking in [Ranking::WaitBlame, Ranking::WaitDifference, Ranking::ContendedBusy] {
        assert_eq!(WATCH.ranked(&all, ranking)[0].0, 2, "{ranking:?}");
    }
}

#[test]
fn rates_scale_with_workers_and_idle_cores() {
    // 4 s of CPU in 10 s on two workers of a step that may have more, 100 outputs, 3 cores idle.
    let step = Counted {
        completed: 200,
        visits: 2.0,
        cpu_s: 4.0,
        workers: 2,
        parallel: true,
        ..counted()[1]
    };
    let found = Watch { elapsed_s: 10.0, cores: 4.0 }.rates(&step, 3.0);
    assert_eq!((found.core_rate, found.parallel_rate, found.scaled_rate), (25.0, 50.0, 125.0));
    assert_eq!((found.busy, found.cores, found.observed), (0.2, 0.4, 10.0));
    // A sequential step in four copies has four threads, and idle cores are of no use to it.
    let inner = Counted { parallel: false, outer: 4, ..step };
    let found = Watch { elapsed_s: 10.0, cores: 4.0 }.rates(&inner, 3.0);
    assert_eq!((found.parallel_rate, found.scaled_rate), (100.0, 100.0));
}

#[test]
fn stale_steps_are_not_ranked() {
    let mut all = counted();
    all[2].stale = true;
    assert_eq!(WATCH.ranked(&all, Ranking::ParallelRate)[0].0, 1);
}

fn network(parallel: bool) -> Network {
    let rates = counted().into_iter().map(|it| 1e9 / WATCH.rates(&it, 0.0).core_rate);
    let ns: Vec<f64> = rates.collect();
    let record = 34_326_041_931.0 / 100_000.0;
    let batch = 34_326_839_485.0 / 25_000.0;
    let step = |at: usize, name: &str| Step::after(name, at).costs(Figure::exact(ns[at + 1]));
    Network::new(vec![
        Step::source("range", Amount::Finite(100_000.0)).costs(Figure::exact(ns[0] / 4.0)),
        Step {
            ns: Figure::exact(ns[1] / 4.0),
            bytes_out: Figure::exact(record),
            ..Step::after("map", 0)
        },
        Step {
            taken: ratio::batch(4),
            ns: Figure::exact(ns[2] / 4.0),
            bytes_out: Figure::exact(batch),
            segment: (!parallel).then_some(0),
            ..Step::after("padded_batch", 1)
        },
        Step {
            count: Count::Repeat(Some(2)),
            bytes_out: Figure::exact(batch),
            ..step(2, "repeat")
        },
    ])
    .unwrap()
}

#[test]
fn sizes_are_the_printed_ones() {
    let sizes = network(false).materialised_bytes();
    let printed = [34_326_041_931.0, 34_326_839_485.0, 68_653_678_970.0];
    for (found, printed) in sizes[1..].iter().zip(printed) {
        near(found.finite().unwrap(), printed);
    }
}

#[test]
fn the_program_is_solved_as_printed() {
    let machine = Machine::new(16.0, 1e12);
    let found = solve(&network(false), &machine, &Wishes::default());
    near(found.rate, 40_866.0 / 4.194_911_717);
    assert_eq!((found.bounds[0].limit, found.slowest), (Limit::Segment(0), Some(2)));
    let free = solve(&network(true), &machine, &Wishes::default());
    assert!((free.rate - 85_786.0).abs() < 1.0, "{}", free.rate);
    assert_eq!((free.bounds[0].limit, free.slowest), (Limit::Cpu, Some(2)));
    // θ = X/R, and workers are the next whole numbers.
    near(free.cores.iter().sum(), 16.0);
    assert_eq!(free.workers, [1, 7, 9, 1]);
}
