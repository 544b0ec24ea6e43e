//! The ids of the records of files (`semantics.md`, 5), many at a time.

use crate::mix;

/// Puts in the place of each record's number in a file its id: of the source at `place`, in the file of this `key`.
///
/// It is `mix(place, mix(key, number))`. A source of small rows spends more time on their ids than on copying them, so
/// they are computed side by side.
pub fn ids_of(place: u64, key: u64, numbers: &mut [u64]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512dq") && is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has it.
        return unsafe { avx512(place, key, numbers) };
    }
    plain(place, key, numbers);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq")]
fn avx512(place: u64, key: u64, numbers: &mut [u64]) {
    plain(place, key, numbers);
}

#[inline(always)]
fn plain(place: u64, key: u64, numbers: &mut [u64]) {
    numbers.iter_mut().for_each(|it| *it = mix(place, mix(key, *it)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_those_of_one_record() {
        for n in [0, 1, 7, 8, 65, 1000] {
            let mut ids: Vec<u64> = (0..n).map(|it| it * it).collect();
            ids_of(3, u64::MAX - 5, &mut ids);
            let each = (0..n).map(|it| mix(3, mix(u64::MAX - 5, it * it)));
            assert_eq!(ids, each.collect::<Vec<_>>());
        }
    }
}
