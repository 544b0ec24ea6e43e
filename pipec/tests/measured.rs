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
    let told = folder.pipec(&["explain", "p.pipe", "--verbose"]);
    told.ends(0, &[]);
    assert!(told.out.contains("roi-decoding"), "{}", told.out);
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
fn padding_is_told_of_sequences_and_of_batches() {
    let folder = Folder::of("padding", &[]);
    let packed = "map { ids: arange(3) } |> pack(ids, length: 8, fit: first)";
    let padded = "map { ids: arange(1 + i % 2) } |> batch(2, tail: drop, pad: { ids: 0 })";
    for (made, told) in
        [(packed, "p.pack#1: 8 of ids, 75% filled, "), (padded, "p.batch#1: 25% padding, ")]
    {
        folder.write("p.pipe", &format!("pipeline p = range(64) |> {made}\n"));
        let run = folder.pipec(&["run", "p.pipe", "--json"]);
        run.ends(0, &["padding", "25% of p."]);
        let summary: Value = serde_json::from_str(&run.out).unwrap();
        let stages = summary["stages"].as_array().unwrap();
        let share = stages.iter().find_map(|it| it["filling"]["padding_share"].as_f64());
        assert_eq!(share, Some(0.25), "{stages:?}");
        profile(&folder, "p.pipe");
        let explained = folder.pipec(&["explain", "p.pipe", "--profile", "p.profile"]);
        explained.ends(0, &[]);
        assert!(explained.out.contains(told), "{}", explained.out);
    }
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
    folder.pipec(&there).ends(0, &["6 batches", "slowed down"]);
    assert!(folder.files("here") == folder.files("there"));
}

#[test]
fn what_a_virtual_core_spends_is_told_whenever_it_is_slept() {
    let folder = Folder::of("spent", &[]);
    folder.write(
        "p.pipe",
        "pipeline p = range(600) |> shuffle |> map { i: busy(i, time: 0.001) } \
         |> map { i: busy(i + uniform_int(0, 1), time: 0.004) } |> batch(8)\n",
    );
    let args = ["profile", "p.pipe", "--seconds", "1s", "-o", "p.profile", "--virtual-cores", "4"];
    folder.pipec(&args).ends(0, &["written to"]);
    let profile: Value = serde_json::from_str(&folder.read("p.profile")).unwrap();
    let stage = &profile["measured"]["stages"][1];
    let each = stage["cpu_ns"].as_f64().unwrap() / stage["entered"].as_f64().unwrap();
    assert!(each >= 4.9e6, "{stage}");
    let calls = stage["calls"].as_array().unwrap().iter();
    let mut busy: Vec<f64> = calls.filter_map(|it| it["busy_ns"].as_f64()).collect();
    busy.sort_by(f64::total_cmp);
    let [.., first, second] = busy[..] else { panic!("{stage}") };
    assert!((3.0..5.0).contains(&(second / first)), "{stage}");
}

/// A profile in which the number behind `key` is another one.
fn with_number(profile: &str, key: &str, number: f64) -> String {
    let (before, behind) = profile.split_once(&format!("\"{key}\":")).unwrap();
    let end = behind.find([',', '}']).unwrap();
    format!("{before}\"{key}\":{number:.6}{}", &behind[end..])
}

#[test]
fn the_headline_is_what_was_measured() {
    let folder = Folder::of("headline", &[]);
    folder.write(
        "p.pipe",
        "pipeline p = range(100000) |> map { x: busy(i, time: 0.002) } |> batch(8)\n",
    );
    let measured = profile(&folder, "p.pipe");
    let records = measured["records"].as_u64().unwrap();
    // As if it had taken far longer, for others had kept a core busy.
    let text = with_number(&folder.read("p.profile"), "seconds", records as f64 / 40.0);
    folder.write("p.profile", &with_number(&text, "others", 1.06));
    let explain = |more: &[&str]| {
        let args = ["explain", "p.pipe", "--profile", "p.profile"];
        let printed = folder.pipec(&[&args, more].concat());
        printed.ends(0, &[]);
        printed.out
    };
    let out = explain(&[]);
    let (first, rest) = out.split_once('\n').unwrap();
    assert!(first.starts_with("p: 40 records/s measured (5.0 batches/s) with "), "{first}");
    let second = rest.lines().next().unwrap();
    assert!(second.starts_with("predicted: ~"), "{second}");
    assert!(second.contains("): other programs kept 1.1 cores busy"), "{second}");
    let json: Value = serde_json::from_str(&explain(&["--json"])).unwrap();
    let headline = &json["headline"];
    assert_eq!(headline["measured"], true);
    assert!((headline["records_per_second"].as_f64().unwrap() - 40.0).abs() < 0.1, "{headline}");
    assert!(headline["predicted_records_per_second"].as_f64().unwrap() > 60.0, "{headline}");
    assert_eq!(headline["why"][0], "other programs kept 1.1 cores busy");
    let page = explain(&["--html", "-"]);
    assert!(page.contains("40 records/s measured with "), "{page}");

    // Of a machine that is not here nothing was measured: it is predicted, and says so.
    for other in [["--what-if", "cores=64"], ["--step-time", "10s"]] {
        let out = explain(&other);
        let first = out.lines().next().unwrap();
        assert!(first.starts_with("p: ~") && !first.contains("measured"), "{first}");
    }
}
