//! Tuners: ours, and those that it is compared with. Each asks "how fast with this setting?" as
//! often as it may, of the model or of the real thing.

use crate::{
    autotune,
    machine::Machine,
    network::Network,
    predict::{Setting, local},
    solve::{Wishes, prefetch, solve},
};
use serde::{Deserialize, Serialize};

/// A way to find a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// One worker everywhere, nothing fetched ahead.
    Naive,
    /// As many workers everywhere as there are cores, and a deep queue at the end.
    Heuristic,
    /// The hill climb of tf.data.
    Autotune,
    /// One worker more for a parallel step drawn by lot, again and again.
    Random,
    /// All idle cores to the step that bounds now, again and again.
    Local,
    /// One worker more for the step that bounds now, again and again: the paper's stepwise tuner.
    Step,
    /// The operational model.
    Model,
}

/// What is to be tuned.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// The pipeline, with costs as measured.
    pub network: &'a Network,
    /// The machine.
    pub machine: &'a Machine,
    /// Settings that may be tried at most.
    pub tries_max: usize,
    /// For the policy that draws lots.
    pub seed: u64,
}

/// A setting that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// The setting.
    pub setting: Setting,
    /// Outputs per second with it.
    pub rate: f64,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tuning {
    /// All settings in order; at least one.
    pub tried: Vec<Tried>,
    /// The index of the fastest.
    pub best: usize,
    /// Why it ended before the last try, if it gave up: a sentence that names the step.
    pub gave_up: Option<String>,
}

/// What a heuristic fetches ahead (MLPerf's authors: 100).
const HEURISTIC_PREFETCH: u32 = 100;

/// A step that was raised so often in a row without much gain is left alone (paper's code: 5).
const CYCLE: usize = 5;

/// What counts as much: the best try since, and the mean of them, over the start.
const GAIN_BEST: f64 = 0.10;
const GAIN_MEAN: f64 = 0.01;

/// Tunes by a policy.
pub fn tune(policy: Policy, task: &Task<'_>, measure: &mut dyn FnMut(&Setting) -> f64) -> Tuning {
    let n = task.network.steps().len();
    let mut run = Run { task, measure, tried: Vec::new(), gave_up: None };
    match policy {
        Policy::Naive => run.attempt(Setting::naive(n)),
        Policy::Heuristic => run.attempt(heuristic(task)),
        Policy::Autotune => run.attempt(autotune::tuned(task.network, task.machine)),
        Policy::Model => run.attempt(best_setting(task.network, task.machine)),
        Policy::Random => run.random(),
        Policy::Local => run.local(),
        Policy::Step => run.stepwise(),
    }
    run.end()
}

/// The setting of the model: workers as solved, and N* outputs ahead.
pub fn best_setting(network: &Network, machine: &Machine) -> Setting {
    let solution = solve(network, machine, &Wishes::default());
    let ahead =
        if solution.saturation.is_finite() { prefetch(solution.saturation, 0.0) } else { 0 };
    Setting { workers: solution.workers, prefetch: ahead.max(1) }
}

fn heuristic(task: &Task<'_>) -> Setting {
    let cores = task.machine.cores.ceil().max(1.0) as u32;
    let each = task.network.steps().iter();
    let workers = each.map(|it| it.workers_limit().unwrap_or(cores).min(cores)).collect();
    Setting { workers, prefetch: HEURISTIC_PREFETCH }
}

/// A tuner at work.
struct Run<'a, 'm> {
    task: &'a Task<'a>,
    measure: &'m mut dyn FnMut(&Setting) -> f64,
    tried: Vec<Tried>,
    gave_up: Option<String>,
}

impl Run<'_, '_> {
    fn attempt(&mut self, setting: Setting) {
        let rate = (self.measure)(&setting);
        self.tried.push(Tried { setting, rate });
    }

    fn end(self) -> Tuning {
        let rate = |at: &usize| self.tried[*at].rate;
        // The earliest of the fastest: it has the fewest workers.
        let best = (0..self.tried.len()).rev().max_by(|a, b| rate(a).total_cmp(&rate(b)));
        let best = best.unwrap_or(0);
        Tuning { best, gave_up: self.gave_up, tried: self.tried }
    }

    /// All tuners that walk start here: one worker everywhere, with something fetched ahead.
    fn start(&mut self) -> Setting {
        let ahead = HEURISTIC_PREFETCH;
        let start = Setting { prefetch: ahead, ..Setting::naive(self.task.network.steps().len()) };
        self.attempt(start.clone());
        start
    }

    /// Steps that may have one worker more.
    fn open(&self, setting: &Setting) -> Vec<usize> {
        let steps = self.task.network.steps().iter().enumerate();
        let more =
            steps.filter(|it| setting.workers[it.0] < it.1.workers_limit().unwrap_or(u32::MAX));
        more.map(|it| it.0).collect()
    }

    /// Steps with what each could give, R·p, the slowest first; those without work are left out.
    fn ranked(&self, setting: &Setting) -> Vec<(usize, f64)> {
        let demands = self.task.network.demands(self.task.machine.cores);
        let rate = |at: usize| {
            let width =
                if self.task.network.steps()[at].sequential() { 1 } else { setting.workers[at] };
            f64::from(width) / demands[at].worker_s
        };
        let mut all: Vec<(usize, f64)> = (0..demands.len()).map(|it| (it, rate(it))).collect();
        all.retain(|it| it.1.is_finite());
        all.sort_by(|a, b| a.1.total_cmp(&b.1));
        all
    }

    fn random(&mut self) {
        let mut setting = self.start();
        let mut lots = Lots(self.task.seed);
        while self.tried.len() < self.task.tries_max {
            let open = self.open(&setting);
            if open.is_empty() {
                break;
            }
            setting.workers[open[lots.below(open.len())]] += 1;
            self.attempt(setting.clone());
        }
    }

    fn local(&mut self) {
        let mut setting = self.start();
        let demands = self.task.network.demands(self.task.machine.cores);
        while self.tried.len() < self.task.tries_max {
            let Some((at, _)) = self.ranked(&setting).first().copied() else { break };
            let goal = local(self.task.network, self.task.machine, &setting);
            let workers =
                crate::load::whole(goal * demands[at].worker_s).max(setting.workers[at] + 1);
            if !self.open(&setting).contains(&at) {
                break;
            }
            setting.workers[at] = workers;
            self.attempt(setting.clone());
            let used: u32 = setting.workers.iter().sum();
            if f64::from(used) >= self.task.machine.cores + setting.workers.len() as f64 {
                break;
            }
        }
    }

    fn stepwise(&mut self) {
        let mut setting = self.start();
        let mut ignored = vec![false; setting.workers.len()];
        let mut raised: Vec<usize> = Vec::new();
        while self.tried.len() < self.task.tries_max {
            let open = self.open(&setting);
            let ranked = self.ranked(&setting);
            let next = ranked.iter().map(|it| it.0).find(|it| !ignored[*it]);
            match next {
                Some(at) if open.contains(&at) => {
                    setting.workers[at] += 1;
                    raised.push(at);
                    self.attempt(setting.clone());
                    ignored[at] = self.cycles(&raised);
                }
                Some(at) => return self.give_up(at),
                None => return,
            }
        }
    }

    /// Whether the same step was raised again and again for nothing.
    fn cycles(&self, raised: &[usize]) -> bool {
        let Some((last, before)) = raised.split_last() else { return false };
        if before.len() + 1 < CYCLE
            || before[before.len() + 1 - CYCLE..].iter().any(|it| it != last)
        {
            return false;
        }
        let start = self.tried[self.tried.len() - 1 - CYCLE].rate;
        let gains = self.tried[self.tried.len() - CYCLE..].iter().map(|it| it.rate / start - 1.0);
        let (best, sum) = gains.fold((f64::MIN, 0.0), |all, it| (it.max(all.0), all.1 + it));
        // Steady growth by one worker of many is no cycle: both have to be small.
        best < GAIN_BEST && sum / CYCLE as f64 <= GAIN_MEAN
    }

    fn give_up(&mut self, at: usize) {
        let name = &self.task.network.steps()[at].name;
        self.gave_up = Some(format!(
            "`{name}` limits the rate and cannot use more workers: cache after it, or make it \
             parallel"
        ));
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): lots that are the same for the same seed.
struct Lots(u64);

impl Lots {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}
