//! Sorts records into batches of their like, by what `by` says of each.
//!
//! Rows go to the bucket of their kind, and a bucket that is full leaves as a group. After each
//! block of records all buckets are emptied, so that nothing is owed across blocks
//! (`semantics.md`, 9 and 10).

use super::super::{
    group::{check_held, failure},
    scalars::{floats, ints},
};
use super::terms::{Tail, Terms};
use plan::{DType, Field};
use runtime::{Chunk, ChunkBuilder, Failure, Mark, Operator, OperatorCall, Pool, Wants};

/// Full batches of every kind that a block has records for. At its end half a batch of every
/// kind is left on average: 1 in 128.
const BLOCK_BATCHES: u64 = 64;
/// Kinds that a block is reckoned for where `by` is a whole number and there are no bounds.
const KINDS_ASSUMED: u64 = 16;
/// Kinds that one block may have: each holds up to a batch of records.
const KINDS_MAX: usize = 1024;
/// Rows that a bucket has room for at first.
const ROOM: usize = 64;

/// Fills buckets; `parallel` makes a batch of each that is full.
pub(super) struct Buckets {
    /// The column of `by`.
    by: usize,
    kinds: Kinds,
    /// One for each kind.
    buckets: Vec<Bucket>,
    limits: Limits,
    /// Records of a block, and those of the present one so far.
    block: u64,
    seen: u64,
    fields: Vec<Field>,
    pool: Pool,
    epoch: u32,
    mark: Option<Mark>,
    /// Bytes that it may hold.
    share: u64,
    done: bool,
    /// What `by` says of each record of a chunk; kept for its memory.
    lengths: Vec<f64>,
    keys: Vec<i64>,
}

/// What makes records alike.
enum Kinds {
    /// The first of these bounds that is not below.
    Bounds(Vec<f64>),
    /// The value itself; those of the block so far, rising.
    Equal(Vec<i64>),
}

/// The bucket of a length: that of the first bound which is not below it.
pub(super) fn kind(bounds: &[f64], length: f64) -> usize {
    bounds.partition_point(|it| *it < length)
}

/// When a batch is full, and what becomes of one that is not.
struct Limits {
    /// Rows of each bucket; the last number is that of all others.
    rows: Vec<usize>,
    tokens: Option<f64>,
    tail: Tail,
    /// Whether rows are as long as the bound of their bucket.
    to_bound: bool,
}

#[derive(Default)]
struct Bucket {
    held: Option<ChunkBuilder>,
    /// Rows of the present chunk that are not in `held` yet.
    order: Vec<u32>,
    rows: usize,
    longest: f64,
}

impl Buckets {
    /// The buckets of a call whose `by` is column `by`.
    pub(super) fn new(terms: &Terms, by: usize, call: &OperatorCall<'_>) -> Self {
        let measured = !terms.bounds.is_empty() || terms.tokens.is_some();
        let kinds =
            if measured { Kinds::Bounds(terms.bounds.clone()) } else { Kinds::Equal(Vec::new()) };
        let n_buckets = if measured { terms.kinds() } else { 0 };
        Self {
            by,
            kinds,
            buckets: (0..n_buckets).map(|_| Bucket::default()).collect(),
            limits: Limits::new(terms),
            block: block(terms),
            seen: 0,
            fields: call.inputs[0].clone(),
            pool: call.pool.clone(),
            epoch: call.epoch,
            mark: None,
            share: call.memory / 2,
            done: false,
            lengths: Vec::new(),
            keys: Vec::new(),
        }
    }
}

/// Records of a block.
fn block(terms: &Terms) -> u64 {
    let size = |kind| terms.size_of(kind).map_or(u64::MAX, |it| it as u64);
    let full = |(kind, longest): (usize, f64)| match terms.tokens {
        Some(tokens) => size(kind).min((tokens as f64 / longest.max(1.0)) as u64).max(1),
        None => size(kind),
    };
    let by_bool = terms.by.as_ref().and_then(plan::Type::dtype) == Some(DType::Bool);
    match terms.bounds.last() {
        Some(last) => {
            let longest = terms.bounds.iter().chain([last]).copied();
            BLOCK_BATCHES * longest.take(terms.kinds()).enumerate().map(full).sum::<u64>()
        }
        // One kind: the order stays, and nothing is left behind.
        None if terms.tokens.is_some() => u64::MAX,
        None => BLOCK_BATCHES * size(0) * if by_bool { 2 } else { KINDS_ASSUMED },
    }
}

impl Operator for Buckets {
    fn wants(&self) -> Wants {
        if self.done { Wants::Nothing } else { Wants::Input(0) }
    }

    fn push(
        &mut self,
        _: usize,
        chunk: Option<Chunk>,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Failure> {
        let Some(chunk) = chunk else {
            self.done = true;
            self.flush(None, out);
            return Ok(());
        };
        self.measure(&chunk);
        self.mark = None;
        for row in 0..chunk.rows {
            let kind = self.kind(row)?;
            self.add(kind, row, &chunk, out);
            self.seen += 1;
            if self.seen == self.block {
                self.flush(Some(&chunk), out);
                let ahead = vec![(chunk.rows - row - 1) as u64];
                self.mark = Some(Mark { chunks: out.len(), state: Vec::new(), ahead });
            }
        }
        for kind in 0..self.buckets.len() {
            self.settle(kind, Some(&chunk));
        }
        check_held(self.held(), self.share, "the block that `batch` sorts `by`")
    }

    fn mark(&self) -> Option<Mark> {
        self.mark.clone().filter(|_| !self.done)
    }
}

impl Buckets {
    fn measure(&mut self, chunk: &Chunk) {
        self.lengths.clear();
        self.keys.clear();
        match self.kinds {
            Kinds::Bounds(_) => floats(&chunk.columns[self.by], &mut self.lengths),
            Kinds::Equal(_) => ints(&chunk.columns[self.by], &mut self.keys),
        }
    }

    /// The bucket of row `row`.
    fn kind(&mut self, row: usize) -> Result<usize, Failure> {
        match &mut self.kinds {
            Kinds::Bounds(bounds) => {
                let length = self.lengths[row];
                let found = kind(bounds, length);
                match bounds.last() {
                    Some(last) if self.limits.to_bound && found == bounds.len() => {
                        Err(failure(format!(
                            "`by` is {length} for a record, but the last of `bounds` is {last}, and with `to: bound` there is \
                             no bucket beyond it: add a bound, or drop such records with `where`"
                        )))
                    }
                    _ => Ok(found),
                }
            }
            Kinds::Equal(known) => known.binary_search(&self.keys[row]).or_else(|at| {
                if known.len() == KINDS_MAX {
                    return Err(failure(format!(
                        "`by` has more than {KINDS_MAX} different values \
                                                within a block of {} records: set `bounds`",
                        self.block
                    )));
                }
                known.insert(at, self.keys[row]);
                self.buckets.insert(at, Bucket::default());
                Ok(at)
            }),
        }
    }

    fn add(&mut self, kind: usize, row: usize, chunk: &Chunk, out: &mut Vec<Chunk>) {
        let length = match &self.kinds {
            Kinds::Bounds(bounds) if self.limits.to_bound => bounds[kind],
            _ => self.lengths.get(row).copied().unwrap_or(0.0),
        };
        if self.limits.is_full_before(&self.buckets[kind], length) {
            self.close(kind, Some(chunk), out);
        }
        let bucket = &mut self.buckets[kind];
        bucket.order.push(row as u32);
        bucket.rows += 1;
        bucket.longest = bucket.longest.max(length);
        if bucket.rows == self.limits.rows(kind) {
            self.close(kind, Some(chunk), out);
        }
    }

    /// Copies what a bucket has of the present chunk.
    fn settle(&mut self, kind: usize, chunk: Option<&Chunk>) {
        let rows = self.limits.rows(kind);
        let bucket = &mut self.buckets[kind];
        let Some(chunk) = chunk.filter(|_| !bucket.order.is_empty()) else { return };
        let room = rows.min(ROOM).max(bucket.order.len());
        let held = bucket
            .held
            .get_or_insert_with(|| ChunkBuilder::new(&self.fields, room, self.epoch, &self.pool));
        held.gather(chunk, &bucket.order);
        bucket.order.clear();
    }

    fn close(&mut self, kind: usize, chunk: Option<&Chunk>, out: &mut Vec<Chunk>) {
        self.settle(kind, chunk);
        let bucket = &mut self.buckets[kind];
        out.extend(bucket.held.take().map(ChunkBuilder::finish));
        (bucket.rows, bucket.longest) = (0, 0.0);
    }

    /// Empties all buckets, in order of their kinds.
    fn flush(&mut self, chunk: Option<&Chunk>, out: &mut Vec<Chunk>) {
        for kind in 0..self.buckets.len() {
            if self.limits.keeps_the_rest() {
                self.close(kind, chunk, out);
            } else {
                self.buckets[kind] = Bucket::default();
            }
        }
        if let Kinds::Equal(known) = &mut self.kinds {
            known.clear();
            self.buckets.clear();
        }
        self.seen = 0;
    }

    fn held(&self) -> usize {
        let builders = self.buckets.iter().filter_map(|it| it.held.as_ref());
        builders.flat_map(|it| &it.columns).map(runtime::Builder::bytes).sum()
    }
}

impl Limits {
    fn new(terms: &Terms) -> Self {
        let tokens = terms.tokens.map(|it| it as f64);
        let rows = (0..terms.kinds()).map(|it| terms.size_of(it).unwrap_or(usize::MAX)).collect();
        Self { rows, tokens, tail: terms.tail, to_bound: terms.to_bound }
    }

    /// Rows of a full batch of a bucket. Where there are no bounds, all have as many.
    fn rows(&self, kind: usize) -> usize {
        self.rows[kind.min(self.rows.len() - 1)]
    }

    /// Whether a record of this length would make the batch too large.
    fn is_full_before(&self, bucket: &Bucket, length: f64) -> bool {
        let Some(tokens) = self.tokens else { return false };
        bucket.rows > 0 && (bucket.rows + 1) as f64 * bucket.longest.max(length) > tokens
    }

    fn keeps_the_rest(&self) -> bool {
        self.tokens.is_some() || self.tail != Tail::Drop
    }
}
