//! Which records go into which sequence.

use super::fill::{Piece, Sequences};
use crate::operators::group::{Group, check_held, failure, unfit};
use crate::prelude::*;
use runtime::{Builder, Column, Mark, Operator, OperatorCall, Pool, Wants};
use std::{collections::BTreeSet, ops::Range};

/// Sequences that leave as one chunk, at the most.
const AT_ONCE: usize = 1 << 20;

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
        (of, length): (usize, usize),
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
    of: usize,
    length: usize,
    bins: usize,
    /// Elements in each of the sequences that are open.
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
        (of, length): (usize, usize),
        bins: usize,
    ) -> Result<Self, Failure> {
        if !matches!(call.state, None | Some([])) {
            return Err(unfit("pack"));
        }
        let (group, pool) = (Group::new(call), call.pool.clone());
        let (filled, places) = (Vec::new(), Vec::new());
        Ok(Self { group, of, length, bins, filled, places, pool, passed: 0, done: false })
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
        let mut from = 0;
        let length = self.length;
        for (row, len) in chunk.columns[self.of].lengths().enumerate() {
            if len > length {
                return Err(failure(format!(
                    "a record has {len} elements, but a sequence of `pack` has {length}: `where len(…) <= {length}` drops such \
                     records, and `fit: best` cuts them"
                )));
            }
            let fits = |filled: &usize| filled + len <= length;
            let place = match self.filled.iter().position(fits) {
                _ if len == 0 => NOWHERE,
                Some(place) => place as u32,
                None => {
                    if self.filled.len() == self.bins {
                        self.add(&chunk, from..row);
                        self.emit(out);
                        from = row;
                    }
                    self.filled.push(0);
                    self.filled.len() as u32 - 1
                }
            };
            self.places.push(place);
            if place != NOWHERE {
                self.filled[place as usize] += len;
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

/// The sequences that records were put into.
pub(super) fn first(chunk: &Chunk, lengths: &[usize]) -> Sequences {
    let places = told(chunk);
    let is_some = |it: &u64| *it != u64::from(NOWHERE);
    let n = places.iter().copied().filter(is_some).max().map_or(0, |it| it as usize + 1);
    let mut of = vec![Vec::new(); n];
    for (row, (place, len)) in places.iter().zip(lengths).enumerate() {
        if is_some(place) {
            let piece = Piece { row: row as u32, start: 0, len: *len as u32 };
            of[*place as usize].push(piece);
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
