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

pipeline scene =
    range(4)
    |> with { image: plasma(i, 64, 96) }
    |> map {
        view: normalize(image, mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]) |> channels_first,
        inside: box_mask([i * 8, 8, 24, 40], like: channels_first(image)),
        crops: stack([random_crop(image, 32, 32) for _ in 1..3]),
        plain: image,
        label: i,
    }
    |> batch(2)
pipeline many = range(80) |> map { image: plasma(i, 4, 4) }

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
    assert!(code == 2 && err.contains("there are no images"), "{err}");
    let (code, _, err) = folder.run(&["peek", "p.pipe", "pictures", "--save", "s.jpg"]);
    assert!(code == 2 && err.contains("`--save s.png`"), "{err}");
    assert!(!folder.join("s.jpg").exists());
}

/// The extents and the pixels of a PNG.
fn pixels(path: &std::path::Path) -> (usize, Vec<u8>) {
    let file = std::io::BufReader::new(fs::File::open(path).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    (info.width as usize, pixels)
}

#[test]
fn a_sheet_has_every_picture_of_a_record() {
    // Issue 19, number 22: all image fields, stacked crops as tiles, masks in colour, floats as they
    // were before they were normalised.
    let folder = Folder::with_program("scene");
    let args = ["peek", "p.pipe", "scene", "--at", "batch", "-n", "2", "--save", "s.png"];
    let (code, _, err) = folder.run(&args);
    assert!(code == 0 && err.contains("12 images of 2 records"), "{err}");

    let (width, pixels) = pixels(&folder.join("s.png"));
    let at = |y: usize, x: usize| &pixels[(y * width + x) * 3..][..3];
    // The tiles stand 102 apart: the view, the view under its mask, three crops, the picture itself.
    let (view, masked, plain) = (6, 6 + 102, 6 + 5 * 102);
    for (y, x) in [(0, 0), (20, 70), (63, 95)] {
        let (view, plain) = (at(6 + y, view + x), at(6 + y, plain + x));
        assert!(view.iter().zip(plain).all(|it| it.0.abs_diff(*it.1) <= 1), "{view:?} {plain:?}");
    }
    let (inside, under) = (at(6 + 10, masked + 20), at(6 + 10, view + 20));
    assert!(inside[0] >= 115 && inside[1] <= under[1] / 2 + 13, "red over {under:?}: {inside:?}");
    assert_eq!(at(6 + 40, masked + 20), at(6 + 40, view + 20), "outside of the box");

    let (_, _, err) = folder.run(&["peek", "p.pipe", "many", "-n", "80", "--save", "s.png"]);
    assert!(
        err.contains("64 images of 64 records") && err.contains("16 more did not fit"),
        "{err}"
    );
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
    assert!(kept.contains("x  -3") && kept.contains("records are combined"), "{kept}");

    let (_, out, _) = folder.run(&["peek", "p.pipe", "pictures", "--json", "-n", "2"]);
    let steps: serde_json::Value = serde_json::from_str(&out).unwrap();
    let odd = steps[0]["records"][1]["id"].as_str().unwrap();
    let (_, gone, _) = folder.run(&["peek", "p.pipe", "pictures", "--record", odd]);
    assert!(gone.trim_end().ends_with("dropped: it does not pass the filter"), "{gone}");
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
fn plans_that_fail_before_their_first_batch_are_not_compared() {
    let folder = Folder::of("verify-nothing", &[("bad.csv", "x\n1\n"), ("p.pipe", "")]);
    let failing = [
        ("range(4) |> map { x: 1 // (i - i) } |> batch(2, tail: drop)", 3, "divi"),
        (
            "csv(\"bad.csv\", types: { x: i64 }) |> where index_of(x, [2]) == 0 |> batch(1)",
            3,
            "not one of",
        ),
        ("files(\"none/*.jpg\") |> batch(2, tail: drop)", 5, "none"),
    ];
    for (steps, code, why) in failing {
        folder.write("p.pipe", &format!("edition 2026\npipeline p = {steps}\n"));
        assert_eq!(folder.pipec(&["run", "p.pipe"]).code, code, "{steps}");
        let verify = folder.pipec(&["verify", "p.pipe"]);
        verify.ends(code, &[why]);
        assert!(!verify.out.contains("the same"), "{verify:#?}");
    }
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
