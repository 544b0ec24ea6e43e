//! When a measurement has gone on for long enough.

/// Two rates that differ by less than this part are the same (paper appendix B: 1%).
pub const SAME: f64 = 0.01;

/// What a measurement should do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Go on.
    GoOn,
    /// The rate has settled.
    Settled,
    /// The time is over and it has not.
    OutOfTime,
}

/// The rule: stop once the rate since the start moves by less than 1 % from one look to the next,
/// twice running, after a least time; stop at the latest after a most time.
///
/// The caller brings the clock: seconds since the start, and outputs since then.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Converging {
    least_s: f64,
    most_s: f64,
    last: Option<(f64, f64)>,
    same: u32,
}

/// Looks in a row that have to agree: one may by accident.
const AGREE: u32 = 2;

/// Looks are told apart by this part of the time that passed, or they would agree for being the same.
const APART: f64 = 0.05;

impl Converging {
    /// Not before and not after so many seconds.
    pub fn within(least_s: f64, most_s: f64) -> Self {
        Self { least_s, most_s, last: None, same: 0 }
    }

    /// A look: so many outputs in so many seconds.
    pub fn look(&mut self, elapsed_s: f64, outputs: u64) -> Next {
        let rate = outputs as f64 / elapsed_s;
        match self.last {
            _ if outputs == 0 => {}
            Some((at, _)) if elapsed_s < at * (1.0 + APART) => {}
            Some((_, before)) => {
                self.same = if (before / rate - 1.0).abs() < SAME { self.same + 1 } else { 0 };
                self.last = Some((elapsed_s, rate));
            }
            None => self.last = Some((elapsed_s, rate)),
        }
        match (self.same >= AGREE && elapsed_s >= self.least_s, elapsed_s >= self.most_s) {
            (true, _) => Next::Settled,
            (_, true) => Next::OutOfTime,
            _ => Next::GoOn,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stops(rate: impl Fn(f64) -> f64) -> (f64, Next) {
        let mut rule = Converging::within(12.0, 300.0);
        for second in 1..=300 {
            let elapsed = f64::from(second);
            let next = rule.look(elapsed, (rate(elapsed) * elapsed) as u64);
            if next != Next::GoOn {
                return (elapsed, next);
            }
        }
        (300.0, Next::GoOn)
    }

    #[test]
    fn a_steady_rate_settles_at_the_least_time() {
        assert_eq!(stops(|_| 1000.0), (12.0, Next::Settled));
    }

    #[test]
    fn a_slow_start_settles_once_it_is_forgotten() {
        // Nothing in the first 5 seconds, 1000/s after: the mean creeps up as 1 − 5/t.
        let (at, next) = stops(|t| 1000.0 * (1.0 - 5.0 / t).max(0.0));
        assert!(next == Next::Settled && at > 20.0, "{at} {next:?}");
    }

    #[test]
    fn what_never_settles_ends() {
        assert_eq!(stops(|t| 100.0 * t * t), (300.0, Next::OutOfTime));
        assert_eq!(stops(|_| 0.0), (300.0, Next::OutOfTime));
    }
}
