//! Runs while calls of the system fail: they end soon, say why, and can be gone on with.
//!
//! The crate `faults` is the layer that lets calls fail; `scratch.rs` runs programs above it. A
//! sample of the calls is tried in the usual run, each of them where `SLOW_TESTS` is set.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod changing;
#[path = "../common/mod.rs"]
mod common;
mod every_call;
mod kept;
mod limits;
mod scratch;
