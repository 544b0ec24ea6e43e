//! Everything that is asked of the operating system beyond the standard library.

pub use safe_file::is_too_many_open;
use safe_file::patiently;
use std::{
    fs::File,
    io,
    path::Path,
    ptr,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    time::Duration,
};

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

/// Bytes of pages that this process has of files that the system holds in memory, as far as it has counted them.
static PAGES: AtomicUsize = AtomicUsize::new(0);

/// So many bytes more may be pages that [`resident`] does not count.
pub(crate) fn pages_used(bytes: usize) {
    PAGES.fetch_add(bytes, Relaxed);
}

/// So many bytes of them were let go of.
pub(crate) fn pages_let_go(bytes: usize) {
    PAGES.fetch_sub(bytes, Relaxed);
}

/// Bytes of memory that the process holds now, but for pages of files that the system may take back at any time; none
/// where the system does not say it.
///
/// Asking takes about a microsecond.
pub fn resident() -> Option<usize> {
    #[cfg(target_os = "linux")]
    {
        let text = std::fs::read_to_string("/proc/self/statm").ok()?;
        let mut pages = text.split(' ').skip(1).map(|it| it.parse::<usize>().ok());
        let bytes = rustix::param::page_size();
        let [all, of_files] =
            [pages.next()??.checked_mul(bytes)?, pages.next()??.checked_mul(bytes)?];
        Some(all.saturating_sub(of_files.min(PAGES.load(Relaxed))))
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// Gives memory back to the system that the allocator keeps for later.
pub fn trim() {
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

/// An empty file that lies in memory, with room for so many bytes; none where the system makes none.
pub(crate) fn file_in_memory(bytes: u64) -> Option<File> {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        let file =
            File::from(rustix::fs::memfd_create("pipec", rustix::fs::MemfdFlags::CLOEXEC).ok()?);
        file.set_len(bytes).ok()?;
        Some(file)
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    {
        let _ = bytes;
        None
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
pub(crate) fn is_in_memory(file: &File, at: u64) -> bool {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        use rustix::io::{ReadWriteFlags, preadv2};
        let mut byte = [0];
        let mut to = [io::IoSliceMut::new(&mut byte)];
        preadv2(file, &mut to, at, ReadWriteFlags::NOWAIT) == Ok(1)
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    {
        let _ = (file, at);
        false
    }
}

/// Whether `file` is on a disk of this machine, or in its memory, as far as the kind of its filesystem tells.
pub(crate) fn is_on_own_disk(file: &File) -> bool {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        /// Ext2 to 4, XFS, Btrfs, F2FS, bcachefs, tmpfs, overlayfs: statfs(2).
        const OWN: [u64; 7] =
            [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0xca45_1a4e, 0x0102_1994, 0x794c_7630];
        rustix::fs::fstatfs(file).is_ok_and(|it| OWN.contains(&(it.f_type as u32).into()))
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    {
        let _ = file;
        false
    }
}

/// A part of a file in the address space, to be read.
#[derive(Debug)]
pub(crate) struct Mapping {
    data: ptr::NonNull<u8>,
    bytes: usize,
}

// SAFETY: it is only read, and stays where it is.
unsafe impl Send for Mapping {}
// SAFETY: the same.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps so many bytes of `file` from `offset` on, a multiple of the size of a page; the file may be shorter. None
    /// where the system maps nothing.
    pub(crate) fn new(file: &File, offset: u64, bytes: usize) -> Option<Self> {
        #[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
        {
            use rustix::mm::{MapFlags, ProtFlags, mmap};
            let (protection, flags) = (ProtFlags::READ, MapFlags::SHARED);
            // SAFETY: a new mapping, at an address that the system chooses.
            let data = unsafe { mmap(ptr::null_mut(), bytes, protection, flags, file, offset) };
            ptr::NonNull::new(data.ok()?.cast()).map(|data| Self { data, bytes })
        }
        #[cfg(not(all(target_os = "linux", target_pointer_width = "64", not(miri))))]
        {
            let _ = (file, offset, bytes);
            None
        }
    }

    /// `len` bytes of the part from `at` on, which the file must hold: who uses bytes that it does not hold ends the
    /// process.
    pub(crate) fn get(&self, at: usize, len: usize) -> Option<&[u8]> {
        at.checked_add(len).filter(|end| *end <= self.bytes)?;
        // SAFETY: within the mapping, which lives as long as this, and whose file is only ever appended to.
        Some(unsafe { std::slice::from_raw_parts(self.data.as_ptr().add(at), len) })
    }

    /// Lets go of its pages; whoever reads one gets it back.
    pub(crate) fn let_go(&self) {
        #[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
        {
            let advice = rustix::mm::Advice::LinuxDontNeed;
            // SAFETY: what is read of a shared mapping afterwards is again what the file holds (madvise(2)).
            let _ = unsafe { rustix::mm::madvise(self.data.as_ptr().cast(), self.bytes, advice) };
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        #[cfg(all(target_os = "linux", not(miri)))]
        // SAFETY: it is a mapping of so many bytes, and what was lent of it is not used any more.
        unsafe {
            unmap_some(self.data.as_ptr(), self.bytes);
        }
    }
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
