//! The command line: what it prints is for people on stderr, data on stdout.

mod args;
mod built;
mod commands;
mod diff;
mod figures;
mod messages;
mod signals;
mod talk;

use args::Cli;
use std::{io, process::ExitCode};
use talk::Talk;

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All is well.
    Fine = 0,
    /// The program has errors, or `fmt --check` would change something.
    Errors = 1,
    /// The command was not given as it should be.
    Usage = 2,
    /// Records failed, more than the program allows.
    Budget = 3,
    /// A saved state does not fit.
    State = 4,
    /// Reading or writing failed.
    Io = 5,
    /// The user has stopped it.
    Interrupted = 130,
}

fn main() -> ExitCode {
    driver::survive_file_size_limit();
    driver::say_what_is_lost(Exit::Io as i32);
    let cli = match built::command_line() {
        Ok(Some(cli)) => cli,
        Ok(None) => Cli::read(),
        Err(exit) => return ExitCode::from(exit as u8),
    };
    let talk = Talk::new(cli.color);
    driver::keep_indices(None);
    driver::register_stores();
    let exit = commands::run(&cli.command, &talk).unwrap_or_else(|error| {
        // Who reads the output has seen enough.
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Exit::Fine;
        }
        talk.error(&format!("cannot write the output: {error}"), None);
        Exit::Io
    });
    ExitCode::from(exit as u8)
}
