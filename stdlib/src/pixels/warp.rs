//! Geometric maps of pictures: each pixel of the result is looked up at a place of the picture.
//!
//! A row is done in blocks: the places of a block first, then which of them have all their neighbours, then runs of
//! such pixels without another test, and the few at the border one by one. For maps by a matrix, the arithmetic is
//! Pillow's (`Geometry.c`): `f64` for what is interpolated, and 16 fractional bits for the nearest pixel.

mod filter;
mod nearest;
mod places;

pub(crate) use places::{Field, Map};

use super::{
    Picture,
    border::Border,
    tiers,
    wide::{Level, rounded},
};
use filter::{Bicubic, Bilinear, Filter, Smooth};
use places::{Block, EDGE, INNER, LEN, Limits};

/// How levels between pixels are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// The nearest pixel.
    Nearest,
    /// Linearly.
    Bilinear,
    /// By cubic convolution, with Pillow's parameter of -1.
    Bicubic,
}

/// A level that can be interpolated.
pub(crate) trait Warped: Level {
    /// As Pillow rounds: 8 bits are clipped and cut off.
    fn cut(value: f64) -> Self;
    /// The nearest level, the even one of two.
    #[inline(always)]
    fn near(value: f64) -> Self {
        Self::nearest(value)
    }
    /// Draws the pixels of a job, by the best means of this machine.
    fn draw(job: &Job<'_, Self>, out: &mut [Self]);
}

/// What is drawn: every pixel of the result, which has `width` of them in a row.
pub(crate) struct Job<'a, T> {
    pub(crate) image: &'a Picture<'a, T>,
    pub(crate) map: Map<'a>,
    pub(crate) method: Method,
    /// The levels of a pixel that lies outside of the picture.
    pub(crate) fill: &'a [T],
    pub(crate) width: usize,
}

/// Draws the nearest pixels of a picture of any dtype, whose pixels are bytes.
pub(crate) fn nearest(job: &Job<'_, u8>, out: &mut [u8]) {
    nearest::draw(job, out);
}

/// How rows of pixels of one channel are drawn.
trait Grey: Warped {
    /// Levels that are read at a time; none where each is read alone.
    const READ: usize = 0;

    /// Draws pixels all neighbours of which are there.
    #[inline(always)]
    fn inner<F: Filter>(memory: &Memory<'_, Self>, at: &At<'_>, out: &mut [Self]) {
        inner::<Self, F, 1, 1>(memory, at, out);
    }
}

impl Grey for u16 {}
impl Grey for f32 {}

impl Grey for u8 {
    const READ: usize = 4;

    /// Reads four levels of each row for all pixels first. Then the same is done to each pixel, for as many of them at a
    /// time as the processor can.
    #[inline(always)]
    fn inner<F: Filter>(memory: &Memory<'_, Self>, at: &At<'_>, out: &mut [Self]) {
        let (offsets, right, down) = *at;
        let mut rows = [[0_u32; LEN]; 4];
        for (i, offset) in offsets.iter().enumerate() {
            for (row, to) in rows[..=F::BEFORE + F::AFTER].iter_mut().enumerate() {
                let at = *offset as isize + row as isize * memory.stride;
                debug_assert!(at >= 0 && at as usize + Self::READ <= memory.values.len());
                // SAFETY: `Limits::inner` lets only pixels through whose neighbours lie in the picture, and so many more
                // that there are `READ` in a row.
                let four = unsafe { memory.values.as_ptr().offset(at).cast::<[u8; 4]>().read() };
                to[i] = u32::from_le_bytes(four);
            }
        }
        let n = out.len();
        let (rows, right, down) = (rows.each_ref().map(|it| &it[..n]), &right[..n], &down[..n]);
        for (i, to) in out.iter_mut().enumerate() {
            let taps = F::taps(|row, column| (rows[row][i] >> (8 * column)) & 0xff);
            *to = F::level(F::blend(&taps, |it| f64::from(it as i32), right[i], down[i]));
        }
    }
}

tiers! {
    fn levels(job: &Job<'_, u8>, out: &mut [u8]) = by_channels::<u8>
}
tiers! {
    fn words(job: &Job<'_, u16>, out: &mut [u16]) = by_method::<u16, 0, 1>
}
tiers! {
    fn floats(job: &Job<'_, f32>, out: &mut [f32]) = by_channels::<f32>
}

impl Warped for u8 {
    #[inline(always)]
    fn cut(value: f64) -> Self {
        let value = if value > 0.0 { value } else { 0.0 };
        let value = if value < 255.0 { value } else { 255.0 };
        // SAFETY: it is from 0 to 255, and no NaN.
        unsafe { value.to_int_unchecked::<i32>() as Self }
    }
    #[inline(always)]
    fn near(value: f64) -> Self {
        Self::cut(rounded(value))
    }
    fn draw(job: &Job<'_, Self>, out: &mut [Self]) {
        levels(job, out);
    }
}

impl Warped for u16 {
    #[inline(always)]
    fn cut(value: f64) -> Self {
        Self::nearest(value)
    }
    fn draw(job: &Job<'_, Self>, out: &mut [Self]) {
        words(job, out);
    }
}

impl Warped for f32 {
    #[inline(always)]
    fn cut(value: f64) -> Self {
        value as Self
    }
    fn draw(job: &Job<'_, Self>, out: &mut [Self]) {
        floats(job, out);
    }
}

#[inline(always)]
fn by_channels<T: Grey>(job: &Job<'_, T>, out: &mut [T]) {
    match job.image.channels {
        1 => by_method::<T, 1, 1>(job, out),
        2 => by_method::<T, 2, 2>(job, out),
        3 => by_method::<T, 3, 4>(job, out),
        4 => by_method::<T, 4, 4>(job, out),
        _ => by_method::<T, 0, 1>(job, out),
    }
}

#[inline(always)]
fn by_method<T: Grey, const CHANNELS: usize, const LANES: usize>(job: &Job<'_, T>, out: &mut [T]) {
    match (&job.map, job.method) {
        (Map::Field(_), _) => all::<T, Smooth, CHANNELS, LANES>(job, out),
        (_, Method::Bicubic) => all::<T, Bicubic, CHANNELS, LANES>(job, out),
        _ => all::<T, Bilinear, CHANNELS, LANES>(job, out),
    }
}

/// Draws all rows. A pixel has so many channels, or another number where `CHANNELS` is 0: then all of them are drawn
/// as those at the border. `LANES` levels are computed at a time, which may be one more than there are.
#[inline(always)]
fn all<T: Grey, F: Filter, const CHANNELS: usize, const LANES: usize>(
    job: &Job<'_, T>,
    out: &mut [T],
) {
    let channels = job.image.channels;
    let memory = Memory::of(job.image);
    let limits = limits::<T, F>(job, &memory, if CHANNELS == 0 { None } else { Some(LANES) });
    let mut block = Block::new();
    for (y, row) in out.chunks_exact_mut((job.width * channels).max(1)).enumerate() {
        for (number, part) in row.chunks_mut(LEN * channels).enumerate() {
            let n = part.len() / channels;
            block.place(&job.map, (number * LEN, y), n);
            block.locate(&limits, n);
            let mut from = 0;
            while from < n {
                let (kind, to) = block.run(from, n);
                let part = &mut part[from * channels..to * channels];
                match kind {
                    INNER => {
                        let at = &block.at(from, to);
                        match CHANNELS {
                            1 => <T as Grey>::inner::<F>(&memory, at, part),
                            _ => inner::<T, F, CHANNELS, LANES>(&memory, at, part),
                        }
                    }
                    EDGE => {
                        for (i, pixel) in (from..to).zip(part.chunks_exact_mut(channels)) {
                            edge::<T, F>(job, &block, i, pixel);
                        }
                    }
                    _ => fill(part, job.fill),
                }
                from = to;
            }
        }
    }
}

/// Which places have all their neighbours, of which `lanes` levels are read at a time; none has if that is not known.
fn limits<T: Grey, F: Filter>(
    job: &Job<'_, T>,
    memory: &Memory<'_, T>,
    lanes: Option<usize>,
) -> Limits {
    let image = job.image;
    let (shift, inside) = match &job.map {
        Map::Field(field) if field.border == Border::Constant => {
            (0.0, [-1.0..image.width as f64, -1.0..image.height as f64])
        }
        Map::Field(_) => (0.0, [-FAR..FAR, -FAR..FAR]),
        _ => (0.5, [0.0..image.width as f64, 0.0..image.height as f64]),
    };
    // Where more levels are read than count, they must be there: those of a fourth channel, or of grey pixels.
    let more = match image.channels {
        1 => T::READ.saturating_sub(F::BEFORE + F::AFTER + 1),
        channels => usize::from(lanes.is_some_and(|it| it > channels)),
    };
    let fits = lanes.is_some() && memory.fits();
    let inner = |len: usize, more: usize| match fits {
        true => len.saturating_sub(F::BEFORE + F::AFTER + more) as u32,
        false => 0,
    };
    Limits {
        shift,
        inside,
        before: F::BEFORE as i32,
        inner: [inner(image.width, more), inner(image.height, 0)],
        first: memory.first as i32,
        stride: memory.stride as i32,
        pixel: image.channels as i32,
    }
}

/// Where in memory the first neighbour of each pixel lies, and how far right and down of a pixel's middle its place is.
type At<'a> = (&'a [i32], &'a [f64], &'a [f64]);

/// Places further away than this are outside of any picture, however it goes on beyond its border.
const FAR: f64 = (1 << 30) as f64;

/// The memory in which the rows of a picture lie.
struct Memory<'a, T> {
    values: &'a [T],
    /// Where in it the first row begins,
    first: usize,
    /// and how far after it the next one does.
    stride: isize,
}

impl<'a, T: Level> Memory<'a, T> {
    fn of(image: &Picture<'a, T>) -> Self {
        let (values, first, stride) = image.memory();
        Self { values, first, stride }
    }

    /// Whether numbers of 32 bits count its values.
    fn fits(&self) -> bool {
        self.values.len() <= i32::MAX as usize
    }
}

/// Draws pixels all neighbours of which are there: for each where the first of them lies, and how far from the
/// middle of a pixel the place is.
#[inline(always)]
fn inner<T: Warped, F: Filter, const CHANNELS: usize, const LANES: usize>(
    memory: &Memory<'_, T>,
    (offsets, right, down): &At<'_>,
    out: &mut [T],
) {
    let end = (F::BEFORE + F::AFTER) as isize;
    for (i, offset) in offsets.iter().enumerate() {
        let first = *offset as isize;
        let last = first + end * (memory.stride + CHANNELS as isize);
        debug_assert!(first.min(first + end * memory.stride) >= 0);
        debug_assert!(
            last.max(last - end * memory.stride) + LANES as isize <= memory.values.len() as isize
        );
        let pixels: F::Taps<&[T; LANES]> = F::taps(|row, column| {
            let at = first + row as isize * memory.stride + (column * CHANNELS) as isize;
            // SAFETY: `Limits::inner` lets only pixels through whose neighbours, and one level more where lanes are
            // more than channels, lie in the picture.
            unsafe { &*memory.values.as_ptr().offset(at).cast::<[T; LANES]>() }
        });
        let mut levels = [T::default(); LANES];
        for (lane, level) in levels.iter_mut().enumerate() {
            *level = F::level(F::blend(&pixels, |pixel| pixel[lane].value(), right[i], down[i]));
        }
        let to = &mut out[i * CHANNELS..];
        match to.first_chunk_mut::<LANES>() {
            // The level too many belongs to the next pixel, which is drawn later.
            Some(to) => *to = levels,
            None => to.copy_from_slice(&levels[..CHANNELS]),
        }
    }
}

/// Draws pixel `i` of a block, some neighbours of which may not be there.
#[inline(never)]
fn edge<T: Warped, F: Filter>(job: &Job<'_, T>, block: &Block, i: usize, out: &mut [T]) {
    let image = job.image;
    let border = match &job.map {
        Map::Field(field) => field.border,
        _ => Border::Edge,
    };
    let [column, row] =
        [block.columns[i], block.rows[i]].map(|it| i64::from(it) - F::BEFORE as i64);
    let columns: [Option<usize>; 4] = [0, 1, 2, 3].map(|it| border.at(column + it, image.width));
    let rows: [Option<usize>; 4] = [0, 1, 2, 3].map(|it| border.at(row + it, image.height));
    for (channel, to) in out.iter_mut().enumerate() {
        let taps = F::taps(|row, column| match (rows[row], columns[column]) {
            (Some(row), Some(column)) => image.row(row)[column * image.channels + channel].value(),
            _ => job.fill[channel].value(),
        });
        let level = F::blend(&taps, |it| it, block.right[i], block.down[i]);
        *to = F::level(level);
    }
}

/// Gives all pixels these levels.
#[inline(always)]
fn fill<T: Copy + PartialEq>(out: &mut [T], levels: &[T]) {
    if levels.iter().all(|it| *it == levels[0]) {
        return out.fill(levels[0]);
    }
    for pixel in out.chunks_exact_mut(levels.len()) {
        pixel.copy_from_slice(levels);
    }
}
