//! An open document: its text, what is known of it, and what was found out beside.

use crate::{
    analysis::{Analysis, analyse, holds},
    beside::{Cost, Costs, Program, StepCost},
    text::Text,
    world::World,
};
use compiler::syntax::Kept;
use plan::{Diagnostic, Span};
use std::path::PathBuf;

/// An open document.
pub(crate) struct Document {
    pub(crate) uri: String,
    pub(crate) path: PathBuf,
    /// As the editor counts; it comes back with the messages.
    pub(crate) version: i32,
    /// Counts every change of the text or of what it uses.
    pub(crate) revision: u64,
    pub(crate) text: Text,
    pub(crate) analysis: Analysis,
    /// What was read of it, so that it need not be read again.
    pub(crate) kept: Kept,
    /// All messages, where those of this revision are known.
    pub(crate) checked: Option<Vec<Diagnostic>>,
    /// What the pipelines cost: of the last text without mistakes.
    pub(crate) costs: Costs,
}

/// A step at a place, with what it costs in one of the pipelines that it is in.
pub(crate) struct Priced<'d> {
    pub(crate) step: &'d str,
    pub(crate) at: Span,
    pub(crate) pipeline: &'d str,
    pub(crate) of: &'d Cost,
    pub(crate) cost: &'d StepCost,
}

impl Document {
    pub(crate) fn new(uri: &str, version: i32, text: String, world: &World) -> Self {
        let path = crate::place::path_of(uri);
        world.open(&path, &text);
        let mut kept = Kept::default();
        let analysis = analyse(&path, &text, world, (&mut kept, None));
        Self {
            uri: uri.to_owned(),
            path,
            version,
            revision: 0,
            text: Text::new(text),
            analysis,
            kept,
            checked: None,
            costs: Costs::new(),
        }
    }

    /// Finds out what the text is now, after it has changed; gives what was known of the one before.
    pub(crate) fn edited(&mut self, world: &World) -> Analysis {
        self.revision += 1;
        self.checked = None;
        let again = (&mut self.kept, Some(&self.analysis));
        let now = analyse(&self.path, self.text.as_str(), world, again);
        std::mem::replace(&mut self.analysis, now)
    }

    /// The same of all of it, after something that it uses has changed, or more is known of its inputs.
    pub(crate) fn renew(&mut self, world: &World) {
        self.revision += 1;
        self.analysis = analyse(&self.path, self.text.as_str(), world, (&mut self.kept, None));
    }

    /// All that is known to be wrong.
    pub(crate) fn diagnostics(&self) -> &[Diagnostic] {
        self.checked.as_deref().unwrap_or(&self.analysis.diagnostics)
    }

    /// The program as it is in the editor.
    pub(crate) fn program(&self, world: &World) -> Program {
        let (path, text) = (self.path.clone(), self.text.as_str().to_owned());
        let (texts, files) = (world.texts(), world.files.clone());
        Program { path, text, texts, files, reach: world.reach }
    }

    /// The steps that are written just so far, each with its cost.
    pub(crate) fn steps_at(&self, at: Span) -> Vec<Priced<'_>> {
        let steps = self.analysis.notes.steps.iter().filter(|it| *it.1 == at);
        steps.filter_map(|(name, at)| self.priced(name, *at)).collect()
    }

    /// The innermost step that a byte stands in.
    pub(crate) fn step_around(&self, byte: u32) -> Option<Priced<'_>> {
        let steps = self.analysis.notes.steps.iter().filter(|it| holds(*it.1, byte));
        let priced = steps.filter_map(|(name, at)| self.priced(name, *at));
        priced.min_by_key(|it| it.at.len())
    }

    fn priced<'d>(&'d self, step: &'d str, at: Span) -> Option<Priced<'d>> {
        let mut all = self.costs.iter();
        all.find_map(|(pipeline, of)| {
            let cost = of.steps.get(step)?;
            Some(Priced { step, at, pipeline, of, cost })
        })
    }
}
