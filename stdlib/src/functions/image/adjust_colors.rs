//! `adjust_colors`: brightness, contrast, saturation and hue, in a given order.

use super::extents::picture;
use crate::{
    pixels::colour::{self, Adjustment},
    prelude::*,
};

function! {
    /// Changes brightness, contrast, saturation and hue by given factors.
    ///
    /// They are changed in the order of `steps`. Each row of `steps` is what to change (0 brightness, 1
    /// contrast, 2 saturation, 3 hue) and the factor, as in `adjust_brightness`, `adjust_contrast`,
    /// `adjust_saturation` and `adjust_hue`. Factors that change nothing (1, or 0 for the hue) are skipped.
    /// `draw_jitter` draws such steps.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 4, 6) |> adjust_colors(draw_jitter(0.4, 0.4, 0.4, 0.1)) }    # { image: u8[4, 6, 3] }
    /// ```
    "adjust_colors(image: u8[h, w, c], steps: f64[n, 2]) -> u8[h, w, c]",
    // Assumed: 0.7 ns a level, most of it for the hue.
    cost: Cost::out(1_000.0, 0.7),
    properties: &[Property::Gathers, Property::Rounds],
    result: Some(result),
}

/// The type of what is adjusted; colours are known of one and of three channels only.
pub(super) fn result(call: &Applied<'_>) -> Result<Type, String> {
    match picture(call)? {
        (_, [_, _, Extent::Known(channels)]) if channels != 1 && channels != 3 => {
            Err(format!("expected an image with 1 or 3 channels, found {channels}"))
        }
        (dtype, shape) => Ok(Type::Tensor { dtype, shape: shape.to_vec() }),
    }
}

/// A kernel that copies the picture, and changes the copy by `steps`.
pub(super) fn adjusting(
    steps: impl Fn(&Args<'_>) -> Vec<(Adjustment, f64)> + Send + Sync + 'static,
) -> Kernel {
    Kernel::compute(move |args, out| {
        let image = args.tensor(0);
        let levels = out.tensor::<u8>(image.shape())?;
        image.copy_to(levels);
        colour::adjust(levels, image.shape()[2], &steps(args));
        Ok(())
    })
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(adjusting(|args| {
        let steps = args.tensor(1);
        let step = |i: usize| {
            let [what, factor] = [0, 1].map(|it| steps.element(i).element(it).number());
            match Adjustment::ALL.get(what as usize)? {
                Adjustment::Hue if factor == 0.0 => None,
                it if factor == 1.0 && *it != Adjustment::Hue => None,
                it => Some((*it, factor)),
            }
        };
        (0..steps.shape()[0]).filter_map(step).collect()
    }))
}

#[cfg(test)]
mod tests {
    use super::super::{
        adjust_brightness, adjust_contrast, adjust_hue, adjust_saturation,
        testing::{Value, run},
    };
    use super::*;

    /// Eight colours: primary, dark, pale, grey.
    const COLOURS: [u8; 24] = [
        255, 0, 0, 10, 200, 30, 1, 2, 3, 250, 251, 240, 90, 90, 90, 33, 66, 199, 128, 0, 255, 17,
        99, 98,
    ];

    fn colours() -> Value {
        Value::new(&[2, 4, 3], &COLOURS)
    }

    #[test]
    fn steps_are_done_in_order() {
        let steps = Value::new(&[4, 2], &[2.0, 1.7, 0.0, 1.0, 3.0, -0.2, 1.0, 0.4]);
        let all = run::<u8>(&ENTRY, &[colours(), steps]).expect("it cannot fail").1;

        let mut pixels = COLOURS.to_vec();
        for (entry, factor) in [
            (&adjust_saturation::ENTRY, 1.7),
            (&adjust_hue::ENTRY, -0.2),
            (&adjust_contrast::ENTRY, 0.4),
        ] {
            let image = Value::new(&[2, 4, 3], &pixels);
            pixels = run::<u8>(entry, &[image, factor.into()]).expect("it cannot fail").1;
        }
        assert_eq!(all, pixels);
    }

    #[test]
    fn levels_are_those_of_torchvision() {
        // torchvision 0.29.2 with Pillow 13.0.0, v2.functional.adjust_*(image, factor).
        #[rustfmt::skip]
        let expected: [(&crate::Function, f64, [u8; 24]); 8] = [
            (&adjust_brightness::ENTRY, 1.5, [255, 0, 0, 15, 255, 45, 1, 3, 4, 255, 255, 255, 135, 135, 135, 49, 99, 255, 192, 0, 255, 25, 148, 147]),
            (&adjust_brightness::ENTRY, 0.3, [76, 0, 0, 3, 60, 9, 0, 0, 0, 75, 75, 72, 27, 27, 27, 9, 19, 59, 38, 0, 76, 5, 29, 29]),
            (&adjust_contrast::ENTRY, 1.5, [255, 0, 0, 0, 253, 0, 0, 0, 0, 255, 255, 255, 88, 88, 88, 2, 52, 251, 145, 0, 255, 0, 101, 100]),
            (&adjust_contrast::ENTRY, 0.3, [142, 65, 65, 68, 125, 74, 66, 66, 66, 140, 141, 137, 92, 92, 92, 75, 85, 125, 104, 65, 142, 70, 95, 95]),
            (&adjust_saturation::ENTRY, 1.7, [255, 0, 0, 0, 253, 0, 0, 2, 3, 250, 252, 233, 90, 90, 90, 6, 62, 255, 170, 0, 255, 0, 116, 114]),
            (&adjust_saturation::ENTRY, 0.3, [129, 53, 53, 89, 146, 95, 1, 2, 2, 249, 249, 246, 90, 90, 90, 59, 69, 109, 85, 46, 123, 56, 81, 81]),
            (&adjust_hue::ENTRY, 0.1, [255, 150, 0, 10, 200, 140, 1, 1, 3, 244, 251, 240, 90, 90, 90, 96, 34, 199, 255, 0, 234, 17, 54, 99]),
            (&adjust_hue::ENTRY, -0.37, [0, 48, 255, 200, 10, 28, 2, 3, 1, 250, 240, 251, 90, 90, 90, 104, 199, 34, 0, 255, 72, 99, 79, 17]),
        ];
        for (entry, factor, levels) in expected {
            let (_, found) = run::<u8>(entry, &[colours(), factor.into()]).expect("it cannot fail");
            assert_eq!(found, levels, "{} by {factor}", entry.entry.name());
        }
    }
}
