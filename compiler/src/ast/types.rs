//! Types as written.

use plan::Span;

use super::{Expr, Name};

/// A type with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeExpr {
    /// What it is.
    pub kind: TypeKind,
    /// All of it.
    pub span: Span,
}

/// What a type is.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeKind {
    /// `drop | keep`: one of these words, at least two.
    Words(Vec<Name>),
    /// `f32[n, ?]`, `path`: a name, with extents if it is a tensor.
    Named {
        /// `f32`, `bytes`, `t`, …
        name: Name,
        /// What stands in the brackets; empty without brackets.
        extents: Vec<Extent>,
    },
    /// `{ path: str, bytes: bytes, .. }`
    Record {
        /// The fields in order.
        fields: Vec<Typed>,
        /// Whether `..` allows more.
        open: bool,
    },
    /// A message has been given: say nothing more about it.
    Broken,
}

/// An extent of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub enum Extent {
    /// `?`: unknown, and free to differ from row to row.
    Unknown(Span),
    /// A number, a name that unifies, or sums and products of those.
    Known(Expr),
}

impl Extent {
    /// Its place.
    #[must_use]
    pub fn span(&self) -> Span {
        match self {
            Self::Unknown(it) => *it,
            Self::Known(it) => it.span,
        }
    }
}

/// `name: type` in a record type.
#[derive(Clone, Debug, PartialEq)]
pub struct Typed {
    /// The field's name.
    pub name: Name,
    /// The field's type.
    pub type_: TypeExpr,
}
