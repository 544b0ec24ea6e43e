//! E2: the closed form beside bisection, a solver of linear programs, and brute force; E14.

use super::{Lots, by_rates};
use crate::Row;
use microlp::{ComparisonOp, OptimizationDirection, Problem};
use model::{
    Figure, Machine, Network, Step, Storage, Wishes,
    cache::Horizon,
    cost::{Prices, cheapest},
    machine::Consumer,
    network::{Amount, Input, Pattern, Reads, Varies},
    predict::{Setting, predict},
    solve,
    solve::solve_by_bisection,
};
use std::collections::BTreeMap;

/// Networks that are drawn.
const NETWORKS: usize = 2000;

pub(super) fn rows() -> Vec<Row> {
    let (mut bisection, mut program, mut over, mut whole) = (0.0_f64, 0.0_f64, 0, 0);
    let mut lots = Lots(2);
    for _ in 0..NETWORKS {
        let (network, machine) = (tree(&mut lots), machine(&mut lots));
        let wishes = Wishes::default();
        let closed = solve(&network, &machine, &wishes).rate;
        let off = |it: f64| (closed / it - 1.0).abs();
        bisection = bisection.max(off(solve_by_bisection(&network, &machine, &wishes)));
        program = program.max(off(linear_program(&network, &machine)));
        if network.steps().len() <= 3 {
            whole += 1;
            over += usize::from(brute_force(&network, &machine) > closed * (1.0 + 1e-9));
        }
    }
    vec![
        Row::new(
            "E2 closed form",
            "2000 random trees: that of bisection and of a linear program, to 1e-9",
            format!("off by {bisection:.0e} and {program:.0e}"),
            bisection < 1e-9 && program < 1e-9,
        ),
        Row::new(
            "E2 whole numbers",
            "no whole numbers of workers beat it",
            format!("{over} of {whole}"),
            over == 0 && whole > 100,
        ),
    ]
}

/// A tree of 1 to 9 steps: branches come together at the next step that starts none.
fn tree(lots: &mut Lots) -> Network {
    let n = 1 + (lots.unit() * 9.0) as usize;
    let mut open: Vec<usize> = Vec::new();
    let mut steps = Vec::new();
    for at in 0..n {
        let is_source = at == 0 || (at + 1 < n && lots.unit() < 0.3);
        let from = if is_source { Vec::new() } else { std::mem::take(&mut open) };
        let share = 1.0 / from.len().max(1) as f64;
        let inputs = from.into_iter().map(|step| Input { step, share }).collect();
        steps.push(Step { inputs, ..drafted(at, is_source, lots) });
        open.push(at);
    }
    Network::new(steps).expect("it is a tree")
}

fn drafted(at: usize, is_source: bool, lots: &mut Lots) -> Step {
    let name = format!("s{at}");
    let mut step = match is_source {
        true => Step::source(&name, Amount::Finite(1000.0)),
        false => Step { taken: 0.1 + 8.0 * lots.unit(), ..Step::after(&name, 0) },
    };
    let bytes = 1e6 * lots.unit();
    let reads = Reads { storage: 0, bytes, requests: 1.0, pattern: Pattern::Sequential };
    step.ns = Figure::exact(1e6 + 1e9 * lots.unit());
    (step.bytes_moved, step.bytes_out) = (bytes, Figure::exact(bytes));
    step.reads = is_source.then_some(reads);
    let mut at_times = |part: f64| (lots.unit() < part).then(|| lots.unit());
    step.waits_ns = Figure::exact(at_times(0.25).unwrap_or(0.0) * 1e9);
    step.segment = at_times(0.33).map(|it| (it * 3.0) as u32);
    step.cap = at_times(0.2).map(|it| 1.0 + 200.0 * it);
    step.internal = 1.0 + 3.0 * at_times(0.2).unwrap_or(0.0);
    step
}

/// 1 to 96 cores with a disk, a memory bandwidth and a consumer.
fn machine(lots: &mut Lots) -> Machine {
    let mut maybe = |of: f64| (lots.unit() < 0.5).then(|| of * (0.001 + lots.unit()));
    let (memory_bandwidth, seconds) = (maybe(1e9), maybe(1.0));
    Machine {
        memory_bandwidth,
        storages: vec![Storage::flat("disk", 1e6 + 1e9 * lots.unit())],
        consumer: Consumer { seconds },
        ..Machine::new(1.0 + 95.0 * lots.unit(), 1e9)
    }
}

/// The program of the paper, with the constraints that it left out: an unknown for the rate, one for each θ.
fn linear_program(network: &Network, machine: &Machine) -> f64 {
    let mut program = Problem::new(OptimizationDirection::Maximize);
    let x = program.add_var(1.0, (0.0, f64::INFINITY));
    let demands = network.demands(machine.cores);
    let flow = network.visits();
    let theta: Vec<_> =
        demands.iter().map(|_| program.add_var(0.0, (0.0, f64::INFINITY))).collect();
    let le = ComparisonOp::Le;
    let mut segments: BTreeMap<u32, f64> = BTreeMap::new();
    let (mut disk, mut moved) = (0.0, 0.0);
    for (at, (step, demand)) in network.steps().iter().zip(&demands).enumerate() {
        program.add_constraint([(x, demand.cpu_s), (theta[at], -1.0)], le, 0.0);
        if let Some(number) = step.segment {
            *segments.entry(number).or_default() += demand.worker_s;
        }
        if let Some(cap) = step.cap {
            program.add_constraint([(x, flow.visits[at] / cap)], le, 1.0);
        }
        let bytes = step.reads.map_or(0.0, |it| it.bytes);
        disk += bytes * flow.entering[at] / machine.storages[0].write;
        moved += step.bytes_moved * flow.entering[at];
    }
    let all: Vec<_> = theta.iter().map(|it| (*it, 1.0)).collect();
    program.add_constraint(all, le, machine.cores);
    let bandwidth = machine.memory_bandwidth.map(|it| moved / it);
    let once =
        segments.into_values().chain([disk]).chain(bandwidth).chain(machine.consumer.seconds);
    for seconds in once {
        program.add_constraint([(x, seconds)], le, 1.0);
    }
    let solved = program.solve().ok().and_then(|it| it.into_solution().ok());
    solved.map_or(f64::NAN, |it| it.objective())
}

/// The best rate of all whole numbers of workers that together are no more than the cores.
fn brute_force(network: &Network, machine: &Machine) -> f64 {
    let most = (machine.cores as u32).clamp(1, 12);
    let mut best = 0.0_f64;
    let mut workers = vec![1_u32; network.steps().len()];
    loop {
        if f64::from(workers.iter().sum::<u32>()) <= machine.cores {
            let setting = Setting { workers: workers.clone(), prefetch: 1 };
            best = best.max(predict(network, machine, &setting).0);
        }
        let Some(at) = workers.iter().position(|it| *it < most) else { return best };
        workers[at] += 1;
        workers[..at].fill(1);
    }
}

/// 1000 records of 10⁶ bytes: reading 1 ms, decoding 3 ms to 6·10⁶ bytes, training input 2 ms.
pub(super) fn money() -> Row {
    let reads = Reads { storage: 0, bytes: 1e6, requests: 1.0, pattern: Pattern::Sequential };
    let network = by_rates(&[1e3, 1e3 / 3.0, 5e2])
        .with(0, |step| (step.reads, step.bytes_out.value) = (Some(reads), 1e6))
        .with(1, |step| step.bytes_out.value = 6e6)
        .with(2, |step| step.varies = Some(Varies::Random));
    let most = Machine { storages: vec![Storage::flat("disk", 1e12)], ..Machine::new(1e6, 1e12) };
    let prices = Prices { core: 0.03, memory_gb: 0.05, bandwidth_gb_s: 0.2 };
    // Written out: seconds of CPU, bytes read and gigabytes kept without, after reading, after decoding.
    let places = [(6e-3, 1e6, 0.0), (5e-3, 0.0, 1.0), (2e-3, 0.0, 6.0)];
    let mut off = 0.0_f64;
    let mut kept = Vec::new();
    for rate in [1.0, 10.0, 100.0, 1000.0, 3000.0, 10_000.0] {
        let price = |(cpu, bytes, gb): (f64, f64, f64)| {
            prices.core * cpu * rate
                + prices.bandwidth_gb_s * bytes * rate * 1e-9
                + prices.memory_gb * gb
        };
        let best = places.into_iter().map(price).fold(f64::INFINITY, f64::min);
        let offer = cheapest(&network, &most, (&prices, rate), &Horizon::default());
        off = off.max(offer.as_ref().map_or(1.0, |it| (it.price / best - 1.0).abs()));
        kept.push(offer.and_then(|it| it.cache).map_or("-", |it| ["read", "decode"][it.min(1)]));
    }
    let claim = "for 1 to 10 000 records/s the machine that enumeration finds cheapest";
    Row::new("E14 money", claim, format!("off by {off:.0e}; keeps {}", kept.join(" ")), off < 1e-9)
}
