//! An Arrow IPC stream: one record batch for each batch, its rows the rows of the batch.
//!
//! Tensors of known extents are `arrow.fixed_shape_tensor`, those of unknown extents lists, or
//! `arrow.variable_shape_tensor` from two axes on. Where the fields of a batch do not share their
//! first axis, a row is a whole batch, and its texts are a list. A ragged field is one column of lists, or the two that it
//! is made of where a row is a whole batch. What leaves a pipeline without `batch` comes in pieces
//! that depend on the records alone (`pieces.rs`). Arrow has no `bf16`: its bits go as `uint16`,
//! and the field says so.

mod arrays;

use super::{Resumed, RunConfig, Sink, Written, pieces::Pieces};
use crate::session::whole;
use arrays::{Form, Rows};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, Field, Schema};
use plan::{DType, Extent, Program, RaggedField, Type};
use runtime::{Chunk, Failure};
use std::{
    io::{self, Write},
    path::Path,
    sync::Arc,
};

/// Writes an Arrow IPC stream.
pub(super) struct ArrowStream<W: Write> {
    writer: StreamWriter<W>,
    table: Table,
    /// Where each record that leaves is a batch, none.
    pieces: Option<Pieces>,
    /// Outputs that are in the stream.
    outputs: u64,
}

impl<W: Write> ArrowStream<W> {
    /// Writes the schema of what `program` gives.
    ///
    /// # Errors
    /// It cannot be written, or a tensor has more elements than Arrow can count.
    pub(super) fn open(out: W, program: &Program) -> Result<Self, Failure> {
        let table = Table::of(&program.output, program.batched).map_err(|detail| {
            let detail = format!("{detail}: write it with `--out DIR`");
            Failure::Data { label: String::new(), detail }
        })?;
        let writer = StreamWriter::try_new(out, &table.schema).map_err(failure)?;
        let pieces = || Pieces::new(&program.output).held_by(2, "");
        let pieces = (!program.batched).then(pieces);
        Ok(Self { writer, table, pieces, outputs: 0 })
    }
}

/// What the fields of a pipeline are as columns of Arrow.
pub(super) struct Table {
    schema: Arc<Schema>,
    columns: Vec<OutColumn>,
    /// Whether the rows are those of a batch, along its first axis.
    rows_of_batches: bool,
}

impl Table {
    /// That of the output of a pipeline, which ends in `batch` or not.
    ///
    /// # Errors
    /// A tensor has more elements than Arrow can count.
    pub(super) fn of(output: &[plan::Field], batched: bool) -> Result<Self, String> {
        let rows_of_batches = batched && shared_axis(output);
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        let ragged = if rows_of_batches { RaggedField::all(output) } else { Vec::new() };
        for (at, field) in output.iter().enumerate() {
            if ragged.iter().any(|it| it.offsets == at) {
                continue;
            }
            let (dtype, mut shape) = tensor(&field.ty);
            if rows_of_batches {
                shape = &shape[1..];
            }
            let ragged = ragged.iter().find(|it| it.values == at);
            let form = Form::of(dtype, shape).ok_or_else(|| too_large(field))?;
            fields.push(match ragged {
                Some(it) => Field::new(it.name, form.list_of(), false),
                None => {
                    let mut metadata = form.metadata();
                    if field.ty.is_untyped() {
                        let name = ("ARROW:extension:name", "arrow.json");
                        metadata.insert(name.0.to_owned(), name.1.to_owned());
                    }
                    Field::new(&field.name, form.data_type(), false).with_metadata(metadata)
                }
            });
            columns.push(OutColumn { form, at, offsets: ragged.map(|it| it.offsets) });
        }
        let schema = Arc::new(Schema::new(fields));
        Ok(Self { schema, columns, rows_of_batches })
    }

    pub(super) fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The records of `chunk`, or the rows of the batch that its record `batch` is.
    ///
    /// # Errors
    /// A list has more elements than Arrow can count.
    pub(super) fn batch(
        &self,
        chunk: &Chunk,
        batch: Option<usize>,
    ) -> Result<RecordBatch, ArrowError> {
        let arrays = self.columns.iter().map(|it| it.array(chunk, batch));
        RecordBatch::try_new(self.schema.clone(), arrays.collect::<Result<_, _>>()?)
    }
}

/// A column of the stream, and where its values come from.
struct OutColumn {
    form: Form,
    /// A column of the chunk.
    at: usize,
    /// Of a ragged field, the column that says where its rows begin.
    offsets: Option<usize>,
}

impl OutColumn {
    /// The array of the records of `chunk`, or of the rows of the batch that its record `batch` is.
    fn array(&self, chunk: &Chunk, batch: Option<usize>) -> Result<ArrayRef, ArrowError> {
        let column = &chunk.columns[self.at];
        if let (Some(offsets), Some(row)) = (self.offsets, batch) {
            let rows = Rows { column, batch };
            return self.form.lists(&rows, &chunk.columns[offsets].row(row));
        }
        match batch.and_then(|it| column.texts(it)) {
            Some(texts) => self.form.array(&Rows { column: &texts, batch: None }),
            None => self.form.array(&Rows { column, batch }),
        }
    }
}

impl<W: Write> Sink for ArrowStream<W> {
    fn wants(&self, _: u64) -> u64 {
        self.pieces.as_ref().map_or(0, Pieces::wants)
    }

    fn begin(&mut self, config: &RunConfig) {
        self.pieces.iter_mut().for_each(|it| it.begin(config.room));
    }

    fn take(&mut self, chunk: &Chunk) -> Result<(), Failure> {
        let Self { writer, table, pieces, outputs } = self;
        let mut out = Out { writer, table };
        if pieces.is_none() {
            *outputs += chunk.rows as u64;
        }
        match pieces {
            Some(pieces) => pieces.push(chunk, &mut |piece| {
                *outputs += piece.rows as u64;
                out.write(piece, None)
            }),
            None if table.rows_of_batches => {
                (0..chunk.rows).try_for_each(|it| out.write(chunk, Some(it)))
            }
            None => out.write(chunk, None),
        }
    }

    fn written(&self) -> Written {
        Written { outputs: self.outputs, files: 0 }
    }

    /// The stream begins with what comes next.
    fn resume(&mut self, written: Written) -> Result<Resumed, Failure> {
        self.outputs = written.outputs;
        Ok(Resumed::There)
    }

    fn finish(&mut self) -> Result<(), Failure> {
        let Self { writer, table, pieces, outputs } = self;
        if let Some(pieces) = pieces {
            let mut out = Out { writer, table };
            pieces.finish(&mut |piece| {
                *outputs += piece.rows as u64;
                out.write(piece, None)
            })?;
        }
        self.writer.finish().map_err(failure)
    }
}

struct Out<'a, W> {
    writer: &'a mut StreamWriter<W>,
    table: &'a Table,
}

impl<W: Write> Out<'_, W> {
    /// Writes the records of `chunk`, or the rows of the batch that its record `batch` is.
    fn write(&mut self, chunk: &Chunk, batch: Option<usize>) -> Result<(), Failure> {
        let rows = self.table.batch(chunk, batch);
        rows.and_then(|it| self.writer.write(&it)).map_err(failure)?;
        // Who reads may wait for just these.
        self.writer.flush().map_err(failure)
    }
}

/// The dtype and the extents of a column.
fn tensor(ty: &Type) -> (DType, &[Extent]) {
    let both = ty.dtype().zip(ty.shape());
    both.expect("what leaves a pipeline has flat fields")
}

/// Whether all fields have the same first axis: that of the batch. A ragged field has as many rows as its offsets say.
fn shared_axis(fields: &[plan::Field]) -> bool {
    let ragged = RaggedField::all(fields);
    let first = |(at, field): (usize, &plan::Field)| {
        let parts = |it: &&RaggedField<'_>| it.values == at || it.offsets == at;
        match ragged.iter().find(parts) {
            Some(it) => Some(it.rows(fields)),
            None => tensor(&field.ty).1.first().cloned(),
        }
    };
    let mut axes = fields.iter().enumerate().map(first);
    let Some(Some(axis)) = axes.next() else { return false };
    axes.all(|it| it.as_ref() == Some(&axis))
}

fn too_large(field: &plan::Field) -> String {
    format!("`{field}` has too many elements for Arrow")
}

/// What an error of the writer is: a reader who has gone is no error.
fn failure(error: ArrowError) -> Failure {
    match error {
        ArrowError::IoError(_, error) if error.kind() == io::ErrorKind::BrokenPipe => {
            Failure::Stopped
        }
        ArrowError::IoError(_, error) => {
            let path = Path::new("stdout");
            whole::failure(path, "cannot be written", &error)
        }
        other => Failure::Data {
            label: String::new(),
            detail: format!("the output cannot be written as Arrow: {other}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::sink::folder::tests::{batch_of_texts, program, texts};
    use runtime::{ChunkBuilder, Pool, Tensor};

    #[test]
    fn fields_of_a_batch_share_its_axis_or_are_whole() {
        let field = |name: &str, shape: &[u64]| plan::Field {
            name: name.to_owned(),
            ty: Type::tensor(DType::F32, shape),
        };
        assert!(shared_axis(&[field("image", &[8, 3]), field("label", &[8])]));
        assert!(!shared_axis(&[field("image", &[8, 3]), field("keep", &[])]));
        assert!(!shared_axis(&[field("image", &[8, 3]), field("other", &[7])]));
        assert!(!shared_axis(&[]));
    }

    #[test]
    fn the_same_records_give_the_same_bytes_whatever_the_chunks() {
        let stream = |rows: usize| {
            let mut bytes = Vec::new();
            let all: Vec<String> = (0..5000).map(|it| "é".repeat(it % 7)).collect();
            let all: Vec<&str> = all.iter().map(String::as_str).collect();
            let mut sink =
                ArrowStream::open(&mut bytes, &program(&texts(&[], 0).0, false)).unwrap();
            for part in all.chunks(rows) {
                sink.take(&texts(part, 0).1).unwrap();
            }
            sink.finish().unwrap();
            drop(sink);
            bytes
        };
        assert!(stream(5000).len() > 5000 * 8);
        assert_eq!(stream(5000), stream(311));
    }

    /// The one record batch of a stream of one batch.
    fn written(fields: &[plan::Field], chunk: &Chunk) -> RecordBatch {
        let mut bytes = Vec::new();
        let mut sink = ArrowStream::open(&mut bytes, &program(fields, true)).unwrap();
        sink.take(chunk).unwrap();
        sink.finish().unwrap();
        drop(sink);
        let mut read = arrow_ipc::reader::StreamReader::try_new(&bytes[..], None).unwrap();
        let batch = read.next().unwrap().unwrap();
        assert!(read.next().is_none());
        batch
    }

    #[test]
    fn texts_of_a_batch_are_rows_or_a_list() {
        let field = |name: &str, ty| plan::Field { name: name.to_owned(), ty };
        let texts = |dtype| Type::tensor(dtype, &[3]);
        let note = field("note", Type::scalar(DType::Bytes));
        let fields = [field("name", texts(DType::Str)), field("raw", texts(DType::Bytes)), note];
        let chunk = batch_of_texts(&fields);

        // Beside a value of the whole batch, a row is the batch.
        let whole = written(&fields, &chunk);
        assert_eq!(
            (whole.num_rows(), whole.column(0).data_type().to_string()),
            (1, "List(non-null Utf8)".into())
        );
        let list = arrow_array::cast::as_list_array(whole.column(0)).value(0);
        let names = arrow_array::cast::as_string_array(&list).iter().flatten().collect::<Vec<_>>();
        assert_eq!(names, ["a \"b\"\n", "žluť", ""]);

        let rows = Chunk { columns: chunk.columns[..2].to_vec(), ..chunk };
        let rows = written(&fields[..2], &rows);
        assert_eq!(rows.num_rows(), 3);
        let names = arrow_array::cast::as_string_array(rows.column(0));
        assert_eq!(names.iter().flatten().collect::<Vec<_>>(), ["a \"b\"\n", "žluť", ""]);
        let raw = arrow_array::cast::as_generic_binary_array::<i32>(rows.column(1));
        assert_eq!(raw.iter().flatten().collect::<Vec<_>>(), [&[0, 255][..], &[7], &[]]);
    }

    #[test]
    fn a_ragged_field_is_a_column_of_lists() {
        let field = |name: &str, dtype, shape: &[Extent]| plan::Field {
            name: name.to_owned(),
            ty: Type::Tensor { dtype, shape: shape.to_vec() },
        };
        let (any, known) = (Extent::Unknown, Extent::Known);
        let fields = [
            field("label", DType::I64, &[known(3)]),
            field("ids.values", DType::I32, std::slice::from_ref(&any)),
            field("ids.offsets", DType::I64, &[known(4)]),
            field("boxes.values", DType::F32, &[any.clone(), known(2), known(1)]),
            field("boxes.offsets", DType::I64, &[known(4)]),
        ];
        let made = |offsets: [i64; 4]| {
            let mut chunk = ChunkBuilder::new(&fields, 1, 0, &Pool::default());
            chunk.ids.push_scalar(0_u64);
            chunk.columns[0].push(&Tensor::new(&[3], &[7_i64, 8, 9]));
            chunk.columns[1].push(&Tensor::new(&[4], &[1_i32, 2, 3, 4]));
            chunk.columns[2].push(&Tensor::new(&[4], &offsets));
            chunk.columns[3].push(&Tensor::new(&[1, 2, 1], &[0.5_f32, 1.5]));
            chunk.columns[4].push(&Tensor::new(&[4], &[0_i64, 0, 1, 1]));
            chunk.finish()
        };
        let batch = written(&fields, &made([0, 3, 3, 4]));
        let names: Vec<_> = batch.schema().fields().iter().map(|it| it.name().clone()).collect();
        assert_eq!(
            (batch.num_rows(), names),
            (3, vec!["label".into(), "ids".into(), "boxes".into()])
        );
        assert_eq!(batch.column(1).data_type().to_string(), "List(non-null Int32)");
        assert_eq!(
            batch.column(2).data_type().to_string(),
            "List(non-null FixedSizeList(2 x non-null Float32), metadata: {\"ARROW:extension:metadata\": \
             \"{\\\"shape\\\":[2,1]}\", \"ARROW:extension:name\": \"arrow.fixed_shape_tensor\"})"
        );
        let lists = |at: usize| {
            let all = arrow_array::cast::as_list_array(batch.column(at));
            (0..3)
                .map(|it| format!("{:?}", all.value(it)).replace(['\n', ' '], ""))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            lists(1),
            [
                "PrimitiveArray<Int32>[1,2,3,]",
                "PrimitiveArray<Int32>[]",
                "PrimitiveArray<Int32>[4,]"
            ]
        );
        assert!(lists(2)[1].contains("0.5,1.5"), "{:?}", lists(2));

        // Offsets that a step behind `batch` has made may say anything.
        for wrong in [[0, 3, 2, 4], [0, 1, 2, 5], [-1, 0, 2, 4]] {
            let mut bytes = Vec::new();
            let mut sink = ArrowStream::open(&mut bytes, &program(&fields, true)).unwrap();
            let failure = sink.take(&made(wrong)).unwrap_err().to_string();
            assert!(failure.contains("cannot be written as Arrow"), "{failure}");
        }
        // Beside a value of the whole batch, a row is the batch.
        let whole = field("note", DType::F32, &[]);
        let all = [&fields[..3], &[whole]].concat();
        let mut chunk = made([0, 3, 3, 4]);
        chunk.columns.truncate(3);
        let mut note = runtime::Builder::new(&Type::scalar(DType::F32), 1, &Pool::default());
        note.push_scalar(0.5_f32);
        chunk.columns.push(note.finish());
        let batch = written(&all, &chunk);
        assert_eq!((batch.num_rows(), batch.schema().field(1).name().as_str()), (1, "ids.values"));
    }

    #[test]
    fn a_batch_is_a_record_batch() {
        let fields = [
            plan::Field { name: "x".into(), ty: Type::tensor(DType::F32, &[2, 3]) },
            plan::Field { name: "odd".into(), ty: Type::tensor(DType::Bool, &[2]) },
        ];
        let mut chunk = ChunkBuilder::new(&fields, 1, 0, &Pool::default());
        chunk.ids.push_scalar(0_u64);
        chunk.columns[0].push(&Tensor::new(&[2, 3], &[0_f32, 1., 2., 3., 4., 5.]));
        chunk.columns[1].push(&Tensor::new(&[2], &[false, true]));
        let mut bytes = Vec::new();
        let mut sink = ArrowStream::open(&mut bytes, &program(&fields, true)).unwrap();
        sink.take(&chunk.finish()).unwrap();
        sink.finish().unwrap();
        drop(sink);

        let mut read = arrow_ipc::reader::StreamReader::try_new(&bytes[..], None).unwrap();
        let batch = read.next().unwrap().unwrap();
        assert_eq!((batch.num_rows(), read.next().is_none()), (2, true));
        let tensor = &batch.schema().field(0).metadata().clone();
        assert_eq!(
            tensor.get("ARROW:extension:metadata").map(|it| it.as_ref()),
            Some("{\"shape\":[3]}")
        );
        assert_eq!(format!("{:?}", batch.column(1)), "BooleanArray\n[\n  false,\n  true,\n]");
    }
}
