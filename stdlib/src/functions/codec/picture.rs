//! What the picture formats share: limits, channels, orientation, memory that is used again.

use crate::prelude::*;
use runtime::Working;
use std::{cell::RefCell, fmt};

/// The longest side of a picture that is decoded, in pixels.
pub(super) const SIDE_MAX: usize = 16_384;
/// Bytes of the largest picture that is decoded.
pub(super) const BYTES_MAX: usize = 256 << 20;
/// Bytes that a decoder may take beside the picture itself, for one picture; they count as the run's
/// (`Working`).
///
/// A baseline JPEG or a PNG needs at most as much as the picture, a progressive JPEG three
/// times, a WebP twice as much.
pub(super) const WORK_BYTES_MAX: usize = 1 << 30;
/// Bytes that each thread keeps for the next picture.
const KEPT_BYTES_MAX: usize = 64 << 20;

/// Extents of a picture, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) height: usize,
    pub(super) width: usize,
}

impl Size {
    /// Bytes of such a picture with `pixel` bytes for each pixel, within the limits.
    pub(super) fn bytes(self, pixel: usize) -> Result<usize, Fault> {
        let bytes = self.height.saturating_mul(self.width).saturating_mul(pixel);
        if self.height == 0 || self.width == 0 {
            return Err(damaged(format!("an image of {self} pixels")));
        }
        if self.height.max(self.width) > SIDE_MAX || bytes > BYTES_MAX {
            let most = format!("{SIDE_MAX} pixels per side and {} MiB", BYTES_MAX >> 20);
            let detail = format!("the image has {self} pixels; the limit is {most}");
            return Err(Fault::new("image-too-large", detail));
        }
        Ok(bytes)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x {}", self.height, self.width)
    }
}

/// How a picture is to be delivered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA.
    pub(super) channels: usize,
    /// Whether the camera's orientation is undone.
    pub(super) orient: bool,
}

/// The number of channels that parameter 1 asks for, one of `allowed`.
pub(super) fn channels(args: &Args<'_>, allowed: &[usize]) -> Result<usize, Fault> {
    let found = args.int(1);
    let channels = usize::try_from(found).ok().filter(|it| allowed.contains(it));
    channels.ok_or_else(|| Fault::new("channels", refusal(found, allowed)))
}

/// The type of a decoded picture whose channels parameter 1 gives.
pub(super) fn picture_type(
    applied: &Applied<'_>,
    dtype: DType,
    allowed: &[usize],
) -> Result<Type, String> {
    let channels = match applied.int(1) {
        Some(it) if allowed.iter().any(|&one| one as i64 == it) => Extent::Known(it as u64),
        Some(it) => return Err(refusal(it, allowed)),
        None => Extent::Unknown,
    };
    Ok(Type::Tensor { dtype, shape: vec![Extent::Unknown, Extent::Unknown, channels] })
}

fn refusal(found: i64, allowed: &[usize]) -> String {
    let words: Vec<String> = allowed.iter().map(usize::to_string).collect();
    format!("`channels` must be one of {}, found {found}", words.join(", "))
}

/// The bytes are no whole picture.
pub(super) fn truncated() -> Fault {
    Fault::new("image-truncated", "the image is truncated before its last row")
}

/// The bytes are not what the format asks for.
pub(super) fn damaged(what: impl fmt::Display) -> Fault {
    Fault::new("image-damaged", format!("the image is damaged: {what}"))
}

thread_local! {
    static STAGE: RefCell<Option<(Vec<u8>, Working)>> = const { RefCell::new(None) };
}

/// Calls `work` with room that the thread uses again; what the room holds is not defined.
///
/// `work` does not call this.
pub(super) fn staged<R>(bytes: usize, work: impl FnOnce(&mut [u8]) -> R) -> R {
    STAGE.with_borrow_mut(|stage| {
        if stage.as_ref().is_none_or(|it| it.0.len() < bytes) {
            // The one that is too small goes first: it is not needed beside the other.
            *stage = None;
            *stage = Some(Working::room(bytes));
        }
        let (room, _) = stage.as_mut().expect("it was just made");
        let result = work(&mut room[..bytes]);
        if room.len() > KEPT_BYTES_MAX || !Working::may_stay(room.len()) {
            *stage = None;
        }
        result
    })
}

/// A decoded picture, not yet as it is wanted.
pub(super) struct Decoded<'a> {
    pub(super) pixels: &'a [u8],
    pub(super) size: Size,
    pub(super) channels: usize,
    pub(super) turn: Turn,
}

impl Decoded<'_> {
    /// Writes it with `channels` channels, upright.
    pub(super) fn deliver(&self, channels: usize, out: &mut Out<'_>) -> Result<(), Fault> {
        let Size { height, width } = self.turn.size(self.size);
        let room = out.tensor::<u8>(&[height, width, channels])?;
        if self.turn == Turn::UPRIGHT {
            recolour((self.pixels, self.channels), (room, channels));
        } else {
            let _working = Working::ahead_of(room.len());
            let mut pixels = vec![0; room.len()];
            recolour((self.pixels, self.channels), (&mut pixels, channels));
            self.turn.apply(&pixels, self.size, (room, channels));
        }
        Ok(())
    }
}

/// An element of a picture.
pub(super) trait Sample: Copy {
    /// Of a pixel that hides what is behind it.
    const OPAQUE: Self;
    /// How bright a colour is: ITU-R BT.601 in 16 bit fixed point, as Pillow computes it.
    fn grey(rgb: [Self; 3]) -> Self;
}

fn bt601([red, green, blue]: [u32; 3]) -> u32 {
    (19_595 * red + 38_470 * green + 7_471 * blue + 0x8000) >> 16
}

impl Sample for u8 {
    const OPAQUE: Self = u8::MAX;
    fn grey(rgb: [Self; 3]) -> Self {
        bt601(rgb.map(u32::from)) as u8
    }
}

impl Sample for u16 {
    const OPAQUE: Self = u16::MAX;
    fn grey(rgb: [Self; 3]) -> Self {
        bt601(rgb.map(u32::from)) as u16
    }
}

/// Writes pixels of one number of channels as pixels of another.
///
/// Alpha that is not wanted is dropped, and nothing is blended; alpha that is not there is opaque.
pub(super) fn recolour<T: Sample>((from, n_from): (&[T], usize), (to, n_to): (&mut [T], usize)) {
    let opaque = T::OPAQUE;
    match (n_from, n_to) {
        (1, 2) => each(from, to, |[v]| [v, opaque]),
        (1, 3) => each(from, to, |[v]| [v, v, v]),
        (1, 4) => each(from, to, |[v]| [v, v, v, opaque]),
        (2, 1) => each(from, to, |[v, _]| [v]),
        (2, 3) => each(from, to, |[v, _]| [v, v, v]),
        (2, 4) => each(from, to, |[v, a]| [v, v, v, a]),
        (3, 1) => each(from, to, |rgb| [T::grey(rgb)]),
        (3, 2) => each(from, to, |rgb| [T::grey(rgb), opaque]),
        (3, 4) => each(from, to, |[r, g, b]| [r, g, b, opaque]),
        (4, 1) => each(from, to, |[r, g, b, _]| [T::grey([r, g, b])]),
        (4, 2) => each(from, to, |[r, g, b, a]| [T::grey([r, g, b]), a]),
        (4, 3) => each(from, to, |[r, g, b, _]| [r, g, b]),
        _ => to.copy_from_slice(from),
    }
}

fn each<T: Copy, const F: usize, const N: usize>(
    from: &[T],
    to: &mut [T],
    pixel: impl Fn([T; F]) -> [T; N],
) {
    let pixels = from.as_chunks::<F>().0;
    for (to, &from) in to.as_chunks_mut::<N>().0.iter_mut().zip(pixels) {
        *to = pixel(from);
    }
}

/// How the camera was held: the orientation of the Exif standard (2.32, tag 0x0112), 1 to 8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn(u8);

impl Turn {
    /// Nothing to do.
    pub(super) const UPRIGHT: Self = Self(1);

    /// What a file says; nothing to do where it says nothing that the standard knows.
    pub(super) fn of(orientation: Option<u8>) -> Self {
        Self(orientation.filter(|it| (1..=8).contains(it)).unwrap_or(1))
    }

    /// The orientation that Exif data say, which begin with a TIFF header.
    pub(super) fn of_exif(exif: &[u8]) -> Self {
        Self::of(orientation(exif.strip_prefix(b"Exif\0\0").unwrap_or(exif)))
    }

    /// The size of the upright picture.
    pub(super) fn size(self, size: Size) -> Size {
        if self.0 < 5 { size } else { Size { height: size.width, width: size.height } }
    }

    /// Writes a picture of `size` upright.
    pub(super) fn apply(self, from: &[u8], size: Size, (to, channels): (&mut [u8], usize)) {
        match channels {
            1 => self.copy::<1>(from, size, to),
            2 => self.copy::<2>(from, size, to),
            3 => self.copy::<3>(from, size, to),
            _ => self.copy::<4>(from, size, to),
        }
    }

    fn copy<const C: usize>(self, from: &[u8], size: Size, to: &mut [u8]) {
        let from = from.as_chunks::<C>().0;
        let width = self.size(size).width;
        for (y, row) in to.as_chunks_mut::<C>().0.chunks_exact_mut(width).enumerate() {
            let (start, step) = self.row(y, size);
            for (x, to) in row.iter_mut().enumerate() {
                *to = from[start.wrapping_add_signed(step * x as isize)];
            }
        }
    }

    /// Where row `y` of the upright picture begins in one of `size`, and the way to its next pixel.
    fn row(self, y: usize, Size { height, width }: Size) -> (usize, isize) {
        let (last, down) = ((height - 1) * width, width as isize);
        match self.0 {
            2 => (y * width + width - 1, -1),
            3 => (last - y * width + width - 1, -1),
            4 => (last - y * width, 1),
            5 => (y, down),
            6 => (last + y, -down),
            7 => (last + width - 1 - y, -down),
            8 => (width - 1 - y, down),
            _ => (y * width, 1),
        }
    }
}

/// The orientation in the first directory of a TIFF header (TIFF 6.0, section 2), if it is there.
fn orientation(tiff: &[u8]) -> Option<u8> {
    const ORIENTATION: u16 = 0x0112;
    let little = tiff.starts_with(b"II*\0");
    let word = |at: usize| -> Option<u16> {
        let two = tiff.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(if little { u16::from_le_bytes(two) } else { u16::from_be_bytes(two) })
    };
    let long = |at: usize| {
        let (first, second) = (u32::from(word(at)?), u32::from(word(at + 2)?));
        Some(if little { second << 16 | first } else { first << 16 | second } as usize)
    };
    if !little && !tiff.starts_with(b"MM\0*") {
        return None;
    }
    let directory = long(4)?;
    let entries = usize::from(word(directory)?);
    let entry = (0..entries).map(|it| directory + 2 + it * 12);
    let entry =
        entry.take_while(|&it| it < tiff.len()).find(|&it| word(it) == Some(ORIENTATION))?;
    u8::try_from(word(entry + 8)?).ok()
}

/// Calls `work` with the elements of `picture` in C order.
pub(super) fn packed<R>(picture: &Tensor<'_>, work: impl FnOnce(&[u8]) -> R) -> R {
    match picture.as_bytes() {
        Some(pixels) => work(pixels),
        None => staged(picture.bytes(), |stage| {
            picture.copy_to(stage);
            work(stage)
        }),
    }
}

/// The extents of a picture that is to be encoded: sides from 1 to `side_max`.
pub(super) fn sides(picture: &Tensor<'_>, side_max: usize) -> Result<(Size, usize), Fault> {
    let shape = picture.shape();
    let size = Size { height: shape[0], width: shape[1] };
    if size.height.min(size.width) == 0 || size.height.max(size.width) > side_max {
        let detail =
            format!("cannot encode an image of {size} pixels: sides must be from 1 to {side_max}");
        return Err(Fault::new("size", detail));
    }
    Ok((size, shape[2]))
}

/// The type of an encoded picture, where the type of argument 0 says that it can be encoded.
pub(super) fn encoded_type(
    applied: &Applied<'_>,
    dtypes: &[DType],
    allowed: &[usize],
) -> Result<Type, String> {
    let bytes = Type::scalar(DType::Bytes);
    let Some(Type::Tensor { dtype, shape }) = applied.ty(0) else { return Ok(bytes) };
    if !dtypes.contains(&dtype) {
        let words: Vec<&str> = dtypes.iter().map(|it| it.name()).collect();
        return Err(format!("expected an image of {}, found {dtype}", words.join(" or ")));
    }
    match shape.last() {
        Some(Extent::Known(it)) if !allowed.iter().any(|&one| one as u64 == *it) => {
            let words: Vec<String> = allowed.iter().map(usize::to_string).collect();
            Err(format!("expected an image with {} channels, found {it}", words.join(" or ")))
        }
        _ => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Pillow's `ImageOps.exif_transpose` makes of rows `abc`, `def`.
    #[test]
    fn turns_are_those_of_the_standard() {
        let upright =
            ["abcdef", "cbafed", "fedcba", "defabc", "adbecf", "daebfc", "fcebda", "cfbead"];
        for (orientation, expected) in (1..).zip(upright) {
            let mut to = [0; 6];
            let size = Size { height: 2, width: 3 };
            Turn::of(Some(orientation)).apply(b"abcdef", size, (&mut to, 1));
            assert_eq!(String::from_utf8_lossy(&to), expected, "orientation {orientation}");
        }
    }

    #[test]
    fn exif_of_both_byte_orders_is_read() {
        let entry = |order: &[u8], bytes: [&[u8]; 3]| [order, &bytes.concat()].concat();
        let big =
            entry(b"MM\0*\0\0\0\x08", [b"\0\x01", b"\x01\x12\0\x03\0\0\0\x01", b"\0\x06\0\0"]);
        let little =
            entry(b"II*\0\x08\0\0\0", [b"\x01\0", b"\x12\x01\x03\0\x01\0\0\0", b"\x08\0\0\0"]);
        assert_eq!([&big, &little].map(|it| Turn::of_exif(it)), [Turn(6), Turn(8)]);
        for cut in 0..big.len() - 2 {
            assert_eq!(Turn::of_exif(&big[..cut]), Turn::UPRIGHT, "cut at {cut}");
        }
        assert_eq!(Turn::of_exif(b"MM\0*\xff\xff\xff\xff"), Turn::UPRIGHT);
    }

    #[test]
    fn limits_hold() {
        let code = |height, width| Size { height, width }.bytes(3).map_err(|it| it.code);
        assert_eq!(code(16_384, 5_461), Ok(16_384 * 5_461 * 3));
        assert_eq!(code(16_384, 5_462), Err("image-too-large"));
        assert_eq!(code(16_385, 1), Err("image-too-large"));
        assert_eq!(code(usize::MAX, usize::MAX), Err("image-too-large"));
        assert_eq!(code(0, 7), Err("image-damaged"));
    }

    #[test]
    fn colours_come_and_go() {
        let recoloured = |pixel: &[u8], n: usize| {
            let mut to = vec![0; n];
            recolour((pixel, pixel.len()), (&mut to, n));
            to
        };
        assert_eq!(recoloured(&[7], 4), [7, 7, 7, 255]);
        assert_eq!(recoloured(&[7, 9], 4), [7, 7, 7, 9]);
        assert_eq!(recoloured(&[200, 100, 50, 9], 2), [124, 9]);
        assert_eq!(recoloured(&[200, 100, 50, 9], 3), [200, 100, 50]);
        assert_eq!(u16::grey([u16::MAX; 3]), u16::MAX);
    }
}
