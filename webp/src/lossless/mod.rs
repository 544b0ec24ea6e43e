//! A lossless picture, VP8L ("Specification for WebP Lossless Bitstream").

mod prefix;
mod reader;
mod transform;

use crate::error::Error;
use prefix::Code;
use reader::Reader;
use transform::{Transform, tiles};

/// Bytes of the header: a signature, the extents, and whether alpha is used.
pub(crate) const HEADER_LEN: usize = 5;
/// Entries of the tables of all codes of a picture: more than any encoder makes, and 64 MiB.
const ENTRIES_MAX: usize = 1 << 24;
/// Values that a colour, a length or a distance can have without the cache.
const LITERALS: usize = 256;
const LENGTHS: usize = 24;
const DISTANCES: usize = 40;
/// The largest number of bits of a cache of colours.
const CACHE_BITS_MAX: u32 = 11;

/// Where pixels that are often copied lie: columns to the left and rows above.
#[rustfmt::skip]
const NEAR: [(i8, i8); 120] = [
    (0, 1),  (1, 0),  (1, 1),  (-1, 1), (0, 2),  (2, 0),  (1, 2),  (-1, 2),
    (2, 1),  (-2, 1), (2, 2),  (-2, 2), (0, 3),  (3, 0),  (1, 3),  (-1, 3),
    (3, 1),  (-3, 1), (2, 3),  (-2, 3), (3, 2),  (-3, 2), (0, 4),  (4, 0),
    (1, 4),  (-1, 4), (4, 1),  (-4, 1), (3, 3),  (-3, 3), (2, 4),  (-2, 4),
    (4, 2),  (-4, 2), (0, 5),  (3, 4),  (-3, 4), (4, 3),  (-4, 3), (5, 0),
    (1, 5),  (-1, 5), (5, 1),  (-5, 1), (2, 5),  (-2, 5), (5, 2),  (-5, 2),
    (4, 4),  (-4, 4), (3, 5),  (-3, 5), (5, 3),  (-5, 3), (0, 6),  (6, 0),
    (1, 6),  (-1, 6), (6, 1),  (-6, 1), (2, 6),  (-2, 6), (6, 2),  (-6, 2),
    (4, 5),  (-4, 5), (5, 4),  (-5, 4), (3, 6),  (-3, 6), (6, 3),  (-6, 3),
    (0, 7),  (7, 0),  (1, 7),  (-1, 7), (5, 5),  (-5, 5), (7, 1),  (-7, 1),
    (4, 6),  (-4, 6), (6, 4),  (-6, 4), (2, 7),  (-2, 7), (7, 2),  (-7, 2),
    (3, 7),  (-3, 7), (7, 3),  (-7, 3), (5, 6),  (-5, 6), (6, 5),  (-6, 5),
    (8, 0),  (4, 7),  (-4, 7), (7, 4),  (-7, 4), (8, 1),  (8, 2),  (6, 6),
    (-6, 6), (8, 3),  (5, 7),  (-5, 7), (7, 5),  (-7, 5), (8, 4),  (6, 7),
    (-6, 7), (7, 6),  (-7, 6), (8, 5),  (7, 7),  (-7, 7), (8, 6),  (8, 7),
];

/// Decodes what follows the header of a lossless picture: pixels of alpha, red, green and blue, the highest
/// byte first.
pub(crate) fn decode(bytes: &[u8], width: usize, height: usize) -> Result<Vec<u32>, Error> {
    let mut reader = Reader::new(bytes);
    let mut transforms: Vec<(Transform, usize)> = Vec::new();
    let mut coded_width = width;
    let mut seen = 0_u32;
    while reader.flag() {
        let kind = reader.number(2);
        if seen >> kind & 1 == 1 {
            return Err(Error::Damaged("a transform comes twice"));
        }
        seen |= 1 << kind;
        let before = coded_width;
        let transform = match kind {
            0 | 1 => {
                let bits = reader.number(3) + 2;
                let extents = [tiles(coded_width, bits), tiles(height, bits)];
                let tiles = image(&mut reader, extents, false)?;
                if kind == 0 {
                    Transform::Predictor { bits, tiles }
                } else {
                    Transform::Colour { bits, tiles }
                }
            }
            2 => Transform::Green,
            _ => {
                let (bits, colours) = read_palette(&mut reader)?;
                coded_width = tiles(coded_width, bits);
                Transform::Palette { bits, colours }
            }
        };
        transforms.push((transform, before));
    }
    let mut pixels = image(&mut reader, [coded_width, height], true)?;
    for (transform, width) in transforms.iter().rev() {
        transform.undo(&mut pixels, *width);
    }
    Ok(pixels)
}

/// The bits of indices that lie in a pixel, and 256 colours.
fn read_palette(reader: &mut Reader<'_>) -> Result<(u32, Vec<u32>), Error> {
    let n = reader.number(8) as usize + 1;
    let bits = match n {
        ..=2 => 3,
        3..=4 => 2,
        5..=16 => 1,
        _ => 0,
    };
    let mut colours = image(reader, [n, 1], false)?;
    for i in 1..n {
        let sums = std::array::from_fn(|at| {
            colours[i].to_le_bytes()[at].wrapping_add(colours[i - 1].to_le_bytes()[at])
        });
        colours[i] = u32::from_le_bytes(sums);
    }
    colours.resize(LITERALS, 0);
    Ok((bits, colours))
}

/// The five codes that pixels of some tiles are read with.
struct Codes {
    /// Green, lengths, and places in the cache.
    green: Code,
    red: Code,
    blue: Code,
    alpha: Code,
    distance: Code,
    /// Alpha, red and blue, where each code has a single symbol.
    others: Option<u32>,
}

impl Codes {
    fn read(reader: &mut Reader<'_>, cache: usize, room: &mut Vec<u8>) -> Result<Self, Error> {
        let green = Code::read(reader, LITERALS + LENGTHS + cache, room)?;
        let [red, blue, alpha] = [
            Code::read(reader, LITERALS, room)?,
            Code::read(reader, LITERALS, room)?,
            Code::read(reader, LITERALS, room)?,
        ];
        let distance = Code::read(reader, DISTANCES, room)?;
        let others = (|| {
            let [red, blue, alpha] = [red.only()?, blue.only()?, alpha.only()?].map(u32::from);
            Some(alpha << 24 | red << 16 | blue)
        })();
        Ok(Self { green, red, blue, alpha, distance, others })
    }

    fn entries(&self) -> usize {
        let all = [&self.green, &self.red, &self.blue, &self.alpha, &self.distance];
        all.into_iter().map(Code::entries).sum()
    }
}

/// The colours that came last, each at a place that its value says.
struct Cache {
    colours: Vec<u32>,
    shift: u32,
}

impl Cache {
    #[inline(always)]
    fn insert(&mut self, colour: u32) {
        if !self.colours.is_empty() {
            let at = colour.wrapping_mul(0x1E35_A7BD) >> self.shift;
            self.colours[at as usize] = colour;
        }
    }
}

/// Which codes the pixels of a tile are read with.
struct Groups {
    codes: Vec<Codes>,
    /// 2^`bits` pixels are the side of a tile; of one group for all pixels there are no tiles.
    bits: u32,
    tiles: Vec<u32>,
    per_row: usize,
}

impl Groups {
    #[inline(always)]
    fn of(&self, x: usize, y: usize) -> &Codes {
        if self.tiles.is_empty() {
            return &self.codes[0];
        }
        &self.codes[self.tiles[(y >> self.bits) * self.per_row + (x >> self.bits)] as usize]
    }
}

/// Reads an image that is coded with prefix codes: the picture, or what a transform needs.
fn image(
    reader: &mut Reader<'_>,
    [width, height]: [usize; 2],
    is_picture: bool,
) -> Result<Vec<u32>, Error> {
    let cache_bits = if reader.flag() { reader.number(4) } else { 0 };
    if cache_bits > CACHE_BITS_MAX {
        return Err(Error::Damaged("the cache of colours is too large"));
    }
    let cache_len = if cache_bits == 0 { 0 } else { 1 << cache_bits };
    let mut groups = Groups { codes: Vec::new(), bits: 0, tiles: Vec::new(), per_row: 0 };
    if is_picture && reader.flag() {
        groups.bits = reader.number(3) + 2;
        let extents = [width, height].map(|it| tiles(it, groups.bits));
        groups.per_row = extents[0];
        groups.tiles = image(reader, extents, false)?;
        groups.tiles.iter_mut().for_each(|it| *it = *it >> 8 & 0xFFFF);
    }
    reader.check()?;
    let n = groups.tiles.iter().max().map_or(1, |it| *it as usize + 1);
    let (mut entries, mut room) = (0, Vec::new());
    for _ in 0..n {
        let codes = Codes::read(reader, cache_len, &mut room)?;
        entries += codes.entries();
        if entries > ENTRIES_MAX {
            return Err(Error::Unsupported("a picture with so many prefix codes"));
        }
        groups.codes.push(codes);
    }
    let cache = Cache { colours: vec![0; cache_len], shift: 32 - cache_bits };
    let mut pixels = vec![0; width * height];
    read_pixels(reader, &groups, cache, width, &mut pixels)?;
    Ok(pixels)
}

fn read_pixels(
    reader: &mut Reader<'_>,
    groups: &Groups,
    mut cache: Cache,
    width: usize,
    pixels: &mut [u32],
) -> Result<(), Error> {
    let (mut at, mut x, mut y) = (0, 0, 0);
    let mut codes = groups.of(0, 0);
    let mask = if groups.tiles.is_empty() { usize::MAX } else { (1 << groups.bits) - 1 };
    while at < pixels.len() {
        if x & mask == 0 {
            codes = groups.of(x, y);
        }
        reader.fill();
        let green = usize::from(codes.green.symbol(reader));
        if green < LITERALS {
            let others = match codes.others {
                Some(others) => others,
                None => {
                    let red = u32::from(codes.red.symbol(reader));
                    let blue = u32::from(codes.blue.symbol(reader));
                    // Three codes take 45 bits at most, and 56 were ready.
                    reader.fill();
                    u32::from(codes.alpha.symbol(reader)) << 24 | red << 16 | blue
                }
            };
            let colour = others | (green as u32) << 8;
            pixels[at] = colour;
            cache.insert(colour);
            (at, x) = (at + 1, x + 1);
        } else if green < LITERALS + LENGTHS {
            let len = prefixed(reader, green - LITERALS);
            reader.fill();
            let symbol = usize::from(codes.distance.symbol(reader));
            let distance = distance(prefixed(reader, symbol), width);
            if distance > at || len > pixels.len() - at {
                reader.check()?;
                return Err(Error::Damaged("pixels are copied from outside the picture"));
            }
            copy(pixels, at, distance, len);
            pixels[at..at + len].iter().for_each(|&it| cache.insert(it));
            (at, x) = (at + len, x + len);
            if x < width && x & mask != 0 {
                codes = groups.of(x, y);
            }
        } else {
            let colour = cache.colours[green - LITERALS - LENGTHS];
            pixels[at] = colour;
            cache.insert(colour);
            (at, x) = (at + 1, x + 1);
        }
        if x >= width {
            (x, y) = (x % width, y + x / width);
            if at < pixels.len() {
                codes = groups.of(x, y);
            }
        }
        if reader.is_beyond() {
            return Err(Error::Truncated);
        }
    }
    Ok(())
}

/// A length or a distance, of which a symbol says how many bits follow.
#[inline(always)]
fn prefixed(reader: &mut Reader<'_>, symbol: usize) -> usize {
    if symbol < 4 {
        return symbol + 1;
    }
    let bits = (symbol as u32 - 2) >> 1;
    ((2 + (symbol & 1)) << bits) + reader.take(bits) as usize + 1
}

/// How many pixels before this one is the one that a coded distance means.
#[inline(always)]
fn distance(coded: usize, width: usize) -> usize {
    match NEAR.get(coded - 1) {
        Some(&(left, above)) => {
            let distance = above as isize * width as isize + left as isize;
            distance.max(1) as usize
        }
        None => coded - NEAR.len(),
    }
}

/// Copies pixels, which may be those that were just copied.
#[inline(always)]
fn copy(pixels: &mut [u32], at: usize, distance: usize, len: usize) {
    if distance >= len {
        pixels.copy_within(at - distance..at - distance + len, at);
    } else {
        for i in at..at + len {
            pixels[i] = pixels[i - distance];
        }
    }
}
