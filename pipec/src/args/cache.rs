//! What can be said to `cache`.

use super::values::{age, setting, size};
use clap::{Args, Subcommand};
use std::{path::PathBuf, time::Duration};

/// `cache`.
#[derive(Subcommand)]
pub(crate) enum CacheCommand {
    /// Lists what is kept in a folder, what was used last first.
    #[command(after_help = "\
Example:
  pipec cache ls /scratch/kept")]
    Ls(CacheFolderArgs),
    /// Says which values of a pipeline are kept, where, and why others are not.
    #[command(after_help = "\
Example:
  pipec cache why train.pipe train /scratch/kept")]
    Why(CacheWhyArgs),
    /// Checks every checksum; exit code 5 where something is damaged.
    #[command(after_help = "\
Example:
  pipec cache verify /scratch/kept")]
    Verify(CacheFolderArgs),
    /// Removes what was not used for longest; never what a run uses.
    #[command(after_help = "\
Examples:
  pipec cache gc /scratch/kept --max 100GiB
  pipec cache gc /scratch/kept --older 30d")]
    Gc(CacheGcArgs),
}

/// `cache ls` and `cache verify`.
#[derive(Args)]
pub(crate) struct CacheFolderArgs {
    /// The folder that `--cache` was given.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Prints JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `cache why`.
#[derive(Args)]
pub(crate) struct CacheWhyArgs {
    /// The program.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The pipeline.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// The folder that `--cache` was given.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Gives a parameter a value.
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) set: Vec<(String, String)>,
    /// Bytes that the folder may take in all.
    #[arg(long, value_name = "SIZE", default_value = "50GiB", value_parser = size)]
    pub(crate) disk: u64,
    /// Reads all inputs, as a run with `--verify-inputs` does.
    #[arg(long)]
    pub(crate) verify_inputs: bool,
    /// Prints JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `cache gc`.
#[derive(Args)]
#[command(group(clap::ArgGroup::new("what").required(true).multiple(true)))]
pub(crate) struct CacheGcArgs {
    /// The folder that `--cache` was given.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Leaves no more than so many bytes.
    #[arg(long, value_name = "SIZE", value_parser = size, group = "what")]
    pub(crate) max: Option<u64>,
    /// Removes what was not used for so long, such as 12h or 30d.
    #[arg(long, value_name = "TIME", value_parser = age, group = "what")]
    pub(crate) older: Option<Duration>,
    /// Prints JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
