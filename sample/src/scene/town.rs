//! Walls and towns: bricks, city.

use super::{Kind, Sketch, leafy};
use crate::canvas::{Area, Rgb, hsv, mix, rise, scale};
use crate::chance::cell;
use crate::noise::{Field, Octaves};

/// A brick wall in slanting light, at times with a window.
pub(super) fn bricks(sketch: &mut Sketch) {
    let wall = Wall::draw(sketch);
    let rough = sketch.grow(Octaves::new(0, 5, 0.85));
    let stains = sketch.grow(Octaves::new(3, 6, 0.7));
    let strength = 0.075 * sketch.texture;
    let bent = 0.0025 * sketch.side();
    sketch.canvas.fill(|x, y| {
        let (brick, lit) =
            wall.at(x as f32 + bent * stains.at(x, y), y as f32 + bent * rough.at(x, y));
        let bumps = 1.0 - 1.2 * strength * rough.relief(x, y, 1) + strength * rough.at(x, y);
        scale(brick, lit * bumps * (1.0 + 0.10 * stains.at(x, y)))
    });
    if sketch.chance.happens(0.45) {
        window(sketch);
    }
    cast_shadow(sketch);
}

/// The lattice of bricks: sizes in pixels, colours.
struct Wall {
    seed: u64,
    long: f32,
    high: f32,
    joint: f32,
    hue: f32,
    vivid: f32,
    mortar: Rgb,
    slant: f32,
}

impl Wall {
    fn draw(sketch: &mut Sketch) -> Wall {
        let high = sketch.side() * sketch.chance.within(0.03, 0.09);
        let grey = sketch.chance.within(0.35, 0.85);
        Wall {
            seed: sketch.chance.bits(),
            long: high * sketch.chance.within(2.2, 3.4),
            high,
            joint: high * sketch.chance.within(0.06, 0.14),
            hue: sketch.chance.within(0.0, 0.1),
            vivid: sketch.chance.within(0.15, 0.65),
            mortar: [grey, 0.97 * grey, 0.92 * grey],
            slant: sketch.chance.within(-0.2, 0.2),
        }
    }

    /// Colour and light at a place: a brick's face, its shaded edge, or the mortar.
    fn at(&self, x: f32, y: f32) -> (Rgb, f32) {
        let y = y + self.slant * x;
        let row = libm::floorf(y / self.high);
        let shift = if row as i64 % 2 == 0 { 0.0 } else { 0.5 };
        let column = libm::floorf(x / self.long + shift);
        let (left, top) = (x - (column - shift) * self.long, y - row * self.high);
        let (right, bottom) = (self.long - left, self.high - top);

        let edge = left.min(top).min(right).min(bottom) - self.joint / 2.0;
        let draw = |salt| cell(self.seed ^ salt, column as i64, row as i64);
        let face = hsv(self.hue + 0.04 * draw(1), self.vivid, 0.4 + 0.35 * draw(2));
        let bevel = if left.min(top) < right.min(bottom) { 1.15 } else { 0.75 };
        let lit = 1.0 + (bevel - 1.0) * (1.0 - rise(0.0, self.joint, edge));
        (mix(self.mortar, face, rise(-0.8, 0.8, edge)), if edge > 0.0 { lit } else { 0.8 })
    }
}

fn window(sketch: &mut Sketch) {
    let side = sketch.side();
    let (x, y) = (sketch.chance.unit() * sketch.width(), sketch.chance.unit() * sketch.height());
    let (half_x, half_y) =
        (side * sketch.chance.within(0.1, 0.2), side * sketch.chance.within(0.12, 0.28));
    let frame =
        hsv(sketch.chance.unit(), sketch.chance.within(0.0, 0.5), sketch.chance.within(0.3, 0.95));
    let glass = hsv(0.58, 0.3, sketch.chance.within(0.1, 0.5));
    let mirrored = sketch.grow(Octaves::new(3, 5, 0.7));
    let area = Area { left: x - half_x, right: x + half_x, top: y - half_y, bottom: y + half_y };
    sketch.note(Kind::Window, area);
    let bar = 0.012 * side;
    sketch.canvas.paint(area, |px, py| {
        let (across, down) = ((px as f32 - x).abs(), py as f32 - y);
        let inset = (half_x - across).min(half_y - down.abs());
        let pane = inset.min(across + 0.6 * bar).min((down + 0.3 * half_y).abs() + 0.6 * bar);
        let glass =
            mix(glass, [0.8, 0.88, 0.95], rise(-0.5, 1.5, mirrored.at(px, py) - down / side));
        let shaded = scale(glass, 0.6 + 0.4 * rise(bar, 3.0 * bar, pane));
        (
            mix(
                scale(frame, 0.85 + 0.15 * inset / bar.max(inset)),
                shaded,
                rise(bar - 0.7, bar + 0.7, pane),
            ),
            1.0,
        )
    });
}

/// The shadow of something outside the picture falls across it, soft at its edge.
fn cast_shadow(sketch: &mut Sketch) {
    let shape = sketch.grow(Octaves::new(4, 5, 0.6));
    let (lean, start) = (sketch.chance.within(-1.5, 1.5), sketch.chance.within(-0.6, 1.6));
    let (side, dark) = (sketch.side(), sketch.chance.within(0.45, 0.8));
    let n_columns = sketch.canvas.width;
    for (i, pixel) in sketch.canvas.pixels.iter_mut().enumerate() {
        let (x, y) = ((i % n_columns) as f32 / side, (i / n_columns) as f32 / side);
        let shade = rise(-0.05, 0.05, x + lean * y - start + 0.08 * shape.values[i]);
        *pixel = scale(*pixel, 1.0 - (1.0 - dark) * shade);
    }
}

/// Rows of buildings with lit and dark windows under the sky.
pub(super) fn city(sketch: &mut Sketch) {
    let ground = sketch.chance.within(0.78, 1.02) * sketch.height();
    let haze = sketch.sky(ground);
    let grime = sketch.grow(Octaves::new(0, 5, 0.8));
    for layer in 0..3 {
        let near = layer as f32 / 2.0;
        let mut x = -sketch.chance.unit() * 0.1 * sketch.side();
        while x < sketch.width() {
            let wide = sketch.side() * sketch.chance.within(0.05, 0.14) * (0.7 + 0.8 * near);
            if sketch.chance.happens(0.85 - 0.25 * near) {
                let house = House::draw(sketch, near, (x, wide));
                house.paint(sketch, ground, &grime, mix(haze, [1.0; 3], 0.1));
            }
            x += wide * sketch.chance.within(0.85, 1.2);
        }
    }
    street(sketch, ground);
}

/// One building, its sizes in pixels.
struct House {
    seed: u64,
    near: f32,
    left: f32,
    wide: f32,
    tall: f32,
    wall: Rgb,
    glass: Rgb,
    floor: f32,
    bay: f32,
    /// Share of a bay and of a floor that a window takes.
    pane: (f32, f32),
}

impl House {
    fn draw(sketch: &mut Sketch, near: f32, (left, wide): (f32, f32)) -> House {
        let chance = &mut sketch.chance;
        let hue = chance.pick(&[0.03, 0.07, 0.1, 0.58, 0.62]);
        let wall = hsv(hue, chance.within(0.03, 0.35), chance.within(0.3, 0.85));
        let glass = hsv(0.58, 0.3, chance.within(0.1, 0.4));
        let (seed, tall) = (chance.bits(), chance.within(0.18, 0.62) * (1.1 - 0.35 * near));
        let (floor, bay) = (chance.within(0.016, 0.03), chance.within(0.012, 0.03));
        let pane = (chance.within(0.45, 0.9), chance.within(0.4, 0.75));
        let side = sketch.side() * (0.6 + 0.8 * near);
        let tall = tall * sketch.height();
        House {
            seed,
            near,
            left,
            wide,
            tall,
            wall,
            glass,
            floor: floor * side,
            bay: bay * side,
            pane,
        }
    }

    fn paint(&self, sketch: &mut Sketch, ground: f32, grime: &Field, haze: Rgb) {
        let (top, right) = (ground - self.tall, self.left + self.wide);
        let area = Area { left: self.left, top, right, bottom: ground };
        sketch.note(Kind::Building, area);
        let strength = 0.07 * sketch.texture;
        sketch.canvas.paint(area, |x, y| {
            let (across, down) = (x as f32 - self.left, y as f32 - top);
            let cover = (across + 0.5).min(self.wide - across + 0.5).clamp(0.0, 1.0);
            let face = scale(self.face(across, down), 1.0 + strength * grime.at(x, y));
            // One side wall of the building lies in its own shade.
            let shade = if across < 0.22 * self.wide { 0.62 } else { 1.0 };
            (mix(scale(face, shade), haze, 0.6 * (1.0 - self.near)), cover)
        });
    }

    fn face(&self, across: f32, down: f32) -> Rgb {
        let (column, row) = (libm::floorf(across / self.bay), libm::floorf(down / self.floor));
        let (x, y) = (across / self.bay - column, down / self.floor - row);
        let draw = cell(self.seed, column as i64, row as i64);
        let lit = if draw > 0.93 { [1.0, 0.9, 0.6] } else { scale(self.glass, 0.6 + 1.3 * draw) };

        let in_x = (self.pane.0 / 2.0 - (x - 0.5).abs()) * self.bay;
        let in_y = (self.pane.1 / 2.0 - (y - 0.5).abs()) * self.floor;
        let inside = (in_x.min(in_y) + 0.5).clamp(0.0, 1.0);
        let sill = if in_x > 0.0 && in_y < 0.0 && in_y > -1.5 && y > 0.5 { 1.2 } else { 1.0 };
        let roof = if down < 0.25 * self.floor { 0.7 } else { 1.0 };
        mix(scale(self.wall, sill * roof), lit, if down < 0.3 * self.floor { 0.0 } else { inside })
    }
}

/// A band of trees and a road in front.
fn street(sketch: &mut Sketch, ground: f32) {
    let (side, leaf) = (sketch.side(), hsv(sketch.chance.within(0.2, 0.35), 0.5, 0.35));
    let trees: Vec<f32> = sketch
        .profile(Octaves::new(0, 7, 0.7))
        .iter()
        .map(|it| ground - 0.02 * side * (0.3 + it).max(-0.5))
        .collect();
    let leaves = sketch.grow(Octaves::new(0, 4, 0.95));
    let strength = 0.25 * sketch.texture;
    sketch.below(&trees, |x, y, _| leafy(leaf, &leaves, (x, y), strength));

    let kerb = vec![ground + 0.03 * side; sketch.canvas.width];
    let grey = sketch.chance.within(0.3, 0.55);
    sketch.below(&kerb, |x, y, depth| {
        let lane = (depth / (0.02 * side)).min(1.0);
        scale([grey; 3], (0.7 + 0.3 * lane) * (1.0 + 0.25 * strength * leaves.at(x, y)))
    });
}
