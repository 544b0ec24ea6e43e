//! `pipec tune --strategies`: what could be cached, with the rates of what was run; the best one goes to the lock.

use crate::{
    Exit,
    args::TuneArgs,
    commands::{failed, samples_made},
    figures::things,
    talk::{Talk, print},
};
use driver::{
    Compiled, DiskOptions, Lock, Stop,
    tune::{
        Wanted,
        strategies::{Asked, strategies},
    },
};
use std::io;

/// Looks at what could be cached, runs the best of it, and writes the lock.
pub(super) fn run(
    args: &TuneArgs,
    (compiled, wanted): (&Compiled, Wanted),
    (stop, talk): (&Stop, &Talk),
) -> io::Result<Exit> {
    let path = Lock::path_of(&args.file);
    let name = &compiled.program.name;
    let lock = match Lock::read(&path) {
        Ok(lock) => lock.and_then(|it| it.pipeline.get(name).cloned()),
        Err(failure) => return Ok(failed(talk, &failure)),
    };
    let lock = lock.filter(|it| it.plan == compiled.hash());
    let (limit, disk) = (args.cache_limit, args.cache.clone());
    let asked = Asked {
        wanted,
        disk: disk.map(|folder| DiskOptions { folder, limit, verify_inputs: false }),
        top: args.top as usize,
        lock,
    };
    if args.epochs < 2 && asked.disk.is_none() {
        let help = "say for how many: `--epochs 90`, or where later runs find it: `--cache DIR`";
        talk.error("one epoch reads each record once, so nothing is worth caching", Some(help));
        return Ok(Exit::Usage);
    }
    let found = match strategies(compiled, &asked, stop, &mut samples_made(talk)) {
        Ok(found) => found,
        Err(failure) => return Ok(failed(talk, &failure)),
    };
    for note in &found.notes {
        talk.say(&format!("{name}: {note}"));
    }
    let explained = found.planned.explanation();
    let text = match args.csv {
        true => explained.strategies_csv(&found.strategies),
        false => explained.strategies(&found.strategies),
    };
    print(&text)?;
    let sampled = &found.sampled;
    talk.say(&format!(
        "costs and codecs are from a sample of {}, taken in {:.1} s; rates in brackets were measured",
        things(sampled.records, "record", "records"),
        sampled.seconds
    ));
    let Some(chosen) = found.chosen else { return Ok(Exit::Fine) };
    if let Err(failure) = Lock::put(&path, name, chosen) {
        return Ok(failed(talk, &failure));
    }
    let folder = if args.cache.is_some() { ", `--cache`" } else { "" };
    talk.say(&format!(
        "{name}: what is cached is written to `{}`; `run` with the same `--epochs`{folder} and `--memory` caches it",
        path.display()
    ));
    Ok(Exit::Fine)
}
