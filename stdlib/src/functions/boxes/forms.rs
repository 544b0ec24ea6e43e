//! The forms in which others write boxes.

use super::corners::{boxes, sides};
use crate::prelude::*;

/// How the four numbers of a box are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Left, top, width, height.
    Xywh,
    /// Centre, width, height.
    Cxcywh,
    /// Left, top, right, bottom.
    Xyxy,
    /// Top, left, bottom, right.
    Yxyx,
}

/// Where parameters stand.
const FORM: usize = 1;
const SHAPE: usize = 2;

/// The type of boxes in another form, if the arguments fit each other.
pub(super) fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let is_yolo = matches!(&applied.args[FORM], Arg::Word(it) if it == "yolo");
    if is_yolo && applied.args[SHAPE] == Arg::None {
        return Err(
            "`yolo` means fractions of an image: give its extents, `shape: image.shape`".to_owned()
        );
    }
    applied.ty(0).ok_or_else(|| "expected boxes".to_owned())
}

/// The kernel of a call that makes a box of each box; `convert` is given the form and the scale that the call says.
pub(super) fn kernel(call: &Call<'_>, convert: fn(Form, [f32; 4], [f64; 2]) -> [f32; 4]) -> Kernel {
    let (form, is_fraction) = of(call);
    Kernel::compute(move |args, out| {
        let scale = scale(args, is_fraction);
        boxes(&args.tensor(0), |all| {
            let (room, _) = out.tensor::<f32>(&[all.len(), 4])?.as_chunks_mut();
            room.iter_mut().zip(all).for_each(|(to, it)| *to = convert(form, *it, scale));
            Ok(())
        })
    })
}

/// What a call says: the form, and whether the numbers are fractions of an image.
fn of(call: &Call<'_>) -> (Form, bool) {
    let form = match call.word(FORM) {
        "xywh" => Form::Xywh,
        "xyxy" => Form::Xyxy,
        "yxyx" => Form::Yxyx,
        _ => Form::Cxcywh,
    };
    (form, !call.absent(SHAPE))
}

/// Width and height of the image that numbers are fractions of; 1 where they are pixels.
fn scale(args: &Args<'_>, is_fraction: bool) -> [f64; 2] {
    if !is_fraction {
        return [1.0, 1.0];
    }
    let [height, width] = sides(&args.tensor(SHAPE));
    [width as f64, height as f64]
}

impl Form {
    /// The corners of a box that is written so, in numbers that `scale` makes pixels of.
    pub(super) fn corners(self, it: [f32; 4], [width, height]: [f64; 2]) -> [f32; 4] {
        let [a, b, c, d] = it.map(f64::from);
        let [x0, y0, x1, y1] = match self {
            Self::Xywh => [a, b, a + c, b + d],
            Self::Cxcywh => [a - c / 2.0, b - d / 2.0, a + c / 2.0, b + d / 2.0],
            Self::Xyxy => [a, b, c, d],
            Self::Yxyx => [b, a, d, c],
        };
        [x0 * width, y0 * height, x1 * width, y1 * height].map(|it| it as f32)
    }

    /// How a box of these corners is written.
    pub(super) fn written(self, corners: [f32; 4], [width, height]: [f64; 2]) -> [f32; 4] {
        let [x0, y0, x1, y1] = corners.map(f64::from);
        let (x0, y0, x1, y1) = (x0 / width, y0 / height, x1 / width, y1 / height);
        let all = match self {
            Self::Xywh => [x0, y0, x1 - x0, y1 - y0],
            Self::Cxcywh => [(x0 + x1) / 2.0, (y0 + y1) / 2.0, x1 - x0, y1 - y0],
            Self::Xyxy => [x0, y0, x1, y1],
            Self::Yxyx => [y0, x0, y1, x1],
        };
        all.map(|it| it as f32)
    }
}
