//! What an expression is while it is checked: known now, or a value of the record.

use crate::ast::Dimension;
use plan::{ExprId, OpId, VarId};
use std::fmt;

/// What an expression has turned out to be.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Val {
    /// Known while compiling.
    Known(Known),
    /// Found for each record: a node of the graph.
    Expr(ExprId),
    /// Named values.
    Record(Vec<(String, Val)>),
    /// As many values as are written.
    List(Vec<Val>),
    /// As many values as are counted for each record.
    Counted {
        /// How many: a scalar i64.
        count: ExprId,
        /// What `body` calls the number.
        var: VarId,
        /// One of them.
        body: Box<Val>,
    },
    /// `a..b`, with both its ends.
    Interval(Box<Val>, Box<Val>),
    /// Records that flow.
    Stream(OpId),
    /// A message has been given.
    Broken,
}

/// A value that is known while compiling.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Known {
    Bool(bool),
    Number(Number),
    Text(String),
    /// One of some words, such as `drop`.
    Word(String),
}

/// A number with its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Number {
    pub(crate) size: Size,
    pub(crate) unit: Unit,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Size {
    Int(i64),
    Float(f64),
}

/// Powers of seconds and of bytes: hertz are seconds to the power of minus one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Unit {
    pub(crate) seconds: i8,
    pub(crate) bytes: i8,
}

impl Unit {
    pub(crate) const NONE: Self = Self { seconds: 0, bytes: 0 };

    pub(crate) fn of(dimension: Dimension) -> Self {
        match dimension {
            Dimension::Time => Self { seconds: 1, bytes: 0 },
            Dimension::Frequency => Self { seconds: -1, bytes: 0 },
            Dimension::Bytes => Self { seconds: 0, bytes: 1 },
        }
    }

    pub(crate) fn times(self, other: Self, sign: i8) -> Self {
        Self {
            seconds: self.seconds + sign * other.seconds,
            bytes: self.bytes + sign * other.bytes,
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.seconds, self.bytes) {
            (0, 0) => f.write_str("no unit"),
            (1, 0) => f.write_str("seconds"),
            (-1, 0) => f.write_str("hertz"),
            (0, 1) => f.write_str("bytes"),
            (-1, 1) => f.write_str("bytes per second"),
            (s, b) => write!(f, "s^{s} B^{b}"),
        }
    }
}

impl Number {
    pub(crate) fn int(value: i64) -> Self {
        Self { size: Size::Int(value), unit: Unit::NONE }
    }

    pub(crate) fn float(value: f64) -> Self {
        Self { size: Size::Float(value), unit: Unit::NONE }
    }

    pub(crate) fn as_f64(self) -> f64 {
        match self.size {
            Size::Int(it) => it as f64,
            Size::Float(it) => it,
        }
    }

    /// The whole number that it is, where it is one: `10s * 6.4kHz` is 64,000.
    pub(crate) fn as_int(self) -> Option<i64> {
        match self.size {
            Size::Int(it) => Some(it),
            Size::Float(it) => {
                let near = it.round();
                let whole = (it - near).abs() <= 1e-9 * near.abs().max(1.0) && near.abs() < 9e15;
                whole.then_some(near as i64)
            }
        }
    }
}

impl Val {
    pub(crate) fn int(value: i64) -> Self {
        Self::Known(Known::Number(Number::int(value)))
    }

    pub(crate) fn float(value: f64) -> Self {
        Self::Known(Known::Number(Number::float(value)))
    }

    /// Whether a part of it is computed for each record.
    pub(crate) fn is_computed(&self) -> bool {
        match self {
            Self::Expr(_) | Self::Counted { .. } => true,
            Self::List(all) => all.iter().any(Self::is_computed),
            Self::Record(fields) => fields.iter().any(|it| it.1.is_computed()),
            Self::Interval(low, high) => low.is_computed() || high.is_computed(),
            Self::Known(_) | Self::Stream(_) | Self::Broken => false,
        }
    }

    pub(crate) fn text(value: impl Into<String>) -> Self {
        Self::Known(Known::Text(value.into()))
    }

    /// Whether a message has been given about it, or about a part of it.
    pub(crate) fn is_broken(&self) -> bool {
        match self {
            Self::Broken => true,
            Self::List(all) => all.iter().any(Self::is_broken),
            Self::Record(fields) => fields.iter().any(|(_, it)| it.is_broken()),
            Self::Interval(a, b) => a.is_broken() || b.is_broken(),
            Self::Counted { body, .. } => body.is_broken(),
            Self::Known(_) | Self::Expr(_) | Self::Stream(_) => false,
        }
    }

    /// Whether it is a stream, or holds one.
    pub(crate) fn has_stream(&self) -> bool {
        match self {
            Self::Stream(_) => true,
            Self::List(all) => all.iter().any(Self::has_stream),
            Self::Record(fields) => fields.iter().any(|(_, it)| it.has_stream()),
            _ => false,
        }
    }

    /// What it is, in words of the language, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Known(Known::Bool(_)) => "a boolean",
            Self::Known(Known::Number(_)) => "a number",
            Self::Known(Known::Text(_)) => "text",
            Self::Known(Known::Word(_)) => "a word",
            Self::Expr(_) => "a value",
            Self::Record(_) => "a record",
            Self::List(_) | Self::Counted { .. } => "a list",
            Self::Interval(..) => "an interval",
            Self::Stream(_) => "a stream",
            Self::Broken => "nothing",
        }
    }
}

/// The fields of `fields`, with those of `more` written over or behind them.
pub(super) fn merged(
    mut fields: Vec<(String, Val)>,
    more: Vec<(String, Val)>,
) -> Vec<(String, Val)> {
    for (name, value) in more {
        match fields.iter_mut().find(|(it, _)| *it == name) {
            Some((_, old)) => *old = value,
            None => fields.push((name, value)),
        }
    }
    fields
}
