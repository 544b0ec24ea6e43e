//! Machines that are not here: `cores=96,disk=500MB/s,memory=300GiB,step-time=120ms`.

use crate::{
    curve::Curve,
    figure::Origin,
    machine::{Consumer, Machine, Storage},
};

/// One thing that is other than it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Change {
    /// So many cores.
    Cores(f64),
    /// So many bytes of memory.
    Memory(f64),
    /// So many bytes per second from each storage, for any number of readers.
    Disk(f64),
    /// So many bytes per second through the memory.
    MemoryBandwidth(f64),
    /// So many bytes on the disk for caches.
    DiskCache(f64),
    /// So many seconds for each output in the consumer.
    Consumer(f64),
}

/// The names that may be changed, with an example each.
const NAMES: &str = "cores=96, disk=500MB/s, memory=300GiB, memory-bandwidth=20GB/s, \
                     disk-cache=1TB, step-time=120ms or step-time=8000/s";

/// Reads changes, separated by commas.
///
/// # Errors
/// A sentence with what is wrong and what may be written.
pub fn parse(text: &str) -> Result<Vec<Change>, String> {
    text.split(',').map(str::trim).filter(|it| !it.is_empty()).map(change).collect()
}

impl Machine {
    /// The same machine with these changes; its numbers are assumed from then on.
    #[must_use]
    pub fn with(&self, changes: &[Change]) -> Self {
        let mut other = self.clone();
        for change in changes {
            other.origin = Origin::Assumed;
            other.change(*change);
        }
        other
    }

    fn change(&mut self, change: Change) {
        match change {
            Change::Cores(n) => self.cores = n,
            Change::Memory(bytes) => self.memory_bytes = bytes,
            Change::MemoryBandwidth(rate) => self.memory_bandwidth = Some(rate),
            Change::Consumer(seconds) => self.consumer = Consumer { seconds: Some(seconds) },
            Change::DiskCache(bytes) => {
                self.disk_cache = Some((self.disk_cache.map_or(0, |it| it.0), bytes));
                if self.storages.is_empty() {
                    self.storages.push(Storage::flat("disk", ASSUMED_DISK));
                }
            }
            Change::Disk(rate) => self.disks(rate),
        }
    }

    fn disks(&mut self, rate: f64) {
        if self.storages.is_empty() {
            self.storages.push(Storage::flat("disk", rate));
        }
        for disk in &mut self.storages {
            let (sequential, random) = (Curve::flat(rate), Curve::flat(rate));
            *disk = Storage {
                sequential,
                random,
                write: rate,
                origin: Origin::Assumed,
                ..disk.clone()
            };
        }
    }
}

/// Bytes per second of a disk that nobody has told anything of: a SATA solid-state disk.
const ASSUMED_DISK: f64 = 500e6;

fn change(text: &str) -> Result<Change, String> {
    let wrong = || format!("`{text}` is not a change of the machine: write for example {NAMES}");
    let (name, value) = text.split_once('=').ok_or_else(wrong)?;
    let value = value.trim();
    let change = match name.trim() {
        "cores" => number(value).map(Change::Cores),
        "memory" => size(value).map(Change::Memory),
        "disk" => size(value.strip_suffix("/s").unwrap_or("")).map(Change::Disk),
        "memory-bandwidth" => {
            size(value.strip_suffix("/s").unwrap_or("")).map(Change::MemoryBandwidth)
        }
        "disk-cache" => size(value).map(Change::DiskCache),
        // `consumer` is its former name.
        "step-time" | "consumer" => consumer(value).map(Change::Consumer),
        _ => return Err(wrong()),
    };
    change.ok_or_else(|| {
        format!("`{value}` is not a valid value for `{}`: write for example {NAMES}", name.trim())
    })
}

/// Units of size with their bytes; longer names first, for each is looked for at the end.
const SIZES: &[(&str, f64)] = &[
    ("TiB", 1_099_511_627_776.0),
    ("GiB", 1_073_741_824.0),
    ("MiB", 1_048_576.0),
    ("KiB", 1024.0),
    ("TB", 1e12),
    ("GB", 1e9),
    ("MB", 1e6),
    ("kB", 1e3),
    ("B", 1.0),
];

/// Units of time with their seconds.
const TIMES: &[(&str, f64)] = &[
    ("ms", 1e-3),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("ns", 1e-9),
    ("min", 60.0),
    ("h", 3600.0),
    ("d", 86_400.0),
    ("s", 1.0),
];

/// Seconds for an output: `120ms`, `120ms/batch`, or a rate: `8000/s`.
fn consumer(text: &str) -> Option<f64> {
    match text.strip_suffix("/s") {
        Some(rate) => number(rate).map(f64::recip),
        None => seconds(text.strip_suffix("/batch").unwrap_or(text)).filter(|it| *it > 0.0),
    }
}

/// Bytes above 0, with their unit: `1.5GiB`, `8TB`.
pub fn size(text: &str) -> Option<f64> {
    with_unit(text, SIZES).filter(|it| *it > 0.0)
}

/// Seconds of a time with its unit: `500ms`, `2 min`.
pub fn seconds(text: &str) -> Option<f64> {
    with_unit(text, TIMES)
}

fn with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (unit, factor) = units.iter().find(|it| text.ends_with(it.0))?;
    let n: f64 = text[..text.len() - unit.len()].trim().parse().ok()?;
    Some(n * factor).filter(|it| *it >= 0.0 && it.is_finite())
}

/// A number above 0.
fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|it: &f64| *it > 0.0 && it.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_changes_are_read() {
        let text = "cores=96, disk=500MB/s,memory=300GiB,consumer=120ms/batch,disk-cache=1TB";
        let there = Machine::new(2.0, 1.0).with(&parse(text).unwrap());
        assert_eq!((there.cores, there.memory_bytes), (96.0, 300.0 * 1_073_741_824.0));
        assert_eq!(there.storages[0].sequential.best(8), 500e6);
        assert_eq!((there.consumer.seconds, there.disk_cache), (Some(0.12), Some((0, 1e12))));
        for name in ["step-time", "consumer"] {
            let changes = parse(&format!("{name}=8000/s")).unwrap();
            assert_eq!(changes, [Change::Consumer(1.0 / 8000.0)]);
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_an_example() {
        for text in
            ["cores", "cores=-1", "cores=many", "disk=500", "disk=3GiB", "gpus=8", "memory=inf"]
        {
            let message = parse(text).unwrap_err();
            assert!(message.contains("cores=96") && message.contains('`'), "{text}: {message}");
        }
    }
}
