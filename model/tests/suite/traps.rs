//! The traps of the design page (6.1): what the paper's own tool gets wrong, each with a case.

use super::network::{by_rates, chain};
use model::{
    Figure, Machine, Network, Origin, Step, Storage, Wishes,
    cache::{Horizon, choose},
    curve::Curve,
    network::{Amount, Pattern, Reads, Varies},
    next::{Remedy, helps},
    place::candidates,
    predict::{Setting, predict},
    ratio, solve,
    solve::Limit,
    verdict::Verdict,
};

/// Records of 116 kB from a disk, 128 to a batch, decoded in 3.1 ms.
fn images(bandwidth: f64) -> (Network, Machine) {
    let reads = Reads { storage: 0, bytes: 116e3, requests: 1.0, pattern: Pattern::Sequential };
    let steps = vec![
        Step { reads: Some(reads), ..Step::source("read", Amount::Finite(1.2e6)) },
        Step::after("decode", 0).costs(Figure::assumed(3.1e6)),
        Step { taken: ratio::batch(128), ..Step::after("batch", 1) },
    ];
    let disk =
        Storage { sequential: Curve::up_to(50e6, bandwidth), ..Storage::flat("disk", bandwidth) };
    let machine = Machine { storages: vec![disk], ..Machine::new(32.0, 1e11) };
    (Network::new(steps).unwrap(), machine)
}

#[test]
fn t01_the_disk_bounds_the_solution_itself() {
    for bandwidth in [50e6, 100e6, 300e6] {
        let (network, machine) = images(bandwidth);
        let found = solve(&network, &machine, &Wishes::default());
        assert!((found.rate / (bandwidth / (128.0 * 116e3)) - 1.0).abs() < 1e-9);
        assert_eq!((found.bounds[0].limit, found.slowest), (Limit::Storage(0), Some(0)));
        assert_eq!(found.verdict, Verdict::Hardware);
        assert!((found.storage_use[0] - 1.0).abs() < 1e-9 && found.core_use < 1.0);
    }
    // Beyond the knee the cores bound: 32/3.1 ms is 10 323 images, 1.2 GB, a second.
    let (network, machine) = images(2e9);
    let found = solve(&network, &machine, &Wishes::default());
    assert_eq!((found.bounds[0].limit, found.slowest), (Limit::Cpu, Some(1)));
}

#[test]
fn t02_a_reader_gets_the_workers_that_the_disk_wants() {
    // 50 MB/s for each reader: 300 MB/s take six, though reading costs no core at all.
    let (network, machine) = images(300e6);
    let found = solve(&network, &machine, &Wishes::default());
    assert_eq!(found.workers[0], 6);
    // And a setting with one reader is predicted at a sixth of it.
    let one = Setting { workers: vec![1, 32, 1], prefetch: 4 };
    let bound = predict(&network, &machine, &one).0;
    assert!((found.rate / bound - 6.0).abs() < 1e-9);
    // A latency of 10 ms for each record asks for requests under way: 2586/s × 10 ms.
    let mut far = machine;
    far.storages[0].latency_s = 10e-3;
    assert_eq!(solve(&network, &far, &Wishes::default()).workers[0], 26);
}

#[test]
fn a_single_reader_waits_for_each_request() {
    // 10 ms for each record, one after the other: 100/s; a storage with half the latency gives 200/s.
    let (network, mut machine) = images(2e9);
    machine.storages[0].latency_s = 10e-3;
    let network = network.with(0, |step| step.segment = Some(0));
    let found = solve(&network, &machine, &Wishes::default());
    assert!((found.rate * 128.0 - 100.0).abs() < 1e-9);
    let help = helps(&network, &machine, &Wishes::default())
        .into_iter()
        .find(|it| it.remedy == Remedy::TwiceTheStorage(0));
    assert!((help.unwrap().rate * 128.0 - 200.0).abs() < 1e-9);
}

#[test]
fn t03_windows_by_key_keep_their_visit_ratio() {
    // A batch of 4 by key reads as much as any batch of 4, not as one image.
    let bytes = |taken: f64| {
        let reads = Reads { storage: 0, bytes: 169e3, requests: 1.0, pattern: Pattern::Sequential };
        let source = Step { reads: Some(reads), ..Step::source("read", Amount::Unknown) };
        let steps = vec![source, Step { taken, ..Step::after("batch", 0) }];
        let disk =
            Machine { storages: vec![Storage::flat("hdd", 180e6)], ..Machine::new(16.0, 1e9) };
        180e6 / solve(&Network::new(steps).unwrap(), &disk, &Wishes::default()).rate
    };
    assert_eq!(bytes(ratio::batch(4)), bytes(ratio::counted(4000, 1000)));
    assert!((bytes(ratio::batch(4)) - 676e3).abs() < 1e-3);
}

#[test]
fn t06_sequential_steps_of_one_thread_share_one_core() {
    let sequential = by_rates(&[100.0, 100.0, 50.0])
        .with(0, |step| step.segment = Some(0))
        .with(1, |step| step.segment = Some(0));
    let machine = Machine::new(16.0, 1e9);
    let found = solve(&sequential, &machine, &Wishes::default());
    // Not 100, which each of them alone could do.
    assert!((found.rate - 50.0).abs() < 1e-9);
    assert_eq!((found.bounds[0].limit, found.verdict), (Limit::Segment(0), Verdict::Software));
    assert_eq!(found.workers[..2], [1, 1]);
    let apart = sequential.with(1, |step| step.segment = Some(1));
    assert!((solve(&apart, &machine, &Wishes::default()).rate - 100.0).abs() < 1e-9);
    // Four copies of it side by side (M5) are four threads.
    let outer = [0, 1].iter().fold(sequential, |it, at| it.with(*at, |step| step.outer = 4));
    assert!((solve(&outer, &machine, &Wishes::default()).rate - 200.0).abs() < 1e-9);
}

#[test]
fn t07_and_t08_an_order_or_a_clock_is_never_frozen() {
    for varies in [Varies::Reorders, Varies::Clock, Varies::Random, Varies::Unrepeatable] {
        let network = chain(&[1e-3, 1e-3, 1e-3]).with(1, |step| step.varies = Some(varies));
        let found = candidates(&network);
        assert!(found[0].is_ok() && found[1].is_err() && found[2].is_err(), "{varies:?}");
    }
}

#[test]
fn t09_buffers_are_paid_from_the_same_memory() {
    // 1000 bytes to keep, 1200 · 0.9 there: they fit until a shuffle holds 100.
    let plan = |holds: f64| {
        let network = chain(&[1e-3, 1e-3])
            .with(1, |step| (step.varies, step.holds_bytes) = (Some(Varies::Random), holds));
        let horizon = Horizon { partial: false, ..Horizon::default() };
        choose(&network, &Machine::new(2.0, 1200.0), &Wishes::default(), &horizon).best.caches.len()
    };
    assert_eq!([plan(0.0), plan(80.0), plan(100.0)], [1, 1, 0]);
}

#[test]
fn t10_a_step_that_cannot_be_set_is_not_counted_as_parallel() {
    let network = by_rates(&[10.0]).with(0, |step| step.workers_max = Some(3));
    let found = solve(&network, &Machine::new(16.0, 1e9), &Wishes::default());
    assert!((found.rate - 30.0).abs() < 1e-9 && found.workers == [3]);
    assert_eq!((found.bounds[0].limit, found.verdict), (Limit::Step(0), Verdict::Software));
}

#[test]
fn a_part_that_is_done_in_order_bounds_a_step_and_not_by_whole_threads() {
    // 10 ms, 55% of which one thread does: 1/5.5 ms, though two threads are busy with it.
    let network = chain(&[1e-2]).with(0, |step| step.serial = 0.55);
    let machine = Machine::new(16.0, 1e9);
    let found = solve(&network, &machine, &Wishes::default());
    assert!((found.rate - 1.0 / 5.5e-3).abs() < 1e-6, "{}", found.rate);
    assert_eq!((found.bounds[0].limit, found.workers), (Limit::Step(0), vec![2]));
    assert!((found.capacity[0].unwrap() - found.rate).abs() < 1e-6);
    let helped = helps(&network, &machine, &Wishes::default());
    assert!((helped[0].rate - 1600.0).abs() < 1e-6, "{helped:?}");
}

#[test]
fn t11_waiting_needs_workers_though_no_core() {
    // 9 ms of waiting and 1 ms of work: 2000/s on two cores take 20 workers, one alone gives 100/s.
    let network = chain(&[1e-3]).with(0, |step| step.waits_ns = Figure::exact(9e6));
    let machine = Machine::new(2.0, 1e9);
    let found = solve(&network, &machine, &Wishes::default());
    assert!((found.rate - 2000.0).abs() < 1e-6);
    assert_eq!(found.workers, [20]);
    let one = solve(&network.with(0, |it| it.segment = Some(0)), &machine, &Wishes::default());
    assert!((one.rate - 100.0).abs() < 1e-9);
}

#[test]
fn calls_that_use_more_cores_themselves_are_counted_once() {
    // The paper is four times too high on RCNN: 71 ms of CPU on three cores a call, 24 ms of wall.
    let network = chain(&[0.071]).with(0, |step| step.internal = 3.0);
    let found = solve(&network, &Machine::new(32.0, 1e9), &Wishes::default());
    assert!((found.rate - 32.0 / 0.071).abs() < 1e-6);
    assert_eq!(found.workers, [11]);
    // Three cores a call on a machine of two: one worker fills it, two are one too many (E13).
    assert_eq!(solve(&network, &Machine::new(2.0, 1e9), &Wishes::default()).workers, [1]);
}

#[test]
fn what_would_help_next_is_what_bounds() {
    let best =
        |network: &Network, machine: &Machine| helps(network, machine, &Wishes::default())[0];
    let (network, machine) = images(300e6);
    assert_eq!(best(&network, &machine).remedy, Remedy::TwiceTheStorage(0));
    let (network, machine) = images(2e9);
    let help = best(&network, &machine);
    assert_eq!(help.remedy, Remedy::TwiceTheCores);
    // Twice the cores would be 20 645/s; the disk gives 17 241.
    assert!((help.rate * 128.0 - 2e9 / 116e3).abs() < 1e-6);
    let sequential = by_rates(&[100.0, 1000.0]).with(0, |step| step.segment = Some(0));
    assert_eq!(best(&sequential, &Machine::new(8.0, 1e9)).remedy, Remedy::Parallel(0));
    let mut fed = Machine::new(8.0, 1e9);
    fed.consumer.seconds = Some(0.12);
    let found = solve(&by_rates(&[100.0]), &fed, &Wishes::default());
    assert_eq!((found.verdict, found.slowest), (Verdict::Consumer, None));
    assert_eq!(best(&by_rates(&[100.0]), &fed).remedy, Remedy::TwiceTheConsumer);
}

#[test]
fn a_bound_is_as_sure_as_its_least_sure_figure() {
    let (network, machine) = images(2e9);
    let found = solve(&network, &machine, &Wishes::default());
    assert_eq!(found.bounds[0].origin, Origin::Assumed);
    let measured = Figure { value: 3.1e6, origin: Origin::Measured };
    let known = solve(&network.with(1, |it| it.ns = measured), &machine, &Wishes::default());
    assert_eq!(known.bounds[0].origin, Origin::Measured);
}

#[test]
fn nothing_costs_nothing_and_is_not_bounded() {
    let found = solve(&chain(&[0.0, 0.0]), &Machine::new(2.0, 1e9), &Wishes::default());
    assert_eq!((found.rate, found.verdict), (f64::INFINITY, Verdict::Unbounded));
    assert_eq!((found.workers, found.core_use), (vec![1, 1], 0.0));
}

#[test]
fn a_network_can_be_written_and_read_again() {
    let (network, _) = images(1e9);
    let text = serde_json::to_string(&network).unwrap();
    assert_eq!(serde_json::from_str::<Network>(&text).unwrap(), network);
    assert!(serde_json::from_str::<Network>("[]").is_err());
}
