//! What lies beyond the border of a picture.

/// How a picture goes on beyond its border.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Border {
    /// With one level.
    Constant,
    /// With its last pixels.
    Edge,
    /// Mirrored at its last pixels, which are not repeated; again and again.
    Reflect,
}

impl Border {
    /// The pixel of `0..len` that stands at `place`; nothing where a constant does.
    pub(crate) fn at(self, place: i64, len: usize) -> Option<usize> {
        let last = len as i64 - 1;
        if (0..=last).contains(&place) {
            return Some(place as usize);
        }
        match self {
            Self::Constant => None,
            Self::Edge => Some(place.clamp(0, last) as usize),
            Self::Reflect if last == 0 => Some(0),
            Self::Reflect => {
                let place = place.rem_euclid(2 * last);
                Some(place.min(2 * last - place) as usize)
            }
        }
    }
}
