//! Numbers and their units.

/// A number as written: `16_384`, `1e-3`, `6.4kHz`.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// As written, without the unit.
    pub text: String,
    /// Its value, before the unit is reckoned in.
    pub value: Value,
    /// Its unit.
    pub unit: Option<Unit>,
}

impl Number {
    /// The value in the base of its dimension (seconds, hertz, bytes; the number itself without a unit).
    #[must_use]
    pub fn scaled(&self) -> f64 {
        self.value.as_f64() * self.unit.map_or(1.0, Unit::factor)
    }
}

/// The value of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Written without point and exponent.
    Int(u64),
    /// Written with one of them.
    Float(f64),
}

impl Value {
    /// The value as a float, rounded to nearest.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "rounding to nearest is what is promised")]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Int(it) => it as f64,
            Self::Float(it) => it,
        }
    }
}

/// What a unit measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dimension {
    /// Reckoned in seconds.
    Time,
    /// Reckoned in hertz.
    Frequency,
    /// Reckoned in bytes.
    Bytes,
}

/// A unit: `ms`, `kHz`, `MiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Unit(u8);

/// Name, dimension, and how many of the base it is: powers of ten as in the SI, powers of two as in
/// IEC 80000-13.
static UNITS: [(&str, Dimension, f64); 18] = [
    ("ns", Dimension::Time, 1e-9),
    ("us", Dimension::Time, 1e-6),
    ("ms", Dimension::Time, 1e-3),
    ("s", Dimension::Time, 1.0),
    ("min", Dimension::Time, 60.0),
    ("h", Dimension::Time, 3600.0),
    ("Hz", Dimension::Frequency, 1.0),
    ("kHz", Dimension::Frequency, 1e3),
    ("MHz", Dimension::Frequency, 1e6),
    ("B", Dimension::Bytes, 1.0),
    ("kB", Dimension::Bytes, 1e3),
    ("MB", Dimension::Bytes, 1e6),
    ("GB", Dimension::Bytes, 1e9),
    ("TB", Dimension::Bytes, 1e12),
    ("KiB", Dimension::Bytes, 1024.0),
    ("MiB", Dimension::Bytes, 1_048_576.0),
    ("GiB", Dimension::Bytes, 1_073_741_824.0),
    ("TiB", Dimension::Bytes, 1_099_511_627_776.0),
];

impl Unit {
    /// The unit of this name, exactly as written.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        (0u8..).zip(&UNITS).find(|(_, row)| row.0 == name).map(|(at, _)| Self(at))
    }

    /// All names, for messages and editors.
    pub fn names() -> impl Iterator<Item = &'static str> {
        UNITS.iter().map(|it| it.0)
    }

    /// As it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        UNITS[usize::from(self.0)].0
    }

    /// What it measures.
    #[must_use]
    pub fn dimension(self) -> Dimension {
        UNITS[usize::from(self.0)].1
    }

    /// How many seconds, hertz or bytes it is.
    #[must_use]
    pub fn factor(self) -> f64 {
        UNITS[usize::from(self.0)].2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_reckon_in_their_base() {
        let rate =
            Number { text: "6.4".into(), value: Value::Float(6.4), unit: Unit::named("kHz") };
        assert_eq!(rate.scaled(), 6400.0);
        assert_eq!(Unit::named("khz"), None);
        assert!(Unit::names().all(|it| Unit::named(it).is_some_and(|unit| unit.name() == it)));
    }
}
