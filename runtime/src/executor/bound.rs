//! Holds a run to the memory that it was given.
//!
//! A task begins where there is room for what such tasks have taken so far (`State::has_memory`). One
//! that takes more than is left, of a size that nobody could know, is given up and **put off**: it is done again
//! when no other is at work, everything behind it has been handed on, and the consumer waits for more. Each time one
//! thread fewer goes on, since each keeps memory of its own; where not even a single one has room, the
//! run ends. What cannot be done twice, such as the step of an operator, waits where it is instead,
//! for as long as others may give memory back (`Keeper::may_come`).

use super::{
    Shared,
    node::{Class, Kind, Node},
    state::State,
    task::Job,
};
use crate::{
    Cache, Pool,
    memory::{Manner, Relief},
    os,
};
use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

/// From one look at what the process holds to the next.
const RESIDENT_PERIOD: Duration = Duration::from_millis(5);
/// The share of the bound that planning leaves free for what nobody could foresee.
const SPARE: usize = 32;

/// The memory that a run, or its whole process, may hold, and what it was seen to hold.
pub(super) struct Budget {
    most: usize,
    pool: Pool,
    /// Bytes that the process had before the run, where the whole process is bounded.
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

    /// Looks at what the process holds.
    pub(super) fn look(&mut self) {
        self.beside = match self.before.zip(os::resident()) {
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

    /// Whether there is room for so many bytes more.
    fn has_room(&self, bytes: usize) -> bool {
        let planned = self.most - self.most / SPARE;
        self.beside.saturating_add(self.pool.used()).saturating_add(bytes) <= planned
    }
}

impl State {
    /// Whether there is memory for what a task of the node takes, beside what those at work may take.
    ///
    /// Where nobody is at work and nothing waits for the consumer it may begin all the same, since
    /// nothing else would ever give memory back.
    pub(super) fn has_memory(&self, node: &Node) -> bool {
        let takes = |it: &Node| {
            let Node { limit, measured, .. } = it;
            limit.chunk_bytes.unwrap_or(0).max(measured.chunk_bytes).max(measured.task_bytes)
        };
        let at_work = self.at_work();
        let most = self.nodes.iter().filter(|it| it.measured.active > 0).map(takes);
        let underway = most.fold(takes(node), usize::max).saturating_mul(at_work + 1);
        let is_quiet = at_work == 0 && self.nodes.last().is_none_or(|it| it.out.is_empty());
        // What cannot be put off needs room when its turn comes.
        let serial = |it: &&Node| matches!(it.kind, Kind::Operator(_)) && !it.is_busy;
        let reserve = self.nodes.iter().filter(serial).map(|it| it.measured.task_bytes).max();
        is_quiet || self.budget.has_room(underway.saturating_add(reserve.unwrap_or(0)))
    }

    /// Tasks at work that do not wait for memory.
    fn at_work(&self) -> usize {
        let active: usize = self.nodes.iter().map(|it| it.measured.active).sum();
        active.saturating_sub(self.budget.pool.waiting())
    }

    /// Takes note of a task that would have taken more than there is.
    pub(super) fn put_off(&mut self, job: Job) {
        match job.put_off {
            1 => {
                let most = &mut self.threads_most[self.nodes[job.node].class as usize];
                *most = most.saturating_sub(1).max(1);
            }
            _ => self.threads_most = self.threads_most.map(|it| it.min(1)),
        }
        self.put_off.push(job);
        self.settle();
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
        let is_few = |it: Class| self.threads[it as usize] <= self.threads_of_use(it);
        let is_quiet = !self.is_alone
            && self.at_work() == 0
            && self.consumer_waits
            && self.nodes.last().is_none_or(|it| it.out.is_empty())
            && Class::ALL.into_iter().all(is_few)
            && (0..self.nodes.len()).all(|it| !self.is_ready(it));
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

    /// Whether a thread of the class with this number is one too many; it ends then.
    pub(super) fn is_surplus(&self, class: Class, number: usize) -> bool {
        number >= self.threads_of_use(class)
    }

    /// Threads that there may be: those that wait for memory are of no use meanwhile.
    fn threads_of_use(&self, class: Class) -> usize {
        self.threads_most[class as usize].saturating_add(self.budget.pool.waiting())
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
        let has_threads = |it: Class| state.sleeping[it as usize] > 0;
        let ready = |it: usize| has_threads(state.nodes[it].class) && state.is_ready(it);
        let may = state.at_work() > 0
            || !state.consumer_waits
            || state.nodes.last().is_some_and(|it| !it.out.is_empty())
            || (0..state.nodes.len()).any(ready)
            || state.put_off_class().is_some_and(has_threads);
        // That this one waits may let others begin.
        let calls = state.calls();
        drop(state);
        shared.call(calls);
        may
    }

    fn process(&self) -> Option<u64> {
        self.process
    }
}

impl Shared {
    /// Calls the threads that are too many, so that they end.
    pub(super) fn call_surplus(&self, state: &State) {
        for class in Class::ALL {
            if state.threads[class as usize] > state.threads_of_use(class) {
                self.tasks[class as usize].notify_all();
            }
        }
    }

    /// Holds the run to its bound from now on.
    pub(super) fn hold(self: &Arc<Self>, process: Option<u64>) {
        self.pool.hold(Box::new(Keeper { shared: Arc::downgrade(self), process }));
    }
}
