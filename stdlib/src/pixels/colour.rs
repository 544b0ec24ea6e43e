//! Colours of 8-bit pictures, changed where they are. The arithmetic is Pillow's.

use super::{
    planes::{self, PIXELS, Planes},
    table::{self, Table},
    tiers,
};

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
}

/// Levels that are changed by one step after the other while they are in the nearest cache: whole pixels.
const PART: usize = 12 << 10;

/// Changes a picture of so many channels by steps, each with its factor; one without three channels has neither
/// saturation nor hue.
pub(crate) fn adjust(levels: &mut [u8], channels: usize, steps: &[(Adjustment, f64)]) {
    let mut steps = steps;
    while let [first, rest @ ..] = steps {
        // A contrast needs all levels that the steps before it make.
        let next = rest.iter().position(|it| it.0 == Adjustment::Contrast).unwrap_or(rest.len());
        let mean = if first.0 == Adjustment::Contrast { mean_grey(levels, channels) } else { 0 };
        let changes: Vec<Change> = steps[..=next].iter().map(|it| Change::of(*it, mean)).collect();
        for part in levels.chunks_mut(PART) {
            changes.iter().for_each(|it| it.apply(part, channels));
        }
        steps = &rest[next..];
    }
}

/// A step, with what is computed of its factor.
enum Change {
    Levels(Box<Table>),
    Saturation(f32),
    Hue(u8),
}

impl Change {
    /// The change of a step; `mean` is the mean grey of the picture before it, which only the contrast depends on.
    fn of((what, factor): (Adjustment, f64), mean: u8) -> Self {
        let towards =
            |from: u8| Self::Levels(Box::new(table::table(|it| blended(from, it, factor as f32))));
        match what {
            Adjustment::Brightness => towards(0),
            Adjustment::Contrast => towards(mean),
            Adjustment::Saturation => Self::Saturation(factor as f32),
            Adjustment::Hue => Self::Hue((factor * 255.0) as i32 as u8),
        }
    }

    fn apply(&self, levels: &mut [u8], channels: usize) {
        match self {
            Self::Levels(table) => table::change(levels, table),
            Self::Saturation(factor) if channels == 3 => {
                saturate(levels.as_chunks_mut().0, *factor);
            }
            Self::Hue(turn) if channels == 3 => turn_hue(levels.as_chunks_mut().0, *turn),
            Self::Saturation(_) | Self::Hue(_) => {}
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
pub(crate) fn blended(from: u8, to: u8, factor: f32) -> u8 {
    let level = f32::from(from) + factor * (f32::from(to) - f32::from(from));
    // What is no number is black, as `as u8` makes it, which does not convert many at once.
    let level = if level > 0.0 { level } else { 0.0 };
    whole(if level < 255.0 { level } else { 255.0 })
}

/// Towards zero to a whole level; the number must lie in 0..256.
#[inline(always)]
fn whole(level: f32) -> u8 {
    debug_assert!((0.0..256.0).contains(&level), "{level} is no level");
    // SAFETY: whoever calls this sees to it that an `i32` can hold it.
    unsafe { level.to_int_unchecked::<i32>() as u8 }
}

/// The mean grey of a picture of so many channels, rounded half up.
fn mean_grey(levels: &[u8], channels: usize) -> u8 {
    let (mut sum, mut count) = (0, levels.len());
    if channels == 3 {
        count /= 3;
        sum_grey(levels.as_chunks().0, &mut sum);
    } else {
        sum = levels.iter().map(|it| u64::from(*it)).sum();
    }
    (sum as f64 / count.max(1) as f64 + 0.5) as u8
}

tiers! {
    /// Adds up the greys of pixels.
    fn sum_grey(pixels: &[[u8; 3]], sum: &mut u64) = sum_grey_body::<false>, sum_grey_body::<false>, sum_grey_body::<true>
}

#[inline(always)]
fn sum_grey_body<const PICKS: bool>(pixels: &[[u8; 3]], sum: &mut u64) {
    let (blocks, rest) = pixels.as_chunks::<PIXELS>();
    for block in blocks {
        let greys = greys(&planes::split::<PICKS>(block));
        *sum += u64::from(greys.iter().map(|it| u32::from(*it)).sum::<u32>());
    }
    *sum += rest.iter().map(|it| u64::from(grey(*it))).sum::<u64>();
}

#[inline(always)]
fn greys([r, g, b]: &Planes) -> [u8; PIXELS] {
    let mut greys = [0; PIXELS];
    for i in 0..PIXELS {
        greys[i] = grey([r[i], g[i], b[i]]);
    }
    greys
}

tiers! {
    /// Blends colours with their grey.
    fn saturate(pixels: &mut [[u8; 3]], factor: f32) = saturate_body::<false>, saturate_body::<false>, saturate_body::<true>
}

#[inline(always)]
fn saturate_body<const PICKS: bool>(pixels: &mut [[u8; 3]], factor: f32) {
    planes::each::<PICKS>(pixels, &Saturation(factor));
}

struct Saturation(f32);

impl planes::Change for Saturation {
    #[inline(always)]
    fn apply(&self, planes: &mut Planes) {
        let greys = greys(planes);
        for plane in planes {
            for i in 0..PIXELS {
                plane[i] = blended(greys[i], plane[i], self.0);
            }
        }
    }
}

tiers! {
    /// Turns hues by `turn` parts of 255 of a circle, on 8-bit HSV.
    fn turn_hue(pixels: &mut [[u8; 3]], turn: u8) = turn_hue_body::<false>, turn_hue_body::<false>, turn_hue_body::<true>
}

#[inline(always)]
fn turn_hue_body<const PICKS: bool>(pixels: &mut [[u8; 3]], turn: u8) {
    planes::each::<PICKS>(pixels, &Turn(turn));
}

struct Turn(u8);

impl planes::Change for Turn {
    #[inline(always)]
    fn apply(&self, planes: &mut Planes) {
        let mut turned = hsv(planes);
        turned[0].iter_mut().for_each(|it| *it = it.wrapping_add(self.0));
        *planes = rgb(&turned);
    }
}

/// Hue, saturation and value in 8 bits.
///
/// Pillow divides how far each colour is below the greatest by how far the least is. One of these quotients is 0 and one
/// is 1, so the hue is a whole number and the third quotient, added or subtracted and rounded to `f32` once, as there.
/// Other numbers have the widths that they have there too, so that bits agree.
#[inline(always)]
fn hsv([r, g, b]: &Planes) -> Planes {
    let [mut most, mut range, mut below] = [[0; PIXELS]; 3];
    let (mut at, mut adds) = ([0_i8; PIXELS], [0_i8; PIXELS]);
    for i in 0..PIXELS {
        let (r, g, b) = (r[i], g[i], b[i]);
        let least = r.min(g).min(b);
        most[i] = r.max(g).max(b);
        range[i] = most[i] - least;
        below[i] = most[i] - r.max(g).min(r.min(g).max(b));
        // In each sixth of the circle: the whole number, and whether the quotient is added.
        let of_red = if b == least { (1, -1) } else { (-1, 1) };
        let of_green = if r == least { (3, -1) } else { (1, 1) };
        let of_blue = if g == least { (5, -1) } else { (3, 1) };
        let number = if g == most[i] { of_green } else { of_blue };
        (at[i], adds[i]) = if r == most[i] { of_red } else { number };
    }

    let [mut hues, mut shares] = [[0.0_f32; PIXELS]; 2];
    for i in 0..PIXELS {
        // Of a grey the hue is any: its saturation is 0.
        let quotient = f32::from(below[i]) / f32::from(range[i].max(1));
        hues[i] = f32::from(at[i]) + f32::from(adds[i]) * quotient;
        shares[i] = f32::from(range[i]) / f32::from(most[i].max(1));
    }

    let [mut hue, mut saturation] = [[0; PIXELS]; 2];
    for i in 0..PIXELS {
        let past = if hues[i] < 0.0 { 1.0_f32 } else { 0.0 };
        let turn = hues[i] / 6.0 + past;
        hue[i] = part(turn);
        saturation[i] = part(shares[i]);
    }
    [hue, saturation, most]
}

/// A number in 0..=1 as a part of 255, towards zero, of the exact product as in `f64`.
#[inline(always)]
fn part(number: f32) -> u8 {
    debug_assert!((0.0..=1.0).contains(&number), "{number} is no part");
    // SAFETY: the product lies in 0..=255.
    let level = unsafe { (number * 255.0).to_int_unchecked::<i32>() };
    // It may have been rounded up to a whole number. Both sides of the comparison are exact: one is a multiple of a power
    // of two, less a number next to it.
    let is_up = number * 256.0 - (level as f32) < number;
    (level - i32::from(is_up)) as u8
}

/// The numbers of a hue between two sixths of the circle: 6 * 255 = 18 * 85.
const STEPS: u16 = 85;
/// What the saturation and the hue between two sixths are parts of, together.
const WHOLE: u16 = 255 * STEPS;

/// Red, green and blue of hue, saturation and value.
///
/// What Pillow computes in `f64`, `value * (1 - saturation / 255 * part) + 0.5` towards zero, is a fraction with an odd
/// denominator and a half: it is never near a whole number, so that whole numbers in `f32` come to the same.
#[inline(always)]
fn rgb([hue, saturation, value]: &Planes) -> Planes {
    let mut sixth = [0; PIXELS];
    let [mut middle, mut low] = [[0_u16; PIXELS]; 2];
    for i in 0..PIXELS {
        let (turn, saturation) = (2 * u16::from(hue[i]), u16::from(saturation[i]));
        let whole = turn / STEPS;
        let past = turn - STEPS * whole;
        sixth[i] = if whole == 6 { 0 } else { whole as u8 };
        // One colour falls in every other sixth of the circle, and one rises in those between.
        middle[i] = WHOLE - saturation * if whole & 1 == 1 { past } else { STEPS - past };
        low[i] = WHOLE - saturation * STEPS;
    }
    let (middle, low) = (scaled(&middle, value), scaled(&low, value));

    let mut planes = [[0; PIXELS]; 3];
    for i in 0..PIXELS {
        let (at, high, middle, low) = (sixth[i], value[i], middle[i], low[i]);
        let red = if at == 1 || at == 4 { middle } else { high };
        planes[0][i] = if at == 2 || at == 3 { low } else { red };
        let green = if at == 0 || at == 3 { middle } else { high };
        planes[1][i] = if at == 4 || at == 5 { low } else { green };
        let blue = if at == 2 || at == 5 { middle } else { high };
        planes[2][i] = if at == 0 || at == 1 { low } else { blue };
    }
    planes
}

/// Values, times so many parts of `WHOLE`, rounded.
#[inline(always)]
fn scaled(parts: &[u16; PIXELS], values: &[u8; PIXELS]) -> [u8; PIXELS] {
    let mut levels = [0; PIXELS];
    for i in 0..PIXELS {
        let product = f32::from(parts[i]) * f32::from(values[i]);
        levels[i] = whole((product + f32::from(WHOLE) / 2.0) * (1.0 / f32::from(WHOLE)));
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hue, saturation and value of one colour, as Pillow computes them (`Convert.c`, `rgb2hsv_row`).
    fn slow_hsv([r, g, b]: [u8; 3]) -> [u8; 3] {
        let (most, least) = (r.max(g).max(b), r.min(g).min(b));
        if most == least {
            return [0, 0, most];
        }
        let range = f32::from(most - least);
        let share = range / f32::from(most);
        let [rc, gc, bc] = [r, g, b].map(|it| f32::from(most - it) / range);
        let hue = if r == most {
            bc - gc
        } else if g == most {
            (2.0 + f64::from(rc) - f64::from(bc)) as f32
        } else {
            (4.0 + f64::from(gc) - f64::from(rc)) as f32
        };
        let turn = (f64::from(hue) / 6.0 + 1.0) % 1.0;
        [(f64::from(turn as f32) * 255.0) as u8, (f64::from(share) * 255.0) as u8, most]
    }

    /// Red, green and blue of one colour (`hsv2rgb_row`).
    fn slow_rgb([hue, saturation, value]: [u8; 3]) -> [u8; 3] {
        if saturation == 0 {
            return [value; 3];
        }
        let six = f64::from(hue) * 6.0 / 255.0;
        let past = (six - six.floor()) as f32;
        let (v, s) = (f64::from(value), (f64::from(saturation) / 255.0) as f32);
        let rounded = |share: f64| (v * (1.0 - share)).round() as u8;
        let low = rounded(f64::from(s));
        let falling = rounded(f64::from(s * past));
        let rising = rounded(f64::from(s) * (1.0 - f64::from(past)));
        match six as u8 % 6 {
            0 => [value, rising, low],
            1 => [falling, value, low],
            2 => [low, value, rising],
            3 => [low, falling, value],
            4 => [rising, low, value],
            _ => [value, low, falling],
        }
    }

    /// All colours where slow tests run, otherwise one of 61.
    fn colours() -> impl Iterator<Item = [u8; 3]> {
        let step = if std::env::var_os("SLOW_TESTS").is_some() { 1 } else { 61 };
        (0..1_u32 << 24).step_by(step).map(|it| {
            let [a, b, c, _] = it.to_le_bytes();
            [a, b, c]
        })
    }

    #[test]
    fn hues_are_those_of_the_slow_way() {
        let colours: Vec<[u8; 3]> = colours().collect();
        for (block, _) in colours.chunks(PIXELS).map(<[_]>::as_chunks::<PIXELS>) {
            for pixels in block {
                let (of_rgb, of_hsv) =
                    (planes::split::<false>(pixels), rgb(&planes::split::<false>(pixels)));
                let of_rgb = hsv(&of_rgb);
                for (i, pixel) in pixels.iter().enumerate() {
                    let slow = slow_hsv(*pixel);
                    // A grey has any hue.
                    let from = usize::from(slow[1] == 0);
                    let found = of_rgb.map(|it| it[i]);
                    assert_eq!(found[from..], slow[from..], "{pixel:?} to HSV");
                    assert_eq!(of_hsv.map(|it| it[i]), slow_rgb(*pixel), "{pixel:?} to RGB");
                }
            }
        }
    }

    #[test]
    fn every_tier_gives_the_same_bits() {
        let colours: Vec<[u8; 3]> = colours().take(100_003).collect();
        let (mut plain, mut best) = (colours.clone(), colours.clone());
        turn_hue_body::<false>(&mut plain, 77);
        turn_hue(&mut best, 77);
        assert!(plain == best);
        for factor in [0.0, 0.3, 1.9, -7.0, 1e9, f32::NAN] {
            let (mut plain, mut best) = (colours.clone(), colours.clone());
            saturate_body::<false>(&mut plain, factor);
            saturate(&mut best, factor);
            assert!(plain == best, "{factor}");
        }
        let (mut plain, mut best) = (0, 0);
        sum_grey_body::<false>(&colours, &mut plain);
        sum_grey(&colours, &mut best);
        let slow: u64 = colours.iter().map(|it| u64::from(grey(*it))).sum();
        assert_eq!([plain, best], [slow; 2]);
    }

    #[test]
    fn steps_together_are_steps_one_by_one() {
        use Adjustment::{Brightness, Contrast, Hue, Saturation};
        let colours: Vec<[u8; 3]> = colours().take(9_999).collect();
        let steps = [
            (Saturation, 1.4),
            (Brightness, 0.7),
            (Contrast, 1.6),
            (Hue, 0.2),
            (Contrast, 0.5),
            (Brightness, 1.2),
        ];
        for channels in [1, 3, 4] {
            let mut together = colours.as_flattened()[..9_996 * 3].to_vec();
            let mut apart = together.clone();
            adjust(&mut together, channels, &steps);
            steps.iter().for_each(|it| adjust(&mut apart, channels, &[*it]));
            assert!(together == apart, "{channels} channels");
        }
    }
}
