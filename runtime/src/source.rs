//! What a source of the library gives the runtime: records by index, or in order.

use crate::{ByFile, Chunk, ChunkBuilder, Failure, Outside, storage::Waits};
use plan::{Arg, Field};
use std::{
    any::Any,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// Where records come from. It opens nothing before it is asked for a record.
#[expect(clippy::len_without_is_empty, reason = "finding the length may read every file")]
pub trait Source: Send + Sync {
    /// How many records there are. Sources that must be read to know it read now, once.
    fn len(&self) -> Result<u64, Failure>;

    /// The same, where nothing has to be looked at to know it.
    fn known_len(&self) -> Option<u64> {
        None
    }

    /// Whether `len` looks into no file, so that it may be asked before anything is read.
    fn is_counted(&self) -> bool {
        !self.waits()
    }

    /// Threads that can read it at a time: others would only wait for these.
    fn threads(&self) -> usize {
        usize::MAX
    }

    /// Appends the records of these numbers, each below `len`, with their ids.
    fn fetch(&self, numbers: &[u64], out: &mut ChunkBuilder) -> Result<(), Failure>;

    /// How long `fetch` waited for a far storage, as it was seen; none where it reads of none.
    fn far(&self) -> Option<&Waits> {
        None
    }

    /// The records in order, for sources whose index is dearer than reading them once.
    fn stream(&self) -> Option<Box<dyn Stream>> {
        None
    }

    /// Whether `fetch` gives the records in order at least as quickly as `stream`, and by several threads.
    fn is_fetched_in_order(&self) -> bool {
        false
    }

    /// The records with its spans in a drawn order, for sources that consist of spans.
    fn interleaved(&self, order: Interleave) -> Option<Box<dyn Stream>> {
        let _ = order;
        None
    }

    /// What the inputs are, so that it is seen when they have changed (`semantics.md`, 14).
    ///
    /// Looks at each file, where there are such; none where there is nothing outside the program.
    fn fingerprint(&self) -> Result<Option<Fingerprint>, Failure> {
        Ok(None)
    }

    /// What the inputs hold, as one number: all of it is read. None where there is nothing outside
    /// the program.
    fn contents(&self) -> Result<Option<u128>, Failure> {
        Ok(None)
    }

    /// What of its files is not read, since a filter would drop all of it; none where no filter is known to it, and where
    /// nobody has asked it for a record yet.
    fn unneeded(&self) -> Option<Unneeded> {
        None
    }

    /// Whether `fetch` waits for files, so that reader threads do it.
    fn waits(&self) -> bool {
        false
    }

    /// The record of this number, as a person would name it: a path, or a file and a line.
    fn describe(&self, number: u64) -> String {
        format!("record {number}")
    }

    /// The record of this id as a person would name it, such as a file and a line, where that is more than what
    /// its fields say; none where it is no record of this source, or a copy of one.
    fn named(&self, _id: u64) -> Option<String> {
        None
    }

    /// Has each record get, behind its fields, the name of its file ([`plan::FILE`]). Whether it can; to be asked before
    /// anything else.
    fn name_files(&mut self) -> bool {
        false
    }

    /// The records of the file of this name alone, as they are among all; none where there is no such file.
    fn file(&self, name: &str) -> Result<Option<Arc<dyn Source>>, Failure> {
        let _ = name;
        Err(Failure::Program("a source cannot be read by file; this is a bug in pipec".to_owned()))
    }

    /// The sorted names of the folders of its files, and so the classes of its records.
    fn classes(&self) -> &[String] {
        &[]
    }
}

/// In which order the spans of a source are read, such as its files.
///
/// `open` of them are open at a time, and give one record each in turn. One that has ended gives none in its turn, and in
/// the next the span that follows takes its place: the order of `interleave(cycle_length=open, block_length=1)` of tf.data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interleave {
    /// Draws the order of the spans (`Permutation`).
    pub key: u64,
    /// How many are open.
    pub open: usize,
}

/// The records of a source, in order.
pub trait Stream: Send {
    /// Appends at most `rows` records; none at the end. A stream that finds its records need not say how.
    fn next(&mut self, rows: usize, out: &mut ChunkBuilder) -> Result<(), Failure> {
        let mut left = rows;
        while left > 0
            && let Some(found) = self.find(left)?
        {
            found.read(out)?;
            left -= found.len();
        }
        Ok(())
    }

    /// Whether records are found first, by [`Stream::find`], and then read by any thread.
    fn finds(&self) -> bool {
        false
    }

    /// What `next` would append, found and not read yet: at most `rows` records, and none at the end.
    fn find(&mut self, rows: usize) -> Result<Option<Box<dyn Unread>>, Failure> {
        let _ = rows;
        Err(Failure::Program(
            "a source does not find its records; this is a bug in pipec".to_owned(),
        ))
    }

    /// Where the next record stands, in a few numbers; none where it can only be come to by
    /// reading.
    fn place(&self) -> Option<Vec<u64>> {
        None
    }

    /// Goes to a place that `place` has given, on a stream that was just made.
    fn go_to(&mut self, place: &[u64]) -> Result<(), Failure> {
        let _ = place;
        Err(Failure::State("the source cannot be read from that position".to_owned()))
    }
}

/// Records of a stream that were found in their order: what is left to do, any thread does, as often as it
/// likes.
#[expect(clippy::len_without_is_empty, reason = "nothing is found at the end alone")]
pub trait Unread: Send + Sync {
    /// How many records they are.
    fn len(&self) -> usize;

    /// Bytes that they take where they lie.
    fn bytes(&self) -> usize;

    /// Appends them. Where one ends the run, those before it were appended.
    fn read(&self, out: &mut ChunkBuilder) -> Result<(), Failure>;
}

/// What a source's inputs are: each file's name below the pattern's root, and its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    /// Of all names and sizes, in order: XXH3, 128 bits.
    pub hash: u128,
    /// Of the times when they were changed last: a state does not ask for them, what is kept on disk
    /// does.
    pub times: u128,
    /// Files.
    pub files: u64,
    /// Bytes of them together.
    pub bytes: u64,
}

/// Parts of files that need not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unneeded {
    /// What such a part is called, and several of them.
    pub part: (&'static str, &'static str),
    /// How many are not read.
    pub parts: u64,
    /// Of how many.
    pub of: u64,
    /// Records in them.
    pub records: u64,
    /// Bytes that the columns that are needed take there.
    pub bytes: u64,
}

/// What is known when a source is made.
pub struct SourceCall<'a> {
    /// One for each parameter of the signature.
    pub args: &'a [Arg],
    /// The columns that it makes.
    pub columns: &'a [Field],
    /// Names the source in the lineage: ids are `mix(place, hash of the key)`.
    pub place: u64,
}

/// Makes a source.
pub type BuildSource = fn(&SourceCall<'_>) -> Result<Arc<dyn Source>, Failure>;

/// What an operator of the library gives the runtime: a machine that is fed chunks in order.
///
/// It is called by one thread at a time, though not always the same one.
pub trait Operator: Send {
    /// The input whose next chunk it needs, or that it is done for this epoch.
    fn wants(&self) -> Wants;

    /// Takes the next chunk of `input`, or its end, and appends what follows from it to `out`.
    fn push(
        &mut self,
        input: usize,
        chunk: Option<Chunk>,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Failure>;

    /// The stream of `input` fails where it would go on: appends what comes before that. Whether it
    /// goes on with other inputs until it needs the record that failed, and then wants nothing;
    /// else it ends here.
    ///
    /// So what comes before a failure does not depend on how the streams were cut into chunks.
    fn fail(&mut self, input: usize, out: &mut Vec<Chunk>) -> Result<bool, Failure> {
        let _ = (input, out);
        Ok(false)
    }

    /// The input whose failure ended it, where it wants nothing for that.
    fn failed(&self) -> Option<usize> {
        None
    }

    /// Records of its inputs that it holds at a time, or makes one of, where these are several: their
    /// bytes count in the least memory that a run needs.
    fn holds(&self) -> u64 {
        0
    }

    /// A point, passed in the last `push`, from which the operator could begin again; the last one
    /// if there were several.
    ///
    /// An operator that never gives one is run again from the begin of the epoch when a run is
    /// resumed.
    fn mark(&self) -> Option<Mark> {
        None
    }
}

/// A point at which an operator holds nothing but a few numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mark {
    /// Chunks that were in `out` when the point was passed.
    pub chunks: usize,
    /// The numbers, for [`OperatorCall::state`].
    pub state: Vec<u64>,
    /// For each input, the last records given that come after the point; none is 0 for all.
    pub ahead: Vec<u64>,
}

/// What an operator can use next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wants {
    /// The next chunk of this input, or its end.
    Input(usize),
    /// Nothing: all of its output of this epoch is out. Inputs that go on are stopped.
    Nothing,
}

/// Done to each chunk that leaves an operator, by any worker: what need not be done in order.
pub type Finish = Arc<dyn Fn(Chunk, u64) -> Result<Chunk, Failure> + Send + Sync>;

/// An operator, made for one epoch.
pub struct Running {
    /// What must be done in order.
    pub serial: Box<dyn Operator>,
    /// What need not, on the chunk and its number.
    pub parallel: Option<Finish>,
}

/// What is known when an operator is made.
pub struct OperatorCall<'a> {
    /// One for each parameter after the inputs; those of the record are `Arg::Column`.
    pub args: &'a [Arg],
    /// Names of the inputs, where they were given as a record.
    pub names: &'a [String],
    /// The columns of each input.
    pub inputs: &'a [Vec<Field>],
    /// The columns that leave it.
    pub columns: &'a [Field],
    /// The key of its draws in this epoch: hash of seed, place and epoch.
    pub key: u64,
    /// The epoch.
    pub epoch: u32,
    /// The state of the [`Mark`] at which it begins again; none at the begin of the epoch.
    pub state: Option<&'a [u64]>,
    /// Records of the chunks that it makes, as far as it is free to choose.
    pub rows: usize,
    /// Bytes that the run may take; an operator may hold half of them.
    pub memory: u64,
    /// Where its buffers come from.
    pub pool: &'a crate::Pool,
    /// What it keeps for the later epochs of the run, where inputs are the same in each: it need not want these again.
    pub kept: Option<&'a Kept>,
    /// For each input its records file by file, where it is a source with steps on each record alone: it need not want
    /// such an input.
    pub by_file: &'a [Option<Arc<ByFile>>],
    /// Where it says how much of what it makes is padding.
    pub filling: &'a Arc<Filling>,
}

/// How much of what an operator has made is of records, and how much is padding.
#[derive(Debug, Default)]
pub struct Filling {
    filled: AtomicU64,
    all: AtomicU64,
}

impl Filling {
    /// Takes note of so many elements, of which so many are of records.
    pub fn add(&self, filled: usize, all: usize) {
        self.filled.fetch_add(filled as u64, Relaxed);
        self.all.fetch_add(all as u64, Relaxed);
    }

    /// The elements of records, and all that there are with the padding. Other threads may be about to add some.
    pub fn elements(&self) -> (u64, u64) {
        (self.filled.load(Relaxed), self.all.load(Relaxed))
    }
}

/// What an operator keeps from one epoch of a run to the next.
#[derive(Default)]
pub struct Kept(OnceLock<Arc<dyn Any + Send + Sync>>);

impl Kept {
    /// What is kept, which begins as the default of its type; one operator keeps one type.
    pub fn get<T: Any + Send + Sync + Default>(&self) -> Arc<T> {
        let kept = self.0.get_or_init(|| Arc::new(T::default())).clone();
        kept.downcast().unwrap_or_default()
    }
}

/// Makes an operator for one epoch.
pub type BuildOperator = fn(&OperatorCall<'_>) -> Result<Running, Failure>;

/// The library, as the runtime asks it.
pub trait Kernels: Sync {
    /// Makes the kernels of the function called `name`.
    fn function(&self, name: &str) -> Option<crate::Build>;
    /// How parts of what the function called `name` gives are made without the whole, if they can be.
    fn parts(&self, _name: &str) -> Option<&'static plan::Fused> {
        None
    }
    /// Who has the functions that stand outside of the program, if anybody has.
    fn outside(&self) -> Option<Arc<dyn Outside>> {
        None
    }
    /// Makes the operator called `name`.
    fn operator(&self, name: &str) -> Option<BuildOperator>;
    /// Makes the source called `name`.
    fn source(&self, name: &str) -> Option<BuildSource>;
}
