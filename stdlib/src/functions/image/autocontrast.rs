//! `autocontrast`: levels from black to white.

use super::extents::picture;
use crate::{
    pixels::{Picture, packed, table, with_room},
    prelude::*,
};
use std::cell::RefCell;

function! {
    /// Stretches the levels of each channel to the full range.
    ///
    /// The darkest level of a channel becomes 0 and the lightest 255; a channel with one level is unchanged.
    /// Bit-identical to torchvision's `autocontrast` on Pillow images.
    ///
    /// ```pipe
    /// range(2) |> map { image: autocontrast(plasma(i, 4, 6)) }    # { image: u8[4, 6, 3] }
    /// ```
    "autocontrast(image: u8[h, w, c]) -> u8[h, w, c]",
    // Assumed: 0.1 ns a level.
    cost: Cost::out(2_000.0, 0.1),
    properties: &[Property::Gathers, Property::Rounds],
    result: Some(result),
}

/// The type of a picture of one or three channels.
pub(super) fn result(call: &Applied<'_>) -> Result<Type, String> {
    match picture(call)? {
        (dtype, shape @ [.., Extent::Known(1 | 3)]) => {
            Ok(Type::Tensor { dtype, shape: shape.to_vec() })
        }
        (_, [.., found]) => Err(format!("expected an image with 1 or 3 channels, found {found}")),
    }
}

thread_local! {
    /// Pictures whose pixels lie apart.
    static ROOM: RefCell<Vec<u8>> = RefCell::default();
}

/// A kernel that changes each level of a channel as all levels of the picture say.
pub(super) fn by_channel(change: fn(&Picture<'_, u8>, &mut [u8])) -> Kernel {
    Kernel::compute(move |args, out| {
        let image = args.tensor(0);
        let to = out.tensor::<u8>(image.shape())?;
        with_room(&ROOM, image.bytes(), |room| change(&packed(&image, room), to));
        Ok(())
    })
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(by_channel(stretch))
}

/// Writes `image`, of one or three channels, with its levels stretched to `out`.
pub(super) fn stretch(image: &Picture<'_, u8>, out: &mut [u8]) {
    let tables = table::extremes(image).map(|(least, most)| {
        if most <= least {
            return table::table(|it| it);
        }
        let scale = 255.0 / f64::from(most - least);
        let offset = -f64::from(least) * scale;
        table::table(|it| (f64::from(it) * scale + offset) as u8)
    });
    table::look_up_each(image, &tables[..image.channels], out);
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, run, typed};
    use super::*;

    #[test]
    fn each_channel_is_stretched() {
        let image = Value::new(&[2, 2, 3], &[10_u8, 7, 0, 20, 7, 255, 15, 7, 99, 11, 7, 1]);
        let expected = vec![0_u8, 7, 0, 255, 7, 255, 127, 7, 99, 25, 7, 1];
        assert_eq!(run(&ENTRY, &[image]), Ok((vec![2, 2, 3], expected)));
        let nothing = Value::new::<u8>(&[0, 2, 3], &[]);
        assert_eq!(run::<u8>(&ENTRY, &[nothing]), Ok((vec![0, 2, 3], vec![])));
    }

    #[test]
    fn channels_are_one_or_three() {
        let of = |channels| Type::Tensor {
            dtype: DType::U8,
            shape: vec![Extent::Unknown, Extent::Unknown, channels],
        };
        assert!(typed(&ENTRY, of(Extent::Known(1)), &[]).is_ok());
        assert!(typed(&ENTRY, of(Extent::Known(4)), &[]).is_err());
        assert!(typed(&ENTRY, of(Extent::Unknown), &[]).is_err());
    }
}
