//! Makes a built file of the running executable: all of it, or nothing.

use crate::session::{
    built::{Built, marker, own_executable},
    ours::{Ours, Taken},
    whole,
};
use std::{
    fmt,
    fs::File,
    io::{self, Seek, SeekFrom, Write},
    path::Path,
};

/// Why a built file was not made, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotMade {
    /// Why.
    pub why: String,
    /// What to do, where something can be said.
    pub help: Option<String>,
}

impl fmt::Display for NotMade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for NotMade {}

impl NotMade {
    fn new(why: String) -> Self {
        Self { why, help: None }
    }

    fn help(self, help: &str) -> Self {
        Self { help: Some(help.to_owned()), ..self }
    }
}

/// Writes `built` as an executable to `path`, in place of another built file at most; gives its bytes.
///
/// # Errors
/// Something else is there, the program is too large, or reading or writing failed; then nothing
/// new is there, and what was there still is.
pub fn make(built: &Built, path: &Path) -> Result<u64, NotMade> {
    may_replace(path)?;
    let trailer = built.trailer().map_err(|it| NotMade::new(it.to_string()))?;
    let mut own = own_executable().map_err(|it| no_copy(&it))?;
    let at = marker::find(&mut own, false).map_err(|it| no_copy(&it))?;
    let at = at.ok_or_else(|| {
        NotMade::new("this executable has no marker for built programs".into())
            .help("`pipec build` can only copy a standalone pipec that was not packed")
    })?;
    let write = |file: &mut File| -> io::Result<u64> {
        own.seek(SeekFrom::Start(0))?;
        // Blocks are shared where the file system can do that, else the system copies them.
        let copied = io::copy(&mut own, file)?;
        file.write_all(&trailer)?;
        marker::set(file, at)?;
        Ok(copied + trailer.len() as u64)
    };
    replaced(path, write).map_err(|it| {
        let not_made = NotMade::new(format!("cannot write `{}`: {it}", path.display()));
        match it.kind() {
            io::ErrorKind::NotFound => not_made.help("create its folder first"),
            _ => not_made.help(whole::write_remedy(&it)),
        }
    })
}

fn no_copy(error: &io::Error) -> NotMade {
    NotMade::new(format!("cannot copy the running executable: {error}"))
}

/// Whether nothing of value is lost where `path` is written.
fn may_replace(path: &Path) -> Result<(), NotMade> {
    Ours::Executable.may_replace(path).map_err(|Taken { why, help }| NotMade::new(why).help(&help))
}

/// Writes a file beside `path`, which takes its place once it is whole.
fn replaced<T>(path: &Path, write: impl FnOnce(&mut File) -> io::Result<T>) -> io::Result<T> {
    let mut draft = safe_file::Draft::new(path, 0o755)?;
    let written = write(draft.file())?;
    draft.finish(path)?;
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{env, fs};

    #[test]
    fn what_fails_half_way_leaves_nothing() {
        let folder = env::temp_dir().join(format!("pipec-make-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("out");
        let full = |file: &mut File| {
            file.write_all(b"half")?;
            Err::<(), _>(io::Error::from(io::ErrorKind::StorageFull))
        };
        assert!(replaced(&path, full).is_err());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);

        fs::write(&path, "mine").unwrap();
        let refused = may_replace(&path).unwrap_err();
        assert!(refused.why.contains("is not an executable made by `pipec build`"), "{refused}");
        assert!(may_replace(&folder).unwrap_err().why.ends_with("is a folder"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
