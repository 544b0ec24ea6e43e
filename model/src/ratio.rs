//! Records entering for each record leaving: the `taken` and the shares of a step.

/// Batches of so many records.
pub fn batch(records: u64) -> f64 {
    records.max(1) as f64
}

/// Whatever was counted: entering by leaving; 1 where nothing was (paper: a missing ratio is 1).
///
/// Right for batches by key, windows by key, packing: the mean, with what was thrown away.
pub fn counted(entering: u64, leaving: u64) -> f64 {
    if entering == 0 || leaving == 0 { 1.0 } else { entering as f64 / leaving as f64 }
}

/// A filter that keeps this part of the records, above 0 up to 1.
pub fn filter(kept: f64) -> f64 {
    inverse(kept)
}

/// A step that gives so many records for each one, on average.
pub fn flat_map(given: f64) -> f64 {
    inverse(given)
}

/// Windows that start every `stride` records: a window has `size` records, of which `stride` are new.
pub fn windows(stride: u64) -> f64 {
    stride.max(1) as f64
}

/// Shares of a mix, from its weights; equal where no weight is above 0.
pub fn mix(weights: &[f64]) -> Vec<f64> {
    let sum: f64 = weights.iter().sum();
    let part = |it: &f64| if sum > 0.0 { it / sum } else { 1.0 / weights.len() as f64 };
    weights.iter().map(part).collect()
}

/// Shares of inputs that come one after the other, from their lengths: a mix over the whole epoch.
pub fn concat(records: &[f64]) -> Vec<f64> {
    mix(records)
}

/// Shares of a zip: a record of each input for each one leaving.
pub fn zip(inputs: usize) -> Vec<f64> {
    vec![1.0; inputs]
}

/// 1/x, and 1 for what is no ratio.
fn inverse(ratio: f64) -> f64 {
    if ratio > 0.0 && ratio.is_finite() { ratio.recip() } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_ratios_are_one() {
        assert_eq!([counted(0, 5), counted(7, 0), filter(0.0), flat_map(f64::NAN)], [1.0; 4]);
    }

    #[test]
    fn shares_of_a_mix_add_up() {
        assert_eq!(mix(&[3.0, 1.0]), [0.75, 0.25]);
        assert_eq!(mix(&[0.0, 0.0]), [0.5, 0.5]);
        assert_eq!(concat(&[10.0, 30.0]), [0.25, 0.75]);
    }
}
