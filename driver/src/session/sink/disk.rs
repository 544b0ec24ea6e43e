//! Brings the files of an output to the disk, beside the run.
//!
//! Whatever counts files (a checkpoint, `complete` in the manifest) is written only when those files,
//! the list with their checksums and the folders that name them are on the disk. So after a loss of
//! power there may be more than is counted, never less.
//!
//! Large files are written past the cache of the system (`safe_file::Direct`): their bytes are on the
//! disk by then, and what is left to bring there is where they lie. A thread of its own waits for that,
//! and gets what was written since as one group when it has done with the last: nobody who computes or
//! writes waits for it, a checkpoint comes as soon as the disk allows it, and only the end of a run waits
//! for what is left. A few files are brought to the disk one by one; of many, which would cost a flush of
//! the disk each, all that lies on the file system is, by one call. What this costs is bounded by that:
//! three calls for a group and one for each of [`SINGLY`] files, at most one group at a time.

use super::Written;
use crate::session::whole::failure;
use runtime::Failure;
use std::{
    collections::BTreeSet,
    fs::File,
    io, mem,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

/// Files that are brought to the disk one by one. Assumed until measured: a flush of a disk takes
/// 0.1 to 10 ms, so that these take seconds at the most, while the other call waits for what anybody else
/// on the machine has written as well.
const SINGLY: usize = 256;

/// Files that were written and may not be on the disk yet.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// All of them, or more than [`SINGLY`].
    files: Vec<PathBuf>,
    /// The folders that name them.
    folders: BTreeSet<PathBuf>,
    /// What is written with them.
    up_to: Written,
}

impl Group {
    pub(super) fn push(&mut self, file: PathBuf) {
        if let Some(folder) = file.parent().filter(|it| !self.folders.contains(*it)) {
            self.folders.insert(folder.to_owned());
        }
        if self.files.len() <= SINGLY {
            self.files.push(file);
        }
    }

    /// What was gathered, up to `written`; nothing is left.
    pub(super) fn taken(&mut self, list: &Path, up_to: Written) -> Self {
        // The last one: what is on the list is on the disk before.
        self.files.push(list.to_owned());
        self.folders.extend(list.parent().map(Path::to_owned));
        Self { up_to, ..mem::take(self) }
    }

    fn sync(&self, root: Option<&File>) -> Result<(), Failure> {
        let single = |path: &PathBuf| {
            safe_file::sync_file(path).map_err(|it: io::Error| unsynced(path, &it))
        };
        let root = root.filter(|_| self.files.len() > SINGLY);
        let together = root.map_or(Ok(false), safe_file::sync_file_system);
        let together = together.map_err(|it| unsynced(&self.files[0], &it))?;
        match together {
            // The list is asked for by itself: nothing is known without it.
            true => self.files.last().map_or(Ok(()), single)?,
            false => self.files.iter().try_for_each(single)?,
        }
        let folder =
            |it: &PathBuf| safe_file::sync_folder(it).map_err(|error| unsynced(it, &error));
        self.folders.iter().try_for_each(folder)
    }
}

/// The thread, and what it was told.
pub(super) struct Syncer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// A group has come, or was dealt with; or it is over.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    group: Option<Group>,
    /// Whether a group is being dealt with.
    busy: bool,
    done: Written,
    /// Why the disk could not be reached: for good, since what was lost is not told again.
    failure: Option<Failure>,
    over: bool,
}

impl Syncer {
    /// Nothing is to be done yet; `root` is the folder of the output, and `done` is on the disk.
    pub(super) fn begin(root: Option<Arc<File>>, done: Written) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        shared.locked().done = done;
        let thread = thread::Builder::new().name("pipec-disk".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || shared.work(root.as_deref())
        })?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Whether it has done with all that it was given.
    pub(super) fn is_idle(&self) -> bool {
        self.shared.locked().is_idle()
    }

    /// Gives it a group; it is to be idle.
    pub(super) fn give(&self, group: Group) {
        self.shared.locked().group = Some(group);
        self.shared.changed.notify_all();
    }

    /// What is on the disk.
    ///
    /// # Errors
    /// Something could not be brought there.
    pub(super) fn done(&self) -> Result<Written, Failure> {
        self.shared.locked().done()
    }

    /// The same when it is idle again.
    ///
    /// # Errors
    /// Something could not be brought there.
    pub(super) fn wait(&self) -> Result<Written, Failure> {
        let mut state = self.shared.locked();
        while !state.is_idle() {
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.done()
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        self.shared.locked().over = true;
        self.shared.changed.notify_all();
        // It panics at nothing; if it did, the message was printed.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl State {
    fn is_idle(&self) -> bool {
        self.group.is_none() && !self.busy
    }

    fn done(&self) -> Result<Written, Failure> {
        self.failure.clone().map_or(Ok(self.done), Err)
    }
}

impl Shared {
    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes groups until it is over; one that was given before is dealt with.
    fn work(&self, root: Option<&File>) {
        let mut state = self.locked();
        loop {
            if let Some(group) = state.group.take() {
                state.busy = true;
                drop(state);
                let synced = group.sync(root);
                state = self.locked();
                state.busy = false;
                match synced {
                    Ok(()) if state.failure.is_none() => state.done = group.up_to,
                    Ok(()) => {}
                    Err(failure) => state.failure = state.failure.take().or(Some(failure)),
                }
                self.changed.notify_all();
            } else if state.over {
                return;
            } else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

/// The failure that an output could not be brought to the disk.
fn unsynced(path: &Path, error: &io::Error) -> Failure {
    failure(path, "cannot sync the output to the disk", error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_was_not_brought_to_the_disk_is_never_said_to_be() {
        let folder = std::env::temp_dir().join(format!("pipec-disk-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let root = File::open(&folder).ok().map(Arc::new);
        let written = |files: u64| Written { outputs: files, files };
        let list = folder.join("list");
        fs::write(&list, "").unwrap();
        let syncer = Syncer::begin(root, written(0)).unwrap();
        let mut group = Group::default();
        for files in [1, SINGLY as u64 + 1] {
            for file in 0..files {
                let path = folder.join(format!("{file}.npy"));
                fs::write(&path, "x").unwrap();
                group.push(path);
            }
            syncer.give(group.taken(&list, written(files)));
            assert_eq!(syncer.wait(), Ok(written(files)));
        }
        // Where one cannot be, nothing after it is counted, though it could be.
        for (name, is_there) in [("gone.npy", false), ("0.npy", true)] {
            assert_eq!(folder.join(name).exists(), is_there);
            group.push(folder.join(name));
            syncer.give(group.taken(&list, written(1000)));
            assert!(syncer.wait().is_err_and(|it| it.to_string().contains("gone.npy")));
        }
        drop(syncer);
        fs::remove_dir_all(&folder).unwrap();
    }
}
