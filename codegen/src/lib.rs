//! Elementwise arithmetic to machine code: one loop over all elements of a few columns.
//!
//! What is compiled is found in a graph of expressions ([`groups`]), said as a small program
//! ([`Loop`]), and made a function with vectors of 128 bits ([`Target::compile`]). It means what
//! the evaluator of `runtime` makes of the same expressions, to the bit; what has no such
//! instructions is left to that evaluator.

mod group;
mod program;

mod ahead;
mod executable;
mod kernel;
mod target;

mod body;
mod calls;
mod cast;
mod half;
mod memory;
mod range;
mod vector;

pub use ahead::{Library, ahead};
pub use group::{Group, Way, groups};
pub use kernel::{Kernel, Place};
pub use program::{Input, Layout, Loop, OPERANDS_MAX, Op, Output};
pub use target::{Listing, NATIVE, Refused, Target};

/// The form of the code: it goes up whenever what is compiled for one loop changes, or what it is
/// handed when it is run.
pub const FORM: u32 = 1;
