//! Opening regular files, and nothing else, without ever waiting for another process.

use std::{
    fs::{self, File, FileType, OpenOptions},
    io::{self, Read},
    path::Path,
    thread,
    time::Duration,
};

/// How often a file is opened anew where too many are open already, and how long after.
const OPEN_ATTEMPTS: u32 = 200;
const OPEN_AGAIN_AFTER: Duration = Duration::from_millis(1);

/// What to do with a path that is a link.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Links {
    Follow,
    Refuse,
}

/// Opens a regular file to be read. A pipe, a device or a folder is refused, and never waited for.
///
/// # Errors
/// There is none, it may not be read, or it is not a regular file.
pub fn open(path: &Path) -> io::Result<File> {
    opened(path, File::options().read(true), Links::Follow)
}

/// The same where the path itself may not be a link: for files in a folder that anybody may have filled.
///
/// # Errors
/// Those of [`open`]; it is a link.
pub fn open_here(path: &Path) -> io::Result<File> {
    opened(path, File::options().read(true), Links::Refuse)
}

/// Opens a regular file to be read and written, which is made where there is none and never emptied.
/// The path itself may not be a link.
///
/// # Errors
/// Those of [`open_here`]; it cannot be written.
pub fn create_here(path: &Path) -> io::Result<File> {
    opened(path, File::options().read(true).write(true).create(true).truncate(false), Links::Refuse)
}

/// The bytes of a regular file of at most `most` bytes.
///
/// # Errors
/// Those of [`open`]; the file is larger.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    bytes(&open(path)?, most)
}

/// The same where the path itself may not be a link.
///
/// # Errors
/// Those of [`open_here`]; the file is larger.
pub fn read_here(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    bytes(&open_here(path)?, most)
}

/// The text of a regular file of at most `most` bytes.
///
/// # Errors
/// Those of [`read`]; it is not UTF-8.
pub fn text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?)
        .map_err(|it| io::Error::new(io::ErrorKind::InvalidData, it.utf8_error()))
}

/// Whether the path itself is a folder, and not a link to one.
pub fn is_real_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|it| it.is_dir())
}

/// Opens a file; where the process has too many open, waits a little for others of its threads to
/// close theirs. `give_up` is called before each further attempt.
///
/// # Errors
/// Those of `attempt`.
pub fn patiently<T>(
    mut attempt: impl FnMut() -> io::Result<T>,
    mut give_up: impl FnMut(),
) -> io::Result<T> {
    for _ in 1..OPEN_ATTEMPTS {
        match attempt() {
            Err(error) if is_too_many_open(&error) => {
                give_up();
                thread::sleep(OPEN_AGAIN_AFTER);
            }
            opened => return opened,
        }
    }
    attempt()
}

/// Whether the process or the machine has too many files open, for which the standard library has
/// no stable name.
pub fn is_too_many_open(error: &io::Error) -> bool {
    // `ENFILE` and `EMFILE`; on Windows `ERROR_TOO_MANY_OPEN_FILES`.
    let numbers: &[i32] = if cfg!(unix) { &[23, 24] } else { &[4] };
    error.raw_os_error().is_some_and(|it| numbers.contains(&it))
}

fn opened(path: &Path, options: &mut OpenOptions, links: Links) -> io::Result<File> {
    // Asked before it is opened, since to open a device may do something; and once more of what was
    // opened, since another process may have put something else there in between.
    let found = match links {
        Links::Follow => fs::metadata(path),
        Links::Refuse => fs::symlink_metadata(path),
    };
    match found {
        Ok(found) => regular(found.file_type())?,
        // Where it is to be made there may be none.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        if links == Links::Refuse {
            flags |= OFlags::NOFOLLOW;
        }
        options.custom_flags(flags.bits() as i32);
    }
    let file = options.open(path)?;
    regular(file.metadata()?.file_type())?;
    Ok(file)
}

fn regular(kind: FileType) -> io::Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    if kind.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
    }
    Err(io::Error::other(format!("it is {}, not a regular file", special(kind))))
}

/// What a file is that is neither regular nor a folder.
#[cfg(unix)]
fn special(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match kind {
        it if it.is_symlink() => "a link",
        it if it.is_fifo() => "a pipe",
        it if it.is_socket() => "a socket",
        _ => "a device",
    }
}

#[cfg(not(unix))]
fn special(kind: FileType) -> &'static str {
    if kind.is_symlink() { "a link" } else { "something else" }
}

fn bytes(file: &File, most: u64) -> io::Result<Vec<u8>> {
    let too_large = || Err(io::Error::other(format!("it has more than {}", size(most))));
    if file.metadata()?.len() > most {
        return too_large();
    }
    let mut bytes = Vec::new();
    // It may grow while it is read, and what the system makes up has no length beforehand.
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { too_large() } else { Ok(bytes) }
}

fn size(bytes: u64) -> String {
    match bytes >> 20 {
        0 => format!("{} KiB", bytes >> 10),
        mib => format!("{mib} MiB"),
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use std::{os::unix::fs::symlink, path::PathBuf, process::Command};

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let id = std::process::id();
            let folder = std::env::temp_dir().join(format!("pipec-open-{name}-{id}"));
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn only_regular_files_are_opened_and_none_is_waited_for() {
        let folder = Folder::new("kinds");
        let at = |name: &str| folder.0.join(name);
        fs::write(at("file"), "text").unwrap();
        symlink("file", at("link")).unwrap();
        symlink("/dev/zero", at("zero")).unwrap();
        assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());

        assert_eq!(read(&at("file"), 4).unwrap(), b"text");
        assert_eq!(read(&at("link"), 4).unwrap(), b"text");
        assert_eq!(read_here(&at("file"), 4).unwrap(), b"text");
        let said = |it: io::Result<Vec<u8>>| it.unwrap_err().to_string();
        assert_eq!(said(read_here(&at("link"), 4)), "it is a link, not a regular file");
        assert_eq!(said(read(&at("zero"), 4)), "it is a device, not a regular file");
        assert_eq!(said(read(&at("pipe"), 4)), "it is a pipe, not a regular file");
        assert_eq!(said(read(&folder.0, 4)), "it is a folder");
        assert_eq!(read(&at("none"), 4).unwrap_err().kind(), io::ErrorKind::NotFound);
        let made = create_here(&at("link")).map(drop);
        assert_eq!(made.unwrap_err().to_string(), "it is a link, not a regular file");
        symlink("nowhere", at("dangling")).unwrap();
        assert!(create_here(&at("dangling")).is_err() && !at("nowhere").exists());
        drop(create_here(&at("file")).unwrap());
        assert_eq!(fs::read(at("file")).unwrap(), b"text", "it is not emptied");
    }

    #[test]
    fn a_size_is_known_before_memory_is_taken() {
        let folder = Folder::new("sizes");
        let path = folder.0.join("sparse");
        File::create(&path).unwrap().set_len(50 << 30).unwrap();
        assert_eq!(read(&path, 1 << 20).unwrap_err().to_string(), "it has more than 1 MiB");
        assert_eq!(
            read(Path::new("/proc/self/status"), 1).unwrap_err().to_string(),
            "it has more than 0 KiB"
        );
    }
}
