//! Which files may be replaced: those that were made for it. One rule for every path of an output.
//!
//! `pipec profile -o train.pipe` is one slip of the fingers away from `pipec profile train.pipe`. So a
//! file is replaced only where it is not there, is empty, or is what pipec writes there, which is told
//! by what it holds. A link is replaced itself, and what it leads to stays; a device or a pipe is
//! written to as it is.

use crate::session::{
    built::was_built,
    quarantine::{RecordHead, is_half_a_record},
};
use std::{
    fs,
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

/// Bytes of a file that are looked at; a line of lost records may be longer.
const HEAD: u64 = 4 << 10;
const LINE_MAX: u64 = 1 << 20;

/// What a sheet says of where it comes from.
pub(crate) const SHEET_KEYWORD: &str = "Software";
pub(crate) const SHEET_MADE_BY: &str = "pipec";

/// A kind of file that pipec writes where it is told to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ours {
    /// What `profile` and `run --profile` have measured.
    Profile,
    /// The page of `explain --html`.
    Page,
    /// The contact sheet of `peek --save`.
    Sheet,
    /// The records of `scan --out` and `run --quarantine`.
    Records,
    /// What `calibrate` has found.
    Host,
    /// What `build` makes.
    Executable,
}

/// Why a file is not replaced, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// What is there.
    pub why: String,
    /// What to do.
    pub help: String,
}

impl Ours {
    /// Whether `path` may be written.
    ///
    /// # Errors
    /// Something else is there, which would be lost; or it cannot be read.
    pub fn may_replace(self, path: &Path) -> Result<(), Taken> {
        let shown = path.display();
        let taken = |why: String| {
            let help = "name another file, or remove it first".to_owned();
            Err(Taken { why: format!("`{shown}` {why}"), help })
        };
        match fs::symlink_metadata(path) {
            // Whoever writes it says what is wrong with its folder.
            Err(_) => return Ok(()),
            Ok(it) if it.is_dir() => return taken("is a folder".to_owned()),
            Ok(it) if !it.is_file() || it.len() == 0 => return Ok(()),
            Ok(_) => {}
        }
        match self.is(path) {
            Ok(true) => Ok(()),
            Ok(false) => taken(format!("is not {} and will not be overwritten", self.name())),
            Err(error) => taken(format!("exists, but cannot be read ({error})")),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Profile => "a profile",
            Self::Page => "a page of `pipec explain`",
            Self::Sheet => "a sheet of `pipec peek`",
            Self::Records => "a list of failed records",
            Self::Host => "a host file",
            Self::Executable => "an executable made by `pipec build`",
        }
    }

    fn is(self, path: &Path) -> io::Result<bool> {
        if self == Self::Executable {
            return was_built(path);
        }
        let mut head = Vec::new();
        safe_file::open(path)?.take(HEAD).read_to_end(&mut head)?;
        let has = |word: &str| memchr::memmem::find(&head, word.as_bytes()).is_some();
        let begins = |word: &str| head.starts_with(word.as_bytes());
        Ok(match self {
            Self::Profile => begins("{\"format\":") && has("\"version\":") && has("\"pipeline\":"),
            Self::Page => begins("<!DOCTYPE html>") && has(": what it costs</title>"),
            Self::Sheet => {
                let made_by = format!("tEXt{SHEET_KEYWORD}\0{SHEET_MADE_BY}");
                head.starts_with(b"\x89PNG") && has(&made_by)
            }
            Self::Records => first_record(path)?.is_some() || is_half_a_record(&head),
            // By hand the comment may have gone.
            Self::Host => has("pipec calibrate") || (has("\n[cpu]") && has("format = ")),
            Self::Executable => unreachable!("it was looked at above"),
        })
    }
}

/// The first line of a file of lost records; none where it is none.
pub(crate) fn first_record(path: &Path) -> io::Result<Option<RecordHead>> {
    let mut line = Vec::new();
    BufReader::new(safe_file::open(path)?).take(LINE_MAX).read_until(b'\n', &mut line)?;
    Ok(serde_json::from_slice(&line).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_ours_is_replaced() {
        let folder = std::env::temp_dir().join(format!("pipec-ours-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("file");
        let all = [
            (Ours::Profile, "{\"format\":4,\"version\":\"0.1.0\",\"pipeline\":\"p\"}"),
            (Ours::Page, "<!DOCTYPE html>\n<title>p: what it costs</title>"),
            (Ours::Records, "{\"source\":\"a\",\"record\":\"0\",\"step\":\"s\",\"code\":\"c\"}\n"),
            (
                Ours::Host,
                "# What this machine can do, measured by `pipec calibrate`.\nformat = 1\n",
            ),
        ];
        let kinds = [Ours::Sheet, Ours::Executable].into_iter().chain(all.iter().map(|it| it.0));
        for kind in kinds {
            for text in ["edition 2026\n", "{\"text\": \"a data set\"}\n", "\u{89}PNG", "x"] {
                fs::write(&path, text).unwrap();
                let taken = kind.may_replace(&path).unwrap_err();
                assert!(taken.why.contains("file` is not "), "{taken:?}");
            }
            for (of, text) in &all {
                fs::write(&path, text).unwrap();
                assert_eq!(kind.may_replace(&path).is_ok(), kind == *of, "{kind:?} over {of:?}");
            }
            fs::write(&path, "{\"source\":\"a").unwrap();
            assert_eq!(kind.may_replace(&path).is_ok(), kind == Ours::Records, "half a line");
            fs::write(&path, "").unwrap();
            assert_eq!(kind.may_replace(&path), Ok(()));
            assert_eq!(kind.may_replace(&folder.join("none")), Ok(()));
            assert!(kind.may_replace(&folder).is_err());
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
