//! What a value is: dtypes, extents, tensors, records, lists.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The type of one element of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub enum DType {
    Bool,
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    F16,
    BF16,
    F32,
    F64,
    /// Text, UTF-8.
    Str,
    /// Bytes without a meaning of their own, such as a file's.
    Bytes,
}

impl DType {
    /// All of them, as they are written in the language.
    pub const ALL: [(DType, &'static str); 15] = [
        (DType::Bool, "bool"),
        (DType::U8, "u8"),
        (DType::U16, "u16"),
        (DType::U32, "u32"),
        (DType::U64, "u64"),
        (DType::I8, "i8"),
        (DType::I16, "i16"),
        (DType::I32, "i32"),
        (DType::I64, "i64"),
        (DType::F16, "f16"),
        (DType::BF16, "bf16"),
        (DType::F32, "f32"),
        (DType::F64, "f64"),
        (DType::Str, "str"),
        (DType::Bytes, "bytes"),
    ];

    /// The dtype that is written `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, it)| *it == name).map(|(it, _)| *it)
    }

    /// As it is written in the language.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Bytes of one element; 1 for text and bytes, which are counted in bytes.
    pub fn size(self) -> usize {
        match self {
            Self::Bool | Self::U8 | Self::I8 | Self::Str | Self::Bytes => 1,
            Self::U16 | Self::I16 | Self::F16 | Self::BF16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    /// Whether values are text or bytes, of any length.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Str | Self::Bytes)
    }

    /// Whether it is one of the floating-point types.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::BF16 | Self::F32 | Self::F64)
    }

    /// Whether it is one of the integer types.
    pub fn is_int(self) -> bool {
        !self.is_float() && !self.is_text() && self != Self::Bool
    }

    /// Whether it has such an integer; a float has all up to its largest number, though not each exactly.
    pub fn holds_int(self, value: i64) -> bool {
        match self {
            Self::U8 => u8::try_from(value).is_ok(),
            Self::U16 => u16::try_from(value).is_ok(),
            Self::U32 => u32::try_from(value).is_ok(),
            Self::U64 => value >= 0,
            Self::I8 => i8::try_from(value).is_ok(),
            Self::I16 => i16::try_from(value).is_ok(),
            Self::I32 => i32::try_from(value).is_ok(),
            Self::F16 | Self::BF16 | Self::F32 | Self::F64 => self.holds_float(value as f64),
            Self::I64 | Self::Bool | Self::Str | Self::Bytes => true,
        }
    }

    /// Whether a number, finite or not, is one of a float that is not larger than the largest (IEEE 754: 65,504 for
    /// `f16`).
    pub fn holds_float(self, value: f64) -> bool {
        let largest = match self {
            Self::F16 => 65_504.0,
            // The largest `f32` whose lower half is zero.
            Self::BF16 => f64::from(f32::from_bits(0x7f7f_0000)),
            Self::F32 => f64::from(f32::MAX),
            _ => f64::MAX,
        };
        !value.is_finite() || value.abs() <= largest
    }

    /// Whether it has a sign.
    pub fn is_signed(self) -> bool {
        self.is_float() || matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How long one axis of a tensor is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Extent {
    /// So long, in every record.
    Known(u64),
    /// As long as every other axis of that name in the same record.
    Named(String),
    /// Any length, free to differ from record to record.
    Unknown,
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(n) => write!(f, "{n}"),
            Self::Named(name) => f.write_str(name),
            Self::Unknown => f.write_str("?"),
        }
    }
}

/// Bytes that one value may have.
pub const VALUE_BYTES_MAX: usize = 1 << 30;
/// Bytes of a batch, or of anything else that operators put together, beyond the memory of any host.
pub const PLAUSIBLE_BYTES_MAX: usize = 1 << 42;

/// The type of a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Type {
    /// A tensor; a scalar has no axes.
    Tensor {
        /// Of each element.
        dtype: DType,
        /// The axes, outermost first.
        shape: Vec<Extent>,
    },
    /// Named fields, in order.
    Record(#[serde(deserialize_with = "crate::nesting::bounded")] Vec<Field>),
    /// Data that came without a type; `as` says what they are.
    Untyped(Untyped),
}

/// How what untyped data hold is found in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Untyped {
    /// JSON text.
    Json,
    /// A message `tf.train.Example`: features by name.
    Example,
    /// A message `tf.train.SequenceExample`: features by name, and lists of features by name.
    Sequence,
    /// A message `tf.train.Feature`: numbers, or texts.
    Feature,
    /// A byte, 0 for a message `tf.train.Feature` and 1 for a `tf.train.FeatureList`, and the message.
    SequenceFeature,
    /// Members of a tar archive with their headers, one after the other.
    Members,
    /// Bytes of anything, such as one member's.
    Bytes,
    /// An array of NumPy: a file as `np.save` writes it.
    Npy,
    /// The path of an HDF5 file: datasets by name, which are read when their type is said.
    Hdf5,
    /// Where a dataset of such a file lies, or some of its rows: the path, the name and the part, each behind a zero byte.
    Dataset,
}

impl Untyped {
    /// How they are held.
    pub fn dtype(self) -> DType {
        if self == Self::Json { DType::Str } else { DType::Bytes }
    }

    /// Whether they are still in a file, and are read when their type is said.
    pub fn lies_in_file(self) -> bool {
        matches!(self, Self::Hdf5 | Self::Dataset)
    }
}

/// A named value of a record.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Field {
    /// As it is written, dotted where records are nested.
    pub name: String,
    /// What it holds.
    pub ty: Type,
}

impl Type {
    /// A tensor without axes.
    pub fn scalar(dtype: DType) -> Self {
        Self::Tensor { dtype, shape: Vec::new() }
    }

    /// A tensor whose every extent is known.
    pub fn tensor(dtype: DType, shape: &[u64]) -> Self {
        Self::Tensor { dtype, shape: shape.iter().map(|&it| Extent::Known(it)).collect() }
    }

    /// Whether it came without a type.
    pub fn is_untyped(&self) -> bool {
        matches!(self, Self::Untyped(_))
    }

    /// The dtype of a tensor; untyped data are text, or bytes.
    pub fn dtype(&self) -> Option<DType> {
        match self {
            Self::Tensor { dtype, .. } => Some(*dtype),
            Self::Untyped(it) => Some(it.dtype()),
            Self::Record(_) => None,
        }
    }

    /// The axes of a tensor.
    pub fn shape(&self) -> Option<&[Extent]> {
        match self {
            Self::Tensor { shape, .. } => Some(shape),
            Self::Untyped(_) => Some(&[]),
            Self::Record(_) => None,
        }
    }

    /// Whether a value is the texts of a batch, `str[n]` or `bytes[n]`: `batch` makes them, and nothing computes on
    /// them.
    pub fn is_texts(&self) -> bool {
        matches!(self, Self::Tensor { dtype, shape } if dtype.is_text() && !shape.is_empty())
    }

    /// The extents, where every one is known and values are not text.
    pub fn fixed(&self) -> Option<Vec<usize>> {
        let (dtype, shape) = (self.dtype()?, self.shape()?);
        let extent = |it: &Extent| match it {
            Extent::Known(n) => usize::try_from(*n).ok(),
            _ => None,
        };
        if dtype.is_text() { None } else { shape.iter().map(extent).collect() }
    }

    /// Bytes of one value, where that is the same for every record.
    pub fn fixed_bytes(&self) -> Option<usize> {
        let size = self.dtype()?.size();
        self.fixed()?.iter().try_fold(size, |bytes, &it| bytes.checked_mul(it))
    }
}

/// A number of bytes for people: `40 GB`, `1.5 MB`.
pub fn shown_bytes(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    // What would be rounded up to 1,000 is one of the next unit.
    while value >= 999.5 && unit + 1 < UNITS.len() {
        (value, unit) = (value / 1000.0, unit + 1);
    }
    let digits = usize::from(unit > 0 && value < 9.95 && (value * 10.0).round() % 10.0 != 0.0);
    format!("{value:.digits$} {}", UNITS[unit])
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tensor { dtype, shape } if shape.is_empty() => write!(f, "{dtype}"),
            Self::Tensor { dtype, shape } => write!(f, "{dtype}[{}]", Commas(shape)),
            Self::Record(fields) => write!(f, "{{ {} }}", Commas(fields)),
            Self::Untyped(_) => f.write_str("untyped"),
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.ty)
    }
}

/// Shows things with commas between them.
pub struct Commas<'a, T>(pub &'a [T]);

impl<T: fmt::Display> fmt::Display for Commas<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, it) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{it}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_plain_units() {
        let shown = [0, 999, 1_000, 1_549, 9_960, 40_000_000_000, 1 << 63].map(shown_bytes);
        assert_eq!(shown, ["0 B", "999 B", "1 kB", "1.5 kB", "10 kB", "40 GB", "9.2 EB"]);
    }
}
