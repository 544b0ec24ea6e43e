//! Cores that are not there: work that is slowed down until so many cores could have done it.
//!
//! A task that has taken a core for 5 ms holds one of the tokens and sleeps until 5 ms have gone by
//! in slow motion, on the executor as it is; [`spend`], work of a known cost, sleeps instead of
//! computing. So 2 cores stand for 32, as long as they are fast enough for all that is not slept.

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

/// How many there are, and how many are free; none where work is done as it is.
static TOKENS: Mutex<Option<Tokens>> = Mutex::new(None);
static FREED: Condvar = Condvar::new();
/// Whether there are any: asked before each task, without the lock.
static VIRTUAL: AtomicBool = AtomicBool::new(false);

#[derive(Clone, Copy)]
struct Tokens {
    cores: usize,
    free: usize,
    slower: f64,
}

/// Lets tasks work on `cores` virtual cores from now on, each `slower` times as slow as one that is
/// here; `None` gives the real ones back. To be said while nothing runs.
pub fn virtual_cores(cores: Option<usize>, slower: f64) {
    let tokens = |it: usize| Tokens { cores: it.max(1), free: it.max(1), slower: slower.max(1.0) };
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
    /// How much slower the core is that the thread has; 0 where it has no virtual one.
    static HELD: Cell<f64> = const { Cell::new(0.0) };
    /// What the thread has slept in place of work, as long as it would have taken on such a machine.
    static SPENT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    /// For how long it has slept or waited while it had a core to work with.
    static SLEPT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    /// By how much its sleeps were too long: the next ones are shorter.
    static OVERSLEPT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    /// Processor time that it has taken to fall asleep and to wake up, which no such machine would need.
    static LOST: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// What the calling thread would have used on such a machine, where it has used `cpu` here.
pub(crate) fn as_there(cpu: Duration) -> Duration {
    (cpu + SPENT.get()).saturating_sub(LOST.get())
}

/// Does `work` on one of the virtual cores, in slow motion, or just does it where there are none.
pub(crate) fn on_a_core<T>(work: impl FnOnce() -> T) -> T {
    if !VIRTUAL.load(Relaxed) || !take() {
        return work();
    }
    let (begin, cpu_before, slept_before) = (Instant::now(), cpu(), SLEPT.get());
    let done = work();
    let cpu = cpu().saturating_sub(cpu_before).mul_f64(HELD.get());
    let taken = begin.elapsed().saturating_sub(SLEPT.get() - slept_before);
    OVERSLEPT.set(doze(cpu.saturating_sub(taken), OVERSLEPT.get()));
    give_back();
    done
}

/// Processor time that the calling thread has used for its work.
fn cpu() -> Duration {
    os::thread_cpu().unwrap_or_default().saturating_sub(SPENT.get())
}

/// Does what needs no core, such as waiting for a disk: another may have it meanwhile.
pub(crate) fn aside<T>(wait: impl FnOnce() -> T) -> T {
    if HELD.get() == 0.0 {
        return wait();
    }
    let (begin, cpu_before) = (Instant::now(), cpu());
    give_back();
    let done = wait();
    take();
    LOST.set(LOST.get() + cpu().saturating_sub(cpu_before));
    SLEPT.set(SLEPT.get() + begin.elapsed());
    done
}

/// Spends `time` of a core: sleeps where the thread has a virtual one, else computes.
pub fn spend(time: Duration) {
    OVERSLEPT.set(spend_from(time, OVERSLEPT.get()));
}

/// Whose turn it is to do what one thread does at a time; and by how much too long they took.
#[derive(Debug, Default)]
pub struct Turn(Mutex<Duration>);

impl Turn {
    /// Spends `time` of a core once it is the caller's turn.
    pub fn spend(&self, time: Duration) {
        let mut overslept = aside(|| self.0.lock().unwrap_or_else(PoisonError::into_inner));
        *overslept = spend_from(time, *overslept);
    }
}

/// Gives by how much too long it took, `overslept` with it.
fn spend_from(time: Duration, overslept: Duration) -> Duration {
    let slower = HELD.get();
    if slower == 0.0 {
        spin(time);
        return overslept;
    }
    SPENT.set(SPENT.get() + time);
    doze(time.mul_f64(slower), overslept)
}

/// Sleeps for `time`, less what was slept too long before; gives what is slept too long then.
fn doze(time: Duration, overslept: Duration) -> Duration {
    let (begin, cpu_before) = (Instant::now(), cpu());
    thread::sleep(time.saturating_sub(overslept));
    LOST.set(LOST.get() + cpu().saturating_sub(cpu_before));
    SLEPT.set(SLEPT.get() + begin.elapsed());
    (overslept + begin.elapsed()).saturating_sub(time)
}

/// Waits for a token; `false` where cores are what they are.
fn take() -> bool {
    let mut tokens = locked();
    loop {
        match &mut *tokens {
            None => return false,
            Some(it) if it.free > 0 => {
                it.free -= 1;
                HELD.set(it.slower);
                return true;
            }
            Some(_) => tokens = FREED.wait(tokens).unwrap_or_else(PoisonError::into_inner),
        }
    }
}

fn give_back() {
    HELD.set(0.0);
    if let Some(tokens) = &mut *locked() {
        tokens.free += 1;
    }
    FREED.notify_one();
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
