//! `clahe`: the contrast of each part of a picture, spread.

use super::extents::picture;
use crate::{
    pixels::{clahe, packed, with_room},
    prelude::*,
};
use std::cell::RefCell;

function! {
    /// Spreads the contrast of each part of an image (CLAHE).
    ///
    /// Each of `tiles` x `tiles` parts is equalized with a contrast that is limited: no level counts more than `limit`
    /// times as much as if all levels were equally frequent. Between the middles of parts, their results are interpolated.
    /// Each channel is equalized by itself; to keep the colors of an image, equalize its lightness, as the example does.
    /// Equal to OpenCV's `CLAHE` of a single channel. Fails with `size` if `tiles` is not between 1
    /// and 64, or if `limit` is not positive.
    ///
    /// ```pipe
    /// range(2) |> map { lab: plasma(i, 40, 60) |> color_space(from: rgb, to: lab) } |> map { image: color_space(concat([clahe(lab[:, :, :1], limit: 2.0), lab[:, :, 1:]], axis: 2), from: lab, to: rgb) }    # { image: u8[40, 60, 3] }
    /// ```
    "clahe(image: u8[h, w, c], limit: float = 4.0, tiles: int = 8) fails -> u8[h, w, c]",
    // Assumed: 4 ns a level.
    cost: Cost::out(20_000.0, 4.0),
    properties: &[Property::Gathers, Property::Rounds],
    result: Some(result),
}

/// Parts of a side.
const TILES_MAX: i64 = 64;

fn result(call: &Applied<'_>) -> Result<Type, String> {
    let (dtype, shape) = picture(call)?;
    if let Some(tiles) = call.int(2) {
        checked(tiles).map_err(|it| it.detail.into_owned())?;
    }
    Ok(Type::Tensor { dtype, shape: shape.to_vec() })
}

fn checked(tiles: i64) -> Result<usize, Fault> {
    if (1..=TILES_MAX).contains(&tiles) {
        return Ok(tiles as usize);
    }
    let detail = format!("`tiles` must be from 1 to {TILES_MAX}, found {tiles}");
    Err(Fault::new("size", detail))
}

#[derive(Default)]
struct Room {
    /// Pictures whose pixels lie apart.
    copy: Vec<u8>,
    tables: clahe::Room,
}

thread_local! {
    static ROOM: RefCell<Room> = RefCell::default();
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let (image, limit, tiles) = (args.tensor(0), args.float(1), checked(args.int(2))?);
        if limit.is_nan() || limit <= 0.0 {
            let detail = format!("`limit` must be greater than 0, found {limit}");
            return Err(Fault::new("size", detail));
        }
        let to = out.tensor::<u8>(image.shape())?;
        with_room(&ROOM, image.bytes(), |room| {
            clahe::clahe(&packed(&image, &mut room.copy), (tiles, limit), &mut room.tables, to);
        });
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, noise, run};
    use super::*;

    #[test]
    fn channels_are_equalized_by_themselves() {
        let levels = noise(3, 30 * 20 * 3);
        let all = run::<u8>(
            &ENTRY,
            &[Value::new(&[30, 20, 3], &levels), Value::from(4.0), Value::from(8_i64)],
        );
        let all = all.expect("it is a picture").1;
        for channel in 0..3 {
            let one: Vec<u8> = levels.iter().skip(channel).step_by(3).copied().collect();
            let args = [Value::new(&[30, 20, 1], &one), Value::from(4.0), Value::from(8_i64)];
            let one = run::<u8>(&ENTRY, &args).expect("it is a picture").1;
            let own: Vec<u8> = all.iter().skip(channel).step_by(3).copied().collect();
            assert_eq!(own, one, "{channel}");
        }
    }

    #[test]
    fn limits_and_tiles_are_checked() {
        for (limit, tiles) in [(0.0, 8), (-1.0, 8), (f64::NAN, 8), (4.0, 0), (4.0, 65)] {
            let args =
                [Value::new(&[1, 1, 1], &[7_u8]), Value::from(limit), Value::from(tiles as i64)];
            assert_eq!(run::<u8>(&ENTRY, &args).map_err(|it| it.code), Err("size"));
        }
    }
}
