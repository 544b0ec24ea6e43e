//! E4 and E5: tuners that go step by step, on virtual cores, by the real executor.

use crate::{
    Row,
    arithmetic::{RESNET_A, by_rates},
    trial::{self, Virtual, Way},
};
use driver::Circumstances;
use model::{
    Machine, Network, Wishes,
    policy::{Policy, Task, tune},
    predict::{Setting, local},
    solve,
};

/// Steps that a tuner may take; of the random one, which needs more, it is a lower bound.
const TRIES: usize = 80;
/// Walks of the random tuner.
const WALKS: u64 = 3;
/// Outputs before each measurement, and its seconds. Outputs come in order, and so in bursts: shorter
/// ones are off by more than is asked here.
const SPAN: (u64, f64) = (64, 0.7);
/// The same for what all are compared with.
const SPAN_OF_BEST: (u64, f64) = (64, 3.0);
/// How much faster everything is than in the paper: minibatches of so many seconds take too long.
const FASTER: f64 = 10.0;

/// The rows of the table.
pub(crate) fn rows() -> Vec<Row> {
    // The second is the paper's setup B as in its reference simulation: twice the threads.
    [("16 cores", 16), ("32 cores", 32)].into_iter().flat_map(on).collect()
}

fn on((name, cores): (&str, usize)) -> Vec<Row> {
    let bench = Bench::new(cores);
    let bound = bench.bound();
    let heuristic = bench.rate(&vec![cores as u32; RESNET_A.len()], SPAN_OF_BEST);
    let (ours, seen) = bench.walk(Policy::Step, 0, heuristic);
    let random: Vec<usize> =
        (0..WALKS).map(|seed| bench.walk(Policy::Random, seed, heuristic).0).collect();
    let mean = random.iter().sum::<usize>() as f64 / WALKS as f64;
    let peak = seen.iter().map(|it| it.1).fold(0.0, f64::max);
    let over = seen.iter().filter(|it| it.1 > bound * 1.01).count();
    let told =
        seen.iter().map(|it| local(&bench.network, &bench.machine, &it.0)).fold(0.0, f64::max);
    vec![
        Row::new(
            &format!("E4 {name}"),
            "a random walk needs at least 2 times as many steps to 95 %",
            format!("{ours} and {random:?} (of {TRIES} at the most)"),
            mean >= 2.0 * ours as f64,
        ),
        Row::new(
            &format!("E4 {name}"),
            "its peak is that of `heuristic`, within 5 %",
            format!("{peak:.0}/s and {heuristic:.0}/s"),
            peak >= 0.95 * heuristic,
        ),
        Row::new(
            &format!("E5 {name}"),
            "the bound is never passed, and 1.15 times the peak at most; `local` has a bump over it",
            format!(
                "{bound:.0}/s ({:.0}/s by what `busy` is told), passed {over} times of {}; {:.2} times the peak; {:.2} times the bound",
                solve(&bench.network, &bench.machine, &Wishes::default()).rate,
                seen.len(),
                bound / peak,
                told / bound
            ),
            over == 0 && bound <= 1.15 * peak && (cores > 16 || told > bound * 1.02),
        ),
    ]
}

/// A pipeline and a machine.
struct Bench {
    _virtual: Virtual,
    network: Network,
    machine: Machine,
    program: plan::Program,
    text: String,
}

impl Bench {
    fn new(cores: usize) -> Self {
        let works =
            RESNET_A.map(|it| format!("  |> map {{ i: busy(i, time: {}) }}\n", 1.0 / it / FASTER));
        let text = format!("pipeline p = range(1000000)\n{}", works.concat());
        let virtually = Virtual::begin((cores, 1.0), None);
        let program = trial::apart(&trial::compiled(&text));
        let network = by_rates(&RESNET_A.map(|it| it * FASTER));
        let machine = Machine::new(cores as f64, 1e9);
        Self { _virtual: virtually, network, machine, program, text }
    }

    /// The bound that the model finds from what it has measured.
    fn bound(&self) -> f64 {
        let compiled = trial::compiled(&self.text);
        let profile = trial::profile(&compiled, self.machine.cores as usize, 2.0);
        let circumstances = Circumstances { profile: Some(profile), ..Circumstances::default() };
        trial::outlook(&trial::explained(&compiled, &circumstances)).solution.rate
    }

    fn rate(&self, workers: &[u32], span: (u64, f64)) -> f64 {
        let caps = trial::caps(&self.program, workers);
        let workers = self.machine.cores as usize * 2;
        let way = Way { caps, chunk_rows: Some(1), ..Way::workers(workers) };
        trial::rate(&self.program, &way, span)
    }

    /// Steps until it is within 5% of `best`, and what was seen up to there.
    fn walk(&self, policy: Policy, seed: u64, best: f64) -> (usize, Vec<(Setting, f64)>) {
        let task = Task { network: &self.network, machine: &self.machine, tries_max: TRIES, seed };
        let mut seen: Vec<(Setting, f64)> = Vec::new();
        let mut arrived = None;
        tune(policy, &task, &mut |setting| {
            if arrived.is_none() {
                let rate = self.rate(&setting.workers, SPAN);
                if rate >= 0.95 * best {
                    arrived = Some(seen.len() + 1);
                }
                seen.push((setting.clone(), rate));
            }
            seen.last().map_or(0.0, |it| it.1)
        });
        (arrived.unwrap_or(TRIES), seen)
    }
}
