//! What a JPEG says of itself before its first scan (ITU-T T.81, annex B).

use super::super::picture::{Size, damaged, truncated};
use runtime::Fault;

/// What is known of a JPEG without decoding it.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Header {
    /// Extents in pixels, as they are stored: the orientation is not undone.
    pub(in super::super) size: Size,
    /// 1 grey, 3 colour, 4 CMYK or the like.
    pub(super) components: usize,
    /// Whether one scan of sequential Huffman code, row after row, holds the picture.
    pub(super) single_scan: bool,
    /// Whether our own decoder may take it: one such scan, or progressive Huffman code.
    pub(super) is_ours: bool,
    /// Whether the code is arithmetic, not Huffman's.
    pub(super) is_arithmetic: bool,
    /// Where the first scan begins.
    pub(super) scan_at: usize,
}

/// What comes after the first scan.
pub(super) enum Ending {
    /// All scans, and the marker of the end.
    Whole,
    /// The bytes end before it.
    Cut,
    /// A marker that cannot be there.
    Strange,
}

const START: u8 = 0xD8;
const END: u8 = 0xD9;
const SCAN: u8 = 0xDA;

impl Header {
    /// Reads `bytes` up to the first scan, and checks that such a picture can be decoded.
    pub(in super::super) fn read(bytes: &[u8]) -> Result<Self, Fault> {
        if !bytes.starts_with(&[0xFF, START, 0xFF]) {
            return Err(super::super::decode_image::unknown(bytes, "JPEG"));
        }
        let (mut at, mut frame) = (2, None);
        loop {
            let (marker, body_at) = next_marker(bytes, at).ok_or_else(truncated)?;
            at = body_at;
            if stands_alone(marker) {
                continue;
            }
            if matches!(marker, START | END) {
                return Err(damaged("it has no scan"));
            }
            let body = segment(bytes, at).ok_or_else(truncated)?;
            if marker == SCAN {
                let frame: Self =
                    frame.ok_or_else(|| damaged("unexpected scan before the frame"))?;
                let single_scan =
                    frame.single_scan && body.first() == Some(&(frame.components as u8));
                let is_ours = single_scan || frame.is_ours;
                return Ok(Self { single_scan, is_ours, scan_at: at, ..frame });
            }
            if is_frame(marker) {
                frame = Some(Self::of_frame(marker, body)?);
            }
            at += 2 + body.len();
        }
    }

    fn of_frame(marker: u8, body: &[u8]) -> Result<Self, Fault> {
        let &[precision, h0, h1, w0, w1, components, ..] = body else {
            return Err(damaged("its frame is too short"));
        };
        if let Some(form) = unsupported(marker, precision, components) {
            let detail =
                format!("the image is {form} JPEG, which is not supported; convert it first");
            return Err(Fault::new("image-unsupported", detail));
        }
        let [height, width] = [[h0, h1], [w0, w1]].map(|it| usize::from(u16::from_be_bytes(it)));
        let size = Size { height, width };
        size.bytes(usize::from(components).max(3))?;

        let single_scan = matches!(marker, 0xC0 | 0xC1) && components != 4;
        Ok(Self {
            size,
            components: usize::from(components),
            single_scan,
            is_ours: marker == 0xC2 && components != 4,
            is_arithmetic: matches!(marker, 0xC9 | 0xCA),
            scan_at: 0,
        })
    }

    /// Bytes that libjpeg works in: the planes of a sequential picture, the coefficients of one whose scans
    /// refine each other, which are 16 bits each, and what it makes of them.
    pub(super) fn work_bytes(&self) -> usize {
        let pixels = self.size.height.saturating_mul(self.size.width);
        pixels.saturating_mul(self.components).saturating_mul(if self.single_scan { 1 } else { 3 })
    }

    /// What comes after the first scan; it costs a look at each byte.
    pub(super) fn ending(&self, bytes: &[u8]) -> Ending {
        let mut at = self.scan_at;
        loop {
            let Some((marker, body_at)) = next_marker(bytes, at) else { return Ending::Cut };
            at = body_at;
            match marker {
                END => return Ending::Whole,
                _ if stands_alone(marker) => {}
                _ if self.single_scan => return Ending::Strange,
                0xC4 | 0xCC | SCAN | 0xDB | 0xDD | 0xE0..=0xEF | 0xFE => match segment(bytes, at) {
                    Some(body) => at += 2 + body.len(),
                    None => return Ending::Strange,
                },
                _ => return Ending::Strange,
            }
        }
    }
}

/// The form of a JPEG that is not read.
fn unsupported(marker: u8, precision: u8, components: u8) -> Option<String> {
    match (marker, precision, components) {
        (0xC3 | 0xCB, ..) => Some("a lossless (process 14)".into()),
        (0xC5..=0xC7 | 0xCD..=0xCF, ..) => Some("a hierarchical".into()),
        (_, 8, 1 | 3 | 4) => None,
        (_, 8, n) => Some(format!("a {n}-component")),
        (_, bits, _) => Some(format!("a {bits}-bit")),
    }
}

fn is_frame(marker: u8) -> bool {
    matches!(marker, 0xC0..=0xCF) && !matches!(marker, 0xC4 | 0xC8 | 0xCC)
}

/// Whether nothing belongs to the marker: TEM, RST0 to RST7.
fn stands_alone(marker: u8) -> bool {
    matches!(marker, 0x01 | 0xD0..=0xD7)
}

/// The first marker from `at` on, and where what belongs to it begins. Other bytes are passed over.
fn next_marker(bytes: &[u8], mut at: usize) -> Option<(u8, usize)> {
    loop {
        at += bytes.get(at..)?.iter().position(|&it| it == 0xFF)?;
        at += bytes[at..].iter().position(|&it| it != 0xFF)?;
        if bytes[at] != 0 {
            return Some((bytes[at], at + 1));
        }
    }
}

/// What belongs to the marker before `at`, without its length.
fn segment(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let len = bytes.get(at..at + 2)?;
    let len = usize::from(u16::from_be_bytes([len[0], len[1]]));
    bytes.get(at + 2..at + len)
}
