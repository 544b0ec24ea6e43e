//! Cores that are not there: work that is slowed down until so many cores could have done it.
//!
//! What has taken a core for 5 ms then sleeps with one of the tokens until 5 ms have gone by in slow
//! motion, on the executor as it is; [`spend`], work of a known cost, sleeps instead of computing.
//! So 2 cores stand for 32, as long as they are fast enough for all that is not slept.

use crate::os;
use std::{
    cell::Cell,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

/// The virtual cores; none where work is done as it is.
static TOKENS: Mutex<Option<Tokens>> = Mutex::new(None);
static FREED: Condvar = Condvar::new();
/// Whether there are any: asked before each task, without the lock.
static VIRTUAL: AtomicBool = AtomicBool::new(false);

#[derive(Clone, Copy)]
struct Tokens {
    cores: usize,
    slower: f64,
    /// How many have been asked for, and given back.
    asked_for: u64,
    given_back: u64,
}

impl Tokens {
    /// Asks for one; the place in the line.
    fn line_up(&mut self) -> u64 {
        self.asked_for += 1;
        self.asked_for
    }

    fn is_due(&self, place: u64) -> bool {
        place <= self.given_back + self.cores as u64
    }
}

/// Lets tasks work on `cores` virtual cores from now on, each `slower` times as slow as one that is
/// here; `None` gives the real ones back. To be said while nothing runs.
pub fn virtual_cores(cores: Option<usize>, slower: f64) {
    let slower = slower.max(1.0);
    let tokens = |it: usize| Tokens { cores: it.max(1), slower, asked_for: 0, given_back: 0 };
    *locked() = cores.map(tokens);
    VIRTUAL.store(cores.is_some(), Relaxed);
    FREED.notify_all();
}

/// How many virtual cores there are, if any.
pub fn cores() -> Option<usize> {
    locked().map(|it| it.cores)
}

/// How many times as long as on such a machine everything takes now; 1 on real cores.
pub fn slower() -> f64 {
    if VIRTUAL.load(Relaxed) { locked().map_or(1.0, |it| it.slower) } else { 1.0 }
}

thread_local! {
    /// What the thread has slept in place of work, as long as it would have taken on such a machine.
    static SPENT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    /// Processor time that it has taken to fall asleep and to wake up, which no such machine would need.
    static LOST: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    /// By how much its sleeps were too long: the next ones are shorter.
    static OVERSLEPT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    /// How long it has waited for tokens and slept with them.
    static DOZED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    /// For how long it is yet to sleep, since its work was too fast for such a machine.
    static OWED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// A clock of the calling thread by which [`spend`] takes its time at once, whenever that is slept.
pub(crate) struct Watch {
    begun: Instant,
    /// What had been spent and slept by then, where cores are virtual.
    before: Option<[Duration; 2]>,
}

impl Watch {
    pub(crate) fn begin() -> Self {
        let before = VIRTUAL.load(Relaxed).then(|| [SPENT.get(), DOZED.get()]);
        Self { begun: Instant::now(), before }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        let elapsed = self.begun.elapsed();
        let Some([spent, dozed]) = self.before else { return elapsed };
        let spent = (SPENT.get() - spent).mul_f64(slower());
        elapsed.saturating_sub(DOZED.get() - dozed) + spent
    }
}

/// What the calling thread would have used on such a machine, where it has used `cpu` here.
#[cfg(all(unix, not(miri)))]
pub(crate) fn as_there(cpu: Duration) -> Duration {
    (cpu + SPENT.get()).saturating_sub(LOST.get())
}

/// Does `work`, in slow motion where cores are virtual; with its result, how much longer a [`Watch`] would
/// have run then.
pub(crate) fn slowly<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let slower = slower();
    if slower == 1.0 {
        return (work(), Duration::ZERO);
    }
    let before = cpu();
    let done = work();
    let longer = cpu().saturating_sub(before).mul_f64(slower - 1.0);
    let owed = OWED.get() + longer;
    // What is short is paid for later: nobody waits for a core to do almost nothing.
    if owed < PAID_FROM {
        OWED.set(owed);
    } else {
        OWED.set(Duration::ZERO);
        OVERSLEPT.set(doze(owed, OVERSLEPT.get()));
    }
    (done, longer)
}

/// A debt from which on it is paid when a task is done.
const PAID_FROM: Duration = Duration::from_millis(2);

/// A debt from which on it is paid within a task. Who slept after each record would find the caches of the processor cold
/// every time, and in slow motion that counts.
const PAID_AT_ONCE_FROM: Duration = Duration::from_millis(100);

/// Processor time that the calling thread has used for its work.
fn cpu() -> Duration {
    os::thread_cpu().unwrap_or_default().saturating_sub(SPENT.get())
}

/// Spends `time` of a core: sleeps with a token where cores are virtual, else computes.
///
/// In slow motion, what is short is slept later, with what follows in the same task.
pub fn spend(time: Duration) {
    let slower = slower();
    if slower == 1.0 {
        return OVERSLEPT.set(spend_from(time, OVERSLEPT.get()));
    }
    SPENT.set(SPENT.get() + time);
    let owed = OWED.take() + time.mul_f64(slower);
    if owed < PAID_AT_ONCE_FROM {
        OWED.set(owed);
    } else {
        OVERSLEPT.set(doze(owed, OVERSLEPT.get()));
    }
}

/// Whose turn it is to do what one thread does at a time.
#[derive(Debug, Default)]
pub struct Turn(Mutex<Turns>);

#[derive(Debug, Default)]
struct Turns {
    /// By how much too long they took.
    overslept: Duration,
    /// When the last one was over.
    over: Option<Instant>,
}

impl Turn {
    /// Spends `time` of a core once it is the caller's turn.
    pub fn spend(&self, time: Duration) {
        let came = Instant::now();
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Who has waited would have begun when the last turn was over: to wake up takes a time that
        // such a machine would not need.
        let late = turns.over.filter(|it| came < *it).map_or(Duration::ZERO, |it| it.elapsed());
        turns.overslept = spend_from(time, turns.overslept + late);
        turns.over = Some(Instant::now());
    }
}

/// Gives by how much too long it took, `overslept` with it.
fn spend_from(time: Duration, overslept: Duration) -> Duration {
    if !VIRTUAL.load(Relaxed) {
        spin(time);
        return Duration::ZERO;
    }
    let left = doze(time.mul_f64(slower()), overslept);
    SPENT.set(SPENT.get() + time);
    left
}

/// Sleeps for `time` with a token, less what was slept too long before; gives what is slept too long
/// then.
fn doze(time: Duration, overslept: Duration) -> Duration {
    let (cpu_before, came) = (cpu(), Instant::now());
    take();
    let begin = Instant::now();
    thread::sleep(time.saturating_sub(overslept));
    let slept = begin.elapsed();
    give_back();
    DOZED.set(DOZED.get() + came.elapsed());
    LOST.set(LOST.get() + cpu().saturating_sub(cpu_before));
    (overslept + slept).saturating_sub(time)
}

/// Waits for a token; who came first gets one first, or the order of the records would suffer.
fn take() {
    let mut tokens = locked();
    let Some(own) = tokens.as_mut().map(Tokens::line_up) else { return };
    while tokens.as_ref().is_some_and(|it| !it.is_due(own)) {
        tokens = FREED.wait(tokens).unwrap_or_else(PoisonError::into_inner);
    }
}

fn give_back() {
    if let Some(tokens) = &mut *locked() {
        tokens.given_back += 1;
    }
    FREED.notify_all();
}

/// From here on the thread's own clock is asked; it takes up to a microsecond.
const CLOCK: Duration = Duration::from_micros(50);

/// Computes for so long, in time of the processor where that can be told.
fn spin(time: Duration) {
    let begin = Instant::now();
    if time < CLOCK {
        while begin.elapsed() < time {
            std::hint::spin_loop();
        }
        return;
    }
    let from = os::thread_cpu();
    let spent = || match (from, os::thread_cpu()) {
        (Some(from), Some(now)) => now.saturating_sub(from),
        _ => begin.elapsed(),
    };
    loop {
        let left = time.saturating_sub(spent());
        if left.is_zero() {
            return;
        }
        let pause = Instant::now();
        while pause.elapsed() < left {
            std::hint::spin_loop();
        }
    }
}

fn locked() -> MutexGuard<'static, Option<Tokens>> {
    TOKENS.lock().unwrap_or_else(PoisonError::into_inner)
}
