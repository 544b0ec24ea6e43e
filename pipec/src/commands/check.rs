//! `pipec check`: every mistake of programs, without reading any data.

use super::{paths::programs, print_json};
use crate::{Exit, args::CheckArgs, figures::things, messages, talk::Talk};
use driver::{Loaded, Settings};
use std::io;

/// Checks the programs that `args` names.
pub(super) fn run(args: &CheckArgs, talk: &Talk) -> io::Result<Exit> {
    let programs = match programs(&args.paths, talk) {
        Ok(programs) => programs,
        Err(exit) => return Ok(exit),
    };
    let settings = Settings { params: args.set.iter().cloned().collect(), ..Settings::default() };
    let (mut exit, mut all, mut json) = (Exit::Fine, Vec::new(), Vec::new());
    for path in &programs {
        let loaded = match Loaded::read(path) {
            Ok(loaded) => loaded,
            Err(it) => {
                exit = messages::unreadable(talk, &it);
                continue;
            }
        };
        let found = driver::check(&loaded, &settings);
        if args.json {
            let messages = messages::json(&loaded.files, &found).into_iter();
            json.extend(messages.map(serde_json::to_value).collect::<Result<Vec<_>, _>>()?);
        } else {
            messages::print(talk, &loaded.files, &found);
        }
        all.extend(found);
    }

    if args.json {
        print_json(&json)?;
    } else {
        talk.say(&conclusion(talk, programs.len(), &all));
    }
    Ok(if exit == Exit::Fine { messages::exit(&all) } else { exit })
}

fn conclusion(talk: &Talk, n_programs: usize, all: &[plan::Diagnostic]) -> String {
    let programs = things(n_programs as u64, "file", "files");
    match messages::tally(talk, all) {
        tally if tally.is_empty() => format!("{programs}, nothing wrong"),
        tally => format!("{tally} in {programs}"),
    }
}
