//! Files that hold columns: how they are cut into parts, and what a part's rows are in memory of Arrow.

pub(crate) mod parquet;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::{fmt, ops::Range};

/// A file of columns, open: its rows lie in parts, each of which can be read without the others.
pub(crate) trait TableFile: Send + Sync {
    /// The columns of every row.
    fn schema(&self) -> &SchemaRef;

    /// The rows of each part.
    fn parts(&self) -> &[u64];

    /// Bytes that a row of a part takes where the columns are those of `wanted`, about.
    fn row_bytes(&self, part: usize, wanted: &[Vec<String>]) -> u64;

    /// The rows of one part, some at a time.
    ///
    /// # Errors
    /// The part cannot be read, of which some is met by the batches alone.
    fn read(&self, asked: &Asked<'_>) -> Result<Batches, Damage>;
}

/// Batches of rows, in order.
pub(crate) type Batches = Box<dyn Iterator<Item = Result<RecordBatch, Damage>> + Send>;

/// What is to be read of a part.
pub(crate) struct Asked<'a> {
    pub(crate) part: usize,
    /// The columns, each by its name and those of the fields within it.
    pub(crate) wanted: &'a [Vec<String>],
    /// Rows of the part, in ascending order.
    pub(crate) rows: &'a [Range<u64>],
    /// Rows of a batch, at the most.
    pub(crate) batch: usize,
}

/// Rows of a file, at the most.
const ROWS_MAX: u64 = 1 << 40;

/// Why a file or a part of it cannot be read: a sentence, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Damage {
    pub(crate) message: String,
    pub(crate) help: String,
    /// Rows of the part that cannot be read for that, where it is known.
    pub(crate) lost: Option<Range<u64>>,
}

impl Damage {
    pub(crate) fn new(message: impl fmt::Display, help: &str) -> Self {
        Self { message: message.to_string(), help: help.to_owned(), lost: None }
    }
}
