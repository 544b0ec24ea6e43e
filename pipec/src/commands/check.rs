//! `pipec check`: every mistake of programs, without running them. Of the data only the head of a CSV file is read,
//! which says what its columns are.

mod mend;
mod report;

use super::{failed, paths::programs};
use crate::{
    Exit,
    args::{CheckArgs, OutputFormat},
    figures::things,
    messages,
    talk::Talk,
};
use driver::{Loaded, Reach, Settings, SourceFile};
use plan::Diagnostic;
use std::{
    io::{self, Write},
    path::Path,
};

/// A program that was checked, and what was found.
struct Checked {
    files: Vec<SourceFile>,
    found: Vec<Diagnostic>,
}

/// Checks the programs that `args` names.
pub(super) fn run(args: &CheckArgs, talk: &Talk) -> io::Result<Exit> {
    let programs = match programs(&args.paths, talk) {
        Ok(programs) => programs,
        Err(exit) => return Ok(exit),
    };
    let (mut exit, mut all) = (Exit::Fine, Vec::new());
    for path in &programs {
        match checked(path, args, talk) {
            Ok(checked) => all.push(checked),
            Err(it) => exit = it,
        }
    }

    let format = if args.json { OutputFormat::Json } else { args.output_format };
    match format {
        OutputFormat::Full => {
            all.iter().for_each(|it| messages::print(talk, &it.files, &it.found));
        }
        other => {
            let text = report::text(other, &all)?;
            io::stdout().lock().write_all(text.as_bytes())?;
        }
    }
    let n_checked = all.len();
    let found: Vec<Diagnostic> = all.into_iter().flat_map(|it| it.found).collect();
    if format == OutputFormat::Full {
        talk.say(&conclusion(talk, (n_checked, programs.len() - n_checked), &found));
    }
    Ok(if exit == Exit::Fine { messages::exit(&found) } else { exit })
}

/// Checks one program, after mending what can be, if that is asked for.
fn checked(path: &Path, args: &CheckArgs, talk: &Talk) -> Result<Checked, Exit> {
    let reach = Reach::of(args.allow_outside);
    let params = args.set.iter().cloned().collect();
    let settings = Settings { params, reach, shows: reach, ..Settings::default() };
    let look = |loaded: &Loaded| {
        let mut found = driver::check(loaded, &settings);
        if !args.no_lints {
            found.extend(driver::lint(loaded, &settings));
            found.extend(driver::missing_files(loaded, &settings));
            found.sort_by_key(|it| (it.span.file, it.span.start, it.span.end));
        }
        found
    };
    let mut loaded =
        Loaded::read_within(path, reach).map_err(|it| messages::unreadable(talk, &it))?;
    if args.fix
        && let Some((text, n_mended)) = mend::mended((path, reach), &loaded.files[0].text, &look)
    {
        driver::replace(path, &text).map_err(|it| failed(talk, &it))?;
        talk.say(&format!("`{}`: {} fixed", path.display(), things(n_mended, "place", "places")));
        loaded = Loaded::from_text_within(path, text, reach);
    }
    let found = look(&loaded);
    Ok(Checked { files: loaded.files, found })
}

fn conclusion(talk: &Talk, (n_checked, n_unread): (usize, usize), all: &[Diagnostic]) -> String {
    let files = |n: usize| things(n as u64, "file", "files");
    let found = match messages::tally(talk, all) {
        tally if !tally.is_empty() => format!("{tally} in {}", files(n_checked)),
        _ if n_checked == 0 => "nothing was checked".to_owned(),
        _ => format!("{}, no errors", files(n_checked)),
    };
    match n_unread {
        0 => found,
        n => format!("{found}; {} could not be read", files(n)),
    }
}
