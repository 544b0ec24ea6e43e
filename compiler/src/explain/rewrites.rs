//! What was rewritten, for people: every proposal and every refusal, with the law that each rests on
//! or breaks, and what it is estimated to save.

use super::{
    Explanation,
    figures::{percent, time},
    table::{Cell, lines},
};
use crate::{
    analysis::live::{live, values},
    estimate::{Figure, Origin},
    lower::Lowered,
    passes::{PASSES, Step},
};
use plan::{Code, Commas, Expr, Graph, Index, OpId, Plan, Records, StageId, Transform};
use serde::Serialize;

/// What lowering does to a plan: always, and always exact.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lowering {
    /// What it is called: `index`, `fusion`, `reading`, `in place`, `once`.
    pub name: &'static str,
    /// What is done, and where.
    pub what: String,
}

/// What was done to `plan` on the way to its program.
pub(super) fn lowerings(plan: &Plan, lowered: &Lowered) -> Vec<Lowering> {
    let mut all = Vec::new();
    for id in &lowered.moved.gone {
        let what = format!("{} is applied by the source, on indices", plan.ops[*id].step);
        all.push(Lowering { name: "index", what });
    }
    for id in &lowered.moved.windows {
        let what = format!(
            "{}: the source reads the records of each window by their numbers, in any order",
            plan.ops[*id].step
        );
        all.push(Lowering { name: "index", what });
    }
    for (id, stage) in lowered.program.stages.iter() {
        if let Code::Transform(it) = &stage.code {
            all.extend(of_stage(plan, lowered, (id, it)));
        }
    }
    all
}

fn of_stage(plan: &Plan, lowered: &Lowered, (id, it): (StageId, &Transform)) -> Vec<Lowering> {
    let steps = &lowered.program.stages[id].steps;
    let names = Commas(steps).to_string();
    let mut all = Vec::new();
    let mut tell = |name, what| all.push(Lowering { name, what });
    if it.reads {
        tell("reading", format!("{names}: files are read ahead by I/O threads"));
        return all;
    }
    if steps.len() > 1 {
        tell("fusion", format!("{names} are fused into one stage"));
    }
    if !it.filters.is_empty() && steps.len() > 1 {
        tell(
            "filters",
            format!(
                "{names}: filters run first, other values are computed only for records that pass"
            ),
        );
    }
    if it.into_batch.is_some() {
        tell("in place", format!("{names}: results are written directly into the batch"));
    }
    let written: usize = lowered
        .stages_of
        .iter()
        .filter(|(_, all)| all.contains(&id))
        .map(|(op, _)| calls_of(plan, op))
        .sum();
    let merged = written.saturating_sub(calls(&it.graph, &roots(it)));
    if steps.len() > 1
        && merged > 0
        && lowered.stages_of.iter().all(|(_, all)| all.len() < 2 || !all.contains(&id))
    {
        tell(
            "once",
            format!("{names}: {merged} of {written} calls are eliminated as duplicates or unused"),
        );
    }
    all
}

fn roots(it: &Transform) -> Vec<plan::ExprId> {
    let outputs = match &it.outputs {
        Records::Listed(lists) => lists.concat(),
        Records::Counted { count, outputs, .. } => {
            [*count].iter().chain(outputs).copied().collect()
        }
    };
    it.filters.iter().copied().chain(outputs).collect()
}

/// Calls of functions that an operator asks for.
fn calls_of(plan: &Plan, op: OpId) -> usize {
    let op = &plan.ops[op];
    calls(&op.graph, &values(op))
}

fn calls(graph: &Graph, roots: &[plan::ExprId]) -> usize {
    let live = live(graph, roots, &[]);
    graph.iter().filter(|(id, it, _)| live[id.row()] && matches!(it, Expr::Call { .. })).count()
}

pub(super) fn text(explanation: &Explanation) -> String {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    rows.extend(explanation.story.iter().filter(|it| !it.why.is_empty()).map(proposal));
    rows.extend(explanation.refused.iter().map(|it| {
        // A part of a step stands in quotes, the step itself does not.
        let of = if it.what.starts_with('`') { ":" } else { "" };
        let what = format!("{}{of} {}: {}", it.step, it.what, it.why);
        row([outcome(&it.pass, &it.why), &it.pass, exactness(&it.pass)], what)
    }));
    rows.extend(
        explanation.lowered.iter().map(|it| row(["always", it.name, "exact"], it.what.clone())),
    );
    let mut text = match rows.is_empty() {
        true => "nothing to rewrite\n".to_owned(),
        false => lines(&rows).join("\n") + "\n",
    };
    let named = |name: &str| {
        let story = explanation.story.iter().filter(|it| !it.why.is_empty()).map(|it| &it.pass);
        story.chain(explanation.refused.iter().map(|it| &it.pass)).any(|it| it == name)
    };
    let laws = PASSES.iter().filter(|it| named(it.name));
    let laws: Vec<Vec<Cell>> =
        laws.map(|it| vec![Cell::left(it.name), Cell::left(it.law)]).collect();
    if !laws.is_empty() {
        text += &format!("\n{}\n", lines(&laws).join("\n"));
    }
    text
}

/// The status of a rejected rewrite: one that is only not exact can be allowed.
fn outcome(pass: &str, why: &str) -> &'static str {
    if exactness(pass) == "approx" && why.starts_with("not exact") {
        "not allowed"
    } else {
        "rejected"
    }
}

fn exactness(pass: &str) -> &'static str {
    if PASSES.iter().any(|it| it.name == pass && !it.exact) { "approx" } else { "exact" }
}

fn row(head: [&str; 3], what: String) -> Vec<Cell> {
    head.into_iter().map(Cell::left).chain([Cell::left(what)]).collect()
}

/// What came of a proposal: `1.2 ms → 1.1 ms a record, saves 8%`.
fn proposal(step: &Step) -> Vec<Cell> {
    let shown = |ns: f64| time(Figure { value: ns, origin: Origin::Assumed });
    let estimate = match step.before {
        None => "it could not run before".to_owned(),
        Some(before) => {
            let saved = 1.0 - step.after / before.max(1e-9);
            let effect = match () {
                () if saved.abs() < 0.001 => "no change in cost".to_owned(),
                () if saved > 0.0 => format!("saves {}", percent(saved)),
                () => format!("would cost {} more", percent(-saved)),
            };
            format!("{} → {}, {effect}", shown(before), shown(step.after))
        }
    };
    let kept = if step.kept { "applied" } else { "rejected" };
    row([kept, &step.pass, exactness(&step.pass)], format!("{} ({estimate})", step.why))
}
