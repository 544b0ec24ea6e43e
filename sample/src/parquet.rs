//! The smallest Parquet file that holds a table: one row group, one page a column, no compression, no nulls.
//!
//! `parquet.thrift` of apache/parquet-format says what the structures are, and Thrift's compact protocol how they are
//! written. So the crate needs no library for columns.

/// A column, with a value for each row.
pub(crate) enum Column {
    Text(Vec<String>),
    Ints(Vec<i64>),
    Floats(Vec<f64>),
}

/// Physical types, and the converted type of strings.
const INT64: i64 = 2;
const DOUBLE: i64 = 5;
const BYTE_ARRAY: i64 = 6;
const UTF8: i64 = 0;
/// An encoding and a kind of page.
const PLAIN: i64 = 0;
const RLE: i64 = 3;
const DATA_PAGE: i64 = 0;
const MAGIC: &[u8] = b"PAR1";

/// The bytes of a file with these columns, which have equally many rows.
pub(crate) fn file(columns: &[(&str, Column)]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    let n_rows = columns.first().map_or(0, |it| it.1.len()) as i64;
    let mut chunks = Vec::new();
    let mut n_bytes = 0;
    for (name, column) in columns {
        assert_eq!(column.len() as i64, n_rows, "a column of another length");
        let (from, values) = (bytes.len() as i64, column.plain());
        bytes.extend(page_header(n_rows, values.len() as i64));
        bytes.extend(values);
        let size = bytes.len() as i64 - from;
        n_bytes += size;
        chunks.push((*name, column, from, size));
    }
    let footer = footer(&chunks, n_rows, n_bytes);
    bytes.extend(&footer);
    bytes.extend((footer.len() as u32).to_le_bytes());
    bytes.extend(MAGIC);
    bytes
}

impl Column {
    fn len(&self) -> usize {
        match self {
            Self::Text(all) => all.len(),
            Self::Ints(all) => all.len(),
            Self::Floats(all) => all.len(),
        }
    }

    fn physical(&self) -> i64 {
        match self {
            Self::Text(_) => BYTE_ARRAY,
            Self::Ints(_) => INT64,
            Self::Floats(_) => DOUBLE,
        }
    }

    fn plain(&self) -> Vec<u8> {
        match self {
            Self::Text(all) => {
                let each = |it: &String| [&(it.len() as u32).to_le_bytes(), it.as_bytes()].concat();
                all.iter().flat_map(each).collect()
            }
            Self::Ints(all) => all.iter().flat_map(|it| it.to_le_bytes()).collect(),
            Self::Floats(all) => all.iter().flat_map(|it| it.to_le_bytes()).collect(),
        }
    }
}

fn page_header(n_rows: i64, size: i64) -> Vec<u8> {
    let mut header = Struct::default();
    header.int(1, DATA_PAGE, I32);
    header.int(2, size, I32);
    header.int(3, size, I32);
    let mut page = Struct::default();
    page.int(1, n_rows, I32);
    page.int(2, PLAIN, I32);
    page.int(3, RLE, I32);
    page.int(4, RLE, I32);
    header.nested(5, page);
    header.finish()
}

fn footer(chunks: &[(&str, &Column, i64, i64)], n_rows: i64, n_bytes: i64) -> Vec<u8> {
    let mut root = Struct::default();
    root.text(4, "schema");
    root.int(5, chunks.len() as i64, I32);
    let mut schema = vec![root.finish()];
    schema.extend(chunks.iter().map(|(name, column, ..)| {
        let mut element = Struct::default();
        element.int(1, column.physical(), I32);
        // Required: there are no nulls.
        element.int(3, 0, I32);
        element.text(4, name);
        if matches!(column, Column::Text(_)) {
            element.int(6, UTF8, I32);
        }
        element.finish()
    }));
    let columns = chunks.iter().map(|(name, column, from, size)| {
        let mut about = Struct::default();
        about.int(1, column.physical(), I32);
        about.list(2, I32, &[varint(zigzag(PLAIN)), varint(zigzag(RLE))]);
        about.list(3, BINARY, &[text(name)]);
        about.int(4, 0, I32);
        about.int(5, n_rows, I64);
        about.int(6, *size, I64);
        about.int(7, *size, I64);
        about.int(9, *from, I64);
        let mut chunk = Struct::default();
        chunk.int(2, *from, I64);
        chunk.nested(3, about);
        chunk.finish()
    });
    let mut group = Struct::default();
    group.list(1, STRUCT, &columns.collect::<Vec<_>>());
    group.int(2, n_bytes, I64);
    group.int(3, n_rows, I64);

    let mut footer = Struct::default();
    footer.int(1, 1, I32);
    footer.list(2, STRUCT, &schema);
    footer.int(3, n_rows, I64);
    footer.list(4, STRUCT, &[group.finish()]);
    footer.text(6, "pipec sample");
    footer.finish()
}

/// Types of the compact protocol.
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A structure of the compact protocol; its fields come in the order of their ids.
#[derive(Default)]
struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

impl Struct {
    fn field(&mut self, id: u8, ty: u8) {
        // Ids are less than 16 apart, so a byte says both.
        self.bytes.push((id - self.last) << 4 | ty);
        self.last = id;
    }

    fn int(&mut self, id: u8, value: i64, ty: u8) {
        self.field(id, ty);
        self.bytes.extend(varint(zigzag(value)));
    }

    fn text(&mut self, id: u8, value: &str) {
        self.field(id, BINARY);
        self.bytes.extend(text(value));
    }

    fn nested(&mut self, id: u8, value: Struct) {
        self.field(id, STRUCT);
        self.bytes.extend(value.finish());
    }

    fn list(&mut self, id: u8, ty: u8, all: &[Vec<u8>]) {
        self.field(id, LIST);
        match u8::try_from(all.len()) {
            Ok(n @ 0..15) => self.bytes.push(n << 4 | ty),
            _ => {
                self.bytes.push(0xf0 | ty);
                self.bytes.extend(varint(all.len() as u64));
            }
        }
        self.bytes.extend(all.concat());
    }

    fn finish(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

fn text(value: &str) -> Vec<u8> {
    [varint(value.len() as u64), value.as_bytes().to_vec()].concat()
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}
