//! Networks for the tests: chains by their rates, and random trees.

use model::{
    Figure, Machine, Network, Step, Storage,
    machine::Consumer,
    network::{Amount, Input, Pattern, Reads},
};
use proptest::prelude::*;

/// A chain of steps that each cost so many seconds of CPU per output.
pub(crate) fn chain(seconds: &[f64]) -> Network {
    let step = |(at, s): (usize, &f64)| {
        let step = match at {
            0 => Step::source("s0", Amount::Finite(1000.0)),
            _ => Step::after(&format!("s{at}"), at - 1),
        };
        Step { bytes_out: Figure::exact(1.0), ..step.costs(Figure::exact(s * 1e9)) }
    };
    Network::new(seconds.iter().enumerate().map(step).collect()).unwrap()
}

/// A chain by its rates per core: R.
pub(crate) fn by_rates(rates: &[f64]) -> Network {
    chain(&rates.iter().map(|it| it.recip()).collect::<Vec<_>>())
}

/// One step of a random tree: CPU, waiting, ratio, segment, cap, cores of a call, bytes, and whether it starts a branch.
type Draft = (f64, f64, f64, Option<u32>, Option<f64>, f64, f64, bool);

fn draft() -> impl Strategy<Value = Draft> {
    (
        1e6..1e9_f64,
        prop_oneof![3 => Just(0.0), 1 => 1e6..1e9_f64],
        0.1..8.0_f64,
        prop_oneof![2 => Just(None), 1 => (0..3_u32).prop_map(Some)],
        prop_oneof![4 => Just(None), 1 => (1.0..200.0_f64).prop_map(Some)],
        prop_oneof![4 => Just(1.0), 1 => 1.0..4.0_f64],
        0.0..1e6_f64,
        prop::bool::weighted(0.3),
    )
}

/// Random trees of 1 to 9 steps: branches come together at the next step that starts none.
pub(crate) fn tree() -> impl Strategy<Value = Network> {
    prop::collection::vec(draft(), 1..=9).prop_map(|drafts| {
        let last = drafts.len() - 1;
        let mut open: Vec<usize> = Vec::new();
        let mut steps = Vec::new();
        for (at, (ns, waits, taken, segment, cap, internal, bytes, starts)) in
            drafts.into_iter().enumerate()
        {
            let source = at == 0 || (starts && at != last);
            let from = if source { Vec::new() } else { std::mem::take(&mut open) };
            let share = 1.0 / from.len().max(1) as f64;
            let reads = Reads { storage: 0, bytes, requests: 1.0, pattern: Pattern::Sequential };
            steps.push(Step {
                inputs: from.into_iter().map(|step| Input { step, share }).collect(),
                taken: if source { 1.0 } else { taken },
                waits_ns: Figure::exact(waits),
                segment,
                cap,
                internal,
                reads: source.then_some(reads),
                bytes_moved: bytes,
                bytes_out: Figure::exact(bytes),
                ..Step::source(&format!("s{at}"), Amount::Finite(1000.0)).costs(Figure::exact(ns))
            });
            if !source {
                steps[at].count = model::network::Count::Ratio;
            }
            open.push(at);
        }
        Network::new(steps).unwrap()
    })
}

/// Machines of 1 to 96 cores with a disk, a memory bandwidth and a consumer.
pub(crate) fn machine() -> impl Strategy<Value = Machine> {
    let maybe = |range: std::ops::Range<f64>| prop::option::of(range);
    (1.0..96.0_f64, maybe(1e6..1e9), maybe(1e-3..1.0), 1e6..1e9_f64).prop_map(
        |(cores, bandwidth, consumer, disk)| Machine {
            memory_bandwidth: bandwidth,
            storages: vec![Storage::flat("disk", disk)],
            consumer: Consumer { seconds: consumer },
            ..Machine::new(cores, 1e9)
        },
    )
}

/// Lots that are the same in each run (SplitMix64).
pub(crate) struct Lots(pub(crate) u64);

impl Lots {
    /// 0 up to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}
