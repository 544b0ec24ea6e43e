//! Where the output of a run goes: nowhere, into a folder of files here or in a store, down a pipe as Arrow.

#[cfg(feature = "arrow")]
mod arrow;
mod data;
mod disk;
mod folder;
mod line;
mod list;
mod location;
mod npy;
mod other;
pub(crate) mod pieces;

pub use data::{DATA_FORMATS, DataFormat, ShardSize};
pub use folder::{Existing, Folder, OUTPUT_FILES, Provenance};
pub use location::{is_far as is_far_output, refused as refused_output};
pub use other::unwritten_format;

use crate::session::stop::Stop;
use plan::Program;
use runtime::{Chunk, Failure};
use std::io::Write;

/// What a sink is told of the run that writes to it.
#[derive(Debug, Clone)]
pub struct RunConfig {
    /// What may stop the run.
    pub stop: Stop,
    /// Bytes that it may take.
    pub memory: u64,
    /// Bytes of these that the sink may hold.
    pub room: u64,
    /// Whether a checkpoint counts what is written before the end.
    pub is_saved: bool,
}

/// Writes batches to `out`, as an Arrow IPC stream.
///
/// # Errors
/// It cannot be written, a tensor has more elements than Arrow can count, or this was built without Arrow.
pub fn arrow_stream(
    out: impl Write + 'static,
    program: &Program,
) -> Result<Box<dyn Sink>, Failure> {
    #[cfg(feature = "arrow")]
    return Ok(Box::new(arrow::ArrowStream::open(out, program)?));
    #[cfg(not(feature = "arrow"))]
    {
        let _ = (out, program);
        let why = "this `pipec` was built without Arrow, which `--out -` writes: build it with `--features full`";
        Err(Failure::Program(why.to_owned()))
    }
}

/// Bytes that a sink may hold of a run that may take `memory`, or whose process may: three quarters of what the process
/// does not have already.
pub(crate) fn room_within(memory: u64, whole_process: bool) -> u64 {
    let resident = if whole_process { runtime::os::resident() } else { None };
    let left = memory.saturating_sub(resident.unwrap_or(0) as u64);
    left / 4 * 3
}

/// What the command line says so that a sink may hold so many bytes.
fn memory_for(held: u64) -> String {
    let resident = runtime::os::resident().unwrap_or(0) as u64;
    let memory = (held / 3).saturating_mul(4).saturating_add(resident);
    format!("`--memory {}MB`", memory.div_ceil(1_000_000))
}

/// Takes what leaves a pipeline, chunk by chunk.
pub trait Sink {
    /// Bytes that it wants to hold at a time, beside what it is given, of a run that may take `memory`.
    fn wants(&self, _memory: u64) -> u64 {
        0
    }

    /// Is told of the run, before anything else is asked of it but what it wants.
    fn begin(&mut self, _config: &RunConfig) {}

    /// Takes the next chunk. A reader who has gone away is [`Failure::Stopped`].
    ///
    /// # Errors
    /// What could not be written, and why.
    fn take(&mut self, chunk: &Chunk) -> Result<(), Failure>;

    /// What is written of all that came, where it matters to a saved state.
    fn written(&self) -> Written;

    /// Begins to bring what is written to the disk, beside the run; does nothing while that goes on.
    ///
    /// # Errors
    /// Something could not be brought there.
    fn sync(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// What outlasts a loss of power: as far as a saved state may count.
    ///
    /// # Errors
    /// Something could not be brought to the disk.
    fn synced(&self) -> Result<Written, Failure> {
        Ok(self.written())
    }

    /// Waits until all that is written outlasts a loss of power.
    ///
    /// # Errors
    /// Something could not be brought to the disk.
    fn settle(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Goes on with what an earlier run has written; to be said before anything is taken.
    ///
    /// # Errors
    /// It is not there, or not of this run.
    fn resume(&mut self, written: Written) -> Result<Resumed, Failure>;

    /// Takes note that all has come: not called where the run fails or is stopped.
    ///
    /// # Errors
    /// What could not be written, and why.
    fn finish(&mut self) -> Result<(), Failure>;
}

/// What a sink has done with what it was given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Batches that are where they belong; records, where the pipeline ends without `batch`.
    pub outputs: u64,
    /// Files of each field, of a sink of files.
    pub files: u64,
}

/// Where a sink can go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resumed {
    /// Where the earlier run has stopped.
    There,
    /// At the begin of an epoch: what was written since is damaged, and is made again.
    Back {
        /// The epoch.
        epoch: u32,
        /// Outputs before it.
        outputs: u64,
        /// The first damage that was found.
        found: String,
    },
}

/// Drops what it is given: for measuring.
#[derive(Default)]
pub struct Discard {
    outputs: u64,
}

impl Sink for Discard {
    fn take(&mut self, chunk: &Chunk) -> Result<(), Failure> {
        self.outputs += chunk.rows as u64;
        Ok(())
    }

    fn written(&self) -> Written {
        Written { outputs: self.outputs, files: 0 }
    }

    fn resume(&mut self, written: Written) -> Result<Resumed, Failure> {
        self.outputs = written.outputs;
        Ok(Resumed::There)
    }

    fn finish(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}
