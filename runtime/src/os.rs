//! Everything that is asked of the operating system beyond the standard library.

pub use safe_file::is_too_many_open;
use safe_file::patiently;
use std::{fs::File, io, path::Path, ptr, time::Duration};

/// Opens a regular file to be read; where the process has too many open, waits a little for others
/// of its threads to close theirs.
///
/// `give_up` is called before each further attempt, and may close what the caller can do without.
///
/// # Errors
/// Those of [`safe_file::open`].
pub(crate) fn open(path: &Path, give_up: impl FnMut()) -> io::Result<File> {
    patiently(|| safe_file::open(path), give_up)
}

/// The same of what may be no file: what is a pipe is opened too, whoever writes into it.
///
/// # Errors
/// Those of [`File::open`].
pub(crate) fn open_any(path: &Path, give_up: impl FnMut()) -> io::Result<File> {
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
        let mut options = File::options();
        options.read(true).custom_flags(flags);
        patiently(|| options.open(path), give_up)
    }
    #[cfg(not(unix))]
    open(path, give_up)
}

/// Lets the system forget what it holds of a file in memory, where it can: what is read next comes from the disk.
pub fn forget(file: &File) {
    // What was written and is not on the disk yet is not forgotten.
    let _ = file.sync_data();
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{Advice, fadvise};
        let _ = fadvise(file, 0, None, Advice::DontNeed);
    }
}

/// How many files the process may have open; none where nothing is said.
pub fn open_files_max() -> Option<u64> {
    #[cfg(unix)]
    return rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    #[cfg(not(unix))]
    None
}

/// Processor time that the calling thread has used, of virtual cores too; none where the system does not say it.
///
/// Asking costs up to a microsecond on a virtual machine.
pub fn thread_cpu() -> Option<Duration> {
    // Miri has no such clock.
    #[cfg(all(unix, not(miri)))]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        let time = Duration::new(time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?);
        Some(crate::tokens::as_there(time))
    }
    #[cfg(not(all(unix, not(miri))))]
    None
}

/// For how long the calling thread has had work and no core to do it, since it began; none where the
/// system does not say it.
///
/// Asking takes about a microsecond; each thread that does keeps a file open.
pub(crate) fn thread_delay() -> Option<Duration> {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::FileExt;
        thread_local! {
            static WAITS: Option<File> = File::open("/proc/thread-self/schedstat").ok();
        }
        // Nanoseconds on a core, nanoseconds that it waited for one, and how often it had one.
        let mut text = [0; 64];
        let len = WAITS.with(|it| it.as_ref()?.read_at(&mut text, 0).ok())?;
        let text = std::str::from_utf8(text.get(..len)?).ok()?;
        text.split(' ').nth(1)?.parse().ok().map(Duration::from_nanos)
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// Processor time that the process has used, all its threads together; none where the system does
/// not say it.
pub fn process_cpu() -> Option<Duration> {
    #[cfg(all(unix, not(miri)))]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Some(Duration::new(time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?))
    }
    #[cfg(not(all(unix, not(miri))))]
    None
}

/// Bytes of memory that the process holds now; none where the system does not say it.
///
/// Asking takes about a microsecond.
pub fn resident() -> Option<usize> {
    #[cfg(target_os = "linux")]
    {
        let text = std::fs::read_to_string("/proc/self/statm").ok()?;
        let pages: usize = text.split(' ').nth(1)?.parse().ok()?;
        pages.checked_mul(rustix::param::page_size())
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// Gives memory back to the system that the allocator keeps for later.
pub(crate) fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    {
        unsafe extern "C" {
            fn malloc_trim(pad: usize) -> i32;
        }
        // SAFETY: it may be called at any time, by any thread (malloc_trim(3)).
        unsafe { malloc_trim(0) };
    }
}

/// Memory of `bytes` bytes, all 0, that begins at a multiple of `align`, a power of two, and is taken
/// from the system page by page when it is touched first. None where the system gives nothing;
/// [`unmap`] gives it back.
///
/// Huge pages are not asked for: what a run of W1 wins by them it loses where the system clears them
/// (2 virtual cores, Zen 5: 679 µs of processor time an image with them, 654 without).
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) fn map_aligned(bytes: usize, align: usize) -> Option<ptr::NonNull<u8>> {
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
    let whole = bytes.checked_add(align)?;
    let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
    // SAFETY: a new mapping, at an address that the system chooses.
    let first = unsafe { mmap_anonymous(ptr::null_mut(), whole, protection, flags) }.ok()?;
    let before = first.cast::<u8>().align_offset(align);
    // SAFETY: within the mapping, which is larger by `align`.
    let data = unsafe { first.cast::<u8>().add(before) };
    // SAFETY: the memory is ours; what is before the first byte and behind the last page goes.
    unsafe {
        let end = data.add(bytes);
        let end = end.add(end.align_offset(rustix::param::page_size()));
        unmap_some(first.cast(), before);
        unmap_some(end, (whole - before).saturating_sub(end.offset_from_unsigned(data)));
    }
    ptr::NonNull::new(data)
}

/// Gives back what [`map_aligned`] gave for `bytes`.
///
/// # Safety
/// It was given, for as many bytes, and nobody uses it any more.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) unsafe fn unmap(data: ptr::NonNull<u8>, bytes: usize) {
    // SAFETY: it begins a page of the mapping, and nobody uses it, says the caller.
    unsafe { unmap_some(data.as_ptr(), bytes) };
}

/// # Safety
/// `data` begins a page that is mapped, and nobody uses the pages of these bytes.
#[cfg(all(target_os = "linux", not(miri)))]
unsafe fn unmap_some(data: *mut u8, bytes: usize) {
    if bytes > 0 {
        // SAFETY: nobody uses the pages, says the caller. It fails only where the arguments are wrong.
        let _ = unsafe { rustix::mm::munmap(data.cast(), bytes) };
    }
}

/// Writes `bytes` into `file` from `offset` on; threads may share the file.
pub fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::write_all_at(file, bytes, offset);
    #[cfg(windows)]
    return {
        let mut at = 0;
        while at < bytes.len() {
            at +=
                std::os::windows::fs::FileExt::seek_write(file, &bytes[at..], offset + at as u64)?;
        }
        Ok(())
    };
}

/// Appends `len` bytes of `file` from `offset` on, to room that need not be zeroed first; threads may share the file.
#[cfg(all(unix, not(miri)))]
pub(crate) fn append_at(file: &File, to: &mut Vec<u8>, len: usize, offset: u64) -> io::Result<()> {
    let (begin, end) = (to.len(), to.len() + len);
    to.reserve_exact(len);
    while to.len() < end {
        let at = offset + (to.len() - begin) as u64;
        let why = match rustix::io::pread(file, rustix::buffer::spare_capacity(to), at) {
            Ok(0) => io::ErrorKind::UnexpectedEof.into(),
            Ok(_) | Err(rustix::io::Errno::INTR) => continue,
            Err(why) => why.into(),
        };
        to.truncate(begin);
        return Err(why);
    }
    to.truncate(end);
    Ok(())
}

/// Says that bytes of `file` will be read soon, unless the last of them is in memory: the system would look for each
/// page of what is there.
pub(crate) fn will_read(file: &File, bytes: std::ops::Range<u64>) {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        let Some(last) = bytes.end.checked_sub(1).filter(|it| *it >= bytes.start) else { return };
        if is_in_memory(file, last) {
            return;
        }
        let len = std::num::NonZero::new(bytes.end - bytes.start);
        // It is advice: what comes of it does not matter.
        let _ = rustix::fs::fadvise(file, bytes.start, len, rustix::fs::Advice::WillNeed);
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = (file, bytes);
}

/// Whether a byte of `file` is in memory, so that reading it waits for nothing.
#[cfg(all(target_os = "linux", not(miri)))]
fn is_in_memory(file: &File, at: u64) -> bool {
    use rustix::io::{ReadWriteFlags, preadv2};
    let mut byte = [0];
    let mut to = [io::IoSliceMut::new(&mut byte)];
    preadv2(file, &mut to, at, ReadWriteFlags::NOWAIT) == Ok(1)
}

/// Fills `buffer` with the bytes of `file` from `offset` on; threads may share the file.
pub fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset);
    #[cfg(windows)]
    return {
        let mut at = 0;
        while at < buffer.len() {
            let from = offset + at as u64;
            match std::os::windows::fs::FileExt::seek_read(file, &mut buffer[at..], from)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n_bytes => at += n_bytes,
            }
        }
        Ok(())
    };
}
