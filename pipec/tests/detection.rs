//! The examples of detection and segmentation, on images that are generated.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::Folder;

/// Runs an example on a few images, in batches of four, with one worker and with three; the bytes are the same. Gives
/// how many batches each field has, and the header of the first one, which says its dtype and shape.
fn ran(name: &str, text: &str, field: &str) -> (usize, String) {
    let text = text.replace("sample:detection", "sample:detection?count=30");
    let text =
        ["batch(16,", "batch(32,"].iter().fold(text, |text, it| text.replace(it, "batch(4,"));
    let folder = Folder::of(&format!("detection-{name}"), &[("p.pipe", &text)]);
    for (out, workers) in [("one", "1"), ("three", "3")] {
        let args = ["run", "p.pipe", "--out", out, "--workers", workers, "--epochs", "1"];
        folder.pipec(&args).ends(0, &[]);
    }
    let files = folder.files("one");
    assert!(files == folder.files("three"), "{name} depends on the number of workers");
    let of_field = folder.files(&format!("one/{field}"));
    let first = of_field.values().next().expect("there is a batch");
    (of_field.len(), String::from_utf8_lossy(&first[10..128]).into_owned())
}

#[test]
fn ssd_runs() {
    let (n, header) = ran("ssd", include_str!("../../examples/ssd.pipe"), "image");
    assert!(
        n >= 2 && header.contains("'<f4'") && header.contains("(4, 3, 300, 300)"),
        "{n} {header}"
    );
}

#[test]
fn mask_rcnn_runs() {
    let (n, header) = ran("mask-rcnn", include_str!("../../examples/mask_rcnn.pipe"), "masks");
    assert!(n >= 1 && header.contains("'|u1'") && header.contains("(4, "), "{n} {header}");
}

#[test]
fn segmentation_runs() {
    let (n, header) =
        ran("segmentation", include_str!("../../examples/segmentation.pipe"), "classes");
    assert!(n == 7 && header.contains("'<i8'") && header.contains("(4, 384, 384)"), "{n} {header}");
}

#[test]
fn yolo_runs() {
    let (n, header) = ran("yolo", include_str!("../../examples/yolo.pipe"), "image");
    assert!(
        n == 7 && header.contains("'|u1'") && header.contains("(4, 3, 512, 512)"),
        "{n} {header}"
    );
}
