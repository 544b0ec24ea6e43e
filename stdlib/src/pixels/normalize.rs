//! Levels to floats, by an affine map for each channel.
//!
//! Three ways through memory: pixels side by side into planes (and right to left), rows of
//! whole pixels, and anything else, gathered row by row.

#[cfg(target_arch = "x86_64")]
use super::streamed;
use super::{Picture, tiers};
use plan::DType;
use runtime::{Element, MAX_RANK, Tensor};
use std::slice;

/// `x * scale + bias`, two roundings.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Affine {
    /// What a level is multiplied by.
    pub(crate) scale: f32,
    /// What is added then.
    pub(crate) bias: f32,
}

impl Affine {
    #[inline(always)]
    fn at(self, value: f32) -> f32 {
        value * self.scale + self.bias
    }
}

/// Values that are converted at a time where the channels lie side by side.
const LANES: usize = 48;
/// Pixels that are parted into planes at a time.
const PIXELS: usize = 32;

/// The maps of the channels, or one for all.
#[derive(Debug)]
pub(crate) struct Maps {
    channels: Vec<Affine>,
    pattern: Pattern,
}

impl Maps {
    /// Maps of at least one channel.
    pub(crate) fn new(channels: Vec<Affine>) -> Self {
        assert!(!channels.is_empty(), "a list of means is not empty");
        Self { pattern: Pattern::new(&channels), channels }
    }
}

/// Writes the elements of `image` in C order to `out`; its channels are counted by `axis`.
///
/// `far` says that nobody looks at `out` soon, so that it may go past the caches.
pub(crate) fn normalize(image: &Tensor<'_>, axis: usize, maps: &Maps, out: &mut [f32], far: bool) {
    if out.is_empty() {
        return;
    }
    if let Some(colour) = Colour::of(image, axis, &maps.channels) {
        return if far { colour.stream(out) } else { colour.write(out) };
    }
    match image.dtype() {
        DType::U8 => rows::<u8>(image, axis, maps, out),
        DType::U16 => rows::<u16>(image, axis, maps, out),
        DType::U32 => rows::<u32>(image, axis, maps, out),
        DType::U64 => rows::<u64>(image, axis, maps, out),
        DType::I8 => rows::<i8>(image, axis, maps, out),
        DType::I16 => rows::<i16>(image, axis, maps, out),
        DType::I32 => rows::<i32>(image, axis, maps, out),
        DType::I64 => rows::<i64>(image, axis, maps, out),
        DType::F16 => rows::<half::f16>(image, axis, maps, out),
        DType::BF16 => rows::<half::bf16>(image, axis, maps, out),
        DType::F32 => rows::<f32>(image, axis, maps, out),
        DType::F64 => rows::<f64>(image, axis, maps, out),
        other => unreachable!("the checker admits numbers only, not {other}"),
    }
}

/// An 8-bit colour picture whose pixels lie side by side, to be written in another order.
struct Colour<'a> {
    rows: Picture<'a, u8>,
    /// Whether rows are read from right to left.
    mirrored: bool,
    /// Whether it is written plane by plane.
    planar: bool,
    channels: [Affine; 3],
}

impl<'a> Colour<'a> {
    fn of(image: &Tensor<'a>, axis: usize, channels: &[Affine]) -> Option<Self> {
        let planar = axis == 0;
        if image.shape().len() != 3 || image.shape()[axis] != 3 || axis == 1 {
            return None;
        }
        let image = if planar { image.permuted(&[1, 2, 0]) } else { *image };
        let mirrored = image.strides()[1] < 0;
        let rows = Picture::of(&if mirrored { image.flipped(1) } else { image })?;
        let last = channels.len() - 1;
        let channels = [0, 1, 2].map(|it: usize| channels[it.min(last)]);
        let moves = planar || mirrored;
        (moves && rows.width >= PIXELS).then_some(Self { rows, mirrored, planar, channels })
    }

    /// The same past the caches, where that can be.
    fn stream(&self, out: &mut [f32]) {
        #[cfg(target_arch = "x86_64")]
        if self.planar && streamed::planes(&self.rows, self.mirrored, &self.channels, out) {
            return;
        }
        self.write(out);
    }

    fn write(&self, out: &mut [f32]) {
        match (self.planar, self.mirrored) {
            (true, false) => planes(self, out),
            (true, true) => mirrored_planes(self, out),
            (false, _) => mirrored_pixels(self, out),
        }
    }

    #[inline(always)]
    fn write_planes<const MIRRORED: bool>(&self, out: &mut [f32]) {
        let width = self.rows.width;
        let mut planes = out.chunks_exact_mut(width * self.rows.height);
        let mut planes: [_; 3] = std::array::from_fn(|_| {
            planes.next().expect("there is room for three planes").chunks_exact_mut(width)
        });
        for row in self.rows.rows() {
            let mut lines = planes.each_mut().map(|it| it.next().expect("planes have all rows"));
            for (x, levels) in blocks::<MIRRORED>(row) {
                for (channel, line) in lines.iter_mut().enumerate() {
                    let to = line[x..].first_chunk_mut().expect("the block is within the row");
                    *to = converted::<MIRRORED>(&levels[channel], self.channels[channel]);
                }
            }
        }
    }

    #[inline(always)]
    fn write_pixels<const MIRRORED: bool>(&self, out: &mut [f32]) {
        for (row, line) in self.rows.rows().zip(out.chunks_exact_mut(3 * self.rows.width)) {
            for (x, levels) in blocks::<MIRRORED>(row) {
                let mut values = [[0.0; PIXELS]; 3];
                for (channel, values) in values.iter_mut().enumerate() {
                    *values = converted::<MIRRORED>(&levels[channel], self.channels[channel]);
                }
                let (pixels, _) = line[3 * x..].as_chunks_mut::<3>();
                for (i, pixel) in pixels[..PIXELS].iter_mut().enumerate() {
                    *pixel = [values[0][i], values[1][i], values[2][i]];
                }
            }
        }
    }
}

tiers! {
    fn planes(colour: &Colour<'_>, out: &mut [f32]) = Colour::write_planes::<false>
}

tiers! {
    fn mirrored_planes(colour: &Colour<'_>, out: &mut [f32]) = Colour::write_planes::<true>
}

tiers! {
    fn mirrored_pixels(colour: &Colour<'_>, out: &mut [f32]) = Colour::write_pixels::<true>
}

/// The levels of a row by channel, in blocks, and where each belongs.
#[inline(always)]
fn blocks<const MIRRORED: bool>(row: &[u8]) -> impl Iterator<Item = (usize, [[u8; PIXELS]; 3])> {
    let width = row.len() / 3;
    (0..width.div_ceil(PIXELS)).map(move |block| {
        // The last block may overlap the one before it.
        let x = (block * PIXELS).min(width - PIXELS);
        let from = if MIRRORED { width - PIXELS - x } else { x };
        let pixels = row[3 * from..].first_chunk().expect("the block is within the row");
        (x, parted(pixels))
    })
}

/// The levels of each channel.
#[inline(always)]
fn parted(pixels: &[u8; 3 * PIXELS]) -> [[u8; PIXELS]; 3] {
    let mut levels = [[0; PIXELS]; 3];
    for i in 0..PIXELS {
        for (channel, levels) in levels.iter_mut().enumerate() {
            levels[i] = pixels[3 * i + channel];
        }
    }
    levels
}

#[inline(always)]
fn converted<const MIRRORED: bool>(levels: &[u8; PIXELS], channel: Affine) -> [f32; PIXELS] {
    let mut values = [0.0; PIXELS];
    for (i, value) in values.iter_mut().enumerate() {
        let level = levels[if MIRRORED { PIXELS - 1 - i } else { i }];
        *value = channel.at(f32::from(level));
    }
    values
}

/// A number of any dtype, as a float.
trait Number: Element + Default {
    fn float(self) -> f32;

    /// Converts a row by the maps of its channels.
    fn convert(pattern: &Pattern, row: &[Self], out: &mut [f32]) {
        pattern.convert(row, out);
    }
}

impl Number for u8 {
    #[inline(always)]
    fn float(self) -> f32 {
        f32::from(self)
    }

    fn convert(pattern: &Pattern, row: &[Self], out: &mut [f32]) {
        convert_u8(pattern, row, out);
    }
}

tiers! {
    fn convert_u8(pattern: &Pattern, row: &[u8], out: &mut [f32]) = Pattern::convert
}

macro_rules! numbers {
    ($($ty:ty),+) => {$(
        impl Number for $ty {
            #[inline(always)]
            fn float(self) -> f32 {
                self as f32
            }
        }
    )+};
}
numbers!(u16, u32, u64, i8, i16, i32, i64, f32, f64);

impl Number for half::f16 {
    fn float(self) -> f32 {
        self.to_f32()
    }
}

impl Number for half::bf16 {
    fn float(self) -> f32 {
        self.to_f32()
    }
}

/// Goes through the innermost axes that lie in C order without gaps, at a time.
fn rows<T: Number>(image: &Tensor<'_>, axis: usize, maps: &Maps, out: &mut [f32]) {
    let (channels, rank) = (&maps.channels, image.shape().len());
    if channels.len() == 1 || axis + 1 == rank {
        let convert = |_: &_, row: &[T], out: &mut [f32]| T::convert(&maps.pattern, row, out);
        return each_row(image, rank.min(2), out, convert);
    }
    each_row::<T>(image, 1, out, |at, row, out| {
        let channel = channels[at[axis].min(channels.len() - 1)];
        row.iter().zip(out).for_each(|(it, to)| *to = channel.at(it.float()));
    });
}

/// Calls `write` with each row of the innermost `axes` axes, where it is, and its room.
fn each_row<T: Number>(
    image: &Tensor<'_>,
    axes: usize,
    out: &mut [f32],
    write: impl Fn(&[usize; MAX_RANK], &[T], &mut [f32]),
) {
    let outer = image.shape().len() - axes;
    let len: usize = image.shape()[outer..].iter().product();
    let mut copy = Vec::new();
    let mut at = [0; MAX_RANK];
    for to in out.chunks_exact_mut(len) {
        let mut row = *image;
        at[..outer].iter().for_each(|it| row = row.element(*it));
        write(&at, elements(&row, &mut copy), to);
        for axis in (0..outer).rev() {
            at[axis] += 1;
            if at[axis] < image.shape()[axis] {
                break;
            }
            at[axis] = 0;
        }
    }
}

/// The elements of `tensor`; copied where they lie apart.
fn elements<'a, T: Number>(tensor: &Tensor<'a>, copy: &'a mut Vec<T>) -> &'a [T] {
    if let Some(all) = tensor.as_slice::<T>() {
        return all;
    }
    copy.resize(tensor.elements(), T::default());
    // SAFETY: the elements are plain bytes.
    let bytes =
        unsafe { slice::from_raw_parts_mut(copy.as_mut_ptr().cast(), size_of_val(&copy[..])) };
    tensor.copy_to(bytes);
    copy
}

/// The maps of the channels, again and again.
#[derive(Debug)]
struct Pattern {
    scale: Vec<f32>,
    bias: Vec<f32>,
}

impl Pattern {
    fn new(channels: &[Affine]) -> Self {
        let len = channels.len() * (LANES / channels.len()).max(1);
        let all = channels.iter().cycle().take(len);
        Self {
            scale: all.clone().map(|it| it.scale).collect(),
            bias: all.map(|it| it.bias).collect(),
        }
    }

    #[inline(always)]
    fn convert<T: Number>(&self, row: &[T], out: &mut [f32]) {
        let len = self.scale.len();
        let (Some(scale), Some(bias)) = (self.scale.first_chunk(), self.bias.first_chunk()) else {
            return self.convert_any(row, out);
        };
        if len != LANES {
            return self.convert_any(row, out);
        }
        let ((rows, row), (outs, out)) = (row.as_chunks(), out.as_chunks_mut());
        for (row, out) in rows.iter().zip(outs) {
            convert_lanes(row, out, scale, bias);
        }
        self.convert_any(row, out);
    }

    #[inline(always)]
    fn convert_any<T: Number>(&self, row: &[T], out: &mut [f32]) {
        let len = self.scale.len();
        for (row, out) in row.chunks(len).zip(out.chunks_mut(len)) {
            let maps = self.scale.iter().zip(&self.bias);
            for ((it, to), (scale, bias)) in row.iter().zip(out).zip(maps) {
                *to = it.float() * scale + bias;
            }
        }
    }
}

#[inline(always)]
fn convert_lanes<T: Number>(
    row: &[T; LANES],
    out: &mut [f32; LANES],
    scale: &[f32; LANES],
    bias: &[f32; LANES],
) {
    for i in 0..LANES {
        out[i] = row[i].float() * scale[i] + bias[i];
    }
}
