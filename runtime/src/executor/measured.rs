//! What is measured of a node while it runs.

use super::{node::Parcel, task::Times};
use crate::tokens;
use model::under_way;
use std::time::Duration;

/// A chunk of more records than were planned takes no more than so many bytes, and no longer in a
/// stage: its way from thread to thread, some 10 µs, is little beside that.
const WORTH_BYTES: u64 = 256 << 10;
const WORTH_TIME: Duration = Duration::from_micros(500);
/// Records of such a chunk, at the most.
const WORTH_ROWS: usize = 8192;
/// Tasks that tell how large records are, and how long they take.
const WORTH_TASKS: u64 = 16;

/// The share of what a task took beyond the others that each one after it lets go.
const FADING: usize = 16;

/// What a node has done so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Measured {
    /// Records that have entered it.
    pub(super) entered: u64,
    pub(super) records: u64,
    pub(super) bytes: u64,
    /// Time that threads have spent in its tasks, and that without what these waited for a core or for
    /// memory.
    pub(super) busy: Duration,
    pub(super) worked: Duration,
    /// Records that have entered tasks which have ended, of a transform.
    pub(super) ended: u64,
    pub(super) tasks: u64,
    /// Of each task the square of its seconds, over its records.
    squares: f64,
    pub(super) active: usize,
    /// Bytes of its largest chunk.
    pub(super) chunk_bytes: usize,
    /// The most bytes that one of its tasks had beyond those before it.
    pub(super) task_bytes: usize,
    /// Processor time of the tasks of which it was measured, and their time by the wall clock.
    pub(super) cpu: Duration,
    pub(super) cpu_busy: Duration,
    /// Whether no processor time is asked for.
    pub(super) is_off: bool,
    pub(super) seen: Seen,
}

/// What was seen of a node whenever somebody looked; each time stands for the time before it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    /// Seconds that all looks together stand for.
    pub(super) seconds: f64,
    /// Chunks begun or waiting for the next node, times seconds.
    pub(super) held: f64,
    /// Seconds in which nothing had come for it.
    pub(super) starved: f64,
    /// Seconds in which it had no room for more.
    pub(super) blocked: f64,
}

/// Tasks that are as long as this are measured all; of shorter ones one in [`CPU_PERIOD`]: asking
/// for the processor time takes up to 2 µs.
const CPU_ALWAYS: Duration = Duration::from_micros(400);
const CPU_PERIOD: u64 = 32;

impl Measured {
    /// Whether the processor time of the next task is to be measured.
    pub(super) fn wants_cpu(&self) -> bool {
        let each = self.busy.checked_div(self.tasks.try_into().unwrap_or(u32::MAX));
        let is_long = each.is_none_or(|it| it >= CPU_ALWAYS);
        !self.is_off && (is_long || self.tasks.is_multiple_of(CPU_PERIOD))
    }

    /// How long a task takes on average; none while there were few.
    pub(super) fn task_time(&self) -> Option<Duration> {
        let tasks = u32::try_from(self.tasks).ok().filter(|it| u64::from(*it) >= WORTH_TASKS)?;
        self.busy.checked_div(tasks)
    }

    /// How many tasks one stands for that was measured, and took so long.
    pub(super) fn stands_for(time: Duration) -> u64 {
        if time >= CPU_ALWAYS { 1 } else { CPU_PERIOD }
    }

    /// Takes note of what a task has taken; what one took that is done again is forgotten after a while.
    pub(super) fn took(&mut self, memory: usize, fades: bool) {
        let before = self.task_bytes - if fades { self.task_bytes / FADING } else { 0 };
        self.task_bytes = before.max(memory);
    }

    /// Takes note of a task that has ended.
    pub(super) fn end_task(&mut self, times: &Times) {
        let Times { busy, worked, cpu, .. } = *times;
        self.busy += busy;
        self.worked += worked;
        self.tasks += 1;
        self.active -= 1;
        if let Some(cpu) = cpu {
            self.cpu += cpu;
            self.cpu_busy += busy;
        }
    }

    /// Records of a chunk that is worth its way: more than planned, where they are small and take little
    /// time.
    pub(super) fn rows_worth(&self, planned: usize) -> usize {
        let n = if self.ended > 0 { self.ended } else { self.records };
        if self.tasks < WORTH_TASKS || n == 0 {
            return planned;
        }
        let in_bytes = WORTH_BYTES.saturating_mul(n) / self.bytes.max(1);
        let in_time = WORTH_TIME.as_nanos() * u128::from(n) / self.worked.as_nanos().max(1);
        let rows = u128::from(in_bytes).min(in_time).min(WORTH_ROWS as u128);
        planned.max(rows as usize)
    }

    /// Takes note of so many records that a task of a transform has computed.
    pub(super) fn end_records(&mut self, records: u64, worked: Duration) {
        self.ended += records;
        self.squares += worked.as_secs_f64().powi(2) / records.max(1) as f64;
    }

    /// Nanoseconds that a record takes, as on the cores that there are, and the variance of that over
    /// the square of its mean; 0 while nobody knows.
    ///
    /// Tasks have several records: where these take their times independently of each other, the
    /// square of a task's time over its records is on average records × mean² + variance.
    pub(super) fn times(&self) -> (f64, f64) {
        let Some(each) = self.each().map(|it| it.as_secs_f64()).filter(|it| *it > 0.0) else {
            return (0.0, 0.0);
        };
        let beyond = self.squares - self.worked.as_secs_f64() * each;
        let spread = match self.tasks {
            tasks if tasks < WORTH_TASKS => 0.0,
            tasks => (beyond / tasks as f64 / each.powi(2)).max(0.0),
        };
        (each * 1e9 / tokens::slower(), spread)
    }

    /// Chunks, as large as those were that it has computed, that hold as many records as each worker is
    /// to have ahead.
    pub(super) fn chunks_ahead(&self) -> f64 {
        match self.ended {
            0 => 0.0,
            ended => under_way::ahead(self.times().1) * self.tasks as f64 / ended as f64,
        }
    }

    /// How long a record takes; none while none has been through.
    pub(super) fn each(&self) -> Option<Duration> {
        (self.ended > 0).then(|| self.worked.div_f64(self.ended as f64))
    }

    /// Processor time of all tasks: what was measured stands for the rest.
    pub(super) fn cpu_of_all(&self) -> Duration {
        match self.cpu_busy.as_secs_f64() {
            0.0 => Duration::ZERO,
            measured => self.busy.mul_f64(self.cpu.as_secs_f64() / measured),
        }
    }

    /// Counts a chunk that goes on.
    pub(super) fn chunk(&mut self, parcel: &Parcel) {
        self.records += parcel.chunk.rows as u64;
        self.bytes += parcel.bytes as u64;
        self.chunk_bytes = self.chunk_bytes.max(parcel.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_of_small_and_quick_records_grow() {
        // Of 4 records each, as planned.
        let seen = |tasks: u64, bytes: u64, busy: Duration| {
            let n = 4 * tasks;
            let worked = busy * n as u32;
            Measured { tasks, records: n, bytes: bytes * n, worked, ..Measured::default() }
        };
        let rows =
            |tasks, bytes, micros| seen(tasks, bytes, Duration::from_micros(micros)).rows_worth(4);
        assert_eq!(rows(20, 10_000, 1), 26);
        assert_eq!(rows(20, 10_000, 50), 10);
        assert_eq!(rows(20, 8, 0), WORTH_ROWS);
        assert_eq!(rows(20, 200_000, 1), 4);
        assert_eq!(rows(3, 8, 1), 4);
        assert_eq!(Measured::default().rows_worth(4), 4);
    }
}
