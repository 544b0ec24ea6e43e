//! How many records leave each step, how large they are together, and how large a source is that was read in part.

use crate::network::{Amount, Count, Network, Step};
use serde::{Deserialize, Serialize};

impl Network {
    /// Records that leave each step in all (paper appendix A): n = Σ n of the inputs / taken, unless the step says otherwise.
    pub fn cardinalities(&self) -> Vec<Amount> {
        let mut all: Vec<Amount> = Vec::with_capacity(self.steps().len());
        for step in self.steps() {
            let of: Vec<Amount> = step.inputs.iter().map(|it| all[it.step]).collect();
            all.push(cardinality(step, &of));
        }
        all
    }

    /// Bytes of all records that leave each step: n × bytes of a record. A size of a step whose records never end is infinite.
    pub fn materialised_bytes(&self) -> Vec<Amount> {
        let counts = self.cardinalities();
        counts.iter().zip(self.steps()).map(|(n, step)| n.times(step.bytes_out.value)).collect()
    }

    /// Outputs for one pass over the sources: the least of n/V; unknown where no source ends.
    ///
    /// Repeats and takes above a source do not count: a pass is a pass over the data.
    pub fn epoch_outputs(&self) -> Amount {
        let fresh = self.without_caches();
        let flow = fresh.visits();
        let counts = fresh.cardinalities();
        let sources = fresh.steps().iter().enumerate().filter(|it| it.1.inputs.is_empty());
        let passes = sources.filter_map(|(at, _)| match counts[at] {
            Amount::Finite(n) if flow.visits[at] > 0.0 => Some(n / flow.visits[at]),
            _ => None,
        });
        passes.reduce(f64::min).map_or(Amount::Unknown, Amount::Finite)
    }

    /// Bytes that all steps hold while they run (buffers, queues, windows).
    pub fn held_bytes(&self) -> f64 {
        self.steps().iter().map(|it| it.holds_bytes).sum()
    }

    /// The same, and nothing cached.
    #[must_use]
    pub fn without_caches(&self) -> Self {
        (0..self.steps().len()).fold(self.clone(), |it, at| {
            if it.steps()[at].caches.is_empty() {
                it
            } else {
                it.with(at, |step| step.caches.clear())
            }
        })
    }
}

impl Amount {
    /// So many times as much; nothing of what never ends is nothing.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        match self {
            Self::Finite(n) => Self::Finite(n * factor),
            Self::Infinite if factor == 0.0 => Self::Finite(0.0),
            other => other,
        }
    }

    /// The number, if it is one.
    pub fn finite(self) -> Option<f64> {
        if let Self::Finite(n) = self { Some(n) } else { None }
    }

    /// Both together: what never ends, never ends, whatever else is unknown.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Infinite, _) | (_, Self::Infinite) => Self::Infinite,
            (Self::Finite(a), Self::Finite(b)) => Self::Finite(a + b),
            _ => Self::Unknown,
        }
    }

    /// The shorter: known only where the other is known, or endless.
    fn or_shorter(self, other: Self) -> Self {
        match (self, other) {
            (Self::Finite(a), Self::Finite(b)) => Self::Finite(a.min(b)),
            (Self::Infinite, it) | (it, Self::Infinite) => it,
            _ => Self::Unknown,
        }
    }
}

fn cardinality(step: &Step, inputs: &[Amount]) -> Amount {
    let all = inputs.iter().copied().reduce(Amount::and).unwrap_or(Amount::Unknown);
    match step.count {
        Count::Source(n) => n,
        Count::Ratio if step.taken > 0.0 => all.times(step.taken.recip()),
        Count::Ratio => Amount::Unknown,
        Count::Take(k) => all.or_shorter(Amount::Finite(k as f64)).or_at_most(all, k),
        Count::Skip(k) => match all {
            Amount::Finite(n) => Amount::Finite((n - k as f64).max(0.0)),
            other => other,
        },
        Count::Repeat(Some(k)) => all.times(k as f64),
        Count::Repeat(None) if all == Amount::Finite(0.0) => all,
        Count::Repeat(None) => Amount::Infinite,
        Count::Shortest => {
            let asked = step.inputs.iter().zip(inputs).filter(|it| it.0.share > 0.0);
            let lasts = asked.map(|(it, n)| n.times(it.share.recip()));
            lasts.reduce(Amount::or_shorter).unwrap_or(Amount::Unknown)
        }
    }
}

impl Amount {
    /// A take of what is unknown gives at most k: the bound is what sizes are planned with (paper: `take k` → k).
    fn or_at_most(self, of: Self, k: u64) -> Self {
        if of == Self::Unknown { Self::Finite(k as f64) } else { self }
    }
}

/// A size that was told from a part.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The size of the whole.
    pub total: f64,
    /// One standard error of it, as a part of it.
    pub error: f64,
}

/// The size of a whole of `parts` of which these were seen: Ŝ = (m/n) Σ s (paper section 4.3).
///
/// The error is CV/√n, corrected for a whole that ends (Cochran, Sampling Techniques, 2.6):
/// nothing once all is seen, unknown (none) for fewer than two parts of a larger whole.
pub fn from_part(seen: &[f64], parts: u64) -> Option<Estimate> {
    let n = seen.len() as f64;
    let m = (parts as f64).max(n);
    if seen.is_empty() || (n < 2.0 && m > n) {
        return None;
    }
    let mean = seen.iter().sum::<f64>() / n;
    let error =
        if m > n { deviation(seen, mean) / mean / n.sqrt() * (1.0 - n / m).sqrt() } else { 0.0 };
    Some(Estimate { total: mean * m, error: if mean > 0.0 { error } else { 0.0 } })
}

/// The relative error of a size after so many records of that spread: CV/√n.
pub fn error_after(coefficient_of_variation: f64, records: u64) -> f64 {
    coefficient_of_variation / (records.max(1) as f64).sqrt()
}

/// Records of a source: files × records of a file (paper: elements produced / files opened).
pub fn records(files: u64, produced: u64, opened: u64) -> Amount {
    if opened == 0 {
        return Amount::Unknown;
    }
    Amount::Finite(files as f64 * produced as f64 / opened as f64)
}

fn deviation(seen: &[f64], mean: f64) -> f64 {
    let squares: f64 = seen.iter().map(|it| (it - mean).powi(2)).sum();
    (squares / (seen.len() as f64 - 1.0)).sqrt()
}
