//! TFRecord files of `tf.train.Example`: lists of `int64`, `float` or `bytes` by the name of the field
//! (`tensorflow/core/example/{example,feature}.proto`).
//!
//! An array is its elements in C order, its extents are not written. Records are framed by their length and masked
//! CRC32C (<https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details>).

use super::{
    DataFormat, Format, Opened, Shard, unfit,
    values::{Numbers, numbers},
};
use plan::{DType, Extent, Field};
use runtime::Tensor;
use std::io::{self, Write};

pub(super) const FORMAT: DataFormat = DataFormat {
    name: "tfrecord",
    extension: "tfrecord",
    index: None,
    open,
    open_batches: None,
    copies: 2,
};

struct TfRecord;

fn open(fields: &[Field]) -> Opened {
    for field in fields {
        let known = |it: &&Extent| matches!(it, Extent::Known(_));
        let shape = field.ty.shape().unwrap_or_default();
        if field.ty.dtype() == Some(DType::F64) {
            return Err(format!(
                "`{field}` does not fit TFRecord, whose floats have 32 bits: convert it (`f32(x)`), or \
                 use `--format parquet`"
            ));
        }
        if shape.len() > 1 && shape.iter().filter(known).count() < shape.len() {
            return Err(format!(
                "`{field}` does not fit TFRecord, which keeps no extents: make them equal, as with \
                 `resize`, or use `--format parquet`"
            ));
        }
    }
    Ok(Box::new(TfRecord))
}

impl Format for TfRecord {
    fn write(&self, shard: &Shard<'_>, out: &mut dyn Write) -> io::Result<()> {
        let mut out = io::BufWriter::new(out);
        let (mut features, mut example) = (Vec::new(), Vec::new());
        for row in 0..shard.chunk.rows {
            features.clear();
            example.clear();
            for (field, column) in shard.fields.iter().zip(&shard.chunk.columns) {
                let feature = feature(&column.row(row)).map_err(|why| {
                    let record = shard.first + row as u64;
                    unfit(format!("record {record}, field `{}`: {why}", field.name))
                })?;
                let mut entry = Vec::with_capacity(feature.len() + field.name.len() + 16);
                message(&mut entry, 1, field.name.as_bytes());
                message(&mut entry, 2, &feature);
                message(&mut features, 1, &entry);
            }
            message(&mut example, 1, &features);
            let len = (example.len() as u64).to_le_bytes();
            out.write_all(&len)?;
            out.write_all(&masked(&len))?;
            out.write_all(&example)?;
            out.write_all(&masked(&example))?;
        }
        out.flush()
    }
}

/// `Feature`: one of `bytes_list` (1), `float_list` (2), `int64_list` (3).
fn feature(value: &Tensor<'_>) -> Result<Vec<u8>, String> {
    let (mut list, mut feature) = (Vec::new(), Vec::new());
    if value.dtype().is_text() {
        match value.texts() {
            Some(texts) => texts.iter().for_each(|it| message(&mut list, 1, it.as_text())),
            None => message(&mut list, 1, value.as_text()),
        }
        message(&mut feature, 1, &list);
        return Ok(feature);
    }
    let mut packed = Vec::new();
    let kind = match numbers(value) {
        Numbers::Float(all) => {
            all.iter().for_each(|it| packed.extend(it.to_le_bytes()));
            2
        }
        Numbers::Double(_) => return Err("floats have 32 bits".to_owned()),
        Numbers::Bool(all) => {
            all.iter().for_each(|it| varint(&mut packed, u64::from(*it)));
            3
        }
        Numbers::Int(all) => {
            all.iter().for_each(|it| varint(&mut packed, *it as u64));
            3
        }
        Numbers::Unsigned(all) => {
            for it in all {
                i64::try_from(it).map_err(|_| format!("{it} does not fit into `i64`"))?;
                varint(&mut packed, it);
            }
            3
        }
    };
    if !packed.is_empty() {
        message(&mut list, 1, &packed);
    }
    message(&mut feature, kind, &list);
    Ok(feature)
}

/// A field of that number, of a length and so many bytes.
fn message(out: &mut Vec<u8>, number: u64, bytes: &[u8]) {
    varint(out, number << 3 | 2);
    varint(out, bytes.len() as u64);
    out.extend(bytes);
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The masked checksum of TFRecord.
fn masked(bytes: &[u8]) -> [u8; 4] {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
}
