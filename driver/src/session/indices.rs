//! Where the indices of large files are kept, and the answers of streams.

use super::samples::cache_folder;
use std::path::PathBuf;

/// Keeps the indices of large files in `folder`, or else in the user's cache folder, where there is one; and there the
/// constants that are made of streams.
pub fn keep_indices(folder: Option<PathBuf>) {
    super::constants::keep_answers();
    let usual = || cache_folder().ok().map(|it| it.join("index"));
    stdlib::records::keep_indices_in(folder.or_else(usual));
}
