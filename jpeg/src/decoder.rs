//! Decodes pictures, a row of MCUs at a time.

use crate::Tier;
use crate::blocks::Blocks;
use crate::entropy::{self, Run, Scan, Tables};
use crate::error::Error;
use crate::header::{BLOCKS_MAX, Colour, Header, Kind, Parsed, Scans};
use crate::index::Index;
use crate::layout::{BLOCK, Layout, Plane, Region, Scale};
use crate::making::Making;
use crate::picture::Picture;
use crate::pixels::Kernels;
use crate::progressive::Progressive;
use crate::restarts::Restarts;
use crate::rows::Rows;
use crate::source::{Room, Source};
use crate::unstuff::{self, Unstuff};
use std::marker::PhantomData;
use std::ops::Range;

/// What is wanted of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// How much smaller it is made: as libjpeg does, out of fewer coefficients of each block.
    pub scale: Scale,
    /// The part of it that is wanted, in pixels of what is made; all where there is none.
    pub region: Option<Region>,
    /// What each pixel is wanted as.
    pub channels: Channels,
    /// Pixels that the whole picture may have.
    pub pixels_max: usize,
    /// The index of the file: only the code of the region is read, and nothing else checked.
    pub index: Option<&'a Index>,
}

impl Default for Request<'_> {
    /// All of it, in RGB, of at most 2^28 pixels.
    fn default() -> Self {
        Self {
            scale: Scale::Full,
            region: None,
            channels: Channels::Rgb,
            pixels_max: 1 << 28,
            index: None,
        }
    }
}

/// What a pixel is given as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Channels {
    /// Luma: one byte.
    Gray,
    /// Red, green and blue: three bytes.
    Rgb,
}

impl Channels {
    /// Bytes of a pixel.
    pub fn count(self) -> usize {
        match self {
            Self::Gray => 1,
            Self::Rgb => 3,
        }
    }
}

/// What was decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Info {
    /// What the file says of itself.
    pub header: Header,
    /// The part of the picture that was given, in pixels of what was made.
    pub region: Region,
}

/// Where pixels are wanted: rows, `stride` bytes apart.
#[derive(Debug)]
pub struct Target<'a> {
    /// The bytes; those between the rows are left as they are.
    pub out: &'a mut [u8],
    /// Bytes from one row to the next.
    pub stride: usize,
}

impl Target<'_> {
    fn check(&self, len: usize, height: usize) -> Result<(), Error> {
        let needed = (height - 1).checked_mul(self.stride).and_then(|it| it.checked_add(len));
        if self.stride < len || needed.is_none_or(|it| it > self.out.len()) {
            return Err(Error::Request("the buffer is too small"));
        }
        Ok(())
    }
}

/// Decodes pictures, one after another, in room that is kept.
///
/// The room grows with the width of the pictures, not with their height; it is at most about
/// 16 MB, for 65 535 pixels. For a progressive picture there are 30 kB for each of its scans, of which
/// there may be 100. A thread keeps one decoder.
pub struct Decoder {
    kernels: &'static Kernels,
    unstuff: Unstuff,
    run: Run,
    tables: Box<Tables>,
    room: Room,
    blocks: Blocks,
    planes: [Rows; 3],
    progressive: Progressive,
    /// A row of pixels.
    row: Vec<u8>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Decoder").finish_non_exhaustive()
    }
}

impl Decoder {
    /// A decoder that uses all that the processor has.
    pub fn new() -> Self {
        Self::with_tier(Tier::best())
    }

    /// A decoder that uses no more than the instructions of a tier; without those that the
    /// processor lacks.
    pub fn with_tier(tier: Tier) -> Self {
        Self {
            kernels: Kernels::of(tier),
            unstuff: unstuff::of(tier),
            run: entropy::of(tier),
            tables: Tables::new(tier),
            room: Room::new(),
            blocks: Blocks::new(),
            planes: Default::default(),
            progressive: Progressive::new(tier, unstuff::of(tier)),
            row: Vec::new(),
        }
    }

    /// Decodes to `out`, whose rows are `stride` bytes apart.
    ///
    /// # Errors
    /// See [`Error`]; what `out` holds then is not said.
    pub fn decode(
        &mut self,
        bytes: &[u8],
        request: &Request<'_>,
        out: &mut [u8],
        stride: usize,
    ) -> Result<Info, Error> {
        let job = Job::new(bytes, request)?;
        let len = job.row_bytes();
        let to = Target { out, stride };
        to.check(len, job.region.height)?;
        let sink: Sink<'_> = &mut |row, make| make(&mut to.out[row * stride..][..len]);
        Ok(self.run(&job, None, sink)?.0)
    }

    /// Decodes and gives each row of the region, counted from its first, to `each`, while it is
    /// in the nearest cache.
    ///
    /// # Errors
    /// See [`Error`]; rows may have been given before.
    pub fn decode_rows(
        &mut self,
        bytes: &[u8],
        request: &Request<'_>,
        mut each: impl FnMut(usize, &[u8]),
    ) -> Result<Info, Error> {
        let job = Job::new(bytes, request)?;
        let mut pixels = std::mem::take(&mut self.row);
        pixels.resize(job.row_bytes(), 0);
        let sink: Sink<'_> = &mut |row, make| {
            make(&mut pixels);
            each(row, &pixels);
        };
        let result = self.run(&job, None, sink);
        self.row = pixels;
        Ok(result?.0)
    }

    /// As [`Self::decode`], and makes an index of the file, with an entry every `spacing` MCUs
    /// (8 is a good number). All of the file is read, whatever the region.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn decode_and_index(
        &mut self,
        bytes: &[u8],
        request: &Request<'_>,
        to: Target<'_>,
        spacing: usize,
    ) -> Result<(Info, Index), Error> {
        let mut job = Job::new(bytes, request)?;
        job.parsed.header.can_be_indexed()?;
        (job.is_read_whole, job.held) = (true, 0..job.layout.mcus.0);
        let len = job.row_bytes();
        to.check(len, job.region.height)?;
        let index = Index::begin(bytes, &job.layout, spacing)?;
        let sink: Sink<'_> = &mut |row, make| make(&mut to.out[row * to.stride..][..len]);
        let (info, index) = self.run(&job, Some(index), sink)?;
        Ok((info, index.expect("an index that was begun is given back")))
    }

    /// Makes an index of the file, with an entry every `spacing` MCUs, and no pixels.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn index(&mut self, bytes: &[u8], spacing: usize) -> Result<Index, Error> {
        let job = Job::of_code(bytes)?;
        job.parsed.header.can_be_indexed()?;
        let index = Index::begin(bytes, &job.layout, spacing)?;
        let (_, index) = self.run(&job, Some(index), &mut |_, _| {})?;
        Ok(index.expect("an index that was begun is given back"))
    }

    /// Reads the code of all blocks and makes nothing of them: a check of the whole file.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn check(&mut self, bytes: &[u8]) -> Result<Info, Error> {
        Ok(self.run(&Job::of_code(bytes)?, None, &mut |_, _| {})?.0)
    }

    fn run(
        &mut self,
        job: &Job<'_>,
        indexed: Option<Index>,
        sink: Sink<'_>,
    ) -> Result<(Info, Option<Index>), Error> {
        for (rows, plane) in self.planes.iter_mut().zip(job.layout.planes()) {
            rows.begin(plane, &job.columns);
        }
        let mut making =
            Making { job, kernels: self.kernels, planes: &mut self.planes, y: job.region.y };
        let info = Info { header: job.parsed.header, region: job.region };
        if let Some(scans) = &job.scans {
            self.progressive.read_all(scans, &mut making, &mut self.blocks, sink)?;
            return Ok((info, None));
        }
        let tables = self.tables.build(&job.parsed, job.factor_max())?;
        self.blocks.begin(&job.layout, job.held.len(), &self.tables, tables);
        let mut components = [0; BLOCKS_MAX];
        let of = components.iter_mut().zip(job.layout.blocks());
        let n = of.map(|(to, (component, ..))| *to = component).count();
        let source = Source::new(job.bytes, &mut self.room, self.unstuff, n);
        let mut picture = Picture {
            job,
            run: self.run,
            making,
            scan: Scan {
                source,
                components: &components[..n],
                quantisers: &job.quantisers,
                factor_max: job.factor_max(),
                last: [0; 3],
                tables: PhantomData,
            },
            blocks: &mut self.blocks,
            restarts: Restarts::new(job.parsed.header.restart_interval),
            indexed,
        };
        picture.read_all(sink)?;
        Ok((info, picture.indexed))
    }
}

/// Takes a row of the region: its number, and what writes it to where it is wanted.
pub(crate) type Sink<'a> = &'a mut dyn FnMut(usize, &mut dyn FnMut(&mut [u8]));

/// A file, and what is wanted of it.
pub(crate) struct Job<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) parsed: Parsed<'a>,
    pub(crate) layout: Layout,
    pub(crate) region: Region,
    pub(crate) channels: Channels,
    pub(crate) index: Option<&'a Index>,
    /// The MCUs across and down that are needed.
    pub(crate) columns: Range<usize>,
    pub(crate) rows: Range<usize>,
    /// The MCUs across that are read.
    pub(crate) held: Range<usize>,
    /// Components that are needed.
    pub(crate) n_planes: usize,
    pub(crate) quantisers: [[u16; 64]; 3],
    /// The scans of a progressive picture.
    pub(crate) scans: Option<Scans<'a>>,
    /// Whether all code is read, whatever is needed.
    pub(crate) is_read_whole: bool,
}

impl<'a> Job<'a> {
    fn new(bytes: &'a [u8], request: &Request<'a>) -> Result<Self, Error> {
        let parsed = Parsed::read(bytes)?;
        let header = parsed.header;
        header.supported()?;
        if header.width * header.height > request.pixels_max {
            return Err(Error::TooLarge("it has more pixels than are allowed"));
        }
        if request.channels == Channels::Gray && header.colour == Colour::Rgb {
            return Err(Error::Unsupported("it has no luma"));
        }
        let layout = Layout::of(&header, request.scale);
        let region = request.region.unwrap_or(layout.whole());
        region.check(layout.width, layout.height)?;
        let (columns, rows) = layout.window(&region);
        let mut quantisers = [[0; 64]; 3];
        let mut scans = None;
        if header.kind == Kind::Progressive {
            let read = Scans::read(bytes, &parsed)?;
            quantisers = read.quantisers;
            scans = Some(read);
        } else {
            for (to, component) in quantisers.iter_mut().zip(&parsed.components[..layout.n_planes])
            {
                *to = *parsed.quantiser(component)?;
            }
        }
        if let Some(index) = request.index {
            header.can_be_indexed()?;
            index.check(bytes, &layout)?;
        }
        let held = match request.index {
            None => 0..layout.mcus.0,
            Some(index) => index.read_for(&columns),
        };
        let n_planes = if request.channels == Channels::Gray { 1 } else { layout.n_planes };
        let channels = request.channels;
        let is_read_whole = false;
        Ok(Self {
            bytes,
            parsed,
            layout,
            region,
            channels,
            index: request.index,
            columns,
            rows,
            held,
            n_planes,
            quantisers,
            scans,
            is_read_whole,
        })
    }

    /// Reads all code, and makes nothing of it.
    fn of_code(bytes: &'a [u8]) -> Result<Self, Error> {
        let job = Self::new(bytes, &Request::default())?;
        Ok(Self { is_read_whole: true, n_planes: 0, rows: 0..0, columns: 0..0, ..job })
    }

    fn factor_max(&self) -> u16 {
        self.quantisers[..self.layout.n_planes].iter().flatten().copied().max().unwrap_or(1)
    }

    fn row_bytes(&self) -> usize {
        self.region.width * self.channels.count()
    }

    /// The blocks of a component that are not padding, across and down.
    pub(crate) fn blocks_of(&self, component: usize) -> (usize, usize) {
        let header = &self.parsed.header;
        let (h, v) = header.sampling[component];
        let max = header.sampling_max();
        let blocks =
            |all: usize, own, max| (all * usize::from(own)).div_ceil(BLOCK * usize::from(max));
        (blocks(header.width, h, max.0), blocks(header.height, v, max.1))
    }

    /// The blocks across, among those of the MCUs that are read, that are needed.
    pub(crate) fn held_blocks(&self, plane: &Plane) -> Range<usize> {
        let [start, end] = [self.columns.start, self.columns.end].map(|it| it - self.held.start);
        plane.h * start..plane.h * end
    }
}
