//! The records that were skipped or replaced, in a file: a line of JSON each.

use crate::whole::unwritable;
use plan::{escaped, escaped_json};
use runtime::{Failure, LostRecord, OnLost};
use serde::Serialize;
use std::{
    borrow::Cow,
    fs::{self, File},
    io::{self, BufWriter, Read, Seek, SeekFrom, Write},
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
    reason: Cow<'a, str>,
    /// Where the step is written.
    detail: &'a str,
}

/// Opens the file for what a run loses: anew, or after what is in it where the run goes on.
///
/// A run that goes on may tell of a record again that it comes to again.
pub(super) fn open(path: &Path, goes_on: bool) -> Result<OnLost, Failure> {
    let file = file(path, goes_on).map_err(|it| unwritable(path, &it))?;
    let (mut out, path) = (BufWriter::new(file), path.to_owned());
    Ok(Box::new(move |lost: Vec<LostRecord>| {
        let mut write = || {
            for it in &lost {
                out.write_all(escaped_json(&serde_json::to_string(&Line::of(it))?).as_bytes())?;
                out.write_all(b"\n")?;
            }
            out.flush()
        };
        write().map_err(|it| unwritable(&path, &it))
    }))
}

fn file(path: &Path, goes_on: bool) -> io::Result<File> {
    let is_there = fs::symlink_metadata(path).is_ok_and(|it| it.is_file());
    if is_there && !is_quarantine(path)? {
        return Err(io::Error::other(
            "it holds something else than lines of JSON, and is not overwritten; name another file",
        ));
    }
    if !goes_on || !is_there {
        return safe_file::create(path);
    }
    let mut file = safe_file::create_here(path)?;
    // A run whose disk was full, or that was killed, may have left half a line.
    let whole = whole_lines(&mut file)?;
    file.set_len(whole)?;
    file.seek(SeekFrom::Start(whole))?;
    Ok(file)
}

/// Whether a file is empty or may have been written by an earlier run: each line is an object.
fn is_quarantine(path: &Path) -> io::Result<bool> {
    let mut first = Vec::new();
    safe_file::open(path)?.take(1).read_to_end(&mut first)?;
    Ok(matches!(*first, [] | [b'{']))
}

/// Bytes of a file up to the end of its last whole line.
fn whole_lines(file: &mut File) -> io::Result<u64> {
    let mut block = vec![0; 1 << 16];
    let mut end = file.seek(SeekFrom::End(0))?;
    while end > 0 {
        let start = end.saturating_sub(block.len() as u64);
        let block = &mut block[..(end - start) as usize];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(block)?;
        if let Some(at) = block.iter().rposition(|it| *it == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

impl<'a> Line<'a> {
    fn of(lost: &'a LostRecord) -> Self {
        Self {
            // Backquotes are for people.
            source: lost.record.trim_matches('`'),
            record: format!("{:016x}", lost.id),
            step: &lost.step,
            code: lost.fault.code,
            reason: escaped(&lost.fault.detail),
            detail: &lost.label,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_line_goes_before_the_run_goes_on() {
        let path = std::env::temp_dir().join(format!("pipec-quarantine-{}", std::process::id()));
        let long = format!("{{{}", "x".repeat(100_000));
        for (text, kept) in [
            ("", String::new()),
            ("{}\n{\"a\"", "{}\n".to_owned()),
            (&format!("{{}}\n{long}"), "{}\n".to_owned()),
            (&format!("{long}\n"), format!("{long}\n")),
            (&long, String::new()),
        ] {
            fs::write(&path, text).unwrap();
            file(&path, true).unwrap().write_all(b"[]\n").unwrap();
            assert!(fs::read_to_string(&path).unwrap() == kept + "[]\n", "{text:.9}");
        }
        fs::write(&path, "{}\n").unwrap();
        drop(file(&path, false).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"");
        for goes_on in [false, true] {
            fs::write(&path, "my notes").unwrap();
            assert!(file(&path, goes_on).is_err());
            assert_eq!(fs::read(&path).unwrap(), b"my notes");
        }
        fs::remove_file(&path).unwrap();
    }
}
