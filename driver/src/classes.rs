//! The classes of labels: read from files of names, found as folders.

use crate::{load::read_text, samples};
use plan::Arg;
use runtime::Failure;
use std::path::Path;

/// The names in a file: one on each line, blank lines at its end left aside.
pub(crate) fn names(path: &str) -> Result<Vec<String>, String> {
    let help = "write one name on each line, in the order of their numbers";
    let text = read_text(Path::new(path))
        .map_err(|why| format!("the classes in `{path}` cannot be read: {why}; {help}"))?;
    let text = text.trim_start_matches('\u{feff}').trim_end();
    let names: Vec<String> = text.lines().map(|it| it.trim().to_owned()).collect();
    match names.iter().position(String::is_empty) {
        Some(line) => Err(format!(
            "line {} of `{path}` is empty, and every line is a class; {help}",
            line + 1
        )),
        None if names.is_empty() => Err(format!("`{path}` is empty; {help}")),
        None => Ok(names),
    }
}

/// The class folders of sources; a set of pictures that one names is made now.
pub(crate) fn of_sources(sources: &[(&str, &[Arg])]) -> Result<Vec<String>, Failure> {
    let mut located = Vec::new();
    for (entry, args) in sources {
        let mut args = args.to_vec();
        samples::resolve_args(&mut args, &mut |_| ())?;
        located.push((*entry, args));
    }
    let located: Vec<_> = located.iter().map(|(entry, args)| (*entry, args.as_slice())).collect();
    stdlib::classes(&located)
}
