//! Runs that are killed at any moment, and gone on with, write what an undisturbed run writes.
//!
//! A few kills in the usual run, more where `SLOW_TESTS` is set, as many as `KILLS` says.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Files, Folder};
use std::{
    env, fs,
    path::Path,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

/// The programs of `tests/kill`: window shuffle, where, skip, mix, zip, batches by kind, repeat,
/// and what ends with an epoch.
const PROGRAMS: [&str; 7] = ["window", "mixed", "zipped", "sorted", "repeated", "records", "lanes"];

#[test]
fn killed_runs_go_on_where_they_were() {
    let said = env::var("KILLS").ok().and_then(|it| it.parse().ok());
    let kills_wanted = said.unwrap_or(if env::var_os("SLOW_TESTS").is_some() { 200 } else { 30 });
    let folder = Folder::quick("kill");
    folder.texts();
    let mut random = Random(0x5EED);
    let mut kills = 0;
    let whole: Vec<_> = PROGRAMS.iter().map(|it| folder.undisturbed(it)).collect();
    for round in 0.. {
        let program = round % PROGRAMS.len();
        kills += folder.disturbed(PROGRAMS[program], &whole[program], &mut random);
        if kills >= kills_wanted {
            break;
        }
    }
    println!("{kills} kills over {} programs", PROGRAMS.len());
}

/// What an undisturbed run writes, and how long it takes.
struct Whole {
    files: Files,
    took: Duration,
}

impl Folder {
    /// Texts for the programs that read some.
    fn texts(&self) {
        for file in 0..3 {
            let line = |it: usize| format!("{}{it}\n", "x".repeat((it * 7 + file) % 11));
            let text: String = (0..200).map(line).collect();
            self.write(&format!("data/{file}.txt"), &text);
        }
    }

    fn begin(&self, program: &str, workers: u64, more: &[&str]) -> Child {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/kill/{program}.pipe"));
        let mut command = self.command(&["run"]);
        command.arg(&file).args(["--epochs", "2", "--seed", "7"]).args(more);
        command.args(["--workers", &workers.to_string()]);
        if fs::read_to_string(&file).unwrap().contains("param data") {
            command.arg("--set").arg(format!("data={}", self.join("data").display()));
        }
        command.stderr(Stdio::piped()).spawn().unwrap()
    }

    fn undisturbed(&self, program: &str) -> Whole {
        let folder = self.join(format!("{program}-whole"));
        let begin = Instant::now();
        let child = self.begin(program, 2, &["--out", folder.to_str().unwrap()]);
        ended_well(child);
        Whole { took: begin.elapsed(), files: common::files(&folder) }
    }

    /// Runs the program once through, killing it again and again; how often it was killed.
    fn disturbed(&self, program: &str, whole: &Whole, random: &mut Random) -> usize {
        let folder = self.join(format!("{program}-killed"));
        let state = self.join(format!("{program}.state"));
        let _ = fs::remove_dir_all(&folder);
        let _ = fs::remove_file(&state);
        let mut kills = 0;
        loop {
            let chunk_rows = [1, 16, 1000][random.below(3) as usize].to_string();
            let every = ["0ms", "1ms", "5ms"][random.below(3) as usize];
            let more = ["--out", folder.to_str().unwrap(), "--checkpoint", state.to_str().unwrap()];
            let more =
                [&more[..], &["--checkpoint-every", every, "--chunk-rows", &chunk_rows]].concat();
            let mut child = self.begin(program, 1 + random.below(4), &more);
            // In the midst of it, or shortly before the end; a few are left to themselves.
            let wait = whole.took.as_micros() as u64 * random.below(130) / 100;
            thread::sleep(Duration::from_micros(wait));
            if child.try_wait().unwrap().is_some() || random.below(12) == 0 {
                ended_well(child);
                break;
            }
            child.kill().unwrap();
            child.wait().unwrap();
            kills += 1;
        }
        let found = common::files(&folder);
        let names = |it: &Files| it.keys().cloned().collect::<Vec<_>>();
        assert_eq!(
            names(&found),
            names(&whole.files),
            "{program}: other files after {kills} kills"
        );
        for (name, bytes) in &whole.files {
            assert!(found[name] == *bytes, "{program}: {name} differs after {kills} kills");
        }
        assert!(fs::metadata(&state).unwrap().len() < 1024, "the state has outgrown its bound");
        kills
    }
}

fn ended_well(child: Child) {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// SplitMix64 (Steele et al., OOPSLA'14).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n
    }
}
