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
    folder.run_p(&["file"]).ends(3, &["`c` is not one of 3 classes; the nearest is `C`"]);
    folder.write("classes.txt", "a\n\nc\n");
    folder.run_p(&["file"]).ends(5, &["line 2 of `classes.txt` is empty", "p.pipe:5"]);
    fs::remove_file(folder.join("classes.txt")).unwrap();
    folder.run_p(&["file"]).ends(5, &["cannot read the classes in `classes.txt`", "p.pipe:5"]);
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

#[test]
fn pipelines_that_would_number_classes_differently_are_told_apart() {
    let folder = folder("differ");
    folder.write(
        "p.pipe",
        r#"edition 2026
param val = "val"
pipeline train = paths("train/*/*.txt") |> map { label: class_of(path) }
pipeline again = paths("train/*/*.txt") |> map { label: class_of(path, classes: ["a", "b", "c"]) }
pipeline own = paths("{val}/*/*.txt") |> map { label: class_of(path) }
pipeline flat = paths("train/a/*.txt") |> map { label: class_of(path) }
pipeline gone = paths("no/such/*/*.txt") |> map { label: class_of(path) }
"#,
    );
    let check = |more: &[&str]| {
        let args = [&["check", "p.pipe", "--output-format", "concise"], more].concat();
        folder.pipec(&args).out
    };
    let found = check(&[]);
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!(lines.len(), 4, "{found}");
    assert!(lines[0].contains("p.pipe:5:") && lines[0].contains("PC0410"), "{found}");
    assert!(lines[0].contains("label 1 is `b` in `train` and `c` in `own`"), "{found}");
    assert!(lines[1..3].iter().all(|it| it.contains("p.pipe:6:")), "{found}");
    assert!(
        found.contains("PC0409") && found.contains("all files are in one folder, `a`"),
        "{found}"
    );
    assert!(found.contains("`train` has 3 classes and `flat` has 1"), "{found}");

    // As it will be run: a parameter leads elsewhere.
    assert!(!check(&["--set", "val=train"]).contains("p.pipe:5:"));
    assert_eq!(check(&["--no-lints"]), "");
}

#[test]
fn classes_may_be_folders_further_out() {
    let folder = Folder::of("labels-outer", &[("a/images/1.txt", "x"), ("b/images/1.txt", "x")]);
    let write = |label: &str| {
        let steps = format!("map {{ label: {label} }} |> batch(2, tail: drop)");
        let text = format!("edition 2026\npipeline p = paths(\"*/images/*.txt\") |> {steps}\n");
        folder.write("p.pipe", &text);
    };
    write("class_of(path)");
    let found = folder.pipec(&["check", "p.pipe"]);
    let found: Vec<_> = found.err.split_whitespace().collect();
    let help = "for paths like `cat/images/1.jpg`, use `class_of(folder_of(path), classes: [";
    assert!(found.join(" ").contains(help), "{found:?}");
    write("class_of(folder_of(path), classes: [\"a\", \"b\"])");
    folder.run_p(&["--out", "out"]).ends(0, &[]);
    assert_eq!(folder.labels("out"), [0, 1]);
}

#[test]
fn a_run_and_a_look_tell_the_classes() {
    let folder = folder("told");
    let run = folder.run_p(&["listed", "--json"]);
    run.ends(0, &["label: 3 classes, `a`, `b`, `c`"]);
    let summary: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let expected = serde_json::json!([{ "field": "label", "count": 3, "first": ["a", "b", "c"] }]);
    assert_eq!(summary["classes"], expected);
    folder.run_p(&["own"]).ends(0, &["label: 2 classes, `a`, `c`"]);

    let peek = folder.pipec(&["peek", "p.pipe", "listed"]);
    assert!(peek.out.contains("label  0  (a)"), "{}", peek.out);
    assert!(
        peek.out.lines().any(|it| it.contains("label") && it.ends_with("(a, c)")),
        "{}",
        peek.out
    );

    fs::remove_dir_all(folder.join("val/c")).unwrap();
    folder.run_p(&["own"]).ends(0, &["label: 1 class, `a`: every label is 0"]);
}

#[test]
fn two_fields_that_are_one_value_are_both_named() {
    let folder = folder("twins");
    folder.write(
        "p.pipe",
        "edition 2026\npipeline p = paths(\"train/*/*.txt\") |> map { a: class_of(path), b: class_of(path) } |> batch(3)\n",
    );
    let told = ["a: 3 classes, `a`, `b`, `c`", "b: 3 classes, `a`, `b`, `c`"];
    folder.run_p(&[]).ends(0, &told);
}

#[test]
fn what_goes_to_no_rank_is_told() {
    let folder = Folder::of(
        "left-over",
        &[(
            "p.pipe",
            "edition 2026\npipeline p = range(60) |> batch(4)\npipeline each = range(8)\n",
        )],
    );
    let run = |more: &[&str]| folder.pipec(&[&["run", "p.pipe"], more].concat());
    let told = "each rank gets 7 batches per epoch; the last of 15 batches is dropped";
    run(&["p", "--world-size", "2", "--rank", "1", "--epochs", "2"]).ends(0, &["14 batches", told]);
    run(&["p", "--world-size", "4"])
        .ends(0, &["each rank gets 3 batches per epoch; the last 3 of 15 batches are dropped"]);
    // Records are shared as they come, to the last.
    for even in [&["p", "--world-size", "3"][..], &["p"], &["each", "--world-size", "3"]] {
        assert!(!run(even).err.contains("to none"), "{even:?}");
    }
    let explained = folder.pipec(&["explain", "p.pipe", "p", "-v"]).out;
    assert!(explained.contains("at the end of an epoch, they are dropped"), "{explained}");
    let short = |name: &str| folder.pipec(&["explain", "p.pipe", name]).out;
    let told = "`--world-size 2`: each rank gets 7 of the 15 batches of an epoch, 1 is dropped";
    assert!(short("p").contains(told), "{}", short("p"));
    assert!(!short("each").contains("--world-size 2"), "{}", short("each"));
}

#[test]
fn a_state_of_another_mapping_is_refused() {
    let folder = folder("state");
    let until = |limit: &str, pipeline: &str, state: &str| {
        folder.run_p(&[pipeline, "--epochs", "3", "--limit", limit, "--checkpoint", state])
    };
    for pipeline in ["listed", "file", "other", "own"] {
        until("1", pipeline, &format!("{pipeline}.json")).ends(0, &[]);
        until("2", pipeline, &format!("{pipeline}.json")).ends(0, &["resumed after 1 batch"]);
    }
    let run = |pipeline: &str, state: &str| until("3", pipeline, state);
    folder.write("classes.txt", "c\nb\na\n");
    let others = "the classes of its labels have changed: there";
    run("file", "file.json")
        .ends(4, &[others, "but with other names or in another order: `c`, `b`, `a`"]);
    let program = PROGRAM.replace(r#""b", "c"]"#, r#""b", "c", "d"]"#);
    folder.write("p.pipe", &program);
    run("listed", "listed.json").ends(4, &[others, "now there are 4: `a`, `b`, `c`, `d`"]);
    folder.write("train/d/1.txt", "x");
    run("other", "other.json").ends(4, &[others, "now there are 4"]);
    folder.write("val/b/1.txt", "x");
    run("own", "own.json").ends(4, &["there were 2, now there are 3: `a`, `b`, `c`"]);
}

#[test]
fn a_state_stays_small_whatever_the_classes() {
    let folder = folder("small");
    let names: Vec<String> =
        (0..3_000).map(|it| format!("a_class_with_a_long_name_{it}")).collect();
    folder.write("classes.txt", &format!("a\nc\n{}\n", names.join("\n")));
    folder.run_p(&["file", "--checkpoint", "s.json"]).ends(0, &["3,002 classes"]);
    let state = folder.read("s.json");
    assert!(state.len() < 1024 && state.contains("\"classes\":\"3002 "), "{state}");
}

#[test]
fn labels_that_differ_are_told_before_a_run_and_underlined_where_they_are_made() {
    let folder = folder("told-before");
    folder.write(
        "p.pipe",
        r#"edition 2026
pipeline train = paths("train/*/*.txt") |> map { path, label: class_of(path) }
pipeline own = paths("val/*/*.txt") |> map { path, label: class_of(path) }
"#,
    );
    folder.write(
        "eval.pipe",
        r#"edition 2026
use train from "p.pipe"
pipeline eval = paths("val/*/*.txt") |> map { label: path |> class_of }
"#,
    );
    let told = "label 1 is `b` in `train` and `c` in `own`";
    for args in [["run", "own"], ["run", "train"], ["explain", "own"], ["peek", "train"]] {
        folder.pipec(&[args[0], "p.pipe", args[1]]).ends(0, &["PC0410", told]);
    }
    folder.pipec(&["build", "p.pipe", "own", "-o", "own"]).ends(0, &["PC0410", told]);

    // Across files: in the one that is asked for, and at the call alone.
    let told =
        "labels differ from those of `train` of `p.pipe`: label 1 is `b` in `train` and `c` in";
    folder.pipec(&["run", "eval.pipe", "eval"]).ends(0, &["PC0410", told]);
    let found = folder.pipec(&["check", "eval.pipe", "--output-format", "json"]).out;
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    let found = &found.as_array().unwrap()[0];
    let place = |of: &serde_json::Value| of["column"].as_u64().unwrap() as usize;
    let (start, end) = (place(found) - 1, place(&found["end"]) - 1);
    let line = folder.read("eval.pipe").lines().nth(2).unwrap().to_owned();
    assert_eq!((&line[start..end], &found["code"]), ("class_of", &"PC0410".into()), "{found}");
    let same = folder.read("eval.pipe").replace("val/", "train/");
    folder.write("eval.pipe", &same);
    let run = folder.pipec(&["run", "eval.pipe", "eval"]);
    assert!(!run.err.contains("PC0410"), "{}", run.err);
}

#[test]
fn files_beside_class_folders_are_told() {
    let folder = folder("loose");
    folder.write(
        "p.pipe",
        "edition 2026\npipeline p = paths(\"train/**/*\") |> map { label: class_of(path) }\n",
    );
    let check = |named: &str| folder.pipec(&[named, "p.pipe"]);
    assert!(!check("check").err.contains("PC0412"));
    folder.write("train/README.txt", "x");
    let told = "1 file is next to the class folders and becomes a class of its own, `train`:";
    let cure = "match only the files in class folders: `train/*/*`";
    for command in ["check", "run", "scan", "explain"] {
        check(command).ends(0, &["PC0412 loose-files", told, cure]);
    }
    folder.write("train/x.txt", "x");
    folder.write("train/d/deep/1.txt", "x");
    check("run").ends(0, &["2 files are next to the class folders", "`train/**/*/*`"]);
    let cured = folder.read("p.pipe").replace("**/*", "**/*/*");
    folder.write("p.pipe", &cured);
    assert!(!check("run").err.contains("PC0412"));
}
