//! The command line as a person or a script meets it: exit codes, what is printed where.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Folder, Printed};
use std::{
    fs,
    io::{Read, Write},
    process::{Command, Stdio},
};

/// A program over numbers: nothing need be read.
const NUMBERS: &str = "\
edition 2026

param n = 10_000

pipeline numbers = range(n) |> map { x: f32(i) * 0.5, odd: i % 2 == 1 } |> where odd

pipeline train = numbers |> shuffle(window: 100) |> batch(64)
pipeline each = numbers |> map { x }
";

#[test]
fn a_run_says_what_came_of_it() {
    let folder = Folder::of("cli-run", &[("n.pipe", NUMBERS)]);
    let run = folder.pipec(&["run", "n.pipe", "train"]);
    run.ends(0, &["train: 78 batches, 4,992 records", "rate", "first batch", "busiest", "memory"]);
    assert_eq!(run.out, "");
    assert!(!run.err.contains('\x1b'), "no colour, no progress: {}", run.err);

    let run =
        folder.pipec(&["run", "n.pipe", "train", "--limit", "3", "--json", "--set", "n=1000"]);
    run.ends(0, &["train: 3 batches, 192 records"]);
    assert!(
        run.out.contains("\"batches\": 3") && run.out.contains("\"records\": 192"),
        "{}",
        run.out
    );
    folder
        .pipec(&["run", "n.pipe", "train", "--epochs", "2"])
        .ends(0, &["156 batches, 9,984 records"]);
    folder.pipec(&["run", "n.pipe", "each"]).ends(0, &["each: 5,000 records"]);
}

#[test]
fn an_output_folder_depends_on_nothing_but_program_and_seed() {
    let folder = Folder::of("cli-out", &[("n.pipe", NUMBERS)]);
    for pipeline in ["train", "each"] {
        let out = |name: &str, more: &[&str]| {
            let args = [&["run", "n.pipe", pipeline, "--out", name], more].concat();
            folder.pipec(&args).ends(0, &[]);
            folder.files(name)
        };
        let first = out("a", &["--workers", "1"]);
        assert!(first.len() > 2, "{:?}", first.keys());
        assert_eq!(out("b", &["--workers", "3", "--chunk-rows", "7"]), first);
        // A longer run before leaves nothing behind.
        out("c", &["--epochs", "3"]);
        assert_eq!(out("c", &["--chunk-rows", "1000", "--overwrite"]), first);
        // What it was made of is in its manifest.
        let batches = |mut it: common::Files| it.remove("pipec.json").map(|_| it);
        let other = batches(out("d", &["--seed", "1"]));
        assert_eq!(other == batches(first), pipeline == "each");
        for name in ["a", "b", "c", "d"] {
            fs::remove_dir_all(folder.join(name)).unwrap();
        }
    }
    fs::create_dir(folder.join("mine")).unwrap();
    fs::write(folder.join("mine/thesis.txt"), "").unwrap();
    folder.pipec(&["run", "n.pipe", "each", "--out", "mine"]).ends(5, &["`mine`", "new or empty"]);
}

#[test]
fn a_stream_goes_to_stdout_and_a_reader_may_leave() {
    let folder = Folder::of("cli-arrow", &[("n.pipe", NUMBERS)]);
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
        .pipec(&["run", "n.pipe", "train", "--out", "-", "--json"])
        .ends(2, &["both write to stdout"]);
}

/// A run that would not end is ended by a signal, once what it writes has begun to come.
#[cfg(unix)]
#[test]
fn a_signal_ends_a_run() {
    let folder = Folder::of("cli-signal", &[("n.pipe", NUMBERS)]);
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
    let folder = Folder::of("cli-usage", &[("a.pipe", program), ("n.pipe", NUMBERS)]);
    let run = |args: &[&str]| folder.pipec(&[&["run"], args].concat());
    run(&["b.pipe"]).ends(5, &["cannot read `b.pipe`", "this folder contains `a.pipe`, `n.pipe`"]);
    run(&["n.pipe"]).ends(2, &["PC0164", "`train`", "`each`"]);
    run(&["a.pipe", "c"]).ends(2, &["cannot find pipeline `c`"]);
    run(&["a.pipe", "a"]).ends(2, &["PC0161", "`data` is not set", "--set data=…"]);
    run(&["a.pipe", "a", "--set", "dta=x"])
        .ends(2, &["unknown parameter `dta`", "did you mean `--set data=…`"]);
    run(&["a.pipe", "b", "--set", "data=x", "--set", "size=12x"]).ends(2, &["PC0162", "`12x`"]);
    run(&["a.pipe", "b", "--set", "data"]).ends(2, &["expected `name=value`"]);
    run(&["n.pipe", "each", "--memory", "2"]).ends(2, &["512MiB"]);
    run(&["n.pipe", "each", "--workers", "0"]).ends(2, &["an integer from 1 to 1,024"]);
    let lanes = "pipeline p = paths(\"none/*\", lanes: 8) |> map { n: hash(path) } |> batch(2)\n";
    folder.write("l.pipe", lanes);
    let uneven = ["world size 3 does not divide 8 lanes", "such as 2", "`lanes: 9`"];
    run(&["l.pipe", "--world-size", "3"]).ends(2, &uneven);
    run(&["n.pipe", "each", "--disable-pass", "magic"])
        .ends(2, &["unknown pass `magic`", "the passes are"]);
    run(&["a.pipe", "a", "--set", "data=none"]).ends(5, &["cannot find the folder `none`"]);
}

#[test]
fn check_tells_every_mistake_once() {
    let wrong = "use f from \"gone.pipe\"\npipeline p = rang(3)\nconst C = 1 +\npipeline q = range(3) |> map f(i)\n";
    let folder = Folder::of("cli-check", &[("wrong.pipe", wrong), ("sub/n.pipe", NUMBERS)]);
    let check = folder.pipec(&["check", "wrong.pipe"]);
    check.ends(
        1,
        &["PC0201 no-such-file", "PC0107 unknown-function", "did you mean `range`?", "3 errors"],
    );
    assert_eq!(check.out, "");

    let check = folder.pipec(&["check", "wrong.pipe", "--json"]);
    assert_eq!((check.code, check.out.matches("\"code\"").count(), check.err.as_str()), (1, 3, ""));
    assert!(check.out.contains("\"line\": 2"), "{}", check.out);
    folder.pipec(&["check", "sub", "--no-lints"]).ends(0, &["1 file, no errors"]);
    folder.pipec(&["check", "wrong.pipe", "--color", "always"]).ends(1, &["\x1b["]);
}

#[test]
fn check_mends_and_speaks_to_other_programs() {
    let slips = "const N = 3\npipeline p = range(9) |> shufle |> batch(3)\n";
    let folder = Folder::of("cli-mend", &[("a b.pipe", slips), ("sub/n.pipe", NUMBERS)]);
    let form = |form: &str| folder.pipec(&["check", "a b.pipe", "--output-format", form]);
    let concise = form("concise");
    let expected =
        "a b.pipe:2:26: error[PC0107]: cannot find operator `shufle` (did you mean `shuffle`?)\n";
    assert_eq!((concise.code, concise.out.as_str(), concise.err.as_str()), (1, expected, ""));
    let github = form("github").out;
    let place =
        "file=a b.pipe,line=2,col=26,endLine=2,endColumn=32,title=PC0107 unknown-function::";
    assert!(github.starts_with("::error ") && github.contains(place), "{github}");
    let sarif: serde_json::Value = serde_json::from_str(&form("sarif").out).unwrap();
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!((&sarif["version"], &result["ruleId"]), (&"2.1.0".into(), &"PC0107".into()));
    let replacement = &result["fixes"][0]["artifactChanges"][0]["replacements"][0];
    assert_eq!(replacement["insertedContent"]["text"], "shuffle");
    assert_eq!(replacement["deletedRegion"]["startColumn"], 26);

    folder.pipec(&["check", "sub"]).ends(0, &["PC0402 missing-tail", "1 warning in 1 file"]);
    folder.pipec(&["explain", "PC0402"]).ends(0, &[]);
    folder.pipec(&["check", "a b.pipe", "--fix"]).ends(0, &["3 places fixed", "no errors"]);
    let mended = "pipeline p = range(9) |> shuffle |> batch(3, tail: drop)\n";
    assert_eq!(folder.read("a b.pipe"), mended);
}

#[test]
fn highlight_tells_what_each_word_is() {
    let folder = Folder::of("cli-highlight", &[("n.pipe", NUMBERS)]);
    let words = folder.pipec(&["highlight", "n.pipe", "--json"]);
    let words: Vec<serde_json::Value> = serde_json::from_str(&words.out).unwrap();
    let kind = |text: &str| {
        let found = words.iter().find(|it| it["text"] == text).unwrap();
        assert_eq!(&NUMBERS[found["start"].as_u64().unwrap() as usize..][..text.len()], text);
        found["kind"].as_str().unwrap().to_owned()
    };
    let kinds = ["pipeline", "train", "shuffle", "window", "odd", "2026"].map(kind);
    assert_eq!(kinds, ["keyword", "definition", "call", "argument", "field", "number"]);
    let plain = folder.pipec(&["highlight", "n.pipe"]);
    assert_eq!((plain.code, plain.out.as_str()), (0, NUMBERS));
}

#[test]
fn fmt_has_one_form() {
    let folder =
        Folder::of("cli-fmt", &[("a.pipe", "const  A=1\n"), ("wrong.pipe", "const A =\n")]);
    let check = folder.pipec(&["fmt", "--check", "a.pipe"]);
    assert_eq!((check.code, check.out.as_str()), (1, "a.pipe\n"));
    let diff = folder.pipec(&["fmt", "--diff", "a.pipe"]);
    assert_eq!(
        (diff.code, diff.out.as_str()),
        (1, "--- a.pipe\n+++ a.pipe\n@@ -1,1 +1,1 @@\n-const  A=1\n+const A = 1\n")
    );
    assert_eq!(folder.read("a.pipe"), "const  A=1\n");
    folder.pipec(&["fmt", "a.pipe"]).ends(0, &["1 of 1 file changed"]);
    assert_eq!(folder.read("a.pipe"), "const A = 1\n");
    folder.pipec(&["fmt", "--check", "a.pipe"]).ends(0, &[]);
    folder.pipec(&["fmt", "wrong.pipe"]).ends(1, &["PC00"]);

    let mut child = folder.command(&["fmt", "-"]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"const  B=2\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"const B = 2\n"[..]));
}

#[test]
fn explain_shows_plans_and_tells_stories() {
    let folder = Folder::of("cli-explain", &[("n.pipe", NUMBERS)]);
    let explain = |args: &[&str]| {
        let printed = folder.pipec(&[&["explain"], args].concat());
        printed.ends(0, &[]);
        printed.out
    };
    let text = explain(&["n.pipe", "train", "--verbose"]);
    assert!(text.contains("batch") && text.contains("n.pipe:5:"), "{text}");
    for form in ["source", "ast", "plan", "estimate", "program"] {
        assert!(!explain(&["n.pipe", "train", "--emit", form]).is_empty());
    }
    assert!(explain(&["n.pipe", "train", "--json"]).starts_with('{'));
    assert!(explain(&["PC0201"]).starts_with("PC0201 no-such-file\n"));
    assert_eq!(explain(&["no-such-file"]), explain(&["pc0201"]));
    folder.pipec(&["explain", "PC9999"]).ends(2, &["unknown code `PC9999`"]);
    folder.pipec(&["explain", "m.pipe"]).ends(5, &["cannot read `m.pipe`"]);
}

#[test]
fn sample_sets_are_made_once() {
    let program =
        "pipeline p = files(\"sample:images?count=3\") |> map { label: class_of(path) }\n";
    let folder = Folder::of("cli-sample", &[("p.pipe", program)]);
    let run = || {
        let mut command = folder.command(&["run", "p.pipe"]);
        Printed::of(&command.env("XDG_CACHE_HOME", folder.join("cache")).output().unwrap())
    };
    run().ends(0, &["generating 3 sample images", "p: 3 records"]);
    let again = run();
    again.ends(0, &["p: 3 records"]);
    assert!(!again.err.contains("making"), "{}", again.err);

    folder
        .pipec(&["sample", "images", "photos", "--count", "2"])
        .ends(0, &["2 images in `photos`"]);
    folder
        .pipec(&["sample", "images", "photos", "--count", "2"])
        .ends(0, &["contains these 2 images"]);
    folder
        .pipec(&["sample", "images", "photos", "--count", "5"])
        .ends(5, &["contains another set"]);
    folder.pipec(&["sample", "images", "none", "--count", "0"]).ends(2, &["1 to"]);
    // The other sets are those that programs name.
    for (kind, things, file) in [
        ("shards", "images", "00000.tar"),
        ("boxes", "images", "annotations.json"),
        ("tables", "rides", "rides"),
        ("text", "documents", "web"),
    ] {
        let args = ["sample", kind, kind, "--count", "9", "--seed", "3"];
        folder.pipec(&args).ends(0, &[&format!("9 {things} in `{kind}`")]);
        assert!(folder.join(kind).join(file).exists(), "{:?}", folder.files(kind).keys());
        let said = format!("`{kind}` already contains these 9 {things}");
        folder.pipec(&args).ends(0, &[&said]);
    }
    folder.pipec(&["sample", "tables", "photos"]).ends(5, &["photos"]);
}

#[test]
fn help_has_examples() {
    let folder = Folder::new("cli-help");
    for command in ["check", "fmt", "run", "explain", "build", "completions"] {
        let help = folder.pipec(&[command, "--help"]);
        assert!(help.code == 0 && help.out.contains("Example"), "{help:?}");
    }
    assert!(folder.pipec(&["completions", "bash"]).out.contains("pipec"));
    folder.pipec(&["runn"]).ends(2, &["run"]);
}

#[test]
fn a_format_that_is_not_written_is_refused() {
    let folder = Folder::of("out-format", &[("n.pipe", "edition 2026\npipeline n = range(4)\n")]);
    for (out, format) in [("x.h5", "HDF5"), ("a/x.CSV", "CSV"), ("x.csv.gz", "a compressed file")] {
        let said = folder.pipec(&["run", "n.pipe", "--out", out]);
        let named = format!("`--out {out}`: writing {format} is not supported yet");
        said.ends(2, &[&named, "a folder of NumPy files", "`--out - > x", "an Arrow IPC stream"]);
        assert!(!folder.join(out).exists());
    }
    folder.pipec(&["run", "n.pipe", "--out", "a/x.TFRecord"]).ends(
        2,
        &[
            "`--out a/x.TFRecord` names a file, but TFRecord is written as shards in a folder",
            "`--out x/ --format tfrecord`",
        ],
    );
    let run = |more: &[&str]| folder.pipec(&[&["run", "n.pipe"], more].concat());
    run(&["--format", "tar"]).ends(2, &["`--format tar` needs a folder", "add `--out DIR`"]);
    run(&["--format", "tarr", "--out", "z"]).ends(2, &["tarr", "npy, parquet, arrow, tfrecord"]);
    run(&["--format", "tar", "--shard", "2GiB", "--out", "z"]).ends(2, &["up to 1GiB"]);
    run(&["--format", "npy", "--shard", "9", "--out", "z"])
        .ends(2, &["`--format npy` writes no shards"]);
    // A folder may be called anything that is no format; or be there already; or be said to be one.
    fs::create_dir(folder.join("old.zip")).unwrap();
    for out in ["run.v2", "old.zip", "y.parquet/"] {
        folder.pipec(&["run", "n.pipe", "--out", out]).ends(0, &["4 records"]);
        assert!(folder.join(out).join("pipec.json").is_file(), "{out}");
    }
}

#[test]
fn a_small_set_may_lose_a_record() {
    let rows = |bad: usize| {
        (0..200)
            .map(|i| if i < bad { "x\n".to_owned() } else { format!("{i}\n") })
            .collect::<String>()
    };
    let text =
        "edition 2026\npipeline p = lines(\"rows.txt\") |> map { n: parse_int(text) else skip }\n";
    let folder = Folder::of("lose-one", &[("p.pipe", text), ("rows.txt", &rows(1))]);
    folder.pipec(&["run", "p.pipe"]).ends(0, &["199 records"]);
    folder.write("rows.txt", &rows(3));
    let said = [
        "records failed (1.5%), but `else skip(most: 0.001)` allows 1",
        "or write `else skip(most: 0.02)`",
    ];
    folder.pipec(&["run", "p.pipe"]).ends(3, &said);
    folder.write("p.pipe", &text.replace("else skip", "else skip(most: 0.02)"));
    folder.pipec(&["run", "p.pipe"]).ends(0, &["197 records"]);
}
