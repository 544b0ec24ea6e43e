//! Numbers that look random and are the same every time.

/// A generator of numbers (xorshift64*, Vigna 2016).
#[derive(Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Dice that fall the same way for the same seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(plan::mix(seed, 1) | 1)
    }

    /// A number below `n`, which is at least 1.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n
    }

    /// A whole number from `low` to `high`.
    pub(crate) fn within(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1) as usize) as i64
    }

    /// One of some.
    pub(crate) fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }

    /// True `n` times in a hundred.
    pub(crate) fn percent(&mut self, n: usize) -> bool {
        self.below(100) < n
    }
}
