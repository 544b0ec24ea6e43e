//! Puts objects into a store, several at a time, beside the run.
//!
//! Whoever writes hands an object over and goes on; where too many bytes are under way, it waits. Threads, started one by
//! one as they are needed, take the objects and wait for the store each, so that as many requests are under way as there
//! are threads. They answer in any order, so what counts is the first that has not: everything before it is there.
//!
//! The list of the objects is put when all that it names are there: only then a checkpoint may count them. Since an object
//! cannot be appended to, the whole list is put each time, at most so often that this is a tenth of the work.
//!
//! The lock guards all of it, and is held for no request. Who waits for room or for the store to have everything looks
//! now and then whether the run was stopped. The first failure is for good: nothing more is put. The threads end with
//! [`Uploads`], which gives up what is under way.

use crate::session::{sink::Written, stop::Stop, stores::failure};
use runtime::{
    Failure,
    storage::{self, Storage},
};
use std::{
    collections::{BTreeSet, VecDeque},
    path::PathBuf,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Objects under way at a time. Assumed until measured: at 30 ms a request, 1,000 small objects a second, and at 60 MB/s a
/// connection more than a network of 10 Gbit/s.
const THREADS: usize = 32;

/// Bytes of objects that are under way or wait, within an eighth of the memory; a larger one goes alone.
const BYTES: u64 = 256 << 20;

/// The list is put at most so often that it takes this share of the time.
const LIST_SHARE: u32 = 10;

/// How often who waits looks whether the run was stopped.
const PATIENCE: Duration = Duration::from_millis(50);

/// How long a run that was stopped waits for what is under way, so that its checkpoint counts it.
const GRACE: Duration = Duration::from_secs(5);

/// Where objects go, and the path of the list.
pub(super) struct Target {
    pub(super) storage: &'static dyn Storage,
    pub(super) list: PathBuf,
}

/// The threads, and what they were given.
pub(super) struct Uploads {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    stop: Stop,
    /// When it was seen that the run is stopped.
    stopped: OnceLock<Instant>,
    /// Bytes that may be under way.
    room: u64,
    /// Whether somebody counts what is there before the end.
    is_saved: bool,
}

struct Shared {
    target: Target,
    state: Mutex<State>,
    /// Something has come, or was dealt with; or it is over.
    changed: Condvar,
    /// Nobody waits any longer for what is under way.
    over: Arc<AtomicBool>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Upload>,
    /// Bytes of those that wait or are under way.
    bytes: u64,
    /// Threads that have nothing to do.
    idle: usize,
    /// Objects that were handed over, and the numbers of those that are not there yet.
    pushed: u64,
    open: BTreeSet<u64>,
    list: Vec<u8>,
    /// Bytes of the list that the store has; none where that is an earlier one.
    list_put: Option<usize>,
    due: Option<Due>,
    is_listing: bool,
    /// When the list may be put again.
    list_after: Option<Instant>,
    /// What is there, with a list that names it.
    done: Written,
    failure: Option<Failure>,
}

struct Upload {
    number: u64,
    path: PathBuf,
    bytes: Vec<u8>,
}

/// The list is to be put when the objects before it are there.
#[derive(Clone, Copy)]
struct Due {
    after: u64,
    len: usize,
    up_to: Written,
}

/// What a thread does next.
enum Task {
    Put(Upload),
    List(Due, Vec<u8>),
}

/// Bytes of objects that may be under way, of a run that may take `memory`.
pub(super) fn room(memory: u64) -> u64 {
    BYTES.min(memory / 8)
}

impl Uploads {
    /// Nothing is under way yet; an earlier run has put the objects of `list`.
    pub(super) fn new(
        target: Target,
        (list, done): (Vec<u8>, Written),
        stop: Stop,
        (memory, is_saved): (u64, bool),
    ) -> Self {
        let state = State { list, done, ..State::default() };
        let shared = Shared {
            target,
            state: Mutex::new(state),
            changed: Condvar::new(),
            over: Arc::default(),
        };
        let room = room(memory);
        let (shared, threads, stopped) = (Arc::new(shared), Vec::new(), OnceLock::new());
        Self { shared, threads, stop, stopped, room, is_saved }
    }

    /// Hands an object over; waits where too many bytes are under way.
    ///
    /// # Errors
    /// One before it could not be put; the run was stopped.
    pub(super) fn push(&mut self, path: PathBuf, bytes: Vec<u8>) -> Result<(), Failure> {
        let n_bytes = bytes.len() as u64;
        let has_room = |it: &State| it.bytes == 0 || it.bytes + n_bytes <= self.room;
        let mut state = self.wait(&has_room, Duration::ZERO)?;
        let number = state.pushed;
        state.pushed += 1;
        state.bytes += n_bytes;
        state.open.insert(number);
        state.waiting.push_back(Upload { number, path, bytes });
        let is_short = state.waiting.len() > state.idle;
        drop(state);
        self.shared.changed.notify_all();
        if is_short { self.start() } else { Ok(()) }
    }

    /// Adds lines to the list.
    pub(super) fn note(&self, text: &str) {
        self.shared.locked().list.extend(text.bytes());
    }

    /// Bytes of the list.
    pub(super) fn list_bytes(&self) -> u64 {
        self.shared.locked().list.len() as u64
    }

    /// The list.
    pub(super) fn list(&self) -> Vec<u8> {
        self.shared.locked().list.clone()
    }

    /// Says that the list is to be put when all that it names is there; does nothing while that is so already, or was
    /// not long ago.
    ///
    /// # Errors
    /// Something could not be put.
    pub(super) fn sync(&mut self, up_to: Written) -> Result<(), Failure> {
        let mut state = self.shared.locked();
        let is_early = state.list_after.is_some_and(|it| Instant::now() < it);
        if is_early || !self.is_saved || state.done()?.files >= up_to.files {
            return Ok(());
        }
        state.ask(up_to);
        drop(state);
        self.shared.changed.notify_all();
        Ok(())
    }

    /// What is there.
    ///
    /// # Errors
    /// Something could not be put.
    pub(super) fn done(&self) -> Result<Written, Failure> {
        self.shared.locked().done()
    }

    /// Waits until everything is there, with a list that names it.
    ///
    /// # Errors
    /// Something could not be put; the run was stopped, and it is not there a while after.
    pub(super) fn settle(&mut self, up_to: Written) -> Result<(), Failure> {
        if self.threads.is_empty() {
            self.start()?;
        }
        loop {
            let is_quiet = |it: &State| it.due.is_none() && !it.is_listing;
            let mut state = self.wait(&is_quiet, GRACE)?;
            if state.list_put == Some(state.list.len()) {
                return Ok(());
            }
            state.ask(up_to);
            drop(state);
            self.shared.changed.notify_all();
        }
    }

    /// Starts a thread more, if there are not enough.
    fn start(&mut self) -> Result<(), Failure> {
        if self.threads.len() >= THREADS {
            return Ok(());
        }
        let shared = self.shared.clone();
        let work = move || storage::unless(&shared.over, || shared.work());
        match thread::Builder::new().name("pipec-upload".to_owned()).spawn(work) {
            Ok(thread) => self.threads.push(thread),
            // Those that are there do it.
            Err(_) if !self.threads.is_empty() => {}
            Err(error) => {
                return Err(Failure::Io {
                    path: self.shared.target.list.display().to_string(),
                    detail: format!("cannot start a thread to write it: {error}"),
                });
            }
        }
        Ok(())
    }

    /// Waits until the state is as it is wanted; where the run was stopped, for so long at most.
    fn wait(
        &self,
        is_so: &dyn Fn(&State) -> bool,
        grace: Duration,
    ) -> Result<MutexGuard<'_, State>, Failure> {
        let mut state = self.shared.locked();
        loop {
            if let Err(failure) = state.done() {
                // Who has stopped the run need not hear that of it.
                let is_stopped = self.stop.is_requested();
                return Err(if is_stopped { Failure::Stopped } else { failure });
            }
            if is_so(&state) {
                return Ok(state);
            }
            if self.stop.is_requested() {
                let since = self.stopped.get_or_init(Instant::now);
                if since.elapsed() >= grace {
                    return Err(Failure::Stopped);
                }
            }
            let changed = &self.shared.changed;
            let woken = changed.wait_timeout(state, PATIENCE);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Uploads {
    fn drop(&mut self) {
        {
            let _state = self.shared.locked();
            self.shared.over.store(true, SeqCst);
        }
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            // It panics at nothing; if it did, the message was printed.
            let _ = thread.join();
        }
    }
}

impl State {
    fn done(&self) -> Result<Written, Failure> {
        self.failure.clone().map_or(Ok(self.done), Err)
    }

    /// The list is to be put as it is now, unless an earlier one is to be put still.
    fn ask(&mut self, up_to: Written) {
        if self.due.is_none() && !self.is_listing {
            self.due = Some(Due { after: self.pushed, len: self.list.len(), up_to });
        }
    }

    /// What can be done now.
    fn next(&mut self) -> Option<Task> {
        if self.failure.is_some() {
            return None;
        }
        let are_there = |it: &mut Due| self.open.first().is_none_or(|first| *first >= it.after);
        if let Some(due) = self.due.take_if(are_there) {
            self.is_listing = true;
            return Some(Task::List(due, self.list[..due.len].to_vec()));
        }
        self.waiting.pop_front().map(Task::Put)
    }

    fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
        self.waiting.clear();
        self.bytes = 0;
    }
}

impl Shared {
    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what there is to do until it is over.
    fn work(&self) {
        let mut state = self.locked();
        while !self.over.load(SeqCst) {
            let Some(task) = state.next() else {
                state.idle += 1;
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
                continue;
            };
            drop(state);
            state = match task {
                Task::Put(upload) => self.put(upload),
                Task::List(due, text) => self.put_list(due, text),
            };
            self.changed.notify_all();
        }
    }

    fn put(&self, Upload { number, path, bytes }: Upload) -> MutexGuard<'_, State> {
        let n_bytes = bytes.len() as u64;
        let put = self.target.storage.put(&path, bytes);
        let mut state = self.locked();
        match put {
            Ok(()) => {
                state.open.remove(&number);
                state.bytes = state.bytes.saturating_sub(n_bytes);
            }
            Err(error) => {
                state.fail(failure(self.target.storage, &path, "cannot be written", &error));
            }
        }
        state
    }

    fn put_list(&self, due: Due, text: Vec<u8>) -> MutexGuard<'_, State> {
        let (path, begun) = (&self.target.list, Instant::now());
        let put = self.target.storage.put(path, text);
        let mut state = self.locked();
        state.is_listing = false;
        state.list_after = Some(Instant::now() + begun.elapsed() * (LIST_SHARE - 1));
        match put {
            Ok(()) => (state.done, state.list_put) = (due.up_to, Some(due.len)),
            Err(error) => {
                state.fail(failure(self.target.storage, path, "cannot be written", &error));
            }
        }
        state
    }
}
