//! The plan as it is drawn: nodes and edges, each with what is written on it.

use super::{
    Explanation, Line, Unit,
    figures::{bytes, rate, time},
    forecast,
};
use crate::estimate::{Figure, StepEstimate};
use model::solve::Limit;

/// A step as it is drawn.
pub(super) struct Node<'a> {
    pub(super) line: &'a Line,
    pub(super) step: &'a StepEstimate,
    /// Functions of it whose results are kept from epoch to epoch.
    pub(super) kept: Vec<&'a str>,
    /// Whether it bounds the rate.
    pub(super) is_bottleneck: bool,
    /// The name of the step, what it costs, how fast it is: a line each.
    pub(super) facts: Vec<String>,
}

/// A stream of records from one step to another.
pub(super) struct Edge {
    /// The step that it leaves, by its place in the estimate's steps.
    pub(super) from: usize,
    /// The step that it enters; nothing for the consumer.
    pub(super) to: Option<usize>,
    /// Records for each output; for the consumer, outputs.
    pub(super) records: Figure,
    /// What they are.
    unit: Unit,
    /// Bytes of them.
    pub(super) bytes: Figure,
}

impl Node<'_> {
    /// Whether it costs nothing, or what it does is found where it is kept.
    pub(super) fn is_idle(&self) -> bool {
        self.step.moved || self.step.ns.value <= 0.0 || !self.kept.is_empty()
    }

    /// Its place in the estimate's steps.
    pub(super) fn at(&self) -> usize {
        self.line.estimate
    }

    /// Whether records begin in it.
    pub(super) fn is_source(&self) -> bool {
        self.line.inputs.is_empty()
    }
}

impl Edge {
    /// `128 records, 77 MB`
    pub(super) fn label(&self) -> String {
        let n = self.records;
        let (one, many) = match self.unit {
            Unit::Record => ("record", "records"),
            Unit::Batch => ("batch", "batches"),
        };
        let what = if n.value == 1.0 { one } else { many };
        let is_whole = n.value.fract() == 0.0 && n.value < 1e4;
        let n = if is_whole { format!("{}{}", n.mark(), n.value) } else { rate(n) };
        format!("{n} {what}, {}", bytes(self.bytes))
    }
}

/// Every step once, in the order of the text.
pub(super) fn nodes(explanation: &Explanation) -> Vec<Node<'_>> {
    let bottleneck = forecast::bottleneck(explanation);
    let mut nodes: Vec<Node<'_>> = Vec::with_capacity(explanation.steps.len());
    for line in &explanation.steps {
        if nodes.iter().any(|it| it.at() == line.estimate) {
            continue;
        }
        nodes.push(Node {
            line,
            step: &explanation.estimate.steps[line.estimate],
            kept: kept(explanation, &line.step),
            is_bottleneck: bottleneck == Some(line.estimate),
            facts: facts(explanation, line),
        });
    }
    nodes
}

/// Every stream, and what leaves the last step.
pub(super) fn edges(explanation: &Explanation) -> Vec<Edge> {
    let steps = &explanation.estimate.steps;
    let edge = |from: usize, to: Option<usize>, records: Figure| {
        let line = explanation.steps.iter().find(|it| it.estimate == from);
        let unit = line.map_or(Unit::Record, |it| it.leaves);
        let bytes = steps[from].bytes.times(records.value);
        Edge { from, to, records, unit, bytes }
    };
    let mut edges = Vec::new();
    for node in nodes(explanation) {
        for (i, &from) in node.line.inputs.iter().enumerate() {
            let records = node.step.visits.times(share(explanation, node.at(), i));
            edges.push(edge(from, Some(node.at()), records));
        }
    }
    edges.extend(explanation.steps.last().map(|it| edge(it.estimate, None, Figure::exact(1.0))));
    edges
}

/// The part of the records entering a step that comes from its input `i`.
fn share(explanation: &Explanation, at: usize, i: usize) -> f64 {
    let network = explanation.outlook.as_ref().map(|it| it.network.steps());
    network.and_then(|it| it.get(at)?.inputs.get(i)).map_or(1.0, |it| it.share)
}

/// Whether the consumer is slower than the pipeline.
pub(super) fn is_bound_by_consumer(explanation: &Explanation) -> bool {
    let solution = explanation.outlook.as_ref().map(|it| &it.solution);
    solution.and_then(|it| it.bounds.first()).is_some_and(|it| it.limit == Limit::Consumer)
}

fn kept<'a>(explanation: &'a Explanation, step: &str) -> Vec<&'a str> {
    let choices = explanation.outlook.iter().flat_map(|it| &it.choices);
    let own = choices.filter(|it| it.kept && it.candidate.step == step);
    own.map(|it| it.candidate.function.as_str()).collect()
}

fn facts(explanation: &Explanation, line: &Line) -> Vec<String> {
    let step = &explanation.estimate.steps[line.estimate];
    let mut facts = vec![line.step.clone()];
    if step.moved {
        facts.push("applied by its source".to_owned());
    } else if step.ns.value > 0.0 {
        facts.push(format!("{} per {}", time(step.ns), line.enters.word()));
    }
    if let Some(speeds) = forecast::speeds(explanation, line.estimate) {
        facts.push(format!("{}/s per core, {:.2} cores", rate(speeds.per_core), speeds.cores));
        facts.push(format!("capacity {}/s", rate(speeds.capacity)));
    }
    let kept = kept(explanation, &line.step);
    if !kept.is_empty() {
        facts.push(format!("cached: {}", kept.join(", ")));
    }
    facts
}
