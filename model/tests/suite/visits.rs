//! M1: visit ratios of every kind of step, exactly.

use model::{
    Figure, Network, Step,
    network::{Act, Amount, Cached, Input},
    ratio,
};

fn of(taken: f64) -> Network {
    let steps = vec![
        Step::source("source", Amount::Finite(960.0)),
        Step { taken, ..Step::after("this", 0) },
        Step { taken: 2.0, ..Step::after("batch", 1) },
    ];
    Network::new(steps).unwrap()
}

#[test]
fn steps_with_one_input() {
    for (what, taken, visits) in [
        ("map, cast, cache, take, repeat", 1.0, 2.0),
        ("batch of 32", ratio::batch(32), 64.0),
        ("filter that keeps 3 of 4", ratio::filter(0.75), 2.0 / 0.75),
        ("flat map to 8", ratio::flat_map(8.0), 0.25),
        ("windows of 10 every 5", ratio::windows(5), 10.0),
        ("batches by key: 90 records, 7 batches", ratio::counted(90, 7), 180.0 / 7.0),
        ("packing 5.2 into one", ratio::counted(520, 100), 10.4),
    ] {
        let flow = of(taken).visits();
        assert_eq!((flow.visits[2], flow.visits[1]), (1.0, 2.0), "{what}");
        assert!((flow.visits[0] - visits).abs() < 1e-12, "{what}: {}", flow.visits[0]);
    }
}

#[test]
fn steps_with_more_inputs() {
    let visits = |shares: &[f64]| {
        let sources = shares.iter().map(|_| Step::source("source", Amount::Unknown));
        let inputs = shares.iter().enumerate().map(|(step, share)| Input { step, share: *share });
        let join = Step { inputs: inputs.collect(), taken: 8.0, ..Step::default() };
        Network::new(sources.chain([join]).collect()).unwrap().visits().visits
    };
    assert_eq!(visits(&ratio::mix(&[3.0, 1.0])), [6.0, 2.0, 1.0]);
    assert_eq!(visits(&ratio::concat(&[30.0, 10.0])), [6.0, 2.0, 1.0]);
    assert_eq!(visits(&ratio::zip(2)), [8.0, 8.0, 1.0]);
}

#[test]
fn a_cached_prefix_is_visited_by_what_is_missing_only() {
    let cached =
        Cached { act: Act::Serves, share: 0.75, ns: 100.0, storage: None, bytes_moved: 0.0 };
    let network = of(ratio::filter(0.5)).with(1, |step| {
        step.ns = Figure::exact(1000.0);
        step.caches = vec![cached];
    });
    let flow = network.visits();
    assert_eq!(
        (flow.visits[1], flow.worked[1], flow.entering[1], flow.visits[0]),
        (2.0, 0.5, 1.0, 1.0)
    );
    // One record filtered for 1000 ns, and 1.5 served for 100 ns each.
    assert!((network.demands(1.0)[1].cpu_s - 1150e-9).abs() < 1e-18);
    assert_eq!(network.stale(), [false, false, false]);
    let full = network.with(1, |step| step.caches[0].share = 1.0);
    assert_eq!(full.stale(), [true, true, false]);
    assert_eq!(full.demands(1.0)[0].cpu_s, 0.0);
}

#[test]
fn what_is_no_tree_is_refused() {
    let source = || Step::source("a", Amount::Unknown);
    let why = |steps| Network::new(steps).unwrap_err().0;
    assert!(why(vec![]).contains("steps"));
    assert!(why(vec![Step::after("b", 0)]).contains("`b` reads a step that comes after it"));
    assert!(
        why(vec![source(), Step::after("b", 0), Step::after("c", 0)]).contains("2 steps read `a`")
    );
    assert!(why(vec![source(), source()]).contains("0 steps read `a`"));
    assert!(why(vec![Step { taken: f64::NAN, ..source() }]).contains("taken of `a`"));
}
