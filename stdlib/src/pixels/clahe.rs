//! Contrast of a picture, made equal in tiles of it (K. Zuiderveld, Contrast Limited Adaptive Histogram Equalization,
//! Graphics Gems IV, 1994), in the order of OpenCV's `CLAHE`.

use super::{Picture, border::Border};

const LEVELS: usize = 256;

/// What is used again.
#[derive(Debug, Default)]
pub(crate) struct Room {
    /// A table of levels for each tile.
    tables: Vec<[u8; LEVELS]>,
    /// For each column, the tiles left and right of it, and how much the right one counts.
    columns: Vec<Between>,
}

/// Where a row or column lies between the middles of two tiles.
#[derive(Debug, Clone, Copy)]
struct Between {
    tiles: [usize; 2],
    /// Of each of them.
    weights: [f32; 2],
}

impl Between {
    fn new(at: usize, tile: usize, tiles: usize) -> Self {
        let place = at as f32 * (1.0 / tile as f32) - 0.5;
        let before = place.floor();
        let weight = place - before;
        let last = tiles as i64 - 1;
        let tiles = [before as i64, before as i64 + 1].map(|it| it.clamp(0, last) as usize);
        Self { tiles, weights: [1.0 - weight, weight] }
    }
}

/// Writes a picture with the contrast of each of `tiles` x `tiles` parts spread, at most `limit` times as steep, to `out`;
/// each channel alone. A picture whose sides are no multiples of `tiles` is mirrored until they are.
pub(crate) fn clahe(
    image: &Picture<'_, u8>,
    (tiles, limit): (usize, f64),
    room: &mut Room,
    out: &mut [u8],
) {
    let (height, width, channels) = (image.height, image.width, image.channels);
    if out.is_empty() {
        return;
    }
    let fits = height.is_multiple_of(tiles) && width.is_multiple_of(tiles);
    // As OpenCV does it: where one side does not fit, the other one grows, too, by as many pixels as there are tiles.
    let side = |len: usize| if fits { len } else { len + tiles - len % tiles };
    let tile = [side(height) / tiles, side(width) / tiles];
    room.columns.clear();
    room.columns.extend((0..width).map(|x| Between::new(x, tile[1], tiles)));
    for channel in 0..channels {
        room.tables.clear();
        for i in 0..tiles * tiles {
            let counts = counted(image, channel, [i / tiles * tile[0], i % tiles * tile[1]], tile);
            room.tables.push(table(counts, tile[0] * tile[1], limit));
        }
        for (y, to) in out.chunks_exact_mut(width * channels).enumerate() {
            let row = image.row(y);
            let Between { tiles: [above, below], weights } = Between::new(y, tile[0], tiles);
            let tables = [above, below].map(|it| &room.tables[it * tiles..][..tiles]);
            for (x, between) in room.columns.iter().enumerate() {
                let level = usize::from(row[x * channels + channel]);
                let [upper, lower] = tables.map(|row| {
                    let [left, right] = between.tiles.map(|it| f32::from(row[it][level]));
                    left * between.weights[0] + right * between.weights[1]
                });
                let mixed = upper * weights[0] + lower * weights[1];
                to[x * channels + channel] = mixed.round_ties_even() as u8;
            }
        }
    }
}

/// How often each level is in a tile.
fn counted(
    image: &Picture<'_, u8>,
    channel: usize,
    from: [usize; 2],
    tile: [usize; 2],
) -> [u32; LEVELS] {
    let mut counts = [0; LEVELS];
    let (channels, columns) = (image.channels, from[1]..from[1] + tile[1]);
    let within = columns.start.min(image.width)..columns.end.min(image.width);
    let mirrored = |at: usize, len: usize| Border::Reflect.at(at as i64, len).unwrap_or(0);
    for y in from[0]..from[0] + tile[0] {
        let row = image.row(mirrored(y, image.height));
        let pixels = row[within.start * channels..within.end * channels].chunks_exact(channels);
        pixels.for_each(|it| counts[usize::from(it[channel])] += 1);
        for x in columns.start.max(within.end)..columns.end {
            counts[usize::from(row[mirrored(x, image.width) * channels + channel])] += 1;
        }
    }
    counts
}

/// What becomes of each level of a tile of `area` pixels.
fn table(mut counts: [u32; LEVELS], area: usize, limit: f64) -> [u8; LEVELS] {
    // What is above the limit is spread over all levels; as much as remains, evenly.
    let most = ((limit * area as f64 / LEVELS as f64) as u32).max(1);
    let over: u32 = counts.iter().map(|it| it.saturating_sub(most)).sum();
    counts.iter_mut().for_each(|it| *it = (*it).min(most) + over / LEVELS as u32);
    let left = over as usize % LEVELS;
    if let Some(step) = LEVELS.checked_div(left) {
        counts.iter_mut().step_by(step).take(left).for_each(|it| *it += 1);
    }
    let scale = (LEVELS - 1) as f32 / area as f32;
    let mut sum = 0;
    counts.map(|it| {
        sum += it;
        (sum as f32 * scale).round_ties_even() as u8
    })
}
