//! Files for what only files are read by, and calls of functions of the library.

use plan::{Arg, Type};
use runtime::{Args, Call, Fault, Kernels, Out, Philox, Scratch, Tensor};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

/// A folder in memory, where the system has such; it goes with the thread.
pub(super) struct Folder(PathBuf);

impl Folder {
    /// An empty folder; each thread of each target has its own.
    pub(super) fn new(target: &str) -> Self {
        let memory = Path::new("/dev/shm");
        let root = if memory.is_dir() { memory.to_owned() } else { env::temp_dir() };
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = root.join(format!("pipec-fuzz-{}-{target}-{number}", process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder can be made in memory");
        Self(folder)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file of it; gives its path.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, bytes).expect("there is room in memory");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The first byte, which says how the target goes about it, and the rest.
pub(super) fn split(bytes: &[u8]) -> (u8, &[u8]) {
    bytes.split_first().map_or((0, bytes), |(first, rest)| (*first, rest))
}

/// A value that a function gives: its extents, and its elements as bytes.
pub(super) type Value = (Vec<usize>, Vec<u8>);

/// Calls a function of the library; `args` stand for what the compiler knows, `values` are those of a record.
pub(super) fn call(
    name: &str,
    args: &[Arg],
    (values, result): (&[Tensor<'_>], &Type),
) -> Result<Value, Fault> {
    let types = vec![None; args.len()];
    let call = Call { args, types: &types, result, sources: &[], outside: None };
    let build = stdlib::Kernels.function(name).expect("the library has it");
    let kernel = build(&call).expect("its arguments are sound");
    let mut scratch = Scratch::new();
    kernel.write(&mut Philox::new(1, 2, 3), &Args::of(values), &mut Out::grow(&mut scratch))?;
    let made = scratch.tensor();
    Ok((made.shape().to_vec(), made.as_text().to_vec()))
}
