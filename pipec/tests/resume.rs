//! What a saved state belongs to, and what is said to a run of anything else.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Folder, Printed};
use std::{fs, path::Path};

const PROGRAM: &str = "\
edition 2026

param data: path

pipeline p = lines(\"{data}/*.txt\") |> map { n: len(text) } |> batch(4)
";

impl Folder {
    /// A program, its data, and the state of a run that has given five batches.
    fn with_state(name: &str) -> Self {
        let folder = Self::quick_of(&format!("resume-{name}"), &[("p.pipe", PROGRAM)]);
        for file in 0..3 {
            folder.write(&format!("data/{file}.txt"), &"some text\nand more\n".repeat(10));
        }
        folder.run(&["--limit", "5"]).ends(0, &[]);
        folder
    }

    fn run(&self, more: &[&str]) -> Printed {
        let args = ["run", "p.pipe", "--set", "data=data", "--checkpoint", "s.json", "--json"];
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
    folder.refuses(&["--seed", "4"], "written with seed 0, but this run has seed 4");
    folder.write("p.pipe", &PROGRAM.replace("batch(4)", "batch(5)"));
    folder.refuses(&[], "changed since, in `p.batch#1`");
    folder.write("p.pipe", &PROGRAM.replace("|> map", "|> where len(text) > 3 |> map"));
    folder.refuses(&[], "it had 3 steps and now has 4");
    folder.write("p.pipe", PROGRAM);
    folder.write("data/3.txt", "one more\n");
    folder.refuses(&[], "were 3 files, 570 bytes and now are 4 files, 579 bytes");
    fs::remove_file(folder.join("data/3.txt")).unwrap();

    let state = folder.read("s.json");
    assert!(state.len() < 1024, "{state}");
    for (damage, why) in [
        (state[..state.len() / 2].to_owned(), "it is truncated"),
        (state.replace("\"outputs\":5", "\"outputs\":6"), "its checksum"),
        (state.replace("\"format\":1", "\"format\":9"), "newer pipec"),
        ("{}".to_owned(), "it is not a checkpoint"),
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

/// An epoch is 63 batches, or five pieces of records with a text.
const NUMBERS: &str = "\
edition 2026

fn x(i) = f32(i) + uniform(0.0, 1.0)

pipeline batches = range(250) |> shuffle |> map { x: x(i), t: i } |> batch(4, tail: keep)
pipeline records = range(20_000) |> map { x: x(i), t: text_of(i) }
";

/// Runs a pipeline of it into `out`, which goes on from `s.json` if that is there.
fn run_into(folder: &Folder, what: &[&str], more: &[&str]) -> Printed {
    let args = ["run", "p.pipe", "--out", "out", "--checkpoint", "s.json"];
    folder.pipec(&[&args[..], what, more].concat())
}

/// What to do to an output of two epochs.
type Damage = fn(&Path);

const DAMAGES: &[(&str, Damage)] = &[
    ("a file is missing", |out| fs::remove_file(out.join("x/00000003.npy")).unwrap()),
    ("one is cut", |out| cut(&out.join("x/00000001.npy"), 130)),
    ("one has another bit", |out| flip(&out.join("x/00000000.npy"))),
    ("the newest has another bit", |out| flip(&newest(&out.join("t")))),
    ("many are empty", |out| {
        let all = fs::read_dir(out.join("t")).unwrap().flatten();
        all.for_each(|it| fs::write(it.path(), "").unwrap());
    }),
    ("many are empty, and one is missing", |out| {
        fs::read_dir(out.join("x")).unwrap().flatten().for_each(|it| cut(&it.path(), 0));
        fs::remove_file(newest(&out.join("x"))).unwrap();
    }),
    ("a field is missing", |out| fs::remove_dir_all(out.join("x")).unwrap()),
    ("the list is missing", |out| fs::remove_file(out.join("pipec.files.jsonl")).unwrap()),
    ("the list is cut", |out| cut(&out.join("pipec.files.jsonl"), 1000)),
    ("the list has another bit", |out| flip(&out.join("pipec.files.jsonl"))),
    ("the list has another epoch", |out| {
        let list = out.join("pipec.files.jsonl");
        let text = fs::read_to_string(&list).unwrap();
        let (before, last) = text.trim_end().rsplit_once('\n').unwrap();
        fs::write(&list, format!("{before}\n{}\n", last.replace(r#""epoch":1"#, r#""epoch":2"#)))
            .unwrap();
    }),
];

fn cut(file: &Path, n_bytes: u64) {
    fs::File::options().write(true).open(file).unwrap().set_len(n_bytes).unwrap();
}

fn flip(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    let middle = bytes.len() - 3;
    bytes[middle] ^= 1;
    fs::write(file, bytes).unwrap();
}

fn newest(folder: &Path) -> std::path::PathBuf {
    fs::read_dir(folder).unwrap().flatten().map(|it| it.path()).max().unwrap()
}

fn put_back(folder: &Folder, name: &str, files: &common::Files) {
    let _ = fs::remove_dir_all(folder.join(name));
    for (file, bytes) in files {
        let path = folder.join(name).join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

#[test]
fn what_is_damaged_or_missing_is_made_again() {
    let folder = Folder::quick_of("resume-damaged", &[("p.pipe", NUMBERS)]);
    let of_rank = &["batches", "--world-size", "2", "--rank", "1"][..];
    let few = &DAMAGES[5..8];
    for (what, damages) in [(&["batches"][..], DAMAGES), (&["records"], few), (of_rank, &[])] {
        let (_, _) =
            (fs::remove_file(folder.join("s.json")), fs::remove_dir_all(folder.join("out")));
        run_into(&folder, what, &["--epochs", "3"]).ends(0, &[]);
        let (whole, _) = (folder.files("out"), fs::remove_file(folder.join("s.json")));
        assert!(whole.len() > 20, "{:?}", whole.keys());
        run_into(&folder, what, &["--epochs", "2", "--overwrite"]).ends(0, &[]);
        let (half, state) = (folder.files("out"), folder.read("s.json"));
        for (name, damage) in damages {
            put_back(&folder, "out", &half);
            folder.write("s.json", &state);
            damage(&folder.join("out"));
            let it = run_into(&folder, what, &["--epochs", "3"]);
            it.ends(0, &["the output was damaged", "recomputed"]);
            let found = folder.files("out");
            assert!(found.keys().eq(whole.keys()), "{name}: {what:?}: {:?}", found.keys());
            let other = whole.iter().find(|it| found[it.0] != *it.1);
            assert!(other.is_none(), "{name}: {what:?}: {:?} differs", other.map(|it| it.0));
        }
        // The epochs before the damage stay.
        put_back(&folder, "out", &half);
        folder.write("s.json", &state);
        flip(&newest(&folder.join("out/x")));
        run_into(&folder, what, &["--epochs", "3"]).ends(0, &["everything after the first"]);
        assert!(folder.files("out") == whole, "{what:?}");
    }
}

#[test]
fn a_state_may_be_ahead_of_what_is_on_the_disk() {
    let folder = Folder::quick_of("resume-ahead", &[("p.pipe", NUMBERS)]);
    run_into(&folder, &["batches"], &["--epochs", "2", "--limit", "70"]).ends(0, &[]);
    let (few, whole) = (folder.files("out"), {
        run_into(&folder, &["batches"], &["--epochs", "2"]).ends(0, &[]);
        folder.files("out")
    });
    put_back(&folder, "out", &few);
    let it = run_into(&folder, &["batches"], &["--epochs", "2"]);
    it.ends(0, &["the output was damaged: `pipec.files.jsonl` is damaged from line 71 on"]);
    assert!(folder.files("out") == whole);

    // Nothing at all is more likely another folder than a damaged one.
    fs::remove_dir_all(folder.join("out")).unwrap();
    run_into(&folder, &["batches"], &["--epochs", "2"])
        .ends(4, &["contains no output", "use the folder"]);
}

#[test]
fn less_than_there_is_already_is_not_complete() {
    let folder = Folder::quick_of("resume-less", &[("p.pipe", NUMBERS)]);
    run_into(&folder, &["batches"], &["--epochs", "3", "--limit", "140"]).ends(0, &[]);
    let before = (folder.files("out"), folder.read("s.json"));
    for (less, more) in [("--epochs=1", "`--epochs 3`"), ("--limit=139", "`--limit 140`")] {
        run_into(&folder, &["batches"], &[less])
            .ends(4, &["already has 140 outputs in 3 epochs", more]);
        assert!((folder.files("out"), folder.read("s.json")) == before, "{less}");
    }
    // As much as there is, or more, goes on; while it does, nothing is complete.
    run_into(&folder, &["batches"], &["--epochs", "3", "--limit", "140"]).ends(0, &[]);
    run_into(&folder, &["batches"], &["--epochs", "3"]).ends(0, &[]);
    for epochs in ["2", "4"] {
        let code = if epochs == "2" { 4 } else { 0 };
        run_into(&folder, &["batches"], &["--epochs", epochs]).ends(code, &[]);
    }
    assert_eq!(fs::read_dir(folder.join("out/x")).unwrap().count(), 4 * 63);
}

#[test]
fn a_folder_of_another_run_is_neither_gone_on_with_nor_replaced() {
    let folder = Folder::quick_of("resume-other", &[("p.pipe", NUMBERS)]);
    run_into(&folder, &["batches"], &["--limit", "9"]).ends(0, &[]);
    let nine = folder.read("s.json");
    // With another seed it is not gone on with.
    fs::remove_file(folder.join("s.json")).unwrap();
    run_into(&folder, &["batches"], &["--seed", "4", "--limit", "9", "--overwrite"]).ends(0, &[]);
    folder.write("s.json", &nine);
    let of_four = folder.files("out");
    run_into(&folder, &["batches"], &[]).ends(4, &["`--seed 4`, but this run has 0"]);
    assert!(folder.files("out") == of_four);

    // The finished output of another pipeline stays, unless it is said that it may go.
    let plain = |what: &[&str]| folder.pipec(&[&["run", "p.pipe", "--out", "out"], what].concat());
    plain(&["records"]).ends(5, &["another pipeline, `batches`", "another folder", "--overwrite"]);
    folder.write("p.pipe", &NUMBERS.replace("batch(4", "batch(5"));
    plain(&["batches"]).ends(5, &["it has changed since", "--overwrite"]);
    assert!(folder.files("out") == of_four);
    plain(&["records", "--overwrite"]).ends(0, &[]);
    assert!(folder.read("out/pipec.json").contains("\"pipeline\": \"records\""));
    // One that was broken off goes: nobody counts on it.
    let manifest =
        folder.read("out/pipec.json").replace("\"complete\": true", "\"complete\": false");
    folder.write("out/pipec.json", &manifest);
    plain(&["batches"]).ends(0, &[]);
}

#[test]
fn a_finished_output_is_replaced_by_that_of_the_same_run_alone() {
    let program = "edition 2026\n\nparam data = \"a.txt\"\nparam n = 4\n\
                   pipeline p = lines(data) |> take(n) |> batch(2, tail: drop)\n";
    let folder = Folder::quick_of("resume-extent", &[("p.pipe", program)]);
    folder.write("a.txt", "1\n2\n3\n4\n");
    folder.write("b.txt", "5\n6\n7\n8\n");
    let run = |more: &[&str]| folder.pipec(&[&["run", "p.pipe", "--out", "out"], more].concat());
    run(&[]).ends(0, &[]);
    let before = folder.files("out");
    run(&[]).ends(0, &[]);
    for (more, told) in [
        (&["--seed", "3"][..], "the output of `--seed 0`, but this run has 3"),
        (&["--epochs", "2"], "the output of `--epochs 1`, but this run has 2"),
        (&["--limit", "1"], "an output without a limit, but this run has `--limit 1`"),
        (&["--set", "n=2"], "another pipeline: it has changed since, or has other parameters"),
        (&["--set", "data=b.txt"], "the output of other inputs: a source had other files"),
    ] {
        run(more).ends(5, &[told, "use another folder, or add `--overwrite`"]);
        assert!(folder.files("out") == before, "{more:?}");
    }
    run(&["--limit", "1", "--overwrite"]).ends(0, &[]);
    run(&[]).ends(5, &["the output of `--limit 1`, but this run has none"]);
    // A checkpoint that has written nothing yet does not go on with it.
    let state = ["--checkpoint", "s.json", "--limit", "1"];
    folder.pipec(&[&["run", "p.pipe"], &state[..]].concat()).ends(0, &[]);
    run(&["--checkpoint", "s.json"]).ends(5, &["the output of `--limit 1`"]);
}

#[test]
fn ranks_do_not_share_the_file_of_their_lost_records() {
    let program = "edition 2026\n\n\
                   pipeline p = lines(\"t.txt\") |> map { n: parse_int(text) else skip(most: 0.5) } |> batch(2)\n";
    let folder = Folder::quick_of("resume-lost", &[("p.pipe", program)]);
    folder.write("t.txt", &"1\nx\n2\n".repeat(20));
    let program = program.replace("lines(\"t.txt\")", "lines(\"t.txt\", lanes: 2)");
    folder.write("p.pipe", &program);
    let run = |rank: &str| {
        let run =
            ["run", "p.pipe", "--world-size", "2", "--rank", rank, "--quarantine", "lost.jsonl"];
        folder.pipec(&run)
    };
    run("0").ends(0, &["failed "]);
    let lost = folder.read("lost.jsonl");
    assert!(lost.starts_with("{\"rank\":0,\"source\":"), "{lost}");
    run("1").ends(5, &["the records of rank 0", "its own file"]);
    assert_eq!(folder.read("lost.jsonl"), lost);
    run("0").ends(0, &[]);
    assert_eq!(folder.read("lost.jsonl"), lost);
}
