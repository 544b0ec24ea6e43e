//! What is arithmetic alone: E1, E2, E4, E5, E7, E8, E9, E13, E14. The same in each run.

mod bounds;
mod places;

use crate::Row;
use model::{
    Figure, Machine, Network, Step, Wishes, autotune,
    network::{Amount, Count},
    policy::{Policy, Task, tune},
    predict::{Setting, local, predict},
    rank::{Counted, Ranking, Watch},
    ratio,
    size::{error_after, from_part},
    solve,
    solve::prefetch,
};

/// The rows of the table.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = golden();
    rows.extend(bounds::rows());
    rows.extend(tuners());
    rows.extend([sizes(), decoded()]);
    rows.extend(places::rows());
    rows.extend([ahead(), threads_of_its_own(), hedged(), bounds::money()]);
    rows
}

/// A chain of steps by their rates per core.
pub(crate) fn by_rates(rates: &[f64]) -> Network {
    let step = |(at, rate): (usize, &f64)| {
        let step = match at {
            0 => Step::source("s0", Amount::Finite(1000.0)),
            _ => Step::after(&format!("s{at}"), at - 1),
        };
        Step { bytes_out: Figure::exact(1.0), ..step.costs(Figure::exact(1e9 / rate)) }
    };
    Network::new(rates.iter().enumerate().map(step).collect()).expect("a chain is a network")
}

/// `range(100000) → map(fill) → padded_batch(4) → repeat(2)`: the counters of the paper's notebook in,
/// its printed rates and sizes out.
fn golden() -> Vec<Row> {
    let watch = Watch { elapsed_s: 10.000346, cores: 16.0 };
    let counted = |(completed, visits, ns, user): (u64, f64, f64, Option<usize>)| Counted {
        completed,
        visits,
        cpu_s: ns * 1e-9,
        workers: 1,
        parallel: user != Some(3),
        outer: 1,
        user,
        ..Counted::default()
    };
    let steps = [
        (163_468, 4.0, 106_066_504.0, Some(1)),
        (163_468, 4.0, 3_278_206_560.0, Some(2)),
        (40_866, 1.0, 4_194_911_717.0, Some(3)),
        (40_866, 1.0, 42_801_011.0, None),
    ]
    .map(counted);
    let printed = [385_296.002_6, 12_466.267_5, 9_741.802_15, 954_790.530_5];
    let rates: Vec<f64> = steps.iter().map(|it| watch.rates(it, 0.0).core_rate).collect();
    let off = rates.iter().zip(printed).map(|(found, printed)| (found - printed).abs());
    let off = off.fold(0.0, f64::max);
    let slowest = watch.ranked(&steps, Ranking::ParallelRate)[0].0;
    let machine = Machine::new(16.0, 1e12);
    let solved = |parallel| solve(&notebook(&rates, parallel), &machine, &Wishes::default()).rate;
    let sizes = notebook(&rates, false).materialised_bytes();
    let printed = [34_326_041_931.0, 34_326_839_485.0, 68_653_678_970.0];
    let sizes = sizes[1..].iter().zip(printed);
    let sizes = sizes.map(|(it, printed)| (it.finite().unwrap_or(0.0) / printed - 1.0).abs());
    let sizes = sizes.fold(0.0, f64::max);
    vec![
        Row::new(
            "E1 rates and sizes",
            "as printed: rates to their last digit, sizes to 1e-9",
            format!("off by {off:.0e}/s and {sizes:.0e}"),
            off <= 0.51e-4 && sizes < 1e-9,
        ),
        Row::new(
            "E1 bottleneck",
            "the batch; 9 741.80/s, and 85 786/s were it parallel",
            format!("step {slowest}, {:.2}/s and {:.0}/s", solved(false), solved(true)),
            slowest == 2
                && (solved(false) - 9_741.80).abs() < 0.01
                && (solved(true) - 85_786.0).abs() < 1.0,
        ),
    ]
}

fn notebook(rates: &[f64], parallel: bool) -> Network {
    let ns = |at: usize, visits: f64| Figure::exact(1e9 / rates[at] / visits);
    let (record, batch) = (34_326_041_931.0 / 1e5, 34_326_839_485.0 / 25e3);
    let steps = vec![
        Step::source("range", Amount::Finite(1e5)).costs(ns(0, 4.0)),
        Step { ns: ns(1, 4.0), bytes_out: Figure::exact(record), ..Step::after("map", 0) },
        Step {
            taken: ratio::batch(4),
            ns: ns(2, 4.0),
            bytes_out: Figure::exact(batch),
            segment: (!parallel).then_some(0),
            ..Step::after("padded_batch", 1)
        },
        Step {
            count: Count::Repeat(Some(2)),
            bytes_out: Figure::exact(batch),
            ..Step::after("repeat", 2).costs(ns(3, 1.0))
        },
    ];
    Network::new(steps).expect("a chain is a network")
}

/// ResNet on the paper's setup A: rates per core of read, decode, transpose and the rest; 16 cores.
pub(crate) const RESNET_A: [f64; 4] = [200.0, 2.5, 20.0, 2000.0];

fn tuners() -> Vec<Row> {
    let (network, machine) = (by_rates(&RESNET_A), Machine::new(16.0, 1e9));
    let best = solve(&network, &machine, &Wishes::default()).rate;
    let tuned = |policy, seed| {
        let task = Task { network: &network, machine: &machine, tries_max: 400, seed };
        tune(policy, &task, &mut |setting| predict(&network, &machine, setting).0)
    };
    let steps = |policy, seed| {
        let tried = tuned(policy, seed).tried;
        tried.iter().position(|it| it.rate >= 0.95 * best).unwrap_or(tried.len())
    };
    let ours = steps(Policy::Step, 0);
    let random = (0..300).map(|seed| steps(Policy::Random, seed)).sum::<usize>() as f64 / 300.0;
    let stepwise = tuned(Policy::Step, 0);
    let told = stepwise.tried.iter().map(|it| local(&network, &machine, &it.setting));
    let told: Vec<f64> = told.take(40).collect();
    let seen = |rate: f64| told.iter().any(|it| (it - rate).abs() < 0.05);
    let lifted = Setting { workers: vec![1000; 4], prefetch: 1000 };
    let believed = 1e9 / autotune::output_ns(&network, &lifted);
    vec![
        Row::new(
            "E4 steps, predicted",
            "a random walk needs at least 2 times as many steps to 95 % (the page: 51 and 14)",
            format!("{random:.0} and {ours}; the model needs {}", steps(Policy::Model, 0) + 1),
            random >= 2.0 * ours as f64,
        ),
        Row::new(
            "E5 predictions",
            "`local` jumps from 20 to 22.5 to 36.9 over the bound of 35.1; autotune believes in over 3 times the bound",
            format!("{}, {best:.1}, {:.0} times", seen(36.9), believed / best),
            seen(20.0)
                && seen(22.5)
                && seen(36.9)
                && (best - 35.1).abs() < 0.05
                && believed > 3.0 * best,
        ),
    ]
}

/// Lots that are the same in each run (SplitMix64).
struct Lots(u64);

impl Lots {
    /// 0 up to 1.
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Normal (Box and Muller).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// A lognormal spread of records such as that of ImageNet's files.
const SIGMA: f64 = 0.7;

/// Files, records in each, files seen, and the mean error that is allowed.
const SHARDS: [(usize, usize, usize, f64); 3] =
    [(1024, 1200, 10, 0.01), (256, 462, 3, 0.02), (100, 10_000, 5, 0.02)];

fn sizes() -> Row {
    let mut figures = Vec::new();
    let mut holds = true;
    for (files, in_each, see, allowed) in SHARDS {
        let mut lots = Lots(files as u64);
        let (mean, deviation) = errors((files, in_each, see), &mut lots);
        // CV of a lognormal is √(exp σ² − 1).
        let law = error_after((SIGMA.powi(2).exp() - 1.0).sqrt(), (see * in_each) as u64);
        figures.push(format!("{:.1} % (law {:.1} %)", mean * 100.0, law * 100.0));
        holds &= mean <= allowed && (0.75..1.25).contains(&(deviation / law));
    }
    let claim = "size of 1024, 256, 100 files from 10, 3, 5: mean error 1 %, 2 %, 2 % at most";
    Row::new("E7 sizes", claim, figures.join(", "), holds)
}

/// Mean of the error and its deviation, over 400 draws.
fn errors((files, in_each, see): (usize, usize, usize), lots: &mut Lots) -> (f64, f64) {
    let record = |lots: &mut Lots| 110e3 * (SIGMA * lots.normal() - SIGMA.powi(2) / 2.0).exp();
    let shards: Vec<f64> = (0..files).map(|_| (0..in_each).map(|_| record(lots)).sum()).collect();
    let whole: f64 = shards.iter().sum();
    let errors = (0..400).map(|_| {
        let mut left = shards.clone();
        let mut draw = || left.swap_remove((lots.unit() * left.len() as f64) as usize);
        let seen: Vec<f64> = (0..see).map(|_| draw()).collect();
        from_part(&seen, files as u64).map_or(1.0, |it| it.total / whole - 1.0)
    });
    let errors: Vec<f64> = errors.collect();
    let mean = errors.iter().map(|it| it.abs()).sum::<f64>() / 400.0;
    (mean, (errors.iter().map(|it| it * it).sum::<f64>() / 400.0).sqrt())
}

fn decoded() -> Row {
    let bytes = |step: Step, n| Step { bytes_out: Figure::exact(n), ..step };
    let network = Network::new(vec![
        bytes(Step::source("read", Amount::Finite(1e3)), 110e3),
        bytes(Step::after("decode", 0), 660e3),
        bytes(Step { taken: ratio::filter(0.8), ..Step::after("filter", 1) }, 660e3),
        bytes(Step { taken: 10.0, ..Step::after("batch", 2) }, 6.6e6),
    ]);
    let sizes = network.expect("a chain is a network").materialised_bytes();
    let sizes: Vec<f64> = sizes.iter().map(|it| it.finite().unwrap_or(0.0) / 1e6).collect();
    let claim = "1000 records of 110 kB, decoded six times as large, a fifth filtered out, in tens";
    let holds = sizes.iter().zip([110.0, 660.0, 528.0, 528.0]).all(|it| (it.0 - it.1).abs() < 1e-9);
    Row::new("E7 decoded, filtered", claim, format!("{sizes:.0?} MB"), holds)
}

fn ahead() -> Row {
    let found = solve(&by_rates(&RESNET_A), &Machine::new(16.0, 1e9), &Wishes::default());
    let each = [1.0, 15.5, 16.0, 20.0].map(|under_way| prefetch(found.saturation, under_way));
    let claim = "ceil(N* − N) outputs ahead for N of 1, 15.5, 16, 20 and N* of 16";
    Row::new("E9 ahead", claim, format!("{each:?}"), each == [15, 1, 0, 0])
}

fn threads_of_its_own() -> Row {
    let machine = Machine::new(2.0, 1e9);
    let rate = |internal| {
        let network = by_rates(&[100.0, 1.0]).with(1, |step| step.internal = internal);
        solve(&network, &machine, &Wishes::default())
    };
    let (plain, own) = (rate(1.0), rate(3.0));
    Row::new(
        "E13 a own threads",
        "a call with 3 threads of its own is not believed to be faster than its 2 cores, and gets one worker",
        format!(
            "{:.2}/s and {:.2}/s, {} and {} workers",
            plain.rate, own.rate, plain.workers[1], own.workers[1]
        ),
        (own.rate / plain.rate - 1.0).abs() < 1e-9 && own.workers[1] < plain.workers[1],
    )
}

fn hedged() -> Row {
    let network = by_rates(&[1.0 / 40.0, 1.0]);
    let machine = Machine::new(24.0, 1e9);
    let workers = |hedge| solve(&network, &machine, &Wishes { hedge, ..Wishes::default() }).workers;
    let (plain, hedged) = (workers(false), workers(true));
    let claim = "the cheap one of two maps, 40:1, gets a second worker";
    let figure = format!("{plain:?} and {hedged:?}; `fleet` measures what it is good for");
    Row::new("E13 b hedging", claim, figure, plain[1] == 1 && hedged[1] == 2)
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_arithmetic_holds() {
        for row in super::rows() {
            assert_ne!(row.holds, Some(false), "{} {}: {}", row.id, row.claim, row.figure);
        }
    }
}
