//! The cheapest machine for a rate; E14 is in `benches`.

use super::network::chain;
use model::{
    Machine, Network, Storage,
    cache::Horizon,
    cost::{Prices, cheapest},
    network::{Pattern, Reads, Varies},
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
