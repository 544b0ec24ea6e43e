//! `adjust_sharpness`: how far levels lie from their neighbours.

use crate::{
    pixels::{packed, sharpen::sharpen, with_room},
    prelude::*,
};
use std::cell::RefCell;

function! {
    /// Sharpens or smooths an image: 0 is smooth, 1 changes nothing, 2 is sharper.
    ///
    /// Levels are moved away from those of a smooth image, or towards them. The smooth image is that of
    /// Pillow's filter `SMOOTH`; pixels at the border are unchanged. Bit-identical to torchvision's
    /// `adjust_sharpness` on Pillow images: levels are truncated to integers and clipped.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 4, 6) |> adjust_sharpness(1.5) }    # { image: u8[4, 6, 3] }
    /// ```
    "adjust_sharpness(image: u8[h, w, c], factor: float) -> u8[h, w, c]",
    // Assumed: 0.4 ns a level.
    cost: Cost::out(200.0, 0.4),
    properties: &[Property::Gathers, Property::Rounds],
}

thread_local! {
    /// Pictures whose pixels lie apart.
    static ROOM: RefCell<Vec<u8>> = RefCell::default();
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let (image, factor) = (args.tensor(0), args.float(1));
        let to = out.tensor::<u8>(image.shape())?;
        with_room(&ROOM, image.bytes(), |room| sharpen(&packed(&image, room), factor, to));
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, noise, run};
    use super::*;

    /// The filter and the blend, pixel by pixel.
    fn slow(levels: &[u8], [height, width, channels]: [usize; 3], factor: f32) -> Vec<u8> {
        let at = |y: usize, x: usize, c: usize| levels[(y * width + x) * channels + c];
        let mut out = levels.to_vec();
        for y in 1..height.saturating_sub(1) {
            for x in 1..width.saturating_sub(1) {
                for c in 0..channels {
                    let mut sum = 4.0 * f64::from(at(y, x, c));
                    for (dy, dx) in (0..9).map(|it| (it / 3, it % 3)) {
                        sum += f64::from(at(y + dy - 1, x + dx - 1, c));
                    }
                    let smooth = (sum / 13.0).round() as f32;
                    let level = f32::from(at(y, x, c));
                    out[(y * width + x) * channels + c] =
                        (smooth + factor * (level - smooth)) as u8;
                }
            }
        }
        out
    }

    #[test]
    fn as_pixel_by_pixel() {
        for shape in
            [[1, 1, 3], [2, 9, 1], [9, 2, 3], [3, 3, 3], [5, 13, 3], [4, 40, 1], [7, 67, 4]]
        {
            let levels = noise(3, shape.iter().product());
            for factor in [0.0, 0.1, 1.0, 1.9, 5.0] {
                let image = Value::new(&shape, &levels);
                let (_, found) =
                    run::<u8>(&ENTRY, &[image, factor.into()]).expect("it cannot fail");
                assert_eq!(found, slow(&levels, shape, factor as f32), "{shape:?} {factor}");
            }
        }
    }
}
