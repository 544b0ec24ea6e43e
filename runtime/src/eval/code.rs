//! The machine code that a program's arithmetic becomes, to be read.

use super::fused;
use plan::Program;

/// A group of arithmetic, compiled for this machine.
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

/// What of `program` becomes machine code here, in the order of its stages.
///
/// # Errors
/// Why nothing is compiled: this machine is not known, or this was built without a compiler.
pub fn machine_code(program: &Program) -> Result<Vec<MachineCode>, String> {
    if program.jit { fused::listed(program) } else { Ok(Vec::new()) }
}
