//! How many threads compute at a time: more than there are cores only as far as tasks wait.
//!
//! Threads share the cores, however many they are. Each one beyond those that keep the cores busy costs
//! buffers of its own and what the caches forget, and it holds back all that is behind its piece in the
//! order while it waits for a core. So of the workers of a run as many are at work as Little's law asks for,
//! cores × the time of a task / its processor time; the others rest, and keep no memory. What a task waits
//! for a core or for memory is no part of that time: more threads would make it longer.
//!
//! Nothing waits for this: with any number of threads from one on the run comes to its end, and what it
//! gives is the same. A task that waits for long says nothing before it ends; so one of those that rest
//! looks now and then whether the others wait all the time (`Shared::watch`).

use super::{Shared, measured::Measured, node::Class, state::State, task::Times};
use crate::{os, tokens};
use std::{
    sync::{MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// Time of tasks after which what was seen before counts half.
const WINDOW: Duration = Duration::from_secs(1);
/// Threads by which the estimate has to differ from what there is: they do not come and go.
const MARGIN: f64 = 0.75;
/// From one look to the next of the one that rests.
const WATCH: Duration = Duration::from_millis(20);
/// The part of a core that a thread uses which waits all the time, at the most.
const IDLE: f64 = 0.1;

/// How many workers are at work at a time.
pub(super) struct Hands {
    cores: usize,
    /// Those of the run.
    workers: usize,
    /// Those that are of use now.
    most: usize,
    /// Processor time of tasks, and their time without what they waited for a core or for memory.
    cpu: f64,
    time: f64,
    /// Tasks that have ended.
    ended: u64,
    /// Whether one of those that rest looks after the others.
    is_watched: bool,
    watched: Watched,
}

/// What was seen by the one that looked last.
struct Watched {
    at: Instant,
    cpu: Duration,
    ended: u64,
}

impl Watched {
    fn now(ended: u64) -> Self {
        Self { at: Instant::now(), cpu: os::process_cpu().unwrap_or_default(), ended }
    }
}

impl Hands {
    /// Those of a run of so many workers; all of them where no time is measured.
    pub(super) fn new(workers: usize, is_measured: bool) -> Self {
        let here = || thread::available_parallelism().map_or(1, usize::from);
        let cores = match is_measured && os::thread_cpu().is_some() {
            true => tokens::cores().unwrap_or_else(here),
            false => workers,
        };
        let (watched, is_watched) = (Watched::now(0), false);
        let most = workers.min(cores);
        Self { cores, workers, most, cpu: 0.0, time: 0.0, ended: 0, is_watched, watched }
    }

    /// How many are of use.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Whether there are more workers than cores, so that it matters what tasks wait for.
    pub(super) fn are_many(&self) -> bool {
        self.workers > self.cores
    }

    /// Takes note of a task, which stands for so many, by its processor time and by its time without
    /// what it waited for a core or for memory.
    fn note(&mut self, cpu: Duration, time: Duration, stands_for: u64) {
        let times = |it: Duration| it.as_secs_f64() * stands_for as f64;
        self.cpu += times(cpu.min(time));
        self.time += times(time);
        if self.time > WINDOW.as_secs_f64() {
            (self.cpu, self.time) = (self.cpu / 2.0, self.time / 2.0);
        }
        let wanted = self.cores as f64 * self.time / self.cpu.max(1e-9);
        if (wanted - self.most as f64).abs() > MARGIN {
            // One that was unlike the others does not call all of them.
            let wanted = (wanted.round() as usize).min(2 * self.most);
            self.most = wanted.clamp(self.cores, self.workers);
        }
    }

    /// Calls as many again, where `active` are at work and have only waited since this was asked last.
    fn watch(&mut self, active: usize) {
        let now = Watched::now(self.ended);
        let Watched { at, cpu, ended } = std::mem::replace(&mut self.watched, now);
        let passed = (self.watched.at - at).as_secs_f64();
        let used = self.watched.cpu.saturating_sub(cpu).as_secs_f64();
        if ended == self.ended && active >= self.most && used < IDLE * active as f64 * passed {
            self.most = (2 * self.most).min(self.workers);
        }
    }
}

impl State {
    /// Takes note of the time of a task of node `id` that has ended.
    pub(super) fn weigh(&mut self, id: usize, times: &Times) {
        let node = &self.nodes[id];
        if node.class != Class::Worker || !self.hands.are_many() {
            return;
        }
        self.hands.ended += 1;
        let Some(cpu) = times.cpu else { return };
        let before = self.hands.most;
        self.hands.note(cpu, times.worked, Measured::stands_for(times.worked));
        if self.hands.most != before {
            self.plan_for_hands();
        }
    }

    /// Lets the nodes plan with the workers that are of use.
    pub(super) fn plan_for_hands(&mut self) {
        let workers = self.hands.most;
        self.nodes.iter_mut().for_each(|it| it.limit.workers = workers);
    }
}

impl Shared {
    /// Lets a thread of the class, which is none of those at work, wait until it is of use.
    pub(super) fn wait_for_use<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        class: Class,
    ) -> MutexGuard<'a, State> {
        while !state.stopped && !state.is_short(class) {
            let is_watch = class == Class::Worker && state.hands.are_many();
            state = if is_watch && !state.hands.is_watched {
                self.watch(state)
            } else {
                self.resting.wait(state).unwrap_or_else(PoisonError::into_inner)
            };
        }
        state.threads[class as usize] += 1;
        state
    }

    /// Looks, after a while, whether those at work only wait. Who does so and is called leaves it to
    /// another: all that rest are called together.
    fn watch<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.hands.is_watched = true;
        let woken = self.resting.wait_timeout(state, WATCH);
        let mut state = woken.unwrap_or_else(PoisonError::into_inner).0;
        state.hands.is_watched = false;
        let own = state.nodes.iter().filter(|it| it.class == Class::Worker);
        let active = own.map(|it| it.measured.active).sum();
        let before = state.hands.most;
        state.hands.watch(active);
        if state.hands.most != before {
            state.plan_for_hands();
            self.call_threads(&state);
        }
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hands(cores: usize, workers: usize) -> Hands {
        Hands { cores, most: cores, ..Hands::new(workers, true) }
    }

    /// After many tasks, each of which takes so many milliseconds of a core, and so many in all.
    fn after(mut hands: Hands, cpu: u64, time: u64) -> usize {
        let [cpu, time] = [cpu, time].map(Duration::from_millis);
        (0..2000).for_each(|_| hands.note(cpu, time, 1));
        hands.most
    }

    #[test]
    fn as_many_compute_as_keep_the_cores_busy() {
        assert_eq!(after(hands(2, 64), 10, 10), 2);
        assert_eq!(after(hands(2, 64), 9, 10), 2);
        assert_eq!(after(hands(2, 64), 10, 20), 4);
        assert_eq!(after(hands(2, 64), 1, 10), 20);
        assert_eq!(after(hands(2, 64), 0, 10), 64);
        // What it does changes.
        let mut waiting = hands(2, 64);
        waiting.most = 64;
        assert_eq!(after(waiting, 10, 10), 2);
        assert!(!Hands::new(1, true).are_many());
        assert_eq!(Hands::new(1000, false).most(), 1000);
    }
}
