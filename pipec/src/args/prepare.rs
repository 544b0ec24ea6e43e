//! Arguments of `prepare`.

use super::{
    ProgramArgs, VirtualArgs,
    values::{share, size, whole},
};
use clap::Args;
use model::strategy::Objective;
use std::path::PathBuf;

/// `prepare`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pipec prepare train.pipe train --epochs 90 --cache /nvme/cache
  pipec run train.pipe train --epochs 90 --cache /nvme/cache    every epoch reads the cache, the first one too
  pipec prepare train.pipe train --cache /nvme/cache --keep index    only where the parts of each JPEG are

Caches what `run` with the same `--epochs`, `--cache` and `--memory` would cache on disk: only the steps up to that value are \
run, once for each record and on all cores. Values that are cached already are not computed again: after Ctrl-C or a crash, \
run it again. `explain --strategies` compares what could be cached; `--keep` or a lock file chooses.")]
pub(crate) struct PrepareArgs {
    /// Program.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) program: ProgramArgs,
    /// Cache folder, as given to `run --cache`.
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: PathBuf,
    /// Maximum size of the cache folder.
    #[arg(long, value_name = "SIZE", default_value = "50GiB", value_parser = size)]
    pub(crate) cache_limit: u64,
    /// What caching is to be the best for: `time` of all epochs, `rate` of later epochs, or the fewest bytes that reach
    /// a rate in records/s, such as `bytes@4000`; or the lowest cost, by the price of an hour of the machine and of a GB
    /// cached for a month, such as `cost@3.06,0.08`. `weights:1,0,1` caches one value, the one that PRESTO's score of fill
    /// time, bytes and rate says.
    #[arg(long, value_name = "OBJECTIVE", default_value = "time")]
    pub(crate) objective: Objective,
    /// Cache this value, and none that is not named so: `index`, the positions of the parts of each JPEG, for pipelines that
    /// decode a part of it; a function such as `decode_jpeg`; or `train.map#1.decode_jpeg`. Runs with the same `--cache`
    /// then cache nothing else; `prepare` without `--keep` lifts that.
    #[arg(long, value_name = "VALUE")]
    pub(crate) keep: Vec<String>,
    /// Number of epochs that later runs have.
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = whole(1, u32::MAX, 90))]
    pub(crate) epochs: u32,
    /// Memory limit of the process, such as 2GiB [default: a quarter of the free memory].
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// Require an up-to-date lock file, written by `pipec tune`.
    #[arg(long)]
    pub(crate) locked: bool,
    /// Limit CPU use to this share of the cores, such as 60%.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) cpu: Option<f64>,
    #[command(flatten)]
    pub(crate) virtually: VirtualArgs,
    /// Folder for the indices of large files [default: `pipec/index` in the user's cache folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) index_dir: Option<PathBuf>,
    /// Compare the contents of all inputs with those that were cached, not only sizes and times.
    #[arg(long)]
    pub(crate) verify_inputs: bool,
    /// Print what was cached as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
