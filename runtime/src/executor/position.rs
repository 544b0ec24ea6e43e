//! Where a run stands: enough to go on from there, with other threads and chunks.
//!
//! Each chunk knows the place of its first record: the last point at which everything above it
//! held nothing but a few numbers, and how many records came out since. To go on is to begin at the
//! point, and to drop that many. So an operator is run again over one of its blocks at the most
//! (`semantics.md`, 10).

use super::lanes::Own;
use crate::Failure;
use std::{fmt, sync::Arc};

/// Numbers that a written position may have: far more than any program needs.
const NUMBERS_MAX: usize = 1 << 16;
/// Inputs of an operator from which on they are written side by side, so that what is alike is
/// written once.
const MANY: usize = 4;
/// Stages that may stand upon each other in a written position.
const DEPTH_MAX: usize = 1_000;

/// Where a run stands after what it has delivered.
///
/// It says nothing of threads and chunks, and is valid for the same program on the same inputs; for any
/// ranks, unless each goes through lanes of its own.
#[derive(Clone)]
pub struct Position {
    /// The epoch of what comes next, or of the end that comes next.
    pub epoch: u32,
    pub(super) at: At,
    /// Which lanes it is the place of.
    pub(super) own: Own,
}

/// A place in the records that leave a node, within an epoch.
#[derive(Clone)]
pub(super) struct At {
    pub(super) point: Arc<Point>,
    /// Records that leave the node between the point and here.
    pub(super) skip: u64,
}

/// A point from which a node, and all above it, can begin again.
pub(super) enum Point {
    /// The begin of the epoch.
    Start,
    /// The end of the epoch: nothing more comes.
    Ended,
    /// Of a source that is asked for numbers: the place of the next record in its epoch.
    Source { place: u64 },
    /// Of a source that is read through.
    Stream(StreamPlace),
    /// Of a transform: where its input stands.
    Transform {
        input: At,
        /// Whether each record that came in went out, so that places out are places in.
        same: bool,
        /// What was lost in this epoch before it (`Losses::numbers`).
        losses: Vec<u64>,
    },
    /// Of an operator that holds nothing but its state.
    Operator {
        state: Vec<u64>,
        /// Chunks that have left it.
        number: u64,
        inputs: Vec<At>,
    },
}

/// Where a source that is read through stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct StreamPlace {
    pub(super) lap: u64,
    /// Records of this lap, without those that were left out.
    pub(super) lap_rows: u64,
    /// What the stream itself says of its place (`Stream::place`).
    pub(super) place: Option<Vec<u64>>,
}

impl fmt::Debug for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "epoch {} at {:?}", self.epoch, self.numbers())
    }
}

impl Position {
    /// The begin of an epoch.
    pub fn start(epoch: u32) -> Self {
        Self { epoch, at: At::start(), own: Own::ALL }
    }

    /// The end of an epoch, of which nobody has been told.
    pub(super) fn end(epoch: u32) -> Self {
        Self { epoch, at: At::new(Point::Ended), own: Own::ALL }
    }

    /// Fails where a run that goes through the lanes `own` cannot go on from it.
    pub(super) fn check_own(&self, own: Own) -> Result<(), Failure> {
        if self.is_common() || self.own == own {
            return Ok(());
        }
        Err(Failure::State(
            "it has the place of other lanes: where each rank reads only its own lanes, a rank resumes from \
             its own checkpoint, with the same world size"
                .to_owned(),
        ))
    }

    /// Whether it is where an epoch begins or ends, which is the same for all lanes.
    fn is_common(&self) -> bool {
        matches!(&*self.at.point, Point::Start if self.at.skip == 0) || self.is_end()
    }

    /// Whether nothing more comes in its epoch.
    pub(super) fn is_end(&self) -> bool {
        matches!(*self.at.point, Point::Ended)
    }

    /// The same as numbers, to be written down.
    pub fn numbers(&self) -> Vec<u64> {
        let mut numbers = Vec::new();
        if let Own { step: step @ 2.., first } = self.own
            && !self.is_common()
        {
            numbers.extend([tag::OWN, u64::from(step), u64::from(first)]);
        }
        self.at.write(0, &mut numbers);
        numbers
    }

    /// The position that `numbers` say, in `epoch`.
    ///
    /// # Errors
    /// They are no position.
    pub fn from_numbers(epoch: u32, numbers: &[u64]) -> Result<Self, Failure> {
        let read = || {
            let (mut numbers, mut left) = (numbers, NUMBERS_MAX);
            let own = Own::read(&mut numbers)?;
            let at = At::read(&mut numbers, (0, &mut left)).filter(|_| numbers.is_empty())?;
            Some(Self { epoch, at, own })
        };
        let fits = numbers.len() <= NUMBERS_MAX;
        let damaged = || Failure::State("its position is damaged".to_owned());
        fits.then(read).flatten().ok_or_else(damaged)
    }
}

/// What the numbers of a point begin with.
mod tag {
    pub(super) const START: u64 = 0;
    pub(super) const ENDED: u64 = 1;
    pub(super) const SOURCE: u64 = 2;
    pub(super) const STREAM: u64 = 3;
    pub(super) const TRANSFORM: u64 = 4;
    pub(super) const OPERATOR: u64 = 5;
    /// An operator whose inputs are written side by side.
    pub(super) const BESIDE: u64 = 6;
    /// The lanes of one rank, before all else.
    pub(super) const OWN: u64 = 7;
}

impl Own {
    /// What a position begins with; all lanes where it says nothing of them.
    fn read(from: &mut &[u64]) -> Option<Self> {
        if from.first() != Some(&tag::OWN) {
            return Some(Self::ALL);
        }
        let (_, step, first) = (next(from)?, next(from)?, next(from)?);
        let (step, first) = (u32::try_from(step).ok()?, u32::try_from(first).ok()?);
        (first < step && step > 1).then_some(Self { step, first })
    }
}

impl At {
    pub(super) fn new(point: Point) -> Self {
        Self { point: Arc::new(point), skip: 0 }
    }

    /// The begin of an epoch.
    pub(super) fn start() -> Self {
        Self::new(Point::Start)
    }

    /// So many records further.
    pub(super) fn plus(&self, rows: u64) -> Self {
        Self { point: self.point.clone(), skip: self.skip.saturating_add(rows) }
    }

    /// Writes it with `more` records to be skipped.
    fn write(&self, more: u64, to: &mut Vec<u64>) {
        let skip = self.skip.saturating_add(more);
        match &*self.point {
            Point::Start => to.extend([tag::START, skip]),
            Point::Ended => to.extend([tag::ENDED, 0]),
            Point::Source { place } => to.extend([tag::SOURCE, 0, place.saturating_add(skip)]),
            Point::Stream(StreamPlace { lap, lap_rows, place }) => {
                to.extend([tag::STREAM, skip, *lap, *lap_rows, u64::from(place.is_some())]);
                write_list(place.as_deref().unwrap_or_default(), to);
            }
            Point::Transform { input, same, losses } => {
                let (own, entered) = if *same { (0, skip) } else { (skip, 0) };
                to.extend([tag::TRANSFORM, own]);
                // What is not passed through it again has come in nevertheless.
                match &losses[..] {
                    [before, rest @ ..] if entered > 0 => {
                        let all = [&[before.saturating_add(entered)], rest].concat();
                        write_list(&all, to);
                    }
                    [] if entered > 0 => write_list(&[entered, 0], to),
                    losses => write_list(losses, to),
                }
                input.write(entered, to);
            }
            Point::Operator { state, number, inputs } => {
                let numbers = |it: &Self| {
                    let mut numbers = Vec::new();
                    it.write(0, &mut numbers);
                    numbers
                };
                let inputs: Vec<Vec<u64>> = inputs.iter().map(numbers).collect();
                let beside =
                    inputs.len() >= MANY && inputs.iter().all(|it| it.len() == inputs[0].len());
                to.extend([if beside { tag::BESIDE } else { tag::OPERATOR }, skip, *number]);
                write_list(state, to);
                to.push(inputs.len() as u64);
                if beside {
                    write_beside(&inputs, to);
                } else {
                    to.extend(inputs.into_iter().flatten());
                }
            }
        }
    }

    /// `left` numbers may be read in all, those with them that lists side by side stand for.
    fn read(from: &mut &[u64], (depth, left): (usize, &mut usize)) -> Option<Self> {
        if depth > DEPTH_MAX {
            return None;
        }
        let (tag, skip) = (next(from)?, next(from)?);
        let point = match tag {
            tag::START => Point::Start,
            tag::ENDED if skip == 0 => Point::Ended,
            tag::SOURCE if skip == 0 => Point::Source { place: next(from)? },
            tag::STREAM => {
                let (lap, lap_rows, has_place) = (next(from)?, next(from)?, next(from)? == 1);
                let place = read_list(from)?;
                Point::Stream(StreamPlace { lap, lap_rows, place: has_place.then_some(place) })
            }
            tag::TRANSFORM => {
                let losses = read_list(from)?;
                Point::Transform {
                    input: Self::read(from, (depth + 1, left))?,
                    same: false,
                    losses,
                }
            }
            tag::OPERATOR => {
                let (number, state) = (next(from)?, read_list(from)?);
                let count = next(from)?;
                let inputs = (0..count).map(|_| Self::read(from, (depth + 1, left)));
                Point::Operator { state, number, inputs: inputs.collect::<Option<_>>()? }
            }
            tag::BESIDE => {
                let (number, state) = (next(from)?, read_list(from)?);
                let inputs = read_beside(from, left)?;
                let inputs = inputs.iter().map(|it| {
                    let mut numbers = &it[..];
                    Self::read(&mut numbers, (depth + 1, left)).filter(|_| numbers.is_empty())
                });
                Point::Operator { state, number, inputs: inputs.collect::<Option<_>>()? }
            }
            _ => return None,
        };
        Some(Self { point: Arc::new(point), skip })
    }
}

/// Writes lists of the same length: their first numbers, then their second ones, and so on; where
/// they are not all the same, each as what it is more than the one before.
fn write_beside(lists: &[Vec<u64>], to: &mut Vec<u64>) {
    let len = lists.first().map_or(0, Vec::len);
    to.push(len as u64);
    for at in 0..len {
        let first = lists[0][at];
        let differ = lists.iter().any(|it| it[at] != first);
        to.extend([u64::from(differ), first]);
        if differ {
            to.extend(lists.windows(2).map(|it| folded(it[1][at].wrapping_sub(it[0][at]))));
        }
    }
}

/// The lists that `write_beside` has written, and how many there are before it.
fn read_beside(from: &mut &[u64], left: &mut usize) -> Option<Vec<Vec<u64>>> {
    let (count, len) = (usize::try_from(next(from)?).ok()?, usize::try_from(next(from)?).ok()?);
    // No lists of many numbers are as much to make room for as one.
    *left = left.checked_sub(count.max(1).checked_mul(len.max(1))?)?;
    let mut lists = vec![Vec::with_capacity(len); count];
    for _ in 0..len {
        let (differ, mut number) = (next(from)? == 1, next(from)?);
        for (at, list) in lists.iter_mut().enumerate() {
            if differ && at > 0 {
                number = number.wrapping_add(unfolded(next(from)?));
            }
            list.push(number);
        }
    }
    Some(lists)
}

/// A difference as a small number, whatever its sign: 0, -1, 1, -2, 2 are 0, 1, 2, 3, 4.
fn folded(difference: u64) -> u64 {
    (difference << 1) ^ ((difference as i64) >> 63) as u64
}

fn unfolded(folded: u64) -> u64 {
    (folded >> 1) ^ (folded & 1).wrapping_neg()
}

fn write_list(list: &[u64], to: &mut Vec<u64>) {
    to.push(list.len() as u64);
    to.extend(list);
}

fn next(from: &mut &[u64]) -> Option<u64> {
    let (first, rest) = from.split_first()?;
    *from = rest;
    Some(*first)
}

fn read_list(from: &mut &[u64]) -> Option<Vec<u64>> {
    let len = usize::try_from(next(from)?).ok()?;
    let (list, rest) = from.split_at_checked(len)?;
    *from = rest;
    Some(list.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_inputs_are_written_side_by_side() {
        let place = |it| At::new(Point::Source { place: it });
        let input =
            |it| At::new(Point::Transform { input: place(it), same: true, losses: vec![7] });
        let inputs = [90, 95, 80, u64::MAX].map(input).to_vec();
        let at = At::new(Point::Operator { state: vec![5], number: 8, inputs }).plus(2);
        let numbers = Position { epoch: 2, at, own: Own::ALL }.numbers();
        let beside = [6, 2, 8, 1, 5, 4, 7, 0, 4, 0, 0, 0, 1, 0, 7, 0, 2, 0, 0, 1, 90, 10, 29, 161];
        assert_eq!(numbers, beside);
        let again = Position::from_numbers(2, &numbers).map(|it| it.numbers());
        assert_eq!(again, Ok(numbers.clone()));
        for cut in 0..numbers.len() {
            assert!(Position::from_numbers(2, &numbers[..cut]).is_err(), "{cut}");
        }
    }

    #[test]
    fn a_few_numbers_never_stand_for_very_many() {
        // 20 000 points of two numbers, and 5 000 such lists in another.
        let inner = [6, 0, 0, 0, 20_000, 2, 0, 0, 0, 0];
        let mut outer = vec![6, 0, 0, 0, 5_000, inner.len() as u64];
        outer.extend(inner.iter().flat_map(|it| [0, *it]));
        assert!(Position::from_numbers(2, &inner).is_ok());
        assert!(Position::from_numbers(2, &outer).is_err());
        // No lists at all, of very many numbers each.
        for len in [1 << 50, u64::MAX] {
            assert!(Position::from_numbers(2, &[6, 0, 0, 0, 0, len, 0, 0]).is_err(), "{len}");
        }
    }

    #[test]
    fn what_is_written_can_be_read() {
        let place = StreamPlace { lap: 1, lap_rows: 7, place: Some(vec![0, 512]) };
        let input = At { point: Arc::new(Point::Stream(place)), skip: 3 };
        let inner = At::new(Point::Transform { input, same: true, losses: vec![9] }).plus(4);
        let inputs = vec![inner, At::start().plus(2), At::new(Point::Ended)];
        let at = At::new(Point::Operator { state: vec![5, 6], number: 8, inputs }).plus(11);
        let numbers = Position { epoch: 2, at, own: Own::ALL }.numbers();
        // The transform's skip has become its input's, and is among what came in.
        assert_eq!(
            numbers,
            [5, 11, 8, 2, 5, 6, 3, 4, 0, 1, 13, 3, 7, 1, 7, 1, 2, 0, 512, 0, 2, 1, 0]
        );
        let again = Position::from_numbers(2, &numbers).map(|it| it.numbers());
        assert_eq!(again, Ok(numbers.clone()));
        for cut in 0..numbers.len() {
            assert!(Position::from_numbers(2, &numbers[..cut]).is_err(), "{cut}");
        }
        // Of a rank that has lanes of its own.
        let own =
            |step, first| Position::from_numbers(2, &[&[7, step, first], &numbers[..]].concat());
        assert_eq!(own(3, 1).map(|it| it.numbers()[..4].to_vec()), Ok(vec![7, 3, 1, 5]));
        assert!(own(3, 3).is_err() && own(1, 0).is_err() && own(1 << 32, 0).is_err());
        assert!(own(3, 1).unwrap().check_own(Own::of((2, 3), 12)).is_err());
        assert!(own(3, 1).unwrap().check_own(Own::of((1, 3), 12)).is_ok());
        assert!(Position::start(2).check_own(Own::of((1, 3), 12)).is_ok());
    }
}
