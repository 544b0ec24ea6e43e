//! S15: whatever is kept, and whatever happens to it, the batches are the same.

use super::{
    pictures::{FORMS, Form, KINDS, Pictures, folder, text},
    site::{Folder, Pin, Site, Tier, compiled},
};
use crate::{
    Row, epochs,
    trial::{self, Way},
};
use compiler::caches::Pin as Pinned;
use driver::{
    Arrival, Compiled, DiskOptions, PrepareWatch, RunOptions, Stop, Stream, Summary, lock::Chosen,
};
use plan::mix;
use runtime::CachePoint;
use std::{
    env, fs,
    io::Read,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// The first argument of a process that does nothing but one of these.
pub(crate) const CHILD: &str = "strategies-child";
/// What is pinned where a lock says it.
const PINNED: &str = "p.map#1.decode_jpeg";

/// The rows of the table.
pub(crate) fn rows() -> Vec<Row> {
    let claim = |what: &str| format!("the same batches {what}");
    if folder().is_none() {
        return vec![Row::skipped("S15", &claim("whatever is kept"), "the folder of images")];
    }
    let mut rows =
        vec![every_way(&claim("with every way forced, of all records and of half of them"))];
    let compiled = pinned_pipeline();
    let plain = of_stream(&compiled, &options(None)).0;
    rows.push(killed(&claim("after `prepare` was killed, which goes on"), &compiled, plain));
    rows.push(flipped(
        &claim("where a byte has changed on disk, computed anew and counted"),
        &compiled,
        plain,
    ));
    rows.push(full(&claim("where the disk is full, which keeps what is there"), plain));
    rows
}

/// All that may be kept of pictures, in each tier, of all of them and of half. Of a stage one value is kept, so two kinds are
/// never mixed: the other half is computed.
fn every_way(claim: &str) -> Row {
    let Some(pictures) = Pictures::unmeasured() else {
        return Row::skipped("S15", claim, "the folder of images");
    };
    let plain = outputs(pictures.site(Form::Fused), &[], 1);
    let (mut ways, mut differ) = (0, Vec::new());
    let mut check = |site: &Site, kept: &[CachePoint], name: String| {
        ways += 1;
        if outputs(site, kept, driver::cores()) != plain {
            differ.push(name);
        }
    };
    for form in FORMS {
        check(pictures.site(form), &[], format!("nothing, {form:?}"));
    }
    for kind in &KINDS[1..] {
        let site = pictures.site(kind.form);
        for tier in [Tier::Memory, Tier::Disk] {
            for share in [1.0, 0.5] {
                let pins: Vec<Pin<'_>> =
                    kind.pins(tier).into_iter().map(|it| Pin { share, ..it }).collect();
                check(site, &site.pinned(&pins), format!("{} {tier:?} {share}", kind.name));
            }
        }
    }
    let figure = match &differ[..] {
        [] => format!("{ways} ways, {} batches of two epochs each", plain.len()),
        all => format!("of {ways} ways others: {}", all.join(", ")),
    };
    Row::new("S15", claim, figure, differ.is_empty() && !plain.is_empty())
}

/// A hash of each batch of two epochs.
fn outputs(site: &Site, kept: &[CachePoint], workers: usize) -> Vec<u64> {
    let way = Way { kept: kept.to_vec(), ..Way::workers(workers) };
    let run = trial::start(&site.compiled.program, &way, 0..2);
    run.map(|it| epochs::hash(&it.expect("nothing fails"))).collect()
}

fn pinned_pipeline() -> Compiled {
    let folder = folder().unwrap_or_default();
    compiled(&text(&format!("{}/*.JPEG", folder.display()), " |> batch(4)"), &[])
}

/// A run of two epochs that keeps decoded pictures in a folder, if anywhere.
fn options(folder: Option<&Path>) -> RunOptions {
    let disk = folder.map(|folder| DiskOptions {
        folder: folder.to_owned(),
        limit: 1 << 40,
        verify_inputs: false,
    });
    let keep = vec![Pinned::of(PINNED)];
    let lock = Chosen { workers: driver::cores(), keep, ..Chosen::default() };
    let caches = disk.is_some();
    // Too little memory to keep anything there.
    RunOptions {
        epochs: 2,
        memory: 160 << 20,
        disk,
        caches,
        lock: Some(lock),
        ..RunOptions::default()
    }
}

/// A hash of all batches, and what came of it.
fn of_stream(compiled: &Compiled, options: &RunOptions) -> (u64, Summary) {
    let mut stream =
        Stream::open(compiled, options, (None, 0, 1), &mut |_| {}).expect("it can be run");
    let mut all = 0;
    loop {
        match stream.next(None).expect("nothing fails") {
            Arrival::Batches(chunk) => {
                // A chunk may hold several batches, now more and now fewer.
                for row in 0..chunk.rows {
                    all = mix(all, epochs::hash(&chunk.cut(row..row + 1)));
                }
            }
            Arrival::EpochEnd(_) | Arrival::Waiting => {}
            Arrival::Over => return (all, stream.summary()),
        }
    }
}

/// What `prepare` says of a value: how many are there, and how many of them it has written.
fn prepare(compiled: &Compiled, folder: &Path) -> (u64, u64) {
    let mut found = (0, 0);
    let watch = PrepareWatch {
        stop: Stop::default(),
        progress: &mut |_| {},
        sample: &mut |_| {},
        filled: &mut |it| found = (it.values, it.written),
        note: &mut |_| {},
    };
    driver::prepare(compiled, (&options(Some(folder)), &[]), watch).expect("it can be prepared");
    found
}

/// Runs this executable once more.
fn child(what: &str, folder: &Path) -> Command {
    let mut command = Command::new(env::current_exe().expect("it runs"));
    command.args([CHILD, what]).arg(folder).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// What such a process does.
pub(crate) fn as_child() {
    let wanted: Vec<String> = env::args().skip(2).collect();
    let [what, folder] = &wanted[..] else { return };
    let (compiled, folder) = (pinned_pipeline(), PathBuf::from(folder));
    if what == "prepare" {
        prepare(&compiled, &folder);
        return;
    }
    let (hash, summary) = of_stream(&compiled, &options(Some(&folder)));
    let written: u64 =
        summary.kept.iter().filter_map(|it| it.disk.as_ref()).map(|it| it.entries).sum();
    println!("{hash:016x} {written} {}", summary.notes.join("; "));
}

fn killed(claim: &str, compiled: &Compiled, plain: u64) -> Row {
    let folder = Folder::new("killed");
    let (mut kills, mut before) = (0, 0);
    for round in 0..6_u64 {
        let mut child = child("prepare", &folder.0).spawn().expect("it can be run");
        // It looks at a sample of the records before it writes anything.
        let since = Instant::now();
        while bytes(&folder.0) <= before && since.elapsed() < WRITES_WITHIN {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_millis(15 * round));
        let _ = child.kill();
        let ended = child.wait().expect("it was run");
        kills += usize::from(!ended.success());
        before = bytes(&folder.0);
    }
    let (values, written) = prepare(compiled, &folder.0);
    let (hash, summary) = of_stream(compiled, &options(Some(&folder.0)));
    let disk = summary.kept.iter().filter_map(|it| it.disk.as_ref());
    let (hits, damaged) = disk.fold((0, 0), |sum, it| (sum.0 + it.hits, sum.1 + it.damaged));
    let figure = format!(
        "killed {kills} times, {:.0} MB were there; then {written} of {values} values were written, {hits} found and {damaged} damaged in two epochs",
        before as f64 / 1e6
    );
    let goes_on = kills > 0 && before > 0 && written < values && damaged == 0 && hits >= values;
    Row::new("S15", claim, figure, hash == plain && goes_on)
}

fn bytes(folder: &Path) -> u64 {
    runtime::folder_bytes(folder)
}

/// The files of a folder that end so.
fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for it in fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path()) {
        if it.is_dir() {
            found.extend(files(&it, end));
        } else if it.extension().is_some_and(|it| it == end) {
            found.push(it);
        }
    }
    found
}

fn flipped(claim: &str, compiled: &Compiled, plain: u64) -> Row {
    let folder = Folder::new("flipped");
    let (values, _) = prepare(compiled, &folder.0);
    let mut damaged = Vec::new();
    let mut is_same = true;
    for end in ["seg", "idx"] {
        let segments = files(&folder.0, end);
        let file = segments.first().expect("something is kept");
        let mut bytes = fs::read(file).expect("it can be read");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(file, bytes).expect("it can be written");
        let (hash, summary) = of_stream(compiled, &options(Some(&folder.0)));
        is_same &= hash == plain;
        let disk = summary.kept.iter().filter_map(|it| it.disk.as_ref());
        damaged.push(disk.map(|it| it.damaged).sum::<u64>());
    }
    let figure =
        format!("{damaged:?} of {values} damaged, for a byte of the values and one of their index");
    Row::new("S15", claim, figure, is_same && damaged == [1, 1])
}

/// The longest that a process is waited for to write its first value.
const WRITES_WITHIN: Duration = Duration::from_secs(10);
/// Bytes of a disk that is soon full.
const SMALL: &str = "20m";

fn full(claim: &str, plain: u64) -> Row {
    let folder = Folder::new("full");
    let run = child("run", &folder.0);
    // A file system of its own, of memory: who may not have one skips this.
    let mount =
        format!("mount -t tmpfs -o size={SMALL} tmpfs \"$2\" && exec \"$0\" {CHILD} \"$1\" \"$2\"");
    let mut alone = Command::new("unshare");
    alone.args(["-rm", "sh", "-c", &mount]).arg(run.get_program()).arg("run").arg(&folder.0);
    alone.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut told = String::new();
    let ended = alone.spawn().and_then(|mut it| {
        it.stdout.take().map_or(Ok(0), |mut out| out.read_to_string(&mut told))?;
        it.wait()
    });
    if !ended.is_ok_and(|it| it.success()) {
        return Row::skipped("S15", claim, "a file system of its own (`unshare -rm`)");
    }
    let (hash, rest) = told.trim().split_once(' ').unwrap_or_default();
    let (kept, note) = rest.split_once(' ').unwrap_or((rest, ""));
    let is_told = note.contains("the disk is full");
    let holds =
        hash == format!("{plain:016x}") && is_told && kept.parse::<u64>().is_ok_and(|it| it > 0);
    Row::new("S15", claim, format!("{kept} values are kept in {SMALL}B; told: {note}"), holds)
}
