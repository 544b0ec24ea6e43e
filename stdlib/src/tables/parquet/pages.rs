//! The pages of a column of a row group, one after the other.

use super::{
    super::owned,
    Group, Inner, codec, counts,
    header::{Header, Kind, Unread},
    int96,
};
use bytes::Bytes;
use parquet::{
    basic::{Compression, Encoding},
    column::page::{Page, PageIterator, PageMetadata, PageReader},
    errors::{ParquetError, Result as ParquetResult},
    schema::types::ColumnDescPtr,
};
use runtime::{Recycled, reads};
use std::{
    io,
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

/// Bytes that are read of a page's header at first, and at the most: minima and maxima of long texts lie in it.
const HEADER: usize = 256;
const HEADER_MAX: usize = 1 << 20;
/// Bytes of a page, at the most.
pub(super) const PAGE_MAX: usize = 1 << 30;

/// The rows of a row group that cannot be read because a page cannot be: what the reader of batches does not tell.
#[derive(Clone, Default)]
pub(super) struct Lost(Arc<Mutex<Option<Range<u64>>>>);

impl Lost {
    fn say(&self, rows: Range<u64>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(rows);
    }

    pub(super) fn take(&self) -> Option<Range<u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A column of a row group: the pages that were not read yet.
pub(super) struct Chunk {
    file: Arc<Inner>,
    lost: Lost,
    codec: Compression,
    /// Where the next page begins, and where the last one ends.
    at: u64,
    end: u64,
    /// The header of the next page, and the bytes that were read with it.
    next: Option<(Header, Vec<u8>)>,
    /// Values in the pages that were not read yet.
    values: u64,
    /// The row that the next page begins with, where it is known.
    row: Option<u64>,
    /// Whether no value lies within another, so that a value is a row.
    is_flat: bool,
    column: ColumnDescPtr,
}

impl Chunk {
    pub(super) fn new(group: &Group, column: usize) -> ParquetResult<Self> {
        let file = group.file.clone();
        let about = file.meta.row_group(group.number).column(column);
        let start = about.dictionary_page_offset().filter(|it| *it > 0);
        let start = start.map_or(about.data_page_offset(), |it| it.min(about.data_page_offset()));
        let ends = |start: u64, len: i64| start.checked_add(u64::try_from(len).ok()?);
        let start = u64::try_from(start).ok();
        let end = start.and_then(|it| ends(it, about.compressed_size()));
        let (Some(at), Some(end)) = (start, end.filter(|it| *it <= file.len)) else {
            group.lost.say(0..u64::MAX);
            return Err(damaged("a column ends beyond the file"));
        };
        let (codec, values) = (about.compression(), about.num_values().max(0) as u64);
        let is_flat = about.column_descr().max_rep_level() == 0;
        let (lost, next, row) = (group.lost.clone(), None, Some(0));
        let column = about.column_descr_ptr();
        Ok(Self { file, lost, codec, at, end, next, values, row, is_flat, column })
    }

    /// The header of the next page; none at the end.
    fn header(&mut self) -> ParquetResult<Option<Header>> {
        let header = self.find_header();
        if header.is_err()
            && let Some(row) = self.row
        {
            self.lost.say(row..u64::MAX);
        }
        header
    }

    fn find_header(&mut self) -> ParquetResult<Option<Header>> {
        loop {
            if let Some((header, _)) = &self.next {
                return Ok(Some(*header));
            }
            // Some writers say too many bytes.
            if self.at >= self.end || self.values == 0 {
                return Ok(None);
            }
            self.read_header()?;
            if let Some((Header { kind: Kind::Other, .. }, _)) = &self.next {
                self.pass();
            }
        }
    }

    fn read_header(&mut self) -> ParquetResult<()> {
        let left = (self.end - self.at) as usize;
        let mut bytes = Vec::new();
        loop {
            let wanted = if bytes.is_empty() { HEADER } else { bytes.len() * 8 };
            let had = bytes.len();
            bytes.resize(wanted.min(left), 0);
            self.file.read(&mut bytes[had..], self.at + had as u64)?;
            match Header::parse(&bytes) {
                Ok(header) if header.compressed > left - header.len => {
                    return Err(damaged("a page is longer than its column"));
                }
                Ok(header) if header.uncompressed.max(header.compressed) > PAGE_MAX => {
                    return Err(damaged(&format!("a page has {} bytes", header.uncompressed)));
                }
                Ok(header) => {
                    self.at += header.len as u64;
                    bytes.drain(..header.len);
                    bytes.truncate(header.compressed);
                    self.next = Some((header, bytes));
                    return Ok(());
                }
                Err(Unread::Short) if bytes.len() < left.min(HEADER_MAX) => {}
                Err(Unread::Short) => return Err(damaged("the header of a page is truncated")),
                Err(Unread::Damaged) => return Err(damaged("the header of a page is damaged")),
            }
        }
    }

    /// Goes beyond the page whose header was read.
    fn pass(&mut self) -> Option<(Header, Vec<u8>)> {
        let (header, bytes) = self.next.take()?;
        self.at += header.compressed as u64;
        if let Kind::Data { values, .. } | Kind::DataV2 { values, .. } = header.kind {
            self.values = self.values.saturating_sub(u64::from(values));
        }
        self.row = self.rows_of(&header).map(|it| it.end);
        Some((header, bytes))
    }

    /// The rows of the next page.
    fn rows_of(&self, header: &Header) -> Option<Range<u64>> {
        let row = self.row?;
        match header.kind {
            Kind::Data { values, .. } => self.is_flat.then(|| row..row + u64::from(values)),
            Kind::DataV2 { rows, .. } => Some(row..row + u64::from(rows)),
            _ => Some(row..row),
        }
    }

    fn page(&mut self) -> ParquetResult<Option<Page>> {
        let Some(header) = self.header()? else { return Ok(None) };
        let (at, rows) = (self.at, self.rows_of(&header));
        let Some((header, begun)) = self.pass() else { return Ok(None) };
        let place = Place { file: self.file.clone(), at, begun };
        let page = place.page(&header, self.codec).and_then(|it| {
            counts::check(&it, &self.column)?;
            // Of timestamps some may not fit.
            let is_checked = int96::is_int96(&self.column);
            if is_checked { int96::checked(it, &self.column) } else { Ok(it) }
        });
        if page.is_err()
            && let Some(rows) = rows
        {
            let is_dictionary = matches!(header.kind, Kind::Dictionary { .. });
            self.lost.say(if is_dictionary { 0..u64::MAX } else { rows });
        }
        page.map(Some)
    }

    /// The header of the next page and its rows, where both are known; none at the end.
    pub(super) fn ahead(&mut self) -> Option<(Header, Range<u64>)> {
        let header = self.header().ok()??;
        Some((header, self.rows_of(&header)?))
    }

    /// Goes beyond the next page, without what it holds.
    pub(super) fn leave(&mut self) {
        self.pass();
    }

    /// Where the next page lies, beyond which it goes.
    pub(super) fn place(&mut self) -> Option<Place> {
        let at = self.at;
        let (header, begun) = self.pass()?;
        let (file, end) = (self.file.clone(), at + header.compressed as u64);
        file.object.will_read(at + begun.len() as u64..end);
        Some(Place { file, at, begun })
    }
}

impl Inner {
    fn read(&self, room: &mut [u8], at: u64) -> ParquetResult<()> {
        reads::count(room.len() as u64);
        self.object.read_exact_at(room, at).map_err(|why| unread(&why))
    }
}

/// Where a page lies, behind its header.
pub(super) struct Place {
    file: Arc<Inner>,
    at: u64,
    /// Its first bytes, which were read with the header.
    begun: Vec<u8>,
}

impl Place {
    /// The page.
    pub(super) fn page(&self, header: &Header, codec: Compression) -> ParquetResult<Page> {
        let bytes = self.bytes(0..header.compressed)?;
        check(header, &bytes)?;
        page(header, codec, owned(bytes))
    }

    /// Some of its bytes as they lie in the file.
    pub(super) fn bytes(&self, of: Range<usize>) -> ParquetResult<Recycled> {
        let begun = self.begun.get(of.start..of.end.min(self.begun.len())).unwrap_or_default();
        let mut bytes = Recycled::of(of.len());
        let (first, rest) = bytes.split_at_mut(begun.len());
        first.copy_from_slice(begun);
        if !rest.is_empty() {
            self.file.read(rest, self.at + (of.start + begun.len()) as u64)?;
        }
        Ok(bytes)
    }

    /// Fills `room` with its bytes from `from` on.
    pub(super) fn read(&self, room: &mut [u8], from: usize) -> ParquetResult<()> {
        self.file.read(room, self.at + from as u64)
    }

    /// Whether some of it is read about as fast as all of it.
    pub(super) fn is_near(&self) -> bool {
        self.file.object.is_near()
    }
}

/// Whether the bytes of a page are those that were written.
fn check(header: &Header, bytes: &[u8]) -> ParquetResult<()> {
    match header.crc {
        Some(crc) if crc != crc32fast::hash(bytes) => {
            Err(damaged("a page does not match its checksum"))
        }
        _ => Ok(()),
    }
}

/// A page whose bytes were read.
fn page(header: &Header, codec: Compression, bytes: Bytes) -> ParquetResult<Page> {
    let page = match header.kind {
        Kind::Data { values, encoding: of, def_levels, rep_levels } => Page::DataPage {
            buf: whole(header, codec, bytes)?,
            num_values: values,
            encoding: encoding(of)?,
            def_level_encoding: encoding(def_levels)?,
            rep_level_encoding: encoding(rep_levels)?,
            statistics: None,
        },
        Kind::Dictionary { values, encoding: of, is_sorted } => Page::DictionaryPage {
            buf: whole(header, codec, bytes)?,
            num_values: values,
            encoding: encoding(of)?,
            is_sorted,
        },
        Kind::DataV2 { values, nulls, rows, encoding: of, def_bytes, rep_bytes, is_compressed } => {
            let levels = def_bytes as usize + rep_bytes as usize;
            if levels > bytes.len() || levels > header.uncompressed || nulls > values {
                return Err(damaged("a page is shorter than its levels"));
            }
            // The levels are not compressed.
            let buf = if is_compressed && codec != Compression::UNCOMPRESSED {
                let mut to = Recycled::of(header.uncompressed);
                let (first, rest) = to.split_at_mut(levels);
                first.copy_from_slice(&bytes[..levels]);
                // Some writers leave out what would be compressed to nothing.
                if !rest.is_empty() {
                    codec::decompress(codec, &bytes[levels..], rest).map_err(|it| damaged(&it))?;
                }
                owned(to)
            } else {
                bytes
            };
            Page::DataPageV2 {
                buf,
                num_values: values,
                encoding: encoding(of)?,
                num_nulls: nulls,
                num_rows: rows,
                def_levels_byte_len: def_bytes,
                rep_levels_byte_len: rep_bytes,
                is_compressed,
                statistics: None,
            }
        }
        Kind::Other => return Err(damaged("a page has an unknown type")),
    };
    Ok(page)
}

fn whole(header: &Header, codec: Compression, bytes: Bytes) -> ParquetResult<Bytes> {
    if codec == Compression::UNCOMPRESSED {
        return Ok(bytes);
    }
    let mut to = Recycled::of(header.uncompressed);
    codec::decompress(codec, &bytes, &mut to).map_err(|it| damaged(&it))?;
    Ok(owned(to))
}

fn encoding(number: i32) -> ParquetResult<Encoding> {
    Ok(match number {
        0 => Encoding::PLAIN,
        2 => Encoding::PLAIN_DICTIONARY,
        3 => Encoding::RLE,
        #[expect(deprecated, reason = "old files have it")]
        4 => Encoding::BIT_PACKED,
        5 => Encoding::DELTA_BINARY_PACKED,
        6 => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        7 => Encoding::DELTA_BYTE_ARRAY,
        8 => Encoding::RLE_DICTIONARY,
        9 => Encoding::BYTE_STREAM_SPLIT,
        _ => return Err(damaged(&format!("a page has the unknown encoding {number}"))),
    })
}

fn unread(why: &io::Error) -> ParquetError {
    damaged(&format!("it cannot be read: {why}"))
}

pub(super) fn damaged(message: &str) -> ParquetError {
    ParquetError::External(message.into())
}

impl Iterator for Chunk {
    type Item = ParquetResult<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.page().transpose()
    }
}

impl PageReader for Chunk {
    fn get_next_page(&mut self) -> ParquetResult<Option<Page>> {
        self.page()
    }

    fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
        let Some(header) = self.header()? else { return Ok(None) };
        Ok(Some(match header.kind {
            Kind::Data { values, .. } => PageMetadata {
                num_rows: self.is_flat.then_some(values as usize),
                num_levels: Some(values as usize),
                is_dict: false,
            },
            Kind::DataV2 { values, rows, .. } => PageMetadata {
                num_rows: Some(rows as usize),
                num_levels: Some(values as usize),
                is_dict: false,
            },
            _ => PageMetadata { num_rows: None, num_levels: None, is_dict: true },
        }))
    }

    fn skip_next_page(&mut self) -> ParquetResult<()> {
        self.header()?;
        self.pass();
        Ok(())
    }

    fn at_record_boundary(&mut self) -> ParquetResult<bool> {
        // Before version 2 a page could end within a row.
        let header = self.header()?;
        Ok(self.is_flat || !matches!(header, Some(Header { kind: Kind::Data { .. }, .. })))
    }
}

/// The one column that a row group has of a kind.
pub(super) struct OneChunk(Option<Chunk>);

impl OneChunk {
    pub(super) fn new(chunk: Chunk) -> Self {
        Self(Some(chunk))
    }
}

impl Iterator for OneChunk {
    type Item = ParquetResult<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(|it| Ok(Box::new(it) as Box<dyn PageReader>))
    }
}

impl PageIterator for OneChunk {}
