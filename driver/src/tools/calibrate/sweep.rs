//! All ways of reading a file, one run of each after the other, until the time is over.

use super::{
    Time,
    file::{Probe, SMALL},
    reads::{Ran, Reads},
};
use crate::session::host::{Cache, Cold, Figure, Pattern, Point, Sweep};
use plan::things;
use runtime::Failure;
use std::{
    fs::File,
    time::{Duration, Instant},
};

/// Numbers of threads that read at a time.
const THREADS: [usize; 5] = [1, 2, 4, 8, 16];
/// Bytes of a request.
pub(super) const REQUESTS: [usize; 3] = [4 << 10, 128 << 10, 1 << 20];
/// The longest request.
pub(super) const REQUEST_MAX: usize = REQUESTS[REQUESTS.len() - 1];
const PATTERNS: [Pattern; 2] = [Pattern::Sequential, Pattern::Random];
/// How often each figure is measured.
const RUNS: usize = 5;
/// The shortest run that says something; in the first round it is done in any case.
const RUN_MIN: Duration = Duration::from_millis(2);
/// The share of a run's time in which it reads: threads have to begin and end. What is left over
/// makes later runs longer.
const RUN_SHARE: f64 = 0.5;
/// The share by which time may be overdrawn, so that the last runs are not lost.
const OVERDRAWN: f64 = 0.25;
/// By what a run begins farther on than the one before it, as a share: never near an earlier one.
const FARTHER: f64 = 0.618_034;

/// How a file is read, again and again.
pub(super) struct Way<'a> {
    pub(super) probe: &'a Probe,
    pub(super) cache: Cache,
    /// How cold reads are seen to.
    pub(super) cold: Cold,
    /// What speaks against the figures from the beginning.
    pub(super) doubtful: bool,
}

/// A point and what was measured of it.
struct Spot {
    pattern: Pattern,
    request: usize,
    threads: usize,
    bandwidths: Vec<f64>,
    latencies: Vec<f64>,
}

impl Way<'_> {
    /// All sweeps that fit into the time, and whether all that was to be cold was seen to be so.
    pub(super) fn sweeps(
        &self,
        time: &Time<'_>,
        told: &mut dyn FnMut(&str),
    ) -> Result<(Vec<Sweep>, bool), Failure> {
        let mut spots = spots();
        // Small files are of interest where they are cold.
        if self.cache == Cache::Cold && !self.probe.small.is_empty() {
            spots.extend(points(Pattern::Files, SMALL));
        }
        let orders = REQUESTS.map(|it| shuffled(self.probe.bytes as usize / it));
        let small = shuffled(self.probe.small.len());
        let (mut assured, n_spots) = (true, spots.len());
        let end = Instant::now() + time.left().mul_f64(1.0 + OVERDRAWN);
        for round in 0..RUNS {
            for (i, spot) in spots.iter_mut().enumerate() {
                let left = (RUNS - round) * n_spots - i;
                if round > 0 && Instant::now() >= end {
                    break;
                }
                told(&spot.named(self.cache));
                assured &= self.prepare(spot.pattern);
                let of = REQUESTS.iter().position(|it| *it == spot.request).unwrap_or(0);
                let order = if spot.pattern == Pattern::Files { &small } else { &orders[of] };
                let ran = self.one(spot, order, (round * n_spots + i, left), time)?;
                spot.bandwidths.push(ran.bandwidth);
                spot.latencies.push(ran.latency);
            }
        }
        if self.cache == Cache::Cold && self.cold == Cold::Direct {
            assured &= self.probe.resident() == Some(0.0);
        }
        Ok((self.summed(&spots, assured), assured))
    }

    /// Sees to it that the next run is as cold, or as warm, as is said; whether it is so.
    fn prepare(&self, pattern: Pattern) -> bool {
        if pattern == Pattern::Files {
            return self.probe.drop_small();
        }
        if self.cache == Cache::Cold && self.cold != Cold::Direct {
            // What comes with a random page was not asked for.
            self.probe.read_ahead(pattern == Pattern::Sequential);
            return self.probe.drop_pages();
        }
        true
    }

    fn one(
        &self,
        spot: &Spot,
        order: &[u32],
        (run, left): (usize, usize),
        time: &Time<'_>,
    ) -> Result<Ran, Failure> {
        let cold = self.cache == Cache::Cold;
        let is_small = spot.pattern == Pattern::Files;
        let reads = Reads {
            file: self.file(),
            request: spot.request,
            order: (spot.pattern != Pattern::Sequential).then_some(order),
            blocks: order.len(),
            small: if is_small { &self.probe.small } else { &[] },
            threads: spot.threads,
            from: (run as f64 * FARTHER).fract(),
            time: time.part(left).mul_f64(RUN_SHARE).max(RUN_MIN),
            once: cold && (is_small || self.cold != Cold::Direct),
            stop: time.stop,
        };
        let ran = reads.run().map_err(|it| self.probe.unreadable(&it))?;
        time.go_on().map(|()| ran)
    }

    fn file(&self) -> &File {
        match (&self.probe.direct, self.cache, self.cold) {
            (Some(direct), Cache::Cold, Cold::Direct) => direct,
            _ => &self.probe.cached,
        }
    }

    fn summed(&self, spots: &[Spot], assured: bool) -> Vec<Sweep> {
        let trusted = assured && !self.doubtful;
        let of_one = spots.chunk_by(|a, b| (a.pattern, a.request) == (b.pattern, b.request));
        let sweeps = of_one.filter_map(|spots| {
            let points = spots.iter().filter_map(|it| it.point(trusted)).collect();
            Sweep::of((self.cache, spots[0].pattern, spots[0].request as u64), points)
        });
        sweeps.collect()
    }
}

impl Spot {
    fn point(&self, trusted: bool) -> Option<Point> {
        let bandwidth = Figure::of(&self.bandwidths, trusted)?;
        let latency = Figure::of(&self.latencies, trusted)?;
        Some(Point { threads: self.threads as u32, bandwidth, latency })
    }

    fn named(&self, cache: Cache) -> String {
        let cache = match cache {
            Cache::Cold => "cold",
            Cache::Warm => "warm",
        };
        let threads = things(self.threads as u64, "thread", "threads");
        let pattern = match self.pattern {
            Pattern::Sequential => "sequential",
            Pattern::Random => "random",
            Pattern::Files => {
                return format!("{cache} files of {} KiB, {threads}", self.request >> 10);
            }
        };
        format!("{cache} {pattern} reads of {} KiB, {threads}", self.request >> 10)
    }
}

/// All points, those of one sweep beside each other.
fn spots() -> Vec<Spot> {
    let mut spots = Vec::new();
    for pattern in PATTERNS {
        for request in REQUESTS {
            spots.extend(points(pattern, request));
        }
    }
    spots
}

/// The points of a sweep.
fn points(pattern: Pattern, request: usize) -> impl Iterator<Item = Spot> {
    THREADS.into_iter().map(move |threads| {
        let (bandwidths, latencies) = (Vec::new(), Vec::new());
        Spot { pattern, request, threads, bandwidths, latencies }
    })
}

/// The numbers below `n` in an order of no pattern (Fisher and Yates).
fn shuffled(n: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n as u32).collect();
    let mut state = 0x9E37_79B9_7F4A_7C15;
    for i in (1..n).rev() {
        order.swap(i, (next(&mut state) % (i as u64 + 1)) as usize);
    }
    order
}

/// The next number of xorshift64 (Marsaglia, "Xorshift RNGs", 2003).
pub(super) fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::atomic::AtomicBool, time::Instant};

    #[test]
    fn dropped_pages_are_cold_and_one_round_is_enough_for_a_curve() {
        let mut probe = Probe::create(&std::env::temp_dir()).unwrap();
        probe.append(&vec![7; 16 << 20]).unwrap();
        let can_be_dropped = probe.drop_pages();
        let stop = AtomicBool::new(false);
        let time = Time { until: Instant::now(), stop: &stop };
        let way = Way { probe: &probe, cache: Cache::Cold, cold: Cold::Dropped, doubtful: false };
        let (sweeps, assured) = way.sweeps(&time, &mut |_| ()).unwrap();
        assert_eq!((sweeps.len(), assured), (PATTERNS.len() * REQUESTS.len(), can_be_dropped));
        let figures = sweeps.iter().flat_map(|it| &it.points).map(|it| it.bandwidth);
        assert!(figures.clone().all(|it| it.runs == 1 && !it.trusted && it.median > 0.0));
        assert_eq!(figures.count(), sweeps.len() * THREADS.len());

        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(way.sweeps(&time, &mut |_| ()).err(), Some(Failure::Stopped));
    }

    #[test]
    fn an_order_holds_every_block_once() {
        let mut order = shuffled(1000);
        assert!(order.iter().enumerate().filter(|(i, it)| *i as u32 == **it).count() < 20);
        order.sort_unstable();
        assert!(order.into_iter().eq(0..1000));
    }
}
