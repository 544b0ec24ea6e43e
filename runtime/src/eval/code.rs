//! The machine code that a program's arithmetic becomes: made ahead of time, and to be read.

use super::fused;
use plan::{Ahead, Program};
use std::sync::Arc;

/// What was made ahead of time of a program that is run.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Prepared {
    /// Nothing.
    #[default]
    Nothing,
    /// Machine code that may be run.
    Own(OwnCode),
    /// Machine code for the processor of that name, which is not run, and why: a clause that goes on
    /// after "since".
    Foreign {
        /// The processor.
        cpu: String,
        /// Why.
        why: String,
    },
}

/// Machine code that somebody has vouched for.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnCode(Arc<Ahead>);

impl OwnCode {
    /// Code that may be run. Whether it is whole and this processor has what it needs is seen to later.
    ///
    /// # Safety
    /// [`precompile`] has made it: it comes from where the running executable itself comes from, and
    /// from nowhere else.
    pub unsafe fn new(ahead: Ahead) -> Self {
        Self(Arc::new(ahead))
    }

    /// The code.
    pub fn ahead(&self) -> &Ahead {
        &self.0
    }
}

/// All groups of arithmetic of a program, compiled, to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// For what they are compiled, and when, or why not before: a sentence without its stop.
    pub made: String,
    /// In the order of the program's stages.
    pub groups: Vec<MachineCode>,
}

/// A group of arithmetic, compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineCode {
    /// The number of the stage that it is in.
    pub stage: usize,
    /// The steps that the stage does.
    pub steps: Vec<String>,
    /// The number of the value in the stage's graph that it computes.
    pub value: usize,
    /// Values of the graph that are computed in it.
    pub operations: usize,
    /// Cranelift's intermediate form.
    pub clif: String,
    /// The instructions of the processor.
    pub asm: String,
}

/// What of `program` becomes machine code here, or has become it before, in the order of its stages.
///
/// # Errors
/// Why nothing is compiled: this machine is not known, or this was built without a compiler.
pub fn machine_code(program: &Program, prepared: &Prepared) -> Result<Listed, String> {
    if program.jit {
        fused::listed(program, prepared)
    } else {
        Ok(Listed { made: "nothing is compiled".to_owned(), groups: Vec::new() })
    }
}

/// Compiles all arithmetic of `program` for the processor `cpu`, as [`processors`] names it.
///
/// # Errors
/// Why nothing is compiled: there is no processor of that name, it lacks what is wanted of it, or this
/// was built without a compiler.
pub fn precompile(program: &Program, cpu: &str) -> Result<Ahead, String> {
    if program.jit {
        fused::precompiled(program, cpu)
    } else {
        Err("the rewrite `jit` is disabled".to_owned())
    }
}

/// The processors that arithmetic can be compiled for here; the first is this machine's.
pub fn processors() -> Vec<String> {
    fused::processors()
}
