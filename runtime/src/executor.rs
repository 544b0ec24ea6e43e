//! Runs a program: threads take the tasks of its stages, chunks of records come out in order.
//!
//! `state.rs` says what may run and what follows from it, `task.rs` does the work, `node.rs` is
//! what they talk about, `build.rs` makes it all from a program.

mod bound;
mod build;
mod cut;
mod deal;
mod flow;
mod found;
mod handed;
mod hands;
mod lanes;
mod least;
mod losses;
mod measured;
mod node;
mod operate;
mod output;
mod position;
mod resume;
mod ring;
mod sound;
mod state;
mod stats;
mod supply;
mod task;
#[cfg(test)]
mod tests;
mod windowed;

pub use deal::Rank;
pub use losses::LostRecord;
pub use output::Step;
pub use position::Position;
pub use stats::{StageStats, Stats};

use crate::{
    CachePoint, Chunk, Failure, Fingerprint, Kernels, Pool, Prepared, Unneeded, memory, os, storage,
};
use bound::Budget;
use deal::Below;
use handed::Handed;
use lanes::Own;
use least::Needs;
use memory::enter;
use node::Class;
use plan::{Field, Program};
use position::At;
use state::{Calls, State};
use std::{
    any::Any,
    collections::BTreeMap,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

// Who owns what. A stage becomes one node, an operator with a parallel step two. The nodes form
// a tree whose root is the output. All that threads share is the `State` behind one mutex. To
// work, a thread takes a job out of the state (the input chunk, and what a serial node keeps from
// call to call, moves into the job), lets the lock go, computes, and brings the outcome back. So
// no code of the library ever runs under the lock, and what a job has nobody else has.
//
// Order. A node whose tasks run in any order draws a number for each when the task is taken,
// which is in the order of its input; outcomes go on in the order of these numbers (`Ring`). A
// serial node has at most one task at a time. So what is in `Node::out`, and whatever is decided
// when something gets there (an epoch's end, a failure, a budget), is the same whatever the
// threads do. The end of an epoch and a failure travel as marks between the chunks: what was
// computed before a failure is delivered before it, and the first in the order of the stream wins.
//
// Bounds. A node begins a task only while it has room (`Node::has_room`): few chunks, and few
// bytes, begun or waiting for the next node. A node that holds nothing always has room.
//
// Memory. What tasks take is held to a bound, of the run's buffers or of the whole process; `bound.rs`
// says how, and what becomes of a task that would take more.
//
// No deadlock. Assume that no task is running and that nothing waits for the consumer. Then every
// ring is empty, since its first outcome would have gone on, and the root's `out` is empty. A node
// that holds nothing has room, and needs but the next item of the one input that it wants. Either
// that is there, and the node can go on; or that input holds nothing too, and the same is asked
// of it. This ends at a source, which needs nothing. (A direct batch is begun only while few are
// under way, see `Cut`; but on the way down to it all nodes were found empty, and so no batch is
// under way.) So some thread has something to do until the root has given its last mark. Should this ever be
// wrong, a consumer that has waited for 10 s finds it out (`State::is_dead`), and the run ends with a failure.
//
// Who wakes whom. Whoever changes the state asks it, before he lets the lock go, whom to call
// (`State::calls`): a sleeping thread of a class that has a task ready, and the consumer if there
// is something for it. A called thread takes a task and asks again, so that one call after the
// other wakes as many as there are tasks. Nobody sleeps without having looked under the lock.
//
// Stop. `stopped` is set under the lock, and everybody is called: the consumer's `next` returns
// at once, threads end after the task that they are at, and `Drop` joins them. A task that panics
// becomes a failure of its chunk; should the state itself break, `broken` ends the run.

/// Bytes of a thread's stack: values that stand above each other are found by recursion, and take
/// up to 3.7 KiB each in a build for debugging, so that the 1 200 of a stage take 4.4 MiB.
const STACK_BYTES: usize = 16 << 20;

/// Rests of threads that may not compute all the time: the shortest, and the longest at once, so that
/// they soon see that a run has been stopped.
const REST_MIN: Duration = Duration::from_millis(2);
const REST_MAX: Duration = Duration::from_millis(50);

/// How a program is run.
#[derive(Debug, Clone)]
pub struct Options {
    /// All that is random follows from it.
    pub seed: u64,
    /// Threads that compute; at least one is started.
    pub workers: usize,
    /// Threads that wait for files; at least one is started where there is something to read.
    pub readers: usize,
    /// Bytes that the run may take, with the batches that the consumer holds: its buffers, and what
    /// decoders work in. A task that would take more waits, or ends the run.
    pub memory: u64,
    /// Bytes that buffers and values that are kept from epoch to epoch may take together, where that is more
    /// than `memory`, which is without the latter.
    pub bound: Option<u64>,
    /// Bytes that the whole process may hold, which does little else: what it holds already counts, and
    /// a run that cannot do with the rest is refused. None where others decide that.
    pub process_memory: Option<u64>,
    /// Bytes that whoever takes the output will hold beside it, where the whole process is bounded.
    pub beside: u64,
    /// The epochs, one after the other.
    pub epochs: Range<u32>,
    /// Records of a chunk, in place of what the program says: the output is the same.
    pub chunk_rows: Option<usize>,
    /// Which run it is, of several that share the work.
    pub rank: Rank,
    /// Where an earlier run of the same program has stood, in the first of the epochs.
    pub resume: Option<Position>,
    /// Whether [`Run::on_lost`] will be told of every lost record.
    pub told_of_losses: bool,
    /// Records that may be lost in all; beyond them the run ends.
    pub most_lost: Option<u64>,
    /// The share of its time that each thread may compute: 0 to 1.
    pub cpu_share: f64,
    /// Threads that may work in a stage at a time, where not any number; by its place.
    pub caps: BTreeMap<usize, usize>,
    /// Whether it is measured which step takes the processor's time, and which call.
    pub measured: bool,
    /// Machine code that was made for the program before.
    pub prepared: Prepared,
}

impl Default for Options {
    /// One epoch, seed 0, one worker, 1 GiB.
    fn default() -> Self {
        Self {
            seed: 0,
            workers: 1,
            readers: 1,
            memory: 1 << 30,
            bound: None,
            process_memory: None,
            beside: 0,
            epochs: 0..1,
            chunk_rows: None,
            rank: Rank::default(),
            resume: None,
            told_of_losses: false,
            most_lost: None,
            cpu_share: 1.0,
            caps: BTreeMap::new(),
            measured: true,
            prepared: Prepared::Nothing,
        }
    }
}

/// Makes a program ready to run; reads no record and starts no thread (`semantics.md`, 26).
///
/// Fails where the program names what this build does not have, or refuses its arguments.
pub fn start(program: &Program, kernels: &dyn Kernels, options: &Options) -> Result<Run, Failure> {
    if let Some(position) = &options.resume
        && position.epoch != options.epochs.start
    {
        return Err(Failure::State("it is that of another epoch".to_owned()));
    }
    let rest = rest_of(options);
    let phase = match &rest {
        _ if options.epochs.is_empty() => Phase::Over,
        Some(rest) => Phase::EpochOver(rest.epochs.start - 1),
        None => Phase::Ready,
    };
    let of = rest.as_ref().unwrap_or(options);
    let bound = of.process_memory;
    let resident = || Some(os::resident()?.saturating_add(of.beside as usize));
    let before = bound.and_then(|_| resident());
    let left = of.memory.saturating_sub(before.unwrap_or(0) as u64);
    let pool = Pool::within(left);
    let made = Options { memory: left, ..of.clone() };
    let (nodes, own) = memory::or_failure(|| build::nodes(program, kernels, (&made, &pool)))?;
    let process = bound.and_then(|_| resident());
    let bound = bound.filter(|_| process.is_some());
    let needs = Needs::of(program, &nodes, of.beside);
    let least = needs.least(process);
    needs.batch_bytes().into_iter().for_each(|it| pool.keep_idle(it));
    let memory = bound.or(of.bound).unwrap_or(of.memory);
    least.check(memory, &needs.enough(process))?;
    let workers = least.workers(options.workers.max(1), memory, &nodes);
    let readers = nodes.iter().any(|it| it.class == Class::Reader);
    let to_start = [workers, if readers { options.readers.max(1) } else { 0 }];
    let budget = Budget::new(memory, process, pool.clone());
    let kept = build::kept_columns(program);
    let limits = (options.most_lost, budget, to_start);
    let state = State::new(nodes, limits);
    let shared = Arc::new(Shared {
        at_first: state.threads,
        state: Mutex::new(state),
        cpu_share: options.cpu_share.clamp(0.01, 1.0),
        tasks: Default::default(),
        output: Condvar::new(),
        resting: Condvar::new(),
        over: Arc::default(),
        pool,
    });
    shared.hold(bound);
    Ok(Run {
        shared,
        stages: build::titles(program),
        kept,
        to_start,
        threads: Vec::new(),
        phase,
        epochs_left: options.epochs.len(),
        waited: Duration::ZERO,
        position: options.resume.clone().unwrap_or(Position::start(options.epochs.start)),
        shared_work: (options.rank.is_shared()).then(|| SharedWork::of(program, own)),
        handed: Handed::default(),
        batched: program.batched,
        on_lost: None,
    })
}

/// What is left to be done where only the end of the first epoch is to be told.
fn rest_of(options: &Options) -> Option<Options> {
    let position = options.resume.as_ref().filter(|it| it.is_end())?;
    let epochs = position.epoch.checked_add(1)?..options.epochs.end;
    Some(Options { epochs, resume: None, ..options.clone() })
}

/// A program that runs. Dropped, it stops, and leaves no thread behind.
pub struct Run {
    shared: Arc<Shared>,
    stages: Vec<stats::Title>,
    /// The columns that leave, where some are hidden.
    kept: Option<Vec<usize>>,
    /// How many threads of each class.
    to_start: [usize; Class::COUNT],
    threads: Vec<thread::JoinHandle<()>>,
    phase: Phase,
    epochs_left: usize,
    /// How long [`Run::step`] has waited for what has not come yet.
    waited: Duration,
    /// Where what was delivered last has begun.
    position: Position,
    /// Where other runs do a part of the work.
    shared_work: Option<SharedWork>,
    /// What the consumer has.
    handed: Handed,
    /// Whether what it gets are batches.
    batched: bool,
    on_lost: Option<OnLost>,
}

/// What is known of a run that is one among several.
struct SharedWork {
    below: Below,
    /// The lanes that this run goes through.
    own: Own,
    /// Where the rounds end that the chunk belongs to which was given last.
    ends: Vec<At>,
    /// The column of the output that says which rows of a batch are records.
    valid: Option<usize>,
    /// The chunk that was given last, where one of nothing may have to be made like it.
    last: Option<Chunk>,
    /// What a chunk has, where none was given.
    fields: Vec<Field>,
}

impl SharedWork {
    fn of(program: &Program, own: Own) -> Self {
        let valid = program.deal.valid.map(|it| it as usize);
        let fields = program.output.clone();
        let below = Below::of(program, own);
        Self { below, own, ends: Vec::new(), valid, last: None, fields }
    }
}

/// Is told of records that were skipped or replaced, each once, those of a step in their order.
pub type OnLost = Box<dyn FnMut(Vec<LostRecord>) -> Result<(), Failure> + Send>;

/// How far a run is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Ready,
    Running,
    /// The epoch of this number is over, and nobody has been told.
    EpochOver(u32),
    Over,
}

struct Shared {
    state: Mutex<State>,
    /// Threads of each class that are at work from the start on; the others rest until they are of use.
    at_first: [usize; Class::COUNT],
    /// See [`Options::cpu_share`].
    cpu_share: f64,
    /// Where threads of each class wait for a task.
    tasks: [Condvar; Class::COUNT],
    /// Where the consumer waits for a chunk.
    output: Condvar,
    /// Where threads rest that are too many for the memory or the cores.
    resting: Condvar,
    /// That it has been stopped, for those who read something meanwhile.
    over: Arc<AtomicBool>,
    pool: Pool,
}

impl Run {
    /// What can stop the run from another thread.
    pub fn stopper(&self) -> Stopper {
        Stopper { shared: Arc::downgrade(&self.shared) }
    }

    /// What the run has done so far.
    pub fn stats(&self) -> Stats {
        stats::take(&self.stages, &self.shared.lock())
    }

    /// Where the run stands after the first `rows` records of the chunk that `next` has given
    /// last: to go on from there, see [`Options::resume`].
    pub fn position_after(&self, rows: usize) -> Position {
        let Position { epoch, at, own } = self.position.clone();
        match &self.shared_work {
            None => Position { epoch, at: at.plus(rows as u64), own },
            Some(SharedWork { below, own, ends, .. }) => {
                let end = ends[..rows.min(ends.len())].last();
                let at = end.map_or(at, |it| below.root(it.clone()));
                Position { epoch, at, own: *own }
            }
        }
    }

    /// What the files of the sources are, in the order of the program; looks at each file.
    ///
    /// # Errors
    /// A file is not there, or a folder cannot be read.
    pub fn fingerprints(&self) -> Result<Vec<Fingerprint>, Failure> {
        let sources = self.shared.lock().sources();
        sources.iter().filter_map(|it| it.fingerprint().transpose()).collect()
    }

    /// The class folders of a source, by its number in the order of the program.
    pub fn classes(&self, source: usize) -> Vec<String> {
        let sources = self.shared.lock().sources();
        sources.get(source).map_or(Vec::new(), |it| it.classes().to_vec())
    }

    /// What of the files of each source is not read, in the order of the program: where the source is written, and what.
    pub fn unneeded(&self) -> Vec<(String, Unneeded)> {
        self.shared.lock().unneeded()
    }

    /// What the files of the sources hold, in the order of the program; reads all of them.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn contents(&self) -> Result<Vec<u128>, Failure> {
        let sources = self.shared.lock().sources();
        sources.iter().filter_map(|it| it.contents().transpose()).collect()
    }

    /// Records of a pass through each source, in the order of the program; lists the files of each.
    /// None where a source is read through, and nobody knows.
    ///
    /// # Errors
    /// A folder or a file cannot be read.
    pub fn pass_lens(&self) -> Result<Vec<Option<u64>>, Failure> {
        let supplies = self.shared.lock().supplies();
        let len = |it: &Option<Arc<supply::Supply>>| {
            it.as_ref().map(|it| it.pass().map(|it| it.all)).transpose()
        };
        supplies.iter().map(len).collect()
    }

    /// The same of those sources alone that know it once they have listed their files; of the
    /// others, and where there are no such files, none.
    pub fn listed_lens(&self) -> Vec<Option<u64>> {
        let supplies = self.shared.lock().supplies();
        let len = |it: &Option<Arc<supply::Supply>>| {
            let listed = it.as_ref().filter(|it| it.source.is_counted() && it.is_arithmetic())?;
            listed.pass().ok().map(|it| it.all)
        };
        supplies.iter().map(len).collect()
    }

    /// Keeps values from epoch to epoch; the output is the same. To be said before the first call
    /// of `next`.
    ///
    /// # Errors
    /// The program has no such value.
    pub fn keep(&mut self, points: &[CachePoint]) -> Result<(), Failure> {
        let mut state = self.shared.lock();
        points.iter().for_each(|it| state.budget.keep(&it.cache));
        points.iter().try_for_each(|it| state.keep(it))
    }

    /// Tells `told` of every record that is skipped or replaced, on the thread that calls `next`;
    /// to be said before the first call, and in [`Options::told_of_losses`]. What it returns ends
    /// the run.
    pub fn on_lost(&mut self, told: OnLost) {
        self.on_lost = Some(told);
    }

    fn start_threads(&mut self) -> Result<(), Failure> {
        for (class, n_threads) in Class::ALL.into_iter().zip(self.to_start) {
            for number in 0..n_threads {
                let shared = self.shared.clone();
                let thread = thread::Builder::new()
                    .name(format!("{} {number}", class.name()))
                    .stack_size(STACK_BYTES)
                    .spawn(move || shared.work_guarded(class, number))
                    .map_err(|error| Failure::Io {
                        path: format!("{} {number}", class.name()),
                        detail: format!(
                            "the thread cannot be started: {error}; take fewer (`--workers`)"
                        ),
                    })?;
                self.threads.push(thread);
            }
        }
        Ok(())
    }

    fn fail(&mut self, failure: Failure) -> Failure {
        self.end();
        failure
    }

    fn end(&mut self) {
        self.phase = Phase::Over;
        self.shared.stop();
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.shared.stop();
        for thread in self.threads.drain(..) {
            // It ends with an error only if it panicked, and then `broken` has said so.
            let _ = thread.join();
        }
    }
}

/// Stops a run, from any thread; does nothing once the run is gone.
#[derive(Clone)]
pub struct Stopper {
    shared: Weak<Shared>,
}

impl Stopper {
    /// Ends the run: `next` returns [`Failure::Stopped`], also where it is waiting.
    pub fn stop(&self) {
        if let Some(shared) = self.shared.upgrade() {
            shared.stop();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the thread of this number does from its start to its end.
    fn work(&self, class: Class, number: usize) {
        enter(&self.pool, class as usize);
        storage::until(&self.over);
        let mut memory = task::Memory::default();
        let mut owed = Duration::ZERO;
        let mut state = self.lock();
        // The others were never counted.
        if number >= self.at_first[class as usize] {
            state = self.wait_for_use(state, class);
        }
        while !state.stopped {
            if state.is_surplus(class) {
                state = self.rest(state, class, &mut memory);
                continue;
            }
            if owed >= REST_MIN {
                let rest = owed.min(REST_MAX);
                owed -= rest;
                let calls = state.calls();
                drop(state);
                self.call(calls);
                thread::sleep(rest);
                state = self.lock();
                continue;
            }
            let Some(job) = state.take_job(class) else {
                state = self.sleep(state, class);
                continue;
            };
            let calls = state.calls();
            drop(state);
            self.call(calls);
            let outcome = job.run(&mut memory);
            owed += outcome.times.busy.mul_f64(1.0 / self.cpu_share - 1.0);
            state = self.lock();
            state.finish(outcome);
            self.call_threads(&state);
        }
        let calls = state.calls();
        drop(state);
        self.call(calls);
    }

    fn sleep<'a>(&self, mut state: MutexGuard<'a, State>, class: Class) -> MutexGuard<'a, State> {
        state.sleeping[class as usize] += 1;
        // What was finished last may be for somebody else.
        let calls = state.calls();
        self.call(calls);
        let mut state =
            self.tasks[class as usize].wait(state).unwrap_or_else(PoisonError::into_inner);
        state.woke(class);
        state
    }

    /// Works, and ends the run should the executor itself be broken: it must not hang.
    fn work_guarded(&self, class: Class, number: usize) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.work(class, number))) {
            self.lock().broken = Some(bug("the executor", &*panic));
            self.stop();
        }
    }

    fn call(&self, calls: Calls) {
        for (condition, called) in self.tasks.iter().zip(calls.tasks) {
            if called {
                condition.notify_one();
            }
        }
        if calls.output {
            self.output.notify_one();
        }
    }

    fn stop(&self) {
        self.lock().stopped = true;
        self.over.store(true, Relaxed);
        self.tasks.iter().for_each(Condvar::notify_all);
        self.resting.notify_all();
        self.output.notify_all();
    }
}

/// The failure that a panic is.
fn bug(whose: &str, panic: &(dyn Any + Send)) -> Failure {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
    Failure::Program(format!("{whose} panicked, this is a bug in pipec: {text}"))
}
