//! Where records come from: one file for each source.

mod csv;
mod jsonl;
mod lines;
mod paths;
mod range;

mod listed;
mod records;

use crate::{Source, listing::natural_order};
use plan::{Arg, Field};
use runtime::Failure;

/// All of them.
pub(crate) static ALL: &[&Source] =
    &[&csv::ENTRY, &jsonl::ENTRY, &lines::ENTRY, &paths::ENTRY, &range::ENTRY];

/// The fields that a source finds in its files, for `Applied::found`: those of `csv`.
///
/// It opens the first file only. Sources whose fields are always the same have none to find.
///
/// # Errors
/// No file matches, or the first one cannot be read as what it should be.
pub fn probe(entry: &str, args: &[Arg]) -> Result<Vec<Field>, Failure> {
    if entry == csv::ENTRY.entry.name() { csv::probe(args) } else { Ok(Vec::new()) }
}

/// Whether what [`probe`] finds is written in files, so that they must be read to know it.
pub fn reads_to_know(entry: &str) -> bool {
    entry == csv::ENTRY.entry.name()
}

/// The names of the folders that the files of sources lie in, in natural order: the classes of
/// `class_of`. Lists the files of each.
///
/// # Errors
/// Files cannot be listed, or there are none.
pub fn classes(sources: &[(&str, &[Arg])]) -> Result<Vec<String>, Failure> {
    let mut all = Vec::new();
    for (entry, args) in sources {
        if *entry == range::ENTRY.entry.name() {
            continue;
        }
        let Some(files) = args.first() else { continue };
        let listed = listed::Listed::new(files).map_err(Failure::Program)?;
        all.extend_from_slice(&listed.found()?.classes);
    }
    all.sort_by(|a, b| natural_order(a, b));
    all.dedup();
    Ok(all)
}
