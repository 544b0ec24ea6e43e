//! Constants of streams: computed before the run, kept for later ones, and computed again when anything changes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Files, Folder, Printed};
use std::{
    fs::{self, OpenOptions},
    io::Write,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

const PROGRAM: &str = r#"edition 2026
pipeline rides =
    jsonl("rides/*.jsonl") |> map { x: stack([row["distance"] as f64, row["fare"] as f64]) else skip(most: 0.2), zone: row["zone"] as i32 }
const SEEN = rides |> moments(of: x)
const ZONES = rides |> count(by: zone, classes: 3)
pipeline train = rides |> map { x: (x - SEEN.mean) / SEEN.std, weight: 100.0 / f32(ZONES[zone]) } |> batch(16)
pipeline other = range(3) |> batch(1)
"#;

/// Rides that are far from zero and close to each other.
fn rides(folder: &Folder, n: usize, plus: f64) {
    for file in 0..3 {
        let mut text = String::new();
        for i in (0..n).filter(|it| it % 3 == file) {
            let (distance, fare) = (1e9 + (i * 7 % 31) as f64 / 4.0, i as f64 + plus);
            text +=
                &format!("{{\"distance\": {distance}, \"fare\": {fare}, \"zone\": {}}}\n", i % 3);
        }
        folder.write(&format!("rides/{file}.jsonl"), &text);
    }
}

fn folder(name: &str) -> Folder {
    let folder = Folder::of(&format!("constants-{name}"), &[("p.pipe", PROGRAM)]);
    rides(&folder, 120, 0.0);
    folder
}

impl Folder {
    fn with_cache(&self, args: &[&str]) -> Command {
        let mut command = self.command(args);
        command.env("XDG_CACHE_HOME", self.join("cache"));
        command
    }

    fn say(&self, args: &[&str]) -> Printed {
        Printed::of(&self.with_cache(args).output().unwrap())
    }

    /// The batches of `train`, and what was said.
    fn train(&self, out: &str, more: &[&str]) -> (Files, String) {
        let said = self.say(&[&["run", "p.pipe", "train", "--out", out], more].concat());
        said.ends(0, &[]);
        let mut files = self.files(out);
        files.retain(|it, _| it.ends_with(".npy"));
        (files, said.err)
    }

    /// The files of answers that are kept.
    fn kept(&self) -> Vec<std::path::PathBuf> {
        let Ok(entries) = fs::read_dir(self.join("cache/pipec/constants")) else {
            return Vec::new();
        };
        let mut all: Vec<_> = entries.flatten().map(|it| it.path()).collect();
        all.sort();
        all
    }
}

fn is_computed(said: &str) -> [bool; 2] {
    ["computed SEEN from 120 records", "computed ZONES from 120 records"]
        .map(|it| said.contains(it))
}

#[test]
fn they_are_computed_once() {
    let folder = folder("once");
    let (first, said) = folder.train("first", &[]);
    assert_eq!(is_computed(&said), [true; 2], "{said}");
    assert!(said.contains("cached for later runs"), "{said}");
    assert_eq!(folder.kept().len(), 2);
    let (second, said) = folder.train("second", &[]);
    assert_eq!(is_computed(&said), [false; 2], "{said}");
    assert!(first == second);
    // A pipeline that needs none computes none.
    let said = folder.say(&["run", "p.pipe", "other"]);
    said.ends(0, &[]);
    assert!(!said.err.contains("computed"), "{}", said.err);
    // Data that have moved are the same data.
    fs::rename(folder.join("rides"), folder.join("moved")).unwrap();
    folder.write("p.pipe", &PROGRAM.replace("rides/*", "moved/*"));
    let (third, said) = folder.train("third", &[]);
    assert_eq!(is_computed(&said), [false; 2], "{said}");
    assert!(first == third);
}

#[test]
fn they_do_not_depend_on_how_they_are_computed() {
    let folder = folder("ways");
    let (plain, _) = folder.train("plain", &["--workers", "1"]);
    let ways: [&[&str]; 3] = [
        &["--workers", "8"],
        &["--workers", "3", "--disable-pass", "jit"],
        &["--workers", "2", "--memory", "200MB"],
    ];
    for (at, way) in ways.iter().enumerate() {
        fs::remove_dir_all(folder.join("cache")).unwrap();
        let (found, said) = folder.train(&format!("way-{at}"), way);
        assert_eq!(is_computed(&said), [true; 2], "{said}");
        assert!(found == plain, "{way:?}");
    }
}

#[test]
fn they_are_what_an_obvious_program_computes() {
    let folder = folder("exact");
    let (found, _) = folder.train("out", &[]);
    let x = |i: usize| [1e9 + (i * 7 % 31) as f64 / 4.0, i as f64];
    let order: Vec<usize> =
        (0..3).flat_map(|file| (0..120).filter(move |it| it % 3 == file)).collect();
    // Of quarters and integers a shifted sum is exact.
    let moments = [0, 1].map(|at| {
        let (mut sum, mut squares) = (0.0, 0.0);
        order.iter().for_each(|it| sum += x(*it)[at] - x(order[0])[at]);
        let mean = sum / 120.0;
        order.iter().for_each(|it| squares += (x(*it)[at] - x(order[0])[at] - mean).powi(2));
        (x(order[0])[at] + mean, (squares / 120.0).sqrt())
    });
    let bytes: Vec<u8> = found
        .iter()
        .filter(|it| it.0.starts_with("x/"))
        .flat_map(|it| it.1[128..].to_vec())
        .collect();
    let values: Vec<f64> = bytes.as_chunks().0.iter().map(|it| f64::from_le_bytes(*it)).collect();
    assert_eq!(values.len(), 112 * 2);
    for (at, value) in values.iter().enumerate() {
        let (mean, std) = moments[at % 2];
        let expected = (x(order[at / 2])[at % 2] - mean) / std;
        assert!(
            (value - expected).abs() <= 1e-12 * expected.abs().max(1.0),
            "{at}: {value}, {expected}"
        );
    }
}

#[test]
fn they_are_computed_again_where_anything_changes() {
    let folder = folder("again");
    folder.train("first", &[]);
    // Other data.
    rides(&folder, 120, 0.5);
    let (_, said) = folder.train("second", &[]);
    assert_eq!(is_computed(&said), [true; 2], "{said}");
    // Another stream.
    folder.write("p.pipe", &PROGRAM.replace("[\"fare\"] as f64", "[\"fare\"] as f64 * 2.0"));
    let (_, said) = folder.train("third", &[]);
    assert_eq!(is_computed(&said), [true; 2], "{said}");
    // A comment is none.
    folder.write("p.pipe", &(PROGRAM.to_owned() + "# comment\n"));
    let (_, said) = folder.train("fourth", &[]);
    assert_eq!(is_computed(&said), [false; 2], "{said}");
}

#[test]
fn a_damaged_answer_is_computed_again() {
    let folder = folder("damaged");
    let (first, _) = folder.train("first", &[]);
    for (at, damage) in ["", "short", "long"].into_iter().enumerate() {
        for path in folder.kept() {
            let whole = fs::read(&path).unwrap();
            match damage {
                "" => fs::write(&path, "").unwrap(),
                "short" => fs::write(&path, &whole[..whole.len() / 2]).unwrap(),
                _ => _ = OpenOptions::new().append(true).open(&path).unwrap().write(b"x").unwrap(),
            }
        }
        let (found, said) = folder.train(&format!("{at}"), &[]);
        assert_eq!(is_computed(&said), [true; 2], "{damage}: {said}");
        assert!(found == first);
    }
}

/// Nobody's file is written through a link that somebody has put there.
#[cfg(unix)]
#[test]
fn no_link_is_followed() {
    let folder = folder("links");
    let (first, _) = folder.train("first", &[]);
    let kept = folder.kept();
    for path in &kept {
        let target = folder.join(path.file_name().unwrap());
        fs::rename(path, &target).unwrap();
        std::os::unix::fs::symlink(&target, path).unwrap();
    }
    let (found, said) = folder.train("second", &[]);
    assert_eq!(is_computed(&said), [true; 2], "{said}");
    assert!(found == first);
    assert!(kept.iter().all(|it| !it.is_symlink()));
    // Nor is a folder that is one.
    fs::rename(folder.join("cache/pipec/constants"), folder.join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(folder.join("elsewhere"), folder.join("cache/pipec/constants"))
        .unwrap();
    rides(&folder, 120, 1.0);
    let before = folder.files("elsewhere");
    let (_, said) = folder.train("third", &[]);
    assert_eq!(is_computed(&said), [true; 2], "{said}");
    assert!(!said.contains("cached for later runs"), "{said}");
    assert!(folder.files("elsewhere") == before);
}

#[test]
fn whoever_looks_runs_no_stream() {
    let folder = folder("look");
    for args in [
        &["check", "p.pipe"][..],
        &["explain", "p.pipe", "train"],
        &["explain", "p.pipe", "train", "--emit", "program"],
        &["explain", "p.pipe", "train", "--json"],
    ] {
        let said = folder.say(args);
        said.ends(0, &[]);
        assert!(!said.err.contains("computed"), "{args:?}: {}", said.err);
        assert!(folder.kept().is_empty(), "{args:?}");
    }
    // `explain` says what it would look like.
    let said = folder.say(&["explain", "p.pipe", "train"]);
    assert!(said.out.contains("SEEN: not computed yet"), "{}", said.out);
    folder.train("out", &[]);
    let said = folder.say(&["explain", "p.pipe", "train"]);
    assert!(said.out.contains("SEEN: cached"), "{}", said.out);
    // What looks at records needs the values.
    rides(&folder, 120, 2.0);
    let said = folder.say(&["peek", "p.pipe", "train", "-n", "1"]);
    said.ends(0, &["computed SEEN from 120 records"]);
}

#[test]
fn a_built_file_has_the_values() {
    let folder = folder("built");
    let (plain, _) = folder.train("plain", &[]);
    folder.say(&["build", "p.pipe", "train", "--out", "built"]).ends(0, &[]);
    let mut command = folder.command_of(&folder.join("built"), &["run", "--out", "out"]);
    command.env("XDG_CACHE_HOME", folder.join("empty"));
    let said = Printed::of(&command.output().unwrap());
    said.ends(0, &[]);
    assert!(!said.err.contains("computed"), "{}", said.err);
    let mut found = folder.files("out");
    found.retain(|it, _| it.ends_with(".npy"));
    assert!(found == plain);
}

#[test]
fn a_resumed_run_has_the_values_that_it_had() {
    let folder = folder("resumed");
    let (whole, _) = folder.train("whole", &[]);
    folder.train("part", &["--limit", "3", "--checkpoint", "state"]);
    fs::remove_dir_all(folder.join("cache")).unwrap();
    let (found, _) = folder.train("part", &["--checkpoint", "state"]);
    assert!(found == whole);
    // Of other data it is another run.
    let args = ["run", "p.pipe", "train", "--checkpoint", "state-2"];
    folder.say(&[&args[..], &["--limit", "3"]].concat()).ends(0, &[]);
    rides(&folder, 120, 0.5);
    folder.say(&args).ends(4, &["or the data that `SEEN`, `ZONES` follows from"]);
}

#[test]
fn what_goes_wrong_is_said_of_the_constant() {
    let folder = folder("wrong");
    let with = |text: &str| {
        folder.write("p.pipe", text);
        folder.say(&["run", "p.pipe", "train"])
    };
    with(&PROGRAM.replace("classes: 3", "classes: 2")).ends(
        3,
        &[
            "PC0209 constant-failed",
            "p.pipe:5",
            "cannot compute the constant `ZONES`",
            "the key 2 is out of range",
        ],
    );
    with(&PROGRAM.replace("rides/*.jsonl", "none/*.jsonl")).ends(5, &["none/*.jsonl"]);
    with(&PROGRAM.replace(" as i32 }", " as i32 } |> where zone > 9"))
        .ends(3, &["`SEEN`", "no records"]);
    let row = |distance| format!("{{\"distance\": {distance}, \"fare\": 1, \"zone\": 2}}\n");
    folder.write("rides/3.jsonl", &[row("1"), row("\"x\""), row("\"x\"")].concat());
    let said = with(PROGRAM);
    said.ends(0, &["computed SEEN from 121 records (2 skipped)"]);
    let failing = PROGRAM.replace(" else skip(most: 0.2)", "");
    with(&failing).ends(3, &["cannot compute the constant `SEEN`", "3.jsonl"]);
}

/// The examples run as they are, on tables that are made for them; row groups of cancelled rides are not read.
#[test]
fn records_that_fail_count_and_are_listed() {
    let folder = folder("lost");
    folder.write("rides/3.jsonl", "{\"distance\": 1, \"zone\": 0}\n{\"fare\": 1, \"zone\": 0}\n");
    let run = |more: &[&str]| {
        folder.say(&[&["run", "p.pipe", "train", "--out", "out", "--overwrite"], more].concat())
    };
    let lines = || folder.read("lost.jsonl").lines().count();
    run(&["--max-errors", "1"]).ends(3, &["cannot compute the constant `SEEN`", "--max-errors"]);
    run(&["--max-errors", "2"]).ends(0, &["computed SEEN"]);
    // What was kept when more were allowed does not count.
    run(&["--max-errors", "1"]).ends(3, &["cannot compute the constant `SEEN`"]);
    let said = run(&["--max-errors", "2"]);
    assert_eq!(is_computed(&said.err), [false; 2], "{said:#?}");

    run(&["--quarantine", "lost.jsonl"]).ends(0, &["computed SEEN"]);
    // Two of the stream, and the same two of the run.
    assert_eq!(lines(), 4, "{}", folder.read("lost.jsonl"));
    // They are listed again, and the file begins anew.
    run(&["--quarantine", "lost.jsonl"]).ends(0, &["computed SEEN"]);
    assert_eq!(lines(), 4);
}

#[test]
fn the_examples_of_tables_run() {
    let files = [
        ("tabular.pipe", include_str!("../../examples/tabular.pipe")),
        ("forecast.pipe", include_str!("../../examples/forecast.pipe")),
    ];
    let folder = Folder::of("constants-examples", &files);
    let said = folder.say(&["run", "tabular.pipe", "--out", "out", "--limit", "3"]);
    said.ends(0, &["computed SEEN from 93,", "of 20 row groups"]);
    let rows = |field: &str| folder.files(&format!("out/{field}")).len();
    assert_eq!((rows("x"), rows("vendor")), (3, 3));
    // All features together have mean 0 and deviation 1.
    let said = folder.say(&["run", "tabular.pipe", "--out", "all", "--set", "data=sample:tables"]);
    said.ends(0, &[]);
    let bytes =
        folder.files("all/x").into_values().flat_map(|it| it[128..].to_vec()).collect::<Vec<_>>();
    let values = bytes.as_chunks().0.iter().map(|it| f64::from(f32::from_le_bytes(*it)));
    let (mut n, mut sums, mut squares) = (0.0, [0.0; 3], [0.0; 3]);
    for (at, value) in values.enumerate() {
        n += 1.0 / 3.0;
        sums[at % 3] += value;
        squares[at % 3] += value * value;
    }
    assert!(n > 80_000.0);
    assert!(sums.iter().all(|it| (it / n).abs() < 0.01), "{sums:?}");
    assert!(squares.iter().all(|it| (it / n - 1.0).abs() < 0.05), "{squares:?}");
    folder.say(&["run", "forecast.pipe", "--limit", "2"]).ends(0, &["2 batches"]);
}

/// A stream that would go on for hours is ended by a signal.
#[cfg(unix)]
#[test]
fn a_signal_ends_it() {
    let text = "edition 2026\nconst N = range(1_000_000_000_000) |> moments(of: i)\n\
                pipeline p = range(9) |> map { x: f64(i) - N.mean }\n";
    let folder = Folder::of("constants-signal", &[("p.pipe", text)]);
    let child = folder.with_cache(&["run", "p.pipe"]).stderr(Stdio::piped()).spawn().unwrap();
    thread::sleep(Duration::from_millis(700));
    let since = Instant::now();
    assert!(
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success()
    );
    let said = Printed::of(&child.wait_with_output().unwrap());
    assert_eq!(said.code, 130, "{said:?}");
    assert!(since.elapsed() < Duration::from_secs(10));
    assert!(folder.kept().is_empty());
}
