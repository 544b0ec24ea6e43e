//! Arguments of `explain`, `profile`, `tune` and `calibrate`.

use super::{
    Changes, Form, ProgramArgs, VirtualArgs,
    values::{changes, size, step_time, time, whole},
};
use clap::{Args, ValueEnum};
use model::strategy::Objective;
use std::{path::PathBuf, time::Duration};

/// `explain`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pipec explain train.pipe train
  pipec explain train.pipe train --verbose       every detail
  pipec explain train.pipe train --emit plan     every operator and expression
  pipec explain train.pipe train --json          for scripts
  pipec explain train.pipe train --html train.html   a page that draws the plan
  pipec explain train.pipe train --dot | dot -Tsvg > train.svg
  pipec explain --compare before.profile after.profile
  pipec explain PC0123                           explain an error code
  pipec explain input-type                       the same, by its name

Times and rates marked `~` are estimates from default costs, sizes marked `~` are guesses. Times without it are \
measured, and sizes without it follow from the types. `>` marks the bottleneck.")]
pub(crate) struct ExplainArgs {
    /// Program, or an error code.
    #[arg(value_name = "FILE|CODE", required_unless_present = "compare")]
    pub(crate) target: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) program: ProgramArgs,
    /// Use measured costs from a file written by `pipec profile` [default: NAME.profile beside the program or in
    /// this folder, if it is up to date].
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
    /// Ignore NAME.profile and use default costs.
    #[arg(long, conflicts_with_all = ["profile", "analyze"])]
    pub(crate) no_profile: bool,
    /// Measure now, for up to ten seconds, and compare with the prediction.
    #[arg(long, conflicts_with = "profile")]
    pub(crate) analyze: bool,
    /// Host file written by `pipec calibrate` [default: the one in the user's configuration folder].
    #[arg(long, value_name = "FILE")]
    pub(crate) host: Option<PathBuf>,
    /// Predict for another machine, such as `cores=96,disk=500MB/s,memory=300GiB`.
    #[arg(long, value_name = "CHANGES", value_parser = changes)]
    pub(crate) what_if: Option<Changes>,
    /// Time that a training step takes, such as 120ms.
    #[arg(long, alias = "consumer", value_name = "TIME", value_parser = step_time)]
    pub(crate) step_time: Option<Duration>,
    /// Number of epochs; it decides what is worth caching.
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = whole(1, u32::MAX, 90))]
    pub(crate) epochs: u32,
    /// Memory limit of a run, such as 2GiB [default: a quarter of the free memory].
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// Cache folder that a run would use.
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    /// Maximum size of the `--cache` folder.
    #[arg(long, alias = "disk", value_name = "SIZE", default_value = "50GiB", value_parser = size, requires = "cache")]
    pub(crate) cache_limit: u64,
    /// What caching is to be the best for: `time` of all epochs, `rate` of later epochs, or the fewest bytes that reach
    /// a rate in records/s, such as `bytes@4000`; or the lowest cost, by the price of an hour of the machine and of a GB
    /// cached for a month, such as `cost@3.06,0.08`. `weights:1,0,1` caches one value, the one that PRESTO's score of fill
    /// time, bytes and rate says.
    #[arg(long, value_name = "OBJECTIVE", default_value = "time")]
    pub(crate) objective: Objective,
    /// Show every detail: the source position and the maximum rate of each step, what is not cached and why.
    #[arg(short, long, conflicts_with_all = ["emit", "dot", "html", "json", "rewrites"])]
    pub(crate) verbose: bool,
    /// Print an intermediate form of the program.
    #[arg(long, value_name = "FORM", value_enum)]
    pub(crate) emit: Option<Form>,
    /// Show every rewrite that was applied or rejected: its law, before and after, and why.
    #[arg(long, conflicts_with_all = ["emit", "dot", "html", "json"])]
    pub(crate) rewrites: bool,
    /// Compare what could be cached: each value in memory and on disk (`--cache`), its size, and how long `--epochs` take;
    /// and with how many epochs, cores, bytes or how fast a disk something else would be cached.
    #[arg(long, conflicts_with_all = ["emit", "dot", "rewrites", "verbose"])]
    pub(crate) strategies: bool,
    /// Print `--strategies` as CSV, with the columns of PRESTO.
    #[arg(long, requires = "strategies", conflicts_with_all = ["json", "html"])]
    pub(crate) csv: bool,
    /// Print the plan as a Graphviz graph.
    #[arg(long, conflicts_with_all = ["emit", "json"])]
    pub(crate) dot: bool,
    /// Write the plan, or with `--strategies` what could be cached, as a self-contained HTML page; `-` is stdout.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["emit", "json", "dot"])]
    pub(crate) html: Option<PathBuf>,
    /// Compare two profiles.
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with_all = [
        "target", "name", "set", "workers", "profile", "analyze", "host", "what_if", "step_time",
        "memory", "emit", "dot", "html", "rewrites", "strategies", "verbose",
    ])]
    pub(crate) compare: Option<Vec<PathBuf>>,
    /// Print JSON.
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
    /// Program.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) program: ProgramArgs,
    /// Profile to write [default: NAME.profile].
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) virtually: VirtualArgs,
    /// Maximum duration.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time)]
    pub(crate) seconds: Duration,
    /// Memory limit of the process, such as 2GiB [default: a quarter of the free memory].
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
}

/// `tune`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pipec tune train.pipe train --epochs 90          writes train.pipe.lock
  pipec run train.pipe train --locked              require the tuned settings
  pipec tune train.pipe train --policy all         compare with other tuning policies

Writes a lock file only without `--policy`, or with `--policy model`.")]
pub(crate) struct TuneArgs {
    /// Program.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) program: ProgramArgs,
    #[command(flatten)]
    pub(crate) virtually: VirtualArgs,
    /// Try another tuning policy and print its throughput, without writing a lock file. Repeat to compare
    /// several.
    #[arg(long = "policy", value_name = "POLICY", value_enum)]
    pub(crate) policies: Vec<PolicyName>,
    /// Compare what could be cached: the best strategies by the model, and caching nothing, are run in turn on a part of
    /// the records; the best one is written to the lock file.
    #[arg(long, conflicts_with = "policies")]
    pub(crate) strategies: bool,
    /// Number of strategies that are run, besides caching nothing.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = whole(1, 100_u32, 3), requires = "strategies")]
    pub(crate) top: u32,
    /// Folder in which values may be cached for later runs.
    #[arg(long, value_name = "DIR", requires = "strategies")]
    pub(crate) cache: Option<PathBuf>,
    /// Maximum size of the `--cache` folder.
    #[arg(long, value_name = "SIZE", default_value = "50GiB", value_parser = size, requires = "cache")]
    pub(crate) cache_limit: u64,
    /// Print the strategies as CSV.
    #[arg(long, requires = "strategies")]
    pub(crate) csv: bool,
    /// Maximum duration.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = time)]
    pub(crate) seconds: Duration,
    /// What caching is to be the best for: `time` of all epochs, `rate` of later epochs, or the fewest bytes that reach
    /// a rate in records/s, such as `bytes@4000`; or the lowest cost, by the price of an hour of the machine and of a GB
    /// cached for a month, such as `cost@3.06,0.08`. `weights:1,0,1` caches one value, the one that PRESTO's score of fill
    /// time, bytes and rate says.
    #[arg(long, value_name = "OBJECTIVE", default_value = "time")]
    pub(crate) objective: Objective,
    /// Number of epochs to tune for.
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = whole(1, u32::MAX, 90))]
    pub(crate) epochs: u32,
    /// Time that a training step takes, such as 120ms.
    #[arg(long, alias = "consumer", value_name = "TIME", value_parser = step_time)]
    pub(crate) step_time: Option<Duration>,
    /// Memory limit of the process, such as 2GiB [default: a quarter of the free memory].
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
}

/// A tuning policy.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PolicyName {
    /// One thread.
    Naive,
    /// As many threads per step as there are cores.
    Heuristic,
    /// The hill climbing of tf.data, on measured costs.
    Autotune,
    /// Repeatedly add a thread to a random step.
    Random,
    /// Repeatedly add a thread to the slowest step.
    Step,
    /// Our operational model: chooses threads and caches.
    Model,
    /// All of these.
    All,
}

/// `calibrate`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pipec calibrate /data                            once per machine, while it is idle
  pipec calibrate /data s3://bucket/train          a disk, and the store that objects are read from
  pipec calibrate --quick --out here.toml          less exact, in 8 seconds

Writes a file in each folder, reads it with and without the page cache, and removes it. Of a store, \
objects below the URL are read, with up to 16,000 requests and 1.2 GB. The result is written to the host \
file, which `explain` and `tune` use; PIPEC_HOST selects another one. The host file is replaced each \
time: name all folders and stores at once.")]
pub(crate) struct CalibrateArgs {
    /// Folders on disks, and URLs of stores, to measure [default: .].
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// What `paths` was called before.
    #[arg(long = "path", value_name = "DIR", hide = true)]
    pub(crate) named: Vec<PathBuf>,
    /// Host file to write [default: $XDG_CONFIG_HOME/pipec/host.toml or ~/.config/pipec/host.toml].
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Take 8 seconds instead of 40, less precisely.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Size of the test file; larger than the disk's own cache.
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = size)]
    pub(crate) size: u64,
    /// Total time, for tests.
    #[arg(long, value_name = "TIME", value_parser = time, hide = true)]
    pub(crate) time: Option<Duration>,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
