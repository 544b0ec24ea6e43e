//! `draw_aug_mix`: which operations one chain of AugMix does.

use super::{
    policies::{BINS, MIX, Operation},
    short_size::side,
};
use crate::prelude::*;
use runtime::Philox;

function! {
    /// Draws the operations of one chain of AugMix for `augment`.
    ///
    /// One to three of 13 operations, each with one of the `severity` weakest of ten magnitudes and with a random
    /// sign (Hendrycks et al., "AugMix", ICLR 2020). `shape` is that of the image: how far it is moved depends on
    /// its sides. Operations and magnitudes are torchvision's. Each row of the result is an operation and its
    /// magnitude; a chain that is shorter ends with operation 0. `aug_mix` uses it.
    ///
    /// Fails with `size` if `severity` is not from 1 to 10.
    ///
    /// ```pipe
    /// range(2) |> map { steps: draw_aug_mix(plasma(i, 40, 60).shape, 3) }    # { steps: f64[3, 2] }
    /// ```
    "draw_aug_mix(shape: i64[k], severity: int) random fails -> f64[3, 2]",
    cost: Cost::call(60.0),
}

/// Operations of a chain, at the most.
const DEPTH: usize = 3;

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::draw(|random, args, out| {
        let (shape, severity) = (args.tensor(0), args.int(1));
        if !(1..=BINS as i64).contains(&severity) {
            let detail = format!("`severity` must be from 1 to {BINS}, found {severity}");
            return Err(Fault::new("size", detail));
        }
        let sides = [0, 1].map(|it| side(&shape, it));
        let steps = drawn(severity as u64, sides, random);
        out.tensor::<f64>(&[DEPTH, 2])?.copy_from_slice(steps.as_flattened());
        Ok(())
    }))
}

fn drawn(severity: u64, sides: [i64; 2], random: &mut Philox) -> [[f64; 2]; DEPTH] {
    let depth = 1 + random.below(DEPTH as u64) as usize;
    let mut steps = [[f64::from(Operation::Identity as u8), 0.0]; DEPTH];
    for step in &mut steps[..depth] {
        // All that are drawn but the first one, which does nothing.
        let operation = Operation::ALL[1 + random.below(Operation::DRAWN as u64 - 1) as usize];
        *step = MIX.drawn(operation, (random.below(severity) as usize, BINS), sides, random);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, run};
    use super::*;

    #[test]
    fn chains_are_short_and_weak() {
        let mut depths = [0; DEPTH];
        for id in 0..900 {
            let steps = drawn(3, [333, 500], &mut Philox::new(2, id, 0));
            let depth = steps.iter().position(|it| it[0] == 0.0).unwrap_or(DEPTH);
            assert!(steps[depth..].iter().all(|it| *it == [0.0, 0.0]), "{steps:?}");
            depths[depth - 1] += 1;
            for [number, magnitude] in &steps[..depth] {
                let operation = Operation::ALL[*number as usize];
                assert_ne!(operation, Operation::Invert);
                let among =
                    |at| MIX.magnitude(operation, (at, BINS), [333, 500]) == magnitude.abs();
                assert!((0..3).any(among), "{operation:?} {magnitude}");
            }
        }
        // Five standard errors of 300.
        assert!(depths.iter().all(|it| (229..371).contains(it)), "{depths:?}");
    }

    #[test]
    fn severities_have_bounds() {
        for severity in [0_i64, 11] {
            let args = [Value::new(&[3], &[4_i64, 5, 3]), severity.into()];
            assert_eq!(run::<f64>(&ENTRY, &args).map_err(|it| it.code), Err("size"));
        }
    }
}
