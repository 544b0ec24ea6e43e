//! How many records of each block come from which stream.

/// Records of a block (`semantics.md`, 9).
pub(super) const BLOCK: usize = 1024;

/// All weights together: parts of a record that shares are counted in.
const WHOLE: i64 = 1 << 32;

/// The streams' shares, and what each is owed of the blocks so far.
#[derive(Debug, Clone)]
pub(super) struct Shares {
    weights: Vec<f64>,
    /// Of each record, in [`WHOLE`]ths; they add up to it.
    shares: Vec<i64>,
    /// What each should have had and had not, in [`WHOLE`]ths of a record; they add up to 0.
    owed: Vec<i64>,
}

impl Shares {
    /// Shares in proportion to the weights, which are not negative.
    pub(super) fn new(weights: &[f64]) -> Self {
        let weights = weights.to_vec();
        let (shares, owed) = (parts(&weights), vec![0; weights.len()]);
        Self { weights, shares, owed }
    }

    /// Whether there is a stream to take records from.
    pub(super) fn any(&self) -> bool {
        self.weights.iter().any(|it| *it > 0.0)
    }

    /// The stream has ended; the others share what comes in their own proportion.
    pub(super) fn end(&mut self, stream: usize) {
        self.weights[stream] = 0.0;
        *self = Self::new(&self.weights);
    }

    /// The streams of the next block's records, in order of the streams.
    pub(super) fn block(&mut self) -> Vec<u16> {
        let counts = self.counts();
        let streams = counts.iter().enumerate();
        streams.flat_map(|(it, count)| vec![it as u16; *count as usize]).collect()
    }

    /// Goes on as after so many blocks.
    pub(super) fn pass(&mut self, blocks: u64) {
        (0..blocks).for_each(|_| drop(self.counts()));
    }

    /// How many records of the next block come from each stream.
    ///
    /// Each has the whole number below what it is due; the rest goes to those that are due most
    /// of another one, the first of them where it is the same (largest remainder, Hamilton).
    fn counts(&mut self) -> Vec<i64> {
        for (owed, share) in self.owed.iter_mut().zip(&self.shares) {
            *owed += share * BLOCK as i64;
        }
        let mut left = BLOCK as i64;
        let mut counts: Vec<i64> = Vec::with_capacity(self.owed.len());
        for owed in &mut self.owed {
            let count = (*owed / WHOLE).clamp(0, left);
            *owed -= count * WHOLE;
            left -= count;
            counts.push(count);
        }
        for _ in 0..left {
            let most = (0..counts.len()).rev().max_by_key(|it| self.owed[*it]);
            let most = most.expect("there is a stream");
            self.owed[most] -= WHOLE;
            counts[most] += 1;
        }
        counts
    }
}

/// The weights as whole parts of [`WHOLE`], by largest remainder; those that are 0 stay 0.
fn parts(weights: &[f64]) -> Vec<i64> {
    let largest = weights.iter().fold(0.0, |a: f64, b| a.max(*b));
    if largest == 0.0 {
        return vec![0; weights.len()];
    }
    let scaled: Vec<f64> = weights.iter().map(|it| it / largest).collect();
    let sum: f64 = scaled.iter().sum();
    let exact: Vec<f64> = scaled.iter().map(|it| it / sum * WHOLE as f64).collect();
    let mut parts: Vec<i64> = exact.iter().map(|it| *it as i64).collect();

    let mut by_remainder: Vec<usize> = (0..parts.len()).filter(|it| weights[*it] > 0.0).collect();
    by_remainder.sort_by(|a, b| f64::total_cmp(&exact[*b].fract(), &exact[*a].fract()));
    let missing = WHOLE - parts.iter().sum::<i64>();
    for it in by_remainder.iter().cycle().take(missing.max(0) as usize) {
        parts[*it] += 1;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_exact_in_the_long_run() {
        for weights in [vec![0.7, 0.2, 0.1], vec![1.0, 1e-5, 3.0], vec![1.0; 7], vec![0.0, 2.0]] {
            let mut shares = Shares::new(&weights);
            let mut counts = vec![0_u64; weights.len()];
            for block in 1..=500 {
                let slots = shares.block();
                assert_eq!(slots.len(), BLOCK);
                slots.iter().for_each(|it| counts[usize::from(*it)] += 1);
                let sum: f64 = weights.iter().sum();
                for (count, weight) in counts.iter().zip(&weights) {
                    let due = weight / sum * (block * BLOCK) as f64;
                    assert!((*count as f64 - due).abs() < weights.len() as f64, "{weights:?}");
                    assert!(*weight > 0.0 || *count == 0);
                }
            }
        }
    }

    #[test]
    fn an_ended_stream_leaves_its_share() {
        let mut shares = Shares::new(&[2.0, 1.0, 1.0]);
        shares.end(0);
        let slots = shares.block();
        assert_eq!(slots.iter().filter(|it| **it == 1).count(), 512);
        shares.end(1);
        shares.end(2);
        assert!(!shares.any());
    }
}
