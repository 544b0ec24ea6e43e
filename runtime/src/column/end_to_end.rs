//! Rows of different lengths end to end, as one row: what `batch(…, ragged: […])` makes of a chunk.

use super::{Column, Extents};
use crate::{Builder, Counted};
use std::sync::Arc;

/// Rows that one value may have along its first axis: extents of a row are u32.
pub const ROWS_END_TO_END_MAX: usize = u32::MAX as usize;

impl Column {
    /// How long each row is along its first axis.
    pub fn lengths(&self) -> impl ExactSizeIterator<Item = usize> + use<'_> {
        self.rows.clone().map(|row| match &self.extents {
            Extents::Fixed(shape) => shape.first().copied().unwrap_or(1),
            Extents::Ragged { rank: 0, .. } => 1,
            Extents::Ragged { rank, shapes, .. } => shapes[row * rank] as usize,
        })
    }

    /// Every `n` rows, end to end along their first axis, as one row: the elements are not copied.
    ///
    /// # Panics
    /// Rows have no axis, differ behind the first one, or are longer together than
    /// [`ROWS_END_TO_END_MAX`].
    #[must_use]
    pub fn end_to_end(&self, n: usize) -> Self {
        let groups = self.rows() / n.max(1);
        let (mut offsets, mut shapes) = (Counted::new(), Counted::new());
        offsets.reserve_exact(groups + 1);
        offsets.push(self.first_element(0));
        for group in 0..groups {
            let rows = self.cut(group * n..(group + 1) * n);
            let length: usize = rows.lengths().sum();
            assert!(
                length <= ROWS_END_TO_END_MAX,
                "whoever puts rows together asks how long they are"
            );
            let first = rows.row(0);
            let (_, inner) = first.shape().split_first().expect("rows have an axis");
            let alike = (1..n).all(|it| rows.row(it).shape()[1..] == *inner);
            assert!(alike, "rows differ in their first axis only");
            shapes.push(length as u32);
            shapes.extend(inner.iter().map(|it| *it as u32));
            offsets.push(self.first_element((group + 1) * n));
        }
        let rank = match &self.extents {
            Extents::Fixed(shape) => shape.len(),
            Extents::Ragged { rank, .. } => *rank,
        };
        let extents = Extents::Ragged {
            rank,
            shapes: Arc::new(shapes),
            offsets: Arc::new(offsets),
            places: None,
        };
        Self { dtype: self.dtype, rows: 0..groups, extents, values: self.values.clone() }
    }

    /// Where row `i` begins in its memory, in elements.
    fn first_element(&self, i: usize) -> u64 {
        let i = self.rows.start + i;
        match &self.extents {
            Extents::Fixed(shape) => (i * shape.elements()) as u64,
            Extents::Ragged { offsets, .. } => offsets[i],
        }
    }
}

impl Builder {
    /// Appends a row that says where each row of `column` begins and the last one ends along their first
    /// axis, once they lie end to end, and then as often as it takes that `n` rows are told of, that the
    /// others have no elements.
    pub fn push_offsets(&mut self, column: &Column, n: usize) {
        let room = self.room(crate::Shape::new(&[n + 1]));
        let mut end = 0_i64;
        let mut lengths = column.lengths();
        for to in room.as_chunks_mut::<{ size_of::<i64>() }>().0 {
            *to = end.to_ne_bytes();
            end += lengths.next().unwrap_or(0) as i64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Pool, Tensor};
    use plan::{DType, Extent, Type};

    fn ty(shape: &[Extent]) -> Type {
        Type::Tensor { dtype: DType::I64, shape: shape.to_vec() }
    }

    /// Rows of pairs, so many in each.
    fn pairs(lengths: &[usize]) -> Column {
        let ty = ty(&[Extent::Unknown, Extent::Known(2)]);
        let mut column = Builder::new(&ty, lengths.len(), &Pool::default());
        let mut next = 0..;
        for length in lengths {
            let row: Vec<i64> = next.by_ref().take(length * 2).collect();
            column.push(&Tensor::new(&[*length, 2], &row));
        }
        column.finish()
    }

    fn elements(column: &Column, row: usize) -> (Vec<usize>, Vec<i64>) {
        let row = column.row(row);
        let bytes = row.as_bytes().unwrap().chunks(8).map(|it| it.try_into().unwrap());
        (row.shape().to_vec(), bytes.map(i64::from_ne_bytes).collect())
    }

    #[test]
    fn rows_lie_end_to_end() {
        let all = pairs(&[9, 2, 0, 1, 0, 0, 3, 1]);
        let joined = all.cut(1..7).end_to_end(3);
        assert_eq!(joined.rows(), 2);
        assert_eq!(elements(&joined, 0), (vec![3, 2], (18..24).collect()));
        assert_eq!(elements(&joined, 1), (vec![3, 2], (24..30).collect()));
        assert_eq!(all.cut(4..6).end_to_end(2).row(0).shape(), [0, 2]);
        assert_eq!(joined.cut(1..2).bytes(), 48);

        let fixed = Type::tensor(DType::I64, &[1, 2]);
        let mut column = Builder::new(&fixed, 4, &Pool::default());
        (0..4_i64).for_each(|it| column.push(&Tensor::new(&[1, 2], &[it, -it])));
        let joined = column.finish().cut(1..4).end_to_end(3);
        assert_eq!(elements(&joined, 0), (vec![3, 2], vec![1, -1, 2, -2, 3, -3]));
    }

    #[test]
    fn offsets_say_where_rows_begin() {
        let mut offsets = Builder::new(&ty(&[Extent::Unknown]), 2, &Pool::default());
        let all = pairs(&[2, 0, 3]);
        offsets.push_offsets(&all, 3);
        offsets.push_offsets(&all.cut(1..3), 4);
        let offsets = offsets.finish();
        assert_eq!(elements(&offsets, 0), (vec![4], vec![0, 2, 2, 5]));
        assert_eq!(elements(&offsets, 1), (vec![5], vec![0, 0, 3, 3, 3]));
    }
}
