//! `pipec profile`: runs a pipeline until its rate has settled, and writes what was measured.

use super::{compiled, failed, may_replace, run::stop_on_signals, samples_made, settings};
use crate::{
    Exit,
    args::{ProfileArgs, ProgramArgs},
    figures::{rate, things, time},
    talk::Talk,
};
use driver::{Compiled, Ours, Profile, RunOptions, Settings, Stop, profile};
use std::{io, path::PathBuf, time::Duration};

/// Measures the pipeline that `args` names.
pub(super) fn run(args: &ProfileArgs, talk: &Talk) -> io::Result<Exit> {
    let compiled = match compiled(
        &args.file,
        Settings { memory: args.memory, ..settings(&args.program) },
        talk,
    ) {
        Ok(compiled) => compiled,
        Err(exit) => return Ok(exit),
    };
    let usual = || PathBuf::from(format!("{}.profile", compiled.program.name));
    let path = args.out.clone().unwrap_or_else(usual);
    if let Err(exit) = may_replace(&path, Ours::Profile, talk) {
        return Ok(exit);
    }
    args.virtually.begin();
    let measured = measured(&compiled, (&args.program, args.memory, args.seconds), talk);
    let profile = match measured {
        Ok(profile) => profile,
        Err(exit) => return Ok(exit),
    };
    if let Err(failure) = profile.write(&path) {
        return Ok(failed(talk, &failure));
    }
    let settled = if profile.settled { "" } else { ", not yet stable" };
    talk.say(&format!(
        "{}: {}, {} in {}{settled}; written to `{}`",
        profile.pipeline,
        rate(profile.records_per_second(), " records"),
        things(profile.records, "record", "records"),
        time(profile.seconds),
        path.display(),
    ));
    Ok(Exit::Fine)
}

/// What is measured of `compiled`; why nothing could be has been said.
pub(super) fn measured(
    compiled: &Compiled,
    (program, memory, seconds): (&ProgramArgs, Option<u64>, Duration),
    talk: &Talk,
) -> Result<Profile, Exit> {
    let stop = Stop::default();
    stop_on_signals(stop.clone(), talk.terminal);
    let usual = RunOptions::default();
    let measuring = profile::Measuring {
        workers: program.workers.map_or(usual.workers, usize::from),
        memory: memory.unwrap_or(usual.memory),
        whole_process: true,
        seconds: seconds.as_secs_f64(),
        least: profile::Measuring::least_of(seconds.as_secs_f64()),
    };
    let measured = profile::measure(compiled, &measuring, &stop, &mut samples_made(talk));
    measured.map_err(|failure| failed(talk, &failure))
}
