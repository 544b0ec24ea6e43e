//! S12: the linear program beside a grid of all strategies, and beside four rules of others, on random chains of steps; and
//! what else it is to do.

mod chains;

use chains::{Chain, NONE, beside_grid, beside_rules};
use model::strategy::{NoStrategy, Objective, Plan, Way, best};

/// For fewer ways it may give up 2 %.
const GIVEN_UP: f64 = 0.02;

#[test]
fn no_rule_is_better_and_each_is_often_worse() {
    let found = beside_rules(2_000);
    for it in &found.rules {
        println!("{}", it.told(""));
        assert!(it.worse() >= 0.25, "{}", it.name);
    }
    println!("at most {} ways are mixed", found.mixed);
    assert!(found.beaten <= GIVEN_UP && found.mixed <= 4, "{} {}", found.beaten, found.mixed);
}

#[test]
fn no_point_of_a_grid_is_better() {
    let beaten = beside_grid(200);
    assert!(beaten <= GIVEN_UP, "{beaten}");
}

/// Two cores, 100 records; the value takes 10 ms of a core and has 1 MB; a disk with 10 MB/s.
fn slow_disk(cores: f64) -> Chain {
    Chain {
        records: 100.0,
        epochs: 90.0,
        cores,
        source: (1e5, 1e-9),
        disk: [1e-7, 1e-7],
        values: vec![(10e-3, 1e6)],
        memory: 0.0,
        room: 1e12,
    }
}

#[test]
fn what_a_disk_gives_too_slowly_is_kept_of_as_many_records_as_it_gives() {
    // Alone, the disk takes 100 ms a record, and one core 10 ms: all of one resource would be slower than none.
    for cores in [1.0, 8.0, 96.0] {
        let chain = slow_disk(cores);
        let plan = chain.plan(&chain.kinds(&[NONE]));
        let found = best(&plan, Objective::Rate).unwrap();
        let nothing = chain.cpu() / cores * 100.0;
        let whole = 0.1 * 100.0;
        assert!(found.later_s <= nothing && found.later_s <= whole, "{found:?}");
        // Both are busy all the time, or keeping so little is not worth it.
        let on_disk = found.shares[0][2];
        assert!(on_disk < 0.15, "{cores} {on_disk}");
    }
}

#[test]
fn fewer_bytes_are_kept_where_a_rate_is_all_that_is_asked_for() {
    let chain = slow_disk(1.0);
    let plan = Plan { rooms: vec![1e12, 1e12], ..chain.plan(&chain.kinds(&[NONE])) };
    let fastest = best(&plan, Objective::Rate).unwrap();
    let rate = plan.outputs / fastest.later_s;
    // Half of the records take half of the time.
    let half = best(&plan, Objective::Bytes(200.0)).unwrap();
    assert!((half.bytes[0] / fastest.bytes[0] - 0.5).abs() < 0.01, "{half:?} {fastest:?}");
    assert!(plan.outputs / half.later_s >= 199.9);
    // 100 outputs a second of one core are had without.
    assert_eq!(best(&plan, Objective::Bytes(99.0)).unwrap().bytes, [0.0, 0.0]);
    let error = best(&plan, Objective::Bytes(rate * 2.0)).unwrap_err();
    assert!(matches!(error, NoStrategy::Slower(it) if (it / rate - 1.0).abs() < 0.03), "{error}");
}

#[test]
fn objectives_are_read_as_they_are_written() {
    let read = |it: &str| it.parse::<Objective>();
    assert_eq!(read("time"), Ok(Objective::default()));
    assert_eq!(
        (read("rate"), read("bytes@4_000")),
        (Ok(Objective::Rate), Ok(Objective::Bytes(4e3)))
    );
    assert_eq!(read("weights:1, 0,0.5"), Ok(Objective::Weights([1.0, 0.0, 0.5])));
    for wrong in
        ["", "bytes", "bytes@", "bytes@0", "bytes@-1", "bytes@inf", "bytes@nan", "rate@3", "Time"]
    {
        assert!(read(wrong).is_err(), "{wrong}");
    }
    let prices = read("cost@3.06,0.08").unwrap().prices().unwrap();
    assert!((prices[0] - 3.06).abs() < 1e-12 && (prices[1] - 0.08).abs() < 1e-12, "{prices:?}");
    // 100 GB for an hour, and the hour.
    let Objective::Cost { per_second, per_byte_second } = Objective::cost([2.0, 0.073]) else {
        unreachable!()
    };
    let hour = 3600.0 * (per_second + per_byte_second * 100e9);
    assert!((hour - 2.01).abs() < 1e-12, "{hour}");
    for wrong in ["", "1", "1,2,3", "0,0", "1,-1", "inf,1", "1;2"] {
        let why = read(&format!("cost@{wrong}")).unwrap_err();
        assert!(why.contains("prices of an hour and of a GB-month"), "{wrong}: {why}");
    }
    for wrong in ["", "1", "1,0", "1,0,1,0", "0,0,0", "1,-1,1", "1,nan,1", "1,,1"] {
        let why = read(&format!("weights:{wrong}")).unwrap_err();
        assert!(why.contains("weights of fill time, bytes and rate"), "{wrong}: {why}");
    }
}

#[test]
fn bytes_that_cost_more_than_the_time_that_they_save_are_not_kept() {
    let chain = slow_disk(1.0);
    let plan = Plan { rooms: vec![1e12, 1e12], ..chain.plan(&chain.kinds(&[NONE])) };
    let kept = |per_byte_second| {
        let cost = Objective::Cost { per_second: 1.0, per_byte_second };
        best(&plan, cost).unwrap().bytes.iter().sum::<f64>()
    };
    assert_eq!(kept(0.0), best(&plan, Objective::Time).unwrap().bytes.iter().sum::<f64>());
    assert_eq!(kept(1.0), 0.0);
}

#[test]
fn several_streams_share_what_there_is() {
    // Room for one of two streams: the one that is worth more has it.
    let chain = slow_disk(1.0);
    let way = |kept| chain.way(kept);
    let (none, kept) = (way(None), way(Some((0, true, NONE))));
    let twice = |it: &Way| Way { warm: it.warm.iter().map(|it| 2.0 * it).collect(), ..it.clone() };
    let plan = Plan {
        base: vec![0.0; 3],
        streams: vec![vec![none.clone(), kept.clone()], vec![twice(&none), twice(&kept)]],
        rooms: vec![kept.bytes[0], 0.0],
        outputs: 100.0,
        epochs: 90.0,
        runs: 1.0,
    };
    let found = best(&plan, Objective::Time).unwrap();
    assert_eq!(found.shares, [vec![1.0, 0.0], vec![0.0, 1.0]]);
    assert_eq!(
        best(&Plan { streams: vec![Vec::new()], ..plan }, Objective::Time),
        Err(NoStrategy::NoWay)
    );
}

#[test]
fn what_lies_on_disk_is_found_by_later_runs() {
    // Ten runs of two epochs: memory is faster, and empty at first in each of them.
    let chain = slow_disk(1.0);
    let (none, memory) = (chain.way(None), chain.way(Some((0, true, NONE))));
    let memory = Way { again: memory.fill.clone(), ..memory };
    let mut both = memory.clone();
    both.bytes[1] = both.bytes[0];
    // From the disk in a hundredth of the time that it takes to compute it.
    both.again = both.again.iter().map(|it| it * 0.01).collect();
    let none = Way { again: none.warm.clone(), ..none };
    let plan = |runs: f64| Plan {
        base: vec![0.0; 3],
        streams: vec![vec![none.clone(), memory.clone(), both.clone()]],
        rooms: vec![1e12, 1e12],
        outputs: 100.0,
        epochs: 2.0,
        runs,
    };
    let found = best(&plan(10.0), Objective::Time).unwrap();
    assert_eq!(found.shares, [vec![0.0, 0.0, 1.0]]);
    let seconds = found.first_s + 9.0 * found.again_s + 10.0 * found.later_s;
    assert!((found.seconds((10.0, 2.0)) - seconds).abs() < 1e-9);
    // One run does not come back.
    assert_eq!(best(&plan(1.0), Objective::Time).unwrap().shares, [vec![0.0, 1.0, 0.0]]);
}
