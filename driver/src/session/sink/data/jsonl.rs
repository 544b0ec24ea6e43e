//! JSON Lines: an object a line, its members in the order of the fields; arrays are nested lists.

use super::{
    DataFormat, Format, Opened, Shard, unfit,
    values::{Numbers, numbers},
};
use plan::{DType, Field, Type};
use runtime::Tensor;
use std::io::{self, Write};

pub(super) const FORMAT: DataFormat = DataFormat {
    name: "jsonl",
    extension: "jsonl",
    index: None,
    open,
    open_batches: None,
    copies: 2,
};

struct JsonLines;

fn open(fields: &[Field]) -> Opened {
    match fields.iter().find(|it| it.ty.dtype() == Some(DType::Bytes)) {
        Some(field) => Err(format!(
            "`{field}` cannot be written as JSON, which has no bytes: use `--format parquet`, or \
             drop it with `map`"
        )),
        None => Ok(Box::new(JsonLines)),
    }
}

impl Format for JsonLines {
    fn write(&self, shard: &Shard<'_>, out: &mut dyn Write) -> io::Result<()> {
        let mut out = io::BufWriter::new(out);
        for row in 0..shard.chunk.rows {
            let mut before = b"{";
            for (field, column) in shard.fields.iter().zip(&shard.chunk.columns) {
                out.write_all(before)?;
                serde_json::to_writer(&mut out, &field.name)?;
                out.write_all(b":")?;
                value(&mut out, field, &column.row(row)).map_err(|it| match it.kind() {
                    io::ErrorKind::InvalidData => {
                        let record = shard.first + row as u64;
                        unfit(format!("record {record}, field `{}`: {it}", field.name))
                    }
                    _ => it,
                })?;
                before = b",";
            }
            out.write_all(b"}\n")?;
        }
        out.flush()
    }
}

/// A value of a field, as JSON.
pub(in crate::session::sink) fn value(
    out: &mut dyn Write,
    field: &Field,
    value: &Tensor<'_>,
) -> io::Result<()> {
    if let Type::Untyped(_) = field.ty {
        return out.write_all(value.as_text());
    }
    if let Some(texts) = value.texts() {
        let all: Vec<&str> = texts.iter().map(|it| it.as_str()).collect();
        return Ok(serde_json::to_writer(out, &all)?);
    }
    if value.dtype().is_text() {
        return Ok(serde_json::to_writer(out, value.as_str())?);
    }
    let all = numbers(value);
    nested(out, value.shape(), 0, &mut |out, at| match &all {
        Numbers::Bool(all) => Ok(serde_json::to_writer(out, &all[at])?),
        Numbers::Int(all) => Ok(serde_json::to_writer(out, &all[at])?),
        Numbers::Unsigned(all) => Ok(serde_json::to_writer(out, &all[at])?),
        Numbers::Float(all) if all[at].is_finite() => Ok(serde_json::to_writer(out, &all[at])?),
        Numbers::Double(all) if all[at].is_finite() => Ok(serde_json::to_writer(out, &all[at])?),
        Numbers::Float(_) | Numbers::Double(_) => {
            let help = "use another `--format`, or replace it with `map`";
            Err(unfit(format!("JSON has neither NaN nor infinity: {help}")))
        }
    })
}

type Element<'a> = dyn FnMut(&mut dyn Write, usize) -> io::Result<()> + 'a;

/// Nested lists of these extents, whose elements begin with that number.
fn nested(
    out: &mut dyn Write,
    shape: &[usize],
    first: usize,
    element: &mut Element<'_>,
) -> io::Result<()> {
    let Some((n, below)) = shape.split_first() else { return element(out, first) };
    let each: usize = below.iter().product();
    out.write_all(b"[")?;
    for i in 0..*n {
        if i > 0 {
            out.write_all(b",")?;
        }
        nested(out, below, first + i * each, element)?;
    }
    out.write_all(b"]")
}
