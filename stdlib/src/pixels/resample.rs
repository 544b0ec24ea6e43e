//! Resizing: which rules a method follows, in whose convention, and the work itself.

use super::{
    eight, nearest, packed,
    picture::packed_bytes,
    taps::{Edge, Kernel, Rule, Taps},
    wide, with_room,
};
use runtime::{Fault, Out, Shape, Tensor};
use std::{cell::RefCell, ops::Range};

/// How a picture is resized.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recipe {
    /// How levels between pixels are found.
    pub(crate) method: Method,
    /// Whether all the pixels count that a smaller picture has no room for.
    pub(crate) antialias: bool,
    /// Whose conventions hold.
    pub(crate) like: Like,
}

/// How levels between pixels are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// The nearest pixel.
    Nearest,
    /// Linearly.
    Bilinear,
    /// By cubic convolution.
    Bicubic,
    /// As the mean over the area.
    Area,
}

/// Whose conventions hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Like {
    /// Pillow's, and torchvision's.
    Pillow,
    /// OpenCV's.
    OpenCv,
    /// TensorFlow's.
    TensorFlow,
}

/// What a call needs beside its arguments.
#[derive(Default)]
struct Room {
    taps: [Taps; 2],
    weights: [eight::Weights; 2],
    eight: eight::Room,
    wide: wide::Room,
    numbers: [Vec<usize>; 2],
    levels: (Vec<u8>, Vec<u16>, Vec<f32>),
}

thread_local! {
    static ROOM: RefCell<Room> = RefCell::default();
}

impl Recipe {
    /// Writes `image`, which is not empty, in `to = [height, width]` pixels.
    pub(crate) fn resize(
        self,
        image: &Tensor<'_>,
        to: [usize; 2],
        out: &mut Out<'_>,
    ) -> Result<(), Fault> {
        self.resize_part(&Source::whole(*image), to, to.map(|it| 0..it), out)
    }

    /// Writes the rows and columns of `part` alone, which is not empty.
    ///
    /// # Errors
    /// `crop-outside`, where pixels that they are made of are not there.
    pub(crate) fn resize_part(
        self,
        source: &Source<'_>,
        to: [usize; 2],
        part: [Range<usize>; 2],
        out: &mut Out<'_>,
    ) -> Result<(), Fault> {
        if source.of == to {
            return out.copy(&source.narrowed(&part)?);
        }
        let [height, width, channels] = [0, 1, 2].map(|it| source.image.shape()[it]);
        let pixels = height.max(part[0].len()) * width.max(part[1].len()) * channels;
        with_room(&ROOM, pixels * size_of::<f32>(), |room| {
            self.resize_with(source, (to, &part), room, out)
        })
    }

    /// The rows and columns of a picture of `from` pixels that those of `part` are made of, none of
    /// which is empty.
    pub(crate) fn span(
        self,
        from: [usize; 2],
        to: [usize; 2],
        part: &[Range<usize>; 2],
    ) -> [Range<usize>; 2] {
        if from == to {
            return part.clone();
        }
        let tables = (from[0] + from[1]) * size_of::<f64>();
        with_room(&ROOM, tables, |room| match self.rule(from, to) {
            Some(rule) => needed(&mut room.taps, rule, [from, to], part),
            None => {
                self.numbers(from, to, &mut room.numbers);
                [0, 1].map(|i| extremes(&room.numbers[i][part[i].clone()]))
            }
        })
    }

    fn resize_with(
        self,
        source: &Source<'_>,
        (to, part): ([usize; 2], &[Range<usize>; 2]),
        room: &mut Room,
        out: &mut Out<'_>,
    ) -> Result<(), Fault> {
        let (image, from) = (&source.image, source.of);
        let shape = [part[0].len(), part[1].len(), image.shape()[2]];
        let Some(rule) = self.rule(from, to) else {
            return self.pick(source, (to, part), room, out);
        };
        let mut needed = needed(&mut room.taps, rule, [from, to], part);
        let [rows, columns] = &mut room.taps;
        let rounds = image.dtype() == plan::DType::U8 && self.rounds_between();
        let unchanged = [from[0] == to[0], from[1] == to[1]];
        for i in (0..2).filter(|it| rounds && unchanged[*it]) {
            needed[i] = part[i].clone();
        }
        let image = &source.narrowed(&needed)?;

        let taps = [&*rows, &*columns];
        let from = [image.shape()[0], image.shape()[1]];
        match image.dtype() {
            plan::DType::U8 if rounds => {
                let axes = axes(&mut room.weights, taps, from, unchanged);
                let image = packed(image, &mut room.levels.0);
                eight::resample(&image, axes, &mut room.eight, out.tensor(&shape)?);
            }
            plan::DType::U8 => {
                let image = packed::<u8>(image, &mut room.levels.0);
                wide::resample(&image, taps, &mut room.wide, out.tensor(&shape)?);
            }
            plan::DType::U16 => {
                let image = packed::<u16>(image, &mut room.levels.1);
                wide::resample(&image, taps, &mut room.wide, out.tensor(&shape)?);
            }
            _ => {
                let image = packed::<f32>(image, &mut room.levels.2);
                wide::resample(&image, taps, &mut room.wide, out.tensor(&shape)?);
            }
        }
        Ok(())
    }

    /// The nearest pixels, of any dtype.
    fn pick(
        self,
        source: &Source<'_>,
        (to, part): ([usize; 2], &[Range<usize>; 2]),
        room: &mut Room,
        out: &mut Out<'_>,
    ) -> Result<(), Fault> {
        self.numbers(source.of, to, &mut room.numbers);
        let needed = [0, 1].map(|i| extremes(&room.numbers[i][part[i].clone()]));
        let image = &source.narrowed(&needed)?;
        for (numbers, needed) in room.numbers.iter_mut().zip(&needed) {
            numbers.iter_mut().for_each(|it| *it = it.saturating_sub(needed.start));
        }
        let pixels = packed_bytes(image, &mut room.levels.0);
        let shape = Shape::new(&[part[0].len(), part[1].len(), image.shape()[2]]);
        let [rows, columns] = [0, 1].map(|i| &room.numbers[i][part[i].clone()]);
        nearest::resample(&pixels, [rows, columns], out.room(image.dtype(), shape)?);
        Ok(())
    }

    /// The number of the nearest pixel, for each row and for each column.
    fn numbers(self, from: [usize; 2], to: [usize; 2], numbers: &mut [Vec<usize>; 2]) {
        let rule = match self.like {
            Like::Pillow => nearest::Nearest::Pillow,
            Like::OpenCv => nearest::Nearest::OpenCv,
            Like::TensorFlow => nearest::Nearest::TensorFlow,
        };
        for (i, numbers) in numbers.iter_mut().enumerate() {
            rule.fill(from[i], to[i], numbers);
        }
    }

    /// What the pixels weigh; nothing for the nearest.
    fn rule(self, from: [usize; 2], to: [usize; 2]) -> Option<Rule> {
        let shrinks = from[0] >= to[0] && from[1] >= to[1];
        let widens = self.antialias && self.like != Like::OpenCv;
        Some(match (self.method, self.like) {
            (Method::Nearest, _) => return None,
            (Method::Bilinear, _) if widens => Rule::Widened(Kernel::Triangle),
            (Method::Bilinear, _) => Rule::Nearby(Kernel::Triangle, Edge::Repeat),
            (Method::Bicubic, _) if widens => Rule::Widened(Kernel::Cubic(-0.5)),
            (Method::Bicubic, Like::TensorFlow) => Rule::Nearby(Kernel::Cubic(-0.5), Edge::Drop),
            (Method::Bicubic, _) => Rule::Nearby(Kernel::Cubic(-0.75), Edge::Repeat),
            (Method::Area, Like::Pillow) => Rule::Widened(Kernel::Box),
            (Method::Area, Like::TensorFlow) => Rule::Covered { least: 0.0 },
            (Method::Area, Like::OpenCv) if shrinks => Rule::Covered { least: 1e-3 },
            (Method::Area, Like::OpenCv) => Rule::Stepped,
        })
    }

    /// Whether 8-bit pictures are rounded to 8 bits between the passes. Where a kernel overshoots,
    /// that clips too, as Pillow and torchvision do; the others keep what overshoots.
    fn rounds_between(self) -> bool {
        self.method != Method::Bicubic || self.like == Like::Pillow
    }
}

/// What is resized, or what is there of it.
pub(crate) struct Source<'a> {
    /// The pixels that are there.
    pub(crate) image: Tensor<'a>,
    /// Rows and columns of the whole.
    pub(crate) of: [usize; 2],
    /// Where in the whole they begin.
    pub(crate) at: [usize; 2],
}

impl<'a> Source<'a> {
    /// All of it.
    pub(crate) fn whole(image: Tensor<'a>) -> Self {
        let of = [image.shape()[0], image.shape()[1]];
        Self { image, of, at: [0, 0] }
    }

    /// The pixels of these rows and columns of the whole.
    fn narrowed(&self, needed: &[Range<usize>; 2]) -> Result<Tensor<'a>, Fault> {
        let mut image = self.image;
        for (i, needed) in needed.iter().enumerate() {
            let end = self.at[i].saturating_add(image.shape()[i]);
            if needed.start < self.at[i] || needed.end > end {
                let lines = ["rows", "columns"][i];
                let (Range { start, end: wanted }, at) = (needed, self.at[i]);
                let detail =
                    format!("needs {lines} {start}..{wanted}, but only {at}..{end} are available");
                return Err(Fault::new("crop-outside", detail));
            }
            image = image.narrowed(i, needed.start - self.at[i], needed.len());
        }
        Ok(image)
    }
}

/// Finds the taps of `part`, and the rows and columns that they need.
fn needed(
    taps: &mut [Taps; 2],
    rule: Rule,
    [from, to]: [[usize; 2]; 2],
    part: &[Range<usize>; 2],
) -> [Range<usize>; 2] {
    let mut needed = [0..0, 0..0];
    for (i, taps) in taps.iter_mut().enumerate() {
        taps.fill(rule, from[i], to[i]);
        needed[i] = taps.keep(&part[i]);
    }
    needed
}

/// From the least to the greatest of them, which are not none.
fn extremes(numbers: &[usize]) -> Range<usize> {
    let least = numbers.iter().min().copied().unwrap_or(0);
    least..numbers.iter().max().map_or(0, |it| it + 1)
}

/// The weights of the axes that change.
fn axes<'a>(
    weights: &'a mut [eight::Weights; 2],
    taps: [&Taps; 2],
    from: [usize; 2],
    unchanged: [bool; 2],
) -> eight::Axes<'a> {
    for (weights, (taps, from)) in weights.iter_mut().zip(taps.into_iter().zip(from)) {
        weights.round(taps, from);
    }
    let [rows, columns] = weights;
    eight::Axes {
        rows: (!unchanged[0]).then_some(rows),
        columns: (!unchanged[1]).then_some(columns),
    }
}
