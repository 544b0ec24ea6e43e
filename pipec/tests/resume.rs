//! What a saved state belongs to, and what is said to a run of anything else.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    env, fs,
    path::PathBuf,
    process::{Command, Output},
};

const PROGRAM: &str = "\
edition 2026

param data: path

pipeline p = lines(\"{data}/*.txt\") |> map { n: len(text) } |> batch(4)
";

struct Scratch(PathBuf);

impl Scratch {
    /// A program, its data, and the state of a run that has given five batches.
    fn new(name: &str) -> Self {
        let folder = env::temp_dir().join(format!("pipec-resume-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("data")).unwrap();
        let scratch = Self(folder);
        scratch.write("p.pipe", PROGRAM);
        for file in 0..3 {
            scratch.write(&format!("data/{file}.txt"), &"some text\nand more\n".repeat(10));
        }
        assert!(scratch.run(&["--limit", "5"]).status.success());
        scratch
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.0.join(file), text).unwrap();
    }

    fn run(&self, more: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pipec"));
        command.current_dir(&self.0).args(["run", "p.pipe", "--set", "data=data"]);
        command.args(["--state", "s.json", "--json"]).args(more).output().unwrap()
    }

    fn refuses(&self, more: &[&str], why: &str) {
        let before = fs::read(self.0.join("s.json")).unwrap();
        let output = self.run(more);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{text}");
        assert!(text.contains(why), "{text}");
        assert_eq!(fs::read(self.0.join("s.json")).unwrap(), before, "what is refused stays");
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_state_of_something_else_is_refused_with_what_has_changed() {
    let scratch = Scratch::new("refused");
    scratch.refuses(&["--seed", "4"], "`--seed 0`, and this run has 4");
    scratch.write("p.pipe", &PROGRAM.replace("batch(4)", "batch(5)"));
    scratch.refuses(&[], "changed since, in `p.batch#1`");
    scratch.write("p.pipe", &PROGRAM.replace("|> map", "|> where len(text) > 3 |> map"));
    scratch.refuses(&[], "it had 3 steps, and now has 4");
    scratch.write("p.pipe", PROGRAM);
    scratch.write("data/3.txt", "one more\n");
    scratch.refuses(&[], "were 3 files, 570 bytes, and now are 4 files, 579 bytes");
    fs::remove_file(scratch.0.join("data/3.txt")).unwrap();

    let state = fs::read_to_string(scratch.0.join("s.json")).unwrap();
    assert!(state.len() < 1024, "{state}");
    for (damage, why) in [
        (state[..state.len() / 2].to_owned(), "broken off"),
        (state.replace("\"outputs\":5", "\"outputs\":6"), "its checksum"),
        (state.replace("\"format\":1", "\"format\":9"), "newer pipec"),
        ("{}".to_owned(), "no state of a run"),
    ] {
        scratch.write("s.json", &damage);
        scratch.refuses(&[], why);
    }
}

#[test]
fn comments_and_a_moved_data_set_change_nothing() {
    let scratch = Scratch::new("moved");
    scratch.write("p.pipe", &PROGRAM.replace("pipeline", "# The same.\npipeline"));
    fs::rename(scratch.0.join("data"), scratch.0.join("moved")).unwrap();
    let output = scratch.run(&["--set", "data=moved", "--workers", "3"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("\"batches\": 10") && text.contains("\"resumed_at\": 5"), "{text}");
}
