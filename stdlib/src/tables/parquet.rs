//! Parquet files: the footer and what decodes columns are those of the crate `parquet`; pages are our own, so that what
//! they take is bounded, and every codec is Rust.

mod codec;
mod header;
mod pages;

use super::{Asked, Batches, Damage, TableFile};
use arrow_schema::{DataType, Field, FieldRef, Fields, SchemaRef};
use pages::{Chunk, Lost, OneChunk};
use parquet::{
    arrow::{
        ProjectionMask,
        arrow_reader::{ParquetRecordBatchReader, RowGroups, RowSelection},
        parquet_to_arrow_field_levels, parquet_to_arrow_schema,
    },
    column::page::PageIterator,
    errors::{ParquetError, Result as ParquetResult},
    file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData},
    schema::types::SchemaDescriptor,
};
use runtime::{
    Failure, reads,
    storage::{self, Object},
};
use std::{
    cell::Cell,
    panic::{self, AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{Arc, Once},
};

/// What a file begins and ends with.
const MAGIC: &[u8] = b"PAR1";
/// The same of one whose footer is encrypted.
const ENCRYPTED: &[u8] = b"PARE";
/// Bytes of the end of a file that are read first: most footers are no longer.
const TAIL: u64 = 64 << 10;
/// Bytes of a footer, at the most: it is read as a whole.
const FOOTER_MAX: u64 = 64 << 20;

/// What to do about a file that is not what it should be.
const WRITE_AGAIN: &str = "write the file again, or remove it";

/// A file of which the footer was read.
pub(crate) struct ParquetFile {
    inner: Arc<Inner>,
    schema: SchemaRef,
    rows: Vec<u64>,
}

struct Inner {
    object: Box<dyn Object>,
    len: u64,
    meta: ParquetMetaData,
}

impl ParquetFile {
    /// Reads the footer of a file; `give_up` is that of [`storage::Storage::open`].
    ///
    /// # Errors
    /// The file cannot be read, or is not Parquet.
    pub(crate) fn of(path: &Path, give_up: &mut dyn FnMut()) -> Result<Self, Failure> {
        let io = |why: std::io::Error| Failure::Io {
            path: path.display().to_string(),
            detail: format!("cannot be read: {why}: check that it exists and is readable"),
        };
        let object = storage::of(path).open(path, give_up).map_err(io)?;
        let len = object.stat().map_err(io)?.bytes;
        let damaged = |it: Damage| Failure::Io {
            path: path.display().to_string(),
            detail: format!("{}: {}", it.message, it.help),
        };
        let footer = footer(&*object, len).map_err(damaged)?;
        Self::new(object, len, &footer).map_err(damaged)
    }

    fn new(object: Box<dyn Object>, len: u64, footer: &[u8]) -> Result<Self, Damage> {
        let meta = guarded(|| ParquetMetaDataReader::decode_metadata(footer))
            .map_err(|it| Damage::new(format!("its footer cannot be read: {it}"), WRITE_AGAIN))?;
        let rows = meta.row_groups().iter().map(RowGroupMetaData::num_rows);
        let rows = rows.map(u64::try_from).collect::<Result<Vec<_>, _>>();
        let rows =
            rows.map_err(|_| Damage::new("a row group has less than no rows", WRITE_AGAIN))?;
        let sum = rows.iter().try_fold(0_u64, |sum, it| sum.checked_add(*it));
        if sum.is_none_or(|it| it > super::ROWS_MAX) {
            return Err(Damage::new("its footer says more rows than a file can have", WRITE_AGAIN));
        }
        let about = meta.file_metadata();
        let schema =
            guarded(|| parquet_to_arrow_schema(about.schema_descr(), about.key_value_metadata()));
        let schema = schema
            .map_err(|it| Damage::new(format!("its schema cannot be read: {it}"), WRITE_AGAIN))?;
        let schema = SchemaRef::new(arrow_schema::Schema::new(read_as(schema.fields())));
        Ok(Self { inner: Arc::new(Inner { object, len, meta }), schema, rows })
    }
}

/// The footer of a file, which lies at its end, its length behind it.
fn footer(object: &dyn Object, len: u64) -> Result<Vec<u8>, Damage> {
    let no_parquet = |what: &str| {
        Err(Damage::new(
            format!("it is no Parquet file: {what}"),
            "check the pattern, and that the file was written to its end",
        ))
    };
    let mut tail = vec![0; len.min(TAIL) as usize];
    let read = |room: &mut [u8], at| {
        reads::count(room.len() as u64);
        object.read_exact_at(room, at).map_err(|why| {
            Damage::new(
                format!("cannot be read: {why}"),
                "check that it is not written to meanwhile",
            )
        })
    };
    let start = len - tail.len() as u64;
    read(&mut tail, start)?;
    let Some((rest, end)) = tail.split_last_chunk::<8>() else {
        return no_parquet("it is too short");
    };
    match &end[4..] {
        MAGIC => {}
        ENCRYPTED => {
            return Err(Damage::new("its footer is encrypted", "decrypt the file first"));
        }
        _ => return no_parquet("it does not end with `PAR1`"),
    }
    let bytes = u64::from(u32::from_le_bytes([end[0], end[1], end[2], end[3]]));
    if bytes > len - 8 || bytes > FOOTER_MAX {
        return no_parquet(&format!("it says that its footer has {bytes} bytes"));
    }
    if bytes <= rest.len() as u64 {
        return Ok(rest[rest.len() - bytes as usize..].to_vec());
    }
    let mut footer = vec![0; bytes as usize];
    read(&mut footer, len - 8 - bytes)?;
    Ok(footer)
}

/// What decodes must not panic, whatever a file holds; where it does, the file is at fault, and nothing is printed.
fn guarded<T>(work: impl FnOnce() -> ParquetResult<T>) -> Result<T, String> {
    static HOOK: Once = Once::new();
    thread_local! {
        static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
    }
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |it| {
            if !IS_GUARDED.get() {
                before(it);
            }
        }));
    });
    IS_GUARDED.set(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    IS_GUARDED.set(false);
    match done {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(why)) => Err(said_by_us(&why.to_string()).to_owned()),
        // What ends a task for want of memory is no fault of the file.
        Err(payload) if runtime::is_of_memory(&*payload) => panic::resume_unwind(payload),
        Err(_) => Err("its encoding is damaged".to_owned()),
    }
}

/// What a page's reader has said, within what the crate has put around it.
fn said_by_us(why: &str) -> &str {
    const AROUND: [&str; 4] =
        ["External: ", "Parquet argument error: ", "Parquet error: ", "EOF: "];
    let mut why = why;
    while let Some(rest) = AROUND.iter().find_map(|it| why.strip_prefix(it)) {
        why = rest;
    }
    why
}

/// The types that columns are read as: values in place of dictionaries, and texts as views of their pages.
fn read_as(fields: &Fields) -> Fields {
    fields.iter().map(|it| FieldRef::new(field_as(it))).collect()
}

fn field_as(field: &Field) -> Field {
    field.clone().with_data_type(type_as(field.data_type()))
}

fn type_as(ty: &DataType) -> DataType {
    let inner = |it: &FieldRef| FieldRef::new(field_as(it));
    match ty {
        DataType::Dictionary(_, value) => type_as(value),
        DataType::Struct(fields) => DataType::Struct(read_as(fields)),
        DataType::List(item) => DataType::List(inner(item)),
        DataType::LargeList(item) => DataType::LargeList(inner(item)),
        DataType::FixedSizeList(item, n) => DataType::FixedSizeList(inner(item), *n),
        DataType::Map(entries, sorted) => DataType::Map(inner(entries), *sorted),
        other => other.clone(),
    }
}

impl TableFile for ParquetFile {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn parts(&self) -> &[u64] {
        &self.rows
    }

    fn row_bytes(&self, part: usize, wanted: &[Vec<String>]) -> u64 {
        let group = self.inner.meta.row_group(part);
        let leaves = leaves(group.schema_descr(), wanted);
        let bytes = leaves.iter().map(|it| group.column(*it).uncompressed_size().max(0) as u64);
        bytes.fold(0, u64::saturating_add) / self.rows[part].max(1)
    }

    fn read(&self, asked: &Asked<'_>) -> Result<Batches, Damage> {
        let meta = &self.inner.meta;
        let descr = meta.file_metadata().schema_descr();
        let mask = ProjectionMask::leaves(descr, leaves(descr, asked.wanted));
        let lost = Lost::default();
        let group = Group { file: self.inner.clone(), number: asked.part, lost: lost.clone() };
        let all = self.rows[asked.part] as usize;
        let ranges = asked.rows.iter().map(|it| it.start as usize..it.end as usize);
        let selection = RowSelection::from_consecutive_ranges(ranges, all);
        let damaged =
            move |it: String| Damage { lost: lost.take(), ..Damage::new(it, WRITE_AGAIN) };
        let reader = guarded(|| {
            let levels = parquet_to_arrow_field_levels(descr, mask, Some(self.schema.fields()))?;
            ParquetRecordBatchReader::try_new_with_row_groups(
                &levels,
                &group,
                asked.batch,
                Some(selection),
            )
        });
        let mut reader = reader.map_err(&damaged)?;
        let mut ended = false;
        Ok(Box::new(std::iter::from_fn(move || {
            if ended {
                return None;
            }
            let next = guarded(|| reader.next().transpose().map_err(ParquetError::from));
            ended = !matches!(next, Ok(Some(_)));
            next.map_err(&damaged).transpose()
        })))
    }
}

/// The leaves of the schema that lie at or below the columns that are wanted.
fn leaves(descr: &SchemaDescriptor, wanted: &[Vec<String>]) -> Vec<usize> {
    let is_wanted = |at: &usize| {
        let column = descr.column(*at);
        wanted.iter().any(|it| column.path().parts().starts_with(it))
    };
    (0..descr.num_columns()).filter(is_wanted).collect()
}

/// A row group, whose columns the reader asks for.
struct Group {
    file: Arc<Inner>,
    number: usize,
    lost: Lost,
}

impl RowGroups for Group {
    fn num_rows(&self) -> usize {
        self.file.meta.row_group(self.number).num_rows() as usize
    }

    fn column_chunks(&self, column: usize) -> ParquetResult<Box<dyn PageIterator>> {
        Ok(Box::new(OneChunk::new(Chunk::new(self, column)?)))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(std::iter::once(self.file.meta.row_group(self.number)))
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.file.meta
    }
}
