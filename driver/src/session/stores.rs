//! What files may lie in besides folders.

use plan::Arg;
use runtime::{Failure, storage};
use std::{io, path::Path};

/// Lets the process read object stores and web servers, where this was built with them. Nothing is connected to before
/// a program names one.
pub fn register_stores() {
    #[cfg(feature = "stores")]
    ::store::register();
}

/// Whether files whose paths begin with `scheme://` can be read.
pub fn reads_store(scheme: &str) -> bool {
    storage::is_registered(scheme)
}

/// Whether files of a store, or of a web server, are among the arguments.
pub fn names_store(args: &[Arg]) -> bool {
    args.iter().any(|it| match it {
        Arg::Text(text) => storage::of(Path::new(text)).access().is_some(),
        Arg::List(all) => names_store(all),
        _ => false,
    })
}

/// What went wrong with an object, and what helps.
pub(crate) fn failure(
    storage: &dyn storage::Storage,
    path: &Path,
    what: &str,
    error: &io::Error,
) -> Failure {
    let remedy = storage.remedy(error).map_or(String::new(), |it| format!("; {it}"));
    Failure::Io { path: path.display().to_string(), detail: format!("{what}: {error}{remedy}") }
}
