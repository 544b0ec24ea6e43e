//! `pipec tune`: measures a pipeline, chooses its numbers, writes them beside the program.

use super::{compiled, failed, run::stop_on_signals, samples_made, settings};
use crate::{Exit, args::TuneArgs, figures::rate, talk::Talk};
use driver::{Host, Lock, Stop, tune};
use std::{
    io::{self, Write},
    time::Duration,
};

/// Tunes the pipeline that `args` names.
pub(super) fn run(args: &TuneArgs, talk: &Talk) -> io::Result<Exit> {
    let compiled = match compiled(&args.file, settings(&args.program), talk) {
        Ok(compiled) => compiled,
        Err(exit) => return Ok(exit),
    };
    let host = match Host::load_default() {
        Ok(host) => Some(host).filter(|it| !it.is_assumed()),
        Err(failure) => return Ok(failed(talk, &failure)),
    };
    let wanted = tune::Wanted {
        seconds: args.seconds.as_secs_f64(),
        epochs: args.epochs,
        memory: args.memory,
        consumer: args.consumer.as_ref().map(Duration::as_secs_f64),
        host,
    };
    let stop = Stop::default();
    stop_on_signals(stop.clone(), talk.terminal);
    let tuned = match tune::tune(&compiled, &wanted, &stop, &mut samples_made(talk)) {
        Ok(tuned) => tuned,
        Err(failure) => return Ok(failed(talk, &failure)),
    };
    io::stdout().lock().write_all(tuned.explanation.text().as_bytes())?;
    for (workers, records) in &tuned.tried {
        let mark = if *workers == tuned.chosen.workers { ">" } else { " " };
        talk.say(&format!("{mark} {workers} workers: {}", rate(*records, " records")));
    }
    let (path, name) = (Lock::path_of(&args.file), &compiled.program.name);
    if let Err(failure) = Lock::put(&path, name, tuned.chosen) {
        return Ok(failed(talk, &failure));
    }
    talk.say(&format!("{name}: written to `{}`", path.display()));
    Ok(Exit::Fine)
}
