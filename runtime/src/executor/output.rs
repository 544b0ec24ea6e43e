//! What comes out of a run: chunks in order, and the ends of epochs.

use super::{
    Phase, Run, Shared, deal,
    lanes::Own,
    losses::LostRecord,
    node::{Item, Parcel},
    position::Position,
    stats,
};
use crate::{Chunk, Failure};
use std::{
    mem,
    sync::PoisonError,
    time::{Duration, Instant},
};

/// How long the consumer waits for a chunk before it is asked whether any can come.
const DEAD_AFTER: Duration = Duration::from_secs(10);

/// What [`Run::step`] came to.
#[derive(Debug)]
pub enum Step {
    /// The next chunk of the output; a batch is one record of it, and small ones are several.
    Chunk(Chunk),
    /// The epoch of this number has ended.
    EpochEnd(u32),
    /// Nothing has come for as long as was waited.
    Waiting,
    /// The run has ended early.
    Failed(Failure),
    /// There is nothing more.
    Over,
}

/// What the consumer gets.
struct Next {
    item: Option<Item>,
    lost: Vec<LostRecord>,
    /// Whether the time is over that it was to wait.
    timed_out: bool,
}

impl Iterator for Run {
    type Item = Result<Chunk, Failure>;

    /// The next chunk of the output; a batch is one record of it, and small ones are several.
    ///
    /// Starts the threads when it is called first. After a failure, and after the last epoch,
    /// there is nothing more.
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.step(None) {
                Step::Chunk(chunk) => return Some(Ok(chunk)),
                Step::Failed(failure) => return Some(Err(failure)),
                Step::Over => return None,
                Step::EpochEnd(_) | Step::Waiting => {}
            }
        }
    }
}

impl Run {
    /// What comes next: a chunk, or the end of an epoch; waits for it as long as `limit` says, and
    /// without end if that is none.
    ///
    /// Starts the threads when it is called first. After a failure, and after the end of the last
    /// epoch, there is nothing more.
    pub fn step(&mut self, limit: Option<Duration>) -> Step {
        if self.phase == Phase::Ready {
            self.phase = Phase::Running;
            if let Err(failure) = self.start_threads() {
                return Step::Failed(self.fail(failure));
            }
        }
        let until = limit.map(|it| Instant::now() + it);
        loop {
            match self.phase {
                Phase::EpochOver(epoch) => return self.told_of(epoch),
                Phase::Over => return Step::Over,
                Phase::Ready | Phase::Running => {}
            }
            let Next { item, lost, timed_out } = self.shared.next_item(until, &mut self.waited);
            if let Err(failure) = self.tell(lost) {
                return Step::Failed(self.fail(failure));
            }
            match item {
                Some(Item::Chunk(parcel)) => return Step::Chunk(self.deliver(parcel)),
                Some(Item::Failed(failure)) => {
                    // Why the run ends is more than that it could not be written down.
                    let last = LostRecord::of(&failure, |id| self.shared.lock().source_of(id));
                    let _ = self.tell(last.into_iter().collect());
                    let what =
                        if self.batched { ("batch", "batches") } else { ("record", "records") };
                    let failure = self.handed.named(failure, what);
                    return Step::Failed(self.fail(failure));
                }
                Some(Item::End) => {
                    let (padding, epoch) = (self.padding(), self.position.epoch);
                    self.phase = Phase::EpochOver(epoch);
                    if let Some(padding) = padding {
                        // What the other runs give of this round has left as well, and they
                        // stand before the end of the epoch.
                        self.stand_at(Position::end(epoch));
                        return Step::Chunk(padding);
                    }
                }
                None if timed_out => return Step::Waiting,
                None => {}
            }
        }
    }

    fn tell(&mut self, lost: Vec<LostRecord>) -> Result<(), Failure> {
        match &mut self.on_lost {
            Some(told) if !lost.is_empty() => told(lost),
            _ => Ok(()),
        }
    }

    fn deliver(&mut self, parcel: Parcel) -> Chunk {
        let Parcel { chunk, at, .. } = parcel;
        let (epoch, rows) = (chunk.epoch, chunk.rows);
        let chunk = self.without_hidden(chunk);
        self.handed.add(&chunk);
        if self.shared_work.is_none() {
            self.position = Position { epoch, at, own: Own::ALL };
            return chunk;
        }
        self.position = match self.position.epoch == epoch {
            true => self.position_after(usize::MAX),
            false => Position::start(epoch),
        };
        let ends = self.shared.lock().rounds_left(epoch, rows);
        if let Some(it) = &mut self.shared_work {
            it.ends = ends;
            it.last = it.valid.map(|_| chunk.clone());
        }
        chunk
    }

    /// A batch of nothing, where the epoch ends with one fewer than other runs give.
    fn padding(&self) -> Option<Chunk> {
        let epoch = self.position.epoch;
        let lacks = self.shared_work.is_some() && self.shared.lock().lacks(epoch);
        let shared_work = self.shared_work.as_ref().filter(|_| lacks)?;
        let valid = shared_work.valid?;
        Some(match &shared_work.last {
            Some(last) => deal::padding(last, valid, epoch),
            None => deal::nothing(&shared_work.fields, epoch),
        })
    }

    fn told_of(&mut self, epoch: u32) -> Step {
        self.epochs_left -= 1;
        self.stand_at(Position::start(epoch + 1));
        // A run that goes on from the end of an epoch has not started its threads.
        self.phase = if self.threads.is_empty() { Phase::Ready } else { Phase::Running };
        if self.epochs_left == 0 {
            self.end();
        }
        Step::EpochEnd(epoch)
    }

    /// Stands where no round has begun.
    fn stand_at(&mut self, position: Position) {
        self.shared_work.iter_mut().for_each(|it| it.ends.clear());
        self.position = position;
    }

    fn without_hidden(&self, mut chunk: Chunk) -> Chunk {
        if let Some(kept) = &self.kept {
            chunk.columns = kept.iter().map(|&it| chunk.columns[it].clone()).collect();
        }
        chunk
    }
}

impl Shared {
    /// Waits for the next item of the output, or for many losses; until a time, if one is given.
    /// How long is added to `waited`, which begins anew with each chunk.
    fn next_item(&self, until: Option<Instant>, waited: &mut Duration) -> Next {
        let mut state = self.lock();
        state.look(Instant::now());
        let (mut waiting_since, mut timed_out) = (None, false);
        let (item, lost) = loop {
            let item = state.next_output();
            if item.is_some() || state.has_much_to_tell() || timed_out {
                break (item, state.take_untold());
            }
            let now = Instant::now();
            let since = *waiting_since.get_or_insert(now);
            state.consumer_waits = true;
            // It has given back what it had: there may be room for the next batch, or for what was put off.
            let calls = state.calls();
            self.call(calls);
            let left = until.map_or(DEAD_AFTER, |it| it.saturating_duration_since(now));
            timed_out = left.is_zero();
            let woken = self.output.wait_timeout(state, left.min(DEAD_AFTER));
            let (woken, slept) = woken.unwrap_or_else(PoisonError::into_inner);
            state = woken;
            if slept.timed_out() && *waited + since.elapsed() >= DEAD_AFTER && state.is_dead() {
                state.broken = Some(state.why_dead());
            }
        };
        // From here on it works, and has something to give back.
        state.consumer_waits = false;
        let just_waited = waiting_since.map(|it| it.elapsed()).unwrap_or_default();
        state.stalled += just_waited;
        *waited += just_waited;
        if matches!(item, Some(Item::Chunk(_))) {
            state.stalls[stats::stall_bucket(mem::take(waited))] += 1;
        }
        let calls = state.calls();
        drop(state);
        self.call(calls);
        Next { item, lost, timed_out }
    }
}
