//! Random numbers that depend on nothing but what they are for.
//!
//! Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11):
//! key = hash(seed, place), counter = (record id, epoch, number of the draw).

use plan::mix;

/// A stream of random numbers for one record at one place of the program.
#[derive(Debug, Clone)]
pub struct Philox {
    key: [u32; 2],
    id: u64,
    epoch: u32,
    draw: u32,
    block: [u32; 4],
    left: u8,
}

impl Philox {
    /// The numbers of record `id` in `epoch` under `key`.
    pub fn new(key: u64, id: u64, epoch: u32) -> Self {
        Self { key: [key as u32, (key >> 32) as u32], id, epoch, draw: 0, block: [0; 4], left: 0 }
    }

    /// The next 32 bits.
    pub fn next_u32(&mut self) -> u32 {
        if self.left == 0 {
            let counter = [self.id as u32, (self.id >> 32) as u32, self.epoch, self.draw];
            self.block = philox4x32_10(counter, self.key);
            self.draw = self.draw.wrapping_add(1);
            self.left = 4;
        }
        self.left -= 1;
        self.block[usize::from(3 - self.left)]
    }

    /// As many next numbers of 32 bits as there is room for: eight blocks at a time.
    pub fn fill(&mut self, to: &mut [u32]) {
        const LANES: usize = 8;
        let head = usize::from(self.left).min(to.len());
        let (head, rest) = to.split_at_mut(head);
        head.iter_mut().for_each(|it| *it = self.next_u32());
        let mut groups = rest.chunks_exact_mut(4 * LANES);
        for group in &mut groups {
            let lane = |lane: u32| self.draw.wrapping_add(lane);
            let same = |word: u32| [word; LANES];
            let counters = [
                same(self.id as u32),
                same((self.id >> 32) as u32),
                same(self.epoch),
                std::array::from_fn(|it| lane(it as u32)),
            ];
            let blocks = philox_lanes(counters, self.key);
            for (at, block) in group.chunks_exact_mut(4).enumerate() {
                block.iter_mut().zip(&blocks).for_each(|(to, from)| *to = from[at]);
            }
            self.draw = self.draw.wrapping_add(LANES as u32);
        }
        groups.into_remainder().iter_mut().for_each(|it| *it = self.next_u32());
    }

    /// The next 64 bits, low half first.
    pub fn next_u64(&mut self) -> u64 {
        let low = u64::from(self.next_u32());
        low | u64::from(self.next_u32()) << 32
    }

    /// Evenly from 0 up to, and without, 1: 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Evenly from `low` to `high`.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Evenly from 0 up to, and without, `n`, which is not 0 (Lemire's multiplication, with rejection).
    pub fn below(&mut self, n: u64) -> u64 {
        let threshold = n.wrapping_neg() % n;
        loop {
            let wide = u128::from(self.next_u64()) * u128::from(n);
            if wide as u64 >= threshold {
                return (wide >> 64) as u64;
            }
        }
    }

    /// Two independent numbers of the standard normal distribution (Box and Muller, 1958).
    pub fn normal(&mut self) -> (f64, f64) {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        let angle = std::f64::consts::TAU * self.unit();
        (radius * libm::cos(angle), radius * libm::sin(angle))
    }
}

/// Blocks side by side: word by word, so that a loop over them is one vector instruction.
fn philox_lanes<const N: usize>(mut counter: [[u32; N]; 4], mut key: [u32; 2]) -> [[u32; N]; 4] {
    for _ in 0..10 {
        let mut next = [[0; N]; 4];
        for i in 0..N {
            let a = u64::from(counter[0][i]) * 0xD251_1F53;
            let b = u64::from(counter[2][i]) * 0xCD9E_8D57;
            next[0][i] = (b >> 32) as u32 ^ counter[1][i] ^ key[0];
            next[1][i] = b as u32;
            next[2][i] = (a >> 32) as u32 ^ counter[3][i] ^ key[1];
            next[3][i] = a as u32;
        }
        counter = next;
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    counter
}

/// One block: ten rounds.
pub fn philox4x32_10(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let a = u64::from(counter[0]) * 0xD251_1F53;
        let b = u64::from(counter[2]) * 0xCD9E_8D57;
        counter = [
            (b >> 32) as u32 ^ counter[1] ^ key[0],
            b as u32,
            (a >> 32) as u32 ^ counter[3] ^ key[1],
            a as u32,
        ];
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    counter
}

/// A permutation of `0..n`, another for each key, without memory.
///
/// A balanced Feistel network over the next even power of two, walked until it falls into the
/// range (Black and Rogaway, CT-RSA'02): at most 4 steps are expected.
#[derive(Debug, Clone)]
pub struct Permutation {
    n: u64,
    half_bits: u32,
    keys: [u64; 6],
}

impl Permutation {
    /// The permutation of `0..n` under `key`.
    pub fn new(n: u64, key: u64) -> Self {
        let bits = 64 - n.saturating_sub(1).leading_zeros();
        let half_bits = bits.div_ceil(2).max(1);
        Self { n, half_bits, keys: std::array::from_fn(|round| mix(key, round as u64)) }
    }

    /// Where `i`, which is below `n`, goes.
    pub fn at(&self, mut i: u64) -> u64 {
        debug_assert!(i < self.n);
        loop {
            i = self.rounds(i);
            if i < self.n {
                return i;
            }
        }
    }

    fn rounds(&self, i: u64) -> u64 {
        let mask = (1_u64 << self.half_bits) - 1;
        let (mut left, mut right) = (i >> self.half_bits, i & mask);
        for key in self.keys {
            (left, right) = (right, left ^ (mix(key, right) & mask));
        }
        left << self.half_bits | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_numbers_at_once_are_the_same() {
        for (before, n) in [(0, 0), (1, 2), (3, 32), (2, 33), (5, 200)] {
            let (mut one, mut many) = (Philox::new(7, 1 << 40, 3), Philox::new(7, 1 << 40, 3));
            (0..before).for_each(|_| assert_eq!(one.next_u32(), many.next_u32()));
            let mut found = vec![0; n];
            many.fill(&mut found);
            assert!(found.into_iter().all(|it| it == one.next_u32()));
            assert_eq!(one.next_u32(), many.next_u32());
        }
    }

    /// Known answers of the authors' Random123 distribution (`kat_vectors`).
    #[test]
    fn philox_gives_the_published_numbers() {
        assert_eq!(
            philox4x32_10([0; 4], [0; 2]),
            [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
        );
        assert_eq!(
            philox4x32_10([u32::MAX; 4], [u32::MAX; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        assert_eq!(
            philox4x32_10(
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0]
            ),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn a_permutation_hits_everything_once() {
        for n in [1, 2, 3, 5, 64, 100, 1000, 4097] {
            let permutation = Permutation::new(n, 7);
            let mut hit: Vec<u64> = (0..n).map(|it| permutation.at(it)).collect();
            hit.sort_unstable();
            assert!(hit.into_iter().eq(0..n), "0..{n}");
        }
        let moved = |key| (0..100).map(|it| Permutation::new(100, key).at(it)).collect::<Vec<_>>();
        assert_ne!(moved(1), moved(2));
    }
}
