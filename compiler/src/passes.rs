//! Rewrites: the same records for less work, to the bit, or nearly where that is allowed.
//!
//! A pass proposes a plan that it would rather have, and says why; the estimate decides whether it
//! is kept. What it would have liked and must not do, since its law does not hold there, it refuses.
//! What was proposed and refused, and what came of it, is the story that `explain` tells.

mod affine_fusion;
mod identity_elimination;
mod late_maps;
mod late_materialization;
mod moves;
mod nearly;
mod outside;
mod partial_evaluation;
mod predicate_pushdown;
mod projection_pruning;
mod pull;
mod rebuild;
mod reduction_unrolling;
mod roi_decoding;
mod roi_resizing;
mod scaled_decoding;
mod smaller_data_first;
mod source_filters;
mod typed_columns;
mod view_reordering;

use crate::{
    estimate::{Basis, Estimate, estimate_known},
    lower::{Lowered, lower_known},
    registry::Registry,
    verify::verify_known,
};
use plan::{Diagnostic, Library, Plan};
use serde::{Deserialize, Serialize};

/// A rewrite.
pub struct Pass {
    /// Its name, for `--disable-pass`.
    pub name: &'static str,
    /// What it was called before, which is understood as well.
    pub formerly: Option<&'static str>,
    /// What it does, in a few words for the short form of `explain`.
    pub summary: &'static str,
    /// What it does, in a sentence.
    pub doc: &'static str,
    /// Why that is right: the law that it rests on, in a sentence.
    pub law: &'static str,
    /// Whether the output stays the same to the bit. One that is not is done only where that is
    /// allowed.
    pub exact: bool,
    /// Whether its plan is taken whatever the estimate says of it.
    pub(crate) always: bool,
    /// Whether it may leave but a part, another one in each epoch, of a value that is whole without it: where something could
    /// be cached, the plan without it is looked at as well.
    pub(crate) takes_parts: bool,
    /// The plans that it would rather have, of which the first is taken that pays.
    pub(crate) propose: fn(&Plan, &Registry) -> Vec<Proposal>,
    /// What it leaves as it is, since its law does not hold there.
    pub(crate) refuse: fn(&Plan, &Registry) -> Vec<Refusal>,
}

impl Pass {
    /// Whether it has or had this name.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.formerly == Some(name)
    }

    /// Its name as a person writes it: "ROI decoding".
    pub fn title(&self) -> String {
        self.name.replace('-', " ").replace("roi ", "ROI ")
    }
}

/// What a pass would have changed, and why it must not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Refusal {
    /// The pass.
    pub pass: String,
    /// The step, by its stable name.
    pub step: String,
    /// What would be changed: "`crop` before `gaussian_blur`".
    pub what: String,
    /// Why it must not be: the law that is broken.
    pub why: String,
}

/// For a pass that refuses nothing.
pub(crate) fn nothing_refused(_: &Plan, _: &Registry) -> Vec<Refusal> {
    Vec::new()
}

/// A plan that a pass would rather have.
pub(crate) struct Proposal {
    /// The plan.
    pub(crate) plan: Plan,
    /// What is changed and where, in a sentence for `explain`; empty where nobody asks.
    pub(crate) why: String,
}

/// All of them, in order.
pub static PASSES: &[Pass] = &[
    // First, so that what is left of a stream is what the others see.
    predicate_pushdown::PASS,
    // Makes fields that nobody needs any more.
    late_materialization::PASS,
    // Before what follows, so that nothing is done for fields that nobody needs.
    projection_pruning::PASS,
    late_maps::PASS,
    // What stands between others.
    identity_elimination::PASS,
    smaller_data_first::PASS,
    partial_evaluation::PASS,
    scaled_decoding::PASS,
    view_reordering::PASS,
    // After views, which stand between resizing and its crop.
    roi_resizing::PASS,
    // After views, which stand between what it puts together.
    affine_fusion::PASS,
    // After what moves views and puts arithmetic together: it takes tensors apart.
    reduction_unrolling::PASS,
    // After what moves filters next to sources, and before what splits their conditions.
    source_filters::PASS,
    // After what drops, moves and merges expressions: it splits each into two ways.
    typed_columns::PASS,
    // Last: it marks the plan as the others have made it.
    roi_decoding::PASS,
];

/// How a plan is rewritten.
#[derive(Debug, Clone, Copy)]
pub struct Settings<'a> {
    /// The cores that it is made for.
    pub cores: u32,
    /// Names of passes that are left out.
    pub without: &'a [String],
    /// Whether rewrites are allowed that change what leaves by a little.
    pub approx: bool,
}

/// What came of one proposal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The pass.
    pub pass: String,
    /// What it would change.
    pub why: String,
    /// Processor time for a record that leaves, in nanoseconds: as it was, and as it would be.
    /// None where the plan as it was could not be run.
    pub before: Option<f64>,
    /// See `before`.
    pub after: f64,
    /// Whether it was kept.
    pub kept: bool,
}

/// A plan that no pass would rather have otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Optimised {
    /// The plan.
    pub plan: Plan,
    /// What it is expected to do.
    pub estimate: Estimate,
    /// How it came about.
    pub story: Vec<Step>,
    /// What was not even tried, since it would not be right.
    pub refused: Vec<Refusal>,
}

/// How often one pass may propose.
const ROUNDS_MAX: usize = 8;

/// Rewrites `plan` as far as the estimate says that it helps.
///
/// # Errors
/// What cannot be run as it is written.
pub fn optimise(
    plan: Plan,
    library: &Library,
    settings: &Settings<'_>,
) -> Result<Optimised, Vec<Diagnostic>> {
    let mut state = State::new(plan, library, settings.cores);
    let wanted = |it: &&Pass| !settings.without.iter().any(|name| it.is_called(name));
    let mut refused = Vec::new();
    for pass in PASSES.iter().filter(wanted) {
        if pass.exact || settings.approx {
            state.run(pass);
        }
        refused.extend((pass.refuse)(&state.plan, &state.registry));
    }
    // Not what a later pass has done in another way, nor what only later passes have made of the plan.
    let refusing = PASSES.iter().filter(wanted);
    let still: Vec<Refusal> =
        refusing.flat_map(|it| (it.refuse)(&state.plan, &state.registry)).collect();
    refused.retain(|it| still.contains(it));
    let (plan, story) = (state.plan, state.story);
    state.known.map(|estimate| Optimised { plan, estimate, story, refused })
}

impl Optimised {
    /// Sets of passes without which there may be more to cache, each with one more than the set before.
    pub fn taking_parts(&self) -> Vec<Vec<&'static str>> {
        let was_applied =
            |it: &&Pass| self.story.iter().any(|step| step.kept && step.pass == it.name);
        let taking = PASSES.iter().filter(|it| it.takes_parts).filter(was_applied);
        let names: Vec<&str> = taking.map(|it| it.name).collect();
        (0..names.len()).rev().map(|from| names[from..].to_vec()).collect()
    }

    /// Whether what leaves may differ a little from what was written.
    pub fn is_approximate(&self) -> bool {
        let inexact = |name: &str| PASSES.iter().any(|it| it.name == name && !it.exact);
        self.story.iter().any(|it| it.kept && inexact(&it.pass))
    }
}

struct State {
    plan: Plan,
    registry: Registry,
    cores: u32,
    /// What is expected of the plan, or why it cannot be run yet.
    known: Result<Estimate, Vec<Diagnostic>>,
    story: Vec<Step>,
}

impl State {
    fn new(plan: Plan, library: &Library, cores: u32) -> Self {
        let registry = Registry::new(*library);
        let known = estimated(&plan, &registry, cores);
        Self { plan, registry, cores, known, story: Vec::new() }
    }

    fn run(&mut self, pass: &Pass) {
        for _ in 0..ROUNDS_MAX {
            let proposals = (pass.propose)(&self.plan, &self.registry);
            if !proposals.into_iter().any(|it| self.judge(pass, it)) {
                return;
            }
        }
    }

    /// Keeps `plan` if it is no worse.
    fn judge(&mut self, pass: &Pass, Proposal { plan, why }: Proposal) -> bool {
        let (always, pass) = (pass.always, pass.name);
        if self.story.iter().any(|it| !it.kept && it.pass == pass && it.why == why) {
            return false;
        }
        let sound = verify_known(&plan, &self.registry);
        debug_assert!(sound.is_ok(), "{pass} made an invalid plan: {sound:?}");
        debug_assert_eq!(plan.output(), self.plan.output(), "{pass} changed the output");
        // What is outside may remember what it was called with: it sees the same records in the same
        // order, whatever is rewritten.
        if sound.is_err() || outside::above(&plan) != outside::above(&self.plan) {
            return false;
        }
        let Ok(after) = estimated(&plan, &self.registry, self.cores) else { return false };
        let before = self.known.as_ref().ok();
        let kept = always || before.is_none_or(|it| after.at_least_as_good(it));
        let before = before.map(|it| it.ns.value);
        self.story.push(Step { pass: pass.to_owned(), why, before, after: after.ns.value, kept });
        if kept {
            (self.plan, self.known) = (plan, Ok(after));
        }
        kept
    }
}

fn estimated(plan: &Plan, registry: &Registry, cores: u32) -> Result<Estimate, Vec<Diagnostic>> {
    let lowered: Lowered = lower_known(plan, registry, &|_| String::new())?;
    Ok(estimate_known(plan, &lowered, registry, Basis { cores, ..Basis::default() }))
}

#[cfg(test)]
mod tests;
