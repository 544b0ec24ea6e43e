//! The cheapest machine that keeps a rate: min Σ price × amount, the amounts as the laws ask for them.

use crate::{
    cache::{Held, Horizon, Tier, furnished},
    machine::Machine,
    network::{Act, Network},
    place::candidates,
    solve::{Limit, Wishes, solve},
};
use serde::{Deserialize, Serialize};

/// Prices per hour, in one currency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Prices {
    /// Of a core.
    pub core: f64,
    /// Of 10⁹ bytes of memory.
    pub memory_gb: f64,
    /// Of 10⁹ bytes per second from a storage.
    pub bandwidth_gb_s: f64,
}

/// What would be rented.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    /// Cores, fractional.
    pub cores: f64,
    /// Bytes per second from all storages.
    pub bandwidth: f64,
    /// Bytes of memory for the cache and the buffers.
    pub memory_bytes: f64,
    /// The step after which all records are kept, if any.
    pub cache: Option<usize>,
    /// Price per hour.
    pub price: f64,
}

impl Prices {
    /// Google's N1 in us-east1 as the paper's code has them: $0.031611 a core, $0.004237 a GB; local
    /// disks at $0.080 a GB and month, of 375 GB, each of which reads 660 MB/s.
    pub fn n1() -> Self {
        let gb_hour = 0.080 / 730.0;
        Self { core: 0.031_611, memory_gb: 0.004_237, bandwidth_gb_s: gb_hour * 375.0 / 0.66 }
    }
}

/// The cheapest way to `rate` outputs per second in the steady state; none if no money buys it, since a thread, a
/// cap or the consumer bounds it. Memory is bought up to that of the machine, cores and bandwidth without end.
///
/// With the cache fixed all amounts follow from the rate (θ = X/R), so caches are enumerated:
/// none, or one (paper's code: Σz ≤ 1).
pub fn cheapest(
    network: &Network,
    most: &Machine,
    (prices, rate): (&Prices, f64),
    horizon: &Horizon,
) -> Option<Offer> {
    let network = network.without_caches();
    let sizes = candidates(&network);
    let fits = |it: &(usize, f64)| it.1 <= most.memory_bytes;
    let kept = sizes.iter().enumerate().filter_map(|(at, it)| Some((at, *it.as_ref().ok()?)));
    let places = [None].into_iter().chain(kept.filter(fits).map(Some));
    let offers = places.filter_map(|place| offer(&network, most, (prices, rate), (horizon, place)));
    offers.min_by(|a, b| a.price.total_cmp(&b.price))
}

fn offer(
    network: &Network,
    most: &Machine,
    (prices, rate): (&Prices, f64),
    (horizon, place): (&Horizon, Option<(usize, f64)>),
) -> Option<Offer> {
    let held = place.map(|(step, bytes)| Held { step, tier: Tier::Memory, share: 1.0, bytes });
    let network = furnished(network, most, (held.as_slice(), Act::Serves), horizon);
    let solution = solve(&network, most, &Wishes::default());
    let bought = |it: Limit| matches!(it, Limit::Cpu | Limit::Storage(_));
    if solution.bounds.iter().any(|it| !bought(it.limit) && it.rate < rate * (1.0 - 1e-12)) {
        return None;
    }
    let cores = network.demands(most.cores).iter().map(|it| it.cpu_s * rate).sum::<f64>();
    let flow = network.visits();
    let steps = network.steps().iter().zip(&flow.entering);
    let bytes: f64 = steps.filter_map(|(step, n)| Some(step.reads?.bytes * n)).sum();
    let buffers = network.held_bytes();
    let (bandwidth, memory_bytes) = (bytes * rate, buffers + place.map_or(0.0, |it| it.1));
    let price = cores * prices.core
        + memory_bytes * 1e-9 * prices.memory_gb
        + bandwidth * 1e-9 * prices.bandwidth_gb_s;
    Some(Offer { cores, bandwidth, memory_bytes, cache: place.map(|it| it.0), price })
}
