//! The transforms that a lossless picture was coded through, undone.

/// A transform, as the file says it.
#[derive(Debug)]
pub(super) enum Transform {
    /// Each pixel is what was added to a prediction; the mode of each tile is its green.
    Predictor {
        /// 2^`bits` pixels are the side of a tile.
        bits: u32,
        tiles: Vec<u32>,
    },
    /// Red and blue are differences to parts of green and red; each tile has its factors.
    Colour { bits: u32, tiles: Vec<u32> },
    /// Green was subtracted from red and blue.
    Green,
    /// Green is an index; several lie in a pixel if there are few colours.
    Palette {
        /// Indices in a pixel, as a power of two.
        bits: u32,
        /// 256 colours, of which those that the file does not have are transparent black.
        colours: Vec<u32>,
    },
}

/// Tiles of which `n` pixels consist, or pixels of which `n` indices do.
pub(super) fn tiles(n: usize, bits: u32) -> usize {
    n.div_ceil(1 << bits)
}

const BLACK: u32 = 0xFF00_0000;
const RED_AND_BLUE: u32 = 0x00FF_00FF;
const GREEN_AND_ALPHA: u32 = 0xFF00_FF00;

impl Transform {
    /// Undoes it for a picture of rows of `width` pixels; a palette makes of `pixels` more.
    pub(super) fn undo(&self, pixels: &mut Vec<u32>, width: usize) {
        match self {
            Transform::Predictor { bits, tiles } => predict(pixels, width, *bits, tiles),
            Transform::Colour { bits, tiles } => colour(pixels, width, *bits, tiles),
            Transform::Green => {
                for pixel in pixels {
                    let green = *pixel >> 8 & 0xFF;
                    *pixel = add(*pixel, green << 16 | green);
                }
            }
            Transform::Palette { bits, colours } => palette(pixels, width, *bits, colours),
        }
    }
}

/// Sums of bytes, which wrap.
#[inline(always)]
fn add(a: u32, b: u32) -> u32 {
    let even = (a & RED_AND_BLUE).wrapping_add(b & RED_AND_BLUE) & RED_AND_BLUE;
    let odd = (a & GREEN_AND_ALPHA).wrapping_add(b & GREEN_AND_ALPHA) & GREEN_AND_ALPHA;
    even | odd
}

/// Means of bytes, rounded down.
#[inline(always)]
fn mean(a: u32, b: u32) -> u32 {
    (a & b) + ((a ^ b) >> 1 & 0x7F7F_7F7F)
}

fn predict(pixels: &mut [u32], width: usize, bits: u32, tiles_of: &[u32]) {
    let Some(first) = pixels.first_mut() else { return };
    *first = add(*first, BLACK);
    for x in 1..width {
        pixels[x] = add(pixels[x], pixels[x - 1]);
    }
    let per_row = tiles(width, bits);
    for y in 1..pixels.len() / width {
        let start = y * width;
        pixels[start] = add(pixels[start], pixels[start - width]);
        let modes = &tiles_of[(y >> bits) * per_row..][..per_row];
        for (tile, &mode) in modes.iter().enumerate() {
            let from = (tile << bits).max(1);
            let to = ((tile + 1) << bits).min(width);
            if from < to {
                // From the pixel above the one before the tile to the last pixel of the tile.
                let window = &mut pixels[start + from - 1 - width..start + to];
                run(mode >> 8 & 0xF, window, width);
            }
        }
    }
}

/// Undoes the prediction of the last pixels of `window`: those behind the one that lies `width` behind its
/// first, above which it begins.
fn run(mode: u32, window: &mut [u32], width: usize) {
    match mode {
        1 => each(window, width, |left, _, _, _| left),
        2 => each(window, width, |_, top, _, _| top),
        3 => each(window, width, |_, _, right, _| right),
        4 => each(window, width, |_, _, _, corner| corner),
        5 => each(window, width, |left, top, right, _| mean(mean(left, right), top)),
        6 => each(window, width, |left, _, _, corner| mean(left, corner)),
        7 => each(window, width, |left, top, _, _| mean(left, top)),
        8 => each(window, width, |_, top, _, corner| mean(corner, top)),
        9 => each(window, width, |_, top, right, _| mean(top, right)),
        10 => each(window, width, |left, top, right, corner| {
            mean(mean(left, corner), mean(top, right))
        }),
        11 => each(window, width, |left, top, _, corner| select(left, top, corner)),
        12 => each(window, width, |left, top, _, corner| full(left, top, corner)),
        13 => each(window, width, |left, top, _, corner| half(mean(left, top), corner)),
        _ => each(window, width, |_, _, _, _| BLACK),
    }
}

/// `prediction` is of the pixels to the left, above, above to the right, and above to the left.
#[inline(always)]
fn each(window: &mut [u32], width: usize, prediction: impl Fn(u32, u32, u32, u32) -> u32) {
    let (mut left, mut corner, mut top) = (window[width], window[0], window[1]);
    for i in 1..window.len() - width {
        // To the right of the last pixel above lies the first one of this row.
        let right = window[i + 1];
        let pixel = add(window[width + i], prediction(left, top, right, corner));
        window[width + i] = pixel;
        (left, corner, top) = (pixel, top, right);
    }
}

/// Of `left` and `top` the one that is nearer to `left + top - corner`.
#[inline(always)]
fn select(left: u32, top: u32, corner: u32) -> u32 {
    let distance = |a: u32, b: u32| {
        let pairs = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
        pairs.map(|(a, b)| u32::from(a.abs_diff(b))).sum::<u32>()
    };
    if distance(top, corner) < distance(left, corner) { left } else { top }
}

/// `a` + `b` - `corner`, between 0 and 255.
#[inline(always)]
fn full(a: u32, b: u32, corner: u32) -> u32 {
    let [a, b, corner] = [a, b, corner].map(u32::to_le_bytes);
    u32::from_le_bytes(std::array::from_fn(|i| {
        (i16::from(a[i]) + i16::from(b[i]) - i16::from(corner[i])).clamp(0, 255) as u8
    }))
}

/// `a` and half of what it is more than `corner`, between 0 and 255.
#[inline(always)]
fn half(a: u32, corner: u32) -> u32 {
    let [a, corner] = [a, corner].map(u32::to_le_bytes);
    u32::from_le_bytes(std::array::from_fn(|i| {
        let a = i16::from(a[i]);
        (a + (a - i16::from(corner[i])) / 2).clamp(0, 255) as u8
    }))
}

fn colour(pixels: &mut [u32], width: usize, bits: u32, tiles_of: &[u32]) {
    let per_row = tiles(width, bits);
    for (y, row) in pixels.chunks_exact_mut(width).enumerate() {
        let factors = &tiles_of[(y >> bits) * per_row..][..per_row];
        for (part, &factors) in row.chunks_mut(1 << bits).zip(factors) {
            let [red_of_green, blue_of_green, blue_of_red, _] = factors.to_le_bytes();
            let by =
                |factor: u8, value: u8| (i32::from(factor as i8) * i32::from(value as i8)) >> 5;
            for pixel in part {
                let [blue, green, red, alpha] = pixel.to_le_bytes();
                let red = (i32::from(red) + by(red_of_green, green)) as u8;
                let blue = i32::from(blue) + by(blue_of_green, green) + by(blue_of_red, red);
                *pixel = u32::from_le_bytes([blue as u8, green, red, alpha]);
            }
        }
    }
}

fn palette(pixels: &mut Vec<u32>, width: usize, bits: u32, colours: &[u32]) {
    let colour = |index: u32| colours[index as usize & 0xFF];
    if bits == 0 {
        pixels.iter_mut().for_each(|it| *it = colour(*it >> 8));
        return;
    }
    let per_row = tiles(width, bits);
    let rows = pixels.len() / per_row;
    let index_bits = 8 >> bits;
    let mask = (1 << index_bits) - 1;
    pixels.resize(rows * width, 0);
    // From the last index to the first: where one is written, those that are still to be read are before.
    for y in (0..rows).rev() {
        for x in (0..width).rev() {
            let packed = pixels[y * per_row + (x >> bits)] >> 8;
            let shift = (x & ((1 << bits) - 1)) as u32 * index_bits;
            pixels[y * width + x] = colour(packed >> shift & mask);
        }
    }
}
