//! What `pipec inspect` finds out about files, and that the program which it writes reads them; what `pipec index` makes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::Folder;
use std::{
    fs,
    time::{Duration, SystemTime},
};

/// The program that is written for a path, and what it is run to: the number of its records.
#[track_caller]
fn program(folder: &Folder, path: &str, records: usize) -> String {
    let written = folder.pipec(&["inspect", path, "--program"]);
    assert_eq!(written.code, 0, "{written:#?}");
    folder.write("p.pipe", &written.out);
    let formatted = folder.pipec(&["fmt", "--check", "p.pipe"]);
    assert_eq!(formatted.code, 0, "{}", written.out);
    let ran = folder.pipec(&["run", "p.pipe"]);
    ran.ends(0, &[&format!("{records} records")]);
    written.out.lines().skip(1).map(str::trim).collect::<Vec<_>>().join(" ")
}

#[test]
fn files_say_what_they_hold() {
    let folder = Folder::new("inspect");
    folder.write("t/a.csv", "name,n\nx,1\ny,2\n");
    folder.write("t/b.csv", "name,n\nz,3\n");
    folder.write("t/readme.md", "what it is\n");
    let told = folder.pipec(&["inspect", "t"]);
    let says = |part: &str| assert!(told.out.contains(part), "no `{part}` in {told:#?}");
    says("`t`: 2 CSV files, 26 B, 3 records");
    says("not read: 1 × .md");
    says("{ name: str, n: i64 }");
    says("name  \"x\"");
    assert_eq!(program(&folder, "t", 3), "pipeline data = csv(\"t/*.csv\")");
    assert_eq!(program(&folder, "t/a.csv", 2), "pipeline data = csv(\"t/a.csv\")");
    assert_eq!(program(&folder, "t/*.csv", 3), "pipeline data = csv(\"t/*.csv\")");
}

#[test]
fn columns_that_cannot_be_written_are_given_names() {
    let folder = Folder::new("inspect-names");
    folder
        .write("t.csv", "Trip Distance,class,in,Trip distance,\n1.5,a,3,2,\"\"\n2.5,b,4,3,\"\"\n");
    let text = program(&folder, "t.csv", 2);
    let columns = "columns: { trip_distance: \"Trip Distance\", class, in_: \"in\", trip_distance_: \"Trip distance\", \
                   column5 }";
    let flat = text
        .replace(",  }", " }")
        .replace(", }", " }")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(flat.contains(columns), "{flat}");
    folder.pipec(&["inspect", "t.csv"]).ends(0, &[]);
}

#[test]
fn what_is_written_is_recognised_and_read() {
    let folder = Folder::new("inspect-written");
    folder.write(
        "w.pipe",
        "edition 2026\npipeline p = range(7) |> map { n: i, x: f32(i) / 4, s: if i > 3 then \"a\" else \"b\" }\n",
    );
    for (format, fields) in [
        ("parquet", ""),
        ("arrow", ""),
        ("mds", ""),
        ("jsonl", "n: row[\"n\"] as i64"),
        ("tfrecord", "x: row[\"x\"] as f32"),
        ("tar", "as i64"),
    ] {
        let args = ["run", "w.pipe", "--out", format, "--format", format, "--shard", "3"];
        folder.pipec(&args).ends(0, &[]);
        let text = program(&folder, format, 7);
        assert!(text.contains(&format!("{format}(\"{format}/[0-9]*.{format}\")")), "{text}");
        assert!(text.contains(fields), "{text}");
    }
}

#[test]
fn pictures_in_folders_have_labels() {
    let folder = Folder::new("inspect-pictures");
    folder.pipec(&["sample", "images", "flat", "--count", "12"]).ends(0, &[]);
    let text = program(&folder, "flat", 12);
    let wanted =
        "files(\"flat/**/*.jpg\") |> map { image: decode_jpeg(bytes), label: class_of(path) }";
    assert!(text.contains(wanted), "{text}");
    let one = fs::read_dir(folder.join("flat")).unwrap().flatten().find(|it| it.path().is_dir());
    let one = format!("flat/{}", one.unwrap().file_name().to_string_lossy());
    let told = folder.pipec(&["inspect", &one]);
    assert!(told.out.contains("JPEG file") && !told.out.contains("class_of"), "{told:#?}");
}

#[test]
fn what_is_not_known_is_told() {
    let folder = Folder::of("inspect-unknown", &[("a.xyz", "?"), ("b.csv", ""), ("c", "PAR1")]);
    folder.pipec(&["inspect", "a.xyz"]).ends(2, &["the format of `a.xyz` is not known"]);
    folder.pipec(&["inspect", "none"]).ends(5, &["no file matches `none`"]);
    folder.pipec(&["inspect", "{a"]).ends(2, &["`{a` cannot be used"]);
    let broken = folder.pipec(&["inspect", "c"]);
    broken.ends(5, &["Parquet"]);
    assert!(broken.out.contains("`c`: 1 Parquet file"), "{broken:#?}");
    let json = folder.pipec(&["inspect", "a.xyz", "--json"]);
    json.ends(2, &["not known"]);
}

#[test]
fn indices_are_made_ahead_of_runs() {
    let program = "edition 2026\npipeline p = lines(\"large.txt\") |> shuffle |> take(20)\n\
                   pipeline q = lines(\"large.txt\") |> take(20)\n";
    let folder = Folder::quick_of("formats-ahead", &[("p.pipe", program)]);
    let lines: Vec<String> = (0..60_000).map(|it| format!("{it:080}")).collect();
    folder.write("large.txt", &lines.join("\n"));
    // What was written just now may be written again within a tick of its clock.
    fs::File::options()
        .append(true)
        .open(folder.join("large.txt"))
        .unwrap()
        .set_modified(SystemTime::now() - Duration::from_secs(60))
        .unwrap();
    let index = |more: &[&str]| {
        folder.pipec(&[&["index", "p.pipe"], more, &["--index-dir", "index"]].concat())
    };
    index(&["q"]).ends(0, &["read in order, for which no index is needed"]);
    index(&["p"]).ends(0, &["`lines(\"large.txt\")`", "the places of 60,000 records are known"]);
    let made = folder.files("index");
    assert_eq!(made.len(), 1);
    assert!(index(&["p", "--json"]).out.contains("60000"));
    let out = ["--out", "-", "--index-dir", "index"];
    assert_eq!(folder.pipec(&[&["run", "p.pipe", "p"], &out[..]].concat()).code, 0);
    assert_eq!(folder.files("index"), made);
    fs::remove_file(folder.join("large.txt")).unwrap();
    index(&["p"]).ends(5, &["large.txt"]);
}
