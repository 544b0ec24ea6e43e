//! `decode_image`: a JPEG, PNG, WebP, GIF or BMP to pixels.

use super::{bmp, gif, jpeg, picture, png, webp};
use crate::prelude::*;

const CHANNELS: &[usize] = &[1, 2, 3, 4];

function! {
    /// Decodes a JPEG, PNG, WebP, GIF or BMP; the format is detected from the first bytes.
    ///
    /// Returns what `decode_jpeg`, `decode_png` (8 bits per sample) or `decode_webp` returns, and what Pillow does for GIF
    /// (the first frame; a transparent colour has alpha 0) and BMP; the file name does not matter. `channels` is 1 for
    /// grayscale, 2 for grayscale and alpha, 3 for RGB, 4 for RGBA; a JPEG is opaque. `orient: true` rotates the image
    /// upright, as its Exif orientation says. Fails with `image-unknown`, which names the format, if it is any other.
    ///
    /// ```pipe
    /// range(2) |> map { image: decode_image(plasma(i, 40, 60) |> encode_png, channels: 4) }    # { image: u8[?, ?, 4] }
    /// ```
    "decode_image(bytes: bytes, channels: int = 3, orient: bool = false) fails -> u8[h, w, channels]",
    // Assumed: most pictures are JPEGs.
    cost: Cost { ns_call: 10_000.0, ns_byte_in: 6.9, ns_byte_out: 0.35, bytes_out_per_in: 5.5 },
    result: Some(|it| picture::picture_type(it, DType::U8, CHANNELS)),
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let orient = call.bool(2);
    Ok(Kernel::compute(move |args, out| {
        let wanted = picture::Wanted { channels: picture::channels(args, CHANNELS)?, orient };
        let bytes = args.tensor(0).as_text();
        match format(bytes) {
            Some("JPEG") => jpeg::decode(bytes, wanted, out),
            Some("PNG") => png::decode(bytes, wanted, out),
            Some("WebP") => webp::decode(bytes, wanted, out),
            Some("GIF") => gif::decode(bytes, wanted, out),
            Some("BMP") => bmp::decode(bytes, wanted, out),
            _ => Err(unknown(bytes, "JPEG, PNG, WebP, GIF or BMP")),
        }
    }))
}

/// The first bytes of the formats that are known by name.
const FORMATS: [(&[u8], &str); 18] = [
    (b"\xFF\xD8\xFF", "JPEG"),
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"GIF8", "GIF"),
    (b"BM", "BMP"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    (b"II+\0", "BigTIFF"),
    (b"\0\0\x01\0", "ICO"),
    (b"\xFF\x0A", "JPEG XL"),
    (b"\0\0\0\x0CJXL ", "JPEG XL"),
    (b"\0\0\0\x0CjP  ", "JPEG 2000"),
    (b"\xFF\x4F\xFF\x51", "JPEG 2000"),
    (b"8BPS", "Photoshop"),
    (b"DDS ", "DDS"),
    (b"\x76\x2F\x31\x01", "OpenEXR"),
    (b"qoif", "QOI"),
    (b"%PDF", "PDF"),
    (b"<", "HTML, XML or SVG"),
];

/// The format that the first bytes show.
fn format(bytes: &[u8]) -> Option<&'static str> {
    if webp::is_webp(bytes) {
        return Some("WebP");
    }
    match bytes.get(4..12) {
        Some(b"ftypavif" | b"ftypavis") => return Some("AVIF"),
        Some(b"ftypheic" | b"ftypheix" | b"ftypmif1") => return Some("HEIF"),
        _ => {}
    }
    FORMATS.iter().find(|(first, _)| bytes.starts_with(first)).map(|(_, name)| *name)
}

/// The fault of bytes that are not of the format `wanted`.
pub(super) fn unknown(bytes: &[u8], wanted: &str) -> Fault {
    let decodable = ["JPEG", "PNG", "WebP", "GIF", "BMP"];
    let detail = match format(bytes) {
        None if bytes.is_empty() => format!("expected a {wanted}, found no bytes"),
        None => {
            let first: Vec<String> = bytes.iter().take(4).map(|it| format!("{it:02X}")).collect();
            format!(
                "expected a {wanted}, found an unknown format that begins with {}",
                first.join(" ")
            )
        }
        Some(found) if decodable.contains(&found) => {
            format!("expected a {wanted}, found a {found}; `decode_image` reads both")
        }
        Some(found) => {
            format!("expected a {wanted}, found {found}; convert it first")
        }
    };
    Fault::new("image-unknown", detail)
}
