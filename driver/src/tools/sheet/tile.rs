//! A picture as it is drawn on a sheet: smaller or larger by a whole number, in eight bits.

use super::{
    levels::{Levels, Reading},
    mask::{Mask, Rgb, colour_of},
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

impl Tile {
    /// Draws a line around each box, `x0, y0, x1, y1` in pixels of the picture, in a colour of its own; none, if they do
    /// not lie in the picture.
    pub(super) fn add_boxes(&mut self, boxes: &[[f32; 4]]) {
        let (tall, wide) = (self.height as f32, self.width as f32);
        let scaled = boxes.iter().map(|it| it.map(|it| self.scale.place(it)));
        let scaled: Vec<[f32; 4]> = scaled.collect();
        let lies_in = |it: &[f32; 4]| {
            it[0] >= -1.0 && it[1] >= -1.0 && it[2] <= wide + 1.0 && it[3] <= tall + 1.0
        };
        if !scaled.iter().all(lies_in) {
            return;
        }
        for (number, [x0, y0, x1, y1]) in scaled.into_iter().enumerate() {
            let (left, top) = (x0.max(0.0) as usize, y0.max(0.0) as usize);
            // The last pixel that the box covers.
            let (right, bottom) = ((x1 - 0.5).max(0.0) as usize, (y1 - 0.5).max(0.0) as usize);
            let (right, bottom) = (right.min(self.width - 1), bottom.min(self.height - 1));
            if x1 <= x0 || y1 <= y0 || left > right || top > bottom {
                continue;
            }
            let colour = colour_of(number as i64);
            let mut put = |y: usize, x: usize| {
                self.rgb[(y * self.width + x) * 3..][..3].copy_from_slice(&colour);
            };
            for x in left..=right {
                put(top, x);
                put(bottom, x);
            }
            for y in top..=bottom {
                put(y, left);
                put(y, right);
            }
        }
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

    /// Where a place of the picture is in the result.
    fn place(self, at: f32) -> f32 {
        match self {
            Self::Down(by) => at / by as f32,
            Self::Up(by) => at * by as f32,
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
