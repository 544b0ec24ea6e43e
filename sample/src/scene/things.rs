//! One thing, or a few, in the middle: balloon, flower, fruit.

use super::{Kind, Sketch, cosine, distance, leafy, turns};
use crate::canvas::{Area, Rgb, add, hsv, mix, rise, scale};
use crate::noise::{Field, Octaves};

/// Hot-air balloons with coloured gores over hills.
pub(super) fn balloon(sketch: &mut Sketch) {
    let horizon = sketch.chance.within(0.8, 1.1) * sketch.height();
    let haze = sketch.sky(horizon);
    hills(sketch, horizon, haze);
    let cloth = sketch.grow(Octaves::new(0, 6, 0.8));
    let number = sketch.chance.whole(1, 4);
    for i in 0..number {
        // The last one is the nearest.
        let size = if i + 1 == number { (0.14, 0.26) } else { (0.03, 0.1) };
        let radius = sketch.side() * sketch.chance.within(size.0, size.1);
        let x = sketch.chance.within(0.15, 0.85) * sketch.width();
        let y = sketch.chance.within(0.2, 0.6) * sketch.height();
        envelope(sketch, (x, y, radius), &cloth);
        basket(sketch, (x, y + 1.62 * radius, radius), &cloth);
        // Down to the lower edge of the basket.
        let area = Area { bottom: y + 1.75 * radius, ..Area::around(x, y, radius) };
        sketch.note(Kind::Balloon, area);
    }
}

fn hills(sketch: &mut Sketch, horizon: f32, haze: Rgb) {
    let green = hsv(sketch.chance.within(0.1, 0.35), 0.4, 0.4);
    for layer in 0..2 {
        let near = layer as f32;
        let (base, rise) = (horizon + 0.06 * near * sketch.height(), 0.03 * sketch.height());
        let crest: Vec<f32> =
            sketch.profile(Octaves::new(1, 8, 0.55)).iter().map(|it| base - rise * it).collect();
        let leaves = sketch.grow(Octaves::new(0, 6, 0.85));
        let strength = 0.2 * sketch.texture;
        let tone = mix(green, haze, 0.45 - 0.35 * near);
        sketch.below(&crest, |x, y, _| leafy(tone, &leaves, (x, y), strength));
    }
}

fn envelope(sketch: &mut Sketch, (x, y, radius): (f32, f32, f32), cloth: &Field) {
    let n_gores = sketch.chance.whole(4, 12) as f32;
    let hue = sketch.chance.unit();
    let colours: [Rgb; 3] = [
        hsv(hue, 0.85, 0.9),
        hsv(hue + sketch.chance.within(0.1, 0.6), sketch.chance.within(0.2, 0.9), 0.95),
        hsv(hue + 0.5, 0.7, 0.6),
    ];
    let (bands, twist) = (sketch.chance.happens(0.5), sketch.chance.within(0.0, 0.6));
    let strength = 0.03 * sketch.texture;
    sketch.canvas.paint(Area::around(x, y + 0.2 * radius, 1.4 * radius), |px, py| {
        let (dx, dy) = ((px as f32 - x) / radius, (py as f32 - y) / radius);
        // A sphere above, drawn down to a mouth below.
        let wide = if dy < 0.0 { 1.0 - dy * dy } else { 1.0 - 0.5 * dy * dy - 0.11 * dy * dy * dy };
        let wide = wide.max(0.0).sqrt() * if dy > 0.3 { 1.0 - 0.35 * (dy - 0.3) } else { 1.0 };
        let across = dx / wide.max(0.02);
        let round = (1.0 - across * across).max(0.0).sqrt();
        let gore = turns(round, across) * 2.0 * n_gores + twist * dy;
        let stripe = libm::floorf(gore);
        let band =
            if bands && (dy - 0.1).abs() < 0.22 { 2 } else { stripe.rem_euclid(2.0) as usize };
        let seam = (gore - stripe - 0.5).abs();
        let lit =
            0.5 + 0.55 * round * (0.8 - 0.3 * across - 0.35 * dy) - 0.25 * rise(0.4, 0.5, seam);
        let lit = lit * (1.0 + strength * cloth.at(px, py));
        let inside = if dy < 1.38 { (wide - dx.abs()) * radius } else { 0.0 };
        (scale(colours[band], 1.15 * lit.max(0.1)), inside.clamp(0.0, 1.0))
    });
}

fn basket(sketch: &mut Sketch, (x, y, radius): (f32, f32, f32), cloth: &Field) {
    let (half, top) = (0.13 * radius, y - 0.24 * radius);
    sketch.canvas.paint(Area::around(x, y - 0.1 * radius, 0.4 * radius), |px, py| {
        let (dx, py_) = ((px as f32 - x).abs(), py as f32);
        let box_edge = (half - dx).min(half - (py_ - y).abs());
        // Ropes from the corners of the basket to the mouth.
        let slack = if py_ > top && py_ < y - half { 0.6 - (dx - half * 0.9).abs() } else { 0.0 };
        let weave = 0.8 + 0.3 * cosine(py_ / (0.05 * radius).max(1.5)) + 0.1 * cloth.at(px, py);
        (scale([0.55, 0.38, 0.22], weave), box_edge.max(slack).clamp(0.0, 1.0))
    });
}

/// A blossom, or some, before greenery out of focus.
pub(super) fn flower(sketch: &mut Sketch) {
    let green = hsv(sketch.chance.within(0.2, 0.38), sketch.chance.within(0.3, 0.7), 0.4);
    let (garden, clumps) =
        (sketch.grow(Octaves::new(3, 6, 0.8)), sketch.grow(Octaves::new(2, 6, 0.8)));
    let light = hsv(sketch.chance.within(0.1, 0.3), 0.4, 0.85);
    sketch.canvas.fill(|x, y| {
        let leaf = mix(scale(green, 0.35), green, rise(-1.0, 1.0, clumps.at(x, y)));
        mix(leaf, light, 0.5 * rise(0.4, 2.6, garden.at(x, y)))
    });
    let n_lights = sketch.chance.whole(0, 25);
    sketch.bokeh(n_lights, &[light, [0.95; 3], green]);
    let n_leaves = sketch.chance.whole(3, 14);
    for _ in 0..n_leaves {
        leaf(sketch, green);
    }
    sketch.canvas.blur(sketch.pixels(0.004));

    let (hue, vivid) = (sketch.chance.within(0.7, 1.2), sketch.chance.within(0.0, 0.9));
    let number = sketch.chance.pick(&[1, 1, 1, 2, 3]);
    for i in 0..number {
        let radius =
            sketch.side() * sketch.chance.within(0.17, 0.34) / if i > 0 { 1.8 } else { 1.0 };
        let middle = |chance: f32, length: f32| (0.5 + (chance - 0.5) * 0.5) * length;
        let x = middle(sketch.chance.unit(), sketch.width());
        let y = middle(sketch.chance.unit(), sketch.height());
        leaf(sketch, scale(green, 1.2));
        blossom(sketch, (x, y, radius), hsv(hue, vivid, 0.95));
        sketch.note(Kind::Flower, Area::around(x, y, radius));
    }
}

/// A long leaf or blade with a midrib.
fn leaf(sketch: &mut Sketch, green: Rgb) {
    let (x, y) = (sketch.chance.unit() * sketch.width(), sketch.chance.unit() * sketch.height());
    let (long, slim) =
        (sketch.side() * sketch.chance.within(0.1, 0.35), sketch.chance.within(0.1, 0.3));
    let angle = sketch.chance.unit();
    let (along_x, along_y) = (cosine(angle), cosine(angle - 0.25));
    let tone = scale(green, sketch.chance.within(0.6, 1.7));
    sketch.canvas.paint(Area::around(x, y, long), |px, py| {
        let (dx, dy) = ((px as f32 - x) / long, (py as f32 - y) / long);
        let (along, across) = (dx * along_x + dy * along_y, dy * along_x - dx * along_y);
        let half = slim * (1.0 - along * along);
        let rib =
            1.0 + 0.25 * rise(0.02, 0.0, across.abs()) + 0.1 * cosine(9.0 * (along - across.abs()));
        let lit = rib * if across < 0.0 { 0.8 } else { 1.05 };
        (scale(tone, lit), ((half - across.abs()) * long).clamp(0.0, 1.0))
    });
}

fn blossom(sketch: &mut Sketch, (x, y, radius): (f32, f32, f32), tint: Rgb) {
    let (n_petals, pointed) = (sketch.chance.whole(5, 14) as f32, sketch.chance.within(0.2, 0.8));
    let (core, turn) = (sketch.chance.within(0.14, 0.34), sketch.chance.unit());
    let throat = hsv(sketch.chance.within(0.05, 0.2), 0.7, 0.95);
    let veins = sketch.grow(Octaves::new(0, 6, 0.85));
    let strength = 0.05 * sketch.texture;
    // The lower layer of petals shows between those of the upper one.
    for (shift, length) in [(0.5, 1.0), (0.0, 0.92)] {
        sketch.canvas.paint(Area::around(x, y, 1.05 * radius), |px, py| {
            let (dx, dy) = ((px as f32 - x) / radius, (py as f32 - y) / radius);
            let (far, angle) = (distance(dx, dy), (turns(dx, dy) + turn) * n_petals + shift);
            let across = 2.0 * (angle - libm::floorf(angle)) - 1.0;
            let tip = length * (1.0 - pointed * across * across - 0.1 * across.abs());
            let vein = veins.near(40.0 * angle, 0.25 * far * radius);
            let cup = 0.72 + 0.35 * far - 0.28 * across * across + 0.1 * across - 0.25 * shift;
            let colour = mix(tint, throat, 0.7 * (1.0 - rise(core, core + 0.3, far)));
            let lit = cup * (1.0 + strength * (vein + 0.6 * veins.at(px, py)));
            (scale(colour, lit), ((tip - far) * radius).clamp(0.0, 1.0))
        });
    }
    pollen(sketch, (x, y, core * radius));
}

fn pollen(sketch: &mut Sketch, (x, y, radius): (f32, f32, f32)) {
    let tone = hsv(sketch.chance.within(0.04, 0.16), 0.85, sketch.chance.within(0.3, 0.85));
    let dots = sketch.grow(Octaves::new(1, 2, 1.0));
    let strength = 0.3 * sketch.texture.max(0.4);
    sketch.canvas.paint(Area::around(x, y, radius + 1.0), |px, py| {
        let (dx, dy) = ((px as f32 - x) / radius, (py as f32 - y) / radius);
        let far = distance(dx, dy);
        let dome = 1.05 - 0.45 * far * far - 0.2 * (dx + dy);
        let lit = dome * (1.0 - strength * dots.relief(px, py, 2));
        (scale(tone, lit.max(0.1)), ((1.0 - far) * radius).clamp(0.0, 1.0))
    });
}

/// Round fruit on a table.
pub(super) fn fruit(sketch: &mut Sketch) {
    let edge = sketch.chance.within(0.2, 0.6) * sketch.height();
    table(sketch, edge);
    let kind =
        sketch.chance.pick(&[(0.0, 0.85), (0.27, 0.65), (0.08, 0.95), (0.15, 0.85), (0.83, 0.6)]);
    let skin = sketch.grow(Octaves::new(0, 6, 0.85));
    let number = sketch.chance.whole(1, 6);
    let mut places: Vec<f32> = (0..number).map(|_| sketch.chance.unit()).collect();
    places.sort_by(f32::total_cmp);
    for near in places {
        let radius = sketch.side() * (0.10 + 0.05 * near + 0.16 / (number + 1) as f32);
        let x = sketch.chance.within(0.15, 0.85) * sketch.width();
        let y = edge + (0.1 + 0.75 * near) * (sketch.height() - edge) - 0.55 * radius;
        let tint = hsv(kind.0 + sketch.chance.within(-0.03, 0.03), kind.1, 0.85);
        ball(sketch, (x, y, radius), tint, &skin);
        sketch.note(Kind::Fruit, Area::around(x, y, radius));
    }
}

/// A table of wood or cloth, the wall behind it out of focus.
fn table(sketch: &mut Sketch, edge: f32) {
    let wall = hsv(
        sketch.chance.unit(),
        sketch.chance.within(0.0, 0.35),
        sketch.chance.within(0.25, 0.95),
    );
    let wood = hsv(
        sketch.chance.within(0.05, 0.1),
        sketch.chance.within(0.1, 0.55),
        sketch.chance.within(0.4, 0.9),
    );
    let (folds, fibres) = (
        sketch.grow(Octaves::new(4, 5, 0.7)),
        sketch.grow(Octaves::new(0, 6, 0.8).stretched(3, 0)),
    );
    let weave = sketch.grow(Octaves::new(0, 3, 0.9));
    let (height, strength) = (sketch.height(), 0.12 * sketch.texture);
    sketch.canvas.fill(|x, y| {
        let down = y as f32;
        let behind = scale(wall, 1.0 + 0.12 * folds.at(x, y));
        let ring = cosine(2.5 * fibres.at(x, y) + down / 30.0);
        let grain = 1.0 + strength * (0.5 * ring + fibres.at(x, y) + 0.4 * weave.at(x, y));
        let near = (down - edge) / (height - edge);
        mix(behind, scale(wood, grain * (0.8 + 0.25 * near)), rise(-2.5, 2.5, down - edge))
    });
}

fn ball(sketch: &mut Sketch, (x, y, radius): (f32, f32, f32), tint: Rgb, skin: &Field) {
    let (squat, strength) = (sketch.chance.within(0.88, 1.05), 0.10 * sketch.texture);
    let blush = hsv(sketch.chance.within(-0.05, 0.2), 0.8, 0.8);
    let shadow =
        Area { left: x - radius, top: y, right: x + 2.2 * radius, bottom: y + 1.6 * radius };
    sketch.canvas.paint(shadow, |px, py| {
        let (dx, dy) =
            ((px as f32 - x - 0.35 * radius) / radius, (py as f32 - y - 0.8 * radius) / radius);
        ([0.05, 0.03, 0.03], 0.65 * (1.0 - rise(0.35, 1.25, distance(0.8 * dx, 2.2 * dy))))
    });
    sketch.canvas.paint(Area::around(x, y, 1.1 * radius), |px, py| {
        let (dx, dy) = ((px as f32 - x) / radius, (py as f32 - y) / (radius * squat));
        let far = dx * dx + dy * dy;
        let up = (1.0 - far).max(0.0).sqrt();
        let facing = (-0.45 * dx - 0.6 * dy + 0.66 * up).max(0.0);
        let streak = skin.near(60.0 * dx / (1.2 + up), 12.0 * dy);
        let colour = mix(tint, blush, 0.5 * rise(0.0, 1.6, streak + 0.4 * dx));
        let pores = 1.0 - strength * skin.relief(px, py, 1) + 0.4 * strength * skin.at(px, py);
        let bounce = 0.18 + 0.12 * (dy * 0.5 + 0.5);
        let shine = 0.75 * rise(0.93, 1.0, facing);
        let lit = add(scale(colour, (bounce + 0.95 * facing) * pores), [shine; 3]);
        (lit, ((1.0 - far) * 0.5 * radius).clamp(0.0, 1.0))
    });
    stem(sketch, (x, y - 0.78 * radius * squat, radius));
}

fn stem(sketch: &mut Sketch, (x, y, radius): (f32, f32, f32)) {
    let lean = sketch.chance.within(-0.6, 0.6);
    sketch.canvas.paint(Area::around(x, y, 0.4 * radius), |px, py| {
        let up = (y - py as f32) / radius;
        let across = (px as f32 - x) / radius - lean * up;
        let hollow = 0.5 * (1.0 - rise(0.04, 0.22, distance(across, 2.5 * up)));
        let wood = (0.028 - across.abs()).min(up + 0.06).min(0.3 - up) * radius;
        (scale([0.28, 0.2, 0.1], 1.0 - 3.0 * across), wood.clamp(0.0, 1.0).max(hollow))
    });
}
