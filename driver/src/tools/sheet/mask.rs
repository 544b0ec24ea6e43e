//! Masks and class maps: which class each pixel of a picture belongs to, and its colour.

use plan::DType;
use runtime::Tensor;
use std::collections::BTreeSet;

/// Red, green, blue.
pub(super) type Rgb = [u8; 3];

/// Different numbers that a class map may have. Where there are more, the numbers are levels.
const CLASSES_MAX: usize = 32;
/// Classes that a legend names.
const LEGEND_MAX: usize = 8;
/// Masks, one for each instance, that are drawn over a picture.
const INSTANCES_MAX: usize = 64;
/// The largest number of a class map that would be all but black as a level of grey.
const DARK_MAX: i64 = 63;
/// What most data sets write where no class is meant.
const IGNORED: i64 = 255;
/// The colour of pixels that belong to no class and are not background.
const IGNORED_COLOUR: Rgb = [224, 224, 224];

/// Colours that are easily told from each other (Trubetskoy's list, without greys); class 1 has the first.
static COLOURS: [Rgb; 16] = [
    [230, 25, 75],
    [60, 180, 75],
    [0, 130, 200],
    [255, 225, 25],
    [245, 130, 48],
    [145, 30, 180],
    [70, 240, 240],
    [240, 50, 230],
    [210, 245, 60],
    [250, 190, 212],
    [0, 128, 128],
    [220, 190, 255],
    [170, 110, 40],
    [128, 0, 0],
    [128, 128, 0],
    [0, 0, 128],
];

/// The colour of the thing with a number, counted from 0.
pub(super) fn colour_of(number: i64) -> Rgb {
    COLOURS[number.rem_euclid(COLOURS.len() as i64) as usize]
}

/// A class for each pixel; 0 is the background.
#[derive(Debug)]
pub(super) struct Mask<'a> {
    /// One plane of classes, or a plane of `bool` for each instance.
    planes: Vec<Tensor<'a>>,
    /// The numbers in it, in order.
    classes: BTreeSet<i64>,
}

impl<'a> Mask<'a> {
    /// The mask that `value` is: whole numbers or truth values `[h, w]`, `[h, w, 1]` or `[1, h, w]`,
    /// or truth values, or bytes that are 0 or 1, `[instances, h, w]`. None where it is something else.
    pub(super) fn of(value: &Tensor<'a>) -> Option<Self> {
        let is_bool = value.dtype() == DType::Bool;
        if !is_bool && (value.dtype().is_float() || value.dtype().is_text()) {
            return None;
        }
        let planes = match *value.shape() {
            [_, _] => vec![*value],
            [_, _, 1] => vec![value.permuted(&[2, 0, 1]).element(0)],
            [1, _, _] => vec![value.element(0)],
            [n, _, _] if is_bool || are_instances(value) => {
                (0..n.min(INSTANCES_MAX)).map(|it| value.element(it)).collect()
            }
            _ => return None,
        };
        let mut mask = Self { planes, classes: BTreeSet::new() };
        let (height, width) = mask.size();
        if height == 0 || width == 0 {
            return None;
        }
        for y in 0..height {
            for x in 0..width {
                let class = mask.at(y, x);
                if mask.classes.insert(class) && !is_bool && mask.classes.len() > CLASSES_MAX {
                    return None;
                }
            }
        }
        Some(mask)
    }

    /// Height and width.
    pub(super) fn size(&self) -> (usize, usize) {
        match self.planes.first().map(Tensor::shape) {
            Some(&[height, width]) => (height, width),
            _ => (0, 0),
        }
    }

    /// The class of a pixel. Of masks of instances, the number of the first that has it, from 1.
    pub(super) fn at(&self, y: usize, x: usize) -> i64 {
        match self.planes[..] {
            [one] => one.element(y).element(x).int(),
            _ => {
                let has = |it: &Tensor<'_>| it.element(y).element(x).int() != 0;
                self.planes.iter().position(has).map_or(0, |it| it as i64 + 1)
            }
        }
    }

    /// The colour of a class; none of the background.
    pub(super) fn colour(&self, class: i64) -> Option<Rgb> {
        match class {
            0 => None,
            _ if self.is_ignored(class) => Some(IGNORED_COLOUR),
            _ => Some(colour_of(class - 1)),
        }
    }

    /// Whether its numbers would be all but black as levels of grey, so that it is classes in any case.
    pub(super) fn is_dark(&self) -> bool {
        let mut classes = self.classes.iter().filter(|it| !self.is_ignored(**it));
        classes.next_back().is_some_and(|it| (1..=DARK_MAX).contains(it))
    }

    /// What the colours stand for: the first classes that it has.
    pub(super) fn legend(&self) -> Vec<(String, Rgb)> {
        let named = self.classes.iter().filter(|it| **it != 0 && !self.is_ignored(**it));
        let named = named.filter_map(|it| Some((it.to_string(), self.colour(*it)?)));
        named.take(LEGEND_MAX).collect()
    }

    /// Numbers below 0, and 255 beside other classes. Where there is no other, it is the class: masks
    /// are often written as black and white.
    fn is_ignored(&self, class: i64) -> bool {
        let others = || self.classes.iter().any(|it| *it != 0 && *it != IGNORED);
        class < 0 || class == IGNORED && others()
    }
}

/// Whether bytes are masks of things, as `rasterize` draws them, and not a picture that is black.
fn are_instances(value: &Tensor<'_>) -> bool {
    let mut bytes = vec![0; value.bytes()];
    if value.dtype() == DType::U8 {
        value.copy_to(&mut bytes);
    }
    value.dtype() == DType::U8 && bytes.contains(&1) && bytes.iter().all(|it| *it < 2)
}
