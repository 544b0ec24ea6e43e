//! Few descriptors, slow files, full disks.

use crate::{
    common::{Folder, PIPEC, Printed},
    scratch::{BINARIES, fault},
};
use std::{
    fs,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

#[test]
fn few_descriptors_suffice() {
    let folder = Folder::with_records("descriptors");
    for file in 0..1000 {
        let name = |extension: &str| folder.join(format!("data/many-{file}.{extension}"));
        fs::write(name("bin"), "x".repeat(file % 7)).unwrap();
        fs::write(name("txt"), format!("a {file}\nb {file}\n")).unwrap();
    }
    for pipeline in ["strict", "skipping", "by_number"] {
        let whole = folder.whole(pipeline);
        folder.clear();
        let run = folder.job(pipeline, 8);
        let mut limited = Command::new("sh");
        limited.args(["-c", "ulimit -n 32; exec \"$@\"", "sh"]).arg(run.get_program());
        limited.args(run.get_args());
        let ended = Printed::when_over(
            limited.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap(),
        );
        assert_eq!(ended.code, 0, "{pipeline}: {}", ended.err);
        assert!(folder.files("run/out") == whole, "{pipeline}: other files");
        assert!(!ended.err.contains("lost"), "{pipeline}: {}", ended.err);
    }
}

/// Each file keeps its reader waiting: others are read meanwhile, and the order stays.
#[test]
fn slow_files_wait_side_by_side() {
    let folder = Folder::with_records("slow");
    let whole = folder.whole("strict");
    folder.clear();
    let slow = fault("open", "data", "hang:300").of(".bin");
    let mut command = folder.job("strict", 4);
    folder.disturb(&mut command, &slow);
    let begin = Instant::now();
    let ended = Printed::when_over(command.spawn().unwrap());
    // Four readers take a quarter of it; that they did not wait one after the other is all that
    // is asked.
    let one_by_one = Duration::from_millis(300) * BINARIES as u32;
    assert!(begin.elapsed() < one_by_one, "took {:?}", begin.elapsed());
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(folder.files("run/out") == whole, "other files");
}

#[test]
fn a_full_disk_behind_stdout_is_said() {
    let folder = Folder::with_records("stdout");
    for pipeline in ["strict", "by_number"] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = folder.streaming(pipeline).stdout(full).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(5), "{err}");
        assert!(err.contains("stdout") && err.contains("free some space"), "{err}");
    }
}

#[test]
fn short_writes_to_stdout_lose_nothing() {
    let folder = Folder::with_records("stream");
    folder.clear();
    let path = folder.join("run/stream");
    let streamed = |what: Option<&'static str>| {
        let mut command = folder.streaming("by_number");
        if let Some(what) = what {
            folder.disturb(&mut command, &fault("write", "run", what));
        }
        let output = command.stdout(fs::File::create(&path).unwrap()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::read(&path).unwrap()
    };
    let whole = streamed(None);
    for what in ["short", "half"] {
        assert!(streamed(Some(what)) == whole && folder.was_hit(), "{what}");
    }
}

#[test]
fn a_program_outlives_a_full_disk_when_it_is_formatted() {
    let folder = Folder::with_records("fmt");
    folder.clear();
    let program = folder.join("run/p.pipe");
    let text = "pipeline  p = range( 3 )\n";
    fs::write(&program, text).unwrap();
    let format = |faulty: bool| {
        let mut command = Command::new(PIPEC);
        command.arg("fmt").arg(&program).stdout(Stdio::piped()).stderr(Stdio::piped());
        if faulty {
            folder.disturb(&mut command, &fault("write", "run", "ENOSPC"));
        }
        Printed::when_over(command.spawn().unwrap())
    };
    let ended = format(true);
    ended.is_sound("fmt");
    assert_eq!(ended.code, 5, "{}", ended.err);
    assert_eq!(fs::read_to_string(&program).unwrap(), text);
    assert_eq!(format(false).code, 0);
    assert_ne!(fs::read_to_string(&program).unwrap(), text);
    assert_eq!(fs::read_dir(folder.join("run")).unwrap().count(), 1, "a draft is left");
}
