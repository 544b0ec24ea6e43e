//! Functions that change pictures: `u8[h, w, c]` and floats.

mod adjust_brightness;
mod adjust_colors;
mod adjust_contrast;
mod adjust_gamma;
mod adjust_hue;
mod adjust_saturation;
mod adjust_sharpness;
mod affine_matrix;
mod augment;
mod autocontrast;
mod box_area;
mod box_mask;
mod channels_first;
mod channels_last;
mod clahe;
mod collage;
mod color_space;
mod crop;
mod draw_affine;
mod draw_aug_mix;
mod draw_auto_augment;
mod draw_crop;
mod draw_erase;
mod draw_jitter;
mod draw_perspective;
mod draw_rand_augment;
mod draw_resized_crop;
mod draw_trivial_augment;
mod drawn_part;
mod equalize;
mod erase;
mod erase_box;
mod extents;
mod fill;
mod flip_x;
mod flip_y;
mod gaussian_blur;
mod grayscale;
#[cfg(test)]
mod instructions;
mod invert;
mod median_blur;
mod motion_blur;
mod normalize;
mod pad;
mod perspective_matrix;
#[cfg(test)]
mod photometric;
mod plasma;
mod policies;
mod posterize;
mod random_box;
mod remap;
mod resize;
mod resize_crop;
mod resize_span;
mod resize_within;
mod short_size;
mod solarize;
#[cfg(test)]
mod testing;
mod warp;
mod warp_points;

use crate::Function;

/// The longest side that a picture can be given.
const SIDE_MAX: usize = 65_536;

/// All of them.
pub(crate) static ALL: &[&Function] = &[
    &adjust_brightness::ENTRY,
    &adjust_colors::ENTRY,
    &adjust_contrast::ENTRY,
    &adjust_gamma::ENTRY,
    &adjust_hue::ENTRY,
    &adjust_saturation::ENTRY,
    &adjust_sharpness::ENTRY,
    &affine_matrix::ENTRY,
    &augment::ENTRY,
    &autocontrast::ENTRY,
    &box_area::ENTRY,
    &box_mask::ENTRY,
    &channels_first::ENTRY,
    &channels_last::ENTRY,
    &clahe::ENTRY,
    &collage::ENTRY,
    &color_space::ENTRY,
    &crop::ENTRY,
    &draw_affine::ENTRY,
    &draw_aug_mix::ENTRY,
    &draw_auto_augment::ENTRY,
    &draw_crop::ENTRY,
    &draw_erase::ENTRY,
    &draw_jitter::ENTRY,
    &draw_perspective::ENTRY,
    &draw_rand_augment::ENTRY,
    &draw_resized_crop::ENTRY,
    &draw_trivial_augment::ENTRY,
    &equalize::ENTRY,
    &erase::ENTRY,
    &erase_box::ENTRY,
    &flip_x::ENTRY,
    &flip_y::ENTRY,
    &gaussian_blur::ENTRY,
    &grayscale::ENTRY,
    &invert::ENTRY,
    &median_blur::ENTRY,
    &motion_blur::ENTRY,
    &normalize::ENTRY,
    &pad::ENTRY,
    &perspective_matrix::ENTRY,
    &plasma::ENTRY,
    &posterize::ENTRY,
    &random_box::ENTRY,
    &remap::ENTRY,
    &resize::ENTRY,
    &resize_crop::ENTRY,
    &resize_span::ENTRY,
    &resize_within::ENTRY,
    &short_size::ENTRY,
    &solarize::ENTRY,
    &warp::ENTRY,
    &warp_points::ENTRY,
];
