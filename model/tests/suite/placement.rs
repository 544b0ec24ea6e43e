//! Where records are kept, and why not elsewhere; the places of the paper (E8) are in `benches`.

use super::network::tree;
use model::{
    Figure, Machine, Network, Step, Storage, Wishes,
    cache::{Choice, Horizon, Tier, TierCost, choose},
    network::{Amount, Count, Input, Varies},
    place::{Rejected, candidates},
    ratio,
};
use proptest::prelude::*;

const GB: f64 = 1e9;
const IMAGES: f64 = 1.2e6;

/// A step of a chain: name, milliseconds for each record, bytes of a record, and why it varies.
type Row = (&'static str, f64, f64, Option<Varies>);

fn chain(rows: &[Row]) -> Network {
    let step = |(at, (name, ms, bytes, varies)): (usize, &Row)| {
        let step = match at {
            0 => Step::source(name, Amount::Finite(IMAGES)),
            _ => Step::after(name, at - 1),
        };
        let (ns, bytes_out) = (Figure::exact(ms * 1e6), Figure::exact(*bytes));
        Step { ns, bytes_out, varies: *varies, ..step }
    };
    Network::new(rows.iter().enumerate().map(step).collect()).unwrap()
}

fn unfused() -> Network {
    chain(&[
        ("read", 0.6, 116e3, None),
        ("decode", 1.0, 700e3, None),
        ("augment", 2.17, 150e3, Some(Varies::Random)),
    ])
}

fn fused() -> Network {
    chain(&[("read", 0.6, 116e3, None), ("decode_crop", 2.5, 150e3, Some(Varies::Random))])
}

const WHOLE: Horizon = Horizon {
    epochs: 1e6,
    partial: false,
    memory: TierCost { read_ns: 0.0, read_ns_per_byte: 0.0, write_ns: 0.0, write_ns_per_byte: 0.0 },
    disk: TierCost { read_ns: 0.0, read_ns_per_byte: 0.0, write_ns: 0.0, write_ns_per_byte: 0.0 },
};

fn chosen(network: &Network, memory: f64, horizon: &Horizon) -> Choice {
    choose(network, &Machine::new(32.0, memory), &Wishes::default(), horizon)
}

/// Names of the steps after which something is kept.
fn kept(network: &Network, memory: f64) -> Vec<String> {
    let caches = chosen(network, memory, &WHOLE).best.caches;
    caches.iter().map(|it| network.steps()[it.step].name.clone()).collect()
}

#[test]
fn every_place_is_told_with_a_reason() {
    let choice = chosen(&unfused(), 300.0 * GB, &WHOLE);
    let why = |step: usize| {
        let memory = choice.considered.iter().find(|it| it.step == step && it.tier == Tier::Memory);
        memory.unwrap().outcome.as_ref().err().map(ToString::to_string)
    };
    assert_eq!(why(0), None);
    assert_eq!(why(1).unwrap(), "840 GB does not fit into 270 GB");
    assert_eq!(why(2).unwrap(), "`augment` draws random numbers");
    let disks = choice.considered.iter().filter(|it| it.tier == Tier::Disk);
    assert!(disks.take(2).all(|it| it.outcome == Err(Rejected::NoRoom)));
}

#[test]
fn what_varies_cuts_everything_after_it() {
    let quiet = |name| (name, 1.0, 10.0, None);
    for (varies, told) in [
        (Varies::Random, "draws random numbers"),
        (Varies::Clock, "reads the clock"),
        (Varies::Unrepeatable, "may return other records each time"),
        (Varies::Reorders, "changes the order each epoch"),
    ] {
        let rows = [quiet("a"), ("b", 1.0, 10.0, Some(varies)), quiet("c"), quiet("d"), quiet("e")];
        let found = candidates(&chain(&rows));
        assert!(found[0].is_ok());
        for after in &found[1..] {
            assert_eq!(after.as_ref().unwrap_err().to_string(), format!("`b` {told}"));
        }
    }
}

#[test]
fn a_repeat_for_ever_is_not_kept_and_what_is_before_it_is() {
    let with_repeat = |at: usize| unfused().with(at, |step| step.count = Count::Repeat(None));
    let found = candidates(&with_repeat(1));
    assert!(found[0].is_ok());
    assert_eq!(found[1], Err(Rejected::Infinite));
    assert_eq!(kept(&with_repeat(1), 1e18), ["read"]);
    let unknown = unfused().with(0, |step| step.count = Count::Source(Amount::Unknown));
    assert_eq!(candidates(&unknown)[1], Err(Rejected::UnknownSize));
    let empty = unfused().with(0, |step| step.bytes_out = Figure::ZERO);
    assert_eq!(candidates(&empty)[0], Err(Rejected::Empty));
}

#[test]
fn a_part_is_kept_where_the_whole_does_not_fit() {
    let horizon = Horizon { partial: true, ..WHOLE };
    let choice = chosen(&fused(), 116e3 * IMAGES / 0.9 / 2.0, &horizon);
    let held = choice.best.caches[0];
    assert!((held.share - 0.5).abs() < 1e-9, "{held:?}");
    // Half of the reading is spared: 0.3 ms of 3.1.
    assert!((choice.best.warm_rate - 32.0 / 2.8e-3).abs() < 1.0, "{}", choice.best.warm_rate);
}

#[test]
fn a_slow_disk_serves_a_part_and_cores_do_the_rest() {
    // Decoded records on a disk of 1 GB/s are served at 1429/s; 4 cores decode 4/1.6 ms = 2500/s.
    let network = chain(&[("read", 0.0, 0.0, None), ("decode", 1.6, 700e3, None)]);
    let mut machine =
        Machine { storages: vec![Storage::flat("nvme", GB)], ..Machine::new(4.0, 0.0) };
    machine.disk_cache = Some((0, 1e13));
    let horizon = Horizon { partial: true, ..WHOLE };
    let best = choose(&network, &machine, &Wishes::default(), &horizon).best;
    // Both are busy: f/1429 = (1 − f)/2500, 3929/s together; with all of it on the disk it would be slower than without.
    let (disk, cores) = (GB / 700e3, 4.0 / 1.6e-3);
    assert!((best.warm_rate / (disk + cores) - 1.0).abs() < 1e-3, "{best:?}");
    let share: f64 = best.caches.iter().map(|it| it.share).sum();
    assert!((0.3..0.9).contains(&share), "{share}");
    let all = choose(&network, &machine, &Wishes::default(), &WHOLE).best;
    assert!(all.warm_rate >= cores, "{all:?}");
}

#[test]
fn memory_and_disk_are_used_together() {
    let machine = Machine {
        storages: vec![Storage::flat("nvme", 4.0 * GB)],
        disk_cache: Some((0, 200.0 * GB)),
        ..Machine::new(32.0, 100.0 * GB)
    };
    let horizon = Horizon { partial: true, ..WHOLE };
    let together = choose(&unfused(), &machine, &Wishes::default(), &horizon).best;
    let tiers: Vec<Tier> = together.caches.iter().map(|it| it.tier).collect();
    assert!(tiers.contains(&Tier::Memory) && tiers.contains(&Tier::Disk), "{together:?}");
    let alone = Machine { disk_cache: None, ..machine };
    assert!(
        together.seconds < choose(&unfused(), &alone, &Wishes::default(), &horizon).best.seconds
    );
}

#[test]
fn memory_disk_and_cores_are_all_busy_at_once() {
    // Memory holds half; disk (1429/s) and cores (2500/s) share the other half: 3929/s · 2.
    let network = chain(&[("read", 0.0, 0.0, None), ("decode", 1.6, 700e3, None)]);
    let machine = Machine {
        storages: vec![Storage::flat("nvme", GB)],
        disk_cache: Some((0, 1e13)),
        ..Machine::new(4.0, 0.5 * 700e3 * IMAGES / 0.9)
    };
    let horizon = Horizon { partial: true, ..WHOLE };
    let best = choose(&network, &machine, &Wishes::default(), &horizon).best;
    assert!((best.warm_rate / (2.0 * (GB / 700e3 + 2500.0)) - 1.0).abs() < 1e-3, "{best:?}");
}

#[test]
fn the_room_goes_to_what_saves_most_for_a_byte() {
    // Left: 2 GB save 3 ms; right: 0.5 GB save 2 ms. 1.5 GB hold all of the right and half of the left.
    let network = two_branches([(3e6, 2e3), (2e6, 500.0)]);
    let horizon = Horizon { partial: true, ..WHOLE };
    let best = chosen(&network, 1.5e9 / 0.9, &horizon).best;
    let share = |step| best.caches.iter().find(|it| it.step == step).map_or(0.0, |it| it.share);
    assert!((share(0) - 0.5).abs() < 1e-3 && (share(1) - 1.0).abs() < 1e-9, "{best:?}");
}

#[test]
fn of_two_places_that_save_the_same_the_smaller_is_taken() {
    let augment = ("augment", 1.0, 400.0, Some(Varies::Random));
    for (read, cast, place) in [(100.0, 400.0, "read"), (400.0, 100.0, "cast")] {
        let network = chain(&[("read", 1.0, read, None), ("cast", 0.0, cast, None), augment]);
        assert_eq!(kept(&network, 1e12), [place]);
    }
}

#[test]
fn long_pipelines_use_all_the_room() {
    // 24 steps, records that grow: 28.8 GB after the last one; 20 GB of disk and 4.5 GB of memory are there.
    let row = |at: u8| ("step", 0.1 + 0.05 * f64::from(at), 1e3 * (1.0 + f64::from(at)), None);
    let network = chain(&(0..24).map(row).collect::<Vec<Row>>());
    let machine = Machine {
        storages: vec![Storage::flat("nvme", GB)],
        disk_cache: Some((0, 20.0 * GB)),
        ..Machine::new(32.0, 5.0 * GB)
    };
    let horizon = Horizon { partial: true, ..WHOLE };
    let best = choose(&network, &machine, &Wishes::default(), &horizon).best;
    let at_the_end = best.caches.iter().filter(|it| it.step == 23).map(|it| it.share).sum::<f64>();
    assert!((at_the_end - 24.5 / 28.8).abs() < 1e-3, "{best:?}");
}

#[test]
fn filling_is_paid_back_or_not_done() {
    // Filling costs as much as decoding saves: 1 ms for each record; free to read.
    let fill = TierCost { write_ns: 1.5e6, ..TierCost::default() };
    let horizon = |epochs| Horizon { epochs, partial: false, memory: fill, ..Horizon::default() };
    let network =
        chain(&[("read", 0.0, 1e3, None), ("decode", 1.0, 2e3, None), ("train", 1.0, 2e3, None)])
            .with(2, |step| step.varies = Some(Varies::Random));
    let run = |epochs| chosen(&network, 1e12, &horizon(epochs));
    // First epoch 3.5 ms each, later 1 ms; without, 2 ms each: 3.5 + (E − 1) = 2 E at E = 2.5.
    let at = |epochs: f64| run(epochs).considered[2].outcome.clone().unwrap();
    assert!((at(10.0).payback_epochs.unwrap() - 2.5).abs() < 1e-9, "{:?}", at(10.0));
    assert!(run(1.0).best.caches.is_empty() && run(2.0).best.caches.is_empty());
    assert_eq!(run(3.0).best.caches[0].step, 1);
    // The first epoch of ten is slower and the other nine are faster, in numbers.
    let without = run(10.0).without.seconds;
    assert!((at(10.0).seconds / without - 12.5 / 20.0).abs() < 1e-9);
}

#[test]
fn nothing_is_kept_for_a_consumer_that_is_slower_anyway() {
    let mut machine = Machine::new(32.0, 1e18);
    machine.consumer.seconds = Some(1e-3);
    let choice = choose(&unfused(), &machine, &Wishes::default(), &WHOLE);
    assert!(choice.best.caches.is_empty());
}

/// Two sources of 10⁶ records, (nanoseconds, bytes) each, zipped and then varied.
fn two_branches(sources: [(f64, f64); 2]) -> Network {
    let source = |(name, (ns, bytes))| Step {
        bytes_out: Figure::exact(bytes),
        ..Step::source(name, Amount::Finite(1e6)).costs(Figure::exact(ns))
    };
    let inputs = ratio::zip(2).into_iter().enumerate().map(|(step, share)| Input { step, share });
    let zip = Step {
        name: "zip".to_owned(),
        inputs: inputs.collect(),
        count: Count::Shortest,
        varies: Some(Varies::Random),
        ns: Figure::exact(1e5),
        ..Step::default()
    };
    let sources = ["left", "right"].into_iter().zip(sources).map(source);
    Network::new(sources.chain([zip]).collect()).unwrap()
}

#[test]
fn two_branches_have_a_cache_each_where_both_fit() {
    let network = two_branches([(3e6, 1e3), (2e6, 1e3)]);
    assert_eq!(kept(&network, 3e9), ["left", "right"]);
    assert_eq!(kept(&network, 1.5e9), ["left"]);
    assert_eq!(kept(&network, 0.5e9), [""; 0]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..Default::default() })]

    /// E15, as far as it is arithmetic: whatever the costs, never after something that varies, never over the budget, never slower.
    #[test]
    fn no_cache_is_ever_after_something_that_varies(
        network in tree(), at in 0..9_usize, memory in 1e3..1e10_f64, partial: bool,
    ) {
        let at = at % network.steps().len();
        let network = network.with(at, |step| step.varies = Some(Varies::Random));
        let horizon = Horizon { partial, epochs: 20.0, ..Horizon::default() };
        let storages = vec![Storage::flat("disk", 1e9)];
        let machine = Machine { storages, disk_cache: Some((0, memory)), ..Machine::new(8.0, memory) };
        let choice = choose(&network, &machine, &Wishes::default(), &horizon);
        let mut bytes = 0.0;
        for held in &choice.best.caches {
            prop_assert!(!network.upstream(held.step)[at]);
            prop_assert!(held.share > 0.0 && held.share <= 1.0);
            let here = choice.best.caches.iter().filter(|it| it.step == held.step);
            prop_assert!(here.map(|it| it.share).sum::<f64>() <= 1.0 + 1e-9);
            bytes += if held.tier == Tier::Memory { held.bytes } else { 0.0 };
        }
        prop_assert!(bytes <= machine.memory_for_caches(0.0) * (1.0 + 1e-9));
        prop_assert!(choice.best.seconds <= choice.without.seconds);
        for other in choice.considered.iter().filter_map(|it| it.outcome.as_ref().ok()) {
            prop_assert!(choice.best.seconds <= other.seconds * 1.011);
        }
    }
}
