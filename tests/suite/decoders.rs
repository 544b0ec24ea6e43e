//! Decoders under fire: every file of the folders of odd and of corrupt data through every
//! function that decodes pictures. Each gives a value or a fault, and takes no more memory than
//! the library says.
//!
//! Each folder has a process of its own, whose peak memory is what is measured: this program
//! again, which does a folder where [`FOLDER`] names one.

use crate::{random::compiled, trial};
use libtest_mimic::{Failed, Trial};
use runtime::Options;
use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::Instant,
};

/// The folder that this process is to do.
const FOLDER: &str = "DECODERS_FOLDER";

/// What each file is put through.
const CALLS: [&str; 7] = [
    "decode_image(bytes) |> resize(32, 32)",
    "decode_image(bytes, channels: 4, orient: true)[0, 0]",
    "decode_jpeg(bytes, channels: 1) |> resize(8, 8)",
    "decode_jpeg_crop(bytes, 1, 1, height: 4, width: 4)",
    "decode_png(bytes, depth: 16)[0]",
    "decode_webp(bytes) |> resize(8, 8)",
    "jpeg_size(bytes)",
];

/// What a decode may take, in MiB: 1024 to work, 256 for the picture; and 128 for all else.
const PEAK_MAX: u64 = 1024 + 256 + 128;

/// The check, if the data are here.
pub(crate) fn trials() -> Vec<Trial> {
    vec![trial("decoders/under-fire", under_fire)]
}

/// Does the folder that this process was started for, if it was.
#[expect(clippy::print_stdout, reason = "it shows a table")]
pub(crate) fn child() -> Option<ExitCode> {
    let folder = PathBuf::from(env::var_os(FOLDER)?);
    Some(match done(&folder) {
        Ok(row) => {
            println!("row: {row}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            println!("wrong: {why}");
            ExitCode::FAILURE
        }
    })
}

#[expect(clippy::print_stdout, reason = "it shows a table")]
fn under_fire() -> Result<(), Failed> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let mut folders = vec![data.join("images/odd")];
    let corrupt = fs::read_dir(data.join("corrupt")).into_iter().flatten().flatten();
    folders.extend(corrupt.map(|it| it.path()).filter(|it| it.is_dir()));
    folders.retain(|it| it.is_dir());
    folders.sort();
    if folders.is_empty() {
        println!("skipped: the data are not here");
        return Ok(());
    }
    println!("folder: files, decoded by `decode_image`, all calls' faults by code, peak, time");
    let wrong: String = folders.iter().filter_map(|it| in_a_process(it).err()).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.into()) }
}

#[expect(clippy::print_stdout, reason = "it shows a table")]
fn in_a_process(folder: &Path) -> Result<(), String> {
    let begin = Instant::now();
    let program = env::current_exe().map_err(|it| it.to_string())?;
    let child = Command::new(program).env(FOLDER, folder).output();
    let output = child.map_err(|it| it.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    println!("{name}: {} {} ms", text.trim(), begin.elapsed().as_millis());
    let told = String::from_utf8_lossy(&output.stderr);
    match output.status.success() && !told.contains("panicked") {
        true => Ok(()),
        false => Err(format!("{name}: {}\n{text}{told}\n", output.status)),
    }
}

/// Puts all files of a folder through all calls.
fn done(folder: &Path) -> Result<String, String> {
    let files = count(folder);
    let mut faults: BTreeMap<&str, u64> = BTreeMap::new();
    let mut decoded = None;
    for call in CALLS {
        let (given, lost) = run(call, folder)?;
        let lost_in_all: u64 = lost.values().sum();
        if given + lost_in_all != files {
            return Err(format!("{call}: {given} and {lost:?} of {files}"));
        }
        decoded.get_or_insert(given);
        lost.into_iter().for_each(|(code, n)| *faults.entry(code).or_default() += n);
    }
    let peak = peak_mib();
    let row = format!("{files} files, {} decoded, {faults:?}, {peak} MiB", decoded.unwrap_or(0));
    if peak > PEAK_MAX { Err(format!("too much memory: {row}")) } else { Ok(row) }
}

/// The records that come out, and those that are lost.
fn run(call: &str, folder: &Path) -> Result<(u64, BTreeMap<&'static str, u64>), String> {
    let program = format!(
        "edition 2026\nparam data: path\npipeline p =\n    files(\"{{data}}/**/*\")\n    \
         |> map {{ x: {call} }} else skip(most: 1.0)\n"
    );
    let compiled = compiled(&program, folder)?;
    let options = Options::default();
    let run = runtime::start(&compiled.program, &stdlib::Kernels, &options);
    let mut run = run.map_err(|it| it.to_string())?;
    let mut given = 0;
    for chunk in run.by_ref() {
        given += chunk.map_err(|it| format!("{call}: {it}"))?.rows as u64;
    }
    Ok((given, run.stats().lost))
}

fn count(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path());
    entries.map(|it| if it.is_dir() { count(&it) } else { 1 }).sum()
}

/// The most memory that this process has had, in MiB; 0 where the system does not say.
fn peak_mib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:"));
    let kib = line.and_then(|it| it.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}
