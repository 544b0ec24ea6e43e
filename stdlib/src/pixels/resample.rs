//! Resizing: which rules a method follows, in whose convention, and the work itself.

use super::{
    eight, nearest, packed,
    picture::packed_bytes,
    taps::{Edge, Kernel, Rule, Taps},
    wide, with_room,
};
use runtime::{Fault, Out, Shape, Tensor};
use std::cell::RefCell;

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
        if image.shape()[..2] == to {
            return out.copy(image);
        }
        let [height, width, channels] = [0, 1, 2].map(|it| image.shape()[it]);
        let pixels = height.max(to[0]) * width.max(to[1]) * channels;
        with_room(&ROOM, pixels * size_of::<f32>(), |room| self.resize_with(image, to, room, out))
    }

    fn resize_with(
        self,
        image: &Tensor<'_>,
        to: [usize; 2],
        room: &mut Room,
        out: &mut Out<'_>,
    ) -> Result<(), Fault> {
        let from = [image.shape()[0], image.shape()[1]];
        let shape = [to[0], to[1], image.shape()[2]];
        let Some(rule) = self.rule(from, to) else {
            return self.pick(image, Shape::new(&shape), room, out);
        };
        let [rows, columns] = &mut room.taps;
        rows.fill(rule, from[0], to[0]);
        columns.fill(rule, from[1], to[1]);

        let taps = [&*rows, &*columns];
        match image.dtype() {
            plan::DType::U8 if self.rounds_between() => {
                let axes = axes(&mut room.weights, taps, from, to);
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
        to: Shape,
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
        nearest::resample(&pixels, [rows, columns], out.room(image.dtype(), to)?);
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

/// The weights of the axes that change.
fn axes<'a>(
    weights: &'a mut [eight::Weights; 2],
    taps: [&Taps; 2],
    from: [usize; 2],
    to: [usize; 2],
) -> eight::Axes<'a> {
    for (weights, (taps, from)) in weights.iter_mut().zip(taps.into_iter().zip(from)) {
        weights.round(taps, from);
    }
    let [rows, columns] = weights;
    eight::Axes {
        rows: (from[0] != to[0]).then_some(rows),
        columns: (from[1] != to[1]).then_some(columns),
    }
}
