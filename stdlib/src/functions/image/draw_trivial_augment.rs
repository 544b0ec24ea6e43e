//! `draw_trivial_augment`: which operation TrivialAugment does.

use super::{
    draw_rand_augment::BINS_MAX,
    policies::{Operation, WIDE},
};
use crate::prelude::*;

function! {
    /// Draws the operation of TrivialAugment for `augment`.
    ///
    /// One of 14 operations, with any of `bins` magnitudes, all equally likely, and with a random sign (Müller
    /// and Hutter, "TrivialAugment", ICCV 2021). Numbers and magnitudes are those of torchvision's
    /// `TrivialAugmentWide`. The row of the result is the operation and its magnitude. `trivial_augment` uses it.
    ///
    /// Fails with `size` if `bins` is not from 2 to 1,024.
    ///
    /// ```pipe
    /// range(2) |> map { steps: draw_trivial_augment(31) }    # { steps: f64[1, 2] }
    /// ```
    "draw_trivial_augment(bins: int) random fails -> f64[1, 2]",
    cost: Cost::call(60.0),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::draw(|random, args, out| {
        let bins = args.int(0);
        if !(2..=BINS_MAX).contains(&bins) {
            let detail = format!("`bins` must be from 2 to {BINS_MAX}, found {bins}");
            return Err(Fault::new("size", detail));
        }
        let operation = Operation::ALL[random.below(Operation::DRAWN as u64) as usize];
        let place = (random.below(bins as u64) as usize, bins as usize);
        // The wide space moves by pixels, whatever the sides are.
        let step = WIDE.drawn(operation, place, [0; 2], random);
        out.tensor::<f64>(&[1, 2])?.copy_from_slice(&step);
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, run};
    use super::*;

    #[test]
    fn bins_have_bounds() {
        for (bins, expected) in [(1_i64, Err("size")), (1025, Err("size")), (2, Ok(2)), (31, Ok(2))]
        {
            let found = run::<f64>(&ENTRY, &[Value::from(bins)]);
            assert_eq!(found.map(|it| it.1.len()).map_err(|it| it.code), expected, "{bins}");
        }
    }

    #[test]
    fn magnitudes_are_those_of_the_operation() {
        for id in 0..300 {
            let random = &mut runtime::Philox::new(1, id, 0);
            let operation = Operation::ALL[random.below(14) as usize];
            let at = random.below(31) as usize;
            let [number, magnitude] = WIDE.drawn(operation, (at, 31), [0; 2], random);
            assert_eq!(number as usize, operation as usize);
            assert_eq!(magnitude.abs(), WIDE.magnitude(operation, (at, 31), [7, 9]));
        }
    }
}
