//! Where some bytes stand among others, several looked at together.
//!
//! Fields of a table and words of JSON are short: to begin a search for each takes longer than the search.

const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;

/// The places of two bytes, one after the other.
pub(crate) struct Marks<'b> {
    bytes: &'b [u8],
    wanted: [u64; 2],
    /// Where the next eight begin.
    next: usize,
    /// Where those begin that are looked at, and the highest bit of each that was found and not given yet.
    first: usize,
    found: u64,
}

impl<'b> Marks<'b> {
    #[inline]
    pub(crate) fn of(bytes: &'b [u8], wanted: [u8; 2]) -> Self {
        let wanted = wanted.map(|it| u64::from_ne_bytes([it; 8]));
        Self { bytes, wanted, next: 0, first: 0, found: 0 }
    }

    /// Looks at the next eight; `false` where there are none.
    #[inline]
    fn look(&mut self) -> bool {
        let Some(rest) = self.bytes.get(self.next..).filter(|it| !it.is_empty()) else {
            return false;
        };
        let (eight, behind) = match (rest.first_chunk(), self.bytes.last_chunk()) {
            (Some(eight), _) => (u64::from_le_bytes(*eight), 0),
            // The last ones together with some of those before, which are not looked at again.
            (None, Some(last)) => {
                let before = 8 * (8 - rest.len() as u32);
                (u64::from_le_bytes(*last) >> before, before)
            }
            (None, None) => {
                let eight = rest.iter().rev().fold(0, |all, it| all << 8 | u64::from(*it));
                (eight, 8 * (8 - rest.len() as u32))
            }
        };
        let [a, b] = self.wanted.map(|it| zeros(eight ^ it));
        self.found = (a | b) & (u64::MAX >> behind);
        (self.first, self.next) = (self.next, self.next + 8);
        true
    }
}

impl Iterator for Marks<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.found == 0 {
            if !self.look() {
                return None;
            }
        }
        let at = self.first + (self.found.trailing_zeros() / 8) as usize;
        self.found &= self.found - 1;
        Some(at)
    }
}

/// Where the first of two bytes stands from `at` on.
#[inline]
pub(crate) fn first_of(bytes: &[u8], at: usize, wanted: [u8; 2]) -> Option<usize> {
    let (blocks, rest) = bytes.get(at..)?.as_chunks();
    let mut at = at;
    for block in blocks {
        if let Some(found) = first_in(block, wanted) {
            return Some(at + found);
        }
        at += BLOCK;
    }
    rest.iter().position(|it| wanted.contains(it)).map(|it| at + it)
}

/// Calls `found` with each place of two bytes, from the first to the last: the quickest way where they are many, in
/// bytes that are not few.
#[inline]
pub(crate) fn each(bytes: &[u8], wanted: [u8; 2], mut found: impl FnMut(usize)) {
    let mut first = 0;
    let mut look = |wide: &[u8; WIDE], looked: u64| {
        let mut left = all_in(wide, wanted) & looked;
        while left != 0 {
            found(first + left.trailing_zeros() as usize);
            left &= left - 1;
        }
        first += WIDE;
    };
    let (blocks, rest) = bytes.as_chunks();
    blocks.iter().for_each(|it| look(it, u64::MAX));
    let mut last = [0; WIDE];
    last[..rest.len()].copy_from_slice(rest);
    look(&last, (1 << rest.len()) - 1);
}

/// Bytes that [`each`] looks at together: a bit for each of them.
const WIDE: usize = 64;

/// Which bytes of a block are one of two.
#[inline]
fn all_in(wide: &[u8; WIDE], wanted: [u8; 2]) -> u64 {
    let (blocks, _) = wide.as_chunks::<BLOCK>();
    let bits = blocks.iter().map(|it| u64::from(bits_in(it, wanted)));
    bits.rev().fold(0, |all, it| all << BLOCK | it)
}

/// Bytes that are looked at together.
const BLOCK: usize = 16;

/// Where the first of two bytes stands in a block.
#[inline]
fn first_in(block: &[u8; BLOCK], wanted: [u8; 2]) -> Option<usize> {
    let found = bits_in(block, wanted);
    (found != 0).then_some(found.trailing_zeros() as usize)
}

/// Which bytes of a block are one of two: the lowest bit for the first. Every x86-64 has SSE2.
#[cfg(target_arch = "x86_64")]
#[inline]
fn bits_in(block: &[u8; BLOCK], wanted: [u8; 2]) -> u16 {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8,
    };
    let all = u128::from_le_bytes(*block);
    // SAFETY: the processor has what these instructions need.
    let found = unsafe {
        let all = _mm_set_epi64x((all >> 64) as i64, all as i64);
        let [a, b] = wanted.map(|it| _mm_cmpeq_epi8(all, _mm_set1_epi8(it as i8)));
        _mm_movemask_epi8(_mm_or_si128(a, b))
    };
    found as u16
}

/// Which bytes of a block are one of two: the lowest bit for the first.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn bits_in(block: &[u8; BLOCK], wanted: [u8; 2]) -> u16 {
    // Gathers the lowest bits of eight bytes in the product's highest byte.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let all = u128::from_le_bytes(*block);
    let of = |half: u128| {
        let half = half as u64;
        let [a, b] = wanted.map(|it| zeros(half ^ u64::from_ne_bytes([it; 8])));
        (((a | b) >> 7).wrapping_mul(GATHER) >> 56) as u16
    };
    of(all >> 64) << 8 | of(all)
}

/// The highest bit of each byte that is zero.
#[inline]
fn zeros(eight: u64) -> u64 {
    !(((eight & LOW) + LOW) | eight | LOW)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_a_slow_search_finds() {
        let text: Vec<u8> = (0..600_u32).map(|it| (it * it / 7 % 251) as u8).collect();
        for (from, len) in (0..40).flat_map(|from| (0..40).map(move |len| (from * 11, len))) {
            let bytes = &text[from..from + len];
            for wanted in [[0, 1], [bytes.first().copied().unwrap_or(128), 255], [7, 7]] {
                let slow = (0..len).filter(|it| wanted.contains(&bytes[*it]));
                assert!(Marks::of(bytes, wanted).eq(slow.clone()), "{wanted:?} in {bytes:?}");
                assert!(all(bytes, wanted).into_iter().eq(slow.clone()), "{wanted:?} in {bytes:?}");
                let first = (0..=len + 1).map(|it| first_of(bytes, it, wanted));
                let slow = (0..=len + 1).map(|from| slow.clone().find(|it| *it >= from));
                assert!(first.eq(slow), "the first of {wanted:?} in {bytes:?}");
            }
        }
        for len in 60..200 {
            let (bytes, wanted) = (&text[..len], [text[len], text[len + 1]]);
            let slow: Vec<usize> = (0..len).filter(|it| wanted.contains(&bytes[*it])).collect();
            assert_eq!(all(bytes, wanted), slow, "{wanted:?} in {bytes:?}");
        }
    }

    fn all(bytes: &[u8], wanted: [u8; 2]) -> Vec<usize> {
        let mut all = Vec::new();
        each(bytes, wanted, |it| all.push(it));
        all
    }
}
