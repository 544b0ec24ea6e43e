//! Finds out about values before it is decided which of them are cached: how large they are, what codecs make of them, and
//! what they cost, on a sample of the records.
//!
//! Every so many-th record is taken, from several places to begin with (replicated systematic sampling): records lie in the
//! order of their classes and sizes more often than not. Each figure comes with the half-width of its 95% interval.

use super::prefix::Prefix;
use crate::session::{
    compiled::Compiled,
    measured::measured,
    sampled::{FORMAT, Interval, Sampled, SampledValue, name_of},
    stop::Stop,
};
use compiler::caches::{Candidate, Disk, SAVES_MIN, candidates};
use plan::{Codec, CodecFigures, Compressor, DType, Index, Measured, Program, parts::Keep};
use runtime::{Failure, Rank, Step, codec, os, reading};
use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

/// Places to begin with.
const REPLICATES: u32 = 6;
/// Student's t for two-sided 95% and five degrees of freedom.
const T: f64 = 2.571;
/// The same for any number of them.
const T_MANY: f64 = 1.96;
/// Records that are taken at the least, and the part of all that they are at the most.
const RECORDS: (u64, f64) = (256, 0.01);
/// Records that are enough, however many there are.
const RECORDS_MAX: u64 = 1 << 15;
/// Values that are encoded, and bytes of them, at the most.
const ENCODED: (usize, usize) = (64, 32 << 20);
/// Bytes of them for each second that a sample may take.
const ENCODED_PER_SECOND: f64 = 16e6;
/// For each value that could be cached, they take at most the memory over this, and as much again while they are decoded.
const ENCODED_OF_MEMORY: usize = 16;
/// Bytes of them for the slowest codec.
const ENCODED_SLOWLY: usize = 2 << 20;
/// What the processor time of a few thousand records may differ from that of all by, as a part of it, besides chance: caches,
/// clock rates, what else runs. Measured: 2 to 5% (`benches -- strategies S11`).
const CPU_OFF: f64 = 0.05;
/// The part of the time in which it is measured what the whole program costs.
const MEASURE: f64 = 0.3;
/// Between two looks at the time.
const TICK: Duration = Duration::from_millis(20);

/// How much is looked at.
#[derive(Debug, Clone)]
pub struct Sampling {
    /// The longest that it may take, in seconds.
    pub seconds: f64,
    /// Which records are taken.
    pub seed: u32,
    /// Threads that compute.
    pub workers: usize,
    /// Bytes of memory that may be taken.
    pub memory: u64,
    /// What ends it early.
    pub stop: Stop,
}

/// Takes a sample of what `program`, which is that of `compiled` with its sample sets, makes; values that are `known` are not
/// looked at again.
///
/// # Errors
/// Those of a run.
pub fn sample(
    compiled: &Compiled,
    program: &Program,
    sampling: &Sampling,
    known: &[SampledValue],
) -> Result<Sampled, Failure> {
    let bench = Bench { compiled, program, sampling, begun: Instant::now() };
    // What is worth looking at depends on what it costs.
    let measured = bench.measure()?;
    let plan = &compiled.optimised.plan;
    let found = candidates(plan, &stdlib::library(), (Some(&measured), SAVES_MIN));
    let found = found.unwrap_or_default();
    let is_looked_at = |it: &&Candidate| it.refused.is_none() && it.keep == Keep::Value;
    let (mut values, mut new) = (Vec::new(), Vec::new());
    for candidate in found.iter().filter(is_looked_at) {
        let name = name_of(candidate);
        match known.iter().find(|it| it.name == name) {
            Some(it) => values.push(it.clone()),
            None => new.push(candidate),
        }
    }
    new.sort_by_key(|it| it.stage.row());
    let groups: Vec<&[&Candidate]> = new.chunk_by(|a, b| a.stage == b.stage).collect();
    let mut records = values.iter().map(|it| it.count).max().unwrap_or(0);
    let n_groups = groups.len() as f64;
    for (at, group) in groups.into_iter().enumerate() {
        let part = MEASURE + (1.0 - MEASURE) * (at as f64 + 1.0) / n_groups;
        let looked = bench.look(part, group)?;
        records = records.max(looked.first().map_or(0, |it| it.count));
        values.extend(looked);
    }
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let seconds = bench.begun.elapsed().as_secs_f64();
    let read_ns = reading::read_ns().unwrap_or(Disk::READ_NS);
    // What follows may have little memory.
    os::trim();
    Ok(Sampled { format: FORMAT, version, measured, values, read_ns, records, seconds })
}

/// What a sample is taken of.
struct Bench<'a> {
    compiled: &'a Compiled,
    program: &'a Program,
    sampling: &'a Sampling,
    begun: Instant,
}

/// A value of a sample, with its extents.
type Taken = (Vec<usize>, Vec<u8>);

/// What was seen of a value.
#[derive(Default)]
struct Seen {
    bytes: Vec<f64>,
    taken: Vec<Taken>,
    n_bytes: usize,
}

impl Bench<'_> {
    fn options(&self, rank: Rank) -> runtime::Options {
        let Sampling { workers, memory, .. } = self.sampling.clone();
        runtime::Options {
            workers,
            readers: model::under_way::readers(workers),
            memory,
            rank,
            ..runtime::Options::default()
        }
    }

    /// # Errors
    /// It was stopped.
    fn go_on(&self) -> Result<(), Failure> {
        if self.sampling.stop.is_requested() { Err(Failure::Stopped) } else { Ok(()) }
    }

    /// Whether this part of the time is over.
    fn is_over(&self, part: f64) -> bool {
        self.begun.elapsed().as_secs_f64() > self.sampling.seconds * part
    }

    /// The values of one stage, before this part of the time is over.
    fn look(&self, part: f64, values: &[&Candidate]) -> Result<Vec<SampledValue>, Failure> {
        let mut prefix = Prefix::of(self.program, (values[0].stage, values), &stdlib::library());
        prefix.deals_at_its_source();
        let kernels = self.compiled.kernels()?;
        let whole = runtime::start(&prefix.program, &*kernels, &self.options(Rank::default()))?;
        let records = whole.pass_lens()?.into_iter().flatten().max();
        drop(whole);
        let wanted = records.map_or(RECORDS.0, |it| (it as f64 * RECORDS.1) as u64);
        let wanted = wanted.clamp(RECORDS.0, RECORDS_MAX);
        let each = wanted.div_ceil(u64::from(REPLICATES));
        let world = records.map_or(1, |it| (it / each).max(1)).min(u64::from(u32::MAX)) as u32;
        let mut seen: Vec<Seen> = values.iter().map(|_| Seen::default()).collect();
        let mut cpu = Vec::new();
        let in_time = (self.sampling.seconds * ENCODED_PER_SECOND) as usize;
        let encoded = in_time.min(ENCODED.1).min(self.sampling.memory as usize / ENCODED_OF_MEMORY);
        let replicates = REPLICATES.min(world);
        for replicate in 0..replicates {
            if replicate > 0 && self.is_over(part) {
                break;
            }
            // As many from each place: values that lie side by side are alike.
            let so_far = f64::from(replicate + 1) / f64::from(replicates);
            // Places that lie far apart.
            let step = u64::from(world) * u64::from(replicate) / u64::from(replicates);
            let first = (u64::from(self.sampling.seed) + step) % u64::from(world);
            let rank = Rank { rank: first as u32, world, ..Rank::default() };
            let mut run = runtime::start(&prefix.program, &*kernels, &self.options(rank))?;
            let mut taken = 0;
            while taken < each && !(taken > 0 && self.is_over(part)) {
                self.go_on()?;
                match run.step(Some(TICK)) {
                    Step::Chunk(chunk) => {
                        for (column, seen) in chunk.columns.iter().zip(&mut seen) {
                            (0..chunk.rows)
                                .for_each(|row| seen.take(&column.row(row), (encoded, so_far)));
                        }
                        taken += chunk.rows as u64;
                    }
                    Step::Waiting => {}
                    Step::EpochEnd(_) | Step::Over => break,
                    Step::Failed(failure) => return Err(failure),
                }
            }
            let stages = run.stats().stages;
            let spent: f64 = stages.iter().map(|it| it.cpu.as_secs_f64()).sum();
            if taken > 0 {
                cpu.push(spent * 1e9 / taken as f64);
            }
        }
        let cpu = Interval::of(&cpu, T);
        let cpu_ns = Interval { half_width: cpu.half_width + cpu.mean * CPU_OFF, ..cpu };
        let told = |(candidate, seen): (&&Candidate, Seen)| SampledValue {
            name: name_of(candidate),
            value: candidate.value_name(),
            count: seen.bytes.len() as u64,
            bytes: Interval::of(&seen.bytes, T_MANY),
            cpu_ns,
            codecs: figures(dtype_of(self.program, candidate), &seen.taken),
        };
        Ok(values.iter().zip(seen).map(told).collect())
    }

    /// What the whole program costs, in the time for that.
    fn measure(&self) -> Result<Measured, Failure> {
        let kernels = self.compiled.kernels()?;
        let options = self.options(Rank::default());
        let mut run = runtime::start(self.program, &*kernels, &options)?;
        let (mut outputs, mut records) = (0, 0);
        // What comes before the first outputs is not what later ones cost: memory and code are touched for the first time.
        let mut before = None;
        while !(outputs > 0 && (self.is_over(MEASURE) || records >= RECORDS_MAX)) {
            self.go_on()?;
            match run.step(Some(TICK)) {
                Step::Chunk(chunk) => {
                    if before.is_none() {
                        before = Some(run.stats());
                        continue;
                    }
                    outputs += chunk.rows as u64;
                    records += super::records_of(self.program, &chunk) as u64;
                }
                Step::Waiting => {}
                Step::EpochEnd(_) | Step::Over => break,
                Step::Failed(failure) => return Err(failure),
            }
        }
        let stats = run.stats();
        Ok(match before.filter(|_| outputs > 0) {
            Some(before) => measured(&stats.since(&before), outputs),
            None => measured(&stats, 1),
        })
    }
}

/// The dtype of a value.
fn dtype_of(program: &Program, candidate: &Candidate) -> DType {
    let plan::Code::Transform(transform) = &program.stages[candidate.stage].code else {
        return DType::Bytes;
    };
    transform.graph.ty(candidate.node).dtype().unwrap_or(DType::Bytes)
}

impl Seen {
    /// Copies a value that is to be encoded: all of them take at most so many bytes, and this part of those `so_far`.
    fn take(&mut self, value: &runtime::Tensor<'_>, (most, so_far): (usize, f64)) {
        self.bytes.push(value.bytes() as f64);
        let now = if self.taken.is_empty() { 1.0 } else { so_far };
        let is_one_of = (self.taken.len() as f64) < ENCODED.0 as f64 * now;
        // One that is very large is not copied: nobody knows what codecs make of it.
        if is_one_of && (self.n_bytes + value.bytes()) as f64 <= most as f64 * now {
            self.n_bytes += value.bytes();
            self.taken.push((value.shape().to_vec(), value.packed().into_owned()));
        }
    }
}

/// What codecs make of these values.
fn figures(dtype: DType, values: &[Taken]) -> Vec<CodecFigures> {
    let Some(first) = values.first() else { return Vec::new() };
    let codecs = codec::codecs_for(dtype).into_iter().filter(|it| *it != Codec::NONE);
    let figure = |codec: Codec| {
        // What is touched for the first time takes longer, and once.
        measure(codec, dtype, std::slice::from_ref(first));
        let slow = codec.compressor == Compressor::Zstd9;
        let (mut n_bytes, most) = (0, if slow { ENCODED_SLOWLY } else { usize::MAX });
        let fits = |it: &&Taken| {
            n_bytes += it.1.len();
            n_bytes <= most
        };
        let some = values.iter().take_while(fits).count().max(1);
        measure(codec, dtype, &values[..some])
    };
    codecs.filter_map(figure).collect()
}

/// Processor time of this thread, which others on its core do not lengthen.
fn now() -> Duration {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    os::thread_cpu().unwrap_or_else(|| BEGUN.get_or_init(Instant::now).elapsed())
}

/// All are encoded before the first is decoded: whoever reads a cached value does not find it in the cache of a core.
fn measure(codec: Codec, dtype: DType, values: &[Taken]) -> Option<CodecFigures> {
    let mut encoding = Duration::ZERO;
    let encode = |(shape, bytes): &Taken| {
        let begun = now();
        codec::encode(codec, (dtype, shape), bytes, |used, frame| {
            encoding += now().saturating_sub(begun);
            (used, frame.to_vec())
        })
    };
    let frames: Vec<(Codec, Vec<u8>)> = values.iter().map(encode).collect();
    let raw: usize = values.iter().map(|it| it.1.len()).sum();
    let stored: usize = frames.iter().map(|it| it.1.len()).sum();
    // Not zeros: pages of those are taken when they are written to.
    let mut room = vec![1; raw];
    // The shorter of two times: less else has happened then.
    let mut decoding = Duration::MAX;
    for _ in 0..2 {
        let (mut left, begun) = (&mut room[..], now());
        for ((shape, bytes), (used, frame)) in values.iter().zip(&frames) {
            let out = left.split_off_mut(..bytes.len())?;
            if !codec::decode(*used, (dtype, shape), frame, out) {
                return None;
            }
        }
        decoding = decoding.min(now().saturating_sub(begun));
    }
    let each = |time: Duration| time.as_secs_f64() * 1e9 / raw as f64;
    (raw > 0).then(|| CodecFigures {
        codec,
        left: stored as f64 / raw as f64,
        encode_ns: each(encoding),
        decode_ns: each(decoding),
    })
}
