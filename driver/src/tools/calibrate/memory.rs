//! How fast memory is read, written and copied.

use super::{Time, memory_most};
use crate::session::host::{Bandwidths, Figure};
use runtime::Failure;
use std::{
    fs,
    hint::black_box,
    sync::{Barrier, Mutex},
    thread,
    time::Instant,
};

/// Bytes that are moved in a run, at the least and at the most; between them, twice what the
/// last cache of the processor holds.
const BYTES: (u64, u64) = (128 << 20, 1 << 30);
/// How often each figure is measured, if there is time.
const RUNS: usize = 9;
/// Runs for which the time may be overdrawn by half: fewer are not to be trusted.
const RUNS_WANTED: usize = 5;
/// Words that are added up at a time, so that none waits for the one before.
const LANES: usize = 16;

/// What is done with memory.
#[derive(Clone, Copy)]
enum Way {
    Read,
    Write,
    Copy,
}

const WAYS: [Way; 3] = [Way::Read, Way::Write, Way::Copy];

/// How fast one thread is, and how fast `threads` are.
pub(super) fn bandwidths(
    threads: usize,
    time: &Time<'_>,
    told: &mut dyn FnMut(&str),
) -> Result<(Option<Bandwidths>, Option<Bandwidths>), Failure> {
    told("memory, one thread");
    let one = bandwidth(1, &time.share(0.5))?;
    told("memory, all threads");
    Ok((one, bandwidth(threads, time)?))
}

fn bandwidth(threads: usize, time: &Time<'_>) -> Result<Option<Bandwidths>, Failure> {
    let cache = last_cache().unwrap_or(0);
    let bytes = (2 * cache).clamp(BYTES.0, BYTES.1).min(memory_most().max(1 << 20));
    let runs = Mutex::new([const { Vec::new() }; 3]);
    let gate = Gate {
        barrier: Barrier::new(threads),
        times: Mutex::new(Vec::new()),
        end: Instant::now() + time.left().mul_f64(1.5),
    };
    let words = bytes as usize / threads / size_of::<u64>() / LANES * LANES;
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| worker(words, &gate, time, &runs));
        }
    });
    time.go_on()?;

    let doubt = (cache > 0 && bytes < 2 * cache)
        .then(|| "there is too little memory for a buffer larger than the CPU caches".to_owned());
    let runs = runs.into_inner().unwrap_or_else(|it| it.into_inner());
    let [read, write, copy] = runs.map(|it| Figure::of(&it, doubt.is_none()));
    let threads = threads as u32;
    Ok(read.zip(write).zip(copy).map(|((read, write), copy)| Bandwidths {
        threads,
        read,
        write,
        copy,
        doubt,
    }))
}

/// Where threads wait for each other, and say when they began and ended.
struct Gate {
    barrier: Barrier,
    times: Mutex<Vec<(Instant, Instant)>>,
    /// When it is over, however few runs there were.
    end: Instant,
}

/// What each thread does; all of them do the same number of runs.
fn worker(words: usize, gate: &Gate, time: &Time<'_>, runs: &Mutex<[Vec<f64>; 3]>) {
    // Written, so that the system has given all of it.
    let mut buffer: Vec<u64> = (0..words as u64).collect();
    for run in 0..RUNS {
        for (i, way) in WAYS.into_iter().enumerate() {
            gate.barrier.wait();
            let begun = Instant::now();
            let bytes = pass(way, &mut buffer, run as u64);
            locked(&gate.times).push((begun, Instant::now()));
            if gate.barrier.wait().is_leader() {
                let seconds = span(&mut locked(&gate.times));
                let threads_bytes = bytes as f64 * locked(&gate.times).drain(..).count() as f64;
                locked(runs)[i].push(threads_bytes / seconds);
            }
        }
        // The leader alone looks at the clock, and the others see by the count what it saw.
        let over = if run + 1 < RUNS_WANTED { Instant::now() >= gate.end } else { time.is_over() };
        if gate.barrier.wait().is_leader() && (over || time.is_stopped()) {
            locked(&gate.times).push((time.until, time.until));
        }
        gate.barrier.wait();
        if !locked(&gate.times).is_empty() {
            return;
        }
    }
}

/// Seconds from the first beginning to the last end.
fn span(times: &mut [(Instant, Instant)]) -> f64 {
    let first = times.iter().map(|it| it.0).min();
    let last = times.iter().map(|it| it.1).max();
    first.zip(last).map_or(f64::NAN, |(first, last)| (last - first).as_secs_f64())
}

/// Goes through the buffer once; gives the bytes that were moved.
fn pass(way: Way, buffer: &mut [u64], value: u64) -> usize {
    let half = buffer.len() / 2;
    let moved = match way {
        Way::Read => {
            let mut sums = [0_u64; LANES];
            for chunk in buffer.chunks_exact(LANES) {
                for (sum, it) in sums.iter_mut().zip(chunk) {
                    *sum = sum.wrapping_add(*it);
                }
            }
            black_box(sums);
            buffer.len()
        }
        Way::Write => {
            black_box(&mut *buffer).fill(value);
            buffer.len()
        }
        Way::Copy => {
            let (from, to) = black_box(&mut *buffer).split_at_mut(half);
            to[..half].copy_from_slice(from);
            half
        }
    };
    black_box(&*buffer);
    moved * size_of::<u64>()
}

/// Bytes of the last cache of the processor, where the system says.
fn last_cache() -> Option<u64> {
    let folder = fs::read_dir("/sys/devices/system/cpu/cpu0/cache").ok()?;
    let sizes = folder.flatten().filter_map(|it| {
        let text = fs::read_to_string(it.path().join("size")).ok()?;
        text.trim().strip_suffix('K')?.parse::<u64>().ok()
    });
    sizes.max().map(|it| it * 1024)
}

fn locked<T>(it: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    it.lock().unwrap_or_else(|it| it.into_inner())
}
