//! What is drawn: ten kinds of pictures, each with its own shapes, colours and textures.
//!
//! A scene paints from back to front on a [`Sketch`]. Lengths are in pixels, most of them as a
//! share of the longer side, so that a picture looks alike at any size.

mod land;
mod things;
mod town;

use crate::canvas::{Area, Canvas, Rgb, hsv, mix, rise, scale};
use crate::chance::Chance;
use crate::noise::{Field, Octaves};

/// A kind of picture: the name of its folder, and how it is drawn.
pub(crate) struct Scene {
    pub(crate) name: &'static str,
    pub(crate) draw: fn(&mut Sketch),
}

/// The kinds, in the order of their names.
pub(crate) static SCENES: [Scene; 10] = [
    Scene { name: "balloon", draw: things::balloon },
    Scene { name: "bricks", draw: town::bricks },
    Scene { name: "city", draw: town::city },
    Scene { name: "desert", draw: land::desert },
    Scene { name: "flower", draw: things::flower },
    Scene { name: "forest", draw: land::forest },
    Scene { name: "fruit", draw: things::fruit },
    Scene { name: "meadow", draw: land::meadow },
    Scene { name: "mountain", draw: land::mountain },
    Scene { name: "sea", draw: land::sea },
];

/// A picture being drawn.
pub(crate) struct Sketch {
    pub(crate) canvas: Canvas,
    pub(crate) chance: Chance,
    /// How much texture the surfaces have; 1 is the middle.
    pub(crate) texture: f32,
    /// What stands in the picture, from back to front.
    pub(crate) things: Vec<Thing>,
}

/// A thing in a picture, as a set for detection names it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thing {
    pub(crate) kind: Kind,
    /// Where it is; it may reach out of the picture.
    pub(crate) area: Area,
}

/// Kinds of things, in the order of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Balloon,
    Building,
    Flower,
    Fruit,
    Window,
}

impl Sketch {
    pub(crate) fn new(canvas: Canvas, chance: Chance, texture: f32) -> Sketch {
        Sketch { canvas, chance, texture, things: Vec::new() }
    }

    /// Notes that a thing stands there.
    fn note(&mut self, kind: Kind, area: Area) {
        self.things.push(Thing { kind, area });
    }

    fn width(&self) -> f32 {
        self.canvas.width as f32
    }

    fn height(&self) -> f32 {
        self.canvas.height as f32
    }

    /// The unit of lengths: the longer side.
    fn side(&self) -> f32 {
        self.width().max(self.height())
    }

    fn grow(&mut self, octaves: Octaves) -> Field {
        octaves.grow(&mut self.chance, self.canvas.width, self.canvas.height)
    }

    /// A wavy line across the picture: mean 0, variance 1.
    fn profile(&mut self, octaves: Octaves) -> Vec<f32> {
        octaves.grow(&mut self.chance, self.canvas.width, 1).values
    }

    /// Whole pixels for a share of the longer side.
    fn pixels(&self, share: f32) -> usize {
        (share * self.side() + 0.5) as usize
    }

    /// A sky with clouds over everything; gives the colour at the horizon, the haze's colour.
    fn sky(&mut self, horizon: f32) -> Rgb {
        let (top, low) = self.sky_colours();
        let cover = self.chance.within(-0.6, 2.2);
        let clouds = self.grow(Octaves::new(0, 8, 0.62).stretched(1, 0));
        let (white, reach) = (mix(low, [1.0; 3], 0.75), self.pixels(0.012).max(1));
        self.canvas.fill(|x, y| {
            let down = (y as f32 / horizon).min(1.0);
            let sky = mix(top, low, down * down.sqrt());
            let thickness = rise(cover, cover + 1.6, clouds.at(x, y) + 0.4 * down);
            let lit = 0.86 - 0.10 * clouds.relief(x, y, reach);
            mix(sky, scale(white, lit.clamp(0.5, 1.05)), thickness)
        });
        low
    }

    /// Overhead and at the horizon: clear, grey, or near sunset.
    fn sky_colours(&mut self) -> (Rgb, Rgb) {
        let light = self.chance.within(0.75, 1.0);
        match self.chance.whole(0, 9) {
            0..=4 => {
                let hue = self.chance.within(0.55, 0.62);
                (hsv(hue, self.chance.within(0.4, 0.85), 0.8 * light), hsv(hue, 0.18, light))
            }
            5..=7 => (hsv(0.6, 0.1, 0.84 * light), hsv(0.58, 0.05, 0.97 * light)),
            _ => {
                let warm = self.chance.within(0.03, 0.12);
                (hsv(0.65, 0.5, 0.5 * light), hsv(warm, 0.6, light))
            }
        }
    }

    /// A surface below a line: `colour` gets the pixel and how far below the line it is.
    fn below(&mut self, line: &[f32], colour: impl Fn(usize, usize, f32) -> Rgb) {
        let top = line.iter().copied().fold(f32::INFINITY, f32::min) - 1.0;
        let area = Area { left: 0.0, top, right: self.width(), bottom: self.height() };
        self.canvas.paint(area, |x, y| {
            let depth = y as f32 - line[x];
            let cover = (depth + 0.5).clamp(0.0, 1.0);
            (if cover > 0.0 { colour(x, y, depth.max(0.0)) } else { [0.0; 3] }, cover)
        });
    }

    /// Discs of light out of focus.
    fn bokeh(&mut self, number: u64, colours: &[Rgb]) {
        for _ in 0..number {
            let (x, y) = (self.chance.unit() * self.width(), self.chance.unit() * self.height());
            let radius = self.chance.within(0.01, 0.06) * self.side();
            let (colour, strength) = (self.chance.pick(colours), self.chance.within(0.1, 0.45));
            self.canvas.paint(Area::around(x, y, radius + 2.0), |px, py| {
                let far = distance(px as f32 - x, py as f32 - y) / radius;
                (colour, strength * (1.0 - rise(0.85, 1.0, far)) * (0.6 + 0.4 * far))
            });
        }
    }
}

/// Foliage: `field` high is a lit leaf, low is a gap between leaves.
fn leafy(leaf: Rgb, field: &Field, (x, y): (usize, usize), strength: f32) -> Rgb {
    let lit = field.at(x, y) - 0.4 * field.relief(x, y, 1);
    let colour = mix(leaf, [0.75, 0.8, 0.35], (0.15 * lit).clamp(0.0, 0.4));
    scale(colour, (1.0 + strength * lit).max(0.12))
}

fn distance(x: f32, y: f32) -> f32 {
    (x * x + y * y).sqrt()
}

/// The angle of a direction in turns, -1/2 to 1/2, to 1e-4 (a polynomial: it must be quick, and
/// the same everywhere).
fn turns(x: f32, y: f32) -> f32 {
    let (ax, ay) = (x.abs(), y.abs());
    let ratio = ax.min(ay) / ax.max(ay).max(1e-9);
    let square = ratio * ratio;
    // Abramowitz and Stegun 4.4.47, divided by 2π.
    let octant = ratio
        * (0.159_155
            + square
                * (-0.052_563 + square * (0.028_669 + square * (-0.013_548 + square * 0.003_316))));
    let quarter = if ay > ax { 0.25 - octant } else { octant };
    let half = if x < 0.0 { 0.5 - quarter } else { quarter };
    if y < 0.0 { -half } else { half }
}

/// The cosine of an angle in turns, to 1e-3.
fn cosine(turns: f32) -> f32 {
    // A parabola for each half wave, bent towards the cosine (the weights 0.775 and 0.225 make
    // the largest error the least).
    let t = turns + 0.25;
    let t = 2.0 * (t - libm::floorf(t)) - 1.0;
    let wave = -4.0 * t * (1.0 - t.abs());
    0.775 * wave + 0.225 * wave * wave.abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quick_functions_are_near_the_exact_ones() {
        for i in 0..1000 {
            let angle = i as f32 / 1000.0 - 0.5;
            let (sine, cos) = libm::sincosf(angle * std::f32::consts::TAU);
            assert!((cosine(angle) - cos).abs() < 2e-3, "cosine of {angle}");
            let error = (turns(cos, sine) - angle).abs();
            assert!(error.min(1.0 - error) < 2e-3, "angle {angle}: {}", turns(cos, sine));
        }
    }

    #[test]
    fn the_names_are_sorted_so_that_a_class_is_its_row() {
        assert!(SCENES.is_sorted_by_key(|it| it.name));
    }
}
