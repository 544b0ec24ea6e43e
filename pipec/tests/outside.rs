//! Text files outside of a project: what those who only look at a program do not show of them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![cfg(unix)]

mod common;

use common::{Folder, Printed};
use std::{
    os::unix::fs::symlink,
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
};

fn ended(mut command: Command) -> Printed {
    Printed::of(&command.output().unwrap())
}

/// Ends a command on a program in a project, beside which there is a secret, and gives what was printed.
fn beside_a_secret(body: &str, args: &[&str]) -> Printed {
    static FOLDERS: AtomicUsize = AtomicUsize::new(0);
    let folder = Folder::of(
        &format!("outside-{}", FOLDERS.fetch_add(1, Ordering::Relaxed)),
        &[
            ("secret.env", "TOKEN=hunter2,age\nhunter3,1\nhunter4,2\n"),
            ("project/own.csv", "hunter2,age\nx,1\n"),
        ],
    );
    symlink("../secret.env", folder.join("project/link.csv")).unwrap();
    folder.write("project/p.pipe", &format!("edition 2026\n\npipeline p = {body}\n"));
    let mut command = Command::new(common::PIPEC);
    command.args([&args[..1], &["p.pipe"], &args[1..]].concat());
    command.current_dir(folder.join("project"));
    ended(command)
}

fn has_secret(it: &Printed) -> bool {
    it.err.contains("hunter") || it.out.contains("hunter")
}

#[test]
fn columns_of_a_file_outside_of_a_project_are_not_shown() {
    let secret = "csv(\"../secret.env\")";
    let shown = ["cannot find", "not shown", "--allow-outside"];
    for from in [secret, "csv(\"link.csv\")", "csv(\"../*.env\")"] {
        let body = format!("{from} |> map {{ x: nothing }}");
        for command in ["check", "explain"] {
            let it = beside_a_secret(&body, &[command]);
            it.ends(1, &shown);
            assert!(!has_secret(&it), "{it:#?}");
            let it = beside_a_secret(&body, &[command, "--allow-outside"]);
            it.ends(1, &["`TOKEN=hunter2`"]);
        }
        // What runs it reads it, and says what it has.
        beside_a_secret(&body, &["run"]).ends(1, &["`TOKEN=hunter2`"]);
    }
    // A name is not guessed from one that is near.
    for wrong in [
        "map { x: it[\"TOKEN=hunter3\"] }",
        "map { x: it.hunter2 }",
        "map { x: hunter }",
        "map { age } |> zip(csv(\"link.csv\") |> where hunter2 > 1)",
        "batch(2) |> where age",
    ] {
        let it = beside_a_secret(&format!("{secret} |> {wrong}"), &["check"]);
        it.ends(1, &[]);
        let said = it.err.replace("hunter3\"]", "").replace(wrong, "");
        assert!(!said.contains("hunter2") || wrong.contains("hunter2"), "{it:#?}");
    }
    for args in [
        "columns: [\"TOKEN\"]",
        "types: { tokens: str }",
        "missing: { tokens: 0 }",
        "columns: { x: \"tok\" }",
    ] {
        let body = format!("csv(\"../secret.env\", {args})");
        for command in ["check", "explain"] {
            let it = beside_a_secret(&body, &[command]);
            it.ends(1, &["which is not a column", "--allow-outside"]);
            assert!(!has_secret(&it), "{it:#?}");
        }
        beside_a_secret(&body, &["check", "--allow-outside"]).ends(1, &["hunter2"]);
    }
    // Columns that the program names can be used, and are shown.
    let it = beside_a_secret(&format!("{secret} |> map {{ age: age + 1 }}"), &["explain"]);
    it.ends(0, &[]);
    assert!(it.out.contains("age: i64") && !has_secret(&it), "{it:#?}");
    // In the project, all are.
    let own = "csv(\"own.csv\") |> map { x: nothing }";
    beside_a_secret(own, &["check"]).ends(1, &["the fields hunter2, age"]);
}

#[test]
fn plans_do_not_show_what_a_file_outside_of_a_project_says() {
    let table = "csv(\"../secret.env\") |> shuffle(window: 4) |> batch(2, tail: keep)";
    let labelled =
        "range(3) |> map { x: class_of(text_of(i) + \"/a\", classes: \"../secret.env\") else -1 }";
    for body in [table, labelled] {
        for form in [
            &[][..],
            &["--rewrites"],
            &["--verbose"],
            &["--json"],
            &["--dot"],
            &["--html", "-"],
            &["--emit", "ast"],
            &["--emit", "plan"],
            &["--emit", "plan", "--json"],
            &["--emit", "program"],
            &["--emit", "program", "--json"],
            &["--emit", "estimate"],
            &["--disable-pass", "projection-pruning", "--rewrites"],
            &["--epochs", "3", "--memory", "1GiB"],
        ] {
            let it = beside_a_secret(body, &[&["explain"], form].concat());
            it.ends(0, &[]);
            assert!(!has_secret(&it), "{form:?}: {it:#?}");
        }
        let it = beside_a_secret(body, &["check"]);
        it.ends(0, &[]);
        assert!(!has_secret(&it), "{it:#?}");
    }
    let it = beside_a_secret(table, &["explain", "--emit", "plan", "--allow-outside"]);
    it.ends(0, &[]);
    assert!(it.out.contains("TOKEN=hunter2"), "{it:#?}");
    // A run has them.
    let it = beside_a_secret(table, &["peek"]);
    it.ends(0, &[]);
    assert!(it.out.contains("TOKEN=hunter2"), "{it:#?}");
}

#[test]
fn labels_of_a_file_outside_of_a_project_are_not_shown() {
    let folder = Folder::of("outside-labels", &[("secret.env", "TOKEN=hunter2\nOTHER=hunter3\n")]);
    for class in ["TOKEN=hunter2", "b"] {
        folder.write(&format!("project/a/{class}/1.txt"), "x");
    }
    let body = "edition 2026\n\npipeline one = files(\"a/**/*.txt\") |> map { x: class_of(path, classes: \
                \"../secret.env\") else -1 }\npipeline two = files(\"a/**/*.txt\") |> map { x: class_of(path) }\n";
    folder.write("project/p.pipe", body);
    let check = |args: &[&str]| {
        let mut command = Command::new(common::PIPEC);
        command.args([&["check", "p.pipe"], args].concat()).current_dir(folder.join("project"));
        ended(command)
    };
    let it = check(&[]);
    it.ends(0, &["labels differ"]);
    assert!(!it.err.contains("OTHER") && !it.err.contains("hunter3"), "{it:#?}");
    check(&["--allow-outside"]).ends(0, &["OTHER=hunter3"]);
    // Where both are the same, nothing is said of it.
    folder.write("secret.env", "TOKEN=hunter2\nb\n");
    let it = check(&[]);
    it.ends(0, &[]);
    assert!(!it.err.contains("labels differ"), "{it:#?}");
}
