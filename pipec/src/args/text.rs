//! Arguments of `check` and `fmt`.

use super::values::setting;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `check`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pipec check train.pipe
  pipec check pipelines/              every .pipe file in a folder
  pipec check train.pipe --json       diagnostics as a JSON array
  pipec check . --output-format github    annotations in a pull request
  pipec check train.pipe --fix        apply suggested fixes")]
pub(crate) struct CheckArgs {
    /// Programs or folders.
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Set a parameter.
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) set: Vec<(String, String)>,
    /// Print diagnostics as JSON.
    #[arg(long, conflicts_with = "output_format")]
    pub(crate) json: bool,
    /// Format of the diagnostics; `full` goes to stderr, the others to stdout.
    #[arg(long, value_name = "FORM", default_value = "full")]
    pub(crate) output_format: OutputFormat,
    /// Apply suggested fixes, and report what is left.
    #[arg(long)]
    pub(crate) fix: bool,
    /// Disable lints.
    #[arg(long)]
    pub(crate) no_lints: bool,
    /// Allow `use` of files outside the project (the nearest parent folder with `.git`, else the program's
    /// own folder), and show the columns and classes of text files there.
    #[arg(long)]
    pub(crate) allow_outside: bool,
}

/// A format of diagnostics.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Source excerpts with annotations.
    Full,
    /// One line per diagnostic.
    Concise,
    /// A JSON array.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// GitHub workflow commands.
    Github,
}

/// `fmt`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pipec fmt train.pipe                format the file in place
  pipec fmt --check pipelines/        exit with code 1 if a file is not formatted, for CI
  pipec fmt --diff train.pipe         show the changes without writing
  pipec fmt - < train.pipe            from stdin to stdout, for editors")]
pub(crate) struct FmtArgs {
    /// Programs or folders; `-` is stdin.
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Report unformatted files without changing them.
    #[arg(long)]
    pub(crate) check: bool,
    /// Print the changes without writing them.
    #[arg(long)]
    pub(crate) diff: bool,
    /// Allow `use` of files outside the project (the nearest parent folder with `.git`, else the program's
    /// own folder).
    #[arg(long)]
    pub(crate) allow_outside: bool,
}
