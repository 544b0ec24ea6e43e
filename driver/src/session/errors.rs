//! What is said about the files of a program and the sets that it asks for.

use crate::session::constants::ConstantFailure;
use compiler::ast::Extern;
use plan::{CodeInfo, Diagnostic, Span, count};
use stdlib::{Loose, listing::ListError};

const NO_SUCH_FILE: CodeInfo = CodeInfo {
    id: "PC0201",
    name: "no-such-file",
    long: "The path in `use` is relative to the folder of the file that contains it, and there is \
           no file at that path.\n\n\
           Wrong, where `common.pipe` is in the parent folder:\n\n\
               use augment from \"common.pipe\"\n\n\
           Right:\n\n\
               use augment from \"../common.pipe\"\n",
};

const UNREADABLE_FILE: CodeInfo = CodeInfo {
    id: "PC0202",
    name: "unreadable-file",
    long: "The file that `use` names exists, but is not a program: it is a folder, is not \
           readable, has more than 1 MiB, or is not UTF-8 text.",
};

const USE_CYCLE: CodeInfo = CodeInfo {
    id: "PC0203",
    name: "use-cycle",
    long: "Files import each other in a cycle. Move what both need into a separate file, and \
           `use` it from both.",
};

const TOO_MANY_FILES: CodeInfo = CodeInfo {
    id: "PC0204",
    name: "too-many-files",
    long: "A program has at most 256 files, so that no program can exhaust the compiler.",
};

const SAMPLE_SET: CodeInfo = CodeInfo {
    id: "PC0205",
    name: "sample-set",
    long: "In a file pattern, `sample:images` stands for a set of sample images that pipec \
           generates on first use, in the user's cache folder. `count` is the number of images, \
           `seed` selects them; both are optional. `sample:shards` are images in WebDataset shards, with captions in Parquet \
           files beside them; `sample:boxes/images` are images, with their boxes in `sample:boxes/annotations.json`; `sample:detection` are images with boxes, labels and class maps \
           in the forms of COCO, YOLO and Pascal VOC; `sample:tables` are taxi rides \
           in Parquet files, with the hourly load of meters in `sample:tables/load.parquet`; `sample:text` are documents in JSON Lines, with code, books, \
           HTML pages and pairs of sentences in folders beside them (`sample:text/books/*.parquet`); `sample:chats` are chats in JSON Lines files, with a \
           tokenizer in `sample:chats/tokenizer.json`.\n\n\
           Wrong:\n\n\
               pipeline p = files(\"sample:images?size=100\")\n\n\
           Right:\n\n\
               pipeline p = files(\"sample:images?count=100&seed=1\")\n",
};

const BUILD_NEEDS_PYTHON: CodeInfo = CodeInfo {
    id: "PC0206",
    name: "build-needs-python",
    long: "A built executable contains the program, but no Python, so it can neither call the \
           functions that `extern fn` declares nor read the sources that `extern pipeline` \
           declares. A pipeline that uses one cannot be built.\n\n\
           Run the pipeline with the Python package (`pipec.load(\"train.pipe\")`). Or write the \
           function in the language and remove the `extern fn`; or write the records to files and \
           read these: `pipe.arrow()` gives them to `pyarrow.parquet`. Other pipelines of the same \
           file that do not use it can be built.",
};

const ONE_CLASS: CodeInfo = CodeInfo {
    id: "PC0409",
    name: "one-class",
    long: "`class_of` numbers the folders that contain the files of a source. All of these files \
           are in one folder, so every label is 0, and a model learns nothing from it.\n\n\
           Put the files of each class into a separate folder (`data/cat/1.jpg`, \
           `data/dog/1.jpg`) and match them with `data/**/*.jpg`. Where the classes are folders \
           further up, as in `cat/images/1.jpg`, use the folder of the folder and list the names: \
           `class_of(folder_of(path), classes: [\"cat\", \"dog\"])`. Or get the label from \
           elsewhere, such as a column of a CSV file, and number it with `index_of`.",
};

const CLASSES_DIFFER: CodeInfo = CodeInfo {
    id: "PC0410",
    name: "classes-differ",
    long: "`class_of` numbers the folders of its own source. Two pipelines of this file have \
           different folders, so the same label means different classes: where validation lacks \
           the folder `class_3`, its labels from 3 on are shifted by one.\n\n\
           Define the classes once: `class_of(path, classes: train_images)`, where `train_images` \
           is the pipeline of files that has them all; a `const` with the list of their names; or \
           a file with one name per line, `classes: \"classes.txt\"`.",
};

const LOOSE_FILES: CodeInfo = CodeInfo {
    id: "PC0412",
    name: "loose-files",
    long: "`class_of` numbers the folders that contain the files of a source. Here most files are \
           in subfolders, and some directly in the parent folder, such as `data/README.txt` next \
           to `data/cat/1.jpg`: these become a class of their own, named after the parent \
           folder.\n\n\
           Match only the files in class folders, with `data/*/*.jpg`, or `data/**/*/*.jpg` for \
           folders at any depth; or move the other files elsewhere.",
};

const NO_FILES: CodeInfo = CodeInfo {
    id: "PC0413",
    name: "no-files",
    long: "A pattern of the program matches no file, so a run would fail at once. The message \
           names the folder that was searched and what it contains. Patterns are relative to the \
           current folder of `pipec`.\n\n\
           If the files are only on another machine, use `--no-lints`, or make the pattern a \
           `param` and check with `--set`.",
};

/// Files that lie beside class folders.
pub(crate) fn loose_files(it: &Loose, at: Span) -> Diagnostic {
    let Loose { class, files, example, pattern } = it;
    let message = match files {
        1 => format!(
            "1 file is next to the class folders and becomes a class of its own, `{class}`: \
             `{example}`"
        ),
        n => format!(
            "{} files are next to the class folders and become a class of their own, `{class}`, \
             such as `{example}`",
            count(*n as u64)
        ),
    };
    let help = match pattern {
        Some(pattern) => format!("match only the files in class folders: `{pattern}`"),
        None => {
            "match only the files in class folders (`data/*/*.jpg`), or move the others elsewhere"
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
    let message = format!("every label is 0: all files are in one folder, `{name}`");
    Diagnostic::warning(ONE_CLASS.code(), at, message).help(
        "put the files of each class into a separate folder, or number labels from elsewhere with \
         `index_of`; for paths like `cat/images/1.jpg`, use `class_of(folder_of(path), classes: \
         [\"cat\", \"dog\"])`",
    )
}

pub(crate) fn classes_differ(difference: &str, first: &str, at: Span) -> Diagnostic {
    let message = format!("labels differ from those of {first}: {difference}");
    Diagnostic::warning(CLASSES_DIFFER.code(), at, message)
        .help("give both the same `classes:`, such as the pipeline of files that has them all")
}

const OUTSIDE_PROJECT: CodeInfo = CodeInfo {
    id: "PC0207",
    name: "outside-project",
    long: "A program can use only files of its own project: those below the nearest parent folder \
           that contains `.git`, `.hg`, `.jj` or `pyproject.toml`, or, without such a folder, \
           those below its own folder. Messages show lines of the files that are used, so an \
           untrusted program could otherwise make `check` print files that its author cannot \
           read. A link that leads out of the project is outside of it, too.\n\n\
           Copy the file into the project, or allow it with `--allow-outside`.",
};

const NO_PROGRAM: CodeInfo = CodeInfo {
    id: "PC0208",
    name: "no-program",
    long: "The file that `use` names cannot be parsed as a program. Its lines are not shown, \
           since it may be any file. If it is meant to be a program, make `edition 2026` its \
           first line to see its errors.",
};

/// Of a pipeline that is used by a process which is not the one that has begun it.
pub const USED_AFTER_FORK: CodeInfo = CodeInfo {
    id: "PC0701",
    name: "used-after-fork",
    long: "A running pipeline has threads, and `fork` does not copy them: in the child process no \
           batch would ever arrive. So a pipeline that is already running is rejected there.\n\n\
           Load the pipeline in the child, or start iterating only there: a pipeline that was \
           loaded but not iterated can be forked. With PyTorch no worker processes are needed, \
           since the pipeline has its own threads: use `pipe.torch()` as the loader, or \
           `DataLoader(…, num_workers=0)`. If you need worker processes, start them with \
           `multiprocessing_context=\"spawn\"`.",
};

/// Of an iterator after which another one of the same pipeline was begun.
pub const ITERATOR_OVERTAKEN: CodeInfo = CodeInfo {
    id: "PC0702",
    name: "iterator-overtaken",
    long: "A pipeline is one stream, and each `iter(pipe)` starts its next epoch. Earlier \
           iterators end then: two loops over the same pipeline would take each other's batches. \
           Load the pipeline twice to run two loops.",
};

/// Of a pipeline whose batches nobody can count before they have come.
pub const LENGTH_UNKNOWN: CodeInfo = CodeInfo {
    id: "PC0703",
    name: "length-unknown",
    long: "`len` of a pipeline is known only if it follows from the number of files or records. \
           With a filter, skipped records or a split, or if the stream is endless, the number is \
           not known before the pipeline is read. Count steps instead, or set the number with \
           `take`.",
};

/// Of something that was asked for and cannot be done as it was said.
pub const WRONG_ARGUMENT: CodeInfo = CodeInfo {
    id: "PC0704",
    name: "wrong-argument",
    long: "An argument of a Python call has an invalid value: the message names the argument and \
           the valid values.",
};

/// Of a pipeline whose batches other processes make.
const STATE_IN_WORKERS: CodeInfo = CodeInfo {
    id: "PC0705",
    name: "state-in-workers",
    long: "The worker processes of a PyTorch `DataLoader` compute batches ahead of the loop that \
           consumes them. The process with the loop cannot see which batch was consumed last, so \
           a checkpoint that it saved would lose or repeat batches.\n\n\
           Without worker processes, the pipeline knows its exact position: use `pipe.torch()` as \
           the loader, or `DataLoader(pipe.torch(), batch_size=None)`. With them, the \
           `StatefulDataLoader` of torchdata saves a state for each. At the end of an epoch \
           `pipe.epoch` is the whole state, and `pipe.set_epoch` restores it.",
};

/// Of a field that a batch does not have.
const NO_SUCH_FIELD: CodeInfo = CodeInfo {
    id: "PC0706",
    name: "no-such-field",
    long: "A batch in Python is a dict with the fields of the output records, and none has this \
           name. The message lists the fields; `pipe.schema` has their types. The exception is a \
           `KeyError`.",
};

/// Of a constant whose stream could not be run to its end.
const CONSTANT_FAILED: CodeInfo = CodeInfo {
    id: "PC0209",
    name: "constant-failed",
    long: "The stream of a constant is run before the program is compiled, and this run has failed: a file \
           cannot be read, a record has failed without an `else`, or the result is not defined, such as the \
           mean of no records.",
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
    CONSTANT_FAILED,
    USED_AFTER_FORK,
    ITERATOR_OVERTAKEN,
    LENGTH_UNKNOWN,
    WRONG_ARGUMENT,
    STATE_IN_WORKERS,
    NO_SUCH_FIELD,
];

pub(crate) fn no_such_file(path: &str, help: String, at: Span) -> Diagnostic {
    Diagnostic::error(NO_SUCH_FILE.code(), at, format!("cannot find the file `{path}`")).help(help)
}

pub(crate) fn unreadable_file(path: &str, why: &str, at: Span) -> Diagnostic {
    let message = format!("cannot use `{path}`: {why}");
    Diagnostic::error(UNREADABLE_FILE.code(), at, message)
}

pub(crate) fn outside_project(path: &str, at: Span) -> Diagnostic {
    let message = format!("`{path}` is outside of the project");
    Diagnostic::error(OUTSIDE_PROJECT.code(), at, message)
        .help("copy it into the project, or add `--allow-outside`")
}

/// What is wrong where the message would show what files outside of the project have.
pub(crate) fn unshown(code: plan::DiagnosticCode, at: Span) -> Diagnostic {
    let message = "the columns of a file outside of the project do not fit, and are not shown";
    Diagnostic::error(code, at, message).help("add `--allow-outside` to see them")
}

pub(crate) fn no_program(path: &str, at: Span) -> Diagnostic {
    let message = format!("`{path}` is not a program");
    Diagnostic::error(NO_PROGRAM.code(), at, message)
        .help("if it should be one, make `edition 2026` its first line to see its errors")
}

pub(crate) fn use_cycle(path: &str, at: Span) -> Diagnostic {
    let message = format!("`{path}` uses this file, directly or through others");
    Diagnostic::error(USE_CYCLE.code(), at, message)
        .label("closes the cycle")
        .help("move what both need into a separate file, and `use` it from both")
}

pub(crate) fn too_many_files(most: usize, at: Span) -> Diagnostic {
    let message = format!("the program has more than {most} files");
    Diagnostic::error(TOO_MANY_FILES.code(), at, message).label("this is one too many")
}

pub(crate) fn sample_set(why: &str, at: Span) -> Diagnostic {
    Diagnostic::error(SAMPLE_SET.code(), at, why)
        .help("write `sample:images?count=1000&seed=0`; both settings are optional")
}

pub(crate) fn build_needs_python(of: &Extern, at: Span) -> Diagnostic {
    let (name, target) = (&of.signature.name.text, &of.target.value);
    let what = if of.is_pipeline { "is read in Python" } else { "is a Python function" };
    let message = format!("`{name}` {what} (`{target}`), but a built executable has no Python");
    Diagnostic::error(BUILD_NEEDS_PYTHON.code(), at, message)
        .help("run the pipeline with the Python package: `pipec.load(…)`")
}

impl ConstantFailure {
    /// As a message about the program.
    pub fn diagnostic(&self) -> Diagnostic {
        let Self { name, at, failure } = self;
        let message = format!("cannot compute the constant `{name}`: {failure}");
        Diagnostic::error(CONSTANT_FAILED.code(), *at, message)
    }
}
