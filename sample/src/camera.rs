//! The camera: from a painted picture to 8-bit samples, with what lens and sensor add.

use crate::canvas::{Canvas, Rgb};
use crate::chance::Chance;
use crate::noise::{Field, Octaves};
use crate::photo::{Photo, Sampling};

/// Takes the picture: light and contrast are set, the corners darken, the sensor adds noise.
pub(crate) fn expose(canvas: &Canvas, photo: &Photo, chance: &mut Chance) -> Vec<u8> {
    let noise = Noise::draw(photo, chance);
    let levels = Levels::measure(canvas, chance);
    let fall = chance.within(0.0, 0.35);
    let (middle_x, middle_y) = (canvas.width as f32 / 2.0, canvas.height as f32 / 2.0);
    let reach = 1.0 / (middle_x * middle_x + middle_y * middle_y);
    let per_pixel = if photo.sampling == Sampling::Grey { 1 } else { 3 };

    let mut samples = Vec::with_capacity(canvas.pixels.len() * per_pixel);
    for (y, row) in canvas.pixels.chunks_exact(canvas.width).enumerate() {
        let down = y as f32 - middle_y;
        for (x, &pixel) in row.iter().enumerate() {
            let across = x as f32 - middle_x;
            let light = 1.0 - fall * (across * across + down * down) * reach;
            let rgb = levels.develop(pixel).map(|it| it * light);
            push(&mut samples, noise.add(rgb, y * canvas.width + x), photo.sampling);
        }
    }
    samples
}

/// How brightness becomes levels of 0 to 255: what a camera's automatic exposure does.
struct Levels {
    black: f32,
    gain: f32,
    colour: f32,
}

impl Levels {
    /// Mean and spread of brightness as photographs have them: in the middle half of ImageNet's
    /// the standard deviation is 49 to 66 levels.
    fn measure(canvas: &Canvas, chance: &mut Chance) -> Levels {
        let values = || canvas.pixels.iter().step_by(7).map(|it| luma(*it));
        let n = values().count() as f32;
        let mean = values().sum::<f32>() / n;
        let spread = (values().map(|it| (it - mean) * (it - mean)).sum::<f32>() / n).sqrt();

        let wanted = chance.within(42.0, 90.0);
        let gain = (wanted / spread.max(0.01)).clamp(210.0, 460.0);
        let middle = chance.within(85.0, 150.0);
        Levels { black: middle - gain * mean, gain, colour: 215.0 * (gain / 255.0).sqrt() }
    }

    fn develop(&self, pixel: Rgb) -> Rgb {
        let luma = luma(pixel);
        pixel.map(|it| bend(self.black + self.gain * luma + self.colour * (it - luma)))
    }
}

/// Bends the ends of the tone curve, so that shadows and lights keep some drawing.
fn bend(level: f32) -> f32 {
    // Within KNEE of either end a hyperbola goes on where the line ends, as steep as it is.
    const KNEE: f32 = 40.0;
    if level < KNEE {
        KNEE * KNEE / (2.0 * KNEE - level)
    } else if level > 255.0 - KNEE {
        255.0 - KNEE * KNEE / (2.0 * KNEE - 255.0 + level)
    } else {
        level
    }
}

fn push(samples: &mut Vec<u8>, rgb: Rgb, sampling: Sampling) {
    // A cast to u8 saturates.
    if sampling == Sampling::Grey {
        samples.push((luma(rgb) + 0.5) as u8);
    } else {
        samples.extend(rgb.map(|it| (it + 0.5) as u8));
    }
}

/// Brightness of a colour (ITU-R BT.601, as in JPEG).
fn luma(rgb: Rgb) -> f32 {
    0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2]
}

/// What the sensor adds, in levels of 0 to 255: bright noise as fine as the pixels, and coarser
/// specks of colour.
struct Noise {
    grain: Field,
    blue: Field,
    red: Field,
    sigma: f32,
    tinge: f32,
}

impl Noise {
    fn draw(photo: &Photo, chance: &mut Chance) -> Noise {
        let mut grow = |octaves: Octaves| octaves.grow(chance, photo.width, photo.height);
        let specks = Octaves::new(1, 4, 0.7);
        Noise {
            grain: grow(Octaves::new(0, 3, 0.75)),
            blue: grow(specks),
            red: grow(specks),
            sigma: 0.5 + 2.8 * photo.detail * photo.detail,
            tinge: 0.6 + 2.2 * photo.detail * photo.detail,
        }
    }

    fn add(&self, rgb: Rgb, i: usize) -> Rgb {
        // Photon noise grows with the light, the tone curve presses it down again.
        let grain = self.sigma * self.grain.values[i];
        let (blue, red) = (self.tinge * self.blue.values[i], self.tinge * self.red.values[i]);
        let [r, g, b] = rgb;
        [r + grain + 1.402 * red, g + grain - 0.344 * blue - 0.714 * red, b + grain + 1.772 * blue]
    }
}
