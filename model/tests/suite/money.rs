//! E14: the cheapest machine for a rate.

use super::network::chain;
use model::{
    Machine, Network, Storage, Wishes,
    cache::{Held, Horizon, Tier, furnished},
    cost::{Prices, cheapest},
    network::{Act, Pattern, Reads, Varies},
    solve,
};

/// 1000 records of 10⁶ bytes: reading 1 ms, decoding 3 ms to 6·10⁶ bytes, training input 2 ms.
fn network() -> Network {
    let reads = Reads { storage: 0, bytes: 1e6, requests: 1.0, pattern: Pattern::Sequential };
    chain(&[1e-3, 3e-3, 2e-3])
        .with(0, |step| (step.reads, step.bytes_out.value) = (Some(reads), 1e6))
        .with(1, |step| step.bytes_out.value = 6e6)
        .with(2, |step| step.varies = Some(Varies::Random))
}

fn most() -> Machine {
    Machine { storages: vec![Storage::flat("disk", 1e12)], ..Machine::new(1e6, 1e12) }
}

#[test]
fn the_cheapest_is_the_cheapest_of_all_and_keeps_the_rate() {
    let prices = Prices { core: 0.03, memory_gb: 0.05, bandwidth_gb_s: 0.2 };
    let mut chosen = Vec::new();
    for rate in [1.0, 10.0, 100.0, 1000.0, 3000.0, 10_000.0] {
        let offer = cheapest(&network(), &most(), (&prices, rate), &Horizon::default()).unwrap();
        // Written out: seconds of CPU, bytes read and gigabytes kept without, after reading, after decoding.
        let rows = [(6e-3, 1e6, 0.0), (5e-3, 0.0, 1.0), (2e-3, 0.0, 6.0)];
        let price = |(cpu, bytes, gb): (f64, f64, f64)| {
            0.03 * cpu * rate + 0.2 * bytes * rate * 1e-9 + 0.05 * gb
        };
        let best = rows.into_iter().map(price).fold(f64::INFINITY, f64::min);
        assert!((offer.price / best - 1.0).abs() < 1e-9, "{rate}: {offer:?} and {best}");
        chosen.push(offer.cache);
        // A machine of that size does it.
        let bytes = offer.cache.map_or(0.0, |at| rows[at + 1].2 * 1e9);
        let held = offer.cache.map(|step| Held { step, tier: Tier::Memory, share: 1.0, bytes });
        let warm =
            furnished(&network(), &most(), (held.as_slice(), Act::Serves), &Horizon::default());
        let disk = Storage::flat("disk", offer.bandwidth.max(1.0));
        let rented =
            Machine { storages: vec![disk], ..Machine::new(offer.cores, offer.memory_bytes) };
        assert!(solve(&warm, &rented, &Wishes::default()).rate >= rate * (1.0 - 1e-9), "{rate}");
    }
    assert_eq!(chosen, [None, None, None, Some(0), Some(1), Some(1)]);
}

#[test]
fn a_disk_of_375_gigabytes_reads_660_megabytes_a_second() {
    // 660 MB/s are a disk: 375 GB at $0.08 a month of 730 hours.
    let paid = Prices::n1().bandwidth_gb_s * 0.66;
    assert!((paid - 375.0 * 0.08 / 730.0).abs() < 1e-12);
}

#[test]
fn no_money_buys_a_second_thread_for_a_sequential_step() {
    let network = network().with(2, |step| step.segment = Some(0));
    let offer = |rate| cheapest(&network, &most(), (&Prices::n1(), rate), &Horizon::default());
    assert!(offer(500.0).is_some());
    assert!(offer(501.0).is_none());
}

#[test]
fn memory_that_is_not_there_is_not_rented() {
    let small = Machine { memory_bytes: 3e9, ..most() };
    let prices = Prices { core: 0.03, memory_gb: 0.05, bandwidth_gb_s: 0.2 };
    let offer = cheapest(&network(), &small, (&prices, 10_000.0), &Horizon::default());
    assert_eq!(offer.unwrap().cache, Some(0));
}
