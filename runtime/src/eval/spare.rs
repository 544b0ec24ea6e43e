//! Records that take the place of faulty ones: `else another`.

use super::{Compiled, Registers};
use crate::{Chunk, ChunkBuilder, Failure, Pool, Source};
use plan::Field;
use std::sync::Arc;

/// Where other records come from, for a slot whose own is faulty.
pub(crate) struct Spare {
    /// The source.
    pub(crate) source: Arc<dyn Source>,
    /// Its numbers: the records `first..first + len`.
    pub(crate) first: u64,
    /// See `first`.
    pub(crate) len: u64,
    /// The columns that the source makes.
    pub(crate) columns: Vec<Field>,
    /// The transforms between the source and this one, in order.
    pub(crate) chain: Vec<Arc<Compiled>>,
}

impl Spare {
    /// The record `number`, taken through the stages up to the faulty one; none where one filters it.
    pub(super) fn record(
        &self,
        number: u64,
        epoch: u32,
        chain: &mut [Registers],
        pool: &Pool,
    ) -> Result<Chunk, Failure> {
        let mut out = ChunkBuilder::new(&self.columns, 1, epoch, pool);
        self.source.fetch(&[number], &mut out)?;
        let mut chunk = out.finish();
        for (compiled, registers) in self.chain.iter().zip(chain) {
            let mut lost = Vec::new();
            match compiled.run(registers, &chunk, None, &mut lost) {
                Ok(next) => chunk = next,
                // A record that cannot be read here cannot take another's place.
                Err(Failure::Record { .. }) => return Ok(chunk.cut(0..0)),
                Err(failure) => return Err(failure),
            }
        }
        Ok(chunk)
    }
}
