//! Copies that go past the caches.
//!
//! A batch is larger than the caches, and read by somebody else: whole lines that are written at once need not
//! be read from memory first, and drive nothing out that is still needed.

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// Copies `from` to `to`, which are as long as each other, past the caches where the processor can.
///
/// # Panics
/// If they are not as long as each other.
pub fn copy(to: &mut [u8], from: &[u8]) {
    assert_eq!(to.len(), from.len(), "as long as each other");
    let head = to.as_ptr().align_offset(LINE).min(to.len());
    let (to_head, to) = to.split_at_mut(head);
    let (from_head, from) = from.split_at(head);
    to_head.copy_from_slice(from_head);
    let (lines, rest) = to.as_chunks_mut::<LINE>();
    let (from, from_rest) = from.as_chunks::<LINE>();
    copy_lines(lines, from);
    rest.copy_from_slice(from_rest);
}

/// `to` begins where a line does.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn copy_lines(to: &mut [[u8; LINE]], from: &[[u8; LINE]]) {
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, and `to` begins where a line does.
        unsafe { copy_lines_avx2(to, from) }
    } else {
        to.copy_from_slice(from);
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn copy_lines(to: &mut [[u8; LINE]], from: &[[u8; LINE]]) {
    to.copy_from_slice(from);
}

/// # Safety
/// The processor has AVX2, and `to` is aligned to a line of the cache.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx2")]
unsafe fn copy_lines_avx2(to: &mut [[u8; LINE]], from: &[[u8; LINE]]) {
    use std::arch::x86_64::{_mm_sfence, _mm256_loadu_si256, _mm256_stream_si256};
    for (to, from) in to.iter_mut().zip(from) {
        let (to, from) = (to.as_mut_ptr(), from.as_ptr());
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
    use super::copy;

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
}
