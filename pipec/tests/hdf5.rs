//! HDF5 files, as records and by their rows: what h5py wrote is read, and only what is asked for.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::Folder;
use std::{fs, path::Path};

const ROWS: &[u8] = include_bytes!("../../stdlib/src/tables/goldens/rows.h5");
const LATEST: &[u8] = include_bytes!("../../stdlib/src/tables/goldens/latest.h5");

const PROGRAM: &str = r#"edition 2026
pipeline file = hdf5("a.h5") |> map {
    n: row["n"] as i64[t],
    grid: row["grid"][2:4] as f32[2, 2, 3],
    y: row["more"]["y"][-3:][:2] as f32[?],
    name: row["name"][3:4] as str,
    stem: stem_of(path),
}
pipeline series = hdf5("a.h5") |> map { x: row["x"] as f64[t], n: row["n"] as i64[t] } |> flat_map windows(it, length: 8) |> batch(1)
pipeline rows = hdf5("a.h5", over: "n", columns: ["n", "more", "name"]) |> shuffle |> batch(5)
pipeline missing = hdf5("a.h5") |> map { n: row["m"] as i64[?] }
pipeline shape = hdf5("a.h5") |> map { n: row["n"] as i64[4] }
pipeline type = hdf5("a.h5") |> map { n: row["n"] as u8[?] }
pipeline skipped = hdf5("*.h5") |> map { y: row["more/y"] as f64[23] else skip(most: 1.0) } |> batch(1)
pipeline whole = hdf5("a.h5") |> map { n: row as i64[4] }
pipeline one = hdf5("a.h5") |> map { n: row["n"][3] as i64 }
"#;

fn folder(name: &str) -> Folder {
    let folder = Folder::of(&format!("hdf5-{name}"), &[("p.pipe", PROGRAM)]);
    fs::write(folder.join("a.h5"), ROWS).unwrap();
    folder
}

#[test]
fn datasets_are_read_when_their_type_is_said() {
    let folder = folder("file");
    let told = folder.pipec(&["peek", "p.pipe", "file"]);
    for part in [
        "n     i64[23] [-5, -2, 1, 4, 7",
        "grid  f32[2, 2, 3] [12, 13, 14, 15, 16",
        "y     f32[2] [2.5, 2.625]",
        "name  \"n3é\"",
        "stem  \"a\"",
    ] {
        assert!(told.out.contains(part), "no `{part}` in {told:#?}");
    }
    folder.pipec(&["run", "p.pipe", "series"]).ends(0, &["2 batches"]);
    folder.pipec(&["run", "p.pipe", "rows"]).ends(0, &["23 records"]);
    let run = |pipeline: &str| folder.pipec(&["run", "p.pipe", pipeline]);
    run("missing").ends(3, &["field-missing", "`a.h5` has no dataset `m`"]);
    run("shape").ends(3, &["dataset-shape", "the extents [23], which do not fit `[4]`"]);
    run("type").ends(3, &["dataset-type", "-5 of dataset `n` does not fit into `u8`"]);
    run("whole").ends(1, &["it has named datasets"]);
    run("one").ends(1, &["rows are read as a part"]);
    fs::write(folder.join("b.h5"), LATEST).unwrap();
    fs::write(folder.join("c.h5"), &ROWS[..900]).unwrap();
    run("skipped").ends(0, &["1 record"]);
    fs::write(folder.join("a.h5"), "no HDF5").unwrap();
    run("file").ends(3, &["file-unreadable", "this is not an HDF5 file"]);
    run("rows").ends(5, &["a.h5", "this is not an HDF5 file"]);
}

#[test]
fn inspect_writes_a_program_that_reads_what_there_is() {
    let folder = folder("inspect");
    let written = folder.pipec(&["inspect", "a.h5", "--program"]);
    assert_eq!(written.code, 0, "{written:#?}");
    for part in [
        "hdf5(\"a.h5\")",
        "grid:       row[\"grid\"] as u8[?, 2, 3]",
        "more_y:     row[\"more/y\"] as f64[23]",
        "scalar:     row[\"scalar\"] as i64",
    ] {
        assert!(written.out.contains(part), "no `{part}` in {}", written.out);
    }
    folder.write("w.pipe", &written.out);
    folder.pipec(&["run", "w.pipe"]).ends(0, &["1 record"]);
}

/// Files of the HDF Group's collection of vulnerabilities: each ends with an error, or is read.
#[test]
fn hostile_files_are_survived() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/corrupt/hdf5");
    let Ok(files) = fs::read_dir(&data) else {
        println!("skipped: the data are not here");
        return;
    };
    let folder = Folder::new("hdf5-hostile");
    for path in files.map(|it| it.unwrap().path()) {
        let path = path.to_str().unwrap();
        let told = folder.pipec(&["inspect", path, "--program"]);
        assert!([0, 2, 3, 5].contains(&told.code), "{path}: {told:#?}");
        if told.code == 0 {
            folder.write("p.pipe", &told.out);
            let ran = folder.pipec(&["run", "p.pipe", "--memory", "1GiB"]);
            assert!([0, 2, 3, 5].contains(&ran.code), "{path}: {ran:#?}");
        }
    }
}
