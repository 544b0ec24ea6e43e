//! How identities are made: of records, places, keys (`semantics.md`, 5 and 6).

/// Mixes two numbers into one: for record ids, places, keys and seeds.
///
/// The finaliser of SplitMix64 (Steele et al., OOPSLA'14) on a sum that is not symmetric.
#[inline]
#[must_use]
pub fn mix(a: u64, b: u64) -> u64 {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut z = a.wrapping_mul(GOLDEN).wrapping_add(b).wrapping_add(GOLDEN);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The `b` of which [`mix`] has made `mixed` with this `a`: where the parts of an id are few, it says which.
#[must_use]
pub fn unmix(a: u64, mixed: u64) -> u64 {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    // The steps of `mix` backwards: each shift is undone by two, each factor by its inverse modulo 2⁶⁴.
    let z = mixed ^ (mixed >> 31) ^ (mixed >> 62);
    let z = z.wrapping_mul(0x3196_42B2_D24D_8EC3);
    let z = z ^ (z >> 27) ^ (z >> 54);
    let z = z.wrapping_mul(0x96DE_1B17_3F11_9089);
    let z = z ^ (z >> 30) ^ (z >> 60);
    z.wrapping_sub(GOLDEN).wrapping_sub(a.wrapping_mul(GOLDEN))
}

/// A number for bytes: XXH3, 64 bits, seed 0.
#[must_use]
pub fn hash(bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_matters() {
        assert_ne!(mix(1, 2), mix(2, 1));
    }

    #[test]
    fn what_is_mixed_can_be_told_apart() {
        for (a, b) in [(0, 0), (1, 2), (u64::MAX, 7), (0x1234_5678, u64::MAX)] {
            assert_eq!(unmix(a, mix(a, b)), b);
        }
    }

    /// The value that the reference implementation (xxHash 0.8) gives for no bytes.
    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(hash(b""), 0x2d06_8005_38d3_94c2);
    }
}
