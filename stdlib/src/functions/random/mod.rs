//! Functions that draw random numbers.
//!
//! What a draw gives depends on the seed, the place in the program, the record and the epoch alone
//! (`semantics.md`, 6): the same for any number of workers, and after a restart.

mod arrays;
mod beta;
mod coin;
mod normal;
mod permutation;
mod random_index;
mod random_normal;
mod random_uniform;
mod uniform;
mod uniform_int;

use crate::Function;

/// All of them.
pub(crate) static ALL: &[&Function] = &[
    &beta::ENTRY,
    &coin::ENTRY,
    &normal::ENTRY,
    &permutation::ENTRY,
    &random_index::ENTRY,
    &random_normal::ENTRY,
    &random_uniform::ENTRY,
    &uniform::ENTRY,
    &uniform_int::ENTRY,
];

#[cfg(test)]
mod draws {
    use crate::functions::tensor::trial::Trial;
    use runtime::{Element, Philox};

    /// What a call draws for the first `n` records of an epoch.
    pub(super) fn sample<T: Element>(trial: &Trial<'_>, n: u64) -> Vec<T> {
        // A function of key, record and epoch alone: asked twice, in another order, the same.
        let draw = |id| trial.draw(&mut Philox::new(7, id, 1)).expect("it can be drawn");
        let last = draw(n - 1);
        let all: Vec<_> = (0..n).map(draw).collect();
        assert_eq!(all.last(), Some(&last));
        all.iter().flat_map(|it| it.to_vec()).collect()
    }

    /// That mean and variance of what was drawn are those of the distribution, within 5 standard
    /// errors; that of the variance is `spread` times the variance, by the root of the count.
    pub(super) fn check_moments(found: &[f64], (mean, variance): (f64, f64), spread: f64) {
        let n = found.len() as f64;
        let found_mean = found.iter().sum::<f64>() / n;
        let found_variance = found.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / n;
        let error = 5.0 * (variance / n).sqrt();
        assert!((found_mean - mean).abs() < error, "mean {found_mean} for {mean} ± {error}");
        let error = 5.0 * spread * variance / n.sqrt();
        assert!(
            (found_variance - variance).abs() < error,
            "variance {found_variance} for {variance} ± {error}"
        );
    }
}
