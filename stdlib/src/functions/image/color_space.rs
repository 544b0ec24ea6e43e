//! `color_space`: the same colours, told in another way.

use super::extents::picture;
use crate::{
    pixels::{colour::grey, packed, with_room},
    prelude::*,
};
use std::{cell::RefCell, sync::LazyLock};

function! {
    /// Converts an image from one colour space to another.
    ///
    /// All channels are levels from 0 to 255. `hsv` has the hue in steps of 2 degrees, from 0 to 179; `lab` is CIE
    /// L\*a\*b\* of sRGB in daylight (D65), with L scaled to 255 and 128 added to a and b; `ycbcr` is the full
    /// range of JPEG, in the order of its name; `gray` has one channel, all others three. Levels are those of
    /// OpenCV's `cvtColor` within 1 (of `lab`, one of 2,000 is off by 2, for OpenCV is less exact there), where Cr
    /// stands before Cb; `gray` is that of Pillow.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 4, 6) |> color_space(from: rgb, to: lab) }    # { image: u8[4, 6, 3] }
    /// ```
    "color_space(image: u8[h, w, c], from: rgb | bgr | gray | hsv | lab | ycbcr, to: rgb | bgr | gray | hsv | lab | ycbcr) -> u8[h, w, ?]",
    // Assumed: 10 ns a level, for `lab`.
    cost: Cost::out(300.0, 10.0),
    properties: &[Property::ByPixel, Property::Rounds],
    result: Some(result),
}

/// How the levels of a pixel tell its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Space {
    Rgb,
    Bgr,
    Gray,
    Hsv,
    Lab,
    Ycbcr,
}

impl Space {
    fn of(word: &str) -> Self {
        match word {
            "rgb" => Self::Rgb,
            "bgr" => Self::Bgr,
            "gray" => Self::Gray,
            "hsv" => Self::Hsv,
            "lab" => Self::Lab,
            _ => Self::Ycbcr,
        }
    }

    fn channels(self) -> usize {
        if self == Self::Gray { 1 } else { 3 }
    }

    /// The function that makes red, green and blue of three levels.
    fn to_rgb(self) -> fn([u8; 3]) -> [u8; 3] {
        match self {
            Self::Rgb => |it| it,
            Self::Bgr => |[b, g, r]| [r, g, b],
            Self::Gray => |[grey, ..]| [grey; 3],
            Self::Hsv => of_hsv,
            Self::Lab => of_lab,
            Self::Ycbcr => of_ycbcr,
        }
    }

    /// The function that makes three levels of red, green and blue.
    fn of_rgb(self) -> fn([u8; 3]) -> [u8; 3] {
        match self {
            Self::Rgb => |it| it,
            Self::Bgr => |[r, g, b]| [b, g, r],
            Self::Gray => |it| [grey(it); 3],
            Self::Hsv => to_hsv,
            Self::Lab => to_lab,
            Self::Ycbcr => to_ycbcr,
        }
    }
}

fn result(call: &Applied<'_>) -> Result<Type, String> {
    let (dtype, [height, width, found]) = picture(call)?;
    let word = |i: usize| match &call.args[i] {
        Arg::Word(it) => Ok(Space::of(it)),
        _ => Err("`from` and `to` are known words".to_owned()),
    };
    let (from, to) = (word(1)?, word(2)?);
    let channels = from.channels();
    if found != Extent::Known(channels as u64) {
        return Err(format!("expected an image with {channels} channels, found {found}"));
    }
    let shape = vec![height, width, Extent::Known(to.channels() as u64)];
    Ok(Type::Tensor { dtype, shape })
}

thread_local! {
    /// Pictures whose pixels lie apart.
    static ROOM: RefCell<Vec<u8>> = RefCell::default();
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let (from, to) = (Space::of(call.word(1)), Space::of(call.word(2)));
    if from == to {
        return Ok(Kernel::view(|args| Ok(args.tensor(0))));
    }
    let (to_rgb, of_rgb) = (from.to_rgb(), to.of_rgb());
    Ok(Kernel::compute(move |args, out| {
        let image = args.tensor(0);
        let shape = [image.shape()[0], image.shape()[1], to.channels()];
        let room = out.tensor::<u8>(&shape)?;
        with_room(&ROOM, image.bytes(), |copy| {
            let picture = packed(&image, copy);
            let pixels = picture.rows().flat_map(|it| it.chunks_exact(from.channels()));
            for (pixel, to) in pixels.zip(room.chunks_exact_mut(to.channels())) {
                let levels = if let [a, b, c] = *pixel { [a, b, c] } else { [pixel[0]; 3] };
                to.copy_from_slice(&of_rgb(to_rgb(levels))[..to.len()]);
            }
        });
        Ok(())
    }))
}

fn level(value: f32) -> u8 {
    (value + 0.5) as u8
}

fn to_hsv([r, g, b]: [u8; 3]) -> [u8; 3] {
    let (most, least) = (r.max(g).max(b), r.min(g).min(b));
    let range = f32::from(most - least);
    if range == 0.0 {
        return [0, 0, most];
    }
    let [red, green, blue] = [r, g, b].map(f32::from);
    let turn = if r == most {
        (green - blue) / range
    } else if g == most {
        2.0 + (blue - red) / range
    } else {
        4.0 + (red - green) / range
    };
    let hue = level(30.0 * if turn < 0.0 { turn + 6.0 } else { turn });
    [if hue == 180 { 0 } else { hue }, level(255.0 * range / f32::from(most)), most]
}

fn of_hsv([hue, saturation, value]: [u8; 3]) -> [u8; 3] {
    let (sixth, past) = (hue / 30, f32::from(hue % 30) / 30.0);
    let (v, s) = (f32::from(value), f32::from(saturation) / 255.0);
    let low = level(v * (1.0 - s));
    let falls = level(v * (1.0 - s * past));
    let rises = level(v * (1.0 - s * (1.0 - past)));
    match sixth % 6 {
        0 => [value, rises, low],
        1 => [falls, value, low],
        2 => [low, value, rises],
        3 => [low, falls, value],
        4 => [rises, low, value],
        _ => [value, low, falls],
    }
}

fn to_ycbcr(rgb: [u8; 3]) -> [u8; 3] {
    let [r, g, b] = rgb.map(f32::from);
    let luma = 0.299 * r + 0.587 * g + 0.114 * b;
    [luma, (b - luma) * 0.564 + 128.0, (r - luma) * 0.713 + 128.0].map(level)
}

fn of_ycbcr([luma, blue, red]: [u8; 3]) -> [u8; 3] {
    let (luma, blue, red) = (f32::from(luma), f32::from(blue) - 128.0, f32::from(red) - 128.0);
    [luma + 1.403 * red, luma - 0.714 * red - 0.344 * blue, luma + 1.773 * blue].map(level)
}

/// A function of numbers in 0..=1, as a table between whose entries it is linear.
struct Curve(Vec<f32>);

/// The last entry of a table: between two of them, none of the functions here is off by a tenth of a level.
const STEPS: usize = 1 << 14;

impl Curve {
    fn of(function: impl Fn(f32) -> f32) -> Self {
        Self((0..=STEPS).map(|it| function(it as f32 / STEPS as f32)).collect())
    }

    fn at(&self, number: f32) -> f32 {
        let place = number.clamp(0.0, 1.0) * STEPS as f32;
        let i = (place as usize).min(STEPS - 1);
        self.0[i] + (self.0[i + 1] - self.0[i]) * (place - i as f32)
    }
}

/// What CIE 1976 says of small numbers: below, the cube root is a line.
const SMALL: f32 = 0.008_856;
/// The white of D65.
const WHITE: [f32; 3] = [0.950_456, 1.0, 1.088_754];

/// The light of each level of sRGB (IEC 61966-2-1).
static LIGHT: LazyLock<[f32; 256]> = LazyLock::new(|| {
    let mut light = [0.0; 256];
    for (i, to) in light.iter_mut().enumerate() {
        let level = i as f32 / 255.0;
        *to = if level <= 0.040_45 {
            level / 12.92
        } else {
            libm::powf((level + 0.055) / 1.055, 2.4)
        };
    }
    light
});

/// The level, in 0..=1, of an amount of light.
static SHOWN: LazyLock<Curve> = LazyLock::new(|| {
    Curve::of(|it| {
        if it <= 0.003_130_8 { 12.92 * it } else { 1.055 * libm::powf(it, 1.0 / 2.4) - 0.055 }
    })
});

/// How light an amount of light looks.
static LOOKS: LazyLock<Curve> = LazyLock::new(|| {
    Curve::of(|it| if it > SMALL { libm::cbrtf(it) } else { 7.787 * it + 16.0 / 116.0 })
});

fn to_lab(rgb: [u8; 3]) -> [u8; 3] {
    let [r, g, b] = rgb.map(|it| LIGHT[usize::from(it)]);
    let x = LOOKS.at((0.412_453 * r + 0.357_580 * g + 0.180_423 * b) / WHITE[0]);
    let y = LOOKS.at(0.212_671 * r + 0.715_160 * g + 0.072_169 * b);
    let z = LOOKS.at((0.019_334 * r + 0.119_193 * g + 0.950_227 * b) / WHITE[2]);
    [(116.0 * y - 16.0) * 2.55, 500.0 * (x - y) + 128.0, 200.0 * (y - z) + 128.0].map(level)
}

fn of_lab([light, a, b]: [u8; 3]) -> [u8; 3] {
    let y = (f32::from(light) / 2.55 + 16.0) / 116.0;
    let (x, z) = (y + (f32::from(a) - 128.0) / 500.0, y - (f32::from(b) - 128.0) / 200.0);
    let [x, y, z] = [x, y, z]
        .map(|it| if it > 6.0 / 29.0 { it * it * it } else { (it - 16.0 / 116.0) / 7.787 });
    let (x, z) = (x * WHITE[0], z * WHITE[2]);
    [
        3.240_479 * x - 1.537_15 * y - 0.498_535 * z,
        -0.969_256 * x + 1.875_991 * y + 0.041_556 * z,
        0.055_648 * x - 0.204_043 * y + 1.057_311 * z,
    ]
    .map(|it| level(255.0 * SHOWN.at(it)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, run, typed};
    use super::*;

    /// Primary, dark, pale and grey colours.
    const COLOURS: [u8; 24] = [
        255, 0, 0, 10, 200, 30, 1, 2, 3, 250, 251, 240, 90, 90, 90, 33, 66, 199, 128, 0, 255, 17,
        99, 98,
    ];

    // What OpenCV makes of them.
    #[rustfmt::skip]
    const TO_HSV: [u8; 24] = [0, 255, 255, 63, 242, 200, 105, 170, 3, 33, 11, 251, 0, 0, 90, 114, 213, 199, 135, 255, 255, 90, 211, 99];
    #[rustfmt::skip]
    const TO_LAB: [u8; 24] = [136, 208, 195, 180, 57, 193, 1, 128, 127, 251, 126, 133, 98, 128, 128, 88, 166, 56, 104, 211, 35, 96, 105, 122];
    #[rustfmt::skip]
    const TO_YCBCR: [u8; 24] = [76, 85, 255, 124, 75, 47, 2, 129, 127, 249, 123, 129, 90, 128, 128, 71, 200, 101, 67, 234, 171, 74, 142, 87];
    #[rustfmt::skip]
    const OF_HSV: [u8; 24] = [0, 0, 0, 30, 14, 6, 3, 3, 3, 4, 240, 83, 58, 90, 90, 194, 199, 147, 255, 255, 255, 98, 82, 60];
    #[rustfmt::skip]
    const OF_LAB: [u8; 24] = [0, 255, 255, 0, 0, 156, 0, 64, 190, 255, 78, 0, 0, 100, 143, 0, 48, 0, 0, 153, 0, 0, 34, 60];
    #[rustfmt::skip]
    const OF_YCBCR: [u8; 24] = [75, 255, 28, 0, 55, 138, 0, 134, 0, 255, 128, 255, 37, 130, 23, 133, 4, 0, 255, 81, 0, 0, 48, 0];
    #[rustfmt::skip]
    const TO_GRAY: [u8; 8] = [76, 124, 2, 249, 90, 71, 67, 74];

    fn converted(levels: &[u8], channels: usize, from: &str, to: &str) -> Vec<u8> {
        let image = Value::new(&[1, levels.len() / channels, channels], levels);
        let args = [image, Value::word(from), Value::word(to)];
        run::<u8>(&ENTRY, &args).expect("it cannot fail").1
    }

    fn are_near(found: &[u8], expected: &[u8], around: Option<u8>) {
        assert_eq!(found.len(), expected.len());
        for (i, (a, b)) in found.iter().zip(expected).enumerate() {
            let apart = a.abs_diff(*b);
            let apart = around.filter(|_| i % 3 == 0).map_or(apart, |it| apart.min(it - apart));
            assert!(apart <= 1, "{i}: {a} for {b}");
        }
    }

    #[test]
    fn levels_are_those_of_opencv() {
        // OpenCV 5.0.0, cvtColor with COLOR_RGB2HSV and so on; of YCrCb the last two are swapped.
        are_near(&converted(&COLOURS, 3, "rgb", "hsv"), &TO_HSV, Some(180));
        are_near(&converted(&COLOURS, 3, "rgb", "lab"), &TO_LAB, None);
        are_near(&converted(&COLOURS, 3, "rgb", "ycbcr"), &TO_YCBCR, None);
        are_near(&converted(&COLOURS, 3, "hsv", "rgb"), &OF_HSV, None);
        are_near(&converted(&COLOURS, 3, "lab", "rgb"), &OF_LAB, None);
        are_near(&converted(&COLOURS, 3, "ycbcr", "rgb"), &OF_YCBCR, None);
        are_near(&converted(&COLOURS, 3, "rgb", "gray"), &TO_GRAY, None);
    }

    #[test]
    fn there_and_back_is_near() {
        // Not for colours that the other space has no levels for, such as the hue of what is almost black.
        let levels: Vec<u8> = (0..3_000_u32).map(|it| 60 + (it * 7919 % 151) as u8).collect();
        for space in ["hsv", "lab", "ycbcr"] {
            let back = converted(&converted(&levels, 3, "rgb", space), 3, space, "rgb");
            let most = levels.iter().zip(&back).map(|(a, b)| a.abs_diff(*b)).max();
            assert!(most < Some(7), "{space}: {most:?}");
        }
        let there = converted(&levels, 3, "rgb", "bgr");
        assert_eq!(converted(&there, 3, "bgr", "rgb"), levels);
        assert_eq!(there[..3], [levels[2], levels[1], levels[0]]);
        assert_eq!(converted(&levels, 3, "hsv", "hsv"), levels);
        assert_eq!(converted(&[7, 9], 1, "gray", "bgr"), [7, 7, 7, 9, 9, 9]);
    }

    #[test]
    fn channels_are_those_of_the_space() {
        let of = |channels, words: [&str; 2]| {
            let shape = vec![Extent::Known(4), Extent::Unknown, Extent::Known(channels)];
            let words = words.map(|it| Arg::Word(it.into()));
            typed(&ENTRY, Type::Tensor { dtype: DType::U8, shape }, &words)
        };
        assert_eq!(of(3, ["rgb", "gray"]).as_deref(), Ok("u8[4, ?, 1]"));
        assert_eq!(of(1, ["gray", "lab"]).as_deref(), Ok("u8[4, ?, 3]"));
        assert!(of(1, ["rgb", "gray"]).is_err() && of(3, ["gray", "rgb"]).is_err());
    }
}
