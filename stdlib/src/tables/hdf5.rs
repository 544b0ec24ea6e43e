//! Datasets of an HDF5 file as columns: those that are as long as a given one, a row of the first axis each.

use super::{
    Asked, Batches, Damage, ROWS_MAX, TableFile,
    arrays::{
        drop_rows, elements, ends, first_rows, item, joined, parts, said, tensors, tensors_of,
        to_native,
    },
    damaged,
};
use crate::hdf5::{Dataset, Hdf5, Kind, without_padding};
use arrow_array::{ArrayRef, BinaryArray, ListArray, RecordBatch, RecordBatchOptions, StringArray};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use plan::DType;
use runtime::Failure;
use std::{ops::Range, path::Path, sync::Arc};

/// Bytes of values of no fixed length that a batch holds, but for one row.
const BLOCK: usize = 8 << 20;
/// Bytes that a value of no fixed length takes, about, where nobody has looked.
const ASSUMED: u64 = 64;

/// A file of which the datasets are known.
pub(crate) struct Hdf5Rows {
    inner: Arc<Inner>,
    schema: SchemaRef,
    /// Rows of each part, all but the last one alike.
    parts: Vec<u64>,
    refused: Vec<(String, String)>,
}

struct Inner {
    columns: Vec<Column>,
}

struct Column {
    dataset: Dataset,
    kind: Kind,
    field: FieldRef,
}

impl Hdf5Rows {
    /// Opens a file for the datasets that are as long as the one of that name; `give_up` is that of
    /// [`runtime::storage::Storage::open`].
    ///
    /// # Errors
    /// The file cannot be read, is not HDF5, or has no such dataset.
    pub(crate) fn of(path: &Path, over: &str, give_up: &mut dyn FnMut()) -> Result<Self, Failure> {
        Self::new(&Hdf5::of(path, give_up)?, over).map_err(|it| it.of_file(path))
    }

    fn new(file: &Hdf5, over: &str) -> Result<Self, Damage> {
        let over = over.trim_matches('/');
        let all = file.datasets()?;
        let Some(first) = all.iter().find(|it| it.name == over) else {
            return Err(unknown(over, &all));
        };
        let Some(&rows) = first.shape.first() else {
            let help = "name a dataset of which each row of the first axis is a record";
            return Err(Damage::new(format!("dataset `{over}` has no axes"), help));
        };
        if rows > ROWS_MAX || !first.is_plausible() {
            return Err(damaged(format!("`{over}` has more rows than the file can hold")));
        }
        let mut chunk = first.rows_of_chunk();
        let (mut columns, mut refused) = (Vec::new(), Vec::new());
        for dataset in all.into_iter().filter(|it| it.shape.first() == Some(&rows)) {
            let name = dataset.name.replace('/', ".");
            match Column::new(dataset, &name) {
                Ok(column) => columns.push(column),
                Err(why) => refused.push((name, why)),
            }
        }
        if chunk.is_none() {
            chunk = columns.iter().filter_map(|it| it.dataset.rows_of_chunk()).max();
        }
        let row_bytes = columns.iter().map(Column::row_bytes).fold(1, u64::saturating_add);
        let parts = parts(rows, chunk.unwrap_or(1), row_bytes);
        let fields = columns.iter().map(|it| it.field.clone());
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Ok(Self { inner: Arc::new(Inner { columns }), schema, parts, refused })
    }
}

fn unknown(over: &str, all: &[Dataset]) -> Damage {
    let names: Vec<String> = all.iter().filter(|it| !it.shape.is_empty()).map(shown).collect();
    let help = match &names[..] {
        [] => "it has no dataset with an axis".to_owned(),
        few if few.len() <= 8 => format!("it has {}", few.join(", ")),
        [first, ..] => format!("it has {} datasets, such as {first}", names.len()),
    };
    Damage::new(format!("it has no dataset `{over}`"), &help)
}

fn shown(it: &Dataset) -> String {
    let extents: Vec<String> = it.shape.iter().map(ToString::to_string).collect();
    format!("`{}` ({})", it.name, extents.join(" x "))
}

impl TableFile for Hdf5Rows {
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
        let inner = self.inner.clone();
        let is_wanted: Vec<bool> =
            inner.columns.iter().map(|it| it.is_wanted(asked.wanted)).collect();
        let begin = self.parts[0] * asked.part as u64;
        let most = asked.batch.max(1) as u64;
        let mut left = asked.rows.to_vec();
        left.reverse();
        Ok(Box::new(std::iter::from_fn(move || {
            let rows = first_rows(&left, most)?;
            let batch = inner.batch(&rows, begin, &is_wanted);
            match &batch {
                Ok(batch) => drop_rows(&mut left, batch.num_rows() as u64),
                Err(_) => left.clear(),
            }
            Some(batch)
        })))
    }
}

impl Inner {
    /// Some of these rows of the part that begins there: as many as are read together.
    fn batch(
        &self,
        rows: &[Range<u64>],
        begin: u64,
        is_wanted: &[bool],
    ) -> Result<RecordBatch, Damage> {
        let mut n: u64 = rows.iter().map(|it| it.end - it.start).sum();
        let wanted = || self.columns.iter().zip(is_wanted).filter(|it| *it.1).map(|it| it.0);
        let mut arrays: Vec<Option<ArrayRef>> = Vec::new();
        // How long a value is without a fixed length is known when it is read: that says how many rows it will be.
        for column in wanted() {
            arrays.push(match column.kind.has_fixed_length() {
                true => None,
                false => {
                    let array = column.values(&first_rows_of(rows, n), begin)?;
                    n = array.len() as u64;
                    Some(array)
                }
            });
        }
        let rows = first_rows_of(rows, n);
        let arrays = wanted().zip(arrays).map(|(column, array)| match array {
            Some(array) => Ok(array.slice(0, n as usize)),
            None => column.fixed(&rows, begin),
        });
        let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
        let fields = wanted().map(|it| it.field.clone());
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let options = RecordBatchOptions::new().with_row_count(Some(n as usize));
        RecordBatch::try_new_with_options(schema, arrays, &options).map_err(damaged)
    }
}

fn first_rows_of(rows: &[Range<u64>], n: u64) -> Vec<Range<u64>> {
    let reversed: Vec<_> = rows.iter().rev().cloned().collect();
    first_rows(&reversed, n).unwrap_or_default()
}

/// What takes the bytes of a row, with its number; whether there is room for more.
type AppendRow<'a> = dyn FnMut(u64, &[u8]) -> Result<bool, Damage> + 'a;

impl Column {
    /// A dataset as a column of that name; else what its elements are that cannot be read so.
    fn new(dataset: Dataset, name: &str) -> Result<Self, String> {
        let kind = dataset.kind.clone()?;
        let below = dataset.shape.get(1..).unwrap_or_default();
        let ty = match &kind {
            Kind::Numbers { dtype, shape, .. } => {
                let field = tensors(name, *dtype, &[below, shape].concat())?;
                return Ok(Self { dataset, kind, field });
            }
            _ if !below.is_empty() => {
                return Err("texts, bytes or lists along more than one axis".to_owned());
            }
            Kind::FixedText(_) | Kind::Text => DataType::Utf8,
            Kind::FixedBytes | Kind::Bytes => DataType::Binary,
            Kind::List { dtype, .. } => DataType::List(item(*dtype)),
        };
        let mut field = Field::new(name, ty, false);
        if let Kind::List { dtype: DType::BF16, .. } = kind {
            field.set_metadata(said(&[("pipec:dtype", "bf16".to_owned())]));
        }
        Ok(Self { dataset, kind, field: Arc::new(field) })
    }

    fn is_wanted(&self, wanted: &[Vec<String>]) -> bool {
        wanted.iter().any(|of| of.first() == Some(self.field.name()))
    }

    /// Bytes of a row, about.
    fn row_bytes(&self) -> u64 {
        let apart = if self.kind.has_fixed_length() { 0 } else { ASSUMED };
        self.dataset.row_bytes().saturating_add(apart)
    }

    /// Reads rows, given within the part that begins there, and appends what they are.
    fn read(&self, rows: &[Range<u64>], begin: u64, to: &mut AppendRow<'_>) -> Result<(), Damage> {
        for range in rows {
            let bytes = match self.dataset.rows(begin + range.start..begin + range.end) {
                Ok(bytes) => bytes,
                Err(why) => return Err(self.lost(range, begin, why)),
            };
            if !to(range.start, &bytes)? {
                break;
            }
        }
        Ok(())
    }

    /// Which of these rows it is that cannot be read: those of a chunk, since others can.
    fn lost(&self, range: &Range<u64>, begin: u64, why: Damage) -> Damage {
        let name = self.field.name();
        let named =
            |it: Damage| Damage { message: format!("column `{name}`: {}", it.message), ..it };
        let Some(chunk) = self.dataset.rows_of_chunk() else {
            return named(why).losing(range.clone());
        };
        let mut at = range.start;
        while at < range.end {
            let end = ((begin + at) / chunk + 1).saturating_mul(chunk) - begin;
            let end = end.min(range.end);
            if let Err(why) = self.dataset.rows(begin + at..begin + end) {
                return named(why).losing(at..end);
            }
            at = end;
        }
        named(why).losing(range.clone())
    }

    /// Rows of numbers, or of texts of a fixed length.
    fn fixed(&self, rows: &[Range<u64>], begin: u64) -> Result<ArrayRef, Damage> {
        let n: u64 = rows.iter().map(|it| it.end - it.start).sum();
        let mut all = runtime::Counted::new();
        match rows {
            [range] => {
                let read = self.dataset.rows(begin + range.start..begin + range.end);
                all = read.map_err(|why| self.lost(range, begin, why))?;
            }
            _ => self.read(rows, begin, &mut |_, bytes| {
                all.extend_from_slice(bytes);
                Ok(true)
            })?,
        }
        let Kind::Numbers { dtype, .. } = self.kind else {
            return self.cells(rows, &all).map_err(|it| self.as_array(it))?;
        };
        tensors_of(&self.field, dtype, all, n as usize)
    }

    fn as_array(&self, why: ArrowError) -> Damage {
        damaged(format!("column `{}`: {why}", self.field.name()))
    }

    /// Texts and bytes of a fixed length.
    fn cells(
        &self,
        rows: &[Range<u64>],
        all: &[u8],
    ) -> Result<Result<ArrayRef, Damage>, ArrowError> {
        let size = (self.dataset.row_bytes() as usize).max(1);
        let cells: Vec<&[u8]> = all.chunks_exact(size).collect();
        let Kind::FixedText(padding) = self.kind else {
            let made = BinaryArray::try_new(ends(&cells, 1)?, joined(&cells), None)?;
            return Ok(Ok(Arc::new(made)));
        };
        let cells: Vec<&[u8]> = cells.into_iter().map(|it| without_padding(it, padding)).collect();
        let numbers = rows.iter().cloned().flatten();
        for (row, cell) in numbers.zip(&cells) {
            if let Err(why) = self.check_text(row, cell) {
                return Ok(Err(why));
            }
        }
        Ok(Ok(Arc::new(StringArray::try_new(ends(&cells, 1)?, joined(&cells), None)?)))
    }

    fn check_text(&self, row: u64, text: &[u8]) -> Result<(), Damage> {
        match std::str::from_utf8(text) {
            Ok(_) => Ok(()),
            Err(_) => {
                let why = format!("column `{}`: it is not UTF-8", self.field.name());
                Err(damaged(why).losing(row..row + 1))
            }
        }
    }

    /// Values of no fixed length; of the first rows, if they are long.
    fn values(&self, rows: &[Range<u64>], begin: u64) -> Result<ArrayRef, Damage> {
        let place = (self.dataset.row_bytes() as usize).max(1);
        let (size, swapped) = match self.kind {
            Kind::List { dtype, is_big_endian } => (dtype.size(), Some((dtype, is_big_endian))),
            _ => (1, None),
        };
        let (mut values, mut bytes) = (Vec::new(), 0);
        self.read(rows, begin, &mut |first, places| {
            for (row, place) in (first..).zip(places.chunks_exact(place)) {
                let named = |it: Damage| {
                    let message = format!("column `{}`: {}", self.field.name(), it.message);
                    Damage { message, ..it }.losing(row..row + 1)
                };
                let mut value = self.dataset.value(place, size).map_err(named)?;
                if let Some((dtype, is_big_endian)) = swapped {
                    to_native(dtype, is_big_endian, &mut value);
                }
                if self.kind == Kind::Text {
                    self.check_text(row, &value)?;
                }
                if !values.is_empty() && bytes + value.len() > BLOCK {
                    return Ok(false);
                }
                bytes += value.len();
                values.push(value);
            }
            Ok(true)
        })?;
        let cells: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
        let made = || -> Result<ArrayRef, ArrowError> {
            let (ends, all) = (ends(&cells, size)?, joined(&cells));
            Ok(match self.kind {
                Kind::List { dtype, .. } => {
                    let all = elements(dtype, all);
                    Arc::new(ListArray::try_new(item(dtype), ends, all, None)?)
                }
                Kind::Text => Arc::new(StringArray::try_new(ends, all, None)?),
                _ => Arc::new(BinaryArray::try_new(ends, all, None)?),
            })
        };
        made().map_err(|it| self.as_array(it))
    }
}
