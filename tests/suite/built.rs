//! Built files: every program of the suite, the examples and the cookbook that can be run is bundled, opened again and
//! run beside the program itself. Both give the same bytes, or end with the same failure.

use crate::{
    cases::{files, line, reopened, stem, suite},
    language, trial,
};
use driver::{Compiled, Loaded, Resumed, RunOptions, Settings, Sink, Stop, Watch, Written};
use libtest_mimic::{Failed, Trial};
use plan::Diagnostic;
use runtime::{Chunk, Failure};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process,
};

/// Outputs that are compared: of one epoch, from its begin.
const OUTPUTS: u64 = 4;
/// Folders whose cases are programs that run.
const FOLDERS: [&str; 4] = ["run", "peek", "rewrites", "../../examples"];

/// Programs over data that say what they are themselves: JSON by its fields, CSV by its header.
const TABLES: [(&str, &str); 9] = [
    (
        "json-field",
        "jsonl(\"DIR/*.jsonl\") |> map { text: row[\"text\"] as str, n: row[\"n\"] as i64 }",
    ),
    (
        "json-nested",
        "jsonl(\"DIR/*.jsonl\") |> map { x: row[\"boxes\"][0] as f32[4], y: row[\"boxes\"][-1][1] as f32 }",
    ),
    (
        "json-else",
        "jsonl(\"DIR/*.jsonl\") |> map { n: row[\"none\"] as i64 else -1, m: row[\"n\"] as i64 else skip }",
    ),
    (
        "json-parsed",
        "range(9) |> map { n: parse_json('{\"a\": [1, 2]}')[\"a\"][1] as i32 + i32(i) }",
    ),
    (
        "json-shuffled",
        "jsonl(\"DIR/*.jsonl\") |> shuffle |> map { n: row[\"n\"] as i64 } |> batch(2)",
    ),
    ("csv", "csv(\"DIR/*.csv\")"),
    (
        "csv-few-columns",
        "csv(\"DIR/*.csv\", missing: { age: -1, size: 0 }) |> map { size } |> batch(2)",
    ),
    (
        "csv-shuffled",
        "csv(\"DIR/*.csv\", missing: { age: -1 }) |> shuffle |> map { n: len(name), age }",
    ),
    ("lines", "lines(\"DIR/*.jsonl\") |> map { n: len(text), x: parse_json(text)[\"n\"] as i32 }"),
];
const JSON: &str = "{\"text\": \"a\", \"n\": 1, \"boxes\": [[1, 2, 3, 4]]}\n\
                    {\"text\": \"b\\nc\", \"n\": 2, \"boxes\": [[5, 6, 7, 8], [9, 10, 11, 12]]}\n";
const TABLE: &str = "name,age,size\n\"Ada, L.\",36,1.5\n\"two\nlines\",41,2\nx,7,-1e3\n";

/// A check for each program that can be run.
pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for folder in FOLDERS {
        for path in files(&suite().join(folder)) {
            let kind =
                Path::new(folder).file_name().unwrap_or_default().to_string_lossy().into_owned();
            trials.push(trial(format!("built/{kind}/{}", stem(&path)), move || file(&path)));
        }
    }
    for (name, program) in TABLES {
        trials.push(trial(format!("built/tables/{name}"), move || table(name, program)));
    }
    trials.push(trial("built/cookbook", cookbook));
    trials.push(trial("built/python-is-not-carried", python));
    trials
}

fn file(path: &Path) -> Result<(), Failed> {
    let text = fs::read_to_string(path)?;
    let program = text.split("\n####\n").next().unwrap_or_default();
    // What has no data of its own is run on a table that is written for it (`pipec/tests/formats.rs`).
    if program.lines().any(|it| it == "param data: path") {
        return Ok(());
    }
    every_pipeline(path, &format!("{program}\n"))
}

fn cookbook() -> Result<(), Failed> {
    for (heading, recipe) in language::recipes()? {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("built-recipe.pipe");
        every_pipeline(&path, &recipe).map_err(|it| format!("{heading}: {it:?}"))?;
    }
    Ok(())
}

fn table(name: &str, program: &str) -> Result<(), Failed> {
    let folder = Folder(env::temp_dir().join(format!("suite-built-{}-{name}", process::id())));
    fs::create_dir_all(&folder.0)?;
    fs::write(folder.0.join("a.jsonl"), JSON)?;
    fs::write(folder.0.join("b.jsonl"), JSON)?;
    fs::write(folder.0.join("a.csv"), TABLE)?;
    let program = program.replace("DIR", &folder.0.display().to_string());
    let path = folder.0.join("t.pipe");
    let program = format!("edition 2026\npipeline p = {program}\n");
    every_pipeline(&path, &program)?;
    let said = run(&compiled(&Loaded::from_text(&path, program), "p")?);
    if said.failure.is_none() && said.outputs > 0 {
        Ok(())
    } else {
        Err(format!("{said:?}").into())
    }
}

/// A function of Python that is called is named, where it is declared; one that is only declared does no harm.
fn python() -> Result<(), Failed> {
    let text = "edition 2026\nextern fn f(x: i64) -> i64 = \"ours:f\"\nextern fn g(x: i64) -> i64 = \"ours:g\"\n\
                pipeline a = range(3) |> map { x: f(i) else 0 }\npipeline b = range(3)\n";
    let loaded = Loaded::from_text(Path::new("t.pipe"), text.to_owned());
    let told = |name: &str| -> Result<Vec<Diagnostic>, Failed> {
        Ok(driver::built::needs_python(&loaded, &compiled(&loaded, name)?))
    };
    let (a, b) = (told("a")?, told("b")?);
    let shown: String = a.iter().map(|it| line(&loaded.files, it)).collect();
    let expected = "PC0206 build-needs-python at `f` in line 2: `f` is a Python function \
                    (`ours:f`), but a built executable has no Python\n";
    if b.is_empty() && shown.starts_with(expected) && a.len() == 1 {
        Ok(())
    } else {
        Err(shown.into())
    }
}

fn every_pipeline(path: &Path, program: &str) -> Result<(), Failed> {
    let loaded = Loaded::from_text(path, program.to_owned());
    for name in driver::pipelines(&loaded) {
        let compiled = compiled(&loaded, &name)?;
        let (direct, built) = (run(&compiled), run(&reopened(&compiled)?));
        if direct != built {
            return Err(format!("`{name}` gives\n{direct:?}\nand built\n{built:?}").into());
        }
    }
    Ok(())
}

fn compiled(loaded: &Loaded, name: &str) -> Result<Compiled, Failed> {
    let settings =
        Settings { pipeline: Some(name.to_owned()), workers: Some(2), ..Settings::default() };
    let shown =
        |all: Vec<Diagnostic>| all.iter().map(|it| line(&loaded.files, it)).collect::<String>();
    Ok(driver::compile(loaded, &settings).map_err(shown)?)
}

fn run(compiled: &Compiled) -> Given {
    let options = RunOptions {
        limit: Some(OUTPUTS),
        seed: 3,
        workers: 2,
        memory: 1 << 28,
        ..RunOptions::default()
    };
    let mut given = Given::default();
    let watch =
        Watch { stop: Stop::default(), progress: None, sample: &mut |_| {}, uneven: &mut |_| {} };
    let failure = driver::run(compiled, &options, &mut given, watch).failure;
    Given { failure: failure.map(|it| it.to_string()), ..given }
}

/// What a program gives: the extents and the elements of each value.
#[derive(Debug, Default, PartialEq)]
struct Given {
    outputs: u64,
    extents: Vec<usize>,
    bytes: Vec<u8>,
    failure: Option<String>,
}

impl Sink for Given {
    fn take(&mut self, chunk: &Chunk) -> Result<(), Failure> {
        for row in 0..chunk.rows {
            for value in chunk.columns.iter().map(|it| it.row(row)) {
                self.extents.extend(value.shape());
                let from = self.bytes.len();
                self.bytes.resize(from + value.bytes(), 0);
                value.copy_to(&mut self.bytes[from..]);
            }
        }
        self.outputs += chunk.rows as u64;
        Ok(())
    }

    fn written(&self) -> Written {
        Written { outputs: self.outputs, files: 0 }
    }

    fn resume(&mut self, _: Written) -> Result<Resumed, Failure> {
        Ok(Resumed::There)
    }

    fn finish(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// A folder that goes with its test.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
