//! `crop`: a part of a picture.

use super::extents::picture;
use crate::prelude::*;

function! {
    /// Crops an image to `height` x `width` pixels, from row `y` and column `x`.
    ///
    /// To crop an image and its mask alike, draw the part once with `draw_resized_crop`, and use
    /// `crop(image, part[0], part[1], part[2], part[3])` for both.
    ///
    /// Nothing is copied. Fails with `crop-outside` if the part does not fit into the image; `pad` enlarges an
    /// image.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 40, 60) |> crop(8, 16, height: 20, width: 24) }    # { image: u8[20, 24, 3] }
    /// ```
    "crop(image: t[h, w, c], y: int, x: int, height: int, width: int) fails -> t[height, width, c]",
    cost: Cost::call(5.0),
    properties: &[Property::Moves, Property::Crops],
    result: Some(result),
}

fn result(call: &Applied<'_>) -> Result<Type, String> {
    let (dtype, [height, width, channels]) = picture(call)?;
    let rows = within("rows", &height, [call.int(1), call.int(3)])?;
    let columns = within("columns", &width, [call.int(2), call.int(4)])?;
    Ok(Type::Tensor { dtype, shape: vec![rows, columns, channels] })
}

/// The extent of a part, of which `[start, len]` are known or not.
fn within(what: &str, whole: &Extent, [start, len]: [Option<i64>; 2]) -> Result<Extent, String> {
    let Some(len) = len else { return Ok(Extent::Unknown) };
    let start = start.unwrap_or(0);
    if start < 0 || len < 1 {
        return Err(format!("{len} {what} from {start} are not a part of an image"));
    }
    match whole {
        Extent::Known(whole) if start.saturating_add(len) as u64 > *whole => {
            Err(format!("{len} {what} from {start} lie outside the {whole} of the image"))
        }
        _ => Ok(Extent::Known(len as u64)),
    }
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::view(|args| {
        let image = args.tensor(0);
        let [y, x, height, width] = [1, 2, 3, 4].map(|it| args.int(it));
        let fits = |start: i64, len: i64, whole: usize| {
            start >= 0 && len > 0 && start.saturating_add(len) <= whole as i64
        };
        let shape = image.shape();
        if !fits(y, height, shape[0]) || !fits(x, width, shape[1]) {
            let part = format!("the crop of {height} x {width} pixels at row {y}, column {x}");
            let detail = format!("{part} lies outside the image of {} x {}", shape[0], shape[1]);
            return Err(Fault::new("crop-outside", detail));
        }
        Ok(image.narrowed(0, y as usize, height as usize).narrowed(1, x as usize, width as usize))
    }))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, run, typed};
    use super::*;

    fn cropped(at: [i64; 4]) -> Result<(Vec<usize>, Vec<u8>), Fault> {
        let pixels: Vec<u8> = (0..12).collect();
        let image = Value::new(&[3, 4, 1], &pixels);
        let [y, x, height, width] = at.map(Value::from);
        run(&ENTRY, &[image, y, x, height, width])
    }

    #[test]
    fn takes_rows_and_columns() {
        assert_eq!(cropped([1, 2, 2, 2]), Ok((vec![2, 2, 1], vec![6, 7, 10, 11])));
    }

    #[test]
    fn outside_is_a_fault() {
        for at in [
            [0, 0, 4, 1],
            [2, 0, 2, 1],
            [-1, 0, 1, 1],
            [0, 4, 1, 1],
            [0, 0, 0, 1],
            [i64::MAX, 0, 1, 1],
        ] {
            assert_eq!(cropped(at).map_err(|it| it.code), Err("crop-outside"), "{at:?}");
        }
    }

    #[test]
    fn parts_of_known_pictures_are_checked() {
        let found = |height, part: [i64; 4]| {
            let shape = vec![height, Extent::Named("w".into()), Extent::Known(3)];
            typed(&ENTRY, Type::Tensor { dtype: DType::U8, shape }, &part.map(Arg::Int))
        };
        assert_eq!(found(Extent::Known(9), [2, 5, 7, 4]).as_deref(), Ok("u8[7, 4, 3]"));
        assert_eq!(found(Extent::Unknown, [2, 5, 7, 4]).as_deref(), Ok("u8[7, 4, 3]"));
        assert!(found(Extent::Known(9), [3, 5, 7, 4]).is_err());
        assert!(found(Extent::Unknown, [-1, 5, 7, 4]).is_err());
    }
}
