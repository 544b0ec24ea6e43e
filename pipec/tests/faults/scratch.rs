//! A folder with data, and runs over it while calls of the system fail.

use crate::common::{Files, Folder, PIPEC, Printed};
use std::{
    env, fs,
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// The pipelines of `tests/faults/*.pipe`, and the file that each is in.
pub(crate) const PIPELINES: [(&str, &str); 8] = [
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
pub(crate) const FORGIVING: [&str; 3] = ["skipping", "replaced", "texts"];
/// Some of these stands in a message before what helps.
const REMEDIES: [&str; 4] = ["help:", "; ", "check that", "make sure that"];
/// A run that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(20);
/// Files that are records.
pub(crate) const BINARIES: usize = 12;

/// Which calls fail, and how.
#[derive(Clone, Copy)]
pub(crate) struct Fault {
    pub(crate) call: &'static str,
    /// Below which folder of its own: `data`, which is read, or `run`, which is written.
    pub(crate) below: &'static str,
    pub(crate) word: &'static str,
    pub(crate) from: usize,
    pub(crate) times: usize,
    pub(crate) what: &'static str,
}

pub(crate) const fn fault(call: &'static str, below: &'static str, what: &'static str) -> Fault {
    Fault { call, below, word: "", from: 1, times: usize::MAX, what }
}

impl Fault {
    pub(crate) const fn of(self, word: &'static str) -> Self {
        Self { word, ..self }
    }

    pub(crate) const fn once(self) -> Self {
        Self { times: 1, ..self }
    }
}

impl Printed {
    /// Waits for the end; a run that hangs is ended, and the test with it.
    pub(crate) fn when_over(mut child: Child) -> Self {
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
        Self { code: status.code().unwrap_or(-1), out, err }
    }

    /// Asserts that it ended as a run may end: with a code, and a message that helps.
    #[track_caller]
    pub(crate) fn is_sound(&self, fault: &str) {
        assert!(matches!(self.code, 0 | 3 | 5), "{fault}: {self:#?}");
        assert!(!self.err.contains("panicked"), "{fault}: {}", self.err);
        if self.code != 0 {
            let names_the_place = self.err.contains("pipec-faults-");
            // Long lines are broken for the reader.
            let said: Vec<_> = self.err.split_whitespace().filter(|it| *it != "|").collect();
            let said = said.join(" ");
            let says_what_helps = REMEDIES.iter().any(|it| said.contains(it));
            assert!(names_the_place && says_what_helps, "{fault}: {}", self.err);
        }
    }

    /// A number of the summary.
    pub(crate) fn figure(&self, name: &str) -> usize {
        let (_, after) = self.out.split_once(&format!("\"{name}\": ")).unwrap();
        after.split(|it: char| !it.is_ascii_digit()).next().unwrap().parse().unwrap()
    }
}

impl Folder {
    /// A folder with data for all pipelines.
    pub(crate) fn with_records(name: &str) -> Self {
        let folder = Self::quick(&format!("faults-{name}"));
        folder.records();
        folder
    }

    pub(crate) fn records(&self) {
        let write = |name: String, text: String| self.write(&format!("data/{name}"), &text);
        for file in 0..BINARIES {
            write(format!("{file}.bin"), "x".repeat(100 + file));
        }
        let lines = |line: fn(usize) -> String| (0..40).map(line).collect::<String>();
        for file in 0..2 {
            write(format!("{file}.txt"), lines(|it| "y".repeat(it % 9) + "\n"));
            let rows = lines(|it| format!("{it},{it}.5\n"));
            write(format!("{file}.csv"), format!("a,b\n{rows}"));
            write(format!("{file}.jsonl"), lines(|it| format!("{{\"id\": {it}}}\n")));
        }
    }

    /// Runs a pipeline into `run/out`, with a state and a quarantine file.
    pub(crate) fn job(&self, pipeline: &str, workers: usize) -> Command {
        let at = |name: &str| self.join(name).display().to_string();
        let mut command = Command::new(PIPEC);
        command.arg("run").arg(file_of(pipeline)).args([pipeline, "--json", "--seed", "7"]);
        command.args(["--workers", &workers.to_string()]);
        command.args(["--set", &format!("data={}", at("data")), "--checkpoint-every", "0ms"]);
        command.args(["--out", &at("run/out"), "--checkpoint", &at("run/state")]);
        command.args(["--quarantine", &at("run/lost.jsonl"), "--chunk-rows", "3"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a pipeline into its standard output.
    pub(crate) fn streaming(&self, pipeline: &str) -> Command {
        let mut command = Command::new(PIPEC);
        command.arg("run").arg(file_of(pipeline)).args([pipeline, "--out", "-", "--workers", "2"]);
        command.args(["--set", &format!("data={}", self.join("data").display())]);
        command
    }

    pub(crate) fn run(&self, pipeline: &str, fault: Option<&Fault>) -> Printed {
        let mut command = self.job(pipeline, 2);
        if let Some(fault) = fault {
            self.disturb(&mut command, fault);
        }
        Printed::when_over(command.spawn().unwrap())
    }

    pub(crate) fn disturb(&self, command: &mut Command, fault: &Fault) {
        let _ = fs::remove_file(self.join("hit"));
        command.env("LD_PRELOAD", layer());
        command.env("FAULTS_CALL", fault.call).env("FAULTS_WORD", fault.word);
        command.env("FAULTS_BELOW", self.join(fault.below));
        command.env("FAULTS_FROM", fault.from.to_string()).env("FAULTS_DO", fault.what);
        command.env("FAULTS_TIMES", fault.times.to_string()).env("FAULTS_HIT", self.join("hit"));
    }

    pub(crate) fn was_hit(&self) -> bool {
        self.join("hit").exists()
    }

    pub(crate) fn clear(&self) {
        let _ = fs::remove_dir_all(self.join("run"));
        fs::create_dir(self.join("run")).unwrap();
    }

    /// What an undisturbed run writes.
    pub(crate) fn whole(&self, pipeline: &str) -> Files {
        self.clear();
        let ended = self.run(pipeline, None);
        assert_eq!(ended.code, 0, "{pipeline}: {ended:#?}");
        self.files("run/out")
    }

    /// Runs while something happens that must not matter; whether it did happen.
    pub(crate) fn same(&self, pipeline: &str, fault: Fault, whole: &Files) -> bool {
        self.clear();
        let ended = self.run(pipeline, Some(&fault));
        let Fault { call, below, what, from, .. } = fault;
        let named = format!("{pipeline}: {what} at {call} {from} below {below}");
        assert_eq!(ended.code, 0, "{named}: {}", ended.err);
        assert!(self.files("run/out") == *whole, "{named}: other files");
        self.was_hit()
    }
}

/// The program that has a pipeline.
fn file_of(pipeline: &str) -> PathBuf {
    let (_, file) = PIPELINES.iter().find(|it| it.0 == pipeline).unwrap();
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/faults/{file}.pipe"))
}

/// The fault layer: cargo builds it beside this test.
fn layer() -> PathBuf {
    let layer = env::current_exe().unwrap().with_file_name("libfaults.so");
    assert!(layer.exists(), "{} is not there", layer.display());
    layer
}
