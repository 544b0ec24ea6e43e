//! A lossy picture: a key frame of VP8 (RFC 6386), row by row of macroblocks.

use crate::coefficients::{Coefficients, Edge, Filled};
use crate::colour::{LUMA_STEP, Line};
use crate::error::Error;
use crate::filter::{Edges, Plane};
use crate::header::{Filter, Header, Tag};
use crate::kernels::{self, Kernels};
use crate::modes::{DC, Macroblock, Mode};
use crate::predict::{
    self, ABOVE_PICTURE, Beside, Chroma, LEFT_OF_PICTURE, Luma, ORIGIN, STRIDE, subblock_at,
};
use crate::tier::Tier;
use crate::transform::{add_few, add_first, add_plain};

/// Rows of luma that the filter of the next row of macroblocks changes or that its pixels need,
/// rounded up to a whole number of rows of chroma; and of those as many.
const DELAY: usize = 8;
/// Samples to the left of a row, and to the right of it: what is computed at once reads so far.
const MARGIN: usize = LUMA_STEP;

/// Where the pixels of a frame go.
pub(crate) struct Target<'a> {
    /// Rows of all pixels, one after the other.
    pub(crate) pixels: &'a mut [u8],
    /// Bytes of a pixel, 3 or 4.
    pub(crate) channels: usize,
    /// The alpha of all pixels, if they have one.
    pub(crate) alpha: Option<&'a [u8]>,
}

/// What a frame is decoded in; it serves the next frame too.
#[derive(Default)]
pub(crate) struct Room {
    /// Luma and both chroma planes of a row of macroblocks, below [`DELAY`] rows of the one above.
    planes: [Vec<u8>; 3],
    /// The last rows of the macroblocks above, before they were smoothed.
    above: Vec<Above>,
    row: Vec<Macroblock>,
    modes: Vec<[Mode; 4]>,
    filled: Vec<Edge>,
    edges: Vec<Edges>,
}

/// The last row of a macroblock: luma, and both chroma planes.
#[derive(Debug, Clone, Copy, Default)]
struct Above {
    luma: [u8; 16],
    chroma: [[u8; 8]; 2],
}

/// The macroblock that is being predicted.
struct Area {
    luma: Luma,
    chroma: [Chroma; 2],
}

/// Decodes a frame.
///
/// `to` has as many pixels, and as much alpha, as the tag says.
pub(crate) fn decode(
    (frame, tag): (&[u8], Tag),
    tier: Tier,
    room: &mut Room,
    to: Target<'_>,
) -> Result<(), Error> {
    assert_eq!(to.pixels.len(), tag.width * tag.height * to.channels, "room for the picture");
    assert!(to.alpha.is_none_or(|it| it.len() == tag.width * tag.height), "alpha of all pixels");
    let header = Header::read(frame, tag)?;
    room.fit(tag);
    let mut decoding = Decoding { header, tag, room, end: 0, to };
    match tier {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the tier is available.
        Tier::Avx2 if tier.is_available() => unsafe { decoding.run_avx2() },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: SSE2 is part of x86-64.
        Tier::Sse2 => unsafe { decoding.run::<kernels::Sse2>() },
        // SAFETY: it needs nothing.
        _ => unsafe { decoding.run::<kernels::Plain>() },
    }
}

impl Room {
    fn fit(&mut self, tag: Tag) {
        let n = tag.width.div_ceil(16);
        let [luma, chroma @ ..] = &mut self.planes;
        // What is in the rows above the first one is smoothed by no filter and is part of no pixel.
        luma.resize((DELAY + 16) * stride(n, 16), 0);
        chroma.iter_mut().for_each(|it| it.resize((DELAY + 8) * stride(n, 8), 0));
        self.above.resize(n, Above::default());
        self.row.resize(n, Macroblock::default());
        self.modes.clear();
        self.modes.resize(n, [DC; 4]);
        self.filled.clear();
        self.filled.resize(n, Edge::default());
        self.edges.resize(n, Edges::default());
    }
}

/// From one row of a plane to the next, of `n` macroblocks of `side` samples.
fn stride(n: usize, side: usize) -> usize {
    n * side + 2 * MARGIN
}

struct Decoding<'a, 'b> {
    header: Header<'a>,
    tag: Tag,
    room: &'b mut Room,
    /// Rows that were written.
    end: usize,
    to: Target<'b>,
}

impl Decoding<'_, '_> {
    /// # Safety
    /// The processor has AVX2, BMI and LZCNT.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
    unsafe fn run_avx2(&mut self) -> Result<(), Error> {
        // SAFETY: the caller says that the processor has the tier.
        unsafe { self.run::<kernels::Avx2>() }
    }

    /// # Safety
    /// The processor has the tier.
    #[inline(always)]
    unsafe fn run<K: Kernels>(&mut self) -> Result<(), Error> {
        let rows = self.tag.height.div_ceil(16);
        let mut coefficients = Coefficients::new();
        for y in 0..rows {
            let Header { modes, probs, .. } = &mut self.header;
            // SAFETY: the caller says that the processor has the tier.
            unsafe { K::modes(modes, probs, &mut self.room.modes, &mut self.room.row) };
            if modes.is_wrong() {
                return Err(Error::Damaged(
                    "the modes of macroblocks are no code, or end too early",
                ));
            }
            // SAFETY: as above.
            unsafe {
                self.macroblocks::<K>(y, &mut coefficients)?;
                self.smooth::<K>(y);
                self.write::<K>(y, y + 1 == rows);
            }
            self.shift();
        }
        Ok(())
    }

    /// Decodes row `y` of macroblocks into the planes.
    ///
    /// # Safety
    /// The processor has the tier.
    #[inline(always)]
    unsafe fn macroblocks<K: Kernels>(
        &mut self,
        y: usize,
        coefficients: &mut Coefficients,
    ) -> Result<(), Error> {
        let Header { probs, factors, partitions, n_partitions, strengths, .. } = &mut self.header;
        let bits = &mut partitions[y % *n_partitions];
        let mut area = Area::at_the_left(y);
        let mut left = Edge::default();
        let n = self.room.row.len();
        for x in 0..n {
            let it = &self.room.row[x];
            let above = &mut self.room.filled[x];
            let mut has_some = false;
            if it.is_skipped {
                // The block of DC coefficients is as it was where there is none.
                let kept = if it.has_subblocks { [above[8], left[8]] } else { [0; 2] };
                (*above, left) = (Edge::default(), Edge::default());
                [above[8], left[8]] = kept;
            } else {
                let factors = &factors[usize::from(it.segment)];
                let beside = (above, &mut left);
                // SAFETY: the caller says that the processor has the tier.
                has_some = unsafe {
                    let subblocks = it.has_subblocks;
                    K::coefficients(
                        bits,
                        &probs.positions,
                        factors,
                        subblocks,
                        beside,
                        coefficients,
                    )
                };
                if bits.is_wrong() {
                    return Err(Error::Damaged("the coefficients are no code, or end too early"));
                }
            }
            let strength = strengths[usize::from(it.segment)][usize::from(it.has_subblocks)];
            self.room.edges[x] = Edges { strength, inner: has_some || it.has_subblocks };

            if x > 0 {
                area.move_right();
            }
            area.enter_above(&self.room.above, x, y);
            let beside = Beside { above: y > 0, left: x > 0 };
            area.predict::<K>(it, beside, has_some.then_some(&*coefficients));
            if has_some {
                *coefficients = Coefficients::new();
            }
            self.room.above[x] = area.last_rows();
            self.room.place(&area, x);
        }
        Ok(())
    }

    /// Smooths row `y` of macroblocks.
    ///
    /// # Safety
    /// The processor has the tier.
    #[inline(always)]
    unsafe fn smooth<K: Kernels>(&mut self, y: usize) {
        if self.header.filter == Filter::None {
            return;
        }
        let n = self.room.row.len();
        let [luma, first, second] = &mut self.room.planes;
        let plane = |samples, side| Plane { samples, stride: stride(n, side) };
        let mut planes = [plane(luma, 16), plane(first, 8), plane(second, 8)];
        let at = [16, 8].map(|side| DELAY * stride(n, side) + MARGIN);
        // SAFETY: the caller says that the processor has the tier.
        unsafe { K::smooth(self.header.filter, &mut planes, at, y == 0, &self.room.edges) };
    }

    /// Writes the pixels that are done with row `y` of macroblocks.
    ///
    /// # Safety
    /// The processor has the tier.
    #[inline(always)]
    unsafe fn write<K: Kernels>(&mut self, y: usize, is_last: bool) {
        let Tag { width, height, .. } = self.tag;
        let end = if is_last { height } else { 16 * (y + 1) - DELAY };
        let n = self.room.row.len();
        // Row 0 of the planes in the picture, as far as there is one.
        let (first, first_chroma) =
            (16 * y as isize - DELAY as isize, 8 * y as isize - DELAY as isize);
        let row_of = |row: usize| (row as isize - first) as usize;
        let row_of_chroma = |row: usize| (row as isize - first_chroma) as usize;
        let last_chroma = height.div_ceil(2) - 1;
        let row_len = width * self.to.channels;

        let (chroma_start, chroma_end) = (self.end.div_ceil(2).saturating_sub(1), end.div_ceil(2));
        let chroma_end = if is_last { chroma_end } else { chroma_end + 1 };
        for plane in &mut self.room.planes[1..] {
            for row in chroma_start..chroma_end {
                let start = row_of_chroma(row) * stride(n, 8) + MARGIN;
                let end = start + width.div_ceil(2);
                plane[start - 1] = plane[start];
                plane[end] = plane[end - 1];
            }
        }
        for row in self.end..end {
            let [luma, chroma @ ..] = &self.room.planes;
            let luma = &luma[row_of(row) * stride(n, 16)..][MARGIN..stride(n, 16)];
            let near = row / 2;
            let far = if row % 2 == 0 { near.saturating_sub(1) } else { near + 1 };
            let rows = |row: usize| {
                let at = row_of_chroma(row.min(last_chroma)) * stride(n, 8);
                [0, 1].map(|i| &chroma[i][at..][MARGIN - 1..stride(n, 8)])
            };
            let alpha = self.to.alpha.map(|it| &it[row * width..][..width]);
            let line = Line { luma, near: rows(near), far: rows(far), alpha };
            let to = &mut self.to.pixels[row * row_len..][..row_len];
            // SAFETY: the caller says that the processor has the tier.
            unsafe {
                match self.to.channels {
                    3 => K::pixels::<3>(&line, to),
                    _ => K::pixels::<4>(&line, to),
                }
            }
        }
        self.end = end;
    }

    /// Moves the last rows of the planes to their beginning.
    fn shift(&mut self) {
        let n = self.room.row.len();
        for (plane, side) in self.room.planes.iter_mut().zip([16, 8, 8]) {
            let stride = stride(n, side);
            plane.copy_within(side * stride.., 0);
        }
    }
}

impl Room {
    /// Copies a macroblock into the planes.
    #[inline(always)]
    fn place(&mut self, area: &Area, x: usize) {
        let n = self.row.len();
        let [luma, chroma @ ..] = &mut self.planes;
        let (from, _) = area.luma[STRIDE..].as_chunks::<STRIDE>();
        copy::<16>(from, &mut luma[DELAY * stride(n, 16) + MARGIN + 16 * x..], stride(n, 16));
        for (plane, area) in chroma.iter_mut().zip(&area.chroma) {
            let (from, _) = area[STRIDE..].as_chunks::<STRIDE>();
            copy::<8>(from, &mut plane[DELAY * stride(n, 8) + MARGIN + 8 * x..], stride(n, 8));
        }
    }
}

#[inline(always)]
fn copy<const SIDE: usize>(from: &[[u8; STRIDE]], to: &mut [u8], stride: usize) {
    for (from, to) in from.iter().zip(to.chunks_mut(stride)) {
        to[..SIDE].copy_from_slice(&from[ORIGIN - STRIDE..][..SIDE]);
    }
}

impl Area {
    /// Before the first macroblock of row `y`.
    #[inline(always)]
    fn at_the_left(y: usize) -> Self {
        let mut area = Area {
            luma: [LEFT_OF_PICTURE; 17 * STRIDE],
            chroma: [[LEFT_OF_PICTURE; 9 * STRIDE]; 2],
        };
        if y == 0 {
            area.luma[..STRIDE].fill(ABOVE_PICTURE);
            area.chroma.iter_mut().for_each(|it| it[..STRIDE].fill(ABOVE_PICTURE));
        }
        area
    }

    /// Makes the last column of a macroblock the one to the left of the next.
    #[inline(always)]
    fn move_right(&mut self) {
        for row in self.luma.as_chunks_mut::<STRIDE>().0 {
            row[ORIGIN - STRIDE - 1] = row[ORIGIN - STRIDE + 15];
        }
        for area in &mut self.chroma {
            for row in area.as_chunks_mut::<STRIDE>().0 {
                row[ORIGIN - STRIDE - 1] = row[ORIGIN - STRIDE + 7];
            }
        }
    }

    /// Enters what is above macroblock (x, y), and above and to the right of it.
    #[inline(always)]
    fn enter_above(&mut self, above: &[Above], x: usize, y: usize) {
        const START: usize = ORIGIN - STRIDE;
        if y > 0 {
            let it = &above[x];
            self.luma[START..START + 16].copy_from_slice(&it.luma);
            for (area, it) in self.chroma.iter_mut().zip(&it.chroma) {
                area[START..START + 8].copy_from_slice(it);
            }
        }
        let right = match (y, above.get(x + 1)) {
            (0, _) => [ABOVE_PICTURE; 4],
            (_, Some(it)) => *it.luma.first_chunk().expect("16 bytes"),
            (_, None) => [above[x].luma[15]; 4],
        };
        for row in [0, 4, 8, 12] {
            self.luma[row * STRIDE + START + 16..][..4].copy_from_slice(&right);
        }
    }

    /// Predicts a macroblock and adds its coefficients, if there are any.
    #[inline(always)]
    fn predict<K: Kernels>(
        &mut self,
        it: &Macroblock,
        beside: Beside,
        coefficients: Option<&Coefficients>,
    ) {
        let is_wild = coefficients.is_some_and(Coefficients::are_wild);
        if it.has_subblocks {
            for (n, &mode) in it.modes.iter().enumerate() {
                let at = subblock_at(n);
                predict::subblock(&mut self.luma, at, mode);
                let Some(Coefficients { values, filled }) = coefficients else { continue };
                match filled[n] {
                    Filled::Nothing => {}
                    Filled::First => add_first(values[n][0], &mut self.luma, at),
                    Filled::Few if is_wild => add_few(&values[n], &mut self.luma, at),
                    Filled::Few | Filled::More => K::add(&values[n], &mut self.luma, at),
                }
            }
        } else {
            predict::block::<16, _>(&mut self.luma, it.modes[0], beside);
        }
        for area in &mut self.chroma {
            predict::block::<8, _>(area, it.chroma, beside);
        }
        match coefficients {
            Some(coefficients) if is_wild => self.add_wild(coefficients, it.has_subblocks),
            Some(coefficients) => self.add::<K>(coefficients, it.has_subblocks),
            None => {}
        }
    }

    /// Adds the coefficients of chroma, and of luma if it was predicted as a whole.
    #[inline(always)]
    fn add<K: Kernels>(&mut self, of: &Coefficients, has_subblocks: bool) {
        let (pairs, _) = of.values.as_chunks::<2>();
        let (filled, _) = of.filled.as_chunks::<2>();
        if !has_subblocks {
            for (n, (pair, filled)) in pairs[..8].iter().zip(filled).enumerate() {
                add_pair::<K>(pair, *filled, &mut self.luma, subblock_at(2 * n));
            }
        }
        for (n, (pair, filled)) in pairs[8..].iter().zip(&filled[8..]).enumerate() {
            let at = ORIGIN + 4 * (n % 2) * STRIDE;
            add_pair::<K>(pair, *filled, &mut self.chroma[n / 2], at);
        }
    }

    /// The same where 16 bits may overflow: block by block as libwebp does it.
    #[cold]
    #[inline(never)]
    fn add_wild(&mut self, of: &Coefficients, has_subblocks: bool) {
        for n in (0..16).filter(|_| !has_subblocks) {
            let (values, at) = (&of.values[n], subblock_at(n));
            match of.filled[n] {
                Filled::Nothing => {}
                Filled::First => add_first(values[0], &mut self.luma, at),
                Filled::Few => add_few(values, &mut self.luma, at),
                Filled::More => add_plain(values, &mut self.luma, at),
            }
        }
        for (i, area) in self.chroma.iter_mut().enumerate() {
            let blocks = 16 + 4 * i..20 + 4 * i;
            let is_full = of.filled[blocks.clone()].iter().any(|it| *it > Filled::First);
            for (n, values) in of.values[blocks].iter().enumerate() {
                let at = ORIGIN + 4 * (n / 2) * STRIDE + 4 * (n % 2);
                if is_full {
                    add_plain(values, area, at);
                } else {
                    add_first(values[0], area, at);
                }
            }
        }
    }

    #[inline(always)]
    fn last_rows(&self) -> Above {
        const LUMA: usize = ORIGIN + 15 * STRIDE;
        const CHROMA: usize = ORIGIN + 7 * STRIDE;
        Above {
            luma: *self.luma[LUMA..].first_chunk().expect("the row has as many"),
            chroma: self
                .chroma
                .each_ref()
                .map(|it| *it[CHROMA..].first_chunk().expect("the row has as many")),
        }
    }
}

/// Adds two blocks side by side, as far as something is in them.
#[inline(always)]
fn add_pair<K: Kernels>(pair: &[[i16; 16]; 2], filled: [Filled; 2], area: &mut [u8], at: usize) {
    use Filled::{First, Nothing};
    let [a, b] = pair;
    match filled {
        [Nothing, Nothing] => {}
        [First, Nothing] => add_first(a[0], area, at),
        [Nothing, First] => add_first(b[0], area, at + 4),
        [First, First] => {
            add_first(a[0], area, at);
            add_first(b[0], area, at + 4);
        }
        _ => K::add_two([a, b], area, at),
    }
}
