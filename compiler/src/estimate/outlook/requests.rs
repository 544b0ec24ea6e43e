//! How many requests are under way to a storage that answers late.

use super::Outlook;
use model::{
    solve::Limit,
    under_way::{self, Fetching},
};

/// What a step asks of such a storage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Requests {
    /// The storage, by its place in the machine.
    pub storage: usize,
    /// Requests that are under way at a time.
    pub under_way: u64,
    /// Requests in a second, if nothing but the processor bounds them.
    pub rate: f64,
    /// Bytes of what one gives.
    pub bytes: f64,
}

impl Outlook {
    /// What each step asks of storages that answer late: as a run chooses it, by the time that it has for each record.
    pub fn requests(&self) -> Vec<Requests> {
        let cpu = self.solution.bounds.iter().find(|it| it.limit == Limit::Cpu);
        let Some(cpu) = cpu else { return Vec::new() };
        let entering = self.network.visits().entering;
        let steps = self.network.steps().iter().zip(entering);
        let requests = |(step, entering): (&model::Step, f64)| {
            let reads = step.reads.filter(|it| it.requests > 0.0)?;
            let storage = self.machine.storages.get(reads.storage)?;
            let requests_max = storage.requests_max?;
            let workers = self.machine.cores.ceil().max(1.0);
            let rate = cpu.rate * entering * reads.requests;
            let fetching = Fetching {
                latency_ns: storage.latency_s * 1e9,
                record_ns: workers / rate.max(1e-9) * 1e9,
                landing_ns: 0.0,
                workers: workers as u64,
                readers: under_way::readers(workers as usize) as u64,
                requests_max,
                requests: 1.0,
            };
            let (under_way, bytes) = (fetching.under_way(), reads.bytes / reads.requests);
            Some(Requests { storage: reads.storage, under_way, rate, bytes })
        };
        steps.filter_map(requests).collect()
    }
}
