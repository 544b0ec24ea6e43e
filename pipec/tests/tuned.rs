//! Measuring, tuning, and what is kept from epoch to epoch.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Folder, Printed};
use std::fs;

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
    kept.ends(0, &["cached", "resize (p.map#1)", "of the time"]);
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
    let explained = folder.pipec(&["explain", "p.pipe", "-v", "--profile", "p.profile"]);
    explained.ends(0, &[]);
    for part in ["measured", "predicted from these costs", "from default costs", "limits", "resize"]
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
    let explained = folder.pipec(&["explain", "p.pipe", "-v", "--profile", "kept.profile"]);
    explained.ends(0, &["`kept.profile`", "not used", "pipec profile"]);
    assert!(explained.out.contains("~ default costs"), "{}", explained.out);
    // Its costs stand by the places of another program, or another pipec's.
    let text = folder.read("p.profile");
    folder.write("old.profile", &text.replacen("\"version\":\"", "\"version\":\"0", 1));
    folder.write("odd.profile", &text.replacen("\"rows\":", "\"rows\":1", 1));
    folder.write("new.profile", &text.replacen("\"format\":1", "\"format\":2,\"new\":1", 1));
    for (name, code, said) in [
        ("old.profile", 2, "another version"),
        ("odd.profile", 2, "another version"),
        ("new.profile", 5, "its format is 2"),
        ("/dev/zero", 5, "it is a device"),
    ] {
        let told = folder.pipec(&["explain", "p.pipe", "--profile", name]);
        told.ends(code, &[said, "pipec profile"]);
    }

    folder.write("q.pipe", "pipeline p = range(64) |> map { x: i * 2 } |> batch(8)\n");
    folder
        .pipec(&["explain", "q.pipe", "--profile", "p.profile"])
        .ends(2, &["was measured with another version", "pipec profile"]);
    folder.write("cut.profile", &folder.read("p.profile")[..100]);
    folder.pipec(&["explain", "p.pipe", "--profile", "cut.profile"]).ends(
        5,
        &["cut.profile", "it is damaged, or not a profile: it is empty or truncated; create one"],
    );
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
    let explained = |more: &[&str]| folder.pipec(&[&["explain", "p.pipe", "-v"], more].concat());
    let slow = explained(&["--step-time", "10min"]);
    assert!(slow.out.contains("data loading keeps up"), "{}", slow.out);
    let many = explained(&["--what-if", "cores=96", "--epochs", "9"]);
    assert!(many.out.contains("96 cores: "), "{}", many.out);
    assert!(many.out.contains("from epoch 2 on"), "{}", many.out);
    // The first line is of that machine too, and so are the steps.
    let (first, rest) = many.out.split_once('\n').unwrap();
    assert!(first.contains(" on 96 cores"), "{first}");
    assert!(rest.lines().any(|it| it.contains("p.map#1") && it.contains(" 96 ")), "{rest}");
    folder.write("other.toml", OTHER);
    let other = explained(&["--host", "other.toml"]);
    assert!(other.out.contains(" on 5.5 cores"), "{}", other.out);
    let kept = explained(&["--what-if", "disk-cache=1GB", "--epochs", "3"]);
    assert!(kept.out.contains("all of them on disk"), "{}", kept.out);
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
    folder
        .pipec(&["run", "p.pipe", "--locked"])
        .ends(2, &["cannot find the lock file", "pipec tune"]);
    // One record per second is reached with nothing.
    let few = ["tune", "p.pipe", "--seconds", "1s", "--epochs", "3", "--objective", "bytes@1"];
    folder.pipec(&few).ends(0, &["written to `p.pipe.lock`"]);
    assert!(folder.read("p.pipe.lock").contains("keep = []"));
    folder
        .pipec(&["tune", "p.pipe", "--seconds", "2s", "--epochs", "3"])
        .ends(0, &["workers", "written to `p.pipe.lock`"]);
    let lock = folder.read("p.pipe.lock");
    assert!(lock.contains("keep = [\"p.map#1.resize\"]"), "{lock}");
    let run = ["run", "p.pipe", "--locked", "--epochs", "3"];
    folder.pipec(&run).ends(0, &["cached"]);

    // Changed by hand.
    let forbidden = lock.replace("keep = [\"p.map#1.resize\"]", "keep = []");
    let forbidden =
        forbidden.replace("forbid = []", "forbid = [\"p.map#1.resize\", \"p.map#1.plasma\"]");
    let misspelt = lock.replace("keep = [\"p.map#1.resize\"]", "keep = [\"p.map#1.resise\"]");
    folder.write("p.pipe.lock", &misspelt);
    folder
        .pipec(&["run", "p.pipe", "--epochs", "2"])
        .ends(1, &["`p.map#1.resise`", "`p.map#1.resize`"]);
    folder.write("p.pipe.lock", &forbidden);
    let without = folder.pipec(&run);
    without.ends(0, &["24 batches"]);
    assert!(!without.err.contains("cached"), "{}", without.err);
    let why = folder.pipec(&["cache", "why", "p.pipe", "p", "kept", "--epochs", "3"]);
    assert!(why.out.contains("`resize` of p.map#1: not cached: the lock"), "{why:#?}");
    folder.write("p.pipe.lock", "format = 1\nworkers = 2\n");
    folder.pipec(&run).ends(
        5,
        &[
            "p.pipe.lock",
            "line 2 of this lock file is invalid: unknown key `workers`; the keys are `format` \
             and `pipeline`",
        ],
    );

    folder.write("p.pipe.lock", &lock);
    folder.write("p.pipe", &PROGRAM.replace("batch(8)", "batch(4)"));
    folder.pipec(&run).ends(2, &["`p` has changed since"]);
    folder.pipec(&["run", "p.pipe"]).ends(0, &["not used", "16 batches"]);
}

#[test]
fn workers_of_a_lock_are_told_as_they_are() {
    let program = "pipeline p = range(64) |> map { x: i * 2 } |> batch(8)\n";
    let folder = Folder::of("tuned-workers", &[("p.pipe", program)]);
    let seconds = ["tune", "p.pipe", "--seconds", "1s"];
    folder.pipec(&seconds).ends(0, &["written to `p.pipe.lock`"]);
    let lock = folder.read("p.pipe.lock");
    let line = lock.lines().find(|it| it.starts_with("workers")).unwrap();
    folder.write("p.pipe.lock", &lock.replace(line, "workers = 700"));
    let run = |more: &[&str]| folder.pipec(&[&["run", "p.pipe"], more].concat());
    run(&[]).ends(
        0,
        &["the lock file of `p` sets 700 workers, but there", "run `pipec tune p.pipe p`"],
    );
    let own = run(&["--workers", "1"]);
    own.ends(0, &["tuned", "`p.pipe.lock`: 1 worker (`--workers`, instead of 700)"]);
    assert!(!own.err.contains("sets 700"), "{}", own.err);
    for (lock, told) in [
        (
            &b"format = 1\n[pipeline.p]\nworkers = 3\n"[..],
            "line 2 of this lock file is invalid: `plan` is missing",
        ),
        (
            b"format = 1\n[pipeline.p]\nplan = 3\n",
            "line 3 of this lock file is invalid: expected a string",
        ),
        (b"format = 1\n\xff", "this lock file is not UTF-8 text"),
    ] {
        fs::write(folder.join("p.pipe.lock"), lock).unwrap();
        run(&[]).ends(5, &["error: `p.pipe.lock`: ", told, "write it again with `pipec tune`"]);
    }
}

#[test]
fn a_built_file_brings_its_lock_along() {
    let folder = Folder::of("tuned-built", &[("p.pipe", PROGRAM)]);
    let build = |more: &[&str]| folder.pipec(&[&["build", "p.pipe", "-o", "own"], more].concat());
    build(&["--locked"]).ends(2, &["cannot find the lock file", "pipec tune"]);
    folder.pipec(&["tune", "p.pipe", "--seconds", "1s", "--epochs", "3"]).ends(0, &[]);
    let lock = folder.read("p.pipe.lock");
    let workers = lock.lines().find(|it| it.starts_with("workers")).unwrap();
    // What was measured depends on what else runs; what is tested does not.
    let keep = "keep = [\"p.map#1.resize\"]";
    let three = lock.replace(workers, "workers = 3").replace("keep = []", keep);
    folder.write("p.pipe.lock", &three);
    build(&["--locked"]).ends(0, &["tuned: 3 workers, caches p.map#1.resize"]);

    // The lock goes along, the file is needed no more.
    fs::remove_file(folder.join("p.pipe.lock")).unwrap();
    let run = ["run", "own", "--locked", "--epochs", "3", "--profile", "own.profile"];
    folder.pipec(&run).ends(0, &["24 batches", "resize (p.map#1)"]);
    assert!(folder.read("own.profile").contains("\"workers\":3"));
    // One beside the file goes before it.
    let forbid = "forbid = [\"p.map#1.resize\", \"p.map#1.plasma\"]";
    folder.write("own.lock", &three.replace(keep, "keep = []").replace("forbid = []", forbid));
    let without = folder.pipec(&run);
    without.ends(0, &["24 batches"]);
    assert!(!without.err.contains("resize (p.map#1)"), "{}", without.err);
    let explained = folder.pipec(&["explain", "own", "-v", "--epochs", "3"]);
    assert!(explained.out.contains("the lock file excludes it"), "{}", explained.out);

    folder.write("p.pipe.lock", &three);
    folder.write("p.pipe", &PROGRAM.replace("batch(8)", "batch(4)"));
    build(&["--locked"]).ends(2, &["`p` has changed since"]);
    build(&[]).ends(0, &["not used", "built `own`"]);
    folder.write("p.pipe.lock", "format = 1\n[pipeline.p]\nplan = \"\"\nworkers = 2000\n");
    build(&[]).ends(5, &["2000 workers, expected 1 to 1024"]);
}

#[test]
fn a_tiny_set_is_too_few_to_tell_workers_apart() {
    let folder = Folder::of("tuned-tiny", &[]);
    (0..240).for_each(|it| folder.write(&format!("{it}.txt"), "a few words"));
    let text = "pipeline p = files(\"*.txt\") |> shuffle |> map { n: len(bytes) } |> batch(64)\n";
    folder.write("p.pipe", text);
    let locked_workers = || {
        let lock = folder.read("p.pipe.lock");
        let line = lock.lines().find_map(|it| it.strip_prefix("workers = ")).unwrap();
        line.split(' ').next().unwrap().parse::<usize>().unwrap()
    };
    let tuned = folder.pipec(&["tune", "p.pipe", "--seconds", "8s", "--virtual-cores", "2"]);
    tuned.ends(0, &["too little data", "an epoch has only 3 batches", "the model's choice"]);
    assert!(locked_workers() <= 2);
    // A rate is none of a moment.
    assert!(!tuned.out.contains("in 0 s"), "{}", tuned.out);

    // There are data enough, and no time for turns.
    let many = text.replace("files(\"*.txt\")", "range(100000)").replace("len(bytes)", "i");
    folder.write("p.pipe", &many);
    let tuned = folder.pipec(&["tune", "p.pipe", "--seconds", "2s", "--virtual-cores", "2"]);
    tuned.ends(0, &["too little data", "turns of 2.4 s need `--seconds ", "the model's choice"]);
    assert!(locked_workers() <= 2);
    // Policies are compared all the same, and it is said what that is worth.
    let policies =
        ["tune", "p.pipe", "--seconds", "1s", "--policy", "naive", "--policy", "heuristic"];
    folder.pipec(&policies).ends(0, &["too short to compare policies: use `--seconds 12s`"]);
}

/// What is kept of it is large.
const LARGE: &str = "pipeline p = range(500) |> shuffle |> map { image: plasma(i, 384, 384) |> random_resized_crop(8) }\n";

#[test]
fn a_budget_that_does_not_fit_is_told_with_the_one_that_does() {
    let folder = Folder::of("budget", &[("p.pipe", LARGE)]);
    let explained =
        |more: &[&str]| folder.pipec(&[&["explain", "p.pipe", "-v"], more].concat()).out;
    let memory = |size: &str| explained(&["--epochs", "9", "--memory", size]);
    let none = memory("64MiB");
    for part in [
        "exceeds budget  `plasma` of p.map#1: 500 values of",
        "of 67 MB (64 MiB) of memory, the run itself needs up to",
        "nothing is left for cached values",
        "nothing is cached: all are recomputed",
        "`--cache DIR --cache-limit ",
    ] {
        assert!(none.contains(part), "no `{part}` in:\n{none}");
    }
    let enough = none.split("`--memory ").nth(1).unwrap().split('`').next().unwrap();
    let all = memory(enough);
    assert!(all.contains("all of them fit"), "{enough}:\n{all}");
    assert!(all.contains("break-even") && all.contains("breaks even after 1."), "{all}");
    assert!(!all.contains("exceeds budget"), "{all}");
    let enough: u64 = enough.trim_end_matches("MB").parse().unwrap();
    let part = memory(&format!("{}MB", enough - 100));
    let cached =
        |it: &str| it.starts_with("cached ") && it.contains("`plasma` of p.map#1: 500 values");
    assert!(part.lines().any(cached), "{part}");
    assert!(part.contains("% of them in memory (") && !part.contains("exceeds budget"), "{part}");
    assert!(part.contains(&format!("`--memory {enough}MB`")), "{part}");

    // Without epochs how much there is is told all the same.
    let once = explained(&[]);
    let heads = once.lines().find(|it| it.contains("cores used")).unwrap();
    assert!(heads.contains("records/epoch") && once.contains("each record is read once"), "{once}");
    // Steps that leave records out, or give them again, are counted.
    let counted = |steps: &str| {
        folder.write("n.pipe", &format!("pipeline n = range(1000) {steps} |> batch(10)\n"));
        let out = folder.pipec(&["explain", "n.pipe", "-v"]).out;
        let table = out.split("bytes/epoch\n").nth(1).unwrap();
        let row = table.lines().find(|it| it.contains("n.batch#1")).unwrap();
        row.split("  ").filter(|it| !it.is_empty()).nth(5).unwrap().trim().to_owned()
    };
    assert_eq!(counted("|> skip(100) |> take(200)"), "20");
    assert_eq!(counted("|> where i % 2 == 0 |> take(200)"), "20");
    assert_eq!(counted("|> take(200) |> repeat(3)"), "60");
    assert_eq!(counted("|> repeat"), "endless");
}

/// Work of known cost, on cores that are not there.
const BUSY: &str = "\
pipeline p =
    range(100000)
    |> shuffle
    |> map { i: busy(i, time: 0.004) }
    |> map { i: busy(i, time: 0.001) }
    |> batch(2)
";

#[test]
fn policies_are_compared_and_leave_no_lock() {
    let folder = Folder::of("policies", &[("p.pipe", BUSY)]);
    let tune = |more: &[&str]| {
        let args = ["tune", "p.pipe", "--seconds", "3s", "--virtual-cores", "4"];
        folder.pipec(&[&args, more].concat())
    };
    let all = tune(&["--policy", "all"]);
    all.ends(0, &["no lock file was written"]);
    for policy in ["naive", "heuristic", "autotune", "random", "step", "model"] {
        let line = all.out.lines().find(|it| it.starts_with(policy));
        let line = line.unwrap_or_else(|| panic!("no `{policy}` in:\n{}", all.out));
        assert!(line.contains("p.map#1") || line.contains("for all steps"), "{line}");
    }
    assert!(all.out.contains("p.map#1 4, p.map#2 4"), "{}", all.out);
    let two = tune(&["--policy", "naive", "--policy", "heuristic"]);
    two.ends(0, &[]);
    assert!(!two.out.contains("model"), "{}", two.out);
    assert!(!folder.join("p.pipe.lock").exists());
    tune(&["--policy", "model"]).ends(0, &["written to `p.pipe.lock`"]);
    tune(&["--policy", "luck"]).ends(2, &["luck", "heuristic"]);
}

#[test]
fn what_lies_beside_a_program_is_used_and_said() {
    let folder = Folder::of("beside", &[("sub/p.pipe", PROGRAM)]);
    let explain = |more: &[&str]| folder.pipec(&[&["explain", "sub/p.pipe"], more].concat());
    assert!(explain(&[]).out.contains("default costs, not measured here"));
    folder.pipec(&["profile", "sub/p.pipe", "--seconds", "300ms"]).ends(0, &["`p.profile`"]);
    let found = explain(&[]);
    found.ends(0, &["costs are from `p.profile`; use `--no-profile`"]);
    assert!(
        found.out.contains(" measured") && !found.out.contains("default costs"),
        "{}",
        found.out
    );
    assert!(explain(&["--no-profile"]).out.contains("default costs, not measured here"));
    assert_eq!(explain(&["--emit", "plan"]).err, "");

    // A lock: beside the program, with what it was measured on.
    folder.pipec(&["tune", "sub/p.pipe", "--seconds", "1s"]).ends(0, &["`sub/p.profile`"]);
    explain(&[]).ends(0, &["costs are from `sub/p.profile`"]);
    let run = |more: &[&str]| folder.pipec(&[&["run", "sub/p.pipe"], more].concat());
    run(&[]).ends(0, &["tuned        `sub/p.pipe.lock`: "]);
    let lock = folder.read("sub/p.pipe.lock");
    let cores = lock.lines().find(|it| it.starts_with("cores = ")).unwrap();
    let cores = cores["cores = ".len()..].split_whitespace().next().unwrap();
    let other = |n: &str| lock.replace(&format!("cores = {cores} "), &format!("cores = {n} "));
    folder.write("sub/p.pipe.lock", &other("96").replace("workers = ", "workers = 7"));
    let said =
        format!("was tuned on 96 cores, but this machine has {cores}: using one worker per core");
    run(&[]).ends(0, &[&said, &format!("tuned        `sub/p.pipe.lock`: {cores} worker")]);
    let said = run(&["--workers", "1"]);
    assert!(!said.err.contains("96 cores") && said.err.contains("1 worker"), "{}", said.err);
    // By hand, for any machine.
    folder.write("sub/p.pipe.lock", &other("0").replace("workers = ", "workers = 1"));
    assert!(run(&[]).err.contains("tuned        `sub/p.pipe.lock`: 1"));

    folder.write("sub/p.pipe", &PROGRAM.replace("48, 48", "40, 40"));
    let changed = explain(&[]);
    changed.ends(
        0,
        &["was measured with another version of `p` and is not used: `pipec profile sub/p.pipe p`"],
    );
    assert!(changed.out.contains("default costs, not measured here"), "{}", changed.out);
}
