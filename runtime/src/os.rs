//! Everything that is asked of the operating system beyond the standard library.

use std::{fs::File, io, ptr::NonNull};

/// Asks for huge pages behind `bytes` of memory at `data`; it is a wish, not a need.
pub fn advise_huge(data: NonNull<u8>, bytes: usize) {
    #[cfg(target_os = "linux")]
    // SAFETY: the memory is ours, and the advice changes nothing of what it holds.
    let _ = unsafe {
        rustix::mm::madvise(data.as_ptr().cast(), bytes, rustix::mm::Advice::LinuxHugepage)
    };
    #[cfg(not(target_os = "linux"))]
    let _ = (data, bytes);
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
