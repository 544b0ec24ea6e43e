//! What works on streams: one file for each operator.
//!
//! An operator is fed chunks in order and regroups their rows; what costs time for each record
//! is left to `Running::parallel`, which any worker does. What comes out never depends on how
//! the input was cut into chunks.

mod batch;
mod companions;
mod concat;
mod count;
mod dedupe;
mod join;
mod mix;
mod moments;
mod pack;
mod repeat;
mod sample;
mod shuffle;
mod skip;
mod take;
mod windows;
mod zip;

mod alike;
mod arguments;
mod group;
#[cfg(test)]
mod model;
mod order;
mod reduce;
mod scalars;

use crate::Operator;

/// All of them.
pub(crate) static ALL: &[&Operator] = &[
    &batch::ENTRY,
    &companions::ENTRY,
    &concat::ENTRY,
    &count::ENTRY,
    &dedupe::ENTRY,
    &join::ENTRY,
    &mix::ENTRY,
    &moments::ENTRY,
    &pack::ENTRY,
    &repeat::ENTRY,
    &sample::ENTRY,
    &shuffle::ENTRY,
    &skip::ENTRY,
    &take::ENTRY,
    &windows::ENTRY,
    &zip::ENTRY,
];
