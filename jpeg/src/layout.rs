//! How the blocks of a picture lie in its scan, and which of them a part of it needs.

use crate::error::Error;
use crate::header::{BLOCKS_MAX, Header};
use std::ops::Range;

/// A part of a picture, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Columns to the left of it.
    pub x: usize,
    /// Rows above it.
    pub y: usize,
    /// Pixels of a row; at least 1.
    pub width: usize,
    /// Rows; at least 1.
    pub height: usize,
}

impl Region {
    /// The columns of it.
    pub(crate) fn columns(&self) -> Range<usize> {
        self.x..self.x + self.width
    }

    /// The rows of it.
    pub(crate) fn rows(&self) -> Range<usize> {
        self.y..self.y + self.height
    }

    /// All of it within `width` and `height`, and something of it.
    pub(crate) fn check(&self, width: usize, height: usize) -> Result<(), Error> {
        let fits =
            |at: usize, len: usize, all| len > 0 && at.checked_add(len).is_some_and(|it| it <= all);
        if fits(self.x, self.width, width) && fits(self.y, self.height, height) {
            Ok(())
        } else {
            Err(Error::Request("the region does not lie within the picture"))
        }
    }
}

/// How a component comes to have as many samples as the picture has pixels (libjpeg's jdsample).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filter {
    /// It has them.
    None,
    /// Between two columns, 3 parts of the nearer one.
    H2V1,
    /// Between two rows, 3 parts of the nearer one.
    H1V2,
    /// Both.
    H2V2,
    /// Each sample is repeated.
    Repeat,
}

impl Filter {
    /// Whether it reads rows above and below.
    pub(crate) fn is_vertical(self) -> bool {
        matches!(self, Self::H1V2 | Self::H2V2)
    }

    /// Where a block is one pixel, nothing lies between two.
    fn of(ratio: (usize, usize), width: usize, scale: Scale) -> Self {
        match ratio {
            (1, 1) => Self::None,
            _ if scale == Scale::Eighth => Self::Repeat,
            (2, 1) if width > 2 => Self::H2V1,
            (1, 2) => Self::H1V2,
            (2, 2) if width > 2 => Self::H2V2,
            _ => Self::Repeat,
        }
    }
}

/// How much smaller than it is a picture is made (libjpeg's `scale_num` of 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// As it is.
    #[default]
    Full,
    /// A half of its width and height, rounded up.
    Half,
    /// A quarter of them, rounded up.
    Quarter,
    /// An eighth of them, rounded up.
    Eighth,
}

impl Scale {
    /// All of them, the largest first.
    pub const ALL: [Self; 4] = [Self::Full, Self::Half, Self::Quarter, Self::Eighth];

    /// So many pixels, made smaller.
    pub fn of(self, pixels: usize) -> usize {
        pixels.div_ceil(BLOCK / self.side())
    }

    /// Samples of a side of a block.
    fn side(self) -> usize {
        BLOCK >> self as usize
    }
}

/// Samples of a side of a block, where nothing is made smaller.
pub(crate) const BLOCK: usize = 8;

/// A component, as its samples lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plane {
    /// Blocks of an MCU, across and down.
    pub(crate) h: usize,
    pub(crate) v: usize,
    /// Samples of a side of a block: 8, or fewer where the picture is made smaller. A component with
    /// fewer samples than others is then made smaller by less (libjpeg's jdmaster).
    pub(crate) side: usize,
    /// Pixels for a sample, across and down.
    pub(crate) ratio: (usize, usize),
    /// Samples that are the picture's, not its blocks' padding.
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) filter: Filter,
}

/// How the blocks of a picture lie in its scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) n_planes: usize,
    planes: [Plane; 3],
    /// MCUs across and down.
    pub(crate) mcus: (usize, usize),
    /// Pixels of an MCU, across and down.
    pub(crate) mcu: (usize, usize),
}

impl Layout {
    /// The layout of a picture that is supported, made smaller.
    pub(crate) fn of(header: &Header, scale: Scale) -> Self {
        let &Header { width, height, components, .. } = header;
        let max = header.sampling_max();
        // A scan of one component has MCUs of one block (A.2.2).
        let alone = components == 1;
        let (h_max, v_max) = if alone { (1, 1) } else { (max.0.into(), max.1.into()) };
        let planes = [0, 1, 2].map(|i| {
            let (h, v) = header.sampling[i];
            let (h, v) = if alone { (1, 1) } else { (usize::from(h), usize::from(v)) };
            let fits = |side: usize| {
                let is_part = |all: usize, own| (all * scale.side()).is_multiple_of(own * side);
                is_part(h_max, h) && is_part(v_max, v)
            };
            let mut side = scale.side();
            while side < BLOCK && fits(2 * side) {
                side *= 2;
            }
            let ratio = (h_max * scale.side() / (h * side), v_max * scale.side() / (v * side));
            let samples =
                |all: usize, own: usize, max: usize| (all * own * side).div_ceil(max * BLOCK);
            let (width, height) = (samples(width, h, h_max), samples(height, v, v_max));
            Plane { h, v, side, ratio, width, height, filter: Filter::of(ratio, width, scale) }
        });
        let mcus = (width.div_ceil(BLOCK * h_max), height.div_ceil(BLOCK * v_max));
        let mcu = (scale.side() * h_max, scale.side() * v_max);
        let (width, height) = (scale.of(width), scale.of(height));
        Self { width, height, n_planes: components, planes, mcus, mcu }
    }

    /// Its components.
    pub(crate) fn planes(&self) -> &[Plane] {
        &self.planes[..self.n_planes]
    }

    /// All of it.
    pub(crate) fn whole(&self) -> Region {
        Region { x: 0, y: 0, width: self.width, height: self.height }
    }

    /// For each block of an MCU, in the order of the scan: its component, its row in the MCU
    /// and its column there.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
        let planes = self.planes().iter().enumerate();
        let blocks = planes
            .flat_map(|(i, it)| (0..it.v).flat_map(move |y| (0..it.h).map(move |x| (i, y, x))));
        blocks.take(BLOCKS_MAX)
    }

    /// The MCUs that the region and what its filters read beside it lie in, across and down.
    pub(crate) fn window(&self, region: &Region) -> (Range<usize>, Range<usize>) {
        let is_wider =
            |of: fn((usize, usize)) -> usize| self.planes().iter().any(|it| of(it.ratio) > 1);
        (
            span(region.columns(), self.width, self.mcu.0, is_wider(|it| it.0)),
            span(region.rows(), self.height, self.mcu.1, is_wider(|it| it.1)),
        )
    }

    /// The blocks of a plane that the region and what its filters read lie in, across and down.
    pub(crate) fn needed(&self, plane: &Plane, region: &Region) -> (Range<usize>, Range<usize>) {
        let (h, v) = plane.ratio;
        let columns = if h == 1 { region.columns() } else { wider(region.columns(), self.width) };
        let rows = if v == 1 { region.rows() } else { wider(region.rows(), self.height) };
        let side = plane.side;
        let blocks =
            |it: Range<usize>, ratio| it.start / (side * ratio)..it.end.div_ceil(side * ratio);
        (blocks(columns, h), blocks(rows, v))
    }
}

/// Pixels beside a region that the nearest sample of a filter may stand for.
const BESIDE: usize = 2;

fn wider(pixels: Range<usize>, all: usize) -> Range<usize> {
    pixels.start.saturating_sub(BESIDE)..(pixels.end + BESIDE).min(all)
}

fn span(pixels: Range<usize>, all: usize, mcu: usize, is_wider: bool) -> Range<usize> {
    let pixels = if is_wider { wider(pixels, all) } else { pixels };
    pixels.start / mcu..pixels.end.div_ceil(mcu)
}
