//! `grayscale`: the grey of each pixel.

use super::extents::picture;
use crate::{
    pixels::{Picture, colour::grey, packed, with_room},
    prelude::*,
};
use std::cell::RefCell;

function! {
    /// Converts an image to grayscale, with one channel or three equal ones.
    ///
    /// `u8` images use the luma of ITU-R 601-2, bit-identical to Pillow's `convert("L")` and torchvision's
    /// `to_grayscale` on Pillow images; `f32` images use `0.2989 r + 0.587 g + 0.114 b`, as torchvision does on
    /// tensors. An image with one channel keeps its levels.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 4, 6) |> grayscale(channels: 3) }    # { image: u8[4, 6, 3] }
    /// ```
    "grayscale(image: t[h, w, c], channels: int = 1) -> t[h, w, channels]",
    // Assumed: 0.3 ns a level.
    cost: Cost { ns_byte_in: 0.3, ..Cost::call(100.0) },
    properties: &[Property::ByPixel, Property::Weighs, Property::Rounds],
    result: Some(result),
}

fn result(call: &Applied<'_>) -> Result<Type, String> {
    let (dtype, [height, width, found]) = picture(call)?;
    if !matches!(dtype, DType::U8 | DType::F32) {
        return Err(format!("`grayscale` supports `u8` and `f32`, not `{dtype}`: cast first"));
    }
    if !matches!(found, Extent::Known(1 | 3)) {
        return Err(format!("`grayscale` supports 1 or 3 channels, found {found}"));
    }
    let Some(channels @ (1 | 3)) = call.int(1) else {
        return Err("`channels` is 1 or 3".into());
    };
    Ok(Type::Tensor { dtype, shape: vec![height, width, Extent::Known(channels as u64)] })
}

thread_local! {
    /// Pictures whose pixels lie apart.
    static ROOM: RefCell<(Vec<u8>, Vec<f32>)> = RefCell::default();
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let channels = if matches!(call.args[1], Arg::Int(3)) { 3 } else { 1 };
    let deep = call.dtype(0) == Some(DType::F32);
    Ok(Kernel::compute(move |args, out| {
        let image = args.tensor(0);
        let shape = [image.shape()[0], image.shape()[1], channels];
        with_room(&ROOM, image.bytes(), |(levels, floats)| {
            if deep {
                write(&packed(&image, floats), channels, luma, out.tensor::<f32>(&shape)?);
            } else {
                write(&packed(&image, levels), channels, grey, out.tensor::<u8>(&shape)?);
            }
            Ok(())
        })
    }))
}

/// The weights of torchvision's `rgb_to_grayscale`.
fn luma([r, g, b]: [f32; 3]) -> f32 {
    r * 0.2989 + g * 0.587 + b * 0.114
}

fn write<T: runtime::Element>(
    image: &Picture<'_, T>,
    channels: usize,
    grey: impl Fn([T; 3]) -> T,
    out: &mut [T],
) {
    let row_out = image.width * channels;
    for (row, to) in image.rows().zip(out.chunks_exact_mut(row_out.max(1))) {
        match (image.channels, channels) {
            (3, 3) => {
                let (to, from) = (to.as_chunks_mut::<3>().0, row.as_chunks::<3>().0);
                to.iter_mut().zip(from).for_each(|(to, it)| *to = [grey(*it); 3]);
            }
            (3, _) => {
                to.iter_mut().zip(row.as_chunks::<3>().0).for_each(|(to, it)| *to = grey(*it));
            }
            (_, 3) => {
                to.as_chunks_mut::<3>().0.iter_mut().zip(row).for_each(|(to, it)| *to = [*it; 3]);
            }
            _ => to.copy_from_slice(row),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, run};
    use super::*;

    #[test]
    fn colours_have_their_luma() {
        // Pillow 13.0.0, Image.convert("L").
        let image = Value::new(&[1, 4, 3], &[255_u8, 0, 0, 10, 200, 30, 250, 251, 240, 1, 1, 1]);
        let one = run::<u8>(&ENTRY, &[image.clone(), Value::Known(Arg::Int(1))]);
        assert_eq!(one, Ok((vec![1, 4, 1], vec![76, 124, 249, 1])));
        let three = run::<u8>(&ENTRY, &[image, Value::Known(Arg::Int(3))]).expect("it cannot fail");
        assert_eq!(three.1, [76, 76, 76, 124, 124, 124, 249, 249, 249, 1, 1, 1]);
    }

    #[test]
    fn one_channel_is_grey_already() {
        let image = Value::new(&[1, 2, 1], &[0.25_f32, 0.5]);
        let three = run::<f32>(&ENTRY, &[image, Value::Known(Arg::Int(3))]);
        assert_eq!(three, Ok((vec![1, 2, 3], vec![0.25, 0.25, 0.25, 0.5, 0.5, 0.5])));
    }
}
