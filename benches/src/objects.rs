//! E19: objects of a store that answers late. What is under way is chosen by the run itself: by what it sees of the
//! store, and of the time that it has for each record.

use crate::{
    Row,
    trial::{self, Way},
};
use runtime::storage::{self, Emulated, Emulation, Objects};
use std::{
    fs,
    time::{Duration, Instant},
};

/// From a request to its answer, as of a store in the same region, and what it holds.
const LATENCY: Duration = Duration::from_millis(30);
const OBJECTS: u64 = 20_000;
const BYTES: u64 = 100_000;
/// Bytes that a run may take, and threads that compute.
const MEMORY: u64 = 512 << 20;
const WORKERS: usize = 2;
/// Objects that are taken.
const TAKEN: u64 = 10_000;

/// The rows of the table.
pub(crate) fn rows() -> Vec<Row> {
    let text = "pipeline p = files(\"virtual://made/*\") |> shuffle |> map { bytes } |> batch(32)";
    let objects = Objects::Made { count: OBJECTS, bytes: BYTES };
    let of = Emulation { objects, latency: LATENCY, ..Emulation::default() };
    let store = Emulated::new(of);
    storage::register("virtual", Box::new(store.clone()));
    let compiled = trial::compiled(text);

    let way = Way { memory: MEMORY, ..Way::workers(WORKERS) };
    let begun = Instant::now();
    let mut run = trial::start(&compiled.program, &way, 0..1);
    let (mut first, mut taken, mut threads) = (None, 0, 0);
    for chunk in run.by_ref() {
        let rows = chunk.expect("nothing fails").rows as u64;
        first.get_or_insert_with(|| begun.elapsed());
        taken += 32 * rows;
        if taken % 1024 == 0 {
            threads = threads.max(fs::read_dir("/proc/self/task").map_or(0, Iterator::count));
        }
        if taken >= TAKEN {
            break;
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    let (rate, first) = (taken as f64 / seconds, first.unwrap_or_default().as_secs_f64());
    let memory = run.stats().memory_peak as f64 / 1e6;
    let claim = format!("{} ms a request: at least 2,000 objects/s", LATENCY.as_millis());
    let under_way = store.under_way_most();
    vec![
        Row::new(
            "E19 objects",
            &claim,
            format!("{rate:.0} objects/s, up to {under_way} requests under way"),
            rate >= 2000.0,
        ),
        Row::new(
            "E19 first",
            "the first batch of 32 within 0.3 s",
            format!("{first:.3} s"),
            first <= 0.3,
        ),
        Row::new("E19 threads", "at most 8 threads", threads.to_string(), threads <= 8),
        Row::new(
            "E19 memory",
            "what is under way is within the memory of the run",
            format!("{memory:.0} of {:.0} MB", MEMORY as f64 / 1e6),
            memory <= MEMORY as f64 / 1e6,
        ),
    ]
}
