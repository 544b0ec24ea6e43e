//! Cores that are not there: work that sleeps instead of computing, so many pieces of it at a time.
//!
//! A pipeline of known costs can so be run as on a machine of 32 or 96 cores, by the executor as it
//! is: what computes for 5 ms holds one of the tokens and sleeps 5 ms.

use std::{
    cell::Cell,
    sync::{Condvar, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// How many there are, and how many are taken; none where work is done as it is.
static TOKENS: Mutex<Option<Tokens>> = Mutex::new(None);
static FREED: Condvar = Condvar::new();

struct Tokens {
    free: usize,
}

/// Has work of known cost sleep from now on, at most `cores` pieces of it at a time; `None` has it
/// compute.
pub fn virtual_cores(cores: Option<usize>) {
    *locked() = cores.map(|it| Tokens { free: it.max(1) });
    FREED.notify_all();
}

thread_local! {
    /// Time of virtual cores that the thread has spent.
    static SPENT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    /// By how much its sleeps were too long: the next ones are shorter.
    static OVERSLEPT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Time of virtual cores that the calling thread has spent: its processor time there.
pub(crate) fn spent() -> Duration {
    SPENT.get()
}

/// Spends `time` of a core: sleeps with a token where cores are virtual, else computes.
pub fn spend(time: Duration) {
    if !take() {
        return spin(time);
    }
    let begin = Instant::now();
    let owed = OVERSLEPT.get().min(time);
    thread::sleep(time - owed);
    OVERSLEPT.set((OVERSLEPT.get() + begin.elapsed()).saturating_sub(time));
    SPENT.set(SPENT.get() + time);
    if let Some(tokens) = &mut *locked() {
        tokens.free += 1;
    }
    FREED.notify_one();
}

/// Waits for a token; `false` where cores are what they are.
fn take() -> bool {
    let mut tokens = locked();
    loop {
        match &mut *tokens {
            None => return false,
            Some(it) if it.free > 0 => {
                it.free -= 1;
                return true;
            }
            Some(_) => tokens = FREED.wait(tokens).unwrap_or_else(PoisonError::into_inner),
        }
    }
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
    let from = crate::os::thread_cpu();
    let spent = || match (from, crate::os::thread_cpu()) {
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

fn locked() -> std::sync::MutexGuard<'static, Option<Tokens>> {
    TOKENS.lock().unwrap_or_else(PoisonError::into_inner)
}
