//! What is kept of the records, in which form and where, for how many epochs: one linear program.
//!
//! A [`Way`] is what can be kept of a record: nothing, a value in memory, the same value compressed on a disk. A
//! strategy gives each way a share of the records. Every resource (cores, a thread, a storage) must have done its part
//! of an output before the next one, so an output takes as long as the busiest of them (operational analysis):
//!
//! ```text
//! min  N·(z_c + (R−1)·z_a + R·(E−1)·z_w)   such that   Σ a_rj x_j ≤ z_w   and   Σ f_rj x_j ≤ z_c   for each resource r,
//!                                          Σ b_tj x_j ≤ room_t for each tier t,   Σ x_j = 1,   x ≥ 0
//! ```
//!
//! with a and f the seconds of a resource that an output takes once the way is filled, and while it is being filled, b
//! the bytes of all records, N the outputs of an epoch and E the epochs of each of R runs, of which the later ones find in
//! their first epoch (z_a) what lies on disk. A basic solution of it mixes few ways.

use microlp::{ComparisonOp, OptimizationDirection, Variable};
use std::{fmt, str::FromStr};

/// The loss at which the way with the smallest share is given up, as a part of the whole: fewer ways are simpler.
const SIMPLER: f64 = 0.02;
/// Shares below this are rounding.
const SHARE_MIN: f64 = 1e-6;
/// Seconds of an hour, and of a month as the price lists of clouds have it: a twelfth of 365 days.
const HOUR_S: f64 = 3600.0;
const MONTH_S: f64 = 730.0 * HOUR_S;
/// Bytes of a gigabyte.
const GB: f64 = 1e9;
/// Strategies whose costs differ by less than this part are equal: the one that keeps fewer bytes is taken.
const SAME: f64 = 1e-9;

/// What can be kept of each record of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Way {
    /// Seconds of each resource that an output takes once it is kept, beyond [`Plan::base`].
    pub warm: Vec<f64>,
    /// The same while it is computed and kept for the first time.
    pub fill: Vec<f64>,
    /// The same in the first epoch of a later run, which finds what lies on disk, and nothing in memory; of no matter
    /// where there is one run.
    pub again: Vec<f64>,
    /// Bytes of all records in each tier, if it is kept of all of them.
    pub bytes: Vec<f64>,
}

/// What to choose for.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Seconds of each resource that an output takes whatever is kept.
    pub base: Vec<f64>,
    /// The ways of each stream of records.
    pub streams: Vec<Vec<Way>>,
    /// Bytes of each tier that may be taken.
    pub rooms: Vec<f64>,
    /// Outputs of an epoch.
    pub outputs: f64,
    /// Epochs of each run, the first one included.
    pub epochs: f64,
    /// Runs.
    pub runs: f64,
}

/// What is to be as small as possible.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Objective {
    /// The time of all epochs, with the first one, which fills what is kept.
    #[default]
    Time,
    /// The time of each later epoch.
    Rate,
    /// The bytes that are kept, at so many outputs per second or more.
    Bytes(f64),
    /// What all epochs cost: the machine per second, and each byte that is kept per second.
    Cost {
        /// Of a second of the machine.
        per_second: f64,
        /// Of a byte that is kept for a second.
        per_byte_second: f64,
    },
    /// PRESTO's score of whole strategies, as high as possible ([`crate::weights`]): the weights of the time to prepare one,
    /// of its bytes, and of its rate. What it is of one strategy depends on the others, so it is no sum that a linear program
    /// could minimise: here, the time of all epochs is taken in its place.
    Weights([f64; 3]),
}

impl FromStr for Objective {
    type Err = String;

    /// `time`, `rate`, `bytes@4000`, `cost@3.06,0.08`, or `weights:1,0,1`.
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(least) = text.strip_prefix("bytes@") {
            let least = number(least).filter(|it| *it > 0.0).map(Self::Bytes);
            let wanted = "expected records per second after `@`, such as bytes@4000";
            return least.ok_or_else(|| wanted.to_owned());
        }
        if let Some(weights) = text.strip_prefix("weights:") {
            let weights = numbers::<3>(weights).filter(|it| it.iter().any(|it| *it > 0.0));
            let wanted = "expected the weights of fill time, bytes and rate after `:`, such as weights:1,0,1";
            return weights.map(Self::Weights).ok_or_else(|| wanted.to_owned());
        }
        if let Some(prices) = text.strip_prefix("cost@") {
            let prices = numbers::<2>(prices).filter(|it| it.iter().any(|it| *it > 0.0));
            let wanted = "expected the prices of an hour and of a GB-month after `@`, such as cost@3.06,0.08";
            return prices.map(Self::cost).ok_or_else(|| wanted.to_owned());
        }
        match text {
            "time" => Ok(Self::Time),
            "rate" => Ok(Self::Rate),
            _ => Err("expected time, rate, bytes@RATE, such as bytes@4000 (records/s), cost@HOUR,GB_MONTH, such as \
                      cost@3.06,0.08, or weights:P,S,T, such as weights:1,0,1"
                .to_owned()),
        }
    }
}

impl Objective {
    /// The lowest cost, where the machine has a price per hour, and what is kept one per GB-month.
    pub fn cost([hour, gb_month]: [f64; 2]) -> Self {
        Self::Cost { per_second: hour / HOUR_S, per_byte_second: gb_month / (GB * MONTH_S) }
    }

    /// The prices of an hour and of a GB-month, where they count.
    pub fn prices(self) -> Option<[f64; 2]> {
        match self {
            Self::Cost { per_second, per_byte_second } => {
                Some([per_second * HOUR_S, per_byte_second * (GB * MONTH_S)])
            }
            _ => None,
        }
    }
}

/// So many numbers with commas between them.
fn numbers<const N: usize>(text: &str) -> Option<[f64; N]> {
    let all: Option<Vec<f64>> = text.split(',').map(number).collect();
    all?.try_into().ok()
}

/// A number that is not negative.
fn number(text: &str) -> Option<f64> {
    let number = text.trim().replace('_', "").parse::<f64>().ok();
    number.filter(|it| it.is_finite() && *it >= 0.0)
}

/// What is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Strategy {
    /// The share of the records of each stream that each way has; each stream's add up to 1.
    pub shares: Vec<Vec<f64>>,
    /// Seconds of the first epoch.
    pub first_s: f64,
    /// Seconds of the first epoch of each later run.
    pub again_s: f64,
    /// Seconds of each later epoch.
    pub later_s: f64,
    /// The resource that bounds the later epochs.
    pub bound: usize,
    /// Bytes that are kept in each tier.
    pub bytes: Vec<f64>,
}

/// Why there is no strategy.
#[derive(Debug, Clone, PartialEq)]
pub enum NoStrategy {
    /// A stream has no way, or not even keeping nothing fits.
    NoWay,
    /// So many outputs per second are the most that can be had.
    Slower(f64),
}

impl fmt::Display for NoStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWay => f.write_str("nothing that can be kept fits"),
            Self::Slower(rate) => write!(f, "at most {rate:.0} outputs per second are possible"),
        }
    }
}

impl std::error::Error for NoStrategy {}

impl Strategy {
    /// Seconds of so many runs of so many epochs.
    pub fn seconds(&self, (runs, epochs): (f64, f64)) -> f64 {
        let (again, later) = counts((runs, epochs));
        self.first_s + again * self.again_s + later * self.later_s
    }

    /// What these shares give.
    pub fn of(plan: &Plan, shares: Vec<Vec<f64>>) -> Self {
        let ways = || plan.streams.iter().flatten().zip(shares.iter().flatten());
        let seconds = |of: fn(&Way) -> &Vec<f64>| -> Vec<f64> {
            let each = |r: usize| plan.base[r] + ways().map(|it| of(it.0)[r] * it.1).sum::<f64>();
            (0..plan.base.len()).map(each).collect()
        };
        let (warm, fill) = (seconds(|it| &it.warm), seconds(|it| &it.fill));
        let again = if plan.runs > 1.0 { seconds(|it| &it.again) } else { fill.clone() };
        let most = |of: &[f64]| of.iter().copied().fold(0.0, f64::max);
        let bound = (0..warm.len()).max_by(|a, b| warm[*a].total_cmp(&warm[*b])).unwrap_or(0);
        let bytes = (0..plan.rooms.len()).map(|t| ways().map(|it| it.0.bytes[t] * it.1).sum());
        let bytes = bytes.collect();
        let [first_s, again_s, later_s] =
            [most(&fill), most(&again), most(&warm)].map(|it| it * plan.outputs);
        Self { shares, first_s, again_s, later_s, bound, bytes }
    }

    /// What is to be as small as possible.
    pub fn cost(&self, plan: &Plan, objective: Objective) -> f64 {
        let bytes = || self.bytes.iter().sum::<f64>();
        match objective {
            Objective::Time | Objective::Weights(_) => self.seconds((plan.runs, plan.epochs)),
            Objective::Rate => self.later_s,
            Objective::Bytes(_) => bytes(),
            Objective::Cost { per_second, per_byte_second } => {
                let seconds = self.seconds((plan.runs, plan.epochs));
                seconds * (per_second + per_byte_second * bytes())
            }
        }
    }

    fn fits(&self, plan: &Plan) -> bool {
        self.bytes.iter().zip(&plan.rooms).all(|(bytes, room)| *bytes <= room * (1.0 + 1e-6) + 1.0)
    }

    fn is_fast_enough(&self, plan: &Plan, objective: Objective) -> bool {
        match objective {
            Objective::Bytes(rate) => self.later_s <= plan.outputs / rate * (1.0 + 1e-6),
            _ => true,
        }
    }
}

/// First epochs of later runs, and epochs that are no first one.
fn counts((runs, epochs): (f64, f64)) -> (f64, f64) {
    ((runs - 1.0).max(0.0), runs * (epochs - 1.0).max(0.0))
}

/// The best strategy, of few ways.
///
/// # Errors
/// Nothing fits, or the rate that is asked for cannot be reached.
pub fn best(plan: &Plan, objective: Objective) -> Result<Strategy, NoStrategy> {
    let mut allowed: Vec<Vec<bool>> = plan.streams.iter().map(|it| vec![true; it.len()]).collect();
    let Some(mut best) = solve(plan, objective, &allowed) else {
        return Err(match objective {
            Objective::Bytes(_) => self::best(plan, Objective::Rate)
                .map_or_else(|it| it, |it| NoStrategy::Slower(plan.outputs / it.later_s)),
            _ => NoStrategy::NoWay,
        });
    };
    let most = best.cost(plan, objective) * (1.0 + SIMPLER);
    // The way with the smallest share is given up as long as that costs little.
    loop {
        let ways = best.shares.iter().enumerate().flat_map(|(stream, shares)| {
            let used = shares.iter().filter(|it| **it > SHARE_MIN).count();
            let shares = shares.iter().enumerate().filter(move |_| used > 1);
            shares.filter(|it| *it.1 > SHARE_MIN).map(move |(way, share)| (*share, stream, way))
        });
        let Some((_, stream, way)) = ways.min_by(|a, b| a.0.total_cmp(&b.0)) else { break };
        allowed[stream][way] = false;
        let Some(simpler) = solve(plan, objective, &allowed) else { break };
        if simpler.cost(plan, objective) > most {
            break;
        }
        best = simpler;
    }
    Ok(best)
}

/// What a way takes of each resource in one of its phases.
type Seconds = fn(&Way) -> &Vec<f64>;

/// The optimum of the linear program with these ways.
fn solve(plan: &Plan, objective: Objective, allowed: &[Vec<bool>]) -> Option<Strategy> {
    // Bytes cost next to nothing, so that of equal strategies the one with fewer is found.
    let bytes_of = |way: &Way| way.bytes.iter().sum::<f64>();
    let all_bytes: f64 = plan.streams.iter().flatten().map(bytes_of).sum::<f64>().max(1.0);
    let scale = scale(plan);
    let (again, later) = counts((plan.runs, plan.epochs));
    // In units of a typical output, which keeps the numbers near 1.
    let (fill, again, warm, byte) = match objective {
        Objective::Time | Objective::Weights(_) => (1.0, again, later, SAME / all_bytes),
        Objective::Rate => (SAME, 0.0, 1.0, SAME / all_bytes),
        Objective::Bytes(_) => (SAME, 0.0, SAME, 1.0 / all_bytes),
        // The time that bytes are kept for is that of the fastest strategy: the product of both is not linear.
        Objective::Cost { per_second, per_byte_second } => {
            let fastest = solve(plan, Objective::Time, allowed)?.seconds((plan.runs, plan.epochs));
            let unit = plan.outputs * scale;
            (
                1.0,
                again,
                later,
                per_byte_second * fastest / (per_second * unit).max(f64::MIN_POSITIVE),
            )
        }
    };
    let mut program = microlp::Problem::new(OptimizationDirection::Minimize);
    let z_fill = program.add_var(fill, (0.0, f64::INFINITY));
    let z_most = match objective {
        Objective::Bytes(rate) => 1.0 / rate / scale,
        _ => f64::INFINITY,
    };
    let z_warm = program.add_var(warm, (0.0, z_most));
    let z_again = program.add_var(again, (0.0, f64::INFINITY));
    let mut vars: Vec<Vec<Variable>> = Vec::new();
    for (ways, allowed) in plan.streams.iter().zip(allowed) {
        let most = |it: &bool| if *it { 1.0 } else { 0.0 };
        let var = |(way, it)| program.add_var(byte * bytes_of(way), (0.0, most(it)));
        vars.push(ways.iter().zip(allowed).map(var).collect());
    }
    for vars in &vars {
        let ones: Vec<_> = vars.iter().map(|it| (*it, 1.0)).collect();
        program.add_constraint(ones, ComparisonOp::Eq, 1.0);
    }
    let ways = || plan.streams.iter().flatten().zip(vars.iter().flatten());
    for r in 0..plan.base.len() {
        let phases: [(Variable, Seconds); 3] =
            [(z_warm, |it| &it.warm), (z_fill, |it| &it.fill), (z_again, |it| &it.again)];
        for (z, of) in phases.into_iter().take(if plan.runs > 1.0 { 3 } else { 2 }) {
            let asked = ways().map(|(way, var)| (*var, of(way)[r] / scale));
            let row: Vec<_> = asked.chain([(z, -1.0)]).collect();
            program.add_constraint(row, ComparisonOp::Le, -plan.base[r] / scale);
        }
    }
    for (t, room) in plan.rooms.iter().enumerate() {
        let unit = room.max(1.0);
        let row: Vec<_> = ways().map(|(way, var)| (*var, way.bytes[t] / unit)).collect();
        program.add_constraint(row, ComparisonOp::Le, room / unit);
    }
    let found = program.solve().ok()?.into_solution().ok()?;
    let shares = vars.iter().map(|vars| {
        let all: Vec<f64> = vars.iter().map(|it| found.var_value(*it)).collect();
        let kept = all.iter().map(|it| if *it > SHARE_MIN { *it } else { 0.0 });
        let sum = kept.clone().sum::<f64>();
        kept.map(|it| it / sum).collect::<Vec<f64>>()
    });
    let strategy = Strategy::of(plan, shares.collect());
    let is_sound = strategy.fits(plan) && strategy.is_fast_enough(plan, objective);
    (is_sound && strategy.later_s.is_finite()).then_some(strategy)
}

/// Seconds of a typical output: those of the busiest resource with the first way of each stream.
fn scale(plan: &Plan) -> f64 {
    let first = plan.streams.iter().map(|ways| {
        let mut shares = vec![0.0; ways.len()];
        shares.iter_mut().take(1).for_each(|it| *it = 1.0);
        shares
    });
    let first = Strategy::of(plan, first.collect());
    let seconds = first.later_s.max(first.first_s) / plan.outputs;
    if seconds > 0.0 && seconds.is_finite() { seconds } else { 1.0 }
}
