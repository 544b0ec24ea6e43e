//! Functions on boxes, masks and points.
//!
//! Boxes are `f32[n, 4]`: `x0, y0, x1, y1` in pixels. What the language can say of them is said there:
//! `pipe/boxes.pipe`.

mod boxes_from;
mod boxes_to;
mod corners;
mod draw_iou_crop;
mod flip_points;
mod forms;
mod iou;
mod keep_boxes;
mod match_anchors;
mod rasterize;

use crate::Function;

/// All of them.
pub(crate) static ALL: &[&Function] = &[
    &boxes_from::ENTRY,
    &boxes_to::ENTRY,
    &draw_iou_crop::ENTRY,
    &flip_points::ENTRY,
    &iou::ENTRY,
    &keep_boxes::ENTRY,
    &match_anchors::ENTRY,
    &rasterize::ENTRY,
];
