//! `pipec index`: finds where the records of large files begin, ahead of the runs that need it.

use super::{compiled, failed, print_json, settings};
use crate::{
    Exit,
    args::IndexArgs,
    figures::{things, time},
    talk::{Style, Talk},
};
use driver::index::{Indexed, index};
use std::io;

/// Makes the indices of the pipeline that `args` names.
pub(super) fn run(args: &IndexArgs, talk: &Talk) -> io::Result<Exit> {
    if let Some(folder) = &args.index_dir {
        driver::keep_indices(Some(folder.clone()));
    }
    let compiled = match compiled(&args.file, settings(&args.pipeline.program()), talk) {
        Ok(compiled) => compiled,
        Err(exit) => return Ok(exit),
    };
    talk.passing("looking for the records of all files");
    let found = index(&compiled);
    talk.passed();
    let (found, seconds) = match found {
        Ok(found) => found,
        Err(failure) => return Ok(failed(talk, &failure)),
    };
    if args.json {
        print_json(&found)?;
        return Ok(Exit::Fine);
    }
    let name = talk.styled(Style::Strong, &format!("{}:", compiled.program.name));
    found.iter().for_each(|it| talk.say(&format!("{name} `{}`: {}", it.source, told(it))));
    if found.iter().any(|it| it.is_indexed) {
        talk.say(&format!("{name} done in {}", time(seconds)));
    }
    Ok(Exit::Fine)
}

/// What came of a source, in a sentence.
fn told(it: &Indexed) -> String {
    match (it.records, it.is_indexed) {
        (Some(n), true) => format!("the places of {} are known", things(n, "record", "records")),
        (Some(n), false) => {
            format!("{}, for which no index is needed", things(n, "record", "records"))
        }
        (None, _) => "read in order, for which no index is needed".to_owned(),
    }
}
