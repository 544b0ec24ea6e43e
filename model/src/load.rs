//! What one output asks of the machine, and at what rate each thing is used up.

use crate::{
    curve::READERS_MAX,
    figure::Origin,
    machine::Machine,
    network::{Act, Demand, Flow, Network, Pattern, Step},
    solve::{Bound, Limit, Wishes},
    under_way::{Making, room},
};
use std::collections::BTreeMap;

/// All that bounds the rate of a network on a machine, per output.
pub(crate) struct Load<'a> {
    pub(crate) network: &'a Network,
    pub(crate) machine: &'a Machine,
    pub(crate) flow: Flow,
    pub(crate) demands: Vec<Demand>,
    /// Cores that may be given away.
    pub(crate) cores: f64,
    /// Cores that each step has at least; together at most `cores`.
    pub(crate) least: Vec<f64>,
    /// Workers that each step may have; none: any number.
    pub(crate) limits: Vec<Option<u32>>,
    /// Seconds per output that each storage is busy.
    pub(crate) storage_s: Vec<f64>,
}

impl<'a> Load<'a> {
    /// With workers given, no step has more than those.
    pub(crate) fn new(
        network: &'a Network,
        machine: &'a Machine,
        wishes: &Wishes,
        workers: Option<&[u32]>,
    ) -> Self {
        let flow = network.visits();
        let cores = wishes.cores(machine.cores);
        let demands = network.demands(machine.cores);
        let limit = |(at, step): (usize, &Step)| match (step.workers_limit(), workers) {
            (limit, Some(set)) => Some(limit.unwrap_or(u32::MAX).min(set[at].max(1))),
            (limit, None) => limit,
        };
        let limits: Vec<_> = network.steps().iter().enumerate().map(limit).collect();
        let storage_s = storage_seconds(network, machine, &flow, &limits);
        let least = wishes.least_within(network.steps().len(), cores);
        Self { network, machine, flow, demands, cores, least, limits, storage_s }
    }

    /// Every bound below infinity, the tightest first.
    pub(crate) fn bounds(&self) -> Vec<Bound> {
        let mut all = vec![self.cpu()];
        all.extend(self.threads());
        all.extend(self.caps());
        all.extend(self.batches());
        let storages = self.storage_s.iter().zip(&self.machine.storages).enumerate();
        all.extend(storages.map(|(at, (seconds, disk))| Bound {
            limit: Limit::Storage(at),
            rate: seconds.recip(),
            origin: disk.origin,
        }));
        let moved: f64 = self.demands.iter().map(|it| it.moved).sum();
        if let Some(bandwidth) = self.machine.memory_bandwidth {
            let origin = self.machine.origin;
            all.push(Bound { limit: Limit::MemoryBandwidth, rate: bandwidth / moved, origin });
        }
        if let Some(rate) = self.machine.consumer.rate() {
            all.push(Bound { limit: Limit::Consumer, rate, origin: Origin::Exact });
        }
        all.retain(|it| it.rate.is_finite());
        all.sort_by(|a, b| a.rate.total_cmp(&b.rate));
        all
    }

    /// Whether this many outputs per second ask for no more than there is. The law in its plainest
    /// form; `bounds` is the same in closed form, and tests hold one against the other.
    pub(crate) fn fits(&self, rate: f64) -> bool {
        let within = |asked: f64, there: f64| asked <= there;
        let theta =
            self.demands.iter().zip(&self.least).map(|(it, least)| least.max(rate * it.cpu_s));
        let moved: f64 = self.demands.iter().map(|it| it.moved).sum();
        within(theta.sum(), self.cores)
            && self.threads().all(|it| within(rate, it.rate))
            && self.caps().all(|it| within(rate, it.rate))
            && self.batches().all(|it| within(rate, it.rate))
            && self.storage_s.iter().all(|it| within(rate * it, 1.0))
            && self.machine.memory_bandwidth.is_none_or(|it| within(rate * moved, it))
            && self.machine.consumer.seconds.is_none_or(|it| within(rate * it, 1.0))
    }

    /// X = (C − Σ of those that have more than they need) / Σ of the demands of the others: the
    /// largest X with Σ max(least, X·D) ≤ C, found by filling up, the fewest needs first.
    fn cpu(&self) -> Bound {
        let origin = self.demands.iter().filter(|it| it.cpu_s > 0.0).map(|it| it.origin).max();
        let mut both: Vec<(f64, f64)> =
            self.demands.iter().map(|it| it.cpu_s).zip(self.least.iter().copied()).collect();
        // Where a step outgrows what it has.
        both.sort_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
        let mut idle: f64 = both.iter().map(|it| it.1).sum();
        let (mut busy, mut rate) = (0.0, f64::INFINITY);
        for (demand, least) in both.into_iter().filter(|it| it.0 > 0.0) {
            if rate <= least / demand {
                break;
            }
            busy += demand;
            idle -= least;
            rate = (self.cores - idle).max(0.0) / busy;
        }
        Bound { limit: Limit::Cpu, rate, origin: origin.unwrap_or_default() }
    }

    /// Threads that a step can keep busy; none: any number. What is done in order bounds them, and
    /// not to a whole number (Amdahl, "Validity of the single processor approach", 1967).
    pub(crate) fn width(&self, at: usize) -> Option<f64> {
        let serial = self.network.steps()[at].serial;
        let in_order = (serial > 0.0).then(|| serial.recip());
        let all = self.limits[at].map(f64::from).into_iter().chain(in_order);
        all.reduce(f64::min)
    }

    /// Steps with a limit of workers, and segments whose steps share one thread.
    fn threads(&self) -> impl Iterator<Item = Bound> {
        let mut segments: BTreeMap<u32, (f64, u32, Origin)> = BTreeMap::new();
        let mut all = Vec::new();
        for (at, step) in self.network.steps().iter().enumerate() {
            let (Some(width), Demand { worker_s, origin, .. }) = (self.width(at), self.demands[at])
            else {
                continue;
            };
            if let (Some(number), Some(limit)) = (step.segment, self.limits[at]) {
                let entry = segments.entry(number).or_insert((0.0, u32::MAX, Origin::Exact));
                *entry = (entry.0 + worker_s, entry.1.min(limit), entry.2.max(origin));
            } else {
                all.push(Bound { limit: Limit::Step(at), rate: width / worker_s, origin });
            }
        }
        all.extend(segments.into_iter().map(|(number, (seconds, threads, origin))| Bound {
            limit: Limit::Segment(number),
            rate: f64::from(threads) / seconds,
            origin,
        }));
        all.into_iter()
    }

    fn caps(&self) -> impl Iterator<Item = Bound> {
        let steps = self.network.steps().iter().enumerate();
        steps.filter_map(|(at, step)| {
            let rate = step.cap? / self.flow.worked[at];
            Some(Bound { limit: Limit::Cap(at), rate, origin: Origin::Exact })
        })
    }

    /// Batches that are under way within the memory: the cores that they keep busy bound the rate.
    fn batches(&self) -> impl Iterator<Item = Bound> {
        (0..self.network.steps().len()).filter_map(|at| {
            let making = self.making(at)?;
            let filling = self.network.steps()[at].filled_by.iter().map(|it| &self.demands[*it]);
            let (cpu_s, origin) = filling.fold((0.0, Origin::Exact), |(all, origin), it| {
                (all + it.cpu_s, origin.max(it.origin))
            });
            let cores = self.machine.cores.min(making.workers as f64);
            let cores_used = cores * making.busy_share();
            let rate = cores_used / cpu_s;
            (cores_used < self.machine.cores).then_some(Bound {
                limit: Limit::Memory(at),
                rate,
                origin,
            })
        })
    }

    /// The batches that a step makes in place, where it does and the memory is known.
    fn making(&self, at: usize) -> Option<Making> {
        let step = &self.network.steps()[at];
        if step.filled_by.is_empty() || self.machine.memory_bytes <= 0.0 {
            return None;
        }
        let cpu_s: f64 = step.filled_by.iter().map(|it| self.demands[*it].cpu_s).sum();
        let spread = |it: usize| self.network.steps()[it].spread;
        let (memory, bytes) = (self.machine.memory_bytes as u64, step.bytes_out.value as u64);
        let making = Making {
            workers: u64::from(whole(self.machine.cores)),
            rows: step.taken.round() as u64,
            room: room(memory, bytes),
            record_ns: cpu_s * 1e9 / self.flow.entering[at].max(1e-9),
            spread: step.filled_by.iter().map(|it| spread(*it)).fold(0.0, f64::max),
        };
        Some(making.within(memory, (bytes, step.worker_bytes as u64)))
    }

    /// Readers that a reading step needs at this rate: the fewest that keep the storages on time.
    pub(crate) fn readers(&self, at: usize, rate: f64) -> u32 {
        let Some(reads) = self.network.steps()[at].reads else { return 1 };
        let Some(disk) = self.machine.storages.get(reads.storage) else { return 1 };
        let need = rate * self.flow.entering[at] * reads.bytes;
        let by_curve = disk.curve(reads.pattern).least_readers(need).unwrap_or(READERS_MAX);
        // Little's law: requests under way = requests per second × their latency.
        let under_way = rate * self.flow.entering[at] * reads.requests * disk.latency_s;
        by_curve.max(whole(under_way)).min(self.limits[at].unwrap_or(READERS_MAX))
    }
}

/// The next whole number, at least 1; what is whole but for rounding stays.
pub(crate) fn whole(x: f64) -> u32 {
    let up = (x - 1e-9 * x.abs().max(1.0)).ceil();
    up.clamp(1.0, f64::from(u32::MAX)) as u32
}

fn storage_seconds(
    network: &Network,
    machine: &Machine,
    flow: &Flow,
    limits: &[Option<u32>],
) -> Vec<f64> {
    let mut seconds = vec![0.0; machine.storages.len()];
    for (at, step) in network.steps().iter().enumerate() {
        for reads in step.all_reads() {
            let Some(disk) = machine.storages.get(reads.storage) else { continue };
            let readers = limits[at].unwrap_or(READERS_MAX);
            let most = disk.curve(reads.pattern).best(readers);
            let bytes = flow.entering[at] * reads.bytes;
            // So many requests at once, each of which waits.
            let at_a_time = disk.requests_max.map_or(f64::INFINITY, |it| it.max(1) as f64);
            let at_a_time = f64::from(readers).min(at_a_time);
            let waits = flow.entering[at] * reads.requests * disk.latency_s / at_a_time;
            seconds[reads.storage] += nought(bytes / most).max(waits);
        }
        cache_seconds(step, flow.visits[at], machine, &mut seconds);
    }
    seconds
}

fn cache_seconds(step: &Step, visits: f64, machine: &Machine, seconds: &mut [f64]) {
    for cached in &step.caches {
        let Some((at, bytes)) = cached.storage else { continue };
        let Some(disk) = machine.storages.get(at) else { continue };
        let most = match cached.act {
            Act::Fills => disk.write,
            Act::Serves => disk.curve(Pattern::Random).best(READERS_MAX),
        };
        seconds[at] += nought(cached.share * visits * bytes / most);
    }
}

/// Nothing from nothing is nothing: 0/0 is 0 here.
fn nought(x: f64) -> f64 {
    if x.is_nan() { 0.0 } else { x }
}
