//! Chunks are cut: into pieces that are worth a task, and where a direct batch ends.

use super::{node::Parcel, position::At};
use crate::{Buffer, Chunk, ChunkBuilder, Pool, eval::Destination, memory};
use model::under_way::{self, Making, UnderWay};
use plan::Field;
use std::{
    ops::Range,
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
};

/// Bytes of a batch, far more than any memory.
const BYTES_MAX: usize = 1 << 48;

/// Records, and the place of the first of them.
pub(super) struct Stretch {
    pub(super) chunk: Chunk,
    pub(super) at: At,
}

impl Stretch {
    pub(super) fn cut(&self, rows: Range<usize>) -> Self {
        Self { at: self.at.plus(rows.start as u64), chunk: self.chunk.cut(rows) }
    }

    /// The same with those that follow in its epoch: their places are so many records behind its own.
    pub(super) fn joined(
        self,
        others: impl Iterator<Item = Self>,
        columns: &[Field],
        pool: &Pool,
    ) -> Self {
        let Self { chunk, at } = self;
        let mut out = ChunkBuilder::new(columns, chunk.rows, chunk.epoch, pool);
        out.append(&chunk, 0..chunk.rows);
        others.for_each(|it| out.append(&it.chunk, 0..it.chunk.rows));
        Self { chunk: out.finish(), at }
    }
}

/// The pieces of a chunk that is larger than a task should be, such as a window that was shuffled.
#[derive(Default)]
pub(super) struct Pieces {
    /// What is left of the chunk that was cut last.
    rest: Option<Stretch>,
}

impl Pieces {
    /// Whether a chunk is being cut.
    pub(super) fn has_rest(&self) -> bool {
        self.rest.is_some()
    }

    /// The next piece of about `rows` records, of the rest or, where there is none, of `next`: a
    /// chunk of less than twice as many is left whole.
    pub(super) fn give(&mut self, rows: usize, next: impl FnOnce() -> Stretch) -> Stretch {
        let whole = self.rest.take().unwrap_or_else(next);
        // One of a record is as small as can be.
        let most = if rows == 1 { 1 } else { 2 * rows - 1 };
        if whole.chunk.rows <= most {
            return whole;
        }
        self.rest = Some(whole.cut(rows..whole.chunk.rows));
        whole.cut(0..rows)
    }

    /// The epoch is over.
    pub(super) fn close(&mut self) {
        self.rest = None;
    }
}

/// Bytes of the small batches that are made as one.
const TOGETHER_BYTES: usize = 256 << 10;
/// Bytes of small batches that may be under way together, within an eighth of the memory.
const SMALL_BYTES: usize = 8 << 20;
/// Small batches that may be under way together.
const SMALL_MAX: usize = 64;

/// How far the batches of a transform are. It gives its pieces in order, under the lock.
///
/// Small batches are made several in one buffer, so that a piece is worth a task: here these are one
/// batch, which the next operator cuts.
pub(super) struct Cut {
    /// Records of a batch.
    rows: usize,
    /// Bytes of a record, for each column.
    row_bytes: Arc<[usize]>,
    /// Batches that may be under way at the least, from their first piece until they leave the pipeline.
    least: usize,
    /// Those that there is memory for.
    room: usize,
    pool: Pool,
    /// What is left of the chunk that was cut last.
    rest: Option<Stretch>,
    /// The batch that the next piece goes into, and its first free row.
    open: Option<(Arc<Batch>, usize)>,
    /// Batches whose pieces have not all been taken by the next node.
    begun: Vec<Weak<Batch>>,
    /// The memory of batches that anybody still has, the consumer too.
    held: Held,
}

/// A buffer of each batch that was claimed.
type Held = Arc<Mutex<Vec<Weak<Buffer>>>>;

/// The memory of a batch, claimed by the first piece that is computed.
///
/// Whoever works on a piece holds it, and then its parcel, so that it tells whether the batch is
/// under way.
#[derive(Default)]
pub(super) struct Batch(OnceLock<Arc<Vec<Arc<Buffer>>>>);

/// A chunk that lies within one batch.
#[derive(Clone)]
pub(super) struct Piece {
    pub(super) chunk: Chunk,
    pub(super) batch: Arc<Batch>,
    /// Where its first record goes.
    row: usize,
    rows: usize,
    row_bytes: Arc<[usize]>,
    pool: Pool,
    held: Held,
}

impl Cut {
    /// Batches of `rows` records, of chunks of about `chunk_rows`; `None` where a column has no
    /// fixed size, or one beyond reason.
    pub(super) fn new(
        (rows, chunk_rows): (u64, usize),
        columns: &[Field],
        memory: u64,
        pool: &Pool,
    ) -> Option<Self> {
        let rows = usize::try_from(rows.max(1)).ok()?;
        let row_bytes: Arc<[usize]> =
            columns.iter().map(|it| it.ty.fixed_bytes()).collect::<Option<_>>()?;
        let batch_bytes = row_bytes.iter().try_fold(0_usize, |bytes, &it| {
            bytes.checked_add(it.checked_mul(rows)?).filter(|it| *it <= BYTES_MAX)
        })?;
        let together = (TOGETHER_BYTES / batch_bytes.max(1)).min(chunk_rows / rows).max(1);
        let (rows, batch_bytes) = (rows * together, batch_bytes * together);
        // Two under way and the consumer's, or one where memory is short; small ones by their bytes.
        let large = if 3 * batch_bytes as u64 <= memory { 2 } else { 1 };
        let room = usize::try_from(memory / 8).unwrap_or(usize::MAX).min(SMALL_BYTES);
        let least = (room / batch_bytes.max(1)).clamp(large, SMALL_MAX);
        let room = usize::try_from(under_way::room(memory, batch_bytes as u64)).ok()?.max(least);
        let (rest, open, begun) = (None, None, Vec::new());
        let held = Held::default();
        Some(Self { rows, row_bytes, least, room, pool: pool.clone(), rest, open, begun, held })
    }

    /// Whether a chunk is being cut.
    pub(super) fn has_rest(&self) -> bool {
        self.rest.is_some()
    }

    /// Bytes of a batch.
    pub(super) fn batch_bytes(&self) -> u64 {
        let each = |it: &usize| (it * self.rows) as u64;
        self.row_bytes.iter().map(each).sum()
    }

    /// Bytes of batches that will be claimed once what was given is begun.
    pub(super) fn unclaimed(&self) -> u64 {
        let is_unclaimed =
            |it: &Weak<Batch>| it.upgrade().is_some_and(|batch| batch.0.get().is_none());
        if self.begun.last().is_some_and(is_unclaimed) { self.batch_bytes() } else { 0 }
    }

    /// Whether the next piece begins a batch.
    pub(super) fn opens(&self) -> bool {
        self.open.is_none()
    }

    /// As many of `workers` as there is memory for, of a run that has so much, where each needs so many bytes
    /// for the values it computes with.
    pub(super) fn workers(&self, workers: usize, memory: u64, worker_bytes: u64) -> usize {
        let (rows, room) = (self.rows as u64, self.room as u64);
        let making = Making { workers: workers as u64, rows, room, record_ns: 0.0, spread: 0.0 };
        making.within(memory, (self.batch_bytes(), worker_bytes)).workers as usize
    }

    /// What is to be under way, where `workers` compute records that take so many nanoseconds each, of
    /// such a spread.
    pub(super) fn under_way(&self, workers: usize, (record_ns, spread): (f64, f64)) -> UnderWay {
        let (workers, rows, room) = (workers as u64, self.rows as u64, self.room as u64);
        Making { workers, rows, room, record_ns, spread }.under_way()
    }

    /// Whether the next piece may be given, where so many batches are to be under way; `below` is what
    /// is under way behind the transform.
    ///
    /// While one large batch is being computed and the consumer has another, a third is not begun
    /// where two do: it would be memory for the last pieces of a batch alone. Once that one is whole
    /// it may be.
    pub(super) fn may_give(&self, batches: u64, below: impl FnOnce() -> usize) -> bool {
        if self.open.is_some() {
            return true;
        }
        let begun = self.begun.iter().filter(|it| it.strong_count() > 0).count();
        let most = self.least.max(usize::try_from(batches).unwrap_or(usize::MAX));
        let is_third = || most == 2 && begun > 0 && self.n_held() > 1;
        begun + below() < most && !is_third()
    }

    fn n_held(&self) -> usize {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|it| it.strong_count() > 0);
        held.len()
    }

    /// The next piece, of the rest or, where there is none, of `next`.
    pub(super) fn give(&mut self, next: impl FnOnce() -> Stretch) -> (Piece, At) {
        let whole = self.rest.take().unwrap_or_else(next);
        let (batch, row) = self.open.take().unwrap_or_else(|| (self.begin(), 0));
        let rows = whole.chunk.rows;
        let taken = rows.min(self.rows - row);
        if taken < rows {
            self.rest = Some(whole.cut(taken..rows));
        }
        if row + taken < self.rows {
            self.open = Some((batch.clone(), row + taken));
        }
        let Stretch { chunk, at } = if taken < rows { whole.cut(0..taken) } else { whole };
        let (row_bytes, pool) = (self.row_bytes.clone(), self.pool.clone());
        let held = self.held.clone();
        (Piece { chunk, batch, row, rows: self.rows, row_bytes, pool, held }, at)
    }

    /// The epoch is over: the next one begins with a new batch.
    pub(super) fn close(&mut self) {
        (self.rest, self.open) = (None, None);
    }

    fn begin(&mut self) -> Arc<Batch> {
        let batch = Arc::new(Batch::default());
        self.begun.retain(|it| it.strong_count() > 0);
        self.begun.push(Arc::downgrade(&batch));
        batch
    }
}

impl Piece {
    /// The rows that it is written into.
    pub(super) fn destination(&self) -> Destination {
        let buffers = || self.row_bytes.iter().map(|it| Arc::new(self.pool.buffer(it * self.rows)));
        let claim = || {
            let all: Vec<Arc<Buffer>> = buffers().collect();
            let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            // Before it would grow, and not each time: a consumer may have any number of them.
            if held.len() == held.capacity() {
                held.retain(|it| it.strong_count() > 0);
            }
            held.extend(all.first().map(Arc::downgrade));
            Arc::new(all)
        };
        // The batch is not what this piece takes: others write into it too.
        let columns = memory::uncounted(|| {
            if memory::task_waits() && self.batch.0.get().is_none() {
                // Nobody is held up who needs the same batch: whoever comes first has claimed it.
                let _ = self.batch.0.set(claim());
            }
            self.batch.0.get_or_init(claim).clone()
        });
        Destination { columns, row: self.row, rows: self.rows }
    }

    /// What it became.
    pub(super) fn into_parcel(self, chunk: Chunk) -> Parcel {
        Parcel { batch: Some(self.batch), ..Parcel::new(chunk) }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::position::Point, *};
    use plan::{DType, Type};

    #[test]
    fn batches_that_are_gone_leave_nothing() {
        let columns = [Field { name: "i".into(), ty: Type::scalar(DType::I64) }];
        let pool = Pool::default();
        let mut cut = Cut::new((8, 8), &columns, 1 << 30, &pool).unwrap();
        let (rows, mut kept) = (cut.rows, Vec::new());
        for n in 0..1_000 {
            let mut chunk = ChunkBuilder::new(&columns, rows, 0, &pool);
            for i in 0..rows {
                chunk.columns[0].push_scalar(i as i64);
                chunk.ids.push_scalar(i as u64);
            }
            let at = At::new(Point::Source { place: 0 });
            let (piece, _) = cut.give(|| Stretch { chunk: chunk.finish(), at });
            // The consumer keeps some.
            kept.extend(Some(piece.destination()).filter(|_| n < 100));
        }
        let held = cut.held.lock().unwrap().len();
        assert!((100..=256).contains(&held), "{held}");
        assert_eq!(cut.n_held(), 100);
    }
}
