//! What is said to the author of a program, by phase.

pub(crate) mod check;
pub(crate) mod lower;
pub(crate) mod syntax;
