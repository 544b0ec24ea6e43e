//! Constants of streams: the stream is run before the program that uses its answer is compiled, or was run before and
//! its answer kept.
//!
//! An answer is kept under a hash of the stream's plan and of what its inputs are, so one that does not fit is never
//! found. Whoever computes the same at the same time writes the same bytes.

use crate::session::{
    identity::{plan_hash, sources_hash},
    samples::cache_folder,
};
use compiler::StreamConstant;
use plan::{
    Arg, Expr, Foreign, ForeignSource, Library, Op, OpId, OpKind, Plan, Property, Span, outside,
};
use runtime::{Failure, Rank};
use serde::{Deserialize, Serialize};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};
use xxhash_rust::xxh3::xxh3_64;

/// What a file of an answer begins with: its format.
const MAGIC: [u8; 8] = *b"pipecco2";
const CHECKSUM: usize = 8;
const EXTENSION: &str = "constant";
/// Bytes of an answer that is read; the largest one has two million numbers.
const BYTES_MAX: u64 = 64 << 20;
/// Answers that are kept, and bytes of them; beyond that, those are removed that were used longest ago.
const FILES_MAX: usize = 1_000;
const ALL_BYTES_MAX: u64 = 256 << 20;

static FOLDER: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Has answers kept in the user's cache folder, where there is one.
pub(crate) fn keep_answers() {
    let folder = cache_folder().ok().map(|it| it.join("constants"));
    *FOLDER.lock().unwrap_or_else(PoisonError::into_inner) = folder;
}

/// What came of the streams of constants, by what they are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answers(pub(crate) BTreeMap<(u128, u64), (Arg, Known)>);

impl Answers {
    /// The value of a constant, where it is known.
    pub(crate) fn of(&self, constant: &StreamConstant) -> Option<Arg> {
        self.0.get(&key(&constant.plan)).map(|it| it.0.clone())
    }
}

/// What is done about records that the streams of constants lose; the same as about those that the run does.
#[derive(Debug, Clone, Default)]
pub struct Losses {
    /// Records that each stream may lose; beyond them it has no answer.
    pub(crate) most: Option<u64>,
    /// The file that tells of every record that was skipped or replaced.
    pub(crate) quarantine: Option<PathBuf>,
    /// Which run it is, of several that share the work.
    pub(crate) rank: Rank,
    /// Whether the file has been begun, so that who comes next goes on with it.
    pub(crate) begun: Begun,
}

/// Whether a file has been begun by somebody who shares this.
#[derive(Debug, Clone, Default)]
pub(crate) struct Begun(Arc<AtomicBool>);

impl Begun {
    /// Begins it; whether it was begun.
    pub(crate) fn begin(&self) -> bool {
        self.0.swap(true, Ordering::AcqRel)
    }

    /// Whether it was begun, of who goes on with it now; whoever comes after that begins anew.
    pub(crate) fn take(&self) -> bool {
        self.0.swap(false, Ordering::AcqRel)
    }
}

impl PartialEq for Begun {
    /// It is no part of what was compiled.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Losses {
    /// So many at most, and told of in this file.
    pub fn new(most: Option<u64>, quarantine: Option<PathBuf>, rank: Rank) -> Self {
        Self { most, quarantine, rank, begun: Begun::default() }
    }

    /// Whether a kept answer would be one now; what was lost for it is told of again where that was told of nowhere.
    pub(crate) fn allow(&self, lost: u64, goes_on: bool) -> bool {
        let is_told = self.quarantine.is_none() || goes_on;
        lost == 0 || is_told && self.most.is_none_or(|it| lost <= it)
    }
}

/// Whether the streams of constants are run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Constants {
    /// Those whose answers are not kept are run when a program is compiled.
    #[default]
    Computed,
    /// None is run: what is not kept is assumed, and the program cannot be run.
    Assumed,
}

/// A constant whose stream gives a value that the program needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constant {
    /// Its name.
    pub name: String,
    /// Where it is declared.
    pub at: Span,
    /// How its value is known.
    pub known: Known,
    /// The names of what its stream calls and reads outside.
    pub outside: BTreeSet<String>,
}

impl Constant {
    pub(crate) fn of(it: &StreamConstant, known: Known) -> Self {
        Self { name: it.name.clone(), at: it.at, known, outside: outside(&it.plan) }
    }

    /// How its value is known, for `explain`.
    pub(crate) fn told(&self) -> String {
        let how = match self.known {
            Known::NotYet => "not computed yet: a run computes it first",
            Known::Kept => "cached by an earlier run",
            Known::Computed { kept: true, .. } => "computed, cached for later runs",
            Known::Computed { kept: false, .. } => "computed before each run",
        };
        format!("{}: {how}", self.name)
    }
}

/// How the value of a constant is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// Its stream has not been run: values are assumed.
    NotYet,
    /// It was kept by an earlier run.
    Kept,
    /// Its stream was run.
    Computed {
        /// Records that it was computed of.
        records: u64,
        /// Records that failed, and were skipped.
        lost: u64,
        /// How long it took.
        elapsed: Duration,
        /// Whether it is kept for later runs.
        kept: bool,
    },
}

/// How far the stream of a constant is.
#[derive(Debug, Clone, PartialEq)]
pub struct ConstantProgress {
    /// The constant.
    pub name: String,
    /// Records that it has been computed of so far.
    pub records: u64,
    /// The share that is done, where the length is known: 0 to 1.
    pub done: Option<f64>,
}

/// Why a constant has no value.
#[derive(Debug, Clone, PartialEq)]
pub struct ConstantFailure {
    /// The constant.
    pub name: String,
    /// Where it is declared.
    pub at: Span,
    /// Why its stream has not come to its end.
    pub failure: Box<Failure>,
}

/// Those of `all` that a program needs, and how they are known.
pub(crate) fn needed(all: &[StreamConstant], answers: &Answers) -> Vec<Constant> {
    let how = |it: &StreamConstant| match answers.0.get(&key(&it.plan)) {
        Some((_, known)) if it.is_known => *known,
        _ => Known::NotYet,
    };
    let needed = all.iter().filter(|it| it.is_needed);
    needed.map(|it| Constant::of(it, how(it))).collect()
}

/// What a stream is, and what its sources name.
pub(crate) fn key(plan: &Plan) -> (u128, u64) {
    (plan_hash(plan, &stdlib::library()).whole, sources_hash(plan))
}

/// Where the answer of a stream is kept that has such inputs; none where it depends on more than its plan and the files of its
/// sources.
pub(crate) fn place(plan: &Plan, inputs: u128) -> Option<PathBuf> {
    let folder = FOLDER.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let folder = folder.filter(|_| depends_on_sources_alone(plan))?;
    let (whole, _) = key(plan);
    let name = blake3::hash(format!("{whole:032x} {inputs:032x} {VERSION}").as_bytes());
    Some(folder.join(format!("{}.{EXTENSION}", &name.to_hex()[..32])))
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Whether a stream reads no files but those that its sources list, and calls no function and reads no source outside.
fn depends_on_sources_alone(plan: &Plan) -> bool {
    let library = stdlib::library();
    let is_fine = |op: &Op, expr: &Expr| {
        let Expr::Call { function, args, .. } = expr else { return true };
        let listed = || match args.first() {
            Some(Arg::Expr(path)) => match (op.graph.expr(*path), op.inputs.first()) {
                (Expr::Column(at), Some(input)) => is_listed(plan, (*input, *at), &library),
                _ => false,
            },
            _ => false,
        };
        Foreign::of(function, args).is_none() && (!stdlib::reads_named_file(function) || listed())
    };
    let is_outside = |op: &Op| match &op.kind {
        OpKind::Source { entry, args } => ForeignSource::of(entry, args).is_some(),
        _ => false,
    };
    let mut steps = plan.steps().into_iter().map(|it| &plan.ops[it]);
    steps.all(|op| !is_outside(op) && op.graph.iter().all(|(_, it, _)| is_fine(op, it)))
}

/// Whether a field that leaves an operator is the path of a file that a source lists.
fn is_listed(plan: &Plan, (id, at): (OpId, u32), library: &Library) -> bool {
    let op = &plan.ops[id];
    let before = |at| op.inputs.first().is_some_and(|it| is_listed(plan, (*it, at), library));
    match &op.kind {
        OpKind::Source { entry, .. } => {
            let source = library.sources.iter().find(|it| it.name() == entry);
            source.is_some_and(|it| it.has(Property::GivesPaths))
        }
        OpKind::Map { outputs } => match outputs.get(at as usize).map(|it| op.graph.expr(*it)) {
            Some(Expr::Column(from)) => before(*from),
            _ => false,
        },
        OpKind::Where { .. } => before(at),
        OpKind::FlatMap { .. } => false,
        OpKind::Operator { .. } => {
            op.inputs.len() == 1 && plan.ops[op.inputs[0]].output == op.output && before(at)
        }
    }
}

/// What a stream gave, and how many of its records failed and were skipped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Given {
    pub(crate) value: Arg,
    pub(crate) lost: u64,
}

/// The answer that is kept there, if one is that is whole.
pub(crate) fn read(path: &Path) -> Option<Given> {
    let bytes = safe_file::read_here(path, BYTES_MAX).ok()?;
    let (body, checksum) = bytes.split_last_chunk::<CHECKSUM>()?;
    let body = Some(body).filter(|it| xxh3_64(it) == u64::from_le_bytes(*checksum))?;
    let answer = postcard::from_bytes(body.strip_prefix(&MAGIC)?).ok()?;
    // What cannot be marked is removed sooner.
    let _ = safe_file::open_here(path).and_then(|it| it.set_modified(SystemTime::now()));
    Some(answer)
}

/// Keeps an answer; where that cannot be done, it is computed again the next time.
pub(crate) fn write(path: &Path, answer: &Given) -> bool {
    let Some(folder) = path.parent() else { return false };
    if fs::create_dir_all(folder).is_err() || !safe_file::is_real_folder(folder) {
        return false;
    }
    let Ok(body) = postcard::to_allocvec(answer) else { return false };
    let mut bytes = [&MAGIC[..], &body].concat();
    bytes.extend(xxh3_64(&bytes).to_le_bytes());
    let written = safe_file::write(path, &mut |file| file.write_all(&bytes)).is_ok();
    if written {
        make_room(folder);
    }
    written
}

/// Removes the answers that were used longest ago, beyond so many or so many bytes.
fn make_room(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let kept = entries.flatten().filter_map(|it| {
        let is_answer = it.path().extension().is_some_and(|it| it == EXTENSION);
        let about = it.metadata().ok().filter(|_| is_answer)?;
        Some((about.modified().ok()?, about.len(), it.path()))
    });
    let mut kept: Vec<(SystemTime, u64, PathBuf)> = kept.collect();
    kept.sort_by_key(|it| Reverse(it.0));
    let mut bytes = 0;
    for (at, (_, len, path)) in kept.into_iter().enumerate() {
        bytes += len;
        if at >= FILES_MAX || bytes > ALL_BYTES_MAX {
            // Another process may have removed it.
            let _ = fs::remove_file(path);
        }
    }
    // What a process has begun and was killed.
    safe_file::remove_left(folder, |name| {
        Path::new(name).extension().is_some_and(|it| it == EXTENSION)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_and_what_is_damaged_is_not() {
        let folder = std::env::temp_dir().join(format!("pipec-constants-{}", std::process::id()));
        let path = folder.join("a.constant");
        let mean = Arg::List(vec![Arg::Float(0.1), Arg::Float(-1e300)]);
        let value = Arg::Record(vec![("n".to_owned(), Arg::Int(9)), ("mean".to_owned(), mean)]);
        let answer = Given { value, lost: 3 };
        assert_eq!(read(&path), None);
        assert!(write(&path, &answer));
        assert_eq!(read(&path), Some(answer));
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(&path, &bytes).unwrap();
            assert_eq!(read(&path), None, "byte {at}");
        }
        fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        assert_eq!(read(&path), None);
        fs::remove_dir_all(&folder).unwrap();
    }
}
