//! S11: what is told and chosen from one record in a hundred, beside all of them.

use super::site::{Site, Target, compiled};
use crate::{Row, trial};
use driver::{Circumstances, Interval, SampledValue, Sampling, Stop};

/// Records: one in a hundred of them is seen in about three seconds.
const RECORDS: u64 = 3_000_000;
/// Seconds of the sample at the most.
const SECONDS: f64 = 20.0;
/// Nanoseconds for an element of eight bytes, much longer than it takes to write them; and elements of a record in the
/// middle.
const ELEMENT_NS: f64 = 200.0;
const ELEMENTS: f64 = 1_000.0;
/// What the logarithms of the sizes deviate by; each is drawn anew for so many seeds.
const SIGMAS: [f64; 2] = [0.3, 1.5];
const SEEDS: u64 = 5;
/// Speeds of the disk for which it is chosen.
const DISKS: [f64; 3] = [15e6, 50e6, 200e6];
/// By how much a share may be another one.
const SHARE: f64 = 0.05;

/// The rows of the table.
pub(crate) fn rows() -> Vec<Row> {
    let claim = "one record in a hundred beside all, sizes log-normal with σ 0.3 and 1.5";
    let (mut most, mut seen, mut figures) = (0.0_f64, 0.0_f64, Vec::new());
    let (mut shares, mut inside) = ((0.0_f64, String::new()), Vec::new());
    for sigma in SIGMAS {
        // What a record costs besides.
        let besides = driver::cores() as f64 * 1e9 / Sizes { seed: 0, sigma }.looked(0.0).rate;
        for seed in 0..SEEDS {
            let sizes = Sizes { seed, sigma };
            let sample = sizes.sample();
            let mean = sizes.mean();
            let off = sample.rate / (driver::cores() as f64 / (mean * ELEMENT_NS * 1e-9)) - 1.0;
            most = if off.abs() > most.abs() { off } else { most };
            seen = seen.max(sample.part);
            figures.push(format!("{:+.1}", off * 100.0));
            let is_in = |it: Interval, right: f64| (it.mean - right).abs() <= it.half_width;
            let cpu_ns = mean * ELEMENT_NS + besides;
            inside.extend([is_in(sample.bytes, mean * 8.0), is_in(sample.cpu_ns, cpu_ns)]);
            for (share, disk) in sample.shares.iter().zip(DISKS) {
                let right = right_share(mean, disk);
                if (share - right).abs() > shares.0 {
                    let at =
                        format!("σ {sigma}, {:.0} MB/s: {share:.2}, all {right:.2}", disk / 1e6);
                    shares = ((share - right).abs(), at);
                }
            }
        }
    }
    let row =
        |what: &str, figure, holds| Row::new("S11", &format!("{claim}: {what}"), figure, holds);
    let n_inside = inside.iter().filter(|it| **it).count();
    vec![
        row(
            "the rate within 10 %",
            format!(
                "{:+.1} % at the most ({} %), from {:.1} % of the records at the most",
                most * 100.0,
                figures.join(", "),
                seen * 100.0
            ),
            most.abs() <= 0.10 && seen <= 0.01,
        ),
        row(
            "the same share is kept on disks of 15, 50 and 200 MB/s, to 0.05",
            format!("{:.2} off at the most ({})", shares.0, shares.1),
            shares.0 <= SHARE,
        ),
        row(
            "bytes and CPU of a record lie in the interval that is told, 9 times in 10",
            format!("{n_inside} of {}", inside.len()),
            n_inside * 10 >= inside.len() * 9,
        ),
    ]
}

/// The share on a disk that makes it as busy as the cores, of records of so many elements in the mean.
fn right_share(elements: f64, disk: f64) -> f64 {
    let cores = driver::cores() as f64;
    let (compute, read) = (elements * ELEMENT_NS * 1e-9, elements * 8.0 / disk);
    let found = 0.3e-6 + 0.17e-9 * elements * 8.0;
    (compute / (read * cores + compute - found)).min(1.0)
}

/// Records whose sizes are drawn.
struct Sizes {
    seed: u64,
    sigma: f64,
}

/// What is told of a part of the records.
struct Sample {
    /// Records per second.
    rate: f64,
    /// The part.
    part: f64,
    /// Bytes of a value, and processor time to make it.
    bytes: Interval,
    cpu_ns: Interval,
    /// What is kept on each disk.
    shares: Vec<f64>,
}

impl Sizes {
    /// A value that takes time and bytes as the size of its record says. A size is made of the number of the record: two
    /// numbers of a generator (Park and Miller), and a normal one of them (Box and Muller).
    fn text(&self, element_ns: f64) -> String {
        let Self { seed, sigma } = self;
        let first = seed * 7919 + 1;
        format!(
            "pipeline p = range({RECORDS}) |> shuffle \
             |> map {{ a: (i * 16807 + {first}) % 2147483647 }} \
             |> map {{ u: f64(a * 48271 % 2147483647 + 1), w: f64(a * 69621 % 2147483647) }} \
             |> map {{ n: i64(exp({sigma:?} * sqrt(-2.0 * log(u / 2147483648.0)) \
             * cos(w / 2147483648.0 * 6.283185307179586)) * {ELEMENTS:?}) + 1 }} \
             |> map {{ v: busy(arange(n), time: f64(n) * {element_ns:?} / 1000000000.0) }} |> map {{ x: v[0] }}"
        )
    }

    /// Elements of a record in the mean of all.
    fn mean(&self) -> f64 {
        let modulus = 2_147_483_647;
        let of = |i: u64| {
            let a = (i * 16_807 + self.seed * 7919 + 1) % modulus;
            let [u, w] = [48_271, 69_621].map(|it| (a * it % modulus) as f64);
            let normal = (-2.0 * ((u + 1.0) / 2_147_483_648.0).ln()).sqrt();
            let normal = normal * (w / 2_147_483_648.0 * std::f64::consts::TAU).cos();
            ((self.sigma * normal).exp() * ELEMENTS).floor() + 1.0
        };
        (0..RECORDS).map(of).sum::<f64>() / RECORDS as f64
    }

    fn sample(&self) -> Sample {
        self.looked(ELEMENT_NS)
    }

    /// What is told where an element takes so long.
    fn looked(&self, element_ns: f64) -> Sample {
        let compiled = compiled(&self.text(element_ns), &[]);
        let (workers, stop) = (driver::cores(), Stop::default());
        let (memory, seed) = (trial::MEMORY, self.seed as u32);
        let sampling = Sampling { seconds: SECONDS, seed, workers, memory, stop };
        let sampled = driver::sample(&compiled, &compiled.program, &sampling, &[]);
        let mut sampled = sampled.expect("it can be run");
        let part = sampled.records as f64 / RECORDS as f64;
        let is_value = |it: &&SampledValue| it.value.ends_with(".busy");
        // One that costs nothing is not looked at.
        let value = sampled.values.iter().find(is_value);
        let (bytes, cpu_ns) = value.map_or_else(Default::default, |it| (it.bytes, it.cpu_ns));
        // What a share is without codecs is known.
        sampled.values.iter_mut().for_each(|it| it.codecs.clear());
        let of = Circumstances { sampled: Some(sampled.clone()), ..Circumstances::default() };
        let mut site = Site::of(compiled.under(&of), RECORDS);
        site.sampled = Some(sampled);
        // Its one element says as much as the value.
        site.forbid(|it| it.function != "busy");
        let plain = site.told(&Target { disk: None, ..Target::one_disk(1e12, 1.0) }, &[]);
        let share = |disk| {
            let all = site.chosen(&Target::one_disk(disk, 90.0));
            all.iter().filter(|it| it.kept).map(|it| it.disk_share).fold(0.0, f64::max)
        };
        Sample { rate: plain.rate, part, bytes, cpu_ns, shares: DISKS.map(share).into() }
    }
}
