//! Writes a column row by row, or copies rows of others.

use super::{Column, Extents};
use crate::{Buffer, Counted, Element, Pool, Shape, Tensor};
use plan::DType;
use std::{ops::Range, slice, sync::Arc};

/// Bytes that a column has room for before anything is written, at the most: it grows.
const ROOM_MAX: usize = 1 << 20;
/// The same where it is known what the last rows took: eight pictures of 2 MiB, with nothing copied that grows.
const EXPECTED_MAX: usize = 16 << 20;

/// Writes a column row by row, or copies rows of others.
#[derive(Debug)]
pub struct Builder {
    pub(super) dtype: DType,
    pub(super) fixed: Option<Shape>,
    pub(super) rank: usize,
    pub(super) rows: usize,
    pub(super) shapes: Counted<u32>,
    pub(super) offsets: Counted<u64>,
    pub(super) bytes: usize,
    /// Bytes that are expected in all.
    pub(super) expected: usize,
    pub(super) buffer: Buffer,
    pub(super) pool: Pool,
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
            (None, Extents::Ragged { rank, places: None, .. }) if *rank == self.rank => {
                self.gather_ragged(from, order);
            }
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

    /// Rows of any extents.
    fn gather_ragged(&mut self, from: &Column, order: &[u32]) {
        let Extents::Ragged { rank, shapes, offsets, .. } = &from.extents else { return };
        let (size, start) = (self.dtype.size(), from.rows.start);
        let span = |row: u32| {
            let row = start + row as usize;
            offsets[row] as usize * size..offsets[row + 1] as usize * size
        };
        self.reserve(order.iter().map(|it| span(*it).len()).sum());
        self.shapes.reserve(order.len() * rank);
        self.offsets.reserve(order.len());
        let mut end = self.offsets[self.rows];
        for &row in order {
            let (span, at) = (span(row), start + row as usize);
            self.shapes.extend_from_slice(&shapes[at * rank..(at + 1) * rank]);
            end += (span.len() / size) as u64;
            self.offsets.push(end);
            let next = self.bytes + span.len();
            self.buffer.bytes_mut()[self.bytes..next].copy_from_slice(&from.values.bytes()[span]);
            self.bytes = next;
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
