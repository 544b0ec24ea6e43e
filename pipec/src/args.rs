//! What can be said on the command line.

mod cache;
mod elsewhere;
mod measure;
mod text;
mod values;

pub(crate) use cache::*;
pub(crate) use measure::{CalibrateArgs, ExplainArgs, PolicyName, ProfileArgs, TuneArgs};
pub(crate) use text::{CheckArgs, FmtArgs, OutputFormat};
pub(crate) use values::Changes;

use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum, builder::styling};
use clap_complete::Shell;
use std::{path::PathBuf, time::Duration};
use values::{setting, share, size, speed, time, whole};

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
  pipec check train.pipe                       find every mistake without running anything
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

impl Cli {
    /// What was said; where it cannot be understood, the process ends with the reason.
    pub(crate) fn read() -> Self {
        Self::try_parse().unwrap_or_else(|it| elsewhere::told(it).exit())
    }
}

/// A command with its arguments.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Finds every mistake of programs without running them; of the data only the head of a CSV is read.
    Check(CheckArgs),
    /// Puts programs into their one form.
    Fmt(FmtArgs),
    /// Runs a pipeline.
    Run(RunArgs),
    /// Shows what a pipeline will do and cost, or the long story of a message.
    Explain(ExplainArgs),
    /// Prints the documentation of a function, an operator, a source, a word or a message.
    Doc(DocArgs),
    /// Runs a pipeline until its rate has settled, and writes what was measured.
    Profile(ProfileArgs),
    /// Measures a pipeline, chooses its numbers, and writes them into a lock beside the program.
    Tune(TuneArgs),
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
    /// Tells what each word of a program is, for colours.
    Highlight(HighlightArgs),
    /// Serves an editor on stdin and stdout.
    #[cfg(feature = "lsp")]
    Lsp(LspArgs),
    /// Prints the completions of a shell.
    Completions(CompletionsArgs),
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
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1_u16, 1024, 4))]
    pub(crate) workers: Option<u16>,
    /// Leaves out a rewrite, by its name in `explain`.
    #[arg(long, value_name = "REWRITE")]
    pub(crate) without: Vec<String>,
    /// Allows rewrites that change what leaves by a little; `verify` says by how much.
    #[arg(long, value_name = "WHAT")]
    pub(crate) allow: Vec<Allowed>,
    /// Lets `use` name files outside of the project: the nearest folder above with `.git`, else the
    /// program's own.
    #[arg(long)]
    pub(crate) allow_outside: bool,
}

/// What is allowed beyond what is exact.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Allowed {
    /// Rewrites whose results differ a little.
    Approx,
}

/// How many times as slow virtual cores are as they would have to be if the real ones did nothing but
/// their work.
const SLACK: f64 = 1.5;

/// A machine that is not there.
#[derive(Args)]
pub(crate) struct VirtualArgs {
    /// Runs as on so many cores, in slow motion; `busy` sleeps instead of computing.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1_u16, 1024, 96))]
    pub(crate) virtual_cores: Option<u16>,
    /// Lets files be read no faster than from a disk of this speed, such as 50MB/s.
    #[arg(long, value_name = "SPEED", value_parser = speed)]
    pub(crate) virtual_disk: Option<u64>,
}

impl VirtualArgs {
    /// Begins to be that machine.
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
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1, u64::MAX, 100))]
    pub(crate) limit: Option<u64>,
    /// Passes over the data.
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = whole(1, u32::MAX, 90))]
    pub(crate) epochs: u32,
    /// What all random numbers follow from.
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = whole(0, u64::MAX, 7))]
    pub(crate) seed: u64,
    /// Memory that the process may take, such as 2GiB; a quarter of what is free if not said. A run that
    /// needs more is refused, with the least that would do.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// Where the output goes: `null` for nowhere, a folder of NumPy files, or `-` for Arrow on stdout.
    #[arg(long, value_name = "null|DIR|-", default_value = "null")]
    pub(crate) out: PathBuf,
    /// Replaces the finished output of another pipeline, which `--out` keeps otherwise.
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Which run this is, of several that share the work; from 0.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "world", allow_negative_numbers = true, value_parser = whole(0, u32::MAX, 1))]
    pub(crate) rank: u32,
    /// How many runs share the work: each gives its own part of the batches, equally many.
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = whole(1_u32, 65_536, 8))]
    pub(crate) world: u32,
    /// Keeps where the run stands in a file; goes on from there if the file is there already.
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
    /// How often the state is written at most, such as 500ms or 10s.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = time, requires = "state")]
    pub(crate) state_every: Duration,
    /// Refuses to run unless it was tuned, with `pipec tune`, as it is now.
    #[arg(long)]
    pub(crate) locked: bool,
    /// The share of the cores that the run may use, such as 60%.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) cpu: Option<f64>,
    #[command(flatten)]
    pub(crate) virtually: VirtualArgs,
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
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(0, u64::MAX, 10))]
    pub(crate) max_errors: Option<u64>,
    /// Writes a line of JSON for every record that was skipped or replaced.
    #[arg(long, value_name = "FILE")]
    pub(crate) quarantine: Option<PathBuf>,
    /// Prints the summary as JSON on stdout.
    #[arg(long)]
    pub(crate) json: bool,
    /// Records of a chunk: for tests that it changes nothing.
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
  ./train explain                                   what was built
  pipec run ./train                                 the same as ./train run
  pipec build train.pipe train --target-cpu x86-64-v3

Where a processor lacks what arithmetic was compiled for, it is compiled there when the file is run.
The same program, lock, parameters, pipec and CPU give the same bytes. Threads and what is kept are those
of the lock that `tune` has written; without one they are chosen when it runs, as memory always is.")]
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
    /// Allows rewrites that change what leaves by a little; `verify` says by how much.
    #[arg(long, value_name = "WHAT")]
    pub(crate) allow: Vec<Allowed>,
    /// Takes the lock beside the program as `tune` has written it, or refuses to build.
    #[arg(long)]
    pub(crate) locked: bool,
    /// The processor that arithmetic is compiled for: `x86-64-v3`, `znver4`; this machine's if not said.
    #[arg(long, value_name = "CPU")]
    pub(crate) target_cpu: Option<String>,
    /// Lets `use` name files outside of the project: the nearest folder above with `.git`, else the
    /// program's own.
    #[arg(long)]
    pub(crate) allow_outside: bool,
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
    /// The loops that arithmetic becomes, in Cranelift's form.
    Clif,
    /// The same, as instructions of this machine.
    Asm,
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
    #[arg(short = 'n', long, value_name = "N", default_value_t = 4, allow_negative_numbers = true, value_parser = whole(1_u32, 10_000, 16))]
    pub(crate) records: u32,
    /// Shows one step only, such as `train.map#1` or `map`.
    #[arg(long, value_name = "STEP")]
    pub(crate) at: Option<String>,
    /// Writes the pictures of the last step that has some, or of `--at`, into a PNG: every image field,
    /// stacked crops as tiles, masks in colour over the picture.
    #[arg(long, value_name = "SHEET.png")]
    pub(crate) save: Option<PathBuf>,
    /// Follows one record: its id, or the end of its path.
    #[arg(long, value_name = "ID")]
    pub(crate) record: Option<String>,
    /// What all random numbers follow from.
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = whole(0, u64::MAX, 7))]
    pub(crate) seed: u64,
    /// The pass over the data, from 0.
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = whole(0, u32::MAX, 3))]
    pub(crate) epoch: u32,
    /// Memory that it may take, such as 2GiB; a quarter of what is free if not said. What needs more is
    /// refused, with the least that would do.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
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
    #[arg(long, value_name = "N", default_value_t = 3, allow_negative_numbers = true, value_parser = whole(0, u32::MAX, 3))]
    pub(crate) pairs: u32,
    /// Compares so many batches of each at the most; records, where it ends without `batch`.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1, u64::MAX, 100))]
    pub(crate) limit: Option<u64>,
    /// Memory that it may take, such as 2GiB; a quarter of what is free if not said. What needs more is
    /// refused, with the least that would do.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
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
program says `else`. Exit code 3 where some failed. Ctrl-C ends it with what was found up to then,
exit code 130.")]
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
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = whole(0, u64::MAX, 7))]
    pub(crate) seed: u64,
    /// Memory that it may take, such as 2GiB; a quarter of what is free if not said. What needs more is
    /// refused, with the least that would do.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
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
    /// Lets `use` name files outside of the project: the nearest folder above with `.git`, else the
    /// program's own.
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
            without: Vec::new(),
            allow: Vec::new(),
            allow_outside,
        }
    }
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
    #[arg(long, value_name = "N", default_value_t = 1000, allow_negative_numbers = true, value_parser = whole(0, u64::MAX, 1000))]
    pub(crate) count: u64,
    /// Which pictures.
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = whole(0, u64::MAX, 7))]
    pub(crate) seed: u64,
    /// Prints what was made as JSON on stdout.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `doc`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pipec doc                    all there is, by subject
  pipec doc resize             signature, text, example, cost
  pipec doc where              words of the language
  pipec doc PC0123             what `explain PC0123` tells
  pipec doc num_workers        what is written here for a name of PyTorch, tf.data, DALI or pandas")]
pub(crate) struct DocArgs {
    /// A function, an operator, a source, a type, a word of the language, or the code of a message.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Prints JSON on stdout.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `highlight`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pipec highlight train.pipe            the program in colours
  pipec highlight train.pipe --json     each word with its kind and its bytes")]
pub(crate) struct HighlightArgs {
    /// The program; `-` is stdin.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Prints each word as JSON on stdout: its kind, and the bytes that it stands at.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `lsp`.
#[cfg(feature = "lsp")]
#[derive(Args)]
#[command(after_help = "\
An editor starts it; it speaks the Language Server Protocol. docs/EDITORS.md says how for each.")]
pub(crate) struct LspArgs {
    /// What editors give who can do nothing else; it is how it is served anyway.
    #[arg(long)]
    pub(crate) stdio: bool,
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_holds_together() {
        Cli::command().debug_assert();
    }
}
