//! From a file to pixels.

use crate::alpha;
use crate::container::{File, Kind};
use crate::error::Error;
use crate::frame::{self, Room, Target};
use crate::header::Tag;
use crate::lossless;
use crate::tier::Tier;

/// A decoder, which uses its memory again for the next picture: some rows of the widest lossy one, never a
/// whole picture.
pub struct Decoder {
    tier: Tier,
    room: Room,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// A decoder with the fastest tier of the processor.
    pub fn new() -> Self {
        Self::with_tier(Tier::best())
    }

    /// A decoder with the instructions of `tier`, or without any where the processor lacks them.
    pub fn with_tier(tier: Tier) -> Self {
        Self { tier, room: Room::default() }
    }

    /// Decodes a picture to RGB; its alpha, if it has one, is dropped, but must be in order.
    ///
    /// A lossy picture is written row by row; a lossless one, and alpha, are decoded before in memory of up to
    /// eight bytes for each pixel.
    ///
    /// # Errors
    /// If the picture is damaged or animated, or `pixels` has not three bytes for each pixel. What
    /// `pixels` holds then is not defined.
    pub fn rgb(&mut self, file: &File<'_>, pixels: &mut [u8]) -> Result<(), Error> {
        read_alpha(file)?;
        self.decode(file, Target { pixels, channels: 3, alpha: None })
    }

    /// Decodes a picture to RGBA, with an alpha of 255 where it has none.
    ///
    /// # Errors
    /// As [`Decoder::rgb`], with four bytes for each pixel.
    pub fn rgba(&mut self, file: &File<'_>, pixels: &mut [u8]) -> Result<(), Error> {
        let alpha = read_alpha(file)?;
        self.decode(file, Target { pixels, channels: 4, alpha: alpha.as_deref() })
    }

    fn decode(&mut self, file: &File<'_>, to: Target<'_>) -> Result<(), Error> {
        if to.pixels.len() != file.width * file.height * to.channels {
            return Err(Error::Buffer);
        }
        match file.kind {
            Kind::Lossy => {
                let tag = Tag::read(file.picture)?;
                frame::decode((file.picture, tag), self.tier, &mut self.room, to)
            }
            Kind::Lossless => {
                let body = file.picture.get(lossless::HEADER_LEN..).ok_or(Error::Truncated)?;
                let pixels = lossless::decode(body, file.width, file.height)?;
                write(&pixels, file.has_alpha, to);
                Ok(())
            }
            Kind::Animated => Err(Error::Unsupported("an animation")),
        }
    }
}

/// The alpha of a lossy picture, if it has one.
fn read_alpha(file: &File<'_>) -> Result<Option<Vec<u8>>, Error> {
    match file.alpha {
        Some(chunk) if file.kind == Kind::Lossy && file.has_alpha => {
            alpha::decode(chunk, file.width, file.height).map(Some)
        }
        _ => Ok(None),
    }
}

/// Writes pixels of a lossless picture.
fn write(from: &[u32], has_alpha: bool, to: Target<'_>) {
    let bytes = |pixel: u32| {
        let [blue, green, red, alpha] = pixel.to_le_bytes();
        [red, green, blue, if has_alpha { alpha } else { u8::MAX }]
    };
    if to.channels == 4 {
        let (to, _) = to.pixels.as_chunks_mut::<4>();
        to.iter_mut().zip(from).for_each(|(to, &from)| *to = bytes(from));
    } else {
        for (to, &from) in to.pixels.as_chunks_mut::<3>().0.iter_mut().zip(from) {
            let [red, green, blue, _] = bytes(from);
            *to = [red, green, blue];
        }
    }
}
