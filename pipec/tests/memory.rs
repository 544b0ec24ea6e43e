//! Memory: what the system does not give is a message, and no signal ends the process.

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
        for command in ["run", "peek"] {
            let printed = pipec_within(700_000, folder.path(), &[command, "a.pipe"]);
            assert_eq!(printed.code, 3, "{command}: {program}\n{printed:#?}");
            assert!(printed.err.contains("of memory left for one buffer"), "{printed:#?}");
        }
    }
}
