//! What scans find in small folders.

use super::*;
use crate::session::{
    compile::{Settings, compile},
    load::Loaded,
};
use std::{fs, path::Path};

/// Scans a program over these files; `DIR` in it is their folder.
fn scanned(name: &str, files: &[(&str, &[u8])], text: &str) -> (Scan, Vec<Bad>) {
    let folder = std::env::temp_dir().join(format!("pipec-scan-{}-{name}", std::process::id()));
    for (file, content) in files {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let text = format!("edition 2026\n{}\n", text.replace("DIR", folder.to_str().unwrap()));
    let loaded = Loaded::from_text(Path::new("p.pipe"), text);
    let compiled = compile(&loaded, &Settings::default()).unwrap();
    let mut all = Vec::new();
    let watch = ScanWatch {
        stop: Stop::default(),
        bad: &mut |it| {
            all.push(it.clone());
            Ok(())
        },
        progress: &mut |_| {},
        sample: &mut |_| {},
    };
    let options = ScanOptions { workers: 2, memory: 1 << 26, ..ScanOptions::default() };
    let found = scan(&compiled, &options, watch).unwrap();
    let _ = fs::remove_dir_all(&folder);
    (found, all)
}

#[test]
fn files_are_counted_compared_and_tried() {
    let gif = b"GIF89a\x01\0\x01\0";
    let files: [(&str, &[u8]); 5] =
        [("a/1.jpg", gif), ("a/2.jpg", b""), ("b/1.jpg", gif), ("b/2.jpg", b"x"), ("b/3.jpg", gif)];
    let text = "pipeline p = files(\"DIR/**/*.jpg\") |> shuffle |> map { n: len(bytes) } \
                |> repeat |> map { x: 12 // (n - 1) else 0 } |> batch(2)";
    let (found, bad) = scanned("files", &files, text);
    let files = found.files.unwrap();
    assert_eq!((found.records, found.faults.records, files.records), (4, 1, 5));
    assert_eq!((files.empty.records, files.duplicates.groups, files.duplicates.records), (1, 1, 2));
    assert!(files.empty.first[0].ends_with("a/2.jpg"));
    assert_eq!(files.duplicates.first[0].first.len(), 3);
    assert_eq!(files.formats["GIF"], 3);
    let Bad { step, code, detail, .. } = &bad[0];
    assert_eq!((bad.len(), step.as_str(), code.as_str()), (1, "p.map#2", "division-by-zero"));
    assert!(detail.starts_with("p.pipe:2:"), "{detail}");
    assert_eq!(found.shuffle, Shuffle::All);
}

#[test]
fn every_stream_is_looked_at() {
    let text = "pipeline p = mix([range(10) |> map { label: i // 5 }, range(30) |> map { label: i // 5 }]) \
                |> shuffle(window: 4) |> batch(2)";
    let (found, _) = scanned("mix", &[], text);
    let labels = found.labels.unwrap();
    assert_eq!((found.records, labels.classes, labels.commonest), (40, 6, (0, 10)));
    assert!(labels.sorted && found.shuffle == Shuffle::Window(4) && found.files.is_none());
}

#[test]
fn streams_that_are_zipped_are_looked_at_one_by_one() {
    let program = |of: &str| {
        format!(
            "pipeline p = zip({{ l: range(9), r: range(9) |> map {{ x: {of} }} }}) |> map {{ y: 6 // (l.i - 4) }} |> batch(2)"
        )
    };
    let (found, _) = scanned("zip", &[], &program("6 // (i - 3)"));
    assert!(found.faults.records == 1 && found.unseen.is_some(), "{found:?}");
    let (found, bad) = scanned("zip", &[], &program("i"));
    assert_eq!((found.records, bad[0].step.as_str(), found.unseen), (8, "p.map#2", None));
}

#[test]
fn what_was_found_before_it_was_stopped_is_given() {
    let text =
        "edition 2026\npipeline p = range(100_000_000) |> map { x: 6 // (i - 3) } |> batch(2)\n";
    let loaded = Loaded::from_text(Path::new("p.pipe"), text.to_owned());
    let compiled = compile(&loaded, &Settings::default()).unwrap();
    let (stop, options) =
        (Stop::default(), ScanOptions { workers: 1, memory: 1 << 26, ..ScanOptions::default() });
    let asked = stop.clone();
    let watch = ScanWatch {
        stop,
        bad: &mut |_| Ok(()),
        // The first chunks are small: by then the record that fails has come by.
        progress: &mut |n| {
            if n > 1_000 {
                asked.request();
            }
        },
        sample: &mut |_| {},
    };
    let found = scan(&compiled, &options, watch).unwrap();
    assert!(found.interrupted && found.records > 0 && found.records < 100_000_000, "{found:?}");
    assert_eq!(found.faults.records, 1);
}
