//! The alpha of a lossy picture: the chunk `ALPH` of the WebP container.

use crate::error::Error;
use crate::lossless;

/// How alpha is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Filter {
    None,
    Left,
    Above,
    Gradient,
}

/// Decodes the alpha of `width` by `height` pixels.
pub(crate) fn decode(chunk: &[u8], width: usize, height: usize) -> Result<Vec<u8>, Error> {
    let (&flags, body) = chunk.split_first().ok_or(Error::Truncated)?;
    let filter = match flags >> 2 & 3 {
        0 => Filter::None,
        1 => Filter::Left,
        2 => Filter::Above,
        _ => Filter::Gradient,
    };
    // Whether an encoder has reduced the number of levels is of interest to those who would blur it.
    if flags >> 4 & 3 > 1 || flags >> 6 > 1 {
        return Err(Error::Damaged("the flags of the alpha are unknown"));
    }
    let mut alpha = match flags & 3 {
        0 => body.get(..width * height).ok_or(Error::Truncated)?.to_vec(),
        1 => lossless::decode(body, width, height)?.iter().map(|it| (it >> 8) as u8).collect(),
        _ => return Err(Error::Damaged("the compression of the alpha is unknown")),
    };
    undo(filter, &mut alpha, width);
    Ok(alpha)
}

/// Adds predictions to what was coded. The first row is predicted from the left whatever the filter, and the
/// first column from above.
fn undo(filter: Filter, alpha: &mut [u8], width: usize) {
    if filter == Filter::None {
        return;
    }
    let (first, mut rest) = alpha.split_at_mut(width);
    from_left(0, first);
    let mut above: &[u8] = first;
    while let Some((row, others)) = rest.split_at_mut_checked(width).filter(|it| !it.0.is_empty()) {
        match filter {
            Filter::None => {}
            Filter::Left => from_left(above[0], row),
            Filter::Above => {
                row.iter_mut().zip(above).for_each(|(it, above)| *it = it.wrapping_add(*above));
            }
            Filter::Gradient => {
                let (mut left, mut corner) = (above[0], above[0]);
                for (it, &above) in row.iter_mut().zip(above) {
                    let gradient = i16::from(left) + i16::from(above) - i16::from(corner);
                    *it = it.wrapping_add(gradient.clamp(0, 255) as u8);
                    (left, corner) = (*it, above);
                }
            }
        }
        (above, rest) = (row, others);
    }
}

fn from_left(before: u8, row: &mut [u8]) {
    row.iter_mut().fold(before, |left, it| {
        *it = it.wrapping_add(left);
        *it
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row after the other; the numbers were computed by hand.
    #[test]
    fn predictions_are_added() {
        let coded = [10, 5, 250, 1, 2, 3, 255, 0, 9];
        let undone = |filter: u8| decode(&[&[filter << 2], &coded[..]].concat(), 3, 3);
        assert_eq!(undone(0), Ok(coded.to_vec()));
        assert_eq!(undone(1), Ok(vec![10, 15, 9, 11, 13, 16, 10, 10, 19]));
        assert_eq!(undone(2), Ok(vec![10, 15, 9, 11, 17, 12, 10, 17, 21]));
        assert_eq!(undone(3), Ok(vec![10, 15, 9, 11, 18, 15, 10, 17, 23]));
        assert_eq!(decode(&[0, 1, 2], 3, 1), Err(Error::Truncated));
        assert!(matches!(decode(&[2, 1, 2], 2, 1), Err(Error::Damaged(_))));
        assert!(matches!(decode(&[0x80, 1, 2], 2, 1), Err(Error::Damaged(_))));
    }
}
