//! Where the indices of large files are kept.

use super::samples::cache_folder;
use std::path::PathBuf;

/// Keeps the indices of large files in `folder`, or else in the user's cache folder, where there is one.
pub fn keep_indices(folder: Option<PathBuf>) {
    let usual = || cache_folder().ok().map(|it| it.join("index"));
    stdlib::records::keep_indices_in(folder.or_else(usual));
}
