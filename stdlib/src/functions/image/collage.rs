//! `collage`: pictures side by side on one canvas.

use super::{SIDE_MAX, extents::side, fill};
use crate::{
    pixels::{Picture, picture::packed_bytes, with_room},
    prelude::*,
};
use std::cell::RefCell;

function! {
    /// Places images on a canvas of `height` x `width` pixels.
    ///
    /// `images` is a list of images of the same dtype and channels, `places` has a row for each: the row and the
    /// column of the canvas where its top left corner comes, both of which may be negative, and how many rows and
    /// columns of it are shown. What lies outside of the canvas is clipped, and later images cover earlier ones. The
    /// rest of the canvas has the level `value`, or one level for each channel. `letterbox` uses it; four images
    /// around a point are the mosaic of YOLOv4 (Bochkovskiy et al., 2020).
    ///
    /// Fails with `size` if a side is not between 1 and 65,536, or with `extents` if there are not as many places as
    /// images, or images have different channels.
    ///
    /// ```pipe
    /// range(2) |> map { image: collage([plasma(i, 4, 6), plasma(i + 1, 9, 5)], [[0, 0, 4, 6], [1, 4, 9, 5]], 8, 10, value: 114) }    # { image: u8[8, 10, 3] }
    /// ```
    "collage(images: values, places: i64[n, 4], height: int, width: int = height, value: floats = 0) fails -> any",
    // Assumed: a byte is written at the speed of memory, some of them twice.
    cost: Cost::out(200.0, 0.1),
    properties: &[Property::Gathers],
    result: Some(result),
}

fn result(call: &Applied<'_>) -> Result<Type, String> {
    let (dtype, channels, count) = images(call)?;
    if dtype.is_text() {
        return Err("`collage` expects images".into());
    }
    let places = call.ty(1).and_then(|it| it.shape()?.first().cloned());
    if let (Some(Extent::Known(places)), Some(count)) = (places, count)
        && places != count
    {
        return Err(format!("there are {count} images, but {places} places for them"));
    }
    fill::fits(call, 4, &channels)?;
    Ok(Type::Tensor { dtype, shape: vec![side(call, 2)?, side(call, 3)?, channels] })
}

/// The dtype and the channels of all images, and how many there are, where that is known.
fn images(call: &Applied<'_>) -> Result<(DType, Extent, Option<u64>), String> {
    let wrong = |ty: &Type| format!("expected images with three axes, found `{ty}`");
    let ids = match &call.args[0] {
        Arg::Exprs(ids) => ids,
        // Of `[… for …]`, which are side by side already.
        _ => {
            let ty = call.ty(0).ok_or("expected a list of images")?;
            let (Some(dtype), Some([count, _, _, channels])) = (ty.dtype(), ty.shape()) else {
                return Err(wrong(&ty));
            };
            let count = if let Extent::Known(it) = count { Some(*it) } else { None };
            return Ok((dtype, channels.clone(), count));
        }
    };
    let mut all: Option<(DType, Extent)> = None;
    for ty in ids.iter().map(|it| call.graph.ty(*it)) {
        let (Some(dtype), Some([_, _, channels])) = (ty.dtype(), ty.shape()) else {
            return Err(wrong(ty));
        };
        match &mut all {
            None => all = Some((dtype, channels.clone())),
            Some((first, _)) if *first != dtype => {
                return Err(format!(
                    "one image is `{first}`, another is `{dtype}`: cast one of them"
                ));
            }
            Some((_, Extent::Known(a))) if matches!(channels, Extent::Known(b) if a != b) => {
                return Err(format!("one image has {a} channels, another has {channels}"));
            }
            Some((_, it @ (Extent::Unknown | Extent::Named(_)))) => *it = channels.clone(),
            Some(_) => {}
        }
    }
    let (dtype, channels) = all.ok_or("a collage needs at least one image")?;
    Ok((dtype, channels, Some(ids.len() as u64)))
}

thread_local! {
    /// Pictures whose pixels lie apart.
    static ROOM: RefCell<Vec<u8>> = RefCell::default();
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let levels = fill::levels(call, 4)?;
    let is_list = matches!(call.args[0], Arg::Exprs(_));
    Ok(Kernel::compute(move |args, out| {
        let several: Vec<Tensor<'_>>;
        let images = if is_list {
            args.list(0)
        } else {
            let all = args.tensor(0);
            several = (0..all.shape()[0]).map(|it| all.element(it)).collect();
            &several
        };
        let (places, [height, width]) =
            (args.tensor(1), [args.size(2, SIDE_MAX)?, args.size(3, SIDE_MAX)?]);
        let first = fitting(images, &places)?;
        let channels = first.shape()[2];

        let shape = Shape::new(&[height, width, channels]);
        let pixel = fill::pixel(first.dtype(), &levels, channels);
        let room = out.room(first.dtype(), shape)?;
        runtime::far::fill(room, &pixel, false);
        let mut canvas = Canvas { height, width, pixel: pixel.len(), bytes: room };
        for (i, image) in images.iter().enumerate() {
            let place = places.element(i);
            let place = [0, 1, 2, 3].map(|it| place.element(it).int());
            with_room(&ROOM, image.bytes(), |copy| canvas.draw(&packed_bytes(image, copy), place));
        }
        Ok(())
    }))
}

/// The first image, if all have as many channels, and each has a place.
fn fitting<'a>(images: &[Tensor<'a>], places: &Tensor<'_>) -> Result<Tensor<'a>, Fault> {
    let count = places.shape()[0];
    if count != images.len() {
        let detail = format!("there are {} images, but {count} places for them", images.len());
        return Err(Fault::new("extents", detail));
    }
    let first = *images
        .first()
        .ok_or_else(|| Fault::new("extents", "a collage needs at least one image"))?;
    let channels = first.shape()[2];
    match images.iter().map(|it| it.shape()[2]).find(|it| *it != channels) {
        None => Ok(first),
        Some(other) => {
            let detail = format!("one image has {channels} channels, another has {other}");
            Err(Fault::new("extents", detail))
        }
    }
}

/// What is drawn on.
struct Canvas<'a> {
    height: usize,
    width: usize,
    /// Bytes of a pixel.
    pixel: usize,
    bytes: &'a mut [u8],
}

impl Canvas<'_> {
    /// Draws the first rows and columns of an image, as many as `place` says behind row and column.
    fn draw(&mut self, image: &Picture<'_, u8>, [y, x, rows, columns]: [i64; 4]) {
        let (Some(down), Some(across)) = (
            Cut::of(y, rows, image.height, self.height),
            Cut::of(x, columns, image.width, self.width),
        ) else {
            return;
        };
        for i in 0..down.len {
            let to = ((down.to + i) * self.width + across.to) * self.pixel;
            let from = &image.row(down.from + i)[across.from * self.pixel..];
            let len = across.len * self.pixel;
            self.bytes[to..to + len].copy_from_slice(&from[..len]);
        }
    }
}

/// What of an axis of an image lies on the canvas.
#[derive(Debug, PartialEq)]
struct Cut {
    /// Where it begins in the image,
    from: usize,
    /// and on the canvas.
    to: usize,
    len: usize,
}

impl Cut {
    /// Nothing where none of the first `shown` of `len` pixels lie on the canvas if they begin at `start`.
    fn of(start: i64, shown: i64, len: usize, canvas: usize) -> Option<Self> {
        let shown = usize::try_from(shown).ok()?.min(len);
        let (from, to) = match usize::try_from(start) {
            Ok(to) => (0, to),
            Err(_) => (usize::try_from(start.unsigned_abs()).ok()?, 0),
        };
        let len = shown.checked_sub(from)?.min(canvas.checked_sub(to)?);
        (len > 0).then_some(Self { from, to, len })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    fn made(
        images: &[Tensor<'_>],
        places: &[i64],
        [height, width]: [i64; 2],
    ) -> Result<Value, Fault> {
        let places = Tensor::new(&[places.len() / 4, 4], places);
        Trial::of(&ENTRY)
            .list(images)
            .value(places)
            .arg(Arg::Int(height))
            .arg(Arg::Int(width))
            .arg(Arg::Int(7))
            .run()
    }

    #[test]
    fn later_images_cover_earlier_ones() {
        let (a, b) = ([1_u8, 2, 3, 4, 5, 6], [10_u8, 20, 30, 40]);
        let images = [Tensor::new(&[2, 3, 1], &a), Tensor::new(&[2, 2, 1], &b)];
        let places = [0, 0, 2, 3, 1, 2, 2, 2];
        let expected = [1, 2, 3, 7, 4, 5, 10, 20, 7, 7, 30, 40_u8];
        assert_eq!(made(&images, &places, [3, 4]), Ok(Value::of(&[3, 4, 1], &expected)));
        // Cut off at the top left and the bottom right; of the second, one row is shown.
        let places = [-1, -2, 9, 9, 1, 1, 1, 9];
        let expected = [6, 7, 7, 10_u8];
        assert_eq!(made(&images, &places, [2, 2]), Ok(Value::of(&[2, 2, 1], &expected)));
    }

    #[test]
    fn images_may_lie_outside() {
        let image = [Tensor::new(&[1, 1, 2], &[1.5_f32, 2.5])];
        for place in [
            [2, 0, 1, 1],
            [0, -1, 1, 1],
            [0, 0, 0, 1],
            [0, 0, 1, -4],
            [i64::MIN, i64::MAX, i64::MAX, i64::MIN],
        ] {
            let found = made(&image, &place, [1, 1]);
            assert_eq!(found, Ok(Value::of(&[1, 1, 2], &[7.0_f32, 7.0])), "{place:?}");
        }
        let all = [i64::MIN + 1, 0, i64::MAX, 1];
        assert_eq!(made(&image, &all, [1, 1]), Ok(Value::of(&[1, 1, 2], &[7.0_f32, 7.0])));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let image = [Tensor::new(&[1, 1, 1], &[1_u8])];
        let trial = |places: usize| {
            let places = Tensor::new(&[places, 4], &[0_i64; 8][..places * 4]);
            Trial::of(&ENTRY)
                .list(&image)
                .value(places)
                .arg(Arg::Int(1))
                .arg(Arg::Int(1))
                .arg(Arg::Int(0))
                .refused()
        };
        assert!(trial(2).contains("1 images, but 2 places"));
        let other = [image[0], Tensor::new(&[1, 1, 2], &[1_u8, 2])];
        let refused = Trial::of(&ENTRY)
            .list(&other)
            .value(Tensor::new(&[2, 4], &[0_i64; 8]))
            .arg(Arg::Int(1))
            .arg(Arg::Int(1))
            .arg(Arg::Int(0))
            .refused();
        assert!(refused.contains("1 channels, another has 2"), "{refused}");
    }
}
