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

    /// As many next numbers of 32 bits as there is room for: sixteen blocks at a time.
    pub fn fill(&mut self, to: &mut [u32]) {
        let head = usize::from(self.left).min(to.len());
        let (head, rest) = to.split_at_mut(head);
        head.iter_mut().for_each(|it| *it = self.next_u32());
        let (whole, tail) = rest.split_at_mut(rest.len() - rest.len() % (4 * LANES));
        let counter = [self.id as u32, (self.id >> 32) as u32, self.epoch, self.draw];
        fill_blocks(counter, self.key, whole);
        self.draw = self.draw.wrapping_add((whole.len() / 4) as u32);
        tail.iter_mut().for_each(|it| *it = self.next_u32());
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

/// Blocks that are computed side by side.
const LANES: usize = 16;

/// Fills `to`, groups of [`LANES`] blocks, with the words of the blocks from `counter` on.
fn fill_blocks(counter: [u32; 4], key: [u32; 2], to: &mut [u32]) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has it.
            return unsafe { fill_blocks_avx512(counter, key, to) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has it.
            return unsafe { fill_blocks_avx2(counter, key, to) };
        }
    }
    fill_blocks_plain(counter, key, to);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn fill_blocks_avx512(counter: [u32; 4], key: [u32; 2], to: &mut [u32]) {
    fill_blocks_plain(counter, key, to);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn fill_blocks_avx2(counter: [u32; 4], key: [u32; 2], to: &mut [u32]) {
    fill_blocks_plain(counter, key, to);
}

#[inline(always)]
fn fill_blocks_plain(counter: [u32; 4], key: [u32; 2], to: &mut [u32]) {
    let mut draw = counter[3];
    for group in to.chunks_exact_mut(4 * LANES) {
        let mut counters = counter.map(|word| [u64::from(word); LANES]);
        for (lane, it) in counters[3].iter_mut().enumerate() {
            *it = u64::from(draw.wrapping_add(lane as u32));
        }
        philox_lanes(&mut counters, key);
        for (at, block) in group.chunks_exact_mut(4).enumerate() {
            block.iter_mut().zip(&counters).for_each(|(to, from)| *to = from[at] as u32);
        }
        draw = draw.wrapping_add(LANES as u32);
    }
}

/// Blocks side by side, word by word. Each word of 32 bits has 64, as many as its product, so that
/// compilers see vector instructions.
#[inline(always)]
fn philox_lanes(counter: &mut [[u64; LANES]; 4], mut key: [u32; 2]) {
    const LOW: u64 = u32::MAX as u64;
    let [c0, c1, c2, c3] = counter;
    for _ in 0..10 {
        for i in 0..LANES {
            let a = (c0[i] & LOW) * 0xD251_1F53;
            let b = (c2[i] & LOW) * 0xCD9E_8D57;
            c0[i] = (b >> 32) ^ c1[i] ^ u64::from(key[0]);
            c1[i] = b & LOW;
            c2[i] = (a >> 32) ^ c3[i] ^ u64::from(key[1]);
            c3[i] = a & LOW;
        }
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
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
        for (before, n) in [(0, 0), (1, 2), (3, 64), (2, 65), (5, 200)] {
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
