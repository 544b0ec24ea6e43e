//! Whole strategies beside each other, as PRESTO (SIGMOD'22, section 3) compares them: each is one thing that is kept of
//! all records, with what it takes to prepare it, its bytes, and the rate that it gives.

use std::cmp::Ordering;

/// Scores that differ by less are equal.
const TIE: f64 = 1e-9;

/// One strategy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Whole {
    /// Seconds to prepare it.
    pub prepare_s: f64,
    /// Bytes that are read in an epoch: those that are kept, or those of the source.
    pub bytes: f64,
    /// Outputs per second.
    pub rate: f64,
}

impl Whole {
    /// Seconds of so many epochs of so many outputs, with what it takes to prepare it.
    pub fn seconds(&self, outputs: f64, epochs: f64) -> f64 {
        self.prepare_s + epochs * outputs / self.rate
    }

    /// Whether another one is as good in all and better in something.
    fn is_beaten_by(&self, other: &Self) -> bool {
        let values = |it: &Self| [it.prepare_s, it.bytes, -it.rate];
        let (own, others) = (values(self), values(other));
        own.iter().zip(&others).all(|it| it.1 <= it.0) && own != others
    }
}

/// The score of each: the sum of preparation, bytes and rate, each from 0 for the worst to 1 for the best of all, times its
/// weight.
pub fn scores(all: &[Whole], weights: [f64; 3]) -> Vec<f64> {
    let normal = |value: fn(&Whole) -> f64| {
        let (least, most) = all
            .iter()
            .map(value)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |it, next| (it.0.min(next), it.1.max(next)));
        let range = most - least;
        all.iter().map(move |it| if range > 0.0 { (value(it) - least) / range } else { 1.0 })
    };
    let values = normal(|it| -it.prepare_s).zip(normal(|it| -it.bytes)).zip(normal(|it| it.rate));
    let [prepare, bytes, rate] = weights;
    values.map(|((p, s), t)| prepare * p + bytes * s + rate * t).collect()
}

/// The ones that no other one beats in everything.
pub fn pareto(all: &[Whole]) -> Vec<bool> {
    all.iter().map(|it| !all.iter().any(|other| it.is_beaten_by(other))).collect()
}

/// The one with the highest score; of those that are equal the one with the fewest bytes, and one that no other one beats.
pub fn winner(all: &[Whole], weights: [f64; 3]) -> Option<usize> {
    let scores = scores(all, weights);
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let rest = |it: &Whole| [it.bytes, it.prepare_s, -it.rate];
    let order = |a: &usize, b: &usize| {
        let pairs = rest(&all[*a]).into_iter().zip(rest(&all[*b]));
        pairs.map(|(a, b)| a.total_cmp(&b)).find(|it| it.is_ne()).unwrap_or(Ordering::Equal)
    };
    (0..all.len()).filter(|it| most - scores[*it] < TIE).min_by(order)
}

/// Strategies that nobody would choose, and which still decide which ones have the highest score: without them it is others,
/// or others as well. Since scores depend on the worst of all.
pub fn reversals(all: &[Whole], weights: [f64; 3]) -> Vec<usize> {
    let winners = |among: &[usize]| {
        let scores = scores(&among.iter().map(|it| all[*it]).collect::<Vec<_>>(), weights);
        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let best = among.iter().zip(scores).filter(|it| most - it.1 < TIE);
        best.map(|it| *it.0).collect::<Vec<_>>()
    };
    let whole: Vec<usize> = (0..all.len()).collect();
    let (best, pareto) = (winners(&whole), pareto(all));
    let without =
        |it: &usize| whole.iter().copied().filter(|other| other != it).collect::<Vec<_>>();
    whole.iter().copied().filter(|it| !pareto[*it] && winners(&without(it)) != best).collect()
}

/// The strategy that takes the least time, and the epochs from which it does, for any number of epochs.
pub fn by_epochs(all: &[Whole], outputs: f64) -> Vec<(f64, usize)> {
    let epoch = |it: usize| outputs / all[it].rate;
    let first = (0..all.len()).min_by(|a, b| {
        all[*a].prepare_s.total_cmp(&all[*b].prepare_s).then(epoch(*a).total_cmp(&epoch(*b)))
    });
    let mut found: Vec<(f64, usize)> = first.into_iter().map(|it| (0.0, it)).collect();
    while let Some((from, now)) = found.last().copied() {
        // The first line that crosses it from above.
        let crossing = |it: usize| {
            let at = (all[it].prepare_s - all[now].prepare_s) / (epoch(now) - epoch(it));
            (epoch(it) < epoch(now)).then_some((at.max(from), it))
        };
        let next = (0..all.len()).filter_map(crossing).min_by(|a, b| a.0.total_cmp(&b.0));
        match next {
            Some(next) => found.push(next),
            None => break,
        }
    }
    found
}
