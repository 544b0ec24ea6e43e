//! One run among several that share the work: which records are its own (`semantics.md`, 11).
//!
//! The records that leave a node are dealt to the ranks in blocks, each the rows of a batch, one
//! block to each rank in turn. A round is given out when all of it is there, so that all ranks
//! have the same number of batches. Dealing begins where the run begins.

use super::{
    cut::Stretch,
    lanes::Own,
    node::{Dealt, Kind, Node, Parcel},
    position::{At, Point},
};
use crate::{Builder, Chunk, ChunkBuilder, Failure, Pool, Shape};
use plan::{Code, DType, Extent, Field, Index, OwnLanes, Program, RaggedField, StageId, Type};
use std::{collections::VecDeque, mem, ops::Range};

/// One run among several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rank {
    /// Which one, from 0.
    pub rank: u32,
    /// How many there are.
    pub world: u32,
    /// Where several processes do the work of this rank, which of them this is, from 0. They give the
    /// batches of the rank in turn, and all of them, also where these cannot be shared evenly.
    pub part: u32,
    /// How many such processes there are.
    pub parts: u32,
}

impl Default for Rank {
    /// The only one.
    fn default() -> Self {
        Self { rank: 0, world: 1, part: 0, parts: 1 }
    }
}

impl Rank {
    /// Whether others give batches as well.
    pub(super) fn is_shared(&self) -> bool {
        self.world > 1 || self.parts > 1
    }
}

/// How the records of a node are dealt.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    /// Which run this is of all that give batches, the processes of a rank counted one by one: part
    /// `p` of rank `r` is `r + world · p`, so that the ranks have had a batch each before any of
    /// them has its second.
    pub(super) rank: u64,
    pub(super) world: u64,
    /// Runs that must have a block each, or none of them has: the ranks.
    pub(super) even: u64,
    /// Records of a block.
    pub(super) rows: u64,
    /// Whether a round that is not full is given out at the end.
    pub(super) keeps_tail: bool,
}

/// Deals the records that leave a node.
pub(super) struct Deal {
    pub(super) terms: Terms,
    /// Records of this epoch, from where the run begins.
    seen: u64,
    /// Own records of the round that is not full.
    held: Vec<Stretch>,
    /// Where the records of this epoch end, as far as they came.
    latest: Option<At>,
    pub(super) rounds: Rounds,
}

/// The rounds that were given out, until their batches leave the pipeline.
#[derive(Default)]
pub(super) struct Rounds {
    /// The epoch of each, and where it ends.
    ends: VecDeque<(u32, At)>,
    /// Epochs whose last round has no records for this rank, though it has for others.
    pub(super) lacking: VecDeque<u32>,
}

impl Terms {
    /// Records of a round.
    fn round(&self) -> u64 {
        self.rows.saturating_mul(self.world)
    }

    /// Records of a round in which the ranks have one block each; several make a round where
    /// processes share the work of a rank.
    fn lap(&self) -> u64 {
        self.rows.saturating_mul(self.even)
    }

    /// How many of `all` records are given out.
    fn given_of(&self, all: u64) -> u64 {
        if self.keeps_tail { all } else { all - all % self.lap() }
    }

    /// This rank's records of the round that begins at 0.
    fn own(&self) -> Range<u64> {
        self.rank * self.rows..(self.rank + 1) * self.rows
    }

    /// The next own places of a source from `from` on, at most `most`, of `len` places that are
    /// dealt from `first` on; and the end of their round, where they end it.
    pub(super) fn places(&self, (first, from, len): (u64, u64, u64), most: u64) -> Option<Places> {
        let round = self.round();
        let all = len.saturating_sub(first);
        let full = first + self.given_of(all);
        let mut at = from - first;
        loop {
            let start = at - at % round;
            let own = start + self.own().start..start + self.own().end;
            if at >= own.end {
                at = start + round;
                continue;
            }
            let begin = first + at.max(own.start);
            let end = (first + own.end).min(full);
            if begin >= end {
                return None;
            }
            let stop = end.min(begin.saturating_add(most));
            let is_last = stop == end;
            let round_end = is_last.then(|| (first + start + round).min(full));
            return Some(Places { places: begin..stop, round_end });
        }
    }

    /// Whether the last of `all` records leave this rank without a block, and others not.
    pub(super) fn lacks(&self, all: u64) -> bool {
        let (rest, own) = (all % self.round(), self.own().start);
        self.keeps_tail && rest > own - own % self.lap() && rest <= own
    }
}

/// Places of a source.
#[derive(Debug, PartialEq)]
pub(super) struct Places {
    pub(super) places: Range<u64>,
    pub(super) round_end: Option<u64>,
}

impl Deal {
    pub(super) fn new(terms: Terms) -> Self {
        Self { terms, seen: 0, held: Vec::new(), latest: None, rounds: Rounds::default() }
    }

    /// Deals a chunk; the parcels of rounds that are full with it.
    pub(super) fn take(&mut self, parcel: Parcel) -> Vec<Parcel> {
        let (round, mut out) = (self.terms.round(), Vec::new());
        let epoch = parcel.chunk.epoch;
        let whole = parcel.into_stretch();
        self.latest = Some(whole.at.plus(whole.chunk.rows as u64));
        let mut at = 0;
        while at < whole.chunk.rows {
            let in_round = self.seen % round;
            let rows = ((round - in_round).min((whole.chunk.rows - at) as u64)) as usize;
            self.keep(&whole, at..at + rows, in_round);
            at += rows;
            self.seen += rows as u64;
            if self.seen.is_multiple_of(round) {
                self.rounds.ended(epoch, whole.at.plus(at as u64));
                out.extend(self.held.drain(..).map(into_parcel));
            }
        }
        out
    }

    /// Keeps the own ones of these rows of a chunk, the first of which is `in_round` of its round.
    fn keep(&mut self, whole: &Stretch, rows: Range<usize>, in_round: u64) {
        let own = self.terms.own();
        let place = |it: u64| rows.start + it.saturating_sub(in_round) as usize;
        let mine = place(own.start).min(rows.end)..place(own.end).min(rows.end);
        if mine.start < mine.end {
            self.held.push(whole.cut(mine));
        }
    }

    /// Ends the epoch; what is given out of the last round.
    pub(super) fn end(&mut self, epoch: u32) -> Vec<Parcel> {
        if self.terms.lacks(self.seen) {
            self.rounds.lacking.push_back(epoch);
        }
        let given = self.terms.given_of(self.seen % self.terms.round());
        self.seen = 0;
        let held = mem::take(&mut self.held);
        match self.latest.take() {
            Some(end) if given > self.terms.own().start && !held.is_empty() => {
                self.rounds.ended(epoch, end);
                held.into_iter().map(into_parcel).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Bytes that are held.
    pub(super) fn bytes(&self) -> usize {
        self.held.iter().map(|it| it.chunk.bytes()).sum()
    }

    /// Drops what is held: the epoch is left before its end.
    pub(super) fn close(&mut self) {
        self.seen = 0;
        self.latest = None;
        self.held.clear();
    }
}

impl Rounds {
    /// A round was given out, and ends at `at`.
    pub(super) fn ended(&mut self, epoch: u32, at: At) {
        self.ends.push_back((epoch, at));
    }

    /// Where each of the next `rows` rounds of `epoch` ends: their batches have left.
    pub(super) fn left(&mut self, epoch: u32, rows: usize) -> Vec<At> {
        while self.ends.front().is_some_and(|it| it.0 < epoch) {
            self.ends.pop_front();
        }
        let rows = rows.min(self.ends.len());
        self.ends.drain(..rows).map(|it| it.1).collect()
    }
}

fn into_parcel(Stretch { chunk, at }: Stretch) -> Parcel {
    Parcel { at, ..Parcel::new(chunk) }
}

/// Lets the node of the program's stage deal what leaves it.
pub(super) fn deal(
    nodes: &mut [Node],
    last_nodes: &[usize],
    (program, rank, own): (&Program, Rank, Own),
) -> Result<(), Failure> {
    let Rank { rank, world, part, parts } = rank;
    for (what, number, of) in [("rank", rank, world), ("part", part, parts)] {
        if number >= of {
            let why = format!("{what} {number} is out of range for {of}: numbering starts at 0");
            return Err(Failure::Program(why));
        }
    }
    let (stage, rows) = dealing(program, own);
    let keeps_tail = program.deal.keeps_tail;
    let damaged =
        || Failure::Program("the program is damaged: no stage distributes its records".into());
    let node = *last_nodes.get(stage.row()).filter(|_| rows > 0).ok_or_else(damaged)?;
    let [rank, even, part, parts] = [rank, world, part, parts].map(u64::from);
    let (rank, world) = (rank + even * part, even * parts);
    // Of the blocks of its own lanes, which never end: every so-manieth of all.
    let step = u64::from(own.step);
    let (rank, world, even) = (rank / step, world / step, even / step);
    let terms = Terms { rank, world, even, rows, keeps_tail };
    match &mut nodes[node].kind {
        Kind::Fetch(fetch) => {
            fetch.deal = Some(Dealt { terms, first: 0, rounds: Rounds::default() });
        }
        _ => nodes[node].deal = Some(Deal::new(terms)),
    }
    Ok(())
}

/// The stage that deals, and the records of a block, where a run goes through the lanes `own`.
fn dealing(program: &Program, own: Own) -> (StageId, u64) {
    let lanes = own_lanes(program, own).map(|it| it.stage);
    let lanes = program.lanes.iter().find(|it| Some(it.stage) == lanes);
    lanes.map_or((program.deal.stage, program.deal.rows), |it| (it.stage, it.rows))
}

/// What the program says of the lanes `own`, where these are not all.
pub(super) fn own_lanes(program: &Program, own: Own) -> Option<&OwnLanes> {
    program.deal.own.as_ref().filter(|_| own != Own::ALL)
}

/// What is below the stage that deals: steps on each record alone, one at the most that makes a batch of a
/// block, and one at the most that takes the first batches. They hold nothing at the end of a round.
#[derive(Debug, Clone)]
pub(super) struct Below {
    /// What each stage is; the root is the last one.
    stages: Vec<Under>,
}

/// A stage below the one that deals.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Under {
    Transform,
    /// Puts so many records together: a batch of a block, or a window.
    Groups(u64),
    /// Takes so many batches. It lets all pass: the lanes above end before it does.
    Take(u64),
}

impl Under {
    /// Records that go into one of its.
    fn rows(self) -> u64 {
        match self {
            Self::Groups(rows) => rows.max(1),
            Self::Transform | Self::Take(_) => 1,
        }
    }
}

impl Below {
    pub(super) fn of(program: &Program, own: Own) -> Self {
        let (dealing, rows) = dealing(program, own);
        let windows = program.deal.windows.filter(|_| dealing == program.deal.stage);
        let mut take = own_lanes(program, own).and_then(|it| it.take);
        let (mut stages, mut at) = (Vec::new(), program.stages.ids().last());
        while let Some(stage) = at.filter(|it| *it > dealing) {
            let stage = &program.stages[stage];
            stages.push(match stage.code {
                Code::Operator { .. } => {
                    let batch = Under::Groups(rows / windows.unwrap_or(1).max(1));
                    take.take().map_or(batch, Under::Take)
                }
                _ => Under::Transform,
            });
            at = stage.inputs.first().copied();
        }
        stages.reverse();
        // The first that puts records together makes the windows.
        let first = stages.iter_mut().find(|it| matches!(it, Under::Groups(_)));
        if let (Some(first), Some(length)) = (first, windows) {
            *first = Under::Groups(length);
        }
        Self { stages }
    }

    /// The place of the root, where the node that deals stands at `at`, at a round's end.
    pub(super) fn root(&self, at: At) -> At {
        wrapped(at, &self.stages)
    }

    /// The same place with nothing to be skipped below the node that deals, so that nothing is
    /// worked on there to be dropped.
    pub(super) fn sunk(&self, root: &At) -> At {
        self.sink(root, self.stages.len())
    }

    /// The same for the first `n` of the stages.
    fn sink(&self, at: &At, n: usize) -> At {
        let Some(last) = n.checked_sub(1) else { return at.clone() };
        let is_operator = self.stages[last] != Under::Transform;
        match &*at.point {
            Point::Start => {
                let stages = &self.stages[..n];
                let rows = stages.iter().map(|it| it.rows()).fold(1, u64::saturating_mul);
                wrapped(At { skip: at.skip.saturating_mul(rows), ..at.clone() }, stages)
            }
            Point::Transform { input, losses, .. } if !is_operator => {
                let input = self.sink(&input.plus(at.skip), last);
                At::new(Point::Transform { input, same: true, losses: losses.clone() })
            }
            Point::Operator { state, number, inputs } if is_operator => {
                let [input] = &inputs[..] else { return at.clone() };
                let input = input.plus(at.skip.saturating_mul(self.stages[last].rows()));
                let inputs = vec![self.sink(&input, last)];
                At::new(Point::Operator { state: state.clone(), number: *number, inputs })
            }
            _ => at.clone(),
        }
    }
}

/// The place of a node, where one above it stands at `at` and those between hold nothing.
fn wrapped(at: At, stages: &[Under]) -> At {
    let operator = |state, input| Point::Operator { state, number: 0, inputs: vec![input] };
    stages.iter().fold(at, |input, stage| {
        At::new(match stage {
            Under::Transform => Point::Transform { input, same: true, losses: Vec::new() },
            Under::Groups(_) => operator(Vec::new(), input),
            Under::Take(n) => operator(vec![*n], input),
        })
    })
}

/// A batch of nothing: `chunk` with every row marked as none, in the column `valid`.
pub(super) fn padding(last: &Chunk, valid: usize, epoch: u32) -> Chunk {
    let mut chunk = Chunk { epoch, ..last.cut(last.rows - 1..last.rows) };
    let rows = chunk.columns[valid].row(0).elements();
    let ty = Type::tensor(DType::Bool, &[rows as u64]);
    let mut none = Builder::new(&ty, 1, &Pool::default());
    none.room(Shape::new(&[rows])).fill(0);
    chunk.columns[valid] = none.finish();
    chunk
}

/// A batch of nothing where none has come that it could be like: of the extents that the types of its
/// fields say, and of 1 where they leave that open; the rows of ragged fields have no elements.
pub(super) fn nothing(fields: &[Field], epoch: u32) -> Chunk {
    let mut chunk = ChunkBuilder::new(fields, 1, epoch, &Pool::default());
    chunk.ids.push_scalar(0_u64);
    for (at, (field, column)) in fields.iter().zip(&mut chunk.columns).enumerate() {
        let open = usize::from(RaggedField::at(fields, at).is_none());
        let extent = |it: &Extent| if let Extent::Known(n) = it { *n as usize } else { open };
        let extents: Vec<usize> = field.ty.shape().unwrap_or_default().iter().map(extent).collect();
        match (field.ty.dtype().is_some_and(DType::is_text), &extents[..]) {
            (true, []) => column.push_text(&[]),
            // Empty texts, as many as a batch has rows.
            (true, [n, ..]) => {
                let none = Builder::new(&Type::scalar(column.dtype()), 0, &Pool::default());
                column.push_texts(&none.finish(), *n);
            }
            (false, _) => column.room(Shape::new(&extents)).fill(0),
        }
    }
    chunk.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(rank: u64, keeps_tail: bool) -> Terms {
        Terms { rank, world: 3, even: 3, rows: 4, keeps_tail }
    }

    #[test]
    fn a_batch_of_nothing_has_empty_texts() {
        let field = |name: &str, ty| Field { name: name.to_owned(), ty };
        let fields = [
            field("names", Type::tensor(DType::Str, &[3])),
            field("note", Type::scalar(DType::Str)),
            field("x", Type::tensor(DType::F32, &[3, 2])),
            field("ids.values", Type::Tensor { dtype: DType::I32, shape: vec![Extent::Unknown] }),
            field("ids.offsets", Type::tensor(DType::I64, &[4])),
        ];
        let chunk = nothing(&fields, 1);
        let texts = chunk.columns[0].row(0).texts().expect("it holds texts");
        assert_eq!(texts.iter().map(|it| it.bytes()).collect::<Vec<_>>(), [0, 0, 0]);
        assert_eq!((chunk.columns[1].row(0).as_str(), chunk.columns[2].row(0).bytes()), ("", 24));
        assert_eq!(
            (chunk.columns[3].row(0).shape(), chunk.columns[4].row(0).bytes()),
            (&[0][..], 32)
        );
    }

    fn all_places(terms: Terms, first: u64, len: u64) -> Vec<u64> {
        let (mut from, mut all) = (first, Vec::new());
        while let Some(it) = terms.places((first, from, len), 3) {
            from = it.places.end;
            all.extend(it.places);
        }
        all
    }

    #[test]
    fn places_are_dealt_in_blocks() {
        // 31 places from 2 on are 29: two rounds of twelve, and five.
        let one = |rank, keeps_tail| all_places(terms(rank, keeps_tail), 2, 31);
        assert_eq!(one(0, false), [2, 3, 4, 5, 14, 15, 16, 17]);
        assert_eq!(one(1, false), [6, 7, 8, 9, 18, 19, 20, 21]);
        assert_eq!(one(1, true), [6, 7, 8, 9, 18, 19, 20, 21, 30]);
        assert_eq!(one(2, true), one(2, false));
        assert!(terms(2, true).lacks(29) && !terms(1, true).lacks(29));
        assert!(!terms(2, false).lacks(29) && !terms(2, true).lacks(24));
        let mut merged: Vec<_> = (0..3).flat_map(|it| one(it, true)).collect();
        merged.sort_unstable();
        assert!(merged.into_iter().eq(2..31));
    }

    #[test]
    fn the_processes_of_a_rank_give_all_that_is_the_ranks() {
        for (ranks, keeps_tail) in [(1, false), (2, false), (1, true), (2, true)] {
            for (parts, len) in [(1, 29), (2, 29), (3, 24), (4, 31), (5, 60), (7, 3)] {
                let terms = |rank, part| {
                    let rank = rank + ranks * part;
                    Terms { rank, world: ranks * parts, even: ranks, rows: 4, keeps_tail }
                };
                let alone = |rank| Terms { rank, world: ranks, even: ranks, rows: 4, keeps_tail };
                for rank in 0..ranks {
                    let mut all: Vec<_> =
                        (0..parts).flat_map(|it| all_places(terms(rank, it), 2, 2 + len)).collect();
                    all.sort_unstable();
                    assert_eq!(all, all_places(alone(rank), 2, 2 + len), "{rank} of {ranks}");
                    // Of a batch that others have and this rank has not one process gives one of nothing.
                    let lacking = (0..parts).filter(|it| terms(rank, *it).lacks(len)).count();
                    assert_eq!(lacking, usize::from(alone(rank).lacks(len)));
                }
            }
        }
    }

    #[test]
    fn the_end_of_a_round_is_told_with_its_last_place() {
        let next = |from| terms(1, false).places((0, from, 24), 3);
        assert_eq!(next(0), Some(Places { places: 4..7, round_end: None }));
        assert_eq!(next(7), Some(Places { places: 7..8, round_end: Some(12) }));
        assert_eq!(next(8), Some(Places { places: 16..19, round_end: None }));
        assert_eq!(next(20), None);
    }
}
