//! The files of a record of a tar archive.

use super::json::shown;
use crate::{prelude::*, records::tar};

/// Names of members that a message lists.
const NAMES_MAX: usize = 8;

/// The data of the first member whose name is one of `names`, between which `;` stands, in their order.
pub(super) fn member<'a>(record: &'a [u8], names: &str) -> Result<&'a [u8], Fault> {
    let found = tar::member(record, names.split(';').map(str::trim));
    found.ok_or_else(|| {
        let listed: Vec<String> = tar::names(record).take(NAMES_MAX).map(|it| shown(&it)).collect();
        let more = if tar::names(record).nth(NAMES_MAX).is_some() { ", …" } else { "" };
        let detail = format!(
            "cannot find the member {}; the members are {}{more}",
            shown(names),
            listed.join(", ")
        );
        Fault::new("field-missing", detail)
    })
}
