//! Large rows of several columns as one column without a copy: each row stays where it was written.
//!
//! A window of encoded images is shuffled so: what moves is where a row lies, 16 bytes, and not the 100 kB that it has.

use super::{Builder, Column, Extents};
use crate::{Buffer, Chunk, Counted, Pool};
use plan::{DType, Extent, Field, Type};
use std::{ops::Range, ptr::NonNull, sync::Arc};

/// Bytes of a row, on average, from which on it is cheaper to refer to it than to copy it.
const LARGE: usize = 4 << 10;

/// Where rows lie that are not end to end in one piece of memory.
#[derive(Debug)]
pub(super) struct Places {
    buffers: Vec<Arc<Buffer>>,
    /// For each row the number of its buffer, and its first element there.
    at: Counted<(u32, u64)>,
}

impl Places {
    /// The first byte of the row at `i`, of elements of `size` bytes.
    pub(super) fn first_byte(&self, i: usize, size: usize) -> NonNull<u8> {
        let (buffer, first) = self.at[i];
        // SAFETY: rows are put here with the memory that they lie in, and where they begin in it.
        unsafe { self.buffers[buffer as usize].as_ptr().add(first as usize * size) }
    }
}

/// Puts rows of columns together as one column, without a copy of what they hold.
#[derive(Debug)]
pub struct Scatter {
    dtype: DType,
    shapes: Counted<u32>,
    offsets: Counted<u64>,
    places: Places,
}

impl Scatter {
    /// The rows of a column, if they have one axis of any length and are large.
    pub fn of(column: &Column) -> Option<Self> {
        let mut scatter = column.has_large_rows().then(|| Self::new(column.dtype))?;
        scatter.append(column, 0..column.rows());
        Some(scatter)
    }

    fn new(dtype: DType) -> Self {
        let mut offsets = Counted::new();
        offsets.push(0);
        let places = Places { buffers: Vec::new(), at: Counted::new() };
        Self { dtype, shapes: Counted::new(), offsets, places }
    }

    /// Bytes of its rows.
    pub fn bytes(&self) -> usize {
        self.offsets[self.offsets.len() - 1] as usize * self.dtype.size()
    }

    /// Appends rows of a column of the same type.
    ///
    /// # Panics
    /// Its rows have other axes than one of any length.
    pub fn append(&mut self, from: &Column, rows: Range<usize>) {
        for row in rows {
            self.push(from, row);
        }
    }

    fn push(&mut self, from: &Column, row: usize) {
        let Extents::Ragged { rank: 1, shapes, offsets, places } = &from.extents else {
            panic!("rows of one axis of any length are scattered, and no others");
        };
        let row = from.rows.start + row;
        let (buffer, first) = match places {
            None => (&from.values, offsets[row]),
            Some(places) => {
                let (buffer, first) = places.at[row];
                (&places.buffers[buffer as usize], first)
            }
        };
        let buffers = &mut self.places.buffers;
        // Neighbours often lie in one buffer; else a buffer may be named twice.
        if buffers.last().is_none_or(|it| !Arc::ptr_eq(it, buffer)) {
            buffers.push(buffer.clone());
        }
        self.places.at.push((buffers.len() as u32 - 1, first));
        self.shapes.push(shapes[row]);
        self.offsets.push(self.offsets[self.offsets.len() - 1] + u64::from(shapes[row]));
    }

    /// The column.
    pub fn finish(self) -> Column {
        let rows = self.places.at.len();
        let values = self.places.buffers.first().cloned();
        let extents = Extents::Ragged {
            rank: 1,
            shapes: Arc::new(self.shapes),
            offsets: Arc::new(self.offsets),
            places: Some(Arc::new(self.places)),
        };
        let values = values.unwrap_or_else(|| Arc::new(Buffer::of(0)));
        Column { dtype: self.dtype, rows: 0..rows, extents, values }
    }
}

impl Column {
    /// Whether its rows lie in several pieces of memory.
    pub fn is_scattered(&self) -> bool {
        matches!(self.extents, Extents::Ragged { places: Some(_), .. })
    }

    /// Whether they have one axis of any length, and are so large that a copy costs more than what refers to it.
    fn has_large_rows(&self) -> bool {
        let of_any_length = matches!(self.extents, Extents::Ragged { rank: 1, .. });
        of_any_length && self.rows() > 0 && self.bytes() / self.rows() >= LARGE
    }

    /// The same with the rows end to end, for those who read them so: copied if they are scattered.
    #[must_use]
    pub fn in_one_piece(self, pool: &Pool) -> Self {
        if !self.is_scattered() {
            return self;
        }
        let ty = match self.dtype.is_text() {
            true => Type::scalar(self.dtype),
            false => Type::Tensor { dtype: self.dtype, shape: vec![Extent::Unknown] },
        };
        let mut builder = Builder::new(&ty, self.rows(), pool);
        builder.expect(self.bytes());
        builder.append(&self, 0..self.rows());
        builder.finish()
    }

    /// The rows that `order` names, in that order, without a copy; none where copying them is as cheap.
    fn reordered(&self, order: &[u32]) -> Option<Self> {
        let mut scatter = self.has_large_rows().then(|| Scatter::new(self.dtype))?;
        order.iter().for_each(|it| scatter.push(self, *it as usize));
        Some(scatter.finish())
    }
}

impl Chunk {
    /// The records that `order` names, in that order; large rows are not copied.
    #[must_use]
    pub fn reordered(&self, order: &[u32], fields: &[Field], pool: &Pool) -> Self {
        let copied = |column: &Column, ty: &Type| {
            let mut builder = Builder::new(ty, order.len(), pool);
            builder.gather(column, order);
            builder.finish()
        };
        let of = |(column, field): (&Column, &Field)| {
            column.reordered(order).unwrap_or_else(|| copied(column, &field.ty))
        };
        Self {
            rows: order.len(),
            epoch: self.epoch,
            ids: copied(&self.ids, &Type::scalar(DType::U64)),
            columns: self.columns.iter().zip(fields).map(of).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(rows: &[usize]) -> Column {
        let mut builder = Builder::new(&Type::scalar(DType::Bytes), rows.len(), &Pool::default());
        for &len in rows {
            builder.push_text(&(0..len).map(|it| (it * 31 + len) as u8).collect::<Vec<_>>());
        }
        builder.finish()
    }

    fn rows(column: &Column) -> Vec<Vec<u8>> {
        (0..column.rows()).map(|it| column.row(it).as_bytes().unwrap().to_vec()).collect()
    }

    #[test]
    fn scattered_rows_are_those_that_a_copy_has() {
        let (a, b) = (column(&[9_000, 0, 5_000]), column(&[1, 20_000, 7_000, 3]).cut(1..4));
        let mut scatter = Scatter::of(&a).expect("its rows are large");
        scatter.append(&b, 0..3);
        let both = scatter.finish();
        let copied = [rows(&a), rows(&b)].concat();
        assert!(both.is_scattered() && both.ragged().is_none());
        assert_eq!((rows(&both), both.bytes()), (copied.clone(), a.bytes() + b.bytes()));
        assert_eq!(rows(&both.cut(2..5)), copied[2..5]);

        let order = [5, 0, 0, 4, 3];
        let named: Vec<_> = order.iter().map(|it| copied[*it as usize].clone()).collect();
        let moved = both.reordered(&order).expect("its rows are large");
        assert_eq!(rows(&moved), named);
        let mut gathered = Builder::new(&Type::scalar(DType::Bytes), 2, &Pool::default());
        gathered.gather(&both, &order);
        gathered.append(&moved, 1..3);
        assert_eq!(rows(&gathered.finish()), [&named[..], &named[1..3]].concat());

        // It lives as long as the memory of its rows is needed, and can be put together again.
        drop((a, b, both));
        let whole = moved.cut(1..5).in_one_piece(&Pool::default());
        assert!(!whole.is_scattered());
        assert_eq!(rows(&whole), named[1..]);
        assert_eq!(whole.ragged().map(|it| it.offsets.len()), Some(5));
    }

    #[test]
    fn small_rows_are_copied() {
        assert!(Scatter::of(&column(&[10, 20, 4_000])).is_none());
        assert!(column(&[10, 20]).reordered(&[1, 0]).is_none());
        assert!(Scatter::of(&column(&[])).is_none());
    }
}
