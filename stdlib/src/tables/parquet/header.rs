//! The header of a page, in Thrift's compact protocol
//! (<https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>, `PageHeader`).

/// What the header of a page says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// Bytes of the header itself.
    pub(super) len: usize,
    /// Bytes of the page where it lies, and those that it becomes.
    pub(super) compressed: usize,
    pub(super) uncompressed: usize,
    /// CRC-32 of the bytes where they lie.
    pub(super) crc: Option<u32>,
    pub(super) kind: Kind,
}

/// What a page holds; encodings by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Data {
        values: u32,
        encoding: i32,
        def_levels: i32,
        rep_levels: i32,
    },
    DataV2 {
        values: u32,
        nulls: u32,
        rows: u32,
        encoding: i32,
        def_bytes: u32,
        rep_bytes: u32,
        is_compressed: bool,
    },
    Dictionary {
        values: u32,
        encoding: i32,
        is_sorted: bool,
    },
    /// Something that readers pass over.
    Other,
}

/// Why no header is to be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    /// More bytes are needed.
    Short,
    /// It is none.
    Damaged,
}

/// Structures that may lie in each other: those of a header are three deep.
const DEPTH_MAX: u32 = 8;

impl Header {
    /// The header that `bytes` begin with.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Unread> {
        let mut thrift = Thrift { bytes, at: 0 };
        let mut numbers = [None; 5];
        let (mut data, mut data_v2, mut dictionary) = (None, None, None);
        let mut last = 0;
        while let Some((id, ty)) = thrift.field(&mut last)? {
            match id {
                1..=4 if ty == I32 => numbers[id as usize] = Some(thrift.i32()?),
                5 if ty == STRUCT => data = Some(thrift.numbers()?),
                7 if ty == STRUCT => dictionary = Some(thrift.numbers()?),
                8 if ty == STRUCT => data_v2 = Some(thrift.numbers()?),
                _ => thrift.skip(ty, DEPTH_MAX)?,
            }
        }
        let bytes_of = |it: Option<i32>| {
            usize::try_from(it.ok_or(Unread::Damaged)?).map_err(|_| Unread::Damaged)
        };
        let kind = match (numbers[1], data, dictionary, data_v2) {
            (Some(0), Some(of), _, _) => Kind::Data {
                values: of.count(1)?,
                encoding: of.number(2)?,
                def_levels: of.number(3)?,
                rep_levels: of.number(4)?,
            },
            (Some(2), _, Some(of), _) => Kind::Dictionary {
                values: of.count(1)?,
                encoding: of.number(2)?,
                is_sorted: of.0[3] == Some(1),
            },
            (Some(3), _, _, Some(of)) => Kind::DataV2 {
                values: of.count(1)?,
                nulls: of.count(2)?,
                rows: of.count(3)?,
                encoding: of.number(4)?,
                def_bytes: of.count(5)?,
                rep_bytes: of.count(6)?,
                is_compressed: of.0[7] != Some(0),
            },
            (Some(0 | 2 | 3) | None, ..) => return Err(Unread::Damaged),
            _ => Kind::Other,
        };
        Ok(Self {
            len: thrift.at,
            uncompressed: bytes_of(numbers[2])?,
            compressed: bytes_of(numbers[3])?,
            crc: numbers[4].map(|it| it as u32),
            kind,
        })
    }
}

/// The numbers and booleans of a structure, by their ids.
struct Numbers([Option<i32>; 9]);

impl Numbers {
    fn number(&self, id: usize) -> Result<i32, Unread> {
        self.0[id].ok_or(Unread::Damaged)
    }

    fn count(&self, id: usize) -> Result<u32, Unread> {
        u32::try_from(self.number(id)?).map_err(|_| Unread::Damaged)
    }
}

/// Types of fields.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const STRUCT: u8 = 12;

struct Thrift<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Thrift<'_> {
    fn byte(&mut self) -> Result<u8, Unread> {
        let byte = *self.bytes.get(self.at).ok_or(Unread::Short)?;
        self.at += 1;
        Ok(byte)
    }

    fn varint(&mut self) -> Result<u64, Unread> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Unread::Damaged)
    }

    fn i64(&mut self) -> Result<i64, Unread> {
        let number = self.varint()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    fn i32(&mut self) -> Result<i32, Unread> {
        self.i64()?.try_into().map_err(|_| Unread::Damaged)
    }

    /// The next field of a structure, by its id and type; none at the end.
    fn field(&mut self, last: &mut i64) -> Result<Option<(i64, u8)>, Unread> {
        let byte = self.byte()?;
        if byte == 0 {
            return Ok(None);
        }
        *last = match byte >> 4 {
            0 => self.i64()?,
            more => last.checked_add(i64::from(more)).ok_or(Unread::Damaged)?,
        };
        Ok(Some((*last, byte & 0xf)))
    }

    /// The numbers and booleans of a structure; others are passed over.
    fn numbers(&mut self) -> Result<Numbers, Unread> {
        let (mut numbers, mut last) = (Numbers([None; 9]), 0);
        while let Some((id, ty)) = self.field(&mut last)? {
            let number = match ty {
                TRUE => 1,
                FALSE => 0,
                I32 => self.i32()?,
                _ => {
                    self.skip(ty, DEPTH_MAX)?;
                    continue;
                }
            };
            if let Some(to) = usize::try_from(id).ok().and_then(|it| numbers.0.get_mut(it)) {
                *to = Some(number);
            }
        }
        Ok(numbers)
    }

    fn skip(&mut self, ty: u8, depth: u32) -> Result<(), Unread> {
        let depth = depth.checked_sub(1).ok_or(Unread::Damaged)?;
        match ty {
            TRUE | FALSE => {}
            BYTE => self.pass(1)?,
            I16 | I32 | I64 => {
                self.varint()?;
            }
            DOUBLE => self.pass(8)?,
            BINARY => {
                let len = self.varint()?;
                self.pass(len)?;
            }
            LIST | SET => {
                let head = self.byte()?;
                let n = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                for _ in 0..n {
                    match head & 0xf {
                        // In a list a boolean has a byte.
                        TRUE | FALSE => self.pass(1)?,
                        of => self.skip(of, depth)?,
                    }
                }
            }
            STRUCT => {
                let mut last = 0;
                while let Some((_, ty)) = self.field(&mut last)? {
                    self.skip(ty, depth)?;
                }
            }
            _ => return Err(Unread::Damaged),
        }
        Ok(())
    }

    fn pass(&mut self, n: u64) -> Result<(), Unread> {
        let left = (self.bytes.len() - self.at) as u64;
        if n > left {
            return Err(Unread::Short);
        }
        self.at += n as usize;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of 3 values in 24 bytes, as parquet-mr writes it, with statistics and a field of the future.
    const DATA: &[u8] = &[
        0x15, 0x00, 0x15, 0x30, 0x15, 0x34, 0x15, 0x02, 0x1c, 0x15, 0x06, 0x15, 0x00, 0x15, 0x06,
        0x15, 0x06, 0x1c, 0x18, 0x01, b'x', 0x16, 0x02, 0x00, 0x00, 0xb9, 0x15, 0x02, 0x00,
    ];

    #[test]
    fn a_header_is_read_and_so_is_where_it_ends() {
        let kind = Kind::Data { values: 3, encoding: 0, def_levels: 3, rep_levels: 3 };
        let expected =
            Header { len: DATA.len(), compressed: 26, uncompressed: 24, crc: Some(1), kind };
        let more = [DATA, &[1, 2, 3]].concat();
        assert_eq!(Header::parse(&more), Ok(expected));
        for end in 0..DATA.len() {
            assert_eq!(Header::parse(&DATA[..end]), Err(Unread::Short), "{end}");
        }
    }

    #[test]
    fn what_is_no_header_is_refused() {
        // No kind of page; a size below nothing; structures that never end.
        for bad in [&[0_u8][..], &[0x15, 0, 0x15, 1, 0x15, 1, 0x2c, 0, 0], &[0x9c; 64]] {
            assert_eq!(Header::parse(bad), Err(Unread::Damaged), "{bad:?}");
        }
    }
}
