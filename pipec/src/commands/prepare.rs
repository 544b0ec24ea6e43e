//! `pipec prepare`: fills a cache ahead of training.

use super::{compiled_until, failed, lock_of_run, print_json, samples_made, settings};
use crate::{
    Exit,
    args::PrepareArgs,
    figures::{bytes, count, percent, rate, things, time},
    talk::{Style, Talk},
};
use driver::{DiskOptions, Filled, Filling, PrepareWatch, RunOptions, Settings, Stop};
use runtime::Failure;
use std::io;

/// Fills the cache that `args` names.
pub(super) fn run(args: &PrepareArgs, talk: &Talk) -> io::Result<Exit> {
    let stop = Stop::default();
    super::run::stop_on_signals(stop.clone(), talk.terminal);
    if let Some(folder) = &args.index_dir {
        driver::keep_indices(Some(folder.clone()));
    }
    let settings = Settings { memory: args.memory, ..settings(&args.program) };
    let compiled = match compiled_until(&stop, (&args.file, settings), talk) {
        Ok(compiled) => compiled,
        Err(exit) => return Ok(exit),
    };
    let lock =
        lock_of_run((&args.file, args.locked), &compiled, (&args.program, &args.virtually), talk);
    let lock = match lock {
        Ok(lock) => lock,
        Err(exit) => return Ok(exit),
    };
    let usual = RunOptions::default();
    let tuned = lock.as_ref().map_or(usual.workers, |it| it.workers);
    let options = RunOptions {
        epochs: args.epochs,
        workers: args.program.workers.map_or(tuned, usize::from),
        memory: args.memory.unwrap_or(usual.memory),
        whole_process: true,
        disk: Some(DiskOptions {
            folder: args.cache.clone(),
            limit: args.cache_limit,
            verify_inputs: args.verify_inputs,
        }),
        objective: args.objective,
        lock,
        cpu: args.cpu.unwrap_or(1.0),
        ..usual
    };
    args.virtually.begin();
    let (pipeline, mut all) = (&compiled.program.name, Vec::new());
    let name = talk.styled(Style::Strong, &format!("{pipeline}:"));
    let watch = PrepareWatch {
        stop: stop.clone(),
        progress: &mut |it| talk.passing(&progress(pipeline, it)),
        sample: &mut samples_made(talk),
        filled: &mut |it| {
            talk.passed();
            talk.say(&format!("{name} {}", filled(it)));
            if let Some(why) = &it.stopped {
                talk.say(&format!("  {} {why}", talk.styled(Style::Warning, "cache")));
            }
            all.push(it.clone());
        },
        note: &mut |it| talk.say(&format!("{name} {it}")),
    };
    let prepared = driver::prepare(&compiled, (&options, &args.keep), watch);
    talk.passed();
    if args.json {
        print_json(&all)?;
    }
    Ok(match prepared {
        Ok(()) => Exit::Fine,
        Err(Failure::Stopped) if stop.is_requested() => Exit::Interrupted,
        Err(failure) => failed(talk, &failure),
    })
}

/// How far it is: `train: decode_jpeg: 12,300 of 50,000 values, 25%, 3,310/s, 11.4 s left`.
fn progress(pipeline: &str, it: &Filling) -> String {
    let seconds = it.elapsed.as_secs_f64().max(1e-3);
    let per_second = it.written as f64 / seconds;
    let mut parts = vec![match it.of {
        Some(of) => format!("{} of {}", count(it.values), things(of, "value", "values")),
        None => things(it.values, "value", "values"),
    }];
    parts.extend(it.of.filter(|of| *of > 0).map(|of| percent(it.values as f64 / of as f64)));
    parts.push(rate(per_second, ""));
    if let Some(of) = it.of.filter(|_| it.written > 0) {
        parts.push(format!("{} left", time(of.saturating_sub(it.values) as f64 / per_second)));
    }
    format!("{pipeline}: {}: {}", it.functions.join(", "), parts.join(", "))
}

/// What came of a value.
fn filled(it: &Filled) -> String {
    let of = match it.of {
        Some(of) if of > it.values => format!("{} of {}", count(it.values), count(of)),
        _ => count(it.values),
    };
    let now = match it.written {
        0 => "nothing to compute".to_owned(),
        n if n == it.values => format!("in {}", time(it.seconds)),
        n => format!("{} of them computed now, in {}", count(n), time(it.seconds)),
    };
    let failed = match it.failed {
        0 => String::new(),
        n => format!("; {} failed", things(n, "record", "records")),
    };
    format!(
        "`{}` ({}): {of} values are cached, {}, {now}{failed}",
        it.function,
        it.step,
        bytes(it.bytes as f64)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn it_says_how_far_it_is_and_what_came_of_it() {
        let filling = Filling {
            functions: vec!["resize".to_owned()],
            values: 12_300,
            of: Some(50_000),
            written: 10_000,
            elapsed: Duration::from_secs(4),
        };
        let told = "p: resize: 12,300 of 50,000 values, 25%, 2,500/s, 15.1 s left";
        assert_eq!(progress("p", &filling), told);
        let done = Filled {
            step: "p.map#1".to_owned(),
            function: "resize".to_owned(),
            values: 49_998,
            of: Some(50_000),
            written: 10_000,
            bytes: 7_200_000_000,
            failed: 2,
            seconds: 75.0,
            stopped: None,
        };
        let told = "`resize` (p.map#1): 49,998 of 50,000 values are cached, 7.2 GB, 10,000 of them computed now, in \
                    1 min 15 s; 2 records failed";
        assert_eq!(filled(&done), told);
    }
}
