//! From what was counted to rates, and from rates to an order of suspects.

use serde::{Deserialize, Serialize};

/// What was counted at one step in a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// Records that left: C.
    pub completed: u64,
    /// CPU time of the step itself, in seconds: B.
    pub cpu_s: f64,
    /// Wall time of its calls, without those before it, in seconds.
    pub wall_s: f64,
    /// Seconds that its workers waited for input, all together.
    pub waited_in_s: f64,
    /// Seconds that its workers waited for room for their output, all together.
    pub waited_out_s: f64,
    /// Workers that it had.
    pub workers: u32,
    /// Whether more workers could be used.
    pub parallel: bool,
    /// Copies that a parallel step around it ran, at least 1.
    pub outer: u32,
    /// Records leaving per output: V.
    pub visits: f64,
    /// Whether a cache spares it all work.
    pub stale: bool,
    /// The step that reads what it gives; none at the root.
    pub user: Option<usize>,
}

/// What follows for one step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// Outputs per core second: R = (C/V)/B.
    pub core_rate: f64,
    /// Outputs per second with the workers that it had: R·p, R·outer for a sequential step.
    pub parallel_rate: f64,
    /// Outputs per second with all idle cores as well: R·(p + idle).
    pub scaled_rate: f64,
    /// The part of the time that a worker computes: B/(p·T).
    pub busy: f64,
    /// Cores in use: B/T.
    pub cores: f64,
    /// Outputs per second that were seen: C/(T·V).
    pub observed: f64,
}

/// Ways to say which step bounds; the first is the paper's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ranking {
    /// Least R·p.
    ParallelRate,
    /// Least R·min(p, cores): workers beyond the cores do nothing.
    Thresholded,
    /// Least R·(p + idle cores).
    ScaledRate,
    /// The busiest workers: B/(p·T).
    Busy,
    /// The busiest workers, with the time in which they had no core: wall/(p·T).
    ContendedBusy,
    /// Waits least, for input and for room: its neighbours wait for it. (wait in + wait out)/(p·T).
    WaitDifference,
    /// Makes the step after it wait most: that step's wait for input by the time.
    WaitBlame,
}

/// How long it was counted, and with what.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Watch {
    /// Seconds that passed: T.
    pub elapsed_s: f64,
    /// Cores that there are.
    pub cores: f64,
}

impl Watch {
    /// Cores that nobody used.
    pub fn idle(&self, all: &[Counted]) -> f64 {
        (self.cores - all.iter().map(|it| it.cpu_s).sum::<f64>() / self.elapsed_s).max(0.0)
    }

    /// The part of the cores in use: ΣB/(n·T).
    pub fn utilisation(&self, all: &[Counted]) -> f64 {
        all.iter().map(|it| it.cpu_s).sum::<f64>() / (self.cores * self.elapsed_s)
    }

    /// Rates of a step, when so many cores are idle.
    pub fn rates(&self, step: &Counted, idle: f64) -> Rates {
        let done = step.completed as f64 / if step.visits > 0.0 { step.visits } else { 1.0 };
        let core_rate = if step.cpu_s > 0.0 { done / step.cpu_s } else { f64::INFINITY };
        let p = step.width();
        Rates {
            core_rate,
            parallel_rate: core_rate * p,
            scaled_rate: if step.parallel { core_rate * (p + idle) } else { core_rate * p },
            busy: step.cpu_s / (p * self.elapsed_s),
            cores: step.cpu_s / self.elapsed_s,
            observed: done / self.elapsed_s,
        }
    }

    /// The rate of the pipeline that was seen: the least over the steps that work; 0 where none does.
    pub fn observed(&self, all: &[Counted]) -> f64 {
        let working = all.iter().filter(|it| !it.stale);
        working.map(|it| self.rates(it, 0.0).observed).reduce(f64::min).unwrap_or(0.0)
    }

    /// Steps that work with the figure of this ranking, the likeliest bottleneck first.
    pub fn ranked(&self, all: &[Counted], ranking: Ranking) -> Vec<(usize, f64)> {
        let idle = self.idle(all);
        let of = |at: usize| self.figure(all, at, ranking, idle);
        let mut order: Vec<(usize, f64)> =
            (0..all.len()).filter(|it| !all[*it].stale).map(|it| (it, of(it))).collect();
        let largest_first =
            matches!(ranking, Ranking::Busy | Ranking::ContendedBusy | Ranking::WaitBlame);
        order.sort_by(|a, b| if largest_first { b.1.total_cmp(&a.1) } else { a.1.total_cmp(&b.1) });
        order
    }

    fn figure(&self, all: &[Counted], at: usize, ranking: Ranking, idle: f64) -> f64 {
        let step = &all[at];
        let rates = self.rates(step, idle);
        let time = step.width() * self.elapsed_s;
        match ranking {
            Ranking::ParallelRate => rates.parallel_rate,
            Ranking::Thresholded => rates.core_rate * step.width().min(self.cores),
            Ranking::ScaledRate => rates.scaled_rate,
            Ranking::Busy => rates.busy,
            Ranking::ContendedBusy => step.wall_s / time,
            Ranking::WaitDifference => (step.waited_in_s + step.waited_out_s) / time,
            Ranking::WaitBlame => self.blame(all, step),
        }
    }
}

impl Watch {
    fn blame(&self, all: &[Counted], step: &Counted) -> f64 {
        let user = step.user.and_then(|it| all.get(it));
        user.map_or(0.0, |it| it.waited_in_s / self.elapsed_s)
    }
}

impl Counted {
    /// Threads that work at it at once.
    fn width(&self) -> f64 {
        f64::from(if self.parallel { self.workers.max(1) } else { self.outer.max(1) })
    }
}
