//! The ways in which a program is run, and what must be the same in all of them.

use crate::{cases::line, output};
use driver::{Compiled, Loaded, Settings};
use plan::Field;
use runtime::{Chunk, Options};
use std::{collections::BTreeMap, fmt, ops::Range, path::Path, sync::mpsc, thread, time::Duration};

/// How a program is run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way {
    workers: usize,
    chunk_rows: Option<usize>,
    form: Form,
}

/// Which passes rewrite the plan.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    /// None.
    Plain,
    /// Only the one that drops what nothing needs.
    Needed,
    /// All.
    Planned,
}

/// What the others are held against.
///
/// A value that nothing needs is not computed, so it cannot fail. How much of a plan without
/// passes is computed and not needed depends on its stages; so where a record fails in it, what
/// is held against is the plan without such values.
const FIRST: [Way; 2] = [
    Way { workers: 1, chunk_rows: None, form: Form::Plain },
    Way { workers: 1, chunk_rows: None, form: Form::Needed },
];

/// The ways that must give the same.
const WAYS: [Way; 4] = [
    Way { workers: 1, chunk_rows: None, form: Form::Planned },
    Way { workers: 4, chunk_rows: Some(1), form: Form::Planned },
    Way { workers: 4, chunk_rows: Some(7), form: Form::Planned },
    Way { workers: 4, chunk_rows: None, form: Form::Needed },
];

/// Outputs that are compared; a run that gives more is stopped there.
const OUTPUTS_MAX: usize = 1500;
/// A run that takes longer does not end.
const PATIENCE: Duration = Duration::from_secs(10);

/// What came of a run.
#[derive(Debug, PartialEq)]
pub(crate) struct Ran {
    fields: Vec<Field>,
    outputs: Vec<Output>,
    end: End,
}

/// One record: what it is, and what it was made of.
#[derive(Debug, PartialEq, Clone)]
struct Output {
    id: u64,
    epoch: u32,
    /// Of each field: its shape, and a hash of dtype, shape and bytes.
    values: Vec<(Vec<usize>, u64)>,
}

#[derive(Debug, PartialEq)]
enum End {
    /// By itself, with so many records lost, by code.
    Over(BTreeMap<&'static str, u64>),
    Failed(String),
    /// Where there were outputs enough.
    Cut,
}

/// Why two ways of running a program are not the same.
pub(crate) struct Difference {
    ways: [Way; 2],
    what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} against {:?}: {}", self.ways[1], self.ways[0], self.what)
    }
}

/// What a program that was run is known for.
pub(crate) struct Known {
    pub(crate) outputs: usize,
    pub(crate) failed: bool,
    pub(crate) lost: bool,
    /// Why it was not held to the letter.
    pub(crate) unsettled: Option<&'static str>,
    /// Names of the library's entries that run.
    pub(crate) entries: Vec<String>,
    /// Names of the passes whose proposals were kept.
    pub(crate) passes: Vec<String>,
}

/// Runs `text` in every way.
pub(crate) fn all_the_same(
    text: &str,
    data: &Path,
    epochs: u32,
) -> Result<Known, Result<Difference, String>> {
    let mut forms = Vec::new();
    for form in [Form::Plain, Form::Needed, Form::Planned] {
        forms.push(in_form(text, data, form).map_err(Err)?);
    }
    let of = |way: &Way| ran(&forms[way.form as usize], way, 0..epochs);
    let (mut first, mut held) = (of(&FIRST[0]), FIRST[0]);
    if first.has_faults() {
        (first, held) = (of(&FIRST[1]), FIRST[1]);
    }
    if first.is_bug() {
        return Err(Ok(Difference { ways: [held, held], what: format!("{:?}", first.end) }));
    }
    let mut unsettled = None;
    for way in &WAYS {
        if let Some(what) = first.difference(&of(way)) {
            unsettled = first.unsettled(&of(way), text);
            if unsettled.is_none() {
                return Err(Ok(Difference { ways: [held, *way], what }));
            }
        }
    }
    // Three ranks against one, and stopped and gone on with against undisturbed. What a run says
    // of losses before it was stopped it does not know by name.
    let planned = &forms[Form::Planned as usize];
    let stopped = match &first.end {
        End::Over(_) => output::check_ranks(planned)
            .and_then(|()| output::check_stopped(planned))
            .and_then(|()| output::check_kept(planned)),
        End::Failed(why) if !why.contains("records failed (") => output::check_stopped(planned),
        End::Failed(_) | End::Cut => Ok(()),
    };
    stopped.map_err(|what| Ok(Difference { ways: [held, held], what }))?;
    Ok(Known {
        unsettled,
        outputs: first.outputs.len(),
        failed: matches!(first.end, End::Failed(_)),
        lost: matches!(&first.end, End::Over(it) if !it.is_empty()),
        entries: super::coverage::entries(&forms[0].written),
        passes: super::coverage::passes(&planned.optimised),
    })
}

/// Compiles the pipeline of `text` that no other uses, with all passes.
pub(crate) fn compiled(text: &str, data: &Path) -> Result<Compiled, String> {
    in_form(text, data, Form::Planned)
}

fn in_form(text: &str, data: &Path, form: Form) -> Result<Compiled, String> {
    let loaded = Loaded::from_text(Path::new("random.pipe"), text.to_owned());
    let left_out = |name: &&str| match form {
        Form::Plain => true,
        Form::Needed => *name != "projection-pruning",
        Form::Planned => false,
    };
    let without = driver::pass_names().filter(left_out).map(str::to_owned).collect();
    let needs_data = text.contains("param data");
    let data = ("data".to_owned(), data.display().to_string());
    let settings = Settings {
        params: Some(data).filter(|_| needs_data).into_iter().collect(),
        without,
        workers: Some(2),
        shows: driver::Reach::Anywhere,
        ..Settings::default()
    };
    driver::compile(&loaded, &settings)
        .map_err(|all| all.iter().map(|it| line(&loaded.files, it)).collect())
}

fn ran(compiled: &Compiled, way: &Way, epochs: Range<u32>) -> Ran {
    let Way { workers, chunk_rows, .. } = *way;
    let options =
        Options { seed: 7, workers, readers: 2, epochs, chunk_rows, ..Options::default() };
    let fields = compiled.program.output.clone();
    let mut ran = Ran { fields, outputs: Vec::new(), end: End::Cut };
    let mut run = match runtime::start(&compiled.program, &stdlib::Kernels, &options) {
        Ok(run) => run,
        Err(failure) => return Ran { end: End::Failed(failure.to_string()), ..ran },
    };
    let watch = Watch::over(run.stopper());
    for next in run.by_ref() {
        match next {
            Ok(chunk) => ran.outputs.extend((0..chunk.rows).map(|row| output(&chunk, row))),
            Err(failure) => {
                ran.end = End::Failed(without_place(&failure.to_string()));
                return ran;
            }
        }
        if ran.outputs.len() >= OUTPUTS_MAX {
            ran.outputs.truncate(OUTPUTS_MAX);
            return ran;
        }
    }
    drop(watch);
    ran.end = End::Over(run.stats().lost);
    ran
}

/// A message without the place that it begins with: a stage is called by its first step, and a
/// rewritten plan may have other stages.
fn without_place(message: &str) -> String {
    let rest = message.strip_prefix("random.pipe:").map(|it| {
        it.trim_start_matches(|it: char| it.is_ascii_digit() || it == ':').trim_start().to_owned()
    });
    rest.unwrap_or_else(|| message.to_owned())
}

fn output(chunk: &Chunk, row: usize) -> Output {
    let value = |it: &runtime::Column| {
        let value = it.row(row);
        let bytes = value.as_bytes().expect("columns have no gaps");
        let hash = plan::mix(value.dtype() as u64, plan::hash(bytes));
        let hash = value.shape().iter().fold(hash, |hash, it| plan::mix(hash, *it as u64));
        (value.shape().to_vec(), hash)
    };
    let values = chunk.columns.iter().map(value).collect();
    Output { id: chunk.ids()[row], epoch: chunk.epoch, values }
}

impl Ran {
    /// Whether a record failed, or the run.
    fn has_faults(&self) -> bool {
        match &self.end {
            End::Over(lost) => !lost.is_empty(),
            End::Failed(_) => true,
            End::Cut => false,
        }
    }

    /// Whether it panicked, or did not end by itself.
    fn is_bug(&self) -> bool {
        matches!(&self.end, End::Failed(it) if it == "stopped" || it.contains("bug in pipec"))
    }

    /// What is known not to be exact yet, where that is all that differs.
    ///
    /// In all of these both give the same as far as both go.
    fn unsettled(&self, other: &Self, text: &str) -> Option<&'static str> {
        let (a, b) = (&self.outputs, &other.outputs);
        let as_far = a.iter().zip(b).all(|(a, b)| a == b);
        if !as_far || other.is_bug() {
            return None;
        }
        match (&self.end, &other.end) {
            (End::Over(one), End::Over(two))
                if a.len() == b.len() && one.values().sum::<u64>() == two.values().sum::<u64>() =>
            {
                Some("of two faults of a record either is told")
            }
            // What is done after a window is not done ahead of it, and what is skipped is not done
            // at all (`SEMANTICS.md`, rewrites).
            (End::Failed(_), End::Failed(_)) if holds_or_drops(text) => {
                Some("a record that ends the run does so sooner or later")
            }
            (End::Over(_), End::Over(_)) if a.len() == b.len() && ends_early(text) => {
                Some("losses behind an early end are counted or not")
            }
            _ => None,
        }
    }

    /// The first difference to another run of the same program.
    fn difference(&self, other: &Self) -> Option<String> {
        if self == other {
            return None;
        }
        let pairs = self.outputs.iter().zip(&other.outputs);
        let at = pairs.take_while(|(a, b)| a == b).count();
        let shown = |it: &Self| match it.outputs.get(at) {
            Some(it) => format!("{it:?}"),
            None => format!("{:?}", it.end),
        };
        let fields: Vec<String> = self.fields.iter().map(ToString::to_string).collect();
        let same_fields = if self.fields == other.fields { "" } else { "other fields, " };
        let shown = (shown(other), shown(self));
        Some(format!(
            "{same_fields}output {at} of {{ {} }}:\n  {}\n  {}",
            fields.join(", "),
            shown.0,
            shown.1
        ))
    }
}

/// Whether an operator stands in the program past which a file is read later.
fn holds_or_drops(text: &str) -> bool {
    ["window", "skip(", "sample(", "join("].iter().any(|it| text.contains(it))
}

/// Whether the end of a stream may come before that of those it is made of.
fn ends_early(text: &str) -> bool {
    ["take(", "at_end: stop", "zip("].iter().any(|it| text.contains(it))
}

/// Stops a run that does not end.
struct Watch(Option<(mpsc::Sender<()>, thread::JoinHandle<()>)>);

impl Watch {
    fn over(stopper: runtime::Stopper) -> Self {
        let (ended, end) = mpsc::channel();
        let watch = thread::spawn(move || {
            if end.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                stopper.stop();
            }
        });
        Self(Some((ended, watch)))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some((ended, watch)) = self.0.take() {
            drop(ended);
            let _ = watch.join();
        }
    }
}
