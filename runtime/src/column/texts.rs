//! The texts of a batch as one value: `str[n]` and `bytes[n]`, which `batch` makes and nothing computes on.
//!
//! Such a value is a run of bytes, so that chunks hold, copy and compare it like any other: how many texts there are, where
//! each ends, then the texts, end to end. The numbers are u64, little endian, counted from the first byte of the first
//! text, and need not be aligned. The same texts are the same bytes. Its extents are `[1, bytes]`: a text has one axis, its
//! length, and a value of several texts has one more, by which the two are told apart.

use super::{Builder, Column, Extents};
use crate::{Counted, Shape, Tensor};
use plan::DType;
use std::{ops::Range, sync::Arc};

/// Bytes of the number of texts, and of each end.
const NUMBER: usize = size_of::<u64>();

/// Bytes of a value of texts, at the most: extents of a row are u32.
pub const TEXTS_BYTES_MAX: usize = u32::MAX as usize;

/// The texts of a batch, where they lie.
#[derive(Debug, Clone, Copy)]
pub struct Texts<'a> {
    dtype: DType,
    /// Where each text ends.
    ends: &'a [[u8; NUMBER]],
    texts: &'a [u8],
}

impl<'a> Texts<'a> {
    /// Bytes that `n` texts of so many bytes together take as one value.
    pub fn packed_bytes(n: usize, bytes: usize) -> usize {
        n.saturating_add(1).saturating_mul(NUMBER).saturating_add(bytes)
    }

    /// `str` or `bytes`.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Text `i`.
    pub fn get(&self, i: usize) -> Tensor<'a> {
        let start = if i == 0 { 0 } else { self.end(i - 1) };
        Tensor::text(self.dtype, &self.texts[start..self.end(i)])
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Tensor<'a>> + use<'a> {
        let it = *self;
        (0..it.len()).map(move |i| it.get(i))
    }

    fn end(&self, i: usize) -> usize {
        u64::from_le_bytes(self.ends[i]) as usize
    }
}

impl<'a> Tensor<'a> {
    /// The texts that it is, of a value of several (`str[n]`, `bytes[n]`).
    pub fn texts(&self) -> Option<Texts<'a>> {
        if !self.dtype().is_text() || self.shape().len() != 2 {
            return None;
        }
        let (n, rest) = self.as_bytes()?.split_first_chunk::<NUMBER>()?;
        let (ends, texts) = rest.split_at_checked(u64::from_le_bytes(*n) as usize * NUMBER)?;
        Some(Texts { dtype: self.dtype(), ends: ends.as_chunks().0, texts })
    }

    /// How long the first axis of its type is: of texts, how many there are.
    pub fn rows(&self) -> Option<usize> {
        match self.texts() {
            Some(texts) => Some(texts.len()),
            None if self.dtype().is_text() => None,
            None => self.shape().first().copied(),
        }
    }
}

impl Column {
    /// Whether each row holds several texts.
    pub fn is_texts(&self) -> bool {
        self.dtype.is_text() && matches!(self.extents, Extents::Ragged { rank: 2, .. })
    }

    /// The bytes of its texts, end to end.
    fn text_bytes(&self) -> &[u8] {
        match &self.extents {
            Extents::Ragged { offsets, .. } if self.dtype.is_text() => {
                let Range { start, end } = self.rows;
                &self.values.bytes()[offsets[start] as usize..offsets[end] as usize]
            }
            _ => &[],
        }
    }

    /// The texts of row `row`, where it holds several, as a column of as many rows: the texts are not copied.
    pub fn texts(&self, row: usize) -> Option<Self> {
        let texts = self.row(row).texts()?;
        let Extents::Ragged { offsets, .. } = &self.extents else { return None };
        let begin = offsets[self.rows.start + row] + Texts::packed_bytes(texts.len(), 0) as u64;
        let (mut offsets, mut shapes) = (Counted::new(), Counted::new());
        offsets.reserve_exact(texts.len() + 1);
        offsets.push(begin);
        offsets.extend((0..texts.len()).map(|it| begin + texts.end(it) as u64));
        shapes.reserve_exact(texts.len());
        shapes.extend(offsets.windows(2).map(|it| (it[1] - it[0]) as u32));
        let (rows, values) = (0..texts.len(), self.values.clone());
        let extents = Extents::Ragged {
            rank: 1,
            shapes: Arc::new(shapes),
            offsets: Arc::new(offsets),
            places: None,
        };
        Some(Self { dtype: self.dtype, rows, extents, values })
    }
}

impl Builder {
    /// The bytes of the last row, if it is text or bytes.
    pub fn last_text(&self) -> Option<&[u8]> {
        let at = self.rows.checked_sub(1).filter(|_| self.dtype.is_text() && self.rank == 1)?;
        self.buffer.bytes().get(self.offsets[at] as usize..self.bytes)
    }

    /// Appends one row that holds the texts of all rows of `column`, and empty ones up to `n`.
    ///
    /// # Panics
    /// There are more than `n`, or they take more than [`TEXTS_BYTES_MAX`] as one value.
    pub fn push_texts(&mut self, column: &Column, n: usize) {
        assert!(column.rows() <= n, "{} texts are at most {n}", column.rows());
        let bytes = Texts::packed_bytes(n, column.bytes());
        assert!(bytes <= TEXTS_BYTES_MAX, "whoever packs texts asks how long they are");
        let (numbers, texts) =
            self.room(Shape::new(&[1, bytes])).split_at_mut(Texts::packed_bytes(n, 0));
        let (first, ends) = numbers.split_at_mut(NUMBER);
        first.copy_from_slice(&(n as u64).to_le_bytes());
        // They lie end to end as they are.
        let found = column.ragged().filter(|it| it.rank == 1);
        let found = found.expect("a column of texts has a length for each row");
        let begin = found.offsets[0];
        texts.copy_from_slice(column.text_bytes());
        let mut all = found.offsets[1..].iter().map(|it| it - begin);
        let mut end = 0;
        for to in ends.as_chunks_mut::<NUMBER>().0 {
            end = all.next().unwrap_or(end);
            *to = end.to_le_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pool;
    use plan::Type;

    fn column(ty: &Type, write: impl Fn(&mut Builder)) -> Column {
        let mut builder = Builder::new(ty, 2, &Pool::default());
        write(&mut builder);
        builder.finish()
    }

    fn texts(all: &[&str]) -> Column {
        column(&Type::scalar(DType::Str), |it| {
            all.iter().for_each(|text| it.push_text(text.as_bytes()));
        })
    }

    fn strings(value: &Tensor<'_>) -> Vec<String> {
        value.texts().expect("it holds texts").iter().map(|it| it.as_str().to_owned()).collect()
    }

    #[test]
    fn texts_are_one_value_and_come_out_of_it() {
        let all = texts(&["cut off", "a", "", "žluť", "bb"]).cut(1..5);
        let packed = column(&Type::tensor(DType::Str, &[4]), |it| {
            it.push_texts(&all.cut(0..3), 4);
            it.push_texts(&all.cut(3..4), 1);
            it.push_texts(&all.cut(0..0), 2);
        });
        let rows: Vec<_> = (0..3).map(|it| strings(&packed.row(it))).collect();
        assert_eq!(rows, [vec!["a", "", "žluť", ""], vec!["bb"], vec!["", ""]]);
        assert_eq!((packed.row(0).rows(), all.row(0).rows()), (Some(4), None));
        assert!(all.row(0).texts().is_none());

        let again = packed.cut(1..3).texts(0).expect("it holds texts");
        assert_eq!((again.rows(), again.row(0).as_str(), again.bytes()), (1, "bb", 2));
        let again = packed.texts(0).expect("it holds texts");
        let found: Vec<_> = (0..4).map(|it| again.row(it).as_str()).collect();
        assert_eq!(found, ["a", "", "žluť", ""]);
        assert!(again.texts(0).is_none());
    }

    #[test]
    fn values_of_texts_are_copied_like_others() {
        let ty = Type::tensor(DType::Bytes, &[2]);
        let packed = column(&ty, |it| {
            for pair in [["x", "yy"], ["", "z"], ["long", ""]] {
                it.push_texts(&texts(&pair), 2);
            }
        });
        let copied = column(&ty, |it| {
            it.gather(&packed, &[2, 0]);
            it.append(&packed, 1..2);
            it.push(&packed.row(0));
        });
        let found: Vec<_> = (0..4).map(|it| strings(&copied.row(it))).collect();
        assert_eq!(found, [["long", ""], ["x", "yy"], ["", "z"], ["x", "yy"]]);
        assert_eq!(copied.row(1).as_bytes(), packed.row(0).as_bytes());
    }
}
