//! `.npy`: a header that says dtype and shape, then the elements; version 1 to 3 of NumPy's format
//! (`numpy.lib.format`, <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>).

use std::fmt;
use std::path::Path;

use plan::{Commas, DType, shown_bytes};
use runtime::MAX_RANK;

use super::framing::{BinaryFormat, HEADER_MAX, RECORD_MAX};
use super::{FileError, RecordFault, index::read_header};

/// What every file begins with.
const MAGIC: &[u8] = b"\x93NUMPY";

/// What the header of a file says of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Array {
    /// Of the elements.
    pub dtype: DType,
    /// Whether their first byte is the highest one.
    pub is_big_endian: bool,
    /// Whether the first axis varies fastest, where that makes a difference.
    pub is_fortran: bool,
    /// Its extents.
    pub shape: Vec<u64>,
    /// Bytes of the header itself.
    pub len: u64,
}

/// The same of one that is read row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Of the elements.
    pub dtype: DType,
    /// Whether their first byte is the highest one.
    pub is_big_endian: bool,
    /// Extent of the first axis.
    pub rows: u64,
    /// The others.
    pub row: Vec<usize>,
    /// Bytes of a row: at least one, at most [`RECORD_MAX`].
    pub row_bytes: usize,
    /// Bytes of the header itself.
    pub(crate) len: u64,
}

/// Files whose rows are like those of a first one.
#[derive(Debug)]
pub struct Npy(pub Header);

/// What the header of a file says.
///
/// # Errors
/// It cannot be read, or says something else than numbers in C order with a first axis.
pub fn header_of(path: &Path) -> Result<Header, FileError> {
    read_header(path, |bytes, _| Header::parse(bytes)).map(|it| it.0)
}

impl BinaryFormat for Npy {
    fn size(&self) -> Option<u64> {
        Some(self.0.row_bytes as u64)
    }

    fn header(&self, bytes: &[u8], len: Option<u64>) -> Result<Option<u64>, RecordFault> {
        let Some(header) = Header::parse(bytes)? else { return Ok(None) };
        if (header.dtype, &header.row, header.is_big_endian)
            != (self.0.dtype, &self.0.row, self.0.is_big_endian)
        {
            let message =
                format!("its rows are {}, but those of the first file are {}", header, self.0);
            return Err(RecordFault::new(message, "write all files alike, or name others"));
        }
        header.check_len(len)?;
        Ok(Some(header.len))
    }

    fn record<'r>(&self, raw: &'r [u8]) -> Result<(String, &'r [u8]), RecordFault> {
        if raw.len() == self.0.row_bytes {
            return Ok((String::new(), raw));
        }
        let message = format!("the row ends after {} of {} bytes", raw.len(), self.0.row_bytes);
        Err(RecordFault::new(message, "make sure that nothing writes to the file meanwhile"))
    }
}

/// The type of a row: `f32[3, 4] in big endian`.
impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.dtype)?;
        if !self.row.is_empty() {
            write!(f, "[{}]", Commas(&self.row))?;
        }
        f.write_str(if self.is_big_endian { " in big endian" } else { "" })
    }
}

impl Array {
    /// Reads the header that a file begins with; none where there are too few bytes to tell.
    ///
    /// # Errors
    /// It is no such header, or of elements that are not read.
    pub fn parse(bytes: &[u8]) -> Result<Option<Array>, RecordFault> {
        let start = &bytes[..bytes.len().min(MAGIC.len())];
        if !MAGIC.starts_with(start) {
            let help = "check the pattern; `npz` reads `.npz` archives";
            return Err(RecordFault::new("this is not a `.npy` file", help));
        }
        let (Some(version), Some(rest)) = (bytes.get(6), bytes.get(8..)) else { return Ok(None) };
        let n_bytes = match version {
            1 => rest.first_chunk().map(|it| (10, u64::from(u16::from_le_bytes(*it)))),
            2 | 3 => rest.first_chunk().map(|it| (12, u64::from(u32::from_le_bytes(*it)))),
            other => return Err(unsupported(&format!("version {other} of the format"))),
        };
        let Some((begin, n_bytes)) = n_bytes else { return Ok(None) };
        let len = begin + n_bytes;
        if len > HEADER_MAX as u64 {
            let of = (shown_bytes(len), shown_bytes(HEADER_MAX as u64));
            return Err(damaged(&format!("it says that it has {}, and at most {}", of.0, of.1)));
        }
        let Some(text) = bytes.get(begin as usize..len as usize) else { return Ok(None) };
        let text = str::from_utf8(text).map_err(|_| damaged("it is not text"))?;
        Said::parse(text).ok_or_else(|| damaged(text.trim_end()))?.array(len).map(Some)
    }
}

impl Header {
    /// Reads the header that a file begins with; none where there are too few bytes to tell.
    ///
    /// # Errors
    /// It is no such header, or of what has no rows that are read one by one.
    pub fn parse(bytes: &[u8]) -> Result<Option<Header>, RecordFault> {
        Array::parse(bytes)?.map(Header::of).transpose()
    }

    fn of(array: Array) -> Result<Header, RecordFault> {
        let Array { dtype, is_big_endian, is_fortran, shape, len } = array;
        let Some((&rows, row)) = shape.split_first() else {
            return Err(unsupported("an array without an axis"));
        };
        if row.len() >= MAX_RANK {
            return Err(unsupported(&format!("an array of {} axes", shape.len())));
        }
        if is_fortran {
            return Err(unsupported("an array in Fortran order"));
        }
        let size = row.iter().try_fold(dtype.size() as u64, |all, it| all.checked_mul(*it));
        match size {
            Some(size @ 1..) if size <= RECORD_MAX as u64 => Ok(Header {
                dtype,
                is_big_endian,
                rows,
                row: row.iter().map(|it| *it as usize).collect(),
                row_bytes: size as usize,
                len,
            }),
            Some(0) => Err(unsupported("an array of rows without elements")),
            _ => Err(unsupported(&format!("rows beyond {}", shown_bytes(RECORD_MAX as u64)))),
        }
    }

    /// Sees to it that a file has the bytes that the header promises, and no others.
    pub(crate) fn check_len(&self, len: Option<u64>) -> Result<(), RecordFault> {
        let Some(len) = len else {
            return Err(RecordFault::new(
                "it is compressed, or a pipe",
                "write it to a plain file",
            ));
        };
        let found = len.saturating_sub(self.len);
        if self.rows.checked_mul(self.row_bytes as u64) == Some(found) {
            return Ok(());
        }
        let (rows, size) = (self.rows, self.row_bytes);
        let message =
            format!("its header says {rows} rows of {size} bytes, but {found} bytes follow it");
        Err(RecordFault::new(message, "copy or write the file again"))
    }
}

fn unsupported(what: &str) -> RecordFault {
    let help = "save numbers or booleans, with a first axis, in C order: \
                `np.save(path, np.ascontiguousarray(x))`";
    RecordFault::new(format!("{what} cannot be read"), help)
}

fn damaged(what: &str) -> RecordFault {
    let what: String = what.chars().take(200).collect();
    RecordFault::new(format!("its header is damaged: {what}"), "write the file again")
}

/// The three things that a header says.
#[derive(Debug, PartialEq, Eq)]
struct Said<'t> {
    /// None of what is more than one word: the fields of a record.
    descr: Option<&'t str>,
    fortran_order: bool,
    shape: Vec<u64>,
}

impl<'t> Said<'t> {
    /// Reads a literal of Python, such as `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
    fn parse(text: &'t str) -> Option<Said<'t>> {
        let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        while !rest.is_empty() {
            let (key, value) = quoted(rest)?;
            let value = value.trim_start().strip_prefix(':')?.trim_start();
            let after = match key {
                "descr" if value.starts_with('[') => {
                    descr = Some(None);
                    // Fields of a record: brackets inside of brackets.
                    &value[value.rfind(']')? + 1..]
                }
                "descr" => {
                    let (word, after) = quoted(value)?;
                    descr = Some(Some(word));
                    after
                }
                "fortran_order" => {
                    let word = value.split(|it: char| !it.is_ascii_alphabetic()).next()?;
                    fortran_order = Some(match word {
                        "True" => true,
                        "False" => false,
                        _ => return None,
                    });
                    &value[word.len()..]
                }
                "shape" => {
                    let (inside, after) = value.strip_prefix('(')?.split_once(')')?;
                    let extents = inside.split(',').map(str::trim).filter(|it| !it.is_empty());
                    // Python 2 wrote `3L`.
                    let extent = |it: &str| it.strip_suffix('L').unwrap_or(it).parse().ok();
                    shape = Some(extents.map(extent).collect::<Option<Vec<u64>>>()?);
                    after
                }
                _ => return None,
            };
            let after = after.trim_start();
            rest = after.strip_prefix(',').or(after.is_empty().then_some(""))?.trim_start();
        }
        Some(Said { descr: descr?, fortran_order: fortran_order?, shape: shape? })
    }

    fn array(self, len: u64) -> Result<Array, RecordFault> {
        let descr = self.descr.ok_or_else(|| unsupported("an array of records"))?;
        let dtype = match descr.trim_start_matches(['<', '>', '|', '=']) {
            "b1" => DType::Bool,
            "u1" => DType::U8,
            "u2" => DType::U16,
            "u4" => DType::U32,
            "u8" => DType::U64,
            "i1" => DType::I8,
            "i2" => DType::I16,
            "i4" => DType::I32,
            "i8" => DType::I64,
            "f2" => DType::F16,
            "f4" => DType::F32,
            "f8" => DType::F64,
            _ => return Err(unsupported(&format!("an array of `{descr}`"))),
        };
        Ok(Array {
            dtype,
            is_big_endian: descr.starts_with('>') && dtype.size() > 1,
            is_fortran: self.fortran_order && self.shape.iter().filter(|it| **it > 1).count() > 1,
            shape: self.shape,
            len,
        })
    }
}

/// The text between the quotes that come first, and what follows.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|it| matches!(it, '\'' | '"'))?;
    text[1..].split_once(quote)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Result<Header, String> {
        let mut bytes = [MAGIC, &[1, 0]].concat();
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.bytes());
        for less in 0..bytes.len() {
            assert_eq!(Header::parse(&bytes[..less]), Ok(None), "{less} bytes of {text}");
        }
        Header::parse(&bytes).map(Option::unwrap).map_err(|it| it.message)
    }

    /// Headers as NumPy 2.3, 1.6 on Python 2, and other writers make them.
    #[test]
    fn headers_are_read() {
        let of = |descr, order, shape| {
            said(&format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }} \n"))
        };
        let it = of("'<f4'", "False", "(3, 4)").unwrap();
        assert_eq!((it.dtype, it.rows, &*it.row, it.row_bytes), (DType::F32, 3, &[4][..], 16));
        assert!(!it.is_big_endian);
        let it = of("'>i8'", "False", "(5,)").unwrap();
        assert_eq!((it.dtype, it.rows, it.row.len(), it.row_bytes), (DType::I64, 5, 0, 8));
        assert!(it.is_big_endian);
        let it = said("{'shape': (7L, 1L), 'fortran_order': True, 'descr': \"|b1\"}").unwrap();
        assert_eq!((it.dtype, it.rows, &*it.row), (DType::Bool, 7, &[1][..]));
        for (descr, order, shape, why) in [
            ("'<f4'", "True", "(3, 4)", "an array in Fortran order cannot be read"),
            ("'|O'", "False", "(3,)", "an array of `|O` cannot be read"),
            ("[('x', '<f4'), ('y', '<i4')]", "False", "(3,)", "an array of records cannot be read"),
            ("'<f4'", "False", "()", "an array without an axis cannot be read"),
            ("'<f4'", "False", "(3, 0)", "an array of rows without elements cannot be read"),
            ("'<f4'", "False", "(1, 1, 1, 1, 1, 1, 1)", "an array of 7 axes cannot be read"),
            ("'<f8'", "False", "(1, 8388609)", "rows beyond 67 MB cannot be read"),
            ("'<f8'", "False", "(1, 4611686018427387904)", "rows beyond 67 MB cannot be read"),
        ] {
            assert_eq!(of(descr, order, shape), Err(why.to_owned()));
        }
        for text in ["", "{", "{'descr': '<f4'}", "{'shape': (-1,), 'descr': '<f4'}", "{'x': 1}"] {
            assert!(said(text).unwrap_err().starts_with("its header is damaged"), "{text}");
        }
        assert!(Header::parse(b"PK\x03\x04").unwrap_err().help.contains("`.npz`"));
        let long = [MAGIC, &[2, 0, 0, 0, 0, 1]].concat();
        assert!(Header::parse(&long).unwrap_err().message.contains("says that it has 17 MB"));
    }
}
