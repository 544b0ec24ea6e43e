//! What a machine can do: cores, memory, how fast its storage is read. `pipec calibrate` measures
//! it, the host file keeps it, plans are chosen by it.

mod curve;
mod disk;
mod mounts;
mod store;
mod text;

pub use curve::Curve;
pub use store::Store;

use crate::session::{machine, whole};
use mounts::mount_of;
use runtime::Failure;
use serde::{Deserialize, Serialize};
use std::{
    env, fs,
    io::ErrorKind,
    path::{self, Path, PathBuf},
};

pub(crate) use mounts::mount_at;

/// The form of host files that this build writes, and the newest that it reads.
pub const FORMAT: u32 = 1;

/// Bytes of a host file at the most; far more than one ever has.
const BYTES_MAX: u64 = 4 << 20;

/// What a machine can do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// The form of the file, [`FORMAT`].
    pub format: u32,
    /// When and how it was measured; none if it is assumed, of what the system says of itself.
    pub measured: Option<Measured>,
    /// The processors.
    pub cpu: Cpu,
    /// The memory.
    pub memory: Memory,
    /// Folders whose disks were measured.
    #[serde(default)]
    pub storage: Vec<Storage>,
    /// Object stores that were measured.
    #[serde(default)]
    pub store: Vec<Store>,
}

/// When and how a machine was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// When it ended, in UTC: `2026-11-20T16:11:19Z`.
    pub at: String,
    /// How long it took.
    pub seconds: f64,
    /// Whether it was made short by `--quick`.
    pub quick: bool,
    /// The version of pipec.
    pub pipec: String,
    /// The system's load (threads that run or wait, mean of a minute) when it began; none where
    /// the system does not say.
    pub load: Option<f64>,
    /// Cores that others kept busy meanwhile, in the mean: figures are too low where it is much.
    pub others: Option<f64>,
}

/// The processors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// As their maker calls them.
    pub model: Option<String>,
    /// Cores that a process really gets: `allowed`, or `quota` where that is less.
    pub available: f64,
    /// Logical cores that the process may be put on (its affinity).
    pub allowed: u32,
    /// Computing time of the control group, in cores; none where it has no limit.
    pub quota: Option<f64>,
    /// Logical cores of the machine.
    pub logical: u32,
    /// Cores of the machine that do not share their units with another.
    pub physical: u32,
}

/// The memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Bytes that the machine has.
    pub total: u64,
    /// Bytes that the control group may take; none where it has no limit.
    pub limit: Option<u64>,
    /// How fast one thread moves bytes.
    pub one_thread: Option<Bandwidths>,
    /// How fast threads on all cores move bytes together.
    pub all_threads: Option<Bandwidths>,
}

/// How fast memory is, with buffers that no cache holds. Bytes per second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bandwidths {
    /// Threads that moved bytes at the same time.
    pub threads: u32,
    /// Bytes read.
    pub read: Figure,
    /// Bytes written.
    pub write: Figure,
    /// Bytes copied; each is read once and written once.
    pub copy: Figure,
    /// Why the figures are not to be trusted, if so.
    pub doubt: Option<String>,
}

/// A measured figure with its spread.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// What is to be reckoned with.
    pub median: f64,
    /// The least of all runs.
    pub min: f64,
    /// The most of all runs.
    pub max: f64,
    /// How often it was measured.
    pub runs: u32,
    /// Whether it is what it says: measured at least five times, alike enough, and of the thing
    /// itself, not of a cache before it.
    #[serde(default = "yes")]
    pub trusted: bool,
}

/// What is known of the disk on which a folder lies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Storage {
    /// The folder that was measured.
    pub path: PathBuf,
    /// Where its file system is mounted: what lies below is as fast.
    pub mount: Option<PathBuf>,
    /// The file system: `ext4`, `nfs4`.
    pub file_system: Option<String>,
    /// The device, as the system names it.
    pub device: Option<String>,
    /// What the device is made of.
    pub medium: Medium,
    /// Bytes of the file system.
    pub total: Option<u64>,
    /// Bytes that were free.
    pub free: Option<u64>,
    /// Bytes of the file that was written and read.
    pub file: u64,
    /// How it was seen to that cold reads come from the disk.
    pub cold: Cold,
    /// Why the cold figures are not to be trusted, if so.
    pub doubt: Option<String>,
    /// Bytes per second written, until they are on the disk.
    pub write: Figure,
    /// How fast it is read, for each size of request, pattern and state of the page cache.
    #[serde(default)]
    pub read: Vec<Sweep>,
}

/// What a device is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Medium {
    /// Disks that rotate.
    Rotating,
    /// Flash.
    Solid,
    /// A disk of a virtual machine: whoever provides it may keep a cache of it.
    Virtual,
    /// Another machine's.
    Network,
    /// Memory.
    Memory,
    /// It is not known.
    Unknown,
}

/// How it was seen to that cold reads come from the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cold {
    /// Reads went past the page cache (`O_DIRECT`), and were seen to leave nothing in it.
    Direct,
    /// The pages were dropped before each run, and were seen to be gone (`mincore`).
    Dropped,
    /// The pages could not be dropped: what is called cold may have come from the cache.
    Unassured,
}

/// How fast a file is read by more and more threads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// From the disk, or from the page cache.
    pub cache: Cache,
    /// Where the next request lies.
    pub pattern: Pattern,
    /// Bytes of a request.
    pub request: u64,
    /// Bandwidth over threads, in bytes per second.
    pub curve: Curve,
    /// The fewest threads measured that reach 95% of the highest bandwidth.
    pub enough: u32,
    /// What was measured, by threads.
    pub points: Vec<Point>,
}

/// What so many threads read.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Threads, each with one request at a time.
    pub threads: u32,
    /// Bytes per second of all of them.
    pub bandwidth: Figure,
    /// Seconds that the median request took.
    pub latency: Figure,
}

/// Whether the page cache holds what is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// Nothing of it.
    Cold,
    /// All of it.
    Warm,
}

/// Where the next request lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// Behind the last one; each thread has a stretch of the file of its own.
    Sequential,
    /// Anywhere.
    Random,
    /// In another file each time, which is read whole.
    Files,
}

impl Host {
    /// What the system says of itself: cores and memory; nothing is measured.
    pub fn here() -> Self {
        let processors = machine::processors();
        let (allowed, quota) = (machine::allowed(), machine::quota().map(rounded));
        let cpu = Cpu {
            model: processors.model,
            available: quota.unwrap_or(f64::INFINITY).min(allowed as f64),
            allowed: small(allowed),
            quota,
            logical: small(processors.logical),
            physical: small(processors.physical),
        };
        let memory = Memory {
            total: machine::memory_total().unwrap_or_else(|| machine::default_memory() * 4),
            limit: machine::memory_limit(),
            one_thread: None,
            all_threads: None,
        };
        Self { format: FORMAT, measured: None, cpu, memory, storage: Vec::new(), store: Vec::new() }
    }

    /// Reads a host file.
    ///
    /// # Errors
    /// It cannot be read, is no host file, has a key that is not known, or is of a newer form.
    pub fn load(path: &Path) -> Result<Self, Failure> {
        let io = |detail| Failure::Io { path: path.display().to_string(), detail };
        let text = safe_file::text(path, BYTES_MAX).map_err(|error| {
            io(format!(
                "cannot read this host file: {error}; use another one, or create it with `pipec \
                 calibrate`"
            ))
        })?;
        Self::parse(&text).map_err(io)
    }

    /// The user's host file, or [`Host::here`] where there is none.
    ///
    /// # Errors
    /// As [`Host::load`]; a file that `PIPEC_HOST` names has to be there.
    pub fn load_default() -> Result<Self, Failure> {
        let Ok(path) = default_file() else { return Ok(Self::here()) };
        let there =
            fs::metadata(&path).map_or_else(|it| it.kind() != ErrorKind::NotFound, |_| true);
        if there || named().is_some() { Self::load(&path) } else { Ok(Self::here()) }
    }

    /// Writes the host file: whole, or not at all. Folders that are missing are made.
    ///
    /// # Errors
    /// It cannot be written; what was there stays.
    pub fn save(&self, path: &Path) -> Result<(), Failure> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|it| whole::unwritable(folder, &it))?;
        }
        let text = self.to_text();
        whole::write(path, "the host file", &mut |out| out.write_all(text.as_bytes()))
    }

    /// Whether nothing was measured: cores and memory are what the system says.
    pub fn is_assumed(&self) -> bool {
        self.measured.is_none()
    }

    /// Bytes of memory that processes may take: what the machine has, or the limit of the group.
    pub fn memory_available(&self) -> u64 {
        self.memory.limit.map_or(self.memory.total, |it| it.min(self.memory.total))
    }

    /// What was measured of the file system on which `path` lies.
    pub fn storage_of(&self, path: &Path) -> Option<&Storage> {
        let path = nearest(path);
        let mount = mount_of(&path);
        let same = |it: &&Storage| mount.is_some() && it.mount == mount;
        let above = |it: &&Storage| path.starts_with(&it.path);
        // A folder that was measured itself says more than another one of the same disk.
        let nearest =
            self.storage.iter().filter(above).max_by_key(|it| it.path.components().count());
        nearest
            .filter(|it| mount.is_none() || it.mount == mount)
            .or_else(|| self.storage.iter().find(same))
    }
}

impl Storage {
    /// How fast it is read in this way, if that was measured.
    pub fn sweep(&self, cache: Cache, pattern: Pattern, request: u64) -> Option<&Sweep> {
        let is = |it: &&Sweep| (it.cache, it.pattern, it.request) == (cache, pattern, request);
        self.read.iter().find(is)
    }
}

impl Sweep {
    /// Of what was measured, by rising numbers of threads; none if nothing was.
    pub(crate) fn of(
        (cache, pattern, request): (Cache, Pattern, u64),
        points: Vec<Point>,
    ) -> Option<Self> {
        let most = points.iter().map(|it| it.bandwidth.median).max_by(f64::total_cmp)?;
        let enough = points.iter().find(|it| it.bandwidth.median >= ENOUGH * most)?.threads;
        let over: Vec<_> =
            points.iter().map(|it| (f64::from(it.threads), it.bandwidth.median)).collect();
        Some(Self { cache, pattern, request, curve: Curve::fit(&over)?, enough, points })
    }
}

/// The share of the highest bandwidth that is as good as all of it.
const ENOUGH: f64 = 0.95;
/// A figure of fewer runs is not trusted.
const RUNS_TRUSTED: usize = 5;
/// The most by which the middle half of the runs may differ, as a share of the median.
const SPREAD_TRUSTED: f64 = 0.5;

impl Figure {
    /// The spread of some runs; `trusted` if nothing but they themselves could speak against it.
    pub(crate) fn of(runs: &[f64], trusted: bool) -> Option<Self> {
        let mut runs = runs.to_vec();
        runs.sort_by(f64::total_cmp);
        let (min, max, n) = (*runs.first()?, *runs.last()?, runs.len());
        let median = f64::midpoint(runs[(n - 1) / 2], runs[n / 2]);
        let spread = runs[n - 1 - n / 4] - runs[n / 4];
        let alike = n >= RUNS_TRUSTED && spread <= SPREAD_TRUSTED * median;
        let [median, min, max] = [median, min, max].map(rounded);
        Some(Self { median, min, max, runs: small(n), trusted: trusted && alike })
    }
}

/// Where the user's host file is: `$PIPEC_HOST`, `$XDG_CONFIG_HOME/pipec/host.toml` or
/// `~/.config/pipec/host.toml`.
///
/// # Errors
/// None of them is set.
pub fn default_file() -> Result<PathBuf, Failure> {
    let absolute = |it: &PathBuf| it.is_absolute();
    let configured = || set("XDG_CONFIG_HOME").filter(absolute);
    let config = || configured().or_else(|| set("HOME").map(|it| it.join(".config")));
    named().or_else(|| config().map(|it| it.join("pipec/host.toml"))).ok_or_else(|| Failure::Io {
        path: "~/.config/pipec/host.toml".to_owned(),
        detail: "there is no home folder for the host file: name a file with `--out`, or set \
                 PIPEC_HOST to one"
            .to_owned(),
    })
}

/// Where a path leads, or what is to be made there: the nearest folder above it that is there.
fn nearest(path: &Path) -> PathBuf {
    let whole = path::absolute(path).unwrap_or_else(|_| path.to_owned());
    whole.ancestors().find_map(|it| fs::canonicalize(it).ok()).unwrap_or(whole)
}

fn named() -> Option<PathBuf> {
    set("PIPEC_HOST")
}

fn set(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from)
}

/// The four digits that count: more would change with every run, and mean nothing.
pub(crate) fn rounded(figure: f64) -> f64 {
    format!("{figure:.3e}").parse().unwrap_or(figure)
}

fn small(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests;
