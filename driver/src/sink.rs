//! Where the output of a run goes: nowhere, into a folder of `.npy` files, down a pipe as Arrow.

#[cfg(feature = "arrow")]
mod arrow;
mod folder;
mod npy;
mod pieces;

#[cfg(feature = "arrow")]
pub use arrow::ArrowStream;
pub use folder::Folder;

use runtime::{Chunk, Failure};

/// Takes what leaves a pipeline, chunk by chunk.
pub trait Sink {
    /// Takes the next chunk. A reader who has gone away is [`Failure::Stopped`].
    ///
    /// # Errors
    /// What could not be written, and why.
    fn take(&mut self, chunk: &Chunk) -> Result<(), Failure>;

    /// Takes note that all has come: not called where the run fails or is stopped.
    ///
    /// # Errors
    /// What could not be written, and why.
    fn finish(&mut self) -> Result<(), Failure>;
}

/// Drops what it is given: for measuring.
pub struct Discard;

impl Sink for Discard {
    fn take(&mut self, _: &Chunk) -> Result<(), Failure> {
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}
