//! Holds a run to the memory that it was given.
//!
//! A task begins where there is room for what such tasks have taken so far (`State::has_memory`). One
//! that takes more than is left, of a size that nobody could know, is given up and **put off**: it is done again
//! when no other is at work, everything behind it has been handed on, and the consumer waits for more. Each time one
//! thread fewer goes on, since each keeps memory of its own, until many tasks have had what they took; where not
//! even a single one has room, the run ends. What cannot be done twice, such as the step of an operator, waits where it is instead,
//! for as long as others may give memory back (`Keeper::may_come`).

use super::{
    Shared,
    node::{Class, Kind, Node},
    state::State,
    task::{Job, Memory},
};
use crate::{
    Cache, Pool,
    buffer::RESERVED,
    memory::{Manner, Relief},
    os,
};
use std::{
    ptr,
    sync::{Arc, MutexGuard, Weak},
    time::{Duration, Instant},
};

/// From one look at what the process holds to the next.
const RESIDENT_PERIOD: Duration = Duration::from_millis(5);
/// The share of the bound that planning leaves free for what nobody could foresee.
const SPARE: usize = 32;
/// Tasks that have all the memory they take before a thread more goes on again, where memory was short:
/// each time that it is, twice as many, and these at the most.
const PATIENCE: u32 = 64;
const PATIENCE_MAX: u32 = 1 << 14;

/// The memory that a run, or its whole process, may hold, and what it was seen to hold.
pub(super) struct Budget {
    most: usize,
    pool: Pool,
    /// Bytes that the process had before the run, with those that the consumer will hold, where the whole process is
    /// bounded.
    before: Option<usize>,
    /// Bytes of the process besides the pool's buffers: code, what decoders and sinks work in.
    beside: usize,
    /// When that was looked at last.
    looked: Option<Instant>,
    /// What is kept from epoch to epoch, in memory beside the pool's.
    caches: Vec<Arc<Cache>>,
}

impl Budget {
    /// `most` bytes: of the run's buffers or, where it had `before` already, of the process.
    pub(super) fn new(most: u64, before: Option<usize>, pool: Pool) -> Self {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let beside = before.unwrap_or(0);
        let caches = Vec::new();
        let budget = Self { most, before, beside, pool, looked: None, caches };
        budget.set_limit();
        budget
    }

    fn set_limit(&self) {
        self.pool.set_limit(self.most.saturating_sub(self.beside));
    }

    /// Counts what a cache holds.
    pub(super) fn keep(&mut self, cache: &Arc<Cache>) {
        // What two steps share is one.
        if !self.caches.iter().any(|it| Arc::ptr_eq(it, cache)) {
            self.caches.push(cache.clone());
        }
    }

    /// Where the run's buffers come from.
    pub(super) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The most bytes that buffers ever had, with what decoders worked in.
    pub(super) fn peak(&self) -> usize {
        self.pool.peak()
    }

    /// Looks at what the process holds.
    pub(super) fn look(&mut self) {
        self.beside = match self.before.and_then(|it| Some((it, os::resident()?))) {
            // A buffer that nobody has written to yet is counted, and not resident.
            Some((before, resident)) => resident.saturating_sub(self.pool.taken()).max(before),
            None => self.caches.iter().map(|it| it.bytes() as usize).sum(),
        };
        self.set_limit();
    }

    /// The same, if it was not just done.
    pub(super) fn look_now_and_then(&mut self, now: Instant) {
        if self.looked.is_none_or(|it| now.saturating_duration_since(it) >= RESIDENT_PERIOD) {
            self.looked = Some(now);
            self.look();
        }
    }

    /// Whether there is room for so many bytes more with a task of `node`, beside a reserve for others.
    fn has_room(&self, bytes: usize, reserve: usize, node: &Node) -> bool {
        let spare = (self.most / SPARE).saturating_add(reserve);
        let spare = match node.is_done_again() {
            // It would not get more, and be put off.
            true => spare.max(self.most.saturating_sub(self.beside) / RESERVED),
            false => spare,
        };
        let held = self.beside.saturating_add(self.pool.used()).saturating_add(bytes);
        held.saturating_add(spare) <= self.most
    }
}

impl State {
    /// Whether there is memory for what a task of the node takes, beside what those at work may take.
    ///
    /// Where nobody is at work and nothing waits for the consumer it may begin all the same, since
    /// nothing else would ever give memory back.
    pub(super) fn has_memory(&self, node: &Node) -> bool {
        if self.at_work() == 0 && self.is_output_empty() {
            return true;
        }
        let underway = self.nodes.iter().map(|it| {
            let at_work = it.takes().saturating_mul(it.measured.active);
            at_work.saturating_add(it.claims(ptr::eq(it, node)))
        });
        let underway = underway.fold(node.takes(), usize::saturating_add);
        // What cannot be put off needs room when its turn comes.
        let serial = |it: &&Node| matches!(it.kind, Kind::Operator(_)) && !it.is_busy;
        let reserve = self.nodes.iter().filter(serial).map(|it| it.measured.task_bytes).max();
        self.budget.has_room(underway, reserve.unwrap_or(0), node)
    }

    /// Tasks at work that wait neither for memory nor for another task.
    fn at_work(&self) -> usize {
        let active: usize = self.nodes.iter().map(|it| it.measured.active).sum();
        let waiting = Class::ALL.map(|it| self.budget.pool.waiting(it as usize));
        let waiting = waiting.iter().sum::<usize>() + self.budget.pool.elsewhere();
        active.saturating_sub(waiting)
    }

    /// Takes note of a task that would have taken more than there is.
    pub(super) fn put_off(&mut self, job: Job) {
        match job.put_off {
            // What is put off together costs one thread.
            1 if self.put_off.is_empty() => {
                let class = self.nodes[job.node].class;
                let most = self.threads_wanted(class).saturating_sub(1).max(1);
                self.threads_most[class as usize] = most;
            }
            1 => {}
            _ => self.threads_most = self.threads_most.map(|it| it.min(1)),
        }
        (self.calm, self.patience) = (0, (2 * self.patience).clamp(PATIENCE, PATIENCE_MAX));
        self.put_off.push(job);
        self.settle();
    }

    /// A task has had all the memory that it took: after many such, threads that were too many come back.
    pub(super) fn grow_back(&mut self) {
        if self.threads_most == self.started || !self.put_off.is_empty() {
            return;
        }
        self.calm += 1;
        if self.calm >= self.patience {
            self.calm = 0;
            for (most, started) in self.threads_most.iter_mut().zip(self.started) {
                *most = (*most + 1).min(started);
            }
        }
    }

    /// The one of those that were put off that is done first: the one that is nearest to the output.
    fn first_put_off(&self) -> Option<usize> {
        let below = |it: &usize| self.nodes[self.put_off[*it].node].below.len();
        (0..self.put_off.len()).min_by_key(below)
    }

    /// Whether a task of the node may not begin for the sake of one that was put off: only what is
    /// behind that one may.
    pub(super) fn is_held_up(&self, id: usize) -> bool {
        let first = self.first_put_off().map(|it| &self.nodes[self.put_off[it].node]);
        self.is_alone || first.is_some_and(|it| !it.below.contains(&id))
    }

    /// The class of threads of which one may do now what was put off.
    pub(super) fn put_off_class(&self) -> Option<Class> {
        let first = &self.put_off[self.first_put_off()?];
        let is_few = |it: Class| !self.is_surplus(it) && self.leaving == 0;
        let is_quiet = !self.is_alone
            && self.at_work() == 0
            && self.consumer_waits
            && self.is_output_empty()
            && Class::ALL.into_iter().all(is_few)
            && !self.is_any_ready();
        is_quiet.then_some(self.nodes[first.node].class)
    }

    /// What was put off, for a thread of `class`, once nobody else is at work.
    pub(super) fn take_put_off(&mut self, class: Class) -> Option<Job> {
        self.put_off_class().filter(|it| *it == class)?;
        let mut job = self.put_off.remove(self.first_put_off()?);
        self.is_alone = true;
        self.nodes[job.node].measured.active += 1;
        if self.threads_most.iter().all(|it| *it <= 1) {
            job.manner = Manner::Alone;
        }
        Some(job)
    }

    /// Whether a thread of the class is one too many; it rests then, and keeps no memory.
    pub(super) fn is_surplus(&self, class: Class) -> bool {
        self.threads[class as usize] > self.threads_of_use(class)
    }

    /// Whether one that rests is of use.
    pub(super) fn is_short(&self, class: Class) -> bool {
        self.threads[class as usize] < self.threads_of_use(class)
    }

    /// Threads of a class that there are to be: those that wait for memory are of no use meanwhile.
    fn threads_of_use(&self, class: Class) -> usize {
        let waiting = self.budget.pool.waiting(class as usize);
        self.threads_wanted(class).saturating_add(waiting).min(self.started[class as usize])
    }

    /// The same, if none waited: as many as there is memory for and, of workers, as have cores.
    fn threads_wanted(&self, class: Class) -> usize {
        let hands = if class == Class::Worker { self.hands.most() } else { usize::MAX };
        self.threads_most[class as usize].min(hands)
    }

    /// Whether a thread of the class has nothing to do, or soon will have.
    fn has_thread_free(&self, class: Class) -> bool {
        let own = self.nodes.iter().filter(|it| it.class == class);
        self.threads_of_use(class) > own.map(|it| it.measured.active).sum()
    }
}

/// Looks after the bound for tasks that ask for more.
pub(super) struct Keeper {
    pub(super) shared: Weak<Shared>,
    pub(super) process: Option<u64>,
}

impl Relief for Keeper {
    fn look(&self) {
        if self.process.is_some() {
            os::trim();
        }
        if let Some(shared) = self.shared.upgrade() {
            shared.lock().budget.look();
        }
    }

    /// A task may go on where others are at work, or could be, or the consumer has something to give
    /// back or to take.
    fn may_come(&self) -> bool {
        let Some(shared) = self.shared.upgrade() else { return false };
        let mut state = shared.lock();
        if state.stopped {
            return false;
        }
        let ready = |it: usize| state.has_thread_free(state.nodes[it].class) && state.is_ready(it);
        let may = state.at_work() > 0
            || !state.consumer_waits
            || !state.is_output_empty()
            || (0..state.nodes.len()).any(ready)
            || state.put_off_class().is_some_and(|it| state.has_thread_free(it));
        // That this one waits may let others begin.
        let calls = state.calls();
        shared.call_threads(&state);
        drop(state);
        shared.call(calls);
        may
    }

    fn process(&self) -> Option<u64> {
        self.process
    }
}

impl Shared {
    /// Calls the threads that are too many, so that they rest, and those that rest and are of use.
    pub(super) fn call_threads(&self, state: &State) {
        for class in Class::ALL {
            if state.is_surplus(class) {
                self.tasks[class as usize].notify_all();
            }
            if state.is_short(class) {
                self.resting.notify_all();
            }
        }
    }

    /// Lets a thread rest as long as it is one too many.
    pub(super) fn rest<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        class: Class,
        memory: &mut Memory,
    ) -> MutexGuard<'a, State> {
        state.threads[class as usize] -= 1;
        state.leaving += 1;
        drop(state);
        // What it has kept goes first: others wait for that.
        *memory = Memory::default();
        state = self.lock();
        state.leaving -= 1;
        let calls = state.calls();
        self.call(calls);
        self.wait_for_use(state, class)
    }

    /// Holds the run to its bound from now on.
    pub(super) fn hold(self: &Arc<Self>, process: Option<u64>) {
        self.pool.hold(Box::new(Keeper { shared: Arc::downgrade(self), process }));
    }
}
