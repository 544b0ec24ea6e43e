//! The commands, one file each.

mod check;
mod explain;
mod fmt;
mod paths;
mod peek;
mod run;
mod sample;
mod scan;
mod verify;

use crate::{
    Exit,
    args::{Cli, Command, ProgramArgs},
    messages,
    talk::Talk,
};
use clap::CommandFactory;
use driver::{Compiled, Loaded, SampleProgress, Settings};
use runtime::Failure;
use serde::Serialize;
use std::{
    io::{self, Write},
    path::Path,
};

/// Does what was said. An error is one of writing to stdout.
pub(crate) fn run(command: &Command, talk: &Talk) -> io::Result<Exit> {
    match command {
        Command::Check(args) => check::run(args, talk),
        Command::Fmt(args) => fmt::run(args, talk),
        Command::Run(args) => run::run(args, talk),
        Command::Explain(args) => explain::run(args, talk),
        Command::Peek(args) => peek::run(args, talk),
        Command::Verify(args) => verify::run(args, talk),
        Command::Scan(args) => scan::run(args, talk),
        Command::Sample(it) => sample::run(it, talk),
        Command::Completions(args) => {
            let mut text = Vec::new();
            clap_complete::generate(args.shell, &mut Cli::command(), "pipec", &mut text);
            io::stdout().write_all(&text)?;
            Ok(Exit::Fine)
        }
    }
}

/// Reads and compiles a program; what is wrong with it has been said.
fn compiled(file: &Path, program: &ProgramArgs, talk: &Talk) -> Result<Compiled, Exit> {
    let loaded = Loaded::read(file).map_err(|it| messages::unreadable(talk, &it))?;
    let passes: Vec<&str> = driver::pass_names().collect();
    if let Some(unknown) = program.without.iter().find(|it| !passes.contains(&it.as_str())) {
        let help = format!("the rewrites are {}", passes.join(", "));
        talk.error(&format!("there is no rewrite `{unknown}`"), Some(&help));
        return Err(Exit::Usage);
    }
    let compiled = driver::compile(&loaded, &settings(program))
        .map_err(|it| messages::conclude(talk, &loaded.files, &it))?;
    messages::print(talk, &compiled.files, &compiled.warnings);
    Ok(compiled)
}

fn settings(program: &ProgramArgs) -> Settings {
    Settings {
        pipeline: program.name.clone(),
        params: program.set.iter().cloned().collect(),
        without: program.without.clone(),
        workers: program.workers.map(usize::from),
    }
}

/// Says why looking at a pipeline ended, and gives how the process ends.
fn failed(talk: &Talk, failure: &Failure) -> Exit {
    talk.error(&failure.to_string(), None);
    match failure {
        Failure::Record { .. } | Failure::Budget { .. } | Failure::Data { .. } => Exit::Budget,
        Failure::Program(_) => Exit::Errors,
        Failure::Io { .. } => Exit::Io,
        Failure::Stopped => Exit::Interrupted,
    }
}

/// Tells of a sample set while it is made.
fn samples_made(talk: &Talk) -> impl FnMut(&SampleProgress) {
    |it| {
        talk.passing(&format!("making sample pictures: {} of {}", it.made, it.count));
        if it.made == it.count {
            talk.passed();
        }
    }
}

/// Prints something as JSON on stdout.
fn print_json(value: &impl Serialize) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value)?;
    out.write_all(b"\n")
}
