//! Labels: which number a class has, and that nothing changes it unseen.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Folder, Printed};
use std::fs;

const PROGRAM: &str = r#"edition 2026
const CLASSES = ["a", "b", "c"]
pipeline images = paths("train/*/*.txt")
pipeline listed = paths("val/*/*.txt") |> map { label: class_of(path, classes: CLASSES) } |> batch(2)
pipeline file = paths("val/*/*.txt") |> map { label: class_of(path, classes: "classes.txt") } |> batch(2)
pipeline other = paths("val/*/*.txt") |> map { label: class_of(path, classes: images) } |> batch(2)
pipeline own = paths("val/*/*.txt") |> map { label: class_of(path) } |> batch(2)
"#;

/// Training has three classes, validation lacks the second one.
fn folder(name: &str) -> Folder {
    let folder =
        Folder::of(&format!("labels-{name}"), &[("p.pipe", PROGRAM), ("classes.txt", "a\nb\nc\n")]);
    for file in ["train/a/1.txt", "train/b/1.txt", "train/c/1.txt", "val/a/1.txt", "val/c/1.txt"] {
        folder.write(file, "x");
    }
    folder
}

impl Folder {
    fn run_p(&self, more: &[&str]) -> Printed {
        self.pipec(&[&["run", "p.pipe"], more].concat())
    }

    /// The labels of the one batch that was written to a folder.
    fn labels(&self, out: &str) -> [i64; 2] {
        let (_, bytes) = self.files(out).into_iter().find(|it| it.0.contains("label")).unwrap();
        let numbers = bytes[bytes.len() - 16..].chunks(8);
        let numbers: Vec<_> =
            numbers.map(|it| i64::from_le_bytes(it.try_into().unwrap())).collect();
        [numbers[0], numbers[1]]
    }
}

#[test]
fn validation_that_lacks_a_class_keeps_the_numbers_of_training() {
    let folder = folder("shift");
    for (pipeline, labels) in
        [("listed", [0, 2]), ("file", [0, 2]), ("other", [0, 2]), ("own", [0, 1])]
    {
        folder.run_p(&[pipeline, "--out", pipeline]).ends(0, &[]);
        assert_eq!(folder.labels(pipeline), labels, "{pipeline}");
    }
}

#[test]
fn an_unknown_class_is_named_with_the_nearest() {
    let folder = folder("unknown");
    folder.write("classes.txt", "a\nb\nC\n");
    folder.run_p(&["file"]).ends(3, &["`c` is none of 3 classes; the nearest is `C`"]);
    folder.write("classes.txt", "a\n\nc\n");
    folder.run_p(&["file"]).ends(5, &["line 2 of `classes.txt` is empty", "p.pipe:5"]);
    fs::remove_file(folder.join("classes.txt")).unwrap();
    folder.run_p(&["file"]).ends(5, &["`classes.txt` cannot be read", "p.pipe:5"]);
    let cure = "this stream has no files";
    folder.write("p.pipe", &PROGRAM.replace("classes: images", "classes: range(3)"));
    folder.run_p(&["other"]).ends(5, &[cure]);
}

#[test]
fn a_built_file_carries_the_classes() {
    let folder = folder("built");
    for pipeline in ["file", "other"] {
        folder.pipec(&["build", "p.pipe", pipeline, "-o", pipeline]).ends(0, &[]);
    }
    fs::remove_file(folder.join("classes.txt")).unwrap();
    fs::remove_dir_all(folder.join("train")).unwrap();
    for pipeline in ["file", "other"] {
        let mut command = folder.command_of(&folder.join(pipeline), &["run", "--out", "out"]);
        Printed::of(&command.output().unwrap()).ends(0, &[]);
        assert_eq!(folder.labels("out"), [0, 2], "{pipeline}");
        fs::remove_dir_all(folder.join("out")).unwrap();
    }
}
