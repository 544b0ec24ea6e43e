//! Rewrites that are exact: the same records, to the bit, for less work.
//!
//! A pass proposes a plan that it would rather have, and says why; the estimate decides whether it
//! is kept. What was proposed and what came of it is the story that `explain` tells.

mod dead_fields;
mod late_reads;
mod make_parts;
mod rebuild;
mod sink_views;

use crate::{
    estimate::{Estimate, estimate_known},
    lower::{Lowered, catalog::Catalog, lower_known},
    verify::verify_known,
};
use plan::{Diagnostic, Library, Plan};
use serde::{Deserialize, Serialize};

/// A rewrite.
pub struct Pass {
    /// Its name, for `--without`.
    pub name: &'static str,
    /// What it does and why that is right, in a sentence.
    pub doc: &'static str,
    /// The plan that it would rather have, if any.
    pub(crate) propose: fn(&Plan, &Catalog) -> Option<Proposal>,
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
    // First, since it makes fields that nobody needs any more.
    late_reads::PASS,
    // Before views sink, so that nothing is done for fields that nobody needs.
    dead_fields::PASS,
    make_parts::PASS,
    sink_views::PASS,
];

/// How a plan is rewritten.
#[derive(Debug, Clone, Copy)]
pub struct Settings<'a> {
    /// The cores that it is made for.
    pub cores: u32,
    /// Names of passes that are left out.
    pub without: &'a [String],
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
    for pass in PASSES.iter().filter(|it| settings.without.iter().all(|name| name != it.name)) {
        state.run(pass);
    }
    let (plan, story) = (state.plan, state.story);
    state.known.map(|estimate| Optimised { plan, estimate, story })
}

struct State {
    plan: Plan,
    catalog: Catalog,
    cores: u32,
    /// What is expected of the plan, or why it cannot be run yet.
    known: Result<Estimate, Vec<Diagnostic>>,
    story: Vec<Step>,
}

impl State {
    fn new(plan: Plan, library: &Library, cores: u32) -> Self {
        let catalog = Catalog::new(library);
        let known = estimated(&plan, &catalog, cores);
        Self { plan, catalog, cores, known, story: Vec::new() }
    }

    fn run(&mut self, pass: &Pass) {
        for _ in 0..ROUNDS_MAX {
            let Some(Proposal { plan, why }) = (pass.propose)(&self.plan, &self.catalog) else {
                return;
            };
            if !self.judge(pass.name, plan, why) {
                return;
            }
        }
    }

    /// Keeps `plan` if it is no worse.
    fn judge(&mut self, pass: &'static str, plan: Plan, why: String) -> bool {
        let sound = verify_known(&plan, &self.catalog);
        debug_assert!(sound.is_ok(), "{pass} made a plan that does not hold: {sound:?}");
        debug_assert_eq!(plan.output(), self.plan.output(), "{pass} changed what leaves");
        if sound.is_err() {
            return false;
        }
        let Ok(after) = estimated(&plan, &self.catalog, self.cores) else { return false };
        let before = self.known.as_ref().ok();
        let kept = before.is_none_or(|it| after.at_least_as_good(it));
        let before = before.map(|it| it.ns.value);
        self.story.push(Step { pass: pass.to_owned(), why, before, after: after.ns.value, kept });
        if kept {
            (self.plan, self.known) = (plan, Ok(after));
        }
        kept
    }
}

fn estimated(plan: &Plan, catalog: &Catalog, cores: u32) -> Result<Estimate, Vec<Diagnostic>> {
    let lowered: Lowered = lower_known(plan, catalog, &|_| String::new())?;
    Ok(estimate_known(plan, &lowered, catalog, (cores, None)))
}

#[cfg(test)]
mod tests;
