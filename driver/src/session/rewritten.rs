//! How a plan is rewritten, and what comes of it.

use crate::session::{functions::Functions, load::SourceFile, place::label};
use compiler::{
    lower::lower,
    passes::{Optimised, Settings, optimise},
};
use plan::{Diagnostic, Plan, Program};
use serde::{Deserialize, Serialize};

/// What may be left out beside passes: that arithmetic becomes machine code.
pub(crate) const JIT: &str = "jit";

/// How a plan is rewritten.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rewriting {
    /// The cores that it is made for.
    pub(crate) cores: u32,
    /// What is left out: passes, and [`JIT`].
    pub(crate) without: Vec<String>,
    /// Whether rewrites are allowed that change what leaves by a little.
    pub(crate) approx: bool,
    /// Of a plan beside the usual one: values that could be cached in the others, as a lock names them.
    pub(crate) elsewhere: Option<Vec<String>>,
}

impl Rewriting {
    /// The plan that comes of `written`, and its program.
    pub(crate) fn of(
        &self,
        written: &Plan,
        (files, functions): (&[SourceFile], &Functions),
    ) -> Result<(Optimised, Program), Vec<Diagnostic>> {
        let library = stdlib::library();
        let settings = Settings { cores: self.cores, without: &self.without, approx: self.approx };
        let mut optimised = optimise(written.clone(), &library, &settings)?;
        optimised.estimate = optimised.estimate.with_processes(functions.processes());
        let mut program = lower(&optimised.plan, &library, &|span| label(files, span))?;
        program.jit = self.without.iter().all(|it| it != JIT);
        Ok((optimised, program))
    }
}
