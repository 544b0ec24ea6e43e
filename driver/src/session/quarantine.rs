//! The records that were skipped or replaced, in a file: a line of JSON each.

use crate::session::{constants::Losses, state::is_locked, whole::unwritable};
use plan::{escaped, escaped_json};
use runtime::{Failure, LostRecord, OnLost, Rank};
use serde::{Deserialize, Serialize, de::IgnoredAny};
use std::{
    borrow::Cow,
    fs::{self, File},
    io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Bytes of a line that is looked at.
const LINE_MAX: u64 = 1 << 20;

/// A record that failed, as the file tells of it.
#[derive(Serialize)]
struct Line<'a> {
    /// Which run has lost it, of several that share the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<u32>,
    /// Where it comes from: its file, where it has one.
    source: &'a str,
    /// The file that could not be used, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
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

/// The file while a run writes it; nobody else does, where files can be locked.
pub(crate) struct Quarantine {
    path: PathBuf,
    rank: Option<u32>,
    file: Arc<File>,
    /// Whether lines may not be on the disk yet.
    is_new: Arc<AtomicBool>,
}

impl Quarantine {
    /// Opens the file for what a run loses: anew, or after what is in it where the run goes on.
    ///
    /// A run that goes on may tell of a record again that it comes to again.
    pub(crate) fn open(
        path: &Path,
        rank: Rank,
        (goes_on, locks): (bool, bool),
    ) -> Result<Self, Failure> {
        let path = of_part(path, rank);
        let rank = (rank.world > 1).then_some(rank.rank);
        let wanted = Wanted { rank, goes_on, locks };
        let file = file(&path, wanted).map_err(|it| unwritable(&path, &it))?;
        let is_new = Arc::new(AtomicBool::new(false));
        Ok(Self { path, rank, file: Arc::new(file), is_new })
    }

    /// Opens the file for what the stream of a constant loses, where there is to be one; the run goes on with it.
    pub(crate) fn of_constant(losses: &Losses, goes_on: bool) -> Result<Option<Self>, Failure> {
        let Some(path) = &losses.quarantine else { return Ok(None) };
        let goes_on = losses.begun.begin() || goes_on;
        Self::open(path, losses.rank, (goes_on, true)).map(Some)
    }

    /// What writes a line for each record.
    pub(crate) fn on_lost(&self) -> OnLost {
        let Self { path, rank, file, is_new } = self;
        let (path, rank) = (path.clone(), *rank);
        let (file, is_new) = (Arc::clone(file), Arc::clone(is_new));
        Box::new(move |lost: Vec<LostRecord>| {
            let write = || {
                let mut out = BufWriter::new(&*file);
                for it in &lost {
                    let line = serde_json::to_string(&Line::of(it, rank))?;
                    out.write_all(escaped_json(&line).as_bytes())?;
                    out.write_all(b"\n")?;
                }
                is_new.store(true, Ordering::Release);
                out.flush()
            };
            write().map_err(|it| unwritable(&path, &it))
        })
    }

    /// Brings the lines to the disk that were written.
    pub(crate) fn sync(&self) -> Result<(), Failure> {
        match self.is_new.swap(false, Ordering::AcqRel) {
            true => self.file.sync_data().map_err(|it| unwritable(&self.path, &it)),
            false => Ok(()),
        }
    }
}

/// What is asked of a line to know that it is a lost record, and whose.
#[derive(Deserialize)]
pub(crate) struct RecordHead {
    #[serde(default)]
    pub(crate) rank: Option<u32>,
    #[serde(rename = "source")]
    _source: IgnoredAny,
    #[serde(rename = "record")]
    _record: IgnoredAny,
    #[serde(rename = "step")]
    _step: IgnoredAny,
    #[serde(rename = "code")]
    _code: IgnoredAny,
}

/// Whether this is all that a run which was killed has written of its first record.
pub(crate) fn is_half_a_record(text: &[u8]) -> bool {
    let begins = [&b"{\"source\":"[..], b"{\"rank\":"].iter().any(|it| text.starts_with(it));
    begins && !text.contains(&b'\n')
}

/// How a file is to be opened.
#[derive(Clone, Copy)]
struct Wanted {
    rank: Option<u32>,
    /// Whether what is in it stays.
    goes_on: bool,
    /// Whether nobody else may write it meanwhile.
    locks: bool,
}

/// The file of one process of several that do the work of a rank: `lost.jsonl` is `lost.0.jsonl`.
fn of_part(path: &Path, Rank { part, parts, .. }: Rank) -> PathBuf {
    if parts <= 1 {
        return path.to_owned();
    }
    match path.extension().and_then(|it| it.to_str()) {
        Some(extension) => path.with_extension(format!("{part}.{extension}")),
        None => path.with_extension(part.to_string()),
    }
}

fn file(path: &Path, Wanted { rank, goes_on, locks }: Wanted) -> io::Result<File> {
    let is_there = fs::symlink_metadata(path).is_ok_and(|it| it.is_file());
    if is_there {
        may_be_written(path, rank, locks)?;
    }
    let mut file = match goes_on && is_there {
        true => safe_file::create_here(path)?,
        false => safe_file::create(path)?,
    };
    // It is locked for others; where files cannot be locked, each run needs its own all the same.
    if locks && is_locked(&file) {
        return Err(io::Error::other(IN_USE));
    }
    if goes_on && is_there {
        // A run whose disk was full, or that was killed, may have left half a line.
        let whole = whole_lines(&mut file)?;
        file.set_len(whole)?;
        file.seek(SeekFrom::Start(whole))?;
    }
    Ok(file)
}

const IN_USE: &str = "another run is writing to it; wait until it has ended, or use another file \
                      (each rank needs its own)";

/// Sees to it that a file holds what an earlier run has lost, or nothing, and nobody writes it.
fn may_be_written(path: &Path, rank: Option<u32>, locks: bool) -> io::Result<()> {
    let file = safe_file::open(path)?;
    // The lock goes again with the file.
    if locks && is_locked(&file) {
        return Err(io::Error::other(IN_USE));
    }
    let mut first = Vec::new();
    BufReader::new(file).take(LINE_MAX).read_until(b'\n', &mut first)?;
    // A run that was killed may have left half a line, and nothing before.
    if first.is_empty() || is_half_a_record(&first) {
        return Ok(());
    }
    match serde_json::from_slice::<RecordHead>(&first) {
        Ok(head) if head.rank == rank || rank.is_none() => Ok(()),
        Ok(RecordHead { rank: Some(other), .. }) => Err(io::Error::other(format!(
            "it contains the records of rank {other}, which will not be overwritten; give each \
             rank its own file"
        ))),
        Ok(_) => Err(io::Error::other(
            "it contains the records of a run without ranks, which will not be overwritten; give \
             each rank its own file",
        )),
        Err(_) => Err(io::Error::other(
            "it is not a list of failed records and will not be overwritten; use another file",
        )),
    }
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
    fn of(lost: &'a LostRecord, rank: Option<u32>) -> Self {
        Self {
            rank,
            // Backquotes are for people.
            source: lost.record.trim_matches('`'),
            file: lost.fault.file.as_deref(),
            record: format!("{:016x}", lost.id),
            step: &lost.step,
            code: lost.fault.code,
            reason: Cow::Owned(escaped(&lost.fault.reason()).into_owned()),
            detail: &lost.label,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_line_goes_before_the_run_goes_on() {
        let file = |path: &Path, goes_on, rank| file(path, Wanted { rank, goes_on, locks: true });
        let path = std::env::temp_dir().join(format!("pipec-quarantine-{}", std::process::id()));
        let line = |source: &str, rank: &str| {
            format!(
                "{{{rank}\"source\":\"{source}\",\"record\":\"0\",\"step\":\"s\",\"code\":\"c\"}}"
            )
        };
        let (short, long) = (line("a", ""), line(&"x".repeat(100_000), ""));
        for (text, kept) in [
            (String::new(), String::new()),
            (format!("{short}\n{{\"a\""), format!("{short}\n")),
            (format!("{short}\n{}", &long[..90_000]), format!("{short}\n")),
            (format!("{long}\n"), format!("{long}\n")),
            (long[..90_000].to_owned(), String::new()),
        ] {
            fs::write(&path, &text).unwrap();
            file(&path, true, None).unwrap().write_all(b"[]\n").unwrap();
            assert!(fs::read_to_string(&path).unwrap() == kept + "[]\n", "{text:.9}");
        }
        fs::write(&path, format!("{short}\n")).unwrap();
        let held = file(&path, false, None).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
        assert!(file(&path, false, None).is_err_and(|it| it.to_string().contains("another run")));
        drop(held);
        let of_rank = line("a", "\"rank\":0,");
        for (text, rank) in [
            ("my notes", None),
            ("{\"text\": \"a data set\"}\n", None),
            (of_rank.as_str(), Some(1)),
            (short.as_str(), Some(1)),
        ] {
            for goes_on in [false, true] {
                fs::write(&path, format!("{text}\n")).unwrap();
                assert!(file(&path, goes_on, rank).is_err(), "{text}");
                assert_eq!(fs::read_to_string(&path).unwrap(), format!("{text}\n"));
            }
        }
        fs::write(&path, format!("{of_rank}\n")).unwrap();
        drop(file(&path, true, Some(0)).unwrap());
        fs::remove_file(&path).unwrap();
    }
}
