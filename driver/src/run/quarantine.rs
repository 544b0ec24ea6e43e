//! The records that were skipped or replaced, in a file: a line of JSON each.

use crate::whole::failure;
use runtime::{Failure, LostRecord, OnLost};
use serde::Serialize;
use std::{
    fs::OpenOptions,
    io::{BufWriter, Write},
    path::Path,
};

/// A record that failed, as the file tells of it.
#[derive(Serialize)]
struct Line<'a> {
    /// Where it comes from: its file, where it has one.
    source: &'a str,
    /// Its id, in hexadecimal.
    record: String,
    /// The step that it failed in; the first and the last one, where several run as one.
    step: &'a str,
    /// What kind of fault it is.
    code: &'a str,
    /// What was found.
    reason: &'a str,
    /// Where the step is written.
    detail: &'a str,
}

/// Opens the file for what a run loses: anew, or after what is in it where the run goes on.
///
/// A run that goes on may tell of a record again that it comes to again.
pub(super) fn open(path: &Path, goes_on: bool) -> Result<OnLost, Failure> {
    let mut options = OpenOptions::new();
    options.create(true).write(true).append(goes_on).truncate(!goes_on);
    let file = options.open(path).map_err(|it| failure(path, "it cannot be written", &it))?;
    let (mut out, path) = (BufWriter::new(file), path.to_owned());
    Ok(Box::new(move |lost: Vec<LostRecord>| {
        let mut write = || {
            for it in &lost {
                serde_json::to_writer(&mut out, &Line::of(it))?;
                out.write_all(b"\n")?;
            }
            out.flush()
        };
        write().map_err(|it| failure(&path, "it cannot be written", &it))
    }))
}

impl<'a> Line<'a> {
    fn of(lost: &'a LostRecord) -> Self {
        Self {
            source: &lost.record,
            record: format!("{:016x}", lost.id),
            step: &lost.step,
            code: lost.fault.code,
            reason: &lost.fault.detail,
            detail: &lost.label,
        }
    }
}
