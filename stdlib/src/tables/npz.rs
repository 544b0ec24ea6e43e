//! Archives of arrays as `np.savez` and `np.savez_compressed` write them: ZIP archives of `.npy` files. Arrays of one
//! length are columns, a row of the first axis each.
//!
//! Rows of a member that is stored are read from where they lie. One that is compressed is inflated from its begin, after
//! it was seen once that all of it is as it was written.

use super::{
    Asked, Batches, Damage, ROWS_MAX, TableFile,
    arrays::{drop_rows, first_rows, parts, tensors, tensors_of, to_native},
    damaged,
    packed::Bytes,
    read,
};
use crate::records::{RecordFault, npy::Header};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{FieldRef, Schema, SchemaRef};
use flate2::bufread::DeflateDecoder;
use rawzip::{CompressionMethod, ReaderAt, ZipArchiveEntryWayfinder, ZipLocator};
use runtime::{Counted, Failure, storage::Object};
use std::{
    io::{self, BufReader, Read},
    ops::Range,
    path::Path,
    sync::{Arc, OnceLock},
};

/// Members of an archive, at the most.
const MEMBERS_MAX: u64 = 10_000;
/// Bytes that are looked through for the end of the archive: a comment may follow it.
const END_MAX: u64 = 64 << 10;
/// Bytes that a byte of DEFLATE can become, at the most.
const RATIO: u64 = 1032;
/// Bytes of a batch, but for one row.
const BLOCK: u64 = 8 << 20;
/// Bytes that are read, or inflated, at once.
const BUFFER: usize = 64 << 10;

/// An archive of which the headers were read.
pub(crate) struct NpzFile {
    inner: Arc<Inner>,
    schema: SchemaRef,
    parts: Vec<u64>,
    refused: Vec<(String, String)>,
}

struct Inner {
    object: Arc<dyn Object>,
    columns: Vec<Column>,
}

/// An array.
struct Column {
    field: FieldRef,
    header: Header,
    /// Where it lies, its header included.
    place: Range<u64>,
    /// How it is compressed, if it is.
    deflated: Option<Deflated>,
}

struct Deflated {
    crc: u32,
    /// Whether it is as it was written, once somebody has looked.
    is_sound: OnceLock<Result<(), Damage>>,
}

/// A member of the archive.
struct Member {
    name: Vec<u8>,
    method: CompressionMethod,
    is_encrypted: bool,
    crc: u32,
    len: u64,
    way: ZipArchiveEntryWayfinder,
}

impl NpzFile {
    /// Reads the headers of an archive, of the arrays that are named, or of all; `give_up` is that of
    /// [`runtime::storage::Storage::open`].
    ///
    /// # Errors
    /// The file cannot be read, is no such archive, or its arrays are of several lengths.
    pub(crate) fn of(
        path: &Path,
        named: Option<&[String]>,
        give_up: &mut dyn FnMut(),
    ) -> Result<Self, Failure> {
        let (object, len) = super::open(path, give_up)?;
        Self::new(object.into(), len, named).map_err(|it| it.of_file(path))
    }

    fn new(object: Arc<dyn Object>, len: u64, named: Option<&[String]>) -> Result<Self, Damage> {
        let archive = At { object: &*object, len };
        let mut buffer = vec![0; BUFFER];
        let archive = ZipLocator::new()
            .max_search_space(END_MAX)
            .locate_in_reader(archive, &mut buffer, len)
            .map_err(|(_, why)| no_archive(&why))?;
        let mut members = Vec::new();
        let mut entries = archive.entries(&mut buffer);
        while let Some(entry) = entries.next_entry().map_err(|it| no_archive(&it))? {
            if members.len() as u64 == MEMBERS_MAX {
                return Err(damaged(format!("it has more than {MEMBERS_MAX} members")));
            }
            members.push(Member {
                name: entry.file_path().as_bytes().to_vec(),
                method: entry.compression_method(),
                is_encrypted: entry.flags().is_encrypted(),
                crc: entry.crc32(),
                len: entry.uncompressed_size_hint(),
                way: entry.wayfinder(),
            });
        }
        let names: Vec<String> = members.iter().map(Member::array).collect();
        let is_there = |it: &&String| names.contains(it);
        if let Some(it) = named.and_then(|it| it.iter().find(|it| !is_there(it))) {
            return Err(unknown(it, &names));
        }
        let (mut columns, mut refused): (Vec<Column>, Vec<(String, String)>) = Default::default();
        for (member, name) in members.iter().zip(names) {
            if named.is_some_and(|it| !it.contains(&name)) {
                continue;
            }
            if columns.iter().any(|it| *it.field.name() == name) {
                return Err(damaged(format!("it has two arrays `{name}`")));
            }
            let place = archive.get_entry(member.way).map_err(|it| no_archive(&it))?;
            let place = place.compressed_data_range();
            if place.1 > len {
                return Err(of_column(&name, damaged("it ends beyond the file")));
            }
            match Column::new(&object, &name, member, place.0..place.1) {
                Ok(column) => columns.push(column),
                Err(Unfit::Refused(why)) => refused.push((name, why)),
                Err(Unfit::Damaged(why)) => return Err(of_column(&name, why)),
            }
        }
        let Some(first) = columns.first() else {
            let why = refused.first().map(|(name, why)| format!(": `{name}` is {why}"));
            let help = "save arrays of numbers: `np.savez(path, x=x, y=y)`";
            let why = why.unwrap_or_default();
            return Err(Damage::new(format!("it has no array of rows to read{why}"), help));
        };
        let rows = first.header.rows;
        if let Some(other) = columns.iter().find(|it| it.header.rows != rows) {
            let (a, b, n) = (first.field.name(), other.field.name(), other.header.rows);
            return Err(Damage::new(
                format!("its arrays differ in length: `{a}` has {rows} rows, `{b}` {n}"),
                &format!("name those to read that are alike, `columns: [{a}, …]`"),
            ));
        }
        let row_bytes = columns.iter().map(Column::row_bytes).fold(0, u64::saturating_add);
        // What is compressed is read from its begin.
        let parts = match columns.iter().any(|it| it.deflated.is_some()) {
            true => vec![rows],
            false => parts(rows, 1, row_bytes),
        };
        let fields = columns.iter().map(|it| it.field.clone());
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Ok(Self { inner: Arc::new(Inner { object, columns }), schema, parts, refused })
    }
}

impl Member {
    /// What the array is called that it is.
    fn array(&self) -> String {
        let name = String::from_utf8_lossy(&self.name);
        name.strip_suffix(".npy").unwrap_or(&name).replace('/', ".")
    }
}

fn unknown(name: &str, all: &[String]) -> Damage {
    /// Names that are said.
    const SHOWN: usize = 8;
    let shown: Vec<String> = all.iter().take(SHOWN).map(|it| format!("`{it}`")).collect();
    let more = if all.len() > SHOWN { ", …" } else { "" };
    let help = format!("it has {}{more}", shown.join(", "));
    Damage::new(format!("it has no array `{name}`"), &help)
}

fn no_archive(why: &rawzip::Error) -> Damage {
    let help = "check the pattern, and that the file was written to its end";
    Damage::new(format!("this is not a `.npz` archive: {why}"), help)
}

fn of_column(name: &str, why: Damage) -> Damage {
    Damage { message: format!("array `{name}`: {}", why.message), ..why }
}

/// Why a member is no column.
enum Unfit {
    /// It is something else, with what it is.
    Refused(String),
    Damaged(Damage),
}

impl From<Damage> for Unfit {
    fn from(why: Damage) -> Self {
        Self::Damaged(why)
    }
}

impl From<RecordFault> for Unfit {
    /// What the header of an array says may be something that is not read.
    fn from(why: RecordFault) -> Self {
        Self::Refused(why.message)
    }
}

impl Column {
    fn new(
        object: &Arc<dyn Object>,
        name: &str,
        member: &Member,
        place: Range<u64>,
    ) -> Result<Self, Unfit> {
        let refused = |it: &str| Err(Unfit::Refused(it.to_owned()));
        if !member.name.ends_with(b".npy") {
            return refused("no `.npy` file");
        }
        if member.is_encrypted {
            return refused("encrypted");
        }
        let stored = place.end - place.start;
        let is_deflated = match member.method {
            CompressionMethod::STORE => false,
            CompressionMethod::DEFLATE => true,
            _ => return refused("compressed with another method than DEFLATE"),
        };
        if !is_deflated && stored != member.len || member.len > stored.saturating_mul(RATIO) {
            return Err(damaged("its size is not the one that the archive says").into());
        }
        let deflated = Deflated { crc: member.crc, is_sound: OnceLock::new() };
        let deflated = is_deflated.then_some(deflated);
        let source = Bytes::new(object, place.clone());
        let header = match is_deflated {
            false => header(source)?,
            true => header(DeflateDecoder::new(BufReader::with_capacity(BUFFER, source)))?,
        };
        header.check_len(Some(member.len)).map_err(|it| Damage::new(it.message, &it.help))?;
        if header.rows > ROWS_MAX {
            return Err(damaged("it has more rows than an array can have").into());
        }
        let extents: Vec<u64> = header.row.iter().map(|it| *it as u64).collect();
        let field = tensors(name, header.dtype, &extents).map_err(Unfit::Refused)?;
        Ok(Self { field, header, place, deflated })
    }

    fn row_bytes(&self) -> u64 {
        self.header.row_bytes as u64
    }

    fn is_wanted(&self, wanted: &[Vec<String>]) -> bool {
        wanted.iter().any(|of| of.first() == Some(self.field.name()))
    }

    fn inflating(&self, inner: &Inner) -> Inflating {
        let source = Bytes::new(&inner.object, self.place.clone());
        DeflateDecoder::new(BufReader::with_capacity(BUFFER, source))
    }

    /// Sees to it that what is compressed is what was written.
    fn check(&self, inner: &Inner) -> Result<(), Damage> {
        let Some(Deflated { crc, is_sound }) = &self.deflated else { return Ok(()) };
        let look = || {
            let mut left = self.header.len + self.header.rows * self.row_bytes();
            let (mut hash, mut room) = (crc32fast::Hasher::new(), vec![0; BUFFER]);
            let mut inflating = self.inflating(inner);
            while left > 0 {
                let n = left.min(BUFFER as u64) as usize;
                inflating.read_exact(&mut room[..n]).map_err(unread)?;
                hash.update(&room[..n]);
                left -= n as u64;
            }
            match hash.finalize() == *crc {
                true => Ok(()),
                false => Err(damaged("it does not match its checksum")),
            }
        };
        is_sound.get_or_init(look).clone()
    }
}

/// The header of an array that is read from its begin.
fn header(mut source: impl Read) -> Result<Header, Unfit> {
    /// Bytes that a header has, mostly.
    const USUAL: usize = 128;
    let (mut bytes, mut wanted) = (Vec::new(), USUAL);
    loop {
        let had = bytes.len();
        let more = (&mut source).take((wanted - had) as u64).read_to_end(&mut bytes);
        more.map_err(unread)?;
        if let Some(header) = Header::parse(&bytes)? {
            return Ok(header);
        }
        if bytes.len() < wanted {
            return Err(damaged("it ends within its header").into());
        }
        // The parser says no where a header is too long.
        wanted *= 2;
    }
}

fn unread(why: io::Error) -> Damage {
    match why.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
            damaged(format!("it cannot be inflated: {why}"))
        }
        io::ErrorKind::UnexpectedEof => damaged("it is shorter than it says"),
        _ => damaged(format!("it cannot be read: {why}")),
    }
}

impl TableFile for NpzFile {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn part(&self) -> (&'static str, &'static str) {
        ("block", "blocks")
    }

    fn parts(&self) -> &[u64] {
        &self.parts
    }

    fn row_bytes(&self, _: usize, wanted: &[Vec<String>]) -> u64 {
        let wanted = self.inner.columns.iter().filter(|it| it.is_wanted(wanted));
        wanted.map(Column::row_bytes).fold(0, u64::saturating_add)
    }

    fn refused(&self) -> &[(String, String)] {
        &self.refused
    }

    fn read(&self, asked: &Asked<'_>) -> Result<Batches, Damage> {
        let begin = self.parts[0] * asked.part as u64;
        let row_bytes = self.row_bytes(asked.part, asked.wanted).max(1);
        let most = (asked.batch as u64).min(BLOCK / row_bytes).max(1);
        let columns = self.inner.columns.iter().enumerate();
        let columns = columns.filter(|it| it.1.is_wanted(asked.wanted));
        let mut columns: Vec<Reading> =
            columns.map(|(at, _)| Reading { inner: self.inner.clone(), at, open: None }).collect();
        let fields: Vec<_> = columns.iter().map(|it| it.column().field.clone()).collect();
        let schema = Arc::new(Schema::new(fields));
        let mut left = asked.rows.to_vec();
        left.reverse();
        Ok(Box::new(std::iter::from_fn(move || {
            let rows = first_rows(&left, most)?;
            let n: u64 = rows.iter().map(|it| it.end - it.start).sum();
            let arrays = columns.iter_mut().map(|it| it.values(&rows, begin));
            let batch = arrays.collect::<Result<Vec<_>, _>>().and_then(|arrays| {
                let options = RecordBatchOptions::new().with_row_count(Some(n as usize));
                RecordBatch::try_new_with_options(schema.clone(), arrays, &options).map_err(damaged)
            });
            match batch {
                Ok(_) => drop_rows(&mut left, n),
                Err(_) => left.clear(),
            }
            Some(batch)
        })))
    }
}

/// A column whose rows are read in order.
struct Reading {
    inner: Arc<Inner>,
    at: usize,
    /// What inflates it, and the row that comes next.
    open: Option<(Inflating, u64)>,
}

type Inflating = DeflateDecoder<BufReader<Bytes>>;

impl Reading {
    fn column(&self) -> &Column {
        &self.inner.columns[self.at]
    }

    /// Rows of the part that begins there, those before which were read.
    fn values(&mut self, rows: &[Range<u64>], begin: u64) -> Result<ArrayRef, Damage> {
        let inner = self.inner.clone();
        let Column { field, header, place, deflated } = &inner.columns[self.at];
        let named = |it: Damage| of_column(field.name(), it);
        self.column().check(&inner).map_err(named)?;
        let (size, mut all, mut n) = (header.row_bytes, Counted::new(), 0);
        for it in rows {
            let these = begin + it.start..begin + it.end;
            let had = all.len();
            n += (these.end - these.start) as usize;
            all.resize(n * size, 0);
            let room = &mut all[had..];
            match deflated {
                None => {
                    let at = place.start + header.len + these.start * size as u64;
                    read(&*inner.object, room, at).map_err(|why| named(why).losing(it.clone()))?;
                }
                Some(_) => self.inflate(these.start, room).map_err(named)?,
            }
        }
        to_native(header.dtype, header.is_big_endian, &mut all);
        tensors_of(field, header.dtype, all, n)
    }

    /// Fills `room` with rows from `row` on.
    fn inflate(&mut self, row: u64, room: &mut [u8]) -> Result<(), Damage> {
        let column = &self.inner.columns[self.at];
        let (mut inflating, next) = match self.open.take().filter(|it| it.1 <= row) {
            Some((inflating, next)) => (inflating, next * column.row_bytes()),
            None => {
                let mut inflating = column.inflating(&self.inner);
                pass(&mut inflating, column.header.len)?;
                (inflating, 0)
            }
        };
        pass(&mut inflating, row * column.row_bytes() - next)?;
        inflating.read_exact(room).map_err(unread)?;
        self.open = Some((inflating, row + room.len() as u64 / column.row_bytes()));
        Ok(())
    }
}

/// Goes `n` bytes on.
fn pass(source: &mut impl Read, n: u64) -> Result<(), Damage> {
    match io::copy(&mut source.take(n), &mut io::sink()).map_err(unread)? == n {
        true => Ok(()),
        false => Err(unread(io::ErrorKind::UnexpectedEof.into())),
    }
}

/// An object as the archive reads it.
struct At<'o> {
    object: &'o dyn Object,
    len: u64,
}

impl ReaderAt for At<'_> {
    fn read_at(&self, room: &mut [u8], at: u64) -> io::Result<usize> {
        let n = (self.len.saturating_sub(at)).min(room.len() as u64) as usize;
        self.object.read_exact_at(&mut room[..n], at)?;
        Ok(n)
    }
}
