//! Arguments of the command line.

mod cache;
mod elsewhere;
mod index;
mod measure;
mod prepare;
mod sample;
mod text;
mod values;

pub(crate) use self::sample::{SampleArgs, SampleCommand};
pub(crate) use cache::*;
pub(crate) use index::IndexArgs;
pub(crate) use measure::{CalibrateArgs, ExplainArgs, PolicyName, ProfileArgs, TuneArgs};
pub(crate) use prepare::PrepareArgs;
pub(crate) use text::{CheckArgs, FmtArgs, OutputFormat};
pub(crate) use values::Changes;

use clap::{
    Args, ColorChoice, Parser, Subcommand, ValueEnum,
    builder::{PossibleValuesParser, styling},
};
use clap_complete::Shell;
use driver::ShardSize;
use model::strategy::Objective;
use runtime::storage::{self, Emulated, Emulation, Objects};
use std::{path::PathBuf, time::Duration};
use values::{formats, setting, shard, share, size, speed, time, whole};

const STYLES: styling::Styles = styling::Styles::styled()
    .header(styling::AnsiColor::Yellow.on_default().bold())
    .usage(styling::AnsiColor::Yellow.on_default().bold())
    .literal(styling::AnsiColor::Green.on_default())
    .placeholder(styling::AnsiColor::Cyan.on_default());

/// Compile and run input pipelines for machine learning.
#[derive(Parser)]
#[command(
    name = "pipec",
    version,
    arg_required_else_help = true,
    styles = STYLES,
    max_term_width = 100,
    after_help = "\
Examples:
  pipec check train.pipe                       report every mistake without running anything
  pipec run train.pipe train --limit 100       run 100 batches and print the throughput
  pipec run train.pipe --out batches/          write each batch as .npy files
  pipec run shards.pipe --out d/ --format tar  write records as WebDataset shards
  pipec explain train.pipe train               the optimized plan and what it costs
  pipec build train.pipe train -o train        build a standalone executable
  pipec explain PC0123                         explain an error code

Exit codes: 0 success, 1 errors in the program, 2 wrong usage, 3 too many failed records or too little memory, \
4 checkpoint does not match, 5 I/O error, 130 interrupted."
)]
pub(crate) struct Cli {
    /// The command to run.
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Color the output; `auto` follows the terminal and NO_COLOR.
    #[arg(long, global = true, value_name = "WHEN", default_value_t = ColorChoice::Auto, hide_possible_values = true, display_order = 100)]
    pub(crate) color: ColorChoice,
}

impl Cli {
    /// What was said; where it cannot be understood, the process ends with the reason.
    pub(crate) fn read() -> Self {
        Self::try_parse().unwrap_or_else(|it| elsewhere::exit(&elsewhere::told(it)))
    }
}

/// A command with its arguments.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Check programs without running them (reads only as much data as needed to determine the fields).
    Check(CheckArgs),
    /// Format programs.
    Fmt(FmtArgs),
    /// Run a pipeline.
    Run(RunArgs),
    /// Show the plan of a pipeline and what it costs, or explain an error code.
    Explain(ExplainArgs),
    /// Print the documentation of a function, operator, source, keyword or error code.
    Doc(DocArgs),
    /// Measure a pipeline until its throughput is steady, and write a profile.
    Profile(ProfileArgs),
    /// Tune workers and caches by measuring, and write them to a lock file beside the program.
    Tune(TuneArgs),
    /// Fill a cache ahead of training, with only the steps that it needs.
    Prepare(PrepareArgs),
    /// Find where the records of large files begin, ahead of training.
    Index(IndexArgs),
    /// Build a standalone executable from a pipeline.
    Build(BuildArgs),
    /// Show what files hold, and a program that reads them.
    Inspect(InspectArgs),
    /// Show sample records after each step of a pipeline.
    Peek(PeekArgs),
    /// Compare the optimized plan with the plan as written, byte by byte.
    Verify(VerifyArgs),
    /// Find broken records, duplicates, unusual sizes and sorted labels before training.
    Scan(ScanArgs),
    /// Measure the cores, memory and disks of this machine.
    Calibrate(CalibrateArgs),
    /// Inspect, verify and clean up on-disk caches.
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Generate sample data, so that nothing needs to be downloaded.
    #[command(subcommand)]
    Sample(SampleCommand),
    /// Highlight the syntax of a program.
    Highlight(HighlightArgs),
    /// Start the language server, on stdin and stdout.
    Lsp(LspArgs),
    /// Generate shell completions.
    Completions(CompletionsArgs),
}

/// The program that a command is about.
#[derive(Args)]
pub(crate) struct ProgramArgs {
    /// Pipeline to use [default: the only one, or the one that no other uses].
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Set a parameter.
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) set: Vec<(String, String)>,
    /// Number of worker threads [default: all cores].
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1_u16, 1024, 4))]
    pub(crate) workers: Option<u16>,
    /// Disable an optimizer pass, by its name in `explain --rewrites`.
    #[arg(long, alias = "without", value_name = "NAME")]
    pub(crate) disable_pass: Vec<String>,
    /// Allow rewrites that change results slightly; `verify` reports by how much.
    #[arg(long, value_name = "WHAT")]
    pub(crate) allow: Vec<Allowed>,
    /// Allow `use` of files outside the project (the nearest parent folder with `.git`, else the program's
    /// own folder); `explain` then shows the columns and classes of text files there.
    #[arg(long)]
    pub(crate) allow_outside: bool,
    /// Emulate a store with this latency: `virtual://PATH` is the file PATH below this folder.
    #[arg(long, hide = true, value_name = "TIME", value_parser = time)]
    pub(crate) virtual_store: Option<Duration>,
}

impl ProgramArgs {
    /// Starts emulating it.
    pub(crate) fn begin(&self) {
        if let Some(latency) = self.virtual_store {
            let objects = Objects::Folder(".".into());
            let store = Emulated::new(Emulation { objects, latency, ..Emulation::default() });
            storage::register("virtual", Box::new(store));
        }
    }
}

/// What is allowed beyond what is exact.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Allowed {
    /// Rewrites whose results differ slightly.
    Approx,
}

/// How many times as slow virtual cores are as they would have to be if the real ones did nothing but
/// their work.
const SLACK: f64 = 1.5;

/// An emulated machine.
#[derive(Args)]
pub(crate) struct VirtualArgs {
    /// Emulate a machine with N cores, in slow motion.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1_u16, 1024, 96))]
    pub(crate) virtual_cores: Option<u16>,
    /// Emulate a disk: limit reads to this speed, such as 50MB/s.
    #[arg(long, value_name = "SPEED", value_parser = speed)]
    pub(crate) virtual_disk: Option<u64>,
}

impl VirtualArgs {
    /// Starts emulating it.
    pub(crate) fn begin(&self) {
        if let Some(cores) = self.virtual_cores.map(usize::from) {
            let slower = SLACK * cores as f64 / driver::real_cores() as f64;
            runtime::tokens::virtual_cores(Some(cores), slower);
        }
        runtime::reads::hold_back(self.virtual_disk);
    }
}

/// `run`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pipec run train.pipe train --set data=/data/imagenet
  pipec run train.pipe train --limit 100               100 batches, then a summary
  pipec run train.pipe val --out val/                  val/image/00000000.npy, val/label/…
  pipec run train.pipe val --out - | python train.py   an Arrow IPC stream
  pipec run train.pipe train --epochs 90 --checkpoint c.json   rerun after a crash to resume

The same program, data and seed give the same batches with any number of workers.")]
pub(crate) struct RunArgs {
    /// Program.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) program: ProgramArgs,
    /// Stop after N batches in all (records, if the pipeline does not end with `batch`).
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1, u64::MAX, 100))]
    pub(crate) limit: Option<u64>,
    /// Number of epochs.
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = whole(1, u32::MAX, 90))]
    pub(crate) epochs: u32,
    /// Random seed.
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = whole(0, u64::MAX, 7))]
    pub(crate) seed: u64,
    /// Memory limit of the process, such as 2GiB [default: a quarter of the free memory]. A run that needs
    /// more fails, and reports how much is enough.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// Output: `null` to discard; a folder for files (see `--format`), or a prefix of an object store (`s3://bucket/prefix`);
    /// or `-` for an Arrow stream on stdout.
    #[arg(long, value_name = "null|DIR|-", default_value = "null")]
    pub(crate) out: PathBuf,
    /// Format of the files in the `--out` folder: `npy` (NumPy files, one for each field and batch; strings, such as captions,
    /// as `.jsonl`), `safetensors` (a file of tensors for each batch), or, for a pipeline without `batch`, shards of records.
    #[arg(long, value_name = "FORMAT", default_value = "npy", value_parser = PossibleValuesParser::new(formats()))]
    pub(crate) format: String,
    /// Size of a shard before compression, such as 128MiB (at most 1GiB), or its number of records, such as 10000
    /// [default: 64MiB].
    #[arg(long, value_name = "SIZE|N", value_parser = shard, requires = "format")]
    pub(crate) shard: Option<ShardSize>,
    /// Replace the finished output of another run in the `--out` folder: of another pipeline, seed or limit.
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Rank of this process, from 0 to world size - 1.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "world_size", allow_negative_numbers = true, value_parser = whole(0, u32::MAX, 1))]
    pub(crate) rank: u32,
    /// Number of processes that share the work; each rank gets the same number of batches (with `tail: keep`, some get one more).
    #[arg(long, alias = "world", value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = whole(1_u32, 65_536, 8))]
    pub(crate) world_size: u32,
    /// Write checkpoints to FILE, and resume from it if it exists.
    #[arg(long, alias = "state", value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Minimum time between checkpoints, such as 500ms or 10s.
    #[arg(long, alias = "state-every", value_name = "TIME", default_value = "1s", value_parser = time, requires = "checkpoint")]
    pub(crate) checkpoint_every: Duration,
    /// Require an up-to-date lock file, written by `pipec tune`.
    #[arg(long)]
    pub(crate) locked: bool,
    /// Limit CPU use to this share of the cores, such as 60%.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) cpu: Option<f64>,
    #[command(flatten)]
    pub(crate) virtually: VirtualArgs,
    /// Write a profile of the run, for `explain --profile`.
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
    /// Disable caching in memory and on disk.
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// Cache expensive values in DIR as well, for later runs.
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
    /// Folder for the indices of large files, which `shuffle` without a window needs [default:
    /// `pipec/index` in the user's cache folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) index_dir: Option<PathBuf>,
    /// Compare the contents of all inputs with those that were cached, not only sizes and times.
    #[arg(long, requires = "cache")]
    pub(crate) verify_inputs: bool,
    /// Stop the run after more than N failed records, even if `most:` of a step allows more.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(0, u64::MAX, 10))]
    pub(crate) max_errors: Option<u64>,
    /// Write a line of JSON to FILE for every record that was skipped or replaced.
    #[arg(long, value_name = "FILE")]
    pub(crate) quarantine: Option<PathBuf>,
    /// Print the summary as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Records per chunk, for tests.
    #[arg(long, value_name = "N", hide = true, allow_negative_numbers = true, value_parser = whole(1, u32::MAX, 16))]
    pub(crate) chunk_rows: Option<u32>,
}

/// `build`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pipec build train.pipe train                      writes ./train
  pipec build train.pipe train -o bin/train --set data=/data/imagenet
  ./train run --epochs 3 --out batches/             as `pipec run`, without pipec or the program
  ./train explain                                   the plan that was built
  pipec run ./train                                 the same as ./train run
  pipec build train.pipe train --target-cpu x86-64-v3

On a CPU without the required instructions, arithmetic is compiled again when the file is run. The \
same program, lock file, parameters, pipec and CPU give the same bytes. Workers and caches are those of \
the lock file; without one they are chosen when it runs, as memory always is.")]
pub(crate) struct BuildArgs {
    /// Program.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Pipeline to use [default: the only one, or the one that no other uses].
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Path of the executable [default: the name of the pipeline].
    #[arg(short, long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Set a parameter; its value is fixed in the executable.
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) set: Vec<(String, String)>,
    /// Disable an optimizer pass, by its name in `explain --rewrites`.
    #[arg(long, alias = "without", value_name = "NAME")]
    pub(crate) disable_pass: Vec<String>,
    /// Allow rewrites that change results slightly; `verify` reports by how much.
    #[arg(long, value_name = "WHAT")]
    pub(crate) allow: Vec<Allowed>,
    /// Require an up-to-date lock file, written by `pipec tune`.
    #[arg(long)]
    pub(crate) locked: bool,
    /// CPU to compile arithmetic for, such as `x86-64-v3` or `znver4` [default: this machine's].
    #[arg(long, value_name = "CPU")]
    pub(crate) target_cpu: Option<String>,
    /// Allow `use` of files outside the project (the nearest parent folder with `.git`, else the program's
    /// own folder).
    #[arg(long)]
    pub(crate) allow_outside: bool,
}

/// A form of a program.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// The formatted program.
    Source,
    /// The syntax tree.
    Ast,
    /// The optimized plan, with every expression.
    Plan,
    /// The cost estimate of each step.
    Estimate,
    /// The stages that run.
    Program,
    /// Cranelift IR of the compiled arithmetic.
    Clif,
    /// Machine code of the compiled arithmetic.
    Asm,
}

/// `peek`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pipec peek train.pipe train                          four records after each step
  pipec peek train.pipe train --at map -n 16 --save sheet.png
  pipec peek train.pipe train --record cat/0012.jpg    follow one record

Shows the pipeline as written, without optimizations. A failed record is named at its step.")]
pub(crate) struct PeekArgs {
    /// Program.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) pipeline: PipelineArgs,
    /// Number of records per step (one if they are batches, unless `--at` is given).
    #[arg(short = 'n', long, value_name = "N", default_value_t = 4, allow_negative_numbers = true, value_parser = whole(1_u32, 10_000, 16))]
    pub(crate) records: u32,
    /// Show one step only, such as `train.map#1` or `map`.
    #[arg(long, value_name = "STEP")]
    pub(crate) at: Option<String>,
    /// Write a contact sheet of the images to a PNG, of the last step that has any or of `--at`: every image
    /// field, stacked crops as tiles, boxes and masks in color over the image.
    #[arg(long, value_name = "SHEET.png")]
    pub(crate) save: Option<PathBuf>,
    /// Follow one record, by its id or the end of its path.
    #[arg(long, value_name = "ID")]
    pub(crate) record: Option<String>,
    /// Random seed.
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = whole(0, u64::MAX, 7))]
    pub(crate) seed: u64,
    /// Epoch to show, from 0.
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = whole(0, u32::MAX, 3))]
    pub(crate) epoch: u32,
    /// Memory limit, such as 2GiB [default: a quarter of the free memory]. If more is needed, the
    /// command fails, and reports how much is enough.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `inspect`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pipec inspect shards/                            what most files in a folder are
  pipec inspect \"data/train-*.parquet\"            what a pattern stands for
  pipec inspect s3://bucket/train -n 10            ten records
  pipec inspect rides.csv --program > rides.pipe   a program to go on from
")]
pub(crate) struct InspectArgs {
    /// File, folder, pattern or URL.
    #[arg(value_name = "PATH")]
    pub(crate) path: String,
    /// Number of records to show.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 3, allow_negative_numbers = true, value_parser = whole(0_u32, 10_000, 16))]
    pub(crate) records: u32,
    /// Print the program only.
    #[arg(long, conflicts_with = "json")]
    pub(crate) program: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `verify`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pipec verify train.pipe train                    three seeds, and a run of two epochs
  pipec verify train.pipe train --pairs 1 --limit 20

Runs the plan without rewrites on one thread beside the plan that `run` uses. Exits with code 1 and \
shows the first difference if they differ.")]
pub(crate) struct VerifyArgs {
    /// Program.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) program: ProgramArgs,
    /// Number of seeds to compare for one epoch; one more is compared for two.
    #[arg(long, value_name = "N", default_value_t = 3, allow_negative_numbers = true, value_parser = whole(0, u32::MAX, 3))]
    pub(crate) pairs: u32,
    /// Compare at most N batches of each (records, if the pipeline does not end with `batch`).
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1, u64::MAX, 100))]
    pub(crate) limit: Option<u64>,
    /// Memory limit, such as 2GiB [default: a quarter of the free memory]. If more is needed, the
    /// command fails, and reports how much is enough.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// Print the result of each comparison as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `scan`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pipec scan train.pipe train --set data=/data/imagenet
  pipec scan train.pipe train --out bad.jsonl      one line per failed record

Reads and computes every record up to the first batch. A failed record is reported, even where the \
program handles it with `else`. Exits with code 3 if any failed. Ctrl-C stops the scan and prints what \
was found (exit code 130).")]
pub(crate) struct ScanArgs {
    /// Program.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) pipeline: PipelineArgs,
    /// Write a line of JSON to FILE for each failed record.
    #[arg(long, value_name = "FILE.jsonl")]
    pub(crate) out: Option<PathBuf>,
    /// Random seed.
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = whole(0, u64::MAX, 7))]
    pub(crate) seed: u64,
    /// Memory limit, such as 2GiB [default: a quarter of the free memory]. If more is needed, the
    /// command fails, and reports how much is enough.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The pipeline that a command looks at as it is written.
#[derive(Args)]
pub(crate) struct PipelineArgs {
    /// Pipeline to use [default: the only one, or the one that no other uses].
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Set a parameter.
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) set: Vec<(String, String)>,
    /// Allow `use` of files outside the project (the nearest parent folder with `.git`, else the program's
    /// own folder).
    #[arg(long)]
    pub(crate) allow_outside: bool,
}

impl PipelineArgs {
    /// The same for a command that takes more.
    pub(crate) fn program(&self) -> ProgramArgs {
        let (name, set, allow_outside) = (self.name.clone(), self.set.clone(), self.allow_outside);
        ProgramArgs {
            name,
            set,
            workers: None,
            disable_pass: Vec::new(),
            allow: Vec::new(),
            allow_outside,
            virtual_store: None,
        }
    }
}

/// `doc`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pipec doc                    everything, by subject
  pipec doc resize             signature, description, example, cost
  pipec doc where              keywords of the language
  pipec doc PC0123             the same as `explain PC0123`
  pipec doc num_workers        the equivalent of a name from PyTorch, tf.data, DALI or pandas")]
pub(crate) struct DocArgs {
    /// A function, operator, source, type, keyword or error code.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `highlight`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pipec highlight train.pipe            print the program in color
  pipec highlight train.pipe --json     each token with its kind and byte range")]
pub(crate) struct HighlightArgs {
    /// The program; `-` is stdin.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print each token as JSON: its kind and byte range.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `lsp`.
#[derive(Args)]
#[command(after_help = "\
Started by an editor; speaks the Language Server Protocol. See docs/EDITORS.md for each editor.")]
pub(crate) struct LspArgs {
    /// Allow `use` of files outside the project (the nearest parent folder with `.git`, else the program's
    /// own folder), and show the columns and classes of text files there.
    #[arg(long)]
    pub(crate) allow_outside: bool,
    /// Accepted for editors that pass it; stdin and stdout are used in any case.
    #[arg(long)]
    pub(crate) stdio: bool,
}

/// `completions`.
#[derive(Args)]
#[command(after_help = "\
Example:
  pipec completions bash > ~/.local/share/bash-completion/completions/pipec")]
pub(crate) struct CompletionsArgs {
    /// Shell.
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_holds_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn former_names_of_flags_are_understood() {
        let former = "pipec run a.pipe --rank 1 --world 2 --state s.json --state-every 5s --cache kept \
                      --disk 1GiB --without draft";
        let Command::Run(args) = Cli::parse_from(former.split(' ')).command else { panic!("run") };
        assert_eq!((args.world_size, args.cache_limit), (2, 1 << 30));
        assert_eq!(args.checkpoint, Some("s.json".into()));
        assert!(driver::is_pass(&args.program.disable_pass[0]));
        let consumer = ["pipec", "explain", "a.pipe", "--consumer", "120ms"];
        let Command::Explain(args) = Cli::parse_from(consumer).command else { panic!("explain") };
        assert_eq!(args.step_time, Some(Duration::from_millis(120)));
    }
}
