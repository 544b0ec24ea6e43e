//! The command line as a person or a script meets it: exit codes, what is printed where.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    fs,
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// A program over numbers: nothing need be read.
const NUMBERS: &str = "\
edition 2026

param n = 10_000

pipeline numbers = range(n) |> map { x: f32(i) * 0.5, odd: i % 2 == 1 } |> where odd

pipeline train = numbers |> shuffle(window: 100) |> batch(64)
pipeline each = numbers |> map { x }
";

/// A folder that goes away when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = std::env::temp_dir().join(format!("pipec-cli-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        for (file, text) in files {
            let path = folder.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(folder)
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.0.join(file)).unwrap()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pipec"));
        command.args(args).current_dir(&self.0).env_remove("NO_COLOR");
        command
    }

    fn run(&self, args: &[&str]) -> Printed {
        Printed::of(&self.command(args).output().unwrap())
    }

    /// All files below `folder` with their contents.
    fn content(&self, folder: &str) -> Vec<(String, Vec<u8>)> {
        let mut files = Vec::new();
        let mut open = vec![self.0.join(folder)];
        while let Some(next) = open.pop() {
            for entry in fs::read_dir(next).unwrap().map(Result::unwrap) {
                match entry.path() {
                    path if path.is_dir() => open.push(path),
                    path => {
                        files.push((shown(&path, &self.0.join(folder)), fs::read(&path).unwrap()));
                    }
                }
            }
        }
        files.sort();
        files
    }
}

fn shown(path: &Path, folder: &Path) -> String {
    path.strip_prefix(folder).unwrap().display().to_string()
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a command has printed, and how it ended.
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
fn a_run_says_what_came_of_it() {
    let folder = Folder::new("run", &[("n.pipe", NUMBERS)]);
    let run = folder.run(&["run", "n.pipe", "train"]);
    run.ends(0, &["train: 78 batches, 4 992 records", "rate", "first batch", "busiest", "memory"]);
    assert_eq!(run.out, "");
    assert!(!run.err.contains('\x1b'), "no colour, no progress: {}", run.err);

    let run = folder.run(&["run", "n.pipe", "train", "--limit", "3", "--json", "--set", "n=1000"]);
    run.ends(0, &["train: 3 batches, 192 records"]);
    assert!(
        run.out.contains("\"batches\": 3") && run.out.contains("\"records\": 192"),
        "{}",
        run.out
    );
    folder
        .run(&["run", "n.pipe", "train", "--epochs", "2"])
        .ends(0, &["156 batches, 9 984 records"]);
    folder.run(&["run", "n.pipe", "each"]).ends(0, &["each: 5 000 records"]);
}

#[test]
fn an_output_folder_depends_on_nothing_but_program_and_seed() {
    let folder = Folder::new("out", &[("n.pipe", NUMBERS)]);
    for pipeline in ["train", "each"] {
        let out = |name: &str, more: &[&str]| {
            let args = [&["run", "n.pipe", pipeline, "--out", name], more].concat();
            folder.run(&args).ends(0, &[]);
            folder.content(name)
        };
        let first = out("a", &["--workers", "1"]);
        assert!(first.len() > 2, "{:?}", first.iter().map(|it| &it.0).collect::<Vec<_>>());
        assert_eq!(out("b", &["--workers", "3", "--chunk-rows", "7"]), first);
        // A longer run before leaves nothing behind.
        out("c", &["--epochs", "3"]);
        assert_eq!(out("c", &["--chunk-rows", "1000"]), first);
        assert_eq!(out("d", &["--seed", "1"]) == first, pipeline == "each");
        for name in ["a", "b", "c", "d"] {
            fs::remove_dir_all(folder.0.join(name)).unwrap();
        }
    }
    fs::create_dir(folder.0.join("mine")).unwrap();
    fs::write(folder.0.join("mine/thesis.txt"), "").unwrap();
    folder.run(&["run", "n.pipe", "each", "--out", "mine"]).ends(5, &["`mine`", "new or empty"]);
}

#[test]
fn a_stream_goes_to_stdout_and_a_reader_may_leave() {
    let folder = Folder::new("arrow", &[("n.pipe", NUMBERS)]);
    let stream = folder.command(&["run", "n.pipe", "train", "--out", "-"]).output().unwrap();
    assert_eq!(stream.status.code(), Some(0));
    // A message of the stream begins with this mark and its length.
    assert!(stream.stdout.starts_with(&[0xff; 4]) && stream.stdout.len() > 4992 * 4);

    let args = ["run", "n.pipe", "train", "--out", "-", "--set", "n=100_000_000"];
    let mut child =
        folder.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let printed = Printed::of(&child.wait_with_output().unwrap());
    printed.ends(0, &[]);
    assert!(!printed.err.contains("error"), "{}", printed.err);
    folder
        .run(&["run", "n.pipe", "train", "--out", "-", "--json"])
        .ends(2, &["both write to stdout"]);
}

/// A run that would not end is ended by a signal, once what it writes has begun to come.
#[cfg(unix)]
#[test]
fn a_signal_ends_a_run() {
    let folder = Folder::new("signal", &[("n.pipe", NUMBERS)]);
    let args = ["run", "n.pipe", "train", "--out", "-", "--set", "n=1_000_000_000_000"];
    let mut child =
        folder.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut [0; 4096]).unwrap();
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    std::io::copy(&mut out, &mut std::io::sink()).unwrap();
    let printed = Printed::of(&child.wait_with_output().unwrap());
    printed.ends(130, &["then stopped"]);
}

#[test]
fn what_is_said_wrongly_is_told_with_a_remedy() {
    let program = "param data: path\nparam size = 224\n\
                   pipeline a = files(\"{data}/*.jpg\") |> take(size)\npipeline b = range(3)\n";
    let folder = Folder::new("usage", &[("a.pipe", program), ("n.pipe", NUMBERS)]);
    let run = |args: &[&str]| folder.run(&[&["run"], args].concat());
    run(&["b.pipe"]).ends(5, &["`b.pipe` cannot be read", "this folder holds `a.pipe`, `n.pipe`"]);
    run(&["n.pipe"]).ends(2, &["PC0164", "`train`", "`each`"]);
    run(&["a.pipe", "c"]).ends(2, &["no pipeline `c`"]);
    run(&["a.pipe", "a"]).ends(2, &["PC0161", "`data` is not set", "--set data=…"]);
    run(&["a.pipe", "a", "--set", "dta=x"])
        .ends(2, &["no `param dta`", "did you mean `--set data=…`"]);
    run(&["a.pipe", "b", "--set", "data=x", "--set", "size=12x"]).ends(2, &["PC0162", "`12x`"]);
    run(&["a.pipe", "b", "--set", "data"]).ends(2, &["it is written `name=value`"]);
    run(&["n.pipe", "each", "--memory", "2"]).ends(2, &["512MiB"]);
    run(&["n.pipe", "each", "--workers", "0"]).ends(2, &["1..=1024"]);
    fs::write(folder.0.join("l.pipe"), "pipeline p = paths(\"none/*\", lanes: 8) |> batch(2)\n")
        .unwrap();
    let uneven = ["3 ranks do not divide 8 lanes", "such as 2", "`lanes: 9`"];
    run(&["l.pipe", "--world", "3"]).ends(2, &uneven);
    run(&["n.pipe", "each", "--without", "magic"])
        .ends(2, &["no rewrite `magic`", "the rewrites are"]);
    run(&["a.pipe", "a", "--set", "data=none"]).ends(5, &["there is no folder `none`"]);
}

#[test]
fn check_tells_every_mistake_once() {
    let wrong = "use f from \"gone.pipe\"\npipeline p = rang(3)\nconst C = 1 +\npipeline q = range(3) |> map f(i)\n";
    let folder = Folder::new("check", &[("wrong.pipe", wrong), ("sub/n.pipe", NUMBERS)]);
    let check = folder.run(&["check", "wrong.pipe"]);
    check.ends(
        1,
        &["PC0201 no-such-file", "PC0107 unknown-function", "did you mean `range`?", "3 errors"],
    );
    assert_eq!(check.out, "");

    let check = folder.run(&["check", "wrong.pipe", "--json"]);
    assert_eq!((check.code, check.out.matches("\"code\"").count(), check.err.as_str()), (1, 3, ""));
    assert!(check.out.contains("\"line\": 2"), "{}", check.out);
    folder.run(&["check", "sub"]).ends(0, &["1 file, nothing wrong"]);
    folder.run(&["check", "wrong.pipe", "--color", "always"]).ends(1, &["\x1b["]);
}

#[test]
fn fmt_has_one_form() {
    let folder = Folder::new("fmt", &[("a.pipe", "const  A=1\n"), ("wrong.pipe", "const A =\n")]);
    let check = folder.run(&["fmt", "--check", "a.pipe"]);
    assert_eq!((check.code, check.out.as_str()), (1, "a.pipe\n"));
    let diff = folder.run(&["fmt", "--diff", "a.pipe"]);
    assert_eq!(
        (diff.code, diff.out.as_str()),
        (1, "--- a.pipe\n+++ a.pipe\n@@ -1,1 +1,1 @@\n-const  A=1\n+const A = 1\n")
    );
    assert_eq!(folder.read("a.pipe"), "const  A=1\n");
    folder.run(&["fmt", "a.pipe"]).ends(0, &["1 of 1 file changed"]);
    assert_eq!(folder.read("a.pipe"), "const A = 1\n");
    folder.run(&["fmt", "--check", "a.pipe"]).ends(0, &[]);
    folder.run(&["fmt", "wrong.pipe"]).ends(1, &["PC00"]);

    let mut child = folder.command(&["fmt", "-"]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"const  B=2\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"const B = 2\n"[..]));
}

#[test]
fn explain_shows_plans_and_tells_stories() {
    let folder = Folder::new("explain", &[("n.pipe", NUMBERS)]);
    let explain = |args: &[&str]| {
        let printed = folder.run(&[&["explain"], args].concat());
        printed.ends(0, &[]);
        printed.out
    };
    let text = explain(&["n.pipe", "train"]);
    assert!(text.contains("batch") && text.contains("n.pipe:5:"), "{text}");
    for form in ["source", "ast", "plan", "estimate", "program"] {
        assert!(!explain(&["n.pipe", "train", "--emit", form]).is_empty());
    }
    assert!(explain(&["n.pipe", "train", "--json"]).starts_with('{'));
    assert!(explain(&["PC0201"]).starts_with("PC0201 no-such-file\n"));
    assert_eq!(explain(&["no-such-file"]), explain(&["pc0201"]));
    folder.run(&["explain", "PC9999"]).ends(2, &["there is no message `PC9999`"]);
    folder.run(&["explain", "m.pipe"]).ends(5, &["`m.pipe` cannot be read"]);
}

#[test]
fn sample_sets_are_made_once() {
    let program =
        "pipeline p = files(\"sample:images?count=3\") |> map { label: class_of(path) }\n";
    let folder = Folder::new("sample", &[("p.pipe", program)]);
    let run = || {
        let mut command = folder.command(&["run", "p.pipe"]);
        Printed::of(&command.env("XDG_CACHE_HOME", folder.0.join("cache")).output().unwrap())
    };
    run().ends(0, &["making 3 sample pictures", "p: 3 records"]);
    let again = run();
    again.ends(0, &["p: 3 records"]);
    assert!(!again.err.contains("making"), "{}", again.err);

    folder
        .run(&["sample", "images", "photos", "--count", "2"])
        .ends(0, &["2 pictures in `photos`"]);
    folder
        .run(&["sample", "images", "photos", "--count", "2"])
        .ends(0, &["holds these 2 pictures"]);
    folder.run(&["sample", "images", "photos", "--count", "5"]).ends(5, &["holds another set"]);
    folder.run(&["sample", "images", "none", "--count", "0"]).ends(2, &["1 to"]);
}

#[test]
fn help_has_examples() {
    let folder = Folder::new("help", &[]);
    for command in ["check", "fmt", "run", "explain", "build", "completions"] {
        let help = folder.run(&[command, "--help"]);
        assert!(help.code == 0 && help.out.contains("Example"), "{help:?}");
    }
    assert!(folder.run(&["completions", "bash"]).out.contains("pipec"));
    folder.run(&["runn"]).ends(2, &["run"]);
}
