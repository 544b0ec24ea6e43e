//! Functions that decode and encode pictures, and what else comes as bytes: arrays, text, compressed data.
//!
//! One file for each entry; beside them, one for each format (`bmp`, `gif`, `jpeg`, `png`, `webp`) and what
//! these share (`picture`). A picture that cannot be decoded is a fault: `image-unknown` (not
//! a picture, or of another format), `image-truncated` (the bytes end too early),
//! `image-damaged`, `image-unsupported` (a form that nothing here reads), `image-too-large`.

mod decode_image;
mod decode_jpeg;
mod decode_jpeg_crop;
mod decode_jpeg_draft;
mod decode_npy;
mod decode_png;
mod decode_text;
mod decode_webp;
mod decompress;
mod encode_jpeg;
mod encode_png;
mod encode_webp;
mod jpeg_extent;
mod jpeg_size;

mod bmp;
mod gif;
mod jpeg;
mod picture;
mod png;
mod webp;

#[cfg(test)]
mod tests;

use crate::Function;

/// All of them.
pub(crate) static ALL: &[&Function] = &[
    &decode_image::ENTRY,
    &decode_jpeg::ENTRY,
    &decode_jpeg_crop::ENTRY,
    &decode_jpeg_draft::ENTRY,
    &decode_npy::ENTRY,
    &decode_png::ENTRY,
    &decode_text::ENTRY,
    &decode_webp::ENTRY,
    &decompress::ENTRY,
    &encode_jpeg::ENTRY,
    &encode_png::ENTRY,
    &encode_webp::ENTRY,
    &jpeg_extent::ENTRY,
    &jpeg_size::ENTRY,
];
