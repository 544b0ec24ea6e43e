//! Makes the indices of large files ahead of the runs that need them.

use crate::session::{compiled::Compiled, machine};
use plan::{Arg, Code};
use runtime::Failure;
use serde::Serialize;
use std::time::Instant;

/// What came of a source.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Indexed {
    /// Its step: `train.tar#0`.
    pub step: String,
    /// What it is called, with the first path that it reads: `tar("shards/*.tar")`.
    pub source: String,
    /// Records of all its files; none where it is read in order, which needs no index.
    pub records: Option<u64>,
    /// Whether its files had to be looked into for that.
    pub is_indexed: bool,
}

/// Makes the indices that runs of `compiled` need, with the seconds that took. What was made before is found, and not
/// made again.
///
/// # Errors
/// A file cannot be read, or the program cannot be run.
pub fn index(compiled: &Compiled) -> Result<(Vec<Indexed>, f64), Failure> {
    let since = Instant::now();
    let options = runtime::Options { workers: machine::cores(), ..runtime::Options::default() };
    let run = runtime::start(&compiled.program, &*compiled.kernels()?, &options)?;
    let (listed, all) = (run.listed_lens(), run.pass_lens()?);
    let sources = compiled.program.stages.iter().filter_map(|(_, stage)| match &stage.code {
        Code::Source { entry, args, .. } => {
            Some((stage.steps.first()?.clone(), named(entry, args)))
        }
        _ => None,
    });
    let found = sources.zip(listed.into_iter().zip(all));
    let indexed = found.map(|((step, source), (listed, records))| Indexed {
        step,
        source,
        records,
        is_indexed: records.is_some() && listed.is_none(),
    });
    Ok((indexed.collect(), since.elapsed().as_secs_f64()))
}

/// A source with its first path.
fn named(entry: &str, args: &[Arg]) -> String {
    let path = args.iter().find_map(|it| match it {
        Arg::Text(path) => Some((path, "")),
        Arg::List(all) => match &all[..] {
            [Arg::Text(path)] => Some((path, "")),
            [Arg::Text(path), ..] => Some((path, ", …")),
            _ => None,
        },
        _ => None,
    });
    path.map_or_else(|| entry.to_owned(), |(path, more)| format!("{entry}({path:?}{more})"))
}
