//! `pipec calibrate`: what it writes can be read, and nothing else stays.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

#[cfg(feature = "stores")]
use common::store_vars;
use common::{Folder, Printed};
use driver::{
    Host,
    host::{Cache, Pattern},
};
use std::{fs, path::Path};

/// Calibrates in `folder`, with a user's folder that lies in it.
fn calibrate(folder: &Folder, args: &[&str]) -> Printed {
    Printed::of(&folder.command(&["calibrate"]).args(args).output().unwrap())
}

/// A folder of a test, with one for what is written while a disk is measured.
fn with_disk(name: &str) -> Folder {
    let folder = Folder::new(name);
    fs::create_dir_all(folder.join("disk")).unwrap();
    folder
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

#[test]
fn what_is_found_is_kept_and_nothing_else() {
    let folder = with_disk("calibrate-quick");
    let printed = calibrate(&folder, &["disk", "--quick", "--size", "32MiB", "--time", "2s"]);
    printed.ends(0, &["host.toml"]);
    let (host, disk) = (folder.join("config/pipec/host.toml"), folder.join("disk"));
    assert!(is_empty(&disk));
    for word in ["cpu", "memory", "sequential", "1 MiB", "latency", "measured"] {
        assert!(printed.out.contains(word), "{word}: {}", printed.out);
    }

    let found = Host::load(&host).unwrap();
    assert!(found.measured.as_ref().is_some_and(|it| it.quick) && !found.is_assumed());
    let all = found.memory.all_threads.as_ref().unwrap();
    assert!(all.copy.min > 0.0 && f64::from(all.threads) >= found.cpu.available);
    let storage = found.storage_of(&disk).unwrap();
    assert_eq!((storage.file, storage.read.len()), (32 << 20, 13));
    let sweep = storage.sweep(Cache::Cold, Pattern::Random, 4096).unwrap();
    let threads: Vec<_> = sweep.points.iter().map(|it| it.threads).collect();
    assert_eq!(threads, [1, 2, 4, 8, 16]);
    assert!(threads.contains(&sweep.enough) && sweep.curve.thresh >= 1.0);
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let folder = with_disk("calibrate-refused");
    let calibrate = |args: &[&str]| calibrate(&folder, args);
    calibrate(&["nowhere", "--time", "1ms"]).ends(5, &["`nowhere`", "name an existing one"]);
    calibrate(&["disk", "--time", "1ms", "--size", "1000TiB"]).ends(5, &["--size"]);
    calibrate(&["--size", "1MiB"]).ends(2, &["32MiB"]);
    assert!(is_empty(&folder.join("disk")) && !folder.join("config").exists());
}

#[cfg(feature = "stores")]
#[test]
fn a_store_is_measured_by_what_lies_there() {
    use loopback::{Manner, Server};
    use std::time::Duration;

    let folder = with_disk("calibrate-store");
    for number in 0..20 {
        let bytes = "x".repeat(100 + number * 20_000);
        folder.write(&format!("served/bucket/train/{}/{number}.bin", number % 2), &bytes);
    }
    let latency = Duration::from_millis(20);
    let manner = Manner { latency, bytes_per_second: Some(4_000_000), ..Manner::default() };
    let server = Server::start(&folder.join("served"), manner).unwrap();
    let run = |args: &[&str]| {
        let mut command = folder.command(args);
        Printed::of(&command.envs(store_vars(server.url())).output().unwrap())
    };
    let printed = run(&["calibrate", "s3://bucket/train", "--time", "3s"]);
    printed.ends(0, &["host.toml"]);
    assert!(printed.out.contains("small requests/s"), "{}", printed.out);
    let host = Host::load(&folder.join("config/pipec/host.toml")).unwrap();
    let store = host.store_of(Path::new("s3://bucket/val/*.bin")).unwrap();
    // No answer comes sooner than that.
    assert!(store.latency.median >= 0.02, "{store:?}");
    assert!([store.one, store.many, store.requests].iter().all(|it| it.median > 0.0), "{store:?}");
    assert_eq!(server.counts().writes.load(std::sync::atomic::Ordering::Relaxed), 0);

    folder.write(
        "p.pipe",
        "edition 2026\npipeline p = files(\"s3://bucket/train/*/*.bin\") |> map { bytes }\n",
    );
    let explained = run(&["explain", "p.pipe", "--json"]);
    let said: serde_json::Value = serde_json::from_str(&explained.out).unwrap();
    let found = said.to_string();
    assert!(found.contains(&format!("\"latency_s\":{}", store.latency.median)), "{found}");

    run(&["calibrate", "s3://bucket/none", "--time", "1s"]).ends(5, &["s3://bucket/none"]);
    run(&["calibrate", "s3://other/x", "--time", "1s"]).ends(5, &["NoSuchBucket"]);
    run(&["calibrate", "s4://other/x", "--time", "1s"]).ends(5, &["s4://"]);
}
