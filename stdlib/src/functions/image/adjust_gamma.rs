//! `adjust_gamma`: how light the levels between black and white are.

use super::posterize::looked_up;
use crate::prelude::*;

function! {
    /// Applies gamma correction: the level `x` becomes `255.999 * (x / 255) ** gamma`, truncated.
    ///
    /// Below 1, dark parts become lighter; above 1, they become darker; black and white stay. Bit-identical to
    /// torchvision's `adjust_gamma` on Pillow images. Fails with `size` if `gamma` is negative.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 4, 6) |> adjust_gamma(0.7) }    # { image: u8[4, 6, 3] }
    /// ```
    "adjust_gamma(image: u8[h, w, c], gamma: float) fails -> u8[h, w, c]",
    // Assumed: 256 powers, and 0.05 ns a level.
    cost: Cost::out(5_000.0, 0.05),
    properties: &[Property::Pointwise, Property::Rounds],
    result: Some(result),
}

fn result(call: &Applied<'_>) -> Result<Type, String> {
    let (dtype, shape) = super::extents::picture(call)?;
    let known = match call.args[1] {
        Arg::Int(it) => Some(it as f64),
        Arg::Float(it) => Some(it),
        _ => None,
    };
    if let Some(gamma) = known {
        checked(gamma).map_err(|it| it.detail.into_owned())?;
    }
    Ok(Type::Tensor { dtype, shape: shape.to_vec() })
}

fn checked(gamma: f64) -> Result<f64, Fault> {
    if gamma >= 0.0 {
        return Ok(gamma);
    }
    Err(Fault::new("size", format!("`gamma` must not be negative, found {gamma}")))
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(looked_up(|args| {
        let gamma = checked(args.float(1))?;
        // A little less than 256, as torchvision has it, so that white stays below it.
        Ok(move |level| ((256.0 - 1e-3) * libm::pow(f64::from(level) / 255.0, gamma)) as u8)
    }))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, run};
    use super::*;

    #[test]
    fn levels_are_those_of_torchvision() {
        // torchvision 0.29.2 with Pillow 13.0.0, v2.functional.adjust_gamma(image, gamma).
        let image = || Value::new(&[1, 8, 1], &[0_u8, 1, 9, 50, 128, 200, 254, 255]);
        for (gamma, expected) in [
            (0.0, [255_u8; 8]),
            (0.5, [0, 16, 48, 113, 181, 226, 255, 255]),
            (1.0, [0, 1, 9, 50, 128, 200, 254, 255]),
            (2.2, [0, 0, 0, 7, 56, 150, 253, 255]),
        ] {
            let found = run::<u8>(&ENTRY, &[image(), gamma.into()]).expect("it is not negative");
            assert_eq!(found.1, expected, "{gamma}");
        }
        for gamma in [-0.1, f64::NAN] {
            let found = run::<u8>(&ENTRY, &[image(), gamma.into()]);
            assert_eq!(found.map_err(|it| it.code), Err("size"));
        }
    }
}
