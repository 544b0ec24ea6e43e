//! What bytes are, by how they begin: a guess, and never a decoder.

use serde::Serialize;
use std::fmt;

/// What bytes look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Kind {
    /// The format, such as `JPEG`.
    pub format: &'static str,
    /// Of a picture, where its header says so: pixels, as they are stored.
    pub height: Option<u32>,
    /// See `height`.
    pub width: Option<u32>,
}

/// The formats that are known by their first bytes, the longer ones first.
const MAGIC: [(&[u8], &str); 13] = [
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"GIF8", "GIF"),
    (b"fLaC", "FLAC"),
    (b"OggS", "Ogg"),
    (b"ID3", "MP3"),
    (b"%PDF", "PDF"),
    (b"PK\x03\x04", "ZIP"),
    (b"PAR1", "Parquet"),
    (b"\x89HDF", "HDF5"),
    (b"\x93NUMPY", "NumPy"),
    (b"\x1f\x8b", "gzip"),
    (b"BM", "BMP"),
    (b"\xff\xd8\xff", "JPEG"),
];

impl Kind {
    /// What `bytes` look like; none where nothing is recognised.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        if bytes.len() >= 12 && bytes.starts_with(b"RIFF") {
            return match &bytes[8..12] {
                b"WEBP" => Some(Self::sized("WebP", webp(bytes))),
                b"WAVE" => Some(Self::sized("WAV", None)),
                _ => None,
            };
        }
        let format = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic))?.1;
        let size = match format {
            "JPEG" => jpeg(bytes),
            "PNG" => big(bytes, 20, 4).zip(big(bytes, 16, 4)),
            "GIF" => little(bytes, 8, 2).zip(little(bytes, 6, 2)),
            _ => None,
        };
        Some(Self::sized(format, size))
    }

    fn sized(format: &'static str, size: Option<(u32, u32)>) -> Self {
        Self { format, height: size.map(|it| it.0), width: size.map(|it| it.1) }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.width, self.height) {
            (Some(width), Some(height)) => write!(f, "{} {width}×{height}", self.format),
            _ => f.write_str(self.format),
        }
    }
}

/// Height and width from the frame header (ITU-T T.81, B.2.2).
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        if *bytes.get(at)? != 0xFF {
            return None;
        }
        let marker = *bytes.get(at + 1)?;
        match marker {
            0xFF => at += 1,
            // Start of frame: all of C0 to CF but the tables' C4, CC and the reserved C8.
            0xC0..=0xCF if !matches!(marker, 0xC4 | 0xC8 | 0xCC) => {
                return Some((big(bytes, at + 5, 2)?, big(bytes, at + 7, 2)?));
            }
            0x01 | 0xD0..=0xD8 => at += 2,
            0xD9 | 0xDA => return None,
            _ => at += 2 + big(bytes, at + 2, 2)? as usize,
        }
    }
}

/// Height and width of the three forms of WebP (RFC 9649, 2.5 to 2.7).
fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        b"VP8 " => Some((little(bytes, 28, 2)? & 0x3FFF, little(bytes, 26, 2)? & 0x3FFF)),
        b"VP8L" => {
            let bits = little(bytes, 21, 4)?;
            Some((((bits >> 14) & 0x3FFF) + 1, (bits & 0x3FFF) + 1))
        }
        b"VP8X" => Some((little(bytes, 27, 3)? + 1, little(bytes, 24, 3)? + 1)),
        _ => None,
    }
}

fn big(bytes: &[u8], at: usize, n: usize) -> Option<u32> {
    let all = bytes.get(at..at + n)?;
    Some(all.iter().fold(0, |number, &it| number << 8 | u32::from(it)))
}

fn little(bytes: &[u8], at: usize, n: usize) -> Option<u32> {
    let all = bytes.get(at..at + n)?;
    Some(all.iter().rev().fold(0, |number, &it| number << 8 | u32::from(it)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_say_what_they_are() {
        let shown = |bytes: &[u8]| Kind::of(bytes).map(|it| it.to_string());
        let jpeg = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc2\x00\x11\x08\x01\x77\x01\xf4\x03";
        assert_eq!(shown(jpeg).as_deref(), Some("JPEG 500×375"));
        assert_eq!(shown(&jpeg[..12]).as_deref(), Some("JPEG"));
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x20\0\0\0\x10";
        assert_eq!(shown(png).as_deref(), Some("PNG 32×16"));
        assert_eq!(shown(b"GIF89a\x02\0\x03\0").as_deref(), Some("GIF 2×3"));
        let lossless = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x01\x80\x00\x00";
        assert_eq!(shown(lossless).as_deref(), Some("WebP 2×3"));
        assert_eq!((shown(b""), shown(b"RIFFxxxxAVI ")), (None, None));
    }
}
