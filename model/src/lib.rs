//! The operational model: how fast a pipeline can be on a machine, what bounds it, and what to choose.
//!
//! Pure arithmetic after Denning and Buzen ("The operational analysis of queueing network models",
//! 1978) and Plumber (Kuchnik et al., MLSys 2022): no file, no clock, no thread. The symbols and
//! laws are in `docs/MODEL.md`.

pub mod autotune;
pub mod cache;
pub mod converge;
pub mod cost;
pub mod curve;
pub mod figure;
mod load;
pub mod machine;
pub mod network;
pub mod next;
pub mod place;
pub mod policy;
pub mod predict;
pub mod rank;
pub mod ratio;
pub mod size;
pub mod solve;
pub mod strategy;
pub mod under_way;
pub mod verdict;
pub mod weights;
pub mod what_if;

pub use {
    figure::{Figure, Origin},
    machine::{Consumer, Machine, Storage},
    network::{Flow, Network, Step},
    solve::{Solution, Wishes, solve},
};
