//! The nearest pixels of a picture, of any dtype: where they lie is computed for a block, then they are copied.

use super::{
    Job, Map, Memory, fill,
    places::{Block, EDGE, INNER, LEN, Limits, run_of},
};
use crate::pixels::{tiers, wide::rounded};

/// Fractional bits of a place in fixed point.
const BITS: i32 = 16;
/// Coordinates from which on there is no fixed point.
const FIXED_MAX: f64 = 32_768.0;

tiers! {
    /// Draws the pixels, each of which is the bytes of the picture's pixel at its place.
    pub(super) fn draw(job: &Job<'_, u8>, out: &mut [u8]) = draw_body
}

#[inline(always)]
fn draw_body(job: &Job<'_, u8>, out: &mut [u8]) {
    match job.map {
        Map::Affine(matrix) if matrix[1] == 0.0 && matrix[3] == 0.0 => scaled(job, matrix, out),
        Map::Affine(matrix) => {
            let height = out.len() / (job.width * job.image.channels).max(1);
            match Fixed::of(matrix, [job.width, height]) {
                Some(fixed) if Memory::of(job.image).fits() => shifted(job, fixed, out),
                _ => added(job, matrix, out),
            }
        }
        _ => located(job, out),
    }
}

/// Rows stay rows: the columns are looked up once. Places are summed up, as Pillow does.
#[inline(always)]
fn scaled(job: &Job<'_, u8>, matrix: [f64; 6], out: &mut [u8]) {
    let (image, size) = (job.image, job.image.channels);
    let [a, _, c, _, e, f] = matrix;
    let mut at = c + a * 0.5;
    let mut columns = Vec::with_capacity(job.width);
    for _ in 0..job.width {
        columns.push(within(at, image.width));
        at += a;
    }
    // Those within the picture are neighbours.
    let first = columns.iter().position(Option::is_some).unwrap_or(job.width);
    let offsets: Vec<i32> =
        columns[first..].iter().map_while(|it| it.map(|it| (it * size) as i32)).collect();
    let last = first + offsets.len();
    let is_copy = offsets.windows(2).all(|it| it[1] - it[0] == size as i32);

    let memory = Memory::of(image);
    let mut at = f + e * 0.5;
    for row in out.chunks_exact_mut((job.width * size).max(1)) {
        let from = within(at, image.height);
        at += e;
        let Some(y) = from.filter(|_| last > first) else {
            fill(row, job.fill);
            continue;
        };
        fill(&mut row[..first * size], job.fill);
        fill(&mut row[last * size..], job.fill);
        let to = &mut row[first * size..last * size];
        if is_copy {
            to.copy_from_slice(&image.row(y)[offsets[0] as usize..][..to.len()]);
        } else {
            let start = memory.first as isize + y as isize * memory.stride;
            copy(&memory.values[start as usize..], &offsets, size, to);
        }
    }
}

/// The pixel in which a place lies, of so many.
fn within(place: f64, len: usize) -> Option<usize> {
    (place >= 0.0 && place < len as f64).then_some(place as usize)
}

/// A map in fixed point: the place of the first pixel of a row, and how it moves from pixel to pixel, and from row to
/// row; for columns and for rows of the picture.
#[derive(Clone, Copy)]
struct Fixed {
    first: [i32; 2],
    right: [i32; 2],
    down: [i32; 2],
}

impl Fixed {
    /// Nothing where a corner is too far away.
    fn of([a, b, c, d, e, f]: [f64; 6], [width, height]: [usize; 2]) -> Option<Self> {
        let near = |x: usize, y: usize| {
            let (x, y) = (x as f64, y as f64);
            (x * a + y * b + c).abs() < FIXED_MAX && (x * d + y * e + f).abs() < FIXED_MAX
        };
        let all = near(0, 0) && near(width, height) && near(0, height) && near(width, 0);
        // Of a result one pixel wide, what leads to the next one may be beyond 32 bits, and does not matter.
        let fixed = |it: f64| (it * f64::from(1 << BITS) + 0.5).floor() as i64 as i32;
        all.then(|| Self {
            first: [fixed(c + a * 0.5 + b * 0.5), fixed(f + d * 0.5 + e * 0.5)],
            right: [fixed(a), fixed(d)],
            down: [fixed(b), fixed(e)],
        })
    }
}

/// Where the pixels of a block lie in memory, and whether they are within the picture.
struct Offsets {
    offsets: [i32; LEN],
    inside: [u8; LEN],
}

#[inline(always)]
fn shifted(job: &Job<'_, u8>, fixed: Fixed, out: &mut [u8]) {
    let (image, size) = (job.image, job.image.channels);
    let memory = Memory::of(image);
    let mut block = Offsets { offsets: [0; LEN], inside: [0; LEN] };
    let lay = Lay {
        sides: [image.width as u32, image.height as u32],
        first: memory.first as i32,
        stride: memory.stride as i32,
        pixel: size as i32,
    };
    let mut at = fixed.first;
    for row in out.chunks_exact_mut((job.width * size).max(1)) {
        let mut start = at;
        for part in row.chunks_mut(LEN * size) {
            step(&lay, start, fixed.right, &mut block);
            paint(job, &memory, &block, part);
            start =
                [0, 1].map(|it| start[it].wrapping_add(fixed.right[it].wrapping_mul(LEN as i32)));
        }
        at = [0, 1].map(|it| at[it].wrapping_add(fixed.down[it]));
    }
}

/// How the pixels of a picture lie in memory.
struct Lay {
    sides: [u32; 2],
    first: i32,
    stride: i32,
    pixel: i32,
}

/// Finds where the pixels from `start` on lie.
#[inline(always)]
fn step(lay: &Lay, start: [i32; 2], right: [i32; 2], block: &mut Offsets) {
    for i in 0..LEN {
        let far = i as i32;
        let column = start[0].wrapping_add(right[0].wrapping_mul(far)) >> BITS;
        let row = start[1].wrapping_add(right[1].wrapping_mul(far)) >> BITS;
        block.inside[i] =
            u8::from(((column as u32) < lay.sides[0]) & ((row as u32) < lay.sides[1]));
        block.offsets[i] = row
            .wrapping_mul(lay.stride)
            .wrapping_add(column.wrapping_mul(lay.pixel))
            .wrapping_add(lay.first);
    }
}

/// Writes the pixels of a block.
#[inline(always)]
fn paint(job: &Job<'_, u8>, memory: &Memory<'_, u8>, block: &Offsets, out: &mut [u8]) {
    let size = job.image.channels;
    let (n, mut from) = (out.len() / size, 0);
    while from < n {
        let inside = block.inside[from];
        let to = from + run_of(&block.inside[from..n], inside);
        let part = &mut out[from * size..to * size];
        match inside {
            0 => fill(part, job.fill),
            _ => copy(memory.values, &block.offsets[from..to], size, part),
        }
        from = to;
    }
}

/// Copies pixels of so many bytes, each of which lies where its offset says.
#[inline(always)]
fn copy(from: &[u8], offsets: &[i32], size: usize, out: &mut [u8]) {
    match size {
        1 => copy_each::<1>(from, offsets, out),
        2 => copy_each::<2>(from, offsets, out),
        3 => copy_threes(from, offsets, out),
        4 => copy_each::<4>(from, offsets, out),
        8 => copy_each::<8>(from, offsets, out),
        12 => copy_each::<12>(from, offsets, out),
        16 => copy_each::<16>(from, offsets, out),
        _ => {
            for (to, at) in out.chunks_exact_mut(size).zip(offsets) {
                to.copy_from_slice(&from[*at as usize..][..size]);
            }
        }
    }
}

#[inline(always)]
fn copy_each<const SIZE: usize>(from: &[u8], offsets: &[i32], out: &mut [u8]) {
    let (out, _) = out.as_chunks_mut::<SIZE>();
    assert!(end(offsets) + SIZE <= from.len(), "the pixels lie in the picture");
    for (to, at) in out.iter_mut().zip(offsets) {
        // SAFETY: there are `SIZE` bytes from there on.
        *to = unsafe { from.as_ptr().add(*at as u32 as usize).cast::<[u8; SIZE]>().read() };
    }
}

/// Pixels of three bytes are copied as four, the last of which the next pixel overwrites.
#[inline(always)]
fn copy_threes(from: &[u8], offsets: &[i32], out: &mut [u8]) {
    // The last pixel of the result has no next one, and the very last one in memory no fourth byte.
    let n = match end(offsets) + 4 <= from.len() {
        true => offsets.len().min(out.len() / 3).saturating_sub(1),
        false => 0,
    };
    for (i, at) in offsets[..n].iter().enumerate() {
        // SAFETY: there are four bytes from there on, and in `out`, which has room for another pixel.
        unsafe {
            let four = from.as_ptr().add(*at as u32 as usize).cast::<[u8; 4]>().read();
            out.as_mut_ptr().add(3 * i).cast::<[u8; 4]>().write(four);
        }
    }
    copy_each::<3>(from, &offsets[n..], &mut out[3 * n..]);
}

/// The greatest of these offsets.
#[inline(always)]
fn end(offsets: &[i32]) -> usize {
    offsets.iter().fold(0, |most, at| most.max(*at as u32)) as usize
}

/// Places are summed up in `f64`: for what fixed point cannot hold.
#[inline(always)]
fn added(job: &Job<'_, u8>, [a, b, c, d, e, f]: [f64; 6], out: &mut [u8]) {
    let mut first = [c + a * 0.5 + b * 0.5, f + d * 0.5 + e * 0.5];
    for row in out.chunks_exact_mut((job.width * job.image.channels).max(1)) {
        let mut at = first;
        for pixel in row.chunks_exact_mut(job.image.channels) {
            look_up(job, at, pixel);
            at = [at[0] + a, at[1] + d];
        }
        first = [first[0] + b, first[1] + e];
    }
}

/// The places of any other map.
#[inline(always)]
fn located(job: &Job<'_, u8>, out: &mut [u8]) {
    let (image, size) = (job.image, job.image.channels);
    let memory = Memory::of(image);
    let sides = [image.width, image.height];
    let limits = Limits {
        shift: 0.0,
        inside: sides.map(|it| 0.0..it as f64),
        before: 0,
        inner: sides.map(|it| if memory.fits() { it as u32 } else { 0 }),
        first: memory.first as i32,
        stride: memory.stride as i32,
        pixel: size as i32,
    };
    let goes_on = matches!(job.map, Map::Field(_));
    let mut block = Block::new();
    for (y, row) in out.chunks_exact_mut((job.width * size).max(1)).enumerate() {
        for (number, part) in row.chunks_mut(LEN * size).enumerate() {
            let n = part.len() / size;
            block.place(&job.map, (number * LEN, y), n);
            if goes_on {
                block.round();
            }
            block.locate(&limits, n);
            let mut from = 0;
            while from < n {
                let (kind, to) = block.run(from, n);
                let part = &mut part[from * size..to * size];
                match kind {
                    INNER => copy(memory.values, block.at(from, to).0, size, part),
                    EDGE => look_up_each(job, &block, from, part),
                    _ if goes_on => look_up_each(job, &block, from, part),
                    _ => fill(part, job.fill),
                }
                from = to;
            }
        }
    }
}

/// Writes the pixels from `from` of a block on, one by one.
fn look_up_each(job: &Job<'_, u8>, block: &Block, from: usize, out: &mut [u8]) {
    let (xs, ys) = block.both();
    let places = xs[from..].iter().zip(&ys[from..]);
    for ((x, y), pixel) in places.zip(out.chunks_exact_mut(job.image.channels)) {
        look_up(job, [*x, *y], pixel);
    }
}

/// Writes the pixel at a place.
#[inline(always)]
fn look_up(job: &Job<'_, u8>, [x, y]: [f64; 2], pixel: &mut [u8]) {
    let image = job.image;
    let place = match &job.map {
        Map::Field(field) => {
            let near = |it: f64, len| {
                let it = rounded(it);
                let place = (it.abs() < super::FAR).then_some(it as i64)?;
                field.border.at(place, len)
            };
            near(x, image.width).zip(near(y, image.height))
        }
        _ => within(x, image.width).zip(within(y, image.height)),
    };
    match place {
        Some((x, y)) => pixel.copy_from_slice(&image.row(y)[x * pixel.len()..][..pixel.len()]),
        None => pixel.copy_from_slice(job.fill),
    }
}
