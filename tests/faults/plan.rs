//! Which calls fail, and how: read from the environment when the first call comes.
//!
//! | variable | meaning |
//! |---|---|
//! | `FAULTS_CALL` | the kind of call: `open`, `read`, `write`, `rename`, `remove`, `make`, `list`, `stat`, `sync` |
//! | `FAULTS_BELOW` | calls on paths that begin with this one, as absolute paths |
//! | `FAULTS_WORD` | and that hold this word; all of them, where it is not set |
//! | `FAULTS_FROM` | the first of these calls that fails, from 1 |
//! | `FAULTS_TIMES` | how many fail from there on; all, where it is not set |
//! | `FAULTS_DO` | an error (`EIO`, …); `short`, `half`: so much is read or written; `hang:MS`; `vanish`, `shrink`, `grow`: what becomes of the file first |
//! | `FAULTS_HIT` | a file that is made when the first call fails |

use std::{
    env,
    ffi::{CStr, CString, c_int},
    os::unix::ffi::OsStrExt,
    path::Path,
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

/// Bytes of a path.
const PATH_MAX: usize = libc::PATH_MAX as usize;

/// The kinds of calls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Open,
    Read,
    Write,
    Rename,
    Remove,
    Make,
    List,
    Stat,
    Sync,
}

/// What a call is to do instead of, or before, what it was called for.
pub(crate) enum Instead {
    /// What it was called for.
    Nothing,
    /// Fail with this number.
    Fail(c_int),
    /// Read or write no more than this part of what was asked for, and at least a byte.
    Part(fn(usize) -> usize),
}

/// What happens at a call that was chosen.
#[derive(Clone, Copy)]
enum Fault {
    Fail(c_int),
    Part(fn(usize) -> usize),
    Hang(Duration),
    Vanish,
    Shrink,
    Grow,
}

struct Plan {
    call: Call,
    below: Vec<u8>,
    word: Vec<u8>,
    from: u64,
    times: u64,
    fault: Fault,
    hit: Option<CString>,
    seen: AtomicU64,
}

/// What a call on an open file is to do.
pub(crate) fn at_file(call: Call, file: c_int) -> Instead {
    let Some(plan) = Plan::of(call) else { return Instead::Nothing };
    let mut link = [0_u8; 32];
    let mut path = [0_u8; PATH_MAX];
    let text = format!("/proc/self/fd/{file}\0");
    link[..text.len()].copy_from_slice(text.as_bytes());
    // SAFETY: `link` ends with a zero, and `path` has a byte more than may be written.
    let n_bytes =
        unsafe { libc::readlink(link.as_ptr().cast(), path.as_mut_ptr().cast(), PATH_MAX - 1) };
    match usize::try_from(n_bytes) {
        Ok(n_bytes) => plan.decide(&path[..n_bytes]),
        Err(_) => Instead::Nothing,
    }
}

/// What a call on a path is to do.
///
/// # Safety
/// `path` is a text of C, or null.
pub(crate) unsafe fn at_path(call: Call, path: *const libc::c_char) -> Instead {
    match Plan::of(call) {
        // SAFETY: it is not null, so it is a text of C, says the caller.
        Some(plan) if !path.is_null() => plan.decide(unsafe { CStr::from_ptr(path) }.to_bytes()),
        _ => Instead::Nothing,
    }
}

impl Plan {
    /// The plan, if it is about such calls.
    fn of(call: Call) -> Option<&'static Self> {
        static PLAN: OnceLock<Option<Plan>> = OnceLock::new();
        PLAN.get_or_init(Self::from_environment).as_ref().filter(|it| it.call == call)
    }

    fn from_environment() -> Option<Self> {
        let text = |name: &str| env::var(format!("FAULTS_{name}")).ok();
        let number = |name: &str, usual| text(name).and_then(|it| it.parse().ok()).unwrap_or(usual);
        Some(Self {
            call: call_named(&text("CALL")?)?,
            below: text("BELOW")?.into_bytes(),
            word: text("WORD").unwrap_or_default().into_bytes(),
            from: number("FROM", 1),
            times: number("TIMES", u64::MAX),
            fault: fault_named(&text("DO")?)?,
            hit: text("HIT").and_then(|it| CString::new(it).ok()),
            seen: AtomicU64::new(0),
        })
    }

    fn decide(&self, path: &[u8]) -> Instead {
        let holds_word =
            self.word.is_empty() || path.windows(self.word.len()).any(|it| it == self.word);
        if !path.starts_with(&self.below) || !holds_word {
            return Instead::Nothing;
        }
        let number = 1 + self.seen.fetch_add(1, Ordering::Relaxed);
        match number.checked_sub(self.from) {
            Some(after) if after < self.times => {
                self.hit();
                self.fault.begin(path)
            }
            _ => Instead::Nothing,
        }
    }

    fn hit(&self) {
        let Some(hit) = &self.hit else { return };
        // SAFETY: the path ends with a zero; the calls are the system's own, past this layer.
        unsafe {
            let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_CLOEXEC;
            let file = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, hit.as_ptr(), flags, 0o600);
            if file >= 0 {
                libc::syscall(libc::SYS_close, file);
            }
        }
    }
}

impl Fault {
    fn begin(self, path: &[u8]) -> Instead {
        match self {
            Self::Fail(number) => return Instead::Fail(number),
            Self::Part(part) => return Instead::Part(part),
            Self::Hang(time) => thread::sleep(time),
            Self::Vanish => resized(path, |_| None),
            Self::Shrink => resized(path, |it| Some(it / 2)),
            Self::Grow => resized(path, |it| Some(it + 10)),
        }
        Instead::Nothing
    }
}

/// Gives a file another size, or takes it away.
fn resized(path: &[u8], size: fn(u64) -> Option<u64>) {
    let name = Path::new(std::ffi::OsStr::from_bytes(path));
    let Ok(c_path) = CString::new(path) else { return };
    let Ok(found) = name.metadata() else { return };
    // SAFETY: the path ends with a zero.
    unsafe {
        match size(found.len()) {
            Some(size) => libc::truncate(c_path.as_ptr(), size as libc::off_t),
            None => libc::syscall(libc::SYS_unlinkat, libc::AT_FDCWD, c_path.as_ptr(), 0) as c_int,
        };
    }
}

fn call_named(name: &str) -> Option<Call> {
    Some(match name {
        "open" => Call::Open,
        "read" => Call::Read,
        "write" => Call::Write,
        "rename" => Call::Rename,
        "remove" => Call::Remove,
        "make" => Call::Make,
        "list" => Call::List,
        "stat" => Call::Stat,
        "sync" => Call::Sync,
        _ => return None,
    })
}

fn fault_named(name: &str) -> Option<Fault> {
    if let Some(milliseconds) = name.strip_prefix("hang:") {
        return Some(Fault::Hang(Duration::from_millis(milliseconds.parse().ok()?)));
    }
    Some(match name {
        "short" => Fault::Part(|_| 1),
        "half" => Fault::Part(|it| it / 2),
        "vanish" => Fault::Vanish,
        "shrink" => Fault::Shrink,
        "grow" => Fault::Grow,
        "EACCES" => Fault::Fail(libc::EACCES),
        "EINTR" => Fault::Fail(libc::EINTR),
        "EIO" => Fault::Fail(libc::EIO),
        "EMFILE" => Fault::Fail(libc::EMFILE),
        "ENOSPC" => Fault::Fail(libc::ENOSPC),
        "ESTALE" => Fault::Fail(libc::ESTALE),
        _ => return None,
    })
}
