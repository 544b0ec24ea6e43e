//! Runs while calls of the system fail: they end soon, say why, and can be gone on with.
//!
//! `tests/faults` is the layer that lets calls fail. A sample of the calls is tried in the usual
//! run, each of them where `SLOW_TESTS` is set.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// The pipelines of `tests/faults/*.pipe`, and the file that each is in.
const PIPELINES: [(&str, &str); 8] = [
    ("strict", "files"),
    ("skipping", "files"),
    ("replaced", "files"),
    ("texts", "files"),
    ("in_order", "texts"),
    ("by_number", "texts"),
    ("objects", "texts"),
    ("table", "tables"),
];
/// Those in which a file that cannot be read costs its record, and not the run.
const FORGIVING: [&str; 3] = ["skipping", "replaced", "texts"];
/// Some of these stands in a message before what helps.
const REMEDIES: [&str; 4] = ["help:", "; ", "see that", "list a folder that"];
/// A run that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(20);
/// Files that are records.
const BINARIES: usize = 12;

/// Which calls fail, and how.
#[derive(Clone, Copy)]
struct Fault {
    call: &'static str,
    /// Below which of the scratch folder's own: `data`, which is read, or `run`, which is written.
    below: &'static str,
    word: &'static str,
    from: usize,
    times: usize,
    what: &'static str,
}

const fn fault(call: &'static str, below: &'static str, what: &'static str) -> Fault {
    Fault { call, below, word: "", from: 1, times: usize::MAX, what }
}

impl Fault {
    const fn of(self, word: &'static str) -> Self {
        Self { word, ..self }
    }

    const fn once(self) -> Self {
        Self { times: 1, ..self }
    }
}

#[test]
fn what_cannot_be_read_is_said() {
    let scratch = Scratch::new("read");
    let mut tally = Tally::default();
    let faults = [
        fault("read", "data", "EIO").once(),
        fault("open", "data", "EACCES"),
        fault("list", "data", "EIO"),
        fault("stat", "data", "ESTALE").once(),
    ];
    for (pipeline, _) in PIPELINES {
        scratch.at_every_call(pipeline, &faults, &mut tally);
    }
    tally.print();
}

#[test]
fn what_cannot_be_written_is_said_and_gone_on_with() {
    let scratch = Scratch::new("write");
    let mut tally = Tally::default();
    let faults = [
        fault("write", "run", "ENOSPC"),
        fault("write", "run", "EIO").once(),
        fault("open", "run", "EIO").once(),
        fault("rename", "run", "EIO").once(),
        fault("make", "run", "ENOSPC"),
        fault("remove", "run", "EIO"),
    ];
    for pipeline in ["strict", "skipping", "by_number", "objects"] {
        scratch.at_every_call(pipeline, &faults, &mut tally);
    }
    tally.print();
}

#[test]
fn short_and_interrupted_calls_change_nothing() {
    let scratch = Scratch::new("short");
    for (pipeline, _) in PIPELINES {
        let whole = scratch.whole(pipeline);
        for what in ["short", "half"] {
            for (call, below) in [("read", "data"), ("read", "run"), ("write", "run")] {
                scratch.same(pipeline, fault(call, below, what), &whole);
            }
        }
        for (call, below) in [("read", "data"), ("write", "run"), ("open", "data"), ("open", "run")]
        {
            for from in sampled().take_while(|it| *it < 30) {
                let fault = Fault { from, ..fault(call, below, "EINTR").once() };
                if !scratch.same(pipeline, fault, &whole) {
                    break;
                }
            }
        }
    }
}

/// The numbers of the calls that are tried.
fn sampled() -> impl Iterator<Item = usize> {
    let all = is_thorough();
    (1..).filter(move |it| all || *it <= 12 || it % 7 == 0)
}

fn is_thorough() -> bool {
    env::var_os("SLOW_TESTS").is_some()
}

/// How often each kind of fault ended in each way.
#[derive(Default)]
struct Tally(BTreeMap<String, BTreeMap<String, usize>>);

impl Tally {
    fn count(&mut self, pipeline: &str, fault: &Fault, outcome: String) {
        let Fault { call, below, what, times, .. } = fault;
        let times = if *times == 1 { "once" } else { "from then on" };
        let row = format!("{what} at {call} below {below}, {times}: {pipeline}");
        *self.0.entry(row).or_default().entry(outcome).or_default() += 1;
    }

    fn print(&self) {
        for (row, outcomes) in &self.0 {
            let outcomes: Vec<_> = outcomes.iter().map(|(it, n)| format!("{it} ({n})")).collect();
            println!("{row}: {}", outcomes.join(", "));
        }
    }
}

/// What a run has said and how it ended.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Ended {
    /// Waits for the end; a run that hangs is ended, and the test with it.
    fn of(mut child: Child) -> Self {
        let begin = Instant::now();
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status,
                None if begin.elapsed() > LONGEST => {
                    child.kill().unwrap();
                    panic!("the run hangs");
                }
                None => thread::sleep(Duration::from_millis(1)),
            }
        };
        // What a run says here is less than a pipe holds.
        let (mut out, mut err) = (String::new(), String::new());
        child.stdout.unwrap().read_to_string(&mut out).unwrap();
        child.stderr.unwrap().read_to_string(&mut err).unwrap();
        Self { code: status.code(), out, err }
    }

    /// Asserts that it ended as a run may end: with a code, and a message that helps.
    #[track_caller]
    fn is_sound(&self, fault: &str) {
        assert!(matches!(self.code, Some(0 | 3 | 5)), "{fault}: {self:#?}");
        assert!(!self.err.contains("panicked"), "{fault}: {}", self.err);
        if self.code != Some(0) {
            let names_the_place = self.err.contains("pipec-faults-");
            // Long lines are broken for the reader.
            let said: Vec<_> = self.err.split_whitespace().filter(|it| *it != "|").collect();
            let said = said.join(" ");
            let says_what_helps = REMEDIES.iter().any(|it| said.contains(it));
            assert!(names_the_place && says_what_helps, "{fault}: {}", self.err);
        }
    }

    /// A number of the summary.
    fn figure(&self, name: &str) -> usize {
        let (_, after) = self.out.split_once(&format!("\"{name}\": ")).unwrap();
        after.split(|it: char| !it.is_ascii_digit()).next().unwrap().parse().unwrap()
    }
}

type Files = BTreeMap<String, Vec<u8>>;

struct Scratch(PathBuf);

impl Scratch {
    /// A folder with data for all pipelines.
    fn new(name: &str) -> Self {
        let folder = env::temp_dir().join(format!("pipec-faults-{}-{name}", std::process::id()));
        let scratch = Self(fs::canonicalize(env::temp_dir()).unwrap().join(folder));
        let _ = fs::remove_dir_all(&scratch.0);
        fs::create_dir_all(scratch.0.join("data")).unwrap();
        scratch.records();
        scratch
    }

    fn records(&self) {
        let write = |name: String, text: String| fs::write(self.0.join("data").join(name), text);
        for file in 0..BINARIES {
            write(format!("{file}.bin"), "x".repeat(100 + file)).unwrap();
        }
        let lines = |line: fn(usize) -> String| (0..40).map(line).collect::<String>();
        for file in 0..2 {
            write(format!("{file}.txt"), lines(|it| "y".repeat(it % 9) + "\n")).unwrap();
            write(
                format!("{file}.csv"),
                "a,b\n".to_owned() + &lines(|it| format!("{it},{it}.5\n")),
            )
            .unwrap();
            write(format!("{file}.jsonl"), lines(|it| format!("{{\"id\": {it}}}\n"))).unwrap();
        }
    }

    /// Runs a pipeline into `run/out`, with a state and a quarantine file.
    fn command(&self, pipeline: &str) -> Command {
        let (_, file) = PIPELINES.iter().find(|it| it.0 == pipeline).unwrap();
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults");
        let file = programs.join(format!("{file}.pipe"));
        let at = |name: &str| self.0.join(name).display().to_string();
        let mut command = Command::new(env!("CARGO_BIN_EXE_pipec"));
        command.arg("run").arg(&file).args([pipeline, "--json", "--workers", "2", "--seed", "7"]);
        command.args(["--set", &format!("data={}", at("data")), "--state-every", "0ms"]);
        command.args(["--out", &at("run/out"), "--state", &at("run/state")]);
        command.args(["--quarantine", &at("run/lost.jsonl"), "--chunk-rows", "3"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, pipeline: &str, fault: Option<&Fault>) -> Ended {
        let mut command = self.command(pipeline);
        if let Some(fault) = fault {
            self.disturb(&mut command, fault);
        }
        Ended::of(command.spawn().unwrap())
    }

    fn disturb(&self, command: &mut Command, fault: &Fault) {
        let _ = fs::remove_file(self.0.join("hit"));
        command.env("LD_PRELOAD", layer());
        command.env("FAULTS_CALL", fault.call).env("FAULTS_WORD", fault.word);
        command.env("FAULTS_BELOW", self.0.join(fault.below));
        command.env("FAULTS_FROM", fault.from.to_string()).env("FAULTS_DO", fault.what);
        command.env("FAULTS_TIMES", fault.times.to_string()).env("FAULTS_HIT", self.0.join("hit"));
    }

    fn was_hit(&self) -> bool {
        self.0.join("hit").exists()
    }

    fn clear(&self) {
        let _ = fs::remove_dir_all(self.0.join("run"));
        fs::create_dir(self.0.join("run")).unwrap();
    }

    /// What an undisturbed run writes.
    fn whole(&self, pipeline: &str) -> Files {
        self.clear();
        let ended = self.run(pipeline, None);
        assert_eq!(ended.code, Some(0), "{pipeline}: {ended:#?}");
        files(&self.0.join("run/out"))
    }

    /// Lets the first call fail, the second, and so on, each time in a run of its own.
    fn at_every_call(&self, pipeline: &str, faults: &[Fault], tally: &mut Tally) {
        let whole = self.whole(pipeline);
        for fault in faults {
            self.at_each(pipeline, *fault, &whole, tally);
            if is_thorough() {
                let times = if fault.times == 1 { usize::MAX } else { 1 };
                self.at_each(pipeline, Fault { times, ..*fault }, &whole, tally);
            }
        }
    }

    fn at_each(&self, pipeline: &str, fault: Fault, whole: &Files, tally: &mut Tally) {
        for from in sampled() {
            let fault = Fault { from, ..fault };
            let Fault { call, below, what, times, .. } = fault;
            let named = format!("{pipeline}: {what} at {call} {from} below {below}, {times} times");
            self.clear();
            let ended = self.run(pipeline, Some(&fault));
            if !self.was_hit() {
                assert!(from > 1 || call == "remove" || call == "list", "{named}: never needed");
                break;
            }
            ended.is_sound(&named);
            let outcome = match ended.code {
                Some(0) => self.accounted_for(pipeline, &ended, whole, &named),
                _ => self.gone_on_with(pipeline, whole, &named),
            };
            tally.count(pipeline, &fault, format!("{} {outcome}", ended.code.unwrap_or(-1)));
        }
    }

    /// After a run that ended well: nothing is missing but what was told of.
    fn accounted_for(&self, pipeline: &str, ended: &Ended, whole: &Files, named: &str) -> &str {
        if files(&self.0.join("run/out")) == *whole {
            return "as undisturbed";
        }
        assert!(FORGIVING.contains(&pipeline), "{named}: other files, and nothing said");
        let lost = fs::read_to_string(self.0.join("run/lost.jsonl")).unwrap();
        let lost: BTreeSet<_> = lost.lines().collect();
        let is_told = |it: &&str| it.starts_with('{') && it.ends_with('}') && it.contains(".bin");
        assert!(lost.iter().all(is_told), "{named}: {lost:?}");
        if pipeline != "replaced" {
            let records = ended.figure("records");
            assert_eq!(records + lost.len(), BINARIES, "{named}: {lost:?}\n{}", ended.err);
        }
        "records lost, and told"
    }

    /// After a run that failed: another one goes on, and all is as if nothing had been.
    fn gone_on_with(&self, pipeline: &str, whole: &Files, named: &str) -> &str {
        let again = self.run(pipeline, None);
        assert_eq!(again.code, Some(0), "{named}, then again: {}", again.err);
        let found = files(&self.0.join("run/out"));
        let names = |it: &Files| it.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&found), names(whole), "{named}: other files");
        for (name, bytes) in whole {
            assert!(found[name] == *bytes, "{named}: {name} differs");
        }
        let rest = fs::read_dir(self.0.join("run")).unwrap().flatten();
        let rest: Vec<_> = rest.map(|it| it.file_name()).filter(|it| it.len() > 10).collect();
        assert!(rest.is_empty(), "{named}: left behind {rest:?}");
        "said, and gone on with"
    }

    /// Runs while something happens that must not matter; whether it did happen.
    fn same(&self, pipeline: &str, fault: Fault, whole: &Files) -> bool {
        self.clear();
        let ended = self.run(pipeline, Some(&fault));
        let Fault { call, below, what, from, .. } = fault;
        let named = format!("{pipeline}: {what} at {call} {from} below {below}");
        assert_eq!(ended.code, Some(0), "{named}: {}", ended.err);
        assert!(files(&self.0.join("run/out")) == *whole, "{named}: other files");
        self.was_hit()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The fault layer: cargo builds it beside this test.
fn layer() -> PathBuf {
    let layer = env::current_exe().unwrap().with_file_name("libfaults.so");
    assert!(layer.exists(), "{} is not there", layer.display());
    layer
}

/// Every file below a folder.
fn files(folder: &Path) -> Files {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            let inner = files(&entry.path()).into_iter();
            found.extend(inner.map(|(it, bytes)| (format!("{name}/{it}"), bytes)));
        } else {
            found.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    found
}
