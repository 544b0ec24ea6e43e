//! How fast a pipeline is, before all else: what was measured where it was measured on this machine,
//! with the prediction beside it and what explains the difference; otherwise what is predicted.

use super::figures::percent;
use crate::estimate::{Estimate, Figure, Outlook, Seen};
use serde::Serialize;

/// Measured and predicted rates that differ by less than this part agree: a rate that has settled within
/// 1 % still moves by some percent from run to run, and processor time does with it.
const NOISE: f64 = 0.10;
/// Cores that others keep busy from which on it is worth a word: less is the system at its own work.
const OTHERS: f64 = 0.2;
/// The share of the cores that workers keep busy unless something holds them up.
const BUSY: f64 = 0.85;
/// The share of the time below which a consumer that waits so little is the slower one.
const WAITS: f64 = 0.5;
/// Outputs below which a rate rests on too few of them.
const FEW: f64 = 20.0;

/// How fast a pipeline is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Headline {
    /// Records in a second: as measured where `measured` says so, else as predicted.
    pub records_per_second: f64,
    /// Outputs in a second: batches, or records where it ends without `batch`.
    pub outputs_per_second: f64,
    /// Whether that was measured, on the machine that is explained for.
    pub measured: bool,
    /// Records in a second as predicted.
    pub predicted_records_per_second: f64,
    /// What explains a difference between the two that is more than noise.
    pub why: Vec<String>,
}

impl Headline {
    /// The headline of an estimate and what it means on a machine.
    pub(super) fn of(estimate: &Estimate, outlook: Option<&Outlook>) -> Self {
        let solved = outlook.map(|it| it.solution.rate).filter(|it| it.is_finite());
        let predicted = solved.unwrap_or(estimate.rate.value);
        let seen = outlook.and_then(|it| it.seen.as_ref());
        let seen = seen.filter(|it| it.1.here && it.0.outputs_per_second > 0.0).map(|it| &it.0);
        let outputs = seen.map_or(predicted, |it| it.outputs_per_second);
        let rows = estimate.batch_rows.unwrap_or(1.0);
        Self {
            records_per_second: outputs * rows,
            outputs_per_second: outputs,
            measured: seen.is_some(),
            predicted_records_per_second: predicted * rows,
            why: seen.map_or(Vec::new(), |it| reasons(it, predicted)),
        }
    }

    /// The rate in records, or in outputs; a prediction is never sure.
    pub(super) fn figure(&self, value: f64) -> Figure {
        if self.measured { Figure::exact(value) } else { Figure::assumed(value) }
    }

    /// What is predicted beside what was measured: by how much it is off, as a part.
    pub(super) fn off(&self) -> f64 {
        self.predicted_records_per_second / self.records_per_second - 1.0
    }
}

/// What explains that a run was slower or faster than predicted; nothing where they agree.
fn reasons(seen: &Seen, predicted: f64) -> Vec<String> {
    let ratio = seen.outputs_per_second / predicted;
    if !ratio.is_finite() || (ratio - 1.0).abs() <= NOISE {
        return Vec::new();
    }
    let mut all = Vec::new();
    if ratio < 1.0 {
        if seen.others >= OTHERS {
            all.push(format!("other programs kept {:.1} cores busy", seen.others));
        }
        if seen.stall < WAITS {
            let waited = percent(seen.stall);
            all.push(format!("the training loop was slower: it waited only {waited} of the time"));
        }
        // Who has no core because of others, or has nothing to do, does not wait for files.
        let busy = seen.cpu_use.filter(|it| all.is_empty() && *it < BUSY);
        all.extend(busy.map(|it| {
            let busy = percent(it);
            match seen.bytes_read > 0.0 {
                true => format!("workers used {busy} of the cores and waited for files otherwise"),
                false => format!("workers used only {busy} of the cores"),
            }
        }));
    }
    if seen.seconds * seen.outputs_per_second < FEW {
        all.push("few outputs were measured: profile for longer".to_owned());
    }
    if all.is_empty() {
        all.push("the cause was not measured: profile again, for longer".to_owned());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of 100 outputs in a second on free cores.
    fn seen() -> Seen {
        Seen {
            seconds: 3.0,
            outputs_per_second: 100.0,
            workers: 2,
            others: 0.0,
            stall: 0.9,
            bytes_read: 0.0,
            cpu_use: Some(0.98),
        }
    }

    fn why(seen: &Seen, predicted: f64) -> String {
        reasons(seen, predicted).join("; ")
    }

    #[test]
    fn a_difference_is_explained_where_it_is_more_than_noise() {
        assert_eq!(why(&seen(), 109.0), "");
        assert_eq!(why(&seen(), 95.0), "");
        let others = Seen { others: 1.06, cpu_use: Some(0.45), ..seen() };
        assert_eq!(why(&others, 227.0), "other programs kept 1.1 cores busy");
        let consumer = Seen { stall: 0.03, cpu_use: Some(0.2), ..seen() };
        assert_eq!(
            why(&consumer, 500.0),
            "the training loop was slower: it waited only 3% of the time"
        );
        let files = Seen { cpu_use: Some(0.4), bytes_read: 1e9, ..seen() };
        let told = "workers used 40% of the cores and waited for files otherwise";
        assert_eq!(why(&files, 300.0), told);
        let idle = Seen { cpu_use: Some(0.4), ..seen() };
        assert_eq!(why(&idle, 300.0), "workers used only 40% of the cores");
        let few = Seen { seconds: 0.05, ..seen() };
        assert_eq!(why(&few, 50.0), "few outputs were measured: profile for longer");
        assert_eq!(why(&seen(), 300.0), "the cause was not measured: profile again, for longer");
    }
}
