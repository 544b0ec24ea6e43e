//! A folder of output that somebody may have changed: a run goes on with it as if nothing had been, or says
//! what is wrong.

use super::scratch::{Folder, split};
use driver::{
    Compiled, DATA_FORMATS, Existing, Loaded, Ours, Provenance, RunOptions, Settings, ShardSize,
    StateFile, Stop, Watch,
};
use runtime::Failure;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
    time::Duration,
};

thread_local! {
    static FOLDER: Folder = Folder::new("output");
}

/// The folder of the output, and the file of the checkpoint.
const OUT: &str = "out";
const STATE: &str = "p.state";

const PROGRAM: &str = "\
edition 2026

pipeline records = range(40) |> shuffle |> map { x: f32(i) / 3.0, t: text_of(i), y: 100 // (i % 5) else skip(most: 1.0) }
pipeline batches = records |> batch(4)
";
/// Records of a shard.
const SHARD: u64 = 8;

/// An output, and the files of it that an input may change.
struct Kind {
    /// As `--format` says.
    format: &'static str,
    pipeline: &'static str,
    /// Outputs of the first run.
    limit: u64,
    files: &'static [&'static str],
}

const KINDS: [Kind; 4] = [
    Kind {
        format: "npy",
        pipeline: "batches",
        limit: 3,
        files: &[
            "out/pipec.json",
            "out/pipec.files.jsonl",
            "out/x/00000001.npy",
            "out/t/00000000.jsonl",
            "out/.pipec.json.0123abcd.part",
            "lost.jsonl",
            STATE,
        ],
    },
    Kind {
        format: "mds",
        pipeline: "records",
        limit: 2 * SHARD,
        files: &[
            "out/pipec.json",
            "out/pipec.files.jsonl",
            "out/00000001.mds",
            "out/index.json",
            "out/.00000001.mds.0123abcd.part",
            STATE,
        ],
    },
    Kind {
        format: "parquet",
        pipeline: "records",
        limit: 2 * SHARD,
        files: &["out/pipec.json", "out/pipec.files.jsonl", "out/00000000.parquet"],
    },
    Kind {
        format: "safetensors",
        pipeline: "batches",
        limit: 3,
        files: &["out/pipec.json", "out/pipec.files.jsonl", "out/00000002.safetensors"],
    },
];

/// Files by their names, with what they hold.
type Files = BTreeMap<PathBuf, Vec<u8>>;

/// A run that is broken off and gone on with.
struct Course {
    kind: &'static Kind,
    compiled: Compiled,
    before: Files,
    whole: Files,
}

static COURSES: LazyLock<Vec<Course>> =
    LazyLock::new(|| KINDS.iter().filter(|it| is_written(it.format)).map(Course::of).collect());

fn is_written(format: &str) -> bool {
    format == "npy" || DATA_FORMATS.iter().any(|it| it.name == format)
}

impl Course {
    fn of(kind: &'static Kind) -> Self {
        let loaded = Loaded::from_text(Path::new("output.pipe"), PROGRAM.to_owned());
        let pipeline = Some(kind.pipeline.to_owned());
        let settings = Settings { pipeline, ..Settings::default() };
        let compiled = driver::compile(&loaded, &settings).unwrap_or_else(|it| panic!("{it:?}"));
        let mut course = Self { kind, compiled, before: Files::new(), whole: Files::new() };
        let folder = Folder::new(&format!("output-course-{}", kind.format));
        let [before, whole] = [Some(kind.limit), None].map(|limit| {
            course.run(&folder, limit).unwrap_or_else(|it| panic!("{it}"));
            files(folder.path())
        });
        (course.before, course.whole) = (before, whole);
        course
    }

    /// Runs the pipeline, or goes on with it.
    fn run(&self, folder: &Folder, limit: Option<u64>) -> Result<(), Failure> {
        let Self { kind, compiled, .. } = self;
        let at = |name: &str| folder.path().join(name);
        let options = RunOptions {
            limit,
            workers: 1,
            memory: 256 << 20,
            state: Some(StateFile { path: at(STATE), every: Duration::ZERO }),
            quarantine: Some(at("lost.jsonl")),
            ..RunOptions::default()
        };
        let (of, out) = (Provenance::of(compiled, &options), at(OUT));
        let format = DATA_FORMATS.iter().find(|it| it.name == kind.format);
        let mut sink = match format {
            None => driver::Folder::open(&out, &compiled.program, &of, Existing::Keep)?,
            Some(format) => {
                let size = ShardSize::Records(SHARD);
                let data = (format, (!compiled.program.batched).then_some(size));
                driver::Folder::open_data(&out, &compiled.program, &of, Existing::Keep, data)?
            }
        };
        let watch = Watch {
            stop: Stop::default(),
            progress: None,
            sample: &mut |_| (),
            uneven: &mut |_| (),
        };
        let outcome = driver::run(compiled, &options, &mut sink, watch);
        outcome.failure.map_or(Ok(()), Err)
    }
}

/// The outputs and their files, as the first byte of an input counts them.
fn choices() -> Vec<(&'static Course, &'static str)> {
    COURSES.iter().flat_map(|it| it.kind.files.iter().map(move |file| (it, *file))).collect()
}

/// Goes on with a run of whose files one is changed. The first byte says which; the rest is what it holds.
pub(crate) fn output(bytes: &[u8]) {
    let (way, file) = split(bytes);
    let choices = choices();
    let (course, name) = choices[usize::from(way) % choices.len()];
    let Course { before, whole, .. } = course;
    FOLDER.with(|folder| {
        let _ = fs::remove_dir_all(folder.path());
        for (path, content) in before {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("it is below the folder"))
                .expect("there is room");
            fs::write(path, content).expect("there is room");
        }
        let path = match name {
            STATE => folder.write(name, &sealed(file)),
            _ => folder.write(name, file),
        };
        for kind in [Ours::Profile, Ours::Page, Ours::Sheet, Ours::Records, Ours::Host] {
            let _ = kind.may_replace(&path);
        }
        match course.run(folder, None) {
            // What follows from a checkpoint that was forged is not promised.
            Ok(()) if name == STATE => {}
            Ok(()) => {
                let mut found = files(folder.path());
                // What was lost before the change is not lost again.
                found.retain(|it, _| {
                    it.starts_with(OUT) && it.extension().is_none_or(|it| it != "part")
                });
                let mut expected = whole.clone();
                expected.retain(|it, _| it.starts_with(OUT));
                assert!(found == expected, "{:?}, and {:?}", found.keys(), expected.keys());
            }
            Err(error) => {
                let text = error.to_string();
                assert!(!text.contains("bug in pipec") && text.len() < 4000, "{text}");
            }
        }
    });
}

/// A checkpoint with the checksum that it needs.
fn sealed(state: &[u8]) -> Vec<u8> {
    const CHECK: &[u8] = b"\"check\":";
    let Some(at) = state.windows(CHECK.len()).rposition(|it| it == CHECK) else {
        return state.to_vec();
    };
    let front = &state[..at + CHECK.len()];
    let check = plan::hash(&[front, b"0}"].concat());
    [front, format!("{check}}}\n").as_bytes()].concat()
}

/// A list whose lines have the checksums that they need.
fn relisted(list: &str) -> String {
    const CHECK: &str = "\"check\":\"";
    let sealed = |line: &str| {
        let (front, _) = line.rsplit_once(CHECK).expect("each line has a checksum");
        let check = plan::hash(format!("{front}{CHECK}\"}}").as_bytes());
        format!("{front}{CHECK}{check:016x}\"}}\n")
    };
    list.lines().map(sealed).collect()
}

/// All files below a folder.
fn files(folder: &Path) -> Files {
    let (mut all, mut open) = (Files::new(), vec![folder.to_owned()]);
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).expect("it is there").flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("it is below").to_owned();
                all.insert(name, fs::read(path).expect("it can be read"));
            }
        }
    }
    all
}

/// Each file as the first run has left it, and lists of whole outputs.
pub(super) fn outputs() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (way, (course, name)) in (0..).zip(choices()) {
        let content = |of: &Files| of.get(Path::new(name)).cloned().unwrap_or_default();
        seeds.push([vec![way], content(&course.before)].concat());
        if name.ends_with("pipec.files.jsonl") {
            let list = content(&course.whole);
            // Counts beyond any sum.
            let text = String::from_utf8(list.clone()).expect("it is JSON");
            let outputs = if course.compiled.program.batched { 1 } else { SHARD };
            let (said, forged) =
                (format!("\"outputs\":{outputs}"), "\"outputs\":18446744073709551615");
            let forged = relisted(&text.replace(&said, forged));
            seeds.extend([list, forged.into_bytes()].map(|it| [vec![way], it].concat()));
        }
    }
    seeds
}
