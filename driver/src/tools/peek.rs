//! The records after each step of a pipeline, as it is written.
//!
//! For each step the part of the plan that ends there is run with one worker, and its first records
//! are looked at. A record that fails is named at the step where it failed, and the rest goes on.

mod follow;
mod reading;
mod text;
mod value;

pub use follow::{Followed, What, follow};
pub use text::{followed_text, text};
pub(crate) use value::number;
pub use value::{Range, Value};

use self::reading::{Reading, readings};
use crate::{
    session::{
        classes,
        compiled::Compiled,
        machine,
        place::{Place, place},
        samples::SampleProgress,
    },
    tools::cut::{self, Faults, Flow, Way},
};
use plan::{Expr, Field, OpId, OpKind, Otherwise, Plan, Policy, mix};
use runtime::{Chunk, Failure, LostRecord};
use serde::Serialize;
use std::collections::BTreeMap;

/// What is looked at.
#[derive(Debug, Clone)]
pub struct PeekOptions {
    /// Records after each step; of batches one, unless a step is asked for.
    pub records: usize,
    /// All that is random follows from it.
    pub seed: u64,
    /// The epoch, from 0.
    pub epoch: u32,
    /// The only step that is looked at, as [`step_named`] gives it.
    pub at: Option<String>,
    /// Bytes that a run may take.
    pub memory: u64,
    /// Whether they are for the whole process, which does little else.
    pub whole_process: bool,
}

impl Default for PeekOptions {
    /// Four records after each step, seed 0, epoch 0.
    fn default() -> Self {
        let memory = machine::default_memory();
        Self { records: 4, seed: 0, epoch: 0, at: None, memory, whole_process: false }
    }
}

/// What leaves a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepPeek {
    /// The step's stable name.
    pub step: String,
    /// Where it is written; none where that is in the library.
    pub place: Option<Place>,
    /// The fields that leave it.
    pub fields: Vec<FieldPeek>,
    /// Whether each record is a batch.
    pub batched: bool,
    /// The first records, and those that failed on the way to them, in order.
    pub records: Vec<Seen>,
    /// Records that a `where` let go on the way to these.
    pub filtered: u64,
    /// Whether these are all that there are.
    pub whole: bool,
}

/// What leaves a step, with the records themselves.
pub struct Looked<'a> {
    /// What is told of them.
    pub peek: StepPeek,
    /// Their fields.
    pub fields: &'a [Field],
    /// Those that leave, one in each.
    pub records: &'a [Chunk],
}

/// A field of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldPeek {
    /// Its name.
    pub name: String,
    /// Its type, as it is written in the language.
    #[serde(rename = "type")]
    pub ty: String,
    /// Of a label: the names of its classes, in the order of their numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
}

/// A record at a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum Seen {
    /// It leaves the step.
    Record {
        /// Its id, 16 digits.
        id: String,
        /// One for each field.
        values: Vec<Value>,
        /// Whether it takes the place of one that failed.
        in_place: bool,
    },
    /// It failed in the step.
    Failed(Lost),
}

/// A record that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lost {
    /// Its id, 16 digits.
    pub id: String,
    /// As a person would name it.
    pub record: String,
    /// The file that could not be used, where that is another one than `record`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The stable name of what happened.
    pub code: String,
    /// What was found.
    pub detail: String,
}

impl Lost {
    pub(crate) fn of(it: &LostRecord) -> Self {
        Self {
            id: id_text(it.id),
            record: it.record.clone(),
            file: it.fault.file.as_deref().map(str::to_owned),
            code: it.fault.code.to_owned(),
            detail: it.fault.reason().into_owned(),
        }
    }
}

/// An id as it is shown.
pub(crate) fn id_text(id: u64) -> String {
    format!("{id:016x}")
}

/// The steps of a pipeline, in order.
pub fn step_names(compiled: &Compiled) -> Vec<String> {
    let plan = &compiled.written;
    let shown = cut::shown_steps(plan).into_iter();
    shown.map(|it| cut::shown_name(&plan.ops[it]).to_owned()).collect()
}

/// The step that `name` means: all of its name, or the end of it, such as `map#1`.
///
/// # Errors
/// What to say where there is none, or several: the message and the help.
pub fn step_named(compiled: &Compiled, name: &str) -> Result<String, (String, String)> {
    let all = step_names(compiled);
    let ends = |it: &&String| {
        let dotted = |end: &str| it.strip_suffix(end).is_some_and(|head| head.ends_with('.'));
        *it == name || dotted(name) || (!name.contains('#') && dotted(&format!("{name}#1")))
    };
    let found: Vec<&String> = all.iter().filter(ends).collect();
    match found[..] {
        [one] => Ok(one.clone()),
        [] => {
            let near = all.iter().filter_map(|it| Some((unlike(name, it)?, it))).min();
            let meant = near.map_or(String::new(), |it| format!("did you mean `{}`? ", it.1));
            let message = format!("`{}` has no step `{name}`", compiled.written.name);
            Err((message, format!("{meant}the steps are {}", all.join(", "))))
        }
        _ => {
            let found: Vec<&str> = found.into_iter().map(String::as_str).collect();
            let message = format!("several steps are named `{name}`");
            Err((message, format!("they are {}", found.join(", "))))
        }
    }
}

/// How unlike a name is to a step's, or to the end of it, where it is near enough.
fn unlike(name: &str, step: &str) -> Option<usize> {
    let ends = step.char_indices().filter(|it| it.1 == '.').map(|it| &step[it.0 + 1..]);
    let all = ends.chain([step]).flat_map(|it| [it, it.split('#').next().unwrap_or(it)]);
    all.filter_map(|it| plan::unlike(name, it)).min()
}

/// Looks at each step, in order, and tells `visit` what leaves it, with the records themselves.
///
/// # Errors
/// What ended the run of a step; those before it have been told.
pub fn peek(
    compiled: &Compiled,
    options: &PeekOptions,
    sample: &mut dyn FnMut(&SampleProgress),
    visit: &mut dyn FnMut(Looked<'_>),
) -> Result<(), Failure> {
    let plan = &compiled.written;
    let mut looking = Looking { compiled, options, sample };
    for op in cut::shown_steps(plan) {
        if options.at.as_ref().is_none_or(|it| it == cut::shown_name(&plan.ops[op])) {
            let (peek, records) = looking.step(op)?;
            visit(Looked { peek, fields: &plan.ops[op].output, records: &records });
        }
    }
    Ok(())
}

struct Looking<'a> {
    compiled: &'a Compiled,
    options: &'a PeekOptions,
    sample: &'a mut dyn FnMut(&SampleProgress),
}

/// What has come out of a step.
struct Out {
    records: Vec<Chunk>,
    lost: Vec<LostRecord>,
    whole: bool,
}

impl Looking<'_> {
    fn step(&mut self, id: OpId) -> Result<(StepPeek, Vec<Chunk>), Failure> {
        let plan = &self.compiled.written;
        let op = &plan.ops[id];
        let part = cut::at(plan, id);
        let program = cut::program(&part, Faults::AsWritten, self.compiled)?;
        let n = if program.batched && self.options.at.is_none() { 1 } else { self.options.records };
        let out = Out::of(&mut self.way().start(&program, self.sample)?, n, &op.step)?;

        let mut peek = StepPeek {
            step: cut::shown_name(op).to_owned(),
            place: place(&self.compiled.files, op.at),
            fields: self.fields(&part),
            batched: program.batched,
            records: Vec::new(),
            filtered: 0,
            whole: out.whole,
        };
        let read = readings(&part);
        let gone = matches!(op.kind, OpKind::Where { .. }) || !out.lost.is_empty();
        if gone && is_record_wise(plan, id) {
            let input =
                cut::program(&cut::at(plan, op.inputs[0]), Faults::AsWritten, self.compiled)?;
            let flow = self.way().start(&input, self.sample)?;
            Beside::new((&out, &read), replaces(plan, id), n).walk(flow, &mut peek)?;
        } else {
            let seen = |it: &Chunk| Seen::record(it, &read, false);
            peek.records = out.records.iter().map(seen).collect();
        }
        Ok((peek, out.records))
    }

    /// The fields that leave a part, with the classes of labels.
    fn fields(&self, part: &Plan) -> Vec<FieldPeek> {
        let mut fields: Vec<_> = part.ops[part.root].output.iter().map(FieldPeek::of).collect();
        for (name, classes) in classes::of_fields(part) {
            fields
                .iter_mut()
                .filter(|it| it.name == name)
                .for_each(|it| it.classes = classes.clone());
        }
        fields
    }

    fn way(&self) -> Way {
        let PeekOptions { seed, epoch, memory, whole_process, .. } = *self.options;
        Way { seed, epoch, memory, whole_process, workers: 1, chunk_rows: Some(1) }
    }
}

/// Whether what leaves `op` depends on each record alone.
pub(crate) fn is_record_wise(plan: &Plan, op: OpId) -> bool {
    let kind = &plan.ops[op].kind;
    matches!(kind, OpKind::Map { .. } | OpKind::Where { .. } | OpKind::FlatMap { .. })
}

/// Whether another record may take the place of one that fails in `op`.
fn replaces(plan: &Plan, op: OpId) -> bool {
    let op = &plan.ops[op];
    let another = |it: &Policy| matches!(it, Policy::Another { .. });
    let says = |it: &Expr| match it {
        Expr::Else { otherwise: Otherwise::Policy(it), .. } => another(it),
        _ => false,
    };
    another(&op.on_fault) || op.graph.iter().any(|it| says(it.1))
}

impl Out {
    fn of(flow: &mut Flow, n: usize, step: &str) -> Result<Self, Failure> {
        let mut records = Vec::new();
        while records.len() < n
            && let Some(record) = flow.record()?
        {
            records.push(record);
        }
        let whole = records.len() < n;
        let lost = flow.take_lost().into_iter().filter(|it| &*it.label == step).collect();
        Ok(Self { records, lost, whole })
    }
}

/// What comes out of a step beside what goes in, so that it is known where records went.
struct Beside<'a> {
    out: &'a Out,
    /// How its fields are read.
    readings: &'a [Option<Reading>],
    lost: BTreeMap<u64, &'a LostRecord>,
    replaces: bool,
    /// Records that failed, and whose places may still be taken.
    unreplaced: usize,
    /// Failures that are named.
    named: usize,
    /// Records of `out` that have been told.
    told: usize,
}

impl<'a> Beside<'a> {
    fn new(
        (out, readings): (&'a Out, &'a [Option<Reading>]),
        replaces: bool,
        named: usize,
    ) -> Self {
        let lost = out.lost.iter().map(|it| (it.id, it)).collect();
        Self { out, readings, lost, replaces, unreplaced: 0, named, told: 0 }
    }

    fn walk(mut self, mut input: Flow, peek: &mut StepPeek) -> Result<(), Failure> {
        while self.told < self.out.records.len() || self.out.whole && self.named > 0 {
            let Some(record) = input.record()? else { break };
            self.record(record.ids()[0], peek);
        }
        (self.told..self.out.records.len()).for_each(|_| self.tell(peek, true));
        Ok(())
    }

    fn record(&mut self, id: u64, peek: &mut StepPeek) {
        if let Some(lost) = self.lost.get(&id) {
            self.unreplaced += usize::from(self.replaces);
            if self.named > 0 {
                self.named -= 1;
                peek.records.push(Seen::Failed(Lost::of(lost)));
            }
            return;
        }
        while self.unreplaced > 0 && self.next().is_some_and(|it| it != id && it != mix(id, 0)) {
            self.tell(peek, true);
            self.unreplaced -= 1;
        }
        let before = self.told;
        for copy in 0.. {
            match self.next() {
                Some(next) if next == id || next == mix(id, copy) => self.tell(peek, false),
                _ => break,
            }
        }
        if self.told == before && !self.all_told() {
            peek.filtered += 1;
        }
    }

    /// Whether the first records have been told, so that nothing is known of what comes.
    fn all_told(&self) -> bool {
        self.told == self.out.records.len() && !self.out.whole
    }

    fn next(&self) -> Option<u64> {
        self.out.records.get(self.told).map(|it| it.ids()[0])
    }

    fn tell(&mut self, peek: &mut StepPeek, in_place: bool) {
        if let Some(record) = self.out.records.get(self.told) {
            peek.records.push(Seen::record(record, self.readings, in_place));
            self.told += 1;
        }
    }
}

impl FieldPeek {
    pub(crate) fn of(field: &Field) -> Self {
        Self { name: field.name.clone(), ty: field.ty.to_string(), classes: Vec::new() }
    }
}

impl Seen {
    /// The first record of a chunk, whose fields are read so.
    pub(crate) fn record(chunk: &Chunk, readings: &[Option<Reading>], in_place: bool) -> Self {
        let values = chunk.columns.iter().zip(readings);
        let values = values.map(|(it, reading)| Value::of(&it.row(0)).read(&it.row(0), reading));
        Self::Record { id: id_text(chunk.ids()[0]), values: values.collect(), in_place }
    }
}
