//! Shards of Mosaic's Streaming (MDS version 2), each a part: the number of samples, where each begins and the last ends
//! (`u32`), the columns as JSON, then the samples, each with the lengths of the columns that have no fixed one (`u32`) and
//! the columns (`streaming/format/mds/{writer,encodings}.py`). A shard may be compressed as a whole.

use super::{
    Asked, Batches, Damage, TableFile,
    arrays::{elements, ends, item, joined, type_of},
    damaged,
    packed::{Contents, Opening, Recent},
};
use crate::records::RECORD_MAX;
use arrow_array::{
    ArrayRef, BinaryArray, FixedSizeListArray, Int64Array, ListArray, RecordBatch,
    RecordBatchOptions, StringArray, StructArray,
};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use plan::DType;
use runtime::{Counted, Failure, MAX_RANK, storage::Object};
use serde_json::Value;
use std::{ops::Range, path::Path, sync::Arc};

/// Bytes of the columns as JSON, at the most.
const ABOUT_MAX: u64 = 1 << 20;
/// Bytes of samples that are read at a time; one sample may be larger.
const BLOCK: u64 = 8 << 20;
/// Samples of a compressed shard, at the most: where each begins is decompressed when it is opened.
const PACKED_ROWS_MAX: u64 = 16 << 20;

/// A shard of which the header was read.
pub(crate) struct MdsFile {
    inner: Arc<Inner>,
    schema: SchemaRef,
    rows: [u64; 1],
}

struct Inner {
    contents: Contents,
    /// Where the first sample begins, and where the last one ends.
    samples: Range<u64>,
    columns: Vec<Column>,
}

struct Column {
    kind: Kind,
    /// Bytes of each value, where that is fixed.
    size: Option<usize>,
    field: FieldRef,
}

/// How a value is encoded.
#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Text,
    Bytes,
    /// Numbers, so many in each value; without axes a single one.
    Numbers(DType, Vec<usize>),
    /// Numbers behind their extents, and before these their type where the column does not say it.
    Array {
        dtype: DType,
        says_dtype: bool,
        axes: usize,
    },
    /// Nothing that can be read.
    Other,
}

/// What stands before the numbers of an array.
struct Head {
    dtype: Option<DType>,
    shape: Vec<u64>,
    len: usize,
}

impl MdsFile {
    /// Reads the header of a shard; `recent` is that of all shards of a source, and `give_up` that of
    /// [`runtime::storage::Storage::open`].
    ///
    /// # Errors
    /// The file cannot be read, or is no such shard.
    pub(crate) fn of(
        path: &Path,
        recent: &Arc<Recent>,
        give_up: &mut dyn FnMut(),
    ) -> Result<Self, Failure> {
        let (object, len) = super::open(path, give_up)?;
        Self::new(object, len, recent).map_err(|it| it.of_file(path))
    }

    fn new(object: Box<dyn Object>, len: u64, recent: &Arc<Recent>) -> Result<Self, Damage> {
        let no_mds = |why: &str| {
            let help = "check the pattern, and that the file was written to its end; shards are read as they are, or \
                        compressed with gzip, bzip2, xz or Zstandard";
            Damage::new(format!("this is not an MDS shard: {why}"), help)
        };
        let mut opening = Opening::new(object, len, recent)?;
        let stored = opening.len();
        let mut bytes = |at: u64, n: u64| -> Result<Vec<u8>, Damage> {
            let mut room = vec![0; n as usize];
            match opening.read(&mut room, at)? {
                true => Ok(room),
                false => Err(no_mds("it is too short")),
            }
        };
        let (rows, begin) = match u32s(&bytes(0, 8)?)[..] {
            [rows, begin] => (rows, begin),
            _ => return Err(no_mds("it is too short")),
        };
        let about = 4 * (rows + 2)..begin;
        if begin < about.start || begin - about.start > ABOUT_MAX {
            return Err(no_mds("the offset of its first sample is impossible"));
        }
        if stored.is_none() && rows > PACKED_ROWS_MAX {
            let message = format!(
                "it is compressed, and says to have {rows} samples, more than {PACKED_ROWS_MAX}"
            );
            return Err(Damage::new(message, "decompress it first"));
        }
        let end = u32s(&bytes(4 * (rows + 1), 4)?)[0];
        if let Some(len) = stored.filter(|it| *it != end) {
            return Err(no_mds(&format!("its samples end at byte {end}, and it has {len}")));
        }
        let text = bytes(about.start, about.end - about.start)?;
        let about: Value =
            serde_json::from_slice(&text).map_err(|_| no_mds("its header is not valid JSON"))?;
        if about["format"] != "mds" || about["version"] != 2 {
            return Err(no_mds("its header does not name MDS version 2"));
        }
        let columns = columns_of(&about).map_err(no_mds)?;
        let first = match columns.iter().any(|it| it.1.starts_with("ndarray")) && rows > 0 {
            true => {
                let place = u32s(&bytes(4, 8)?);
                let n = place[1].checked_sub(place[0]).filter(|it| *it <= RECORD_MAX as u64);
                let sample = n.map(|it| bytes(place[0], it)).transpose()?.unwrap_or_default();
                let cells = cells(&sample, columns.iter().map(|it| it.2));
                let cells = cells.ok_or_else(|| damaged("its first sample is damaged"))?;
                cells.into_iter().map(<[u8]>::to_vec).collect()
            }
            false => vec![Vec::new(); columns.len()],
        };
        let columns = columns.into_iter().zip(&first);
        let columns: Vec<Column> = columns.map(|(said, first)| Column::new(said, first)).collect();
        let inner = Inner { contents: opening.opened(begin, end)?, samples: begin..end, columns };
        let fields: Vec<FieldRef> = inner.columns.iter().map(|it| it.field.clone()).collect();
        let schema = Arc::new(Schema::new(fields));
        Ok(Self { inner: Arc::new(inner), schema, rows: [rows] })
    }
}

/// The columns as the header says: name, encoding, and bytes of each value where that is fixed.
type Said = (String, String, Option<usize>);

fn columns_of(about: &Value) -> Result<Vec<Said>, &'static str> {
    let list = |key: &str| about[key].as_array().cloned().unwrap_or_default();
    let (names, encodings, sizes) =
        (list("column_names"), list("column_encodings"), list("column_sizes"));
    if names.len() != encodings.len() || names.len() != sizes.len() {
        return Err("its lists of columns differ in length");
    }
    let columns = names.iter().zip(&encodings).zip(&sizes);
    let columns = columns.map(|((name, encoding), size)| {
        let (name, encoding) = (name.as_str()?, encoding.as_str()?);
        let size = match size {
            Value::Null => None,
            size => Some(usize::try_from(size.as_u64()?).ok()?),
        };
        Some((name.to_owned(), encoding.to_owned(), size))
    });
    let columns: Option<Vec<_>> = columns.collect();
    columns.ok_or("its columns have no names or encodings")
}

impl TableFile for MdsFile {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn part(&self) -> (&'static str, &'static str) {
        ("shard", "shards")
    }

    fn parts(&self) -> &[u64] {
        &self.rows
    }

    fn row_bytes(&self, _: usize, _: &[Vec<String>]) -> u64 {
        (self.inner.samples.end - self.inner.samples.start) / self.rows[0].max(1)
    }

    fn read(&self, asked: &Asked<'_>) -> Result<Batches, Damage> {
        let inner = self.inner.clone();
        let is_wanted =
            |it: &Column| asked.wanted.iter().any(|of| of.first() == Some(it.field.name()));
        let wanted: Vec<bool> = inner.columns.iter().map(is_wanted).collect();
        let fields = inner.columns.iter().zip(&wanted).filter(|it| *it.1);
        let schema = Arc::new(Schema::new(fields.map(|it| it.0.field.clone()).collect::<Vec<_>>()));
        let (mut left, most) = (asked.rows.to_vec(), asked.batch as u64);
        left.reverse();
        let held = inner.contents.hold();
        Ok(Box::new(std::iter::from_fn(move || {
            let _until_the_last = &held;
            let range = left.last_mut()?;
            let rows = range.start..range.end.min(range.start + most);
            let batch = inner.batch(rows, &wanted, &schema);
            match &batch {
                Ok(batch) => range.start += batch.num_rows() as u64,
                Err(_) => left.clear(),
            }
            if left.last().is_some_and(|it| it.is_empty()) {
                left.pop();
            }
            Some(batch)
        })))
    }
}

impl Inner {
    /// Where samples begin, and where the last of them ends.
    fn places(&self, rows: Range<u64>) -> Result<Vec<u64>, Damage> {
        let mut room = vec![0; 4 * (rows.end - rows.start + 1) as usize];
        self.contents.read(&mut room, 4 + 4 * rows.start)?;
        let places = u32s(&room);
        let within =
            places.first() >= Some(&self.samples.start) && places.last() <= Some(&self.samples.end);
        match within && places.is_sorted() {
            true => Ok(places),
            false => Err(damaged("the places of its samples are damaged").losing(rows)),
        }
    }

    fn bytes(&self, place: Range<u64>) -> Result<Counted<u8>, Damage> {
        if place.end - place.start > BLOCK.max(RECORD_MAX as u64) {
            return Err(damaged("the sample is larger than 64 MiB"));
        }
        let mut bytes = Counted::new();
        bytes.resize((place.end - place.start) as usize, 0);
        self.contents.read(&mut bytes, place.start)?;
        Ok(bytes)
    }

    /// Some of these rows, as many as are read together.
    fn batch(
        &self,
        rows: Range<u64>,
        wanted: &[bool],
        schema: &SchemaRef,
    ) -> Result<RecordBatch, Damage> {
        let mut places = self.places(rows.clone())?;
        let end = self.contents.end().min(places[0] + BLOCK);
        let fit = places[1..].iter().take_while(|it| **it <= end).count().max(1);
        places.truncate(fit + 1);
        let begin = places[0];
        let bytes =
            self.bytes(begin..places[fit]).map_err(|it| it.losing(rows.start..rows.start + 1))?;
        let mut columns: Vec<Vec<&[u8]>> = vec![Vec::with_capacity(fit); self.columns.len()];
        for (row, place) in places.windows(2).enumerate() {
            let sample = &bytes[(place[0] - begin) as usize..(place[1] - begin) as usize];
            let row = rows.start + row as u64;
            let lost = |why: &str| damaged(why).losing(row..row + 1);
            let cells = cells(sample, self.columns.iter().map(|it| it.size));
            let cells = cells.ok_or_else(|| {
                lost("the lengths of its columns do not add up to that of the sample")
            })?;
            for ((column, cell), to) in self.columns.iter().zip(cells).zip(&mut columns) {
                column
                    .kind
                    .check(cell)
                    .map_err(|why| lost(&format!("column `{}`: {why}", column.field.name())))?;
                to.push(cell);
            }
        }
        let taken = self.columns.iter().zip(columns).zip(wanted).filter(|it| *it.1);
        let arrays = taken.map(|((column, cells), _)| column.array(&cells));
        let arrays = arrays.collect::<Result<Vec<_>, _>>().map_err(damaged)?;
        let options = RecordBatchOptions::new().with_row_count(Some(fit));
        let batch = RecordBatch::try_new_with_options(schema.clone(), arrays, &options);
        batch.map_err(damaged)
    }
}

impl Column {
    fn new((name, encoding, size): Said, first: &[u8]) -> Self {
        let kind = Kind::of(&encoding, size, first).unwrap_or(Kind::Other);
        let mut field = Field::new(name, kind.data_type(), false);
        let mut extension = |name: &str, about: String| {
            field.set_metadata(
                [
                    ("ARROW:extension:name".to_owned(), name.to_owned()),
                    ("ARROW:extension:metadata".to_owned(), about),
                ]
                .into_iter()
                .collect::<arrow_schema::Metadata>(),
            );
        };
        match &kind {
            Kind::Text if encoding == "json" => extension("arrow.json", String::new()),
            Kind::Numbers(_, shape) if shape.len() > 1 => {
                extension(
                    "arrow.fixed_shape_tensor",
                    serde_json::json!({ "shape": shape }).to_string(),
                );
            }
            _ => {}
        }
        Self { kind, size, field: Arc::new(field) }
    }

    fn array(&self, cells: &[&[u8]]) -> Result<ArrayRef, arrow_schema::ArrowError> {
        let n = cells.len();
        Ok(match &self.kind {
            Kind::Text => Arc::new(StringArray::try_new(ends(cells, 1)?, joined(cells), None)?),
            Kind::Bytes | Kind::Other => {
                Arc::new(BinaryArray::try_new(ends(cells, 1)?, joined(cells), None)?)
            }
            Kind::Numbers(dtype, shape) if shape.is_empty() => elements(*dtype, joined(cells)),
            Kind::Numbers(dtype, shape) => {
                let each = shape.iter().product::<usize>() as i32;
                let all = elements(*dtype, joined(cells));
                Arc::new(FixedSizeListArray::try_new_with_length(item(*dtype), each, all, None, n)?)
            }
            Kind::Array { dtype, says_dtype, axes } => {
                // They were checked.
                let heads: Vec<Head> =
                    cells.iter().filter_map(|it| Head::of(it, *says_dtype)).collect();
                let data: Vec<&[u8]> =
                    cells.iter().zip(&heads).map(|(it, head)| &it[head.len..]).collect();
                let all = elements(*dtype, joined(&data));
                let lists =
                    ListArray::try_new(item(*dtype), ends(&data, dtype.size())?, all, None)?;
                if *axes == 1 {
                    return Ok(Arc::new(lists));
                }
                let shapes: Vec<i64> =
                    heads.iter().flat_map(|it| &it.shape).map(|it| *it as i64).collect();
                let shapes = Arc::new(Int64Array::from(shapes));
                let shapes = FixedSizeListArray::try_new_with_length(
                    item(DType::I64),
                    *axes as i32,
                    shapes,
                    None,
                    n,
                )?;
                let DataType::Struct(fields) = self.field.data_type() else {
                    return Ok(Arc::new(lists));
                };
                let parts: Vec<ArrayRef> = vec![Arc::new(lists), Arc::new(shapes)];
                Arc::new(StructArray::try_new_with_length(fields.clone(), parts, None, n)?)
            }
        })
    }
}

impl Kind {
    /// The kind of an encoding; of an array that says more by itself, that of the first one.
    fn of(encoding: &str, size: Option<usize>, first: &[u8]) -> Option<Self> {
        let (name, rest) = encoding.split_once(':').unwrap_or((encoding, ""));
        let is_fixed = |n: usize| size == Some(n);
        match name {
            "str" | "json" | "str_int" | "str_float" | "str_decimal" if size.is_none() => {
                Some(Self::Text)
            }
            "bytes" | "jpeg" | "png" | "pil" | "jpeg_array" if size.is_none() => Some(Self::Bytes),
            "int" if is_fixed(8) => Some(Self::Numbers(DType::I64, Vec::new())),
            "ndarray" => {
                let (dtype, shape) = rest.split_once(':').unwrap_or((rest, ""));
                let said = if dtype.is_empty() { None } else { Some(number(dtype)?) };
                if shape.is_empty() {
                    let head = Head::of(first, said.is_none());
                    let axes = head.as_ref().map_or(1, |it| it.shape.len());
                    let dtype = said.or_else(|| head?.dtype)?;
                    let is_possible = size.is_none() && (1..MAX_RANK).contains(&axes);
                    return is_possible.then_some(Self::Array {
                        dtype,
                        says_dtype: said.is_none(),
                        axes,
                    });
                }
                let shape =
                    shape.split(',').map(|it| it.parse().ok()).collect::<Option<Vec<usize>>>()?;
                let n = shape.iter().try_fold(1_usize, |all, it| all.checked_mul(*it))?;
                i32::try_from(n).ok()?;
                let dtype = said?;
                is_fixed(n * dtype.size()).then_some(Self::Numbers(dtype, shape))
            }
            name => {
                let dtype = number(name)?;
                is_fixed(dtype.size()).then_some(Self::Numbers(dtype, Vec::new()))
            }
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            Self::Text => DataType::Utf8,
            Self::Bytes => DataType::Binary,
            Self::Numbers(dtype, shape) if shape.is_empty() => type_of(*dtype),
            Self::Numbers(dtype, shape) => {
                DataType::FixedSizeList(item(*dtype), shape.iter().product::<usize>() as i32)
            }
            Self::Array { dtype, axes: 1, .. } => DataType::List(item(*dtype)),
            Self::Array { dtype, axes, .. } => {
                let shape = DataType::FixedSizeList(item(DType::I64), *axes as i32);
                let data = Field::new("data", DataType::List(item(*dtype)), false);
                DataType::Struct(vec![data, Field::new("shape", shape, false)].into())
            }
            Self::Other => DataType::Null,
        }
    }

    /// What is wrong with a value.
    fn check(&self, cell: &[u8]) -> Result<(), String> {
        match self {
            Self::Text => match std::str::from_utf8(cell) {
                Ok(_) => Ok(()),
                Err(_) => Err("it is not UTF-8".to_owned()),
            },
            Self::Array { dtype, says_dtype, axes } => {
                let head = Head::of(cell, *says_dtype).ok_or("it has no extents")?;
                if head.shape.len() != *axes || head.dtype.is_some_and(|it| it != *dtype) {
                    return Err(
                        "its array is not like the first one: it has other axes or elements"
                            .to_owned(),
                    );
                }
                let n = head.shape.iter().try_fold(1_u64, |all, it| all.checked_mul(*it));
                let bytes = n.and_then(|it| it.checked_mul(dtype.size() as u64));
                match bytes == Some((cell.len() - head.len) as u64) {
                    true => Ok(()),
                    false => Err("its extents do not fit its elements".to_owned()),
                }
            }
            _ => Ok(()),
        }
    }
}

impl Head {
    fn of(cell: &[u8], says_dtype: bool) -> Option<Self> {
        let dtype = if says_dtype { Some(coded(*cell.first()?)?) } else { None };
        let begin = usize::from(says_dtype);
        let byte = *cell.get(begin)?;
        let (axes, size) = (usize::from(byte >> 2), 1_usize << (byte & 3));
        let extents = cell.get(begin + 1..begin + 1 + axes * size)?;
        let extent = |it: &[u8]| it.iter().rev().fold(0_u64, |all, it| all << 8 | u64::from(*it));
        Some(Self {
            dtype,
            shape: extents.chunks(size).map(extent).collect(),
            len: begin + 1 + axes * size,
        })
    }
}

/// The values of a sample, by the sizes of the columns.
fn cells(sample: &[u8], sizes: impl Iterator<Item = Option<usize>> + Clone) -> Option<Vec<&[u8]>> {
    let n_open = sizes.clone().filter(Option::is_none).count();
    let (lens, mut rest) = sample.split_at_checked(4 * n_open)?;
    let mut lens = u32s(lens).into_iter();
    let mut cells = Vec::new();
    for size in sizes {
        let len = match size {
            Some(size) => size,
            None => usize::try_from(lens.next()?).ok()?,
        };
        let (cell, behind) = rest.split_at_checked(len)?;
        cells.push(cell);
        rest = behind;
    }
    rest.is_empty().then_some(cells)
}

/// What an encoding calls numbers.
fn number(name: &str) -> Option<DType> {
    Some(match name {
        "uint8" => DType::U8,
        "uint16" => DType::U16,
        "uint32" => DType::U32,
        "uint64" => DType::U64,
        "int8" => DType::I8,
        "int16" => DType::I16,
        "int32" => DType::I32,
        "int64" => DType::I64,
        "float16" => DType::F16,
        "float32" => DType::F32,
        "float64" => DType::F64,
        _ => return None,
    })
}

/// The same as the byte that stands before an array.
fn coded(byte: u8) -> Option<DType> {
    number(match byte {
        8 => "uint8",
        9 => "int8",
        16 => "uint16",
        17 => "int16",
        18 => "float16",
        32 => "uint32",
        33 => "int32",
        34 => "float32",
        64 => "uint64",
        65 => "int64",
        66 => "float64",
        _ => return None,
    })
}
fn u32s(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|it| u64::from(u32::from_le_bytes(*it))).collect()
}
