//! What can be said on the command line.

use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum, builder::styling};
use clap_complete::Shell;
use std::{path::PathBuf, time::Duration};

const STYLES: styling::Styles = styling::Styles::styled()
    .header(styling::AnsiColor::Yellow.on_default().bold())
    .usage(styling::AnsiColor::Yellow.on_default().bold())
    .literal(styling::AnsiColor::Green.on_default())
    .placeholder(styling::AnsiColor::Cyan.on_default());

/// Compiles and runs input pipelines for machine learning.
#[derive(Parser)]
#[command(
    name = "pipec",
    version,
    arg_required_else_help = true,
    styles = STYLES,
    max_term_width = 100,
    after_help = "\
Examples:
  pipec check train.pipe                       find every mistake, read no data
  pipec run train.pipe train --limit 100       run 100 batches, see how fast they come
  pipec run train.pipe --out batches/          write each batch as .npy files
  pipec explain train.pipe train               what will be run, and what it costs
  pipec build train.pipe train -o train        one executable that needs nothing else
  pipec explain PC0123                         the long story of a message

Exit codes: 0 fine, 1 the program has errors, 2 wrong usage, 3 too many records failed,
4 a saved state does not fit, 5 reading or writing failed, 130 interrupted."
)]
pub(crate) struct Cli {
    /// What is to be done.
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Whether messages are coloured; `auto` looks at the terminal and at NO_COLOR.
    #[arg(long, global = true, value_name = "WHEN", default_value_t = ColorChoice::Auto, hide_possible_values = true, display_order = 100)]
    pub(crate) color: ColorChoice,
}

/// A command with its arguments.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Finds every mistake of programs without reading any data.
    Check(CheckArgs),
    /// Puts programs into their one form.
    Fmt(FmtArgs),
    /// Runs a pipeline.
    Run(RunArgs),
    /// Shows what a pipeline will do and cost, or the long story of a message.
    Explain(ExplainArgs),
    /// Runs a pipeline until its rate has settled, and writes what was measured.
    Profile(ProfileArgs),
    /// Makes one executable of a pipeline, which needs nothing else.
    Build(BuildArgs),
    /// Shows the records after each step of a pipeline.
    Peek(PeekArgs),
    /// Runs the plan as it is written beside the optimised one, and compares every byte.
    Verify(VerifyArgs),
    /// Finds bad records beforehand, and duplicates, odd sizes, sorted labels.
    Scan(ScanArgs),
    /// Measures what this machine can do: cores, memory, disks.
    Calibrate(CalibrateArgs),
    /// Looks at what is kept on disk, checks it, makes room.
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Makes sample data, so that nothing need be downloaded.
    #[command(subcommand)]
    Sample(SampleCommand),
    /// Prints the completions of a shell.
    Completions(CompletionsArgs),
}

/// `check`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pipec check train.pipe
  pipec check pipelines/              every .pipe file below a folder
  pipec check train.pipe --json       the messages as a JSON array")]
pub(crate) struct CheckArgs {
    /// Programs, or folders of such.
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Gives a parameter a value.
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) set: Vec<(String, String)>,
    /// Prints the messages as JSON on stdout.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `fmt`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pipec fmt train.pipe                rewrites the file
  pipec fmt --check pipelines/        exit code 1 if a file is not in its form, for CI
  pipec fmt --diff train.pipe         shows what would change
  pipec fmt - < train.pipe            from stdin to stdout, for editors")]
pub(crate) struct FmtArgs {
    /// Programs, or folders of such; `-` is stdin.
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Changes nothing; names the files that are not in their form.
    #[arg(long)]
    pub(crate) check: bool,
    /// Changes nothing; prints what would change.
    #[arg(long)]
    pub(crate) diff: bool,
}

/// The program that a command is about.
#[derive(Args)]
pub(crate) struct ProgramArgs {
    /// The pipeline; not needed where there is one, or one that no other uses.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Gives a parameter a value.
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) set: Vec<(String, String)>,
    /// Threads that compute; all cores if not said.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) workers: Option<u16>,
    /// Leaves out a rewrite, by its name in `explain`.
    #[arg(long, value_name = "REWRITE")]
    pub(crate) without: Vec<String>,
}

/// `run`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pipec run train.pipe train --set data=/data/imagenet
  pipec run train.pipe train --limit 100               100 batches, then the summary
  pipec run train.pipe val --out val/                  val/image/00000000.npy, val/label/…
  pipec run train.pipe val --out - | python train.py   an Arrow IPC stream
  pipec run train.pipe train --epochs 90 --state s.json   once more after a crash: it goes on

The same program, data and seed give the same batches for any number of workers.")]
pub(crate) struct RunArgs {
    /// The program.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) program: ProgramArgs,
    /// Ends after so many batches; records, where the pipeline ends without `batch`.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
    /// Passes over the data.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) epochs: u32,
    /// What all random numbers follow from.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Memory that the run may take, such as 2GiB; a quarter of what is free if not said.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// Where the output goes: `null` for nowhere, a folder, or `-` for Arrow on stdout.
    #[arg(long, value_name = "null|DIR|-", default_value = "null")]
    pub(crate) out: PathBuf,
    /// Which run this is, of several that share the work; from 0.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "world")]
    pub(crate) rank: u32,
    /// How many runs share the work: each gives its own part of the batches, equally many.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(crate) world: u32,
    /// Keeps where the run stands in a file; goes on from there if the file is there already.
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
    /// How often the state is written at most, such as 500ms or 10s.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = time, requires = "state")]
    pub(crate) state_every: Duration,
    /// Writes what was measured of each step into a file, for `explain --profile`.
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
    /// Keeps values neither in memory nor on disk.
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// Keeps values that are dear on disk as well, in this folder: later runs find them there.
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    /// Bytes that the folder of `--cache` may take in all.
    #[arg(long, value_name = "SIZE", default_value = "50GiB", value_parser = size, requires = "cache")]
    pub(crate) disk: u64,
    /// Reads all inputs to see that they are those of what was kept, not only sizes and times.
    #[arg(long, requires = "cache")]
    pub(crate) verify_inputs: bool,
    /// Ends the run once more than so many records have failed, whatever each step allows.
    #[arg(long, value_name = "N")]
    pub(crate) max_errors: Option<u64>,
    /// Writes a line of JSON for every record that was skipped or replaced.
    #[arg(long, value_name = "FILE")]
    pub(crate) quarantine: Option<PathBuf>,
    /// Prints the summary as JSON on stdout.
    #[arg(long)]
    pub(crate) json: bool,
    /// Records of a chunk: for tests that it changes nothing.
    #[arg(long, value_name = "N", hide = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) chunk_rows: Option<u32>,
}

/// `explain`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pipec explain train.pipe train
  pipec explain train.pipe train --emit plan     every operator with every expression
  pipec explain train.pipe train --json          for scripts
  pipec explain PC0123                           the long story of a message
  pipec explain input-type                       the same by its name

Costs marked `~` are assumed, others are measured.")]
pub(crate) struct ExplainArgs {
    /// The program, or the code of a message.
    #[arg(value_name = "FILE|CODE")]
    pub(crate) target: PathBuf,
    #[command(flatten)]
    pub(crate) program: ProgramArgs,
    /// What was measured, in place of what is assumed: a file that `profile` has written.
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
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
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
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
    /// Shows one of the forms that a program goes through.
    #[arg(long, value_name = "FORM", value_enum)]
    pub(crate) emit: Option<Form>,
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
    /// The longest that it may take.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time)]
    pub(crate) seconds: Duration,
    /// Memory that the run may take, such as 2GiB; a quarter of what is free if not said.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
}

/// `build`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pipec build train.pipe train                      writes ./train
  pipec build train.pipe train -o bin/train --set data=/data/imagenet
  ./train run --epochs 3 --out batches/             as `pipec run`, without pipec or the program
  ./train explain                                   what was built
  pipec run ./train                                 the same as ./train run

The same program, parameters and pipec give the same bytes. Threads and memory are chosen when it runs.")]
pub(crate) struct BuildArgs {
    /// The program.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The pipeline; not needed where there is one, or one that no other uses.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Where the executable goes; the pipeline's name in this folder if not said.
    #[arg(short, long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Gives a parameter a value, for good.
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) set: Vec<(String, String)>,
    /// Leaves out a rewrite, by its name in `explain`.
    #[arg(long, value_name = "REWRITE")]
    pub(crate) without: Vec<String>,
}

/// A form of a program.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// The text in its one form.
    Source,
    /// What was written, as a tree.
    Ast,
    /// The operators with every expression, as they are run.
    Plan,
    /// What is expected of each step.
    Estimate,
    /// The stages that run.
    Program,
}

/// `peek`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pipec peek train.pipe train                          four records after each step
  pipec peek train.pipe train --at map -n 16 --save sheet.png
  pipec peek train.pipe train --record cat/0012.jpg    where one record goes

What is shown is the pipeline as it is written. A record that fails is named at its step.")]
pub(crate) struct PeekArgs {
    /// The program.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) pipeline: PipelineArgs,
    /// Records after each step; of batches one, unless a step is asked for.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) records: u32,
    /// Shows one step only, such as `train.map#1` or `map`.
    #[arg(long, value_name = "STEP")]
    pub(crate) at: Option<String>,
    /// Writes the pictures of the last step that has some, or of `--at`, into a PNG.
    #[arg(long, value_name = "SHEET.png")]
    pub(crate) save: Option<PathBuf>,
    /// Follows one record: its id, or the end of its path.
    #[arg(long, value_name = "ID")]
    pub(crate) record: Option<String>,
    /// What all random numbers follow from.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// The pass over the data, from 0.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) epoch: u32,
    /// Prints JSON on stdout.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `verify`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pipec verify train.pipe train                    three seeds, and one of two epochs
  pipec verify train.pipe train --pairs 1 --limit 20

The plan without any rewrite, on one thread, beside the one that `run` uses. Exit code 1 where
they differ; the first difference is shown.")]
pub(crate) struct VerifyArgs {
    /// The program.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) program: ProgramArgs,
    /// Seeds that are tried for an epoch; one more is tried for two.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) pairs: u32,
    /// Compares so many batches of each at the most; records, where it ends without `batch`.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
    /// Prints what came of each pair as JSON on stdout.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `scan`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pipec scan train.pipe train --set data=/data/imagenet
  pipec scan train.pipe train --out bad.jsonl      a line for each record that fails

Every record is read and computed up to the first batch; one that fails is named, also where the
program says `else`. Exit code 3 where some failed.")]
pub(crate) struct ScanArgs {
    /// The program.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) pipeline: PipelineArgs,
    /// Writes a line of JSON for each record that fails.
    #[arg(long, value_name = "FILE.jsonl")]
    pub(crate) out: Option<PathBuf>,
    /// What all random numbers follow from.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Prints what was found as JSON on stdout.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The pipeline that a command looks at as it is written.
#[derive(Args)]
pub(crate) struct PipelineArgs {
    /// The pipeline; not needed where there is one, or one that no other uses.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Gives a parameter a value.
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) set: Vec<(String, String)>,
}

impl PipelineArgs {
    /// The same for a command that takes more.
    pub(crate) fn program(&self) -> ProgramArgs {
        let (name, set) = (self.name.clone(), self.set.clone());
        ProgramArgs { name, set, workers: None, without: Vec::new() }
    }
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
    #[arg(long, value_name = "TIME", value_parser = time, group = "what")]
    pub(crate) older: Option<Duration>,
    /// Prints JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `sample`.
#[derive(Subcommand)]
pub(crate) enum SampleCommand {
    /// Makes natural-looking labelled JPEGs in class folders.
    #[command(after_help = "\
Examples:
  pipec sample images photos/ --count 2000
  pipec run train.pipe --set data=photos

A program can also name a set itself, `files(\"sample:images?count=2000\")`: it is made on
first use, in the user's cache folder.")]
    Images(ImagesArgs),
}

/// `sample images`.
#[derive(Args)]
pub(crate) struct ImagesArgs {
    /// Where the class folders go.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// How many pictures.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) count: u64,
    /// Which pictures.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Prints what was made as JSON on stdout.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `completions`.
#[derive(Args)]
#[command(after_help = "\
Example:
  pipec completions bash > ~/.local/share/bash-completion/completions/pipec")]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// `name=value`.
fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("it is written `name=value`")?;
    if name.is_empty() {
        return Err("there is no name before the `=`".to_owned());
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// What is other than it is.
#[derive(Clone, Default)]
pub(crate) struct Changes(pub(crate) Vec<model::what_if::Change>);

fn changes(text: &str) -> Result<Changes, String> {
    model::what_if::parse(text).map(Changes)
}

/// A time with its unit.
fn time(text: &str) -> Result<Duration, String> {
    const UNITS: [(&str, f64); 5] =
        [("ms", 1e-3), ("min", 60.0), ("h", 3600.0), ("d", 86_400.0), ("s", 1.0)];
    const WANTED: &str = "it is a number with a unit, such as 500ms or 10s";
    let (number, unit) = UNITS
        .iter()
        .find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)))
        .ok_or(WANTED)?;
    let seconds = number.trim().parse::<f64>().map_err(|_| WANTED)? * unit;
    Duration::try_from_secs_f64(seconds).map_err(|_| WANTED.to_owned())
}

/// A size in bytes, with its unit.
fn size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 9] = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
        ("kB", 1000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("B", 1),
    ];
    const WANTED: &str = "it is a number with a unit, such as 512MiB or 2GiB";
    let (number, unit) = UNITS
        .iter()
        .find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)))
        .ok_or(WANTED)?;
    let number: f64 = number.trim().parse().map_err(|_| WANTED)?;
    let bytes = number * unit as f64;
    // Large enough for any machine, and exact in a float.
    if (1.0..9e15).contains(&bytes) { Ok(bytes as u64) } else { Err(WANTED.to_owned()) }
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
    fn sizes_have_units() {
        assert_eq!(size("2GiB"), Ok(2 << 30));
        assert_eq!(size("1.5 kB"), Ok(1500));
        for wrong in ["2", "GiB", "2gib", "-1GiB", "nanGiB", "1e99GB"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_have_units() {
        assert_eq!(time("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(time("2 min"), Ok(Duration::from_secs(120)));
        for wrong in ["2", "s", "-1s", "nans", "1e99h"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn values_may_hold_equals_signs() {
        assert_eq!(setting("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert!(setting("a").is_err() && setting("=b").is_err());
    }
}
