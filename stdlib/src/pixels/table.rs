//! 8-bit levels that are looked up: a table of 256 for all channels, or one for each of three.

use super::{Picture, tiers};

/// What becomes of each level.
pub(crate) type Table = [u8; 256];

/// The table of `change`.
pub(crate) fn table(change: impl Fn(u8) -> u8) -> Table {
    let mut table = [0; 256];
    (0..=255).zip(&mut table).for_each(|(level, to)| *to = change(level));
    table
}

/// Writes each level of `image` as its `table` says to `out`.
pub(crate) fn look_up(image: &Picture<'_, u8>, table: &Table, out: &mut [u8]) {
    let mut to = out;
    for line in image.lines() {
        let (now, rest) = to.split_at_mut(line.len());
        one(line, table, now);
        to = rest;
    }
}

/// The same with a table for each channel of a picture of as many channels.
pub(crate) fn look_up_each(image: &Picture<'_, u8>, tables: &[Table], out: &mut [u8]) {
    assert_eq!(image.channels, tables.len(), "each channel has its table");
    let mut to = out;
    for line in image.lines() {
        let (now, rest) = to.split_at_mut(line.len());
        match tables {
            [all] => one(line, all, now),
            [a, b, c] => three(line, [a, b, c], now),
            _ => each(line, tables, now),
        }
        to = rest;
    }
}

/// Changes levels where they are.
pub(crate) fn change(levels: &mut [u8], table: &Table) {
    #[cfg(target_arch = "x86_64")]
    if wide::is_there() {
        // SAFETY: the processor has what it takes; what is read is what is written.
        return unsafe { wide::one(levels.as_ptr(), table, levels.as_mut_ptr(), levels.len()) };
    }
    levels.iter_mut().for_each(|it| *it = table[usize::from(*it)]);
}

fn one(from: &[u8], table: &Table, to: &mut [u8]) {
    assert_eq!(from.len(), to.len());
    #[cfg(target_arch = "x86_64")]
    if wide::is_there() {
        // SAFETY: the processor has what it takes, and there are so many levels on both sides.
        return unsafe { wide::one(from.as_ptr(), table, to.as_mut_ptr(), from.len()) };
    }
    // Eight levels are written at a time: half of what a loop costs is the writing.
    let ((blocks, rest), (to_blocks, to_rest)) = (from.as_chunks::<8>(), to.as_chunks_mut::<8>());
    for (to, block) in to_blocks.iter_mut().zip(blocks) {
        *to = block.map(|it| table[usize::from(it)]);
    }
    to_rest.iter_mut().zip(rest).for_each(|(to, it)| *to = table[usize::from(*it)]);
}

fn three(from: &[u8], tables: [&Table; 3], to: &mut [u8]) {
    assert_eq!(from.len(), to.len());
    #[cfg(target_arch = "x86_64")]
    if wide::is_there() {
        // SAFETY: the processor has what it takes, and there are so many levels on both sides.
        return unsafe { wide::three(from.as_ptr(), tables, to.as_mut_ptr(), from.len()) };
    }
    for (to, [a, b, c]) in to.as_chunks_mut::<3>().0.iter_mut().zip(from.as_chunks::<3>().0) {
        *to = [tables[0][usize::from(*a)], tables[1][usize::from(*b)], tables[2][usize::from(*c)]];
    }
}

fn each(from: &[u8], tables: &[Table], to: &mut [u8]) {
    let channels = tables.len().max(1);
    for (to, pixel) in to.chunks_exact_mut(channels).zip(from.chunks_exact(channels)) {
        let levels = to.iter_mut().zip(pixel).zip(tables);
        levels.for_each(|((to, it), table)| *to = table[usize::from(*it)]);
    }
}

/// 64 levels at a time, the tables in registers (AVX-512 with VBMI).
#[cfg(target_arch = "x86_64")]
mod wide {
    use super::Table;
    use std::arch::x86_64::*;

    /// Levels of a register.
    const LEVELS: usize = 64;
    /// A bit for every third level.
    const THIRDS: u64 = 0x9249_2492_4924_9249;

    pub(super) fn is_there() -> bool {
        is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vbmi")
    }

    /// # Safety
    /// The processor has AVX-512 F, BW and VBMI; `from` and `to` have `len` levels, and are the same or do not overlap.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(super) unsafe fn one(from: *const u8, table: &Table, to: *mut u8, len: usize) {
        let table = loaded(table);
        for at in (0..len).step_by(LEVELS) {
            let mask = first(len - at);
            // SAFETY: only levels before `len` are read and written.
            unsafe {
                let levels = _mm512_maskz_loadu_epi8(mask, from.add(at).cast());
                _mm512_mask_storeu_epi8(to.add(at).cast(), mask, found(&table, levels));
            }
        }
    }

    /// The same, of pixels of three levels, each with a table of its own.
    ///
    /// # Safety
    /// As for `one`.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(super) unsafe fn three(from: *const u8, tables: [&Table; 3], to: *mut u8, len: usize) {
        let tables = [loaded(tables[0]), loaded(tables[1]), loaded(tables[2])];
        // A register holds one level more than whole pixels, so the channels of the next one begin one later.
        let (mut second, mut third) = (THIRDS << 1, THIRDS << 2);
        for at in (0..len).step_by(LEVELS) {
            let mask = first(len - at);
            // SAFETY: only levels before `len` are read and written.
            unsafe {
                let levels = _mm512_maskz_loadu_epi8(mask, from.add(at).cast());
                let made = found(&tables[0], levels);
                let made = _mm512_mask_blend_epi8(second, made, found(&tables[1], levels));
                let made = _mm512_mask_blend_epi8(third, made, found(&tables[2], levels));
                _mm512_mask_storeu_epi8(to.add(at).cast(), mask, made);
            }
            (second, third) = (!(second | third), second);
        }
    }

    /// A bit for each of the next `len` levels, as many as a register has.
    fn first(len: usize) -> u64 {
        if len >= LEVELS { u64::MAX } else { (1 << len) - 1 }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn loaded(table: &Table) -> [__m512i; 4] {
        let quarters = table.as_chunks::<LEVELS>().0;
        // SAFETY: each is as long as a register.
        [0, 1, 2, 3].map(|it| unsafe { _mm512_loadu_si512(quarters[it].as_ptr().cast()) })
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn found(table: &[__m512i; 4], levels: __m512i) -> __m512i {
        let dark = _mm512_permutex2var_epi8(table[0], levels, table[1]);
        let light = _mm512_permutex2var_epi8(table[2], levels, table[3]);
        _mm512_mask_blend_epi8(_mm512_movepi8_mask(levels), dark, light)
    }
}

/// Levels that are looked at together for the extremes: as many of each of one channel or of three.
const ABREAST: usize = 192;

/// The least and the greatest level of each channel of a picture of one or three; 255 and 0 where there is none.
pub(crate) fn extremes(image: &Picture<'_, u8>) -> [(u8, u8); 3] {
    let (mut least, mut most) = ([255; ABREAST], [0; ABREAST]);
    for line in image.lines() {
        extremes_abreast(line, &mut least, &mut most);
    }
    [0, 1, 2].map(|channel| {
        let of = |all: [u8; ABREAST]| all.into_iter().skip(channel).step_by(image.channels.max(1));
        (of(least).min().unwrap_or(255), of(most).max().unwrap_or(0))
    })
}

tiers! {
    /// The least and the greatest of all levels that stand at the same place of a block.
    fn extremes_abreast(levels: &[u8], least: &mut [u8; ABREAST], most: &mut [u8; ABREAST]) = extremes_abreast_body
}

#[inline(always)]
fn extremes_abreast_body(levels: &[u8], least: &mut [u8; ABREAST], most: &mut [u8; ABREAST]) {
    let (blocks, rest) = levels.as_chunks::<ABREAST>();
    let (mut low, mut high) = (*least, *most);
    for block in blocks {
        for i in 0..ABREAST {
            low[i] = low[i].min(block[i]);
            high[i] = high[i].max(block[i]);
        }
    }
    for (i, level) in rest.iter().enumerate() {
        low[i] = low[i].min(*level);
        high[i] = high[i].max(*level);
    }
    (*least, *most) = (low, high);
}

/// How often each level occurs.
pub(crate) type Histogram = [u64; 256];

/// How often each level occurs in each channel of a picture of one or three.
///
/// Neighbours are counted apart, so that an increment need not wait for one of the same level just before.
pub(crate) fn histograms(image: &Picture<'_, u8>) -> [Histogram; 3] {
    let mut counts = [[0_u64; 256]; 6];
    for line in image.lines() {
        let (blocks, rest) = line.as_chunks::<6>();
        for block in blocks {
            (0..6).for_each(|i| counts[i][usize::from(block[i])] += 1);
        }
        rest.iter().zip(&mut counts).for_each(|(it, counts)| counts[usize::from(*it)] += 1);
    }
    let [mut first, mut second, mut third, rest @ ..] = counts;
    add(&mut first, &rest[0]);
    add(&mut second, &rest[1]);
    add(&mut third, &rest[2]);
    if image.channels == 1 {
        add(&mut first, &second);
        add(&mut first, &third);
    }
    [first, second, third]
}

fn add(counts: &mut Histogram, more: &Histogram) {
    counts.iter_mut().zip(more).for_each(|(to, it)| *to += it);
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtime::Tensor;

    fn levels(n: usize) -> Vec<u8> {
        (0..n as u64).map(|it| (runtime::mix(5, it) >> 56) as u8).collect()
    }

    #[test]
    fn every_length_and_number_of_channels_is_looked_up() {
        let all: Vec<Table> =
            (0..5).map(|k| table(|it| it.wrapping_mul(7 + 2 * k).wrapping_add(k))).collect();
        for channels in 1..=5 {
            for pixels in [0, 1, 5, 21, 22, 64, 65, 130, 331] {
                let from = levels(pixels * channels);
                let shape = [1, pixels, channels];
                let tensor = Tensor::new(&shape, &from);
                let image = Picture::of(&tensor).expect("it lies in one piece");
                let mut found = vec![0; from.len()];
                look_up_each(&image, &all[..channels], &mut found);
                let expected: Vec<u8> = from
                    .iter()
                    .enumerate()
                    .map(|(i, it)| all[i % channels][usize::from(*it)])
                    .collect();
                assert_eq!(found, expected, "{pixels} x {channels}");

                look_up(&image, &all[3], &mut found);
                let expected: Vec<u8> = from.iter().map(|it| all[3][usize::from(*it)]).collect();
                assert_eq!(found, expected, "{pixels} x {channels}");
                let mut there = from.clone();
                change(&mut there, &all[3]);
                assert_eq!(there, expected, "{pixels} x {channels}");
            }
        }
    }

    #[test]
    fn counts_and_extremes_are_those_of_a_plain_loop() {
        for channels in [1, 3] {
            for pixels in [0, 1, 2, 63, 64, 65, 321] {
                let from: Vec<u8> = levels(pixels * channels).iter().map(|it| it / 2 + 9).collect();
                let shape = [1, pixels, channels];
                let tensor = Tensor::new(&shape, &from);
                let image = Picture::of(&tensor).expect("it lies in one piece");
                for channel in 0..channels {
                    let mut counts = [0; 256];
                    let of_channel = || from.iter().skip(channel).step_by(channels);
                    of_channel().for_each(|it| counts[usize::from(*it)] += 1);
                    assert_eq!(histograms(&image)[channel], counts);
                    let least = of_channel().min().copied().unwrap_or(255);
                    let most = of_channel().max().copied().unwrap_or(0);
                    assert_eq!(extremes(&image)[channel], (least, most));
                }
            }
        }
    }
}
