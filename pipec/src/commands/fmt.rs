//! `pipec fmt`: programs in their one form.

use super::{failed, paths::programs};
use crate::{Exit, args::FmtArgs, diff, figures::things, messages, talk::Talk};
use driver::{Reach, SourceFile, Unreadable};
use plan::escaped;
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

/// What stands for stdin.
const STDIN: &str = "-";

/// Formats the programs that `args` names, or says what would change.
pub(super) fn run(args: &FmtArgs, talk: &Talk) -> io::Result<Exit> {
    let programs = match programs(&args.paths, talk) {
        Ok(programs) => programs,
        Err(exit) => return Ok(exit),
    };
    let (mut exit, mut n_read, mut n_changed) = (Exit::Fine, 0_u64, 0_u64);
    for path in &programs {
        let outcome = one(path, args, talk)?;
        (n_read, n_changed) =
            (n_read + u64::from(outcome.is_ok()), n_changed + u64::from(outcome == Ok(true)));
        match outcome {
            Err(it) => exit = it,
            Ok(true) if (args.check || args.diff) && exit == Exit::Fine => exit = Exit::Errors,
            Ok(_) => {}
        }
    }
    if programs != [PathBuf::from(STDIN)] && n_read > 0 {
        let verb = if args.check || args.diff { "would be changed" } else { "changed" };
        let all = things(n_read, "file", "files");
        talk.say(&format!("{} of {all} {verb}", crate::figures::count(n_changed)));
    }
    Ok(exit)
}

/// Formats one program, and gives whether it was in another form.
fn one(path: &Path, args: &FmtArgs, talk: &Talk) -> io::Result<Result<bool, Exit>> {
    let from_stdin = path == Path::new(STDIN);
    let shown = if from_stdin { "stdin".to_owned() } else { path.display().to_string() };
    let read = match from_stdin {
        true => driver::text(io::stdin()).map_err(|why| Unreadable {
            path: shown.clone(),
            why,
            help: None,
        }),
        false => driver::read_main(path, Reach::of(args.allow_outside)),
    };
    let text = match read {
        Ok(text) => text,
        Err(it) => return Ok(Err(messages::unreadable(talk, &it))),
    };
    let formatted = match driver::format(&text) {
        Ok(formatted) => formatted,
        Err(diagnostics) => {
            let files = [SourceFile { path: shown, text }];
            messages::print(talk, &files, &diagnostics);
            return Ok(Err(Exit::Errors));
        }
    };

    let changed = formatted != text;
    let mut out = io::stdout().lock();
    if args.diff {
        out.write_all(escaped(&diff::unified(&shown, &text, &formatted)).as_bytes())?;
    } else if args.check {
        if changed {
            writeln!(out, "{shown}")?;
        }
    } else if from_stdin {
        out.write_all(formatted.as_bytes())?;
    } else if changed && let Err(failure) = driver::replace(path, &formatted) {
        return Ok(Err(failed(talk, &failure)));
    }
    Ok(Ok(changed))
}
