//! The container: RIFF, and what its chunks say.

use crate::error::Error;
use crate::header::Tag;

/// What a picture is coded as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A key frame of VP8.
    Lossy,
    /// VP8L.
    Lossless,
    /// Several frames.
    Animated,
}

/// A WebP whose container was found good.
#[derive(Debug, Clone, Copy)]
pub struct File<'a> {
    /// Pixels of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Whether pixels have an alpha.
    pub has_alpha: bool,
    /// What the picture is coded as.
    pub kind: Kind,
    /// The Exif data, a TIFF header first, if there are any.
    pub exif: Option<&'a [u8]>,
    /// The coded picture; of an animation nothing.
    pub(crate) picture: &'a [u8],
    /// What is in the chunk `ALPH`.
    pub(crate) alpha: Option<&'a [u8]>,
}

/// The header of a chunk: its name and its length.
const CHUNK_HEADER: usize = 8;
/// Bytes before the first chunk.
const RIFF_HEADER: usize = 12;
/// The flags of the chunk `VP8X`.
const ANIMATION: u8 = 1 << 1;
const ALPHA: u8 = 1 << 4;

/// A chunk, which may go on beyond the file.
struct Chunk<'a> {
    name: [u8; 4],
    bytes: &'a [u8],
    is_whole: bool,
    rest: &'a [u8],
}

impl<'a> Chunk<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let (&[a, b, c, d, e, f, g, h], body) = bytes.split_first_chunk::<CHUNK_HEADER>()?;
        let len = u32::from_le_bytes([e, f, g, h]) as usize;
        let rest = body.get(len.saturating_add(len % 2)..).unwrap_or_default();
        let (bytes, is_whole) = body.get(..len).map_or((body, false), |it| (it, true));
        Some(Self { name: [a, b, c, d], bytes, is_whole, rest })
    }

    fn whole(&self) -> Result<&'a [u8], Error> {
        if self.is_whole { Ok(self.bytes) } else { Err(Error::Truncated) }
    }
}

impl<'a> File<'a> {
    /// Reads the container, and of the picture its extents.
    ///
    /// # Errors
    /// If `bytes` are no WebP, or end before its picture does.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        if !bytes.starts_with(b"RIFF") || bytes.get(8..12) != Some(b"WEBP") {
            return Err(Error::Damaged("the file does not begin as a WebP does"));
        }
        let len = bytes[4..].first_chunk().map_or(0, |it| u32::from_le_bytes(*it)) as usize;
        // What follows is no part of the file.
        let bytes = bytes.get(..len.saturating_add(CHUNK_HEADER)).ok_or(Error::Truncated)?;
        let chunks = bytes.get(RIFF_HEADER..).ok_or(Error::Truncated)?;
        let first = Chunk::read(chunks).ok_or(Error::Truncated)?;
        match &first.name {
            b"VP8 " => Self::lossy(first.whole()?),
            b"VP8L" => Self::lossless(first.whole()?),
            b"VP8X" => Self::extended(&first),
            _ => Err(Error::Damaged("the first chunk is of an unknown kind")),
        }
    }

    fn lossy(picture: &'a [u8]) -> Result<Self, Error> {
        let Tag { width, height, .. } = Tag::read(picture)?;
        let (has_alpha, kind) = (false, Kind::Lossy);
        Ok(Self { width, height, has_alpha, kind, exif: None, picture, alpha: None })
    }

    fn lossless(picture: &'a [u8]) -> Result<Self, Error> {
        let Some(&[signature, a, b, c, d]) = picture.first_chunk() else {
            return Err(Error::Truncated);
        };
        let bits = u32::from_le_bytes([a, b, c, d]);
        if signature != 0x2F {
            return Err(Error::Damaged("there is no signature before the picture"));
        }
        if bits >> 29 != 0 {
            return Err(Error::Damaged("the version of the picture is unknown"));
        }
        let side = |shift: u32| (bits >> shift & 0x3FFF) as usize + 1;
        let (width, height, has_alpha) = (side(0), side(14), bits >> 28 & 1 == 1);
        let kind = Kind::Lossless;
        Ok(Self { width, height, has_alpha, kind, exif: None, picture, alpha: None })
    }

    fn extended(first: &Chunk<'a>) -> Result<Self, Error> {
        let Some(&[flags, _, _, _, w0, w1, w2, h0, h1, h2]) = first.whole()?.first_chunk() else {
            return Err(Error::Damaged("the chunk of flags is too short"));
        };
        let mut file = Self {
            width: u32::from_le_bytes([w0, w1, w2, 0]) as usize + 1,
            height: u32::from_le_bytes([h0, h1, h2, 0]) as usize + 1,
            has_alpha: flags & ALPHA != 0,
            kind: Kind::Animated,
            exif: None,
            picture: &[],
            alpha: None,
        };
        let mut picture = None;
        let mut rest = first.rest;
        while let Some(chunk) = Chunk::read(rest) {
            match &chunk.name {
                b"VP8 " | b"VP8L" if picture.is_none() => {
                    let is_lossy = chunk.name == *b"VP8 ";
                    let bytes = chunk.whole()?;
                    let read = if is_lossy { Self::lossy } else { Self::lossless };
                    picture = Some(read(bytes)?);
                }
                b"ALPH" if file.alpha.is_none() => file.alpha = Some(chunk.whole()?),
                b"EXIF" if file.exif.is_none() && chunk.is_whole => file.exif = Some(chunk.bytes),
                _ => {}
            }
            rest = chunk.rest;
        }
        if flags & ANIMATION != 0 {
            return Ok(file);
        }
        let picture = picture.ok_or(Error::Damaged("there is no picture in the file"))?;
        if [picture.width, picture.height] != [file.width, file.height] {
            return Err(Error::Damaged("the picture does not have the extents of the file"));
        }
        (file.kind, file.picture) = (picture.kind, picture.picture);
        Ok(file)
    }
}
