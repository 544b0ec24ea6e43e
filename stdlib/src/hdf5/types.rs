//! What the elements of a dataset are, by the bytes of its datatype message (HDF5 File Format Specification, IV.A.2.d).

use crate::tables::arrays::to_native;
use hdf5_reader::{Datatype, StringPadding, StringSize, VarLenKind};
use plan::DType;
use std::fmt;

/// What an element is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    /// Numbers: one, or those of an array with these extents.
    Numbers {
        /// What each is.
        dtype: DType,
        /// The extents.
        shape: Vec<u64>,
        /// Whether its first byte is the highest one.
        is_big_endian: bool,
    },
    /// Text of a fixed length, filled up in this way.
    FixedText(StringPadding),
    /// Bytes of a fixed length.
    FixedBytes,
    /// Text of any length.
    Text,
    /// Bytes of any length: what is written as lists of `uint8`.
    Bytes,
    /// Lists of numbers.
    List {
        /// What each is.
        dtype: DType,
        /// Whether its first byte is the highest one.
        is_big_endian: bool,
    },
}

/// Extents of an array that an element is, at the most.
const AXES_MAX: usize = 8;

impl Kind {
    /// What the crate says of a type, and its message; else what it is that cannot be read.
    pub(super) fn of(ty: &Datatype, message: &[u8]) -> Result<Self, String> {
        let number = |what: &str| {
            let found = Numbers::of(message, 0);
            found.ok_or_else(|| format!("{what} of an unusual layout"))
        };
        let kind = |it: Numbers| Self::Numbers {
            dtype: it.dtype,
            shape: it.shape,
            is_big_endian: it.is_big_endian,
        };
        Ok(match ty {
            Datatype::FixedPoint { size, .. } => {
                kind(number(&format!("integers in {size} bytes"))?)
            }
            Datatype::FloatingPoint { size, .. } => {
                kind(number(&format!("floats in {size} bytes"))?)
            }
            Datatype::Bitfield { .. } => kind(number("bits")?),
            Datatype::Enum { members, .. } => {
                let mut found = number("an enumeration")?;
                // What h5py makes of booleans.
                let is = |name: &str, value: u8| {
                    members.iter().any(|it| it.name == name && it.value == [value])
                };
                if members.len() == 2 && is("FALSE", 0) && is("TRUE", 1) {
                    found.dtype = DType::Bool;
                }
                kind(found)
            }
            Datatype::Array { .. } => kind(number("an array")?),
            Datatype::String { size: StringSize::Fixed(_), padding, .. } => {
                Self::FixedText(*padding)
            }
            Datatype::String { size: StringSize::Variable, .. }
            | Datatype::VarLen { kind: VarLenKind::String, .. } => Self::Text,
            Datatype::VarLen { kind: VarLenKind::Sequence, .. } => {
                let item = message.get(8..).and_then(|it| Numbers::of(it, 0));
                let item = item.filter(|it| it.shape.is_empty());
                let item = item.ok_or("lists of anything but numbers")?;
                match item.dtype {
                    DType::U8 => Self::Bytes,
                    dtype => Self::List { dtype, is_big_endian: item.is_big_endian },
                }
            }
            Datatype::Opaque { tag, .. } if tag == "HDF5_TIME" => return Err("times".to_owned()),
            Datatype::Opaque { .. } => Self::FixedBytes,
            Datatype::Compound { .. } => return Err("records of several members".to_owned()),
            Datatype::Reference { .. } => return Err("references".to_owned()),
            Datatype::VarLen { .. } => return Err("lists of an unknown kind".to_owned()),
        })
    }

    /// Whether the elements lie in the dataset; else it holds where they are.
    pub(crate) fn has_fixed_length(&self) -> bool {
        matches!(self, Self::Numbers { .. } | Self::FixedText(_) | Self::FixedBytes)
    }

    /// Turns elements round, where the processor has them so.
    pub(super) fn to_native(&self, elements: &mut [u8]) {
        if let Self::Numbers { dtype, is_big_endian, .. } = self {
            to_native(*dtype, *is_big_endian, elements);
        }
        if let Self::Numbers { dtype: DType::Bool, .. } = self {
            elements.iter_mut().for_each(|it| *it = u8::from(*it != 0));
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Numbers { dtype, shape, .. } if shape.is_empty() => write!(f, "`{dtype}`"),
            Self::Numbers { dtype, shape, .. } => {
                let extents: Vec<String> = shape.iter().map(ToString::to_string).collect();
                write!(f, "arrays, `{dtype}[{}]` each", extents.join(", "))
            }
            Self::FixedText(_) => f.write_str("text of a fixed length"),
            Self::FixedBytes => f.write_str("bytes of a fixed length"),
            Self::Text => f.write_str("text of any length"),
            Self::Bytes => f.write_str("lists of `u8`"),
            Self::List { dtype, .. } => write!(f, "lists of `{dtype}`"),
        }
    }
}

/// A text without what it is filled up with.
pub(crate) fn without_padding(text: &[u8], padding: StringPadding) -> &[u8] {
    let is_filling = |it: &u8| match padding {
        StringPadding::SpacePad => *it == b' ',
        _ => *it == 0,
    };
    match padding {
        StringPadding::NullTerminate => text.split(|it| *it == 0).next().unwrap_or_default(),
        _ => &text[..text.iter().rposition(|it| !is_filling(it)).map_or(0, |it| it + 1)],
    }
}

/// What a message says of numbers.
struct Numbers {
    dtype: DType,
    shape: Vec<u64>,
    is_big_endian: bool,
}

impl Numbers {
    /// By a message whose numbers lie as a processor has them.
    fn of(message: &[u8], depth: usize) -> Option<Self> {
        let (head, rest) = message.split_first_chunk::<8>()?;
        let (class, version, flags) = (head[0] & 15, head[0] >> 4, head[1]);
        let size = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
        let is_big_endian = flags & 1 != 0;
        let one = |dtype| Some(Self { dtype, shape: Vec::new(), is_big_endian });
        match class {
            // Whole numbers, and bits.
            0 | 4 => {
                let [a, b, c, d] = *rest.first_chunk::<4>()?;
                let (offset, bits) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
                if offset != 0 || u32::from(bits) != size.checked_mul(8)? {
                    return None;
                }
                one(match (size, class == 0 && flags & 8 != 0) {
                    (1, false) => DType::U8,
                    (2, false) => DType::U16,
                    (4, false) => DType::U32,
                    (8, false) => DType::U64,
                    (1, true) => DType::I8,
                    (2, true) => DType::I16,
                    (4, true) => DType::I32,
                    (8, true) => DType::I64,
                    _ => return None,
                })
            }
            1 => {
                let [a, b, c, d, parts @ ..] = *rest.first_chunk::<12>()?;
                let (offset, bits) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
                let [exponent_at, exponent, mantissa_at, mantissa, bias @ ..] = parts;
                let is_usual = offset == 0
                    && u32::from(bits) == size.checked_mul(8)?
                    && mantissa_at == 0
                    && exponent_at == mantissa
                    && u16::from(head[2]) + 1 == bits
                    // The first bit of the mantissa is not stored.
                    && flags >> 4 & 3 == 2
                    && flags & 0x40 == 0;
                let dtype = match (size, exponent, mantissa, u32::from_le_bytes(bias)) {
                    (2, 5, 10, 15) => DType::F16,
                    (2, 8, 7, 127) => DType::BF16,
                    (4, 8, 23, 127) => DType::F32,
                    (8, 11, 52, 1023) => DType::F64,
                    _ => return None,
                };
                if is_usual { one(dtype) } else { None }
            }
            // An enumeration is numbers.
            8 if depth == 0 => Self::of(rest, depth + 1),
            10 if depth == 0 => {
                let (n, rest) = rest.split_first()?;
                let n = usize::from(*n);
                // Up to version 2, the extents are padded, and a permutation follows them.
                let (before, behind) = if version < 3 { (3, 4 * n) } else { (0, 0) };
                let extents = rest.get(before..)?.get(..4 * n)?;
                let base = Self::of(rest.get(before + 4 * n + behind..)?, depth + 1)?;
                if n == 0 || n > AXES_MAX {
                    return None;
                }
                let extents = extents.as_chunks().0.iter();
                let shape = extents.map(|it| u64::from(u32::from_le_bytes(*it))).collect();
                Some(Self { shape, ..base })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_left_out() {
        use StringPadding::{NullPad, NullTerminate, SpacePad};
        assert_eq!(without_padding(b"a\0b\0", NullTerminate), b"a");
        assert_eq!(without_padding(b"a\0b\0", NullPad), b"a\0b");
        assert_eq!(without_padding(b"a b  ", SpacePad), b"a b");
        assert_eq!(without_padding(b"\0\0", NullPad), b"");
        assert_eq!(without_padding(b"", NullTerminate), b"");
    }
}
