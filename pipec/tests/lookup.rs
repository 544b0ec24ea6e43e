//! Files that an argument of a program names, as `lookup` does: what they hold is part of the program.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Folder, Printed};
use std::fs;

const MAIN: &str = "\
edition 2026

param words: path = \"words.txt\"

pipeline ids =
    lines(\"text.txt\")
    |> map { id: lookup(text, words, unknown: -1), last: lookup(\"bird\", \"{words}\") }
";

impl Folder {
    /// One with the program, its table and some texts.
    fn with_words(name: &str) -> Self {
        let text = "cat\ndog\nfish\nbird\n".repeat(25);
        Self::of(
            &format!("lookup-{name}"),
            &[("ids.pipe", MAIN), ("words.txt", "dog\ncat\nbird\n"), ("text.txt", &text)],
        )
    }

    /// The ids that a run has written.
    fn ids(&self, out: &str) -> Vec<String> {
        let files = self.files(out);
        let rows = files.iter().filter(|it| it.0.starts_with("0000"));
        let rows: String = rows.map(|it| String::from_utf8_lossy(it.1)).collect();
        rows.lines().map(str::to_owned).collect()
    }
}

const RUN: [&str; 5] = ["run", "ids.pipe", "--format", "jsonl", "--out"];

#[test]
fn a_built_file_contains_the_table() {
    let folder = Folder::with_words("built");
    folder.pipec(&[&RUN[..], &["a"]].concat()).ends(0, &[]);
    assert_eq!(folder.ids("a")[0], "{\"id\":1,\"last\":2}");
    folder.pipec(&["build", "ids.pipe"]).ends(0, &["built `ids`"]);
    fs::remove_file(folder.join("words.txt")).unwrap();
    fs::remove_file(folder.join("ids.pipe")).unwrap();

    let own = |args: &[&str]| {
        Printed::of(&folder.command_of(&folder.join("ids"), args).output().unwrap())
    };
    own(&["run", "--format", "jsonl", "--out", "b"]).ends(0, &[]);
    folder.pipec(&["run", "ids", "--format", "jsonl", "--out", "c"]).ends(0, &[]);
    assert!(folder.ids("a") == folder.ids("b") && folder.ids("a") == folder.ids("c"));
    assert_eq!(folder.ids("a").len(), 100);

    // Each table is there once, whatever names it.
    let bytes = fs::read(folder.join("ids")).unwrap();
    let found = bytes.windows(13).filter(|it| *it == b"dog\ncat\nbird\n").count();
    assert_eq!(found, 1);
}

#[test]
fn another_table_is_another_program() {
    let folder = Folder::with_words("state");
    let run = ["run", "ids.pipe", "--checkpoint", "state"];
    folder.pipec(&[&run[..], &["--limit", "20"]].concat()).ends(0, &["20 records"]);
    // Where it lies does not matter.
    fs::rename(folder.join("words.txt"), folder.join("moved.txt")).unwrap();
    let moved = ["--set", "words=moved.txt", "--limit", "40"];
    folder.pipec(&[&run[..], &moved].concat()).ends(0, &["resumed after 20 records"]);
    folder.write("moved.txt", "cat\ndog\nbird\n");
    folder.pipec(&[&run[..], &moved].concat()).ends(4, &["has changed since, in `ids.map#1`"]);
}

#[test]
fn what_is_no_table_is_told_at_its_place() {
    let folder = Folder::with_words("told");
    let check =
        |words: &str| folder.pipec(&["check", "ids.pipe", "--set", &format!("words={words}")]);
    check("words.txt").ends(0, &[]);
    check("word.txt")
        .ends(5, &["PC0136", "cannot find the file `word.txt`", "did you mean `words.txt`?"]);
    check(".").ends(5, &["`.` is a folder"]);
    folder.write("twice.txt", "secret\nother\nsecret\n");
    let twice = check("twice.txt");
    twice.ends(1, &["PC0126", "`twice.txt`: lines 1 and 3 are the same"]);
    // A program may name any file that its author cannot read.
    assert!(!twice.err.contains("secret"), "{}", twice.err);
    fs::write(folder.join("bad.txt"), b"a\nb\n\xff").unwrap();
    check("bad.txt").ends(1, &["line 3 is not valid UTF-8"]);
    let large = fs::File::create(folder.join("large.txt")).unwrap();
    large.set_len((64 << 20) + 1).unwrap();
    check("large.txt").ends(5, &["`large.txt` has", "at most"]);
    large.set_len(64 << 20).unwrap();
    // One line, and as large as a file may be.
    check("large.txt").ends(0, &[]);
    folder.write("empty.txt", "");
    check("empty.txt").ends(1, &["`empty.txt`: it is empty"]);

    // What shows a plan names the file, and shows none of its lines.
    folder.write("words.txt", "dog\ncat\nbird\nconfidential\n");
    for how in [&["--emit", "plan"][..], &["--emit", "program"], &["--json"], &[]] {
        let shown = folder.pipec(&[&["explain", "ids.pipe"], how].concat());
        assert_eq!(shown.code, 0, "{shown:#?}");
        assert!(!shown.out.contains("confidential"), "{how:?}: {}", shown.out);
    }
    let plan = folder.pipec(&["explain", "ids.pipe", "--emit", "plan"]).out;
    assert!(plan.contains("file \"words.txt\" "), "{plan}");
}

#[cfg(unix)]
#[test]
fn pipes_are_not_waited_for() {
    let folder = Folder::with_words("pipes");
    let made = std::process::Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap();
    assert!(made.success());
    for words in ["pipe", "/dev/zero"] {
        let checked = folder.pipec(&["check", "ids.pipe", "--set", &format!("words={words}")]);
        checked.ends(5, &["is not a regular file"]);
    }
}
