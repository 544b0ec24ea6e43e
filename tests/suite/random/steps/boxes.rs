//! Boxes, masks and points of images, and other records beside each: steps of the last programs.

use super::{Growing, Offer, Step};
use crate::random::program::Writer;

/// Kinds of steps that only these programs have.
pub(crate) const BOXES: &[Step] = &[detection];

/// Outlines of two things, in every form.
const OUTLINES: [&str; 3] = [
    "[[[1, 1, 6, 1, 6, 5.5, 1, 4]], [[0, 0, 9, 9, 0, 9], [2, 2, 3, 2, 3, 3]]]",
    "[null, {\\\"counts\\\": [3, 4, 49], \\\"size\\\": [7, 8]}]",
    "[[[-3.5, 2, 12, 4.25, 5, 20]], []]",
];
/// A matrix that shears and shifts.
const MATRIX: &str = "[[1.0, 0.25, -1.5], [0.5, 1.0, 0.75]]";

/// Images with boxes, masks and points, what is drawn for all of them at once, and what is asked of boxes.
fn detection(writer: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    if growing.batches > 0 {
        return None;
    }
    let x = writer.values(&growing.fields).base();
    let form = *writer.dice.pick(&["xywh", "cxcywh", "xyxy", "yxyx", "yolo, shape: [2, 2]"]);
    let outlines = *writer.dice.pick(&OUTLINES);
    // One of two boxes or none, now and then: what has no rows goes another way.
    let rows = format!("(({x} % 7 + 7) % 7 != 3)");
    let mut text = format!(
        "map {{ v: {x}, image: plasma({x}, 7, 8), all: boxes_from(random_uniform([2, 4], low: 1.0, high: 4.0), form: {form}), \
         keep: stack([{rows}, {rows}]), outlines: parse_json('{}') }}",
        outlines.replace("\\\"", "\"")
    );
    text += "\n    |> map { v, image, masks: rasterize(outlines, like: image)[keep], boxes: all[keep], label: f32(keep[keep]) }";
    let (n, window) = (3 + writer.dice.below(2), 5 + writer.dice.below(6));
    text += &format!(
        "\n    |> companions({n}, window: {window})\n    |> with {{ tiles: mosaic(it, 4) }}"
    );
    text += &format!(
        "\n    |> map {{ v, image, masks, boxes, others: iou(boxes, other{n}.boxes), areas: box_areas(other1.boxes), \
         tiles: sum(tiles.boxes) + sum(tiles.label), shown: sum(crop(tiles.image, 1, 2, 6, 5)) }}"
    );
    let short = 5 + writer.dice.below(5);
    text += &format!(
        "\n    |> with resize_all(image, boxes, masks, short: {short}, long: 11)\n    |> with flip_all(image, boxes, masks)"
    );
    text += "\n    |> with zoom_out(image, boxes, fill: 7.0)";
    let points = "random_uniform([2, 3, 3], high: 9.0)";
    let asked = [
        "kept: keep_boxes(boxes, area: 2.0, side: 1.5)".to_owned(),
        "inside: keep_boxes(boxes, within: [1, 1, 9, 9], centre: true)".to_owned(),
        "anchors: match_anchors(boxes, f32([[0, 0, 4, 4], [3, 3, 9, 9], [1, 0, 5, 6]]), above: 0.4, below: 0.2)".to_owned(),
        "part: draw_iou_crop(image.shape, boxes, ious: [0.0, 0.1, 0.3], tries: 9)".to_owned(),
        "moved: crop_boxes(boxes, 1, 2, 5, 6)".to_owned(),
        "flipped: flip_boxes(boxes, image.shape[1])".to_owned(),
        "scaled: resize_boxes(boxes, image.shape, [30, 40])".to_owned(),
        format!("warped: warp_boxes(boxes, {MATRIX}, 9, 9)"),
        "clipped: clip_boxes(boxes - 2, 6, 6)".to_owned(),
        "written: boxes_to(boxes, form: cxcywh, shape: image.shape)".to_owned(),
        format!("mirrored: flip_points({points}, width: 9, pairs: [[0, 2]])"),
        format!("shifted: crop_points({points}, 1, 2, 5, 5)"),
        "classes: decode_png(encode_png(u8(image[:, :, :1])), channels: 1, palette: index)".to_owned(),
    ];
    let asked: Vec<String> = asked
        .into_iter()
        .enumerate()
        .filter(|it| it.0 < 2 || writer.dice.percent(75))
        .map(|it| it.1)
        .collect();
    text += &format!(
        "\n    |> with {{ crop: ssd_random_crop(image, boxes, boxes[:, 0]), {} }}",
        asked.join(", ")
    );
    text += &format!("\n    |> map {{ {} }}", sums(&asked));
    Some(Offer { text, records: growing.records, indexed: false, batches: 0 })
}

/// A number of each value, small enough for many steps behind, and one of them as a row of any length.
fn sums(asked: &[String]) -> String {
    let mut all = vec![
        "v".to_owned(),
        "masks: sum(masks)".to_owned(),
        "image: sum(image)".to_owned(),
        "others: len(others)".to_owned(),
        "areas: sum(areas)".to_owned(),
        "tiles".to_owned(),
        "shown".to_owned(),
        "cropped: sum(crop.boxes) + sum(crop.label) + f32(len(crop.image))".to_owned(),
    ];
    all.extend(asked.iter().filter_map(|it| it.split_once(':')).map(|(name, _)| match name {
        "kept" => "kept: any(kept)".to_owned(),
        "inside" => "inside: all(inside)".to_owned(),
        it => format!("{it}: sum({it})"),
    }));
    all.join(", ")
}
