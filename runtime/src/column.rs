//! Records in memory: chunks of columns.
//!
//! A column is a dtype and either fixed extents, with the rows next to each other, or extents
//! and an offset for each row (`semantics.md`, 2). Columns are shared and cut without a copy.

mod builder;
mod end_to_end;
mod scattered;
mod texts;

pub use builder::Builder;
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

    /// Writes the extent of each row along an axis.
    pub(crate) fn extents_into(&self, axis: usize, to: &mut [i64]) {
        match &self.extents {
            Extents::Fixed(shape) => to.fill(shape[axis] as i64),
            Extents::Ragged { rank, shapes, .. } => {
                let Range { start, end } = self.rows;
                let each = shapes[start * rank..end * rank].iter().skip(axis).step_by(*rank);
                to.iter_mut().zip(each).for_each(|(to, it)| *to = i64::from(*it));
            }
        }
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

    /// The bytes of each row, where rows have one axis of any length and lie end to end.
    pub fn lists(&self) -> Option<impl Iterator<Item = &[u8]>> {
        let ragged = self.ragged().filter(|it| it.rank == 1)?;
        let size = self.dtype.size();
        let span = move |it: &[u64; 2]| it[0] as usize * size..it[1] as usize * size;
        Some(ragged.offsets.array_windows().map(move |it| &self.values.bytes()[span(it)]))
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
