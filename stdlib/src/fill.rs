//! The same few bytes, over and over.

use runtime::far;

/// So many bytes lie in the nearest cache, and are copied from there.
const NEAR: usize = 4 << 10;

/// Fills `room` with `element` after `element`; a rest that is shorter than one is left as it is.
///
/// What is filled first is copied behind itself: an element at a time costs a call for every few bytes. Where it
/// `is_far`, most goes past the caches.
pub(crate) fn fill_with(room: &mut [u8], element: &[u8], is_far: bool) {
    if element.is_empty() || room.len() < element.len() {
        return;
    }
    let whole = room.len() - room.len() % element.len();
    let near = (NEAR / element.len()).max(1) * element.len();
    let (first, others) = room[..whole].split_at_mut(near.min(whole));
    first[..element.len()].copy_from_slice(element);
    let mut filled = element.len();
    while filled < first.len() {
        let n = filled.min(first.len() - filled);
        first.copy_within(..n, filled);
        filled += n;
    }
    for part in others.chunks_mut(near) {
        match is_far {
            true => far::copy(part, &first[..part.len()]),
            false => part.copy_from_slice(&first[..part.len()]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fill_with;

    #[test]
    fn every_element_is_there_and_a_rest_is_left() {
        for element in [&[7_u8][..], &[1, 2, 3], &[5, 5], &[1, 2, 3, 4, 5, 6, 7, 8]] {
            for len in [0, 1, 2, 3, 7, 8, 24, 1000, 16_384, 50_001] {
                let mut room = vec![99_u8; len];
                fill_with(&mut room, element, len > 1000);
                let whole = len - len % element.len();
                let wanted = |i: usize| if i < whole { element[i % element.len()] } else { 99 };
                assert!(room.iter().enumerate().all(|(i, it)| *it == wanted(i)), "{len}");
            }
        }
        fill_with(&mut [1, 2], &[], false);
    }
}
