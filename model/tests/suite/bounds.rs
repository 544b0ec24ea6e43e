//! E2: the closed form beside bisection, a solver of linear programs, and brute force.

use super::network::{machine, tree};
use microlp::{ComparisonOp, OptimizationDirection, Problem};
use model::{
    Machine, Network, Wishes,
    predict::{Setting, predict},
    solve,
    solve::solve_by_bisection,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The program of the paper, with the constraints that it left out: one unknown for the rate, one for each θ.
fn linear_program(network: &Network, machine: &Machine, least: &[f64]) -> f64 {
    let mut program = Problem::new(OptimizationDirection::Maximize);
    let x = program.add_var(1.0, (0.0, f64::INFINITY));
    let demands = network.demands(machine.cores);
    let flow = network.visits();
    let theta: Vec<_> = (0..demands.len())
        .map(|at| program.add_var(0.0, (least.get(at).copied().unwrap_or(0.0), f64::INFINITY)))
        .collect();
    let le = ComparisonOp::Le;
    let mut segments: BTreeMap<u32, f64> = BTreeMap::new();
    let (mut disk, mut moved) = (0.0, 0.0);
    for (at, (step, demand)) in network.steps().iter().zip(&demands).enumerate() {
        program.add_constraint([(x, demand.cpu_s), (theta[at], -1.0)], le, 0.0);
        *segments.entry(step.segment.unwrap_or(u32::MAX)).or_default() += demand.worker_s;
        if let Some(cap) = step.cap {
            program.add_constraint([(x, flow.visits[at] / cap)], le, 1.0);
        }
        disk +=
            step.reads.map_or(0.0, |it| it.bytes) * flow.entering[at] / machine.storages[0].write;
        moved += step.bytes_moved * flow.entering[at];
    }
    program.add_constraint(
        theta.iter().map(|it| (*it, 1.0)).collect::<Vec<_>>(),
        le,
        machine.cores,
    );
    for (number, seconds) in segments {
        if number != u32::MAX {
            program.add_constraint([(x, seconds)], le, 1.0);
        }
    }
    program.add_constraint([(x, disk)], le, 1.0);
    if let Some(bandwidth) = machine.memory_bandwidth {
        program.add_constraint([(x, moved / bandwidth)], le, 1.0);
    }
    if let Some(seconds) = machine.consumer.seconds {
        program.add_constraint([(x, seconds)], le, 1.0);
    }
    program.solve().unwrap().into_solution().unwrap().objective()
}

/// The best predicted rate of all whole numbers of workers that together are no more than the cores.
fn brute_force(network: &Network, machine: &Machine) -> f64 {
    let n = network.steps().len();
    let most = (machine.cores as u32).clamp(1, 12);
    let mut best = 0.0_f64;
    let mut workers = vec![1_u32; n];
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

fn near(a: f64, b: f64) -> Result<(), TestCaseError> {
    prop_assert!((a / b - 1.0).abs() < 1e-9, "{a} is not {b}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn the_closed_form_is_the_bisection_and_the_linear_program(
        network in tree(), machine in machine(), used in prop::option::of(0.0..0.3_f64),
    ) {
        let n = network.steps().len();
        let least: Vec<f64> = used.map_or(Vec::new(), |part| vec![part * machine.cores / n as f64 * 3.0; n]);
        let wishes = Wishes { least: least.clone(), ..Wishes::default() };
        let closed = solve(&network, &machine, &wishes).rate;
        near(closed, solve_by_bisection(&network, &machine, &wishes))?;
        near(closed, linear_program(&network, &machine, &least))?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_whole_numbers_of_workers_beat_it(network in tree(), machine in machine()) {
        if network.steps().len() <= 4 {
            let closed = solve(&network, &machine, &Wishes::default());
            prop_assert!(closed.rate * (1.0 + 1e-9) >= brute_force(&network, &machine));
            // And its own whole numbers reach it: over-allocation to the next one is generally fine.
            let setting = Setting { workers: closed.workers, prefetch: 1 };
            near(predict(&network, &machine, &setting).0, closed.rate)?;
        }
    }

    #[test]
    fn more_of_anything_is_never_slower(network in tree(), machine in machine()) {
        let rate = solve(&network, &machine, &Wishes::default()).rate;
        for help in model::next::helps(&network, &machine, &Wishes::default()) {
            prop_assert!(help.rate >= rate * (1.0 - 1e-12), "{help:?} {rate}");
        }
    }

    #[test]
    fn uses_are_parts_and_the_tightest_bound_is_met(network in tree(), machine in machine()) {
        let found = solve(&network, &machine, &Wishes::default());
        prop_assert!(found.core_use <= 1.0 + 1e-9 && found.storage_use[0] <= 1.0 + 1e-9);
        prop_assert_eq!(found.rate, found.bounds[0].rate);
        prop_assert!(found.capacity.iter().flatten().all(|it| *it >= found.rate * (1.0 - 1e-6)));
        let [_, knee, far] = found.roofline();
        near(knee.1, found.rate)?;
        near(far.1, found.rate)?;
    }
}

#[test]
fn changes_are_limited_as_asked() {
    let network = super::network::by_rates(&[10.0, 10.0]);
    let machine = Machine::new(8.0, 1e9);
    let rate = |wishes: &Wishes| solve(&network, &machine, wishes).rate;
    assert!((rate(&Wishes::default()) - 40.0).abs() < 1e-9);
    assert!((rate(&Wishes { bias: 2.0, ..Wishes::default() }) - 30.0).abs() < 1e-9);
    assert!((rate(&Wishes { core_multiplier: 0.5, ..Wishes::default() }) - 20.0).abs() < 1e-9);
    let step = Wishes { least: vec![1.0, 1.0], max_change: Some(2.0), ..Wishes::default() };
    assert!((rate(&step) - 20.0).abs() < 1e-9);
    // Three cores lie where they are not needed: 5 are left for the other.
    let skewed = Wishes { least: vec![7.0, 0.0], ..Wishes::default() };
    assert!((rate(&skewed) - 10.0).abs() < 1e-9);
}
