//! E6: what a disk bounds, predicted from a run that it did not bound.

use crate::{
    Row,
    trial::{self, Virtual, Way},
};
use driver::{Circumstances, Profile};
use model::{solve::Limit, what_if};
use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
    time::Duration,
};

/// Cores of the machine, and how much slower they are: as `--virtual-cores 16` has it on two.
const CORES: (usize, f64) = (16, 12.0);
/// Speeds of the disk, in MB/s.
const SPEEDS: [u64; 6] = [50, 100, 150, 200, 250, 300];
/// Records of 110 kB in batches of 128, as in the paper; 16 cores decode 1 667 of them in a second,
/// 183 MB/s.
const TEXT: &str = "pipeline p = range(10000000) \
     |> map { i: busy(i, time: 0.0096, bytes: 110000) } |> batch(128)";

/// How often the disk is calibrated and then read.
const PAIRS: usize = 5;

/// The rows of the table.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = throttled();
    rows.push(by_key());
    rows.extend(cold());
    rows
}

fn throttled() -> Vec<Row> {
    let (mut off, mut named, mut figures) = (0.0_f64, true, Vec::new());
    let profile = {
        let _virtual = Virtual::begin(CORES, None);
        trial::profile(&trial::compiled(TEXT), CORES.0, 30.0)
    };
    for speed in SPEEDS {
        let _virtual = Virtual::begin(CORES, Some(speed * 1_000_000));
        let compiled = trial::compiled(TEXT);
        let (told, limit) = predicted(&compiled, &profile, &format!("disk={speed}MB/s"));
        let seen = trial::rate(&compiled.program, &Way::workers(2 * CORES.0), (4, 15.0));
        off = off.max((told / seen - 1.0).abs());
        named &= matches!(limit, Limit::Storage(_)) == (speed < 183);
        figures.push(format!("{speed} MB/s {told:.1} {seen:.1}"));
    }
    vec![
        Row::new(
            "E6 throttled",
            "batches/s predicted from a run without a bound: within 5 %",
            format!("{:.1} % at most ({})", off * 100.0, figures.join(", ")),
            off <= 0.05,
        ),
        Row::new(
            "E6 knee",
            "the disk bounds below 183 MB/s, and the processor above",
            if named { "named each time".to_owned() } else { "not named".to_owned() },
            named,
        ),
    ]
}

fn predicted(compiled: &driver::Compiled, profile: &Profile, changes: &str) -> (f64, Limit) {
    let circumstances = Circumstances {
        changes: what_if::parse(changes).expect("it is a change"),
        profile: Some(profile.clone()),
        ..Circumstances::default()
    };
    let explained = trial::explained(compiled, &circumstances);
    let solution = &trial::outlook(&explained).solution;
    let limit = solution.bounds.first().map_or(Limit::Cpu, |it| it.limit);
    (solution.rate, limit)
}

/// A batch of windows by a key reads as many bytes as one without (the page's trap 3).
fn by_key() -> Row {
    let _virtual = Virtual::begin(CORES, None);
    let bytes = |batch: &str| {
        let text = format!(
            "pipeline p = range(1000000) |> map {{ i: busy(i, time: 0.0001, bytes: 110000) }} |> {batch}"
        );
        let program = trial::compiled(&text).program;
        trial::watch(&program, &Way::workers(8), (20, 10.0)).bytes / 4.0
    };
    let (plain, by_key) = (bytes("batch(4)"), bytes("batch(4, by: i, bounds: [500000])"));
    let claim = "batches of 4, and those of 4 by a key: as many bytes for each record";
    let holds = (by_key / plain - 1.0).abs() < 0.05;
    Row::new("E6 by a key", claim, format!("{plain:.0} and {by_key:.0}"), holds)
}

/// Files of a folder, out of the page cache, on the disk as it was calibrated.
fn cold() -> Option<Row> {
    const FILES: usize = 3000;
    let folder = env::temp_dir().join(format!("pipec-cold-{}", std::process::id()));
    let row = cold_in(&folder, FILES);
    let _ = fs::remove_dir_all(&folder);
    Some(row.unwrap_or_else(|| Row::skipped("E6 cold", "a folder out of the page cache", "room")))
}

fn cold_in(folder: &Path, files: usize) -> Option<Row> {
    fs::create_dir_all(folder).ok()?;
    let paths: Vec<PathBuf> = (0..files).map(|it| folder.join(format!("{it:05}.bin"))).collect();
    for (at, path) in paths.iter().enumerate() {
        let byte = |it: u32| (it.wrapping_mul(2_654_435_761) >> 24) as u8;
        let bytes: Vec<u8> = (0..110_000).map(|it| byte(it + at as u32 * 110_000)).collect();
        fs::write(path, bytes).ok()?;
    }
    let text = format!(
        "pipeline p = files(\"{}/*.bin\") |> shuffle |> map {{ n: len(bytes) }} |> batch(128)",
        folder.display()
    );
    let compiled = trial::compiled(&text);
    forget(&paths)?;
    let warm = trial::profile(&compiled, driver::cores(), 3.0);
    // By turns: a disk that others share is not the same from one minute to the next.
    let pairs = (0..PAIRS).map(|_| {
        let circumstances = Circumstances {
            profile: Some(warm.clone()),
            host: Some(calibrated(folder)?),
            ..Circumstances::default()
        };
        let told = trial::outlook(&trial::explained(&compiled, &circumstances)).solution.rate;
        forget(&paths)?;
        Some((told, rate_of(&compiled)))
    });
    let pairs = pairs.collect::<Option<Vec<(f64, f64)>>>()?;
    let off = trial::median(pairs.iter().map(|(told, seen)| told / seen - 1.0).collect());
    let claim =
        "a folder of 330 MB out of the page cache, predicted from the calibrated disk: within 15 %";
    let each = pairs.iter().map(|(told, seen)| format!("{told:.1} {seen:.1}"));
    let each = each.collect::<Vec<_>>().join(", ");
    let figure = format!("{:+.1} % (batches/s, told and seen by turns: {each})", off * 100.0);
    Some(Row::new("E6 cold", claim, figure, off.abs() <= 0.15))
}

/// Batches a second of one epoch.
fn rate_of(compiled: &driver::Compiled) -> f64 {
    let mut run = trial::start(&compiled.program, &Way::workers(driver::cores()), 0..1);
    let begin = std::time::Instant::now();
    let outputs = run.by_ref().map(|it| it.map_or(0, |it| it.rows)).sum::<usize>();
    outputs as f64 / begin.elapsed().as_secs_f64()
}

fn calibrated(folder: &Path) -> Option<driver::Host> {
    let options = driver::calibrate::Options {
        paths: vec![folder.to_owned()],
        size: driver::calibrate::SIZE,
        time: Duration::from_secs(10),
        quick: true,
    };
    driver::calibrate::calibrate(&options, &AtomicBool::new(false), &mut |_| {}).ok()
}

/// Has the system drop its copies of the files.
fn forget(paths: &[PathBuf]) -> Option<()> {
    for path in paths {
        let file = fs::File::open(path).ok()?;
        file.sync_all().ok()?;
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).ok()?;
    }
    Some(())
}
