//! Sequences are filled: what need not be done in order.

use super::{Part, Terms, fits::Bound};
use crate::operators::{group::failure, order::lineage};
use crate::prelude::*;
use plan::mix;
use runtime::{Builder, ChunkBuilder, Column, Filling, OperatorCall, Pool};

/// A part of a record in a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    /// The record, as a row of the chunk.
    pub(super) row: u32,
    /// Where the part begins in it.
    pub(super) start: u32,
    pub(super) len: u32,
}

/// The pieces of sequences, one after the other.
#[derive(Debug, Default)]
pub(super) struct Sequences {
    pub(super) pieces: Vec<Piece>,
    /// Where those of each sequence end.
    pub(super) ends: Vec<usize>,
}

impl Sequences {
    /// Those of each sequence.
    pub(super) fn each(&self) -> impl Iterator<Item = &[Piece]> {
        let begins = [0].into_iter().chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, end)| &self.pieces[begin..*end])
    }

    /// The same records, of which another field has these lengths. None of them is cut.
    fn of(&self, lengths: &[usize]) -> Self {
        let piece = |it: &Piece| Piece { len: lengths[it.row as usize] as u32, ..*it };
        Self { pieces: self.pieces.iter().map(piece).collect(), ends: self.ends.clone() }
    }
}

/// Makes the chunks that leave.
pub(super) struct Fill {
    fields: Vec<Field>,
    /// What is packed together.
    shares: Vec<Share>,
    /// What each field of a sequence is: those that nobody needs are not made.
    makes: Vec<Make>,
    pool: Pool,
}

/// What a field of a sequence is, by the number of its share.
#[derive(Clone, Copy)]
enum Make {
    /// Elements of this lane of it.
    Lane(usize, usize),
    Segment(usize),
    Position(usize),
}

/// Fields of one length in a sequence.
struct Share {
    length: usize,
    /// The field first that says how long a record is.
    lanes: Vec<Lane>,
    segment: String,
    position: String,
}

/// A field that is packed: its column, the bytes of an element, and what fills up.
struct Lane {
    name: String,
    column: usize,
    each: usize,
    pad: Vec<u8>,
}

impl Share {
    fn new(part: &Part, fields: &[Field]) -> Option<Self> {
        let lane = |(field, pad): &(Field, Vec<u8>)| {
            let column = fields.iter().position(|it| it.name == field.name);
            let others = field.ty.shape().into_iter().flat_map(|it| &it[1..]);
            let known =
                |it: &Extent| if let Extent::Known(n) = it { Some(*n as usize) } else { None };
            let others: Option<usize> = others.map(known).product();
            let each = others? * field.ty.dtype()?.size();
            Some(Lane { name: field.name.clone(), column: column?, each, pad: pad.clone() })
        };
        let lanes = part.packed.iter().map(lane).collect::<Option<_>>()?;
        let (segment, position) = (part.segment.clone(), part.position.clone());
        Some(Self { length: part.length, lanes, segment, position })
    }

    /// What it makes that is called so; `share` is its number.
    fn make(&self, share: usize, name: &str) -> Option<Make> {
        match name {
            _ if name == self.segment => Some(Make::Segment(share)),
            _ if name == self.position => Some(Make::Position(share)),
            _ => self.lanes.iter().position(|it| it.name == name).map(|it| Make::Lane(share, it)),
        }
    }

    /// How long each record is.
    ///
    /// # Errors
    /// A field that is packed along is of another length.
    fn lengths(&self, chunk: &Chunk) -> Result<Vec<usize>, Failure> {
        let all: Vec<usize> = chunk.columns[self.lanes[0].column].lengths().collect();
        for other in &self.lanes[1..] {
            let found = chunk.columns[other.column].lengths();
            if let Some((a, b)) = all.iter().copied().zip(found).find(|(a, b)| a != b) {
                return Err(failure(format!(
                    "a record has {a} elements of `{}` and {b} of `{}`, but what is packed along must be as long",
                    self.lanes[0].name, other.name
                )));
            }
        }
        Ok(all)
    }
}

impl Fill {
    pub(super) fn new(terms: &Terms, call: &OperatorCall<'_>) -> Result<Self, Failure> {
        let shares = terms.parts.iter().map(|it| Share::new(it, &call.inputs[0]));
        let shares = shares.collect::<Option<Vec<_>>>();
        let shares =
            shares.ok_or_else(|| Failure::Program("what `pack` packs is not there".into()))?;
        let make = |field: &Field| {
            let mut numbered = shares.iter().enumerate();
            numbered.find_map(|(number, share)| share.make(number, &field.name))
        };
        let makes = call.columns.iter().map(make).collect::<Option<Vec<_>>>();
        let makes = makes.ok_or_else(|| Failure::Program("`pack` makes no such field".into()))?;
        let (fields, pool) = (call.columns.to_vec(), call.pool.clone());
        Ok(Self { fields, shares, makes, pool })
    }

    /// What says how long a record is, and how long it may be: for each field of `of`.
    pub(super) fn bounds(&self) -> Vec<Bound> {
        let bound = |it: &Share| Bound {
            name: it.lanes[0].name.clone(),
            column: it.lanes[0].column,
            length: it.length,
        };
        self.shares.iter().map(bound).collect()
    }

    /// How long each record is, for each field of `of`.
    ///
    /// # Errors
    /// A field that is packed along is of another length.
    pub(super) fn lengths(&self, chunk: &Chunk) -> Result<Vec<Vec<usize>>, Failure> {
        self.shares.iter().map(|it| it.lengths(chunk)).collect()
    }

    /// The records that leave.
    pub(super) fn sequences(
        &self,
        chunk: &Chunk,
        all: &Sequences,
        lengths: &[Vec<usize>],
        filling: &Filling,
    ) -> Result<Chunk, Failure> {
        let rows = all.ends.len();
        let mut out = ChunkBuilder::new(&self.fields, rows, chunk.epoch, &self.pool);
        for pieces in all.each() {
            out.ids.push_scalar(id(chunk.ids(), pieces));
        }
        // Of several fields, each has all of a record.
        let others = lengths.iter().skip(1).map(|it| all.of(it));
        let others: Vec<Sequences> = others.collect();
        let of = |share: usize| if share == 0 { all } else { &others[share - 1] };
        for (number, share) in self.shares.iter().enumerate() {
            let filled = of(number).pieces.iter().map(|it| it.len as usize).sum();
            filling.add(filled, rows * share.length);
        }
        let builders = std::mem::take(&mut out.columns);
        let mut columns = Vec::with_capacity(builders.len());
        for (make, mut to) in self.makes.iter().zip(builders) {
            match *make {
                Make::Lane(share, lane) => {
                    let (length, lane) =
                        (self.shares[share].length, &self.shares[share].lanes[lane]);
                    lane.fill(&mut to, length, &chunk.columns[lane.column], of(share));
                }
                Make::Segment(it) => count(&mut to, self.shares[it].length, of(it), true),
                Make::Position(it) => count(&mut to, self.shares[it].length, of(it), false),
            }
            columns.push(to.finish());
        }
        Ok(Chunk { columns, ..out.finish() })
    }
}

impl Lane {
    /// Writes the elements of each sequence.
    fn fill(&self, to: &mut Builder, length: usize, from: &Column, all: &Sequences) {
        let row_bytes = length * self.each;
        let room = to.fixed_rows(all.ends.len());
        let mut last = None;
        for (room, pieces) in room.chunks_exact_mut(row_bytes.max(1)).zip(all.each()) {
            let mut at = 0;
            for piece in pieces {
                // A long record is in several sequences.
                let (_, value) = match last.take() {
                    Some((row, value)) if row == piece.row => last.insert((row, value)),
                    _ => last.insert((piece.row, from.row(piece.row as usize))),
                };
                let (begin, len) =
                    (piece.start as usize * self.each, piece.len as usize * self.each);
                let bytes = value.packed();
                room[at..at + len].copy_from_slice(&bytes[begin..begin + len]);
                at += len;
            }
            let rest = room[at..].chunks_exact_mut(self.pad.len());
            rest.for_each(|it| it.copy_from_slice(&self.pad));
        }
    }
}

/// The numbers of the segments, or of the elements in each.
fn count(to: &mut Builder, length: usize, all: &Sequences, is_segment: bool) {
    let room = to.fixed_rows(all.ends.len());
    let words = room.as_chunks_mut::<4>().0;
    for (room, pieces) in words.chunks_exact_mut(length).zip(all.each()) {
        let mut at = 0;
        for (segment, piece) in (1_i32..).zip(pieces) {
            let room = &mut room[at..at + piece.len as usize];
            match is_segment {
                true => room.fill(segment.to_ne_bytes()),
                false => {
                    (0_i32..).zip(&mut *room).for_each(|(it, to)| *to = it.to_ne_bytes());
                }
            }
            at += piece.len as usize;
        }
        room[at..].fill([0; 4]);
    }
}

/// What names a sequence: the records in it, and where it begins in the first one.
fn id(ids: &[u64], pieces: &[Piece]) -> u64 {
    let all: Vec<u64> = pieces.iter().map(|it| ids[it.row as usize]).collect();
    match pieces.first().map_or(0, |it| it.start) {
        0 => lineage(&all),
        start => mix(lineage(&all), u64::from(start)),
    }
}
