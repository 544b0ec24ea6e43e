//! How many records travel together.
//!
//! A chunk should be large enough that its hop is lost in what is done to it (0.1 µs from stage to stage, `speed.md`,
//! but about 20 µs where a consumer sleeps until it comes), and small enough that it stays in a core's cache and
//! that all cores have some. So it is of about 512 KiB and at most 2 ms, or of up to 2 MiB where it would take less
//! than 0.1 ms; files and pictures come four at a time. A chunk keeps its records from a source or operator up to
//! the next, so all stages between agree. What an operator makes is not delayed for larger chunks: its cost says
//! nothing of the stages before it.

use crate::{
    analysis::{
        flow::{Flow, flows},
        role::{Role, operator},
    },
    registry::Registry,
};
use plan::{Code, IdVec, Index, Lanes, Stage, StageId, Windows};

/// Bytes of a chunk, about: half of a core's second-level cache.
const CHUNK_BYTES: f64 = 524_288.0;
/// Time for a chunk in one stage, about.
const CHUNK_NS: f64 = 2e6;
/// Time for a chunk in one stage, at least, unless it has `CHEAP_BYTES` before.
const CHEAP_NS: f64 = 1e5;
/// Bytes of a chunk to which little is done, at most.
const CHEAP_BYTES: f64 = 2_097_152.0;
/// Records of a chunk of small ones: more make nothing faster.
const ROWS_MAX: f64 = 8192.0;
/// Records of a chunk of large ones.
const ROWS_MIN: f64 = 4.0;
/// Bytes of a chunk, at most, unless one record has more.
const CHUNK_BYTES_MAX: f64 = 8_388_608.0;

/// Records of a chunk of a lane, where a block has fewer: of more than a block, the rest waits
/// until the others have had their turn.
const LANE_ROWS: u32 = 64;

/// Chooses the rows of all stages.
pub(crate) fn choose(stages: &mut IdVec<StageId, Stage>, registry: &Registry, lanes: &[Lanes]) {
    let flows = flows(stages, registry);
    let mut heads: Vec<StageId> = Vec::new();
    let mut needs: IdVec<StageId, Need> = IdVec::new();
    for (id, stage) in stages.iter() {
        let begins = !matches!(stage.code, Code::Transform(_));
        let head = if begins { id } else { heads[stage.inputs[0].row()] };
        heads.push(head);
        let is_read = matches!(stage.code, Code::Source { .. });
        needs.push(Need { is_read, records: 1.0, bytes: 0.0, ns: 0.0, longest_ns: 0.0 });
        needs[head].add(&flows[id], begins);
    }
    let batches = batches(stages, registry);
    for id in stages.ids() {
        let head = heads[id.row()];
        let rows = match batches[head] {
            Some(batch) => needs[head].rows_of(batch),
            None => needs[head].rows(),
        };
        stages[id].rows = whole_windows(rows, &stages[head]);
    }
    for lanes in lanes {
        let most = u32::try_from(lanes.rows).unwrap_or(u32::MAX).max(LANE_ROWS);
        lanes.stages(stages).into_iter().for_each(|it| stages[it].rows = stages[it].rows.min(most));
    }
}

/// For each source the rows of the batches that are made of its records as they are.
fn batches(stages: &IdVec<StageId, Stage>, registry: &Registry) -> IdVec<StageId, Option<u64>> {
    let mut batches: IdVec<StageId, Option<u64>> = stages.iter().map(|_| None).collect();
    for (_, stage) in stages.iter() {
        if let (Code::Operator { entry, args, .. }, [input]) = (&stage.code, &stage.inputs[..])
            && let Code::Source { windows: None, .. } = &stages[*input].code
            && let Role::Batch { size, plain: true, .. } = operator(entry, args, 1, registry)
        {
            batches[*input] = Some(size);
        }
    }
    batches
}

/// So many records of a chunk, or about as many, that windows lie whole in it: their rows need no copy then.
fn whole_windows(rows: u32, head: &Stage) -> u32 {
    match &head.code {
        Code::Source { windows: Some(Windows { length, .. }), .. } => {
            let length = u32::try_from(*length).unwrap_or(u32::MAX).max(1);
            if length > rows { rows } else { rows - rows % length }
        }
        _ => rows,
    }
}

/// What the records of one chunk need, up to the next operator.
#[derive(Clone, Copy)]
struct Need {
    /// Whether the first stage is a source.
    is_read: bool,
    /// Records at the last stage for each at the first.
    records: f64,
    /// The most bytes at any stage, for each record at the first.
    bytes: f64,
    /// The most time in any stage behind the first.
    ns: f64,
    /// The most time in any stage.
    longest_ns: f64,
}

impl Need {
    fn add(&mut self, flow: &Flow, begins: bool) {
        self.longest_ns = self.longest_ns.max(self.records * flow.ns);
        if !begins {
            self.ns = self.ns.max(self.records * flow.ns);
            self.records *= flow.makes.max(1.0);
        }
        self.bytes = self.bytes.max(self.records * flow.bytes().value);
    }

    /// The same, where batches of so many rows lie whole in a chunk, so that their rows need no copy.
    fn rows_of(self, batch: u64) -> u32 {
        let rows = u64::from(self.rows());
        let most = (CHUNK_BYTES_MAX / self.bytes).min(ROWS_MAX) as u64;
        let whole = if rows >= batch { rows - rows % batch } else { batch };
        if whole <= most { whole as u32 } else { rows as u32 }
    }

    fn rows(self) -> u32 {
        let cheap = match self.is_read {
            true => (CHEAP_BYTES / self.bytes).min(CHEAP_NS / self.longest_ns.max(1.0)),
            false => 0.0,
        };
        let wanted = (CHUNK_BYTES / self.bytes).max(cheap).min(CHUNK_NS / self.ns.max(1.0));
        let allowed = (CHUNK_BYTES_MAX / self.bytes).max(1.0);
        let rows = wanted.clamp(ROWS_MIN, ROWS_MAX).min(allowed);
        1 << (rows as u32).ilog2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_to_which_little_is_done_travel_in_larger_chunks() {
        let rows = |(bytes, ns): (f64, f64), is_read| {
            Need { is_read, records: 1.0, bytes, ns, longest_ns: ns }.rows()
        };
        assert_eq!(rows((10_000.0, 300.0), true), 128, "2 MiB");
        assert_eq!(rows((10_000.0, 1_600.0), true), 32, "0.1 ms are in 512 KiB");
        assert_eq!(rows((10_000.0, 300.0), false), 32, "an operator delays nothing");
        assert_eq!(rows((600_000.0, 580_000.0), true), 4, "pictures");
    }
}
