//! `pipec lsp`: serves an editor.

use crate::{Exit, args::LspArgs, talk::Talk};
use driver::Reach;

/// Serves on stdin and stdout until the editor ends it.
pub(super) fn run(args: &LspArgs, talk: &Talk) -> Exit {
    match ::lsp::serve(Reach::of(args.allow_outside)) {
        Ok(true) => Exit::Fine,
        // The editor is gone without a word.
        Ok(false) => Exit::Errors,
        Err(error) => {
            talk.error(&format!("cannot communicate with the editor: {error}"), None);
            Exit::Io
        }
    }
}
