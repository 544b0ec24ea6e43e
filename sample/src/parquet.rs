//! The smallest Parquet files that hold a table: one page for each column of a row group, no compression.
//!
//! `parquet.thrift` of apache/parquet-format says what the structures are, and Thrift's compact protocol how they are
//! written. So the crate needs no library for columns.

/// A column, with a value for each row.
pub(crate) enum Column {
    Text(Vec<String>),
    Ints(Vec<i64>),
    Floats(Vec<f64>),
    /// Numbers of which some are not known.
    Maybe(Vec<Option<f64>>),
}

/// A row group: columns with their names, which have equally many rows.
pub(crate) type Group = Vec<(&'static str, Column)>;

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

/// The bytes of a file with these row groups, of the same columns.
pub(crate) fn file(groups: &[Group]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    let mut written = Vec::new();
    for columns in groups {
        let n_rows = columns.first().map_or(0, |it| it.1.len()) as i64;
        let mut group = Written { chunks: Vec::new(), n_rows, n_bytes: 0 };
        for (name, column) in columns {
            assert_eq!(column.len() as i64, n_rows, "a column of another length");
            let (from, page) = (bytes.len() as i64, [column.levels(), column.plain()].concat());
            bytes.extend(page_header(n_rows, page.len() as i64));
            bytes.extend(page);
            let size = bytes.len() as i64 - from;
            group.n_bytes += size;
            group.chunks.push((*name, column, from, size));
        }
        written.push(group);
    }
    let footer = footer(&written);
    bytes.extend(&footer);
    bytes.extend((footer.len() as u32).to_le_bytes());
    bytes.extend(MAGIC);
    bytes
}

/// A row group that stands in a file: its columns, with where each begins and how many bytes it has.
struct Written<'a> {
    chunks: Vec<(&'a str, &'a Column, i64, i64)>,
    n_rows: i64,
    n_bytes: i64,
}

impl Column {
    fn len(&self) -> usize {
        match self {
            Self::Text(all) => all.len(),
            Self::Ints(all) => all.len(),
            Self::Floats(all) => all.len(),
            Self::Maybe(all) => all.len(),
        }
    }

    fn physical(&self) -> i64 {
        match self {
            Self::Text(_) => BYTE_ARRAY,
            Self::Ints(_) => INT64,
            Self::Floats(_) | Self::Maybe(_) => DOUBLE,
        }
    }

    /// Which rows have a value, where some have none: runs of eight bits, and how many bytes that is.
    fn levels(&self) -> Vec<u8> {
        let Self::Maybe(all) = self else { return Vec::new() };
        let bits = |of: &[Option<f64>]| {
            let bit = |(at, it): (usize, &Option<f64>)| u8::from(it.is_some()) << at;
            of.iter().enumerate().map(bit).sum::<u8>()
        };
        let bytes: Vec<u8> = all.chunks(8).map(bits).collect();
        let run = [varint((bytes.len() as u64) << 1 | 1), bytes].concat();
        [(run.len() as u32).to_le_bytes().to_vec(), run].concat()
    }

    /// What readers leave out row groups by: the least and the greatest number, and how many there are not.
    fn statistics(&self) -> Option<Struct> {
        let bounds = |all: &mut dyn Iterator<Item = f64>| {
            let (least, most) =
                all.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), it| (a.min(it), b.max(it)));
            (least <= most).then(|| (least.to_le_bytes(), most.to_le_bytes()))
        };
        let (least, most) = match self {
            Self::Text(_) => None,
            Self::Ints(all) => {
                let ends = all.iter().min().zip(all.iter().max());
                ends.map(|(a, b)| (a.to_le_bytes(), b.to_le_bytes()))
            }
            Self::Floats(all) => bounds(&mut all.iter().copied()),
            Self::Maybe(all) => bounds(&mut all.iter().flatten().copied()),
        }?;
        let nulls = match self {
            Self::Maybe(all) => all.iter().filter(|it| it.is_none()).count(),
            _ => 0,
        };
        let mut statistics = Struct::default();
        statistics.int(3, nulls as i64, I64);
        statistics.bytes(5, &most);
        statistics.bytes(6, &least);
        Some(statistics)
    }

    fn plain(&self) -> Vec<u8> {
        match self {
            Self::Text(all) => {
                let each = |it: &String| [&(it.len() as u32).to_le_bytes(), it.as_bytes()].concat();
                all.iter().flat_map(each).collect()
            }
            Self::Ints(all) => all.iter().flat_map(|it| it.to_le_bytes()).collect(),
            Self::Floats(all) => all.iter().flat_map(|it| it.to_le_bytes()).collect(),
            Self::Maybe(all) => all.iter().flatten().flat_map(|it| it.to_le_bytes()).collect(),
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

fn footer(groups: &[Written<'_>]) -> Vec<u8> {
    let chunks: &[_] = groups.first().map_or(&[], |it| &it.chunks);
    let n_rows = groups.iter().map(|it| it.n_rows).sum();
    let mut root = Struct::default();
    root.text(4, "schema");
    root.int(5, chunks.len() as i64, I32);
    let mut schema = vec![root.finish()];
    schema.extend(chunks.iter().map(|(name, column, ..)| {
        let mut element = Struct::default();
        element.int(1, column.physical(), I32);
        // Required, or optional.
        element.int(3, i64::from(matches!(column, Column::Maybe(_))), I32);
        element.text(4, name);
        if matches!(column, Column::Text(_)) {
            element.int(6, UTF8, I32);
        }
        element.finish()
    }));
    // Of one row group nothing is left out.
    let compares = groups.len() > 1;
    let groups: Vec<_> = groups.iter().map(|it| row_group(it, compares)).collect();
    let mut by_type = Struct::default();
    by_type.nested(1, Struct::default());
    // Numbers are compared as such.
    let orders = vec![by_type.finish(); chunks.len()];

    let mut footer = Struct::default();
    footer.int(1, 1, I32);
    footer.list(2, STRUCT, &schema);
    footer.int(3, n_rows, I64);
    footer.list(4, STRUCT, &groups);
    footer.text(6, "pipec sample");
    if compares {
        footer.list(7, STRUCT, &orders);
    }
    footer.finish()
}

fn row_group(Written { chunks, n_rows, n_bytes }: &Written<'_>, compares: bool) -> Vec<u8> {
    let columns = chunks.iter().map(|(name, column, from, size)| {
        let mut about = Struct::default();
        about.int(1, column.physical(), I32);
        about.list(2, I32, &[varint(zigzag(PLAIN)), varint(zigzag(RLE))]);
        about.list(3, BINARY, &[text(name)]);
        about.int(4, 0, I32);
        about.int(5, *n_rows, I64);
        about.int(6, *size, I64);
        about.int(7, *size, I64);
        about.int(9, *from, I64);
        if let Some(statistics) = column.statistics().filter(|_| compares) {
            about.nested(12, statistics);
        }
        let mut chunk = Struct::default();
        chunk.int(2, *from, I64);
        chunk.nested(3, about);
        chunk.finish()
    });
    let mut group = Struct::default();
    group.list(1, STRUCT, &columns.collect::<Vec<_>>());
    group.int(2, *n_bytes, I64);
    group.int(3, *n_rows, I64);
    group.finish()
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
        self.bytes(id, value.as_bytes());
    }

    fn bytes(&mut self, id: u8, value: &[u8]) {
        self.field(id, BINARY);
        self.bytes.extend(varint(value.len() as u64));
        self.bytes.extend(value);
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
