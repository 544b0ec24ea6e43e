//! What a pipeline will do, for people: the steps in the order of the text, what each costs, what
//! bounds the rate, and what was rewritten.

mod again;
mod compare;
mod dot;
mod drawing;
mod figures;
mod filling;
mod forecast;
mod graph_text;
mod headline;
mod held;
mod html;
mod keeping;
mod long;
mod observed;
mod plan_text;
mod program_text;
mod rewrites;
mod short;
mod strategies;
mod table;

pub use again::{Beyond, TwoRanks};
pub use compare::{Comparison, SideFigures, WorkCompared};
pub use figures::time;
pub use filling::Filling;
pub use headline::Headline;
pub use observed::Observed;
pub use plan_text::plan_text;
pub use program_text::program_text;
pub use rewrites::Lowering;

use crate::{
    analysis::{
        role::{Role, batched, role, spans},
        size::is_of_assumed_length,
    },
    estimate::{CallEstimate, Estimate, Origin, Outlook, Strategies, View, outlook},
    lower::{Lowered, lower_known},
    passes::{Optimised, Refusal, Step},
    registry::Registry,
};
use plan::{Commas, Entry, Field, Index, Library, Op, OpId, OpKind, Plan, Property, Span, StageId};
use serde::Serialize;
use std::collections::BTreeSet;

/// All that `explain` shows; serialised, it is what `--json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// The pipeline's name.
    pub pipeline: String,
    /// How fast it is: as measured, where it was; as predicted.
    pub headline: Headline,
    /// The steps that are run, sources first; what a stream is made of stands before it.
    pub steps: Vec<Line>,
    /// The whole.
    pub estimate: Estimate,
    /// What was rewritten, and what was not and why.
    pub story: Vec<Step>,
    /// What was not tried, since a law forbids it.
    pub refused: Vec<Refusal>,
    /// What is done on the way to the program, whatever it is estimated to save.
    pub lowered: Vec<Lowering>,
    /// What is done again when a run is resumed.
    pub resume: String,
    /// Who does what where several runs share the work.
    pub ranks: Option<String>,
    /// What two runs that share the work get, where that is known.
    pub two_ranks: Option<TwoRanks>,
    /// What bounds it, and what would help.
    pub outlook: Option<Outlook>,
    /// Fields whose values are lists of which nobody knows how long they are.
    #[serde(skip)]
    pub assumed_lengths: Vec<String>,
    /// The streams that operators hold, with how much that is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<String>,
    /// How much of sequences and padded batches is padding, and the tokens in a second.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fillings: Vec<Filling>,
    /// The constants of streams that it needs, and how their values are known; whoever has compiled it knows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub constants: Vec<String>,
}

/// A step of the plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// Its stable name, such as `train.map#1`.
    pub step: String,
    /// The word that stands in the text: `map`, `files`.
    pub word: String,
    /// Where it is written: `aug.pipe:12:8`.
    pub place: String,
    /// How many streams around it are joined later.
    pub depth: usize,
    /// Under which name its stream is joined, where it is the last of one.
    pub stream: Option<String>,
    /// The type of the records that leave it, where others enter.
    pub record: Option<String>,
    /// What else is to be known, such as how far a shuffle moves records.
    pub note: Option<String>,
    /// The note in a few words, for the short form.
    #[serde(skip)]
    pub brief: Option<String>,
    /// Its place in the estimate's steps.
    pub estimate: usize,
    /// What it reads, by the places in the estimate's steps.
    pub inputs: Vec<usize>,
    /// What enters it, and so what its time is of.
    pub enters: Unit,
    /// What leaves it, and so what its size is of.
    pub leaves: Unit,
}

/// What is counted between two steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// What the source gives, or what has become of it.
    Record,
    /// What `batch` makes.
    Batch,
}

impl Unit {
    /// The word for it.
    fn word(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::Batch => "batch",
        }
    }

    /// A figure of a column whose head says that it is of a record.
    fn of(self, figure: String) -> String {
        match self {
            Self::Record => figure,
            Self::Batch => figure + "/batch",
        }
    }
}

/// Explains a plan. `label` says where a place of the text is: `aug.pipe:12:8`.
pub fn explain(
    optimised: &Optimised,
    library: &Library,
    label: &dyn Fn(Span) -> String,
    view: View,
) -> Explanation {
    let plan = &optimised.plan;
    let registry = Registry::new(*library);
    let lowered = lower_known(plan, &registry, &|_| String::new()).ok();
    let lanes = lowered.as_ref().map_or(Vec::new(), lanes);
    let batched = batched(plan, &registry);
    let mut lines = Lines { plan, registry, label, lanes, batched, all: Vec::new() };
    lines.stream(plan.root, 0);
    let outlook = outlook(plan, library, &optimised.estimate, view);
    let two_ranks = outlook.as_ref().and_then(|it| again::two_ranks(plan, library, it));
    let (held, held_bytes) =
        held::held(plan, &lines.registry, (&optimised.estimate, outlook.as_ref()));
    let mut estimate = optimised.estimate.clone();
    estimate.memory.held = estimate.memory.held + held_bytes;
    let headline = Headline::of(&optimised.estimate, outlook.as_ref());
    let outputs = headline.figure(headline.outputs_per_second);
    let fillings = filling::fillings(plan, &lines.registry, (&estimate, outputs));
    Explanation {
        pipeline: plan.name.clone(),
        headline,
        steps: lines.all,
        estimate,
        story: optimised.story.clone(),
        refused: optimised.refused.clone(),
        lowered: lowered.map_or(Vec::new(), |it| rewrites::lowerings(plan, &it)),
        resume: again::resumed(plan, &lines.registry),
        ranks: again::shared(plan, &lines.registry),
        two_ranks,
        outlook,
        assumed_lengths: assumed_lengths(plan, &optimised.estimate),
        held,
        fillings,
        constants: Vec::new(),
    }
}

/// The fields whose values are lists of assumed lengths, where the steps that make them were not measured.
fn assumed_lengths(plan: &Plan, estimate: &Estimate) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    if estimate.ns.origin != Origin::Assumed {
        return names;
    }
    for ((_, op), step) in plan.ops.iter().zip(&estimate.steps) {
        // What an operator puts together are the records that it takes, however many.
        if matches!(op.kind, OpKind::Operator { .. }) || step.bytes.origin != Origin::Assumed {
            continue;
        }
        let lists = op.output.iter().filter(|it| is_of_assumed_length(&it.ty));
        names.extend(lists.map(|it| it.name.clone()));
    }
    let mut seen = BTreeSet::new();
    names.retain(|it| seen.insert(it.clone()));
    names
}

impl Explanation {
    /// All of it as text of any width; lines end with `\n`. Nothing in it depends on where it is shown.
    #[must_use]
    pub fn text(&self) -> String {
        long::text(self)
    }

    /// What could be cached, as a table.
    #[must_use]
    pub fn strategies(&self, found: &Strategies) -> String {
        strategies::text(self, found)
    }

    /// The same as CSV.
    #[must_use]
    pub fn strategies_csv(&self, found: &Strategies) -> String {
        strategies::csv(self, found)
    }

    /// What could be cached as one HTML file that needs nothing else, with a picture for each number of epochs.
    #[must_use]
    pub fn strategies_html(&self, all: &[Strategies]) -> String {
        html::strategies_page(self, all)
    }

    /// The plan on one screen: how fast, what bounds it, what each step costs, what would help.
    #[must_use]
    pub fn short(&self) -> String {
        short::text(self)
    }

    /// What was rewritten, and what was not and why, with the law of each; lines end with `\n`.
    #[must_use]
    pub fn rewrites(&self) -> String {
        rewrites::text(self)
    }

    /// As a graph for Graphviz: a node for each step, an edge for each stream.
    #[must_use]
    pub fn dot(&self) -> String {
        dot::dot(self)
    }

    /// As one HTML file that needs nothing else, with what was measured where it was.
    #[must_use]
    pub fn html(&self, observed: Option<&Observed<'_>>) -> String {
        html::page(self, observed)
    }
}

/// The dearest calls of a step: those of at least a hundredth of the pipeline's time.
fn dear_calls(explanation: &Explanation, step: usize) -> Vec<&CallEstimate> {
    let step = &explanation.estimate.steps[step];
    let dear = step.calls.iter().filter(|it| it.share * step.share >= 0.01);
    // A step that is one call says it all by itself.
    if step.calls.len() > 1 { dear.collect() } else { Vec::new() }
}

struct Lines<'a> {
    plan: &'a Plan,
    registry: Registry,
    label: &'a dyn Fn(Span) -> String,
    /// For each operator that goes through in lanes how many, and for what is dealt from them.
    lanes: Vec<InLanes>,
    /// For each operator whether batches leave it.
    batched: Vec<bool>,
    all: Vec<Line>,
}

/// What an operator has to do with lanes.
#[derive(Clone, Copy)]
enum InLanes {
    /// Nothing.
    None,
    /// Each of so many goes through it alone.
    Alone(u32),
    /// It is the first that they go through together, in turn.
    Dealt(u32),
}

/// What each operator has to do with lanes.
fn lanes(lowered: &Lowered) -> Vec<InLanes> {
    let Lowered { program, stages_of, .. } = lowered;
    let mut found = vec![InLanes::None; stages_of.len()];
    for lanes in &program.lanes {
        let alone = lanes.stages(&program.stages);
        for (id, stages) in stages_of.iter() {
            let reads = |it: &StageId| program.stages[*it].inputs.contains(&lanes.stage);
            if stages.iter().any(|it| alone.contains(it)) {
                found[id.row()] = InLanes::Alone(lanes.count);
            } else if stages.iter().any(reads) {
                found[id.row()] = InLanes::Dealt(lanes.count);
            }
        }
    }
    found
}

impl Lines<'_> {
    /// The steps of the stream that leaves `root`. Long chains do not nest.
    fn stream(&mut self, root: OpId, depth: usize) {
        let mut chain = vec![root];
        while let [input] = self.plan.ops[chain[chain.len() - 1]].inputs[..] {
            chain.push(input);
        }
        for id in chain.into_iter().rev() {
            let op = &self.plan.ops[id];
            if op.inputs.len() > 1 {
                self.joined(op, depth + 1);
            }
            self.line(id, op, depth);
        }
    }

    fn joined(&mut self, op: &Op, depth: usize) {
        let OpKind::Operator { names, .. } = &op.kind else { return };
        for (i, &input) in op.inputs.iter().enumerate() {
            self.stream(input, depth);
            let name = names.get(i).cloned().unwrap_or_else(|| format!("stream {}", i + 1));
            if let Some(last) = self.all.last_mut() {
                last.stream = Some(name);
            }
        }
    }

    fn line(&mut self, id: OpId, op: &Op, depth: usize) {
        self.all.push(Line {
            step: op.step.clone(),
            word: word(op),
            place: (self.label)(op.at),
            depth,
            stream: None,
            record: self.changes(op).then(|| self.record(&op.output)),
            note: self.notes(id, op),
            brief: self.brief(id, op),
            estimate: id.row(),
            inputs: op.inputs.iter().map(|it| it.row()).collect(),
            enters: op.inputs.first().map_or(Unit::Record, |it| self.leaves(*it)),
            leaves: self.leaves(id),
        });
    }

    /// Fields in braces, as the program calls them: without those that the compiler has added.
    fn record(&self, fields: &[Field]) -> String {
        let sources = self.plan.ops.rows().iter().filter_map(|it| match &it.kind {
            OpKind::Source { entry, .. } => self.registry.source(entry),
            OpKind::Operator { entry, .. } => self.registry.operator(entry),
            _ => None,
        });
        let sources: Vec<&Entry> = sources.collect();
        let is_added = |name: &str| {
            let mut properties = sources.iter().flat_map(|it| it.properties);
            properties.any(|it| match it {
                Property::TypedColumns(it) => [it.rest, it.known].contains(&name),
                Property::Faulty(it) => [it.field, it.known].contains(&name),
                Property::Keeps(it) => *it == name,
                _ => false,
            })
        };
        let written = |name: &str| {
            let mut typed = sources.iter().filter_map(|it| it.typed_columns());
            let path = typed.find_map(|it| Some((it.field, name.strip_prefix(it.field)?)));
            let (field, path) = path.filter(|it| it.1.starts_with('/'))?;
            let members = path[1..].split('/').map(|it| it.replace("~1", "/").replace("~0", "~"));
            Some(members.fold(field.to_owned(), |all, it| format!("{all}[\"{it}\"]")))
        };
        let shown = fields.iter().filter(|it| !is_added(&it.name)).map(|it| {
            let name = written(&it.name).unwrap_or_else(|| it.name.clone());
            Field { name, ty: it.ty.clone() }
        });
        format!("{{ {} }}", Commas(&shown.collect::<Vec<_>>()))
    }

    fn leaves(&self, id: OpId) -> Unit {
        if self.batched[id.row()] { Unit::Batch } else { Unit::Record }
    }

    /// Whether records leave that are others than those that enter.
    fn changes(&self, op: &Op) -> bool {
        op.inputs.first().is_none_or(|it| self.plan.ops[*it].output != op.output)
    }

    /// All that is to be known of a step.
    fn notes(&self, id: OpId, op: &Op) -> Option<String> {
        let lanes = match self.lanes.get(id.row()) {
            Some(InLanes::Alone(n)) => Some(format!("in each of {n} lanes separately")),
            Some(InLanes::Dealt(n)) => Some(format!("from {n} lanes in turn")),
            Some(InLanes::None) | None => None,
        };
        let notes: Vec<String> = lanes.into_iter().chain(self.note(op)).collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }

    /// What the short form says of a step that hands its records on as they are.
    fn brief(&self, id: OpId, op: &Op) -> Option<String> {
        let lanes = match self.lanes.get(id.row()) {
            Some(InLanes::Alone(n)) => Some(format!("each of {n} lanes separately")),
            Some(InLanes::Dealt(n)) => Some(format!("from {n} lanes in turn")),
            Some(InLanes::None) | None => None,
        };
        let own = match role(op, &self.registry) {
            Role::Permute => Some("permutation of the index, no buffer".to_owned()),
            Role::ShuffleWithin(n) => Some(match spans(op, &self.registry) {
                Some(open) => format!("buffer of {n} records, from {open} files at a time"),
                None => format!("buffer of {n} records"),
            }),
            Role::Accompany(n) => Some(format!("buffer of {n} records")),
            Role::Repeat(None) => Some("endless".to_owned()),
            Role::Repeat(Some(n)) => Some(format!("{n} passes")),
            _ => None,
        };
        let all: Vec<String> = own.into_iter().chain(lanes).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    fn note(&self, op: &Op) -> Option<String> {
        Some(match role(op, &self.registry) {
            Role::Permute => "permutation of the index: a record moves by a third of the data set \
                              on average, no buffer"
                .to_owned(),
            Role::ShuffleWithin(n) => {
                format!("a record moves by {} positions on average, and by less than {n}", n / 3)
            }
            Role::Repeat(None) => "repeats its source forever".to_owned(),
            Role::Repeat(Some(n)) => format!("{n} passes over its source"),
            _ => return None,
        })
    }
}

/// The word of a step as it stands in the text.
fn word(op: &Op) -> String {
    match &op.kind {
        OpKind::Source { entry, .. } | OpKind::Operator { entry, .. } => entry.clone(),
        OpKind::Map { .. } => step_word(&op.step).unwrap_or("map").to_owned(),
        OpKind::Where { .. } => "where".to_owned(),
        OpKind::FlatMap { .. } => "flat_map".to_owned(),
    }
}

/// `with` and `map` are one in a plan; the step's name tells them apart.
fn step_word(step: &str) -> Option<&str> {
    step.rsplit('.').next()?.split('#').next().filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests;
