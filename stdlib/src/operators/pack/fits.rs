//! Which records go into which sequence.

use super::fill::{Piece, Sequences};
use crate::operators::group::{Group, check_held, failure, unfit};
use crate::prelude::*;
use runtime::{Builder, Column, Mark, Operator, OperatorCall, Pool, Wants};
use std::{collections::BTreeSet, ops::Range};

/// Sequences that leave as one chunk, at the most.
const AT_ONCE: usize = 1 << 20;

/// What says how long a record is, and how long it may be.
#[derive(Debug, Clone)]
pub(super) struct Bound {
    /// The field.
    pub(super) name: String,
    /// Its column.
    pub(super) column: usize,
    /// Elements of a sequence.
    pub(super) length: usize,
}

/// End to end: cuts stretches of records that hold whole sequences.
pub(super) struct Split {
    group: Group,
    of: usize,
    length: usize,
    drops: bool,
    /// Elements of the first record of the group that are out.
    used: usize,
    /// Elements of the group, with those.
    held: usize,
    /// Sequences of a stretch, at the most.
    rows: usize,
    pool: Pool,
    passed: usize,
    done: bool,
}

impl Split {
    pub(super) fn new(
        call: &OperatorCall<'_>,
        &Bound { column: of, length, .. }: &Bound,
        drops: bool,
    ) -> Result<Self, Failure> {
        let used = match call.state {
            None | Some([]) => 0,
            Some([used]) => usize::try_from(*used).map_err(|_| unfit("pack"))?,
            Some(_) => return Err(unfit("pack")),
        };
        let (group, pool) = (Group::new(call), call.pool.clone());
        let rows = call.rows.clamp(1, AT_ONCE);
        Ok(Self { group, of, length, drops, used, held: 0, rows, pool, passed: 0, done: false })
    }

    /// Lets the sequences go that are complete; the last one too where nothing more comes.
    fn emit(&mut self, out: &mut Vec<Chunk>) {
        let left = self.held.saturating_sub(self.used);
        let mut sequences = left / self.length;
        if self.done && !self.drops {
            sequences = left.div_ceil(self.length);
        }
        if sequences == 0 {
            return;
        }
        let Some(whole) = self.group.finish() else { return };
        let lengths: Vec<usize> = whole.columns[self.of].lengths().collect();
        let (mut row, mut used) = (0, self.used);
        while sequences > 0 {
            let now = sequences.min(self.rows);
            let begin = (row, used);
            let mut wanted = now * self.length;
            while wanted > 0 && row < whole.rows {
                let part = (lengths[row] - used).min(wanted);
                wanted -= part;
                used += part;
                if used == lengths[row] {
                    (row, used) = (row + 1, 0);
                }
            }
            out.push(self.stretch(&whole, begin, (row + usize::from(used > 0), now)));
            sequences -= now;
        }
        self.used = used;
        self.held = lengths[row..].iter().sum();
        self.group.add(&whole, row..whole.rows, whole.rows - row);
    }

    /// Records that hold so many sequences, with a column that says so: where the first one begins in the first record,
    /// and how many they are.
    fn stretch(
        &self,
        whole: &Chunk,
        (row, used): (usize, usize),
        (end, n): (usize, usize),
    ) -> Chunk {
        let mut chunk = whole.cut(row..end);
        chunk.columns.push(numbers(&self.pool, chunk.rows, |it| match it {
            0 => (used as u64) << 24 | n as u64,
            _ => 0,
        }));
        chunk
    }
}

/// A column of numbers.
fn numbers(pool: &Pool, rows: usize, of: impl Fn(usize) -> u64) -> Column {
    let mut column = Builder::new(&Type::scalar(DType::U64), rows, pool);
    column.scalars_of::<u64>(rows).iter_mut().enumerate().for_each(|(row, to)| *to = of(row));
    column.finish()
}

/// What a stretch says in its last column.
fn told(chunk: &Chunk) -> &[u64] {
    let column = chunk.columns.last().expect("the last column says what goes where");
    column.as_slice::<u64>().expect("it was made of `u64`")
}

impl Operator for Split {
    fn wants(&self) -> Wants {
        if self.done { Wants::Nothing } else { Wants::Input(0) }
    }

    fn push(
        &mut self,
        _: usize,
        chunk: Option<Chunk>,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Failure> {
        match chunk {
            None => self.done = true,
            Some(chunk) => {
                self.held += chunk.columns[self.of].lengths().sum::<usize>();
                self.group.add(&chunk, 0..chunk.rows, chunk.rows);
            }
        }
        self.emit(out);
        self.passed = out.len();
        check_held(self.group.bytes(), self.group.share(), "the sequence of `pack`")
    }

    fn holds(&self) -> u64 {
        1
    }

    fn mark(&self) -> Option<Mark> {
        let ahead = vec![self.group.rows() as u64];
        let mark = Mark { chunks: self.passed, state: vec![self.used as u64], ahead };
        Some(mark).filter(|_| !self.done)
    }
}

/// The sequences of a stretch.
pub(super) fn split(chunk: &Chunk, lengths: &[usize], length: usize) -> Sequences {
    let told = told(chunk)[0];
    let (mut used, n) = ((told >> 24) as usize, (told & 0xff_ffff) as usize);
    let mut all = Sequences::default();
    let mut room = length;
    for (row, len) in lengths.iter().enumerate() {
        while used < *len && all.ends.len() < n {
            let part = (len - used).min(room);
            all.pieces.push(Piece { row: row as u32, start: used as u32, len: part as u32 });
            (used, room) = (used + part, room - part);
            if room == 0 {
                all.ends.push(all.pieces.len());
                room = length;
            }
        }
        used = 0;
    }
    if all.ends.len() < n {
        all.ends.push(all.pieces.len());
    }
    all
}

/// Each record into the first sequence that has room.
pub(super) struct First {
    group: Group,
    /// What a record is measured by: one or several fields, all of which must fit.
    bounds: Vec<Bound>,
    bins: usize,
    /// Elements in each of the sequences that are open: as many numbers for each as there are bounds.
    filled: Vec<usize>,
    /// Which of them each record of the group is in; none that has no elements.
    places: Vec<u32>,
    pool: Pool,
    passed: usize,
    done: bool,
}

/// The place of a record that is in no sequence.
const NOWHERE: u32 = u32::MAX;

impl First {
    pub(super) fn new(
        call: &OperatorCall<'_>,
        bounds: Vec<Bound>,
        bins: usize,
    ) -> Result<Self, Failure> {
        if !matches!(call.state, None | Some([])) {
            return Err(unfit("pack"));
        }
        let (group, pool) = (Group::new(call), call.pool.clone());
        let (filled, places) = (Vec::new(), Vec::new());
        Ok(Self { group, bounds, bins, filled, places, pool, passed: 0, done: false })
    }

    fn emit(&mut self, out: &mut Vec<Chunk>) {
        let places = std::mem::take(&mut self.places);
        let any = !std::mem::take(&mut self.filled).is_empty();
        let Some(mut whole) = self.group.finish().filter(|_| any) else { return };
        whole.columns.push(numbers(&self.pool, whole.rows, |it| u64::from(places[it])));
        out.push(whole);
    }

    /// Takes records in.
    fn add(&mut self, chunk: &Chunk, rows: Range<usize>) {
        let n = rows.len();
        self.group.add(chunk, rows, n);
    }

    /// The first sequence that a record of these lengths fits in, if there is one; where none is given, it has no
    /// elements.
    fn place(&self, lengths: &[usize]) -> Option<u32> {
        if lengths.iter().all(|it| *it == 0) {
            return Some(NOWHERE);
        }
        let fits = |filled: &[usize]| {
            let mut all = filled.iter().zip(lengths).zip(&self.bounds);
            all.all(|((filled, len), bound)| filled + len <= bound.length)
        };
        let found = self.filled.chunks_exact(self.bounds.len()).position(fits);
        found.map(|it| it as u32)
    }

    /// Opens a sequence.
    fn open(&mut self) -> u32 {
        let n = self.bounds.len();
        self.filled.resize(self.filled.len() + n, 0);
        (self.filled.len() / n) as u32 - 1
    }
}

impl Operator for First {
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
            self.emit(out);
            return Ok(());
        };
        let n = self.bounds.len();
        let columns: Vec<Vec<usize>> =
            self.bounds.iter().map(|it| chunk.columns[it.column].lengths().collect()).collect();
        let (mut from, mut lengths) = (0, vec![0; n]);
        for row in 0..chunk.rows {
            lengths.iter_mut().zip(&columns).for_each(|(to, all)| *to = all[row]);
            check_fits(&lengths, &self.bounds)?;
            let place = self.place(&lengths).unwrap_or_else(|| {
                if self.filled.len() / n == self.bins {
                    self.add(&chunk, from..row);
                    self.emit(out);
                    from = row;
                }
                self.open()
            });
            self.places.push(place);
            if place != NOWHERE {
                let filled = &mut self.filled[place as usize * n..][..n];
                filled.iter_mut().zip(&lengths).for_each(|(to, len)| *to += len);
            }
        }
        self.add(&chunk, from..chunk.rows);
        self.passed = out.len();
        check_held(self.group.bytes(), self.group.share(), "the sequences of `pack`")
    }

    fn holds(&self) -> u64 {
        self.bins as u64
    }

    fn mark(&self) -> Option<Mark> {
        let ahead = vec![self.group.rows() as u64];
        Some(Mark { chunks: self.passed, state: Vec::new(), ahead }).filter(|_| !self.done)
    }
}

/// Fails where a record is too long for a sequence.
fn check_fits(lengths: &[usize], bounds: &[Bound]) -> Result<(), Failure> {
    let mut all = lengths.iter().zip(bounds);
    let Some((len, Bound { name, length, .. })) = all.find(|(len, it)| **len > it.length) else {
        return Ok(());
    };
    let (what, cuts) = match bounds {
        [_] => (String::new(), ", and `fit: best` cuts them"),
        _ => (format!(" of `{name}`"), ""),
    };
    Err(failure(format!(
        "a record has {len} elements{what}, but a sequence of `pack` has {length}: `where len({name}) <= {length}` \
         drops such records{cuts}"
    )))
}

/// The sequences that records were put into.
pub(super) fn first(chunk: &Chunk, lengths: &[Vec<usize>]) -> Sequences {
    let places = told(chunk);
    let is_some = |it: &u64| *it != u64::from(NOWHERE);
    let n = places.iter().copied().filter(is_some).max().map_or(0, |it| it as usize + 1);
    let mut of = vec![Vec::new(); n];
    for (row, (place, len)) in places.iter().zip(&lengths[0]).enumerate() {
        if is_some(place) {
            of[*place as usize].push(Piece { row: row as u32, start: 0, len: *len as u32 });
        }
    }
    flat(of)
}

fn flat(of: Vec<Vec<Piece>>) -> Sequences {
    let mut all = Sequences::default();
    for pieces in of {
        all.pieces.extend(pieces);
        all.ends.push(all.pieces.len());
    }
    all
}

/// Best-fit decreasing: the longest piece first, into the sequence with the least room for it; of records that are longer
/// than a sequence the rest behind full ones (Ding et al., "Fewer Truncations Improve Language Modeling", ICML 2024).
/// Sequences come in the order of their earliest records.
pub(super) fn best(lengths: &[usize], length: usize) -> Sequences {
    let mut of: Vec<Vec<Piece>> = Vec::new();
    let mut pieces = Vec::with_capacity(lengths.len());
    for (row, len) in lengths.iter().enumerate() {
        let mut start = 0;
        while len - start > 0 {
            let part = (len - start).min(length);
            let piece = Piece { row: row as u32, start: start as u32, len: part as u32 };
            if part == length {
                of.push(vec![piece]);
            } else {
                pieces.push(piece);
            }
            start += part;
        }
    }
    // Of equal ones, the earlier first: the sort is stable.
    pieces.sort_by_key(|it| std::cmp::Reverse(it.len));
    // Sequences with room: how much, and which.
    let mut rooms: BTreeSet<(usize, usize)> = BTreeSet::new();
    for piece in pieces {
        let len = piece.len as usize;
        let found = rooms.range((len, 0)..).next().copied();
        let (room, place) = found.unwrap_or_else(|| {
            of.push(Vec::new());
            (length, of.len() - 1)
        });
        rooms.remove(&(room, place));
        of[place].push(piece);
        if room > len {
            rooms.insert((room - len, place));
        }
    }
    for sequence in &mut of {
        sequence.sort_by_key(|it| (it.row, it.start));
    }
    of.sort_by_key(|it| it.first().map(|it| (it.row, it.start)));
    flat(of)
}

/// The same of several fields, whose records are not cut: how large a record is and how full a sequence, says the field
/// that takes the largest share of its length. The largest record first, into the fullest sequence in which all
/// of it fits.
pub(super) fn best_of_several(
    lengths: &[Vec<usize>],
    bounds: &[Bound],
) -> Result<Sequences, Failure> {
    let mut records: Vec<(Share, usize, Vec<usize>)> = Vec::new();
    for row in 0..lengths[0].len() {
        let own: Vec<usize> = lengths.iter().map(|it| it[row]).collect();
        check_fits(&own, bounds)?;
        if own.iter().any(|it| *it > 0) {
            records.push((Share::largest(&own, bounds), row, own));
        }
    }
    // Of equal ones, the earlier first: the sort is stable.
    records.sort_by_key(|it| std::cmp::Reverse(it.0));
    let mut of: Vec<Vec<Piece>> = Vec::new();
    let mut filled: Vec<Vec<usize>> = Vec::new();
    // Of sequences that are equally full, the one that was opened first.
    let mut fullest: BTreeSet<(std::cmp::Reverse<Share>, usize)> = BTreeSet::new();
    for (_, row, own) in records {
        let fits = |(_, place): &&(_, usize)| {
            let mut all = filled[*place].iter().zip(&own).zip(bounds);
            all.all(|((filled, len), bound)| filled + len <= bound.length)
        };
        let found = fullest.iter().find(fits).copied();
        let place = match found {
            Some(it) => {
                fullest.remove(&it);
                it.1
            }
            None => {
                of.push(Vec::new());
                filled.push(vec![0; bounds.len()]);
                of.len() - 1
            }
        };
        of[place].push(Piece { row: row as u32, start: 0, len: own[0] as u32 });
        filled[place].iter_mut().zip(&own).for_each(|(to, len)| *to += len);
        fullest.insert((std::cmp::Reverse(Share::largest(&filled[place], bounds)), place));
    }
    of.iter_mut().for_each(|it| it.sort_by_key(|it| it.row));
    of.sort_by_key(|it| it[0].row);
    Ok(flat(of))
}

/// A part of a length, from 0 to 1. Lengths have at most 24 bits, so that different ones differ as floats too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Share(u64);

impl Share {
    /// The largest of these of their lengths.
    fn largest(lengths: &[usize], bounds: &[Bound]) -> Self {
        let share = |(len, bound): (&usize, &Bound)| *len as f64 / bound.length as f64;
        // The bits of floats that are not negative are in order.
        let largest = lengths.iter().zip(bounds).map(share).fold(0.0, f64::max);
        Self(largest.to_bits())
    }
}
