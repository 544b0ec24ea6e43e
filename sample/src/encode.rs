//! From pixels to a baseline JPEG, as libjpeg would write it with optimised tables.

use libjpeg_turbo_rs::{Encoder, JpegError, PixelFormat, Subsampling};

use crate::photo::{Photo, Sampling};

/// Encodes 8-bit samples (RGB, or one grey sample a pixel) in one interleaved scan.
///
/// The Huffman tables are the picture's own, as in 980 of 1000 files of ImageNet.
pub(crate) fn encode(photo: &Photo, samples: &[u8]) -> Result<Vec<u8>, JpegError> {
    let (format, subsampling) = match photo.sampling {
        Sampling::Grey => (PixelFormat::Grayscale, Subsampling::S444),
        Sampling::Full => (PixelFormat::Rgb, Subsampling::S444),
        Sampling::HalfWidth => (PixelFormat::Rgb, Subsampling::S422),
        Sampling::HalfHeight => (PixelFormat::Rgb, Subsampling::S440),
        Sampling::Quarter => (PixelFormat::Rgb, Subsampling::S420),
    };
    Encoder::new(samples, photo.width, photo.height, format)
        .quality(photo.quality)
        .subsampling(subsampling)
        .optimize_huffman(true)
        .encode()
}
