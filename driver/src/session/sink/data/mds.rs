//! Shards of Mosaic's Streaming (MDS version 2), and the `index.json` that its `StreamingDataset` reads.
//!
//! A shard: the number of samples, where each begins and the last ends (`u32`), the columns as JSON, then the samples:
//! the lengths of the columns that have no fixed one (`u32`), and the columns, in the order of their names
//! (`streaming/base/format/mds/writer.py`).

use super::{DataFormat, Format, Opened, Shard, ShardFile, jsonl, unfit, values};
use plan::{DType, Field, Type};
use runtime::Tensor;
use serde_json::{Value, json};
use std::io::{self, Write};

pub(super) const FORMAT: DataFormat = DataFormat {
    name: "mds",
    extension: "mds",
    index: Some("index.json"),
    open,
    open_batches: None,
    copies: 3,
};

struct Mds {
    /// The fields by their numbers, in the order of their names.
    columns: Vec<Column>,
}

struct Column {
    at: usize,
    field: Field,
    encoding: String,
    /// Bytes of each value, where that is fixed.
    size: Option<usize>,
}

fn open(fields: &[Field]) -> Opened {
    let column = |(at, field): (usize, &Field)| {
        let encoding = encoding(field)?;
        let size = field.ty.fixed_bytes();
        let size = size.filter(|_| !field.ty.dtype().is_some_and(DType::is_text));
        Ok(Column { at, field: field.clone(), encoding, size })
    };
    let columns = fields.iter().enumerate().map(column);
    let mut columns = columns.collect::<Result<Vec<_>, String>>()?;
    columns.sort_by(|a, b| a.field.name.cmp(&b.field.name));
    Ok(Box::new(Mds { columns }))
}

/// What MDS calls the type of a field. It has no booleans and no `bf16`: they are their bits.
fn encoding(field: &Field) -> Result<String, String> {
    let (dtype, shape) = (field.ty.dtype(), field.ty.shape().unwrap_or_default());
    let number = match dtype {
        _ if matches!(field.ty, Type::Untyped(_)) => return Ok("json".to_owned()),
        Some(DType::Str) if shape.is_empty() => return Ok("str".to_owned()),
        Some(DType::Bytes) if shape.is_empty() => return Ok("bytes".to_owned()),
        Some(DType::Str) => return Ok("json".to_owned()),
        Some(DType::Bool | DType::U8) => "uint8",
        Some(DType::U16 | DType::BF16) => "uint16",
        Some(DType::U32) => "uint32",
        Some(DType::U64) => "uint64",
        Some(DType::I8) => "int8",
        Some(DType::I16) => "int16",
        Some(DType::I32) => "int32",
        Some(DType::I64) => "int64",
        Some(DType::F16) => "float16",
        Some(DType::F32) => "float32",
        Some(DType::F64) => "float64",
        Some(DType::Bytes) | None => {
            return Err(format!(
                "`{field}` does not fit MDS, which has no lists of bytes: use `--format tfrecord`, \
                 or drop it with `map`"
            ));
        }
    };
    let extents: Option<Vec<String>> =
        field.ty.fixed().map(|it| it.iter().map(ToString::to_string).collect());
    Ok(match extents {
        Some(extents) if extents.is_empty() => number.to_owned(),
        Some(extents) => format!("ndarray:{number}:{}", extents.join(",")),
        None => format!("ndarray:{number}"),
    })
}

impl Mds {
    fn about(&self) -> Value {
        let columns = || self.columns.iter();
        json!({
            "column_encodings": columns().map(|it| &*it.encoding).collect::<Vec<_>>(),
            "column_names": columns().map(|it| &*it.field.name).collect::<Vec<_>>(),
            "column_sizes": columns().map(|it| it.size).collect::<Vec<_>>(),
            "compression": null,
            "format": "mds",
            "hashes": [],
            "size_limit": null,
            "version": 2,
        })
    }
}

impl Format for Mds {
    fn write(&self, shard: &Shard<'_>, out: &mut dyn Write) -> io::Result<()> {
        let about = self.about().to_string();
        let (mut samples, mut ends) = (Vec::new(), Vec::with_capacity(shard.chunk.rows));
        for row in 0..shard.chunk.rows {
            let (mut lens, mut body) = (Vec::new(), Vec::new());
            for column in &self.columns {
                let before = body.len();
                let value = shard.chunk.columns[column.at].row(row);
                append(&mut body, column, &value)?;
                if column.size.is_none() {
                    let len = u32::try_from(body.len() - before).map_err(unfit)?;
                    lens.extend(len.to_le_bytes());
                }
            }
            samples.extend(lens);
            samples.extend(body);
            ends.push(samples.len());
        }
        let head = 4 + 4 * (ends.len() + 1) + about.len();
        let mut begin = Vec::with_capacity(head);
        begin.extend((ends.len() as u32).to_le_bytes());
        for end in [0].iter().chain(&ends) {
            begin.extend(u32::try_from(head + end).map_err(unfit)?.to_le_bytes());
        }
        begin.extend(about.bytes());
        out.write_all(&begin)?;
        out.write_all(&samples)
    }

    fn write_index(&self, files: &[ShardFile], out: &mut dyn Write) -> io::Result<()> {
        let shard = |it: &ShardFile| {
            let mut about = self.about();
            about["raw_data"] = json!({ "basename": it.name, "bytes": it.bytes, "hashes": {} });
            about["samples"] = it.records.into();
            about["zip_data"] = Value::Null;
            about
        };
        let shards: Vec<Value> = files.iter().map(shard).collect();
        serde_json::to_writer(&mut *out, &json!({ "shards": shards, "version": 2 }))?;
        out.write_all(b"\n")
    }
}

fn append(body: &mut Vec<u8>, column: &Column, value: &Tensor<'_>) -> io::Result<()> {
    if column.encoding == "json" {
        return jsonl::value(body, &column.field, value);
    }
    if column.size.is_none() && !value.dtype().is_text() {
        extents(body, value);
    }
    body.extend_from_slice(&values::bytes(value));
    Ok(())
}

/// What stands before the elements where the column does not fix it: the number of axes, with the logarithm of the
/// bytes of an extent, and the extents.
fn extents(body: &mut Vec<u8>, value: &Tensor<'_>) {
    let shape = value.shape();
    let log = match shape.iter().max().copied().unwrap_or(0) {
        0..=0xff => 0,
        0x100..=0xffff => 1,
        0x1_0000..=0xffff_ffff => 2,
        _ => 3,
    };
    body.push((shape.len() as u8) << 2 | log);
    for extent in shape {
        body.extend(&(*extent as u64).to_le_bytes()[..1 << log]);
    }
}
