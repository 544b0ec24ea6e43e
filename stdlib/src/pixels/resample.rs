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
        self.resize_part(image, to, to.map(|it| 0..it), out)
    }

    /// Writes the rows and columns of `part` alone, which is not empty.
    pub(crate) fn resize_part(
        self,
        image: &Tensor<'_>,
        to: [usize; 2],
        part: [Range<usize>; 2],
        out: &mut Out<'_>,
    ) -> Result<(), Fault> {
        if image.shape()[..2] == to {
            return out.copy(&narrowed(image, &part));
        }
        let [height, width, channels] = [0, 1, 2].map(|it| image.shape()[it]);
        let pixels = height.max(part[0].len()) * width.max(part[1].len()) * channels;
        with_room(&ROOM, pixels * size_of::<f32>(), |room| {
            self.resize_with(image, (to, &part), room, out)
        })
    }

    fn resize_with(
        self,
        image: &Tensor<'_>,
        (to, part): ([usize; 2], &[Range<usize>; 2]),
        room: &mut Room,
        out: &mut Out<'_>,
    ) -> Result<(), Fault> {
        let from = [image.shape()[0], image.shape()[1]];
        let shape = [part[0].len(), part[1].len(), image.shape()[2]];
        let Some(rule) = self.rule(from, to) else {
            return self.pick(image, (to, part), room, out);
        };
        let [rows, columns] = &mut room.taps;
        rows.fill(rule, from[0], to[0]);
        columns.fill(rule, from[1], to[1]);
        let rounds = image.dtype() == plan::DType::U8 && self.rounds_between();
        let unchanged = [from[0] == to[0], from[1] == to[1]];
        let mut needed = [rows.keep(&part[0]), columns.keep(&part[1])];
        for i in (0..2).filter(|it| rounds && unchanged[*it]) {
            needed[i] = part[i].clone();
        }
        let image = &narrowed(image, &needed);

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
        image: &Tensor<'_>,
        (to, part): ([usize; 2], &[Range<usize>; 2]),
        room: &mut Room,
        out: &mut Out<'_>,
    ) -> Result<(), Fault> {
        let rule = match self.like {
            Like::Pillow => nearest::Nearest::Pillow,
            Like::OpenCv => nearest::Nearest::OpenCv,
            Like::TensorFlow => nearest::Nearest::TensorFlow,
        };
        let [rows, columns] = &mut room.numbers;
        rule.fill(image.shape()[0], to[0], rows);
        rule.fill(image.shape()[1], to[1], columns);
        let pixels = packed_bytes(image, &mut room.levels.0);
        let shape = Shape::new(&[part[0].len(), part[1].len(), image.shape()[2]]);
        let picked = [&rows[part[0].clone()], &columns[part[1].clone()]];
        nearest::resample(&pixels, picked, out.room(image.dtype(), shape)?);
        Ok(())
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

/// The pixels of these rows and columns.
fn narrowed<'a>(image: &Tensor<'a>, [rows, columns]: &[Range<usize>; 2]) -> Tensor<'a> {
    image.narrowed(0, rows.start, rows.len()).narrowed(1, columns.start, columns.len())
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
