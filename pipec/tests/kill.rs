//! Runs that are killed at any moment, and gone on with, write what an undisturbed run writes.
//!
//! A few kills in the usual run, more where `SLOW_TESTS` is set, as many as `KILLS` says.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;
#[path = "common/shards.rs"]
#[expect(dead_code, reason = "other tests write more kinds of records")]
mod shards;

use common::{Files, Folder, store_vars};
use flate2::{Compression, write::GzEncoder};
use loopback::{Fault, Manner, Server};
use shards::Feature::{Bytes, Ints};
use std::{
    env, fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    slice,
    sync::atomic::Ordering::Relaxed,
    thread,
    time::{Duration, Instant},
};

/// The programs of `tests/kill`: window shuffle, where, skip, mix, zip, join, batches by kind, repeat, what ends with an
/// epoch, and every source that reads files of records.
///
/// What follows `-as-` is the format of shards of 500 records, or of batches.
const PROGRAMS: [&str; 24] = [
    "window",
    "mixed",
    "zipped",
    "sorted",
    "repeated",
    "records",
    "lanes",
    "spans",
    "typed",
    "table",
    "shards",
    "archive",
    "packed",
    "own-lanes",
    "looked-up",
    "corpus",
    "records-as-parquet",
    "records-as-arrow",
    "records-as-tfrecord",
    "records-as-tar",
    "records-as-mds",
    "records-as-jsonl",
    "records-as-safetensors",
    "shards-as-safetensors",
];

#[test]
fn killed_runs_go_on_where_they_were() {
    let folder = Folder::quick("kill");
    folder.data();
    let from_folder = From::folder(&folder);
    kill(&folder, &from_folder, slice::from_ref(&from_folder));
}

/// What was read from a folder is what comes of the same files in a store of which many requests fail.
#[test]
fn killed_runs_read_on_from_a_store_that_fails() {
    let folder = Folder::quick("kill-store");
    folder.data();
    let fault = |number| match number % 41 {
        10 => Some(Fault::Reset),
        20 => Some(Fault::Status(503)),
        30 => Some(Fault::Short),
        40 => Some(Fault::Slow(50)),
        _ => None,
    };
    let manner = Manner { page: 4, fault, ..Manner::default() };
    let server = Server::start(folder.path(), manner).unwrap();
    let from_store = SERVICES.map(|it| From {
        data: format!("{it}://data"),
        vars: store_vars(server.url()).to_vec(),
        ..From::folder(&folder)
    });
    kill(&folder, &From::folder(&folder), &from_store);
    assert!(server.counts().gets.load(Relaxed) > 20, "{:?}", server.counts());
}

/// What is written into a folder is what is written into a store that loses many requests and many answers.
#[test]
fn killed_runs_write_on_into_a_store_that_fails() {
    let folder = Folder::quick("kill-written");
    folder.data();
    let fault = |number| match number % 31 {
        10 => Some(Fault::Reset),
        20 => Some(Fault::Status(503)),
        30 => Some(Fault::Slow(50)),
        _ => None,
    };
    let manner = Manner { page: 4, write_fault: fault, ..Manner::default() };
    let server = Server::start(folder.path(), manner).unwrap();
    fs::create_dir_all(folder.join("written")).unwrap();
    let to_store = SERVICES.map(|it| From {
        place: (folder.join("written"), format!("{it}://written")),
        vars: store_vars(server.url()).to_vec(),
        ..From::folder(&folder)
    });
    kill(&folder, &From::folder(&folder), &to_store);
    assert!(server.counts().writes.load(Relaxed) > 100, "{:?}", server.counts());
}

/// What one server is, by how its paths begin.
const SERVICES: [&str; 3] = ["s3", "gs", "az"];

/// Runs that are left alone read from here, those that are killed from there, in turn.
#[expect(clippy::print_stdout, reason = "it says how much was tried")]
fn kill(folder: &Folder, whole: &From, killed: &[From]) {
    let said = env::var("KILLS").ok().and_then(|it| it.parse().ok());
    let kills_wanted = said.unwrap_or(if env::var_os("SLOW_TESTS").is_some() { 200 } else { 30 });
    let mut random = Random(0x5EED);
    let mut kills = 0;
    let whole: Vec<_> = PROGRAMS.iter().map(|it| folder.undisturbed(it, whole)).collect();
    for round in 0.. {
        let program = round % PROGRAMS.len();
        let from = &killed[(round + round / PROGRAMS.len()) % killed.len()];
        kills += folder.disturbed(PROGRAMS[program], from, &whole[program], &mut random);
        if kills >= kills_wanted {
            break;
        }
    }
    println!("{kills} kills over {} programs", PROGRAMS.len());
}

/// Where the files lie, where the output goes, and what the environment says of that.
struct From {
    data: String,
    /// The folder that the outputs of killed runs are in, and what runs call it.
    place: (PathBuf, String),
    vars: Vec<(&'static str, String)>,
}

impl From {
    fn folder(folder: &Folder) -> Self {
        let place = (folder.path().to_owned(), folder.path().display().to_string());
        Self { data: folder.join("data").display().to_string(), place, vars: Vec::new() }
    }
}

/// What an undisturbed run writes, and how long it takes.
struct Whole {
    files: Files,
    took: Duration,
}

impl Folder {
    /// Files for the programs that read some.
    fn data(&self) {
        for file in 0..3 {
            let numbers = 0..200 - 30 * file;
            let name = |it: usize| "x".repeat((it * 7 + file) % 11);
            let text: String = (0..200).map(|it| format!("{}{it}\n", name(it))).collect();
            self.write(&format!("data/{file}.txt"), &text);
            let json = |it: usize| match it % 9 {
                4 => "no json\n".to_owned(),
                _ => format!("{{\"a\": {{\"name\": \"{}\"}}, \"n\": {it}}}\n", name(it)),
            };
            self.write(
                &format!("data/{file}.jsonl"),
                &numbers.clone().map(json).collect::<String>(),
            );
            let row = |it: usize| match it % 9 {
                4 => "one field\n".to_owned(),
                _ => format!("{it},\"{}\"\n", name(it)),
            };
            let table = "a,b\n".to_owned() + &numbers.clone().map(row).collect::<String>();
            self.write(&format!("data/{file}.csv"), &table);
            self.corpus(file, &text);
            self.packed(file, &text, &numbers.map(name).collect::<Vec<_>>());
        }
    }

    /// Documents of several kinds, some of them damaged.
    fn corpus(&self, file: usize, text: &str) {
        fs::create_dir_all(self.join("data/corpus")).unwrap();
        let line = |(it, text): (usize, &str)| match it % 9 {
            4 => "no json\n".to_owned(),
            _ => format!("{{\"n\": {it}, \"text\": \"{text}\"}}\n"),
        };
        let lines: String = text.lines().enumerate().map(line).collect();
        self.write(&format!("data/corpus/{file}.jsonl"), &lines);
        let rows: String = text.lines().take(90).map(|it| format!("{it},1\n")).collect();
        self.write(&format!("data/corpus/{file}.csv"), &format!("text,n\n{rows}"));
        self.write(&format!("data/corpus/{file}.md"), text);
    }

    /// Shards of these names, one byte of them damaged, an archive, and a text that is compressed.
    fn packed(&self, file: usize, text: &str, names: &[String]) {
        let write = |ext: &str, bytes: &[u8]| {
            fs::write(self.join(format!("data/{file}.{ext}")), bytes).unwrap();
        };
        let example = |(n, name): (usize, &String)| {
            let (n, name) = ([n as i64], [name.as_bytes()]);
            shards::example(&[("n", Ints(&n)), ("name", Bytes(&name))])
        };
        let examples: Vec<_> = names.iter().enumerate().map(example).collect();
        let mut shard = shards::tfrecord(&examples);
        shard[1_000] ^= 1;
        write("tfrecord", &shard);
        let paths: Vec<_> = (0..names.len()).map(|it| format!("{file}-{it:03}.cls")).collect();
        let members: Vec<(&str, &[u8])> = paths.iter().map(|it| (&**it, &b"7"[..])).collect();
        write("tar", &shards::tar(&members));
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(text.as_bytes()).unwrap();
        write("txt.gz", &packed.finish().unwrap());
    }

    fn begin(&self, program: &str, from: &From, workers: u64, more: &[&str]) -> Child {
        let (program, format) = program.split_once("-as-").unwrap_or((program, ""));
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/kill/{program}.pipe"));
        let mut command = self.command(&["run"]);
        command.envs(from.vars.iter().map(|it| (it.0, &it.1)));
        command.arg(&file).args(["--epochs", "2", "--seed", "7"]).args(more);
        command.args(["--workers", &workers.to_string()]);
        if !format.is_empty() {
            let shard: &[&str] = if program == "records" { &["--shard", "500"] } else { &[] };
            command.args(["--format", format]).args(shard);
        }
        if program == "own-lanes" {
            command.args(["--rank", "1", "--world-size", "2"]);
        }
        if fs::read_to_string(&file).unwrap().contains("param data") {
            command.arg("--set").arg(format!("data={}", from.data));
        }
        command.stderr(Stdio::piped()).spawn().unwrap()
    }

    fn undisturbed(&self, program: &str, from: &From) -> Whole {
        let folder = self.join(format!("{program}-whole"));
        let begin = Instant::now();
        let child = self.begin(program, from, 2, &["--out", folder.to_str().unwrap()]);
        ended_well(child);
        Whole { took: begin.elapsed(), files: common::files(&folder) }
    }

    /// Runs the program once through, killing it again and again; how often it was killed.
    fn disturbed(&self, program: &str, from: &From, whole: &Whole, random: &mut Random) -> usize {
        let (place, named) = &from.place;
        let name = format!("{program}-killed");
        let (folder, out) = (place.join(&name), format!("{named}/{name}"));
        let state = self.join(format!("{program}.state"));
        let _ = fs::remove_dir_all(&folder);
        let _ = fs::remove_file(&state);
        let mut kills = 0;
        loop {
            let chunk_rows = [1, 16, 1000][random.below(3) as usize].to_string();
            let every = ["0ms", "1ms", "5ms"][random.below(3) as usize];
            let more = ["--out", &out, "--checkpoint", state.to_str().unwrap()];
            let more =
                [&more[..], &["--checkpoint-every", every, "--chunk-rows", &chunk_rows]].concat();
            let mut child = self.begin(program, from, 1 + random.below(4), &more);
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
        // It names the parameters, and so where the files are.
        let says_where = |it: &str| it == "pipec.json" && from.data.contains("://");
        for (name, bytes) in whole.files.iter().filter(|it| !says_where(it.0)) {
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
