//! `draw_rand_augment`: which operations RandAugment does.

use super::{
    policies::{Operation, STANDARD},
    short_size::side,
};
use crate::prelude::*;

function! {
    /// Draws the operations of RandAugment for `augment`.
    ///
    /// `n` of 14 operations are drawn, each with the magnitude at place `m` of `bins` from weak to strong, and
    /// with a random sign (Cubuk et al., "RandAugment", 2020). `shape` is that of the image: how far it is moved
    /// depends on its sides. Numbers and magnitudes are torchvision's. Each row of the result is an operation and
    /// its magnitude. `rand_augment` uses it.
    ///
    /// Fails with `size` if `n` is not from 0 to 64, `bins` not from 2 to 1,024, or `m` not less than `bins`.
    ///
    /// ```pipe
    /// range(2) |> map { steps: draw_rand_augment(plasma(i, 40, 60).shape, 2, 9, 31) }    # { steps: f64[2, 2] }
    /// ```
    "draw_rand_augment(shape: i64[k], n: int, m: int, bins: int) random fails -> f64[n, 2]",
    cost: Cost::call(60.0),
    result: Some(result),
}

/// Operations of one image.
const STEPS_MAX: i64 = 64;
/// Magnitudes to choose from.
pub(super) const BINS_MAX: i64 = 1024;

fn result(call: &Applied<'_>) -> Result<Type, String> {
    let n = match call.int(1) {
        Some(n) => Extent::Known(steps(n).map_err(|it| it.detail.into_owned())? as u64),
        None => Extent::Unknown,
    };
    if let (Some(m), Some(bins)) = (call.int(2), call.int(3)) {
        place(m, bins).map_err(|it| it.detail.into_owned())?;
    }
    Ok(Type::Tensor { dtype: DType::F64, shape: vec![n, Extent::Known(2)] })
}

fn steps(n: i64) -> Result<usize, Fault> {
    if (0..=STEPS_MAX).contains(&n) {
        return Ok(n as usize);
    }
    Err(Fault::new("size", format!("`n` must be from 0 to {STEPS_MAX}, found {n}")))
}

/// The place of a magnitude, and of how many.
fn place(m: i64, bins: i64) -> Result<(usize, usize), Fault> {
    if !(2..=BINS_MAX).contains(&bins) {
        let detail = format!("`bins` must be from 2 to {BINS_MAX}, found {bins}");
        return Err(Fault::new("size", detail));
    }
    if (0..bins).contains(&m) {
        return Ok((m as usize, bins as usize));
    }
    Err(Fault::new("size", format!("`m` must be from 0 to {} of {bins} bins, found {m}", bins - 1)))
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::draw(|random, args, out| {
        let shape = args.tensor(0);
        let sides = [0, 1].map(|it| side(&shape, it));
        let (n, place) = (steps(args.int(1))?, place(args.int(2), args.int(3))?);
        for step in out.tensor::<f64>(&[n, 2])?.chunks_exact_mut(2) {
            let operation = Operation::ALL[random.below(Operation::DRAWN as u64) as usize];
            step.copy_from_slice(&STANDARD.drawn(operation, place, sides, random));
        }
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, run};
    use super::*;
    use std::collections::BTreeMap;

    fn drawn([n, m, bins]: [i64; 3]) -> Result<Vec<f64>, Fault> {
        let shape = Value::new(&[3], &[333_i64, 500, 3]);
        run::<f64>(&ENTRY, &[shape, n.into(), m.into(), bins.into()]).map(|it| it.1)
    }

    #[test]
    fn each_operation_is_drawn_in_both_directions() {
        let mut counts: BTreeMap<(usize, bool), usize> = BTreeMap::new();
        for step in drawn([64, 9, 31]).expect("it is in bounds").chunks(2) {
            let operation = Operation::ALL[step[0] as usize];
            let magnitude = STANDARD.magnitude(operation, (9, 31), [333, 500]);
            assert_eq!(step[1].abs(), magnitude);
            *counts.entry((step[0] as usize, step[1] < 0.0)).or_default() += 1;
        }
        assert!(counts.keys().all(|it| it.0 < Operation::DRAWN));
        assert!(counts.len() > 12, "{counts:?}");
        assert!(counts.keys().filter(|it| it.1).all(|it| (1..=9).contains(&it.0)));
    }

    #[test]
    fn numbers_have_bounds() {
        assert_eq!(drawn([0, 0, 2]), Ok(vec![]));
        for wrong in [[-1, 9, 31], [65, 9, 31], [2, 31, 31], [2, -1, 31], [2, 0, 1], [2, 0, 1025]] {
            assert_eq!(drawn(wrong).map_err(|it| it.code), Err("size"), "{wrong:?}");
        }
    }
}
