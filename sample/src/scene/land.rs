//! Landscapes: desert, forest, meadow, mountain, sea.

use super::{Sketch, distance, leafy, turns};
use crate::canvas::{Area, Rgb, hsv, mix, rise, scale};
use crate::chance::cell;
use crate::noise::{Field, Octaves};

/// Dunes behind dunes, each with a lit and a shaded side and ripples.
pub(super) fn desert(sketch: &mut Sketch) {
    let horizon = sketch.chance.within(0.25, 0.5) * sketch.height();
    let haze = sketch.sky(horizon);
    let sand = hsv(sketch.chance.within(0.05, 0.11), sketch.chance.within(0.4, 0.7), 0.9);
    let dunes = sketch.chance.whole(3, 5);
    for dune in 0..dunes {
        let near = dune as f32 / (dunes - 1) as f32;
        let rise = (0.02 + 0.08 * near) * sketch.height();
        let base = horizon + near * near * 0.55 * (sketch.height() - horizon) + 0.3 * rise;
        let crest: Vec<f32> =
            sketch.profile(Octaves::new(5, 4, 0.35)).iter().map(|it| base - rise * it).collect();
        let tone = mix(scale(sand, 1.0 - 0.25 * near), haze, 0.6 * (1.0 - near));
        lay_dune(sketch, &crest, tone, near);
    }
}

fn lay_dune(sketch: &mut Sketch, crest: &[f32], tone: Rgb, near: f32) {
    let grain = sketch.grow(Octaves::new(0, 4, 0.8));
    let ripples = sketch.grow(Octaves::new(1, 5, 0.8).stretched(2, 0));
    let swell = sketch.grow(Octaves::new(4, 4, 0.4).stretched(1, 0));
    let reach = sketch.pixels(0.02);
    let (side, strength) = (sketch.side(), sketch.texture * (0.02 + 0.06 * near));
    let shade = hsv(0.02, 0.35, 0.55);
    sketch.below(crest, |x, y, depth| {
        // Behind a crest lies shade, with a sharp upper edge, fading downwards.
        let lee = rise(-0.1, 0.35, swell.relief(x, y, reach)) * rise(0.0, 0.03 * side, depth);
        let bumps = ripples.relief(x, y, 2) + 0.5 * grain.at(x, y);
        let sand = scale(tone, (1.0 + 0.06 * swell.at(x, y)) * (1.0 + strength * bumps));
        let dark = std::array::from_fn(|i| sand[i] * shade[i]);
        mix(sand, dark, 0.8 * lee)
    });
}

/// Trunks before a light, leafy background, and a floor of leaves.
pub(super) fn forest(sketch: &mut Sketch) {
    let light = hsv(sketch.chance.within(0.15, 0.3), 0.35, sketch.chance.within(0.7, 1.0));
    let leaf = hsv(sketch.chance.within(0.14, 0.36), sketch.chance.within(0.4, 0.75), 0.6);
    let glow = sketch.grow(Octaves::new(3, 6, 0.7));
    sketch.canvas.fill(|x, y| mix(scale(leaf, 0.6), light, rise(-1.2, 1.6, glow.at(x, y))));
    sketch.bokeh(12, &[light]);
    for layer in 1..=3 {
        let near = layer as f32 / 3.0;
        foliage(sketch, scale(leaf, 1.3 - 0.6 * near), near);
        trunks(sketch, near);
    }
    floor(sketch, leaf);
}

/// Clumps of leaves where a field is high, lit from above.
fn foliage(sketch: &mut Sketch, leaf: Rgb, near: f32) {
    let clumps = sketch.grow(Octaves::new(0, 7, 0.85));
    let leaves = sketch.grow(Octaves::new(0, 3, 0.9));
    let (height, strength) = (sketch.height(), 0.14 * sketch.texture);
    let edge = 0.3 + 0.5 * near;
    sketch.canvas.glaze(|x, y| {
        let value = clumps.at(x, y) - 1.2 * (y as f32 / height - 0.45);
        let colour = leafy(leaf, &leaves, (x, y), strength);
        let lit = 1.0 - 0.6 * strength * clumps.relief(x, y, 1);
        (scale(colour, lit.max(0.2)), rise(edge, edge + 0.35, value))
    });
}

fn trunks(sketch: &mut Sketch, near: f32) {
    let bark = sketch.grow(Octaves::new(0, 4, 0.9).stretched(0, 2));
    let number = sketch.chance.whole(1, 6 - (3.0 * near) as u64);
    for _ in 0..number {
        let wood = hsv(sketch.chance.within(0.05, 0.1), 0.35, sketch.chance.within(0.2, 0.5));
        let (middle, lean) =
            (sketch.chance.unit() * sketch.width(), sketch.chance.within(-0.08, 0.08));
        let half = sketch.side() * near * sketch.chance.within(0.01, 0.045);
        let (strength, foot) = (0.4 * sketch.texture, sketch.height() * (0.6 + 0.3 * near));
        let (reach, height) = (half * 2.0 + 0.1 * sketch.height(), sketch.height());
        let area = Area { left: middle - reach, right: middle + reach, top: 0.0, bottom: foot };
        sketch.canvas.paint(area, |x, y| {
            let up = (height - y as f32) / height;
            let across = (x as f32 - middle - lean * up * height) / (half * (1.25 - 0.5 * up));
            let round = (1.0 - across * across).max(0.0).sqrt();
            let lit = (0.35 + 0.5 * round - 0.25 * across) * (1.0 + strength * bark.at(x, y));
            (scale(wood, 1.6 * lit.max(0.1)), ((1.0 - across.abs()) * half).clamp(0.0, 1.0))
        });
    }
}

fn floor(sketch: &mut Sketch, leaf: Rgb) {
    let line: Vec<f32> = sketch
        .profile(Octaves::new(3, 5, 0.6))
        .iter()
        .map(|it| sketch.height() * (0.82 - 0.02 * it))
        .collect();
    let litter = sketch.grow(Octaves::new(0, 5, 0.95).stretched(1, 0));
    let kinds = sketch.grow(Octaves::new(1, 4, 0.9).stretched(1, 0));
    let light = sketch.grow(Octaves::new(4, 3, 0.6).stretched(1, 0));
    let fallen = hsv(sketch.chance.within(0.04, 0.12), 0.6, 0.62);
    let strength = 0.28 * sketch.texture;
    sketch.below(&line, |x, y, _| {
        let ground = mix(scale(leaf, 0.7), fallen, rise(-0.8, 0.8, kinds.at(x, y)));
        let sun = 0.55 + 0.75 * rise(-0.2, 1.0, light.at(x, y));
        scale(ground, (sun * (1.0 - strength * litter.at(x, y))).max(0.08))
    });
}

/// Grass in perspective with flowers, trees at its end.
pub(super) fn meadow(sketch: &mut Sketch) {
    let horizon = sketch.chance.within(0.12, 0.45) * sketch.height();
    let haze = sketch.sky(horizon);
    let green = hsv(sketch.chance.within(0.17, 0.33), sketch.chance.within(0.45, 0.8), 0.6);
    tree_line(sketch, horizon, mix(scale(green, 0.6), haze, 0.35));
    grass(sketch, horizon, green);
    let n_blades = sketch.chance.whole(60, 260);
    for _ in 0..n_blades {
        blade(sketch, horizon, green);
    }
    let hue = sketch.chance.pick(&[0.0, 0.14, 0.6, 0.78, 0.9]);
    let petals = hsv(hue, sketch.chance.within(0.1, 0.9), 0.95);
    let n_blossoms = sketch.chance.whole(0, 220);
    for _ in 0..n_blossoms {
        blossom(sketch, horizon, petals);
    }
}

fn tree_line(sketch: &mut Sketch, horizon: f32, leaf: Rgb) {
    let rise = 0.05 * sketch.height() * sketch.chance.within(0.2, 1.0);
    let tops: Vec<f32> = sketch
        .profile(Octaves::new(0, 7, 0.6))
        .iter()
        .map(|it| horizon - rise * (1.0 + it).max(0.1))
        .collect();
    let leaves = sketch.grow(Octaves::new(0, 5, 0.9));
    let strength = 0.22 * sketch.texture;
    sketch.below(&tops, |x, y, _| leafy(leaf, &leaves, (x, y), strength));
}

fn grass(sketch: &mut Sketch, horizon: f32, green: Rgb) {
    let blades = sketch.grow(Octaves::new(0, 4, 0.95).stretched(0, 1));
    let patches = sketch.grow(Octaves::new(2, 6, 0.7).stretched(1, 0));
    let dry = hsv(0.14, 0.5, 0.75);
    let (depth, strength) = (sketch.height() - horizon, 0.3 * sketch.texture);
    let line = vec![horizon; sketch.canvas.width];
    let middle = sketch.width() / 2.0;
    sketch.below(&line, |x, y, below| {
        let near = below / depth;
        let patch = mix(green, dry, rise(-0.5, 2.5, patches.at(x, y)));
        // Near blades are longer and broader, and lean with the wind.
        let across = (x as f32 - middle) * (1.3 - 0.5 * near) + 0.3 * below;
        let blade = blades.near(middle + across, below * (1.8 - 0.7 * near));
        let lit = 1.0 + strength * (0.3 + 0.7 * near) * blade;
        scale(patch, (lit * (1.05 - 0.3 * near)).max(0.08))
    });
}

/// A single blade of grass in front, bent to one side.
fn blade(sketch: &mut Sketch, horizon: f32, green: Rgb) {
    let near = sketch.chance.unit();
    let foot = horizon + (sketch.height() - horizon) * (0.35 + 0.85 * near);
    let x = sketch.chance.unit() * sketch.width();
    let tall = sketch.side() * (0.03 + 0.12 * near) * sketch.chance.within(0.6, 1.2);
    let (half, bend) = (0.6 + 0.02 * tall, sketch.chance.within(-0.4, 0.5) * tall);
    let tone = scale(green, sketch.chance.within(0.5, 1.6));
    let (left, right) = (x + bend.min(0.0) - 2.0, x + bend.max(0.0) + 2.0);
    let area = Area { left, right, top: foot - tall, bottom: foot };
    sketch.canvas.paint(area, |px, py| {
        let up = (foot - py as f32) / tall;
        let across = (px as f32 - x - bend * up * up).abs();
        (scale(tone, 0.7 + 0.4 * up), (half * (1.0 - up) + 0.5 - across).clamp(0.0, 1.0))
    });
}

fn blossom(sketch: &mut Sketch, horizon: f32, petals: Rgb) {
    let near = sketch.chance.unit();
    let x = sketch.chance.unit() * sketch.width();
    let y = horizon + (sketch.height() - horizon) * (0.04 + near * near);
    let radius = sketch.side() * (0.002 + 0.016 * near * near);
    let (turn, tint) = (sketch.chance.unit(), scale(petals, sketch.chance.within(0.7, 1.05)));
    sketch.canvas.paint(Area::around(x, y, radius + 1.0), |px, py| {
        let (dx, dy) = (px as f32 - x, (py as f32 - y) * 1.5);
        let far = distance(dx, dy) / radius;
        let lobe = 0.75 + 0.25 * super::cosine(5.0 * turns(dx, dy) + turn);
        let colour = if far < 0.25 { [0.9, 0.75, 0.1] } else { scale(tint, 0.7 + 0.3 * far) };
        (colour, ((lobe - far) * radius).clamp(0.0, 1.0))
    });
}

/// Ranges behind ranges, rock and snow, a dark wood or a lake at the foot.
pub(super) fn mountain(sketch: &mut Sketch) {
    let horizon = sketch.chance.within(0.55, 0.75) * sketch.height();
    let haze = sketch.sky(horizon);
    let rock = hsv(sketch.chance.within(0.02, 0.65), sketch.chance.within(0.05, 0.3), 0.5);
    let snow = sketch.chance.within(0.1, 0.9);
    for range in 0..3 {
        let near = range as f32 / 2.0;
        let tall = sketch.height() * (0.20 - 0.05 * near);
        let base = horizon - sketch.height() * (0.16 - 0.20 * near);
        let ridge: Vec<f32> = sketch
            .profile(Octaves::new(0, 9, 0.5))
            .iter()
            .map(|it| base - tall * (0.9 - it.abs() * 1.1))
            .collect();
        let tone = mix(rock, haze, 0.55 * (1.0 - near));
        rocks(sketch, &ridge, tone, snow * (1.0 - 0.6 * near));
    }
    let wood = hsv(sketch.chance.within(0.2, 0.4), 0.45, 0.25);
    foot(sketch, horizon, wood);
}

fn rocks(sketch: &mut Sketch, ridge: &[f32], rock: Rgb, snow: f32) {
    let faces = sketch.grow(Octaves::new(0, 8, 0.66));
    let (tall, strength) = (0.3 * sketch.height(), 0.55 * sketch.texture);
    let reach = sketch.pixels(0.003).max(1);
    sketch.below(ridge, |x, y, depth| {
        let slope = faces.relief(x, y, reach);
        let white = rise(-0.15, 0.15, snow - depth / tall + 0.35 * faces.at(x, y) + 0.3 * slope);
        let surface = mix(rock, [0.93, 0.95, 1.0], white);
        scale(surface, (0.85 - strength * slope * (1.0 - 0.4 * white)).clamp(0.12, 1.15))
    });
}

fn foot(sketch: &mut Sketch, horizon: f32, wood: Rgb) {
    let top = horizon + 0.08 * sketch.height();
    let firs: Vec<f32> = sketch
        .profile(Octaves::new(0, 6, 0.8))
        .iter()
        .map(|it| top - 0.02 * sketch.height() * it)
        .collect();
    let needles = sketch.grow(Octaves::new(0, 6, 0.85).stretched(0, 1));
    let strength = 0.28 * sketch.texture;
    sketch.below(&firs, |x, y, _| leafy(wood, &needles, (x, y), strength));
}

/// Water to the horizon with its glitter, a sail or two, perhaps a beach.
pub(super) fn sea(sketch: &mut Sketch) {
    let horizon = sketch.chance.within(0.25, 0.6) * sketch.height();
    let sky = sketch.sky(horizon);
    let deep = hsv(sketch.chance.within(0.46, 0.62), sketch.chance.within(0.4, 0.8), 0.45);
    let waves = sketch.grow(Octaves::new(0, 6, 0.85).stretched(2, 0));
    water(sketch, horizon, &waves, [deep, sky]);
    let n_sails = sketch.chance.whole(0, 3);
    for _ in 0..n_sails {
        sail(sketch, horizon);
    }
    if sketch.chance.happens(0.4) {
        beach(sketch);
    }
}

fn water(sketch: &mut Sketch, horizon: f32, waves: &Field, [deep, sky]: [Rgb; 2]) {
    let (depth, width) = (sketch.height() - horizon, sketch.width());
    let (sun, strength) = (sketch.chance.unit() * width, 0.5 * sketch.texture);
    let glitter = sketch.chance.within(0.8, 2.5);
    let line = vec![horizon; sketch.canvas.width];
    sketch.below(&line, |x, _, below| {
        let near = below / depth;
        // Far waves are foreshortened: their rows lie closer together.
        let row = below * (2.4 - 0.9 * near);
        let across = (x as f32 - width / 2.0) * (1.7 - 0.9 * near);
        let wave = waves.near(across, row) - waves.near(across + 2.0, row + 2.5);
        let mirror = (0.75 - 0.6 * near + strength * (0.3 + 0.5 * near) * wave).clamp(0.0, 1.0);
        let path = 1.0 - ((x as f32 - sun).abs() / (0.25 * width)).min(1.0);
        let shine = rise(glitter, glitter + 0.6, wave + path);
        mix(mix(deep, sky, mirror), [1.0, 0.97, 0.9], 0.8 * shine * path)
    });
}

fn sail(sketch: &mut Sketch, horizon: f32) {
    let size = sketch.side() * sketch.chance.within(0.03, 0.16);
    let x = sketch.chance.unit() * sketch.width();
    let foot = horizon + 0.35 * size * sketch.chance.within(0.2, 1.0);
    let cloth =
        hsv(sketch.chance.unit(), if sketch.chance.happens(0.6) { 0.03 } else { 0.7 }, 0.95);
    sketch.canvas.paint(Area::around(x, foot - size / 2.0, size), |px, py| {
        let (across, up) = ((px as f32 - x) / size, (foot - py as f32) / size);
        let hull = (0.05 - (up + 0.02).abs()) * size;
        let hull = hull.min((0.33 - 0.8 * (0.05 - up).max(0.0) - across.abs()) * size);
        let half = if across < 0.0 { 0.28 } else { 0.4 };
        let canvas = (half * (1.0 - up) - across.abs()).min(up - 0.07).min(across.abs() - 0.012);
        let fold = 0.9 - 0.25 * across + 0.06 * super::cosine(up * 3.0);
        let canvas = (canvas * size).clamp(0.0, 1.0);
        let hull = hull.clamp(0.0, 1.0);
        (mix([0.2, 0.15, 0.14], scale(cloth, fold), canvas), canvas.max(hull))
    });
}

fn beach(sketch: &mut Sketch) {
    let top = sketch.chance.within(0.72, 0.9) * sketch.height();
    let reach = 0.03 * sketch.height();
    let edge: Vec<f32> =
        sketch.profile(Octaves::new(3, 6, 0.6)).iter().map(|it| top + reach * it).collect();
    let sand = hsv(sketch.chance.within(0.08, 0.12), 0.35, 0.85);
    let (grain, seed) = (sketch.grow(Octaves::new(0, 5, 0.8)), sketch.chance.bits());
    let strength = 0.09 * sketch.texture;
    sketch.below(&edge, |x, y, depth| {
        let wet = 1.0 - 0.35 * (1.0 - rise(0.0, 2.5 * reach, depth));
        let pebble = cell(seed, x as i64 / 3, y as i64 / 2) > 0.985;
        let lit = wet * (1.0 + strength * grain.at(x, y)) * if pebble { 0.6 } else { 1.0 };
        let foam = 1.0 - rise(0.2 * reach, 0.7 * reach, depth + 0.2 * reach * grain.at(x, y));
        mix(scale(sand, lit), [0.97; 3], foam)
    });
}
