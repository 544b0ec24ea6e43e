//! What can be said to `check` and `fmt`, which are about the text of programs.

use super::values::setting;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `check`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pipec check train.pipe
  pipec check pipelines/              every .pipe file below a folder
  pipec check train.pipe --json       the messages as a JSON array
  pipec check . --output-format github    shown at their lines in a pull request
  pipec check train.pipe --fix        writes what the messages say should be written")]
pub(crate) struct CheckArgs {
    /// Programs, or folders of such.
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Gives a parameter a value.
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) set: Vec<(String, String)>,
    /// Prints the messages as JSON on stdout.
    #[arg(long, conflicts_with = "output_format")]
    pub(crate) json: bool,
    /// The form of the messages; `full` goes to stderr, the others to stdout.
    #[arg(long, value_name = "FORM", default_value = "full")]
    pub(crate) output_format: OutputFormat,
    /// Writes into the files what the messages say should be written, and tells what is left.
    #[arg(long)]
    pub(crate) fix: bool,
    /// Says nothing of what is allowed and seldom meant.
    #[arg(long)]
    pub(crate) no_lints: bool,
    /// Lets `use` name files outside of the project: the nearest folder above with `.git`, else the
    /// program's own.
    #[arg(long)]
    pub(crate) allow_outside: bool,
}

/// A form of messages.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Drawn into the text, for people.
    Full,
    /// A line each.
    Concise,
    /// A JSON array.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Workflow commands of GitHub, shown at the lines.
    Github,
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
    /// Lets `use` name files outside of the project: the nearest folder above with `.git`, else the
    /// program's own.
    #[arg(long)]
    pub(crate) allow_outside: bool,
}
