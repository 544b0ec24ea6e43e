//! Typed indices, so that an index into one table cannot be used on another.

use serde::{Deserialize, Serialize};
use std::{fmt, marker::PhantomData, ops};

/// A small number that names a row of one particular table.
pub trait Index: Copy {
    /// Wraps a row number.
    fn new(row: usize) -> Self;
    /// The row number.
    fn row(self) -> usize;
}

/// Declares index types; each prints as its prefix and its number.
macro_rules! index {
    ($($(#[$doc:meta])+ $name:ident $prefix:literal)+) => {$(
        $(#[$doc])+
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub u32);

        impl Index for $name {
            fn new(row: usize) -> Self {
                Self(u32::try_from(row).expect("a table has fewer than 2³² rows"))
            }
            fn row(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(self, f)
            }
        }
    )+};
}

index! {
    /// An operator of a plan.
    OpId "op"
    /// A value expression of a graph.
    ExprId "v"
    /// A loop variable of a graph: the number of the element that a loop is at.
    VarId "i"
    /// A stage of a program.
    StageId "s"
}

/// A table whose rows are named by `I`.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IdVec<I, T> {
    rows: Vec<T>,
    #[serde(skip)]
    index: PhantomData<fn(I)>,
}

impl<I: Index, T> IdVec<I, T> {
    /// An empty table.
    pub const fn new() -> Self {
        Self { rows: Vec::new(), index: PhantomData }
    }

    /// Appends a row and returns its name.
    pub fn push(&mut self, row: T) -> I {
        self.rows.push(row);
        I::new(self.rows.len() - 1)
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// All rows with their names, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.rows.iter().enumerate().map(|(row, it)| (I::new(row), it))
    }

    /// All names, in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.rows.len()).map(I::new)
    }

    /// The rows alone, in order.
    pub fn rows(&self) -> &[T] {
        &self.rows
    }

    /// The row called `id`, if there is one.
    pub fn get(&self, id: I) -> Option<&T> {
        self.rows.get(id.row())
    }
}

impl<I: Index, T> Default for IdVec<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Index, T> FromIterator<T> for IdVec<I, T> {
    fn from_iter<It: IntoIterator<Item = T>>(rows: It) -> Self {
        Self { rows: rows.into_iter().collect(), index: PhantomData }
    }
}

impl<I: Index, T> ops::Index<I> for IdVec<I, T> {
    type Output = T;
    fn index(&self, id: I) -> &T {
        &self.rows[id.row()]
    }
}

impl<I: Index, T> ops::IndexMut<I> for IdVec<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.rows[id.row()]
    }
}

impl<I: Index + fmt::Debug, T: fmt::Debug> fmt::Debug for IdVec<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
