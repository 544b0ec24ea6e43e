//! The calls that stand before those of the C library, under the same names.
//!
//! What goes on goes straight to the system, so that nothing need be known of the library behind;
//! only folders, which are listed by the library itself, are looked up in it. The arguments that
//! C passes as it likes (`open`'s mode) are taken as they come on the platforms of Linux.

use crate::plan::{Call, Instead, at_file, at_path};
use libc::{c_char, c_int, c_uint, c_void, mode_t, off_t, size_t, ssize_t};
use std::{mem, sync::OnceLock};

/// Goes on with the call, or says that it failed with the number.
macro_rules! unless_failed {
    ($instead:expr, $failed:expr) => {
        if let Instead::Fail(number) = $instead {
            // SAFETY: the place of a thread's error number is always there.
            unsafe { *libc::__errno_location() = number };
            return $failed;
        }
    };
}

/// How many bytes of what was asked for are read or written.
fn granted(instead: Instead, n_bytes: size_t) -> size_t {
    match instead {
        Instead::Part(part) if n_bytes > 0 => part(n_bytes).max(1),
        _ => n_bytes,
    }
}

/// Defines calls that get a file's number, a buffer and a length.
macro_rules! transfers {
    ($($name:ident = $system:ident, $call:ident, ($buffer:ty $(, $at:ident: $kind:ty)?);)*) => {$(
        /// # Safety
        /// `n_bytes` bytes can be read or written at `buffer`, whichever the call does there.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            file: c_int, buffer: $buffer, n_bytes: size_t $(, $at: $kind)?
        ) -> ssize_t {
            let instead = at_file(Call::$call, file);
            unless_failed!(instead, -1);
            let n_bytes = granted(instead, n_bytes);
            // SAFETY: the arguments are the caller's, the length at most his.
            unsafe { libc::syscall(libc::$system, file, buffer, n_bytes $(, $at)?) as ssize_t }
        }
    )*};
}

transfers! {
    read = SYS_read, Read, (*mut c_void);
    pread = SYS_pread64, Read, (*mut c_void, at: off_t);
    pread64 = SYS_pread64, Read, (*mut c_void, at: off_t);
    write = SYS_write, Write, (*const c_void);
    pwrite = SYS_pwrite64, Write, (*const c_void, at: off_t);
    pwrite64 = SYS_pwrite64, Write, (*const c_void, at: off_t);
}

/// As the C library's; where it falls short, it moves the first piece alone.
macro_rules! pieces {
    ($($name:ident = $whole:ident, $one:ident, $call:ident;)*) => {$(
        /// # Safety
        /// There are `n_pieces` pieces, and at each the bytes that it says, to be read or written.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            file: c_int, pieces: *const libc::iovec, n_pieces: c_int
        ) -> ssize_t {
            let instead = at_file(Call::$call, file);
            unless_failed!(instead, -1);
            if matches!(instead, Instead::Part(_)) && n_pieces > 0 {
                // SAFETY: there is one piece at least, says the caller.
                let first = unsafe { &*pieces };
                let n_bytes = granted(instead, first.iov_len);
                // SAFETY: the piece is the caller's, the length at most its own.
                return unsafe {
                    libc::syscall(libc::$one, file, first.iov_base, n_bytes) as ssize_t
                };
            }
            // SAFETY: the arguments are the caller's.
            unsafe { libc::syscall(libc::$whole, file, pieces, n_pieces) as ssize_t }
        }
    )*};
}

pieces! {
    readv = SYS_readv, SYS_read, Read;
    writev = SYS_writev, SYS_write, Write;
}

/// Defines calls that get a path first, and go on as one that gets a folder's number before it.
macro_rules! on_paths {
    ($($name:ident($($at:ident: $kind:ty),*) = $call:ident, $system:ident($($sent:expr),*);)*) => {$(
        /// # Safety
        /// Each path is a text of C, or null.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(path: *const c_char $(, $at: $kind)*) -> c_int {
            // SAFETY: the caller gives a text of C.
            unless_failed!(unsafe { at_path(Call::$call, path) }, -1);
            // SAFETY: the arguments are the caller's.
            unsafe { libc::syscall(libc::$system, libc::AT_FDCWD, path $(, $sent)*) as c_int }
        }
    )*};
}

on_paths! {
    open(flags: c_int, mode: mode_t) = Open, SYS_openat(flags, mode);
    open64(flags: c_int, mode: mode_t) = Open, SYS_openat(flags, mode);
    rename(to: *const c_char) = Rename, SYS_renameat2(libc::AT_FDCWD, to, 0);
    unlink() = Remove, SYS_unlinkat(0);
    rmdir() = Remove, SYS_unlinkat(libc::AT_REMOVEDIR);
    mkdir(mode: mode_t) = Make, SYS_mkdirat(mode);
}

/// # Safety
/// `path` is a text of C, or null.
#[unsafe(no_mangle)]
unsafe extern "C" fn openat(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mode: mode_t,
) -> c_int {
    // SAFETY: the caller gives a text of C.
    unless_failed!(unsafe { at_path(Call::Open, path) }, -1);
    // SAFETY: the arguments are the caller's.
    unsafe { libc::syscall(libc::SYS_openat, folder, path, flags, mode) as c_int }
}

/// # Safety
/// `path` is a text of C, or null; `found` can be written, or is null.
#[unsafe(no_mangle)]
unsafe extern "C" fn statx(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mask: c_uint,
    found: *mut libc::statx,
) -> c_int {
    // SAFETY: the caller gives a text of C, or null to ask whether the call is there.
    unless_failed!(unsafe { at_path(Call::Stat, path) }, -1);
    // SAFETY: the arguments are the caller's.
    unsafe { libc::syscall(libc::SYS_statx, folder, path, flags, mask, found) as c_int }
}

/// Defines calls that get a file's number alone.
macro_rules! on_files {
    ($($name:ident = $system:ident;)*) => {$(
        /// # Safety
        /// Nothing is asked for: a number that is no file's is refused.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(file: c_int) -> c_int {
            unless_failed!(at_file(Call::Sync, file), -1);
            // SAFETY: the argument is the caller's.
            unsafe { libc::syscall(libc::$system, file) as c_int }
        }
    )*};
}

on_files! {
    fsync = SYS_fsync;
    fdatasync = SYS_fdatasync;
}

/// # Safety
/// `path` is a text of C.
#[unsafe(no_mangle)]
unsafe extern "C" fn opendir(path: *const c_char) -> *mut libc::DIR {
    type Behind = unsafe extern "C" fn(*const c_char) -> *mut libc::DIR;
    static BEHIND: OnceLock<usize> = OnceLock::new();
    // SAFETY: the caller gives a text of C.
    unless_failed!(unsafe { at_path(Call::List, path) }, std::ptr::null_mut());
    let behind = *BEHIND.get_or_init(|| behind(c"opendir"));
    // SAFETY: the C library's call of this name has this type; the argument is the caller's.
    unsafe { mem::transmute::<usize, Behind>(behind)(path) }
}

/// # Safety
/// `folder` was opened and is not closed; no other thread reads it meanwhile.
#[unsafe(no_mangle)]
unsafe extern "C" fn readdir64(folder: *mut libc::DIR) -> *mut libc::dirent64 {
    type Behind = unsafe extern "C" fn(*mut libc::DIR) -> *mut libc::dirent64;
    static BEHIND: OnceLock<usize> = OnceLock::new();
    // SAFETY: the folder is open, says the caller.
    let number = unsafe { libc::dirfd(folder) };
    unless_failed!(at_file(Call::List, number), std::ptr::null_mut());
    let behind = *BEHIND.get_or_init(|| behind(c"readdir64"));
    // SAFETY: the C library's call of this name has this type; the argument is the caller's.
    unsafe { mem::transmute::<usize, Behind>(behind)(folder) }
}

/// Where the C library's own call is, of one that this layer stands before.
fn behind(name: &std::ffi::CStr) -> usize {
    // SAFETY: the name ends with a zero.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    assert!(!found.is_null(), "the C library lacks {name:?}");
    found as usize
}
