//! The commands, one file each.

mod build;
mod cache;
mod calibrate;
mod check;
mod doc;
mod explain;
mod fmt;
mod highlight;
mod index;
mod inspect;
mod lsp;
mod paths;
mod peek;
mod prepare;
mod profile;
mod run;
mod sample;
mod scan;
mod tune;
mod verify;

use crate::{
    Exit,
    args::{Allowed, Cli, Command, ProgramArgs, VirtualArgs},
    messages, signals,
    talk::Talk,
};
use clap::CommandFactory;
use driver::{
    Built, Compiled, ConstantWatch, Loaded, Lock, Ours, Reach, SampleProgress, Settings, Stop,
    Taken, lock::Chosen,
};
use plan::{escaped_json, things};
use run::report;
use runtime::Failure;
use serde::Serialize;
use std::{
    io::{self, Write},
    path::Path,
};

/// Does what was said. An error is one of writing to stdout.
pub(crate) fn run(command: &Command, talk: &Talk) -> io::Result<Exit> {
    if !ends_by_itself(command) {
        signals::end_at_once();
    }
    match command {
        Command::Check(args) => check::run(args, talk),
        Command::Fmt(args) => fmt::run(args, talk),
        Command::Run(args) => run::run(args, talk),
        Command::Explain(args) => explain::run(args, talk),
        Command::Doc(args) => doc::run(args, talk),
        Command::Profile(args) => profile::run(args, talk),
        Command::Tune(args) => tune::run(args, talk),
        Command::Prepare(args) => prepare::run(args, talk),
        Command::Index(args) => index::run(args, talk),
        Command::Build(args) => build::run(args, talk),
        Command::Inspect(args) => inspect::run(args, talk),
        Command::Peek(args) => peek::run(args, talk),
        Command::Verify(args) => verify::run(args, talk),
        Command::Scan(args) => scan::run(args, talk),
        Command::Calibrate(args) => calibrate::run(args, talk),
        Command::Cache(it) => cache::run(it, talk),
        Command::Sample(it) => sample::run(it, talk),
        Command::Highlight(args) => highlight::run(args, talk),
        Command::Lsp(args) => Ok(lsp::run(args, talk)),
        Command::Completions(args) => {
            let mut text = Vec::new();
            clap_complete::generate(args.shell, &mut Cli::command(), "pipec", &mut text);
            io::stdout().write_all(&text)?;
            Ok(Exit::Fine)
        }
    }
}

/// Whether a command handles signals itself: a run is brought to an end, an editor ends its server.
fn ends_by_itself(command: &Command) -> bool {
    match command {
        Command::Run(_) | Command::Profile(_) | Command::Tune(_) | Command::Calibrate(_) => true,
        // They tell what they have found.
        Command::Scan(_) | Command::Verify(_) => true,
        // What is cached stays, and is counted.
        Command::Prepare(_) => true,
        // `--analyze` runs it.
        Command::Explain(args) => args.analyze,
        Command::Lsp(_) => true,
        _ => false,
    }
}

/// Reads and compiles a program, or takes it out of a built file; what is wrong with it has been said.
fn compiled(file: &Path, settings: Settings, talk: &Talk) -> Result<Compiled, Exit> {
    compiled_until(&Stop::default(), (file, settings), talk)
}

/// The same, until somebody asks to stop: constants may take long.
fn compiled_until(
    stop: &Stop,
    (file, mut settings): (&Path, Settings),
    talk: &Talk,
) -> Result<Compiled, Exit> {
    if let Some(built) = built(file, talk)? {
        return as_built(built, &settings, talk);
    }
    let loaded =
        Loaded::read_within(file, settings.reach).map_err(|it| messages::unreadable(talk, &it))?;
    known_passes(&settings.without, talk)?;
    constants(&loaded, &mut settings, (stop, talk))?;
    let mut compiled = driver::compile(&loaded, &settings)
        .map_err(|it| messages::conclude(talk, &loaded.files, &it))?;
    compiled.warnings.extend(driver::label_warnings(&loaded, &compiled, &settings));
    messages::print(talk, &compiled.files, &compiled.warnings);
    Ok(compiled)
}

/// Computes the constants of streams that are not kept; why one cannot be has been said.
fn constants(
    loaded: &Loaded,
    settings: &mut Settings,
    (stop, talk): (&Stop, &Talk),
) -> Result<(), Exit> {
    let mut watch = ConstantWatch {
        stop: stop.clone(),
        progress: &mut |it| talk.passing(&report::constant_progress(it)),
        sample: &mut samples_made(talk),
        computed: &mut |it| talk.say(&report::constant(it)),
    };
    let found = driver::constants(loaded, settings, &mut watch);
    talk.passed();
    found.map_err(|it| match *it.failure {
        Failure::Stopped => Exit::Interrupted,
        _ => {
            messages::print(talk, &loaded.files, &[it.diagnostic()]);
            exit_of(&it.failure)
        }
    })
}

/// The built file at `file`, if it is one; why it is refused has been said.
fn built(file: &Path, talk: &Talk) -> Result<Option<Built>, Exit> {
    Built::open(file).map_err(|it| messages::refused(talk, file, &it))
}

/// The program of a built file, which is as it was built.
fn as_built(built: Built, settings: &Settings, talk: &Talk) -> Result<Compiled, Exit> {
    let name = &built.compiled.program.name;
    let wrong = if let Some(other) = settings.pipeline.as_ref().filter(|it| *it != name) {
        format!("it does not contain the pipeline `{other}`: it was built from `{name}` only")
    } else if !settings.params.is_empty() {
        "its parameters were set when it was built".to_owned()
    } else if !settings.without.is_empty() {
        "its rewrites were chosen when it was built".to_owned()
    } else if settings.approx && !built.compiled.optimised.is_approximate() {
        "`--allow` was chosen when it was built".to_owned()
    } else {
        return Ok(built.compiled);
    };
    talk.error(&wrong, Some("build it again with `pipec build`"));
    Err(Exit::Usage)
}

/// What the lock beside the program at `file` says of the pipeline, where it is still about it; else
/// what a built file brings along. A `locked` one has to be there; why it is refused has been said.
fn lock(
    (file, locked): (&Path, bool),
    compiled: &Compiled,
    talk: &Talk,
) -> Result<Option<Chosen>, Exit> {
    let path = Lock::path_of(file);
    let lock = Lock::read(&path).map_err(|it| failed(talk, &it))?;
    let name = &compiled.program.name;
    let is_there = lock.is_some();
    let chosen = lock.and_then(|mut it| it.pipeline.remove(name));
    let shown = path.display();
    let help = format!("create it with `pipec tune {} {name}`", file.display());
    match chosen {
        Some(chosen) if chosen.is_of(compiled) => return Ok(Some(chosen)),
        Some(_) if locked => {
            let wrong = format!("`{shown}` is outdated: `{name}` has changed since");
            talk.error(&wrong, Some(&help));
            return Err(Exit::Usage);
        }
        None if locked && compiled.lock.is_none() => {
            let wrong = match is_there {
                true => format!("`{shown}` has other pipelines, but not `{name}`"),
                false => format!("cannot find the lock file `{shown}`"),
            };
            talk.error(&wrong, Some(&help));
            return Err(Exit::Usage);
        }
        Some(_) => {
            talk.say(&format!(
                "`{shown}` is outdated, since `{name}` has changed, and is not used; {help} again"
            ));
        }
        None => {}
    }
    Ok(compiled.lock.clone())
}

/// The same for a run on this machine, or on one that is emulated; who names a number of workers needs no advice about it.
fn lock_of_run(
    (file, locked): (&Path, bool),
    compiled: &Compiled,
    (program, virtually): (&ProgramArgs, &VirtualArgs),
    talk: &Talk,
) -> Result<Option<Chosen>, Exit> {
    let lock = lock((file, locked), compiled, talk)?;
    let cores = virtually.virtual_cores.map_or_else(driver::cores, usize::from);
    Ok(match program.workers {
        Some(_) => lock,
        None => for_cores(lock, (file, &compiled.program.name, cores), talk),
    })
}

/// What was chosen, for a machine of so many cores; that it was chosen on other ones is said.
fn for_cores(
    lock: Option<Chosen>,
    (file, name, cores): (&Path, &str, usize),
    talk: &Talk,
) -> Option<Chosen> {
    let (chosen, other) = lock?.on_cores(cores);
    if let Some(other) = other {
        talk.say(&format!(
            "the lock file of `{name}` was tuned on {}, but this machine has {cores}: using one \
             worker per core; `pipec tune {} {name}` measures again",
            things(other as u64, "core", "cores"),
            file.display(),
        ));
    }
    if chosen.has_many_workers(cores) {
        let (workers, here) = (chosen.workers as u64, things(cores as u64, "core", "cores"));
        talk.warning(
            &format!(
                "the lock file of `{name}` sets {}, but there {} only {here}",
                things(workers, "worker", "workers"),
                if cores == 1 { "is" } else { "are" },
            ),
            &format!(
                "more than two per core use memory without doing work: correct `workers` in the \
                 lock file, or run `pipec tune {} {name}`",
                file.display()
            ),
        );
    }
    Some(chosen)
}

/// Sees to it that the passes which are to be disabled are there.
fn known_passes(without: &[String], talk: &Talk) -> Result<(), Exit> {
    let Some(unknown) = without.iter().find(|it| !driver::is_pass(it)) else { return Ok(()) };
    let passes: Vec<&str> = driver::pass_names().collect();
    let help = format!("the passes are {}", passes.join(", "));
    talk.error(&format!("unknown pass `{unknown}`"), Some(&help));
    Err(Exit::Usage)
}

fn settings(program: &ProgramArgs) -> Settings {
    program.begin();
    Settings {
        pipeline: program.name.clone(),
        params: program.set.iter().cloned().collect(),
        without: program.disable_pass.clone(),
        approx: program.allow.contains(&Allowed::Approx),
        workers: program.workers.map(usize::from),
        reach: Reach::of(program.allow_outside),
        shows: Reach::Anywhere,
        ..Settings::default()
    }
}

/// Sees to it that nothing of somebody else's is lost where a file is written; what is there has been said.
/// It is asked before anything is computed.
fn may_replace(path: &Path, kind: Ours, talk: &Talk) -> Result<(), Exit> {
    kind.may_replace(path).map_err(|Taken { why, help }| {
        talk.error(&why, Some(&help));
        Exit::Usage
    })
}

/// Says why a command ended early, and gives how the process ends.
fn failed(talk: &Talk, failure: &Failure) -> Exit {
    if *failure != Failure::Stopped {
        talk.error(&failure.to_string(), None);
    }
    exit_of(failure)
}

/// How the process ends after a failure.
fn exit_of(failure: &Failure) -> Exit {
    match failure {
        Failure::Record { .. }
        | Failure::Budget { .. }
        | Failure::Data { .. }
        | Failure::Memory { .. } => Exit::Budget,
        Failure::Program(_) => Exit::Errors,
        Failure::State(_) => Exit::State,
        Failure::Unreadable { .. } | Failure::Io { .. } => Exit::Io,
        Failure::Stopped => Exit::Interrupted,
    }
}

/// Tells of a sample set while it is made.
fn samples_made(talk: &Talk) -> impl FnMut(&SampleProgress) {
    |it| {
        talk.passing(&format!("generating sample {}: {} of {}", it.things, it.made, it.count));
        if it.made == it.count {
            talk.passed();
        }
    }
}

/// Prints something as JSON on stdout.
fn print_json(value: &impl Serialize) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(escaped_json(&serde_json::to_string_pretty(value)?).as_bytes())?;
    out.write_all(b"\n")
}
