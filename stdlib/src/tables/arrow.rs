//! Files of Arrow's IPC format, each record batch a part: <https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format>.
//! Streams, which end without a footer, are gone through by the heads of their messages.

mod zstd;

use super::{
    Asked, Batches, Damage, LOST_MAX, Later, Opened, Rows, TableFile, Walk, Walked, damaged,
    field_as, guarded, read,
};
use arrow_array::{
    Array, ArrayRef, RecordBatch, RecordBatchOptions, StructArray, UInt64Array, cast::AsArray,
};
use arrow_buffer::Buffer;
use arrow_ipc::{
    Message, MessageHeader,
    convert::try_fb_to_schema,
    reader::{RecordBatchDecoder, read_dictionary},
    root_as_message,
};
use arrow_schema::{ArrowError, DataType, Fields, Schema, SchemaRef};
use arrow_select::take::{take, take_record_batch};
use runtime::{Counted, Failure, storage::Object};
use std::{
    collections::HashMap,
    ops::Range,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

/// What a file with a footer begins and ends with; a stream has neither.
const MAGIC: &[u8] = b"ARROW1";
/// Bytes that messages are aligned to, at the most.
const ALIGN: u64 = 64;
/// What stands before the length of a message, since version 0.15.
const CONTINUES: u32 = u32::MAX;
/// Bytes of the head of a message, at the most.
const HEAD_MAX: u64 = 64 << 20;
/// How often a byte of LZ4 can become one of a column, at the most.
const LZ4_RATIO: i64 = 256;

/// A file of which the heads of all messages were read.
pub(crate) struct ArrowFile(Arc<Inner>);

struct Inner {
    object: Box<dyn Object>,
    /// As it is written, and as it is read: values in place of dictionaries.
    written: SchemaRef,
    schema: SchemaRef,
    batches: Vec<Block>,
    rows: Vec<u64>,
    dictionaries: Vec<Block>,
    /// Those that were read last, and how many of `dictionaries` they are.
    read: Mutex<(usize, Arc<Dictionaries>)>,
}

type Dictionaries = HashMap<i64, ArrayRef>;

/// Where a message lies.
#[derive(Debug, Clone, Copy)]
struct Block {
    offset: u64,
    /// Bytes of its head, with the length before it, and of what follows.
    head: u64,
    body: u64,
    /// Dictionaries that were written before it.
    dictionaries: usize,
}

impl ArrowFile {
    /// Reads the heads of the messages of a file; `give_up` is that of [`runtime::storage::Storage::open`].
    ///
    /// # Errors
    /// The file cannot be read, or is not Arrow.
    pub(crate) fn of(path: &Path, give_up: &mut dyn FnMut()) -> Result<Self, Failure> {
        let (object, len) = super::open(path, give_up)?;
        let inner = Inner::new(object, len).map_err(|it| it.of_file(path))?;
        Ok(Self(Arc::new(inner)))
    }
}

impl Inner {
    fn new(object: Box<dyn Object>, len: u64) -> Result<Self, Damage> {
        let mut start = [0; 6];
        let is_file = len >= 8 && read(&*object, &mut start, 0).is_ok() && start == MAGIC;
        let mut offset = if is_file { first_message(&*object, len)? } else { 0 };
        let mut schema = None;
        let (mut batches, mut rows, mut dictionaries) = (Vec::new(), Vec::new(), Vec::new());
        while let Some((mut block, head)) = message_at(&*object, offset, len)? {
            block.dictionaries = dictionaries.len();
            offset += block.head + block.body;
            let message = message(&head)?;
            match (message.header_type(), &schema) {
                (MessageHeader::Schema, None) => {
                    schema =
                        message.header_as_schema().map(|it| guarded(|| Ok(try_fb_to_schema(it)?)));
                }
                (MessageHeader::RecordBatch, Some(_)) => {
                    rows.push(message.header_as_record_batch().map_or(Err(no_length()), rows_of)?);
                    batches.push(block);
                }
                (MessageHeader::DictionaryBatch, Some(_)) => dictionaries.push(block),
                _ => return Err(damaged("a message is of a kind that cannot stand there")),
            }
        }
        if rows
            .iter()
            .try_fold(0_u64, |sum, it| sum.checked_add(*it))
            .is_none_or(|it| it > super::ROWS_MAX)
        {
            return Err(damaged("it says more rows than a file can have"));
        }
        let no_arrow = || {
            let help = "check the pattern, and that the file was written to its end";
            Damage::new("this is not an Arrow file: it does not begin with a schema", help)
        };
        let schema = schema.ok_or_else(no_arrow)?;
        let schema = schema.map_err(|it| damaged(format!("its schema cannot be read: {it}")))?;
        let fields = schema.fields().iter().map(|it| field_as(it));
        let read_as = Schema::new(fields.collect::<Vec<_>>());
        let (written, schema) = (Arc::new(schema), Arc::new(read_as));
        Ok(Self { object, written, schema, batches, rows, dictionaries, read: Mutex::default() })
    }

    /// The dictionaries that the first messages of them leave.
    fn dictionaries(&self, n: usize) -> Result<Arc<Dictionaries>, Damage> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.0 > n {
            *read = (0, Arc::default());
        }
        let mut all = read.1.as_ref().clone();
        for block in &self.dictionaries[read.0..n] {
            let (head, body) = self.block(*block)?;
            let (head, body) = zstd::plain(&head, &body)?;
            let message = message(&head)?;
            let of = message.header_as_dictionary_batch();
            let of = of.ok_or_else(|| damaged("a dictionary is none"))?;
            check_lens(of.data().and_then(|it| Some((it.compression()?, it.buffers()?))), &body)?;
            let (schema, version) = (&self.written, message.version());
            guarded(|| read_dictionary(&body, of, schema, &mut all, &version).map_err(Into::into))
                .map_err(damaged)?;
        }
        *read = (n, Arc::new(all));
        Ok(read.1.clone())
    }

    /// The head and the body of a message.
    fn block(&self, block: Block) -> Result<(Vec<u8>, Buffer), Damage> {
        let mut head = vec![0; block.head as usize];
        read(&*self.object, &mut head, block.offset)?;
        let mut body = Counted::new();
        body.resize(block.body as usize, 0);
        read(&*self.object, &mut body, block.offset + block.head)?;
        Ok((without_len(head), Buffer::from(super::owned(body))))
    }

    /// The columns that are wanted of a record batch whose head and body were read.
    fn batch(
        &self,
        part: usize,
        wanted: &[Vec<String>],
        (head, body): &(Vec<u8>, Buffer),
    ) -> Result<RecordBatch, Damage> {
        let dictionaries = self.dictionaries(self.batches[part].dictionaries)?;
        let (head, body) = &zstd::plain(head, body)?;
        let message = message(head)?;
        let of = message.header_as_record_batch();
        let of = of.ok_or_else(|| damaged("a record batch is none"))?;
        check_lens(of.compression().and_then(|it| Some((it, of.buffers()?))), body)?;
        let is_wanted =
            |at: &usize| wanted.iter().any(|it| it.first() == Some(self.written.field(*at).name()));
        let columns: Vec<usize> = (0..self.written.fields().len()).filter(is_wanted).collect();
        let read = || -> Result<RecordBatch, ArrowError> {
            let (schema, version) = (self.written.clone(), message.version());
            let decoder = RecordBatchDecoder::try_new(body, of, schema, &dictionaries, &version)?;
            let batch = decoder.with_projection(Some(&columns)).read_record_batch()?;
            let arrays = batch.columns().iter().map(unpacked).collect::<Result<Vec<_>, _>>()?;
            let schema = Arc::new(self.schema.project(&columns)?);
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            RecordBatch::try_new_with_options(schema, arrays, &options)
        };
        let batch = guarded(|| read().map_err(Into::into)).map_err(damaged)?;
        if batch.num_rows() as u64 != self.rows[part] {
            return Err(damaged("a record batch has another length than it says"));
        }
        Ok(batch)
    }
}

impl TableFile for ArrowFile {
    fn schema(&self) -> &SchemaRef {
        &self.0.schema
    }

    fn part(&self) -> (&'static str, &'static str) {
        ("record batch", "record batches")
    }

    fn parts(&self) -> &[u64] {
        &self.0.rows
    }

    fn row_bytes(&self, part: usize, _: &[Vec<String>]) -> u64 {
        self.0.batches[part].body / self.0.rows[part].max(1)
    }

    fn walk(&self, &Walked { part, wanted, row, .. }: &Walked<'_>) -> Option<Box<dyn Walk>> {
        let block = self.0.block(self.0.batches[part]).ok()?;
        let (file, wanted, batch) = (self.0.clone(), wanted.to_vec(), Later::default());
        let lying = Arc::new(Lying { file, part, wanted, block, batch });
        Some(Box::new(Slices { lying, row }))
    }

    fn read(&self, asked: &Asked<'_>) -> Result<Batches, Damage> {
        // What is damaged costs all rows of the record batch, however they are read.
        let whole = |it: Damage| Damage { lost: Some(0..u64::MAX), ..it };
        let block = self.0.block(self.0.batches[asked.part]).map_err(whole)?;
        let batch = self.0.batch(asked.part, asked.wanted, &block).map_err(whole)?;
        let [range] = asked.rows else {
            let all: UInt64Array = asked.rows.iter().cloned().flatten().collect();
            let taken = take_record_batch(&batch, &all).map_err(damaged);
            return Ok(Box::new(std::iter::once(taken.map_err(whole))));
        };
        let (mut left, step) = (range.clone(), asked.batch as u64);
        Ok(Box::new(std::iter::from_fn(move || {
            let n = step.min(left.end - left.start);
            let slice = (n > 0).then(|| Ok(batch.slice(left.start as usize, n as usize)));
            left.start += n;
            slice
        })))
    }
}

/// A record batch that was read: the first thread that needs it decodes it.
struct Lying {
    file: Arc<Inner>,
    part: usize,
    wanted: Vec<Vec<String>>,
    block: (Vec<u8>, Buffer),
    batch: Later<Result<RecordBatch, Damage>>,
}

/// A walk through its rows.
struct Slices {
    lying: Arc<Lying>,
    row: u64,
}

/// Some of them.
struct Slice {
    lying: Arc<Lying>,
    rows: Range<u64>,
}

impl Walk for Slices {
    fn take(&mut self, n: u64) -> Option<Box<dyn Rows>> {
        let rows = self.row..self.row.checked_add(n)?;
        self.row = rows.end;
        // Of those that are a damaged batch, no more than may be told of.
        (self.lying.file.rows[self.lying.part] <= LOST_MAX).then_some(())?;
        Some(Box::new(Slice { lying: self.lying.clone(), rows }))
    }

    fn go_to(&mut self, row: u64) {
        self.row = self.row.max(row);
    }
}

impl Lying {
    fn batch(&self) -> Result<RecordBatch, Damage> {
        let Self { file, part, wanted, block, batch } = self;
        batch.get(|| file.batch(*part, wanted, block))
    }
}

impl Rows for Slice {
    fn rows(&self) -> Range<u64> {
        self.rows.clone()
    }

    fn bytes(&self) -> usize {
        let Lying { file, part, block, .. } = &*self.lying;
        let rows = self.rows.end - self.rows.start;
        block.1.len() / file.rows[*part].max(1) as usize * rows as usize
    }

    fn lost(&self) -> Vec<(Range<u64>, Damage)> {
        let why = self.lying.batch().err();
        why.map(|it| (self.rows.clone(), it)).into_iter().collect()
    }

    fn open(&self, rows: &Range<u64>) -> Result<Opened<'_>, Damage> {
        let (start, n) = (rows.start as usize, (rows.end - rows.start) as usize);
        Ok(Opened::Batch(self.lying.batch()?.slice(start, n)))
    }
}

/// Where the first message of a file with a footer begins: writers pad what is before it to 8 bytes, or to 64.
fn first_message(object: &dyn Object, len: u64) -> Result<u64, Damage> {
    let mut room = [0; ALIGN as usize];
    let room = &mut room[..len.min(ALIGN) as usize];
    read(object, room, 0)?;
    let pad = room[MAGIC.len()..].iter().take_while(|it| **it == 0).count();
    Ok((MAGIC.len() + pad) as u64 / 8 * 8)
}

/// The message at `offset`: where it lies, and its head; none at the end.
fn message_at(
    object: &dyn Object,
    offset: u64,
    len: u64,
) -> Result<Option<(Block, Vec<u8>)>, Damage> {
    let left = len - offset;
    // A stream may end without a word.
    if left < 8 {
        return Ok(None);
    }
    let mut lens = [0; 8];
    read(object, &mut lens, offset)?;
    let [first, second] =
        [&lens[..4], &lens[4..]].map(|it| u32::from_le_bytes(it.try_into().unwrap_or_default()));
    // Before version 0.15 a message began with its length.
    let (prefix, head) = if first == CONTINUES { (8, second) } else { (4, first) };
    if head == 0 {
        return Ok(None);
    }
    let head = prefix + u64::from(head);
    if head > left.min(HEAD_MAX) {
        let help = "check the pattern, and that the file was written to its end";
        return Err(Damage::new("this is not an Arrow file, or it is truncated", help));
    }
    let mut bytes = vec![0; head as usize];
    read(object, &mut bytes, offset)?;
    let bytes = without_len(bytes);
    let body = u64::try_from(message(&bytes)?.bodyLength()).ok();
    let Some(body) = body.filter(|it| *it <= left - head) else {
        return Err(damaged("it is truncated in a record batch"));
    };
    Ok(Some((Block { offset, head, body, dictionaries: 0 }, bytes)))
}

/// The rows of a record batch. Its first column has as many, or else a number that is made up would be found out late.
fn rows_of(batch: arrow_ipc::RecordBatch<'_>) -> Result<u64, Damage> {
    let column = batch.nodes().filter(|it| !it.is_empty()).map(|it| it.get(0).length());
    let rows = u64::try_from(batch.length()).ok().filter(|it| *it <= super::ROWS_MAX);
    rows.filter(|_| column.is_none_or(|it| it == batch.length())).ok_or_else(no_length)
}

fn no_length() -> Damage {
    damaged("a record batch does not say how many rows it has")
}

/// The head of a message without its length.
fn without_len(mut head: Vec<u8>) -> Vec<u8> {
    let prefix = if head.starts_with(&CONTINUES.to_le_bytes()) { 8 } else { 4 };
    head.drain(..prefix.min(head.len()));
    head
}

fn message(head: &[u8]) -> Result<Message<'_>, Damage> {
    root_as_message(head).map_err(|it| damaged(format!("a message cannot be read: {it}")))
}

/// Whether compressed columns say plausible lengths: so much memory is asked for at once.
fn check_lens(
    of: Option<(arrow_ipc::BodyCompression<'_>, flatbuffers::Vector<'_, arrow_ipc::Buffer>)>,
    body: &[u8],
) -> Result<(), Damage> {
    let Some((_, buffers)) = of else { return Ok(()) };
    for buffer in buffers {
        let start = usize::try_from(buffer.offset()).unwrap_or(usize::MAX);
        let Some(len) = body.get(start..).and_then(|it| it.first_chunk::<8>()) else { continue };
        if buffer.length() > 0 && i64::from_le_bytes(*len) / LZ4_RATIO > buffer.length() {
            return Err(damaged("a column is shorter than it says"));
        }
    }
    Ok(())
}

/// The values in place of dictionaries.
fn unpacked(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match array.data_type() {
        DataType::Dictionary(..) => {
            let keys = array.as_any_dictionary();
            take(keys.values(), keys.keys(), None)
        }
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns().iter().map(unpacked);
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            let field = |(field, column): (&arrow_schema::FieldRef, &ArrayRef)| {
                field.as_ref().clone().with_data_type(column.data_type().clone())
            };
            let fields: Fields = fields.iter().zip(&columns).map(field).collect();
            let made = StructArray::try_new_with_length(
                fields,
                columns,
                array.nulls().cloned(),
                array.len(),
            );
            Ok(Arc::new(made?))
        }
        _ => Ok(array.clone()),
    }
}
