//! `pipec run` over a tree of corrupt files: what it exits with, and says.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{fs, path::Path, process::Command};

/// Runs a program over `data`; its exit code, and what it said.
fn run(name: &str, otherwise: &str, data: &Path) -> (i32, String) {
    let folder = std::env::temp_dir().join(format!("pipec-corrupt-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let program = folder.join(format!("{name}.pipe"));
    let text = format!(
        "edition 2026\nparam data: path\npipeline p = files(\"{{data}}/**/*\") |> map \
         {{ image: decode_image(bytes) |> resize(32, 32) }}{otherwise} |> batch(4)\n"
    );
    fs::write(&program, text).unwrap();
    let set = format!("data={}", data.display());
    let mut command = Command::new(env!("CARGO_BIN_EXE_pipec"));
    let output =
        command.arg("run").arg(&program).args(["--set", &set, "--workers", "2"]).output().unwrap();
    fs::remove_dir_all(&folder).unwrap();
    (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
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
        let (found, said) = run(name, otherwise, &data);
        assert_eq!(found, code, "`{otherwise}`:\n{said}");
        assert!(!said.contains("panicked") && said.contains("image-"), "{said}");
    }
}
