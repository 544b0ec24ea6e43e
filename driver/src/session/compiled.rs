//! What came of a program: the plans and the program of one pipeline, and what they are known by.

use crate::session::{
    classes::{self, Classes},
    constants::{Begun, Constant, Known},
    files::Files,
    functions::Functions,
    identity::{PlanHash, plan_hash},
    load::SourceFile,
    lock::Chosen,
    place::label,
    samples,
    spared::SparedSummary,
};
use compiler::{
    estimate::{Basis, View, estimate},
    explain::{Explanation, explain, plan_text},
    passes::Optimised,
};
use plan::{About, Code, Diagnostic, Measured, Plan, Program, Stage};
use runtime::{Failure, Kernels, Prepared};
use serde::{Deserialize, Serialize};

/// A pipeline that can be run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compiled {
    /// The plan as it is written.
    pub written: Plan,
    /// The plan that is run, what it will cost, and how it came about.
    pub optimised: Optimised,
    /// What runs.
    pub program: Program,
    /// The files of the program, for messages.
    pub files: Vec<SourceFile>,
    /// What was chosen for it when it was built, where a lock lay beside the program.
    pub lock: Option<Chosen>,
    /// What of it was compiled ahead of time, where it comes from a built file.
    #[serde(skip)]
    pub prepared: Prepared,
    /// The constants of streams that it needs; a built file holds their values alone.
    #[serde(skip)]
    pub constants: Vec<Constant>,
    /// Who has the functions outside that it calls.
    #[serde(skip)]
    pub functions: Functions,
    /// Which files may be looked at for an estimate.
    #[serde(skip)]
    pub looked_at: Files,
    /// Whether the file that tells of lost records was begun for constants.
    #[serde(skip)]
    pub(crate) losses_begun: Begun,
    /// The same for messages, where its files have names that are not shown.
    #[serde(skip)]
    pub(crate) shown: Option<Box<ShownAs>>,
    /// What is allowed, and probably not meant; a built file has said it when it was built.
    #[serde(skip)]
    pub warnings: Vec<Diagnostic>,
}

/// What is shown in place of a plan and a program: they have other names where [`Unshown`](crate::Unshown) has them, and
/// differ in nothing else.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ShownAs {
    pub(crate) optimised: Optimised,
    pub(crate) program: Program,
}

impl Compiled {
    /// What it runs with.
    ///
    /// # Errors
    /// The values of constants were assumed: it is there to be looked at.
    pub(crate) fn kernels(&self) -> Result<Box<dyn Kernels>, Failure> {
        self.check_constants()?;
        Ok(self.functions.kernels())
    }

    /// Sees to it that the value of each constant is known.
    ///
    /// # Errors
    /// One was assumed.
    pub(crate) fn check_constants(&self) -> Result<(), Failure> {
        let Some(it) = self.constants.iter().find(|it| it.known == Known::NotYet) else {
            return Ok(());
        };
        Err(Failure::Program(format!(
            "the constant `{}` has not been computed yet: `pipec run` computes and caches it",
            it.name
        )))
    }

    /// What `explain` shows.
    pub fn explanation(&self, view: View) -> Explanation {
        let label = |span| label(&self.files, span);
        let mut told = explain(self.shown_plan(), &stdlib::library(), &label, view);
        told.constants = self.constants.iter().map(Constant::told).collect();
        told
    }

    /// The same with the estimate for so many cores and bytes of memory; with what was measured, and what a few
    /// records of its sources tell, in place of what is assumed. Reads those records now.
    #[must_use]
    pub fn estimated(
        mut self,
        (cores, memory): (usize, Option<u64>),
        measured: Option<&Measured>,
    ) -> Self {
        let cores = u32::try_from(cores).unwrap_or(u32::MAX);
        let basis = Basis { cores, memory, measured, about: &self.about() };
        let shown = self.shown.as_mut().map(|it| &mut it.optimised);
        for optimised in [&mut self.optimised].into_iter().chain(shown) {
            if let Ok(estimate) = estimate(&optimised.plan, &stdlib::library(), basis) {
                optimised.estimate = estimate.with_processes(self.functions.processes());
            }
        }
        self
    }

    /// The plan that is run, as it is shown.
    pub fn shown_plan(&self) -> &Optimised {
        self.shown.as_ref().map_or(&self.optimised, |it| &it.optimised)
    }

    /// What runs, as it is shown.
    pub fn shown_program(&self) -> &Program {
        self.shown.as_ref().map_or(&self.program, |it| &it.program)
    }

    /// What the data of its sources is like: reads a few records of each, or asks for the sizes of a few files; but
    /// makes no sample set for that.
    fn about(&self) -> Vec<About> {
        let mut program = self.program.clone();
        if !samples::are_there(&program) || samples::resolve(&mut program, &mut |_| ()).is_err() {
            return Vec::new();
        }
        let about = |(there, here): (&Stage, &Stage)| match (&there.code, &here.code) {
            (Code::Source { entry, args, .. }, Code::Source { args: named, .. })
                if self.looked_at.may_look_at(args) =>
            {
                let found = stdlib::about(entry, args, &there.columns)?;
                // A plan names a set as the program does.
                Some(About { files: named.first()?.clone(), ..found })
            }
            _ => None,
        };
        let stages = program.stages.rows().iter().zip(self.program.stages.rows());
        stages.filter_map(about).collect()
    }

    /// What its sources do not read of their files, for the filters behind them; opens these files.
    pub fn spared(&self) -> Vec<SparedSummary> {
        let spared = |stage: &Stage| match &stage.code {
            Code::Source { entry, args, .. } => {
                let found = stdlib::unneeded(entry, args, &stage.columns)?;
                Some(SparedSummary::of((stage.label().to_owned(), found)))
            }
            _ => None,
        };
        self.program.stages.rows().iter().filter_map(spared).collect()
    }

    /// The plan that is run, with every expression.
    pub fn plan_text(&self) -> String {
        plan_text(&self.shown_plan().plan, &|span| label(&self.files, span))
    }

    /// The identity of what runs: that of the plan as it is written, and whether what leaves may differ
    /// from it a little.
    pub(crate) fn identity(&self) -> PlanHash {
        let mut hash = plan_hash(&self.written, &stdlib::library());
        if self.optimised.is_approximate() {
            hash.whole = !hash.whole;
        }
        hash
    }

    /// The same of all of it, in writing.
    pub fn hash(&self) -> String {
        format!("{:032x}", self.identity().whole)
    }
}

// A choice is part of what was compiled with it, so what holds one against the other stands here.
impl Chosen {
    /// So many threads for `compiled` as it is now, and nothing else.
    pub fn plain(compiled: &Compiled, workers: usize) -> Self {
        Self { plan: compiled.hash(), workers, ..Self::default() }
    }

    /// Whether it was chosen for `compiled` as it is now.
    pub fn is_of(&self, compiled: &Compiled) -> bool {
        self.plan == compiled.hash()
    }
}

/// The classes of every label that a pipeline makes; lists the files whose folders they are.
///
/// # Errors
/// Files cannot be listed.
pub fn classes(compiled: &Compiled) -> Result<Vec<Classes>, Failure> {
    classes::of_plan(&compiled.written)
}
