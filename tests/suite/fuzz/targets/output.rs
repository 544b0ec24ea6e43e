//! A folder of output that somebody may have changed: a run goes on with it as if nothing had been, or says
//! what is wrong.

use super::scratch::{Folder, split};
use driver::{
    Compiled, Existing, Loaded, Ours, Provenance, RunOptions, Settings, StateFile, Stop, Watch,
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
/// Files of the output, which the first byte of an input chooses from.
const FILES: [&str; 7] = [
    "out/pipec.json",
    "out/pipec.files.jsonl",
    "out/x/00000001.npy",
    "out/t/00000000.jsonl",
    "out/.pipec.json.0123abcd.part",
    "lost.jsonl",
    STATE,
];

const PROGRAM: &str = "\
edition 2026

pipeline p = range(40) |> shuffle |> map { x: f32(i) / 3.0, t: text_of(i), y: 100 // (i % 5) else skip(most: 1.0) } |> batch(4)
";

static COMPILED: LazyLock<Compiled> = LazyLock::new(|| {
    let loaded = Loaded::from_text(Path::new("output.pipe"), PROGRAM.to_owned());
    driver::compile(&loaded, &Settings::default()).unwrap_or_else(|it| panic!("{it:?}"))
});

/// Files by their names, with what they hold.
type Files = BTreeMap<PathBuf, Vec<u8>>;

/// What is there after three batches, and in the end.
static COURSE: LazyLock<[Files; 2]> = LazyLock::new(|| {
    let folder = Folder::new("output-course");
    [Some(3), None].map(|limit| {
        run(&folder, limit).unwrap_or_else(|it| panic!("{it}"));
        files(folder.path())
    })
});

/// Goes on with a run of whose files one is changed. The first byte says which; the rest is what it holds.
pub(crate) fn output(bytes: &[u8]) {
    let (way, file) = split(bytes);
    let name = FILES[usize::from(way) % FILES.len()];
    let [before, whole] = &*COURSE;
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
        match run(folder, None) {
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

/// Runs the pipeline, or goes on with it.
fn run(folder: &Folder, limit: Option<u64>) -> Result<(), Failure> {
    let at = |name: &str| folder.path().join(name);
    let options = RunOptions {
        limit,
        workers: 1,
        memory: 256 << 20,
        state: Some(StateFile { path: at(STATE), every: Duration::ZERO }),
        quarantine: Some(at("lost.jsonl")),
        ..RunOptions::default()
    };
    let of = Provenance::of(&COMPILED, &options);
    let mut sink = driver::Folder::open(&at(OUT), &COMPILED.program, &of, Existing::Keep)?;
    let watch =
        Watch { stop: Stop::default(), progress: None, sample: &mut |_| (), uneven: &mut |_| () };
    let outcome = driver::run(&COMPILED, &options, &mut sink, watch);
    outcome.failure.map_or(Ok(()), Err)
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

/// Each file as the first run has left it.
pub(super) fn outputs() -> Vec<Vec<u8>> {
    let content = |name: &str| COURSE[0].get(Path::new(name)).cloned().unwrap_or_default();
    let lists = COURSE[1].get(Path::new(FILES[1])).cloned().unwrap_or_default();
    let whole = (0..).zip(FILES).map(|(i, name)| [vec![i], content(name)].concat());
    // Counts beyond any sum.
    let forged = String::from_utf8(lists.clone()).expect("it is JSON");
    let forged = forged.replace("\"outputs\":1", "\"outputs\":18446744073709551615").into_bytes();
    whole.chain([lists, forged].map(|it| [vec![1], it].concat())).collect()
}
