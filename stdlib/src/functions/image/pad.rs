//! `pad`: a picture with a border.

use super::{SIDE_MAX, extents::picture, fill::encoded};
use crate::{
    pixels::{Picture, border::Border, picture::packed_bytes, with_room},
    prelude::*,
};
use runtime::far;
use std::cell::RefCell;

function! {
    /// Adds a border around an image.
    ///
    /// `pad(image, 4)` adds 4 pixels on all sides. `y` is the number of pixels above and below, `x` left and
    /// right, and each side can be set separately. `mode` is what the border contains: `constant` the level
    /// `value`, `edge` the outermost pixels repeated, `reflect` the image mirrored. This is torchvision's `pad`
    /// with `padding_mode` `constant`, `edge` and `reflect`, for any width (NumPy's `pad`).
    ///
    /// Fails with `size` if a width is not between 0 and 65,536, or with `image-empty` if `edge` or `reflect`
    /// gets an image without pixels.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 4, 6) |> pad(2, bottom: 5, mode: edge) }    # { image: u8[11, 10, 3] }
    /// ```
    "pad(image: t[h, w, c], y: int = 0, x: int = y, top: int = y, bottom: int = y, left: int = x, right: int = x, value: float = 0.0, mode: constant | edge | reflect = constant) fails -> t[?, ?, c]",
    // Assumed: 0.1 ns a byte written.
    cost: Cost::out(200.0, 0.1),
    properties: &[Property::Neutral(&NEUTRAL)],
    result: Some(result),
}

/// The parameters that say how wide the border is, above, below, left and right.
const SIDES: [usize; 4] = [3, 4, 5, 6];

/// A picture without a border.
static NEUTRAL: Neutral =
    Neutral { is: |args| SIDES.iter().all(|it| matches!(args[*it], Arg::Int(0))) };

fn result(call: &Applied<'_>) -> Result<Type, String> {
    let (dtype, [height, width, channels]) = picture(call)?;
    if dtype.is_text() {
        return Err("`pad` expects numbers".into());
    }
    let [top, bottom, left, right] = SIDES.map(|it| call.int(it));
    for width in [top, bottom, left, right].into_iter().flatten() {
        if !(0..=SIDE_MAX as i64).contains(&width) {
            return Err(format!(
                "a border must be from 0 to {SIDE_MAX} pixels wide, found {width}"
            ));
        }
    }
    let wider = |extent: &Extent, border: Option<(i64, i64)>| match (extent, border) {
        (Extent::Known(it), Some((a, b))) => Extent::Known(it + a as u64 + b as u64),
        (it, Some((0, 0))) => it.clone(),
        _ => Extent::Unknown,
    };
    let (rows, columns) = (wider(&height, top.zip(bottom)), wider(&width, left.zip(right)));
    Ok(Type::Tensor { dtype, shape: vec![rows, columns, channels] })
}

thread_local! {
    /// Pictures whose pixels lie apart.
    static ROOM: RefCell<Vec<u8>> = RefCell::default();
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    if (NEUTRAL.is)(call.args) {
        return Ok(Kernel::view(|args| Ok(args.tensor(0))));
    }
    let border = match call.word(8) {
        "constant" => Border::Constant,
        "edge" => Border::Edge,
        _ => Border::Reflect,
    };
    Ok(Kernel::compute(move |args, out| {
        let image = args.tensor(0);
        let [top, bottom, left, right] = sides(args)?;
        let &[height, width, channels] = image.shape() else {
            unreachable!("the checker saw to three axes");
        };
        if border != Border::Constant && (height == 0 || width == 0) {
            return Err(Fault::new(
                "image-empty",
                "an image without pixels has no border to extend",
            ));
        }

        let mut level = [0; 8];
        let level = encoded(image.dtype(), args.float(7), &mut level);
        let shape = Shape::new(&[height + top + bottom, width + left + right, channels]);
        let room = out.room(image.dtype(), shape)?;
        let frame = Frame { border, top: top as i64, left: left as i64, level };
        with_room(&ROOM, image.bytes(), |copy| {
            frame.write(&packed_bytes(&image, copy), right, room);
        });
        Ok(())
    }))
}

fn sides(args: &Args<'_>) -> Result<[usize; 4], Fault> {
    let mut sides = [0; 4];
    for (side, it) in sides.iter_mut().zip(SIDES) {
        let width = args.int(it);
        let fits = usize::try_from(width).ok().filter(|it| *it <= SIDE_MAX);
        *side = fits.ok_or_else(|| {
            Fault::new(
                "size",
                format!("a border must be from 0 to {SIDE_MAX} pixels wide, found {width}"),
            )
        })?;
    }
    Ok(sides)
}

/// Where the picture lies, and what is around it.
struct Frame<'a> {
    border: Border,
    top: i64,
    left: i64,
    level: &'a [u8],
}

impl Frame<'_> {
    fn write(&self, image: &Picture<'_, u8>, right: usize, out: &mut [u8]) {
        let size = image.channels;
        let left = self.left as usize * size;
        let len = left + image.row_len() + right * size;
        for (y, to) in out.chunks_exact_mut(len.max(1)).enumerate() {
            let Some(row) = self.border.at(y as i64 - self.top, image.height) else {
                self.fill(to);
                continue;
            };
            let row = image.row(row);
            let (before, to) = to.split_at_mut(left);
            let (middle, after) = to.split_at_mut(row.len());
            middle.copy_from_slice(row);
            self.beside(-self.left, (row, size), before);
            self.beside(image.width as i64, (row, size), after);
        }
    }

    /// The pixels from column `x` on, all beyond the border of `row`, whose pixels have a size.
    fn beside(&self, x: i64, (row, size): (&[u8], usize), out: &mut [u8]) {
        if self.border == Border::Constant {
            return self.fill(out);
        }
        for (i, to) in out.chunks_exact_mut(size.max(1)).enumerate() {
            let from = self.border.at(x + i as i64, row.len() / size);
            to.copy_from_slice(&row[from.expect("it has no end") * size..][..size]);
        }
    }

    fn fill(&self, out: &mut [u8]) {
        far::fill(out, self.level, false);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, run, typed};
    use super::*;

    /// `[[1, 2, 3], [4, 5, 6]]` with a border `[top, bottom, left, right]`.
    fn padded(mode: &str, sides: [i64; 4]) -> (Vec<usize>, Vec<i32>) {
        let image = Value::new(&[2, 3, 1], &[1, 2, 3, 4, 5, 6]);
        let [top, bottom, left, right] = sides.map(Value::from);
        let (y, x, value) = (0_i64.into(), 0_i64.into(), (-7.0).into());
        let args = [image, y, x, top, bottom, left, right, value, Value::word(mode)];
        run(&ENTRY, &args).expect("it fits")
    }

    #[test]
    fn borders_are_those_of_numpy() {
        // NumPy 2.x, numpy.pad(a, ((1, 0), (1, 2)), "constant", constant_values=-7).
        let constant = vec![-7, -7, -7, -7, -7, -7, -7, 1, 2, 3, -7, -7, -7, 4, 5, 6, -7, -7];
        assert_eq!(padded("constant", [1, 0, 1, 2]), (vec![3, 6, 1], constant));
        // ((0, 1), (2, 1)), "edge".
        let edge = vec![1, 1, 1, 2, 3, 3, 4, 4, 4, 5, 6, 6, 4, 4, 4, 5, 6, 6];
        assert_eq!(padded("edge", [0, 1, 2, 1]), (vec![3, 6, 1], edge));
        // ((2, 0), (0, 5)), "reflect".
        let reflect = [
            [1, 2, 3, 2, 1, 2, 3, 2],
            [4, 5, 6, 5, 4, 5, 6, 5],
            [1, 2, 3, 2, 1, 2, 3, 2],
            [4, 5, 6, 5, 4, 5, 6, 5],
        ];
        assert_eq!(padded("reflect", [2, 0, 0, 5]), (vec![4, 8, 1], reflect.concat()));
    }

    #[test]
    fn sides_are_known_and_checked() {
        let found = |sides: [i64; 4]| {
            let shape = vec![Extent::Unknown, Extent::Known(6), Extent::Known(3)];
            let mut rest = vec![Arg::Int(0), Arg::Int(0)];
            rest.extend(sides.map(Arg::Int));
            typed(&ENTRY, Type::Tensor { dtype: DType::U8, shape }, &rest)
        };
        assert_eq!(found([1, 2, 3, 4]).as_deref(), Ok("u8[?, 13, 3]"));
        assert!(found([0, 0, 0, -1]).is_err());
    }
}
