//! `pipec lsp`: serves an editor.

use crate::{Exit, args::LspArgs, talk::Talk};
#[cfg(feature = "lsp")]
use driver::Reach;

#[cfg(not(feature = "lsp"))]
pub(super) fn run(_: &LspArgs, talk: &Talk) -> Exit {
    let help = "build it with `--features full`";
    talk.error("this `pipec` was built without the language server", Some(help));
    Exit::Usage
}

/// Serves on stdin and stdout until the editor ends it.
#[cfg(feature = "lsp")]
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
