//! Memory whose bytes are run: written first, then run and never written again.

use std::{fmt, io};

/// Machine code in memory, until its last owner is gone.
pub(crate) struct Executable {
    memory: memmap2::Mmap,
}

/// Where each function begins: constants of vectors are read from aligned places.
pub(crate) const ALIGNMENT: usize = 64;

impl Executable {
    /// A copy of `code` that can be run, at the beginning of a page.
    pub(crate) fn new(code: &[u8]) -> io::Result<Self> {
        let mut memory = memmap2::MmapMut::map_anon(code.len())?;
        memory.copy_from_slice(code);
        let memory = memory.make_exec()?;
        is_seen(&memory)?;
        Ok(Self { memory })
    }

    /// The function that begins at the byte `at`.
    ///
    /// # Panics
    /// Where the code is shorter.
    pub(crate) fn function(&self, at: usize) -> *const u8 {
        self.memory[at..].as_ptr()
    }
}

impl fmt::Debug for Executable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executable").field("bytes", &self.memory.len()).finish_non_exhaustive()
    }
}

/// Sees to it that what was written is what is run: processors but x86 keep instructions apart.
#[cfg(not(target_arch = "x86_64"))]
fn is_seen(memory: &[u8]) -> io::Result<()> {
    use wasmtime_internal_jit_icache_coherence::{clear_cache, pipeline_flush_mt};
    let failed = |it| io::Error::other(format!("the instructions are not seen: {it}"));
    // SAFETY: the memory is there.
    unsafe { clear_cache(memory.as_ptr().cast(), memory.len()) }.map_err(failed)?;
    pipeline_flush_mt().map_err(failed)
}

#[cfg(target_arch = "x86_64")]
fn is_seen(_: &[u8]) -> io::Result<()> {
    Ok(())
}
