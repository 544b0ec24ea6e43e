//! Files that hold columns: how they are cut into parts, and what a part's rows are in memory of Arrow.

pub(crate) mod arrays;
pub(crate) mod arrow;
#[cfg(feature = "hdf5")]
pub(crate) mod hdf5;
mod later;
pub(crate) mod mds;
pub(crate) mod npz;
pub(crate) mod packed;
pub(crate) mod parquet;

use ::parquet::errors::Result as ParquetResult;
use arrow_array::RecordBatch;
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, FieldRef, SchemaRef};
use bytes::Bytes;
use later::Later;
use runtime::{
    Failure, reads,
    storage::{self, Object},
};
use std::{
    cell::Cell,
    cmp::Ordering,
    fmt, io,
    ops::{Deref, Range},
    panic::{self, AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Once,
};

/// A file of columns, open: its rows lie in parts, each of which can be read without the others.
pub(crate) trait TableFile: Send + Sync {
    /// The columns of every row.
    fn schema(&self) -> &SchemaRef;

    /// What a part is called, and several of them.
    fn part(&self) -> (&'static str, &'static str);

    /// The rows of each part.
    fn parts(&self) -> &[u64];

    /// Bytes that a row of a part takes where the columns are those of `wanted`, about.
    fn row_bytes(&self, part: usize, wanted: &[Vec<String>]) -> u64;

    /// Whether a row of a part may be needed, where rows that do not meet one of the conditions are not. What is not known
    /// may be.
    fn may_hold(&self, part: usize, conditions: &[Condition]) -> bool {
        let _ = (part, conditions);
        true
    }

    /// Columns that there are and that cannot be read, each with what it holds.
    fn refused(&self) -> &[(String, String)] {
        &[]
    }

    /// The rows of a part that may be needed, in ascending order, where that is known of fewer than the part.
    fn needed(&self, part: usize, conditions: &[Condition]) -> Option<Vec<Range<u64>>> {
        let _ = (part, conditions);
        None
    }

    /// Bytes that these columns of a part take in the file, where that is known.
    fn stored_bytes(&self, part: usize, wanted: &[Vec<String>]) -> u64 {
        let _ = (part, wanted);
        0
    }

    /// Walks through the rows of one part, where any thread can read what it finds.
    fn walk(&self, asked: &Walked<'_>) -> Option<Box<dyn Walk>> {
        let _ = asked;
        None
    }

    /// The rows of one part, some at a time.
    ///
    /// # Errors
    /// The part cannot be read, of which some is met by the batches alone.
    fn read(&self, asked: &Asked<'_>) -> Result<Batches, Damage>;
}

/// What is to be walked through.
pub(crate) struct Walked<'a> {
    pub(crate) part: usize,
    /// The columns, each by its name and those of the fields within it.
    pub(crate) wanted: &'a [Vec<String>],
    /// What must be true of rows that are needed: texts of others may be empty.
    pub(crate) conditions: &'a [Condition],
    /// The first row.
    pub(crate) row: u64,
}

/// Rows of a part, found in their order without being read.
pub(crate) trait Walk: Send {
    /// The next rows, `n` at the most, which there are; none where they are to be read otherwise, and all that follow.
    /// Where that is does not depend on how many are taken at a time.
    fn take(&mut self, n: u64) -> Option<Box<dyn Rows>>;

    /// Goes on at a row that comes later.
    fn go_to(&mut self, row: u64);
}

/// Rows that were found: any thread reads them, as often as it likes.
pub(crate) trait Rows: Send + Sync {
    /// Which ones they are.
    fn rows(&self) -> Range<u64>;

    /// Bytes that they take where they lie.
    fn bytes(&self) -> usize;

    /// Those that cannot be read, in order, and why.
    fn lost(&self) -> Vec<(Range<u64>, Damage)>;

    /// What some of the others hold.
    ///
    /// # Errors
    /// They are not what was seen of them before.
    fn open(&self, rows: &Range<u64>) -> Result<Opened<'_>, Damage>;
}

/// What rows hold.
pub(crate) enum Opened<'r> {
    /// The values of each of the columns that are wanted.
    Values(Vec<Box<dyn Values + 'r>>),
    /// A batch of these columns.
    Batch(RecordBatch),
}

/// The values of a column in some rows.
pub(crate) trait Values {
    /// Where they are missing; none where all are there.
    fn nulls(&self) -> Option<&NullBuffer>;

    /// Whether they are texts or bytes.
    fn is_text(&self) -> bool;

    /// Writes numbers, as the processor has them, with zeros where one is missing.
    ///
    /// # Errors
    /// They cannot be had so, do not fit, or cannot be read any more.
    fn fixed(&self, room: &mut [u8]) -> Result<(), Damage>;

    /// Gives texts, one by one.
    ///
    /// # Errors
    /// They cannot be had so.
    fn texts(&self, to: &mut dyn FnMut(Option<&[u8]>)) -> Result<(), Damage>;
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

/// A column that rows are chosen by.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Condition {
    /// Its name, and those of the structures that it lies in.
    pub(crate) path: Vec<String>,
    /// What its value must be like, if anything is said of it.
    pub(crate) test: Option<(Comparison, Bound)>,
    /// Whether rows without a value are needed, for what comes of that.
    pub(crate) nulls_matter: bool,
}

/// How a value is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// What a value is compared with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Bound {
    Int(i128),
    Float(f64),
    /// Text, whose order is that of its bytes.
    Text(Vec<u8>),
}

impl Comparison {
    /// Whether it is true of values that compare so; not at all, where one is NaN.
    fn holds(self, order: Option<Ordering>) -> bool {
        match self {
            Self::Eq => order.is_some_and(Ordering::is_eq),
            Self::Ne => !order.is_some_and(Ordering::is_eq),
            Self::Lt => order.is_some_and(Ordering::is_lt),
            Self::Le => order.is_some_and(Ordering::is_le),
            Self::Gt => order.is_some_and(Ordering::is_gt),
            Self::Ge => order.is_some_and(Ordering::is_ge),
        }
    }
}

impl Bound {
    /// How the two compare; not at all, if they are of different kinds or one is NaN.
    fn cmp_to(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(b),
            (Self::Text(a), Self::Text(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }
}

/// Rows of a part that may be lost together, at the most: a number of rows that is made up must not become so many
/// faults.
pub(crate) const LOST_MAX: u64 = 1 << 24;

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

    /// The same of these rows of the part alone.
    fn losing(self, rows: Range<u64>) -> Self {
        Self { lost: Some(rows), ..self }
    }

    /// Why a file cannot be opened.
    pub(crate) fn of_file(&self, path: &Path) -> Failure {
        let detail = format!("{}: {}", self.message, self.help);
        Failure::Io { path: path.display().to_string(), detail }
    }
}

/// What a file is that is not what it should be.
pub(crate) fn damaged(message: impl fmt::Display) -> Damage {
    Damage::new(message, "write the file again, or remove it")
}

/// Why values do not become those of a column.
pub(crate) fn unlike() -> Damage {
    Damage::new("its type is not that of the first file", "write the file again")
}

/// A file and its length; `give_up` is that of [`storage::Storage::open`].
pub(crate) fn open(
    path: &Path,
    give_up: &mut dyn FnMut(),
) -> Result<(Box<dyn Object>, u64), Failure> {
    let io = |why: io::Error| {
        let help = "check that it exists and is readable";
        Damage::new(format!("cannot be read: {why}"), help).of_file(path)
    };
    let object = storage::of(path).open(path, give_up).map_err(io)?;
    let len = object.stat().map_err(io)?.bytes;
    Ok((object, len))
}

/// Fills `room` with what lies at `at`.
fn read(object: &dyn Object, room: &mut [u8], at: u64) -> Result<(), Damage> {
    reads::count(room.len() as u64);
    object.read_exact_at(room, at).map_err(|why| {
        Damage::new(format!("cannot be read: {why}"), "check that it is not written to meanwhile")
    })
}

/// What decodes must not panic, whatever a file holds; where it does, the file is at fault, and nothing is printed.
pub(crate) fn guarded<T>(work: impl FnOnce() -> ParquetResult<T>) -> Result<T, String> {
    static HOOK: Once = Once::new();
    thread_local! {
        static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
    }
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |it| {
            if !IS_GUARDED.get() {
                before(it);
            }
        }));
    });
    IS_GUARDED.set(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    IS_GUARDED.set(false);
    match done {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(why)) => Err(said_by_us(&why.to_string()).to_owned()),
        // What ends a task for want of memory is no fault of the file.
        Err(payload) if runtime::is_of_memory(&*payload) => panic::resume_unwind(payload),
        Err(_) => Err("its encoding is damaged".to_owned()),
    }
}

/// What a page's reader has said, within what the crate has put around it.
fn said_by_us(why: &str) -> &str {
    const AROUND: [&str; 4] =
        ["External: ", "Parquet argument error: ", "Parquet error: ", "EOF: "];
    let mut why = why;
    while let Some(rest) = AROUND.iter().find_map(|it| why.strip_prefix(it)) {
        why = rest;
    }
    why
}

/// The type that a column is read as: values in place of dictionaries.
fn field_as(field: &Field) -> Field {
    field.clone().with_data_type(type_as(field.data_type()))
}

fn type_as(ty: &DataType) -> DataType {
    let inner = |it: &FieldRef| FieldRef::new(field_as(it));
    match ty {
        DataType::Dictionary(_, value) => type_as(value),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect()),
        DataType::List(item) => DataType::List(inner(item)),
        DataType::LargeList(item) => DataType::LargeList(inner(item)),
        DataType::FixedSizeList(item, n) => DataType::FixedSizeList(inner(item), *n),
        DataType::Map(entries, sorted) => DataType::Map(inner(entries), *sorted),
        other => other.clone(),
    }
}

/// Memory that is counted for as long as something of it is held.
fn owned(bytes: impl Deref<Target = [u8]> + Send + 'static) -> Bytes {
    struct Owner<T>(T);
    impl<T: Deref<Target = [u8]>> AsRef<[u8]> for Owner<T> {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    Bytes::from_owner(Owner(bytes))
}
