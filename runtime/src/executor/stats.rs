//! What a run has done so far.

use super::{
    losses::{KEPT, LostRecord},
    node::{Class, Kind},
    state::State,
};
use crate::eval::Calls;
use std::{collections::BTreeMap, time::Duration};

/// What a run has done so far, from its start.
#[derive(Debug, Clone, Default)]
pub struct Stats {
    /// The stages of the program, in its order.
    pub stages: Vec<StageStats>,
    /// Epochs that the sources have given out, from epoch 0, with the part of the one that they are
    /// at; of the source that is least far. None where a source's length is not known.
    pub epochs_given: Option<f64>,
    /// How long `next` has waited for a chunk.
    pub stalled: Duration,
    /// Chunks by how long `next` has waited for each: up to 50 µs, 1 ms, 100 ms, and longer.
    pub stalls: [u64; 4],
    /// Records that were skipped or replaced, by the code of their fault.
    pub lost: BTreeMap<&'static str, u64>,
    /// The first of them, stage by stage: at most 8 of each code in a stage, and 100 in all.
    pub lost_records: Vec<LostRecord>,
    /// Bytes of the chunks that wait between stages or are being read by a task.
    ///
    /// What operators keep from chunk to chunk, and what tasks are writing, is not in it.
    pub in_flight: u64,
    /// The most that `in_flight` ever was.
    pub in_flight_peak: u64,
    /// The most bytes that its buffers ever had, with what decoders worked in.
    pub memory_peak: u64,
}

/// What a stage has done so far.
#[derive(Debug, Clone, Default)]
pub struct StageStats {
    /// The steps of the program that it does.
    pub steps: Vec<String>,
    /// Where the first of them is written.
    pub label: String,
    /// Records that have entered it; of a source, that have left it.
    pub entered: u64,
    /// Records that have left it.
    pub records: u64,
    /// Bytes that have left it.
    pub bytes: u64,
    /// Of an operator that pads what it makes: the elements of records in it, and all with the padding.
    pub filled: u64,
    /// See `filled`.
    pub elements: u64,
    /// Time that threads have spent in its tasks, by the wall clock.
    pub busy: Duration,
    /// Processor time of its tasks. Of short ones some are measured, and stand for the rest.
    pub cpu: Duration,
    /// The part of it that was done in order, by one thread at a time.
    pub serial_cpu: Duration,
    /// The variance of a record's time over the square of its mean; 0 while nobody knows.
    pub spread: f64,
    /// Where the time of a transform goes.
    pub calls: Calls,
    /// Tasks that have ended.
    pub tasks: u64,
    /// Threads that are at it now.
    pub active: usize,
    /// Chunks that are begun, or wait for the next stage.
    pub held: usize,
    /// Threads at work in it, on average.
    pub mean_active: f64,
    /// Chunks that are begun, or wait for the next stage, on average.
    pub mean_held: f64,
    /// The share of the time that it had nothing to do since nothing came: 0 to 1.
    pub starved: f64,
    /// The share of the time that it could not go on since what it has made was not taken.
    pub blocked: f64,
    /// Whether its threads wait for files.
    pub reads: bool,
}

impl Stats {
    /// What was done since `before`, figures of the same run: counts and times; what is an average, or
    /// of a moment, is as it was.
    #[must_use]
    pub fn since(mut self, before: &Self) -> Self {
        self.stalled -= before.stalled;
        self.stalls.iter_mut().zip(before.stalls).for_each(|(all, before)| *all -= before);
        for (stage, before) in self.stages.iter_mut().zip(&before.stages) {
            stage.leave_out(before);
        }
        self
    }
}

impl StageStats {
    fn leave_out(&mut self, before: &Self) {
        let times = [
            (&mut self.busy, before.busy),
            (&mut self.cpu, before.cpu),
            (&mut self.serial_cpu, before.serial_cpu),
        ];
        // Of short tasks some are measured, and what the others take is estimated anew each time.
        times.into_iter().for_each(|(all, before)| *all = all.saturating_sub(before));
        let counts = [
            (&mut self.entered, before.entered),
            (&mut self.records, before.records),
            (&mut self.bytes, before.bytes),
            (&mut self.filled, before.filled),
            (&mut self.elements, before.elements),
            (&mut self.tasks, before.tasks),
            (&mut self.calls.records, before.calls.records),
        ];
        counts.into_iter().for_each(|(all, before)| *all -= before);
        for call in &mut self.calls.calls {
            if let Some(it) = before.calls.calls.iter().find(|it| it.node == call.node) {
                call.times -= it.times;
                call.busy -= it.busy;
                call.bytes -= it.bytes;
            }
        }
    }
}

/// What a stage is called.
pub(super) struct Title {
    pub(super) steps: Vec<String>,
    pub(super) label: String,
}

/// Where the buckets of `stalls` end; the last has no end (Plumber, MLSys 2022, section 3).
const STALLS: [Duration; 3] =
    [Duration::from_micros(50), Duration::from_millis(1), Duration::from_millis(100)];

/// The bucket of a wait.
pub(super) fn stall_bucket(waited: Duration) -> usize {
    STALLS.iter().take_while(|it| waited > **it).count()
}

/// How far the source is that is least far.
fn epochs_given(state: &State) -> Option<f64> {
    let mut least: Option<f64> = None;
    let end = state.nodes.last().map_or(0, |it| it.end);
    // What runs once is read before the rest of its epoch.
    for node in state.nodes.iter().filter(|it| it.end == end) {
        let far = match &node.kind {
            Kind::Fetch(fetch) => {
                let len = fetch.supply.epoch_len(fetch.pass?);
                let given = fetch.given as f64 / len.max(1) as f64;
                f64::from(node.epoch) + if len == u64::MAX { return None } else { given }
            }
            Kind::Stream { .. } => return None,
            _ => continue,
        };
        least = Some(least.map_or(far, |it| it.min(far)));
    }
    least
}

/// The figures of now.
pub(super) fn take(titles: &[Title], state: &State) -> Stats {
    let stage = |title: &Title| StageStats {
        steps: title.steps.clone(),
        label: title.label.clone(),
        ..StageStats::default()
    };
    let mut stats = Stats {
        stages: titles.iter().map(stage).collect(),
        epochs_given: epochs_given(state),
        stalled: state.stalled,
        stalls: state.stalls,
        in_flight: state.in_flight as u64,
        in_flight_peak: state.in_flight_peak as u64,
        memory_peak: state.budget.peak() as u64,
        ..Stats::default()
    };
    for node in &state.nodes {
        let stage = &mut stats.stages[node.stage];
        let seen = node.measured.seen;
        let share = |of: f64| if seen.seconds > 0.0 { of / seen.seconds } else { 0.0 };
        stage.cpu += node.measured.cpu_of_all();
        stage.mean_active += share(node.measured.busy.as_secs_f64());
        stage.mean_held += share(seen.held);
        stage.spread = stage.spread.max(node.measured.times().1);
        stage.reads |= node.class == Class::Reader;
        let is_alone =
            matches!(&node.kind, Kind::Transform { compiled, .. } if compiled.calls_out());
        if is_alone || matches!(node.kind, Kind::Operator(_) | Kind::Stream { .. }) {
            // Lanes are in order each for itself.
            stage.serial_cpu = stage.serial_cpu.max(node.measured.cpu_of_all());
        }
        match &node.kind {
            Kind::Transform { compiled, .. } => stage.calls = compiled.calls(),
            Kind::Fetch(_) | Kind::Stream { .. } => stage.entered += node.measured.records,
            Kind::Operator(operating) => {
                let (filled, all) = operating.maker.filling.elements();
                stage.filled += filled;
                stage.elements += all;
            }
            Kind::Finish => {}
        }
        if !matches!(node.kind, Kind::Finish) && !node.deals_lanes {
            stage.entered += match node.kind {
                // Those that are under way have cost nothing yet that is known.
                Kind::Transform { .. } => node.measured.ended,
                _ => node.measured.entered,
            };
            let lanes = f64::from(node.lane.turns);
            stage.starved += share(seen.starved) / lanes;
            stage.blocked += share(seen.blocked) / lanes;
        }
        stage.busy += node.measured.busy;
        stage.tasks += node.measured.tasks;
        stage.active += node.measured.active;
        stage.held += node.held();
        if node.is_last && !node.deals_lanes {
            stage.records += node.measured.records;
            stage.bytes += node.measured.bytes;
        }
        for (code, count) in &node.losses.counts {
            *stats.lost.entry(code).or_default() += count;
        }
        let room = KEPT - stats.lost_records.len();
        stats.lost_records.extend(node.losses.first.iter().take(room).cloned());
    }
    stats
}
