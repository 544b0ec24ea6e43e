//! Records in memory: chunks of columns.
//!
//! A column is a dtype and either fixed extents, with the rows next to each other, or extents
//! and an offset for each row (`semantics.md`, 2). Columns are shared and cut without a copy.

mod end_to_end;
mod scattered;
mod texts;

pub use end_to_end::ROWS_END_TO_END_MAX;
pub use scattered::Scatter;
pub use texts::{TEXTS_BYTES_MAX, Texts};

use crate::{Buffer, Counted, Element, Pool, Shape, Tensor};
use plan::DType;
use scattered::Places;
use std::{
    ops::Range,
    ptr::NonNull,
    slice,
    sync::{Arc, Weak},
};

/// One field of the records of a chunk; cheap to clone and to cut.
#[derive(Debug, Clone)]
pub struct Column {
    dtype: DType,
    rows: Range<usize>,
    extents: Extents,
    values: Arc<Buffer>,
}

#[derive(Debug, Clone)]
enum Extents {
    /// The same for each row.
    Fixed(Shape),
    /// `rank` extents for each row, and where it begins; one offset more than rows, in elements. Where there are
    /// `places`, the rows lie there, and offsets tell their lengths alone.
    Ragged {
        rank: usize,
        shapes: Arc<Counted<u32>>,
        offsets: Arc<Counted<u64>>,
        places: Option<Arc<Places>>,
    },
}

impl Column {
    /// A column of fixed extents over the first `rows` rows of `values`.
    pub fn fixed(dtype: DType, shape: Shape, rows: usize, values: Arc<Buffer>) -> Self {
        assert!(rows * shape.elements() * dtype.size() <= values.capacity(), "the rows are there");
        Self { dtype, rows: 0..rows, extents: Extents::Fixed(shape), values }
    }

    /// The type of its elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The extents of every row, where they are the same by type.
    pub fn shape(&self) -> Option<&Shape> {
        match &self.extents {
            Extents::Fixed(shape) => Some(shape),
            Extents::Ragged { .. } => None,
        }
    }

    /// The value of row `i`.
    pub fn row(&self, i: usize) -> Tensor<'_> {
        assert!(i < self.rows.len(), "row {i} of {}", self.rows.len());
        let (i, size) = (self.rows.start + i, self.dtype.size());
        // SAFETY: the buffer holds the row.
        let from_start = |first: usize| unsafe { self.values.as_ptr().add(first * size) };
        let (shape, data) = match &self.extents {
            Extents::Fixed(shape) => (*shape, from_start(i * shape.elements())),
            Extents::Ragged { rank, shapes, offsets, places } => {
                let mut extents = [0; crate::MAX_RANK];
                for (to, &from) in extents.iter_mut().zip(&shapes[i * rank..(i + 1) * rank]) {
                    *to = from as usize;
                }
                let data = match places {
                    None => from_start(offsets[i] as usize),
                    Some(places) => places.first_byte(i, size),
                };
                (Shape::new(&extents[..*rank]), data)
            }
        };
        // SAFETY: the row lies there, initialised; it was written before it was shared.
        unsafe { Tensor::from_raw(self.dtype, shape, data) }
    }

    /// All rows of fixed extents as one slice, row after row.
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        let Extents::Fixed(shape) = &self.extents else { return None };
        if T::DTYPE != self.dtype {
            return None;
        }
        let each = shape.elements();
        // SAFETY: the buffer holds the rows, initialised, aligned for their dtype.
        Some(unsafe {
            let first = self.values.as_ptr().cast::<T>().add(self.rows.start * each);
            slice::from_raw_parts(first.as_ptr(), self.rows.len() * each)
        })
    }

    /// All rows of fixed extents as one tensor with an axis more.
    pub fn stacked(&self) -> Option<Tensor<'_>> {
        let shape = self.stacked_shape(self.rows.len())?;
        // SAFETY: the rows lie next to each other, initialised.
        Some(unsafe {
            let first = self.rows.start * shape[1..].iter().product::<usize>() * self.dtype.size();
            Tensor::from_raw(self.dtype, shape, self.values.as_ptr().add(first))
        })
    }

    fn stacked_shape(&self, rows: usize) -> Option<Shape> {
        let shape = self.shape()?;
        let mut extents = [rows; crate::MAX_RANK];
        extents.get_mut(1..=shape.len())?.copy_from_slice(shape);
        Some(Shape::new(&extents[..=shape.len()]))
    }

    /// Where the rows lie and how long each is, where that differs from row to row and they lie end to end.
    pub fn ragged(&self) -> Option<Ragged<'_>> {
        let Extents::Ragged { rank, shapes, offsets, places: None } = &self.extents else {
            return None;
        };
        let Range { start, end } = self.rows;
        Some(Ragged {
            rank: *rank,
            shapes: &shapes[start * rank..end * rank],
            offsets: &offsets[start..=end],
            values: self.values.as_ptr(),
        })
    }

    /// These rows of it.
    #[must_use]
    pub fn cut(&self, rows: Range<usize>) -> Self {
        assert!(rows.start <= rows.end && rows.end <= self.rows.len(), "rows that it has");
        let start = self.rows.start;
        Self { rows: start + rows.start..start + rows.end, ..self.clone() }
    }

    /// Both one after the other without a copy, where they lie so in the same memory.
    pub fn joined(&self, next: &Self) -> Option<Self> {
        let fixed = self.shape().is_some() && self.shape() == next.shape();
        let adjacent = Arc::ptr_eq(&self.values, &next.values) && self.rows.end == next.rows.start;
        (fixed && adjacent).then(|| Self { rows: self.rows.start..next.rows.end, ..self.clone() })
    }

    /// Every `n` rows as one row of a column with an axis more: what `batch` makes of a chunk; none
    /// where they do not lie so.
    pub fn in_rows_of(&self, n: usize) -> Option<Self> {
        let shape = self.stacked_shape(n)?;
        let Range { start, end } = self.rows;
        let whole = n > 0 && start.is_multiple_of(n) && end.is_multiple_of(n);
        let extents = Extents::Fixed(shape);
        whole.then(|| Self { extents, rows: start / n..end / n, ..self.clone() })
    }

    /// The memory that its rows lie in, as long as somebody has it.
    pub(crate) fn memory(&self) -> Weak<Buffer> {
        Arc::downgrade(&self.values)
    }

    /// Bytes that its rows take.
    pub fn bytes(&self) -> usize {
        let elements = match &self.extents {
            Extents::Fixed(shape) => self.rows.len() * shape.elements(),
            Extents::Ragged { offsets, .. } => {
                (offsets[self.rows.end] - offsets[self.rows.start]) as usize
            }
        };
        elements * self.dtype.size()
    }
}

/// The rows of a column whose extents differ from row to row.
#[derive(Debug, Clone, Copy)]
pub struct Ragged<'a> {
    /// Axes of a row.
    pub rank: usize,
    /// `rank` extents for each row.
    pub shapes: &'a [u32],
    /// Where each row begins and the last one ends, in elements from `values`.
    pub offsets: &'a [u64],
    /// Where the elements of the column begin, those of rows that were cut off too.
    pub values: NonNull<u8>,
}

/// Records that travel together: a column for each field, the ids, the epoch.
#[derive(Debug, Clone)]
pub struct Chunk {
    /// How many records.
    pub rows: usize,
    /// The epoch that they belong to.
    pub epoch: u32,
    /// The id of each record (`semantics.md`, 5): u64.
    pub ids: Column,
    /// The fields, in the order of the stage's columns.
    pub columns: Vec<Column>,
}

impl Chunk {
    /// These records of it.
    #[must_use]
    pub fn cut(&self, rows: Range<usize>) -> Self {
        Self {
            rows: rows.len(),
            epoch: self.epoch,
            ids: self.ids.cut(rows.clone()),
            columns: self.columns.iter().map(|it| it.cut(rows.clone())).collect(),
        }
    }

    /// The ids of its records.
    pub fn ids(&self) -> &[u64] {
        self.ids.as_slice().expect("ids are u64")
    }

    /// Bytes that its records take.
    pub fn bytes(&self) -> usize {
        self.columns.iter().map(Column::bytes).sum::<usize>() + self.rows * 8
    }
}

/// Bytes that a column has room for before anything is written, at the most: it grows.
const ROOM_MAX: usize = 1 << 20;
/// The same where it is known what the last rows took: eight pictures of 2 MiB, with nothing copied that grows.
const EXPECTED_MAX: usize = 16 << 20;

/// Writes a column row by row, or copies rows of others.
#[derive(Debug)]
pub struct Builder {
    dtype: DType,
    fixed: Option<Shape>,
    rank: usize,
    rows: usize,
    shapes: Counted<u32>,
    offsets: Counted<u64>,
    bytes: usize,
    /// Bytes that are expected in all.
    expected: usize,
    buffer: Buffer,
    pool: Pool,
}

impl Builder {
    /// A column of the type `ty`, with room for about `rows` rows.
    pub fn new(ty: &plan::Type, rows: usize, pool: &Pool) -> Self {
        let dtype = ty.dtype().expect("columns hold tensors");
        let fixed = ty.fixed().map(|it| Shape::new(&it));
        // The length of a text is an axis, of which the type says nothing.
        let rank = usize::from(dtype.is_text()) + ty.shape().map_or(0, <[_]>::len);
        let bytes = ty.fixed_bytes().unwrap_or(64).saturating_mul(rows);
        let mut offsets = Counted::new();
        if fixed.is_none() {
            offsets.push(0);
        }
        let buffer = pool.buffer(bytes.min(ROOM_MAX));
        Self {
            dtype,
            fixed,
            rank,
            rows: 0,
            shapes: Counted::new(),
            offsets,
            bytes: 0,
            expected: bytes,
            buffer,
            pool: pool.clone(),
        }
    }

    /// Makes room for about so many bytes, before anything is written.
    pub fn expect(&mut self, bytes: usize) {
        self.expected = self.expected.max(bytes);
        if self.rows == 0 && bytes > self.buffer.capacity() {
            self.buffer = self.pool.buffer(bytes.min(EXPECTED_MAX));
        }
    }

    /// Makes room for so many rows of fixed extents, all at once: a column that stays, and is not one of many.
    pub fn make_room(&mut self, rows: usize) {
        if let Some(each) = self.fixed {
            self.reserve(rows.saturating_mul(each.elements() * self.dtype.size()));
        }
    }

    /// How many rows were written.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes of the rows written.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The type of its elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The extents that every row must have, where the type says so.
    pub fn fixed(&self) -> Option<Shape> {
        self.fixed
    }

    /// Appends a row of fixed extents or ragged; the extents must be the type's where it fixes them.
    pub fn push(&mut self, value: &Tensor<'_>) {
        let shape = Shape::new(value.shape());
        value.copy_to(self.room(shape));
    }

    /// Appends a scalar.
    #[inline]
    pub fn push_scalar<T: Element>(&mut self, value: T) {
        assert!(self.dtype == T::DTYPE && self.fixed.is_some_and(|it| it.is_empty()));
        let at = self.bytes;
        self.reserve(size_of::<T>());
        // SAFETY: there is room, and rows of this dtype are aligned for it.
        unsafe { self.buffer.as_ptr().add(at).cast::<T>().write(value) };
        self.bytes += size_of::<T>();
        self.rows += 1;
    }

    /// Appends `rows` scalars of the type `T`, to be written by the caller.
    pub fn scalars_of<T: Element>(&mut self, rows: usize) -> &mut [T] {
        assert!(self.dtype == T::DTYPE && self.fixed.is_some_and(|it| it.is_empty()));
        self.reserve(rows * size_of::<T>());
        let at = self.bytes;
        self.bytes += rows * size_of::<T>();
        self.rows += rows;
        // SAFETY: there is room, every byte of it initialised, and aligned for this dtype.
        unsafe {
            let first = self.buffer.as_ptr().add(at).cast::<T>();
            slice::from_raw_parts_mut(first.as_ptr(), rows)
        }
    }

    /// Appends text or bytes.
    pub fn push_text(&mut self, value: &[u8]) {
        debug_assert!(self.dtype.is_text());
        assert!(self.rank == 1 && self.fixed.is_none(), "a text has one axis, of any length");
        self.shapes.push(value.len() as u32);
        self.offsets.push(self.offsets[self.rows] + value.len() as u64);
        self.reserve(value.len());
        let at = self.bytes;
        self.bytes += value.len();
        self.rows += 1;
        self.buffer.bytes_mut()[at..self.bytes].copy_from_slice(value);
    }

    /// The bytes of the rows written.
    pub(crate) fn written(&self) -> &[u8] {
        &self.buffer.bytes()[..self.bytes]
    }

    /// Appends `rows` texts without a byte.
    pub fn push_empty(&mut self, rows: usize) {
        assert!(self.rank == 1 && self.fixed.is_none(), "a text has one axis, of any length");
        let (shapes, offsets) = (self.shapes.len() + rows, self.offsets.len() + rows);
        // Room that doubles, as for one text after the other.
        self.shapes.reserve(rows);
        self.shapes.resize(shapes, 0);
        self.offsets.reserve(rows);
        self.offsets.resize(offsets, self.offsets[self.rows]);
        self.rows += rows;
    }

    /// Appends a row of the least size: zeros where the type fixes its extents, else without an element.
    pub fn push_nothing(&mut self) {
        let shape = self.fixed.unwrap_or_else(|| Shape::new(&[0; crate::MAX_RANK][..self.rank]));
        self.room(shape).fill(0);
    }

    /// Appends room for a row, to be written by the caller.
    pub fn room(&mut self, shape: Shape) -> &mut [u8] {
        match self.fixed {
            Some(fixed) => assert_eq!(fixed, shape, "rows have the extents of their type"),
            None => {
                assert_eq!(shape.len(), self.rank, "rows have the axes of their type");
                self.shapes.extend(shape.iter().map(|&it| it as u32));
                let end = self.offsets[self.rows] + shape.elements() as u64;
                self.offsets.push(end);
            }
        }
        let len = shape.elements() * self.dtype.size();
        self.reserve(len);
        let at = self.bytes;
        self.bytes += len;
        self.rows += 1;
        &mut self.buffer.bytes_mut()[at..at + len]
    }

    /// Appends room for `rows` rows of fixed extents, to be written by the caller.
    pub fn fixed_rows(&mut self, rows: usize) -> &mut [u8] {
        let each = self.fixed.expect("a column of rows of fixed extents").elements();
        let len = rows * each * self.dtype.size();
        self.reserve(len);
        let at = self.bytes;
        self.bytes += len;
        self.rows += rows;
        &mut self.buffer.bytes_mut()[at..at + len]
    }

    /// Keeps the first `rows` rows.
    pub fn truncate(&mut self, rows: usize) {
        if rows >= self.rows {
            return;
        }
        self.rows = rows;
        let elements = match self.fixed {
            Some(shape) => rows * shape.elements(),
            None => {
                self.shapes.truncate(rows * self.rank);
                self.offsets.truncate(rows + 1);
                self.offsets[rows] as usize
            }
        };
        self.bytes = elements * self.dtype.size();
    }

    /// Appends rows of a column of the same type.
    pub fn append(&mut self, from: &Column, rows: Range<usize>) {
        match (&self.fixed, &from.extents) {
            (Some(_), Extents::Fixed(shape)) => {
                let each = shape.elements() * self.dtype.size();
                let len = each * rows.len();
                self.reserve(len);
                let first = (from.rows.start + rows.start) * each;
                self.buffer.bytes_mut()[self.bytes..self.bytes + len]
                    .copy_from_slice(&from.values.bytes()[first..first + len]);
                self.bytes += len;
                self.rows += rows.len();
            }
            (None, Extents::Ragged { rank, places: None, .. }) if *rank == self.rank => {
                self.append_ragged(from, rows);
            }
            _ => rows.for_each(|it| self.push(&from.row(it))),
        }
    }

    fn append_ragged(&mut self, from: &Column, rows: Range<usize>) {
        let Extents::Ragged { rank, shapes, offsets, .. } = &from.extents else { return };
        let rows = from.rows.start + rows.start..from.rows.start + rows.end;
        let (first, last) = (offsets[rows.start], offsets[rows.end]);
        let base = self.offsets[self.rows];
        self.shapes.extend_from_slice(&shapes[rows.start * rank..rows.end * rank]);
        let ends = &offsets[rows.start + 1..=rows.end];
        self.offsets.extend(ends.iter().map(|it| base + (it - first)));

        let size = self.dtype.size();
        let len = (last - first) as usize * size;
        self.reserve(len);
        let at = first as usize * size;
        self.buffer.bytes_mut()[self.bytes..self.bytes + len]
            .copy_from_slice(&from.values.bytes()[at..at + len]);
        self.bytes += len;
        self.rows += rows.len();
    }

    /// Appends the rows of `from` that `order` names, in that order.
    pub fn gather(&mut self, from: &Column, order: &[u32]) {
        let fixed = self.fixed.map(|it| it.elements() * self.dtype.size());
        match (fixed, &from.extents) {
            (Some(1), Extents::Fixed(_)) => self.gather_wide::<1>(from, order),
            (Some(2), Extents::Fixed(_)) => self.gather_wide::<2>(from, order),
            (Some(4), Extents::Fixed(_)) => self.gather_wide::<4>(from, order),
            (Some(8), Extents::Fixed(_)) => self.gather_wide::<8>(from, order),
            (Some(each), Extents::Fixed(_)) => self.gather_rows(each, from, order),
            _ => order.iter().for_each(|&it| self.push(&from.row(it as usize))),
        }
    }

    /// Rows of `each` bytes.
    fn gather_rows(&mut self, each: usize, from: &Column, order: &[u32]) {
        self.reserve(order.len() * each);
        let all = &from.values.bytes()[from.rows.start * each..from.rows.end * each];
        for &row in order {
            let row = row as usize * each;
            self.buffer.bytes_mut()[self.bytes..self.bytes + each]
                .copy_from_slice(&all[row..row + each]);
            self.bytes += each;
        }
        self.rows += order.len();
    }

    fn gather_wide<const WIDTH: usize>(&mut self, from: &Column, order: &[u32]) {
        self.reserve(order.len() * WIDTH);
        let all = &from.values.bytes()[from.rows.start * WIDTH..from.rows.end * WIDTH];
        let (rows, _) = all.as_chunks::<WIDTH>();
        let at = self.bytes;
        self.bytes += order.len() * WIDTH;
        self.rows += order.len();
        let (out, _) = self.buffer.bytes_mut()[at..self.bytes].as_chunks_mut::<WIDTH>();
        for (to, &row) in out.iter_mut().zip(order) {
            *to = rows[row as usize];
        }
    }

    #[inline]
    fn reserve(&mut self, more: usize) {
        let needed = self.bytes + more;
        if needed > self.buffer.capacity() {
            self.grow(needed);
        }
    }

    #[cold]
    fn grow(&mut self, needed: usize) {
        // Twice as much each time, but no more than is expected as long as that does.
        let wanted = match needed <= self.expected {
            true => needed.max((2 * needed).min(self.expected)),
            false => needed.max(2 * self.buffer.capacity()),
        };
        let mut wider = self.pool.buffer(wanted);
        wider.bytes_mut()[..self.bytes].copy_from_slice(&self.buffer.bytes()[..self.bytes]);
        self.buffer = wider;
    }

    /// The column.
    pub fn finish(self) -> Column {
        let extents = match self.fixed {
            Some(shape) => Extents::Fixed(shape),
            None => Extents::Ragged {
                rank: self.rank,
                shapes: Arc::new(self.shapes),
                offsets: Arc::new(self.offsets),
                places: None,
            },
        };
        Column { dtype: self.dtype, rows: 0..self.rows, extents, values: Arc::new(self.buffer) }
    }
}

/// Writes a chunk row by row.
#[derive(Debug)]
pub struct ChunkBuilder {
    /// The epoch of the records.
    pub epoch: u32,
    /// Their ids.
    pub ids: Builder,
    /// Their fields.
    pub columns: Vec<Builder>,
}

impl ChunkBuilder {
    /// A chunk of these fields, with room for about `rows` records.
    pub fn new(fields: &[plan::Field], rows: usize, epoch: u32, pool: &Pool) -> Self {
        let ids = Builder::new(&plan::Type::scalar(DType::U64), rows, pool);
        let columns = fields.iter().map(|it| Builder::new(&it.ty, rows, pool)).collect();
        Self { epoch, ids, columns }
    }

    /// How many records were written.
    pub fn rows(&self) -> usize {
        self.ids.rows()
    }

    /// Keeps the first `rows` records, and drops what was begun of another.
    pub fn truncate(&mut self, rows: usize) {
        self.ids.truncate(rows);
        self.columns.iter_mut().for_each(|it| it.truncate(rows));
    }

    /// Appends records of a chunk with the same fields.
    pub fn append(&mut self, from: &Chunk, rows: Range<usize>) {
        self.ids.append(&from.ids, rows.clone());
        for (to, from) in self.columns.iter_mut().zip(&from.columns) {
            to.append(from, rows.clone());
        }
    }

    /// Appends the records of `from` that `order` names, in that order.
    pub fn gather(&mut self, from: &Chunk, order: &[u32]) {
        self.ids.gather(&from.ids, order);
        for (to, from) in self.columns.iter_mut().zip(&from.columns) {
            to.gather(from, order);
        }
    }

    /// The chunk.
    pub fn finish(self) -> Chunk {
        Chunk {
            rows: self.ids.rows(),
            epoch: self.epoch,
            ids: self.ids.finish(),
            columns: self.columns.into_iter().map(Builder::finish).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{Extent, Field, Type};

    #[test]
    fn empty_texts_are_texts() {
        let mut builder = Builder::new(&Type::scalar(DType::Str), 2, &Pool::default());
        builder.push_empty(2);
        builder.push_text(b"x");
        builder.push_empty(0);
        builder.push_empty(40);
        builder.push_text(b"yz");
        builder.truncate(45);
        let column = builder.finish();
        let rows: Vec<&str> = (0..column.rows()).map(|it| column.row(it).as_str()).collect();
        let expected = [vec!["", "", "x"], vec![""; 40], vec!["yz"]].concat();
        assert_eq!(rows, expected);
    }

    fn texts(all: &[&str]) -> Column {
        let mut builder = Builder::new(&Type::scalar(DType::Str), 2, &Pool::default());
        all.iter().for_each(|it| builder.push_text(it.as_bytes()));
        builder.finish()
    }

    #[test]
    fn ragged_rows_keep_their_extents() {
        let ty = Type::Tensor { dtype: DType::F32, shape: vec![Extent::Unknown, Extent::Known(2)] };
        let mut builder = Builder::new(&ty, 2, &Pool::default());
        builder.push(&Tensor::new(&[1, 2], &[1_f32, 2.]));
        builder.push(&Tensor::new(&[0, 2], &[] as &[f32]));
        builder.push(&Tensor::new(&[2, 2], &[3_f32, 4., 5., 6.]));
        let column = builder.finish();
        assert_eq!(column.row(2).as_slice::<f32>(), Some(&[3., 4., 5., 6.][..]));
        assert_eq!(column.cut(1..3).row(0).shape(), [0, 2]);
    }

    #[test]
    fn rows_that_take_what_the_last_ones_took_stay_where_they_are() {
        let mut builder = Builder::new(&Type::scalar(DType::Bytes), 2, &Pool::default());
        builder.expect(8 << 20);
        let row = || Shape::new(&[1 << 20]);
        let first = builder.room(row()).as_ptr();
        (1..8).for_each(|_| _ = builder.room(row()));
        assert_eq!(builder.finish().row(0).as_text().as_ptr(), first);
    }

    #[test]
    fn cut_and_gathered_rows_are_the_same() {
        let column = texts(&["a", "bb", "", "dddd"]).cut(1..4);
        let mut builder = Builder::new(&Type::scalar(DType::Str), 2, &Pool::default());
        builder.gather(&column, &[2, 0, 1]);
        builder.append(&column, 0..1);
        let all = builder.finish();
        let found: Vec<_> = (0..4).map(|it| all.row(it).as_str()).collect();
        assert_eq!(found, ["dddd", "bb", "", "bb"]);
    }

    #[test]
    fn neighbours_join_without_a_copy() {
        let fields = [Field { name: "i".into(), ty: Type::scalar(DType::I64) }];
        let mut builder = ChunkBuilder::new(&fields, 4, 0, &Pool::default());
        for i in 0..4 {
            builder.ids.push_scalar(i as u64);
            builder.columns[0].push_scalar(i as i64);
        }
        let column = builder.finish().columns.remove(0);
        let joined = column.cut(0..2).joined(&column.cut(2..4)).expect("they are neighbours");
        assert_eq!(joined.as_slice::<i64>(), Some(&[0, 1, 2, 3][..]));
        assert!(column.cut(0..1).joined(&column.cut(2..3)).is_none());
        let pairs = column.in_rows_of(2).expect("two whole ones");
        assert_eq!((pairs.rows(), pairs.row(1).as_slice()), (2, Some(&[2_i64, 3][..])));
        assert_eq!(column.cut(2..4).in_rows_of(2).expect("whole").row(0).shape(), [2]);
        assert!(column.cut(1..3).in_rows_of(2).is_none());
    }
}
