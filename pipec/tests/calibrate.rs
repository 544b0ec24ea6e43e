//! `pipec calibrate`: what it writes can be read, and nothing else stays.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

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
    let printed =
        calibrate(&folder, &["--path", "disk", "--quick", "--size", "32MiB", "--time", "2s"]);
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
    calibrate(&["--path", "nowhere", "--time", "1ms"])
        .ends(5, &["`nowhere`", "name an existing one"]);
    calibrate(&["--path", "disk", "--time", "1ms", "--size", "1000TiB"]).ends(5, &["--size"]);
    calibrate(&["--size", "1MiB"]).ends(2, &["32MiB"]);
    assert!(is_empty(&folder.join("disk")) && !folder.join("config").exists());
}
