//! Looking into pipelines: `peek`, `verify`, `scan`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Folder, Printed};
use std::fs;

/// Pictures that the program makes itself, and numbers of which one fails.
const PROGRAM: &str = "\
edition 2026

pipeline pictures =
    range(80) |> shuffle |> where i % 2 == 0
    |> map { image: plasma(i, 40, 60) |> normalize(mean: 0.5, std: 0.25) |> channels_first, label: i // 20 }
    |> batch(4)

pipeline numbers = range(20) |> map { i, x: 12 // (i - 5) else skip(most: 1) } |> batch(4)
";

impl Folder {
    /// One with the program.
    fn with_program(name: &str) -> Self {
        Self::of(&format!("look-{name}"), &[("p.pipe", PROGRAM)])
    }

    /// The exit code, and what was printed on stdout and stderr.
    fn run(&self, args: &[&str]) -> (i32, String, String) {
        let Printed { code, out, err } = self.pipec(args);
        (code, out, err)
    }
}

#[test]
fn peek_shows_one_step_and_saves_its_pictures() {
    let folder = Folder::with_program("sheet");
    let args = ["peek", "p.pipe", "pictures", "--at", "map", "-n", "3", "--save", "s.png"];
    let (code, out, err) = folder.run(&args);
    assert_eq!(code, 0, "{err}");
    assert!(out.starts_with("pictures.map#1  p.pipe:5:"), "{out}");
    assert_eq!(out.matches("f32[3, 40, 60]").count(), 1 + 3, "{out}");
    let png = fs::read(folder.join("s.png")).unwrap();
    // Two beside each other, 96 pixels wide at the least.
    assert_eq!((&png[..4], &png[16..20]), (&b"\x89PNG"[..], &210_u32.to_be_bytes()[..]));

    let (code, _, err) = folder.run(&["peek", "p.pipe", "pictures", "--at", "mapp"]);
    assert!(code == 2 && err.contains("did you mean `pictures.map#1`"), "{err}");
    let (code, _, err) = folder.run(&["peek", "p.pipe", "numbers", "--save", "no.png"]);
    assert!(code == 2 && err.contains("there is no picture"), "{err}");
}

#[test]
fn a_record_is_followed_until_it_is_gone() {
    let folder = Folder::with_program("follow");
    let (code, out, _) = folder.run(&["peek", "p.pipe", "numbers", "--json", "-n", "6"]);
    assert_eq!(code, 0);
    let steps: serde_json::Value = serde_json::from_str(&out).unwrap();
    let id = |row: usize| steps[0]["records"][row]["id"].as_str().unwrap();
    assert_eq!(steps[1]["records"][5]["code"], "division-by-zero");

    let follow = |row: usize| folder.run(&["peek", "p.pipe", "numbers", "--record", id(row)]);
    let (code, failed, _) = follow(5);
    assert!(code == 0 && failed.trim_end().ends_with("(division-by-zero)"), "{failed}");
    let (_, kept, _) = follow(0);
    assert!(kept.contains("x  -3") && kept.contains("records come together"), "{kept}");

    let (_, out, _) = folder.run(&["peek", "p.pipe", "pictures", "--json", "-n", "2"]);
    let steps: serde_json::Value = serde_json::from_str(&out).unwrap();
    let odd = steps[0]["records"][1]["id"].as_str().unwrap();
    let (_, gone, _) = folder.run(&["peek", "p.pipe", "pictures", "--record", odd]);
    assert!(gone.trim_end().ends_with("it does not pass: it is gone from here on"), "{gone}");
    let (code, ..) = folder.run(&["peek", "p.pipe", "pictures", "--record", "0000000000000000"]);
    assert_eq!(code, 2);
}

#[test]
fn the_optimised_plan_gives_the_same() {
    let folder = Folder::with_program("verify");
    let (code, out, err) = folder.run(&["verify", "p.pipe", "pictures", "--pairs", "1"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("seed 0, 1 epoch: 10 batches the same;"), "{out}");
    assert!(lines[1].starts_with("seed 1, 2 epochs: 20 batches the same;"), "{out}");
    let (code, out, _) = folder.run(&["verify", "p.pipe", "numbers", "--limit", "2", "--json"]);
    let pairs: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(code == 0 && pairs[3]["outputs"] == 2 && pairs[0]["hash"] == pairs[2]["hash"], "{out}");
}

#[test]
fn a_scan_names_what_fails() {
    let folder = Folder::with_program("scan");
    let (code, out, _) = folder.run(&["scan", "p.pipe", "numbers", "--out", "bad.jsonl"]);
    assert!(code == 3 && out.contains("20 records") && out.contains("1 failed"), "{out}");
    let bad = folder.read("bad.jsonl");
    let bad: serde_json::Value = serde_json::from_str(&bad).unwrap();
    assert_eq!((&bad["code"], &bad["step"]), (&"division-by-zero".into(), &"numbers.map#1".into()));

    let (code, out, _) = folder.run(&["scan", "p.pipe", "pictures"]);
    assert!(code == 0 && out.contains("the source is sorted by it"), "{out}");
}
