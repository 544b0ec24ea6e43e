//! The sets of instructions that the decoder has code for.

/// A set of instructions. Every tier decodes to the same bytes; they differ in speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tier {
    /// No vector instructions that the code names: runs everywhere.
    Plain,
    /// x86-64 with SSE2, which every such processor has.
    Sse2,
    /// x86-64 with AVX2, BMI1, BMI2 and LZCNT (Haswell, Excavator and later).
    Avx2,
}

impl Tier {
    /// All tiers, the slowest first.
    const ALL: [Tier; 3] = [Tier::Plain, Tier::Sse2, Tier::Avx2];

    /// The fastest tier of the processor that runs this.
    pub fn best() -> Tier {
        Tier::available().last().expect("the plain tier is always there")
    }

    /// The tiers that the processor has, the slowest first.
    pub fn available() -> impl Iterator<Item = Tier> {
        Tier::ALL.into_iter().filter(|it| it.is_available())
    }

    /// Whether the processor that runs this has the tier.
    pub fn is_available(self) -> bool {
        match self {
            Tier::Plain => true,
            #[cfg(target_arch = "x86_64")]
            Tier::Sse2 => true,
            #[cfg(target_arch = "x86_64")]
            Tier::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("bmi1")
                    && is_x86_feature_detected!("bmi2")
                    && is_x86_feature_detected!("lzcnt")
            }
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Tier;

    #[test]
    fn the_plain_tier_comes_first_and_the_best_one_last() {
        let tiers: Vec<Tier> = Tier::available().collect();
        assert_eq!((tiers[0], tiers[tiers.len() - 1]), (Tier::Plain, Tier::best()));
    }
}
