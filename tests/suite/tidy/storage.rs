//! Files of the user's data are opened by a storage, and by nobody else: so that a new one, such as an object store,
//! serves every source and function.

use super::{code, root, rust_files};
use libtest_mimic::Failed;

/// The crates that data pass through. What the driver opens itself are programs, states, profiles and outputs.
const CRATES: [&str; 2] = ["runtime", "stdlib"];

/// What asks the file system.
const ASKS: [&str; 9] = [
    "fs::",
    "File::open",
    "File::options",
    "safe_file",
    "os::open(",
    ".is_file()",
    ".is_dir()",
    ".is_symlink()",
    ".exists()",
];

/// Where it is asked all the same, and why.
const EXCEPTIONS: [(&str, &str); 6] = [
    ("runtime/src/storage/local.rs", "it is the local file system"),
    ("runtime/src/storage.rs", "it names what the local file system lists"),
    (
        "runtime/src/os.rs",
        "it opens files for the local file system, and asks the system about the process",
    ),
    ("runtime/src/reads.rs", "it reads what the local file system has opened"),
    ("runtime/src/cache", "what it opens are its own files, which are no data of the user"),
    (
        "stdlib/src/records/index_store.rs",
        "what it opens are indices, which are no data of the user",
    ),
];

pub(super) fn alone() -> Result<(), Failed> {
    let root = root();
    let mut found = Vec::new();
    for name in CRATES {
        for (file, text) in code(&rust_files(&root.join(name).join("src"))) {
            let is_excepted = EXCEPTIONS.iter().any(|(it, _)| {
                file.starts_with(root.join(it)) || file == root.join(it).with_extension("rs")
            });
            let asks = |line: &&str| ASKS.iter().any(|it| line.contains(it));
            if let Some(line) = text.lines().find(asks).filter(|_| !is_excepted) {
                found.push(format!("{}: `{}`", file.display(), line.trim()));
            }
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    let why = "files of data are opened by `runtime::storage`; what is none is an exception, with its reason";
    Err(format!("{why}:\n{}", found.join("\n")).into())
}
