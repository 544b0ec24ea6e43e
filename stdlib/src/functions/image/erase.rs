//! `erase`: a box of a picture, painted over.

use super::{extents::picture, fill::encoded};
use crate::{
    pixels::{Picture, picture::packed_bytes, with_room},
    prelude::*,
};
use std::{cell::RefCell, ops::Range};

function! {
    /// Fills a box of an image with `value`.
    ///
    /// The box begins at row `y` and column `x`; parts of it outside the image are ignored. `value` is one
    /// number, or a list with one number per channel. This is torchvision's `erase`.
    ///
    /// Fails with `size` if `height` or `width` is negative.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 4, 6) |> erase(1, 2, 2, 3, value: 128) }    # { image: u8[4, 6, 3] }
    /// ```
    "erase(image: t[h, w, c], y: int, x: int, height: int, width: int, value: floats = 0) fails -> t[h, w, c]",
    // Assumed: 0.05 ns a byte, as a copy.
    cost: Cost::out(200.0, 0.05),
    result: Some(result),
}

fn result(call: &Applied<'_>) -> Result<Type, String> {
    let (dtype, shape) = picture(call)?;
    if dtype.is_text() {
        return Err("`erase` expects numbers".into());
    }
    let values = numbers(&call.args[5])?;
    match &shape[2] {
        _ if values.len() == 1 => {}
        Extent::Known(it) if *it == values.len() as u64 => {}
        found => return Err(format!("there are {} numbers for {found} channels", values.len())),
    }
    for side in [3, 4].into_iter().filter_map(|it| call.int(it)) {
        len(side).map_err(|it| it.detail.into_owned())?;
    }
    Ok(Type::Tensor { dtype, shape: shape.to_vec() })
}

/// The numbers of a list, or the one number.
fn numbers(arg: &Arg) -> Result<Vec<f64>, String> {
    let number = |it: &Arg| match it {
        Arg::Int(it) => Ok(*it as f64),
        Arg::Float(it) => Ok(*it),
        _ => Err("`value` must be a number or a list of numbers".to_owned()),
    };
    match arg {
        Arg::List(all) if !all.is_empty() => all.iter().map(number).collect(),
        one => Ok(vec![number(one)?]),
    }
}

fn len(side: i64) -> Result<i64, Fault> {
    if side >= 0 {
        return Ok(side);
    }
    Err(Fault::new("size", format!("a box cannot have a side of {side} pixels")))
}

thread_local! {
    /// Pictures whose pixels lie apart.
    static ROOM: RefCell<Vec<u8>> = RefCell::default();
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let values = numbers(&call.args[5]).expect("the checker has read them");
    Ok(Kernel::compute(move |args, out| {
        let image = args.tensor(0);
        let [y, x] = [1, 2].map(|it| args.int(it));
        let part = Part::of(image.shape(), [y, x], [len(args.int(3))?, len(args.int(4))?]);
        let channels = image.shape()[2];
        let mut pixel = Vec::with_capacity(channels * image.dtype().size());
        for channel in 0..channels {
            let value = values[channel.min(values.len() - 1)];
            pixel.extend_from_slice(encoded(image.dtype(), value, &mut [0; 8]));
        }
        erased(&image, &part, out, |row| {
            row.chunks_exact_mut(pixel.len().max(1)).for_each(|it| it.copy_from_slice(&pixel));
        })
    }))
}

/// The part of a picture that a box covers.
pub(super) struct Part {
    rows: Range<usize>,
    columns: Range<usize>,
}

impl Part {
    /// Of a box that begins at `start` and has sides of `size`, as far as it lies in a picture of this shape.
    pub(super) fn of(shape: &[usize], start: [i64; 2], size: [i64; 2]) -> Self {
        let [rows, columns] = [0, 1].map(|it| {
            let within = |place: i64| place.clamp(0, shape[it] as i64) as usize;
            within(start[it])..within(start[it].saturating_add(size[it]))
        });
        Self { rows, columns }
    }
}

/// Writes `image` to `out`, and lets `fill` write the bytes of each row of the part.
pub(super) fn erased(
    image: &Tensor<'_>,
    part: &Part,
    out: &mut Out<'_>,
    mut fill: impl FnMut(&mut [u8]),
) -> Result<(), Fault> {
    let room = out.room(image.dtype(), Shape::new(image.shape()))?;
    let pixel = image.shape()[2] * image.dtype().size();
    let columns = part.columns.start * pixel..part.columns.end * pixel;
    with_room(&ROOM, image.bytes(), |copy| {
        let picture: Picture<'_, u8> = packed_bytes(image, copy);
        let len = picture.row_len().max(1);
        for (y, (row, to)) in picture.rows().zip(room.chunks_exact_mut(len)).enumerate() {
            if !part.rows.contains(&y) {
                to.copy_from_slice(row);
                continue;
            }
            to[..columns.start].copy_from_slice(&row[..columns.start]);
            to[columns.end..].copy_from_slice(&row[columns.end..]);
            fill(&mut to[columns.clone()]);
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, run, typed};
    use super::*;

    fn erased(box_: [i64; 4], value: Arg) -> Result<Vec<i16>, Fault> {
        let image = Value::new(&[2, 3, 2], &[1_i16, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        let mut args = vec![image];
        args.extend(box_.map(Value::from));
        args.push(Value::Known(value));
        run(&ENTRY, &args).map(|it| it.1)
    }

    #[test]
    fn boxes_are_filled_as_far_as_they_lie_within() {
        let found = |it| erased(it, Arg::Int(-7)).expect("it has sides");
        let one = vec![1, 2, 3, 4, 5, 6, 7, 8, -7, -7, -7, -7];
        assert_eq!(found([1, 1, 1, 2]), one);
        assert_eq!(found([1, 1, 9, 9]), one);
        assert_eq!(found([-5, -3, 6, 4]), vec![-7, -7, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        let before = vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
        for outside in [[2, 0, 9, 9], [0, 3, 9, 9], [-2, 0, 2, 9], [0, 0, 0, 9], [0, 0, 2, 0]] {
            assert_eq!(found(outside), before, "{outside:?}");
        }
        assert_eq!(found([0, i64::MAX, 2, i64::MAX]), before);
        let each = Arg::List(vec![Arg::Int(20), Arg::Float(30.7)]);
        assert_eq!(
            erased([0, 0, 1, 1], each).expect("it has sides")[..4],
            [20, 30, 3, 4],
            "each channel has its own value"
        );
        for sides in [[0, 0, -1, 2], [0, 0, 1, -1]] {
            assert_eq!(erased(sides, Arg::Int(0)).map_err(|it| it.code), Err("size"));
        }
    }

    #[test]
    fn values_are_one_or_one_for_each_channel() {
        let of = |channels, value| {
            let shape = vec![Extent::Unknown, Extent::Unknown, channels];
            let rest = [0, 0, 1, 1].map(Arg::Int).into_iter().chain([value]);
            typed(&ENTRY, Type::Tensor { dtype: DType::U8, shape }, &rest.collect::<Vec<_>>())
        };
        let list = |n| Arg::List(vec![Arg::Int(1); n]);
        assert!(of(Extent::Unknown, Arg::Int(3)).is_ok());
        assert!(of(Extent::Known(3), list(3)).is_ok());
        assert!(of(Extent::Known(3), list(2)).is_err());
        assert!(of(Extent::Unknown, list(2)).is_err());
    }
}
