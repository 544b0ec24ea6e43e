//! How values are encoded where they are cached.
//!
//! A codec compresses the bytes of one value, after filters that let them be compressed better: `delta` replaces each
//! integer by its difference to the one before it, in the same channel where there are channels; `shuffle` brings the
//! first bytes of all elements together, then the second ones, as HDF5's filter of that name does.

use crate::DType;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// What compresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Compressor {
    /// Nothing: the bytes as they are.
    #[default]
    None,
    /// LZ4 blocks.
    Lz4,
    /// Zstandard at level 1.
    Zstd1,
    /// Zstandard at level 3.
    Zstd3,
    /// Zstandard at level 9.
    Zstd9,
}

/// How the bytes of a value are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Codec {
    /// What compresses.
    pub compressor: Compressor,
    /// Whether it is differences that are compressed.
    pub delta: bool,
    /// Whether the bytes of the elements are brought together by their place.
    pub shuffle: bool,
}

/// What a codec was measured to do to the values of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CodecFigures {
    /// The codec.
    pub codec: Codec,
    /// What is left of the bytes, as a part of them.
    pub left: f64,
    /// Processor time to encode a byte, in nanoseconds.
    pub encode_ns: f64,
    /// Processor time to decode it again, per byte of the value, in nanoseconds.
    pub decode_ns: f64,
}

impl Compressor {
    /// Each, with its name.
    pub const ALL: [(Self, &str); 5] = [
        (Self::None, "none"),
        (Self::Lz4, "lz4"),
        (Self::Zstd1, "zstd1"),
        (Self::Zstd3, "zstd3"),
        (Self::Zstd9, "zstd9"),
    ];
}

impl Codec {
    /// The bytes as they are.
    pub const NONE: Self = Self { compressor: Compressor::None, delta: false, shuffle: false };

    /// Those that can do something for elements of a dtype, the one that does nothing among them.
    pub fn all_for(dtype: DType) -> Vec<Self> {
        let filters = |compressor: Compressor| {
            let both = [false, true];
            let all = both.into_iter().flat_map(move |delta| both.map(|shuffle| (delta, shuffle)));
            all.map(move |(delta, shuffle)| Self { compressor, delta, shuffle })
        };
        let all = Compressor::ALL.into_iter().flat_map(|it| filters(it.0));
        all.filter(|it| it.is_for(dtype)).collect()
    }

    /// Whether its filters can do something for elements of a dtype, and it compresses what they give.
    pub fn is_for(self, dtype: DType) -> bool {
        let filters = self.delta || self.shuffle;
        (!filters || self.compressor != Compressor::None)
            && (!self.delta || dtype.is_int())
            && (!self.shuffle || matches!(dtype.size(), 2 | 4 | 8))
    }

    /// Two bytes that stand for it in a file.
    pub fn id(self) -> [u8; 2] {
        let place = Compressor::ALL.iter().position(|it| it.0 == self.compressor);
        [place.unwrap_or_default() as u8, u8::from(self.delta) | u8::from(self.shuffle) << 1]
    }

    /// The codec that two bytes stand for.
    pub fn of_id([place, filters]: [u8; 2]) -> Option<Self> {
        let (compressor, _) = *Compressor::ALL.get(usize::from(place))?;
        let (delta, shuffle) = (filters & 1 != 0, filters & 2 != 0);
        (filters < 4).then_some(Self { compressor, delta, shuffle })
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Compressor::ALL.iter().find(|it| it.0 == self.compressor).map_or("", |it| it.1);
        f.write_str(name)?;
        f.write_str(if self.delta { "+delta" } else { "" })?;
        f.write_str(if self.shuffle { "+shuffle" } else { "" })
    }
}

impl FromStr for Codec {
    type Err = String;

    /// `none`, `lz4`, `zstd1+shuffle`, `zstd9+delta+shuffle`.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split('+');
        let name = parts.next().unwrap_or_default();
        let found = Compressor::ALL.iter().find(|it| it.1 == name);
        let filters: Vec<&str> = parts.collect();
        let (delta, shuffle) = match filters[..] {
            [] => (false, false),
            ["delta"] => (true, false),
            ["shuffle"] => (false, true),
            ["delta", "shuffle"] => (true, true),
            _ => return Err(format!("unknown codec `{text}`: {EXPECTED}")),
        };
        let Some(&(compressor, _)) = found else {
            return Err(format!("unknown codec `{text}`: {EXPECTED}"));
        };
        Ok(Self { compressor, delta, shuffle })
    }
}

/// What a codec is written as.
const EXPECTED: &str = "expected none, lz4, zstd1, zstd3 or zstd9, then +delta for integers and +shuffle for elements of 2, 4 \
                        or 8 bytes, such as zstd1+shuffle";

impl Serialize for Codec {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Codec {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_codec_is_read_as_it_is_written() {
        for dtype in [DType::U8, DType::I32, DType::F32] {
            for codec in Codec::all_for(dtype) {
                assert_eq!(codec.to_string().parse(), Ok(codec));
                assert_eq!(Codec::of_id(codec.id()), Some(codec));
            }
        }
        let count = |dtype| Codec::all_for(dtype).len();
        assert_eq!([DType::U8, DType::F32, DType::I32].map(count), [9, 9, 17]);
        for wrong in ["gzip", "zstd1+4", "lz4+shuffle+delta", "", "zstd2"] {
            assert!(wrong.parse::<Codec>().unwrap_err().contains(wrong));
        }
        assert_eq!((Codec::of_id([5, 0]), Codec::of_id([1, 4])), (None, None));
    }
}
