//! Values that could be kept from epoch to epoch: pure functions of what says which record it is.
//!
//! A value may be kept if nothing in it is drawn, and nothing depends on the epoch; it stands under
//! the columns that it is made of. What was read from a file stands under the file's name, so that
//! the file need not be read again.

mod choose;

pub use choose::{Budget, Choice, Disk, Occasion, choose};

use crate::{
    estimate::{Figure, Origin, cost::Prices, flow::flows},
    lower::{
        Lowered,
        catalog::Catalog,
        graft::{live, live_columns},
        group::output_roots,
        lower_known,
    },
};
use plan::{
    Code, Diagnostic, Expr, ExprId, Graph, Index, Library, Measured, Otherwise, Plan, Records,
    StageId, StageMeasured, Transform, hash,
};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// A value that could be kept, or one that cannot, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The step that computes it.
    pub step: String,
    /// The function whose result it is.
    pub function: String,
    /// The stage that computes it.
    pub stage: StageId,
    /// The value, in the stage's graph.
    pub node: ExprId,
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
    /// Bytes of files that need not be read for it, a record.
    pub reads: Figure,
    /// The sources of its records.
    pub sources: Vec<StageId>,
    /// Whether the files that it is read from are those that the sources list, or there are none:
    /// then it is seen when they have changed.
    pub listed: bool,
    /// Why it cannot be kept.
    pub refused: Option<String>,
}

impl Candidate {
    /// What it is called in a lock: `train.map#1.decode_jpeg`.
    pub fn value_name(&self) -> String {
        format!("{}.{}", self.step, self.function)
    }
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
    let catalog = Catalog::new(library);
    let lowered = lower_known(plan, &catalog, &|_| String::new())?;
    let flows = flows(&lowered.program.stages, &catalog);
    let mut all = Vec::new();
    for (id, stage) in lowered.program.stages.iter() {
        if let Code::Transform(transform) = &stage.code
            && !transform.vector
            && !transform.reads
        {
            let columns = &flows[stage.inputs[0]].columns;
            let prices = Prices::new(&transform.graph, columns, &catalog);
            let measured = measured.and_then(|it| it.stages.get(id.row()));
            let site = Site { plan, lowered: &lowered, catalog: &catalog, id, transform, least };
            all.extend(site.candidates(&Costs { prices, measured, roots: roots(transform) }));
        }
    }
    Ok(all)
}

/// Every value that a transform is asked for.
fn roots(transform: &Transform) -> Vec<ExprId> {
    transform.filters.iter().copied().chain(output_roots(&transform.outputs)).collect()
}

/// A stage that is looked at.
struct Site<'a> {
    plan: &'a Plan,
    lowered: &'a Lowered,
    catalog: &'a Catalog,
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
    fn candidates(&self, costs: &Costs<'_>) -> Vec<Candidate> {
        let graph = &self.transform.graph;
        let (each, origin) = costs.each();
        let needed = live(graph, &costs.roots, &[]);
        let mut all = Vec::new();
        for (id, expr, _) in graph.iter().filter(|(id, ..)| needed[id.row()]) {
            let Expr::Call { function, .. } = expr else { continue };
            let without = live(graph, &costs.roots, &[id]);
            let spared = |it: &usize| needed[*it] && (*it == id.row() || !without[*it]);
            let value: f64 = (0..graph.len()).filter(spared).map(|it| each[it]).sum();
            if value < self.least || self.catalog.has_effect(function, "reads") {
                continue;
            }
            let saves = Figure { value, origin };
            all.push(self.candidate((id, function), (saves, costs.bytes(id)), &without));
        }
        all
    }

    fn candidate(
        &self,
        (node, function): (ExprId, &str),
        (saves, bytes): (Figure, Figure),
        without: &[bool],
    ) -> Candidate {
        let graph = &self.transform.graph;
        let op = self.lowered.origins[&self.id][node.row()];
        let mut candidate = Candidate {
            step: self.plan.ops[op].step.clone(),
            function: function.to_owned(),
            stage: self.id,
            node,
            key: Vec::new(),
            name: 0,
            spares: Vec::new(),
            bytes,
            saves,
            reads: Figure::ZERO,
            sources: self.sources(),
            listed: true,
            refused: impure(graph, node, self.catalog),
        };
        if candidate.refused.is_none() {
            let mut name = written(graph, node, self.catalog);
            self.keys(&mut candidate, without, &mut name);
            candidate.name = hash(name.as_bytes());
        }
        candidate
    }

    /// Says under what a value stands, and what need not be read where it is known.
    fn keys(&self, candidate: &mut Candidate, without: &[bool], name: &mut String) {
        let graph = &self.transform.graph;
        let parts = live_columns(graph, &live(graph, &[candidate.node], &[]));
        let reading = self.reading();
        for (column, id) in parts {
            let read = reading.as_ref().and_then(|it| it.names_of(column, self.catalog));
            let Some(names) = read else {
                candidate.key.push(column);
                continue;
            };
            let Some(Reading { id: stage, graph, outputs }) = &reading else { continue };
            let node = outputs[column as usize];
            let _ = write!(name, "{column} = {};", written(graph, node, self.catalog));
            candidate.key.extend(names.iter().map(|it| it.1));
            candidate.listed &= self.reads_listed((*stage, graph), node);
            if !without[id.row()] {
                let key = names.iter().map(|it| it.0).collect();
                candidate.spares.push(Spare { stage: *stage, node, key, column });
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
        if candidate.key.is_empty() {
            candidate.refused = Some("it is the same for every record".to_owned());
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
        let input = self.lowered.program.stages[stage].inputs[0];
        calls == 1 && matches!(columns[..], [it] if self.is_path((input, it)))
    }

    /// Whether a column that leaves a stage is the path of a file that the source lists.
    fn is_path(&self, (stage, column): (StageId, u32)) -> bool {
        let stage = &self.lowered.program.stages[stage];
        match &stage.code {
            // All that it gives are paths of files that it lists.
            Code::Source { entry, .. } => entry == "paths",
            Code::Transform(Transform { graph, outputs: Records::Listed(lists), .. }) => {
                let [outputs] = &lists[..] else { return false };
                let from = outputs.get(column as usize).map(|it| graph.expr(*it));
                matches!(from, Some(Expr::Column(i)) if self.is_path((stage.inputs[0], *i)))
            }
            Code::Operator { .. } => {
                let stages = &self.lowered.program.stages;
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
        let stages = &self.lowered.program.stages;
        let id = stages[self.id].inputs[0];
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

    /// The sources of the records that come to the stage.
    fn sources(&self) -> Vec<StageId> {
        let stages = &self.lowered.program.stages;
        let (mut open, mut found) = (vec![self.id], Vec::new());
        while let Some(id) = open.pop() {
            if matches!(stages[id].code, Code::Source { .. }) {
                found.push(id);
            }
            open.extend(&stages[id].inputs);
        }
        found.sort_unstable();
        found
    }
}

impl Reading<'_> {
    /// The columns that say what is read into `column`: there, and here. None where it is passed on,
    /// or where they do not come along.
    fn names_of(&self, column: u32, catalog: &Catalog) -> Option<Vec<(u32, u32)>> {
        let node = *self.outputs.get(column as usize)?;
        let is_text = self.graph.ty(node).dtype().is_some_and(plan::DType::is_text);
        let is_column = matches!(self.graph.expr(node), Expr::Column(_));
        if is_column || !is_text || impure(self.graph, node, catalog).is_some() {
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

/// Why a value is not the same each time, if it is not.
fn impure(graph: &Graph, root: ExprId, catalog: &Catalog) -> Option<String> {
    let live = live(graph, &[root], &[]);
    let mut why = None;
    for (_, expr, _) in graph.iter().filter(|(id, ..)| live[id.row()]) {
        why = why.or(match expr {
            Expr::Call { function, draw, .. }
                if draw.is_some() || catalog.has_effect(function, "random") =>
            {
                Some(format!("`{function}` draws anew in every epoch"))
            }
            Expr::Epoch => Some("it depends on the epoch".to_owned()),
            Expr::Var(_) => Some("it is made several times for a record".to_owned()),
            _ => None,
        });
    }
    why
}

/// A value in writing, with the versions of the functions: two that are written alike are alike.
fn written(graph: &Graph, root: ExprId, catalog: &Catalog) -> String {
    let live = live(graph, &[root], &[]);
    let mut text = String::new();
    for (id, expr, ty) in graph.iter().filter(|(id, ..)| live[id.row()]) {
        let version = match expr {
            Expr::Call { function, .. } => catalog.function(function).map_or(0, |it| it.version),
            _ => 0,
        };
        let _ = write!(text, "{id}: {ty:?} = {expr:?} v{version};");
    }
    text
}
