//! Numbers with their origin: nothing that is assumed is shown as if it were known.

use serde::{Deserialize, Serialize};
use std::ops::Add;

/// Where a number comes from, the surest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// It follows from the program.
    #[default]
    Exact,
    /// It was measured in a run of this program.
    Measured,
    /// It was measured on this machine.
    Calibrated,
    /// The library or the compiler assumes it.
    Assumed,
}

/// A number and its origin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The number; the field that holds it says of what.
    pub value: f64,
    /// Where it comes from: the least sure of all that went into it.
    pub origin: Origin,
}

impl Figure {
    /// Nothing, for sure.
    pub const ZERO: Self = Self::exact(0.0);

    /// A number that follows from the program.
    pub const fn exact(value: f64) -> Self {
        Self { value, origin: Origin::Exact }
    }

    /// A number that somebody assumed.
    pub const fn assumed(value: f64) -> Self {
        Self { value, origin: Origin::Assumed }
    }

    /// So many times as much.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self { value: self.value * factor, ..self }
    }

    /// The larger of two.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        let origin = self.origin.max(other.origin);
        Self { value: self.value.max(other.value), origin }
    }

    /// What stands before it where it is shown: `~` where it is assumed.
    pub fn mark(self) -> &'static str {
        if self.origin == Origin::Assumed && self.value != 0.0 { "~" } else { "" }
    }
}

impl Add for Figure {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        // Nothing adds no doubt.
        let origin = match (self.value == 0.0, other.value == 0.0) {
            (true, _) => other.origin,
            (_, true) => self.origin,
            _ => self.origin.max(other.origin),
        };
        Self { value: self.value + other.value, origin }
    }
}

impl std::iter::Sum for Figure {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::ZERO, Add::add)
    }
}
