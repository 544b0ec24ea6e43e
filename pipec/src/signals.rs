//! What a signal does. Whatever ends the process by one removes the files that are half written.

use crate::Exit;
use std::process;

/// Ends the process at the first signal: for commands that have nothing to bring to an end.
pub(crate) fn end_at_once() {
    handle(|| end());
}

/// Calls `stopping` at every signal. Signals are handled once in a process: what was said first holds.
pub(crate) fn handle(stopping: impl FnMut() + Send + 'static) {
    let _ = ctrlc::set_handler(stopping);
}

/// Ends the process as one that was interrupted.
pub(crate) fn end() -> ! {
    driver::remove_drafts();
    process::exit(Exit::Interrupted as i32)
}
