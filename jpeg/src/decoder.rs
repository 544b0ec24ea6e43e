//! Decodes pictures, a row of MCUs at a time.

use crate::Tier;
use crate::entropy::{self, BLOCK, ReadMcus, Scan, Step, Tables};
use crate::error::{Error, irregular};
use crate::header::{BLOCKS_MAX, Colour, Header, Parsed};
use crate::layout::{Layout, Region};
use crate::pixels::Kernels;
use crate::rows::Rows;
use crate::source::{Room, Source};
use crate::unstuff::{self, Unstuff};
use std::ops::Range;

/// What is wanted of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The part of it that is wanted; all where there is none.
    pub region: Option<Region>,
    /// What each pixel is wanted as.
    pub channels: Channels,
    /// Pixels that the whole picture may have.
    pub pixels_max: usize,
}

impl Default for Request {
    /// All of it, in RGB, of at most 2^28 pixels.
    fn default() -> Self {
        Self { region: None, channels: Channels::Rgb, pixels_max: 1 << 28 }
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
    /// The part of the picture that was given.
    pub region: Region,
}

/// Decodes pictures, one after another, in room that is kept.
///
/// The room grows with the width of the pictures, not with their height; it is at most about
/// 16 MB, for 65 535 pixels. A thread keeps one decoder.
pub struct Decoder {
    kernels: &'static Kernels,
    unstuff: Unstuff,
    read: ReadMcus,
    tables: Box<Tables>,
    room: Room,
    coefs: Vec<i16>,
    planes: [Rows; 3],
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
            read: entropy::of(tier),
            tables: Tables::new(),
            room: Room::new(),
            coefs: Vec::new(),
            planes: Default::default(),
        }
    }

    /// Decodes to `out`, whose rows are `stride` bytes apart.
    ///
    /// # Errors
    /// See [`Error`]; what `out` holds then is not said.
    pub fn decode(
        &mut self,
        bytes: &[u8],
        request: &Request,
        out: &mut [u8],
        stride: usize,
    ) -> Result<Info, Error> {
        let job = Job::new(bytes, request)?;
        let len = job.row_bytes();
        if stride < len || out.len() < (job.region.height - 1) * stride + len {
            return Err(Error::Request("the buffer is too small"));
        }
        self.run(&job, &mut |row, make| make(&mut out[row * stride..][..len]))
    }

    /// Decodes and gives each row of the region, counted from its first, to `each`, while it is
    /// in the nearest cache.
    ///
    /// # Errors
    /// See [`Error`]; rows may have been given before.
    pub fn decode_rows(
        &mut self,
        bytes: &[u8],
        request: &Request,
        mut each: impl FnMut(usize, &[u8]),
    ) -> Result<Info, Error> {
        let job = Job::new(bytes, request)?;
        let mut buffer = vec![0; job.row_bytes()];
        self.run(&job, &mut |row, make| {
            make(&mut buffer);
            each(row, &buffer);
        })
    }

    /// Reads the code of all blocks and makes nothing of them: for measurements.
    ///
    /// # Errors
    /// See [`Error`].
    #[doc(hidden)]
    pub fn read_only(&mut self, bytes: &[u8]) -> Result<Info, Error> {
        let mut job = Job::new(bytes, &Request::default())?;
        job.is_read_only = true;
        self.run(&job, &mut |_, _| {})
    }

    fn run(&mut self, job: &Job<'_>, sink: Sink<'_>) -> Result<Info, Error> {
        let tables = self.tables.build(&job.parsed)?;
        let steps = job.steps(tables);
        let unread = steps.map(|it| Step { at: 0, stride: 0, ..it });
        self.make_room(job);
        let n = job.layout.blocks().count();
        let mut source = Source::new(job.parsed_bytes, &mut self.room, self.unstuff);
        source.seek(job.parsed.scan_at, 0)?;
        let mut picture = Picture {
            job,
            read: self.read,
            kernels: self.kernels,
            scan: Scan { tables: &self.tables, steps: &steps[..n], source, last: [0; 3] },
            steps: &steps[..n],
            unread: &unread[..n],
            coefs: &mut self.coefs,
            planes: &mut self.planes,
            restarts: Restarts::new(job.parsed.header.restart_interval),
            y: job.region.y,
        };
        picture.read_all(sink)?;
        Ok(Info { header: job.parsed.header, region: job.region })
    }

    fn make_room(&mut self, job: &Job<'_>) {
        let len = job.coefs_len();
        if self.coefs.len() < len {
            self.coefs.resize(len, 0);
        }
        for (rows, plane) in self.planes.iter_mut().zip(job.layout.planes()) {
            rows.begin(plane, &job.columns);
        }
    }
}

/// Takes a row of the region: its number, and what writes it to where it is wanted.
type Sink<'a> = &'a mut dyn FnMut(usize, &mut dyn FnMut(&mut [u8]));

/// A file, and what is wanted of it.
struct Job<'a> {
    parsed_bytes: &'a [u8],
    parsed: Parsed<'a>,
    layout: Layout,
    region: Region,
    channels: Channels,
    /// The MCUs across and down that are needed.
    columns: Range<usize>,
    rows: Range<usize>,
    /// Components that are needed.
    n_planes: usize,
    quantisers: [[u16; 64]; 3],
    is_read_only: bool,
}

impl<'a> Job<'a> {
    fn new(bytes: &'a [u8], request: &Request) -> Result<Self, Error> {
        let parsed = Parsed::read(bytes)?;
        let header = parsed.header;
        header.supported()?;
        if header.width * header.height > request.pixels_max {
            return Err(Error::TooLarge("it has more pixels than are allowed"));
        }
        if request.channels == Channels::Gray && header.colour == Colour::Rgb {
            return Err(Error::Unsupported("it has no luma"));
        }
        let layout = Layout::of(&header);
        let region = request.region.unwrap_or(layout.whole());
        region.check(header.width, header.height)?;
        let (columns, rows) = layout.window(&region);
        let mut quantisers = [[0; 64]; 3];
        for (to, component) in quantisers.iter_mut().zip(&parsed.components[..layout.n_planes]) {
            *to = *parsed.quantiser(component)?;
        }
        let n_planes = if request.channels == Channels::Gray { 1 } else { layout.n_planes };
        let channels = request.channels;
        let is_read_only = false;
        Ok(Self {
            parsed_bytes: bytes,
            parsed,
            layout,
            region,
            channels,
            columns,
            rows,
            n_planes,
            quantisers,
            is_read_only,
        })
    }

    fn row_bytes(&self) -> usize {
        self.region.width * self.channels.count()
    }

    /// Coefficients of a row of blocks, and a spare one behind it.
    fn row_len(&self, h: usize) -> usize {
        BLOCK * (self.columns.len() * h + 1)
    }

    /// Where the coefficients of each plane begin. Before them is a block that is not looked
    /// at, and a spare one.
    fn coefs_at(&self) -> [usize; 4] {
        let mut at = [2 * BLOCK; 4];
        for (i, plane) in self.layout.planes().iter().enumerate() {
            at[i + 1] = at[i] + plane.v * self.row_len(plane.h);
        }
        at
    }

    fn coefs_len(&self) -> usize {
        self.coefs_at()[self.layout.n_planes]
    }

    /// What is to be done with each block of an MCU.
    fn steps(&self, tables: [(usize, usize); 3]) -> [Step; BLOCKS_MAX] {
        let mut steps = [Step::default(); BLOCKS_MAX];
        let starts = self.coefs_at();
        for (step, (component, y, x)) in steps.iter_mut().zip(self.layout.blocks()) {
            let h = self.layout.planes()[component].h;
            let (dc, ac) = tables[component];
            let (at, stride) = match component < self.n_planes {
                true => (starts[component] + y * self.row_len(h) + x * BLOCK, h * BLOCK),
                false => (0, 0),
            };
            *step = Step { component, dc, ac, at, stride };
        }
        steps
    }
}

/// A picture that is being read.
struct Picture<'a> {
    job: &'a Job<'a>,
    read: ReadMcus,
    kernels: &'static Kernels,
    scan: Scan<'a>,
    /// For MCUs that are wanted, and for others.
    steps: &'a [Step],
    unread: &'a [Step],
    coefs: &'a mut [i16],
    planes: &'a mut [Rows; 3],
    restarts: Restarts,
    /// The row that is to be given next.
    y: usize,
}

impl Picture<'_> {
    fn read_all(&mut self, sink: Sink<'_>) -> Result<(), Error> {
        let job = self.job;
        // A file that does not end as it should is read to its end, to find out what it lacks.
        let may_stop = job.parsed_bytes.ends_with(&[0xFF, 0xD9]) && !job.is_read_only;
        for row in 0..job.layout.mcus.1 {
            let wanted = job.rows.contains(&row) && self.y < job.region.rows().end;
            let columns = if wanted { job.columns.clone() } else { 0..0 };
            self.read_row(&columns)?;
            if wanted && !job.is_read_only {
                self.transform(row);
                self.give(row, sink);
            }
            if may_stop && self.y == job.region.rows().end {
                return Ok(());
            }
        }
        let marker = self.scan.source.finish()?;
        match marker_at(job.parsed_bytes, marker) {
            Some((0xD9, _)) => Ok(()),
            _ => irregular("its scan does not end with the file"),
        }
    }

    /// Reads a row of MCUs, of which `columns` are kept.
    fn read_row(&mut self, columns: &Range<usize>) -> Result<(), Error> {
        let (mut at, all) = (0, self.job.layout.mcus.0);
        while at < all {
            if self.restarts.is_due() {
                self.restart()?;
            }
            let bounds = [columns.start, columns.end, all];
            let next = bounds.into_iter().find(|&it| it > at).unwrap_or(all);
            let next = next.min(at.saturating_add(self.restarts.left()));
            let is_kept = columns.contains(&at);
            let first = if is_kept { columns.start } else { at };
            self.scan.steps = if is_kept { self.steps } else { self.unread };
            (self.read)(&mut self.scan, self.coefs, at - first..next - first)?;
            self.restarts.count(next - at);
            at = next;
        }
        Ok(())
    }

    /// Reads the restart marker that is due, and no other.
    fn restart(&mut self) -> Result<(), Error> {
        let at = self.scan.source.finish()?;
        match marker_at(self.job.parsed_bytes, at) {
            Some((marker, behind)) if marker == self.restarts.next_marker() => {
                self.scan.last = [0; 3];
                self.scan.source.seek(behind, 0)
            }
            _ => irregular("a restart marker is missing"),
        }
    }

    /// Makes samples of a row of MCUs, where they are needed.
    fn transform(&mut self, row: usize) {
        let starts = self.job.coefs_at();
        let layout = &self.job.layout;
        for i in 0..self.job.n_planes {
            let plane = &layout.planes()[i];
            let rows = &mut self.planes[i];
            let first = row * plane.v;
            rows.advance(plane, 8 * first);

            let transform = |coefs: &[i16], to: &mut [u8], stride: usize| {
                self.kernels.idct(coefs, &self.job.quantisers[i], to, stride);
            };
            let (columns, down) = layout.needed(plane, &self.job.region);
            for v in (0..plane.v).filter(|v| down.contains(&(first + v))) {
                let coefs = &self.coefs[starts[i] + v * self.job.row_len(plane.h)..];
                rows.put(v, columns.clone(), coefs, &transform);
            }
            rows.repeat_sides(plane);
        }
    }

    /// Gives the rows of the picture that can be made when a row of MCUs is there.
    fn give(&mut self, row: usize, sink: Sink<'_>) {
        let job = self.job;
        let planes = &job.layout.planes()[..job.n_planes];
        let is_last = row + 1 == job.layout.mcus.1;
        // The last row depends on the first of the next MCUs.
        let waits = planes.iter().any(|it| it.filter.is_vertical()) && !is_last;
        let end = (row + 1) * job.layout.mcu.1 - usize::from(waits);
        let columns = job.region.columns();
        while self.y < end.min(job.region.rows().end) {
            for (rows, plane) in self.planes.iter_mut().zip(planes) {
                rows.make(plane, self.y, &columns, self.kernels);
            }
            sink(self.y - job.region.y, &mut |to| self.colour(to));
            self.y += 1;
        }
    }

    /// Makes pixels of the row that was made of each plane.
    fn colour(&self, to: &mut [u8]) {
        let width = self.job.region.width;
        let [a, b, c] = &*self.planes;
        let first = &a.made()[..width];
        match (self.job.channels, self.job.parsed.header.colour) {
            (Channels::Gray, _) => to.copy_from_slice(first),
            (Channels::Rgb, Colour::Grey) => self.kernels.gray_to_rgb(first, to),
            (Channels::Rgb, colour) => {
                let (b, c) = (&b.made()[..width], &c.made()[..width]);
                match colour {
                    Colour::Rgb => self.kernels.interleave(first, b, c, to),
                    _ => self.kernels.ycc_to_rgb(first, b, c, to),
                }
            }
        }
    }
}

/// When restart markers are due.
struct Restarts {
    interval: usize,
    left: usize,
    next: u8,
}

impl Restarts {
    fn new(interval: usize) -> Self {
        Self { interval, left: interval, next: 0 }
    }

    fn is_due(&self) -> bool {
        self.interval > 0 && self.left == 0
    }

    /// MCUs before the next.
    fn left(&self) -> usize {
        if self.interval == 0 { usize::MAX } else { self.left }
    }

    fn count(&mut self, mcus: usize) {
        self.left = self.left.saturating_sub(mcus);
    }

    /// The marker that is due; the interval begins again.
    fn next_marker(&mut self) -> u8 {
        let marker = 0xD0 + self.next;
        (self.next, self.left) = ((self.next + 1) & 7, self.interval);
        marker
    }
}

/// The marker at `at`, behind fill bytes, and what follows it.
fn marker_at(bytes: &[u8], at: usize) -> Option<(u8, usize)> {
    let fill = bytes.get(at..)?.iter().take_while(|&&it| it == 0xFF).count();
    let marker = *bytes.get(at + fill)?;
    (fill > 0).then_some((marker, at + fill + 1))
}
