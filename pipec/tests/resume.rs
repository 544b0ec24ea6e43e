//! What a saved state belongs to, and what is said to a run of anything else.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Folder, Printed};
use std::fs;

const PROGRAM: &str = "\
edition 2026

param data: path

pipeline p = lines(\"{data}/*.txt\") |> map { n: len(text) } |> batch(4)
";

impl Folder {
    /// A program, its data, and the state of a run that has given five batches.
    fn with_state(name: &str) -> Self {
        let folder = Self::of(&format!("resume-{name}"), &[("p.pipe", PROGRAM)]);
        for file in 0..3 {
            folder.write(&format!("data/{file}.txt"), &"some text\nand more\n".repeat(10));
        }
        folder.run(&["--limit", "5"]).ends(0, &[]);
        folder
    }

    fn run(&self, more: &[&str]) -> Printed {
        let args = ["run", "p.pipe", "--set", "data=data", "--state", "s.json", "--json"];
        self.pipec(&[&args[..], more].concat())
    }

    fn refuses(&self, more: &[&str], why: &str) {
        let before = self.read("s.json");
        self.run(more).ends(4, &[why]);
        assert_eq!(self.read("s.json"), before, "what is refused stays");
    }
}

#[test]
fn a_state_of_something_else_is_refused_with_what_has_changed() {
    let folder = Folder::with_state("refused");
    folder.refuses(&["--seed", "4"], "`--seed 0`, and this run has 4");
    folder.write("p.pipe", &PROGRAM.replace("batch(4)", "batch(5)"));
    folder.refuses(&[], "changed since, in `p.batch#1`");
    folder.write("p.pipe", &PROGRAM.replace("|> map", "|> where len(text) > 3 |> map"));
    folder.refuses(&[], "it had 3 steps, and now has 4");
    folder.write("p.pipe", PROGRAM);
    folder.write("data/3.txt", "one more\n");
    folder.refuses(&[], "were 3 files, 570 bytes, and now are 4 files, 579 bytes");
    fs::remove_file(folder.join("data/3.txt")).unwrap();

    let state = folder.read("s.json");
    assert!(state.len() < 1024, "{state}");
    for (damage, why) in [
        (state[..state.len() / 2].to_owned(), "broken off"),
        (state.replace("\"outputs\":5", "\"outputs\":6"), "its checksum"),
        (state.replace("\"format\":1", "\"format\":9"), "newer pipec"),
        ("{}".to_owned(), "no state of a run"),
    ] {
        folder.write("s.json", &damage);
        folder.refuses(&[], why);
    }
}

#[test]
fn comments_and_a_moved_data_set_change_nothing() {
    let folder = Folder::with_state("moved");
    folder.write("p.pipe", &PROGRAM.replace("pipeline", "# The same.\npipeline"));
    fs::rename(folder.join("data"), folder.join("moved")).unwrap();
    let run = folder.run(&["--set", "data=moved", "--workers", "3"]);
    run.ends(0, &[]);
    let text = run.out;
    assert!(text.contains("\"batches\": 10") && text.contains("\"resumed_at\": 5"), "{text}");
}
