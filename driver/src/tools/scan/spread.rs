//! How numbers are spread, in bounded memory.

use serde::Serialize;

/// Buckets for each power of two: quantiles are within 1/64 of the truth.
const PARTS: u64 = 64;

/// How numbers are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// The least.
    pub min: u64,
    /// Half are smaller; within 2%.
    pub median: u64,
    /// One in a hundred is larger; within 2%.
    pub p99: u64,
    /// The most.
    pub max: u64,
}

/// Counts numbers by their size.
pub(super) struct Histogram {
    counts: Vec<u64>,
    n: u64,
    min: u64,
    max: u64,
}

impl Histogram {
    pub(super) fn new() -> Self {
        let buckets = (64 * PARTS) as usize;
        Self { counts: vec![0; buckets], n: 0, min: u64::MAX, max: 0 }
    }

    pub(super) fn add(&mut self, number: u64) {
        self.counts[bucket(number)] += 1;
        self.n += 1;
        (self.min, self.max) = (self.min.min(number), self.max.max(number));
    }

    /// How they are spread; none where there are none.
    pub(super) fn spread(&self) -> Option<Spread> {
        let Self { min, max, .. } = *self;
        let at = |share: f64| self.quantile(share).clamp(min, max);
        (self.n > 0).then(|| Spread { min, median: at(0.5), p99: at(0.99), max })
    }

    fn quantile(&self, share: f64) -> u64 {
        let mut left = (self.n as f64 * share).ceil().max(1.0) as u64;
        for (i, &count) in self.counts.iter().enumerate() {
            if count >= left {
                return least(i as u64);
            }
            left -= count;
        }
        self.max
    }
}

/// The bucket of a number: small ones have one of their own.
fn bucket(number: u64) -> usize {
    if number < PARTS {
        return number as usize;
    }
    let power = u64::from(number.ilog2());
    let part = (number >> (power - 6)) - PARTS;
    ((power - 5) * PARTS + part) as usize
}

/// The least number of a bucket.
fn least(bucket: u64) -> u64 {
    if bucket < PARTS {
        return bucket;
    }
    (bucket % PARTS + PARTS) << (bucket / PARTS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_narrow_and_in_order() {
        for number in (0..2000).chain([12_345, 1 << 40, u64::MAX]) {
            let low = least(bucket(number) as u64);
            assert!(low <= number && number - low <= number / 64, "{number}: {low}");
        }
    }

    #[test]
    fn quantiles_are_those_of_a_sorted_list() {
        let mut all = Histogram::new();
        assert_eq!(all.spread(), None);
        (1..=200).rev().for_each(|it| all.add(it));
        let found = all.spread().unwrap();
        assert_eq!((found.min, found.median, found.p99, found.max), (1, 100, 198, 200));
    }
}
