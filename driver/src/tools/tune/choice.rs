//! Which number of workers is chosen: the model's, unless another one was measured to be faster by more
//! than the noise.
//!
//! Numbers of workers are measured by turns, so that a machine that becomes slower is slower for all of
//! them; each turn is compared with that of the model's choice in the same round.

use crate::session::lock::WORKERS_PER_CORE;
use runtime::Failure;

/// The shortest turn, in seconds: what is shorter measures how a run begins.
pub(super) const TURN_SECONDS: f64 = 2.0;
/// Rounds of turns: fewer than the first number tell nothing of the noise.
pub(super) const ROUNDS: [usize; 2] = [3, 5];
/// Outputs of an epoch for each core below which workers wait for its end rather than for work.
const OUTPUTS_PER_CORE: f64 = 8.0;
/// A gain below this part is no reason to leave the model's choice, however sure it is.
const GAIN: f64 = 0.03;
/// What is so much slower in the first round is not measured again: more than noise makes of it.
const HOPELESS: f64 = 0.75;
/// Of those that are faster, the one with the fewest workers may be slower than the best by this part.
const AS_GOOD: f64 = 0.985;
/// Student's t for two-sided 95%, by rounds from 3 on (2, 3, 4 degrees of freedom).
const T: [f64; 3] = [4.303, 3.182, 2.776];

/// What was measured in a turn.
pub(super) trait Turn {
    /// Records in a second.
    fn rate(&self) -> f64;
}

/// A number of workers, and its turns, a round each.
#[derive(Debug)]
pub(super) struct Tried<P> {
    pub(super) workers: usize,
    pub(super) turns: Vec<P>,
}

/// Why a number of workers was chosen.
#[derive(Debug, Clone, PartialEq)]
pub enum Basis {
    /// It was faster than the model's choice by this part, and by more than the noise.
    Faster {
        /// The model's choice.
        than: usize,
        /// By how much, as a part.
        gain: f64,
        /// Turns of each.
        rounds: usize,
    },
    /// It is the model's choice, and nothing was faster by more than the noise.
    Model,
    /// It is the model's choice, and nothing could be told from what was measured: why.
    TooFew(String),
}

impl<P: Turn> Tried<P> {
    /// The turn in the middle, of those by their rates.
    pub(super) fn middle(&self) -> &P {
        let mut all: Vec<&P> = self.turns.iter().collect();
        all.sort_by(|a, b| a.rate().total_cmp(&b.rate()));
        all[all.len() / 2]
    }

    pub(super) fn rate(&self) -> f64 {
        self.middle().rate()
    }

    /// The gain over another number of workers, turn by turn: the mean, where it is more than the noise.
    fn gain_over(&self, model: &Self) -> Option<f64> {
        let pairs = self.turns.iter().zip(&model.turns);
        let ratios: Vec<f64> = pairs.map(|(own, its)| own.rate() / its.rate() - 1.0).collect();
        let t = T.get(ratios.len().checked_sub(ROUNDS[0])?.min(T.len() - 1))?;
        let n = ratios.len() as f64;
        let mean = ratios.iter().sum::<f64>() / n;
        let variance = ratios.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let least = mean - t * (variance / n).sqrt();
        (least > 0.0 && mean >= GAIN).then_some(mean)
    }
}

/// Whether an epoch of so many outputs tells numbers of workers apart; why not.
pub(super) fn too_few(outputs: Option<f64>, unit: &str, cores: usize) -> Option<String> {
    let outputs = outputs.filter(|it| *it < OUTPUTS_PER_CORE * cores as f64)?;
    let plural = if outputs == 1.0 {
        ""
    } else if unit == "batch" {
        "es"
    } else {
        "s"
    };
    Some(format!("an epoch has only {outputs:.0} {unit}{plural}"))
}

/// Numbers of workers that are worth a turn beside the model's choice.
pub(super) fn others(model: usize, cores: usize) -> Vec<usize> {
    let mut all = vec![cores, cores + 1, WORKERS_PER_CORE * cores];
    all.retain(|it| *it != model);
    all.dedup();
    all
}

/// Rounds for so many numbers of workers in the seconds that are left, where a turn takes so long; and
/// the longest that a turn may take. None where there is no time for enough of them.
pub(super) fn rounds(numbers: usize, left: f64, turn: f64) -> Option<(usize, f64)> {
    let round = numbers.max(1) as f64 * turn;
    let rounds = ((left.max(0.0) / round) as usize).min(ROUNDS[1]);
    (rounds >= ROUNDS[0]).then(|| (rounds, left / (rounds * numbers.max(1)) as f64))
}

/// Measures the model's choice and others by turns; what is hopeless has but one.
pub(super) fn by_turns<P: Turn>(
    (model, others): (usize, &[usize]),
    rounds: usize,
    measure: &mut dyn FnMut(usize) -> Result<P, Failure>,
) -> Result<Vec<Tried<P>>, Failure> {
    let numbers = [model].into_iter().chain(others.iter().copied());
    let mut tried: Vec<Tried<P>> =
        numbers.map(|workers| Tried { workers, turns: Vec::new() }).collect();
    for round in 0..rounds {
        let best = tried.iter().filter(|it| round > 0 && !it.turns.is_empty());
        let best = best.map(|it| it.turns[0].rate()).fold(0.0, f64::max);
        for (at, it) in tried.iter_mut().enumerate() {
            if at == 0 || round == 0 || it.turns[0].rate() >= best * HOPELESS {
                it.turns.push(measure(it.workers)?);
            }
        }
    }
    Ok(tried)
}

/// The place of the number that is chosen, and why; the first is the model's choice.
pub(super) fn choose<P: Turn>(tried: &[Tried<P>]) -> (usize, Basis) {
    let model = &tried[0];
    let faster = (1..tried.len()).filter_map(|at| Some((at, tried[at].gain_over(model)?)));
    let faster: Vec<(usize, f64)> = faster.collect();
    let most = faster.iter().map(|it| it.1).fold(0.0, f64::max);
    let good = faster.iter().filter(|it| 1.0 + it.1 >= (1.0 + most) * AS_GOOD);
    match good.min_by_key(|it| tried[it.0].workers) {
        Some(&(at, gain)) => {
            let rounds = tried[at].turns.len();
            (at, Basis::Faster { than: model.workers, gain, rounds })
        }
        None => (0, Basis::Model),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Turn for f64 {
        fn rate(&self) -> f64 {
            *self
        }
    }

    /// Noise between -1 and 1 (SplitMix64; Steele, Lea, Flood 2014).
    fn noise(state: &mut u64) -> f64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    /// What is chosen on two cores where the model says 2, of a machine that has so many records a
    /// second with so many workers and as much noise.
    fn chosen(rate: impl Fn(usize) -> f64, much: f64, seed: u64) -> (usize, Basis) {
        let mut state = seed;
        let mut measure = |workers| Ok(rate(workers) * (1.0 + much * noise(&mut state)));
        let tried = by_turns((2, &others(2, 2)), 5, &mut measure).unwrap();
        let (at, basis) = choose(&tried);
        (tried[at].workers, basis)
    }

    #[test]
    fn a_tie_goes_to_the_model() {
        assert_eq!(chosen(|_| 1_000.0, 0.0, 0), (2, Basis::Model));
        // Faster for sure, and not worth a word.
        assert_eq!(chosen(|it| 1_000.0 + 5.0 * it as f64, 0.0, 0), (2, Basis::Model));
    }

    #[test]
    fn noise_gives_no_more_workers_than_cores() {
        let more = |much: f64| {
            (0..500).filter(|seed| chosen(|_| 1_000.0, much, seed * 7_919).0 > 2).count()
        };
        // Two numbers are compared with the model's: of each one in forty may seem faster.
        assert!(more(0.05) <= 25 && more(0.30) <= 25, "{} {}", more(0.05), more(0.30));
    }

    #[test]
    fn a_gain_beyond_the_noise_is_taken() {
        // A third worker computes while another waits; a fourth is in the way.
        let waits = |workers: usize| [1_000.0, 1_300.0, 1_200.0][workers - 2];
        for seed in 0..50 {
            let (workers, basis) = chosen(waits, 0.02, seed);
            assert_eq!(workers, 3);
            assert!(matches!(basis, Basis::Faster { than: 2, rounds: 5, gain } if gain > 0.2));
        }
    }

    #[test]
    fn what_is_hopeless_has_one_turn() {
        let mut turns = Vec::new();
        let mut measure = |workers: usize| {
            turns.push(workers);
            Ok(1_000.0 / workers as f64)
        };
        let tried = by_turns((1, &[2, 4]), 3, &mut measure).unwrap();
        assert_eq!(tried.iter().map(|it| it.turns.len()).collect::<Vec<_>>(), [3, 1, 1]);
        assert_eq!(turns, [1, 2, 4, 1, 1]);
        assert_eq!(choose(&tried), (0, Basis::Model));
    }

    #[test]
    fn a_choice_needs_time_and_data() {
        assert_eq!(rounds(3, 60.0, 2.0), Some((5, 4.0)));
        assert_eq!(rounds(3, 18.0, 2.0), Some((3, 2.0)));
        assert_eq!(rounds(3, 17.0, 2.0), None);
        assert_eq!(rounds(1, -1.0, 2.0), None);
        let few = too_few(Some(3.0), "batch", 2);
        assert_eq!(few.as_deref(), Some("an epoch has only 3 batches"));
        assert_eq!(too_few(Some(1.0), "batch", 2).as_deref(), Some("an epoch has only 1 batch"));
        assert_eq!(too_few(Some(16.0), "batch", 2), None);
        assert_eq!(too_few(None, "batch", 2), None);
        assert_eq!(others(2, 2), [3, 4]);
        assert_eq!(others(1, 2), [2, 3, 4]);
        assert_eq!(others(1, 1), [2]);
    }
}
