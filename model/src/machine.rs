//! What there is to run on: cores, memory, storages, and what takes the outputs.

use crate::{curve::Curve, figure::Origin, network::Pattern};
use serde::{Deserialize, Serialize};

/// The part of the memory that may be planned with; the rest is for what nobody counts (paper's code: 0.9).
pub const MEMORY_PART: f64 = 0.9;

/// Bytes per second that bound nothing.
const UNBOUNDED: f64 = 1e15;

/// A machine, or what one may use of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Cores that are really available; a budget of 60% of two cores is 1.2.
    pub cores: f64,
    /// Bytes of memory that are free.
    pub memory_bytes: f64,
    /// Bytes per second through the memory by all cores together; none: not known, no bound.
    pub memory_bandwidth: Option<f64>,
    /// Where data lie.
    pub storages: Vec<Storage>,
    /// Where records may be kept on a disk: the index of the storage, and bytes free there for it.
    pub disk_cache: Option<(usize, f64)>,
    /// What takes the outputs.
    pub consumer: Consumer,
    /// Where the numbers come from.
    pub origin: Origin,
}

/// A disk, a file server, an object store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Storage {
    /// What it is called where it is told about.
    pub name: String,
    /// Bytes per second by readers, in order.
    pub sequential: Curve,
    /// Bytes per second by readers, here and there.
    pub random: Curve,
    /// Bytes per second that can be written.
    pub write: f64,
    /// Seconds of waiting for each request, whatever its size.
    pub latency_s: f64,
    /// Requests that it answers at a time, where it is asked for many: a store beyond a network. None of a disk, whose
    /// readers wait for one after the other.
    #[serde(default)]
    pub requests_max: Option<u64>,
    /// Where the numbers come from.
    pub origin: Origin,
}

/// What takes the outputs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Consumer {
    /// Seconds that it takes for each output; none: it takes what it gets.
    pub seconds: Option<f64>,
}

impl Machine {
    /// A machine of so many cores and bytes of memory, and nothing else that bounds.
    pub fn new(cores: f64, memory_bytes: f64) -> Self {
        Self {
            cores,
            memory_bytes,
            memory_bandwidth: None,
            storages: Vec::new(),
            disk_cache: None,
            consumer: Consumer::default(),
            origin: Origin::Assumed,
        }
    }

    /// Bytes of memory for caches when buffers hold so many: 0.9 of it all, less the buffers.
    pub fn memory_for_caches(&self, buffers: f64) -> f64 {
        (self.memory_bytes * MEMORY_PART - buffers).max(0.0)
    }
}

impl Storage {
    /// A storage with one bandwidth for all that is done there.
    pub fn flat(name: &str, bytes_per_s: f64) -> Self {
        let curve = Curve::flat(bytes_per_s);
        let (name, origin) = (name.to_owned(), Origin::Assumed);
        Self {
            name,
            sequential: curve,
            random: curve,
            write: bytes_per_s,
            latency_s: 0.0,
            requests_max: None,
            origin,
        }
    }

    /// A store that answers so many requests at a time, each after so many seconds and at so many bytes per second.
    pub fn far(
        name: &str,
        (latency_s, requests_max): (f64, u64),
        bytes_per_s: Option<f64>,
    ) -> Self {
        let flat = Self::flat(name, UNBOUNDED);
        let each = |it: f64| Curve::up_to(it, it * requests_max.max(1) as f64);
        let curve = bytes_per_s.map_or(flat.random, each);
        let requests_max = Some(requests_max);
        Self { sequential: curve, random: curve, latency_s, requests_max, ..flat }
    }

    /// The curve for a pattern of reading.
    pub fn curve(&self, pattern: Pattern) -> &Curve {
        match pattern {
            Pattern::Sequential => &self.sequential,
            Pattern::Random => &self.random,
        }
    }
}

impl Consumer {
    /// Outputs per second that it takes at most; none: any number.
    pub fn rate(&self) -> Option<f64> {
        self.seconds.filter(|it| *it > 0.0).map(f64::recip)
    }
}
