//! What sources do not read of their files, since filters would drop it.

use runtime::Unneeded;
use serde::Serialize;

/// What a source does not read of its files, since a filter would drop it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SparedSummary {
    /// Where the source is written.
    pub label: String,
    /// What the parts of its files are called, such as `row groups`.
    pub what: &'static str,
    /// How many are not read.
    pub parts: u64,
    /// Of how many.
    pub of: u64,
    /// Records in them.
    pub records: u64,
    /// Bytes that the columns that are needed take there.
    pub bytes: u64,
}

impl SparedSummary {
    pub(crate) fn of((label, it): (String, Unneeded)) -> Self {
        let Unneeded { part: (one, many), parts, of, records, bytes } = it;
        let what = if of == 1 { one } else { many };
        Self { label, what, parts, of, records, bytes }
    }
}
