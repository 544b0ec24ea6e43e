//! A far storage gives what the file system gives: the same bytes, the same faults, however many threads there are and
//! however records are cut into chunks, also where a run is stopped and goes on, is shared, and keeps values.

use crate::{output, random::compiled, trial};
use libtest_mimic::{Failed, Trial};
use loopback::{Fault, Manner, Server};
use runtime::storage::{self, Emulated, Emulation, Objects};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{self, Command, ExitCode},
    sync::atomic::Ordering::Relaxed,
    time::Duration,
};

/// Pipelines over the files of [`Data`].
const PROGRAMS: [(&str, &str); 13] = [
    (
        "files",
        r#"files("{data}/img/*.bin") |> shuffle |> map { bytes, n: len(bytes) } |> batch(7)"#,
    ),
    (
        "filter",
        r#"files("{data}/img/*.bin") |> where len(bytes) > 600 |> map { n: len(bytes), class: class_of(path) }"#,
    ),
    (
        "two",
        r#"files("{data}/img/*.bin") |> map { a: len(bytes), b: len(read_file(sibling(path, ".txt"))) else 0 }"#,
    ),
    (
        "skip",
        r#"paths("{data}/img/*.bin") |> shuffle |> map { text: read_text(sibling(path, ".txt")) } else skip(most: 0.9) |> batch(4)"#,
    ),
    (
        "another",
        r#"paths("{data}/img/*.bin") |> map { n: len(read_file(sibling(path, ".txt"))) else another(most: 1) }"#,
    ),
    (
        "sometimes",
        r#"paths("{data}/img/*.bin") |> map { n: if ends_with(path, "3.bin") then len(read_file(path)) else -1 }"#,
    ),
    (
        "window",
        r#"paths("{data}/img/*.bin") |> shuffle(window: 16) |> map { n: len(read_file(path)) } |> batch(4)"#,
    ),
    (
        "lost",
        r#"paths("{data}/img/*.bin") |> where not ends_with(path, "1.bin") |> shuffle(window: 9) |> map { text: read_text(sibling(path, ".txt")) } else skip(most: 0.9)"#,
    ),
    (
        "few",
        r#"lines("{data}/text/*.txt") |> where len(text) > 30 |> map { n: len(read_file("{data}/table.csv")), m: len(text) }"#,
    ),
    ("lines", r#"lines("{data}/text/*.txt") |> map { n: len(text), text }"#),
    (
        "shuffled",
        r#"lines("{data}/text/*.txt") |> shuffle |> map { n: len(text), text } |> batch(16)"#,
    ),
    (
        "spans",
        r#"lines("{data}/text/*.txt") |> repeat(2) |> shuffle(window: 7, spans: 2) |> map { n: len(text), text } |> batch(16)"#,
    ),
    ("csv", r#"csv("{data}/*.csv") |> shuffle |> map { sum: a + b } |> batch(8)"#),
];

pub(crate) fn trials() -> Vec<Trial> {
    let of = |(name, text): (&'static str, &'static str)| {
        trial(format!("storage/{name}"), move || check(&Data::emulated(name)?, text))
    };
    let mut trials: Vec<Trial> = PROGRAMS.into_iter().map(of).collect();
    trials.push(trial("storage/missing-names", || missing(&Data::emulated("missing-names")?)));
    trials.push(trial("storage/s3", served));
    trials
}

/// What a child is told: the folder whose files are served as a bucket.
const SERVED: &str = "PIPEC_SUITE_SERVED";

/// Where the files are served while many requests fail: what their addresses are stands in the environment, which is
/// that of a child.
fn served() -> Result<(), Failed> {
    let data = Data::new("s3")?;
    let fault = |number| match number % 1500 {
        500 => Some(Fault::Reset),
        800 => Some(Fault::Status(503)),
        1100 => Some(Fault::Short),
        _ => None,
    };
    let above = data.folder.parent().ok_or("no folder")?;
    let server = Server::start(above, Manner { page: 7, fault, ..Manner::default() })?;
    let child = Command::new(env::current_exe()?)
        .env(SERVED, &data.folder)
        .env("AWS_ENDPOINT_URL", server.url())
        .env("AWS_ALLOW_HTTP", "true")
        .env("AWS_SKIP_SIGNATURE", "true")
        .output()?;
    let counts = server.counts();
    let is_used = counts.gets.load(Relaxed) > 1000 && counts.lists.load(Relaxed) > 100;
    match child.status.success() && is_used {
        true => Ok(()),
        false => Err(format!("{counts:?}\n{}", String::from_utf8_lossy(&child.stderr)).into()),
    }
}

/// The whole of a child that reads what is served; none where this is not one.
#[expect(clippy::print_stderr, reason = "the parent shows it")]
pub(crate) fn child() -> Option<ExitCode> {
    let folder = PathBuf::from(env::var_os(SERVED)?);
    driver::register_stores();
    let data = Data { folder, far: PathBuf::from("s3://data"), is_mine: false };
    let mut failures: Vec<String> = Vec::new();
    for (name, text) in PROGRAMS {
        failures.extend(check(&data, text).err().map(|it| format!("{name}: {it:?}")));
    }
    failures.extend(missing(&data).err().map(|it| format!("missing: {it:?}")));
    eprintln!("{}", failures.join("\n"));
    Some(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Files in a folder, and in a store.
struct Data {
    folder: PathBuf,
    far: PathBuf,
    /// Whether they go away with this.
    is_mine: bool,
}

impl Data {
    /// Files in a folder, and in a store that is emulated.
    fn emulated(name: &str) -> Result<Self, Failed> {
        let data = Self::new(name)?;
        let objects = Objects::Folder(data.folder.parent().unwrap_or(&data.folder).to_owned());
        let latency = Duration::from_micros(200);
        let store = Emulation { objects, latency, requests_max: 16, ..Emulation::default() };
        storage::register(&name.replace('-', ""), Box::new(Emulated::new(store)));
        Ok(data)
    }

    fn new(name: &str) -> Result<Self, Failed> {
        let folder = env::temp_dir().join(format!("pipec-suite-storage-{}-{name}", process::id()));
        let scheme = name.replace('-', "");
        let far = PathBuf::from(format!("{scheme}://data"));
        let folder = folder.join("data");
        for of in ["img", "text"] {
            fs::create_dir_all(folder.join(of))?;
        }
        for i in 0..40_usize {
            let bytes: Vec<u8> = (0..i * 37).map(|it| (it * i) as u8).collect();
            fs::write(folder.join(format!("img/{i}.bin")), bytes)?;
            if i % 3 > 0 {
                fs::write(folder.join(format!("img/{i}.txt")), "text ".repeat(i))?;
            }
            let lines: String = (0..i).map(|it| "x".repeat(it * i % 50) + "\n").collect();
            fs::write(folder.join(format!("text/{i}.txt")), lines)?;
        }
        let rows: String = (0..100).map(|it| format!("{it},{}\n", it * it)).collect();
        fs::write(folder.join("table.csv"), "a,b\n".to_owned() + &rows)?;
        Ok(Self { folder, far, is_mine: true })
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        if self.is_mine {
            let _ = self.folder.parent().map(fs::remove_dir_all);
        }
    }
}

fn check(data: &Data, text: &str) -> Result<(), Failed> {
    let text = format!("edition 2026\nparam data: path = \".\"\npipeline p = {text}\n");
    let of = |place: &Path| -> Result<String, String> {
        let compiled = compiled(&text, place)?;
        let told = output::of(&compiled)?;
        output::check_stopped_anywhere(&compiled)?;
        Ok(told.replace(&place.display().to_string(), "DATA"))
    };
    let (near, far) = (of(&data.folder)?, of(&data.far)?);
    if near == far { Ok(()) } else { Err(format!("near:\n{near}\nfar:\n{far}").into()) }
}

/// What is said of files that are not there is the same, but for what is known of folders beside them.
fn missing(data: &Data) -> Result<(), Failed> {
    for pattern in ["img/*.jpg", "img/none.bin", "imgs/**/*.bin"] {
        let text = format!(
            "edition 2026\nparam data: path = \".\"\npipeline p = files(\"{{data}}/{pattern}\")\n"
        );
        let failure = |place: &Path| -> Result<String, String> {
            let compiled = compiled(&text, place)?;
            let run =
                runtime::start(&compiled.program, &stdlib::Kernels, &runtime::Options::default());
            let first = run.and_then(|mut it| it.next().transpose());
            let told = first.err().ok_or("it runs")?.to_string();
            let told = told.split_once("no file matches").map_or("", |it| it.1).to_owned();
            Ok(told.replace(&place.display().to_string(), "DATA"))
        };
        let (near, far) = (failure(&data.folder)?, failure(&data.far)?);
        let is_same =
            near == far || pattern.starts_with("imgs") && far.contains("there are no objects");
        if !is_same || far.is_empty() {
            return Err(format!("{pattern}:\n{near}\n{far}").into());
        }
    }
    Ok(())
}
