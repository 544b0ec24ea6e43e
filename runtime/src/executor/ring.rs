//! The tasks of a node that were begun and have not gone on.

use super::{
    node::{Done, Item},
    position::At,
};
use std::collections::VecDeque;

/// Tasks begun, in order; each outcome waits here for those before it.
#[derive(Default)]
pub(super) struct Ring {
    first: u64,
    slots: VecDeque<Waiting>,
}

/// A task that was begun: where its input stands, and what came of it.
pub(super) struct Waiting {
    pub(super) at: At,
    pub(super) done: Option<Done>,
}

impl Ring {
    /// Outcomes that have not gone on.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The number of a new task on what stands at `at`.
    pub(super) fn begin(&mut self, at: At) -> u64 {
        self.slots.push_back(Waiting { at, done: None });
        self.first + self.slots.len() as u64 - 1
    }

    /// Puts a mark behind the tasks that have begun.
    pub(super) fn push_mark(&mut self, item: Item) {
        let done = Some(Done { item, ..Done::default() });
        self.slots.push_back(Waiting { at: At::start(), done });
    }

    /// Keeps the outcome of a task; gives it back where nobody waits for it any more.
    pub(super) fn put(&mut self, number: u64, done: Done) -> Option<Done> {
        match number.checked_sub(self.first) {
            Some(at) => {
                self.slots[at as usize].done = Some(done);
                None
            }
            None => Some(done),
        }
    }

    /// Whether the end of an epoch is what goes on next.
    pub(super) fn ends_epoch(&self) -> bool {
        let done = self.slots.front().and_then(|it| it.done.as_ref());
        done.is_some_and(|it| matches!(it.item, Item::End))
    }

    /// The first outcome, if it is there.
    pub(super) fn pop_done(&mut self) -> Option<(At, Done)> {
        self.slots.front()?.done.as_ref()?;
        let Waiting { at, done } = self.drop_first()?;
        Some((at, done?))
    }

    /// Takes the first slot away, whether its task is done or not.
    pub(super) fn drop_first(&mut self) -> Option<Waiting> {
        let slot = self.slots.pop_front()?;
        self.first += 1;
        Some(slot)
    }
}
