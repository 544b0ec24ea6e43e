//! What is measured of a run is what it does; and cores and disks that are not there change no output.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::Folder;
use serde_json::Value;

/// The profile of the first pipeline of a file.
fn profile(folder: &Folder, file: &str) -> Value {
    let args = ["profile", file, "--seconds", "1s", "-o", "p.profile"];
    folder.pipec(&args).ends(0, &["written to"]);
    serde_json::from_str(&folder.read("p.profile")).unwrap()
}

#[test]
fn a_call_is_counted_once_for_each_record() {
    let folder = Folder::of("counted", &[]);
    // The picture is used by itself and by what is made of it.
    folder.write(
        "p.pipe",
        "pipeline p = range(64) |> map { a: plasma(i, 32, 32), b: resize(plasma(i, 32, 32), 8, 8) }",
    );
    let profile = profile(&folder, "p.pipe");
    let stages = profile["measured"]["stages"].as_array().unwrap();
    let mut calls = 0;
    for stage in stages {
        for call in stage["calls"].as_array().unwrap() {
            assert!(call["times"].as_u64() <= stage["timed"].as_u64(), "{call} in {stage}");
            calls += 1;
        }
    }
    assert!(calls >= 2, "{stages:?}");
}

#[test]
fn a_picture_that_is_made_in_part_is_measured_as_one_and_whole() {
    let folder = Folder::of("part", &[]);
    folder.write(
        "p.pipe",
        "pipeline p = range(64) |> map { jpeg: encode_jpeg(plasma(i, 40, 60)) } |> map { a: decode_jpeg(jpeg) |> random_crop(8) }",
    );
    let told = folder.pipec(&["explain", "p.pipe"]);
    told.ends(0, &[]);
    assert!(told.out.contains("make-parts"), "{}", told.out);
    let profile = profile(&folder, "p.pipe");
    let stages = profile["measured"]["stages"].as_array().unwrap();
    let calls = stages.iter().flat_map(|it| it["calls"].as_array().unwrap());
    let whole = calls.filter(|it| {
        let (bytes, times) = (it["bytes"].as_u64().unwrap(), it["times"].as_u64().unwrap());
        bytes == times * 40 * 60 * 3
    });
    // The picture that is encoded, and the one that is decoded, of which 8 x 8 pixels are made.
    assert_eq!(whole.count(), 2, "{stages:?}");
}

#[test]
fn what_is_read_in_order_counts_as_read() {
    let folder = Folder::of("read", &[("p.pipe", "pipeline p = lines(\"a.txt\")\n")]);
    folder.write("a.txt", &"some words\n".repeat(1000));
    let profile = profile(&folder, "p.pipe");
    let (bytes, outputs) = (profile["bytes_read"].as_u64(), profile["outputs"].as_u64());
    // A line has 11 bytes; what is read ahead comes from the file too.
    assert!(bytes.unwrap() >= 10 * outputs.unwrap(), "{bytes:?} for {outputs:?} lines");
}

#[test]
fn a_read_counts_the_bytes_that_it_gives() {
    let folder = Folder::of("given", &[]);
    folder.write("p.pipe", "pipeline p = files(\"*.bin\") |> map { n: len(bytes) }\n");
    (0..8).for_each(|it| folder.write(&format!("{it}.bin"), &"x".repeat(1000)));
    let profile = profile(&folder, "p.pipe");
    let stages = profile["measured"]["stages"].as_array().unwrap();
    let read = stages.iter().find(|it| it["reads"] == true).unwrap();
    let calls = read["calls"].as_array().unwrap();
    let given = |it: &&serde_json::Value| {
        it["bytes"].as_u64().unwrap() == 1000 * it["times"].as_u64().unwrap()
    };
    // Its path, the other call, is shorter.
    assert_eq!(calls.iter().filter(given).count(), 1, "{calls:?}");
}

#[test]
fn what_was_read_before_the_first_batch_counts_where_its_stages_do() {
    let folder = Folder::of("few", &[]);
    // Fewer batches come while it warms up than would do to measure its stages from there on.
    folder.write(
        "p.pipe",
        "pipeline p = range(1000) |> map { i: busy(i, time: 0.004, bytes: 1000) } |> batch(64)\n",
    );
    let profile = profile(&folder, "p.pipe");
    let stages = profile["measured"]["stages"].as_array().unwrap();
    let entered = stages[1]["entered"].as_u64().unwrap();
    let bytes = profile["bytes_read"].as_u64().unwrap();
    assert!(bytes >= 1000 * entered, "{bytes} bytes for {entered} records");
}

#[test]
fn a_machine_that_is_not_there_gives_the_same() {
    let folder = Folder::of("virtual", &[]);
    folder.write(
        "p.pipe",
        "pipeline p = range(48) |> shuffle \
         |> map { i, a: resize(plasma(i, 24, 24), 8, 8), b: busy(i, time: 0.001, alone: true) } \
         |> shuffle(window: 7) |> batch(8)",
    );
    folder.pipec(&["run", "p.pipe", "--out", "here"]).ends(0, &["6 batches"]);
    let there =
        ["run", "p.pipe", "--out", "there", "--virtual-cores", "12", "--virtual-disk", "9MB/s"];
    folder.pipec(&there).ends(0, &["6 batches", "slow motion"]);
    assert!(folder.files("here") == folder.files("there"));
}
