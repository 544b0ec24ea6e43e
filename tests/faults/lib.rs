//! A fault layer for tests: loaded with `LD_PRELOAD`, it stands before the C library's calls that
//! read and write files, and lets some of them fail, fall short, or take their time.
//!
//! `plan.rs` says which calls it is about, and how a test names them. Elsewhere than on Linux the
//! library is empty.

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod plan;
