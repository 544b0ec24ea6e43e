//! Rows of a group as one record, or those of several as records: a view where they lie right, else
//! a copy, padded.

use super::super::{
    group::{HELD_BYTES_MAX, check_held, failure},
    order::lineage,
    scalars::floats,
};
use super::buckets::kind;
use super::terms::{Lane, Part, Tail, Terms};
use plan::{DType, Extent, Field, Type, shown_bytes};
use runtime::{
    Builder, Chunk, Column, Failure, Filling, MAX_RANK, OperatorCall, Pool, ROWS_END_TO_END_MAX,
    Shape, TEXTS_BYTES_MAX, Tensor, Texts, far,
};
use std::sync::Arc;

/// Makes the batch of a group, or the batches of several.
pub(super) struct Collate {
    /// For each field of the batch, what it is made of; `valid` is made of nothing.
    lanes: Vec<(Field, Option<Origin>)>,
    /// Rows of a full batch.
    size: Option<usize>,
    /// What differs from bucket to bucket.
    buckets: Option<Each>,
    /// Whether every batch is filled up to `size`.
    is_filled: bool,
    home: Home,
}

/// What is said of each bucket, and how to tell which one rows are of.
struct Each {
    by: usize,
    bounds: Vec<f64>,
    /// Rows of a full batch, and the extent that rows are padded to, if not to the longest.
    of: Vec<(Option<usize>, Option<usize>)>,
}

impl Each {
    fn new(terms: &Terms, by: Option<usize>) -> Option<Self> {
        let of = (0..terms.kinds()).map(|it| (terms.size_of(it), terms.bound(it)));
        let of = if terms.bounds.is_empty() { Vec::new() } else { of.collect() };
        let differs = of.iter().any(|it| *it != (terms.size, None));
        Some(Self { by: by?, bounds: terms.bounds.clone(), of }).filter(|_| differs)
    }

    /// Of the bucket that all rows of `chunk` are of.
    fn find(&self, chunk: &Chunk) -> (Option<usize>, Option<usize>) {
        let mut lengths = Vec::new();
        floats(&chunk.columns[self.by].cut(0..1), &mut lengths);
        self.of[kind(&self.bounds, lengths[0])]
    }
}

/// What a field of a batch is made of.
struct Origin {
    column: usize,
    lane: Lane,
    part: Part,
}

/// Rows of a batch: those that are there, and those that it has in the end.
#[derive(Clone, Copy)]
struct Rows {
    found: usize,
    made: usize,
    /// The extent that they are padded to along axes of unknown extent, if not to the longest.
    bound: Option<usize>,
}

/// Where batches are made, how large they may be, and where it is said how much of them is padding.
struct Home {
    pool: Pool,
    share: u64,
    filling: Arc<Filling>,
}

impl Collate {
    /// For the batches of a call.
    pub(super) fn new(terms: &Terms, by: Option<usize>, call: &OperatorCall<'_>) -> Self {
        let origin = |field: &Field| {
            let part = |it: &Lane| {
                it.batched(&Extent::Unknown).find(|it| it.1.name == field.name).map(|it| it.0)
            };
            let (lane, part) = terms.lanes.iter().find_map(|it| Some((it, part(it)?)))?;
            let column = call.inputs[0].iter().position(|it| it.name == lane.field.name)?;
            Some(Origin { column, lane: lane.clone(), part })
        };
        Self {
            lanes: call.columns.iter().map(|it| (it.clone(), origin(it))).collect(),
            size: terms.size,
            buckets: Each::new(terms, by),
            is_filled: terms.tail == Tail::Mask,
            home: Home {
                pool: call.pool.clone(),
                share: call.memory,
                filling: call.filling.clone(),
            },
        }
    }

    /// The batch of the rows of `chunk`, or the full ones of more rows than one has; hidden columns
    /// stay behind.
    pub(super) fn batch(&self, chunk: &Chunk) -> Result<Chunk, Failure> {
        let (size, bound) = match &self.buckets {
            Some(it) => it.find(chunk),
            None => (self.size, None),
        };
        let found = chunk.rows.min(size.unwrap_or(usize::MAX));
        let made = size.filter(|_| self.is_filled).unwrap_or(found);
        let rows = Rows { found, made, bound };
        let mut columns = Vec::with_capacity(self.lanes.len());
        for (field, origin) in &self.lanes {
            columns.push(match origin {
                Some(it) => it.collated(&chunk.columns[it.column], rows, &field.ty, &self.home)?,
                None => self.valid(chunk.rows / found, rows),
            });
        }
        let n_batches = chunk.rows / found;
        let mut ids = Builder::new(&Type::scalar(DType::U64), n_batches, &self.home.pool);
        chunk.ids().chunks_exact(found).for_each(|it| ids.push_scalar(lineage(it)));
        Ok(Chunk { rows: n_batches, epoch: chunk.epoch, ids: ids.finish(), columns })
    }

    fn valid(&self, n_batches: usize, Rows { found, made, .. }: Rows) -> Column {
        let ty = Type::tensor(DType::Bool, &[made as u64]);
        let mut valid = Builder::new(&ty, n_batches, &self.home.pool);
        for _ in 0..n_batches {
            let room = valid.room(Shape::new(&[made]));
            room[..found].fill(1);
            room[found..].fill(0);
        }
        valid.finish()
    }
}

impl Origin {
    fn collated(
        &self,
        column: &Column,
        rows: Rows,
        ty: &Type,
        home: &Home,
    ) -> Result<Column, Failure> {
        match self.part {
            Part::Rows => self.lane.collated(column, rows, ty, home),
            Part::Values => self.lane.end_to_end(column, rows, home),
            Part::Offsets => Ok(offsets(column, rows, ty, home)),
        }
    }
}

/// Where each of every `found` rows begins, once they lie end to end; those that fill a batch up have no elements.
fn offsets(column: &Column, Rows { found, made, .. }: Rows, ty: &Type, home: &Home) -> Column {
    let mut out = Builder::new(ty, column.rows() / found, &home.pool);
    for first in (0..column.rows()).step_by(found) {
        out.push_offsets(&column.cut(first..first + found), made);
    }
    out.finish()
}

impl Lane {
    /// Every `found` rows of the column end to end as one row.
    fn end_to_end(
        &self,
        column: &Column,
        Rows { found, .. }: Rows,
        home: &Home,
    ) -> Result<Column, Failure> {
        let what = format!("`{}` in one batch", self.field.name);
        for first in (0..column.rows()).step_by(found) {
            let rows = column.cut(first..first + found);
            check_held(rows.bytes(), home.share, &what)?;
            if rows.lengths().sum::<usize>() > ROWS_END_TO_END_MAX {
                return Err(failure(format!(
                    "{what} has more than {ROWS_END_TO_END_MAX} elements along its first axis: make the batch smaller"
                )));
            }
        }
        Ok(column.end_to_end(found))
    }

    /// Every `found` rows of the column as one row of `made` rows.
    fn collated(
        &self,
        column: &Column,
        rows: Rows,
        ty: &Type,
        home: &Home,
    ) -> Result<Column, Failure> {
        if self.is_text() {
            return self.texts(column, rows, ty, home);
        }
        let Rows { found, made, bound } = rows;
        let bound = bound.filter(|_| self.pad.is_some());
        let as_it_is = made == found && bound.is_none() && self.multiples.is_empty();
        let filled = column.bytes() / column.dtype().size();
        if let Some(whole) = column.in_rows_of(found).filter(|_| as_it_is) {
            self.tell(filled, filled, home);
            return Ok(whole);
        }
        let row = self.row_extents(column, bound)?;
        let bytes = row.elements().saturating_mul(made).saturating_mul(column.dtype().size());
        check_held(bytes, home.share, &format!("`{}` in one batch", self.field.name))?;
        debug_assert!(bytes <= HELD_BYTES_MAX);
        self.tell(filled, column.rows() / found * made * row.elements(), home);

        let extents: Vec<usize> = [made].into_iter().chain(row.iter().copied()).collect();
        let mut out = Builder::new(ty, column.rows() / found, &home.pool);
        for first in (0..column.rows()).step_by(found) {
            let room = out.room(Shape::new(&extents));
            let rows = column.cut(first..first + found);
            if !fill_all(&rows, &row, made, room) && !self.fill_lists(&rows, &row, room) {
                self.fill(room);
                fill_each(&rows, &row, room);
            }
        }
        Ok(out.finish())
    }

    /// Says how much of a field that is padded is padding.
    fn tell(&self, filled: usize, all: usize, home: &Home) {
        if self.pad.is_some() && self.field.ty.fixed().is_none() {
            home.filling.add(filled, all);
        }
    }

    /// The texts of every `found` rows as one row; those that fill a batch up are empty.
    fn texts(
        &self,
        column: &Column,
        Rows { found, made, .. }: Rows,
        ty: &Type,
        home: &Home,
    ) -> Result<Column, Failure> {
        let what = format!("`{}` in one batch", self.field.name);
        let mut out = Builder::new(ty, column.rows() / found, &home.pool);
        for first in (0..column.rows()).step_by(found) {
            let texts = column.cut(first..first + found);
            let bytes = Texts::packed_bytes(made, texts.bytes());
            check_held(bytes, home.share, &what)?;
            if bytes > TEXTS_BYTES_MAX {
                let most = shown_bytes(TEXTS_BYTES_MAX as u64);
                return Err(failure(format!(
                    "{what} takes more than {most}, the limit for the strings of a batch: make the \
                     batch smaller"
                )));
            }
            out.expect(bytes);
            out.push_texts(&texts, made);
        }
        Ok(out.finish())
    }

    /// The extents that every row will have.
    fn row_extents(&self, column: &Column, bound: Option<usize>) -> Result<Shape, Failure> {
        let mut extents = match column.shape() {
            Some(shape) => *shape,
            None => self.extents_of_all(column)?,
        }
        .to_vec();
        for (axis, extent) in extents.iter_mut().enumerate() {
            let Some(bound) = bound.filter(|_| self.is_open(axis)) else { continue };
            if *extent > bound {
                let name = &self.field.name;
                return Err(failure(format!(
                    "`{name}` has {extent} elements along axis {axis} in one record, but its batch is padded to {bound}, the bound of \
                     its bucket: `by` must be at least as long as each field in `pad`"
                )));
            }
            *extent = bound;
        }
        for (extent, multiple) in extents.iter_mut().zip(&self.multiples) {
            *extent = extent.next_multiple_of(*multiple);
        }
        Ok(Shape::new(&extents))
    }

    fn extents_of_all(&self, column: &Column) -> Result<Shape, Failure> {
        if let Some(lists) = column.ragged().filter(|it| it.rank == 1 && self.pad.is_some()) {
            let most = lists.shapes.iter().max().map_or(0, |it| *it as usize);
            return Ok(Shape::new(&[most]));
        }
        let mut most = column.row(0).shape().to_vec();
        for row in 1..column.rows() {
            let row = column.row(row);
            if self.pad.is_none() && row.shape() != most {
                let (name, a, b) = (&self.field.name, &most, row.shape());
                let ragged = match a.get(1..) == b.get(1..) {
                    true => format!(", keep the lengths with `ragged: [{name}]`,"),
                    false => ",".to_owned(),
                };
                return Err(failure(format!(
                    "`{name}` has the extents {a:?} in one record of a batch and {b:?} in \
                     another: pad it with `pad: {{ {name}: 0 }}`{ragged} or make all the same \
                     size before"
                )));
            }
            for (most, extent) in most.iter_mut().zip(row.shape()) {
                *most = (*most).max(*extent);
            }
        }
        Ok(Shape::new(&most))
    }

    /// Writes lists row after row, and fills up each; says whether they are such.
    fn fill_lists(&self, column: &Column, row: &Shape, room: &mut [u8]) -> bool {
        let Some(lists) = column.lists().filter(|_| row.len() == 1) else { return false };
        let each = row.elements() * column.dtype().size();
        let mut rest = room;
        for list in lists {
            let (place, others) = rest.split_at_mut(each);
            let (filled, empty) = place.split_at_mut(list.len());
            filled.copy_from_slice(list);
            self.fill(empty);
            rest = others;
        }
        self.fill(rest);
        true
    }

    fn fill(&self, room: &mut [u8]) {
        match &self.pad {
            Some(pad) if pad.iter().any(|it| *it != 0) => far::fill(room, pad, false),
            _ => room.fill(0),
        }
    }
}

/// Writes rows that fill `room` without a gap, at once; says whether they are such.
fn fill_all(column: &Column, row: &Shape, rows: usize, room: &mut [u8]) -> bool {
    let stacked = column.stacked().filter(|it| it.shape()[1..] == row[..] && rows == column.rows());
    match stacked.and_then(|it| it.as_bytes()) {
        Some(bytes) => room.copy_from_slice(bytes),
        None => return false,
    }
    true
}

/// Writes row after row at the beginning of its place, whose extents are `row`.
fn fill_each(column: &Column, row: &Shape, room: &mut [u8]) {
    let each = row.elements() * column.dtype().size();
    for (i, place) in room.chunks_exact_mut(each.max(1)).take(column.rows()).enumerate() {
        place_row(&column.row(i), row, place);
    }
}

/// Writes `tensor` into the corner of `place`, whose extents are `row` and not less.
fn place_row(tensor: &Tensor<'_>, row: &Shape, place: &mut [u8]) {
    let (shape, size) = (tensor.shape(), tensor.dtype().size());
    let bytes = tensor.as_bytes().expect("rows of a column have no gaps");
    // Axes behind the last one that differs move together.
    let outer = (0..row.len()).rev().find(|it| shape[*it] != row[*it]).unwrap_or(0);
    let run = shape[outer.min(shape.len())..].iter().product::<usize>() * size;
    if run == 0 || bytes.is_empty() {
        return;
    }
    let strides = row.strides(size);
    let mut at = [0; MAX_RANK];
    for run in bytes.chunks_exact(run) {
        let to: usize = (0..outer).map(|it| at[it] * strides[it] as usize).sum();
        place[to..to + run.len()].copy_from_slice(run);
        for axis in (0..outer).rev() {
            at[axis] += 1;
            if at[axis] < shape[axis] {
                break;
            }
            at[axis] = 0;
        }
    }
}
