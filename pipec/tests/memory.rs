//! Memory: `--memory` bounds what the process holds, or the run is refused with the least that would
//! do; what the system does not give is a message, and no signal ends the process.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Folder, PIPEC, Printed};
use std::{path::Path, process::Command};

/// `pipec` in an address space of so many KiB.
fn pipec_within(kib: u64, folder: &Path, args: &[&str]) -> Printed {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -v {kib}; exec \"$0\" \"$@\""), PIPEC]).args(args);
    Printed::of(&command.current_dir(folder).output().unwrap())
}

#[test]
fn memory_that_the_system_does_not_give_ends_the_run_with_a_message() {
    let programs = [
        "range(20_000) |> map { x: zeros([1000, 1000]) } |> batch(1000, tail: drop)",
        "range(8) |> map { x: plasma(i, 4, 6) |> center_crop(16_000) }",
        "range(8) |> map { x: arange(100_000_000) }",
        "range(8) |> map { n: 1000 } |> map { x: permutation(n * 100_000) }",
        "range(8) |> map { n: 8_000 } |> map { x: crop(pad(plasma(0, 4, 6), n), 0, 0, n, n) }",
        "range(8) |> map { x: gaussian_blur(plasma(0, 5_000, 5_000), 5) }",
        "range(8) |> map { x: encode_webp(plasma(0, 8_000, 8_000)) }",
    ];
    for program in programs {
        let text = format!("edition 2026\npipeline p = {program}\n");
        let folder = Folder::of("exhausted", &[("a.pipe", &text)]);
        // Less than one value takes, and enough for what the process and its threads reserve.
        for args in [&["run", "a.pipe", "--memory", "900GB"][..], &["peek", "a.pipe"]] {
            let printed = pipec_within(700_000, folder.path(), args);
            assert_eq!(printed.code, 3, "{args:?}: {program}\n{printed:#?}");
            // Where the host itself has too little for it, it is not even tried.
            let (refused, failed) = ("this pipeline needs about", "the system cannot allocate");
            let says = |it: &str| printed.err.contains(it);
            assert!(says(failed) || args[0] == "peek" && says(refused), "{printed:#?}");
        }
    }
}

/// Pipelines of known sizes, of each kind of what takes memory: small records, temporaries, values,
/// windows, batches that are written in place and such that are put together.
const PIPELINES: [&str; 8] = [
    "range(100) |> batch(8, tail: drop)",
    "range(4) |> map { x: sum(full([1000, 1000, 5], f32(1)) * f32(i)) }",
    "range(6) |> map { x: full([1000, 1000, 4], f32(1)) * f32(i) }",
    "range(60) |> map { x: full([224, 224, 3], f32(1)) * f32(i) } |> windows(length: 32, hop: 1)",
    "range(60) |> map { x: full([224, 224, 3], f32(1)) * f32(i) } |> batch(16, tail: drop)",
    "range(60) |> map { x: full([224, 224, 3], f32(1)) * f32(i) } |> shuffle(window: 20) |> batch(16, tail: drop)",
    "range(64) |> map { x: full([224, 224, 3], f32(1)) * f32(i) } |> windows(length: 4) |> map { y: x * f32(2) } |> batch(2, tail: drop)",
    "range(64) |> map { x: full([224, 224, 3], f32(1)) } |> where sum(x) > 0 |> batch(8, tail: keep)",
];

/// The most bytes that a run held, of its figures.
fn peak(printed: &Printed) -> u64 {
    let (_, rest) = printed.out.split_once("\"memory_peak\":").expect("the figures have it");
    rest.trim().split([',', '}', '\n']).next().unwrap().trim().parse().unwrap()
}

#[test]
fn a_run_holds_what_it_is_given_or_is_refused_with_what_would_do() {
    for program in PIPELINES {
        let text = format!("edition 2026\npipeline p = {program}\n");
        let folder = Folder::of("bounded", &[("a.pipe", &text)]);
        let run = |memory: u64| {
            folder.pipec(&["run", "a.pipe", "--json", "--memory", &format!("{memory}MB")])
        };
        // More of the program is mapped once the system has more of its file in memory.
        run(1_000);
        let refused = run(1);
        refused
            .ends(3, &["this pipeline needs about", "for the process itself", "the limit is 1 MB"]);
        assert!(!refused.err.contains("more than 0"), "{refused:#?}");
        let (_, stated) = refused.err.split_once("`--memory ").unwrap();
        let least: u64 = stated.split_once("MB").unwrap().0.parse().unwrap();

        // With the least, and with anything beyond it.
        for memory in [least, least + least / 7, 2 * least] {
            let printed = run(memory);
            assert_eq!(printed.code, 0, "{program} with {memory} MB\n{printed:#?}");
            let (peak, most) = (peak(&printed), memory * 1_050_000);
            assert!(peak <= most, "{program} with {memory} MB held {peak}");
        }
    }
}

/// Pipelines whose windows or batches are larger than their data, or than what is known of them, and
/// the megabytes in which these have room.
const LARGE_WINDOWS: [(&str, u64); 5] = [
    ("range(300) |> map { x: full([15_000], u8(7)) } |> shuffle(window: 100_000)", 120),
    (
        "range(300) |> map { x: full([15_000], u8(7)) } |> where sum(i64(x)) > 0 |> batch(100_000, tail: keep)",
        120,
    ),
    ("range(60) |> map { x: pad(plasma(i, 4, 6), 60 + i % 9) } |> shuffle(window: 100_000)", 120),
    ("range(300) |> map { x: arange(1_000 + i % 7) } |> shuffle(window: 100_000)", 120),
    // Between a third and half of what the run has, beside the process.
    ("range(90) |> map { x: full([1_000_000], u8(7)) } |> shuffle(window: 40)", 150),
];

#[test]
fn a_window_larger_than_the_data_refuses_no_run() {
    for (program, memory) in LARGE_WINDOWS {
        let text = format!("edition 2026\npipeline p = {program}\n");
        let folder = Folder::of("large_windows", &[("a.pipe", &text)]);
        let memory = memory.to_string() + "MB";
        let printed = folder.pipec(&[
            "run",
            "a.pipe",
            "--json",
            "--disable-pass",
            "late-maps",
            "--memory",
            &memory,
        ]);
        assert_eq!(printed.code, 0, "{program}\n{printed:#?}");
    }
}

#[test]
fn what_a_window_has_no_room_for_says_how_much_would_do() {
    // Where nobody knows before how large records are, or how many.
    let program = "range(100) |> map { x: arange(100_000 + i % 7) } |> shuffle(window: 60)";
    let text = format!("edition 2026\npipeline p = {program}\n");
    let folder = Folder::of("small_window", &[("a.pipe", &text)]);
    let run = |memory: &str| {
        folder.pipec(&["run", "a.pipe", "--disable-pass", "late-maps", "--memory", memory])
    };
    let mut memory = "50MB".to_owned();
    for raised in 0.. {
        let printed = run(&memory);
        if printed.code == 0 {
            assert!(raised > 0, "{printed:#?}");
            break;
        }
        printed.ends(3, &["`--memory "]);
        let (_, stated) = printed.err.split_once("`--memory ").unwrap();
        memory = stated.split_once('`').unwrap().0.to_owned();
        assert!(raised < 3, "{printed:#?}");
    }
}

/// Pipelines with a value that no type tells the size of and that is much larger than the others, and what
/// names it.
const SURPRISES: [(&str, &str); 3] = [
    (
        "range(20) |> map { n: if i == 13 then 3_000 else 20 } |> map { x: pad(plasma(0, 4, 6), n) }",
        "record ",
    ),
    (
        "range(20) |> map { n: if i == 13 then 3_000 else 20 } |> map { m: mean(f32(pad(plasma(0, 4, 6), n))) }",
        "record ",
    ),
    (
        "files(\"DATA/images/hires_jpg/*.jpg\") |> map { m: mean(f32(decode_jpeg(bytes))) }",
        "iphone_hdr_NO.jpg`: ",
    ),
];

#[test]
fn a_value_that_does_not_fit_ends_the_run_and_is_named() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    for (program, name) in SURPRISES {
        if program.contains("DATA") && !data.is_dir() {
            println!("skipped: the data are not here");
            continue;
        }
        let at = data.canonicalize().unwrap_or_default();
        let program = program.replace("DATA", &at.to_string_lossy());
        let text = format!("edition 2026\npipeline p = {program}\n");
        let folder = Folder::of("surprised", &[("a.pipe", &text)]);
        let (mut memory, mut named, mut raises) = (44, false, 0);
        loop {
            let args = ["run", "a.pipe", "--json", "--memory", &format!("{memory}MB")];
            let printed = folder.pipec(&args);
            assert!(peak(&printed) <= memory * 1_050_000, "{memory} MB: {printed:#?}");
            if printed.code == 0 {
                break;
            }
            // It says how much, where, of what, and what to do.
            assert_eq!(printed.code, 3, "{printed:#?}");
            named |= printed.err.contains("a.pipe:2:")
                && printed.err.contains(name)
                && printed.err.contains("MB more memory, which does not fit");
            let (_, stated) = printed.err.split_once("`--memory ").unwrap();
            let more: u64 = stated.split_once("MB").unwrap().0.parse().unwrap();
            assert!(more > memory && raises < 5, "{memory} MB: {printed:#?}");
            (memory, raises) = (more, raises + 1);
        }
        assert!(named && raises > 0, "{program}: {memory} MB");
    }
}

/// What stands beside values: the line that is being read, the places of records.
#[test]
fn what_readers_of_lines_hold_counts() {
    let text = "edition 2026\npipeline endless = lines(\"endless.txt\") |> batch(2)\n\
                pipeline empty = lines(\"empty.txt\") |> shuffle |> batch(1000)\n";
    let folder = Folder::of("lines", &[("a.pipe", text)]);
    std::fs::write(folder.join("endless.txt"), "x".repeat(100_000_000)).unwrap();
    std::fs::write(folder.join("empty.txt"), "\n".repeat(8_000_000)).unwrap();
    // The process itself has about 35 MB in a development build.
    for (pipeline, given, end) in
        [("endless", 60, (5, "the line is longer than 64 MiB")), ("empty", 50, (0, ""))]
    {
        let (mut memory, mut raises) = (given, 0);
        loop {
            let bound = format!("{memory}MB");
            let printed = folder.pipec(&["run", "a.pipe", pipeline, "--json", "--memory", &bound]);
            assert!(peak(&printed) <= memory * 1_050_000, "{memory} MB: {printed:#?}");
            if printed.code == end.0 {
                assert!(printed.err.contains(end.1), "{printed:#?}");
                break;
            }
            assert_eq!(printed.code, 3, "{printed:#?}");
            let (_, stated) = printed.err.split_once("`--memory ").unwrap();
            let more: u64 = stated.split_once("MB").unwrap().0.parse().unwrap();
            assert!(more > memory && raises < 6, "{memory} MB: {printed:#?}");
            (memory, raises) = (more, raises + 1);
        }
        assert!(raises > 0, "{pipeline}: {memory} MB");
    }
}

#[test]
fn what_libraries_and_kernels_work_in_counts() {
    for value in [
        "gaussian_blur(plasma(i, 2_000, 2_000), 5)",
        "resize(f32(plasma(i, 1_000, 1_000)), 1_400, 1_500)",
        "encode_webp(plasma(i, 2_000, 2_500))",
        "encode_png(plasma(i, 2_000, 2_500))",
        "encode_jpeg(plasma(i, 2_000, 2_500))",
    ] {
        let text = format!("edition 2026\npipeline p = range(3) |> map {{ x: {value} }}\n");
        let folder = Folder::of("working", &[("a.pipe", &text)]);
        let (mut memory, mut raises) = (1_u64, 0);
        loop {
            let bound = format!("{memory}MB");
            let printed =
                folder.pipec(&["run", "a.pipe", "--json", "--memory", &bound, "--workers", "1"]);
            if printed.code == 0 {
                assert!(peak(&printed) <= memory * 1_050_000, "{value}: {printed:#?}");
                break;
            }
            assert_eq!(printed.code, 3, "{value}: {printed:#?}");
            let (_, stated) = printed.err.split_once("`--memory ").unwrap();
            let more: u64 = stated.split_once("MB").unwrap().0.parse().unwrap();
            assert!(more > memory && raises < 4, "{value}: {printed:#?}");
            (memory, raises) = (more, raises + 1);
        }
    }
}

#[test]
fn a_shard_counts_until_it_is_written() {
    let text = "edition 2026\npipeline p = range(200_000) |> map { x: full([64], f32(i)) }\n";
    let folder = Folder::of("shards", &[("a.pipe", text)]);
    for format in ["parquet", "arrow", "tfrecord", "tar", "mds", "jsonl", "safetensors"] {
        let run = |memory: &str| {
            let shards = ["--out", "o", "--format", format, "--shard", "48MiB", "--json"];
            folder.pipec(
                &[&["run", "a.pipe", "--memory", memory, "--overwrite"], &shards[..]].concat(),
            )
        };
        let refused = run("100MB");
        refused.ends(3, &["until it is written", "make shards smaller (`--shard`)"]);
        assert!(peak(&refused) <= 105_000_000, "{refused:#?}");
        let (_, stated) = refused.err.split_once("`--memory ").unwrap();
        let stated = stated.split_once('`').unwrap().0;
        let printed = run(stated);
        assert_eq!(printed.code, 0, "{format} with {stated}\n{printed:#?}");
        let most: u64 = stated.strip_suffix("MB").unwrap().parse().unwrap();
        assert!(peak(&printed) <= most * 1_050_000, "{format} with {stated}\n{printed:#?}");
    }
}

#[test]
fn windows_over_real_pictures_hold_in_a_small_address_space() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/images/imagenet");
    if !data.is_dir() {
        println!("skipped: the data are not here");
        return;
    }
    let data = data.canonicalize().unwrap();
    let text = format!(
        "edition 2026\npipeline p = files(\"{}/**/*.JPEG\") |> take(100)\n    \
         |> map {{ x: f32(resize(decode_jpeg(bytes), 224, 224)) }} |> windows(length: 32, hop: 1)\n",
        data.display()
    );
    let folder = Folder::of("windows", &[("a.pipe", &text)]);
    let args = ["run", "a.pipe", "--json", "--memory", "170MB", "--workers", "2"];
    let printed = pipec_within(1_000_000, folder.path(), &args);
    assert_eq!(printed.code, 0, "{printed:#?}");
    assert!(printed.out.contains("\"records\": 69"), "{printed:#?}");
    assert!(peak(&printed) <= 178_500_000, "{printed:#?}");
    // What it takes is told before: two windows of 19.3 MB, and what they are cut from.
    let explained = folder.pipec(&["explain", "a.pipe"]);
    assert!(explained.out.contains("memory: ~150 MB"), "{explained:#?}");
}

#[test]
fn other_commands_are_held_to_it_as_well() {
    let text = "edition 2026\npipeline p = range(40) |> map { n: if i == 13 then 3_000 else 20 } \
                |> map { m: mean(f32(pad(plasma(0, 4, 6), n))) } |> batch(4, tail: drop)\n";
    let folder = Folder::of("commands", &[("a.pipe", text)]);
    for command in ["peek", "scan", "verify", "profile", "tune"] {
        let run = |memory: &str| {
            let mut args = vec![command, "a.pipe", "--memory", memory];
            args.extend(["-n", "30"].iter().filter(|_| command == "peek"));
            folder.pipec(&args)
        };
        run("5MB").ends(3, &["this pipeline needs about", "the limit is 5 MB"]);
        let printed = run("48MB");
        assert_eq!(printed.code, 3, "{command}: {printed:#?}");
        assert!(printed.err.contains("more memory"), "{command}: {printed:#?}");
        assert!(printed.err.contains("the limit is 48 MB"), "{command}: {printed:#?}");
    }
}
