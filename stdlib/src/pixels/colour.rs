//! Colours of 8-bit pictures, changed where they are. The arithmetic is Pillow's.

use super::tiers;

/// What about its colours is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Adjustment {
    /// The distance from black.
    Brightness,
    /// The distance from the mean grey.
    Contrast,
    /// The distance from their own grey.
    Saturation,
    /// The hue, by a part of the circle.
    Hue,
}

impl Adjustment {
    /// All of them, in the order in which draws number them.
    pub(crate) const ALL: [Self; 4] =
        [Self::Brightness, Self::Contrast, Self::Saturation, Self::Hue];

    /// Changes a picture of so many channels; one without three has neither saturation nor hue.
    pub(crate) fn apply(self, levels: &mut [u8], channels: usize, factor: f64) {
        let colours = channels == 3;
        match self {
            Self::Brightness => blend_level(levels, 0, factor as f32),
            Self::Contrast => {
                let mean = mean_grey(levels, channels);
                blend_level(levels, mean, factor as f32);
            }
            Self::Saturation if colours => {
                blend_grey(levels.as_chunks_mut().0, factor as f32);
            }
            Self::Hue if colours => {
                turn_hue(levels.as_chunks_mut().0, (factor * 255.0) as i32 as u8);
            }
            Self::Saturation | Self::Hue => {}
        }
    }
}

/// The grey of a colour: ITU-R 601-2 luma in 16 bits, as Pillow's `convert("L")`.
#[inline(always)]
pub(crate) fn grey([r, g, b]: [u8; 3]) -> u8 {
    let sum = 19_595 * u32::from(r) + 38_470 * u32::from(g) + 7_471 * u32::from(b);
    ((sum + 0x8000) >> 16) as u8
}

/// From `from` towards `to`, or past it, as far as `factor` says: towards zero to a whole level.
#[inline(always)]
fn blended(from: u8, to: u8, factor: f32) -> u8 {
    (f32::from(from) + factor * (f32::from(to) - f32::from(from))) as u8
}

tiers! {
    /// Blends levels with `from`: black changes brightness, the mean contrast.
    fn blend_level(levels: &mut [u8], from: u8, factor: f32) = blend_level_body
}

#[inline(always)]
fn blend_level_body(levels: &mut [u8], from: u8, factor: f32) {
    levels.iter_mut().for_each(|it| *it = blended(from, *it, factor));
}

tiers! {
    /// Blends colours with their grey.
    fn blend_grey(pixels: &mut [[u8; 3]], factor: f32) = blend_grey_body
}

#[inline(always)]
fn blend_grey_body(pixels: &mut [[u8; 3]], factor: f32) {
    for pixel in pixels {
        let grey = grey(*pixel);
        for level in pixel {
            *level = blended(grey, *level, factor);
        }
    }
}

/// The mean grey of a picture of so many channels, rounded half up.
fn mean_grey(levels: &[u8], channels: usize) -> u8 {
    let (sum, count) = match channels {
        3 => (sum_grey(levels.as_chunks().0), levels.len() / 3),
        _ => (levels.iter().map(|it| u64::from(*it)).sum(), levels.len()),
    };
    (sum as f64 / count.max(1) as f64 + 0.5) as u8
}

fn sum_grey(pixels: &[[u8; 3]]) -> u64 {
    pixels.iter().map(|it| u64::from(grey(*it))).sum()
}

tiers! {
    /// Turns hues by `turn` parts of 255 of a circle, on 8-bit HSV.
    fn turn_hue(pixels: &mut [[u8; 3]], turn: u8) = turn_hue_body
}

/// Pixels whose hues are turned at a time, each step for all of them.
const PIXELS: usize = 32;

#[inline(always)]
fn turn_hue_body(pixels: &mut [[u8; 3]], turn: u8) {
    let (blocks, rest) = pixels.as_chunks_mut();
    blocks.iter_mut().for_each(|it| turn_block(it, turn));
    let mut last = [[0; 3]; PIXELS];
    last[..rest.len()].copy_from_slice(rest);
    turn_block(&mut last, turn);
    rest.copy_from_slice(&last[..rest.len()]);
}

#[inline(always)]
fn turn_block(pixels: &mut [[u8; 3]; PIXELS], turn: u8) {
    let mut planes = [[0; PIXELS]; 3];
    for (i, pixel) in pixels.iter().enumerate() {
        [planes[0][i], planes[1][i], planes[2][i]] = *pixel;
    }
    let [first, second, third] = &mut planes;
    for i in 0..PIXELS {
        let [hue, saturation, value] = hsv([first[i], second[i], third[i]]);
        [first[i], second[i], third[i]] = rgb(hue.wrapping_add(turn), saturation, value);
    }
    for (i, pixel) in pixels.iter_mut().enumerate() {
        *pixel = [planes[0][i], planes[1][i], planes[2][i]];
    }
}

/// Hue, saturation and value in 8 bits; widths of floats as in Pillow, so that bits agree. There
/// is no branch in it, so that many pixels are computed at once.
#[inline(always)]
fn hsv([r, g, b]: [u8; 3]) -> [u8; 3] {
    let (most, least) = (r.max(g).max(b), r.min(g).min(b));
    // A grey has no hue, and 0 by any number stays 0.
    let range = f32::from((most - least).max(1));
    let share = f32::from(most - least) / f32::from(most.max(1));
    let [rc, gc, bc] = [r, g, b].map(|it| f32::from(most - it) / range);
    let from_green = (2.0 + f64::from(rc) - f64::from(bc)) as f32;
    let from_blue = (4.0 + f64::from(gc) - f64::from(rc)) as f32;
    let hue = if g == most { from_green } else { from_blue };
    let hue = if r == most { bc - gc } else { hue };
    let turn = f64::from(hue) / 6.0 + 1.0;
    let turn = (if turn >= 1.0 { turn - 1.0 } else { turn }) as f32;
    [whole(f64::from(turn) * 255.0), whole(f64::from(share) * 255.0), most]
}

/// Towards zero to a whole level; the number lies in 0..256.
#[inline(always)]
fn whole(number: f64) -> u8 {
    number as i32 as u8
}

#[inline(always)]
fn rgb(hue: u8, saturation: u8, value: u8) -> [u8; 3] {
    let six = f64::from(hue) * 6.0 / 255.0;
    let sector = whole(six);
    let past = (six - f64::from(sector)) as f32;
    let (v, s) = (f64::from(value), (f64::from(saturation) / 255.0) as f32);
    let rounded = |share: f64| whole(v * (1.0 - share) + 0.5);
    let low = rounded(f64::from(s));
    let falling = rounded(f64::from(s * past));
    let rising = rounded(f64::from(s) * (1.0 - f64::from(past)));

    // Over the sixths of the circle every colour is high, falls, is low twice, rises, is high.
    let at = |sector: u8| {
        let level = if sector == 1 { falling } else { value };
        let level = if sector == 4 { rising } else { level };
        if sector == 2 || sector == 3 { low } else { level }
    };
    let turned = |by: u8| {
        let sector = sector + by;
        at(if sector >= 6 { sector - 6 } else { sector })
    };
    [turned(0), turned(4), turned(2)]
}
