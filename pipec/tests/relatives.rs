//! What the attacks of `hostile.rs` look like elsewhere: other files, other numbers, other ways to write.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Folder, Printed};
use std::{
    fs,
    os::unix::fs::symlink,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

const NUMBERS: &str = "edition 2026\n\npipeline p = range(9) |> map { x: f32(i) }\n";

/// Waits for what has to end within some seconds.
#[track_caller]
fn wait(child: &mut Child) {
    let since = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if since.elapsed() > Duration::from_secs(30) {
            child.kill().unwrap();
            panic!("it does not end");
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Runs what would take for ever, and interrupts it.
#[track_caller]
fn is_interrupted(folder: &Folder) {
    let mut command = folder.command(&["run", "p.pipe"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    thread::sleep(Duration::from_millis(300));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    wait(&mut child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

/// Runs what has to end within some seconds.
#[track_caller]
fn ended(command: &mut Command) -> Printed {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait(&mut child);
    Printed::of(&child.wait_with_output().unwrap())
}

fn pipe(folder: &Folder, name: &str) {
    assert!(Command::new("mkfifo").arg(folder.join(name)).status().unwrap().success());
}

#[test]
fn a_pipe_that_nobody_reads_is_not_waited_for() {
    let folder = Folder::quick_of("relatives-pipes", &[("p.pipe", NUMBERS)]);
    pipe(&folder, "p.profile");
    let run = ["run", "p.pipe", "--profile", "p.profile"];
    ended(&mut folder.command(&run)).ends(5, &["`p.profile`", "no process reads"]);
    folder.pipec(&["run", "p.pipe", "--out", "o"]).ends(0, &[]);
    fs::remove_file(folder.join("o/pipec.files.jsonl")).unwrap();
    pipe(&folder, "o/pipec.files.jsonl");
    let again = ended(&mut folder.command(&["run", "p.pipe", "--out", "o", "--overwrite"]));
    assert!([0, 5].contains(&again.code), "{again:#?}");
}

#[test]
fn a_folder_that_is_a_link_leads_nowhere() {
    let folder =
        Folder::quick_of("relatives-links", &[("outside/o.pipe", "pipeline   p = range(2)\n")]);
    fs::create_dir_all(folder.join("proj/.git")).unwrap();
    symlink("../outside", folder.join("proj/sub")).unwrap();
    for command in [&["fmt"][..], &["check", "--fix"], &["run"]] {
        folder
            .pipec(&[command, &["proj/sub/o.pipe"]].concat())
            .ends(5, &["it is a link to a file outside of the project"]);
    }
    assert_eq!(folder.read("outside/o.pipe"), "pipeline   p = range(2)\n");
    folder.pipec(&["run", "proj/sub/o.pipe", "--allow-outside"]).ends(0, &["2 records"]);
    // Where the folder of the project is reached through a link, it is no other one.
    symlink("proj", folder.join("here")).unwrap();
    folder.write("proj/p.pipe", NUMBERS);
    folder.pipec(&["run", "here/p.pipe"]).ends(0, &["9 records"]);
    // Nor does a lock tell what stands in another file.
    folder.write("secret.toml", "format = \"hunter2\"\n");
    symlink("../secret.toml", folder.join("proj/p.pipe.lock")).unwrap();
    let told = folder.pipec(&["explain", "proj/p.pipe"]);
    assert!(told.err.contains("p.pipe.lock") && !told.err.contains("hunter2"), "{told:#?}");
}

#[test]
fn what_is_obeyed_by_a_terminal_is_escaped_in_usage_too() {
    let folder = Folder::quick_of("relatives-usage", &[("p.pipe", NUMBERS)]);
    let told = folder.pipec(&["run", "p.pipe", "--limit", "\u{202e}\u{1b}[31m"]);
    told.ends(2, &["\\u{202e}"]);
    assert!(!told.err.contains(['\u{202e}', '\u{1b}']), "{told:#?}");
}

#[test]
fn a_list_takes_no_more_memory_than_there_is() {
    let list = "edition 2026\n\npipeline p = range(2) |> map { n: 200 + i } \
                |> map { x: [zeros([1000, 1000]) for k in 0..n] }\n";
    let folder = Folder::quick_of("relatives-list", &[("p.pipe", list)]);
    folder.pipec(&["run", "p.pipe", "--memory", "100MB"]).ends(3, &["more memory", "p.pipe:3:"]);
    let of_bash = format!(
        "ulimit -v 700000; exec {} run p.pipe",
        folder.command(&[]).get_program().to_str().unwrap()
    );
    let mut command = folder.command_of("bash".as_ref(), &["-c", &of_bash]);
    ended(&mut command).ends(3, &["the system cannot allocate"]);
}

#[test]
fn a_list_that_takes_for_ever_is_stopped() {
    let list = "edition 2026\n\npipeline p = range(1) |> map { n: 1_000_000 + i } \
                |> map { x: len([sum([k for k in 0..n]) for m in 0..n]) }\n";
    let folder = Folder::quick_of("relatives-stop", &[("p.pipe", list)]);
    is_interrupted(&folder);
}

#[test]
fn a_list_of_more_than_can_be_counted_is_a_fault() {
    let list = "edition 2026\n\npipeline p = range(2) |> map { n: 9_223_372_036_854_775_806 + i } \
                |> map { x: len([k for k in -1..n]) }\n";
    let folder = Folder::quick_of("relatives-count", &[("p.pipe", list)]);
    folder.pipec(&["run", "p.pipe"]).ends(3, &["a list of more than 2^62 elements"]);
}

#[test]
fn an_archive_of_zeros_is_left_when_the_run_is_stopped() {
    let program = "edition 2026\n\npipeline p = tar(\"zeros.tar\")\n";
    let folder = Folder::quick_of("relatives-zeros", &[("p.pipe", program)]);
    let zeros = fs::File::create(folder.join("zeros.tar")).unwrap();
    zeros.set_len(50 << 30).unwrap();
    for program in [program, "edition 2026\n\npipeline p = tar(\"zeros.tar\") |> shuffle\n"] {
        folder.write("p.pipe", program);
        is_interrupted(&folder);
    }
}

#[test]
fn what_is_hidden_in_a_program_is_shown() {
    let program =
        "edition 2026\n\n# a\u{1b}]0;t\u{7}\u{202e}b\npipeline p = csv(\"t.csv\")|>take(2)\n";
    let folder = Folder::quick_of(
        "relatives-hidden",
        &[("p.pipe", program), ("t.csv", "\u{202e}b,n\nx,1\n")],
    );
    for args in [
        &["fmt", "--diff", "p.pipe"][..],
        &["highlight", "p.pipe"],
        &["explain", "p.pipe", "--emit", "source"],
    ] {
        let printed = folder.pipec(args);
        assert!(
            printed.out.contains("\\u{1b}") && printed.out.contains("\\u{202e}"),
            "{printed:#?}"
        );
        assert!(!printed.out.contains(['\u{1b}', '\u{202e}']), "{printed:#?}");
    }
    assert_eq!(folder.pipec(&["explain", "p.pipe", "--html", "p.html"]).code, 0);
    assert_eq!(folder.pipec(&["run", "p.pipe", "--profile", "p.profile"]).code, 0);
    for file in ["p.html", "p.profile"] {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        assert!(!text.contains(['\u{1b}', '\u{202e}']) && text.contains("202e"), "{text}");
    }
}

#[test]
fn no_two_outputs_have_one_name() {
    let program = "edition 2026\n\npipeline p = range(3)\n";
    let folder = Folder::quick_of("relatives-names", &[("p.pipe", program)]);
    for files in [
        &["--out", "o", "--checkpoint", "o/pipec.json"][..],
        &["--profile", "z", "--quarantine", "./z"],
        &["--checkpoint", "a.json", "--quarantine", "a.json"],
    ] {
        let args = [&["run", "p.pipe"], files].concat();
        folder.pipec(&args).ends(2, &["would write the same file"]);
    }
}

#[test]
fn no_field_leads_out_of_an_archive() {
    let folder = Folder::quick_of(
        "relatives-tar",
        &[
            ("t.csv", "/../../evil,x\n1,2\n"),
            ("t.pipe", "edition 2026\n\npipeline p = csv(\"t.csv\")\n"),
        ],
    );
    folder
        .pipec(&["run", "t.pipe", "--out", "o", "--format", "tar"])
        .ends(1, &["cannot name a member of a tar archive"]);
}
