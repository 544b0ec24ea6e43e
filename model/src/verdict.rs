//! Hardware or software? What the fleet study of the paper (section 3) asks of each slow job.

use crate::solve::Limit;
use serde::{Deserialize, Serialize};

/// What kind of thing bounds a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Cores, disks or memory are used up: more of them help.
    Hardware,
    /// The machine has more than the pipeline can use: another plan helps.
    Software,
    /// A service outside gives no more.
    Outside,
    /// What takes the outputs is slower: loading is not the problem.
    Consumer,
    /// Nothing that the model knows of bounds it.
    Unbounded,
}

/// A use of the cores below which a machine is idle (paper: jobs that stall use 11 % on average).
const IDLE: f64 = 0.2;

/// A wait for an output above which it counts as a stall: 1 ms (paper section 3).
const STALL_S: f64 = 1e-3;

/// Where the buckets of the stall histogram end, in seconds (paper section 3); the last has no end.
pub const STALLS: [f64; 3] = [50e-6, 1e-3, 100e-3];

impl Verdict {
    /// The kind of a bound.
    pub fn of(limit: Limit) -> Self {
        match limit {
            Limit::Cpu | Limit::Storage(_) | Limit::Memory(_) | Limit::MemoryBandwidth => {
                Self::Hardware
            }
            Limit::Step(_) | Limit::Segment(_) => Self::Software,
            Limit::Cap(_) => Self::Outside,
            Limit::Consumer => Self::Consumer,
        }
    }

    /// The kind by what was seen: the largest use of cores, disks and memory (0 to 1), and the mean wait for an output in seconds.
    pub fn seen(busiest: f64, stall_s: f64) -> Self {
        match (stall_s > STALL_S, busiest < IDLE) {
            (false, _) => Self::Consumer,
            (true, true) => Self::Software,
            (true, false) => Self::Hardware,
        }
    }
}

/// The bucket of a wait for an output: 0 up to 50 µs, 1 up to 1 ms, 2 up to 100 ms, 3 above.
pub fn stall_bucket(seconds: f64) -> usize {
    STALLS.iter().take_while(|it| seconds > **it).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_machine_that_stalls_has_a_software_problem() {
        assert_eq!(Verdict::seen(0.11, 0.2), Verdict::Software);
        assert_eq!(Verdict::seen(0.95, 0.2), Verdict::Hardware);
        assert_eq!(Verdict::seen(0.11, 40e-6), Verdict::Consumer);
        assert_eq!([49e-6, 51e-6, 2e-3, 0.2].map(stall_bucket), [0, 1, 2, 3]);
    }
}
