//! What would help next: the rate with one more core, a disk twice as fast, a step made parallel.

use crate::{
    machine::{Consumer, Machine},
    network::Network,
    solve::{Limit, Wishes, solve},
};
use serde::{Deserialize, Serialize};

/// One thing that could be had or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Remedy {
    /// One core more.
    Core,
    /// Twice as many cores.
    TwiceTheCores,
    /// A storage twice as fast.
    TwiceTheStorage(usize),
    /// Twice as much memory.
    TwiceTheMemory,
    /// Memory twice as fast.
    TwiceTheMemoryBandwidth,
    /// A sequential step that any number of workers may do.
    Parallel(usize),
    /// No cap on a step.
    NoCap(usize),
    /// A consumer twice as fast.
    TwiceTheConsumer,
}

/// A remedy and the rate with it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Help {
    /// What is changed.
    pub remedy: Remedy,
    /// Outputs per second with it.
    pub rate: f64,
}

/// Every remedy that there is something to change for, the best first; those that do not help have today's rate.
pub fn helps(network: &Network, machine: &Machine, wishes: &Wishes) -> Vec<Help> {
    let today = solve(network, machine, wishes);
    let mut remedies = vec![Remedy::Core, Remedy::TwiceTheCores];
    remedies.extend(today.bounds.iter().filter_map(|it| match it.limit {
        Limit::Storage(at) => Some(Remedy::TwiceTheStorage(at)),
        Limit::Memory(_) => Some(Remedy::TwiceTheMemory),
        Limit::MemoryBandwidth => Some(Remedy::TwiceTheMemoryBandwidth),
        Limit::Consumer => Some(Remedy::TwiceTheConsumer),
        Limit::Step(at) => Some(Remedy::Parallel(at)),
        Limit::Cap(at) => Some(Remedy::NoCap(at)),
        Limit::Cpu | Limit::Segment(_) => None,
    }));
    let sequential = network.steps().iter().enumerate().filter(|it| it.1.segment.is_some());
    remedies.extend(sequential.map(|it| Remedy::Parallel(it.0)));
    let help = |remedy| {
        let (network, machine) = with(network, machine, remedy);
        Help { remedy, rate: solve(&network, &machine, wishes).rate }
    };
    let mut all: Vec<Help> = remedies.into_iter().map(help).collect();
    all.sort_by(|a, b| b.rate.total_cmp(&a.rate));
    all
}

/// The network and the machine after a remedy.
pub fn with(network: &Network, machine: &Machine, remedy: Remedy) -> (Network, Machine) {
    let (mut network, mut machine) = (network.clone(), machine.clone());
    match remedy {
        Remedy::Core => machine.cores += 1.0,
        Remedy::TwiceTheCores => machine.cores *= 2.0,
        Remedy::TwiceTheStorage(at) => double(&mut machine, at),
        Remedy::TwiceTheMemory => machine.memory_bytes *= 2.0,
        Remedy::TwiceTheMemoryBandwidth => {
            machine.memory_bandwidth = machine.memory_bandwidth.map(|it| it * 2.0);
        }
        Remedy::Parallel(at) => {
            network = network.with(at, |step| {
                (step.segment, step.workers_max, step.serial) = (None, None, 0.0);
            });
        }
        Remedy::NoCap(at) => network = network.with(at, |step| step.cap = None),
        Remedy::TwiceTheConsumer => {
            machine.consumer = Consumer { seconds: machine.consumer.seconds.map(|it| it / 2.0) };
        }
    }
    (network, machine)
}

fn double(machine: &mut Machine, at: usize) {
    let Some(disk) = machine.storages.get_mut(at) else { return };
    disk.write *= 2.0;
    disk.latency_s /= 2.0;
    for curve in [&mut disk.sequential, &mut disk.random] {
        for piece in [&mut curve.rise, &mut curve.level] {
            *piece = (piece.0 * 2.0, piece.1 * 2.0);
        }
    }
}
