//! Images through matrices and fields, and several on one canvas: steps of the last programs.

use super::{Growing, Offer, Step};
use crate::random::program::Writer;
use plan::DType;

/// Kinds of steps that only these programs have.
pub(crate) const WARPS: &[Step] = &[warped];
const METHODS: [&str; 3] = ["nearest", "bilinear", "bicubic"];

/// An image of each record, and what maps make of it and of its points.
fn warped(writer: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    if growing.batches > 0 {
        return None;
    }
    let seed = writer.values(&growing.fields).atom((DType::I64, 0));
    let [image, matrix, corners] = ["v", "v", "v"].map(|it| writer.name(it));
    let (height, width) = (writer.dice.within(2, 9), writer.dice.within(2, 9));
    // Of some, the size is known only when the program runs.
    let height = match writer.dice.percent(30) {
        true => format!("{height} + abs({seed}) % 3"),
        false => height.to_string(),
    };
    let pixels = match writer.dice.percent(25) {
        true => format!("f32(plasma({seed}, {height}, {width}))"),
        false => format!("plasma({seed}, {height}, {width})"),
    };
    let drawn = *writer.dice.pick(&[
        "draw_affine(SHAPE, degrees: -30..30, translate: 0.2, scale: 0.5..1.5)",
        "draw_affine(SHAPE, 6, shear_y: -9..9, shear_x: -20..20)",
        "affine_matrix(SHAPE, degrees: 17.0, y: 1.0, scale: 1.2, shear_x: 5.0)",
    ]);
    let shape = format!("{image}.shape");
    let mut made = format!(
        "with {{ {image}: {pixels} }}\n    |> with {{ {matrix}: {}, {corners}: draw_perspective({shape}, 0.6) }}",
        drawn.replace("SHAPE", &shape),
    );

    let method = *writer.dice.pick(&METHODS);
    let fill = *writer.dice.pick(&["", ", fill: 114", ", fill: [3, 2, 1]"]);
    let mode = *writer.dice.pick(&["", ", mode: edge", ", mode: reflect"]);
    let degrees = *writer.dice.pick(&["90", "-17.3", "180", "33"]);
    let expand = *writer.dice.pick(&["", ", expand: true"]);
    let how = format!("method: {method}{fill}");
    let all = [
        format!("warp({image}, {matrix}, 5, 4, {how})"),
        format!("warp_points(f32(reshape(arange(6), [3, 2])), {matrix})"),
        format!("perspective({image}, {corners}[0], {corners}[1], {how}) else {image}"),
        format!("perspective_matrix({corners}[0], {corners}[1]) else full([3, 3], f64(1))"),
        format!("rotate({image}, {degrees}{expand}, {how})"),
        format!("affine({image}, {degrees}, x: 1.0, scale: 0.8, {how})"),
        format!("shear_x({image}, 0.3, {how})"),
        format!("shear_y({image}, -0.2, {how})"),
        format!("translate_x({image}, {seed} % 4, {how})"),
        format!("translate_y({image}, -1.5, {how})"),
        format!("random_rotate({image}, -20.0, 20.0{expand}, {how})"),
        format!("random_affine({image}, degrees: -5..5, translate: 0.2, {how})"),
        format!("random_perspective({image}, 0.4, p: 0.7, {how}) else {image}"),
        format!("remap({image}, random_normal([4, 6, 2], mean: 2.0, std: 3.0){mode}{fill})"),
        format!("elastic({image}, alpha: 9.0, sigma: 1.0{mode}{fill})"),
        format!("letterbox({image}, 6, 8)"),
        format!("resize_long({image}, 7)"),
        format!(
            "collage([{image}, {image}], [[0, -1, 9, 3], [2, 1, 3, 9]], 6{})",
            fill.replace("fill", "value")
        ),
    ];
    let mut fields = Vec::new();
    for call in all {
        if writer.dice.percent(65) {
            // Most as one number, so that records stay small.
            let is_whole = writer.dice.percent(20);
            let value = if is_whole { call } else { format!("sum(i64({call}))") };
            fields.push(format!("{}: {value}", writer.name("v")));
        }
    }
    made += &format!("\n    |> with {{ {} }}", fields.join(", "));
    Some(Offer { text: made, ..super::same(growing) })
}
