//! Permutations of the rows of one block, and what names the rows that went into one.

use runtime::{Philox, Tensor};
use xxhash_rust::xxh3::xxh3_64;

/// A permutation of `0..rows`, each equally likely: block `block` under `key`.
///
/// Fisher and Yates' shuffle (Durstenfeld, CACM 7 (1964), algorithm 235) on the words of Philox
/// with the block's number in place of a record's.
pub(super) fn order(key: u64, block: u64, epoch: u32, rows: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..rows as u32).collect();
    let mut words = Words::of(Philox::new(key, block, epoch));
    shuffled(&mut order, &mut || words.next());
    order
}

/// Shuffles `all`, of which there are fewer than 2³².
pub(super) fn shuffle<T>(all: &mut [T], random: &mut Philox) {
    shuffled(all, &mut || random.next_u32());
}

fn shuffled<T>(all: &mut [T], word: &mut impl FnMut() -> u32) {
    for last in (1..all.len()).rev() {
        let other = below(word, last as u32 + 1) as usize;
        all.swap(last, other);
    }
}

/// The words of a stream of random numbers, made many at a time.
struct Words {
    random: Philox,
    made: [u32; 256],
    next: usize,
}

impl Words {
    fn of(random: Philox) -> Self {
        Self { random, made: [0; 256], next: 256 }
    }

    #[inline]
    fn next(&mut self) -> u32 {
        if self.next == self.made.len() {
            self.random.fill(&mut self.made);
            self.next = 0;
        }
        self.next += 1;
        self.made[self.next - 1]
    }
}

/// Evenly from 0 up to, and without, `n` (Lemire, "Fast random integer generation in an
/// interval", TOMACS 29 (2019)); `Philox::below` takes twice the bits.
fn below(word: &mut impl FnMut() -> u32, n: u32) -> u32 {
    let mut wide = u64::from(word()) * u64::from(n);
    if (wide as u32) < n {
        let least = n.wrapping_neg() % n;
        while (wide as u32) < least {
            wide = u64::from(word()) * u64::from(n);
        }
    }
    (wide >> 32) as u32
}

/// The id of a record that is made of these, in order: XXH3 of their ids, little-endian.
///
/// A batch of a million small records is named as fast as it is copied.
pub(super) fn lineage(ids: &[u64]) -> u64 {
    // They lie as they are hashed, but on machines whose highest byte comes first.
    match Tensor::new(&[ids.len()], ids).as_bytes().filter(|_| cfg!(target_endian = "little")) {
        Some(bytes) => xxh3_64(bytes),
        None => xxh3_64(&ids.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<u8>>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of the six orders of three, within five standard deviations of a sixth.
    #[test]
    fn orders_are_equally_likely() {
        let mut counts = [0_u32; 6];
        for block in 0..6000 {
            let found = order(3, block, 0, 3);
            counts[(found[0] * 2 + u32::from(found[1] > found[2])) as usize] += 1;
        }
        assert!(counts.iter().all(|it| it.abs_diff(1000) < 145), "{counts:?}");
    }

    #[test]
    fn names_depend_on_the_order() {
        let ids: Vec<u64> = (0..200).collect();
        let mut swapped = ids.clone();
        swapped.swap(63, 64);
        assert_ne!(lineage(&ids), lineage(&swapped));
        assert_ne!(lineage(&ids), lineage(&ids[..199]));
    }
}
