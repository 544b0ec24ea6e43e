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

/// Files of a folder whose names end so; none is opened.
fn ending(folder: &Path, end: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(ending(&entry.path(), end)),
            false if entry.path().to_str().unwrap().ends_with(end) => found.push(entry.path()),
            false => {}
        }
    }
    found
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
    folder.pipec(&["check", "--fix", "p.pipe"]).ends(0, &["1 place fixed"]);
    folder.write("p.pipe", NUMBERS);
    fs::remove_dir_all(folder.join("out")).unwrap();
    for [state, profile] in [["s.json", "a.profile"], ["t.json", "b.profile"]] {
        let _ = fs::remove_file(folder.join("t.json"));
        let run = [
            "run",
            "p.pipe",
            "--checkpoint",
            state,
            "--profile",
            profile,
            "--quarantine",
            "q.jsonl",
        ];
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
        folder.pipec(&["sample", "images", "data", "--count", "8"]).ends(0, &[]);
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
    site.run().ends(0, &["is not cached in `kept`"]);
    assert_eq!(folder.read("mine"), MINE);
    fs::remove_file(folder.join("kept/room.lock")).unwrap();

    site.run().ends(0, &[]);
    let address = site.address();
    for end in [".idx", ".seg", "in-use.lock"] {
        let file = ending(&address, end).remove(0);
        fs::rename(&file, folder.join("away")).unwrap();
        symlink(folder.join("mine"), &file).unwrap();
        site.run().ends(0, &["is not cached in `kept`", "it is a link"]);
        assert_eq!(folder.read("mine"), MINE, "{end}");
        fs::rename(folder.join("away"), &file).unwrap();
    }
    // All of it is somewhere else.
    fs::rename(&address, folder.join("elsewhere")).unwrap();
    symlink(folder.join("elsewhere"), &address).unwrap();
    let before = folder.files("elsewhere");
    site.run().ends(0, &["is not cached in `kept`"]);
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
    ended(folder.command(&["run", "p.pipe", "--checkpoint", "pipe"])).ends(5, &[said]);
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
    let run = ["run", "p.pipe", "--out", "-", "--checkpoint", "s.json"];
    folder.pipec(&run).ends(2, &["`--out -` and `--checkpoint`", "--out DIR"]);
    assert!(!folder.join("s.json").exists());
}

/// A secret beside a project, and a program in the project that names it in this way.
fn project(name: &str, from: &str) -> Folder {
    let folder = Folder::of(
        name,
        &[
            ("secret.env", "TOKEN=hunter2\n"),
            ("common.pipe", "edition 2026\n\nfn f(x) = x + one\n"),
        ],
    );
    let program = format!(
        "edition 2026\n\nuse f from \"{from}\"\n\npipeline p = range(3) |> map {{ x: f(i) }}\n"
    );
    folder.write("project/sub/p.pipe", &program);
    folder
}

#[test]
fn what_lies_outside_of_a_project_is_not_shown() {
    let at = |folder: &Folder| folder.join("project/sub/p.pipe").to_str().unwrap().to_owned();
    let outside = format!("{}/x", std::env::temp_dir().display());
    for from in ["../../secret.env", "/etc/passwd", "/etc/shadow", "../../none", "link", &outside] {
        let folder = project("hostile-outside", from);
        symlink("../../secret.env", folder.join("project/sub/link")).unwrap();
        for command in ["check", "run", "explain"] {
            let it = folder.pipec(&[command, &at(&folder)]);
            it.ends(1, &["PC0207", "--allow-outside"]);
            assert!(!it.err.contains("hunter2") && !it.err.contains("root"), "{it:#?}");
        }
        // Also where it is allowed, what is not a program is not shown.
        let it = folder.pipec(&["check", &at(&folder), "--allow-outside"]);
        it.ends(1, &[]);
        assert!(!it.err.contains("hunter2") && !it.err.contains("root:"), "{it:#?}");
    }

    // A program that is beside it may be used where it is allowed, or in the same project.
    let folder = project("hostile-inside", "../../common.pipe");
    folder.pipec(&["check", &at(&folder)]).ends(1, &["PC0207"]);
    folder.pipec(&["check", &at(&folder), "--allow-outside"]).ends(1, &["`one`"]);
    fs::create_dir(folder.join(".git")).unwrap();
    folder.pipec(&["check", &at(&folder)]).ends(1, &["`one`"]);
    folder.write("secret.env", "TOKEN=hunter2\n");
    folder.write("project/sub/p.pipe", "edition 2026\n\nuse f from \"../../secret.env\"\n\npipeline p = range(3) |> map { x: f(i) }\n");
    let it = folder.pipec(&["check", &at(&folder)]);
    it.ends(1, &["PC0208", "is not a program"]);
    assert!(!it.err.contains("hunter2"), "{it:#?}");

    // The program itself may be a link.
    fs::remove_dir(folder.join(".git")).unwrap();
    fs::remove_file(folder.join("project/sub/p.pipe")).unwrap();
    symlink("../../secret.env", folder.join("project/sub/p.pipe")).unwrap();
    for command in ["check", "fmt", "run"] {
        let it = folder.pipec(&[command, &at(&folder)]);
        it.ends(5, &["outside of the project"]);
        assert!(!it.err.contains("hunter2"), "{it:#?}");
    }
    let it = folder.pipec(&["fmt", &at(&folder), "--allow-outside"]);
    assert!(it.code == 1 && folder.read("secret.env") == "TOKEN=hunter2\n");
}

#[test]
fn nothing_that_a_terminal_obeys_is_printed() {
    let evil = "a\u{1b}]0;title\u{7}\u{202e}b";
    let hidden =
        |it: &Printed| it.err.contains(plan::is_hidden) || it.out.contains(plan::is_hidden);
    let folder = Folder::new("hostile-escape");
    let program = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    fs::create_dir(folder.join("data")).unwrap();
    fs::write(folder.join(format!("data/{evil}.jpg")), "no picture").unwrap();
    fs::write(folder.join("t.csv"), format!("{evil},n\n{evil},1\n")).unwrap();
    let picture = "files(\"data/*.jpg\") |> map { image: decode_jpeg(bytes) else skip, path }";
    program("skip.pipe", &format!("edition 2026\n\npipeline p = {picture}\n"));
    program(
        "stop.pipe",
        &format!("edition 2026\n\npipeline p = {}\n", picture.replace(" else skip", "")),
    );
    program("table.pipe", "edition 2026\n\npipeline p = csv(\"t.csv\") |> map { x: nothing }\n");
    program("rows.pipe", "edition 2026\n\npipeline p = csv(\"t.csv\")\n");
    program("text.pipe", &format!("edition 2026\n\npipeline {evil} = \"{evil}\" |> rnage\n"));
    program(&format!("{evil}.pipe"), "pipeline\n");
    let named = format!("{evil}.pipe");
    for args in [
        &["run", "skip.pipe", "--quarantine", "q.jsonl"][..],
        &["run", "stop.pipe"],
        &["scan", "skip.pipe"],
        &["peek", "skip.pipe"],
        &["check", "table.pipe"],
        &["peek", "rows.pipe"],
        &["check", "text.pipe"],
        &["check", "text.pipe", "--output-format", "concise"],
        &["check", "text.pipe", "--output-format", "github"],
        &["check", &named],
        &["run", &named],
        &["run", evil],
        &["explain", "rows.pipe"],
        &["explain", "PC0411"],
    ] {
        for color in ["never", "always"] {
            let it = folder.pipec(&[args, &["--color", color]].concat());
            let plain =
                Printed { err: without_styles(&it.err), out: without_styles(&it.out), ..it };
            assert!(!hidden(&plain), "{args:?}: {plain:#?}");
        }
    }
    let lost = folder.read("q.jsonl");
    assert!(
        !lost.is_empty()
            && !lost.replace("\\u001b", "").contains(|it: char| it.is_control() && it != '\n')
    );
}

/// What is printed without what sets colours.
fn without_styles(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let mut plain = pieces.next().unwrap_or("").to_owned();
    for piece in pieces {
        match piece.split_once('m') {
            Some((style, rest)) if style.bytes().all(|it| it.is_ascii_digit() || it == b';') => {
                plain.push_str(rest);
            }
            _ => plain.push_str(&format!("\u{1b}[{piece}")),
        }
    }
    plain
}

#[test]
fn ranks_share_neither_a_folder_nor_a_state() {
    let folder = Folder::of("hostile-ranks", &[("p.pipe", NUMBERS)]);
    let run = |rank: &str, more: &[&str]| {
        folder.pipec(&[&["run", "p.pipe", "--world-size", "2", "--rank", rank], more].concat())
    };
    run("0", &["--checkpoint", "s.json", "--out", "out"]).ends(0, &["7 batches"]);
    run("1", &["--checkpoint", "s.json", "--out", "other"]).ends(4, &["--rank 0", "--rank 1"]);
    folder
        .pipec(&["run", "p.pipe", "--checkpoint", "s.json"])
        .ends(4, &["--rank 0", "a run without ranks"]);
    run("0", &["--checkpoint", "s.json", "--out", "out"]).ends(0, &[]);
    assert!(folder.read("out/pipec.json").contains("\"world\": 2"));
    run("1", &["--out", "out"]).ends(5, &["rank 0 of 2", "its own folder"]);
    // A run alone keeps what it always did.
    folder.pipec(&["run", "p.pipe", "--checkpoint", "a.json", "--out", "alone"]).ends(0, &[]);
    assert!(
        folder.read("a.json").starts_with("{\"format\":1,")
            && !folder.read("a.json").contains("share")
    );
    assert!(!folder.read("alone/pipec.json").contains("share"));
    run("1", &["--checkpoint", "a.json"]).ends(4, &["a run without ranks"]);
}

#[test]
fn a_folder_and_a_state_are_locked_while_they_are_used() {
    let endless = NUMBERS.replace("range(100)", "range(100) |> repeat");
    let folder = Folder::of("hostile-locks", &[("p.pipe", &endless)]);
    let run = |rank, more: &[&'static str]| {
        [&["run", "p.pipe", "--world-size", "2", "--rank", rank][..], more].concat()
    };
    let both = ["--out", "out", "--checkpoint", "s.json"];
    let mut first = folder.command(&run("0", &both)).stderr(Stdio::null()).spawn().unwrap();
    let since = Instant::now();
    while !folder.join("s.json").exists() {
        assert!(since.elapsed() < Duration::from_secs(60), "no state comes");
        thread::sleep(Duration::from_millis(5));
    }
    let second = |more: &[&'static str]| {
        ended(folder.command(&run("1", &[&["--limit", "3"], more].concat())))
    };
    let (out, state) = (second(&["--out", "out"]), second(&["--checkpoint", "s.json"]));
    let _ = Command::new("kill").args(["-INT", &first.id().to_string()]).status();
    first.wait().unwrap();
    out.ends(5, &["another run is writing to this folder"]);
    state.ends(5, &["another run is using this checkpoint file"]);
    // Nothing of it is left: the next run finds the folder and the state free, and more in them.
    let again = run("0", &[&both[..], &["--limit", "1"]].concat());
    ended(folder.command(&again)).ends(4, &["it already has", "`--limit 1` ends before that"]);
}

#[test]
fn no_output_takes_the_place_of_a_source() {
    let site = Kept::new("sources");
    let folder = &site.0;
    let picture = ending(&folder.join("data"), ".jpg").remove(0);
    fs::copy(picture, folder.join("cat.jpg")).unwrap();
    let commands: [(&[&str], &str); 8] = [
        (&["profile", "p.pipe", "--seconds", "1s", "-o"], "p.profile"),
        (&["run", "p.pipe", "--profile"], "r.profile"),
        (&["run", "p.pipe", "--quarantine"], "bad.jsonl"),
        (&["peek", "p.pipe", "--save"], "sheet.png"),
        (&["explain", "p.pipe", "--html"], "page.html"),
        (&["scan", "p.pipe", "--out"], "scan.jsonl"),
        (&["build", "p.pipe", "-o"], "built"),
        (&["calibrate", "--quick", "--time", "100ms", "--out"], "host.toml"),
    ];
    let sources = ["p.pipe", "cat.jpg"];
    let run = |command: &[&str], out: &str| folder.pipec(&[command, &[out]].concat());
    let bytes = |name: &str| fs::read(folder.join(name)).unwrap();
    for (command, own) in commands {
        for source in sources {
            let before = bytes(source);
            let it = run(command, source);
            it.ends(2, &[&format!("`{source}` "), "will not be overwritten", "name another file"]);
            assert!(bytes(source) == before, "{command:?} has written {source}");
        }
        run(command, "data").ends(2, &["`data` is a folder"]);
        // What is its own is replaced, and so is what is empty.
        if command[0] != "calibrate" {
            run(command, own).ends(0, &[]);
            run(command, own).ends(0, &[]);
        }
        // Nor does one kind take the place of another.
        if command[0] != "run" {
            run(command, "r.profile").ends(if own == "p.profile" { 0 } else { 2 }, &[]);
        }
    }
    let state = run(&["run", "p.pipe", "--checkpoint"], "p.pipe");
    assert!(state.code == 4 && folder.read("p.pipe") == PICTURES, "{state:#?}");
    folder.write("p.pipe.lock", MINE);
    let tune = ended(folder.command(&["tune", "p.pipe", "--seconds", "1s"]));
    assert!(tune.code == 5 && folder.read("p.pipe.lock") == MINE, "{tune:#?}");
}

#[test]
fn data_that_nest_or_never_end_are_faults_of_their_record() {
    let program = "\
edition 2026

pipeline json = jsonl(\"a.jsonl\") |> map { n: row[\"n\"] as i64 else -1 } |> batch(2, tail: keep)
pipeline text = lines(\"a.jsonl\") |> map { n: len(text) } |> batch(2, tail: keep)
pipeline table = csv(\"a.csv\") |> map { x: x else -1 } |> batch(2, tail: keep)
";
    let folder = Folder::of("hostile-data", &[("p.pipe", program)]);
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let long = format!("{{\"n\": \"{}\"}}", "x".repeat(4 << 20));
    folder.write("a.jsonl", &format!("{{\"n\": 1}}\n{deep}\n{long}\n\0\n{{\"n\": 1e999}}\n"));
    folder.write("a.csv", &format!("x\n1\n{}\n\"2\"\n", "9".repeat(1 << 20)));
    for pipeline in ["json", "text", "table"] {
        let it = ended(folder.command(&["run", "p.pipe", pipeline]));
        assert!(
            [0, 3, 5].contains(&it.code) && !it.err.contains("panicked"),
            "{pipeline}: {it:#?}"
        );
        assert!(it.err.len() < 4_000, "{pipeline}: {} bytes of messages", it.err.len());
    }
}
