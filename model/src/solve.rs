//! The best rate of a network on a machine, and the schedule that reaches it.
//!
//! max X with Σ θ ≤ cores, X ≤ θ·R, one thread for each sequential segment, and the bounds of
//! disks, memory and consumer. The linear program of the paper (section 4.3) has one unknown that
//! matters, X: each constraint is a rate of its own, and X is the least of them.

use crate::{
    figure::Origin,
    load::{Load, whole},
    machine::Machine,
    network::Network,
    verdict::Verdict,
};
use serde::{Deserialize, Serialize};

/// Steps whose part of the whole CPU time is below this are trivial: a second worker never pays.
const TRIVIAL: f64 = 0.001;

/// Workers that a step of some weight gets at least when hedging (paper section 5.4: two or more for cheap ops).
const HEDGE: u32 = 2;

/// What to heed beside the machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wishes {
    /// Cores that each step uses already and keeps; empty: none. Scaled down where they are more than there are.
    pub least: Vec<f64>,
    /// Cores that are used by what the model does not see.
    pub bias: f64,
    /// Cores by which the use may grow beyond `least`; none: any number.
    pub max_change: Option<f64>,
    /// The cores of the machine count so many times.
    pub core_multiplier: f64,
    /// Two workers at least for every parallel step that is not trivial: skewed costs need them.
    pub hedge: bool,
}

/// Something that bounds the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    /// All cores are busy.
    Cpu,
    /// A step has no more workers.
    Step(usize),
    /// Sequential steps share one thread, and it is busy.
    Segment(u32),
    /// A step gives no more, whatever the cores.
    Cap(usize),
    /// A storage is busy.
    Storage(usize),
    /// There is no memory for as many batches of a step as would keep all cores busy.
    Memory(usize),
    /// The memory is busy.
    MemoryBandwidth,
    /// The consumer is busy: loading is not the problem.
    Consumer,
}

/// A bound and its rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// What bounds.
    pub limit: Limit,
    /// Outputs per second.
    pub rate: f64,
    /// The least sure of the figures in it.
    pub origin: Origin,
}

/// The best rate, how it is reached, and what keeps it from being higher.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Solution {
    /// Outputs per second: X. Infinite where nothing bounds it.
    pub rate: f64,
    /// All bounds, the tightest first; empty where nothing bounds.
    pub bounds: Vec<Bound>,
    /// The step that the tightest bound comes down to; none for the consumer.
    pub slowest: Option<usize>,
    /// Cores that each step uses: θ, fractional.
    pub cores: Vec<f64>,
    /// Workers for each step: the next whole number, at least 1.
    pub workers: Vec<u32>,
    /// Outputs per second that each step could give with these workers, alone: p·R; none for a step without work.
    pub capacity: Vec<Option<f64>>,
    /// The part of all cores in use, 0 to 1.
    pub core_use: f64,
    /// The part of the time that each storage is busy.
    pub storage_use: Vec<f64>,
    /// The part of the memory bandwidth in use, where it is known.
    pub memory_use: Option<f64>,
    /// Seconds that one output takes alone: R_min = Σ 1/R, with waiting.
    pub alone_s: f64,
    /// Outputs under way at which the rate is reached: N* = R_min · X.
    pub saturation: f64,
    /// Whether hardware or software bounds.
    pub verdict: Verdict,
}

impl Default for Wishes {
    fn default() -> Self {
        Self { least: Vec::new(), bias: 0.0, max_change: None, core_multiplier: 1.0, hedge: false }
    }
}

impl Wishes {
    /// Cores that may be given away, of so many.
    pub(crate) fn cores(&self, there: f64) -> f64 {
        let free = (there * self.core_multiplier - self.bias).max(0.0);
        let used: f64 = self.least.iter().sum();
        self.max_change.map_or(free, |change| free.min(used + change))
    }

    /// `least` for so many steps, scaled down to fit.
    pub(crate) fn least_within(&self, steps: usize, cores: f64) -> Vec<f64> {
        let sum: f64 = self.least.iter().sum();
        let scale = if sum > cores { cores / sum } else { 1.0 };
        (0..steps).map(|at| self.least.get(at).map_or(0.0, |it| it * scale)).collect()
    }
}

/// The best rate and its schedule, in closed form: X* is the least of all bounds, θ = X*/R.
pub fn solve(network: &Network, machine: &Machine, wishes: &Wishes) -> Solution {
    let load = Load::new(network, machine, wishes, None);
    let bounds = load.bounds();
    let rate = bounds.first().map_or(f64::INFINITY, |it| it.rate);
    let workers: Vec<u32> =
        (0..load.demands.len()).map(|at| workers(&load, at, rate, wishes)).collect();
    let theta =
        load.demands.iter().zip(&load.least).map(|(it, least)| least.max(part(rate, it.cpu_s)));
    let cores: Vec<f64> = theta.collect();
    let alone_s = load.demands.iter().map(|it| it.worker_s).sum();
    let used: f64 = load.demands.iter().map(|it| part(rate, it.cpu_s)).sum();
    let capacity = |at: usize| {
        let threads = f64::from(workers[at]).min(load.width(at).unwrap_or(f64::INFINITY));
        let worker_s = load.demands[at].worker_s;
        (worker_s > 0.0).then(|| threads / worker_s)
    };
    let capacity = (0..workers.len()).map(capacity).collect();
    Solution {
        rate,
        slowest: bounds.first().and_then(|it| slowest(&load, it.limit)),
        verdict: bounds.first().map_or(Verdict::Unbounded, |it| Verdict::of(it.limit)),
        bounds,
        capacity,
        cores,
        workers,
        core_use: used / machine.cores,
        storage_use: load.storage_s.iter().map(|it| part(rate, *it)).collect(),
        memory_use: machine
            .memory_bandwidth
            .map(|it| part(rate, load.demands.iter().map(|it| it.moved).sum()) / it),
        alone_s,
        saturation: part(rate, alone_s),
    }
}

/// The same rate found without algebra, by bisection on "does X fit": slower, and for checking.
pub fn solve_by_bisection(network: &Network, machine: &Machine, wishes: &Wishes) -> f64 {
    let load = Load::new(network, machine, wishes, None);
    bisect(|rate| load.fits(rate))
}

/// The largest x for which a monotone condition holds, to the last bits; infinite if it always holds.
pub fn bisect(holds: impl Fn(f64) -> bool) -> f64 {
    let mut high = 1.0;
    while holds(high) {
        high *= 2.0;
        if high > 1e300 {
            return f64::INFINITY;
        }
    }
    let mut low = 0.0;
    // Each round halves the gap: 1 100 reach from 1e300 to the least number there is.
    for _ in 0..1100 {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}

/// Outputs that are to be fetched ahead at the root: ceil(max(0, N* − N)) (paper's code; N by Little's law).
pub fn prefetch(saturation: f64, under_way: f64) -> u32 {
    let missing = saturation - under_way;
    if missing > 1e-9 { whole(missing) } else { 0 }
}

/// Outputs under way, by Little's law: the wall time of all steps together by the time that passed.
pub fn under_way(wall_s: f64, elapsed_s: f64) -> f64 {
    if elapsed_s > 0.0 { wall_s / elapsed_s } else { 0.0 }
}

impl Solution {
    /// What bounds, if anything.
    pub fn bottleneck(&self) -> Option<&Bound> {
        self.bounds.first()
    }

    /// The rate with so many outputs under way: min(N/R_min, X*).
    pub fn at(&self, under_way: f64) -> f64 {
        if self.alone_s > 0.0 { (under_way / self.alone_s).min(self.rate) } else { self.rate }
    }

    /// Corners of the roofline: nothing, where it turns flat, and twice as far; (outputs under way, outputs per second).
    pub fn roofline(&self) -> [(f64, f64); 3] {
        [0.0, self.saturation, 2.0 * self.saturation].map(|n| (n, self.at(n)))
    }
}

/// θ or a use: nothing for no demand, even at an infinite rate.
fn part(rate: f64, demand: f64) -> f64 {
    if demand == 0.0 { 0.0 } else { rate * demand }
}

fn workers(load: &Load<'_>, at: usize, rate: f64, wishes: &Wishes) -> u32 {
    let most = load.limits[at].unwrap_or(u32::MAX);
    let least_by_cores = load.least[at];
    let busy = whole(part(rate, load.demands[at].worker_s).max(least_by_cores));
    let all: f64 = load.demands.iter().map(|it| it.cpu_s).sum();
    let weighs = load.demands[at].cpu_s > TRIVIAL * all;
    let hedge = if wishes.hedge && weighs { HEDGE } else { 1 };
    let readers = if rate.is_finite() { load.readers(at, rate) } else { 1 };
    busy.max(hedge).max(readers).min(most)
}

fn slowest(load: &Load<'_>, limit: Limit) -> Option<usize> {
    let steps = load.network.steps();
    // Of those that weigh the same, the first one.
    let by = |weight: &dyn Fn(usize) -> f64| {
        (0..steps.len()).rev().max_by(|a, b| weight(*a).total_cmp(&weight(*b)))
    };
    let bytes_at = |at: usize, storage: usize| {
        let own = steps[at].all_reads().filter(|it| it.storage == storage);
        let own: f64 = own.map(|it| it.bytes * load.flow.entering[at]).sum();
        let caches =
            steps[at].caches.iter().filter(|it| it.storage.is_some_and(|s| s.0 == storage));
        own + caches
            .filter_map(|it| Some(it.share * load.flow.visits[at] * it.storage?.1))
            .sum::<f64>()
    };
    match limit {
        Limit::Cpu => by(&|at| load.demands[at].cpu_s),
        Limit::Step(at) | Limit::Cap(at) | Limit::Memory(at) => Some(at),
        Limit::Segment(number) => by(&|at| {
            if steps[at].segment == Some(number) { load.demands[at].worker_s } else { -1.0 }
        }),
        Limit::Storage(storage) => by(&|at| bytes_at(at, storage)),
        Limit::MemoryBandwidth => by(&|at| load.demands[at].moved),
        Limit::Consumer => None,
    }
}
