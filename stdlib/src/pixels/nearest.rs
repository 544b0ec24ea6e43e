//! Resizing that takes the nearest pixel: for pictures and masks of any dtype.

use super::Picture;

/// Whose pixel is the nearest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nearest {
    /// The one under the centre; places are summed up, as Pillow does.
    Pillow,
    /// The one under the left border (OpenCV's `INTER_NEAREST`).
    OpenCv,
    /// The one under the centre, reckoned in `f32`.
    TensorFlow,
}

impl Nearest {
    /// For each of `to` pixels the number of its own, out of `from`.
    pub(crate) fn fill(self, from: usize, to: usize, numbers: &mut Vec<usize>) {
        numbers.clear();
        let scale = from as f64 / to as f64;
        match self {
            Self::Pillow => {
                let mut place = 0.5 * scale;
                numbers.extend((0..to).map(|_| {
                    let at = place as usize;
                    place += scale;
                    at
                }));
            }
            Self::OpenCv => {
                let scale = 1.0 / (to as f64 / from as f64);
                numbers.extend((0..to).map(|x| (x as f64 * scale) as usize));
            }
            Self::TensorFlow => {
                let scale = from as f32 / to as f32;
                numbers.extend((0..to).map(|x| ((x as f32 + 0.5) * scale) as usize));
            }
        }
        numbers.iter_mut().for_each(|it| *it = (*it).min(from - 1));
    }
}

/// Writes the pixels of these columns and rows to `out`, which has room for them.
pub(crate) fn resample(image: &Picture<'_, u8>, [rows, columns]: [&[usize]; 2], out: &mut [u8]) {
    let size = image.channels;
    if size == 0 || columns.is_empty() {
        return;
    }
    for (to, y) in out.chunks_exact_mut(columns.len() * size).zip(rows) {
        let row = image.row(*y);
        match size {
            1 => gather::<1>(row, columns, to),
            3 => gather::<3>(row, columns, to),
            4 => gather::<4>(row, columns, to),
            _ => {
                for (to, x) in to.chunks_exact_mut(size).zip(columns) {
                    to.copy_from_slice(&row[x * size..][..size]);
                }
            }
        }
    }
}

fn gather<const SIZE: usize>(row: &[u8], columns: &[usize], out: &mut [u8]) {
    let (pixels, _) = row.as_chunks::<SIZE>();
    let (out, _) = out.as_chunks_mut::<SIZE>();
    out.iter_mut().zip(columns).for_each(|(to, x)| *to = pixels[*x]);
}
