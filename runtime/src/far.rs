//! Copies and fills of memory, past the caches where that is better.
//!
//! A batch is larger than the caches, and read by somebody else: whole lines that are written at once need not
//! be read from memory first, and drive nothing out that is still needed.

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// Copies `from` to `to` past the caches, where the processor can.
///
/// # Panics
/// If they are not as long as each other.
pub fn copy(to: &mut [u8], from: &[u8]) {
    assert_eq!(to.len(), from.len(), "as long as each other");
    let (head, lines, rest) = in_lines(to);
    let (from_head, from) = from.split_at(head.len());
    let (from, from_rest) = from.as_chunks::<LINE>();
    head.copy_from_slice(from_head);
    write_lines(lines, |i| &from[i]);
    rest.copy_from_slice(from_rest);
}

/// Fills `to` with `element` after `element`, past the caches where it `is_far` and the processor can; a rest
/// that is shorter than one is left as it is.
pub fn fill(to: &mut [u8], element: &[u8], is_far: bool) {
    let size = element.len();
    if size == 0 {
        return;
    }
    if !LINE.is_multiple_of(size) {
        return to.chunks_exact_mut(size).for_each(|it| it.copy_from_slice(element));
    }
    let whole = to.len() - to.len() % size;
    let (head, lines, rest) = in_lines(&mut to[..whole]);
    // An element may lie across the begin of a line.
    let line: [u8; LINE] = std::array::from_fn(|i| element[(head.len() + i) % size]);
    head.iter_mut().zip(element.iter().cycle()).for_each(|(to, it)| *to = *it);
    match is_far {
        true => write_lines(lines, |_| &line),
        false => lines.fill(line),
    }
    rest.copy_from_slice(&line[..rest.len()]);
}

/// What is before the first whole line, the lines, and what is behind them.
fn in_lines(bytes: &mut [u8]) -> (&mut [u8], &mut [[u8; LINE]], &mut [u8]) {
    let before = bytes.as_ptr().align_offset(LINE).min(bytes.len());
    let (head, bytes) = bytes.split_at_mut(before);
    let (lines, rest) = bytes.as_chunks_mut::<LINE>();
    (head, lines, rest)
}

/// Writes to each of `to`, which are lines of the cache, the one that `line` gives for its place.
fn write_lines<'a>(to: &mut [[u8; LINE]], line: impl Fn(usize) -> &'a [u8; LINE]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if is_x86_feature_detected!("avx2") && to.as_ptr().addr().is_multiple_of(LINE) {
        // SAFETY: the processor has AVX2, and `to` begins where a line does.
        return unsafe { write_lines_avx2(to, line) };
    }
    to.iter_mut().enumerate().for_each(|(i, to)| *to = *line(i));
}

/// # Safety
/// The processor has AVX2, and `to` is aligned to a line of the cache.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx2")]
unsafe fn write_lines_avx2<'a>(to: &mut [[u8; LINE]], line: impl Fn(usize) -> &'a [u8; LINE]) {
    use std::arch::x86_64::{_mm_sfence, _mm256_loadu_si256, _mm256_stream_si256};
    for (i, to) in to.iter_mut().enumerate() {
        let (to, from) = (to.as_mut_ptr(), line(i).as_ptr());
        // SAFETY: both halves of the two lines are theirs, and those of `to` are aligned to 32 bytes.
        unsafe {
            let halves = [0, LINE / 2].map(|it| _mm256_loadu_si256(from.add(it).cast()));
            _mm256_stream_si256(to.cast(), halves[0]);
            _mm256_stream_si256(to.add(LINE / 2).cast(), halves[1]);
        }
    }
    // What was written past the caches is there for all before anything that follows.
    _mm_sfence();
}

#[cfg(test)]
mod tests {
    use super::{copy, fill};

    #[test]
    fn every_byte_is_copied_and_no_other() {
        let from: Vec<u8> = (0..700).map(|it| (it * 7 % 251) as u8).collect();
        for len in [0, 1, 31, 63, 64, 65, 200, 500] {
            for (to_at, from_at) in [(0, 0), (1, 0), (3, 64), (32, 5), (63, 1), (64, 7)] {
                let mut to = vec![255_u8; 700];
                copy(&mut to[to_at..][..len], &from[from_at..][..len]);
                assert_eq!(to[to_at..][..len], from[from_at..][..len], "{len}");
                assert!(to[..to_at].iter().chain(&to[to_at + len..]).all(|it| *it == 255), "{len}");
            }
        }
    }

    #[test]
    fn every_element_is_there_and_a_rest_is_left() {
        for element in [&[7_u8][..], &[1, 2, 3], &[5, 6], &[1, 2, 3, 4, 5, 6, 7, 8]] {
            for (at, len) in [(0, 0), (1, 1), (3, 7), (8, 24), (0, 64), (5, 333), (62, 1000)] {
                for is_far in [false, true] {
                    let mut to = vec![99_u8; at + len];
                    fill(&mut to[at..], element, is_far);
                    let whole = len - len % element.len();
                    let wanted = |i: usize| if i < whole { element[i % element.len()] } else { 99 };
                    assert!(to[..at].iter().all(|it| *it == 99));
                    assert!((0..len).all(|i| to[at + i] == wanted(i)), "{element:?} {at} {len}");
                }
            }
        }
        fill(&mut [1, 2], &[], false);
    }
}
