//! Values that could be kept from epoch to epoch: pure functions of what says which record it is.
//!
//! A value may be kept if nothing in it is drawn, and nothing depends on the epoch; it stands under
//! the columns that it is made of. What was read from a file stands under the file's name, so that
//! the file need not be read again.

mod choose;
mod codecs;
mod streams;

pub use choose::{Budget, Choice, Disk, Form, Occasion, Pin, PinnedBy, Tier};
pub(crate) use choose::{PLAIN, SHARE_MIN};
pub(crate) use codecs::codecs;

use crate::{
    analysis::{
        cost::Prices,
        flow::flows,
        live::{live, live_columns, output_roots},
    },
    lower::{Lowered, lower_known},
    registry::Registry,
};
use model::{Figure, Origin};
use plan::{
    Code, CodecFigures, Diagnostic, Expr, ExprId, Graph, IdVec, Index, Library, Measured, OpId,
    OpKind, Otherwise, Plan, Property, Records, StageId, StageMeasured, Transform, called, hash,
    parts::{self, Keep},
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt::Write};
use streams::{Known, Stream, drawn};

/// A value that could be kept, or one that cannot, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The step that computes it.
    pub step: String,
    /// The function whose result it is, or what an index is called.
    pub function: String,
    /// The stage that computes it.
    pub stage: StageId,
    /// The value, in the stage's graph.
    pub node: ExprId,
    /// What of it is kept.
    pub keep: Keep,
    /// The columns of the stage's input that it stands under.
    pub key: Vec<u32>,
    /// A hash of how it is computed, with the versions of the functions.
    pub name: u64,
    /// What need not be computed where it is known.
    pub spares: Vec<Spare>,
    /// Bytes of one.
    pub bytes: Figure,
    /// Processor time that it saves a record that comes to its stage, in nanoseconds.
    pub saves: Figure,
    /// The same by step, for each record that enters the step; with the reading that it spares.
    pub parts: Vec<Part>,
    /// Processor time to make it in the first epoch, besides that of the value, in nanoseconds.
    pub fill_ns: f64,
    /// Values for each record that comes to its stage: fewer than one where a filter stands before.
    pub made: f64,
    /// The sources of its records, with the values for each record of one.
    pub sources: Vec<(StageId, f64)>,
    /// Values at the most, whatever the sources have.
    pub most: Option<f64>,
    /// Whether it is what a file holds, as it came: reading that is all that it spares.
    #[serde(default)]
    pub reads: bool,
    /// Whether the files that it is read from are those that the sources list, or there are none:
    /// then it is seen when they have changed.
    pub listed: bool,
    /// Why it cannot be kept.
    pub refused: Option<String>,
    /// What codecs were measured to do to it; none where that was not measured.
    #[serde(default)]
    pub codecs: Vec<CodecFigures>,
}

impl Candidate {
    /// What it is called in a lock: `train.map#1.decode_jpeg`.
    pub fn value_name(&self) -> String {
        format!("{}.{}", self.step, self.function)
    }

    /// Whether not both are kept: of a stage one value is, and files or what is made of them.
    pub fn excludes(&self, other: &Self) -> bool {
        let reads_for = |of: &Self, it: &Self| {
            of.reads && it.spares.iter().any(|spare| spare.stage == of.stage)
        };
        self.stage == other.stage || reads_for(self, other) || reads_for(other, self)
    }

    /// The same; refused where it stands under nothing.
    fn checked(mut self) -> Self {
        if self.refused.is_none() && self.key.is_empty() {
            self.refused = Some("it is the same for every record".to_owned());
        }
        self
    }

    /// How many there are, with so many records of each source; none where one is not known.
    fn values(&self, pass_lens: &BTreeMap<StageId, u64>) -> Option<u64> {
        let of = |(source, each): &(StageId, f64)| Some(*pass_lens.get(source)? as f64 * each);
        let all = self.sources.iter().map(of).sum::<Option<f64>>();
        let found = all.into_iter().chain(self.most).reduce(f64::min);
        // As many as there are of whole ones; what is whole but for rounding stays.
        found.map(|it| (it - 1e-6).ceil().max(0.0) as u64)
    }
}

/// What a kept value spares one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The step.
    pub step: String,
    /// Processor time, in nanoseconds.
    pub ns: f64,
}

/// A value of a stage before, which is read from a file for the kept value alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spare {
    /// The stage.
    pub stage: StageId,
    /// The value, in its graph.
    pub node: ExprId,
    /// The columns of its input with the key of the kept value.
    pub key: Vec<u32>,
    /// The column in which it comes to the kept value's stage.
    pub column: u32,
    /// The step that reads it.
    pub step: String,
}

/// Nanoseconds below which nothing is worth keeping: to find it costs about as much.
pub const SAVES_MIN: f64 = 2_000.0;

/// The values of the program of `plan` that save at least so many nanoseconds a record, in the
/// order of its stages.
///
/// # Errors
/// What cannot be run as it is written.
pub fn candidates(
    plan: &Plan,
    library: &Library,
    (measured, least): (Option<&Measured>, f64),
) -> Result<Vec<Candidate>, Vec<Diagnostic>> {
    let registry = Registry::new(*library);
    let lowered = lower_known(plan, &registry, &|_| String::new())?;
    let stages = &lowered.program.stages;
    let flows = flows(stages, &registry);
    let streams = Known { stages, flows: &flows, registry: &registry, measured }.streams();
    let mut costs: IdVec<StageId, Option<Costs<'_>>> = IdVec::new();
    for (id, stage) in stages.iter() {
        let Code::Transform(transform) = &stage.code else {
            costs.push(None);
            continue;
        };
        let prices = Prices::new(&transform.graph, &flows[stage.inputs[0]].columns, &registry);
        let measured = measured.and_then(|it| it.stages.get(id.row()));
        costs.push(Some(Costs { prices, measured, roots: roots(transform) }));
    }
    let known = &Program { plan, lowered: &lowered, registry: &registry, costs, streams };
    let mut all = Vec::new();
    for (id, stage) in stages.iter() {
        if let Code::Transform(transform) = &stage.code
            && !transform.vector
            && !transform.clean_vector
        {
            let site = Site { known, id, transform, least };
            all.extend(if transform.reads { site.files() } else { site.candidates() });
        }
    }
    Ok(all)
}

/// A program with all that is known of it.
struct Program<'a> {
    plan: &'a Plan,
    lowered: &'a Lowered,
    registry: &'a Registry,
    /// What the values of each transform cost.
    costs: IdVec<StageId, Option<Costs<'a>>>,
    /// The records that leave each stage.
    streams: IdVec<StageId, Stream>,
}

/// Every value that a transform is asked for.
fn roots(transform: &Transform) -> Vec<ExprId> {
    transform.filters.iter().copied().chain(output_roots(&transform.outputs)).collect()
}

/// A stage that is looked at.
struct Site<'a> {
    known: &'a Program<'a>,
    id: StageId,
    transform: &'a Transform,
    /// Nanoseconds that a value has to save.
    least: f64,
}

/// What the values of a stage cost.
struct Costs<'a> {
    prices: Prices<'a>,
    measured: Option<&'a StageMeasured>,
    roots: Vec<ExprId>,
}

/// A stage before, which only reads.
struct Reading<'a> {
    id: StageId,
    graph: &'a Graph,
    outputs: &'a [ExprId],
}

impl Costs<'_> {
    /// Nanoseconds of each value for each record that enters, without what it needs.
    fn each(&self) -> (Vec<f64>, Origin) {
        let nodes = self.prices.graph.iter().map(|(id, ..)| id);
        if let Some(measured) = self.measured.filter(|it| it.timed > 0) {
            let ns = |id: ExprId| measured.call_ns(id.0).unwrap_or(0.0);
            return (nodes.map(ns).collect(), Origin::Measured);
        }
        let times = self.prices.times(&self.roots);
        let ns = |id: ExprId| times[id.row()] * self.prices.node(id);
        (nodes.map(ns).collect(), Origin::Assumed)
    }

    fn bytes(&self, id: ExprId) -> Figure {
        let found = self.measured.and_then(|it| it.call_bytes(id.0));
        match found {
            Some(value) => Figure { value, origin: Origin::Measured },
            None => self.prices.sizes[id],
        }
    }
}

impl Site<'_> {
    fn candidates(&self) -> Vec<Candidate> {
        let graph = &self.transform.graph;
        let Some(costs) = &self.known.costs[self.id] else { return Vec::new() };
        let (each, origin) = costs.each();
        let needed = live(graph, &costs.roots, &[]);
        let mut all = Vec::new();
        for (id, expr, _) in graph.iter().filter(|(id, ..)| needed[id.row()]) {
            let Expr::Call { function, args, .. } = expr else { continue };
            let without = live(graph, &costs.roots, &[id]);
            let spared = |it: &usize| needed[*it] && (*it == id.row() || !without[*it]);
            let spared: Vec<usize> = (0..graph.len()).filter(spared).collect();
            let value: f64 = spared.iter().map(|it| each[*it]).sum();
            if value < self.least || self.known.registry.reads(function) {
                continue;
            }
            let saves = Figure { value, origin };
            let name = called(function, args);
            let mut candidate = self.candidate((id, &name), (saves, costs.bytes(id)), &without);
            candidate.parts = self.known.parts(self.id, &spared);
            for spare in &candidate.spares {
                candidate.parts.extend(self.known.reading(spare));
            }
            all.push(candidate);
        }
        all.extend(costs.prices.parts.iter().filter_map(|it| self.index(it, &each, origin)));
        all
    }

    /// What is read from files, by a stage that does nothing else. It takes processor time as well to find what is kept:
    /// none is saved.
    fn files(&self) -> Vec<Candidate> {
        let graph = &self.transform.graph;
        let Some(costs) = &self.known.costs[self.id] else { return Vec::new() };
        let needed = live(graph, &costs.roots, &[]);
        let file = |(id, expr, ty): (ExprId, &Expr, &plan::Type)| {
            let Expr::Call { function, args, .. } = expr else { return None };
            let reads = needed[id.row()] && self.known.registry.reads(function);
            if !reads || !ty.dtype().is_some_and(plan::DType::is_text) {
                return None;
            }
            let figures = (Figure::exact(0.0), costs.bytes(id));
            let mut candidate = self.begin((id, &called(function, args)), figures);
            candidate.reads = true;
            candidate.listed = self.reads_listed((self.id, graph), id);
            candidate.key = live_columns(graph, &live(graph, &[id], &[])).into_keys().collect();
            candidate.name = hash(written(graph, id, self.known.registry).as_bytes());
            Some(candidate.checked())
        };
        graph.iter().filter_map(file).collect()
    }

    /// The index of what a value is made of, of which a part is used. It stands under what that holds:
    /// it is small, and the file is read in any case.
    fn index(&self, site: &parts::Site, each: &[f64], origin: Origin) -> Option<Candidate> {
        let (graph, costs) = (&self.transform.graph, self.known.costs[self.id].as_ref()?);
        let (index, node) = (site.fused.index?, site.whole);
        let value = each[node.row()] * index.saves;
        let from = costs.bytes(site.from);
        let bytes = Figure { value: from.value * index.bytes_per_in, origin: Origin::Assumed };
        let saves = Figure { value, origin: origin.max(Origin::Assumed) };
        if value < self.least {
            return None;
        }
        let mut candidate = self.begin((node, index.name), (saves, bytes));
        candidate.keep = Keep::Index;
        candidate.fill_ns = each[node.row()] * index.takes;
        let mut parts = self.known.parts(self.id, &[node.row()]);
        parts.iter_mut().for_each(|it| it.ns *= index.saves);
        candidate.parts = parts;
        candidate.key = live_columns(graph, &live(graph, &[node], &[])).into_keys().collect();
        let written = written(graph, site.from, self.known.registry);
        candidate.name = hash(format!("{} v{}: {written}", index.name, index.version).as_bytes());
        Some(candidate.checked())
    }

    fn candidate(
        &self,
        (node, function): (ExprId, &str),
        figures: (Figure, Figure),
        without: &[bool],
    ) -> Candidate {
        let mut candidate = self.begin((node, function), figures);
        if candidate.refused.is_none() {
            let mut name = written(&self.transform.graph, node, self.known.registry);
            self.keys(&mut candidate, without, &mut name);
            candidate.name = hash(name.as_bytes());
        }
        candidate.checked()
    }

    /// A candidate before it is known under what it stands.
    fn begin(
        &self,
        (node, function): (ExprId, &str),
        (saves, bytes): (Figure, Figure),
    ) -> Candidate {
        let graph = &self.transform.graph;
        let stream = &self.known.streams[self.input()];
        let columns = &stream.columns;
        let mut candidate = Candidate {
            step: self.known.step_of(self.id, node),
            function: function.to_owned(),
            stage: self.id,
            node,
            keep: Keep::Value,
            key: Vec::new(),
            name: 0,
            spares: Vec::new(),
            bytes,
            saves,
            parts: Vec::new(),
            fill_ns: 0.0,
            reads: false,
            made: self.made(node),
            sources: stream.sources.clone(),
            most: stream.most,
            listed: true,
            refused: impure(graph, node, (columns, self.known.registry)),
            codecs: Vec::new(),
        };
        candidate.sources.iter_mut().for_each(|it| it.1 *= candidate.made);
        candidate.most = candidate.most.map(|it| it * candidate.made);
        candidate
    }

    /// The stage whose records come in.
    fn input(&self) -> StageId {
        self.known.lowered.program.stages[self.id].inputs[0]
    }

    /// Values for each record that comes in: those that a filter lets go have none, unless the
    /// filter asks for it, or lets others go in each epoch.
    fn made(&self, node: ExprId) -> f64 {
        let filters = &self.transform.filters;
        let columns = &self.known.streams[self.input()].columns;
        let drawn = drawn(&self.transform.graph, filters, (columns, self.known.registry));
        let asked = drawn.is_some() || live(&self.transform.graph, filters, &[])[node.row()];
        let measured = self.known.costs[self.id].as_ref().and_then(|it| it.measured);
        match measured.filter(|it| it.entered > 0 && !filters.is_empty() && !asked) {
            Some(it) => (it.left as f64 / it.entered as f64).min(1.0),
            None => 1.0,
        }
    }

    /// Says under what a value stands, and what need not be read where it is known.
    fn keys(&self, candidate: &mut Candidate, without: &[bool], name: &mut String) {
        let graph = &self.transform.graph;
        let parts = live_columns(graph, &live(graph, &[candidate.node], &[]));
        let reading = self.reading();
        for (column, id) in parts {
            let read = reading.as_ref().and_then(|it| it.names_of(column, self.known.registry));
            let Some(names) = read else {
                candidate.key.push(column);
                continue;
            };
            let Some(Reading { id: stage, graph, outputs }) = &reading else { continue };
            let node = outputs[column as usize];
            let _ = write!(name, "{column} = {};", written(graph, node, self.known.registry));
            candidate.key.extend(names.iter().map(|it| it.1));
            candidate.listed &= self.reads_listed((*stage, graph), node);
            if !without[id.row()] {
                let key = names.iter().map(|it| it.0).collect();
                let step = self.known.step_of(*stage, node);
                candidate.spares.push(Spare { stage: *stage, node, key, column, step });
            }
        }
        // What a file holds is known by the names of all that is read for it, or not at all.
        if candidate.spares.len() > 1 {
            candidate.spares.clear();
        }
        let own: Vec<u32> = candidate.spares.iter().flat_map(|it| it.key.clone()).collect();
        if own.len() != candidate.key.len() {
            candidate.spares.clear();
        }
    }

    /// Whether a value of a stage that reads is read from nothing but the files of the source.
    fn reads_listed(&self, (stage, graph): (StageId, &Graph), node: ExprId) -> bool {
        let live = live(graph, &[node], &[]);
        let mut calls = 0;
        let mut columns = Vec::new();
        for (_, expr, _) in graph.iter().filter(|(id, ..)| live[id.row()]) {
            match expr {
                Expr::Call { .. } => calls += 1,
                Expr::Column(i) => columns.push(*i),
                // What becomes of a record that fails changes no value that does not.
                Expr::Const(_) | Expr::Else { otherwise: Otherwise::Policy(_), .. } => {}
                _ => return false,
            }
        }
        let input = self.known.lowered.program.stages[stage].inputs[0];
        calls == 1 && matches!(columns[..], [it] if self.is_path((input, it)))
    }

    /// Whether a column that leaves a stage is the path of a file that the source lists.
    fn is_path(&self, (stage, column): (StageId, u32)) -> bool {
        let stage = &self.known.lowered.program.stages[stage];
        match &stage.code {
            Code::Source { entry, .. } => {
                let entry = self.known.registry.source(entry);
                entry.is_some_and(|it| it.has(Property::GivesPaths))
            }
            Code::Transform(Transform { graph, outputs: Records::Listed(lists), .. }) => {
                let [outputs] = &lists[..] else { return false };
                let from = outputs.get(column as usize).map(|it| graph.expr(*it));
                matches!(from, Some(Expr::Column(i)) if self.is_path((stage.inputs[0], *i)))
            }
            Code::Operator { .. } => {
                let stages = &self.known.lowered.program.stages;
                let passed_on = |it: &StageId| stages[*it].columns == stage.columns;
                let from = &stage.inputs;
                !from.is_empty()
                    && from.iter().all(|it| passed_on(it) && self.is_path((*it, column)))
            }
            Code::Transform(_) => false,
        }
    }

    /// The stage before, if it only reads.
    fn reading(&self) -> Option<Reading<'_>> {
        let stages = &self.known.lowered.program.stages;
        let id = self.input();
        match &stages[id].code {
            Code::Transform(Transform { reads: true, graph, outputs, filters, .. })
                if filters.is_empty() =>
            {
                let Records::Listed(lists) = outputs else { return None };
                let [outputs] = &lists[..] else { return None };
                Some(Reading { id, graph, outputs })
            }
            _ => None,
        }
    }
}

impl Program<'_> {
    /// The step whose text a value of a transform is.
    fn step_of(&self, stage: StageId, node: ExprId) -> String {
        self.plan.ops[self.lowered.origins[&stage][node.row()]].step.clone()
    }

    /// What these values of a transform take, by step, for each record that enters the step.
    fn parts(&self, stage: StageId, nodes: &[usize]) -> Vec<Part> {
        let Some(costs) = &self.costs[stage] else { return Vec::new() };
        let (each, _) = costs.each();
        let mut all: BTreeMap<OpId, f64> = BTreeMap::new();
        for node in nodes {
            *all.entry(self.lowered.origins[&stage][*node]).or_default() += each[*node];
        }
        let part = |(op, ns): (OpId, f64)| Part {
            step: self.plan.ops[op].step.clone(),
            ns: ns / self.entering(stage, op, costs),
        };
        all.into_iter().map(part).collect()
    }

    /// Records that enter a step of a stage for each that enters the stage: fewer behind a filter.
    fn entering(&self, stage: StageId, op: OpId, costs: &Costs<'_>) -> f64 {
        let filters = self.lowered.stages_of.iter().filter(|(id, stages)| {
            *id < op && stages.contains(&stage) && is_filter(&self.plan.ops[*id].kind)
        });
        match costs.measured.filter(|it| it.entered > 0 && it.left > 0) {
            Some(it) if filters.count() > 0 => it.left as f64 / it.entered as f64,
            _ => 1.0,
        }
    }

    /// What is read for a kept value alone, as parts.
    fn reading(&self, spare: &Spare) -> Vec<Part> {
        let Some(Costs { prices, roots, .. }) = &self.costs[spare.stage] else { return Vec::new() };
        let own = live(prices.graph, &[spare.node], &[]);
        let others: Vec<ExprId> = roots.iter().copied().filter(|it| *it != spare.node).collect();
        let others = live(prices.graph, &others, &[]);
        let alone: Vec<usize> = (0..own.len()).filter(|it| own[*it] && !others[*it]).collect();
        self.parts(spare.stage, &alone)
    }
}

fn is_filter(kind: &OpKind) -> bool {
    matches!(kind, OpKind::Where { .. })
}

impl Reading<'_> {
    /// The columns that say what is read into `column`: there, and here. None where it is passed on,
    /// or where they do not come along.
    fn names_of(&self, column: u32, registry: &Registry) -> Option<Vec<(u32, u32)>> {
        let node = *self.outputs.get(column as usize)?;
        let is_text = self.graph.ty(node).dtype().is_some_and(plan::DType::is_text);
        let is_column = matches!(self.graph.expr(node), Expr::Column(_));
        if is_column || !is_text || impure(self.graph, node, (&[], registry)).is_some() {
            return None;
        }
        let passed = |from: u32| {
            let same = |it: &ExprId| matches!(self.graph.expr(*it), Expr::Column(i) if *i == from);
            let to = self.outputs.iter().position(same)?;
            Some((from, u32::try_from(to).ok()?))
        };
        live_columns(self.graph, &live(self.graph, &[node], &[])).into_keys().map(passed).collect()
    }
}

/// Why a value is not the same each time, if it is not; by why the columns are not.
fn impure(graph: &Graph, root: ExprId, known: (&[Option<String>], &Registry)) -> Option<String> {
    let live = live(graph, &[root], &[]);
    let mut nodes = graph.iter().filter(|(id, ..)| live[id.row()]);
    let several = || "it is computed several times per record".to_owned();
    let turns = || nodes.any(|(_, expr, _)| matches!(expr, Expr::Var(_))).then(several);
    drawn(graph, &[root], known).or_else(turns)
}

/// A value in writing, with the versions of the functions: two that are written alike are alike.
fn written(graph: &Graph, root: ExprId, registry: &Registry) -> String {
    let live = live(graph, &[root], &[]);
    let mut text = String::new();
    for (id, expr, ty) in graph.iter().filter(|(id, ..)| live[id.row()]) {
        let version = match expr {
            Expr::Call { function, .. } => registry.function(function).map_or(0, |it| it.version),
            _ => 0,
        };
        let _ = write!(text, "{id}: {ty:?} = {expr:?} v{version};");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::bed::{Bed, Cells, LIBRARY, picture};
    use plan::{Arg, DType, Type};

    fn found(bed: Bed, root: OpId, function: &str) -> Candidate {
        let all = candidates(&bed.plan(root), &LIBRARY, (None, 0.0)).unwrap();
        all.into_iter().rfind(|it| it.function == function).unwrap()
    }

    fn resized(it: &mut Cells, image: &str) -> Vec<(&'static str, ExprId)> {
        let args = [Arg::Expr(it.field(image)), Arg::Int(64)];
        vec![("small", it.call("resize", &args, picture()))]
    }

    /// Pictures of files; each is cut where a coin says, if `drawn`.
    fn pictures(bed: &mut Bed, drawn: bool) -> OpId {
        let files = bed.files();
        bed.map(files, |it| {
            let bytes = it.read();
            let image = it.decoded(bytes);
            let coin = it.call("coin", &[Arg::Float(0.5)], Type::scalar(DType::Bool));
            let y = if drawn { Arg::Expr(coin) } else { Arg::Int(1) };
            let cut = it.call("crop", &[Arg::Expr(image), y, Arg::Int(99)], picture());
            vec![("image", cut)]
        })
    }

    #[test]
    fn chance_goes_on_through_an_operator() {
        for drawn in [false, true] {
            let mut bed = Bed::default();
            let pictures = pictures(&mut bed, drawn);
            let shuffled = bed.operator("shuffle", pictures, &[Arg::Int(10)]);
            let root = bed.map(shuffled, |it| resized(it, "image"));
            let why = found(bed, root, "resize").refused;
            let expected = drawn.then(|| "`coin` draws again in every epoch".to_owned());
            assert_eq!(why, expected);
        }
    }

    #[test]
    fn a_batch_in_a_drawn_order_holds_others_in_each_epoch() {
        for (shuffled, refused) in [(false, false), (true, true)] {
            let mut bed = Bed::default();
            let mut root = pictures(&mut bed, false);
            if shuffled {
                root = bed.shuffle(root);
            }
            let batch = bed.batch(root, 4);
            let root = bed.map(batch, |it| resized(it, "image"));
            let why = found(bed, root, "resize").refused;
            assert_eq!(why.is_some_and(|it| it.contains("changes the order")), refused);
        }
    }

    #[test]
    fn values_are_counted_where_they_are_made() {
        let values = |make: &dyn Fn(&mut Bed, OpId) -> OpId| {
            let mut bed = Bed::default();
            let pictures = pictures(&mut bed, false);
            let before = make(&mut bed, pictures);
            let root = bed.map(before, |it| resized(it, "image"));
            let found = found(bed, root, "resize");
            found.values(&[(StageId(0), 1000)].into())
        };
        let window = |bed: &mut Bed, it| bed.operator("shuffle", it, &[Arg::Int(10)]);
        assert_eq!(values(&|bed, it| window(bed, it)), Some(1000));
        assert_eq!(values(&|bed, it| bed.batch(it, 4)), Some(250));
        let both = |bed: &mut Bed, it| {
            let twice = bed.twice(it);
            window(bed, twice)
        };
        assert_eq!(values(&both), Some(2000));
        let first = |bed: &mut Bed, it| bed.operator("take", it, &[Arg::Int(9)]);
        let of_both = |bed: &mut Bed, it| {
            let twice = bed.twice(it);
            first(bed, twice)
        };
        assert_eq!(values(&of_both), Some(9));
        // In a drawn order all come in time.
        let of_window = |bed: &mut Bed, it| {
            let window = window(bed, it);
            first(bed, window)
        };
        assert_eq!(values(&of_window), Some(1000));
    }
}
