//! What a repository, a folder or a stream can hold that was put there to do harm.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Folder, Printed};
use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// What must never be written.
const MINE: &str = "not for anybody\n";
const NUMBERS: &str =
    "edition 2026\n\npipeline p = range(100) |> map { x: f32(i) } |> batch(8, tail: keep)\n";
const PICTURES: &str = "\
edition 2026

pipeline p = files(\"data/**/*.jpg\") |> map { image: decode_jpeg(bytes) |> resize(24, 24) } |> batch(8)
";

/// Runs what has to end by itself.
#[track_caller]
fn ended(mut command: Command) -> Printed {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let since = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if since.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("{command:?} does not end");
        }
        thread::sleep(Duration::from_millis(5));
    }
    Printed::of(&child.wait_with_output().unwrap())
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Files of a folder whose names end so.
fn ending(folder: &Path, end: &str) -> Vec<PathBuf> {
    let found = common::files(folder).into_keys().filter(|it| it.ends_with(end));
    found.map(|it| folder.join(it)).collect()
}

#[test]
fn nothing_is_written_through_a_link() {
    let folder = Folder::of("hostile-links", &[("p.pipe", NUMBERS), ("mine", MINE)]);
    let link = |name: &str| {
        fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
        let up = "../".repeat(name.matches('/').count());
        symlink(format!("{up}mine"), folder.join(name)).unwrap();
    };
    for name in ["p.pipe.part", "s.json.part", "out/pipec.json.part", "a.profile.part"] {
        link(name);
    }
    // Also where the name itself is a link, which is replaced.
    ["t.json", "b.profile", "page.html", "q.jsonl", "bad.jsonl"].into_iter().for_each(link);
    folder.write("p.pipe", &NUMBERS.replace("|> map", "|>   map"));
    folder.pipec(&["fmt", "p.pipe"]).ends(0, &["1 of 1 file changed"]);
    assert_eq!(folder.read("p.pipe").lines().count(), NUMBERS.lines().count());
    folder.write("p.pipe", &NUMBERS.replace("range(100)", "rnage(100)"));
    folder.pipec(&["check", "--fix", "p.pipe"]).ends(0, &["1 place mended"]);
    folder.write("p.pipe", NUMBERS);
    fs::remove_dir_all(folder.join("out")).unwrap();
    for [state, profile] in [["s.json", "a.profile"], ["t.json", "b.profile"]] {
        let _ = fs::remove_file(folder.join("t.json"));
        let run =
            ["run", "p.pipe", "--state", state, "--profile", profile, "--quarantine", "q.jsonl"];
        folder.pipec(&[&run[..], &["--out", "out"]].concat()).ends(0, &[]);
    }
    folder.pipec(&["explain", "p.pipe", "--html", "page.html"]).ends(0, &[]);
    folder.pipec(&["scan", "p.pipe", "--out", "bad.jsonl"]).ends(0, &[]);
    assert_eq!(folder.read("mine"), MINE);

    // A folder of the output is no link either, and no field names one elsewhere.
    fs::remove_dir_all(folder.join("out/x")).unwrap();
    fs::create_dir(folder.join("elsewhere")).unwrap();
    folder.write("elsewhere/00000000.npy", MINE);
    symlink("../elsewhere", folder.join("out/x")).unwrap();
    folder.pipec(&["run", "p.pipe", "--out", "out"]).ends(5, &["it is a link"]);
    assert_eq!(folder.read("elsewhere/00000000.npy"), MINE);
    folder.write("t.csv", "../elsewhere\n1\n");
    folder.write("c.pipe", "edition 2026\n\npipeline p = csv(\"t.csv\")\n");
    folder.pipec(&["run", "c.pipe", "--out", "fresh"]).ends(5, &["`../elsewhere`", "`map`"]);
}

#[test]
fn a_link_to_a_program_is_edited_where_it_leads() {
    let folder =
        Folder::of("hostile-edit", &[("real.pipe", &NUMBERS.replace("|> map", "|>  map"))]);
    symlink("real.pipe", folder.join("p.pipe")).unwrap();
    folder.pipec(&["fmt", "p.pipe"]).ends(0, &["1 of 1 file changed"]);
    assert!(fs::symlink_metadata(folder.join("p.pipe")).unwrap().is_symlink());
    assert!(!folder.read("real.pipe").contains("|>  map"));
}

#[test]
fn what_is_interrupted_leaves_no_draft() {
    let folder = Folder::of("hostile-interrupt", &[("p.pipe", NUMBERS)]);
    let mut interrupted = 0;
    for _ in 0..50 {
        let mut child =
            folder.command(&["build", "p.pipe", "-o", "p"]).stderr(Stdio::null()).spawn().unwrap();
        while ending(folder.path(), ".part").is_empty() && child.try_wait().unwrap().is_none() {}
        let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        interrupted += usize::from(child.wait().unwrap().code() != Some(0));
        assert_eq!(ending(folder.path(), ".part"), [] as [PathBuf; 0]);
        let _ = fs::remove_file(folder.join("p"));
        if interrupted == 3 {
            return;
        }
    }
    panic!("it was interrupted {interrupted} times");
}

/// A folder with pictures of which what is decoded is kept.
struct Kept(Folder);

impl Kept {
    fn new(name: &str) -> Self {
        let folder =
            Folder::of(&format!("hostile-{name}"), &[("p.pipe", PICTURES), ("mine", MINE)]);
        folder.pipec(&["sample", "images", "data", "--count", "16"]).ends(0, &[]);
        Self(folder)
    }

    fn run(&self) -> Printed {
        let run =
            ["run", "p.pipe", "--epochs", "2", "--cache", "kept", "--memory", "80MiB", "--json"];
        ended(self.0.command(&run))
    }

    fn address(&self) -> PathBuf {
        self.about().parent().unwrap().to_owned()
    }

    fn about(&self) -> PathBuf {
        ending(&self.0.join("kept"), "about.json").remove(0)
    }
}

#[test]
fn no_link_is_followed_in_a_cache() {
    let site = Kept::new("cache");
    let folder = &site.0;
    fs::create_dir(folder.join("kept")).unwrap();
    symlink("../mine", folder.join("kept/room.lock")).unwrap();
    site.run().ends(0, &["is not kept in `kept`"]);
    assert_eq!(folder.read("mine"), MINE);
    fs::remove_file(folder.join("kept/room.lock")).unwrap();

    site.run().ends(0, &[]);
    let address = site.address();
    for end in [".idx", ".seg", "writer.lock", "in-use.lock"] {
        let file = ending(&address, end).remove(0);
        fs::rename(&file, folder.join("away")).unwrap();
        symlink(folder.join("mine"), &file).unwrap();
        site.run().ends(0, &["is not kept in `kept`", "it is a link"]);
        assert_eq!(folder.read("mine"), MINE, "{end}");
        fs::rename(folder.join("away"), &file).unwrap();
    }
    // All of it is somewhere else.
    fs::rename(&address, folder.join("elsewhere")).unwrap();
    symlink(folder.join("elsewhere"), &address).unwrap();
    let before = folder.files("elsewhere");
    site.run().ends(0, &["is not kept in `kept`"]);
    assert!(folder.files("elsewhere") == before);
    folder.pipec(&["cache", "gc", "kept", "--max", "1kB"]).ends(0, &[]);
    assert!(folder.files("elsewhere") == before);
}

#[test]
fn what_is_endless_is_refused_in_a_cache() {
    let site = Kept::new("endless");
    site.run().ends(0, &[]);
    let about = site.about();
    fs::remove_file(&about).unwrap();
    symlink("/dev/zero", &about).unwrap();
    let mut verify = Command::new("sh");
    let verify =
        verify.args(["-c", "ulimit -v 8000000; exec \"$0\" cache verify kept", common::PIPEC]);
    verify.current_dir(site.0.path());
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 8000000; exec \"$0\" cache verify kept", common::PIPEC]);
    command.current_dir(site.0.path());
    assert!(ended(command).code >= 0);
    site.run().ends(0, &[]);

    let index = ending(&site.address(), ".idx").remove(0);
    File::options().write(true).open(&index).unwrap().set_len(50 << 30).unwrap();
    site.run().ends(0, &["larger than an index can be"]);
    ended(site.0.command(&["cache", "verify", "kept"])).ends(5, &[]);
}

#[test]
fn pipes_and_devices_are_not_waited_for() {
    let folder = Folder::of(
        "hostile-pipes",
        &[
            ("p.pipe", NUMBERS),
            (
                "use.pipe",
                "edition 2026\n\nuse f from \"pipe\"\n\npipeline p = range(3) |> map { x: f(i) }\n",
            ),
            (
                "stdin.pipe",
                "edition 2026\n\nuse f from \"/dev/stdin\"\n\npipeline p = range(3) |> map { x: f(i) }\n",
            ),
            ("csv.pipe", "edition 2026\n\npipeline p = csv(\"pipe\")\n"),
            ("lines.pipe", "edition 2026\n\npipeline p = lines(\"pipe\")\n"),
        ],
    );
    pipe(&folder.join("pipe"));
    pipe(&folder.join("p.pipe.lock"));
    let said = "it is a pipe, not a regular file";
    for program in ["use.pipe", "csv.pipe"] {
        for command in ["check", "run"] {
            let it = ended(folder.command(&[command, program]));
            assert!(it.code > 0 && it.err.replace("\n", " ").contains("pipe"), "{it:#?}");
        }
    }
    ended(folder.command(&["run", "lines.pipe"])).ends(5, &[]);
    ended(folder.command(&["run", "p.pipe"])).ends(5, &[said]);
    ended(folder.command(&["check", "pipe"])).ends(5, &[said]);
    ended(folder.command(&["run", "p.pipe", "--state", "pipe"])).ends(5, &[said]);
    ended(folder.command(&["explain", "p.pipe", "--profile", "pipe"])).ends(5, &[said]);
    let mut host = folder.command(&["explain", "use.pipe"]);
    host.env("PIPEC_HOST", folder.join("pipe"));
    assert!(ended(host).code > 0);
    // Nobody writes into this one, and nobody ends it.
    let mut stdin = folder.command(&["check", "stdin.pipe"]);
    stdin.stdin(Stdio::piped());
    let it = ended(stdin);
    assert_eq!(it.code, 1, "{it:#?}");
    // What is documented to come from stdin still does.
    let mut child =
        folder.command(&["fmt", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(NUMBERS.as_bytes()).unwrap();
    assert_eq!(Printed::of(&child.wait_with_output().unwrap()).out, NUMBERS);
}

#[test]
fn a_limit_of_file_sizes_is_told() {
    let folder = Folder::of(
        "hostile-size",
        &[("p.pipe", "edition 2026\n\npipeline p = range(1_000_000) |> batch(100_000)\n")],
    );
    for out in ["out", "- > stream"] {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -f 4; \"$0\" run p.pipe --out {out}"), common::PIPEC]);
        command.current_dir(folder.path());
        ended(command).ends(5, &["ulimit -f"]);
    }
}

#[test]
fn a_built_file_needs_no_proc() {
    let folder = Folder::of("hostile-proc", &[("p.pipe", NUMBERS)]);
    folder.pipec(&["build", "p.pipe", "-o", "p"]).ends(0, &[]);
    let without = |then: &str| {
        let mut command = Command::new("unshare");
        let script = format!("mount -t tmpfs none /proc && test ! -e /proc/self && {then}");
        command
            .args(["--map-root-user", "--mount", "sh", "-c", &script])
            .current_dir(folder.path());
        ended(command)
    };
    // Where the system lets nobody take `/proc` away there is nothing to be seen.
    if without("true").code != 0 {
        return;
    }
    without("./p run --out out").ends(0, &["13 batches"]);
    without("PATH=$PWD:$PATH p run").ends(0, &["13 batches"]);
    without("./p").ends(2, &[]);
}

#[test]
fn a_state_does_not_count_what_lies_in_a_pipe() {
    let folder = Folder::of("hostile-pipe", &[("p.pipe", NUMBERS)]);
    let run = ["run", "p.pipe", "--out", "-", "--state", "s.json"];
    folder.pipec(&run).ends(2, &["`--out -` and `--state`", "--out DIR"]);
    assert!(!folder.join("s.json").exists());
}

#[test]
fn extents_have_a_folder_of_their_own() {
    let program = "edition 2026\n\npipeline p = csv(\"t.csv\") |> map { v: zeros([n]), n }\n";
    let folder = Folder::of("hostile-shape", &[("t.csv", "n,v.shape\n1,7\n2,8\n")]);
    folder.write("p.pipe", program);
    folder.pipec(&["run", "p.pipe", "--out", "plain"]).ends(0, &[]);
    assert!(folder.join("plain/v.shape").exists());
    folder
        .write("p.pipe", "edition 2026\n\npipeline p = csv(\"t.csv\") |> with { v: zeros([n]) }\n");
    folder.pipec(&["run", "p.pipe", "--out", "out"]).ends(0, &[]);
    let values = fs::read(folder.join("out/v.shape/00000000.npy")).unwrap();
    let one: Vec<i64> =
        values[128..].chunks(8).map(|it| i64::from_le_bytes(it.try_into().unwrap())).collect();
    assert_eq!(one, [7, 8]);
    assert_eq!(fs::read(folder.join("out/v.shape2/00000000.npy")).unwrap()[128..].len(), 16);
    assert!(folder.read("out/pipec.json").contains("\"shape\": \"v.shape2\""));
}
