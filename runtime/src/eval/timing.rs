//! Where the time of a stage goes, value by value: one record in so many is timed.
//!
//! Times are by the wall clock, since asking for a thread's processor time costs as much as many
//! values; they say how the stage's processor time is shared, not how long it is.

use crate::tokens::Watch;
use plan::{ExprId, Index};
use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// Two readings of the clock.
const READINGS: Duration = Duration::from_nanos(100);
/// The share of the time that timing may take: one in so many.
const SHARE: u32 = 200;
/// Records from one that is timed to the next: the fewest, and the most.
const PERIOD: std::ops::RangeInclusive<u64> = 4..=1 << 16;

/// What was measured of one value.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CallStats {
    /// Its number in the stage's graph.
    pub node: u32,
    /// How often it was found in the records that were timed.
    pub times: u64,
    /// How long that took in all, without what it needs.
    pub busy: Duration,
    /// Bytes of what was found.
    pub bytes: u64,
}

/// What was measured of the values of a stage.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Calls {
    /// Records that were timed.
    pub records: u64,
    /// By value; only those that were found.
    pub calls: Vec<CallStats>,
}

/// A worker's clock.
pub(super) struct Timing {
    on: bool,
    /// Records until the next one that is timed, and from one such to the next.
    left: u64,
    period: u64,
    /// Rows that each value is found for at once.
    rows: u64,
    /// Whether the value that is being found was found before, and is copied.
    is_copy: bool,
    /// Spent in values that are needed by the one that is being found.
    inner: Duration,
    calls: Vec<CallStats>,
    records: u64,
}

/// What is put aside while a value is found that another needs.
pub(super) struct Outer {
    begin: Watch,
    inner: Duration,
}

impl Timing {
    /// No record is ever timed where nothing is to be measured.
    pub(super) fn new(n_nodes: usize, is_measured: bool) -> Self {
        let calls = (0..n_nodes as u32).map(|node| CallStats { node, ..CallStats::default() });
        let (left, period) = (if is_measured { 1 } else { u64::MAX }, *PERIOD.start());
        Self {
            on: false,
            left,
            period,
            rows: 1,
            is_copy: false,
            inner: Duration::ZERO,
            calls: calls.collect(),
            records: 0,
        }
    }

    /// Whether the record at hand is timed.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.on
    }

    /// Another record, or a chunk of so many, comes.
    #[inline]
    pub(super) fn next(&mut self, records: u64) {
        self.left = self.left.saturating_sub(records);
        self.on = self.left == 0;
        if self.on {
            self.left = self.period;
            self.records += records;
            self.rows = records;
        }
    }

    /// What is found next was found before, and counted.
    pub(super) fn copies(&mut self) {
        self.is_copy = self.on;
    }

    pub(super) fn begin(&mut self) -> Outer {
        let inner = std::mem::take(&mut self.inner);
        Outer { begin: Watch::begin(), inner }
    }

    pub(super) fn end(&mut self, id: ExprId, outer: Outer, bytes: usize) {
        let all = outer.begin.elapsed();
        let call = &mut self.calls[id.row()];
        if !std::mem::take(&mut self.is_copy) {
            call.times += self.rows;
            call.bytes += bytes as u64;
        }
        call.busy += all.saturating_sub(self.inner);
        self.inner = outer.inner + all;
    }

    /// Hands over what was measured, after a chunk of so many records that took so long.
    pub(super) fn hand_over(&mut self, (records, took): (usize, Duration), to: &Measured) {
        self.on = false;
        if self.records == 0 {
            return;
        }
        let found = self.calls.iter().filter(|it| it.times > 0).count() as u32;
        let each = took.as_nanos() / records.max(1) as u128;
        let cost = (READINGS * found * SHARE).as_nanos();
        let period = u64::try_from(cost / each.max(1)).unwrap_or(u64::MAX);
        self.period = period.clamp(*PERIOD.start(), *PERIOD.end());
        let mut all = to.calls.lock().unwrap_or_else(PoisonError::into_inner);
        all.records += std::mem::take(&mut self.records);
        all.calls.resize(self.calls.len(), CallStats::default());
        for (call, sum) in self.calls.iter_mut().zip(&mut all.calls) {
            sum.node = call.node;
            sum.times += std::mem::take(&mut call.times);
            sum.busy += std::mem::take(&mut call.busy);
            sum.bytes += std::mem::take(&mut call.bytes);
        }
    }
}

/// What all workers have measured of a stage.
#[derive(Default)]
pub(super) struct Measured {
    calls: Mutex<Calls>,
}

impl Measured {
    /// A copy of it.
    pub(super) fn calls(&self) -> Calls {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone();
        calls.calls.retain(|it| it.times > 0);
        calls
    }
}
