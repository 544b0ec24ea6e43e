//! Rates and rankings, with the counters of the paper's notebook; what it prints is E1 of `benches`.

use model::rank::{Counted, Ranking, Watch};

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
