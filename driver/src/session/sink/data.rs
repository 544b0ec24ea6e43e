//! Data sets: records in files of a format that other tools read, each file a shard.

#[cfg(feature = "arrow")]
mod arrow;
mod jsonl;
mod mds;
#[cfg(feature = "tables")]
mod parquet;
mod safetensors;
mod tar;
mod tfrecord;
mod values;

pub(super) use jsonl::value as write_json;
pub(super) use values::bytes;

use plan::Field;
use runtime::Chunk;
use std::{
    fmt,
    io::{self, Write},
};

/// Bytes of a shard that are asked for where nobody says how many: those of an MDS shard.
const SHARD_BYTES: u64 = 64 << 20;
/// Bytes of a shard, at the most: it is in memory until it is written.
pub(super) const SHARD_MAX: u64 = 1 << 30;

/// A format that records, or batches, are written in, a file at a time.
#[derive(Clone, Copy)]
pub struct DataFormat {
    /// What `--format` calls it.
    pub name: &'static str,
    /// That of its files.
    pub(super) extension: &'static str,
    /// What stands beside the files once all are written.
    pub(super) index: Option<&'static str>,
    /// How often the bytes of a shard are in memory: while its records come (twice, in buffers that double), or while it
    /// is written, whichever is more.
    pub(super) copies: u64,
    open: fn(&[Field]) -> Opened,
    /// The same of batches, each of which is a file; none where the format has only records.
    open_batches: Option<fn(&[Field]) -> Opened>,
}

/// What writes records of some fields; else a sentence of why it cannot, and what to do.
pub(super) type Opened = Result<Box<dyn Format>, String>;

/// All formats, in the order in which help names them.
pub const DATA_FORMATS: &[DataFormat] = &[
    #[cfg(feature = "tables")]
    parquet::FORMAT,
    #[cfg(not(feature = "tables"))]
    DataFormat { name: "parquet", ..ABSENT },
    #[cfg(feature = "arrow")]
    arrow::FORMAT,
    #[cfg(not(feature = "arrow"))]
    DataFormat { name: "arrow", ..ABSENT },
    tfrecord::FORMAT,
    tar::FORMAT,
    mds::FORMAT,
    jsonl::FORMAT,
    safetensors::FORMAT,
];

/// A format that this was built without.
#[cfg(not(all(feature = "arrow", feature = "tables")))]
const ABSENT: DataFormat = DataFormat {
    name: "",
    extension: "",
    index: None,
    copies: 1,
    open: absent,
    open_batches: Some(absent),
};

#[cfg(not(all(feature = "arrow", feature = "tables")))]
fn absent(_: &[Field]) -> Opened {
    Err("this `pipec` was built without what writes this format: build it with `--features full`"
        .to_owned())
}

impl fmt::Debug for DataFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl DataFormat {
    /// What writes records of `fields`.
    ///
    /// # Errors
    /// The format has no place for one of them: a sentence, and what to do.
    pub(super) fn open(&self, fields: &[Field]) -> Opened {
        (self.open)(fields)
    }

    /// What writes batches of `fields`, a file each; none where the format has only records.
    ///
    /// # Errors
    /// Those of [`DataFormat::open`].
    pub(super) fn open_batches(&self, fields: &[Field]) -> Option<Opened> {
        self.open_batches.map(|open| open(fields))
    }
}

/// Writes records, or batches.
pub(super) trait Format: Send {
    /// Writes a file.
    ///
    /// # Errors
    /// It cannot be written; [`io::ErrorKind::InvalidData`] where a record does not fit the format.
    fn write(&self, shard: &Shard<'_>, out: &mut dyn Write) -> io::Result<()>;

    /// Writes what stands beside the files.
    ///
    /// # Errors
    /// It cannot be written.
    fn write_index(&self, _files: &[ShardFile], _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

/// The records of a file; of one that holds a batch, the batch is its only record.
pub(super) struct Shard<'a> {
    pub(super) fields: &'a [Field],
    pub(super) chunk: &'a Chunk,
    /// Records in the files before it.
    pub(super) first: u64,
}

/// A file that is written.
pub(super) struct ShardFile {
    pub(super) name: String,
    pub(super) bytes: u64,
    pub(super) records: u64,
}

/// How large a shard is, before compression: it ends with the record that makes it so large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShardSize {
    /// Bytes of its records.
    Bytes(u64),
    /// Records.
    Records(u64),
}

impl ShardSize {
    /// Whether there can be shards of that size.
    #[must_use]
    pub fn is_usable(self) -> bool {
        match self {
            Self::Bytes(n) => (1..=SHARD_MAX).contains(&n),
            Self::Records(n) => n > 0,
        }
    }
}

impl Default for ShardSize {
    fn default() -> Self {
        Self::Bytes(SHARD_BYTES)
    }
}

impl fmt::Display for ShardSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(n) if n.is_multiple_of(1 << 20) => write!(f, "{}MiB", n >> 20),
            Self::Bytes(n) => write!(f, "{n} bytes"),
            Self::Records(n) => write!(f, "{n} records"),
        }
    }
}

/// Why a record cannot be written.
fn unfit(why: impl fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.to_string())
}
