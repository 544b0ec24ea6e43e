//! Measuring, tuning, and what is kept from epoch to epoch.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Folder, Printed};

const PROGRAM: &str = "\
edition 2026
pipeline p =
    range(64)
    |> shuffle
    |> map { image: plasma(i, 48, 48) |> resize(16, 16), flipped: coin(0.5) }
    |> batch(8)
";

#[test]
fn what_is_kept_changes_nothing_but_the_time() {
    let folder = Folder::of("kept", &[("p.pipe", PROGRAM)]);
    let run = |out: &str, more: &[&str]| {
        let args = ["run", "p.pipe", "--epochs", "3", "--out", out];
        folder.pipec(&[&args, more].concat())
    };
    let kept = run("kept", &[]);
    kept.ends(0, &["kept", "resize (p.map#1)", "of the time"]);
    let anew = run("anew", &["--no-cache", "--workers", "3"]);
    anew.ends(0, &["24 batches"]);
    assert!(!anew.err.contains("resize (p.map#1)"), "{}", anew.err);
    assert!(folder.files("kept") == folder.files("anew"));
    // There is room for nothing.
    run("small", &["--memory", "64MiB"]).ends(0, &["24 batches"]);
    assert!(folder.files("small") == folder.files("anew"));
}

#[test]
fn what_was_measured_takes_the_place_of_what_is_assumed() {
    let folder = Folder::of("measured", &[("p.pipe", PROGRAM)]);
    let profile = ["profile", "p.pipe", "--seconds", "1s", "-o", "p.profile"];
    folder.pipec(&profile).ends(0, &["records/s", "written to `p.profile`"]);
    let explained = folder.pipec(&["explain", "p.pipe", "--profile", "p.profile"]);
    explained.ends(0, &[]);
    for part in ["measured", "predicted with these costs", "with assumed ones", "bounds", "resize"]
    {
        assert!(explained.out.contains(part), "no `{part}` in:\n{}", explained.out);
    }
    folder.pipec(&["run", "p.pipe", "--profile", "run.profile"]).ends(0, &["8 batches"]);
    folder.pipec(&["explain", "p.pipe", "--profile", "run.profile"]).ends(0, &[]);
    // The first chunk is none of it: the clock starts when it has come.
    let free = ["run", "p.pipe", "--epochs", "3", "--no-cache", "--profile", "free.profile"];
    folder.pipec(&free).ends(0, &["24 batches"]);
    let text = folder.read("free.profile");
    let outputs = text.split("\"outputs\":").last().unwrap().split(',').next().unwrap();
    assert!((1..24).contains(&outputs.parse::<u64>().unwrap()), "{outputs}");
    // Where values were kept, decoding seems to cost nothing.
    let kept = ["run", "p.pipe", "--epochs", "3", "--profile", "kept.profile"];
    folder.pipec(&kept).ends(0, &["24 batches"]);
    let explained = folder.pipec(&["explain", "p.pipe", "--profile", "kept.profile"]);
    explained.ends(0, &["`kept.profile`", "not used", "pipec profile"]);
    assert!(explained.out.contains("~ assumed"), "{}", explained.out);
    // Its costs stand by the places of another program, or another pipec's.
    let text = folder.read("p.profile");
    folder.write("old.profile", &text.replacen("\"version\":\"", "\"version\":\"0", 1));
    folder.write("odd.profile", &text.replacen("\"rows\":", "\"rows\":1", 1));
    folder.write("new.profile", &text.replacen("\"format\":1", "\"format\":2,\"new\":1", 1));
    for (name, code, said) in [
        ("old.profile", 2, "another program"),
        ("odd.profile", 2, "another program"),
        ("new.profile", 5, "its form is 2"),
        ("/dev/zero", 5, "MiB"),
    ] {
        let told = folder.pipec(&["explain", "p.pipe", "--profile", name]);
        told.ends(code, &[said, "pipec profile"]);
    }

    folder.write("q.pipe", "pipeline p = range(64) |> map { x: i * 2 } |> batch(8)\n");
    folder
        .pipec(&["explain", "q.pipe", "--profile", "p.profile"])
        .ends(2, &["is of another program", "pipec profile"]);
    folder.write("cut.profile", &folder.read("p.profile")[..100]);
    folder
        .pipec(&["explain", "p.pipe", "--profile", "cut.profile"])
        .ends(5, &["cut.profile", "it is no profile"]);
    folder.pipec(&["explain", "p.pipe", "--profile", "none"]).ends(5, &["none"]);
}

/// Another machine.
const OTHER: &str = "\
format = 1
[cpu]
available = 5.5
allowed = 6
logical = 6
physical = 6
[memory]
total = 1000000000
";

#[test]
fn machines_that_are_not_here_are_told_of() {
    let folder = Folder::of("what-if", &[("p.pipe", PROGRAM)]);
    let explained = |more: &[&str]| folder.pipec(&[&["explain", "p.pipe"], more].concat());
    let slow = explained(&["--consumer", "10min"]);
    assert!(slow.out.contains("loading is not the problem"), "{}", slow.out);
    let many = explained(&["--what-if", "cores=96", "--epochs", "9"]);
    assert!(many.out.contains("96 cores of processor"), "{}", many.out);
    assert!(many.out.contains("from the second epoch on"), "{}", many.out);
    // The first line is of that machine too, and so are the steps.
    let (first, rest) = many.out.split_once('\n').unwrap();
    assert!(first.contains(" on 96 cores"), "{first}");
    assert!(rest.lines().any(|it| it.contains("p.map#1") && it.contains(" 96 ")), "{rest}");
    folder.write("other.toml", OTHER);
    let other = explained(&["--host", "other.toml"]);
    assert!(other.out.contains(" on 5.5 cores"), "{}", other.out);
    let kept = explained(&["--what-if", "disk-cache=1GB", "--epochs", "3"]);
    assert!(kept.out.contains("for all of them on disk"), "{}", kept.out);
    assert!(!kept.out.contains("reading from"), "{}", kept.out);
    explained(&["--what-if", "cors=96"]).ends(2, &["cors", "cores=96"]);
}

#[test]
fn a_damaged_host_file_is_told_of() {
    let folder = Folder::of("damaged-host", &[("p.pipe", PROGRAM), ("bad.toml", "format 1\n")]);
    for args in [&["run", "p.pipe", "--cache", "kept"][..], &["explain", "p.pipe"]] {
        let mut command = folder.command(args);
        command.env("PIPEC_HOST", "bad.toml");
        let told = Printed::of(&command.output().unwrap());
        told.ends(5, &["bad.toml", "line 1", "pipec calibrate"]);
    }
}

#[test]
fn a_lock_is_heeded_while_it_fits() {
    let folder = Folder::of("tuned", &[("p.pipe", PROGRAM)]);
    folder.pipec(&["run", "p.pipe", "--locked"]).ends(2, &["says nothing of `p`", "pipec tune"]);
    folder
        .pipec(&["tune", "p.pipe", "--seconds", "2s", "--epochs", "3"])
        .ends(0, &["workers", "written to `p.pipe.lock`"]);
    let lock = folder.read("p.pipe.lock");
    assert!(lock.contains("keep = [\"p.map#1.resize\"]"), "{lock}");
    let run = ["run", "p.pipe", "--locked", "--epochs", "3"];
    folder.pipec(&run).ends(0, &["kept"]);

    // Changed by hand.
    let forbidden = lock.replace("keep = [\"p.map#1.resize\"]", "keep = []");
    let forbidden =
        forbidden.replace("forbid = []", "forbid = [\"p.map#1.resize\", \"p.map#1.plasma\"]");
    folder.write("p.pipe.lock", &forbidden);
    let without = folder.pipec(&run);
    without.ends(0, &["24 batches"]);
    assert!(!without.err.contains("kept"), "{}", without.err);
    folder.write("p.pipe.lock", "format = 1\nworkers = 2\n");
    folder.pipec(&run).ends(5, &["p.pipe.lock", "unknown field `workers`"]);

    folder.write("p.pipe.lock", &lock);
    folder.write("p.pipe", &PROGRAM.replace("batch(8)", "batch(4)"));
    folder.pipec(&run).ends(2, &["the program was changed since"]);
    folder.pipec(&["run", "p.pipe"]).ends(0, &["not heeded", "16 batches"]);
}
