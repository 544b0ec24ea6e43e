//! Text to plan to program; opens no file, starts no thread, reads no clock.

mod analysis;
pub mod ast;
pub mod caches;
mod check;
pub mod count;
mod errors;
pub mod estimate;
pub mod explain;
pub mod format;
mod lints;
pub mod lower;
pub mod migration;
pub mod passes;
pub mod registry;
pub mod syntax;
pub mod verify;

pub use check::{Found, InputError, Inputs, Notes, Request};
pub use lints::{calls_of, lints};
use plan::{Diagnostic, Plan};

/// Checks a program, all of it, and gives the plan of the pipeline that was asked for.
///
/// No plan is given where there is an error among the messages, or where no pipeline was asked
/// for and it is not clear which is meant.
#[must_use]
pub fn check(
    request: &Request<'_>,
    registry: &registry::Registry,
) -> (Option<Plan>, Vec<Diagnostic>) {
    check::check(request, registry)
}

/// The same, with what was found out about the main file by place, for those who write it.
#[must_use]
pub fn check_noted(
    request: &Request<'_>,
    registry: &registry::Registry,
) -> (Option<Plan>, Vec<Diagnostic>, Notes) {
    check::check_noted(request, registry)
}

/// Every code that a message can have, with its long story.
pub fn codes() -> impl Iterator<Item = &'static plan::CodeInfo> {
    let of_mistakes = errors::syntax::CODES.iter().chain(errors::check::CODES);
    of_mistakes.chain(errors::lower::CODES).chain(errors::lint::CODES)
}
