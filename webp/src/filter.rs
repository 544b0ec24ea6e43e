//! The loop filter, which smooths the edges of blocks (RFC 6386, section 15).

use crate::header::{Filter, Strength};
use crate::lanes::Lanes;

/// What the filter does with a macroblock.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Edges {
    pub(crate) strength: Strength,
    /// Whether the edges between its blocks are smoothed too.
    pub(crate) inner: bool,
}

/// A plane, or a part of one: its samples, and from one row to the next.
pub(crate) struct Plane<'a> {
    pub(crate) samples: &'a mut [u8],
    pub(crate) stride: usize,
}

/// Smooths a row of macroblocks; `at` says where its first pixel is in luma and in chroma.
#[inline(always)]
pub(crate) fn row<V: Lanes>(
    filter: Filter,
    [luma, first, second]: &mut [Plane<'_>; 3],
    at: [usize; 2],
    is_first: bool,
    edges: &[Edges],
) {
    for (x, edges) in edges.iter().enumerate().filter(|(_, it)| it.strength.limit > 0) {
        let beside = [x > 0, !is_first];
        let at = [at[0] + 16 * x, at[1] + 8 * x];
        match filter {
            Filter::None => {}
            Filter::Simple => simple::<V>(luma, at[0], beside, edges),
            Filter::Normal => {
                let limits = Limits::of(edges.strength);
                upright_luma::<V>(luma, at[0], beside[0], edges.inner, &limits);
                level_luma::<V>(luma, at[0], beside[1], edges.inner, &limits);
                upright_chroma::<V>([first, second], at[1], beside[0], edges.inner, &limits);
                level_chroma::<V>([first, second], at[1], beside[1], edges.inner, &limits);
            }
        }
    }
}

/// The limits in all lanes.
struct Limits<V> {
    outer: V,
    inner: V,
    interior: V,
    variance: V,
}

impl<V: Lanes> Limits<V> {
    #[inline(always)]
    fn of(strength: Strength) -> Self {
        Self {
            outer: V::splat(strength.limit + 4),
            inner: V::splat(strength.limit),
            interior: V::splat(strength.interior),
            variance: V::splat(strength.variance),
        }
    }
}

/// Vectors to the left of an upright edge, or above a level one, and those behind it, as many.
type Around<V> = [V; 8];

/// Smooths the edges that go down in 16 by 16 pixels: the left one, and inner ones.
#[inline(always)]
fn upright_luma<V: Lanes>(
    plane: &mut Plane<'_>,
    at: usize,
    has_left: bool,
    inner: bool,
    limits: &Limits<V>,
) {
    let Plane { samples, stride } = plane;
    let stride = *stride;
    if !inner {
        if has_left {
            let place = |y: usize| [at - 4 + y * stride, at - 4 + (y + 8) * stride];
            let rows = std::array::from_fn(|y| {
                let [upper, lower] = place(y).map(|at| eight(samples, at));
                V::from_halves([upper, lower])
            });
            let columns = outer(turn::<V, 8, 4>(rows), limits);
            for (y, row) in turn::<V, 8, 3>(columns).into_iter().enumerate() {
                for (at, half) in place(y).into_iter().zip(row.halves()) {
                    samples[at..at + 8].copy_from_slice(&half);
                }
            }
        }
        return;
    }
    let rows: [V; 16] = std::array::from_fn(|y| V::load(sixteen(samples, at + y * stride)));
    let mut columns = turn::<V, 16, 4>(rows);
    if has_left {
        let place = |i: usize| at - 4 + i * stride;
        let rows = std::array::from_fn(|i| {
            V::from_quarters([0, 1, 2, 3].map(|y| four(samples, place(4 * i + y))))
        });
        let left = turn::<V, 4, 4>(rows);
        let around =
            [left[0], left[1], left[2], left[3], columns[0], columns[1], columns[2], columns[3]];
        let around = outer(around, limits);
        columns[..4].copy_from_slice(&around[4..]);
        let left = [around[0], around[1], around[2], around[3]];
        for (i, rows) in turn::<V, 4, 2>(left).into_iter().enumerate() {
            for (y, row) in rows.quarters().iter().enumerate() {
                samples[place(4 * i + y)..][..4].copy_from_slice(row);
            }
        }
    }
    for edge in [4, 8, 12] {
        let around: &mut Around<V> =
            (&mut columns[edge - 4..edge + 4]).try_into().expect("eight of sixteen");
        *around = between(*around, limits);
    }
    for (y, row) in turn::<V, 16, 4>(columns).into_iter().enumerate() {
        samples[at + y * stride..][..16].copy_from_slice(&row.store());
    }
}

/// The same for 8 by 8 pixels of both chroma planes.
#[inline(always)]
fn upright_chroma<V: Lanes>(
    [first, second]: [&mut Plane<'_>; 2],
    at: usize,
    has_left: bool,
    inner: bool,
    limits: &Limits<V>,
) {
    let stride = first.stride;
    let (first, second) = (&mut *first.samples, &mut *second.samples);
    if !inner && !has_left {
        return;
    }
    // Without inner edges, the eight columns around the left edge.
    let start = if inner { at } else { at - 4 };
    let rows = std::array::from_fn(|y| {
        let at = start + y * stride;
        V::from_halves([eight(first, at), eight(second, at)])
    });
    let mut columns = turn::<V, 8, 4>(rows);
    if !inner {
        columns = outer(columns, limits);
    } else {
        if has_left {
            let place = |y: usize| at - 4 + y * stride;
            let rows = std::array::from_fn(|i| {
                let [y, next] = [place(2 * i), place(2 * i + 1)];
                V::from_quarters([
                    four(first, y),
                    four(second, y),
                    four(first, next),
                    four(second, next),
                ])
            });
            let left = turn::<V, 4, 4>(rows);
            let around = [
                left[0], left[1], left[2], left[3], columns[0], columns[1], columns[2], columns[3],
            ];
            let around = outer(around, limits);
            columns[..4].copy_from_slice(&around[4..]);
            let left = [around[0], around[1], around[2], around[3]];
            for (i, rows) in turn::<V, 4, 2>(left).into_iter().enumerate() {
                let parts = rows.quarters();
                let [y, next] = [place(2 * i), place(2 * i + 1)];
                first[y..y + 4].copy_from_slice(&parts[0]);
                second[y..y + 4].copy_from_slice(&parts[1]);
                first[next..next + 4].copy_from_slice(&parts[2]);
                second[next..next + 4].copy_from_slice(&parts[3]);
            }
        }
        columns = between(columns, limits);
    }
    for (y, row) in turn::<V, 8, 3>(columns).into_iter().enumerate() {
        let (at, [a, b]) = (start + y * stride, row.halves());
        first[at..at + 8].copy_from_slice(&a);
        second[at..at + 8].copy_from_slice(&b);
    }
}

/// Smooths the edges that go across 16 by 16 pixels: the upper one, and inner ones.
#[inline(always)]
fn level_luma<V: Lanes>(
    plane: &mut Plane<'_>,
    at: usize,
    has_above: bool,
    inner: bool,
    limits: &Limits<V>,
) {
    let Plane { samples, stride } = plane;
    let stride = *stride;
    if has_above {
        let start = at - 4 * stride;
        let around =
            outer(std::array::from_fn(|y| V::load(sixteen(samples, start + y * stride))), limits);
        for (y, row) in around.into_iter().enumerate().skip(1).take(6) {
            samples[start + y * stride..][..16].copy_from_slice(&row.store());
        }
    }
    if inner {
        for edge in [4, 8, 12] {
            let start = at + (edge - 4) * stride;
            let around = std::array::from_fn(|y| V::load(sixteen(samples, start + y * stride)));
            let around = between(around, limits);
            for (y, row) in around.into_iter().enumerate().skip(2).take(4) {
                samples[start + y * stride..][..16].copy_from_slice(&row.store());
            }
        }
    }
}

/// The same for 8 by 8 pixels of both chroma planes.
#[inline(always)]
fn level_chroma<V: Lanes>(
    [first, second]: [&mut Plane<'_>; 2],
    at: usize,
    has_above: bool,
    inner: bool,
    limits: &Limits<V>,
) {
    let stride = first.stride;
    let (first, second) = (&mut *first.samples, &mut *second.samples);
    if has_above {
        let start = at - 4 * stride;
        let around = std::array::from_fn(|y| {
            let at = start + y * stride;
            V::from_halves([eight(first, at), eight(second, at)])
        });
        let around = outer(around, limits);
        for (y, row) in around.into_iter().enumerate().skip(1).take(6) {
            let (at, [a, b]) = (start + y * stride, row.halves());
            first[at..at + 8].copy_from_slice(&a);
            second[at..at + 8].copy_from_slice(&b);
        }
    }
    if inner {
        let around = std::array::from_fn(|y| {
            let at = at + y * stride;
            V::from_halves([eight(first, at), eight(second, at)])
        });
        let around = between(around, limits);
        for (y, row) in around.into_iter().enumerate().skip(2).take(4) {
            let (at, [a, b]) = (at + y * stride, row.halves());
            first[at..at + 8].copy_from_slice(&a);
            second[at..at + 8].copy_from_slice(&b);
        }
    }
}

/// Section 15.2: luma alone, and two pixels of each edge.
#[inline(always)]
fn simple<V: Lanes>(
    plane: &mut Plane<'_>,
    at: usize,
    [has_left, has_above]: [bool; 2],
    edges: &Edges,
) {
    let Plane { samples, stride } = plane;
    let stride = *stride;
    let limits = Limits::<V>::of(edges.strength);
    let all = [(0, limits.outer), (4, limits.inner), (8, limits.inner), (12, limits.inner)];
    let wanted = |i: usize, has_outer: bool| if i == 0 { has_outer } else { edges.inner };
    for (i, limit) in all.into_iter().filter(|it| wanted(it.0, has_left)) {
        let place = |y: usize| at + i - 2 + y * stride;
        let rows = std::array::from_fn(|i| {
            V::from_quarters([0, 1, 2, 3].map(|y| four(samples, place(4 * i + y))))
        });
        let columns = two_pixels(turn::<V, 4, 4>(rows), limit);
        for (i, rows) in turn::<V, 4, 2>(columns).into_iter().enumerate() {
            for (y, row) in rows.quarters().iter().enumerate() {
                samples[place(4 * i + y)..][..4].copy_from_slice(row);
            }
        }
    }
    for (i, limit) in all.into_iter().filter(|it| wanted(it.0, has_above)) {
        let start = at + i * stride - 2 * stride;
        let rows = std::array::from_fn(|y| V::load(sixteen(samples, start + y * stride)));
        for (y, row) in two_pixels(rows, limit).into_iter().enumerate() {
            samples[start + y * stride..][..16].copy_from_slice(&row.store());
        }
    }
}

#[inline(always)]
fn two_pixels<V: Lanes>([p1, p0, q0, q1]: [V; 4], limit: V) -> [V; 4] {
    let is_near = across(p1, p0, q0, q1).minus(limit).is_zero();
    let [s1, s0, t0, t1] = [p1, p0, q0, q1].map(signed);
    let by = step(s1.minus_signed(t1), s0, t0).and(is_near);
    let [s0, t0] = adjust(s0, t0, by);
    [p1, signed(s0), signed(t0), q1]
}

/// Between macroblocks (section 15.3): three pixels on either side.
#[inline(always)]
fn outer<V: Lanes>(around: Around<V>, limits: &Limits<V>) -> Around<V> {
    let [p3, p2, p1, p0, q0, q1, q2, q3] = around;
    let (is_near, is_smooth) = near_and_smooth(&around, limits.outer, limits);
    let [s2, s1, s0, t0, t1, t2] = [p2, p1, p0, q0, q1, q2].map(signed);
    let by = step(s1.minus_signed(t1), s0, t0).and(is_near);
    // Where neighbours differ much, as the simple filter does.
    let [s0, t0] = adjust(s0, t0, by.without(is_smooth));
    let [a, b, c] = by.and(is_smooth).taps();
    let sums = [s2.plus_signed(c), s1.plus_signed(b), s0.plus_signed(a)];
    let differences = [t0.minus_signed(a), t1.minus_signed(b), t2.minus_signed(c)];
    let ([s2, s1, s0], [t0, t1, t2]) = (sums.map(signed), differences.map(signed));
    [p3, s2, s1, s0, t0, t1, t2, q3]
}

/// Between the blocks of a macroblock: two pixels on either side.
#[inline(always)]
fn between<V: Lanes>(around: Around<V>, limits: &Limits<V>) -> Around<V> {
    let [p3, p2, p1, p0, q0, q1, q2, q3] = around;
    let (is_near, is_smooth) = near_and_smooth(&around, limits.inner, limits);
    let [s1, s0, t0, t1] = [p1, p0, q0, q1].map(signed);
    let outer = s1.minus_signed(t1).without(is_smooth);
    let by = step(outer, s0, t0).and(is_near);
    let [upper, lower] = halves(by);
    let [s0, t0] = [s0.plus_signed(lower), t0.minus_signed(upper)];
    // (upper + 1) / 2 with a sign: the mean of both with 128 added, and without it again.
    let (bias, half) = (V::splat(0x80), V::splat(0x80));
    let third = upper.xor(bias).mean(half).minus_wrapping(bias).and(is_smooth);
    let [s1, t1] = [s1.plus_signed(third), t1.minus_signed(third)];
    [p3, p2, signed(s1), signed(s0), signed(t0), signed(t1), q2, q3]
}

/// Where an edge is to be smoothed at all, and where neighbours differ little.
#[inline(always)]
fn near_and_smooth<V: Lanes>(around: &Around<V>, across_max: V, limits: &Limits<V>) -> (V, V) {
    let [p3, p2, p1, p0, q0, q1, q2, q3] = *around;
    let inner = difference(p1, p0).greater(difference(q1, q0));
    let outer = difference(p3, p2).greater(difference(p2, p1));
    let outer = outer.greater(difference(q3, q2)).greater(difference(q2, q1));
    let too_far = outer.greater(inner).minus(limits.interior);
    let too_far = too_far.or(across(p1, p0, q0, q1).minus(across_max));
    (too_far.is_zero(), inner.minus(limits.variance).is_zero())
}

/// 2 |p0 - q0| + |p1 - q1| / 2.
#[inline(always)]
fn across<V: Lanes>(p1: V, p0: V, q0: V, q1: V) -> V {
    let far = difference(p1, q1);
    // Half of it, rounded down: the rounded mean with 0, of one less where it is odd.
    let half = far.minus(far.and(V::splat(1))).mean(V::splat(0));
    let near = difference(p0, q0);
    near.plus(near).plus(half)
}

#[inline(always)]
fn difference<V: Lanes>(a: V, b: V) -> V {
    a.minus(b).or(b.minus(a))
}

/// Bytes from 0 to 255 as -128 to 127, and back.
#[inline(always)]
fn signed<V: Lanes>(bytes: V) -> V {
    bytes.xor(V::splat(0x80))
}

/// `outer` + 3 (q0 - p0).
#[inline(always)]
fn step<V: Lanes>(outer: V, p0: V, q0: V) -> V {
    let by = q0.minus_signed(p0);
    outer.plus_signed(by).plus_signed(by).plus_signed(by)
}

/// Pixels next to the edge, nearer to each other by a quarter of `by`.
#[inline(always)]
fn adjust<V: Lanes>(p0: V, q0: V, by: V) -> [V; 2] {
    let [upper, lower] = halves(by);
    [p0.plus_signed(lower), q0.minus_signed(upper)]
}

/// (`by` + 4) / 8 and (`by` + 3) / 8, rounded down.
#[inline(always)]
fn halves<V: Lanes>(by: V) -> [V; 2] {
    let eighth = |sum: V| signed(sum).eighth().minus_wrapping(V::splat(16));
    [eighth(by.plus_signed(V::splat(4))), eighth(by.plus_signed(V::splat(3)))]
}

/// Rotates the bits of the places of bytes in `N` vectors, vector and byte, by `TIMES` to the left: so rows
/// of 16 bytes become columns.
#[inline(always)]
fn turn<V: Lanes, const N: usize, const TIMES: usize>(mut vectors: [V; N]) -> [V; N] {
    for _ in 0..TIMES {
        vectors = std::array::from_fn(|i| {
            let (a, b) = (vectors[i / 2], vectors[i / 2 + N / 2]);
            if i % 2 == 0 { a.low(b) } else { a.high(b) }
        });
    }
    vectors
}

#[inline(always)]
fn sixteen(samples: &[u8], at: usize) -> &[u8; 16] {
    samples[at..at + 16].try_into().expect("that is its length")
}

#[inline(always)]
fn eight(samples: &[u8], at: usize) -> [u8; 8] {
    samples[at..at + 8].try_into().expect("that is its length")
}

#[inline(always)]
fn four(samples: &[u8], at: usize) -> [u8; 4] {
    samples[at..at + 4].try_into().expect("that is its length")
}
