//! `pipec verify`: the plan as it is written against the one that is run.

use super::{compiled, failed, print_json, samples_made, settings};
use crate::{
    Exit,
    args::VerifyArgs,
    figures::{things, time},
    talk::{Style, Talk, print},
};
use driver::{
    Settings, Stop,
    verify::{Difference, Hidden, Pair, VerifyOptions, verify},
};
use std::io;

/// Records that fail in the plain plan only, of which so many are named.
const HIDDEN_SHOWN: usize = 3;

/// Verifies the pipeline that `args` names.
pub(super) fn run(args: &VerifyArgs, talk: &Talk) -> io::Result<Exit> {
    let compiled = match compiled(
        &args.file,
        Settings { memory: args.memory, ..settings(&args.program) },
        talk,
    ) {
        Ok(compiled) => compiled,
        Err(exit) => return Ok(exit),
    };
    let usual = VerifyOptions::default();
    let workers = args.program.workers.map_or(usual.workers, usize::from);
    let stop = Stop::default();
    super::run::stop_on_signals(stop.clone(), talk.terminal);
    let memory = args.memory.unwrap_or(usual.memory);
    let (pairs, limit) = (args.pairs, args.limit);
    let options = VerifyOptions { pairs, limit, workers, memory, whole_process: true, stop };
    let batched = compiled.program.batched;
    let (mut all, mut shown) = (Vec::new(), Ok(()));
    let outcome = verify(&compiled, &options, &mut samples_made(talk), &mut |pair| {
        if shown.is_ok() && !args.json {
            shown = print(&format!("{}\n", line(pair, batched)));
        }
        all.push(pair.clone());
    });
    shown?;
    if args.json {
        print_json(&all)?;
    }
    match outcome {
        Ok(true) => Ok(Exit::Fine),
        Ok(false) => {
            if let Some(found) = all.last().and_then(|it| it.difference.as_ref()) {
                different(talk, found);
            }
            Ok(Exit::Errors)
        }
        Err(failure) => Ok(failed(talk, &failure)),
    }
}

/// What came of a pair.
fn line(pair: &Pair, batched: bool) -> String {
    let outputs = match batched {
        true => things(pair.outputs, "batch", "batches"),
        false => things(pair.outputs, "record", "records"),
    };
    let begun = if pair.interrupted { "interrupted: up to then " } else { "" };
    let epochs = things(u64::from(pair.epochs), "epoch", "epochs");
    if pair.uncompared().is_some() {
        let what = if batched { "batch" } else { "record" };
        return format!(
            "seed {}, {epochs}: nothing to compare, both plans fail before the first {what}",
            pair.seed
        );
    }
    let how = match &pair.error {
        None => "the same".to_owned(),
        Some(it) => {
            format!(
                "nearly the same, the difference is at most {:.3e}, {:.3e} on average",
                it.max, it.mean
            )
        }
    };
    let mut line = format!("seed {}, {epochs}: {begun}{outputs} {how}", pair.seed);
    if pair.lost > 0 {
        line += &format!(", {} failed", things(pair.lost, "record", "records"));
    }
    let (plain, optimised) = (time(pair.plain_seconds), time(pair.optimised_seconds));
    line += &format!("; {plain} of work plain, {optimised} optimized; hash {}", pair.hash);
    if let Some(failure) = &pair.failure {
        line += &format!("\n  both end with: {failure}");
    }
    line + &hidden(&pair.hidden)
}

/// Records that fail where whole values are made, and not where only the part is made that is used.
fn hidden(all: &[Hidden]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let n = things(all.len() as u64, "record fails", "records fail");
    let mut text = format!(
        "\n  compared with whole values: {n} only in a part that the pipeline does not use, so the optimized plan \
         keeps them; `pipec scan` lists such records"
    );
    for it in all.iter().take(HIDDEN_SHOWN) {
        text += &format!("\n    {}: {}", it.record, it.reason);
    }
    if all.len() > HIDDEN_SHOWN {
        text += "\n    …";
    }
    text
}

fn different(talk: &Talk, found: &Difference) {
    talk.error("the optimized plan has different results; this is a bug in pipec", None);
    let either = |it: &[Option<String>; 2]| match it {
        [Some(a), Some(b)] if a == b => a.clone(),
        [a, b] => {
            let text = |it: &Option<String>| it.clone().unwrap_or_else(|| "none".to_owned());
            format!("{} in the plain plan, {} in the optimized one", text(a), text(b))
        }
    };
    let epochs = found.epochs.map(|it| it.map(|it| it.to_string()));
    let mut rows = vec![
        ("output", found.output.to_string()),
        ("epoch", either(&epochs)),
        ("id", either(&found.ids)),
    ];
    rows.extend(found.field.clone().map(|it| ("field", it)));
    rows.push(("what", found.detail.clone()));
    for (what, text) in rows {
        talk.say(&format!("  {} {text}", talk.styled(Style::Dim, &format!("{what:<7}"))));
    }
    let help = "find the rewrite with `--disable-pass REWRITE`, and please report it";
    talk.say(&format!("{} {help}", talk.styled(Style::Help, " help:")));
}
