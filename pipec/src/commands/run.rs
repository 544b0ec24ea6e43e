//! `pipec run`: a pipeline, how far it is, what came of it.

pub(super) mod report;

use super::{compiled_until, lock_of_run, may_replace, print_json, settings};
use crate::{Exit, args::RunArgs, figures::things, signals, talk::Talk};
use driver::{
    Compiled, DATA_FORMATS, DataFormat, Discard, DiskOptions, Existing, Folder, Lock, Losses, Ours,
    Outcome, Progress, Provenance, RunOptions, SampleProgress, Settings, Sink, State, StateFile,
    Stop, UnevenRanks, Watch, lock::Chosen, unwritten_format,
};
use runtime::{Failure, Rank};
use std::{
    io::{self, IsTerminal, Write},
    mem,
    path::{Path, PathBuf},
};

/// Runs the pipeline that `args` names.
pub(super) fn run(args: &RunArgs, talk: &Talk) -> io::Result<Exit> {
    if let Some(exit) = wrong_usage(args, talk) {
        return Ok(exit);
    }
    for (path, kind) in [(&args.profile, Ours::Profile), (&args.quarantine, Ours::Records)] {
        let free = path.as_deref().map_or(Ok(()), |it| may_replace(it, kind, talk));
        if let Err(exit) = free {
            return Ok(exit);
        }
    }
    let stop = Stop::default();
    stop_on_signals(stop.clone(), talk.terminal);
    let state = match args.checkpoint.as_deref().map_or(Ok(None), State::read) {
        Ok(state) => state,
        Err(failure) => return Ok(report::failure(talk, "run", &failure)),
    };
    if let Some(folder) = &args.index_dir {
        driver::keep_indices(Some(folder.clone()));
    }
    let losses = Losses::new(args.max_errors, args.quarantine.clone(), rank(args));
    let settings = Settings { state, losses, memory: args.memory, ..settings(&args.program) };
    let compiled = match compiled_until(&stop, (&args.file, settings), talk) {
        Ok(compiled) => compiled,
        Err(exit) => return Ok(exit),
    };
    if let Some(exit) = uneven(args, &compiled, talk) {
        return Ok(exit);
    }
    let lock =
        lock_of_run((&args.file, args.locked), &compiled, (&args.program, &args.virtually), talk);
    let lock = match lock {
        Ok(lock) => lock,
        Err(exit) => return Ok(exit),
    };
    let tuned = lock.as_ref().map(|it| tuned(args, &compiled, it));
    let mut sink = match sink(args, &compiled) {
        Ok(sink) => sink,
        Err(failure) => return Ok(report::failure(talk, &compiled.program.name, &failure)),
    };
    args.virtually.begin();
    let running = Running { args, compiled: &compiled, lock, stop: stop.clone(), talk };
    let mut outcome = running.watched(&mut *sink);
    if args.out == Path::new("-") && outcome.failure.is_none() {
        outcome.failure = sync_stdout().err();
    }

    report::summary(talk, &outcome, (args.checkpoint.as_deref(), tuned, &args.out));
    if args.json {
        print_json(&outcome.summary)?;
    }
    Ok(match &outcome.failure {
        None => Exit::Fine,
        Some(Failure::Stopped) if stop.is_requested() => Exit::Interrupted,
        // Who reads the output has seen enough.
        Some(Failure::Stopped) => Exit::Fine,
        Some(failure) => report::failure(talk, &outcome.summary.pipeline, failure),
    })
}

/// That a lock is heeded, and what it says.
fn tuned(args: &RunArgs, compiled: &Compiled, lock: &Chosen) -> String {
    let path = Lock::path_of(&args.file);
    let from = match compiled.lock.as_ref() == Some(lock) || !path.exists() {
        true => "as built".to_owned(),
        false => format!("`{}`", path.display()),
    };
    let own = args.program.workers.map(usize::from);
    let workers = things(own.unwrap_or(lock.workers) as u64, "worker", "workers");
    let workers = match own.filter(|it| *it != lock.workers) {
        Some(_) => format!("{workers} (`--workers`, instead of {})", lock.workers),
        None => workers,
    };
    let keeps = match &lock.kept()[..] {
        [] => String::new(),
        all => format!(", caches {}", all.join(", ")),
    };
    format!("{from}: {workers}{keeps}")
}

/// What is wrong with what was asked for, which is known before anything is read.
fn wrong_usage(args: &RunArgs, talk: &Talk) -> Option<Exit> {
    if args.rank >= args.world_size {
        let help = "ranks start at 0: the last rank of `--world-size 8` is `--rank 7`";
        talk.error(
            &format!("rank {} is out of range for world size {}", args.rank, args.world_size),
            Some(help),
        );
        return Some(Exit::Usage);
    }
    if let Some((why, help)) = driver::refused_output(&args.out) {
        talk.error(&why, Some(&help));
        return Some(Exit::Usage);
    }
    if let Some(format) = unwritten_format(&args.out) {
        let out = args.out.display();
        talk.error(
            &match data_format_of(&args.out) {
                Some(_) => format!(
                    "`--out {out}` names a file, but {format} is written as shards in a folder"
                ),
                None => format!("`--out {out}`: writing {format} is not supported yet"),
            },
            Some(&written(&args.out)),
        );
        return Some(Exit::Usage);
    }
    let is_folder = ![Path::new("-"), Path::new("null")].contains(&&*args.out);
    if let Some(format) = data_format(args).filter(|_| !is_folder) {
        let message = format!("`--format {}` needs a folder to write to", format.name);
        talk.error(&message, Some("add `--out DIR`"));
        return Some(Exit::Usage);
    }
    if args.shard.is_some() && data_format(args).is_none() {
        let help = "add `--format` with one of the others, such as `--format tfrecord`";
        talk.error("`--format npy` writes no shards", Some(help));
        return Some(Exit::Usage);
    }
    if let Some((one, other)) = same_file(args) {
        talk.error(
            &format!("{one} and {other} would write the same file"),
            Some("give them different names"),
        );
        return Some(Exit::Usage);
    }
    if args.out != Path::new("-") {
        return None;
    }
    if args.checkpoint.is_some() {
        let help = "it is unknown which batches were read from the pipe: write them to a folder \
                    (`--out DIR`), or iterate in Python, where `state_dict()` counts the batches \
                    that were returned";
        talk.error("`--out -` and `--checkpoint` cannot be combined", Some(help));
        return Some(Exit::Usage);
    }
    if args.json {
        let help = "write the batches to a folder, or remove one of the two";
        talk.error("`--out -` and `--json` would both write to stdout", Some(help));
        return Some(Exit::Usage);
    }
    if io::stdout().is_terminal() {
        let help = "pipe it to a program (`| python train.py`) or a file (`> batches.arrow`)";
        talk.error("cannot write an Arrow stream to a terminal", Some(help));
        return Some(Exit::Usage);
    }
    None
}

/// Two of what a run writes that have the same name, if there are such.
fn same_file(args: &RunArgs) -> Option<(&'static str, &'static str)> {
    let files = [
        ("`--checkpoint`", args.checkpoint.as_deref()),
        ("`--quarantine`", args.quarantine.as_deref()),
        ("`--profile`", args.profile.as_deref()),
    ];
    let named =
        |(option, path): &(&'static str, Option<&Path>)| Some((*option, plain(path.as_ref()?)));
    let mut all: Vec<_> = files.iter().filter_map(named).collect();
    all.extend(driver::OUTPUT_FILES.map(|it| ("`--out`", plain(&args.out.join(it)))));
    let same =
        |at: usize| all[..at].iter().find(|it| it.1 == all[at].1).map(|it| (it.0, all[at].0));
    (1..all.len()).find_map(same)
}

/// A path without `.`, and without links as far as it is there.
fn plain(path: &Path) -> PathBuf {
    let (folder, name) = (path.parent().unwrap_or(Path::new("")), path.file_name());
    let folder = if folder == Path::new("") { Path::new(".") } else { folder };
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.components().collect());
    name.map_or(folder.clone(), |it| folder.join(it))
}

/// The format of a folder of shards, if it is to be one.
fn data_format(args: &RunArgs) -> Option<&'static DataFormat> {
    DATA_FORMATS.iter().find(|it| it.name == args.format)
}

/// The same, if the name of an output asks for it.
fn data_format_of(out: &Path) -> Option<&'static DataFormat> {
    let extension = out.extension()?.to_str()?.to_lowercase();
    DATA_FORMATS.iter().find(|it| it.name == extension)
}

/// What is written, for somebody who has asked for something else.
fn written(out: &Path) -> String {
    let stem = out.with_extension("");
    let stem = match driver::is_far_output(out) {
        true => stem.to_string_lossy(),
        false => stem.file_name().map_or("batches".into(), |it| it.to_string_lossy()),
    };
    if let Some(format) = data_format_of(out) {
        return format!("`--out {stem}/ --format {}` writes a folder of them", format.name);
    }
    format!(
        "`--out {stem}/` writes a folder of NumPy files (`.npy`; text as `.jsonl`), `--out - > {stem}.arrow` an Arrow \
         IPC stream, `--out null` nothing"
    )
}

/// Whether the ranks cannot share the lanes evenly.
fn uneven(args: &RunArgs, compiled: &Compiled, talk: &Talk) -> Option<Exit> {
    let lanes = compiled.program.uneven_lanes(args.world_size)?;
    let help = format!(
        "use a world size that divides the number of lanes, such as {}, or another number of \
         lanes (`lanes: {}`)",
        (1..args.world_size).rev().find(|it| lanes.is_multiple_of(*it)).unwrap_or(1),
        args.world_size.saturating_mul(lanes.div_ceil(args.world_size.max(1))),
    );
    talk.error(
        &format!("world size {} does not divide {lanes} lanes", args.world_size),
        Some(&help),
    );
    Some(Exit::Usage)
}

/// The first signal stops the run, the second one the process.
pub(super) fn stop_on_signals(stop: Stop, terminal: bool) {
    let stopping = move || {
        if stop.request() {
            if terminal {
                let _ =
                    writeln!(io::stderr(), "\nstopping; press Ctrl-C again to exit immediately");
            }
        } else {
            signals::end();
        }
    };
    signals::handle(stopping);
}

fn sink(args: &RunArgs, compiled: &Compiled) -> Result<Box<dyn Sink>, Failure> {
    match args.out.to_str() {
        Some("null") => Ok(Box::new(Discard::default())),
        Some("-") => stream(compiled),
        _ => {
            let of = Provenance::of(compiled, &options(args, None));
            let existing = if args.overwrite { Existing::Replace } else { Existing::Keep };
            let (out, program) = (&args.out, &compiled.program);
            Ok(Box::new(match data_format(args) {
                None => Folder::open(out, program, &of, existing)?,
                Some(format) => {
                    Folder::open_data(out, program, &of, existing, (format, args.shard))?
                }
            }))
        }
    }
}

fn stream(compiled: &Compiled) -> Result<Box<dyn Sink>, Failure> {
    let out = io::BufWriter::with_capacity(1 << 16, stdout());
    driver::arrow_stream(out, &compiled.program)
}

/// Stdout without the line buffer that looks for line ends in what are images.
#[cfg(unix)]
fn stdout() -> Box<dyn Write> {
    use std::os::fd::AsFd;
    match io::stdout().as_fd().try_clone_to_owned() {
        Ok(own) => Box::new(std::fs::File::from(own)),
        Err(_) => Box::new(io::stdout()),
    }
}

/// Brings a file that stdout goes to to the disk: what a run says it has written outlasts a loss of power.
#[cfg(unix)]
fn sync_stdout() -> Result<(), Failure> {
    use std::os::fd::AsFd;
    let Ok(own) = io::stdout().as_fd().try_clone_to_owned() else { return Ok(()) };
    let file = std::fs::File::from(own);
    if !file.metadata().is_ok_and(|it| it.is_file()) {
        return Ok(());
    }
    file.sync_data().map_err(|it| driver::unwritable(Path::new("stdout"), &it))
}

#[cfg(not(unix))]
fn sync_stdout() -> Result<(), Failure> {
    Ok(())
}

#[cfg(not(unix))]
fn stdout() -> Box<dyn Write> {
    Box::new(io::stdout())
}

/// A run while somebody may look on.
struct Running<'a> {
    args: &'a RunArgs,
    compiled: &'a Compiled,
    lock: Option<Chosen>,
    stop: Stop,
    talk: &'a Talk,
}

impl Running<'_> {
    fn watched(self, sink: &mut dyn Sink) -> Outcome {
        let Self { args, compiled, lock, stop, talk } = self;
        let line = report::Line {
            pipeline: &compiled.program.name,
            batched: compiled.program.batched,
            epochs: args.epochs,
        };
        let mut show = |it: &Progress| talk.passing(&line.progress(it));
        let mut told = false;
        let mut sample = |it: &SampleProgress| {
            if !mem::replace(&mut told, true) {
                talk.say(&report::sample_begins(it));
            }
            talk.passing(&format!(
                "{} of {}",
                it.made,
                things(it.count, it.things.trim_end_matches('s'), it.things)
            ));
            if it.made == it.count {
                talk.passed();
            }
        };
        let progress: Option<&mut (dyn FnMut(&Progress) + Send)> =
            if talk.terminal { Some(&mut show) } else { None };
        let mut uneven = |it: &UnevenRanks| {
            let (message, help) = it.told();
            talk.warning(&message, &help);
        };
        let watch = Watch { stop, progress, sample: &mut sample, uneven: &mut uneven };
        let outcome = driver::run(compiled, &options(args, lock), sink, watch);
        talk.passed();
        outcome
    }
}

fn rank(args: &RunArgs) -> Rank {
    Rank { rank: args.rank, world: args.world_size, ..Rank::default() }
}

fn options(args: &RunArgs, lock: Option<Chosen>) -> RunOptions {
    let usual = RunOptions::default();
    let tuned = lock.as_ref().map_or(usual.workers, |it| it.workers);
    RunOptions {
        seed: args.seed,
        epochs: args.epochs,
        limit: args.limit,
        workers: args.program.workers.map_or(tuned, usize::from),
        memory: args.memory.unwrap_or(usual.memory),
        whole_process: true,
        chunk_rows: args.chunk_rows.map(|it| it as usize),
        rank: rank(args),
        state: args.checkpoint.clone().map(|path| StateFile { path, every: args.checkpoint_every }),
        quarantine: args.quarantine.clone(),
        most_lost: args.max_errors,
        caches: !args.no_cache,
        disk: args.cache.clone().map(|folder| DiskOptions {
            folder,
            limit: args.cache_limit,
            verify_inputs: args.verify_inputs,
        }),
        objective: args.objective,
        profile: args.profile.clone(),
        lock,
        cpu: args.cpu.unwrap_or(1.0),
    }
}
