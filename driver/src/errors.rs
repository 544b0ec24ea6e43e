//! What is said about the files of a program and the sets that it asks for.

use plan::{CodeInfo, Diagnostic, Span};

const NO_SUCH_FILE: CodeInfo = CodeInfo {
    id: "PC0201",
    name: "no-such-file",
    long: "`use` names a file by its path from the folder of the file that says so; and that file is not there.\n\n\
           Wrong, where `common.pipe` lies in the folder above:\n\n    use augment from \"common.pipe\"\n\n\
           Right:\n\n    use augment from \"../common.pipe\"\n",
};

const UNREADABLE_FILE: CodeInfo = CodeInfo {
    id: "PC0202",
    name: "unreadable-file",
    long: "The file that `use` names is there, and is no program: it is a folder, may not be read, has more than \
           1 MiB, or is no text in UTF-8.",
};

const USE_CYCLE: CodeInfo = CodeInfo {
    id: "PC0203",
    name: "use-cycle",
    long: "Files use each other in a circle, so that none of them can be read first. Move what both need into a \
           file of its own, and `use` it from both.",
};

const TOO_MANY_FILES: CodeInfo = CodeInfo {
    id: "PC0204",
    name: "too-many-files",
    long: "A program has at most 256 files, so that no program can exhaust the compiler.",
};

const SAMPLE_SET: CodeInfo = CodeInfo {
    id: "PC0205",
    name: "sample-set",
    long: "Where files are named, `sample:images` stands for a set of pictures that pipec makes itself, on first \
           use, in the user's cache folder. `count` says how many, `seed` which ones; both may be left out.\n\n\
           Wrong:\n\n    pipeline p = files(\"sample:images?size=100\")\n\n\
           Right:\n\n    pipeline p = files(\"sample:images?count=100&seed=1\")\n",
};

/// The codes of the driver's messages, by number.
pub(crate) static CODES: &[CodeInfo] =
    &[NO_SUCH_FILE, UNREADABLE_FILE, USE_CYCLE, TOO_MANY_FILES, SAMPLE_SET];

pub(crate) fn no_such_file(path: &str, help: String, at: Span) -> Diagnostic {
    Diagnostic::error(NO_SUCH_FILE.code(), at, format!("there is no file `{path}`")).help(help)
}

pub(crate) fn unreadable_file(path: &str, why: &str, at: Span) -> Diagnostic {
    let message = format!("`{path}` cannot be used: {why}");
    Diagnostic::error(UNREADABLE_FILE.code(), at, message)
}

pub(crate) fn use_cycle(path: &str, at: Span) -> Diagnostic {
    let message = format!("`{path}` is what uses this file, directly or through others");
    Diagnostic::error(USE_CYCLE.code(), at, message)
        .label("closes the circle")
        .help("move what both need into a file of its own, and `use` it from both")
}

pub(crate) fn too_many_files(most: usize, at: Span) -> Diagnostic {
    let message = format!("the program has more than {most} files");
    Diagnostic::error(TOO_MANY_FILES.code(), at, message).label("this is one too many")
}

pub(crate) fn sample_set(why: &str, at: Span) -> Diagnostic {
    Diagnostic::error(SAMPLE_SET.code(), at, why)
        .help("write `sample:images?count=1000&seed=0`; both settings may be left out")
}
