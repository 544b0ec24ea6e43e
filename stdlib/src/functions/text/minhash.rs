//! `minhash`: numbers that texts with many words in common are likely to share.

use crate::prelude::*;
use std::cell::RefCell;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

function! {
    /// Returns `bands` hashes of a text, of which two texts that are nearly the same are likely to have one in common.
    ///
    /// A text is the set of its shingles: each `words` words in a row, separated by white space (a shorter text is one shingle). The smallest hash of a set
    /// under a random permutation is the same for two sets with the probability of their Jaccard similarity s, the size of their
    /// intersection over that of their union (Broder 1997). `bands * rows` such minima are computed, and each band is a hash of
    /// `rows` of them: two texts have at least one band in common with a probability of 1 - (1 - s^rows)^bands (Leskovec, Rajaraman and Ullman, *Mining of
    /// Massive Datasets*, 3.4). With 14 bands of 8 rows, the default, that is 5% for s = 0.5, 56% for s = 0.7, 92% for s = 0.8 and nearly 100% for s = 0.9.
    ///
    /// `dedupe(by: minhash(text), match: any)` removes near-duplicates. Normalize texts first if case or punctuation should not count:
    /// `minhash(lower(text))`. The hashes are the same on every machine.
    ///
    /// ```pipe
    /// range(2) |> map { bands: minhash("the same words, again and again", bands: 4) }    # { bands: i64[4] }
    /// ```
    "minhash(text: str, bands: int = 14, rows: int = 8, words: int = 5) -> i64[bands]",
    // Measured: 1.3 nanoseconds a byte of English for the shingles, and 0.25 for each minimum of a shingle of 6 bytes.
    cost: Cost { ns_byte_in: 6.0, ..Cost::call(400.0) },
    result: Some(result),
}

/// Minima of a text, at the most.
const MINIMA_MAX: u64 = 4_096;
const WORDS_MAX: u64 = 64;

fn number(applied: &Applied<'_>, at: usize, name: &str, most: u64) -> Result<u64, String> {
    let number =
        applied.int(at).ok_or_else(|| format!("`{name}` must be known at compile time"))?;
    let number = u64::try_from(number).ok().filter(|it| (1..=most).contains(it));
    number.ok_or_else(|| format!("`{name}` must be 1 to {most}"))
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let bands = number(applied, 1, "bands", MINIMA_MAX)?;
    let rows = number(applied, 2, "rows", MINIMA_MAX)?;
    number(applied, 3, "words", WORDS_MAX)?;
    if bands * rows > MINIMA_MAX {
        return Err(format!("`bands * rows` must be at most {MINIMA_MAX}, found {}", bands * rows));
    }
    Ok(Type::tensor(DType::I64, &[bands]))
}

thread_local! {
    /// Hashes of the shingles of a text.
    static SHINGLES: RefCell<Vec<u32>> = RefCell::default();
}

/// Shingles that a thread keeps the room of, at the most.
const KEPT: usize = 1 << 18;

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let numbers = [1, 2, 3].map(|it| match &call.args[it] {
        Arg::Int(it) => usize::try_from(*it).unwrap_or(1),
        _ => 1,
    });
    let [bands, rows, words] = numbers;
    let permutations: Vec<[u32; 2]> = (0..bands * rows).map(permutation).collect();
    Ok(Kernel::compute(move |args, out| {
        let text = args.tensor(0).as_str();
        let out = out.tensor::<i64>(&[bands])?;
        SHINGLES.with_borrow_mut(|all| {
            all.clear();
            shingles(text, words, all);
            let mut row = Vec::with_capacity(4 * rows);
            for (band, to) in permutations.chunks_exact(rows).zip(out) {
                row.clear();
                band.iter().for_each(|it| row.extend(least(all, *it).to_le_bytes()));
                *to = xxh3_64(&row) as i64;
            }
            if all.capacity() > KEPT {
                *all = Vec::new();
            }
        });
        Ok(())
    }))
}

/// An odd factor and a summand of the permutation of a number.
fn permutation(number: usize) -> [u32; 2] {
    let bits = xxh3_64_with_seed(&(number as u64).to_le_bytes(), 0x006d_696e);
    [bits as u32 | 1, (bits >> 32) as u32]
}

/// The smallest hash of a set under a permutation of all numbers of 32 bits: both steps of it can be undone.
fn least(all: &[u32], [factor, summand]: [u32; 2]) -> u32 {
    let permuted = |it: &u32| {
        let it = (it ^ summand).wrapping_mul(factor);
        (it ^ it >> 15).wrapping_mul(0x2c1b_3c6d)
    };
    all.iter().map(permuted).fold(u32::MAX, u32::min)
}

/// The hashes of each so many words in a row.
fn shingles(text: &str, words: usize, to: &mut Vec<u32>) {
    // Of the last words, in the order of a ring.
    let mut last = [0_u64; WORDS_MAX as usize];
    let mut seen = 0;
    let joined = |last: &[u64; WORDS_MAX as usize], from: usize, until: usize| {
        let each = (from..until).map(|it| last[it % words]);
        let all = each
            .fold(0_u64, |all, it| (all ^ it).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29));
        (all ^ all >> 32) as u32
    };
    for word in text.split_whitespace() {
        last[seen % words] = xxh3_64(word.as_bytes());
        seen += 1;
        if seen >= words {
            to.push(joined(&last, seen - words, seen));
        }
    }
    if seen < words {
        to.push(joined(&last, 0, seen));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::Trial;
    use std::collections::BTreeSet;

    fn bands(text: &str, [bands, rows, words]: [i64; 3]) -> Vec<i64> {
        let numbers = [bands, rows, words].map(Arg::Int);
        let trial = Trial::of(&ENTRY).text(text);
        numbers.into_iter().fold(trial, Trial::arg).run().unwrap().to_vec()
    }

    /// So many words of which the share `same` is that of the other text.
    fn two(n: usize, same: usize) -> [String; 2] {
        ["a", "b"].map(|own| {
            let word = |it: usize| if it < same { format!("w{it}") } else { format!("{own}{it}") };
            (0..n).map(word).collect::<Vec<_>>().join(" ")
        })
    }

    /// Of sets of words, since a shingle of one word is that word.
    #[test]
    fn as_many_minima_are_equal_as_sets_have_words_in_common() {
        for (n, same) in [(300, 0), (300, 100), (300, 200), (300, 270), (300, 300)] {
            let texts = two(n, same);
            let sets = texts.each_ref().map(|it| it.split(' ').collect::<BTreeSet<_>>());
            let union = sets[0].union(&sets[1]).count() as f64;
            let similarity = sets[0].intersection(&sets[1]).count() as f64 / union;
            let [a, b] = texts.map(|it| bands(&it, [2_000, 1, 1]));
            let equal = a.iter().zip(&b).filter(|it| it.0 == it.1).count() as f64 / 2_000.0;
            // Four standard deviations of a share of 2,000.
            let most = 4.0 * (similarity * (1.0 - similarity) / 2_000.0).sqrt();
            assert!((equal - similarity).abs() <= most, "{equal} and {similarity}");
        }
    }

    #[test]
    fn nearly_equal_texts_share_a_band_and_others_none() {
        let share = |same: usize| {
            let [a, b] = two(400, same).map(|it| bands(&it, [14, 8, 5]));
            a.iter().zip(&b).filter(|it| it.0 == it.1).count()
        };
        assert!(share(390) >= 3 && share(100) == 0);
        assert_eq!(bands("", [3, 2, 5]), bands(" \n", [3, 2, 5]));
        assert_eq!(bands("a  b\tc", [3, 2, 5]), bands("a b c", [3, 2, 5]));
        assert_ne!(bands("a b c", [3, 2, 5]), bands("c b a", [3, 2, 5]));
    }
}
