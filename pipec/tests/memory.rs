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
    ];
    for program in programs {
        let text = format!("edition 2026\npipeline p = {program}\n");
        let folder = Folder::of("exhausted", &[("a.pipe", &text)]);
        // Less than one value takes, and enough for what the process and its threads reserve.
        for args in [&["run", "a.pipe", "--memory", "900GB"][..], &["peek", "a.pipe"]] {
            let printed = pipec_within(700_000, folder.path(), args);
            assert_eq!(printed.code, 3, "{args:?}: {program}\n{printed:#?}");
            assert!(printed.err.contains("of memory left for one buffer"), "{printed:#?}");
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
        let refused = run(1);
        refused.ends(
            3,
            &["this pipeline needs at least", "for the process itself", "1 MB were given"],
        );
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
