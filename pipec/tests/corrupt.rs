//! `pipec run` over a tree of corrupt files: what it exits with, and says.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Folder, Printed};
use std::path::Path;

/// Runs a program over `data`.
fn run(name: &str, otherwise: &str, data: &Path) -> Printed {
    let text = format!(
        "edition 2026\nparam data: path\npipeline p = files(\"{{data}}/**/*\") |> map \
         {{ image: decode_image(bytes) |> resize(32, 32) }}{otherwise} |> batch(4)\n"
    );
    let folder = Folder::of(&format!("corrupt-{name}"), &[("p.pipe", &text)]);
    let set = format!("data={}", data.display());
    folder.pipec(&["run", "p.pipe", "--set", &set, "--workers", "2"])
}

#[test]
fn the_exit_code_says_what_became_of_corrupt_files() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/corrupt");
    if !data.is_dir() {
        println!("skipped: the data are not here");
        return;
    }
    for (name, otherwise, code) in
        [("all", " else skip(most: 1)", 0), ("share", " else skip", 3), ("none", "", 3)]
    {
        let printed = run(name, otherwise, &data);
        printed.ends(code, &["image-"]);
        assert!(!printed.err.contains("panicked"), "`{otherwise}`:\n{}", printed.err);
    }
}
