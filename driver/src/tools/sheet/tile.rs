//! A picture as it is drawn on a sheet: smaller or larger by a whole number, in eight bits.

use super::{
    levels::{Levels, Reading},
    mask::{Mask, Rgb},
};
use runtime::Tensor;

/// The longest side of a picture on a sheet, in pixels.
pub(super) const SIDE_MAX: usize = 224;
/// The least that a small picture's longest side is enlarged to, where that is a whole factor.
pub(super) const SIDE_MIN: usize = 96;

/// A picture on a sheet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tile {
    pub(super) height: usize,
    pub(super) width: usize,
    /// Three bytes a pixel, row after row.
    pub(super) rgb: Vec<u8>,
    /// The field that it shows.
    pub(super) title: String,
    /// What the colours of a mask stand for.
    pub(super) legend: Vec<(String, Rgb)>,
    scale: Scale,
}

impl Tile {
    /// A picture, channels last; none where it has no pixel.
    pub(super) fn of(image: &Tensor<'_>, levels: &Levels, title: String) -> Option<Self> {
        let &[height, width, channels] = image.shape() else { return None };
        if height == 0 || width == 0 || channels == 0 {
            return None;
        }
        let reading = levels.read(image);
        let scale = Scale::of(height, width);
        let (tall, wide) = (scale.apply(height), scale.apply(width));
        let mut rgb = Vec::with_capacity(tall * wide * 3);
        for y in 0..tall {
            for x in 0..wide {
                rgb.extend(scale.pixel(image, &reading, (y, x)).map(|it| (it + 0.5) as u8));
            }
        }
        Some(Self { height: tall, width: wide, rgb, title, legend: Vec::new(), scale })
    }

    /// A mask without a picture under it: the colours of its classes, the background black.
    pub(super) fn of_mask(mask: &Mask<'_>, title: String) -> Self {
        let (height, width) = mask.size();
        let scale = Scale::of(height, width);
        let (tall, wide) = (scale.apply(height), scale.apply(width));
        let mut rgb = Vec::with_capacity(tall * wide * 3);
        for y in 0..tall {
            for x in 0..wide {
                let class =
                    mask.at(scale.centre(y).min(height - 1), scale.centre(x).min(width - 1));
                rgb.extend(mask.colour(class).unwrap_or_default());
            }
        }
        Self { height: tall, width: wide, rgb, title, legend: mask.legend(), scale }
    }

    /// The same picture under a mask of its height and width: half its colour where there is a
    /// class, all of it where the class ends.
    pub(super) fn with_mask(mut self, mask: &Mask<'_>, title: String) -> Self {
        let (tall, wide) = (self.height, self.width);
        let at = |y: usize, x: usize| {
            let (height, width) = mask.size();
            mask.at(self.scale.centre(y).min(height - 1), self.scale.centre(x).min(width - 1))
        };
        let classes: Vec<i64> =
            (0..tall * wide).map(|pixel| at(pixel / wide, pixel % wide)).collect();
        for (pixel, &class) in classes.iter().enumerate() {
            let Some(colour) = mask.colour(class) else { continue };
            let differs = |there: bool, by: usize| there && classes[pixel + by] != class;
            let is_edge =
                differs(pixel % wide + 1 < wide, 1) || differs(pixel / wide + 1 < tall, wide);
            for (level, of) in self.rgb[pixel * 3..][..3].iter_mut().zip(colour) {
                *level = if is_edge { of } else { *level / 2 + of / 2 };
            }
        }
        self.title = title;
        self.legend = mask.legend();
        self
    }
}

/// By what whole number a picture is made smaller or larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    Down(usize),
    Up(usize),
}

impl Scale {
    fn of(height: usize, width: usize) -> Self {
        match height.max(width) {
            side if side > SIDE_MAX => Self::Down(side.div_ceil(SIDE_MAX)),
            side => Self::Up((SIDE_MIN / side).max(1)),
        }
    }

    fn apply(self, side: usize) -> usize {
        match self {
            Self::Down(by) => (side / by).max(1),
            Self::Up(by) => side * by,
        }
    }

    /// The row or column of the picture in the middle of what falls on one of the result.
    fn centre(self, at: usize) -> usize {
        match self {
            Self::Down(by) => at * by + by / 2,
            Self::Up(by) => at / by,
        }
    }

    /// Red, green, blue at a place of the result: the mean of what falls on it.
    fn pixel(self, image: &Tensor<'_>, reading: &Reading, (y, x): (usize, usize)) -> [f64; 3] {
        let by = match self {
            Self::Up(by) => return colour(image, reading, (y / by, x / by)),
            Self::Down(by) => by,
        };
        let ends = [(y + 1) * by, (x + 1) * by];
        let (bottom, right) = (ends[0].min(image.shape()[0]), ends[1].min(image.shape()[1]));
        let (mut sum, mut n) = ([0.0; 3], 0.0);
        for row in y * by..bottom {
            for column in x * by..right {
                let one = colour(image, reading, (row, column));
                (0..3).for_each(|it| sum[it] += one[it]);
                n += 1.0;
            }
        }
        sum.map(|it| it / n)
    }
}

fn colour(image: &Tensor<'_>, reading: &Reading, (y, x): (usize, usize)) -> [f64; 3] {
    let pixel = image.element(y).element(x);
    let channel = |it: usize| reading.level(it, pixel.element(it).number());
    if pixel.elements() >= 3 { [channel(0), channel(1), channel(2)] } else { [channel(0); 3] }
}
