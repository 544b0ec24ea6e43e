//! Built files as a person or a script meets them: one is built, run, and done harm to.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// A program over numbers, of two files.
const MAIN: &str = "\
edition 2026

use half from \"parts/common.pipe\"

param n = 10_000

pipeline numbers = range(n) |> map { x: half(f32(i)), odd: i % 2 == 1 } |> where odd
pipeline train = numbers |> shuffle(window: 100) |> batch(64)
";
const COMMON: &str = "edition 2026\n\nfn half(x) = x * 0.5\n";

/// A folder that goes away when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("pipec-built-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("parts")).unwrap();
        fs::write(folder.join("n.pipe"), MAIN).unwrap();
        fs::write(folder.join("parts/common.pipe"), COMMON).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Says something to pipec.
    fn pipec(&self, args: &[&str]) -> Printed {
        self.says(Path::new(env!("CARGO_BIN_EXE_pipec")), args)
    }

    /// Says something to an executable of the folder.
    fn own(&self, name: &str, args: &[&str]) -> Printed {
        self.says(&self.path(name), args)
    }

    fn says(&self, executable: &Path, args: &[&str]) -> Printed {
        let mut command = Command::new(executable);
        let command = command.args(args).current_dir(&self.0).env_remove("NO_COLOR");
        Printed::of(&command.output().unwrap())
    }

    /// All files of a run's output with their contents.
    fn content(&self, folder: &str) -> Vec<(PathBuf, Vec<u8>)> {
        let (mut files, mut open) = (Vec::new(), vec![self.path(folder)]);
        while let Some(next) = open.pop() {
            for path in fs::read_dir(next).unwrap().map(|it| it.unwrap().path()) {
                match path.is_dir() {
                    true => open.push(path),
                    false => {
                        let name = path.strip_prefix(self.path(folder)).unwrap().to_owned();
                        files.push((name, fs::read(&path).unwrap()));
                    }
                }
            }
        }
        files.sort();
        files
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[derive(Debug)]
struct Printed {
    code: i32,
    out: String,
    err: String,
}

impl Printed {
    fn of(output: &Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Asserts how it ended and what stands somewhere in what it said.
    #[track_caller]
    fn ends(&self, code: i32, said: &[&str]) {
        assert_eq!(self.code, code, "{self:#?}");
        for part in said {
            assert!(self.err.contains(part), "no `{part}` in:\n{}", self.err);
        }
    }
}

#[test]
fn a_built_file_is_the_program() {
    let folder = Folder::new("run");
    folder.pipec(&["build", "n.pipe", "train", "--set", "n=2000"]).ends(0, &["`train` was built"]);
    let set = ["run", "n.pipe", "train", "--set", "n=2000", "--epochs", "2", "--seed", "7"];
    folder.pipec(&[&set[..], &["--out", "a"]].concat()).ends(0, &[]);
    let explained = folder.pipec(&["explain", "n.pipe", "train", "--set", "n=2000"]).out;
    let text = folder.pipec(&["explain", "n.pipe", "--emit", "source"]).out;
    // It needs the program no more.
    fs::remove_dir_all(folder.path("parts")).unwrap();
    fs::remove_file(folder.path("n.pipe")).unwrap();

    let options = ["--epochs", "2", "--seed", "7", "--workers", "3", "--out"];
    folder.own("train", &[&["run"], &options[..], &["b"]].concat()).ends(0, &["30 batches"]);
    folder.pipec(&[&["run", "train"], &options[..], &["c"]].concat()).ends(0, &["30 batches"]);
    assert!(folder.content("a").len() > 30);
    assert!(folder.content("a") == folder.content("b"), "as the program itself");
    assert!(folder.content("a") == folder.content("c"), "through pipec too");
    let json = folder.own("train", &["run", "--limit", "3", "--json"]);
    assert!(json.code == 0 && json.out.contains("\"batches\": 3"), "{json:?}");

    assert_eq!(folder.own("train", &["explain"]).out, explained);
    assert_eq!(folder.pipec(&["explain", "train"]).out, explained);
    assert_eq!(folder.own("train", &["explain", "--emit", "source"]).out, text);
    for form in ["ast", "plan", "estimate", "program"] {
        let shown = folder.own("train", &["explain", "--emit", form]);
        assert!(shown.code == 0 && !shown.out.is_empty(), "{form}: {shown:?}");
    }
    assert!(folder.own("train", &["explain", "--json"]).out.starts_with('{'));

    let is = "The pipeline `train` of n.pipe with n=2000, built by pipec";
    folder.own("train", &[]).ends(2, &[is, "explain", "run"]);
    let help = folder.own("train", &["--help"]);
    assert!(help.code == 0 && help.out.contains(is), "{help:?}");
    let help = folder.own("train", &["run", "--help"]).out;
    assert!(help.contains("--workers") && !help.contains("--set"), "{help}");
    folder.own("train", &["run", "--set", "n=3"]).ends(2, &["set when it was built"]);
    folder.own("train", &["run", "val"]).ends(2, &["no pipeline `val` in it", "`train` alone"]);
    folder.pipec(&["run", "train", "--without", "x"]).ends(2, &["chosen when it was built"]);
    folder.own("train", &["check"]).ends(2, &["check"]);
}

#[test]
fn the_same_program_gives_the_same_bytes_and_harm_is_noticed() {
    let folder = Folder::new("harm");
    folder.pipec(&["build", "n.pipe", "train", "-o", "one"]).ends(0, &[]);
    // From another place, under a longer name: nothing of that is in it.
    let (path, two) = (folder.path("n.pipe"), folder.path("two"));
    let args = ["build", path.to_str().unwrap(), "train", "-o", two.to_str().unwrap()];
    let elsewhere = Command::new(env!("CARGO_BIN_EXE_pipec")).args(args).current_dir("/").output();
    Printed::of(&elsewhere.unwrap()).ends(0, &[]);
    let whole = fs::read(folder.path("one")).unwrap();
    assert!(whole == fs::read(&two).unwrap(), "the same bytes");

    // Taken away, damaged, stripped: all in place of `two`, since copies are large.
    fs::write(&two, &whole[..whole.len() - 100]).unwrap();
    folder
        .own("two", &["run"])
        .ends(5, &["two` cannot be run: its program is gone", "help: build"]);
    folder.pipec(&["explain", "two"]).ends(5, &["`two` cannot be run: its program is gone"]);
    let mut damaged = whole;
    let at = damaged.len() - 500;
    damaged[at] ^= 1;
    fs::write(&two, &damaged).unwrap();
    folder.own("two", &["run"]).ends(5, &["it is damaged: its checksum", "help: copy it again"]);
    folder.own("two", &["--help"]).ends(5, &["it is damaged"]);
    if !stripped(&folder) {
        eprintln!("there is no `strip` here");
    }
    // What was built may be built again in its place.
    folder.pipec(&["build", "n.pipe", "train", "-o", "two"]).ends(0, &[]);
    folder.own("two", &["run", "--limit", "1"]).ends(0, &["1 batch"]);
}

/// `strip` takes away what no section holds. Gives whether there is one.
fn stripped(folder: &Folder) -> bool {
    fs::copy(folder.path("one"), folder.path("two")).unwrap();
    let strip = Command::new("strip").arg(folder.path("two")).status();
    if !strip.is_ok_and(|it| it.success()) {
        return false;
    }
    folder.own("two", &["run"]).ends(5, &["its program is gone, as after `strip`"]);
    folder.pipec(&["run", "two"]).ends(5, &["its program is gone, as after `strip`"]);
    true
}

#[test]
fn nothing_else_is_overwritten_or_taken_for_a_program() {
    let folder = Folder::new("else");
    let build = |more: &[&str]| folder.pipec(&[&["build", "n.pipe", "train"], more].concat());
    build(&["-o", "n.pipe"]).ends(5, &["`n.pipe` is there", "name another place with `-o`"]);
    build(&["-o", "parts"]).ends(5, &["`parts` is a folder"]);
    build(&["-o", "none/train"]).ends(5, &["cannot be written", "make its folder first"]);
    build(&["--set", "m=1"]).ends(2, &["no `param m`"]);
    build(&["--without", "magic"]).ends(2, &["no rewrite `magic`"]);
    folder.pipec(&["build", "n.pipe", "val"]).ends(2, &["no pipeline `val`"]);
    assert_eq!(fs::read_to_string(folder.path("n.pipe")).unwrap(), MAIN);
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 2, "nothing is left");
    let own = env!("CARGO_BIN_EXE_pipec");
    folder.pipec(&["run", own]).ends(5, &["it is binary: neither the text of a program"]);
}
