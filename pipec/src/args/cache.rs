//! Arguments of `cache`.

use super::values::{age, setting, size, whole};
use clap::{Args, Subcommand};
use model::strategy::Objective;
use std::{path::PathBuf, time::Duration};

/// `cache`.
#[derive(Subcommand)]
pub(crate) enum CacheCommand {
    /// List the cached values in a folder, most recently used first.
    #[command(after_help = "\
Example:
  pipec cache ls /scratch/cache")]
    Ls(CacheFolderArgs),
    /// Show which values of a pipeline are cached, where, and why others are not.
    #[command(after_help = "\
Example:
  pipec cache why train.pipe train /scratch/cache --epochs 90")]
    Why(CacheWhyArgs),
    /// Verify all checksums; exits with code 5 if anything is damaged.
    #[command(after_help = "\
Example:
  pipec cache verify /scratch/cache")]
    Verify(CacheFolderArgs),
    /// Remove the least recently used values; never those in use by a run.
    #[command(after_help = "\
Examples:
  pipec cache gc /scratch/cache --max 100GiB
  pipec cache gc /scratch/cache --older 30d")]
    Gc(CacheGcArgs),
}

/// `cache ls` and `cache verify`.
#[derive(Args)]
pub(crate) struct CacheFolderArgs {
    /// Cache folder, as given to `--cache`.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `cache why`.
#[derive(Args)]
pub(crate) struct CacheWhyArgs {
    /// Program.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Pipeline.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Cache folder, as given to `--cache`.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Set a parameter.
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) set: Vec<(String, String)>,
    /// Maximum size of the folder.
    #[arg(long, alias = "disk", value_name = "SIZE", default_value = "50GiB", value_parser = size)]
    pub(crate) cache_limit: u64,
    /// What caching is to be the best for: `time` of all epochs, `rate` of later epochs, or the fewest bytes that reach
    /// a rate in records/s, such as `bytes@4000`; or the lowest cost, by the price of an hour of the machine and of a GB
    /// cached for a month, such as `cost@3.06,0.08`. `weights:1,0,1` caches one value, the one that PRESTO's score of fill
    /// time, bytes and rate says.
    #[arg(long, value_name = "OBJECTIVE", default_value = "time")]
    pub(crate) objective: Objective,
    /// Number of epochs of a run.
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = whole(1, u32::MAX, 90))]
    pub(crate) epochs: u32,
    /// Memory limit of a run, such as 2GiB [default: a quarter of the free memory].
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// Compare the contents of all inputs, as a run with `--verify-inputs` does.
    #[arg(long)]
    pub(crate) verify_inputs: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `cache gc`.
#[derive(Args)]
#[command(group(clap::ArgGroup::new("what").required(true).multiple(true)))]
pub(crate) struct CacheGcArgs {
    /// Cache folder, as given to `--cache`.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Shrink the cache to this size.
    #[arg(long, value_name = "SIZE", value_parser = size, group = "what")]
    pub(crate) max: Option<u64>,
    /// Remove values not used for this long, such as 12h or 30d.
    #[arg(long, value_name = "TIME", value_parser = age, group = "what")]
    pub(crate) older: Option<Duration>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
