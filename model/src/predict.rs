//! The rate of a given schedule: not the best one, the one that is set.

use crate::{
    load::Load,
    machine::Machine,
    network::Network,
    solve::{Bound, Wishes},
};
use serde::{Deserialize, Serialize};

/// Numbers that a schedule sets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Workers of each step.
    pub workers: Vec<u32>,
    /// Outputs that are fetched ahead; with none, and one worker each, all steps take turns on one thread.
    pub prefetch: u32,
}

impl Setting {
    /// One worker everywhere, nothing fetched ahead.
    pub fn naive(steps: usize) -> Self {
        Self { workers: vec![1; steps], prefetch: 0 }
    }

    /// Whether steps take turns: nobody but the consumer pulls.
    pub fn takes_turns(&self) -> bool {
        self.prefetch == 0 && self.workers.iter().all(|it| *it <= 1)
    }
}

/// Outputs per second with this setting, and what bounds them.
///
/// X = min over the steps of p·R, and of the bounds of the machine (paper section 4.2); where the
/// steps take turns, X = 1/Σ of their times.
pub fn predict(network: &Network, machine: &Machine, setting: &Setting) -> (f64, Option<Bound>) {
    let load = Load::new(network, machine, &Wishes::default(), Some(&setting.workers));
    let bound = load.bounds().first().copied();
    let rate = bound.map_or(f64::INFINITY, |it| it.rate);
    if setting.takes_turns() {
        let turn: f64 = load.demands.iter().map(|it| it.worker_s).sum();
        return (rate.min(turn.recip()), bound);
    }
    (rate, bound)
}

/// The estimate "Local": all idle cores go to the step that bounds now, up to the next one (paper section 5.1).
///
/// R·(p + idle) of the slowest, capped by p·R of the second slowest. It jumps where the bottleneck
/// changes, which is why it is no way to plan.
pub fn local(network: &Network, machine: &Machine, setting: &Setting) -> f64 {
    let demands = network.demands(machine.cores);
    let rate = predict(network, machine, setting).0;
    let used: f64 = demands.iter().map(|it| it.cpu_s * rate).sum();
    let idle = (machine.cores - used).max(0.0);
    let mut capacities: Vec<(f64, usize)> = demands
        .iter()
        .zip(&setting.workers)
        .map(|it| f64::from(*it.1) / it.0.worker_s)
        .zip(0..)
        .collect();
    capacities.sort_by(|a, b| a.0.total_cmp(&b.0));
    let Some((slowest, at)) = capacities.first().copied() else { return rate };
    let second = capacities.get(1).map_or(f64::INFINITY, |it| it.0);
    if network.steps()[at].sequential() {
        return slowest;
    }
    (slowest + idle / demands[at].worker_s).min(second)
}
