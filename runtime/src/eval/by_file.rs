//! The records of one file of a source, for an operator that reads its input by file.

use super::Compiled;
use crate::{Chunk, ChunkBuilder, Failure, Pool, Source};
use plan::Field;
use std::sync::Arc;

/// Records that are read at a time.
const ROWS: usize = 4096;

/// A stream that is read file by file, in any order: a source, and what is done with each of its records alone.
pub struct ByFile {
    pub(crate) source: Arc<dyn Source>,
    /// The columns that the source makes.
    pub(crate) columns: Vec<Field>,
    /// The transforms behind it, in order.
    pub(crate) chain: Vec<Arc<Compiled>>,
    pub(crate) pool: Pool,
}

impl ByFile {
    /// Hands on the records of the file of this name; whether there is such a file.
    ///
    /// # Errors
    /// It cannot be read, a record of it ends the run, or `take` fails.
    pub fn records(
        &self,
        name: &str,
        epoch: u32,
        mut take: impl FnMut(Chunk) -> Result<(), Failure>,
    ) -> Result<bool, Failure> {
        let Some(source) = self.source.file(name)? else { return Ok(false) };
        let mut stream = source.stream().ok_or_else(|| {
            Failure::Program("a file has no records in order; this is a bug in pipec".to_owned())
        })?;
        let mut chain: Vec<_> = self.chain.iter().map(|it| (it, it.registers())).collect();
        loop {
            let mut out = ChunkBuilder::new(&self.columns, ROWS, epoch, &self.pool);
            stream.next(ROWS, &mut out)?;
            if out.rows() == 0 {
                return Ok(true);
            }
            let mut chunk = out.finish();
            for (compiled, registers) in &mut chain {
                chunk = compiled.run(registers, &chunk, None, &mut Vec::new())?;
            }
            take(chunk)?;
        }
    }
}
