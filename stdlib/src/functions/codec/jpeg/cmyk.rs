//! JPEGs of four components: CMYK and YCCK to RGB, as Pillow converts them.
//!
//! Adobe's programs write inverted CMYK, and so does everybody else by now; Pillow takes it
//! for granted, and so do we. The components may be subsampled: they are brought to full size as
//! libjpeg-turbo does ("fancy upsampling": a triangle filter, its rounding alternating).

use super::super::picture::Size;
use libjpeg_turbo_rs::{ColorSpace, DecodeWarning, Decoder, JpegError, RawImage};

/// Decodes a picture of four components into `rgb`.
pub(super) fn read(
    decoder: Decoder<'_>,
    size: Size,
    rgb: &mut [u8],
) -> Result<Vec<DecodeWarning>, JpegError> {
    let is_ycck = decoder.jpeg_color_space() == ColorSpace::Ycck;
    let samplings = decoder.header().components.iter();
    let samplings: Vec<[usize; 2]> = samplings
        .map(|it| [it.horizontal_sampling, it.vertical_sampling].map(usize::from))
        .collect();
    let (raw, warnings) = decoder.decode_raw_with_warnings()?;
    let planes = planes(&raw, &samplings, size)?;

    let mut rows = [(); 4].map(|()| vec![0; size.width + 1]);
    for (y, rgb) in rgb.chunks_exact_mut(size.width * 3).enumerate() {
        for (plane, row) in planes.iter().zip(&mut rows) {
            plane.row(y, row);
        }
        for (x, rgb) in rgb.as_chunks_mut::<3>().0.iter_mut().enumerate() {
            let [a, b, c, black] = [0, 1, 2, 3].map(|it| rows[it][x]);
            let ink = if is_ycck { rgb_of([a, b, c]) } else { [a, b, c].map(|it| 255 - it) };
            *rgb = ink.map(|it| black - scaled(it, black));
        }
    }
    Ok(warnings)
}

/// `a * b / 255` to the nearest, exact for bytes.
fn scaled(a: u8, b: u8) -> u8 {
    let product = u16::from(a) * u16::from(b) + 128;
    ((product + (product >> 8)) >> 8) as u8
}

/// YCbCr to RGB, as libjpeg's tables have it (JFIF 1.02; 16 bit fixed point).
fn rgb_of([luma, cb, cr]: [u8; 3]) -> [u8; 3] {
    let [luma, cb, cr] = [i32::from(luma), i32::from(cb) - 128, i32::from(cr) - 128];
    let red = luma + ((91_881 * cr + 32_768) >> 16);
    let green = luma + ((-22_554 * cb - 46_802 * cr + 32_768) >> 16);
    let blue = luma + ((116_130 * cb + 32_768) >> 16);
    [red, green, blue].map(|it| it.clamp(0, 255) as u8)
}

/// A component, as it is coded.
struct Plane<'a> {
    samples: &'a [u8],
    stride: usize,
    /// Samples that are not padding.
    size: Size,
    /// Pixels to a sample, across and down.
    across: usize,
    down: usize,
}

fn planes<'a>(
    raw: &'a RawImage,
    samplings: &[[usize; 2]],
    size: Size,
) -> Result<Vec<Plane<'a>>, JpegError> {
    let most = |axis: usize| samplings.iter().map(|it| it[axis]).max().unwrap_or(1);
    let most = [most(0), most(1)];
    let plane = |(i, sampling): (usize, &[usize; 2])| {
        let fits = sampling.iter().zip(most).all(|(&it, most)| it > 0 && most % it == 0);
        if !fits {
            return Err(JpegError::Unsupported("fractional sampling".into()));
        }
        let [across, down] = [most[0] / sampling[0], most[1] / sampling[1]];
        let size = Size { height: size.height.div_ceil(down), width: size.width.div_ceil(across) };
        let (samples, stride) = (&raw.planes[i][..], raw.plane_widths[i]);
        Ok(Plane { samples, stride, size, across, down })
    };
    samplings.iter().enumerate().map(plane).collect()
}

impl Plane<'_> {
    /// Row `y` of the component at full size; `out` has room for a pixel more than a row has.
    fn row(&self, y: usize, out: &mut [u8]) {
        let at = |row: usize| &self.samples[row * self.stride..][..self.size.width];
        let near = at(y / self.down);
        // The row on the other side of the pixel: above for the upper, below for the lower.
        let far = if y.is_multiple_of(2) { (y / 2).saturating_sub(1) } else { y / 2 + 1 };
        let far = || at(far.min(self.size.height - 1));
        let wide = self.size.width > 2;
        match (self.across, self.down) {
            (2, 1) if wide => across(|x| 4 * u16::from(near[x]), near.len(), [4, 8], out),
            (2, 2) if wide => {
                let far = far();
                let column = |x: usize| 3 * u16::from(near[x]) + u16::from(far[x]);
                across(column, near.len(), [8, 7], out);
            }
            (1, 2) => {
                let bias = 1 + (y % 2) as u16;
                for ((out, &near), &far) in out.iter_mut().zip(near).zip(far()) {
                    *out = ((3 * u16::from(near) + u16::from(far) + bias) >> 2) as u8;
                }
            }
            (wider, _) => {
                for (out, x) in out.iter_mut().zip(0..) {
                    *out = near[(x / wider).min(near.len() - 1)];
                }
            }
        }
    }
}

/// Doubles `len` columns: three parts of the near one, one of the far, in sixteenths of `column`.
fn across(column: impl Fn(usize) -> u16, len: usize, bias: [u16; 2], out: &mut [u8]) {
    for (x, out) in out.as_chunks_mut::<2>().0.iter_mut().take(len).enumerate() {
        let (left, this, right) = (x.saturating_sub(1), column(x), (x + 1).min(len - 1));
        out[0] = ((3 * this + column(left) + bias[0]) >> 4) as u8;
        out[1] = ((3 * this + column(right) + bias[1]) >> 4) as u8;
    }
}
