//! Measures what a machine can do, for the host file: cores, memory, storage.
//!
//! Every figure is the median of several runs, which are spread over the whole time: all points
//! are measured once, then all again, so that a disturbance shows in the spread of many figures
//! and does not move a few. All of it ends within a set time, whatever the disk is like.

mod file;
mod memory;
mod reads;
mod storage;
mod store;
mod sweep;

use crate::{
    session::{
        host::{Host, Measured, rounded},
        machine,
    },
    tools::noise::Noise,
};
use runtime::Failure;
use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// How to measure.
#[derive(Debug, Clone)]
pub struct Options {
    /// Folders whose disks are measured, and URLs of stores with objects that are read.
    pub paths: Vec<PathBuf>,
    /// Bytes of the file that is written and read in each of them: more than the device keeps in
    /// a cache of its own. It is shorter where the disk is too slow for it in `time`.
    pub size: u64,
    /// How long it may take in all.
    pub time: Duration,
    /// Whether `time` is shorter than is good; only told.
    pub quick: bool,
}

/// Bytes of the file that is measured unless told.
pub const SIZE: u64 = 256 << 20;
/// The smallest file that can be measured: 16 threads have a stretch of two requests each.
pub const SIZE_MIN: u64 = 32 << 20;
/// How long it takes unless told.
pub const TIME: Duration = Duration::from_secs(40);
/// How long it takes where somebody waits for it.
pub const TIME_QUICK: Duration = Duration::from_secs(8);

/// How far a measurement is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// What is measured now.
    pub what: String,
    /// Share of the time that has gone by.
    pub share: f64,
}

/// The share of the time that the memory gets at the most; folders share the rest.
const MEMORY_SHARE: f64 = 0.2;

/// Measures the machine; `stop` ends it early, and leaves nothing behind.
///
/// # Errors
/// A folder cannot be written or read, its disk is too full, or it was stopped.
pub fn calibrate(
    options: &Options,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Host, Failure> {
    let noise = Noise::begin();
    let begun = Instant::now();
    let mut told = |what: &str| {
        let share = begun.elapsed().as_secs_f64() / options.time.as_secs_f64();
        progress(&Progress { what: what.to_owned(), share: share.min(1.0) });
    };
    let mut host = Host::here();
    let threads = (host.cpu.available.ceil() as usize).max(1);
    let mut time = Time { until: begun + options.time.mul_f64(MEMORY_SHARE), stop };
    (host.memory.one_thread, host.memory.all_threads) =
        memory::bandwidths(threads, &time, &mut told)?;

    for (i, path) in options.paths.iter().enumerate() {
        let left = options.time.saturating_sub(begun.elapsed());
        time.until = Instant::now() + left / (options.paths.len() - i) as u32;
        if runtime::storage::scheme_of(path.as_os_str().as_encoded_bytes()).is_some() {
            host.store.push(store::measure(path, &time, &mut told)?);
        } else {
            let size = options.size.max(SIZE_MIN);
            host.storage.push(storage::measure(path, size, &time, &mut told)?);
        }
    }
    let seconds = rounded(begun.elapsed().as_secs_f64());
    host.measured = Some(Measured {
        at: utc(SystemTime::now()),
        seconds,
        quick: options.quick,
        pipec: env!("CARGO_PKG_VERSION").to_owned(),
        load: noise.load,
        others: noise.others().map(rounded),
    });
    Ok(host)
}

/// The time that something may take.
struct Time<'a> {
    until: Instant,
    stop: &'a AtomicBool,
}

impl Time<'_> {
    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// The time for one of `parts` that have to be done in what is left.
    fn part(&self, parts: usize) -> Duration {
        self.left() / u32::try_from(parts.max(1)).unwrap_or(u32::MAX)
    }

    /// Some of the time that is left, for a part of the work.
    fn share(&self, share: f64) -> Self {
        Self { until: Instant::now() + self.left().mul_f64(share), stop: self.stop }
    }

    fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    /// # Errors
    /// It was stopped.
    fn go_on(&self) -> Result<(), Failure> {
        if self.is_stopped() { Err(Failure::Stopped) } else { Ok(()) }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// The memory that measuring may take: little of what others may need.
fn memory_most() -> u64 {
    machine::default_memory()
}

/// `2026-11-20T16:11:19Z`: days to dates as in H. Hinnant, "chrono-Compatible Low-Level Date
/// Algorithms", `civil_from_days`.
fn utc(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs());
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Years begin in March there.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right() {
        // By `date -u -d @N`.
        let of = |seconds| utc(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(of(0), "1970-01-01T00:00:00Z");
        assert_eq!(of(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(of(1_795_190_400), "2026-11-20T16:00:00Z");
        assert_eq!(of(4_107_542_399), "2100-02-28T23:59:59Z");
    }
}
