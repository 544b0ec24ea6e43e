//! What came of a program: the plans and the program of one pipeline, and what they are known by.

use crate::session::{
    classes::{self, Classes},
    constants::{Begun, Constant, Known},
    files::Files,
    functions::Functions,
    identity::{PlanHash, plan_hash, structure},
    load::SourceFile,
    lock::Chosen,
    place::label,
    rewritten::Rewriting,
    samples,
    spared::SparedSummary,
};
use compiler::{
    caches::{Candidate, candidates},
    estimate::{Basis, View, estimate},
    explain::{Explanation, explain, plan_text},
    passes::{Optimised, Refusal},
};
use plan::{About, Code, Diagnostic, Measured, Plan, Program, Stage, parts::Keep};
use runtime::{Failure, Kernels, Prepared};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A pipeline that can be run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compiled {
    /// The plan as it is written.
    pub written: Plan,
    /// How it is rewritten.
    pub(crate) rewriting: Rewriting,
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
    /// The same pipeline without rewrites of which a part of a value is left that is whole without them, and could be
    /// cached: which is faster depends on what is cached. Each of them has such a value that those before do not have.
    #[must_use]
    pub fn alternatives(&self) -> Vec<Self> {
        if self.shown.is_some() || self.rewriting.elsewhere.is_some() {
            return Vec::new();
        }
        let mut all: Vec<Self> = Vec::new();
        let mut seen = self.whole_values();
        for more in self.optimised.taking_parts() {
            let Some(other) = self.without(&more) else { continue };
            let values = other.whole_values();
            // A state that was saved is one of each of them.
            if structure(&other.program) == structure(&self.program) && !values.is_subset(&seen) {
                seen.extend(values);
                all.push(other);
            }
        }
        let named: Vec<String> =
            [self].into_iter().chain(&all).flat_map(Self::value_names).collect();
        all.iter_mut().for_each(|it| it.rewriting.elsewhere = Some(named.clone()));
        all
    }

    /// The same without some passes more.
    fn without(&self, more: &[&str]) -> Option<Self> {
        let more = || more.iter().map(|it| (*it).to_owned());
        let without = self.rewriting.without.iter().cloned().chain(more()).collect();
        let rewriting = Rewriting { without, ..self.rewriting.clone() };
        let (mut optimised, program) =
            rewriting.of(&self.written, (&self.files, &self.functions)).ok()?;
        let left_out = self.optimised.story.iter().filter(|it| it.kept);
        let left_out = left_out.filter(|it| more().any(|pass| pass == it.pass));
        optimised.refused.extend(left_out.flat_map(|it| {
            let refusal = |(step, what): (&str, &str)| Refusal {
                pass: it.pass.clone(),
                step: step.to_owned(),
                what: what.to_owned(),
                why: "what is cached has to be whole".to_owned(),
            };
            it.why.split("; ").filter_map(|it| it.split_once(": ")).map(refusal).collect::<Vec<_>>()
        }));
        Some(Self { rewriting, optimised, program, ..self.clone() })
    }

    /// Whole values that could be cached, by what they are.
    fn whole_values(&self) -> BTreeSet<u64> {
        let found = self.candidates();
        let can = found.iter().filter(|it| it.keep == Keep::Value && it.refused.is_none());
        can.map(|it| it.name).collect()
    }

    /// All values that could be cached, however little that saves.
    pub(crate) fn candidates(&self) -> Vec<Candidate> {
        candidates(&self.optimised.plan, &stdlib::library(), (None, 0.0)).unwrap_or_default()
    }

    /// What a lock calls all values that it could name.
    fn value_names(&self) -> Vec<String> {
        self.candidates().iter().map(Candidate::value_name).collect()
    }

    /// Whether a value has this name here or in an alternative.
    pub(crate) fn has_value(&self, name: &str) -> bool {
        let is_it = |it: &String| it == name;
        match &self.rewriting.elsewhere {
            Some(all) => all.iter().any(is_it),
            None => {
                let others = || self.alternatives().into_iter().flat_map(|it| it.value_names());
                self.value_names().iter().any(is_it) || others().any(|it| is_it(&it))
            }
        }
    }

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

#[cfg(test)]
mod tests {
    use crate::session::{
        compile::{Settings, compile},
        load::Loaded,
    };
    use std::path::Path;

    /// What a crop leaves a part of is whole in an alternative, and everything else is there as well.
    #[test]
    fn an_alternative_has_whole_what_the_usual_plan_makes_in_part() {
        let text = "pipeline p = files(\"*.jpg\") |> map { x: decode_jpeg(bytes) |> resize_short(64) |> \
                    normalize(mean: 0.5, std: 0.5) |> random_crop(32) }";
        let loaded = Loaded::from_text(Path::new("t.pipe"), text.to_owned());
        let compiled = compile(&loaded, &Settings::default()).unwrap();
        let own = |name: &str| format!("p.map#1.{name}");
        let all = compiled.alternatives();
        let has = |of: usize, name: &str| {
            let can = |it: &compiler::caches::Candidate| it.refused.is_none();
            let found = all[of].candidates();
            found.iter().filter(|it| can(it)).any(|it| it.value_name() == own(name))
        };
        assert_eq!(all.len(), 2);
        assert!(has(0, "resize") && has(0, "decode_jpeg") && !has(0, "normalize"));
        assert!(has(1, "resize") && has(1, "normalize"));
        // Names of the others are known in each, and there are no alternatives to one.
        assert!(compiled.has_value(&own("normalize")) && all[0].has_value(&own("normalize")));
        assert!(!all[0].has_value(&own("rotate")) && all[0].alternatives().is_empty());
        assert!(all[0].optimised.refused.iter().any(|it| it.pass == "roi-resizing"));
        let settings = Settings { without: vec!["roi-resizing".to_owned()], ..Settings::default() };
        let whole = compile(&loaded, &settings).unwrap();
        assert_eq!(whole.alternatives().len(), 1);
    }
}
