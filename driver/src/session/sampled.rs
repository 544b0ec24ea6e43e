//! What a sample of the records says of the values that could be cached: in a cache folder, for later runs.

use crate::session::{compiled::Compiled, whole};
use compiler::caches::Candidate;
use plan::{CodecFigures, Measured};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// The number of the form of a file.
pub(crate) const FORMAT: u32 = 2;
/// Bytes of such a file at the most; far more than one ever has.
const BYTES_MAX: u64 = 16 << 20;
/// Files that a folder keeps of other programs and inputs.
const FILES_MAX: usize = 64;

/// What a sample says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sampled {
    pub(crate) format: u32,
    /// The pipec that has written it.
    pub(crate) version: String,
    /// What was measured of the whole program.
    pub measured: Measured,
    /// The values that could be cached.
    pub values: Vec<SampledValue>,
    /// Nanoseconds of a core to read a stored byte that the page cache holds.
    pub read_ns: f64,
    /// Records that were taken for them.
    pub records: u64,
    /// Seconds that it took.
    pub seconds: f64,
}

/// What is known of a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SampledValue {
    /// How it is computed, as a hash: that of the candidate.
    pub name: String,
    /// The step and the function, for people.
    pub value: String,
    /// Values that were looked at.
    pub count: u64,
    /// Bytes of one.
    pub bytes: Interval,
    /// Processor time of all that is done up to it, in nanoseconds for each record.
    pub cpu_ns: Interval,
    /// What codecs make of it.
    pub codecs: Vec<CodecFigures>,
}

/// A figure, and by how much it may be off (95%).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The figure.
    pub mean: f64,
    /// What it may be off at the most.
    pub half_width: f64,
}

impl Interval {
    /// The mean of these, as many as they are.
    pub(crate) fn of(all: &[f64], t: f64) -> Self {
        let n = all.len() as f64;
        if all.is_empty() {
            return Self::default();
        }
        let mean = all.iter().sum::<f64>() / n;
        let squares = all.iter().map(|it| (it - mean).powi(2)).sum::<f64>();
        let half_width = if n > 1.0 { t * (squares / (n - 1.0) / n).sqrt() } else { mean };
        Self { mean, half_width }
    }
}

impl Sampled {
    /// `compiled` with the costs that were measured, for so many cores and bytes of memory.
    pub(crate) fn estimated(&self, compiled: &Compiled, (cores, memory): (usize, u64)) -> Compiled {
        compiled.clone().estimated((cores, Some(memory)), Some(&self.measured))
    }

    /// The codecs of each value, and its bytes, put to the candidates that are the same.
    pub(crate) fn inform(&self, found: &mut [Candidate]) {
        let by_name: BTreeMap<&str, &SampledValue> =
            self.values.iter().map(|it| (it.name.as_str(), it)).collect();
        for candidate in found {
            if let Some(it) = by_name.get(name_of(candidate).as_str()) {
                candidate.codecs.clone_from(&it.codecs);
                candidate.bytes.value = it.bytes.mean;
                candidate.bytes.origin = model::Origin::Measured;
            }
        }
    }

    /// What lies in a cache folder of this program and these inputs.
    pub(crate) fn read(folder: &Path, compiled: &Compiled, inputs: u128) -> Option<Self> {
        let bytes = safe_file::read_here(&path(folder, compiled, inputs), BYTES_MAX).ok()?;
        let found: Self = serde_json::from_slice(&bytes).ok()?;
        let is_ours = (found.format, &*found.version) == (FORMAT, env!("CARGO_PKG_VERSION"));
        (is_ours && found.measured.is_of(&compiled.program)).then_some(found)
    }

    /// Puts it there, for later runs; where that fails, they take a sample of their own.
    pub(crate) fn write(&self, folder: &Path, compiled: &Compiled, inputs: u128) {
        if std::fs::create_dir_all(folder).is_err() {
            return;
        }
        remove_old(folder);
        let write = |out: &mut dyn std::io::Write| Ok(serde_json::to_writer(out, self)?);
        let _ = whole::write(&path(folder, compiled, inputs), "the sample", &mut |out| write(out));
    }
}

pub(crate) fn name_of(candidate: &Candidate) -> String {
    format!("{:016x}", candidate.name)
}

/// What such files are called.
fn path(folder: &Path, compiled: &Compiled, inputs: u128) -> PathBuf {
    let without = compiled.rewriting.without.join(" ");
    let of = format!("{} {without} {inputs:032x}", compiled.hash());
    let hash = blake3::hash(of.as_bytes()).to_hex();
    folder.join(format!("{PREFIX}{}.json", &hash[..16]))
}

const PREFIX: &str = "sample-";

/// Lets no more of them be than is of use.
fn remove_old(folder: &Path) {
    let all = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_one =
        |it: &std::fs::DirEntry| it.file_name().to_str().is_some_and(|it| it.starts_with(PREFIX));
    let mut all: Vec<_> = all.filter(is_one).map(|it| it.path()).collect();
    all.sort_by_key(|it| std::fs::symlink_metadata(it).and_then(|it| it.modified()).ok());
    for path in all.iter().rev().skip(FILES_MAX - 1) {
        let _ = std::fs::remove_file(path);
    }
}
