//! Random numbers that are a pure function of where they are used.
//!
//! Two kinds: [`Chance`], a stream for drawing one picture, and [`even`], which spreads the
//! properties of a whole set so evenly that every stretch of it has nearly the same statistics.

/// A stream of random numbers (SplitMix64; Steele, Lea and Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
pub(crate) struct Chance {
    state: u64,
}

impl Chance {
    /// The stream of picture `index` in the set `seed`.
    pub(crate) fn new(seed: u64, index: u64) -> Self {
        Chance { state: mixed(mixed(seed ^ 0x5a_4d_50_4c).wrapping_add(index)) }
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.state)
    }

    /// Even in `0..1`.
    pub(crate) fn unit(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1_u32 << 24) as f32
    }

    /// Even between two bounds.
    pub(crate) fn within(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.unit()
    }

    /// A whole number from `low` to `high`, both included.
    pub(crate) fn whole(&mut self, low: u64, high: u64) -> u64 {
        low + self.bits() % (high - low + 1)
    }

    pub(crate) fn happens(&mut self, probability: f32) -> bool {
        self.unit() < probability
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[(self.bits() % from.len() as u64) as usize]
    }

    /// Adds white noise of the standard deviation `sigma` (its distribution is even).
    pub(crate) fn add_white(&mut self, to: &mut [f32], sigma: f32) {
        // An even distribution of width 1 has the variance 1/12.
        let step = sigma * 3.464_101_6 / 65_536.0;
        for values in to.chunks_mut(4) {
            let bits = self.bits();
            for (i, value) in values.iter_mut().enumerate() {
                let sixteen = (bits >> (16 * i)) as u16;
                *value += (f32::from(sixteen) - 32_767.5) * step;
            }
        }
    }
}

/// A number in `0..1` for a cell of a grid, the same whenever it is asked for.
pub(crate) fn cell(seed: u64, x: i64, y: i64) -> f32 {
    let bits = mixed(seed ^ mixed((x as u64) << 32 ^ (y as u64 & 0xffff_ffff)));
    (bits >> 40) as f32 / (1_u32 << 24) as f32
}

/// The share of coordinate `axis` (0 to 3) that picture `index` gets: evenly spread over `0..1`.
///
/// An additive recurrence: any run of pictures covers every interval nearly in proportion, and
/// any two axes together cover the square as well (Richtmyer 1951; Niederreiter 1992, chapter 3).
pub(crate) fn even(seed: u64, index: u64, axis: usize) -> f64 {
    // Fractions of roots whose continued fractions have small terms: the golden ratio, √2, √3
    // and (√13 - 1) / 2.
    const STEPS: [f64; 4] = [
        0.618_033_988_749_894_8,
        0.414_213_562_373_095_1,
        0.732_050_807_568_877_2,
        0.302_775_637_731_994_6,
    ];
    let start =
        (mixed(seed.wrapping_add(axis as u64) ^ 0xe7e7) >> 11) as f64 / (1_u64 << 53) as f64;
    (start + (index % (1 << 40)) as f64 * STEPS[axis]).fract()
}

fn mixed(bits: u64) -> u64 {
    let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}
