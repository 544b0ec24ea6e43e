//! Shards: TFRecords and tar archives give what the files in them give, also where they are damaged.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;
#[path = "common/shards.rs"]
mod shards;

use common::Folder;
use shards::Feature::{Bytes, Floats, Ints};
use std::{
    fs,
    io::Write,
    path::Path,
    time::{Duration, SystemTime},
};

const PROGRAM: &str = r#"edition 2026
fn picture(bytes) = decode_jpeg(bytes) |> resize(24, 24)
pipeline plain = files("data/**/*.jpg") |> map { image: picture(bytes), n: len(bytes) } |> batch(4)
pipeline example =
    tfrecord("*.tfrecord") |> map { image: picture(row["image"] as bytes), n: row["n"] as i64 } |> batch(4)
pipeline shards =
    tar("*.tar") |> map { image: picture(files["png;jpg"] as bytes), n: files["json"]["n"] as i64 } |> batch(4)
pipeline packed =
    tar("*.tgz") |> map { image: picture(files["JPG"] as bytes), n: files["cls"] as i64 } |> batch(4)
pipeline any_order = tfrecord("*.tfrecord") |> shuffle |> map { n: row["n"] as i64 } |> batch(1)
pipeline any_shard = tar("*.tar") |> shuffle |> map { n: files["cls"] as i64 } |> batch(1)
pipeline in_window = tar("*.tgz") |> shuffle(window: 8) |> map { n: files["cls"] as i64 } |> batch(1)
pipeline no_order = tar("*.tgz") |> shuffle |> map { n: files["cls"] as i64 } |> batch(1)
pipeline sound = tfrecord("*.tfrecord") |> map { n: row["n"] as i64 else skip(most: 1) } |> batch(1)
pipeline cut = tar("*.tar") |> map { n: files["cls"] as i64 else skip(most: 1) } |> batch(1)
"#;

/// Pictures as files, and the same in two shards of each kind.
fn folder(name: &str) -> Folder {
    let folder = Folder::of(&format!("formats-{name}"), &[("p.pipe", PROGRAM)]);
    folder.pipec(&["sample", "images", "data", "--count", "12"]).ends(0, &[]);
    let mut paths: Vec<String> = folder.files("data").into_keys().collect();
    paths.retain(|it| it.ends_with(".jpg"));
    let pictures: Vec<Vec<u8>> =
        paths.iter().map(|it| fs::read(folder.join("data").join(it)).unwrap()).collect();
    for (shard, some) in pictures.chunks(6).enumerate() {
        let examples: Vec<_> = some
            .iter()
            .map(|it| shards::example(&[("n", Ints(&[it.len() as i64])), ("image", Bytes(&[it]))]))
            .collect();
        fs::write(folder.join(format!("{shard}.tfrecord")), shards::tfrecord(&examples)).unwrap();
        let numbers: Vec<_> = some
            .iter()
            .map(|it| (it.len().to_string(), format!("{{\"n\": {}}}", it.len())))
            .collect();
        let paths: Vec<_> = (0..some.len())
            .map(|it| ["jpg", "cls", "json"].map(|ext| format!("a.b/{shard}-{it:02}.{ext}")))
            .collect();
        let mut files: Vec<(&str, &[u8])> = vec![("__index__", b"x"), ("a.b/README", b"no member")];
        for ((picture, (cls, json)), [jpg_at, cls_at, json_at]) in
            some.iter().zip(&numbers).zip(&paths)
        {
            files.push((jpg_at, picture));
            files.push((cls_at, cls.as_bytes()));
            files.push((json_at, json.as_bytes()));
        }
        let archive = shards::tar(&files);
        fs::write(folder.join(format!("{shard}.tar")), &archive).unwrap();
        let packed = fs::File::create(folder.join(format!("{shard}.tgz"))).unwrap();
        let mut packed = flate2::write::GzEncoder::new(packed, flate2::Compression::fast());
        packed.write_all(&archive).unwrap();
        packed.finish().unwrap();
    }
    folder
}

impl Folder {
    fn run_p(&self, more: &[&str]) -> common::Printed {
        self.pipec(&[&["run", "p.pipe"], more].concat())
    }

    /// The numbers that a pipeline gives, one a batch.
    fn numbers(&self, pipeline: &str) -> Vec<i64> {
        self.run_p(&[pipeline, "--out", pipeline]).ends(0, &[]);
        let all = self.files(pipeline).into_iter().filter(|it| it.0.ends_with(".npy"));
        all.map(|(_, it)| i64::from_le_bytes(*it.last_chunk().unwrap())).collect()
    }
}

#[test]
fn shards_give_what_their_files_give() {
    let folder = folder("same");
    folder.run_p(&["plain", "--out", "plain"]).ends(0, &[]);
    let arrays = |it: &str| {
        let mut files = folder.files(it);
        files.retain(|name, _| name.ends_with(".npy"));
        files
    };
    let plain = arrays("plain");
    assert_eq!(plain.len(), 6, "{:?}", plain.keys());
    for pipeline in ["example", "shards", "packed"] {
        folder.run_p(&[pipeline, "--out", pipeline, "--workers", "3"]).ends(0, &[]);
        assert!(arrays(pipeline) == plain, "{pipeline}");
    }
}

#[test]
fn shards_are_read_in_any_order() {
    let folder = folder("order");
    let sorted = |pipeline: &str| {
        let mut all = folder.numbers(pipeline);
        let given = all.clone();
        all.sort_unstable();
        assert_ne!(given, all, "`{pipeline}` shuffles");
        all
    };
    let all = sorted("any_order");
    assert_eq!(all.len(), 12);
    assert_eq!(sorted("any_shard"), all);
    assert_eq!(sorted("in_window"), all);
    folder.run_p(&["no_order"]).ends(
        5,
        &["it is compressed with gzip, so it can only be read in order", "shuffle(window: 10_000)"],
    );
}

#[test]
fn what_is_damaged_is_told_and_the_rest_arrives() {
    let folder = folder("damage");
    let numbers = folder.numbers("sound");
    assert_eq!((numbers.len(), &numbers), (12, &folder.numbers("cut")));
    let damage = |file: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let path = folder.join(file);
        let mut bytes = fs::read(&path).unwrap();
        change(&mut bytes);
        fs::write(&path, bytes).unwrap();
    };
    let whole = fs::read(folder.join("0.tfrecord")).unwrap();

    // A byte of the first record's data.
    damage("0.tfrecord", &|it| it[100] ^= 1);
    let _ = fs::remove_dir_all(folder.join("sound"));
    assert_eq!(folder.numbers("sound"), numbers[1..]);
    folder.run_p(&["example"]).ends(
        5,
        &["0.tfrecord`: record 1, at byte 0: the checksum of the data is invalid", "check: false"],
    );

    // The first record's length; the end within a record.
    let rest = "0.tfrecord`: record 1, at byte 0: the checksum of the length is invalid; ";
    fs::write(folder.join("0.tfrecord"), &whole).unwrap();
    damage("0.tfrecord", &|it| it[0] ^= 1);
    let _ = fs::remove_dir_all(folder.join("sound"));
    assert_eq!(folder.numbers("sound"), numbers[6..]);
    folder
        .run_p(&["example"])
        .ends(5, &[&format!("{rest}the remaining {} bytes of the file are skipped", whole.len())]);
    fs::write(folder.join("0.tfrecord"), &whole[..whole.len() - 5]).unwrap();
    let _ = fs::remove_dir_all(folder.join("sound"));
    assert_eq!(folder.numbers("sound"), [&numbers[..5], &numbers[6..]].concat());

    // A header of the second record of an archive; the end within its last file.
    let archive = fs::read(folder.join("0.tar")).unwrap();
    let second = archive.windows(11).position(|it| it == b"a.b/0-01.jp").unwrap();
    damage("0.tar", &|it| it[second] ^= 1);
    let _ = fs::remove_dir_all(folder.join("cut"));
    assert_eq!(folder.numbers("cut"), [&numbers[..1], &numbers[6..]].concat());
    folder.run_p(&["shards"]).ends(
        5,
        &[&format!("0.tar`: record 2, at byte {second}: found a header with an invalid checksum")],
    );
    fs::write(folder.join("0.tar"), &archive[..archive.len() - 1024 - 510]).unwrap();
    let _ = fs::remove_dir_all(folder.join("cut"));
    assert_eq!(folder.numbers("cut"), [&numbers[..5], &numbers[6..]].concat());
    folder
        .run_p(&["shards"])
        .ends(5, &["0.tar`: record 6, at byte", "the archive is truncated inside a file"]);
}

#[test]
fn arrays_that_were_written_are_read() {
    let program = r#"edition 2026
pipeline made = range(12) |> map { x: [f32(i), f32(i) / 3], y: i < 4 } |> batch(4)
pipeline x = npy("made/x/*.npy") |> batch(4)
pipeline y = npy("made/y/*.npy") |> batch(4)
pipeline any_order = npy("made/x/*.npy") |> shuffle |> map { n: i64(value[0]) } |> batch(1)
pipeline in_window =
    zip({ x: npy("made/x/*.npy"), y: npy("made/y/*.npy") })
    |> shuffle(window: 8)
    |> map { n: i64(x.value[0]) + (if y.value then 100 else 0) }
    |> batch(1)
pipeline wrong = npy("big.npy") |> batch(1)
"#;
    let folder = Folder::of("formats-npy", &[("p.pipe", program)]);
    folder.run_p(&["made", "--out", "made"]).ends(0, &[]);
    for field in ["x", "y"] {
        folder.run_p(&[field, "--out", field]).ends(0, &[]);
        for batch in ["00000000.npy", "00000001.npy", "00000002.npy"] {
            let [made, read] = [format!("made/{field}"), format!("{field}/value")]
                .map(|it| fs::read(folder.join(it).join(batch)).unwrap());
            assert!(made == read, "{field}, {batch}");
        }
    }
    for (pipeline, expected) in [
        ("any_order", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
        ("in_window", [4, 5, 6, 7, 8, 9, 10, 11, 100, 101, 102, 103]),
    ] {
        let mut numbers = folder.numbers(pipeline);
        assert!(!numbers.is_sorted(), "{numbers:?}");
        numbers.sort_unstable();
        assert_eq!(numbers, expected);
    }

    fs::write(folder.join("big.npy"), shards::npy("<i4", "(3,)", &[0; 8])).unwrap();
    let wrong = "big.npy`: its header says 3 rows of 4 bytes, but 8 bytes follow it";
    folder.run_p(&["wrong"]).ends(5, &[wrong, "copy or write the file again"]);
    fs::write(folder.join("big.npy"), "1,2\n").unwrap();
    folder.pipec(&["check", "p.pipe"]).ends(5, &["this is not a `.npy` file"]);
}

#[test]
fn records_that_were_written_are_read() {
    let program = r#"edition 2026
pipeline made =
    range(2_500)
    |> map {
        id: i, small: u8(i % 256), half: f16(i) / 2, x: [f32(i), f32(i) / 3], m: reshape(arange(6), [2, 3]) + i,
        even: i % 2 == 0, name: text_of(i), list: arange(i % 4)
    }
pipeline parquet = parquet("as/parquet/*.parquet")
pipeline arrow = arrow("as/arrow/*.arrow")
pipeline mds =
    mds("as/mds/*.mds") |> map { id, small, half, x, m, even: even == 1, name, list }
pipeline tfrecord =
    tfrecord("as/tfrecord/*.tfrecord")
    |> map {
        id: row["id"] as i64, small: row["small"] as u8, half: row["half"] as f16, x: row["x"] as f32[2],
        m: reshape(row["m"] as i64[6], [2, 3]), even: (row["even"] as i64) == 1, name: row["name"] as str,
        list: row["list"] as i64[n]
    }
pipeline jsonl =
    jsonl("as/jsonl/0*.jsonl")
    |> map {
        id: row["id"] as i64, small: row["small"] as u8, half: row["half"] as f16, x: row["x"] as f32[2],
        m: row["m"] as i64[2, 3], even: row["even"] as bool, name: row["name"] as str, list: row["list"] as i64[n]
    }
pipeline tar = tar("as/tar/*.tar") |> map { id: files["id"] as i64, name: files["name.txt"] as str }
pipeline few = made |> map { id, name }
pipeline batched = made |> map { id } |> batch(4)
pipeline wide = made |> map { id: f64(id) }
"#;
    let folder = Folder::of("formats-written", &[("p.pipe", program)]);
    let text = |it: &str| -> String {
        let mut files = folder.files(it);
        files.retain(|name, _| name.ends_with(".jsonl") && !name.contains("pipec"));
        files.into_values().map(|it| String::from_utf8(it).unwrap()).collect()
    };
    let write = |pipeline: &str, to: &str, format: &str| {
        folder.run_p(&[pipeline, "--out", to, "--format", format, "--shard", "999"])
    };
    write("made", "made", "jsonl").ends(0, &["2,500 records"]);
    write("few", "few", "jsonl").ends(0, &[]);
    for format in ["parquet", "arrow", "tfrecord", "jsonl", "mds", "tar"] {
        let to = format!("as/{format}");
        write("made", &to, format).ends(0, &[]);
        assert!(folder.join(&to).join(format!("00000002.{format}")).is_file(), "three shards");
        write(format, "again", "jsonl").ends(0, &[]);
        let made = if format == "tar" { "few" } else { "made" };
        assert!(text("again") == text(made), "{format}");
        fs::remove_dir_all(folder.join("again")).unwrap();
    }
    // Fewer shards leave none of before; another format is not written into the same folder unasked.
    folder
        .run_p(&["made", "--out", "as/tar", "--format", "tar"])
        .ends(5, &["`tar` in shards of 999 records, but this run writes `tar` in shards of 64MiB"]);
    let over = ["made", "--out", "as/tar", "--format", "mds", "--overwrite"];
    folder.run_p(&over).ends(0, &[]);
    let names: Vec<String> = folder.files("as/tar").into_keys().collect();
    assert_eq!(names, ["00000000.mds", "index.json", "pipec.files.jsonl", "pipec.json"]);
    write("batched", "no", "tar").ends(1, &["`batched` ends in `batch`", "remove `batch`"]);
    write("batched", "no", "safetensors")
        .ends(1, &["each batch to a file of its own", "`--shard`"]);
    write("wide", "no", "tfrecord").ends(1, &["`id: f64` does not fit TFRecord", "`f32(x)`"]);
}

#[test]
fn what_a_filter_drops_is_not_read() {
    let program = r#"edition 2026
pipeline made =
    range(80_000)
    |> map { time: i, x: f32(i % 1000) / 7, zone: text_of(i // 10_000), day: i // 1000, wide: sin(f64(arange(64)) * f64(i + 1)) }
pipeline late = parquet("rows/*.parquet") |> where time >= 76_000 and x > 1 |> map { time, wide } |> batch(100)
pipeline turn =
    parquet("rows/*.parquet") |> where day == 3 |> shuffle(window: 100, spans: 4) |> map { time, wide } |> batch(100)
pipeline zone =
    parquet("rows/*.parquet") |> where "3" == zone |> map { time, wide, n: parse_int(zone) else skip } |> batch(100)
pipeline free = parquet("rows/*.parquet") |> where x > 1 |> map { time } |> batch(100)
"#;
    let folder = Folder::of("formats-filtered", &[("p.pipe", program)]);
    let rows = ["made", "--out", "rows", "--format", "parquet", "--shard", "4000"];
    folder.run_p(&rows).ends(0, &[]);
    let read = |pipeline: &str, more: &[&str]| {
        let profile = folder.join("profile.json");
        let usual =
            [pipeline, "--out", "out", "--overwrite", "--profile", profile.to_str().unwrap()];
        folder.run_p(&[&usual[..], more].concat()).ends(0, &[]);
        let text = fs::read_to_string(&profile).unwrap();
        fs::remove_file(&profile).unwrap();
        let bytes = text.split_once("\"bytes_read\":").unwrap().1;
        let bytes: f64 = bytes.split([',', '}']).next().unwrap().trim().parse().unwrap();
        let mut files = folder.files("out");
        files.retain(|name, _| name.ends_with(".npy"));
        (bytes, files)
    };
    for (pipeline, less) in [("late", 10.0), ("turn", 10.0), ("zone", 2.0), ("free", 1.0)] {
        let (few, found) = read(pipeline, &[]);
        let (all, expected) = read(pipeline, &["--disable-pass", "source-filters"]);
        assert!(found == expected && !found.is_empty(), "{pipeline}");
        assert!(few * less <= all, "{pipeline}: {few} of {all} bytes");
    }
    // The last of 20 shards is read.
    folder.run_p(&["late", "--out", "null"]).ends(0, &["19 of 20 row groups (76,000 records, "]);
    let told = folder.run_p(&["late", "--out", "null", "--json"]).out;
    assert!(told.contains("\"spared\":") && told.contains("\"parts\": 19"), "{told}");
    let told = folder.pipec(&["explain", "p.pipe", "late", "--rewrites"]).out;
    assert!(told.contains("not read: 19 of 20 row groups (76,000 records, "), "{told}");
    folder.run_p(&["free", "--out", "null"]).ends(0, &["0 of 20 row groups (0 records)"]);
}

#[test]
fn features_become_tensors() {
    let folder = Folder::new("formats-features");
    folder.write(
        "p.pipe",
        r#"edition 2026
pipeline p = tfrecord("a.tfrecord") |> map {
    boxes: row["boxes"] as f32[n, 2], labels: row["labels"] as i64[n], wide: row["boxes"] as f64[?],
    small: row["labels"] as u8[3], name: row["names"][-1] as str, one: row["one"] as bool, none: row["none"] as f32[?],
}
pipeline s = tfrecord("s.tfrecord", form: sequence) |> map {
    id: row["id"] as str, steps: row["steps"] as f32[n, 2], each: row["each"] as i32[n],
}
pipeline wrong = tfrecord("a.tfrecord") |> map { x: row["boxes"] as i64[n] }
pipeline shape = tfrecord("a.tfrecord") |> map { x: row["labels"] as i64[n, 2] }
pipeline missing = tfrecord("a.tfrecord") |> map { x: row["lables"] as i64[n] }
pipeline most = tfrecord("a.tfrecord") |> map { x: row["labels"] as i8[n] }
"#,
    );
    let example = shards::example(&[
        ("boxes", Floats(&[0.5, 1.0, 1.5, 2.0, 2.5, 3.0])),
        ("labels", Ints(&[3, 200, 255])),
        ("names", Bytes(&[b"first", "zwölf".as_bytes()])),
        ("one", Ints(&[1])),
        ("none", Floats(&[])),
    ]);
    fs::write(folder.join("a.tfrecord"), shards::tfrecord(&[example])).unwrap();
    let steps = vec![Floats(&[1.0, 2.0]), Floats(&[3.0, 4.0]), Floats(&[5.0, 6.0])];
    let each = vec![Ints(&[7]), Ints(&[-8]), Ints(&[9])];
    let sequence = shards::sequence(&[("id", Bytes(&[b"x"]))], &[("steps", steps), ("each", each)]);
    fs::write(folder.join("s.tfrecord"), shards::tfrecord(&[sequence])).unwrap();

    let run = |pipeline: &str| folder.pipec(&["run", "p.pipe", pipeline]);
    let looked = |pipeline: &str, values: &[&str]| {
        let printed = folder.pipec(&["peek", "p.pipe", pipeline]).out;
        for value in values {
            assert!(printed.contains(value), "no `{value}` in:\n{printed}");
        }
    };
    looked(
        "p",
        &[
            "boxes   f32[3, 2] [0.5, 1, 1.5, 2, 2.5, 3]",
            "labels  i64[3] [3, 200, 255]",
            "wide    f64[6]",
            "small   u8[3] [3, 200, 255]",
            "name    \"zwölf\"",
            "one     true",
            "none    f32[0]",
        ],
    );
    looked(
        "s",
        &["id     \"x\"", "steps  f32[3, 2] [1, 2, 3, 4, 5, 6]", "each   i32[3] [7, -8, 9]"],
    );
    run("wrong")
        .ends(3, &["example-type", "this feature is a list of `f32`, expected a list of `i64`"]);
    run("shape")
        .ends(3, &["example-shape", "this feature has 3 values, which do not fit `[n, 2]`"]);
    run("missing").ends(
        3,
        &["field-missing", "cannot find the feature `lables`; the features are `boxes`, `labels`"],
    );
    run("most").ends(3, &["example-type", "200 does not fit into `i8`"]);
}

/// Files that TensorFlow and others wrote; what stands in them is what their maintainers say (`MANIFEST.tsv`).
#[test]
fn files_of_other_writers_are_read() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let Ok(manifest) = fs::read_to_string(data.join("MANIFEST.tsv")) else {
        println!("skipped: the data are not here");
        return;
    };
    // Files of one key are a record, as Python's `tarfile` lists them.
    let shards = [
        ("bytes.tar", 3),
        ("bytes.tar.gz", 3),
        ("compressed.tar", 3),
        ("csv.tar", 3),
        ("csv.tar.gz", 3),
        ("json.tar", 3),
        ("json.tar.gz", 3),
        ("mpdata.tar", 100),
        ("sample.tgz", 90),
        ("shard-000000.tar", 3),
        ("tendata.tar", 100),
        ("txt.tar", 3),
        ("txt.tar.gz", 3),
    ];
    let folder = Folder::new("formats-compat");
    let mut read = 0;
    for line in manifest.lines() {
        let mut columns = line.split('\t');
        let (file, about) = (columns.next().unwrap(), columns.nth(3).unwrap());
        let (source, wanted) = match file.strip_prefix("compat/webdataset/") {
            Some(name) => ("tar", shards.iter().find(|it| it.0 == name).unwrap().1),
            None if file.starts_with("compat/tfrecord/") => {
                let n = about.split(" records").next().unwrap().split(' ').next_back().unwrap();
                ("tfrecord", n.parse().unwrap())
            }
            None => continue,
        };
        let form = if source == "tfrecord" { ", form: bytes" } else { "" };
        let path = data.join(file);
        folder.write("p.pipe", &format!("edition 2026\npipeline p = {source}({path:?}{form})\n"));
        let ran = folder.pipec(&["run", "p.pipe", "--json"]);
        assert_eq!(ran.code, 0, "{file}: {ran:#?}");
        assert!(ran.out.contains(&format!("\"records\": {wanted},")), "{file}: {wanted}: {ran:#?}");
        read += 1;
    }
    assert!(read >= 20, "{read} files");
}

/// A file whose index is worth keeping, written a while ago.
fn large_lines(folder: &Folder, lines: usize) {
    let text: String = (0..lines).map(|it| format!("{it} {}\n", "x".repeat(80))).collect();
    folder.write("large.txt", &text);
    let file = fs::File::options().append(true).open(folder.join("large.txt")).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(60 + lines as u64)).unwrap();
}

#[test]
fn the_index_of_a_large_file_is_kept_and_never_believed_when_it_does_not_fit() {
    let program = "edition 2026\npipeline p = lines(\"large.txt\") |> shuffle |> take(20) |> map { n: len(text), text }\n";
    let folder = Folder::quick_of("formats-index", &[("p.pipe", program)]);
    large_lines(&folder, 60_000);
    let run = |index: &str| {
        let out = folder.pipec(&["run", "p.pipe", "--out", "-", "--index-dir", index]);
        assert_eq!(out.code, 0, "{}", out.err);
        out.out
    };
    // The folder is a file, so that nothing can be kept in it.
    folder.write("no-folder", "");
    let expected = run("no-folder");
    let indices = || folder.files("index").into_keys().collect::<Vec<_>>();
    assert_eq!(run("index"), expected);
    let [name] = &indices()[..] else { panic!("{:?}", indices()) };
    assert_eq!(run("index"), expected);
    let path = folder.join("index").join(name);
    let sound = fs::read(&path).unwrap();
    assert!(sound.len() < 2 * 60_000, "{} bytes", sound.len());
    // It is damaged, cut off, or a link to somewhere else: it is made again.
    let mut damaged = sound.clone();
    damaged[2_000] ^= 1;
    for index in [&damaged[..], &sound[..100], b""] {
        fs::write(&path, index).unwrap();
        assert_eq!(run("index"), expected);
        assert_eq!(fs::read(&path).unwrap(), sound);
    }
    // The file changes: it has another index.
    large_lines(&folder, 70_000);
    assert_eq!(run("index"), run("no-folder"));
    assert_eq!(indices().len(), 2);
}

/// The example of series: windows of a table, which no meter shares with another, in any order and on any ranks.
#[test]
fn windows_of_a_table_are_shuffled() {
    let made = "edition 2026\npipeline load = range(800) |> map { meter: text_of(i // 400), load: f64(i), \
                temperature: f32(i % 7) }\n";
    let example = include_str!("../../examples/forecast.pipe");
    let folder = Folder::of("formats-windows", &[("made.pipe", made), ("forecast.pipe", example)]);
    folder.pipec(&["run", "made.pipe", "--out", "data", "--format", "parquet"]).ends(0, &[]);
    fs::rename(folder.join("data/00000000.parquet"), folder.join("data/load.parquet")).unwrap();
    let run = |more: &[&str]| {
        folder.pipec(&[&["run", "forecast.pipe", "--set", "data=data"], more].concat())
    };
    // Of 281 windows of each meter.
    run(&[]).ends(0, &["1 batch, 512 records", "50 of 562 records"]);
    let mut all = Vec::new();
    for (out, more) in [("a", &["--workers", "1"]), ("b", &["--workers", "4"])] {
        run(&[&["--out", out], &more[..]].concat()).ends(0, &[]);
        let mut files = folder.files(out);
        files.retain(|name, _| name.ends_with(".npy"));
        all.push(files);
    }
    assert!(all[0] == all[1] && !all[0].is_empty());
    // Nothing is read before it is needed, and the message says what is missing.
    let none = folder.pipec(&["run", "forecast.pipe", "--set", "data=nowhere"]);
    none.ends(5, &["cannot find the folder `nowhere`"]);
}

const MEMBERS: &str = r#"edition 2026
fn decoded(files) =
    { x: decode_npy(decompress(files["npy.gz"] as bytes)) as f32[n], y: parse_table(files["txt"] as str, columns: 2),
      text: decode_text(files["html"] as bytes, encoding: "latin1") }
    |> map { n: len(x) + 10 * len(y) + 100 * len(text) + 1_000 * bucketize(x[0], [0.5, 1.5]) }
pipeline all = tar("*.tar") |> map decoded(files) |> batch(1)
pipeline sound = tar("*.tar") |> map decoded(files) else skip(most: 1) |> batch(1)
"#;

#[test]
fn members_of_shards_are_decoded() {
    let folder = Folder::of("formats-members", &[("p.pipe", MEMBERS)]);
    let packed = |bytes: &[u8]| {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    };
    let numbers: Vec<u8> = [1.0_f64, 2.0, 3.0].iter().flat_map(|it| it.to_be_bytes()).collect();
    let array = packed(&shards::npy(">f8", "(3,)", &numbers));
    let write = |damaged: &[u8], table: &str| {
        let files: [(&str, &[u8]); 6] = [
            ("a.npy.gz", &array),
            ("a.txt", b"1 2\n3 4 # two\n"),
            ("a.html", b"Gr\xfc\xdfe"),
            ("b.npy.gz", damaged),
            ("b.txt", table.as_bytes()),
            ("b.html", b""),
        ];
        fs::write(folder.join("0.tar"), shards::tar(&files)).unwrap();
    };
    write(&array, "");
    assert_eq!(folder.numbers("all"), [1_523, 1_003]);

    for (damaged, table, why) in [
        (&array[..], "1 2\n3\n", "line 2: expected 2 columns, found 1"),
        (&array[..], "1 x\n", "line 1: `x` is not a number"),
        (&array[..array.len() / 2], "", "the gzip data is damaged or truncated"),
        (&b"no gzip"[..], "", "the bytes are not compressed with gzip"),
        (&packed(b"1,2")[..], "", "this is not a `.npy` file"),
        (
            &packed(&shards::npy("<i8", "(1,)", &[0; 8]))[..],
            "",
            "the array is of `i64`, expected `f32`",
        ),
        (&packed(&shards::npy("<f4", "(1, 1)", &[0; 4]))[..], "", "does not fit `[n]`"),
    ] {
        write(damaged, table);
        folder.run_p(&["all"]).ends(3, &["0.tar", why]);
        let _ = fs::remove_dir_all(folder.join("sound"));
        assert_eq!(folder.numbers("sound"), [1_523], "{why}");
    }
}

/// A batch is one file; where a folder has batches, records are not written into it.
#[test]
fn batches_are_files_of_tensors() {
    let program = "edition 2026\n\
        pipeline made = range(10) |> map { x: [f32(i), 7.0], name: text_of(i), few: arange(i % 3) }\n\
        pipeline whole = made |> batch(4, ragged: [few], tail: keep)\n\
        pipeline apart = range(10) |> map { few: reshape(arange(i % 3 * 4), [-1, 4]) }\n\
        pipeline uneven = range(10) |> map { image: decode_image(encode_png(plasma(i, 4, 4))) }\n";
    let folder = Folder::of("formats-tensors", &[("p.pipe", program)]);
    let run = |pipeline: &str, out: &str, more: &[&str]| {
        let args = [pipeline, "--out", out, "--format", "safetensors"];
        folder.run_p(&[&args[..], more].concat())
    };
    run("whole", "whole", &["--workers", "3"]).ends(0, &["3 batches"]);
    let files = folder.files("whole");
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    let [first, second, last] = [0, 1, 2].map(|it| format!("{it:08}.safetensors"));
    assert_eq!(names, [&first, &second, &last, "pipec.files.jsonl", "pipec.json"]);
    // Records of a shard are stacked as those of a batch are.
    run("made", "made", &["--shard", "4"]).ends(0, &["10 records"]);
    for name in [&first, &second, &last] {
        assert!(folder.files("made")[name] == files[name], "{name}");
    }
    let of_batches = "contains an output in the format `safetensors`, a file for each batch";
    let other = ["whole", "--out", "whole", "--format", "npy"];
    folder.run_p(&other).ends(5, &[of_batches, "this run writes `npy`"]);
    run("apart", "apart", &[]).ends(0, &["10 records"]);
    run("uneven", "uneven", &[]).ends(1, &["does not fit safetensors", "add `batch` with `pad`"]);
    folder
        .run_p(&["made", "--out", "x.safetensors"])
        .ends(2, &["`--out x/ --format safetensors` writes a folder"]);
}
