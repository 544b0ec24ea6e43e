//! What a JPEG says of itself before its first scan (ITU-T T.81, annex B).

mod scans;

use crate::error::{Error, irregular};
pub(crate) use scans::{Head, Scans};

/// What is known of a JPEG without decoding it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Pixels of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Components: 1 grey, 3 colour, 4 CMYK or the like.
    pub components: usize,
    /// Sampling factors of the first four components, horizontal and vertical; 1 to 4 each.
    pub sampling: [(u8, u8); 4],
    /// The process by which it is coded.
    pub kind: Kind,
    /// MCUs between two restart markers; 0 where there are none.
    pub restart_interval: usize,
    /// Whether the first scan holds all components.
    pub single_scan: bool,
    /// The colour transform that Adobe's marker names, where there is one.
    pub adobe_transform: Option<u8>,
    /// What the samples stand for.
    pub colour: Colour,
}

/// The process by which a JPEG is coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Sequential, Huffman, 8 bits, at most two tables of a kind.
    Baseline,
    /// Sequential, Huffman, 8 bits.
    Extended,
    /// Progressive, Huffman.
    Progressive,
    /// Arithmetic code, sequential or progressive.
    Arithmetic,
    /// Without loss (process 14).
    Lossless,
    /// Of several resolutions.
    Hierarchical,
    /// Huffman, sequential or progressive, and not 8 bits a sample.
    Deep,
}

/// What the samples of a JPEG stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Colour {
    /// One component.
    Grey,
    /// Luma and two differences.
    YCbCr,
    /// Red, green and blue as they are.
    Rgb,
    /// Four components, or another number of them.
    Other,
}

impl Header {
    /// Reads `bytes` up to the first scan.
    ///
    /// # Errors
    /// [`Error::Irregular`] where what stands there is not well formed, or ends too early.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        Ok(Parsed::read(bytes)?.header)
    }

    /// Whether [`crate::Decoder`] takes such a file.
    ///
    /// # Errors
    /// [`Error::Unsupported`], which names what is not taken.
    pub fn supported(&self) -> Result<(), Error> {
        let why = match self.kind {
            Kind::Baseline | Kind::Extended | Kind::Progressive => match self.components {
                1 | 3 if !self.single_scan && self.kind != Kind::Progressive => {
                    "its components are in several scans"
                }
                1 | 3 if !self.has_whole_ratios() => "the ratio of its sampling is not whole",
                1 | 3 if self.blocks() > BLOCKS_MAX => "its units have more than 10 blocks",
                1 | 3 => return Ok(()),
                _ => "it has neither one component nor three",
            },
            Kind::Arithmetic => "its code is arithmetic",
            Kind::Lossless => "it is coded without loss",
            Kind::Hierarchical => "it is hierarchical",
            Kind::Deep => "its samples have not 8 bits",
        };
        Err(Error::Unsupported(why))
    }

    /// Whether an [`crate::Index`] can lead into its code: the blocks of progressive files lie in many
    /// places.
    pub(crate) fn can_be_indexed(&self) -> Result<(), Error> {
        match self.kind {
            Kind::Progressive => Err(Error::Unsupported("a progressive file has no index")),
            _ => Ok(()),
        }
    }

    /// The greatest sampling factors of its components.
    pub(crate) fn sampling_max(&self) -> (u8, u8) {
        let used = &self.sampling[..self.components.min(4)];
        used.iter().fold((1, 1), |(h, v), it| (h.max(it.0), v.max(it.1)))
    }

    fn has_whole_ratios(&self) -> bool {
        let (h, v) = self.sampling_max();
        self.sampling[..self.components].iter().all(|it| h % it.0 == 0 && v % it.1 == 0)
    }

    fn blocks(&self) -> usize {
        let used = &self.sampling[..self.components];
        used.iter().map(|&(h, v)| usize::from(h) * usize::from(v)).sum()
    }
}

/// Blocks that an MCU of several components may have (B.2.3).
pub(crate) const BLOCKS_MAX: usize = 10;

/// A header, and the tables that its first scan refers to.
pub(crate) struct Parsed<'a> {
    pub(crate) header: Header,
    pub(crate) components: [Component; 4],
    quantisers: Quantisers,
    huffman: [[Option<Codes<'a>>; 4]; 2],
    /// Whether there are conditions of arithmetic coders.
    has_conditions: bool,
    /// What the first scan says.
    scan_body: &'a [u8],
    /// Where its code begins.
    pub(crate) scan_at: usize,
}

/// What a frame and its first scan say of a component.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Component {
    id: u8,
    pub(crate) quantiser: usize,
    pub(crate) dc: usize,
    pub(crate) ac: usize,
}

/// The codes of a Huffman table: how many there are of each length, and what they stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Codes<'a> {
    pub(crate) counts: &'a [u8; 16],
    pub(crate) symbols: &'a [u8],
}

const DC: usize = 0;
const AC: usize = 1;

impl<'a> Parsed<'a> {
    /// Reads `bytes` up to the first scan.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        if !bytes.starts_with(&[0xFF, 0xD8]) {
            return irregular("it does not begin as a JPEG");
        }
        let mut reader = Reader { bytes, at: 2, ..Reader::default() };
        loop {
            let marker = reader.marker()?;
            let body = reader.body()?;
            if marker == 0xDA {
                return reader.finish(body);
            }
            reader.segment(marker, body)?;
        }
    }

    /// The quantiser of a component, in zig-zag order.
    pub(crate) fn quantiser(&self, component: &Component) -> Result<&[u16; 64], Error> {
        quantiser(&self.quantisers, component)
    }

    /// The codes for the DC coefficients of a component.
    pub(crate) fn dc(&self, component: &Component) -> Result<Codes<'a>, Error> {
        self.huffman[DC][component.dc].ok_or(Error::Irregular("a Huffman table is missing"))
    }

    /// The codes for the AC coefficients of a component.
    pub(crate) fn ac(&self, component: &Component) -> Result<Codes<'a>, Error> {
        self.huffman[AC][component.ac].ok_or(Error::Irregular("a Huffman table is missing"))
    }
}

type Quantisers = [Option<[u16; 64]>; 4];

fn quantiser<'a>(all: &'a Quantisers, of: &Component) -> Result<&'a [u16; 64], Error> {
    match &all[of.quantiser] {
        Some(table) if table.contains(&0) => irregular("a quantisation table has a zero"),
        Some(table) => Ok(table),
        None => irregular("a quantisation table is missing"),
    }
}

#[derive(Default)]
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    frame: Option<Frame>,
    quantisers: Quantisers,
    huffman: [[Option<Codes<'a>>; 4]; 2],
    restart_interval: usize,
    has_jfif: bool,
    /// Whether there are conditions of arithmetic coders.
    has_conditions: bool,
    adobe_transform: Option<u8>,
}

struct Frame {
    kind: Kind,
    width: usize,
    height: usize,
    n_components: usize,
    components: [Component; 4],
    sampling: [(u8, u8); 4],
}

const CUT: Error = Error::Irregular("it is cut off");

impl<'a> Reader<'a> {
    /// The next marker. Fill bytes before it are passed over, others are not.
    fn marker(&mut self) -> Result<u8, Error> {
        if *self.bytes.get(self.at).ok_or(CUT)? != 0xFF {
            return irregular("other bytes stand before a marker");
        }
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().position(|&it| it != 0xFF).ok_or(CUT)? + 1;
        Ok(self.bytes[self.at - 1])
    }

    /// What belongs to the marker that was read, without its length.
    fn body(&mut self) -> Result<&'a [u8], Error> {
        let len = self.bytes.get(self.at..self.at + 2).ok_or(CUT)?;
        let len = usize::from(u16::from_be_bytes([len[0], len[1]]));
        let body = self.bytes.get(self.at + 2..self.at + len).ok_or(CUT)?;
        self.at += len;
        Ok(body)
    }

    fn segment(&mut self, marker: u8, body: &'a [u8]) -> Result<(), Error> {
        match marker {
            0xC4 => self.huffman_tables(body),
            0xDB => self.quantisation_tables(body),
            0xDD => match *body {
                [high, low] => {
                    self.restart_interval = usize::from(u16::from_be_bytes([high, low]));
                    Ok(())
                }
                _ => irregular("the length of a restart interval is not 2"),
            },
            0xC0..=0xC3 | 0xC5..=0xC7 | 0xC9..=0xCB | 0xCD..=0xCF => self.frame(marker, body),
            0xE0 => {
                self.has_jfif |= body.len() >= 14 && body.starts_with(b"JFIF\0");
                Ok(())
            }
            0xEE => {
                if body.len() >= 12 && body.starts_with(b"Adobe") {
                    self.adobe_transform = Some(body[11]);
                }
                Ok(())
            }
            0xCC => {
                self.has_conditions = true;
                Ok(())
            }
            // Applications' own, comments.
            0xE1..=0xEF | 0xFE => Ok(()),
            _ => irregular("a marker stands where none can be"),
        }
    }

    fn frame(&mut self, marker: u8, body: &[u8]) -> Result<(), Error> {
        let &[precision, h0, h1, w0, w1, n_components, ref specs @ ..] = body else {
            return irregular("its frame is too short");
        };
        let n_components = usize::from(n_components);
        if self.frame.is_some() || n_components == 0 || specs.len() != 3 * n_components {
            return irregular("its frame is not well formed");
        }
        let [height, width] = [[h0, h1], [w0, w1]].map(|it| usize::from(u16::from_be_bytes(it)));
        if height == 0 || width == 0 {
            return irregular("it has no extent");
        }
        let mut frame = Frame {
            kind: kind(marker, precision),
            width,
            height,
            n_components,
            components: Default::default(),
            sampling: [(1, 1); 4],
        };
        for (spec, i) in specs.chunks_exact(3).zip(0..4) {
            let (h, v) = (spec[1] >> 4, spec[1] & 15);
            if !(1..=4).contains(&h) || !(1..=4).contains(&v) || spec[2] > 3 {
                return irregular("a component of its frame cannot be");
            }
            frame.sampling[i] = (h, v);
            let quantiser = usize::from(spec[2]);
            frame.components[i] = Component { id: spec[0], quantiser, dc: 0, ac: 0 };
        }
        self.frame = Some(frame);
        Ok(())
    }

    fn quantisation_tables(&mut self, mut body: &[u8]) -> Result<(), Error> {
        while let [which, rest @ ..] = body {
            let (bytes, id) = (usize::from(which >> 4) + 1, usize::from(which & 15));
            if bytes > 2 || id > 3 || rest.len() < 64 * bytes {
                return irregular("a quantisation table is not well formed");
            }
            let (table, rest) = rest.split_at(64 * bytes);
            let value = |it: &[u8]| it.iter().fold(0, |all, &it| all << 8 | u16::from(it));
            let mut values = table.chunks_exact(bytes).map(value);
            let table = std::array::from_fn(|_| values.next().unwrap_or(1));
            self.quantisers[id] = Some(table);
            body = rest;
        }
        Ok(())
    }

    fn huffman_tables(&mut self, mut body: &'a [u8]) -> Result<(), Error> {
        while let [which, rest @ ..] = body {
            let (class, id) = (usize::from(which >> 4), usize::from(which & 15));
            let Some((counts, rest)) = rest.split_first_chunk::<16>() else {
                return irregular("a Huffman table is too short");
            };
            let n_symbols: usize = counts.iter().map(|&it| usize::from(it)).sum();
            if class > AC || id > 3 || n_symbols > 256 || rest.len() < n_symbols {
                return irregular("a Huffman table is not well formed");
            }
            let (symbols, rest) = rest.split_at(n_symbols);
            self.huffman[class][id] = Some(Codes { counts, symbols });
            body = rest;
        }
        Ok(())
    }

    fn finish(self, body: &'a [u8]) -> Result<Parsed<'a>, Error> {
        let Some(mut frame) = self.frame else {
            return irregular("a scan comes before the frame");
        };
        let (selectors, spectrum) = scan_parts(body)?;
        let n = selectors.len() / 2;
        let sequential = matches!(frame.kind, Kind::Baseline | Kind::Extended);
        if sequential && spectrum != [0, 63, 0] {
            return irregular("its scan is not a sequential one");
        }
        let single_scan = n == frame.n_components;
        if single_scan && frame.kind != Kind::Progressive {
            select(&mut frame.components, selectors)?;
        }
        let header = Header {
            width: frame.width,
            height: frame.height,
            components: frame.n_components,
            sampling: frame.sampling,
            kind: frame.kind,
            restart_interval: self.restart_interval,
            single_scan,
            adobe_transform: self.adobe_transform,
            colour: colour(&frame, self.has_jfif, self.adobe_transform),
        };
        Ok(Parsed {
            header,
            components: frame.components,
            quantisers: self.quantisers,
            huffman: self.huffman,
            has_conditions: self.has_conditions,
            scan_body: body,
            scan_at: self.at,
        })
    }
}

/// What a scan says: for each component, itself and its tables; and which of its coefficients.
fn scan_parts(body: &[u8]) -> Result<(&[u8], &[u8]), Error> {
    let Some((&n, rest)) = body.split_first() else {
        return irregular("its scan has no components");
    };
    let n = usize::from(n);
    if !(1..=4).contains(&n) || rest.len() != 2 * n + 3 {
        return irregular("its scan is not well formed");
    }
    Ok(rest.split_at(2 * n))
}

/// Gives each component the tables that the scan selects; their order is the frame's.
fn select(components: &mut [Component; 4], selectors: &[u8]) -> Result<(), Error> {
    for (component, selector) in components.iter_mut().zip(selectors.chunks_exact(2)) {
        let (dc, ac) = (selector[1] >> 4, selector[1] & 15);
        if component.id != selector[0] || dc > 3 || ac > 3 {
            return irregular("its scan selects what there is not");
        }
        (component.dc, component.ac) = (usize::from(dc), usize::from(ac));
    }
    Ok(())
}

fn kind(marker: u8, precision: u8) -> Kind {
    match marker {
        0xC9 | 0xCA => Kind::Arithmetic,
        0xC3 | 0xCB => Kind::Lossless,
        0xC5..=0xC7 | 0xCD..=0xCF => Kind::Hierarchical,
        _ if precision != 8 => Kind::Deep,
        0xC2 => Kind::Progressive,
        0xC0 => Kind::Baseline,
        _ => Kind::Extended,
    }
}

/// What the samples stand for, as libjpeg finds it out.
fn colour(frame: &Frame, has_jfif: bool, adobe_transform: Option<u8>) -> Colour {
    let ids = [0, 1, 2].map(|i| frame.components[i].id);
    match (frame.n_components, adobe_transform) {
        (1, _) => Colour::Grey,
        (3, _) if has_jfif => Colour::YCbCr,
        (3, Some(0)) => Colour::Rgb,
        (3, Some(_)) => Colour::YCbCr,
        (3, None) if ids == *b"RGB" => Colour::Rgb,
        (3, None) => Colour::YCbCr,
        _ => Colour::Other,
    }
}
