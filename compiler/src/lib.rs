//! Text to plan to program; opens no file, starts no thread, reads no clock.

mod analysis;
pub mod ast;
pub mod caches;
mod check;
mod constants;
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

pub use check::{Checked, Found, InputError, Inputs, Notes, Request, StreamConstant};
pub use lints::{calls_of, lints};
use plan::Diagnostic;

/// Checks a program, all of it, and gives the plan of the pipeline that was asked for.
///
/// No plan is given where there is an error among the messages, or where no pipeline was asked
/// for and it is not clear which is meant.
#[must_use]
pub fn check(request: &Request<'_>, registry: &registry::Registry) -> Checked {
    with_constants(check::check(request, registry), registry)
}

/// The same, with what was found out about the main file by place, for those who write it.
#[must_use]
pub fn check_noted(request: &Request<'_>, registry: &registry::Registry) -> (Checked, Notes) {
    let (checked, notes) = check::check_noted(request, registry);
    (with_constants(checked, registry), notes)
}

/// The same with what is wrong with the streams of constants.
fn with_constants(mut checked: Checked, registry: &registry::Registry) -> Checked {
    let mistakes = |it| constants::mistakes(it, registry);
    let found: Vec<Diagnostic> = checked.constants.iter().flat_map(mistakes).collect();
    if !found.is_empty() {
        checked.plan = None;
        checked.diagnostics.extend(found);
        checked.diagnostics.sort_by_key(|it| (it.span.file, it.span.start, it.span.end));
    }
    checked
}

/// Every code that a message can have, with its long story.
pub fn codes() -> impl Iterator<Item = &'static plan::CodeInfo> {
    let of_mistakes = errors::syntax::CODES.iter().chain(errors::check::CODES);
    of_mistakes.chain(errors::lower::CODES).chain(errors::lint::CODES)
}
