//! What the executor's state is made of: nodes, and what travels between them.

use super::{
    cut::{Batch, Cut, Pieces, Stretch},
    deal::{Deal, Rounds, Terms},
    found::Found,
    lanes::Lane,
    losses::Losses,
    measured::Measured,
    operate::Operating,
    position::{At, Point},
    ring::Ring,
    supply::{Cursor, Pass, Places, Supply},
    task::Work,
};
use crate::{
    Chunk, Failure, Finish,
    eval::{Compiled, Lost, Name},
    storage::{Seen, Waits},
    tokens,
};
use model::under_way::{self, UnderWay};
use plan::Field;
use std::{collections::VecDeque, ops::Range, sync::Arc, time::Duration};

/// A stage, or the parallel step of one.
pub(super) struct Node {
    /// The stage that it is, or is a part of.
    pub(super) stage: usize,
    /// The lane that it does the stage's work of.
    pub(super) lane: Lane,
    /// What the stage is called.
    pub(super) name: Name,
    /// The columns that leave the stage.
    pub(super) columns: Arc<[Field]>,
    /// Whether what leaves it leaves the stage.
    pub(super) is_last: bool,
    /// Whether it deals the lanes that leave the stage.
    pub(super) deals_lanes: bool,
    pub(super) kind: Kind,
    pub(super) class: Class,
    /// The nodes that it reads, in order.
    pub(super) inputs: Vec<usize>,
    /// The nodes that its chunks go through after it, down to the root.
    pub(super) below: Vec<usize>,
    /// The sources that its chunks come from.
    pub(super) sources: Vec<usize>,
    pub(super) limit: Limit,
    /// The epoch of what it takes next.
    pub(super) epoch: u32,
    /// The first epoch that it is not run in, if it is before the end of the run.
    pub(super) end: u32,
    /// Of a serial node, or a source that is being opened: whether a task is running.
    pub(super) is_busy: bool,
    /// A failure has gone out, and nothing follows it in its epoch.
    pub(super) is_stuck: bool,
    pub(super) ring: Ring,
    /// Complete and in order, for the next node.
    pub(super) out: VecDeque<Item>,
    pub(super) out_bytes: usize,
    /// The epoch of what leaves it next.
    pub(super) sent: u32,
    /// Deals what leaves it to several runs.
    pub(super) deal: Option<Deal>,
    /// Records to be dropped that left it before the run was resumed.
    pub(super) drop: u64,
    /// Of the last node of an operator: its last point, and the records that left it since.
    pub(super) since: Option<(Arc<Point>, u64)>,
    pub(super) losses: Losses,
    /// Records that came since one went out, of an epoch.
    pub(super) barren: u64,
    pub(super) measured: Measured,
}

/// What a node does.
#[expect(clippy::large_enum_variant, reason = "there are as many as stages")]
pub(super) enum Kind {
    /// A source that is asked for numbers, in any order.
    Fetch(Fetch),
    /// A source that is read through. The cursor is gone while a task has it.
    Stream { supply: Arc<Supply>, cursor: Option<Box<Cursor>> },
    /// A transform, maybe into batches.
    Transform {
        compiled: Arc<Compiled>,
        pieces: Pieces,
        cut: Option<Cut>,
        /// Whether a record becomes one at the most.
        single: bool,
    },
    /// What an operator does in order.
    Operator(Operating),
    /// What an operator, or a source that is read through, leaves to do in any order.
    Finish,
}

/// A source, and how far it is.
pub(super) struct Fetch {
    pub(super) supply: Arc<Supply>,
    /// The records of a pass, once it has been asked.
    pub(super) pass: Option<Pass>,
    /// Records of this epoch that tasks have been given, or are dealt to others.
    pub(super) given: u64,
    /// How the places are dealt to several runs, where they are.
    pub(super) deal: Option<Dealt>,
}

/// How the places of a source are dealt.
pub(super) struct Dealt {
    pub(super) terms: Terms,
    /// The place from which on they are, in the first epoch of the run.
    pub(super) first: u64,
    pub(super) rounds: Rounds,
}

/// The threads that a node's tasks are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Computes.
    Worker,
    /// Waits for files.
    Reader,
}

/// What may be begun or wait for the next node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    /// Chunks, at the least that many.
    pub(super) items: usize,
    pub(super) bytes: usize,
    /// Bytes of a chunk, where the types say it.
    pub(super) chunk_bytes: Option<usize>,
    /// Records of a chunk.
    pub(super) rows: usize,
    /// Whether they are to be as many, however large they are.
    pub(super) is_fixed: bool,
    /// Threads that may be at work in it.
    pub(super) threads: usize,
    /// Threads that compute at a time, and those that read.
    pub(super) workers: usize,
    pub(super) readers: usize,
}

/// A task of a transform is to take no longer than this.
const TASK_MAX: Duration = Duration::from_millis(20);

/// Records of a chunk of a lane that are small and take little time, at the most.
const LANE_ROWS: usize = 64;

/// A thread wakes in about so long.
const WAKE: Duration = Duration::from_micros(50);
/// Chunks that are found where they are found faster than that, for each one else.
const QUICKLY_FOUND: usize = 4;

/// Chunks that should fit into the bytes of a node, and of these for each worker: the one that it is
/// at, and one that waits.
const CHUNKS_HELD: usize = 8;
const CHUNKS_EACH: usize = 2;

/// Bytes that an operator runs ahead, in all lanes, where its chunks are large.
const AHEAD_BYTES: usize = 8 << 20;
/// Records that a source is read for first, while nobody knows how large they are.
const SOURCE_ROWS_FIRST: usize = 64;

/// What goes from node to node.
#[derive(Default)]
pub(super) enum Item {
    Chunk(Parcel),
    /// Nothing more comes in this epoch.
    #[default]
    End,
    /// Nothing more comes in this epoch, for this reason.
    Failed(Failure),
}

/// A chunk, and what is to be known about it.
#[derive(Clone)]
pub(super) struct Parcel {
    pub(super) chunk: Chunk,
    pub(super) bytes: usize,
    /// Where its first record stands.
    pub(super) at: At,
    /// The batch that it was written into, until the next node takes it.
    #[expect(dead_code, reason = "that it is held tells that the batch is under way")]
    pub(super) batch: Option<Arc<Batch>>,
    /// What is to be done to it next.
    pub(super) left: Option<Left>,
}

/// What the first node of a stage leaves to do, in any order.
#[derive(Clone)]
pub(super) enum Left {
    /// The parallel step of an operator, on the chunk and its number.
    Finish(Finish, u64),
    /// The records of a source are to be read.
    Found(Arc<Found>),
}

/// The outcome of a task, or a mark between such.
#[derive(Default)]
pub(super) struct Done {
    pub(super) item: Item,
    /// What stopped it after that.
    pub(super) failure: Option<Failure>,
    /// Records that went into it.
    pub(super) entered: u64,
    pub(super) lost: Vec<Lost>,
}

impl Node {
    /// Whether one more task may begin.
    pub(super) fn has_room(&self) -> bool {
        let begun = self.ring.len() + usize::from(self.is_busy);
        let held = begun + self.out.len();
        let largest = Some(self.measured.chunk_bytes).filter(|it| *it > 0);
        let Some(each) = largest.or(self.limit.chunk_bytes) else {
            // The first one tells how large they are.
            return held == 0;
        };
        let bytes = (begun + 1).saturating_mul(each).saturating_add(self.out_bytes);
        held == 0 || held < self.items() && bytes <= self.limit.bytes && self.may_hold(bytes, held)
    }

    /// Whether it may run ahead of what comes next by one more chunk where an operator's are large, such as the
    /// windows of a shuffle: those that threads are at, one that waits, and more that take little memory together.
    fn may_hold(&self, bytes: usize, held: usize) -> bool {
        let threads = match &self.kind {
            Kind::Operator(_) => 1,
            Kind::Finish => self.limit.workers,
            _ => return true,
        };
        held <= threads || bytes <= AHEAD_BYTES / self.lane.turns as usize
    }

    /// Chunks that may be begun or wait: more where the times of records are so uneven that others would
    /// wait for a slow one.
    pub(super) fn items(&self) -> usize {
        let Limit { items, workers, readers, .. } = self.limit;
        let planned = match self.class {
            Class::Worker => {
                let ahead = workers as f64 * self.measured.chunks_ahead();
                under_way::chunks_computed(workers).max(ahead as usize)
            }
            // What is read takes memory; what is only found does not.
            Class::Reader if self.finds_quickly() => {
                QUICKLY_FOUND * under_way::chunks_read(workers, readers)
            }
            Class::Reader => under_way::chunks_read(workers, readers),
        };
        planned.max(items)
    }

    /// Whether it only finds what others read, in less time than it takes to wake a thread for that.
    pub(super) fn finds_quickly(&self) -> bool {
        let finds = matches!(&self.kind, Kind::Stream { supply, .. } if supply.finds);
        finds && self.measured.task_time().is_some_and(|it| it < WAKE)
    }

    /// Records of a chunk that is worth its way: more than planned, where it was seen that they are
    /// small and take little time.
    pub(super) fn rows_worth(&self) -> usize {
        let planned = self.limit.rows;
        if self.limit.is_fixed {
            return planned;
        }
        // A lane's chunks are about as large as its blocks, so that the others do not wait long.
        let most = if self.lane == Lane::ONE { usize::MAX } else { planned.max(LANE_ROWS) };
        self.measured.rows_worth(planned).min(most)
    }

    /// Records of the next chunk, at most `rows`: fewer where they are large, and one where nobody
    /// knows yet how large they are.
    pub(super) fn rows_now(&self, rows: usize) -> usize {
        let Limit { bytes, chunk_bytes, is_fixed, .. } = self.limit;
        let piece = || self.under_way().map_or(usize::MAX, |it| it.piece as usize);
        let rows = if is_fixed { rows } else { rows.min(self.rows_in_time()).min(piece()) };
        let measured = self.measured.bytes.checked_div(self.measured.records);
        let typed = chunk_bytes.map(|it| (it / self.limit.rows.max(1)) as u64);
        match measured.or(typed) {
            _ if is_fixed => rows,
            Some(each) => {
                let held = CHUNKS_HELD.max(CHUNKS_EACH * self.limit.workers);
                let rows = match &self.kind {
                    Kind::Fetch(it) if it.supply.source.far().is_none() => {
                        rows.min(self.source_rows(each))
                    }
                    _ => rows,
                };
                (bytes / held / (each as usize).max(1)).clamp(1, rows)
            }
            None => 1,
        }
    }

    /// Records of so many bytes that a chunk of a source has at the most.
    fn source_rows(&self, each: u64) -> usize {
        let most = under_way::source_rows(each, u64::from(self.lane.turns));
        usize::try_from(most).unwrap_or(usize::MAX)
    }

    /// Records that a source which is read through is read for next, `rows` if they are small: `each` has so many bytes,
    /// where some were seen.
    pub(super) fn rows_drawn(&self, rows: usize, each: Option<u64>) -> usize {
        let rows = rows.max(self.limit.rows);
        match each {
            _ if self.limit.is_fixed => rows,
            Some(each) => rows.min(self.source_rows(each)),
            None if self.limit.chunk_bytes.is_some() => rows,
            None => rows.min(SOURCE_ROWS_FIRST),
        }
    }

    /// Records of a task that is not too long: where records take their time, many threads are to
    /// have work, and what was asked for is to come soon. One, while nobody knows how long they take.
    fn rows_in_time(&self) -> usize {
        let Kind::Transform { compiled, .. } = &self.kind else { return usize::MAX };
        match self.measured.each() {
            // What waits for many requests waits no longer than for one.
            _ if compiled.is_at_once() || compiled.far().is_some() => usize::MAX,
            Some(each) => {
                let most = TASK_MAX.mul_f64(tokens::slower());
                (most.as_nanos() / each.as_nanos().max(1)).max(1) as usize
            }
            None => 1,
        }
    }

    /// What was seen of a far storage, where it reads of one as many records at a time as are worth it.
    pub(super) fn far(&self) -> Option<Seen> {
        let seen = match &self.kind {
            Kind::Transform { compiled, .. } => compiled.far(),
            Kind::Fetch(fetch) => fetch.supply.source.far().and_then(Waits::seen),
            _ => None,
        };
        let is_free = !self.limit.is_fixed && self.lane == Lane::ONE;
        seen.filter(|_| is_free && self.class == Class::Reader)
    }

    /// What is to be under way of the batches that it computes in place; none where it makes none.
    pub(super) fn under_way(&self) -> Option<UnderWay> {
        let Kind::Transform { cut: Some(cut), .. } = &self.kind else { return None };
        let Limit { workers, threads, is_fixed, .. } = self.limit;
        let times = if is_fixed { (0.0, 0.0) } else { self.measured.times() };
        Some(cut.under_way(workers.min(threads), times))
    }

    /// Whether a task of it that takes too much memory is given up and done again.
    pub(super) fn is_done_again(&self) -> bool {
        match &self.kind {
            Kind::Fetch(_) | Kind::Finish => true,
            Kind::Transform { compiled, .. } => !compiled.calls_out(),
            Kind::Stream { .. } | Kind::Operator(_) => false,
        }
    }

    /// Bytes that a task of it takes, beside the batch that it writes into.
    pub(super) fn takes(&self) -> usize {
        match &self.kind {
            _ if self.measured.tasks > 0 => self.measured.task_bytes,
            Kind::Transform { cut: Some(_), .. } => 0,
            _ => self.limit.chunk_bytes.unwrap_or(0),
        }
    }

    /// Bytes of batches that its tasks will claim; with those of the one that the next task begins.
    pub(super) fn claims(&self, is_next: bool) -> usize {
        let Kind::Transform { cut: Some(cut), .. } = &self.kind else { return 0 };
        let opens = if is_next && cut.opens() { cut.batch_bytes() } else { 0 };
        usize::try_from(cut.unclaimed().saturating_add(opens)).unwrap_or(usize::MAX)
    }

    /// How many of the chunks that wait for the next node, the first ones, have no more than so many records.
    pub(super) fn chunks_within(&self, rows: usize) -> usize {
        let mut left = rows as u64;
        let fits = |it: &&Item| {
            let is_chunk = matches!(it, Item::Chunk(_)) && it.rows() <= left;
            left -= if is_chunk { it.rows() } else { 0 };
            is_chunk
        };
        self.out.iter().take_while(fits).count()
    }

    /// Takes the first item that waits for the next node.
    pub(super) fn pop(&mut self) -> Option<Item> {
        let item = self.out.pop_front()?;
        self.out_bytes -= item.bytes();
        Some(item)
    }

    /// Turns to the next epoch; the inputs whose end it has not come to.
    pub(super) fn begin_epoch(&mut self) -> Vec<usize> {
        self.epoch += 1;
        match &mut self.kind {
            Kind::Fetch(fetch) => fetch.begin_epoch(),
            Kind::Stream { cursor, .. } => *cursor = None,
            Kind::Transform { pieces, cut, .. } => {
                pieces.close();
                cut.iter_mut().for_each(Cut::close);
            }
            Kind::Operator(operating) => return operating.close(),
            Kind::Finish => {}
        }
        (0..self.inputs.len()).collect()
    }

    /// Where what came of a task stands, whose input stands at `at`.
    pub(super) fn place_of(&self, at: At, done: &Done) -> At {
        let (Kind::Transform { single, .. }, Item::Chunk(parcel)) = (&self.kind, &done.item) else {
            return at;
        };
        let all_came = parcel.chunk.rows as u64 == done.entered;
        let same = *single && all_came && done.lost.is_empty() && done.failure.is_none();
        At::new(Point::Transform { input: at, same, losses: self.losses.numbers() })
    }

    /// Counts the records that left an operator since its last point, where this is its last node.
    pub(super) fn count_since(&mut self, parcel: &mut Parcel) {
        let is_operator = matches!(self.kind, Kind::Operator(_) | Kind::Finish);
        if !is_operator || !self.is_last {
            return;
        }
        let counted = match self.since.take() {
            Some((point, counted)) if Arc::ptr_eq(&point, &parcel.at.point) => counted,
            _ => 0,
        };
        parcel.at.skip = counted;
        self.since = Some((parcel.at.point.clone(), counted + parcel.chunk.rows as u64));
    }

    /// Cuts off what was delivered before the run was resumed; whether something is left.
    pub(super) fn drop_from(&mut self, parcel: &mut Parcel) -> bool {
        let rows = parcel.chunk.rows;
        if self.drop == 0 || !self.is_last {
            return true;
        }
        let gone = self.drop.min(rows as u64);
        self.drop -= gone;
        parcel.chunk = parcel.chunk.cut(gone as usize..rows);
        parcel.at.skip += gone;
        parcel.chunk.rows > 0
    }

    /// Puts an item where the next node finds it.
    pub(super) fn put(&mut self, item: Item) {
        self.out_bytes += item.bytes();
        self.out.push_back(item);
    }

    /// Nothing more leaves it in this epoch.
    pub(super) fn end_output(&mut self) {
        self.sent += 1;
        (self.drop, self.since, self.barren) = (0, None, 0);
        self.deal.iter_mut().for_each(Deal::close);
    }

    /// The rounds that were dealt, of the node that deals.
    pub(super) fn rounds(&mut self) -> Option<&mut Rounds> {
        match (&mut self.deal, &mut self.kind) {
            (Some(deal), _) => Some(&mut deal.rounds),
            (None, Kind::Fetch(Fetch { deal: Some(deal), .. })) => Some(&mut deal.rounds),
            _ => None,
        }
    }

    /// Chunks that it has begun, and those that wait for the next node.
    pub(super) fn held(&self) -> usize {
        self.ring.len() + self.out.len() + usize::from(self.is_busy)
    }
}

impl Fetch {
    /// The next task: to ask how many there are, then to make a chunk.
    pub(super) fn give(&mut self, epoch: u32, rows: usize) -> Work {
        let supply = self.supply.clone();
        let Some(pass) = self.pass else { return Work::Count(supply) };
        let rows = supply.whole_windows(self.given, rows);
        let places = self.next(supply.epoch_len(pass), rows).unwrap_or(0..0);
        self.given = places.end;
        if let Some(Dealt { terms, first, rounds }) = &mut self.deal {
            let at = (*first, places.start, supply.epoch_len(pass));
            let end = terms.places(at, rows as u64).and_then(|it| it.round_end);
            end.into_iter()
                .for_each(|it| rounds.ended(epoch, At::new(Point::Source { place: it })));
        }
        Work::Fetch(supply, Places { places, pass, epoch })
    }

    /// The next places for a task, of an epoch of `len`.
    fn next(&self, len: u64, rows: usize) -> Option<Range<u64>> {
        let rows = rows as u64;
        match &self.deal {
            Some(Dealt { terms, first, .. }) => {
                Some(terms.places((*first, self.given, len), rows)?.places)
            }
            None if self.given >= len => None,
            None => Some(self.given..len.min(self.given.saturating_add(rows))),
        }
    }

    /// Whether tasks have been given all of the epoch; not known before the source has been asked.
    pub(super) fn is_over(&self) -> bool {
        let next = |it| self.next(self.supply.epoch_len(it), 1);
        self.pass.is_some_and(|it| next(it).is_none())
    }

    /// Whether other runs have records of the epoch's last round, and this one has none.
    pub(super) fn lacks(&self) -> bool {
        let Some((deal, pass)) = self.deal.as_ref().zip(self.pass) else { return false };
        deal.terms.lacks(self.supply.epoch_len(pass).saturating_sub(deal.first))
    }

    /// Begins at a place of the epoch.
    pub(super) fn begin_at(&mut self, place: u64) {
        self.given = place;
        self.deal.iter_mut().for_each(|it| it.first = place);
    }

    fn begin_epoch(&mut self) {
        self.given = 0;
        self.deal.iter_mut().for_each(|it| it.first = 0);
    }
}

impl Class {
    pub(super) const COUNT: usize = 2;
    pub(super) const ALL: [Self; Self::COUNT] = [Self::Worker, Self::Reader];

    /// What its threads are called; Linux shows 15 bytes.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Worker => "pipec worker",
            Self::Reader => "pipec reader",
        }
    }
}

impl Item {
    /// Bytes of a chunk; a mark has none.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Chunk(parcel) => parcel.bytes,
            Self::End | Self::Failed(_) => 0,
        }
    }

    /// Records of a chunk; a mark has none.
    pub(super) fn rows(&self) -> u64 {
        match self {
            Self::Chunk(parcel) => parcel.chunk.rows as u64,
            Self::End | Self::Failed(_) => 0,
        }
    }

    /// The chunk, where it was seen that it is one.
    pub(super) fn into_parcel(self) -> Parcel {
        match self {
            Self::Chunk(parcel) => parcel,
            Self::End | Self::Failed(_) => unreachable!("marks go on without a task"),
        }
    }
}

impl Parcel {
    /// The chunk and its place.
    pub(super) fn into_stretch(self) -> Stretch {
        Stretch { chunk: self.chunk, at: self.at }
    }

    /// A chunk whose place is said later.
    pub(super) fn new(chunk: Chunk) -> Self {
        Self { bytes: chunk.bytes(), chunk, at: At::start(), batch: None, left: None }
    }
}
