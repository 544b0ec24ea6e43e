//! Parquet files: the footer and what decodes columns are those of the crate `parquet`; pages are our own, so that what
//! they take is bounded, and every codec is Rust.

mod codec;
mod counts;
mod filter;
mod flat;
mod header;
pub(crate) mod int96;
mod page_index;
mod pages;
mod raw;
mod runs;
mod statistics;
#[cfg(test)]
mod tests;
mod walk;

use super::{
    Asked, Batches, Condition, Damage, TableFile, Walk, Walked, damaged, field_as, guarded, read,
};
use arrow_schema::{DataType, Schema, SchemaRef};
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
use runtime::{Failure, storage::Object};
use std::{ops::Range, path::Path, sync::Arc};

/// What a file begins and ends with.
const MAGIC: &[u8] = b"PAR1";
/// The same of one whose footer is encrypted.
const ENCRYPTED: &[u8] = b"PARE";
/// Bytes of the end of a file that are read first: most footers are no longer.
const TAIL: u64 = 64 << 10;
/// Bytes of a footer, at the most: it is read as a whole.
const FOOTER_MAX: u64 = 64 << 20;

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
    /// Reads the footer of a file; `give_up` is that of [`runtime::storage::Storage::open`].
    ///
    /// # Errors
    /// The file cannot be read, or is not Parquet.
    pub(crate) fn of(path: &Path, give_up: &mut dyn FnMut()) -> Result<Self, Failure> {
        let (object, len) = super::open(path, give_up)?;
        let file = footer(&*object, len).and_then(|it| Self::new(object, len, &it));
        file.map_err(|it| it.of_file(path))
    }

    fn new(object: Box<dyn Object>, len: u64, footer: &[u8]) -> Result<Self, Damage> {
        let meta = guarded(|| ParquetMetaDataReader::decode_metadata(footer))
            .map_err(|it| damaged(format!("its footer cannot be read: {it}")))?;
        let rows = meta.row_groups().iter().map(RowGroupMetaData::num_rows);
        let rows = rows.map(u64::try_from).collect::<Result<Vec<_>, _>>();
        let rows = rows.map_err(|_| damaged("a row group has less than no rows"))?;
        let sum = rows.iter().try_fold(0_u64, |sum, it| sum.checked_add(*it));
        if sum.is_none_or(|it| it > super::ROWS_MAX) {
            return Err(damaged("its footer says more rows than a file can have"));
        }
        let about = meta.file_metadata();
        let schema =
            guarded(|| parquet_to_arrow_schema(about.schema_descr(), about.key_value_metadata()));
        let schema = schema.map_err(|it| damaged(format!("its schema cannot be read: {it}")))?;
        let fields = schema.fields().iter().map(|it| field_as(it));
        let fields = fields.map(|it| int96::marked(it, &[], about.schema_descr()));
        let schema = SchemaRef::new(Schema::new(fields.collect::<Vec<_>>()));
        Ok(Self { inner: Arc::new(Inner { object, len, meta }), schema, rows })
    }

    /// The type that a column is read as.
    fn type_of(&self, path: &[String]) -> Option<DataType> {
        let (first, rest) = path.split_first()?;
        let mut field = self.schema.field_with_name(first).ok()?;
        for name in rest {
            let DataType::Struct(fields) = field.data_type() else { return None };
            field = fields.iter().find(|it| it.name() == name)?;
        }
        Some(field.data_type().clone())
    }
}

/// The footer of a file, which lies at its end, its length behind it.
fn footer(object: &dyn Object, len: u64) -> Result<Vec<u8>, Damage> {
    let no_parquet = |what: &str| {
        Err(Damage::new(
            format!("this is not a Parquet file: {what}"),
            "check the pattern, and that the file was written to its end",
        ))
    };
    let mut tail = vec![0; len.min(TAIL) as usize];
    let start = len - tail.len() as u64;
    read(object, &mut tail, start)?;
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
    read(object, &mut footer, len - 8 - bytes)?;
    Ok(footer)
}

impl TableFile for ParquetFile {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn part(&self) -> (&'static str, &'static str) {
        ("row group", "row groups")
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

    fn may_hold(&self, part: usize, conditions: &[Condition]) -> bool {
        statistics::may_hold(self.inner.meta.row_group(part), conditions, |it| self.type_of(it))
    }

    fn needed(&self, part: usize, conditions: &[Condition]) -> Option<Vec<Range<u64>>> {
        let group = self.inner.meta.row_group(part);
        let type_of = |it: &[String]| self.type_of(it);
        let needed = || Ok(page_index::needed(&self.inner, group, conditions, type_of));
        guarded(needed).ok().flatten()
    }

    fn stored_bytes(&self, part: usize, wanted: &[Vec<String>]) -> u64 {
        let group = self.inner.meta.row_group(part);
        let leaves = leaves(group.schema_descr(), wanted);
        leaves.iter().map(|it| group.column(*it).compressed_size().max(0) as u64).sum()
    }

    fn walk(&self, asked: &Walked<'_>) -> Option<Box<dyn Walk>> {
        Some(Box::new(walk::Pages::of(self, asked)?))
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
        let lost = move |it: String| Damage { lost: lost.take(), ..damaged(it) };
        let reader = guarded(|| {
            let levels = parquet_to_arrow_field_levels(descr, mask, Some(self.schema.fields()))?;
            ParquetRecordBatchReader::try_new_with_row_groups(
                &levels,
                &group,
                asked.batch,
                Some(selection),
            )
        });
        let mut reader = reader.map_err(&lost)?;
        let mut ended = false;
        Ok(Box::new(std::iter::from_fn(move || {
            if ended {
                return None;
            }
            let next = guarded(|| reader.next().transpose().map_err(ParquetError::from));
            ended = !matches!(next, Ok(Some(_)));
            next.map_err(&lost).transpose()
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

/// The number of a column that is no list.
fn leaf(descr: &SchemaDescriptor, path: &[String]) -> Option<usize> {
    let is = |at: &usize| {
        let column = descr.column(*at);
        column.path().parts() == path && column.max_rep_level() == 0
    };
    (0..descr.num_columns()).find(is)
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
