//! The executable that is running.

use std::{env, fs::File, io, path::PathBuf};

/// The file that is running, also where it was moved or replaced since it began; where the system
/// does not say that, the file that it was begun as.
pub(crate) fn own_executable() -> io::Result<File> {
    running().or_else(|_| safe_file::open(&begun_as().ok_or(io::ErrorKind::NotFound)?))
}

/// The file that is running, where the system says so.
pub(super) fn running() -> io::Result<File> {
    match cfg!(target_os = "linux") {
        true => File::open(super::RUNNING),
        false => File::open(env::current_exe()?),
    }
}

/// The path that this executable was begun as: a system without `/proc` has told it that alone.
pub fn begun_as() -> Option<PathBuf> {
    #[cfg(target_os = "linux")]
    {
        use std::{os::unix::ffi::OsStrExt, path::Path};
        let told = rustix::param::linux_execfn().to_bytes();
        let path = Path::new(std::ffi::OsStr::from_bytes(told));
        // A program that has changed its folder since has another one of that name, or none.
        if path.is_absolute() || path.is_file() {
            return std::path::absolute(path).ok();
        }
    }
    env::current_exe().ok()
}
