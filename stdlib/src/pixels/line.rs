//! Pictures that are blurred along a line.

use super::{Picture, border::Border, tiers};

/// A place beside a pixel, and how much it counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tap {
    /// Rows below and columns right of the pixel.
    pub(crate) place: [i64; 2],
    pub(crate) weight: f32,
}

/// What is used again.
#[derive(Debug, Default)]
pub(crate) struct Room {
    /// Rows with what lies beyond their ends, as numbers.
    rows: Vec<f32>,
    sums: Vec<f32>,
}

/// The places of a line of `size` points, a pixel apart, around a pixel; each point counts for the four pixels that it lies
/// between, by how near they are. `direction` is a step down and one to the right.
pub(crate) fn taps(size: usize, direction: [f64; 2]) -> Vec<Tap> {
    let reach = size as i64 / 2 + 1;
    let side = (2 * reach + 1) as usize;
    let mut weights = vec![0.0_f64; side * side];
    for point in 0..size {
        let at = direction.map(|it| it * (point as f64 - (size - 1) as f64 / 2.0));
        let first = at.map(f64::floor);
        let [down, right] = [at[0] - first[0], at[1] - first[1]];
        let parts =
            [(1.0 - down, 1.0 - right), (1.0 - down, right), (down, 1.0 - right), (down, right)];
        for (i, (down, right)) in parts.into_iter().enumerate() {
            let y = first[0] as i64 + i as i64 / 2 + reach;
            let x = first[1] as i64 + i as i64 % 2 + reach;
            if down * right > 0.0 {
                weights[y as usize * side + x as usize] += down * right / size as f64;
            }
        }
    }
    let tap = |(i, weight): (usize, f64)| Tap {
        place: [(i / side) as i64 - reach, (i % side) as i64 - reach],
        weight: weight as f32,
    };
    weights.into_iter().enumerate().filter(|it| it.1 > 0.0).map(tap).collect()
}

/// Writes the sum of the levels at the places of `taps` around each pixel to `out`, one place after the other, rounded half to
/// even. Beyond the border, the picture is mirrored.
pub(crate) fn blur(image: &Picture<'_, u8>, taps: &[Tap], room: &mut Room, out: &mut [u8]) {
    let (len, channels) = (image.row_len(), image.channels);
    let reach = taps.iter().flat_map(|it| it.place).map(i64::abs).max().unwrap_or(0);
    if out.is_empty() {
        return;
    }
    // As many rows as a line can reach, each in the place of the one that it follows.
    let (wide, held) = (len + 2 * reach as usize * channels, 2 * reach as usize + 1);
    room.rows.resize(held * wide, 0.0);
    room.sums.resize(len, 0.0);
    let slot = |y: i64| (y + reach) as usize % held * wide;
    for y in -reach..reach {
        widen(image, (y, reach), &mut room.rows[slot(y)..][..wide]);
    }
    for (y, to) in (0..).zip(out.chunks_exact_mut(len)) {
        widen(image, (y + reach, reach), &mut room.rows[slot(y + reach)..][..wide]);
        room.sums.fill(0.0);
        for tap in taps {
            let from = slot(y + tap.place[0]) + (reach + tap.place[1]) as usize * channels;
            add(&room.rows[from..][..len], tap.weight, &mut room.sums);
        }
        round(&room.sums, to);
    }
}

/// Copies row `y`, with `reach` pixels more at both ends, as numbers.
fn widen(image: &Picture<'_, u8>, (y, reach): (i64, i64), line: &mut [f32]) {
    let row = image.row(Border::Reflect.at(y, image.height).unwrap_or(0));
    let (channels, width) = (image.channels, image.width as i64);
    let middle = reach as usize * channels;
    let within = line[middle..].iter_mut().zip(row);
    within.for_each(|(to, level)| *to = f32::from(*level));
    for x in (-reach..0).chain(width..width + reach) {
        let from = Border::Reflect.at(x, image.width).unwrap_or(0) * channels;
        let to = &mut line[(x + reach) as usize * channels..][..channels];
        to.iter_mut().zip(&row[from..]).for_each(|(to, level)| *to = f32::from(*level));
    }
}

tiers! { fn add(from: &[f32], weight: f32, sums: &mut [f32]) = add_plain }

#[inline(always)]
fn add_plain(from: &[f32], weight: f32, sums: &mut [f32]) {
    sums.iter_mut().zip(from).for_each(|(sum, it)| *sum += it * weight);
}

tiers! { fn round(sums: &[f32], to: &mut [u8]) = round_plain }

#[inline(always)]
fn round_plain(sums: &[f32], to: &mut [u8]) {
    // Adding this and taking it away rounds half to even: 2^23 + 2^22, after which a float has no fraction.
    const WHOLE: f32 = 12_582_912.0;
    to.iter_mut().zip(sums).for_each(|(to, it)| *to = (it + WHOLE - WHOLE).clamp(0.0, 255.0) as u8);
}
