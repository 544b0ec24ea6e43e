//! Built files as a person or a script meets them: one is built, run, and done harm to.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Folder, PIPEC, Printed};
use std::{fs, io, process::Command, thread, time::Duration};

/// A program over numbers, of two files.
const MAIN: &str = "\
edition 2026

use half from \"parts/common.pipe\"

param n = 10_000

pipeline numbers = range(n) |> map { x: half(f32(i)), odd: i % 2 == 1 } |> where odd
pipeline train = numbers |> shuffle(window: 100) |> batch(64)
";
const COMMON: &str = "edition 2026\n\nfn half(x) = x * 0.5\n";

impl Folder {
    /// One with the program.
    fn with_program(name: &str) -> Self {
        let name = format!("built-{name}");
        Self::of(&name, &[("n.pipe", MAIN), ("parts/common.pipe", COMMON)])
    }

    /// Says something to an executable of the folder.
    fn own(&self, name: &str, args: &[&str]) -> Printed {
        loop {
            match self.command_of(&self.join(name), args).output() {
                // A test beside this one has begun a process while the file was written, which has it open until it
                // is another program.
                Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                    thread::sleep(Duration::from_millis(1));
                }
                output => return Printed::of(&output.unwrap()),
            }
        }
    }
}

#[test]
fn a_built_file_is_the_program() {
    let folder = Folder::with_program("run");
    folder.pipec(&["build", "n.pipe", "train", "--set", "n=2000"]).ends(0, &["built `train`"]);
    let set = ["run", "n.pipe", "train", "--set", "n=2000", "--epochs", "2", "--seed", "7"];
    folder.pipec(&[&set[..], &["--out", "a"]].concat()).ends(0, &[]);
    let explained = folder.pipec(&["explain", "n.pipe", "train", "--set", "n=2000"]).out;
    let text = folder.pipec(&["explain", "n.pipe", "--emit", "source"]).out;
    // It needs the program no more.
    fs::remove_dir_all(folder.join("parts")).unwrap();
    fs::remove_file(folder.join("n.pipe")).unwrap();

    let options = ["--epochs", "2", "--seed", "7", "--workers", "3", "--out"];
    folder.own("train", &[&["run"], &options[..], &["b"]].concat()).ends(0, &["30 batches"]);
    folder.pipec(&[&["run", "train"], &options[..], &["c"]].concat()).ends(0, &["30 batches"]);
    assert!(folder.files("a").len() > 30);
    assert!(folder.files("a") == folder.files("b"), "as the program itself");
    assert!(folder.files("a") == folder.files("c"), "through pipec too");
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
    folder
        .own("train", &["run", "val"])
        .ends(2, &["it does not contain the pipeline `val`", "from `train` only"]);
    folder.pipec(&["run", "train", "--disable-pass", "x"]).ends(2, &["chosen when it was built"]);
    folder.own("train", &["check"]).ends(2, &["check"]);
}

#[test]
fn the_same_program_gives_the_same_bytes_and_harm_is_noticed() {
    let folder = Folder::with_program("harm");
    folder.pipec(&["build", "n.pipe", "train", "-o", "one"]).ends(0, &[]);
    // From another place, under a longer name: nothing of that is in it.
    let (path, two) = (folder.join("n.pipe"), folder.join("two"));
    let args = ["build", path.to_str().unwrap(), "train", "-o", two.to_str().unwrap()];
    let elsewhere = Command::new(PIPEC).args(args).current_dir("/").output();
    Printed::of(&elsewhere.unwrap()).ends(0, &[]);
    let whole = fs::read(folder.join("one")).unwrap();
    assert!(whole == fs::read(&two).unwrap(), "the same bytes");

    // Taken away, damaged, stripped: all in place of `two`, since copies are large.
    fs::write(&two, &whole[..whole.len() - 100]).unwrap();
    folder.own("two", &["run"]).ends(5, &["two`: its program is missing", "help: build"]);
    folder.pipec(&["explain", "two"]).ends(5, &["cannot run `two`: its program is missing"]);
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

/// Arithmetic is compiled when it is built, for the processor that is named.
#[test]
fn what_was_compiled_before_gives_the_same_bytes() {
    let text = "edition 2026\n\npipeline sums = range(3_000)\n    |> map { x: exp(f32(i) * \
                0.001) * 2.0 + log(f32(i) + 1.0), k: (i * 3 + 1) // 7 }\n    |> batch(64)\n";
    let folder = Folder::of("built-cpu", &[("s.pipe", text)]);
    let asm = folder.pipec(&["explain", "s.pipe", "--emit", "asm"]);
    if asm.code != 0 {
        eprintln!("nothing is compiled here: {asm:?}");
        return;
    }
    assert!(asm.out.starts_with("; compiled before the run starts, for "), "{asm:?}");
    folder.pipec(&["run", "s.pipe", "--out", "a"]).ends(0, &[]);
    let gives_the_same = |run: Printed, out: &str| {
        run.ends(0, &[]);
        assert!(folder.files("a") == folder.files(out), "{out}");
        fs::remove_dir_all(folder.join(out)).unwrap();
    };
    let build = |more: &[&str]| folder.pipec(&[&["build", "s.pipe", "-o", "it"], more].concat());
    let asm = || folder.own("it", &["explain", "--emit", "asm"]).out;

    build(&[]).ends(0, &["arithmetic compiled for `native`"]);
    gives_the_same(folder.own("it", &["run", "--out", "b"]), "b");
    assert!(asm().starts_with("; compiled ahead of time for `native`: "), "{}", asm());
    // Of another executable nothing is run that was not checked.
    gives_the_same(folder.pipec(&["run", "it", "--out", "c"]), "c");
    let other = folder.pipec(&["explain", "it", "--emit", "asm"]).out;
    assert!(other.contains("is not used: another executable is running"), "{other}");

    build(&["--disable-pass", "jit"]).ends(0, &["built `it`"]);
    gives_the_same(folder.own("it", &["run", "--out", "b"]), "b");
    assert_eq!(asm(), "");
    build(&["--disable-pass", "jit", "--target-cpu", "native"]).ends(2, &["`jit` is disabled"]);
    build(&["--target-cpu", "z80"]).ends(2, &["no processor `z80`", "the CPUs are native"]);
    if cfg!(target_arch = "x86_64") {
        build(&["--target-cpu", "x86-64-v2"]).ends(0, &["compiled for `x86-64-v2`"]);
        assert!(asm().starts_with("; compiled ahead of time for `x86-64-v2`: "), "{}", asm());
        assert!(!asm().contains("vmulps"), "{}", asm());
        gives_the_same(folder.own("it", &["run", "--out", "b"]), "b");
        build(&["--target-cpu", "x86-64"]).ends(2, &["no vectors of 128 bits"]);
    }
}

/// `strip` takes away what no section holds. Gives whether there is one.
fn stripped(folder: &Folder) -> bool {
    fs::copy(folder.join("one"), folder.join("two")).unwrap();
    let strip = Command::new("strip").arg(folder.join("two")).status();
    if !strip.is_ok_and(|it| it.success()) {
        return false;
    }
    folder.own("two", &["run"]).ends(5, &["its program is missing, for example after `strip`"]);
    folder.pipec(&["run", "two"]).ends(5, &["its program is missing, for example after `strip`"]);
    true
}

#[test]
fn nothing_else_is_overwritten_or_taken_for_a_program() {
    let folder = Folder::with_program("else");
    let build = |more: &[&str]| folder.pipec(&[&["build", "n.pipe", "train"], more].concat());
    build(&["-o", "n.pipe"]).ends(2, &["`n.pipe` is not an executable", "name another file"]);
    build(&["-o", "parts"]).ends(2, &["`parts` is a folder"]);
    build(&["-o", "none/train"]).ends(5, &["cannot write `none/train`", "create its folder first"]);
    build(&["--set", "m=1"]).ends(2, &["unknown parameter `m`"]);
    build(&["--disable-pass", "magic"]).ends(2, &["unknown pass `magic`"]);
    folder.pipec(&["build", "n.pipe", "val"]).ends(2, &["cannot find pipeline `val`"]);
    assert_eq!(folder.read("n.pipe"), MAIN);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left");
    folder
        .pipec(&["run", PIPEC])
        .ends(5, &["it is a binary file, neither the source of a program"]);
}

#[test]
fn what_needs_python_is_not_built() {
    let text = "edition 2026\nextern fn f(x: i64) -> i64 = \"ours:f\"\npipeline p = range(3) |> map { x: f(i) }\n";
    let folder = Folder::of("built-python", &[("p.pipe", text)]);
    let said = ["PC0206", "p.pipe:2:11", "a built executable has no Python", "pipec.load(…)"];
    folder.pipec(&["build", "p.pipe"]).ends(1, &said);
    assert!(!folder.join("p").exists());
}

#[test]
fn json_is_built_and_gives_the_same_batches() {
    let json = "{\"text\": \"a\", \"n\": 1}\n{\"text\": \"b\", \"n\": 2}\n";
    let text = "edition 2026\npipeline p = jsonl(\"a.jsonl\") |> map { n: row[\"n\"] as i64, s: row[\"text\"] as str }\n";
    let folder = Folder::of("built-json", &[("p.pipe", text), ("a.jsonl", json)]);
    folder.pipec(&["build", "p.pipe"]).ends(0, &["built `p`"]);
    folder.pipec(&["run", "p.pipe", "--out", "direct"]).ends(0, &[]);
    folder.own("p", &["run", "--out", "built"]).ends(0, &["2 records"]);
    assert!(folder.files("direct") == folder.files("built") && folder.files("built").len() > 2);
}
