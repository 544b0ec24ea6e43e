//! Resizing of 8-bit pictures in two passes, columns then rows, rounded to 8 bits in between.
//!
//! The arithmetic is Pillow's (`Resample.c`): weights of 22 fractional bits, sums rounded half
//! up and clipped. Both passes blend whole lines side by side; for the columns, 16 rows at a
//! time are turned on their side first. Two weights, which do not leave 0..=1, take a shorter
//! way: 15-bit weights and 6 fractional bits, at most 1/32 of a level away.

use super::{
    Picture,
    taps::Taps,
    tiers,
    transpose::{Block, Pair, SIDE, transposed, transposed_pair},
};

/// Fractional bits of a weight: what 32 bits leave beside a level, its sign and its overshoot.
pub(super) const BITS: u32 = 32 - 8 - 2;
/// Levels that are blended at a time, so that their sums stay in registers.
const LANES: usize = 64;

/// Windows of one axis with weights for integers.
#[derive(Debug, Default)]
pub(crate) struct Weights {
    pub(super) windows: Vec<(u32, u32)>,
    pub(super) weights: Vec<i32>,
    pub(super) most: usize,
    /// Whether every window has two weights, neither negative.
    pub(super) pairs: bool,
}

impl Weights {
    /// Rounds the weights of `taps`, on a line of `from` pixels.
    pub(crate) fn round(&mut self, taps: &Taps, from: usize) {
        self.weights.resize(taps.weights.len(), 0);
        round_all(&taps.weights, &mut self.weights);
        self.windows.clone_from(&taps.windows);
        self.most = taps.most;
        self.pairs = taps.most == 2 && from >= 2;
        if self.pairs {
            self.pair(from);
        }
    }

    /// Gives windows of one pixel another one beside it, without weight.
    fn pair(&mut self, from: usize) {
        for ((start, len), weights) in self.windows.iter_mut().zip(self.weights.chunks_exact_mut(2))
        {
            if *len == 1 {
                *len = 2;
                weights[1] = 0;
                if *start as usize + 1 == from {
                    *start -= 1;
                    weights.swap(0, 1);
                }
            }
        }
    }

    #[inline(always)]
    pub(super) fn window(&self, x: usize) -> (usize, &[i32]) {
        let (start, len) = self.windows[x];
        (start as usize, &self.weights[x * self.most..][..len as usize])
    }

    /// Renumbers the lines so that only those in a window count; `needed` gets their old numbers.
    fn condense(&mut self, needed: &mut Vec<u32>) {
        needed.clear();
        for (start, len) in &mut self.windows {
            let known = needed.last().map_or(0, |it| it + 1);
            needed.extend((*start).max(known)..*start + *len);
            // Windows move on, so that the last ones needed are this one's.
            *start = needed.len() as u32 - (needed[needed.len() - 1] + 1 - *start);
        }
    }
}

tiers! {
    /// Weights as they are summed up: with [`BITS`] fractional bits, rounded.
    fn round_all(from: &[f64], to: &mut [i32]) = round_all_body
}

#[inline(always)]
fn round_all_body(from: &[f64], to: &mut [i32]) {
    for (from, to) in from.iter().zip(to) {
        let half = if *from < 0.0 { -0.5 } else { 0.5 };
        *to = (half + from * f64::from(1 << BITS)) as i32;
    }
}

/// What a call needs beside its arguments; kept for the next one.
#[derive(Debug, Default)]
pub(crate) struct Room {
    needed: Vec<u32>,
    /// Sixteen rows on their side, before and after.
    wide: Vec<u8>,
    narrow: Vec<u8>,
    /// The needed rows in their new width, each with room for whole [`LANES`].
    rows: Vec<u8>,
    #[cfg(target_arch = "x86_64")]
    permuted: super::permuted::Room,
}

/// What becomes of the axes: nothing where there are no weights.
pub(crate) struct Axes<'a> {
    /// The weights of the columns.
    pub(crate) columns: Option<&'a Weights>,
    /// The weights of the rows.
    pub(crate) rows: Option<&'a mut Weights>,
}

/// Writes `image`, resized, to `out`, which has room for it.
pub(crate) fn resample(image: &Picture<'_, u8>, axes: Axes<'_>, room: &mut Room, out: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if super::permuted::resample(image, &axes, &mut room.permuted, out) {
        return;
    }
    resample_anywhere(image, axes, room, out);
}

tiers! {
    /// The same in plain loops.
    fn resample_anywhere(image: &Picture<'_, u8>, axes: Axes<'_>, room: &mut Room, out: &mut [u8]) = resample_body::<false>, resample_body::<true>
}

#[inline(always)]
fn resample_body<const WIDE: bool>(
    image: &Picture<'_, u8>,
    axes: Axes<'_>,
    room: &mut Room,
    out: &mut [u8],
) {
    #[cfg(target_arch = "x86_64")]
    debug_assert!(!WIDE || is_x86_feature_detected!("avx2"), "two blocks at a time take AVX2");
    let width = axes.columns.map_or(image.width, |it| it.windows.len());
    let len = width * image.channels;
    if len == 0 {
        return;
    }
    match axes.rows {
        Some(weights) => {
            weights.condense(&mut room.needed);
            let stride = narrow_rows::<WIDE>(image, axes.columns, len, room);
            blend_rows(&room.rows, stride, weights, out.chunks_exact_mut(len));
        }
        None => {
            room.needed.clear();
            room.needed.extend(0..image.height as u32);
            let stride = narrow_rows::<WIDE>(image, axes.columns, len, room);
            let rows = room.rows.chunks_exact(stride);
            out.chunks_exact_mut(len)
                .zip(rows)
                .for_each(|(to, row)| to.copy_from_slice(&row[..len]));
        }
    }
}

/// Fills `room.rows` with the needed rows in their new width; gives their distance.
#[inline(always)]
fn narrow_rows<const WIDE: bool>(
    image: &Picture<'_, u8>,
    columns: Option<&Weights>,
    len: usize,
    room: &mut Room,
) -> usize {
    let stride = len.next_multiple_of(LANES);
    grow(&mut room.rows, stride * room.needed.len().next_multiple_of(SIDE));
    let Some(weights) = columns else {
        for (row, y) in room.rows.chunks_exact_mut(stride).zip(&room.needed) {
            row[..len].copy_from_slice(image.row(*y as usize));
        }
        return stride;
    };

    grow(&mut room.wide, image.row_len() * SIDE);
    grow(&mut room.narrow, stride * SIDE);
    for (numbers, rows) in room.needed.chunks(SIDE).zip(room.rows.chunks_exact_mut(stride * SIDE)) {
        lay_down::<WIDE>(image, numbers, &mut room.wide);
        match image.channels {
            3 => blend_columns::<48>(&room.wide, 3, weights, &mut room.narrow),
            channels => blend_columns::<16>(&room.wide, channels, weights, &mut room.narrow),
        }
        stand_up::<WIDE>(&room.narrow, len, rows);
    }
    stride
}

/// Makes sure that there are so many bytes.
fn grow(bytes: &mut Vec<u8>, len: usize) {
    if bytes.len() < len {
        bytes.resize(len, 0);
    }
}

/// Turns rows on their side: the level at column `x` of row `i` comes to `16 x + i`.
///
/// `WIDE` takes two blocks at a time, and is for processors with AVX2.
#[inline(always)]
fn lay_down<const WIDE: bool>(image: &Picture<'_, u8>, numbers: &[u32], out: &mut [u8]) {
    let mut rows = [image.row(numbers[numbers.len() - 1] as usize); SIDE];
    rows.iter_mut().zip(numbers).for_each(|(row, y)| *row = image.row(*y as usize));
    let len = image.row_len();
    let (columns, _) = out.as_chunks_mut::<SIDE>();
    if len < SIDE {
        for (x, column) in columns[..len].iter_mut().enumerate() {
            column.iter_mut().zip(&rows).for_each(|(to, row)| *to = row[x]);
        }
        return;
    }

    let step = if WIDE && len >= 2 * SIDE { 2 * SIDE } else { SIDE };
    for block in 0..len.div_ceil(step) {
        // The last block may overlap the one before it.
        let x = (block * step).min(len - step);
        if step == 2 * SIDE {
            let mut pair: Pair = [[0; 2 * SIDE]; SIDE];
            pair.iter_mut().zip(&rows).for_each(|(to, row)| *to = *lanes(&row[x..]));
            // SAFETY: `WIDE` is what `tiers!` names in functions that are called where there is AVX2, and nobody else.
            let turned = unsafe { transposed_pair(&pair) };
            let (left, right) = columns[x..][..step].split_at_mut(SIDE);
            for (both, (left, right)) in turned.iter().zip(left.iter_mut().zip(right)) {
                (*left, *right) = (*lanes(both), *lanes(&both[SIDE..]));
            }
        } else {
            let mut upright: Block = [[0; SIDE]; SIDE];
            upright.iter_mut().zip(&rows).for_each(|(to, row)| *to = *lanes(&row[x..]));
            columns[x..][..SIDE].copy_from_slice(&transposed(&upright));
        }
    }
}

/// Turns rows back: the level at `16 x + i` comes to column `x` of row `i`, for whole blocks.
#[inline(always)]
fn stand_up<const WIDE: bool>(lying: &[u8], len: usize, rows: &mut [u8]) {
    let stride = rows.len() / SIDE;
    let (columns, _) = lying.as_chunks::<SIDE>();
    if !WIDE {
        for x in (0..len).step_by(SIDE) {
            let columns = columns[x..].first_chunk().expect("there is room for whole blocks");
            for (row, to) in transposed(columns).iter().zip(rows.chunks_exact_mut(stride)) {
                to[x..][..SIDE].copy_from_slice(row);
            }
        }
        return;
    }
    for x in (0..len).step_by(2 * SIDE) {
        let mut pair: Pair = [[0; 2 * SIDE]; SIDE];
        let (left, right) = columns[x..][..2 * SIDE].split_at(SIDE);
        for (both, (left, right)) in pair.iter_mut().zip(left.iter().zip(right)) {
            both[..SIDE].copy_from_slice(left);
            both[SIDE..].copy_from_slice(right);
        }
        // SAFETY: as in `lay_down`, `WIDE` is only named where there is AVX2.
        let turned = unsafe { transposed_pair(&pair) };
        for (row, to) in turned.iter().zip(rows.chunks_exact_mut(stride)) {
            to[x..][..2 * SIDE].copy_from_slice(row);
        }
    }
}

/// Blends the pixels of lying rows, `N` levels at a time.
#[inline(always)]
fn blend_columns<const N: usize>(wide: &[u8], channels: usize, weights: &Weights, out: &mut [u8]) {
    let pixel = channels * SIDE;
    for (x, to) in out.chunks_exact_mut(pixel).enumerate().take(weights.windows.len()) {
        let (start, window) = weights.window(x);
        for (i, to) in to.chunks_exact_mut(N).enumerate() {
            let from = &wide[start * pixel + i * N..];
            to.copy_from_slice(&blend::<N>(from, pixel, window, weights.pairs));
        }
    }
}

/// Blends rows, each `stride` from the next.
#[inline(always)]
fn blend_rows<'a>(
    rows: &[u8],
    stride: usize,
    weights: &Weights,
    out: impl Iterator<Item = &'a mut [u8]>,
) {
    for (y, to) in out.enumerate() {
        let (start, window) = weights.window(y);
        for (i, to) in to.chunks_mut(LANES).enumerate() {
            let from = &rows[start * stride + i * LANES..];
            to.copy_from_slice(&blend::<LANES>(from, stride, window, weights.pairs)[..to.len()]);
        }
    }
}

/// Blends `N` levels, those of one weight `step` from those of the next.
#[inline(always)]
fn blend<const N: usize>(from: &[u8], step: usize, weights: &[i32], pairs: bool) -> [u8; N] {
    if pairs {
        return between(lanes(from), lanes(&from[step..]), weights[1]);
    }
    match *weights {
        [a] => weighed(from, step, &[a]),
        [a, b] => weighed(from, step, &[a, b]),
        [a, b, c] => weighed(from, step, &[a, b, c]),
        [a, b, c, d] => weighed(from, step, &[a, b, c, d]),
        _ => weighed_long(from, step, weights),
    }
}

/// Half of the last bit that is kept, so that cutting off rounds.
const HALF: i32 = 1 << (BITS - 1);

/// The level that a sum stands for.
#[inline(always)]
fn level(sum: i32) -> u8 {
    (sum >> BITS).clamp(0, 255) as u8
}

/// The levels of a few weights.
#[inline(always)]
fn weighed<const N: usize, const TAPS: usize>(
    from: &[u8],
    step: usize,
    weights: &[i32; TAPS],
) -> [u8; N] {
    let rows = rows::<N, TAPS>(from, step);
    let mut levels = [0; N];
    for (i, to) in levels.iter_mut().enumerate() {
        let mut sum = HALF;
        for (weight, row) in weights.iter().zip(&rows) {
            sum += weight * i32::from(row[i]);
        }
        *to = level(sum);
    }
    levels
}

/// The levels of any number of weights.
#[inline(always)]
fn weighed_long<const N: usize>(from: &[u8], step: usize, weights: &[i32]) -> [u8; N] {
    let mut sums = [HALF; N];
    let (fours, rest) = weights.as_chunks::<4>();
    for (i, weights) in fours.iter().enumerate() {
        weigh(&mut sums, &from[4 * i * step..], step, weights);
    }
    for (i, weight) in rest.iter().enumerate() {
        weigh(&mut sums, &from[(4 * fours.len() + i) * step..], step, &[*weight]);
    }
    let mut levels = [0; N];
    levels.iter_mut().zip(&sums).for_each(|(to, sum)| *to = level(*sum));
    levels
}

/// The next `N` levels.
#[inline(always)]
fn lanes<const N: usize>(from: &[u8]) -> &[u8; N] {
    from.first_chunk().expect("rows have room for whole lanes")
}

/// The lanes of each weight.
#[inline(always)]
fn rows<const N: usize, const TAPS: usize>(from: &[u8], step: usize) -> [&[u8; N]; TAPS] {
    let mut rows = [lanes::<N>(from); TAPS];
    for (i, row) in rows.iter_mut().enumerate() {
        *row = lanes(&from[i * step..]);
    }
    rows
}

/// Adds the levels of some weights at once, so that the sums stay in registers.
#[inline(always)]
fn weigh<const N: usize, const TAPS: usize>(
    sums: &mut [i32; N],
    from: &[u8],
    step: usize,
    weights: &[i32; TAPS],
) {
    let rows = rows::<N, TAPS>(from, step);
    for (i, sum) in sums.iter_mut().enumerate() {
        let mut all = *sum;
        for (weight, row) in weights.iter().zip(&rows) {
            all += weight * i32::from(row[i]);
        }
        *sum = all;
    }
}

/// From `a` towards `b`, as far as the weight of `b` says.
#[inline(always)]
fn between<const N: usize>(a: &[u8; N], b: &[u8; N], weight: i32) -> [u8; N] {
    let weight = (weight >> (BITS - 15)).min(i32::from(i16::MAX)) as i16;
    let mut levels = [0; N];
    for (i, level) in levels.iter_mut().enumerate() {
        let (a, b) = (i16::from(a[i]), i16::from(b[i]));
        let step = (i32::from((b - a) << 7) * i32::from(weight)) >> 16;
        *level = (((a << 6) + step as i16 + 32) >> 6) as u8;
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pixels::taps::{Edge, Kernel, Rule};
    use runtime::Tensor;

    type Resample = fn(&Picture<'_, u8>, Axes<'_>, &mut Room, &mut [u8]);

    #[test]
    fn every_tier_gives_the_same_bits() {
        let levels: Vec<u8> = (0..290 * 1204).map(|i| (runtime::mix(1, i) >> 56) as u8).collect();
        // Channels, and height and width before and after: near and far columns, long windows,
        // one axis only, rows as short as a register.
        let cases = [
            (3, [90, 80], [37, 91]),
            (3, [290, 400], [224, 224]),
            (3, [200, 224], [224, 224]),
            (3, [150, 150], [150, 61]),
            (3, [224, 301], [224, 140]),
            (3, [77, 43], [200, 200]),
            (1, [60, 500], [31, 224]),
            (1, [30, 128], [30, 333]),
            (4, [90, 200], [20, 90]),
            (3, [80, 390], [12, 33]),
            (3, [9, 5], [4, 8]),
        ];
        for rule in [
            Rule::Widened(Kernel::Triangle),
            Rule::Widened(Kernel::Cubic(-0.5)),
            Rule::Nearby(Kernel::Triangle, Edge::Repeat),
            Rule::Nearby(Kernel::Cubic(-0.75), Edge::Repeat),
            Rule::Covered { least: 0.0 },
        ] {
            for (channels, from, to) in cases {
                let picture = Tensor::new(
                    &[from[0], from[1], channels],
                    &levels[..from[0] * from[1] * channels],
                );
                let made = |by| resized(by, &picture, (rule, from, to), to[0] * to[1] * channels);
                let expected = made(resample_body::<false>);
                for (i, by) in [resample as Resample, resample_anywhere].into_iter().enumerate() {
                    assert!(made(by) == expected, "{i}, {rule:?}, {channels}: {from:?} {to:?}");
                }
            }
        }
    }

    fn resized(
        by: Resample,
        picture: &Tensor<'_>,
        (rule, from, to): (Rule, [usize; 2], [usize; 2]),
        len: usize,
    ) -> Vec<u8> {
        let image = Picture::of(picture).expect("its pixels lie side by side");
        let mut weights = [Weights::default(), Weights::default()];
        for (i, weights) in weights.iter_mut().enumerate() {
            let mut taps = Taps::default();
            taps.fill(rule, from[i], to[i]);
            weights.round(&taps, from[i]);
        }
        let [rows, columns] = &mut weights;
        let axes = Axes {
            columns: (from[1] != to[1]).then_some(columns),
            rows: (from[0] != to[0]).then_some(rows),
        };
        let mut out = vec![0; len];
        by(&image, axes, &mut Room::default(), &mut out);
        out
    }
}
