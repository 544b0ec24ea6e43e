//! `draw_auto_augment`: which operations AutoAugment does.

use super::{
    policies::{BINS, CIFAR10, IMAGENET, Operation, Policy, STANDARD, SVHN},
    short_size::side,
};
use crate::prelude::*;
use runtime::Philox;

function! {
    /// Draws the operations of AutoAugment for `augment`.
    ///
    /// One of the 25 pairs of the policy that was learned on a data set; each of its two operations is done with
    /// its own probability, and with a random sign (Cubuk et al., "AutoAugment", CVPR 2019). `shape` is that of
    /// the image: how far it is moved depends on its sides. Policies, numbers and magnitudes are torchvision's.
    /// Each row of the result is an operation and its magnitude; what is not done is operation 0.
    /// `auto_augment` uses it.
    ///
    /// ```pipe
    /// range(2) |> map { steps: draw_auto_augment(plasma(i, 40, 60).shape) }    # { steps: f64[2, 2] }
    /// ```
    "draw_auto_augment(shape: i64[k], policy: imagenet | cifar10 | svhn = imagenet) random -> f64[2, 2]",
    cost: Cost::call(60.0),
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let policy = match call.word(1) {
        "imagenet" => &IMAGENET,
        "cifar10" => &CIFAR10,
        _ => &SVHN,
    };
    Ok(Kernel::draw(move |random, args, out| {
        let shape = args.tensor(0);
        let sides = [0, 1].map(|it| side(&shape, it));
        out.tensor::<f64>(&[2, 2])?.copy_from_slice(drawn(policy, sides, random).as_flattened());
        Ok(())
    }))
}

fn drawn(policy: &Policy, sides: [i64; 2], random: &mut Philox) -> [[f64; 2]; 2] {
    let pair = policy[random.below(policy.len() as u64) as usize];
    pair.map(|(operation, p, at)| {
        let step = STANDARD.drawn(operation, (at, BINS), sides, random);
        if random.uniform(0.0, 1.0) < p {
            step
        } else {
            [f64::from(Operation::Identity as u8), 0.0]
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_drawn_as_likely_as_they_say() {
        for policy in [&IMAGENET, &CIFAR10, &SVHN] {
            let (mut done, mut expected) = ([0.0; 15], [0.0; 15]);
            for step in policy.as_flattened() {
                expected[step.0 as usize] += step.1 / 25.0;
            }
            for id in 0..20_000 {
                for [operation, _] in drawn(policy, [333, 500], &mut Philox::new(5, id, 0)) {
                    done[operation as usize] += 1.0 / 20_000.0;
                }
            }
            for (i, (done, expected)) in done.into_iter().zip(expected).enumerate().skip(1) {
                // Five standard errors: at most two are done of 20,000 each.
                assert!((done - expected).abs() < 0.036, "{i}: {done} for {expected}");
            }
        }
    }
}
