//! `pipec lsp`: serves an editor.

use crate::{Exit, talk::Talk};

/// Serves on stdin and stdout until the editor ends it.
pub(super) fn run(talk: &Talk) -> Exit {
    match ::lsp::serve() {
        Ok(true) => Exit::Fine,
        // The editor is gone without a word.
        Ok(false) => Exit::Errors,
        Err(error) => {
            talk.error(&format!("cannot communicate with the editor: {error}"), None);
            Exit::Io
        }
    }
}
