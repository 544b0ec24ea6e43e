//! Disks that are full or broken below what is kept for later runs: the batches stay as they are.

use crate::{
    common::{Files, Folder, Printed},
    scratch::{Fault, fault},
};
use std::{
    fs,
    process::{Command, Stdio},
};

const PROGRAM: &str = "\
edition 2026

param data: path

pipeline p =
    files(\"{data}/**/*.jpg\")
    |> map { image: decode_jpeg(bytes) |> resize(24, 24), x: uniform(0.0, 1.0) }
    |> batch(8)
";

/// A folder with a program and pictures, and what the program gives.
fn site(name: &str) -> (Folder, Files) {
    let folder = Folder::quick_of(&format!("faults-kept-{name}"), &[("p.pipe", PROGRAM)]);
    folder.pipec(&["sample", "images", "data", "--count", "32"]).ends(0, &[]);
    folder.clear();
    let ended = Printed::when_over(command(&folder, &["--no-cache"]).spawn().unwrap());
    assert_eq!(ended.code, 0, "{}", ended.err);
    let whole = folder.files("run/out");
    (folder, whole)
}

fn command(folder: &Folder, more: &[&str]) -> Command {
    let _ = fs::remove_dir_all(folder.join("run/out"));
    let base = ["run", "p.pipe", "p", "--set", "data=data", "--out", "run/out"];
    let mut command = folder.command(&[&base[..], more].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn kept(folder: &Folder, whole: &Files, fault: Option<&Fault>) -> Printed {
    let cache = folder.join("run/kept").display().to_string();
    let mut command = command(folder, &["--cache", &cache]);
    if let Some(fault) = fault {
        folder.disturb(&mut command, fault);
    }
    let ended = Printed::when_over(command.spawn().unwrap());
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(folder.files("run/out") == *whole, "other batches: {}", ended.err);
    ended
}

fn says(ended: &Printed, part: &str) -> bool {
    ended.err.split_whitespace().collect::<Vec<_>>().join(" ").contains(part)
}

#[test]
fn what_cannot_be_kept_is_computed() {
    let (folder, whole) = site("written");
    for (what, part) in [("ENOSPC", "the disk is full"), ("EIO", "cannot be written")] {
        for (word, from) in [(".seg", 1), (".seg", 9), (".idx", 1), (".idx", 9)] {
            let _ = fs::remove_dir_all(folder.join("run/kept"));
            let fault = Fault { from, ..fault("write", "run/kept", what).of(word) };
            let ended = kept(&folder, &whole, Some(&fault));
            assert!(folder.was_hit(), "{what} at {word} {from}");
            assert!(says(&ended, part), "{what} at {word} {from}: {}", ended.err);
            // What was kept before that is found, the rest is written.
            let again = kept(&folder, &whole, None);
            assert!(!says(&again, "damaged"), "{what} at {word} {from}: {}", again.err);
            folder.pipec(&["cache", "verify", "run/kept"]).ends(0, &[]);
        }
    }
    for fault in [fault("make", "run/kept", "ENOSPC"), fault("open", "run/kept", "EACCES")] {
        let _ = fs::remove_dir_all(folder.join("run/kept"));
        let ended = kept(&folder, &whole, Some(&fault));
        assert!(folder.was_hit() && says(&ended, "is not cached in `"), "{}", ended.err);
    }
}

#[test]
fn what_cannot_be_read_is_computed() {
    let (folder, whole) = &site("read");
    kept(folder, whole, None);
    // The index is read when the cache is opened; values have their records with them.
    for (word, from) in [(".seg", 1), (".seg", 2), (".seg", 9), (".idx", 1), (".idx", 2)] {
        let fault = Fault { from, ..fault("read", "run/kept", "EIO").of(word).once() };
        let ended = kept(folder, whole, Some(&fault));
        let told = says(&ended, "was damaged") || says(&ended, "is not cached in");
        // The first looks only ask how much is there.
        let told = told || (from == 1 || word == ".idx") && says(&ended, "hit 100%");
        assert!(folder.was_hit() && told, "{word} {from}: {}", ended.err);
    }
    for what in ["short", "half"] {
        let ended = kept(folder, whole, Some(&fault("read", "run/kept", what)));
        assert!(folder.was_hit() && says(&ended, "hit 100%"), "{what}: {}", ended.err);
        let _ = fs::remove_dir_all(folder.join("run/kept"));
        kept(folder, whole, Some(&fault("write", "run/kept", what)));
        folder.pipec(&["cache", "verify", "run/kept"]).ends(0, &[]);
    }
}
