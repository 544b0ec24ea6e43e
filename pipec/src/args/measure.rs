//! What can be said to `explain`, `profile`, `tune` and `calibrate`.

use super::{
    Changes, Form, ProgramArgs, VirtualArgs,
    values::{changes, size, time, whole},
};
use clap::{Args, ValueEnum};
use std::{path::PathBuf, time::Duration};

/// `explain`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pipec explain train.pipe train
  pipec explain train.pipe train --verbose       all that is known of it
  pipec explain train.pipe train --emit plan     every operator with every expression
  pipec explain train.pipe train --json          for scripts
  pipec explain train.pipe train --html train.html   a page with the plan drawn
  pipec explain train.pipe train --dot | dot -Tsvg > train.svg
  pipec explain --compare before.profile after.profile
  pipec explain PC0123                           the long story of a message
  pipec explain input-type                       the same by its name

Costs marked `~` are assumed, others are measured.")]
pub(crate) struct ExplainArgs {
    /// The program, or the code of a message.
    #[arg(value_name = "FILE|CODE", required_unless_present = "compare")]
    pub(crate) target: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) program: ProgramArgs,
    /// What was measured, in place of what is assumed: a file that `profile` has written; NAME.profile beside
    /// the program or in this folder if not said, where it is of the program as it is now.
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
    /// Leaves the profile aside that lies beside the program or in this folder, NAME.profile: costs are
    /// assumed.
    #[arg(long, conflicts_with_all = ["profile", "analyze"])]
    pub(crate) no_profile: bool,
    /// Measures it now, for up to ten seconds, and sets what was predicted beside it.
    #[arg(long, conflicts_with = "profile")]
    pub(crate) analyze: bool,
    /// What `calibrate` has found out about the machine; the user's host file if not said.
    #[arg(long, value_name = "FILE")]
    pub(crate) host: Option<PathBuf>,
    /// The machine as it could be: `cores=96,disk=500MB/s,memory=300GiB`.
    #[arg(long, value_name = "CHANGES", value_parser = changes)]
    pub(crate) what_if: Option<Changes>,
    /// The time that the consumer takes for a batch, such as 120ms.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) consumer: Option<Duration>,
    /// Passes over the data: what is kept from one to the next depends on it.
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = whole(1, u32::MAX, 90))]
    pub(crate) epochs: u32,
    /// Memory that a run may take, such as 2GiB; a quarter of what is free if not said.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// The folder where a run would keep values for later runs.
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    /// Bytes that the folder of `--cache` may take in all.
    #[arg(long, value_name = "SIZE", default_value = "50GiB", value_parser = size, requires = "cache")]
    pub(crate) disk: u64,
    /// Shows all that is known: where each step is written, what each could do, what is not cached and why.
    #[arg(short, long, conflicts_with_all = ["emit", "dot", "html", "json", "rewrites"])]
    pub(crate) verbose: bool,
    /// Shows one of the forms that a program goes through.
    #[arg(long, value_name = "FORM", value_enum)]
    pub(crate) emit: Option<Form>,
    /// Shows every rewrite that was proposed or refused: its law, before and after, why.
    #[arg(long, conflicts_with_all = ["emit", "dot", "html", "json"])]
    pub(crate) rewrites: bool,
    /// Prints the plan as a graph for Graphviz.
    #[arg(long, conflicts_with_all = ["emit", "json"])]
    pub(crate) dot: bool,
    /// Writes one HTML file that needs nothing else, with the plan drawn; `-` is stdout.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["emit", "json", "dot"])]
    pub(crate) html: Option<PathBuf>,
    /// Sets two files that `profile` has written beside each other.
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with_all = [
        "target", "name", "set", "workers", "profile", "analyze", "host", "what_if", "consumer",
        "memory", "emit", "dot", "html", "rewrites", "verbose",
    ])]
    pub(crate) compare: Option<Vec<PathBuf>>,
    /// Prints JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `profile`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pipec profile train.pipe train                   writes train.profile
  pipec explain train.pipe train --profile train.profile")]
pub(crate) struct ProfileArgs {
    /// The program.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) program: ProgramArgs,
    /// The file to be written; the pipeline's name and `.profile` if not said.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) virtually: VirtualArgs,
    /// The longest that it may take.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time)]
    pub(crate) seconds: Duration,
    /// Memory that the process may take, such as 2GiB; a quarter of what is free if not said.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
}

/// `tune`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pipec tune train.pipe train --epochs 90          writes train.pipe.lock
  pipec run train.pipe train --locked              as it was tuned, or not at all
  pipec tune train.pipe train --policy all         ours beside other ways to set threads

The lock is written by the model alone: without `--policy`, or with `--policy model`.")]
pub(crate) struct TuneArgs {
    /// The program.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) program: ProgramArgs,
    #[command(flatten)]
    pub(crate) virtually: VirtualArgs,
    /// Another way to set threads: it is tried, its rate is told, and no lock is written. May be
    /// given several times, to set them side by side.
    #[arg(long = "policy", value_name = "POLICY", value_enum)]
    pub(crate) policies: Vec<PolicyName>,
    /// The longest that it may take.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = time)]
    pub(crate) seconds: Duration,
    /// Passes over the data that it is tuned for.
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = whole(1, u32::MAX, 90))]
    pub(crate) epochs: u32,
    /// The time that the consumer takes for a batch, such as 120ms.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) consumer: Option<Duration>,
    /// Memory that the process may take, such as 2GiB; a quarter of what is free if not said.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
}

/// A way to set threads.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PolicyName {
    /// One thread.
    Naive,
    /// As many threads for each step as there are cores.
    Heuristic,
    /// The hill climb of tf.data, on measured costs.
    Autotune,
    /// One thread more for a step drawn by lot, again and again.
    Random,
    /// One thread more for the slowest step, again and again.
    Step,
    /// Ours: the threads, and what is kept, that the operational model chooses.
    Model,
    /// All of these.
    All,
}

/// `calibrate`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pipec calibrate --path /data                     once for each machine, while it has nothing to do
  pipec calibrate --path /data --path /scratch     two disks
  pipec calibrate --quick --out here.toml          less exact, in 8 seconds

In each folder a file is written, read with and without the page cache, and removed. What was
found goes into the host file, from which plans are chosen; another one is taken with PIPEC_HOST.
The file is written anew each time: name all folders at once.")]
pub(crate) struct CalibrateArgs {
    /// A folder on the disk that is to be measured; this one if not said. May be given again.
    #[arg(long = "path", value_name = "DIR", default_value = ".")]
    pub(crate) paths: Vec<PathBuf>,
    /// The host file; $XDG_CONFIG_HOME/pipec/host.toml or ~/.config/pipec/host.toml if not said.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Takes 8 seconds and not 40; figures are less exact.
    #[arg(long)]
    pub(crate) quick: bool,
    /// The file that is written and read: larger than what the disk keeps in a cache of its own.
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = size)]
    pub(crate) size: u64,
    /// How long it may take in all: for tests.
    #[arg(long, value_name = "TIME", value_parser = time, hide = true)]
    pub(crate) time: Option<Duration>,
    /// Prints what was found as JSON on stdout.
    #[arg(long)]
    pub(crate) json: bool,
}
