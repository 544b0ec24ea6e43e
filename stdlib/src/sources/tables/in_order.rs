//! Rows as they lie in their files.

use super::{
    Inner, Part,
    append::up_to_end,
    pieces::{Piece, Pieces, RowSet},
};
use crate::tables::{Rows, Walk, Walked};
use runtime::{ChunkBuilder, Failure, Stream, Unread};
use std::{ops::Range, sync::Arc};

/// Some of the rows of a piece.
type Taken = (Arc<Piece>, Range<usize>);

/// The rows of one part, in order.
struct Reading {
    pieces: Pieces,
    piece: Option<Arc<Piece>>,
    /// Rows of the piece that were given.
    given: usize,
}

impl Reading {
    fn new(part: Part, row: u64) -> Self {
        let pieces = Pieces::new(part, RowSet::from(row..part.rows));
        Self { pieces, piece: None, given: 0 }
    }

    /// At most so many rows, which are not appended yet; none at the end.
    fn take(&mut self, inner: &Inner, rows: usize) -> Result<Option<Taken>, Failure> {
        if self.piece.as_ref().is_none_or(|it| it.rows.len() == self.given) {
            (self.piece, self.given) = (self.pieces.next(inner)?.map(Arc::new), 0);
        }
        let Some(piece) = &self.piece else { return Ok(None) };
        let start = self.given;
        self.given = piece.rows.len().min(start.saturating_add(rows));
        Ok(Some((piece.clone(), start..self.given)))
    }
}

/// The rows of one part from one of them on, in the way that is fastest.
pub(super) struct PartReader {
    part: Part,
    /// The row that comes next, or a later one where those between are not needed.
    row: u64,
    way: Option<Way>,
}

/// How the rows of a part are come to.
enum Way {
    /// They are found, and any thread reads them; only some are needed, perhaps.
    Found(Box<dyn Walk>, Option<Vec<Range<u64>>>),
    /// They are read one after the other.
    Read(Box<Reading>),
}

/// Rows of a part.
pub(super) struct Found {
    inner: Arc<Inner>,
    part: Part,
    /// The first of them.
    pub(super) first: u64,
    rows: FoundRows,
}

enum FoundRows {
    /// Where they lie.
    Lying(Box<dyn Rows>),
    /// What was read.
    Read(Arc<Piece>, Range<usize>),
}

impl PartReader {
    pub(super) fn new(part: Part, row: u64) -> Self {
        Self { part, row, way: None }
    }

    /// The next rows that are needed, at most so many; none at the end.
    pub(super) fn next(
        &mut self,
        inner: &Arc<Inner>,
        rows: usize,
    ) -> Result<Option<Found>, Failure> {
        let Some(rows) = self.find(inner, rows)? else { return Ok(None) };
        let found = Found { inner: inner.clone(), part: self.part, first: self.row, rows };
        self.row += found.len() as u64;
        Ok(Some(found))
    }

    fn find(&mut self, inner: &Inner, rows: usize) -> Result<Option<FoundRows>, Failure> {
        let part = self.part;
        let way = match &mut self.way {
            Some(way) => way,
            none => none.insert(Way::of(inner, part, self.row)?),
        };
        match way {
            Way::Found(walk, needed) => {
                let mut end = part.rows;
                if let Some(needed) = needed {
                    // The first range that is not over, or the end.
                    let at = needed.partition_point(|it| it.end <= self.row);
                    let next = needed.get(at).cloned().unwrap_or(end..end);
                    (self.row, end) = (self.row.max(next.start), next.end);
                    walk.go_to(self.row);
                }
                let n = (end - self.row).min(rows as u64);
                if n == 0 {
                    return Ok(None);
                }
                if let Some(lying) = walk.take(n) {
                    return Ok(Some(FoundRows::Lying(lying)));
                }
                self.way = Some(Way::Read(Box::new(Reading::new(part, self.row))));
                self.find(inner, rows)
            }
            Way::Read(read) => {
                let taken = read.take(inner, rows)?;
                Ok(taken.map(|(piece, some)| FoundRows::Read(piece, some)))
            }
        }
    }
}

impl Way {
    fn of(inner: &Inner, part: Part, row: u64) -> Result<Self, Failure> {
        let (file, first, number) = (inner.file_of(part)?, inner.first()?, part.number as usize);
        let (wanted, conditions) = (&first.wanted, &first.conditions);
        let Some(walk) = file.walk(&Walked { part: number, wanted, conditions, row }) else {
            return Ok(Self::Read(Box::new(Reading::new(part, row))));
        };
        let needed = match conditions.is_empty() {
            true => None,
            false => file.needed(number, conditions),
        };
        Ok(Self::Found(walk, needed))
    }
}

/// The rows of all files, one after the other.
pub(super) struct InOrder {
    inner: Arc<Inner>,
    /// The part that is read, and its rows that were given.
    part: usize,
    row: u64,
    reader: Option<PartReader>,
}

impl InOrder {
    pub(super) fn new(inner: Arc<Inner>) -> Self {
        Self { inner, part: 0, row: 0, reader: None }
    }
}

impl Stream for InOrder {
    fn finds(&self) -> bool {
        true
    }

    fn find(&mut self, rows: usize) -> Result<Option<Box<dyn Unread>>, Failure> {
        let inner = self.inner.clone();
        let parts = inner.index()?;
        while let Some(part) = parts.get(self.part) {
            if part.is_needed {
                let reader = self.reader.get_or_insert_with(|| PartReader::new(*part, self.row));
                if let Some(found) = reader.next(&inner, rows)? {
                    self.row = reader.row;
                    return Ok(Some(Box::new(found)));
                }
            }
            (self.part, self.row, self.reader) = (self.part + 1, 0, None);
        }
        Ok(None)
    }

    fn place(&self) -> Option<Vec<u64>> {
        Some(vec![self.part as u64, self.row])
    }

    fn go_to(&mut self, place: &[u64]) -> Result<(), Failure> {
        let parts = self.inner.index()?;
        let [part, row] = place.try_into().map_err(|_| shorter())?;
        let most = parts.get(part as usize).map_or(0, |it| it.rows);
        if part > parts.len() as u64 || row > most {
            return Err(shorter());
        }
        (self.part, self.row, self.reader) = (part as usize, row, None);
        Ok(())
    }
}

impl Unread for Found {
    fn len(&self) -> usize {
        match &self.rows {
            FoundRows::Lying(lying) => (lying.rows().end - lying.rows().start) as usize,
            FoundRows::Read(_, some) => some.len(),
        }
    }

    fn bytes(&self) -> usize {
        match &self.rows {
            FoundRows::Lying(lying) => lying.bytes(),
            FoundRows::Read(piece, some) => piece.bytes_of(some.len()),
        }
    }

    fn read(&self, out: &mut ChunkBuilder) -> Result<(), Failure> {
        let (inner, part, before) = (&*self.inner, self.part, out.rows());
        match &self.rows {
            FoundRows::Lying(lying) => inner.append_lying(part, &**lying, out),
            FoundRows::Read(piece, some) => {
                up_to_end(inner.append(part, piece, some.clone(), out)?, before, out)
            }
        }
    }
}

/// Why a stream cannot go on where it was.
pub(super) fn shorter() -> Failure {
    Failure::State("a file of the source became shorter".to_owned())
}
