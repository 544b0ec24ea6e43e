//! The scans of a progressive JPEG, all found before one is decoded (ITU-T T.81, annex G).

use super::{AC, CUT, Codes, DC, Parsed, Reader};
use crate::error::{Error, irregular};
use std::ops::{Range, RangeInclusive};

/// Scans that a file may have; encoders make about ten.
const SCANS_MAX: usize = 100;
/// Bits by which coefficients may be made smaller at first (G.1.1.1.2).
const SHIFT_MAX: u8 = 13;

/// What a scan of a progressive JPEG says.
#[derive(Debug, Clone)]
pub(crate) struct Head<'a> {
    /// Where its code lies: up to the marker behind it.
    pub(crate) code: Range<usize>,
    /// Its components, in the order of the frame.
    components: [usize; 3],
    n_components: usize,
    /// The codes of each component; none where it has only bits.
    codes: [Option<Codes<'a>>; 3],
    /// The places of its coefficients in the zig-zag order: 0 alone, or others.
    pub(crate) band: RangeInclusive<u8>,
    /// The bits of the coefficients that are not in it yet.
    pub(crate) shift: u8,
    /// Whether it brings the first bits of its coefficients, and not one bit more.
    pub(crate) is_first: bool,
    pub(crate) restart_interval: usize,
}

impl<'a> Head<'a> {
    /// Its components.
    pub(crate) fn components(&self) -> &[usize] {
        &self.components[..self.n_components]
    }

    /// The codes of its components, which are as many or none.
    pub(crate) fn codes(&self) -> impl Iterator<Item = Codes<'a>> {
        self.codes.into_iter().flatten()
    }

    /// Whether it is one of DC coefficients.
    pub(crate) fn is_dc(&self) -> bool {
        *self.band.start() == 0
    }
}

/// The scans of a file, and what its components are multiplied by.
#[derive(Debug)]
pub(crate) struct Scans<'a> {
    pub(crate) heads: Vec<Head<'a>>,
    pub(crate) quantisers: [[u16; 64]; 3],
}

impl<'a> Scans<'a> {
    /// Reads what all scans say, behind a frame of up to three components. Together they must give
    /// each coefficient of each of them, to the last bit.
    pub(crate) fn read(bytes: &'a [u8], parsed: &Parsed<'a>) -> Result<Self, Error> {
        let mut reader = Reader {
            bytes,
            at: parsed.scan_at,
            quantisers: parsed.quantisers,
            huffman: parsed.huffman,
            restart_interval: parsed.header.restart_interval,
            has_conditions: parsed.has_conditions,
            ..Reader::default()
        };
        let n = parsed.header.components;
        let mut known = Known([[None; 64]; 3]);
        let mut scans = Self { heads: Vec::new(), quantisers: [[1; 64]; 3] };
        let mut body = Some(parsed.scan_body);
        while let Some(head) = body {
            let mut head = reader.head(head, parsed)?;
            for &component in head.components() {
                // A component has the factors that are there when it is first seen.
                if known.0[component][0].is_none() {
                    let used = &parsed.components[component];
                    scans.quantisers[component] = *super::quantiser(&reader.quantisers, used)?;
                }
            }
            known.add(&head)?;
            reader.at = code_end(bytes, reader.at).ok_or(CUT)?;
            head.code.end = reader.at;
            if scans.heads.len() == SCANS_MAX {
                return Err(Error::Unsupported("it has more than 100 scans"));
            }
            scans.heads.push(head);
            body = reader.next_scan()?;
        }
        match known.0[..n].iter().flatten().all(|it| *it == Some(0)) {
            // A Huffman table whose marker is damaged may look like them.
            true if reader.has_conditions => irregular("it has conditions of arithmetic code"),
            true => Ok(scans),
            false => irregular("its scans leave coefficients open"),
        }
    }
}

/// For each coefficient of each component, the bits that are not known of it; none if none is.
struct Known([[Option<u8>; 64]; 3]);

impl Known {
    /// Takes a scan into account; it must bring what is still missing, in order.
    fn add(&mut self, head: &Head<'_>) -> Result<(), Error> {
        let before = if head.is_first { None } else { Some(head.shift + 1) };
        for &component in head.components() {
            let known = &mut self.0[component];
            if !head.is_dc() && known[0].is_none() {
                return irregular("a scan comes before that of the means");
            }
            for place in head.band.clone() {
                let known = &mut known[usize::from(place)];
                if *known != before {
                    return irregular("a scan brings what is known, or what cannot come yet");
                }
                *known = Some(head.shift);
            }
        }
        Ok(())
    }
}

impl<'a> Reader<'a> {
    /// What the next scan says of itself, behind the segments before it; none at the end of the file.
    fn next_scan(&mut self) -> Result<Option<&'a [u8]>, Error> {
        loop {
            let marker = self.marker()?;
            if marker == 0xD9 {
                return Ok(None);
            }
            let body = self.body()?;
            match marker {
                0xDA => return Ok(Some(body)),
                0xC4 | 0xCC | 0xDB | 0xDD | 0xE0..=0xEF | 0xFE => self.segment(marker, body)?,
                _ => return irregular("a marker stands where none can be"),
            }
        }
    }

    /// A scan whose code begins here.
    fn head(&self, body: &[u8], parsed: &Parsed<'a>) -> Result<Head<'a>, Error> {
        let (selectors, spectrum) = super::scan_parts(body)?;
        let &[first, last, bits] = spectrum else {
            return irregular("its scan is not well formed");
        };
        let (before, shift) = (bits >> 4, bits & 15);
        let is_dc = first == 0;
        let is_band = if is_dc { last == 0 } else { (first..=63).contains(&last) };
        let is_step = before == 0 || before == shift + 1;
        let n_components = selectors.len() / 2;
        let is_alone = n_components == 1;
        if !is_band || !is_step || shift > SHIFT_MAX || !(is_dc || is_alone) || n_components > 3 {
            return irregular("a progressive scan is not well formed");
        }
        let is_first = before == 0;
        let (mut components, mut codes) = ([0; 3], [None; 3]);
        let known = &parsed.components[..parsed.header.components];
        for (i, selector) in selectors.chunks_exact(2).enumerate() {
            let found = known.iter().position(|it| it.id == selector[0]);
            let found = found.filter(|it| i == 0 || *it > components[i - 1]);
            components[i] = found.ok_or(Error::Irregular("its scan selects what there is not"))?;
            let (dc, ac) = (usize::from(selector[1] >> 4), usize::from(selector[1] & 15));
            if dc > 3 || ac > 3 {
                return irregular("its scan selects what there is not");
            }
            if is_first || !is_dc {
                let found = if is_dc { self.huffman[DC][dc] } else { self.huffman[AC][ac] };
                codes[i] = Some(found.ok_or(Error::Irregular("a Huffman table is missing"))?);
            }
        }
        Ok(Head {
            code: self.at..self.at,
            components,
            n_components,
            codes,
            band: first..=last,
            shift,
            is_first,
            restart_interval: self.restart_interval,
        })
    }
}

/// Where the code from `at` on ends: at a marker that is not one of restarts.
fn code_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += ones(bytes.get(at..)?)?;
        let after = at + bytes[at..].iter().position(|it| *it != 0xFF)?;
        match bytes[after] {
            0 if after == at + 1 => at = after + 1,
            0xD0..=0xD7 => at = after + 1,
            _ => return Some(at),
        }
    }
}

/// Where the first byte of all ones stands.
fn ones(bytes: &[u8]) -> Option<usize> {
    // A piece is looked at as a whole first, which takes few instructions.
    const PIECE: usize = 64;
    let without = |it: &[u8; PIECE]| !it.iter().fold(false, |found, it| found | (*it == 0xFF));
    let skipped = PIECE * bytes.as_chunks().0.iter().take_while(|it| without(it)).count();
    Some(skipped + bytes[skipped..].iter().position(|it| *it == 0xFF)?)
}
