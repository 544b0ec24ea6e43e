//! What an entry of the library is, its own file says: nobody asks for it by name.

use super::{code, root, rust_files};
use libtest_mimic::Failed;
use std::collections::BTreeSet;

/// Texts that are the name of an entry, the files where they may be, and why.
const EXCEPTIONS: [(&str, &[&str], &str); 29] = [
    ("any", &["compiler/src/check/fit.rs"], "a word of signatures"),
    ("argmax", &["compiler/src/lints.rs"], "the lint is about calls of this function"),
    (
        "arrow",
        &[
            "driver/src/session/sink.rs",
            "driver/src/session/sink/data.rs",
            "driver/src/session/sink/data/arrow.rs",
            "driver/src/session/sink/other.rs",
        ],
        "a feature of the crate, and the name of a file",
    ),
    ("batch", &BATCH_IS_A_UNIT, "what is counted: `12 batches`"),
    ("csv", &["driver/src/session/sink/other.rs"], "what a file is called that `run` cannot write"),
    ("extern", &KEYWORDS, "a keyword"),
    (
        "hdf5",
        &["driver/src/session/sink/other.rs"],
        "what a file is called that `run` cannot write",
    ),
    (
        "jsonl",
        &[
            "driver/src/session/sink/data/jsonl.rs",
            "driver/src/session/sink/folder.rs",
            "driver/src/session/sink/folder/manifest.rs",
            "driver/src/session/sink/other.rs",
        ],
        "the name of a file",
    ),
    (
        "mds",
        &["driver/src/session/sink/data/mds.rs", "driver/src/session/sink/other.rs"],
        "the name of a file",
    ),
    ("count", &["driver/src/session/sink/data/tar.rs"], "the name of a member"),
    ("mean", &["compiler/src/lints.rs"], "the parameter of `normalize`"),
    ("normalize", &["compiler/src/lints.rs"], "the lint is about calls of this function"),
    (
        "npy",
        &[
            "driver/src/session/sink/data/tar.rs",
            "driver/src/session/sink/folder.rs",
            "driver/src/session/sink/folder/files.rs",
            "driver/src/session/sink/folder/manifest.rs",
            "driver/src/session/sink/other.rs",
        ],
        "what a file is called that `run` writes",
    ),
    ("npz", &["driver/src/session/sink/other.rs"], "what a file is called that `run` cannot write"),
    (
        "parquet",
        &[
            "driver/src/session/sink/data.rs",
            "driver/src/session/sink/data/parquet.rs",
            "driver/src/session/sink/other.rs",
        ],
        "the name of a file",
    ),
    (
        "tar",
        &["driver/src/session/sink/data/tar.rs", "driver/src/session/sink/other.rs"],
        "the name of a file",
    ),
    (
        "tfrecord",
        &["driver/src/session/sink/data/tfrecord.rs", "driver/src/session/sink/other.rs"],
        "the name of a file",
    ),
    ("pad", &["compiler/src/analysis/role.rs"], "a parameter of what does `Action::Batch`"),
    ("records", &RECORDS_ARE_A_UNIT, "what is counted: `12 records`"),
    ("repeat", &["compiler/src/analysis/role.rs"], "a word of the parameter `at_end`"),
    ("resize", &["compiler/src/lints.rs"], "the lint is about calls of this function"),
    ("shape", &["compiler/src/check/index.rs"], "`x.shape` is the language's own"),
    (
        "shape",
        &["driver/src/session/sink/arrow/arrays.rs"],
        "a field of Arrow's `variable_shape_tensor`",
    ),
    ("skip", &POLICIES, "`else skip` is the language's own"),
    ("skip", &["compiler/src/analysis/role.rs"], "a word of the parameter `missing`"),
    ("slice", &["compiler/src/ast/dump.rs"], "a node of the tree: `x[from:to]`"),
    ("tar", &["driver/src/session/sink/other.rs"], "what a file is called that `run` cannot write"),
    (
        "tfrecord",
        &["driver/src/session/sink/other.rs"],
        "what a file is called that `run` cannot write",
    ),
    ("zip", &["driver/src/session/sink/other.rs"], "what a file is called that `run` cannot write"),
];
const BATCH_IS_A_UNIT: [&str; 8] = [
    "compiler/src/explain.rs",
    "compiler/src/explain/drawing.rs",
    "compiler/src/explain/forecast.rs",
    "compiler/src/explain/html/roofline.rs",
    "compiler/src/explain/long.rs",
    "driver/src/session/run/uneven.rs",
    "driver/src/tools/tune.rs",
    "driver/src/tools/tune/choice.rs",
];
const RECORDS_ARE_A_UNIT: [&str; 5] = [
    "compiler/src/explain/drawing.rs",
    "compiler/src/explain/long.rs",
    "driver/src/session/run.rs",
    "driver/src/session/run/uneven.rs",
    "driver/src/tools/peek/text.rs",
];
const KEYWORDS: [&str; 3] =
    ["compiler/src/ast/dump.rs", "compiler/src/syntax/cures.rs", "compiler/src/syntax/pieces.rs"];
const POLICIES: [&str; 5] = [
    "compiler/src/ast/expr.rs",
    "compiler/src/check/fit.rs",
    "compiler/src/format/expr.rs",
    "compiler/src/syntax/highlight.rs",
    "compiler/src/syntax/lower/expr.rs",
];

/// Files that are about names: what the language itself calls, what people bring from elsewhere, and messages.
const ABOUT_NAMES: [&str; 5] = [
    "compiler/src/check/library.rs",
    "compiler/src/errors",
    "compiler/src/migration",
    "driver/src/session/errors.rs",
    "driver/src/tools/reference",
];

pub(super) fn unnamed() -> Result<(), Failed> {
    let library = stdlib::library();
    let all = [library.functions, library.operators, library.sources].concat();
    // What the plan has a node for is called as the node is.
    let all = all.into_iter().filter(|it| it.intrinsic.is_none());
    let names: BTreeSet<&str> = all.map(|it| it.name()).collect();
    let mut found = BTreeSet::new();
    let root = root();
    for folder in ["compiler/src", "driver/src"] {
        for (file, text) in code(&rust_files(&root.join(folder))) {
            let file = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
            if ABOUT_NAMES.iter().any(|it| file.starts_with(it)) {
                continue;
            }
            let texts = text.lines().flat_map(|it| it.split('"').skip(1).step_by(2));
            found.extend(texts.filter_map(|it| names.get(it)).map(|it| (file.clone(), *it)));
        }
    }
    let known: BTreeSet<(String, &str)> = EXCEPTIONS
        .iter()
        .flat_map(|(name, files, _)| files.iter().map(|it| ((*it).to_owned(), *name)))
        .collect();
    let shown = |all: &mut dyn Iterator<Item = &(String, &str)>| {
        all.map(|(file, name)| format!("`{name}` in {file}")).collect::<Vec<_>>().join("\n")
    };
    let (new, gone) = (shown(&mut found.difference(&known)), shown(&mut known.difference(&found)));
    match (new.is_empty(), gone.is_empty()) {
        (true, true) => Ok(()),
        (false, _) => {
            Err(format!("entries by name, not by what they say of themselves:\n{new}").into())
        }
        (true, false) => Err(format!("exceptions that are there no more:\n{gone}").into()),
    }
}
