//! What is said about the files of a program and the sets that it asks for.

use plan::{CodeInfo, Diagnostic, Span, count};
use stdlib::{Loose, listing::ListError};

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

const BUILD_NEEDS_PYTHON: CodeInfo = CodeInfo {
    id: "PC0206",
    name: "build-needs-python",
    long: "A built file carries a program, and no Python: a function that `extern fn` declares is one of Python, which \
           nobody could call there. So a pipeline that calls one cannot be built.\n\n\
           Run the pipeline with the Python package (`pipec.load(\"train.pipe\")`), or write \
           what the function does in the language and leave the `extern fn` out. Other pipelines of the same file, \
           which do not call it, can be built.",
};

const ONE_CLASS: CodeInfo = CodeInfo {
    id: "PC0409",
    name: "one-class",
    long: "`class_of` numbers the folders that the files of a source lie in. All of these lie in one folder, so every \
           label is 0, and a model learns nothing from it.\n\n\
           Put the files of each class into a folder of its own (`data/cat/1.jpg`, `data/dog/1.jpg`) and name them by \
           `data/**/*.jpg`. Where the classes are folders further out, as in `cat/images/1.jpg`, take the folder of the \
           folder and say its names: `class_of(folder_of(path), classes: [\"cat\", \"dog\"])`. Or take the label from \
           elsewhere, as a column of a CSV, and number it with `index_of`.",
};

const CLASSES_DIFFER: CodeInfo = CodeInfo {
    id: "PC0410",
    name: "classes-differ",
    long: "`class_of` numbers the folders of its own source. Two pipelines of this file have other folders, so that a \
           number means one class here and another there: where validation lacks the folder `class_3`, its numbers \
           from 3 on are those of the classes behind.\n\n\
           Say the classes once for all: `class_of(path, classes: train_images)`, where `train_images` is the \
           pipeline of files that has them all; a `const` with the list of their names; or a file with one name on \
           each line, `classes: \"classes.txt\"`.",
};

const LOOSE_FILES: CodeInfo = CodeInfo {
    id: "PC0412",
    name: "loose-files",
    long: "`class_of` numbers the folders that the files of a source lie in. Here most files lie in folders below another \
           one, and some directly in that one, such as `data/README.txt` beside `data/cat/1.jpg`: they make a class of \
           their own, with the name of the outer folder.\n\n\
           Name only what lies in class folders, as `data/*/*.jpg` or `data/**/*/*.jpg` for folders at any depth; or \
           move the others elsewhere.",
};

const NO_FILES: CodeInfo = CodeInfo {
    id: "PC0413",
    name: "no-files",
    long: "A pattern of the program stands for no file: a run would end before it begins. The message says which folder \
           was looked into and what is there. Patterns are read from the folder in which `pipec` is called.\n\n\
           Where the files are on another machine alone, say so with `--no-lints`, or name them by a `param` and check \
           with `--set`.",
};

/// Files that lie beside class folders.
pub(crate) fn loose_files(it: &Loose, at: Span) -> Diagnostic {
    let Loose { class, files, example, pattern } = it;
    let message = match files {
        1 => format!(
            "1 file lies beside the class folders and makes a class of its own, `{class}`: `{example}`"
        ),
        n => format!(
            "{} files lie beside the class folders and make a class of their own, `{class}`, such as `{example}`",
            count(*n as u64)
        ),
    };
    let help = match pattern {
        Some(pattern) => format!("name only the files in class folders: `{pattern}`"),
        None => {
            "name only the files in class folders (`data/*/*.jpg`), or move the others elsewhere"
                .to_owned()
        }
    };
    Diagnostic::warning(LOOSE_FILES.code(), at, message).help(help)
}

/// A pattern that stands for no file.
pub(crate) fn no_files(it: &ListError, at: Span) -> Diagnostic {
    Diagnostic::warning(NO_FILES.code(), at, it.message.clone()).help(it.help.clone())
}

pub(crate) fn one_class(name: &str, at: Span) -> Diagnostic {
    let message = format!("every label is 0: all files lie in one folder, `{name}`");
    Diagnostic::warning(ONE_CLASS.code(), at, message).help(
        "put the files of each class into a folder of its own, or number labels from elsewhere with `index_of`; of \
         `cat/images/1.jpg`, the class is `class_of(folder_of(path), classes: [\"cat\", \"dog\"])`",
    )
}

pub(crate) fn classes_differ(difference: &str, first: &str, at: Span) -> Diagnostic {
    let message = format!("classes have other numbers than in {first}: {difference}");
    Diagnostic::warning(CLASSES_DIFFER.code(), at, message)
        .help("give both the same `classes:`, such as the pipeline of files that has them all")
}

const OUTSIDE_PROJECT: CodeInfo = CodeInfo {
    id: "PC0207",
    name: "outside-project",
    long: "A program uses the files of its own project: those below the nearest folder above it that holds `.git`, \
           `.hg`, `.jj` or `pyproject.toml`; without such a folder, those below its own. Messages show lines of the \
           files that are used, so a program from elsewhere could otherwise have `check` print what its author may \
           not read. A link that leads out of the project is outside of it, too.\n\n\
           Copy the file into the project, or allow it with `--allow-outside`.",
};

const NO_PROGRAM: CodeInfo = CodeInfo {
    id: "PC0208",
    name: "no-program",
    long: "The file that `use` names cannot be read as a program. Its lines are not shown, since it may be anything. \
           Where it is meant to be a program, let its first line be `edition 2026`: then its mistakes are shown.",
};

/// Of a pipeline that is used by a process which is not the one that has begun it.
pub const USED_AFTER_FORK: CodeInfo = CodeInfo {
    id: "PC0701",
    name: "used-after-fork",
    long: "A running pipeline has threads, and `fork` copies none of them: in the child nobody would ever hand out \
           a batch. So a pipeline that has begun to run is refused there at once.\n\n\
           Load the pipeline in the child, or begin to iterate only there: a pipeline that was loaded and not yet \
           iterated may be forked. With PyTorch no worker processes are needed, since the pipeline has threads of \
           its own: take `pipe.torch()` as the loader, or `DataLoader(…, num_workers=0)`. Where worker processes \
           must be, `multiprocessing_context=\"spawn\"` starts them afresh.",
};

/// Of an iterator after which another one of the same pipeline was begun.
pub const ITERATOR_OVERTAKEN: CodeInfo = CodeInfo {
    id: "PC0702",
    name: "iterator-overtaken",
    long: "A pipeline is one stream, and each `iter(pipe)` begins its next epoch. An iterator from before then has \
           nothing more to give: two loops over the same pipeline would take each other's batches. Load the \
           pipeline twice where two loops are meant.",
};

/// Of a pipeline whose batches nobody can count before they have come.
pub const LENGTH_UNKNOWN: CodeInfo = CodeInfo {
    id: "PC0703",
    name: "length-unknown",
    long: "`len` of a pipeline is told where it follows from the number of files or records alone. Where a filter, \
           a record that is skipped or a split decides, or the stream is endless, only reading tells. Count steps \
           instead, or let `take` say how many there are.",
};

/// Of something that was asked for and cannot be done as it was said.
pub const WRONG_ARGUMENT: CodeInfo = CodeInfo {
    id: "PC0704",
    name: "wrong-argument",
    long: "An argument of a call in Python cannot have this value: the message says which, and what it can have.",
};

/// Of a pipeline whose batches other processes make.
const STATE_IN_WORKERS: CodeInfo = CodeInfo {
    id: "PC0705",
    name: "state-in-workers",
    long: "The worker processes of a PyTorch `DataLoader` make batches ahead of the loop that takes them, each its \
           own. The process with the loop cannot see which batch was taken last, so a state that it saved would lose \
           batches or repeat some.\n\n\
           Without worker processes the pipeline knows to the batch where it stands: take `pipe.torch()` as the \
           loader, or `DataLoader(pipe.torch(), batch_size=None)`. With them, the `StatefulDataLoader` of torchdata \
           saves a state for each. At the end of an epoch `pipe.epoch` says all there is to know, and \
           `pipe.set_epoch` goes there.",
};

/// Of a field that a batch does not have.
const NO_SUCH_FIELD: CodeInfo = CodeInfo {
    id: "PC0706",
    name: "no-such-field",
    long: "A batch in Python is a dict with the fields of the record that leaves the pipeline, and none has this name. \
           The message says which there are; `pipe.schema` tells their types. The exception is a `KeyError`.",
};

/// The codes of the driver's messages, by number.
pub(crate) static CODES: &[CodeInfo] = &[
    NO_SUCH_FILE,
    UNREADABLE_FILE,
    USE_CYCLE,
    TOO_MANY_FILES,
    SAMPLE_SET,
    BUILD_NEEDS_PYTHON,
    ONE_CLASS,
    CLASSES_DIFFER,
    LOOSE_FILES,
    NO_FILES,
    OUTSIDE_PROJECT,
    NO_PROGRAM,
    USED_AFTER_FORK,
    ITERATOR_OVERTAKEN,
    LENGTH_UNKNOWN,
    WRONG_ARGUMENT,
    STATE_IN_WORKERS,
    NO_SUCH_FIELD,
];

pub(crate) fn no_such_file(path: &str, help: String, at: Span) -> Diagnostic {
    Diagnostic::error(NO_SUCH_FILE.code(), at, format!("there is no file `{path}`")).help(help)
}

pub(crate) fn unreadable_file(path: &str, why: &str, at: Span) -> Diagnostic {
    let message = format!("`{path}` cannot be used: {why}");
    Diagnostic::error(UNREADABLE_FILE.code(), at, message)
}

pub(crate) fn outside_project(path: &str, at: Span) -> Diagnostic {
    let message = format!("`{path}` is outside of the project");
    Diagnostic::error(OUTSIDE_PROJECT.code(), at, message)
        .help("copy it into the project, or add `--allow-outside`")
}

pub(crate) fn no_program(path: &str, at: Span) -> Diagnostic {
    let message = format!("`{path}` is not a program");
    Diagnostic::error(NO_PROGRAM.code(), at, message)
        .help("if it should be one, begin it with `edition 2026` to see what is wrong with it")
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

pub(crate) fn build_needs_python(name: &str, target: &str, at: Span) -> Diagnostic {
    let message =
        format!("`{name}` is a Python function (`{target}`), and a built executable has no Python");
    Diagnostic::error(BUILD_NEEDS_PYTHON.code(), at, message)
        .help("run the pipeline with the Python package: `pipec.load(…)`")
}
