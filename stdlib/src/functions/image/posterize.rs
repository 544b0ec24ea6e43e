//! `posterize`: fewer levels.

use crate::{
    pixels::{packed, table, with_room},
    prelude::*,
};
use std::cell::RefCell;

function! {
    /// Keeps only the highest `bits` bits of each level.
    ///
    /// 8 changes nothing, 1 leaves the levels 0 and 128, 0 makes the image black. Bit-identical to
    /// torchvision's `posterize` on Pillow images. Fails with `size` if `bits` is not from 0 to 8.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 4, 6) |> posterize(2) }    # { image: u8[4, 6, 3] }
    /// ```
    "posterize(image: u8[h, w, c], bits: int) fails -> u8[h, w, c]",
    // Assumed: 0.05 ns a level.
    cost: Cost::out(200.0, 0.05),
    properties: &[Property::Pointwise],
    result: Some(result),
}

fn result(call: &Applied<'_>) -> Result<Type, String> {
    let (dtype, shape) = super::extents::picture(call)?;
    if let Some(bits) = call.int(1) {
        mask(bits).map_err(|it| it.detail.into_owned())?;
    }
    Ok(Type::Tensor { dtype, shape: shape.to_vec() })
}

/// The bits that stay.
pub(super) fn mask(bits: i64) -> Result<u8, Fault> {
    match bits {
        0..=8 => Ok((0xff00_u16 >> bits) as u8),
        _ => Err(Fault::new("size", format!("`bits` must be from 0 to 8, found {bits}"))),
    }
}

thread_local! {
    /// Pictures whose pixels lie apart.
    static ROOM: RefCell<Vec<u8>> = RefCell::default();
}

/// A kernel that changes each level of a picture as the other arguments say.
pub(super) fn looked_up<F: Fn(u8) -> u8>(
    change: impl Fn(&Args<'_>) -> Result<F, Fault> + Send + Sync + 'static,
) -> Kernel {
    Kernel::compute(move |args, out| {
        let image = args.tensor(0);
        let table = table::table(change(args)?);
        let to = out.tensor::<u8>(image.shape())?;
        with_room(&ROOM, image.bytes(), |room| table::look_up(&packed(&image, room), &table, to));
        Ok(())
    })
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(looked_up(|args| {
        let mask = mask(args.int(1))?;
        Ok(move |level| level & mask)
    }))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, run};
    use super::*;

    #[test]
    fn high_bits_stay() {
        let image = || Value::new(&[1, 4, 1], &[0_u8, 100, 200, 255]);
        for (bits, expected) in [
            (0_i64, [0_u8, 0, 0, 0]),
            (1, [0, 0, 128, 128]),
            (3, [0, 96, 192, 224]),
            (8, [0, 100, 200, 255]),
        ] {
            let found = run::<u8>(&ENTRY, &[image(), bits.into()]).expect("it has so many bits");
            assert_eq!(found.1, expected, "{bits}");
        }
        for bits in [-1_i64, 9] {
            let found = run::<u8>(&ENTRY, &[image(), bits.into()]);
            assert_eq!(found.map_err(|it| it.code), Err("size"), "{bits}");
        }
    }
}
