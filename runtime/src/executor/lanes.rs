//! Lanes are dealt: a block of each in turn, then what is left of them (`semantics.md`, 11).

use crate::{Chunk, Failure, Mark, Operator, OperatorCall, Running, Wants, mix};
use plan::{Arg, shown_bytes};
use std::collections::VecDeque;

/// One of the parts of a source that go through the stages alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lane {
    /// Which one, from 0.
    pub(super) number: u32,
    /// How many there are.
    pub(super) count: u32,
    /// Which one of those that this run goes through, from 0.
    pub(super) turn: u32,
    /// How many of them this run goes through.
    pub(super) turns: u32,
}

impl Lane {
    /// The only one.
    pub(super) const ONE: Self = Self { number: 0, count: 1, turn: 0, turns: 1 };

    /// Whether it stands for all lanes of its stages, where these are looked at as one.
    pub(super) fn is_first(self) -> bool {
        self.turn == 0
    }
}

/// Which of some lanes a run goes through: those whose numbers are a rank's modulo `step`.
///
/// Where no lane may end before the epoch does, each block is of the lane whose turn it is, whatever the lanes
/// hold: block `b` of lane `b` modulo their number. So a rank finds its blocks without the lanes of others. In
/// all other cases which lane has how many records is only known by reading, and each run goes through all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Own {
    /// Lanes of the same run have numbers that are this far apart; 1 for all.
    pub(super) step: u32,
    /// The number of the first.
    pub(super) first: u32,
}

impl Own {
    /// All lanes.
    pub(super) const ALL: Self = Self { step: 1, first: 0 };

    /// Those of rank `rank` of `world`, of `count` of which none may end before the epoch does.
    pub(super) fn of((rank, world): (u32, u32), count: u32) -> Self {
        let (mut step, mut rest) = (world.max(1), count);
        while rest > 0 {
            (step, rest) = (rest, step % rest);
        }
        Self { step, first: rank % step }
    }

    /// How many of the first `blocks` blocks of all lanes are theirs.
    pub(super) fn blocks(self, blocks: u64) -> u64 {
        let (step, first) = (u64::from(self.step), u64::from(self.first));
        blocks / step + u64::from(first < blocks % step)
    }

    /// Each of them, of `count`.
    pub(super) fn lanes(self, count: u32) -> impl Iterator<Item = Lane> {
        let turns = count / self.step;
        let number = move |turn| self.first + turn * self.step;
        (0..turns).map(move |turn| Lane { number: number(turn), count, turn, turns })
    }
}

/// The key of an operator's own draws in a lane: each lane has others, and the first one those that
/// there are without lanes.
pub(super) fn key(key: u64, lane: Lane) -> u64 {
    if lane.number == 0 { key } else { mix(mix(key, LANE), u64::from(lane.number)) }
}

/// Sets the draws of lanes apart from all others: the name's bytes.
const LANE: u64 = u64::from_le_bytes(*b"lane\0\0\0\0");

/// The arguments of what deals the lanes `own`: the records of a block and, of a run that deals its own lanes
/// and ends after `take` blocks of all, what [`Share`] holds.
pub(super) fn args(rows: u64, (own, count): (Own, u32), take: Option<u64>) -> Vec<Arg> {
    let share = take.map(|all| [all, own.first.into(), own.step.into(), count.into()]);
    let numbers = [rows].into_iter().chain(share.into_iter().flatten());
    numbers.map(|it| Arg::Int(i64::try_from(it).unwrap_or(i64::MAX))).collect()
}

/// Makes what deals the lanes, from its [`args`].
pub(super) fn build(call: &OperatorCall<'_>) -> Result<Running, Failure> {
    let (rows, share) = match call.args {
        [Arg::Int(rows)] => (rows, None),
        [Arg::Int(rows), Arg::Int(all), Arg::Int(first), Arg::Int(step), Arg::Int(count)] => {
            let [first, step, count] = [first, step, count].map(|it| *it as u32);
            (rows, Some(Share { all: *all as u64, own: Own { first, step }, count }))
        }
        _ => {
            let why = "the program is damaged: its lanes have no size";
            return Err(Failure::Program(why.to_owned()));
        }
    };
    let mut dealer = Dealer {
        lanes: call.inputs.iter().map(|_| Held::default()).collect(),
        rows: (*rows).max(1) as u64,
        turn: 0,
        left: share.map(|it| it.own.blocks(it.all)),
        share,
        most: usize::try_from(call.memory / 2).unwrap_or(usize::MAX),
        mark: None,
    };
    if let Some(state) = call.state {
        dealer.resume(state)?;
    }
    Ok(Running { serial: Box::new(dealer), parallel: None })
}

/// Takes a block from each lane in turn.
struct Dealer {
    lanes: Vec<Held>,
    /// Records of a block.
    rows: u64,
    /// The lane whose turn it is. It has ended only when all have.
    turn: usize,
    /// Blocks that may still be given out, where not all may.
    left: Option<u64>,
    /// What the run gives of the epoch, where it deals its own lanes and not all blocks.
    share: Option<Share>,
    /// Bytes that it may hold.
    most: usize,
    mark: Option<Mark>,
}

/// What a run that deals its own lanes gives of an epoch.
#[derive(Clone, Copy)]
struct Share {
    /// Blocks of the epoch, those of other runs too.
    all: u64,
    own: Own,
    /// How many lanes there are, those of other runs too.
    count: u32,
}

/// What is held of a lane.
#[derive(Default)]
struct Held {
    chunks: VecDeque<Chunk>,
    rows: u64,
    bytes: usize,
    /// Nothing more comes.
    ended: bool,
}

impl Operator for Dealer {
    fn wants(&self) -> Wants {
        match self.lanes.get(self.turn) {
            _ if self.left == Some(0) => Wants::Nothing,
            Some(lane) if !lane.ended => Wants::Input(self.turn),
            _ => Wants::Nothing,
        }
    }

    fn push(
        &mut self,
        input: usize,
        chunk: Option<Chunk>,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Failure> {
        let before = out.len();
        match chunk {
            Some(chunk) => self.lanes[input].take_in(chunk),
            None => self.lanes[input].ended = true,
        }
        self.deal(out)?;
        self.mark = (out.len() > before).then(|| self.mark_after(out.len()));
        self.check_held()
    }

    fn mark(&self) -> Option<Mark> {
        self.mark.clone()
    }
}

impl Dealer {
    /// Gives the blocks out that are full, and when all lanes have ended what is left of them.
    fn deal(&mut self, out: &mut Vec<Chunk>) -> Result<(), Failure> {
        while let Some(next) = self.next() {
            if self.left == Some(0) {
                return Ok(());
            }
            self.check_turn()?;
            self.turn = next;
            let lane = &mut self.lanes[next];
            if lane.rows < self.rows {
                return Ok(());
            }
            lane.give(self.rows, out);
            self.left = self.left.map(|it| it - 1);
            self.turn = (next + 1) % self.lanes.len();
        }
        self.check_turn()?;
        self.lanes.iter_mut().for_each(|it| it.give(it.rows, out));
        Ok(())
    }

    /// Fails where the lane whose turn it is has ended, and another run may rely on its turn.
    fn check_turn(&self) -> Result<(), Failure> {
        let lane = &self.lanes[self.turn];
        let (Some(share), Some(left @ 1..)) = (self.share, self.left) else { return Ok(()) };
        if !lane.ended || lane.rows >= self.rows {
            return Ok(());
        }
        let given = (share.own.blocks(share.all) - left) / self.lanes.len() as u64;
        let count = u64::from(share.count);
        let number = u64::from(share.own.first) + self.turn as u64 * u64::from(share.own.step);
        let needed = share.all / count + u64::from(number < share.all % count);
        let most = given * count + number;
        Err(Failure::Data {
            label: String::new(),
            detail: format!(
                "lane {number} of {count} (numbered from 0) ended after {given} of the {needed} \
                 batches that `take({all})` needs of it: where several ranks read their own lanes, \
                 none may end early. Write `take({most})` at most, or add `repeat`",
                all = share.all
            ),
        })
    }

    /// From the lane on whose turn it is, the first that has a block or may have one.
    fn next(&self) -> Option<usize> {
        let n = self.lanes.len();
        let may = |it: &usize| !self.lanes[*it].ended || self.lanes[*it].rows >= self.rows;
        (0..n).map(|it| (self.turn + it) % n).find(may)
    }

    fn mark_after(&self, chunks: usize) -> Mark {
        let ahead = self.lanes.iter().map(|it| it.rows).collect();
        Mark { chunks, state: [self.turn as u64].into_iter().chain(self.left).collect(), ahead }
    }

    /// Goes on from what a mark said: whose turn it is, and how many blocks are left.
    fn resume(&mut self, state: &[u64]) -> Result<(), Failure> {
        let turn = match (state, self.left) {
            ([turn], None) => Some(*turn),
            ([turn, left], Some(all)) if *left <= all => {
                self.left = Some(*left);
                Some(*turn)
            }
            _ => None,
        };
        let turn = turn.and_then(|it| usize::try_from(it).ok()).filter(|it| *it < self.lanes.len());
        let unfit = || Failure::State("it was written with other lanes".to_owned());
        self.turn = turn.ok_or_else(unfit)?;
        Ok(())
    }

    /// Fails where more is held than may be: what is left of the lanes is, until all have ended.
    fn check_held(&self) -> Result<(), Failure> {
        let held: usize = self.lanes.iter().map(|it| it.bytes).sum();
        if held <= self.most {
            return Ok(());
        }
        Err(Failure::Data {
            label: String::new(),
            detail: format!(
                "the buffers of {} lanes take {}, but the limit for them is {} of the run's \
                 memory: raise it (`--memory`), or use fewer lanes or smaller batches",
                self.lanes.len(),
                shown_bytes(held as u64),
                shown_bytes(self.most as u64)
            ),
        })
    }
}

impl Held {
    fn take_in(&mut self, chunk: Chunk) {
        self.rows += chunk.rows as u64;
        self.bytes += chunk.bytes();
        self.chunks.push_back(chunk);
    }

    /// Gives the first `rows` records out.
    fn give(&mut self, rows: u64, out: &mut Vec<Chunk>) {
        let mut left = rows;
        while left > 0
            && let Some(chunk) = self.chunks.pop_front()
        {
            self.bytes -= chunk.bytes();
            let taken = usize::try_from(left).unwrap_or(usize::MAX).min(chunk.rows);
            if taken < chunk.rows {
                let rest = chunk.cut(taken..chunk.rows);
                self.bytes += rest.bytes();
                self.chunks.push_front(rest);
            }
            out.push(if taken < chunk.rows { chunk.cut(0..taken) } else { chunk });
            left -= taken as u64;
        }
        self.rows -= rows;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Builder, Pool};
    use plan::{DType, Type};

    fn chunk(ids: &[u64]) -> Chunk {
        let mut builder = Builder::new(&Type::scalar(DType::U64), ids.len(), &Pool::default());
        ids.iter().for_each(|it| builder.push_scalar(*it));
        Chunk { rows: ids.len(), epoch: 0, ids: builder.finish(), columns: Vec::new() }
    }

    fn dealer(lanes: usize, state: Option<&[u64]>) -> Box<dyn Operator> {
        let inputs = vec![Vec::new(); lanes];
        let call = OperatorCall {
            args: &[Arg::Int(2)],
            names: &[],
            inputs: &inputs,
            columns: &[],
            key: 0,
            epoch: 0,
            state,
            rows: 1,
            memory: 1 << 20,
            pool: &Pool::default(),
            kept: None,
            by_file: &[],
            filling: &std::sync::Arc::default(),
        };
        build(&call).map(|it| it.serial).expect("the state fits")
    }

    /// What comes of lanes that give their records `each` at a time.
    fn dealt(mut dealer: Box<dyn Operator>, mut lanes: Vec<Vec<u64>>, each: usize) -> Vec<u64> {
        let mut out = Vec::new();
        while let Wants::Input(it) = dealer.wants() {
            let some = each.min(lanes[it].len());
            let rest = lanes[it].split_off(some);
            let some = std::mem::replace(&mut lanes[it], rest);
            dealer.push(it, (!some.is_empty()).then(|| chunk(&some)), &mut out).unwrap();
        }
        out.iter().flat_map(|it| it.ids().to_vec()).collect()
    }

    #[test]
    fn blocks_come_in_turn_and_what_is_left_at_the_end() {
        let lanes =
            || vec![vec![1, 2, 3, 4, 5], vec![11], vec![21, 22], vec![31, 32, 33, 34, 35, 36]];
        for each in 1..7 {
            let all = dealt(dealer(4, None), lanes(), each);
            assert_eq!(all, [1, 2, 21, 22, 31, 32, 3, 4, 33, 34, 35, 36, 5, 11]);
        }
        // It is the turn of lane 1.
        let all = dealt(dealer(3, Some(&[1])), vec![vec![1, 2, 3], vec![11, 12], vec![]], 9);
        assert_eq!(all, [11, 12, 1, 2, 3]);
    }

    #[test]
    fn a_rank_goes_through_the_lanes_of_its_turns() {
        let numbers = |ranks, count| -> Vec<u32> {
            Own::of(ranks, count).lanes(count).map(|it| it.number).collect()
        };
        assert_eq!(numbers((1, 2), 6), [1, 3, 5]);
        assert_eq!(numbers((5, 6), 6), [5]);
        // Two of four ranks share two lanes; none can do without one where they are dealt unevenly.
        assert_eq!(numbers((3, 4), 6), [1, 3, 5]);
        assert_eq!(numbers((2, 5), 6), [0, 1, 2, 3, 4, 5]);
        assert_eq!(numbers((0, 1), 3), [0, 1, 2]);
    }

    #[test]
    fn all_lanes_may_be_empty() {
        assert_eq!(dealt(dealer(3, None), vec![Vec::new(); 3], 1), [0; 0]);
    }
}
