//! `draw_jitter`: by how much, and in which order, colours are changed.

use crate::prelude::*;

function! {
    /// Draws factors for `adjust_colors`, in random order.
    ///
    /// The factors are for brightness, contrast, saturation and hue. The first three factors are uniform in
    /// `1 - x ..= 1 + x`, at least 0, the hue's in `-x ..= x`; the order is any of the 24 (torchvision's
    /// `ColorJitter`). An argument of 0 leaves that property unchanged. Each row of the result is a number,
    /// from 0 for the brightness to 3 for the hue, and a factor, as `adjust_colors` expects. `color_jitter`
    /// uses it.
    ///
    /// ```pipe
    /// range(2) |> map { steps: draw_jitter(0.4, 0.4, 0.4, 0.1) }    # { steps: f64[4, 2] }
    /// ```
    "draw_jitter(brightness: float, contrast: float, saturation: float, hue: float) random -> f64[4, 2]",
    cost: Cost::call(60.0),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::draw(|random, args, out| {
        let mut order = [0, 1, 2, 3];
        for last in (1..4).rev() {
            order.swap(last, random.below(last as u64 + 1) as usize);
        }
        let factors = [0, 1, 2, 3].map(|it| {
            let (spread, center) = (args.float(it), if it == 3 { 0.0 } else { 1.0 });
            let low = if it == 3 { -spread } else { (center - spread).max(0.0) };
            if spread == 0.0 { center } else { random.uniform(low, center + spread) }
        });
        let steps = out.tensor::<f64>(&[4, 2])?;
        for (step, what) in steps.chunks_exact_mut(2).zip(order) {
            step.copy_from_slice(&[what as f64, factors[what]]);
        }
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtime::{Philox, Scratch};
    use std::collections::BTreeSet;

    #[test]
    fn orders_and_factors_keep_their_bounds() {
        let call = Call {
            args: &[],
            types: &[],
            result: &Type::scalar(DType::F64),
            sources: &[],
            outside: None,
        };
        let Ok(Kernel::Draw(draw)) = build(&call) else { panic!("it draws") };
        let given = [0.4, 1.5, 0.0, 0.1];
        let given: Vec<Tensor<'_>> =
            given.iter().map(|it| Tensor::new(&[], std::slice::from_ref(it))).collect();
        let mut orders = BTreeSet::new();
        for id in 0..400 {
            let mut scratch = Scratch::new();
            draw(&mut Philox::new(1, id, 0), &Args::of(&given), &mut Out::grow(&mut scratch))
                .expect("it cannot fail");
            let steps = scratch.tensor().as_slice::<f64>().expect("it is f64").to_vec();
            orders.insert(steps.iter().step_by(2).map(|it| *it as usize).collect::<Vec<_>>());
            for step in steps.chunks(2) {
                let bounds = [0.6..=1.4, 0.0..=2.5, 1.0..=1.0, -0.1..=0.1];
                assert!(bounds[step[0] as usize].contains(&step[1]), "{step:?}");
            }
        }
        assert_eq!(orders.len(), 24);
    }
}
