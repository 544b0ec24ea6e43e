//! What runs write into a store: the objects are the files that they would write into a folder, also where runs are
//! killed, requests fail and something else is there already.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![cfg(feature = "stores")]

mod common;

use common::{Files, Folder, KEY, Printed, SECRET, store_vars};
use loopback::{Fault, Manner, Server};
use std::{
    fs,
    process::{Command, Stdio},
    sync::atomic::Ordering::Relaxed,
    thread::sleep,
    time::{Duration, Instant},
};

const PROGRAM: &str = r#"edition 2026
pipeline batches = range(100) |> shuffle |> map { x: [f32(i), f32(i) / 3], name: text_of(i) } |> batch(4)
pipeline records =
    range(1000) |> map { key: text_of(i), n: i, v: [f32(i), f32(i) / 3, 7.0], png: encode_png(plasma(i, 4, 4)) }
pipeline rows = range(1000) |> map { n: i, name: text_of(i * 7) }
"#;

/// A folder with a bucket, what serves it, and programs that are run beside it.
struct Store {
    folder: Folder,
    server: Server,
}

impl Store {
    fn new(name: &str, manner: Manner) -> Self {
        let folder = Folder::quick_of(&format!("outputs-{name}"), &[("p.pipe", PROGRAM)]);
        fs::create_dir_all(folder.join("served/bucket")).unwrap();
        let server = Server::start(&folder.join("served"), manner).unwrap();
        Self { folder, server }
    }

    /// `pipec run` of a pipeline, about to be run.
    fn command(&self, pipeline: &str, args: &[&str]) -> Command {
        let mut command = self.folder.command(&["run", "p.pipe", pipeline]);
        command.args(args).envs(store_vars(self.server.url()));
        command
    }

    fn run(&self, pipeline: &str, args: &[&str]) -> Printed {
        let printed = Printed::of(&self.command(pipeline, args).output().unwrap());
        let said = format!("{}{}", printed.out, printed.err);
        assert!(!said.contains(KEY) && !said.contains(SECRET), "{said}");
        printed
    }

    /// The objects below a prefix.
    fn objects(&self, prefix: &str) -> Files {
        self.folder.files(&format!("served/bucket/{prefix}"))
    }

    /// Asserts that a prefix holds what a run writes into a folder.
    #[track_caller]
    fn is_as_in_a_folder(&self, prefix: &str, pipeline: &str, args: &[&str]) {
        let _ = fs::remove_dir_all(self.folder.join("folder"));
        self.run(pipeline, &[&["--out", "folder"], args].concat()).ends(0, &[]);
        let (expected, found) = (self.folder.files("folder"), self.objects(prefix));
        let names = |it: &Files| it.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&found), names(&expected), "{prefix}");
        for (name, bytes) in &expected {
            assert!(found[name] == *bytes, "{prefix}: {name} differs");
        }
    }
}

/// The same server is a store of Google and one of Azure; some requests fail, also after they were carried out.
#[test]
fn every_service_is_written_to() {
    let write_fault = |it: usize| match it % 13 {
        1 => Some(Fault::Status(503)),
        7 => Some(Fault::Reset),
        _ => None,
    };
    let store = Store::new("services", Manner { page: 7, write_fault, ..Manner::default() });
    for scheme in ["gs", "az"] {
        let out = format!("{scheme}://bucket/{scheme}");
        store.run("batches", &["--out", &out]).ends(0, &[&format!("in `{out}`")]);
        store.is_as_in_a_folder(scheme, "batches", &[]);
        // What was there before is removed.
        store.run("rows", &["--out", &out]).ends(5, &["will not be overwritten"]);
        let over = ["--format", "jsonl", "--shard", "300"];
        store.run("rows", &[&["--out", &out, "--overwrite"], &over[..]].concat()).ends(0, &[]);
        store.is_as_in_a_folder(scheme, "rows", &over);
    }
}

#[test]
fn every_format_is_in_a_store_what_it_is_in_a_folder() {
    let store = Store::new("formats", Manner { page: 7, ..Manner::default() });
    let write = |pipeline: &str, format: &str| {
        let out = format!("s3://bucket/{pipeline}/{format}");
        let args = ["--format", format, "--shard", "300"];
        let args = if format == "npy" { &args[..2] } else { &args };
        store.run(pipeline, &[&["--out", &out], args].concat()).ends(0, &[&format!("in `{out}`")]);
        store.is_as_in_a_folder(&format!("{pipeline}/{format}"), pipeline, args);
    };
    write("batches", "npy");
    write("records", "npy");
    for format in ["tfrecord", "tar", "mds", "jsonl", "safetensors", "arrow", "parquet"] {
        let is_written = format != "arrow" && format != "parquet" || cfg!(feature = "tables");
        if is_written {
            write(if format == "jsonl" { "rows" } else { "records" }, format);
        }
    }
    // What reads a store finds there what was written.
    let source = "jsonl(\"s3://bucket/rows/jsonl/0*.jsonl\") |> map { n: row[\"n\"] as i64, name: row[\"name\"] as str }";
    let text = format!("edition 2026\npipeline again = {source}\n");
    store.folder.write("p.pipe", &text);
    let args = ["--format", "jsonl", "--shard", "300"];
    store.run("again", &[&["--out", "s3://bucket/again/"], &args[..]].concat()).ends(0, &[]);
    let shards = |prefix: &str| {
        let mut found = store.objects(prefix);
        found.retain(|it, _| it.starts_with("0000"));
        found
    };
    assert!(shards("again") == shards("rows/jsonl") && shards("again").len() == 4);
}

#[test]
fn requests_that_fail_are_made_again() {
    let fault = |number| match number % 7 {
        2 => Some(Fault::Status(503)),
        4 => Some(Fault::Reset),
        6 => Some(Fault::Slow(30)),
        _ => None,
    };
    let store = Store::new("faults", Manner { write_fault: fault, ..Manner::default() });
    store.run("batches", &["--out", "s3://bucket/a"]).ends(0, &[]);
    store.is_as_in_a_folder("a", "batches", &[]);
    assert!(store.server.counts().writes.load(Relaxed) > 60, "{:?}", store.server.counts());
}

#[test]
fn several_objects_are_under_way_at_a_time() {
    let latency = Duration::from_millis(100);
    let store = Store::new("many", Manner { latency, ..Manner::default() });
    let begun = Instant::now();
    store.run("batches", &["--out", "s3://bucket/a"]).ends(0, &[]);
    let took = begun.elapsed();
    let counts = store.server.counts();
    assert!(counts.writes_most.load(Relaxed) >= 8, "{counts:?}");
    // 53 objects one after the other.
    assert!(took < latency * 50, "{took:?}");
    store.is_as_in_a_folder("a", "batches", &[]);
}

#[test]
fn where_output_cannot_be_written_is_told() {
    let store = Store::new("told", Manner::default());
    let run = |out: &str| store.run("batches", &["--out", out]);
    let url = format!("{}/bucket/a?signature={SECRET}", store.server.url());
    run(&url).ends(2, &["cannot be written to a web server", "--out s3://bucket/prefix"]);
    run("ftp://bucket/a").ends(2, &["there is no storage that `ftp://` stands for"]);
    run("S3://bucket/a").ends(2, &["write `s3://`"]);
    run("s3://bucket/a.parquet").ends(2, &["`--out s3://bucket/a/ --format parquet`"]);
    run("s3://").ends(5, &["there is no bucket in its name"]);
    run("s3://other/a").ends(5, &["NoSuchBucket", "AWS_ENDPOINT_URL"]);
    store.server.set(Manner { write_fault: |_| Some(Fault::Status(403)), ..Manner::default() });
    run("s3://bucket/a")
        .ends(5, &["s3://bucket/a/pipec.json`: cannot be written", "aws configure"]);
    store.server.set(Manner {
        write_fault: |it| (it > 12).then_some(Fault::Status(403)),
        ..Manner::default()
    });
    // Any of those that are under way at a time.
    run("s3://bucket/a")
        .ends(5, &["/000000", "`: cannot be written: the store denies access", "aws configure"]);
    assert!(store.objects("a").contains_key("pipec.json"));
    assert!(!store.objects("a").contains_key("pipec.files.jsonl"), "it names what is not there");
}

#[test]
fn what_pipec_did_not_write_stays() {
    let store = Store::new("other", Manner { page: 3, ..Manner::default() });
    let run = |args: &[&str]| store.run("batches", &[&["--out", "s3://bucket/a"], args].concat());
    store.folder.write("served/bucket/a/thesis.txt", "x");
    run(&[]).ends(5, &["contains objects that are not the output of a run"]);
    run(&["--overwrite"]).ends(5, &["contains objects that are not the output of a run"]);
    fs::remove_file(store.folder.join("served/bucket/a/thesis.txt")).unwrap();

    run(&[]).ends(0, &[]);
    let first = store.objects("a");
    run(&["--seed", "1"]).ends(5, &["of `--seed 0`, but this run has 1", "--overwrite"]);
    assert!(store.objects("a") == first);
    for name in ["thesis.txt", "x/thesis.txt", "x/1.npy", "y/00000000.npy"] {
        store.folder.write(&format!("served/bucket/a/{name}"), "x");
    }
    store.folder.write("served/bucket/ab/00000000.npy", "x");
    run(&["--seed", "1", "--limit", "3", "--overwrite"]).ends(0, &[]);
    let mut found = store.objects("a");
    for name in ["thesis.txt", "x/thesis.txt", "x/1.npy", "y/00000000.npy"] {
        assert_eq!(found.remove(name).as_deref(), Some(&b"x"[..]), "{name}");
        fs::remove_file(store.folder.join("served/bucket/a").join(name)).unwrap();
    }
    assert_eq!(found.len(), 2 + 2 * 3);
    assert_eq!(store.objects("ab").len(), 1);
    store.is_as_in_a_folder("a", "batches", &["--seed", "1", "--limit", "3"]);
}

/// Where objects are damaged, the epoch is made again; where there are more than were counted, they go.
#[test]
fn a_run_that_goes_on_looks_at_what_is_there() {
    let store = Store::new("resume", Manner { page: 7, ..Manner::default() });
    let run = |limit: &str| {
        let args = ["--out", "s3://bucket/a", "--checkpoint", "a.state", "--epochs", "2"];
        store.run("batches", &[&args[..], &["--limit", limit]].concat())
    };
    run("30").ends(0, &[]);
    store.folder.write("served/bucket/a/x/00000031.npy", "more");
    store.folder.write("served/bucket/a/x/00000032.npy", "more");
    run("32").ends(0, &["resumed after 30 batches"]);
    assert!(!store.objects("a").contains_key("x/00000032.npy"), "it was never counted");
    store.is_as_in_a_folder("a", "batches", &["--epochs", "2", "--limit", "32"]);

    store.folder.write("served/bucket/a/x/00000027.npy", "damaged");
    run("34").ends(
        0,
        &["`x/00000027.npy` has 7 bytes, but 160 were written", "after the first 25 batches"],
    );
    store.is_as_in_a_folder("a", "batches", &["--epochs", "2", "--limit", "34"]);
    fs::remove_file(store.folder.join("served/bucket/a/name/00000003.jsonl")).unwrap();
    run("36").ends(0, &["`name/00000003.jsonl` is missing; recomputed everything"]);
    fs::remove_file(store.folder.join("served/bucket/a/pipec.files.jsonl")).unwrap();
    run("38").ends(0, &["`pipec.files.jsonl` is missing; recomputed everything"]);
    store.is_as_in_a_folder("a", "batches", &["--epochs", "2", "--limit", "38"]);

    // That it cannot be looked at is no damage.
    store.server.set(Manner { fault: |_| Some(Fault::Status(403)), ..Manner::default() });
    run("40").ends(5, &["aws configure"]);
    store.server.set(Manner::default());
    run("40").ends(0, &["resumed after 38 batches"]);
}

#[cfg(unix)]
#[test]
fn a_signal_ends_a_run_whose_store_does_not_answer() {
    let fault = |number| (number > 20).then_some(Fault::Status(503));
    let store = Store::new("signal", Manner { write_fault: fault, ..Manner::default() });
    let args = ["--out", "s3://bucket/a", "--checkpoint", "a.state", "--checkpoint-every", "0ms"];
    let args = [&args[..], &["--chunk-rows", "1"]].concat();
    let child = store.command("batches", &args).stderr(Stdio::piped()).spawn().unwrap();
    until(|| store.server.counts().writes.load(Relaxed) > 30);
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let begun = Instant::now();
    let printed = Printed::of(&child.wait_with_output().unwrap());
    assert_eq!(printed.code, 130, "{printed:#?}");
    assert!(begun.elapsed() < Duration::from_secs(20), "it tries on");
    assert!(store.objects("a")["pipec.json"].windows(5).any(|it| it == b"false"));
    store.server.set(Manner::default());
    store.run("batches", &args).ends(0, &[]);
    store.is_as_in_a_folder("a", "batches", &[]);
}

#[track_caller]
fn until(is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not come");
        sleep(Duration::from_millis(2));
    }
}
