//! Files of an object store and of a web server: what is read, what is said where that is impossible, and that no key
//! is ever written anywhere.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![cfg(feature = "stores")]

mod common;

use common::{Folder, KEY, Printed, SECRET, store_vars};
use loopback::{Fault, Manner, Server};
use std::{
    fs,
    process::{Command, Stdio},
    sync::atomic::Ordering::Relaxed,
    thread::sleep,
    time::{Duration, Instant},
};

/// A folder with a bucket, what serves it, and programs that are run beside it.
struct Store {
    folder: Folder,
    server: Server,
}

impl Store {
    fn new(name: &str, manner: Manner) -> Self {
        let folder = Folder::new(name);
        folder.write("served/bucket/t/x.csv", "a,b\n1,2\n3,4\n");
        folder.write("served/bucket/t/y.csv", "a,b\n5,6\n");
        folder.write("served/bucket/with space/a+b%c.csv", "a,b\n7,8\n");
        for number in 0..60 {
            folder.write(&format!("served/bucket/many/{number}.txt"), &"text\n".repeat(number));
        }
        let server = Server::start(&folder.join("served"), manner).unwrap();
        Self { folder, server }
    }

    /// `pipec`, about to be run with a program; `URL` in it is the server's.
    fn command(&self, args: &[&str], source: &str) -> Command {
        let text = format!("edition 2026\npipeline p = {source}\n");
        self.folder.write("p.pipe", &text.replace("URL", &self.server.url()));
        let mut command = self.folder.command(args);
        command.envs(store_vars(self.server.url()));
        command
    }

    fn pipec(&self, args: &[&str], source: &str) -> Printed {
        Printed::of(&self.command(args, source).output().unwrap())
    }

    /// The records of a source, as JSON.
    fn records(&self, source: &str) -> String {
        let printed = self.pipec(&["run", "p.pipe", "--out", "out", "--format", "jsonl"], source);
        assert_eq!(printed.code, 0, "{printed:#?}");
        let files = self.folder.files("out");
        fs::remove_dir_all(self.folder.join("out")).unwrap();
        let shards = files.iter().filter(|it| it.0.starts_with("0000"));
        shards.map(|it| String::from_utf8_lossy(it.1)).collect()
    }
}

#[test]
fn objects_and_files_of_a_server_are_read() {
    let store = Store::new("stores-read", Manner { page: 7, ..Manner::default() });
    let both = "{\"a\":1,\"b\":2}\n{\"a\":3,\"b\":4}\n{\"a\":5,\"b\":6}\n";
    let odd = "{\"a\":7,\"b\":8}\n";
    assert_eq!(store.records("csv(\"s3://bucket/t/*.csv\")"), both);
    assert_eq!(store.records("csv(\"s3://bucket/**/[xy].csv\")"), both);
    assert_eq!(store.records("csv(\"s3://bucket/with space/*.csv\")"), odd);
    assert_eq!(store.records("csv(\"URL/bucket/t/{x,y}.csv\")"), both);
    assert_eq!(store.records("csv(\"URL/bucket/with%20space/a+b%25c.csv\")"), odd);
    let lines = store.records("lines(\"s3://bucket/many/{0..59}.txt\")");
    assert_eq!(lines.lines().count(), 59 * 60 / 2);
    assert_eq!(lines, store.records("lines(\"served/bucket/many/*.txt\")"));
}

/// The same server is a store of Google and one of Azure.
#[test]
fn every_service_reads_the_same() {
    let store = Store::new("stores-services", Manner { page: 7, ..Manner::default() });
    let read = |scheme: &str| {
        let csv = store.records(&format!("csv(\"{scheme}://bucket/t/*.csv\")"));
        let odd = store.records(&format!("csv(\"{scheme}://bucket/with space/*.csv\")"));
        let deep = store.records(&format!("csv(\"{scheme}://bucket/**/[xy].csv\")"));
        csv + &odd + &deep + &store.records(&format!("lines(\"{scheme}://bucket/many/*.txt\")"))
    };
    let expected = read("s3");
    assert!(expected.starts_with("{\"a\":1,\"b\":2}\n"), "{expected}");
    for scheme in ["gs", "az", "abfs"] {
        assert_eq!(read(scheme), expected, "{scheme}");
    }
    // Now and then a request fails.
    let fault = |it: usize| match it % 31 {
        1 => Some(Fault::Status(503)),
        11 => Some(Fault::Reset),
        21 => Some(Fault::Short),
        _ => None,
    };
    store.server.set(Manner { page: 7, fault, ..Manner::default() });
    for scheme in ["gs", "az"] {
        assert_eq!(read(scheme), expected, "{scheme} with faults");
        let run = |source: &str| store.pipec(&["run", "p.pipe"], &source.replace("S3", scheme));
        run("csv(\"S3://bucket/t/z.csv\")").ends(5, &["did you mean", "://bucket/t/x.csv`"]);
        run("csv(\"S3://bucket/u/*.csv\")").ends(5, &["no objects whose names begin with"]);
        run("csv(\"S3://other/t/*.csv\")").ends(5, &["NoSuchBucket", "check the name"]);
    }
}

#[test]
fn a_file_that_an_argument_names_may_lie_in_a_store() {
    let store = Store::new("stores-lookup", Manner::default());
    store.folder.write("served/bucket/keys.txt", "3\n<unknown>\n1\n");
    let ids = |table: &str| {
        format!("csv(\"s3://bucket/t/*.csv\") |> map {{ id: lookup(a, \"{table}\", unknown: 1) }}")
    };
    let expected = "{\"id\":2}\n{\"id\":0}\n{\"id\":1}\n";
    assert_eq!(store.records(&ids("s3://bucket/keys.txt")), expected);
    assert_eq!(store.records(&ids("URL/bucket/keys.txt")), expected);
    let missing = store.pipec(&["check", "p.pipe"], &ids("s3://bucket/key.txt"));
    missing.ends(5, &["cannot find the file `s3://bucket/key.txt`"]);
}

#[test]
fn what_cannot_be_read_is_told() {
    let store = Store::new("stores-told", Manner::default());
    let run = |source: &str| store.pipec(&["run", "p.pipe"], source);
    run("csv(\"s3://other/t/*.csv\")").ends(5, &["NoSuchBucket", "AWS_ENDPOINT_URL"]);
    run("csv(\"s3://bucket/t/z.csv\")").ends(5, &["did you mean `s3://bucket/t/x.csv`"]);
    run("csv(\"s3://bucket/u/*.csv\")").ends(5, &["no objects whose names begin with"]);
    run("csv(\"s3://bucket/t\")").ends(5, &["is a folder: use `s3://bucket/t/*`"]);
    run("csv(\"s3://bucket\")").ends(1, &["no file is named after `s3://`"]);
    run("csv(\"URL/bucket/t/*.csv\")").ends(5, &["write out the names of its files"]);
    run("csv(\"URL/bucket/t/z.csv\")").ends(5, &["check the URL"]);
    run("csv(\"S3://bucket/t/*.csv\")").ends(1, &["PC0138", "write `s3://bucket/t/*.csv`"]);
    store.server.set(Manner { fault: |_| Some(Fault::Status(403)), ..Manner::default() });
    run("lines(\"s3://bucket/many/1.txt\")").ends(5, &["AWS_SKIP_SIGNATURE"]);
}

#[test]
fn no_key_is_written_anywhere() {
    let store = Store::new("stores-keys", Manner { page: 7, ..Manner::default() });
    let source = "lines(\"s3://bucket/many/*.txt\") |> shuffle |> batch(8)";
    let out = ["--out", "out", "--checkpoint", "state", "--metrics", "metrics.jsonl"];
    let mut said = Vec::new();
    for args in [
        &[&["run", "p.pipe", "--stats", "json"][..], &out[..4]].concat()[..],
        &["explain", "p.pipe", "--verbose"],
        &["explain", "p.pipe", "--html", "plan.html"],
        &["build", "p.pipe"],
        &["profile", "p.pipe"],
    ] {
        said.push(store.pipec(args, source));
    }
    store.server.set(Manner { fault: |_| Some(Fault::Status(403)), ..Manner::default() });
    said.push(store.pipec(&["run", "p.pipe"], source));
    assert!(store.server.heads().iter().any(|it| it.contains(KEY)), "nothing was signed");
    for told in &said {
        assert!(!told.out.contains(KEY) && !told.err.contains(KEY), "{told:#?}");
        assert!(!told.out.contains(SECRET) && !told.err.contains(SECRET), "{told:#?}");
    }
    let is_in = |bytes: &[u8], it: &str| bytes.windows(it.len()).any(|at| at == it.as_bytes());
    for (name, bytes) in store.folder.files("") {
        assert!(!is_in(&bytes, KEY) && !is_in(&bytes, SECRET), "{name} holds a key");
    }
}

#[test]
fn an_object_that_changes_meanwhile_is_not_used() {
    let store = Store::new("stores-changed", Manner::default());
    store.server.set(Manner { latency: Duration::from_millis(100), ..Manner::default() });
    let source = "files(\"s3://bucket/many/*.txt\") |> map { n: len(bytes) } |> batch(1)";
    let args = ["run", "p.pipe", "--chunk-rows", "1", "--workers", "1"];
    let child = store.command(&args, source).stderr(Stdio::piped()).spawn().unwrap();
    until(|| store.server.counts().gets.load(Relaxed) > 0);
    for number in 30..60 {
        store.folder.write(&format!("served/bucket/many/{number}.txt"), "other");
    }
    let printed = Printed::of(&child.wait_with_output().unwrap());
    printed.ends(3, &["changed while it was read", "s3://bucket/many/"]);
}

#[test]
fn a_run_waits_for_a_store_that_is_away() {
    let store = Store::new("stores-away", Manner::default());
    let source = "files(\"s3://bucket/many/*.txt\") |> map { n: len(bytes) }";
    let args = ["run", "p.pipe", "--chunk-rows", "1", "--out", "out", "--format", "jsonl"];
    let expected = store.pipec(&args, source);
    expected.ends(0, &[]);
    let expected = store.folder.files("out");
    fs::remove_dir_all(store.folder.join("out")).unwrap();

    // Ten attempts of a request take about three seconds, and of the first among many one.
    let away = Manner { fault: |it| (it > 90).then_some(Fault::Status(503)), ..Manner::default() };
    store.server.set(away);
    let child = store.command(&args, source).stderr(Stdio::piped()).spawn().unwrap();
    until(|| store.server.counts().gets.load(Relaxed) > 93);
    sleep(Duration::from_secs(8));
    store.server.set(Manner::default());
    Printed::of(&child.wait_with_output().unwrap()).ends(0, &[]);
    assert!(store.folder.files("out") == expected, "it has lost something");
}

#[cfg(unix)]
#[test]
fn a_signal_ends_a_run_that_tries_again_and_again() {
    let store = Store::new("stores-signal", Manner::default());
    store.server.set(Manner { fault: |_| Some(Fault::Status(503)), ..Manner::default() });
    let source = "files(\"s3://bucket/many/*.txt\") |> map { n: len(bytes) }";
    let child = store.command(&["run", "p.pipe"], source).stderr(Stdio::piped()).spawn().unwrap();
    until(|| store.server.counts().gets.load(Relaxed) > 5);
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let begun = Instant::now();
    let printed = Printed::of(&child.wait_with_output().unwrap());
    assert_eq!(printed.code, 130, "{printed:#?}");
    assert!(begun.elapsed() < Duration::from_secs(10), "it tries on");
}

#[track_caller]
fn until(is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not come");
        sleep(Duration::from_millis(2));
    }
}

#[test]
fn objects_that_are_cached_are_requested_once() {
    let store = Store::new(
        "stores-cached",
        Manner { latency: Duration::from_millis(5), ..Manner::default() },
    );
    let source = "files(\"s3://bucket/many/*.txt\") |> shuffle |> map { n: len(bytes), x: uniform(0.0, 1.0) } |> batch(10)";
    let requested = || {
        let gets = store.server.counts().gets.load(Relaxed);
        move |now: &Store| now.server.counts().gets.load(Relaxed) - gets
    };
    let run = |out: &str, epochs: &str, cache: &[&str]| {
        let args = ["run", "p.pipe", "--out", out, "--epochs", epochs];
        let before = requested();
        let printed = store.pipec(&[&args[..], cache].concat(), source);
        assert_eq!(printed.code, 0, "{printed:#?}");
        before(&store)
    };
    assert_eq!(run("plain", "3", &["--no-cache"]), 180);
    // Each object once; in a later run none.
    assert_eq!(run("first", "1", &["--cache", "c"]), 60);
    assert_eq!(run("second", "3", &["--cache", "c"]), 0);
    let batches = |out: &str| {
        let mut files = store.folder.files(out);
        files.retain(|name, _| name.ends_with(".npy"));
        files
    };
    assert_eq!(batches("plain").len(), 2 * 18);
    assert!(batches("second") == batches("plain"));

    // What has changed is requested again: all, since they are cached for these objects together.
    store.folder.write("served/bucket/many/7.txt", "another\n");
    assert_eq!(run("changed", "1", &["--cache", "c"]), 60);
    assert!(batches("changed") != batches("first"));

    // Ahead of training.
    let before = requested();
    let printed = store.pipec(&["prepare", "p.pipe", "--epochs", "3", "--cache", "ahead"], source);
    assert_eq!((printed.code, before(&store)), (0, 60), "{printed:#?}");
    assert!(printed.err.contains("`read_file`"), "{printed:#?}");
    assert_eq!(run("third", "1", &["--cache", "ahead"]), 0);
}
