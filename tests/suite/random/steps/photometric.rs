//! Colours and levels of pictures, boxes that are erased, and pictures that are mixed.

use super::{Growing, Offer, Step};
use crate::random::program::Writer;

/// Kinds of steps that only these programs have.
pub(crate) const PHOTOMETRIC: &[Step] = &[changed];

/// Pictures whose levels are changed, then parts of some that are erased, then some that are filtered, augmented and mixed.
fn changed(writer: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    if growing.batches > 0 {
        return None;
    }
    let levels = [
        format!("invert({})", picture(writer, growing)),
        format!("posterize({}, {})", picture(writer, growing), writer.dice.within(0, 8)),
        format!("solarize({}, {}.5)", picture(writer, growing), writer.dice.within(0, 255)),
        format!("adjust_gamma({}, 1.{})", picture(writer, growing), writer.dice.within(0, 9)),
        format!("adjust_sharpness({}, 1.{})", picture(writer, growing), writer.dice.within(0, 9)),
        format!("autocontrast({})", picture(writer, growing)),
        format!("equalize({})", picture(writer, growing)),
    ];
    let mut made = format!("with {{ {} }}", named(writer, &levels));

    let (y, x, size) =
        (writer.dice.within(-2, 4), writer.dice.within(-2, 4), writer.dice.within(0, 5));
    let value = *writer.dice.pick(&["", ", value: 7", ", value: [1, 2, 3]"]);
    let erased = [
        format!("erase({}, {y}, {x}, 2, {size}{value})", picture(writer, growing)),
        format!("cutout({}, {size})", picture(writer, growing)),
        format!("random_erase({}, area: 0.1..0.5)", picture(writer, growing)),
        format!(
            "random_erase(normalize({}, mean: 0.5, std: 0.25), p: 0.8, value: noise)",
            picture(writer, growing)
        ),
    ];
    made += &format!("\n    |> with {{ {} }}", named(writer, &erased));

    let (m, method) = (writer.dice.within(0, 30), *writer.dice.pick(&["nearest", "bilinear"]));
    let policy = *writer.dice.pick(&["imagenet", "cifar10", "svhn"]);
    let augmented = [
        format!("rand_augment({}, m: {m}, method: {method})", picture(writer, growing)),
        format!("trivial_augment({}, fill: [9, 8, 7])", picture(writer, growing)),
        format!("auto_augment({}, policy: {policy})", picture(writer, growing)),
        format!("aug_mix({}, severity: {})", picture(writer, growing), writer.dice.within(1, 10)),
    ];
    made += &format!("\n    |> with {{ {} }}", named(writer, &augmented));

    let (from, to) = (
        *writer.dice.pick(&["rgb", "bgr", "hsv", "lab", "ycbcr"]),
        *writer.dice.pick(&["rgb", "gray", "hsv", "lab", "ycbcr"]),
    );
    let filtered = [
        format!("color_space({}, from: {from}, to: {to})", picture(writer, growing)),
        format!("add_noise({}, std: 20.5)", picture(writer, growing)),
        format!("jpeg_noise({}, quality: {})", picture(writer, growing), 5 + 3 * m),
        format!("median_blur({}, {})", picture(writer, growing), 1 + 2 * (m % 4)),
        format!("motion_blur({}, 5, degrees: {}.5)", picture(writer, growing), 10 * m),
        format!("clahe({}, limit: 2.5, tiles: {})", picture(writer, growing), 1 + m % 4),
    ];
    made += &format!("\n    |> with {{ {} }}", named(writer, &filtered));

    let n = writer.dice.within(2, 4);
    let of = writer.values(&growing.fields).base();
    let batch = format!("f32(reshape(arange({n} * 24), [{n}, 4, 6]) + {of} % 9)");
    let label = format!("one_hot(arange({n}), {n})");
    let mixed = [
        format!("mixup({batch}, {label}).image"),
        format!("cutmix({batch}, {label}).image"),
        format!("mixup({batch}, {label}, alpha: 0.4).label + cutmix({batch}, {label}).label"),
    ];
    made += &format!("\n    |> with {{ {} }}", named(writer, &mixed));
    Some(Offer { text: made, ..super::same(growing) })
}

/// A picture of three channels, as it is or seen in another way.
fn picture(writer: &mut Writer<'_>, growing: &Growing) -> String {
    let x = writer.values(&growing.fields).base();
    let (height, width) = (writer.dice.within(3, 9), writer.dice.within(3, 40));
    let picture = format!("plasma({x}, {height}, {width})");
    match writer.dice.below(5) {
        0 => format!("flip_x({picture})"),
        1 => format!("{picture}[1:, :{} + {x} % 2]", width - 2),
        _ => picture,
    }
}

/// Some of the values as fields; one at least.
fn named(writer: &mut Writer<'_>, values: &[String]) -> String {
    let first = writer.dice.below(values.len());
    let mut entries = Vec::new();
    for (i, value) in values.iter().enumerate() {
        if i == first || writer.dice.percent(80) {
            entries.push(format!("{}: {value}", writer.name("v")));
        }
    }
    entries.join(", ")
}
