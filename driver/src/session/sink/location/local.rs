//! A folder of this machine.
//!
//! A file is written under another name and renamed, so that what is there is whole. What is written
//! is brought to the disk beside the run (`disk.rs`). The folder is locked: nobody else writes there.

use super::{Content, Location, MANIFEST, MANIFEST_MAX};
use crate::session::{
    sink::{
        RunConfig, Written,
        disk::{Group, Syncer},
        line::{Flaw, LIST, Line, Place, Sum, Summing},
    },
    state,
    whole::{self, failure, unwritable},
};
use runtime::Failure;
use safe_file::Direct;
use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

/// The folder.
pub(super) struct Local {
    folder: PathBuf,
    /// The folder itself, locked: nobody else writes there meanwhile.
    lock: Option<Arc<File>>,
    list: Option<BufWriter<File>>,
    direct: Direct,
    /// Files that nobody has brought to the disk yet, and who does.
    unsynced: Group,
    syncer: Option<Syncer>,
    /// What an earlier run has written.
    before: Written,
}

impl Local {
    /// The folder at a path; it is made if there is none.
    pub(super) fn open(folder: &Path) -> Result<Self, Failure> {
        fs::create_dir_all(folder)
            .map_err(|it| failure(folder, "cannot create the folder", &it))?;
        Ok(Self {
            folder: folder.to_owned(),
            lock: locked(folder)?.map(Arc::new),
            list: None,
            direct: Direct::default(),
            unsynced: Group::default(),
            syncer: None,
            before: Written::default(),
        })
    }

    fn list_path(&self) -> PathBuf {
        self.folder.join(LIST)
    }

    fn flush(&mut self) -> Result<(), Failure> {
        let path = self.list_path();
        self.list.as_mut().map_or(Ok(()), |it| it.flush().map_err(|it| unwritable(&path, &it)))
    }
}

impl Location for Local {
    fn path(&self) -> &Path {
        &self.folder
    }

    fn wants(&self, _: u64) -> u64 {
        0
    }

    fn begin(&mut self, _: &RunConfig) {}

    fn manifest(&self) -> Result<Option<Vec<u8>>, Failure> {
        let unreadable = |it: io::Error| failure(&self.folder, "cannot read the folder", &it);
        match safe_file::read_here(&self.folder.join(MANIFEST), MANIFEST_MAX) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // A draft of what says whose folder it is may be left of a run that was killed.
                let is_draft = |it: &fs::DirEntry| {
                    it.file_name().to_str().and_then(safe_file::is_draft_of) == Some(MANIFEST)
                };
                let mut entries = fs::read_dir(&self.folder).map_err(unreadable)?.flatten();
                match entries.all(|it| is_draft(&it)) {
                    true => Ok(None),
                    false => Err(super::occupied(&self.folder)),
                }
            }
            Err(error) => Err(unreadable(error)),
        }
    }

    fn put(&mut self, name: &str, content: Content<'_>) -> Result<(), Failure> {
        whole::write(&self.folder.join(name), "the file", content)
    }

    fn write(&mut self, name: &str, content: Content<'_>) -> Result<Sum, Failure> {
        let (path, mut sum) = (self.folder.join(name), None);
        let written = self.direct.write(&path, &mut |out| {
            let mut summing = Summing::new(out);
            content(&mut summing)?;
            sum = Some(summing.sum());
            Ok(())
        });
        written.map_err(|it| unwritable(&path, &it))?;
        self.unsynced.push(path);
        Ok(sum.expect("what is written was summed"))
    }

    fn prepare(&mut self, folders: &[String]) -> Result<(), Failure> {
        folders.iter().try_for_each(|it| make_folder(&self.folder.join(it)))
    }

    fn clear(&mut self, folder: &str, is_meant: &dyn Fn(&str) -> bool) -> Result<(), Failure> {
        let path = self.folder.join(folder);
        if !safe_file::is_real_folder(&path) {
            return Ok(());
        }
        let Ok(entries) = fs::read_dir(&path) else { return Ok(()) };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_str().map(|it| safe_file::is_draft_of(it).unwrap_or(it));
            if name.is_some_and(is_meant) {
                remove(&entry.path())?;
            }
        }
        if !folder.is_empty() {
            // It fails where something else is in it, which stays.
            let _ = fs::remove_dir(path);
        }
        Ok(())
    }

    fn removes_at_once(&self) -> bool {
        true
    }

    fn remove_drafts(&mut self, folder: &str, is_meant: &dyn Fn(&str) -> bool) {
        safe_file::remove_left(&self.folder.join(folder), is_meant);
    }

    fn open_list(&mut self, from: Option<&Place>) -> Result<(), Failure> {
        let path = self.list_path();
        let go_on = |place: &Place| -> io::Result<File> {
            let mut file = safe_file::create_here(&path)?;
            file.set_len(place.list)?;
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        };
        let opened = from.map_or_else(|| safe_file::create(&path), go_on);
        self.list = Some(BufWriter::new(opened.map_err(|it| unwritable(&path, &it))?));
        self.before = from.map_or(Written::default(), Place::written);
        Ok(())
    }

    fn push(&mut self, line: &Line) -> Result<(), Failure> {
        let path = self.list_path();
        let Some(list) = &mut self.list else { return Ok(()) };
        let text = line.text();
        list.write_all(text.as_bytes()).map_err(|it| unwritable(&path, &it))
    }

    fn list(&self) -> Result<Box<dyn BufRead + '_>, Flaw> {
        let file = safe_file::open_here(&self.list_path());
        let file = file.map_err(|it| Flaw::Damage(format!("cannot read `{LIST}` ({it})")))?;
        Ok(Box::new(BufReader::new(file)))
    }

    fn check_size(&self, name: &str, bytes: u64) -> Result<(), Flaw> {
        Err(Flaw::Damage(match fs::symlink_metadata(self.folder.join(name)) {
            Ok(it) if it.is_file() && it.len() == bytes => return Ok(()),
            Ok(it) if it.is_file() => super::other_size(name, it.len(), bytes),
            Ok(_) => format!("`{name}` is not a file"),
            Err(_) => super::missing(name),
        }))
    }

    fn check_sum(&self, name: &str, expected: &Sum) -> Result<(), Flaw> {
        let sum = || -> io::Result<Sum> {
            let mut file = safe_file::open_here(&self.folder.join(name))?;
            let mut nowhere = io::sink();
            let mut sum = Summing::new(&mut nowhere);
            io::copy(&mut (&mut file).take(expected.bytes + 1), &mut sum)?;
            Ok(sum.sum())
        };
        Err(Flaw::Damage(match sum() {
            Ok(found) if found == *expected => return Ok(()),
            Ok(_) => format!("the checksum of `{name}` does not match"),
            Err(error) => format!("cannot read `{name}` ({error})"),
        }))
    }

    fn sync(&mut self, written: Written) -> Result<(), Failure> {
        if self.list.is_none() {
            return Ok(());
        }
        let is_due = {
            let syncer = match &self.syncer {
                Some(syncer) => syncer,
                None => {
                    let started = Syncer::begin(self.lock.clone(), self.before);
                    let refused =
                        |it| failure(&self.folder, "cannot start a thread to sync it", &it);
                    self.syncer.insert(started.map_err(refused)?)
                }
            };
            syncer.done()?.files < written.files && syncer.is_idle()
        };
        if is_due {
            self.flush()?;
            let group = self.unsynced.taken(&self.list_path(), written);
            if let Some(syncer) = &self.syncer {
                syncer.give(group);
            }
        }
        Ok(())
    }

    fn synced(&self) -> Result<Written, Failure> {
        self.syncer.as_ref().map_or(Ok(self.before), Syncer::done)
    }

    fn settle(&mut self, written: Written) -> Result<(), Failure> {
        // What is being brought to the disk, and then what has come since.
        for _ in 0..2 {
            self.sync(written)?;
            if let Some(syncer) = &self.syncer {
                syncer.wait()?;
            }
        }
        self.flush()
    }
}

/// The folder, locked; none where folders cannot be locked.
fn locked(folder: &Path) -> Result<Option<File>, Failure> {
    let Ok(file) = File::open(folder) else { return Ok(None) };
    if !state::is_locked(&file) {
        return Ok(Some(file));
    }
    Err(Failure::Io {
        path: folder.display().to_string(),
        detail:
            "another run is writing to this folder; wait until it has ended, or use another one \
             (each rank needs its own)"
                .to_owned(),
    })
}

/// Makes the folder of a field. A link in its place would lead the output somewhere else.
fn make_folder(folder: &Path) -> Result<(), Failure> {
    let made = fs::create_dir_all(folder);
    made.map_err(|it| failure(folder, "cannot create the folder", &it))?;
    if safe_file::is_real_folder(folder) {
        return Ok(());
    }
    Err(Failure::Io {
        path: folder.display().to_string(),
        detail: "it is a link, and output is not written through links; remove it, or use another \
             folder with `--out`"
            .to_owned(),
    })
}

/// Removes a file of an earlier output, if it is there.
fn remove(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => {
            Err(failure(path, "cannot remove the earlier output", &why))
        }
        _ => Ok(()),
    }
}
