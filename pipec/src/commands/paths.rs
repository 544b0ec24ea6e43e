//! The programs that paths name: files, and what lies below folders.

use crate::{Exit, talk::Talk};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Programs of one command.
const PROGRAMS_MAX: usize = 10_000;
/// Folders inside each other.
const DEPTH_MAX: usize = 64;

/// The programs that `paths` name, those of a folder sorted; what is wrong has been said.
pub(super) fn programs(paths: &[PathBuf], talk: &Talk) -> Result<Vec<PathBuf>, Exit> {
    let mut programs = Vec::new();
    for path in paths {
        if !path.is_dir() {
            programs.push(path.clone());
            continue;
        }
        let before = programs.len();
        below(path, DEPTH_MAX, &mut programs);
        if programs.len() == before {
            talk.error(&format!("no `.pipe` files in `{}`", path.display()), None);
            return Err(Exit::Io);
        }
    }
    if programs.len() > PROGRAMS_MAX {
        let help = "pass folders with fewer programs";
        talk.error(&format!("more than {PROGRAMS_MAX} programs"), Some(help));
        return Err(Exit::Usage);
    }
    Ok(programs)
}

/// Adds the programs below `folder`; hidden folders, and those that cannot be read, hold none.
fn below(folder: &Path, depth: usize, programs: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries: Vec<PathBuf> = entries.map(|it| it.path()).collect();
    entries.sort();
    for path in entries {
        let hidden = path.file_name().is_some_and(|it| it.as_encoded_bytes().starts_with(b"."));
        if hidden || programs.len() > PROGRAMS_MAX {
            continue;
        }
        if path.extension().is_some_and(|it| it == "pipe") && path.is_file() {
            programs.push(path);
        } else if depth > 0 && path.is_dir() && !path.is_symlink() {
            below(&path, depth - 1, programs);
        }
    }
}
