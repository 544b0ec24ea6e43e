//! What kind of file a picture becomes: size, sampling, quality and how detailed it is.
//!
//! All figures were read off the 380 files of the folder `imagenet` of the project's shared
//! data (one picture a class of ImageNet's, from `EliSchwartz/imagenet-sample-images`). Two
//! populations make up ImageNet: pictures that its authors reduced to 500 pixels and wrote
//! with 4:4:4 sampling at quality 96, and pictures kept as they were found on the web.

use crate::chance::{Chance, even};

/// How the colour differences are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sampling {
    /// No colour at all.
    Grey,
    Full,
    HalfWidth,
    HalfHeight,
    Quarter,
}

/// The file that a picture becomes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Photo {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) sampling: Sampling,
    /// libjpeg's quality, 1 to 100.
    pub(crate) quality: u8,
    /// Where the picture stands among its like by detail: 0 the smoothest, 1 the busiest.
    pub(crate) detail: f32,
}

/// Shares of the sampling modes; the first two are the reduced pictures. Of 1000 files of
/// ImageNet, 761 are 4:4:4, 203 4:2:0, 12 4:2:2, 1 4:4:0 and 23 grey.
const MODES: [(f64, Sampling); 6] = [
    (0.672, Sampling::Full),
    (0.023, Sampling::Grey),
    (0.089, Sampling::Full),
    (0.203, Sampling::Quarter),
    (0.012, Sampling::HalfWidth),
    (0.001, Sampling::HalfHeight),
];

/// Sizes of reduced pictures: share, then the range of the shorter side by the longer one.
/// The longer side is 500.
const REDUCED: [(f64, f32, f32); 8] = [
    (0.40, 0.750, 0.750),
    (0.27, 0.666, 0.668),
    (0.04, 0.664, 0.664),
    (0.02, 0.480, 0.620),
    (0.06, 0.620, 0.700),
    (0.10, 0.700, 0.790),
    (0.08, 0.790, 0.980),
    (0.03, 1.000, 1.000),
];

/// Pictures as found: share, range of the longer side, then of the shorter by the longer.
const FOUND: [(f64, [f32; 2], [f32; 2]); 11] = [
    (0.02, [95.0, 150.0], [0.90, 1.00]),
    (0.14, [150.0, 250.0], [0.67, 1.00]),
    (0.16, [250.0, 350.0], [0.66, 1.00]),
    (0.06, [400.0, 400.0], [0.75, 0.75]),
    (0.16, [350.0, 450.0], [0.55, 1.00]),
    (0.07, [450.0, 499.0], [0.67, 1.00]),
    (0.12, [501.0, 600.0], [0.58, 0.90]),
    (0.13, [600.0, 700.0], [0.60, 0.78]),
    (0.12, [740.0, 900.0], [0.67, 0.80]),
    (0.015, [900.0, 1300.0], [0.45, 0.72]),
    (0.005, [1500.0, 1632.0], [0.69, 0.75]),
];

/// Every tenth of the qualities of the found pictures: 4:4:4 ones, and those of fewer samples.
const QUALITIES_FULL: [u8; 10] = [78, 80, 80, 85, 86, 86, 90, 91, 92, 94];
const QUALITIES_FEWER: [u8; 10] = [65, 69, 75, 75, 75, 80, 85, 85, 90, 92];

/// Draws what picture `index` of the set becomes.
pub(crate) fn draw(seed: u64, index: u64) -> Photo {
    let [mode, detail, size, quality] = std::array::from_fn(|axis| even(seed, index, axis));
    let (mode, sampling) = chosen(mode, &MODES);
    // The rest is not worth an axis of its own.
    let mut chance = Chance::new(seed ^ 0x0070_686f, index);
    let (long, short) = if mode < 2 { reduced(size) } else { found(size, &mut chance) };
    let upright = chance.happens(0.25);
    let (width, height) = if upright { (short, long) } else { (long, short) };

    let tenth = (quality * 10.0) as usize;
    let quality = match (mode, sampling) {
        (0 | 1, _) => 96,
        (_, Sampling::Full) => QUALITIES_FULL[tenth],
        _ => QUALITIES_FEWER[tenth],
    };
    Photo { width, height, sampling, quality, detail: detail as f32 }
}

/// Which row of a table of shares a number in `0..1` falls into, and how far into it.
fn row<T>(at: f64, table: &[T], share: impl Fn(&T) -> f64) -> (usize, f32) {
    let mut rest = at;
    for (i, it) in table.iter().enumerate() {
        if rest < share(it) {
            return (i, (rest / share(it)) as f32);
        }
        rest -= share(it);
    }
    (table.len() - 1, 1.0)
}

fn chosen(at: f64, modes: &[(f64, Sampling)]) -> (usize, Sampling) {
    let (i, _) = row(at, modes, |it| it.0);
    (i, modes[i].1)
}

fn reduced(at: f64) -> (usize, usize) {
    let (i, way) = row(at, &REDUCED, |it| it.0);
    let (_, low, high) = REDUCED[i];
    (500, (500.0 * (low + (high - low) * way)) as usize)
}

fn found(at: f64, chance: &mut Chance) -> (usize, usize) {
    let (i, way) = row(at, &FOUND, |it| it.0);
    let (_, [shortest, longest], [low, high]) = FOUND[i];
    let long = shortest + (longest - shortest) * way;
    (long as usize, (long * chance.within(low, high)) as usize)
}
