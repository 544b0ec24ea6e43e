//! The header of a frame (RFC 6386, section 9).

use crate::bits::Bits;
use crate::error::Error;
use crate::tables::{AC_FACTORS, BANDS, Bands, DC_FACTORS, NODE_UPDATES, NODES, Nodes};

/// Partitions of coefficients that a frame can have.
const PARTITIONS_MAX: usize = 8;

/// The nodes of a coefficient, by the number of neighbours that have coefficients.
pub(crate) type Nodes3 = [Nodes; 3];
/// The same at each position of a block.
pub(crate) type Positions = [Nodes3; 17];

/// What the tag of a key frame says (section 9.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// Bytes of the partition that follows.
    first_len: usize,
}

/// Bytes of the tag.
const TAG_LEN: usize = 10;

impl Tag {
    pub(crate) fn read(frame: &[u8]) -> Result<Tag, Error> {
        let Some(&[a, b, c, rest @ ..]) = frame.first_chunk::<TAG_LEN>() else {
            return Err(Error::Truncated);
        };
        let bits = u32::from_le_bytes([a, b, c, 0]);
        if bits & 1 != 0 {
            return Err(Error::Unsupported("a frame that depends on others"));
        }
        if rest[..3] != [0x9D, 0x01, 0x2A] {
            return Err(Error::Damaged("there is no start code before the frame"));
        }
        if bits >> 1 & 7 > 3 {
            return Err(Error::Damaged("the version of the frame is unknown"));
        }
        if bits >> 4 & 1 == 0 {
            return Err(Error::Unsupported("a frame that is not displayed"));
        }
        // The upper two bits of each ask for scaling, which is left to whoever shows the picture.
        let side = |at: usize| usize::from(u16::from_le_bytes([rest[at], rest[at + 1]]) & 0x3FFF);
        let tag = Tag { width: side(3), height: side(5), first_len: (bits >> 5) as usize };
        match tag.width == 0 || tag.height == 0 {
            true => Err(Error::Damaged("the frame has no pixels")),
            false => Ok(tag),
        }
    }
}

/// What the blocks of a segment are multiplied by: DC, then AC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Factors {
    pub(crate) luma: [i32; 2],
    /// Of the block that holds the DC coefficients of luma.
    pub(crate) second: [i32; 2],
    pub(crate) chroma: [i32; 2],
}

/// How strongly the edges of a macroblock are smoothed; nothing is done where `limit` is 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Strength {
    /// The most that pixels across an inner edge may differ.
    pub(crate) limit: u8,
    /// The most that neighbours on one side may differ.
    pub(crate) interior: u8,
    /// Beyond which difference there is "high edge variance".
    pub(crate) variance: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filter {
    None,
    Simple,
    Normal,
}

/// The probabilities of a frame.
pub(crate) struct Probs {
    /// Of the tree of segments, if macroblocks say which is theirs.
    pub(crate) segments: Option<[u8; 3]>,
    /// That a macroblock has coefficients, if they say so.
    pub(crate) skip: Option<u8>,
    /// By the kind of block.
    pub(crate) positions: [Positions; 4],
}

/// Everything but the macroblocks.
pub(crate) struct Header<'a> {
    pub(crate) probs: Probs,
    pub(crate) filter: Filter,
    /// By segment.
    pub(crate) factors: [Factors; 4],
    /// By segment, and whether the macroblock is predicted in subblocks.
    pub(crate) strengths: [[Strength; 2]; 4],
    /// The modes of the macroblocks.
    pub(crate) modes: Bits<'a>,
    /// The coefficients: row y of macroblocks is in partition y modulo their number.
    pub(crate) partitions: [Bits<'a>; PARTITIONS_MAX],
    pub(crate) n_partitions: usize,
}

/// What differs between the parts of a picture (section 9.3).
#[derive(Default)]
struct Segments {
    are_used: bool,
    are_absolute: bool,
    quantizers: [i32; 4],
    strengths: [i32; 4],
    map: Option<[u8; 3]>,
}

/// The loop filter (section 9.6).
struct Smoothing {
    is_simple: bool,
    level: i32,
    sharpness: i32,
    /// What is added for intra prediction, and for intra prediction in subblocks.
    deltas: Option<[i32; 2]>,
}

impl<'a> Header<'a> {
    pub(crate) fn read(frame: &'a [u8], tag: Tag) -> Result<Self, Error> {
        let body = &frame[TAG_LEN..];
        let Some((first, rest)) = body.split_at_checked(tag.first_len) else {
            return Err(Error::Truncated);
        };
        let mut bits = Bits::new(first);
        // The colour space, and whether pixels need to be clamped: they always are.
        bits.number(2);
        let segments = Segments::read(&mut bits);
        let smoothing = Smoothing::read(&mut bits);
        if bits.is_wrong() {
            return Err(Error::Damaged("the header of the frame is no code, or too short"));
        }
        let n_partitions = 1 << bits.number(2);
        let partitions = partitions(rest, n_partitions)?;
        let factors = factors(&mut bits, &segments);
        // Whether the probabilities are for this frame alone: there is no other.
        bits.flag();
        let positions = positions(&mut bits);
        let skip = bits.flag().then(|| bits.number(8) as u8);
        Ok(Self {
            probs: Probs { segments: segments.map, skip, positions },
            filter: smoothing.filter(),
            factors,
            strengths: smoothing.strengths(&segments),
            modes: bits,
            partitions,
            n_partitions,
        })
    }
}

impl Segments {
    fn read(bits: &mut Bits<'_>) -> Self {
        let mut segments = Segments { are_used: bits.flag(), ..Segments::default() };
        if !segments.are_used {
            return segments;
        }
        let has_map = bits.flag();
        if bits.flag() {
            segments.are_absolute = bits.flag();
            segments.quantizers = [(); 4].map(|()| bits.optional_signed(7));
            segments.strengths = [(); 4].map(|()| bits.optional_signed(6));
        }
        segments.map = has_map
            .then(|| [(); 3].map(|()| if bits.flag() { bits.number(8) as u8 } else { u8::MAX }));
        segments
    }

    /// What `own` of a segment makes of the value of the frame.
    fn value(&self, frame: i32, own: i32) -> i32 {
        match (self.are_used, self.are_absolute) {
            (false, _) => frame,
            (true, false) => frame + own,
            (true, true) => own,
        }
    }
}

impl Smoothing {
    fn read(bits: &mut Bits<'_>) -> Self {
        let is_simple = bits.flag();
        let level = bits.number(6) as i32;
        let sharpness = bits.number(3) as i32;
        let mut deltas = None;
        if bits.flag() {
            let mut values = [0; 8];
            if bits.flag() {
                values = values.map(|_| bits.optional_signed(6));
            }
            // Of four kinds of reference and four modes, key frames have the first alone.
            deltas = Some([values[0], values[4]]);
        }
        Self { is_simple, level, sharpness, deltas }
    }

    fn filter(&self) -> Filter {
        match (self.level, self.is_simple) {
            (0, _) => Filter::None,
            (_, true) => Filter::Simple,
            (_, false) => Filter::Normal,
        }
    }

    fn strengths(&self, segments: &Segments) -> [[Strength; 2]; 4] {
        segments.strengths.map(|own| {
            let base = segments.value(self.level, own);
            let [all, subblocks] = self.deltas.unwrap_or_default();
            [base + all, base + all + subblocks].map(|it| self.strength(it.clamp(0, 63)))
        })
    }

    /// Section 15.2.
    fn strength(&self, level: i32) -> Strength {
        if level == 0 {
            return Strength::default();
        }
        let mut interior = level;
        if self.sharpness > 0 {
            interior >>= if self.sharpness > 4 { 2 } else { 1 };
            interior = interior.min(9 - self.sharpness);
        }
        let interior = interior.max(1);
        let variance = match level {
            40.. => 2,
            15.. => 1,
            _ => 0,
        };
        Strength { limit: (2 * level + interior) as u8, interior: interior as u8, variance }
    }
}

/// The partitions behind the first one: the lengths of all but the last, then their bytes.
fn partitions(rest: &[u8], n: usize) -> Result<[Bits<'_>; PARTITIONS_MAX], Error> {
    let Some((lens, mut rest)) = rest.split_at_checked(3 * (n - 1)) else {
        return Err(Error::Truncated);
    };
    let mut partitions = [Bits::new(&[]); PARTITIONS_MAX];
    let (lens, _) = lens.as_chunks::<3>();
    for (partition, &[a, b, c]) in partitions.iter_mut().zip(lens) {
        let len = u32::from_le_bytes([a, b, c, 0]) as usize;
        let (bytes, others) = rest.split_at(len.min(rest.len()));
        *partition = Bits::new(bytes);
        rest = others;
    }
    if rest.is_empty() {
        return Err(Error::Truncated);
    }
    partitions[n - 1] = Bits::new(rest);
    Ok(partitions)
}

/// Sections 9.6 and 14.1.
fn factors(bits: &mut Bits<'_>, segments: &Segments) -> [Factors; 4] {
    let base = bits.number(7) as i32;
    let [luma_dc, second_dc, second_ac, chroma_dc, chroma_ac] =
        [(); 5].map(|()| bits.optional_signed(4));
    let of = |table: &[u16; 128], index: i32| i32::from(table[index.clamp(0, 127) as usize]);
    segments.quantizers.map(|own| {
        let q = segments.value(base, own);
        let second_ac = of(&AC_FACTORS, q + second_ac) * 155 / 100;
        Factors {
            luma: [of(&DC_FACTORS, q + luma_dc), of(&AC_FACTORS, q)],
            second: [2 * of(&DC_FACTORS, q + second_dc), second_ac.max(8)],
            chroma: [of(&DC_FACTORS, (q + chroma_dc).min(117)), of(&AC_FACTORS, q + chroma_ac)],
        }
    })
}

/// Section 13.4: the probabilities of coefficients, with those that this frame changes.
fn positions(bits: &mut Bits<'_>) -> [Positions; 4] {
    let mut bands: Bands = NODES;
    let nodes = bands.as_flattened_mut().as_flattened_mut().as_flattened_mut();
    let updates = NODE_UPDATES.as_flattened().as_flattened().as_flattened();
    for (node, &update) in nodes.iter_mut().zip(updates) {
        if bits.bool(update) {
            *node = bits.number(8) as u8;
        }
    }
    bands.map(|it| BANDS.map(|band| it[usize::from(band)]))
}
