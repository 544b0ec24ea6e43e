//! The sets of instructions that the decoder has code for.

/// A set of instructions. Every tier decodes to the same bytes; they differ in speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tier {
    /// No vector instructions that the code names: runs everywhere.
    Plain,
    /// x86-64 with SSE2, which every such processor has.
    Sse2,
    /// x86-64 with AVX2, BMI1 and BMI2 (Haswell, Excavator and later).
    Avx2,
    /// x86-64 with AVX-512 F, BW, VL, VBMI, VBMI2 and VNNI (Ice Lake, Zen 4 and later).
    Avx512,
    /// 64-bit ARM with Advanced SIMD.
    Neon,
}

impl Tier {
    /// All tiers, the slowest first.
    const ALL: [Tier; 5] = [Tier::Plain, Tier::Neon, Tier::Sse2, Tier::Avx2, Tier::Avx512];

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
            Tier::Sse2 => is_x86_feature_detected!("sse2"),
            #[cfg(target_arch = "x86_64")]
            Tier::Avx2 => has_avx2(),
            #[cfg(target_arch = "x86_64")]
            Tier::Avx512 => has_avx512(),
            #[cfg(target_arch = "aarch64")]
            Tier::Neon => std::arch::is_aarch64_feature_detected!("neon"),
            _ => false,
        }
    }
}

/// Whether the processor has what functions of [`Tier::Avx2`] are compiled for.
#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    has_avx2()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("avx512vnni")
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
