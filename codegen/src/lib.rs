//! Elementwise arithmetic to machine code: one loop over all elements of a few columns.
//!
//! What is compiled is found in a graph of expressions ([`groups`]), said as a small program
//! ([`Loop`]), and made a function with vectors of 128 bits ([`Target::compile`]). It means what
//! the evaluator of `runtime` makes of the same expressions, to the bit; what has no such
//! instructions is left to that evaluator.

mod group;
mod program;

mod kernel;
mod target;

mod body;
mod cast;
mod memory;
mod vector;

pub use group::{Group, Way, groups};
pub use kernel::{Kernel, Place};
pub use program::{Input, Layout, Loop, OPERANDS_MAX, Op, Output};
pub use target::{Listing, Refused, Target};
