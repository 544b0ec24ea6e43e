//! Tar archives of WebDataset: the fields of a record are files beside each other, `KEY.FIELD`.
//!
//! Headers are those of POSIX.1-1988 (`ustar`), with GNU's long names where a name has more than 100 bytes; what differs
//! from run to run (times, owners) is zero. What a field's file is, its extension says, so that both WebDataset and we
//! decode it: `.txt`, `.cls` (a whole number), `.json`, `.npy`; bytes are as they are.

use super::{DataFormat, Format, Opened, Shard, jsonl, unfit, values};
use crate::session::sink::npy;
use plan::{DType, Field, Type};
use runtime::{Chunk, Tensor};
use std::io::{self, Write};

pub(super) const FORMAT: DataFormat =
    DataFormat { name: "tar", extension: "tar", index: None, open, open_batches: None, copies: 2 };

const BLOCK: usize = 512;
/// Bytes of a name in a header.
const NAME: usize = 100;
/// The field that names records, if there is one of text.
const KEY: &str = "key";

struct Tar {
    /// The field that the key is.
    key: Option<usize>,
    members: Vec<Member>,
}

/// A field's file.
struct Member {
    at: usize,
    kind: Kind,
    extension: String,
}

#[derive(Clone, Copy)]
enum Kind {
    Raw,
    Json,
    Array,
}

/// Extensions that WebDataset takes for text, for whole numbers, and for JSON.
const TEXT: [&str; 3] = ["txt", "text", "transcript"];
const WHOLE: [&str; 7] = ["cls", "cls2", "class", "count", "index", "inx", "id"];
const JSON: [&str; 2] = ["json", "jsn"];

fn open(fields: &[Field]) -> Opened {
    let is_key = |it: &Field| it.name == KEY && it.ty == Type::scalar(DType::Str);
    let key = fields.iter().position(is_key);
    let mut members: Vec<Member> = Vec::new();
    for (at, field) in fields.iter().enumerate().filter(|it| Some(it.0) != key) {
        let (kind, extensions): (_, &[&str]) = match field.ty.dtype() {
            _ if matches!(field.ty, Type::Untyped(_)) => (Kind::Json, &JSON),
            Some(DType::Bytes) if is_scalar(field) => (Kind::Raw, &[]),
            Some(DType::Str) if is_scalar(field) => (Kind::Raw, &TEXT),
            Some(DType::Str) => (Kind::Json, &JSON),
            Some(dtype) if is_scalar(field) && dtype.is_int() => (Kind::Json, &WHOLE),
            Some(DType::Bytes) | None => {
                return Err(format!(
                    "`{field}` does not fit a tar archive: use `--format tfrecord`, or drop it with `map`"
                ));
            }
            Some(_) if is_scalar(field) => (Kind::Json, &JSON),
            Some(_) => (Kind::Array, &["npy"]),
        };
        let name = field.name.to_lowercase();
        let last = name.rsplit('.').next().unwrap_or_default();
        let extension = match extensions.first() {
            Some(first) if !extensions.contains(&last) => format!("{name}.{first}"),
            _ => name,
        };
        if extension.contains(['/', '\\', '\0']) {
            return Err(format!(
                "the field `{}` cannot name a member of a tar archive: rename it with `map`",
                field.name
            ));
        }
        if members.iter().any(|it| it.extension == extension) {
            return Err(format!(
                "two fields would be the member `{extension}` of a record: rename one with `map`"
            ));
        }
        members.push(Member { at, kind, extension });
    }
    Ok(Box::new(Tar { key, members }))
}

fn is_scalar(field: &Field) -> bool {
    field.ty.shape().is_some_and(<[_]>::is_empty)
}

impl Format for Tar {
    fn write(&self, shard: &Shard<'_>, out: &mut dyn Write) -> io::Result<()> {
        let mut out = io::BufWriter::new(out);
        let (mut content, mut before) = (Vec::new(), String::new());
        for row in 0..shard.chunk.rows {
            let record = shard.first + row as u64;
            let key = self.key(shard.chunk, row, record)?;
            if key == before {
                let help = "make keys that differ with `map`";
                return Err(unfit(format!(
                    "record {record} has the key `{key}` of the one before it: {help}"
                )));
            }
            for member in &self.members {
                content.clear();
                let value = shard.chunk.columns[member.at].row(row);
                let field = &shard.fields[member.at];
                member.append(&mut content, field, &value).map_err(|it| {
                    unfit(format!("record {record}, field `{}`: {it}", field.name))
                })?;
                file(&mut out, &format!("{key}.{}", member.extension), &content)?;
            }
            before = key;
        }
        // An archive ends with two empty blocks.
        out.write_all(&[0; 2 * BLOCK])?;
        out.flush()
    }
}

impl Tar {
    fn key(&self, chunk: &Chunk, row: usize, record: u64) -> io::Result<String> {
        let Some(at) = self.key else { return Ok(format!("{record:09}")) };
        let row = chunk.columns[at].row(row);
        let key = row.as_str();
        let name = key.rsplit('/').next().unwrap_or_default();
        let is_outside = key.starts_with('/') || key.split('/').any(|it| it == "..");
        if name.is_empty() || name.contains('.') || is_outside || key.contains('\0') {
            return Err(unfit(format!(
                "record {record}: the key `{}` cannot be that of a record in a tar archive: it must be a \
                 path with no dot in its name; make another with `map`",
                key.escape_default()
            )));
        }
        Ok(key.to_owned())
    }
}

impl Member {
    fn append(&self, content: &mut Vec<u8>, field: &Field, value: &Tensor<'_>) -> io::Result<()> {
        match self.kind {
            Kind::Raw => content.extend(value.as_text()),
            Kind::Json => jsonl::value(content, field, value)?,
            Kind::Array => {
                content.extend(npy::header(value.dtype(), value.shape()));
                content.extend_from_slice(&values::bytes(value));
            }
        }
        Ok(())
    }
}

/// A file of an archive.
fn file(out: &mut dyn Write, name: &str, content: &[u8]) -> io::Result<()> {
    if name.len() > NAME {
        let mut long = name.as_bytes().to_vec();
        long.push(0);
        block(out, ("././@LongLink", b'L'), &long)?;
    }
    block(out, (name, b'0'), content)
}

/// A header, and what follows it.
fn block(out: &mut dyn Write, (name, kind): (&str, u8), content: &[u8]) -> io::Result<()> {
    let mut header = [0; BLOCK];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &name.as_bytes()[..name.len().min(NAME)]);
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, format!("{:011o}\0", content.len()).as_bytes());
    put(136, b"00000000000\0");
    put(148, b"        ");
    put(156, &[kind]);
    put(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|it| u32::from(*it)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    out.write_all(&header)?;
    out.write_all(content)?;
    out.write_all(&[0; BLOCK][..content.len().next_multiple_of(BLOCK) - content.len()])
}
