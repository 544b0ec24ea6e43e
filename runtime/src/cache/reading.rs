//! What it takes of a core to read stored values that the page cache holds, measured here.

use crate::os;
use std::hint::black_box;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Bytes of a value: those of a small picture.
const VALUE: usize = 256 << 10;
/// Values that are read, and rooms that they are read into: no cache of a core holds either.
const VALUES: usize = 64;
const ROOMS: usize = 32;

/// Nanoseconds of a core to read a byte of a stored value and to check it; none where the system cannot tell.
///
/// It takes about 15 ms, and 24 MiB of memory meanwhile.
pub fn read_ns() -> Option<f64> {
    let file = os::file_in_memory((VALUES * VALUE) as u64)?;
    let mut rooms = vec![1; ROOMS * VALUE];
    let written = (0..VALUES)
        .try_for_each(|it| os::write_all_at(&file, &rooms[..VALUE], (it * VALUE) as u64));
    written.ok()?;
    let mut spent = Vec::with_capacity(2 * VALUES);
    for it in 0..2 * VALUES {
        let room = &mut rooms[it % ROOMS * VALUE..][..VALUE];
        // Not one after the other, as records are shuffled: 37 has no divisor in common with their number.
        let offset = it * 37 % VALUES * VALUE;
        let from = os::thread_cpu()?;
        os::read_exact_at(&file, room, offset as u64).ok()?;
        black_box(xxh3_64_with_seed(room, 0));
        spent.push(os::thread_cpu()?.saturating_sub(from));
    }
    // The first time round costs more, and comes once.
    let spent = &mut spent[VALUES..];
    spent.sort_unstable();
    Some(spent[VALUES / 2].as_secs_f64() * 1e9 / VALUE as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From a tenth of what memory of 2020 gives to ten times that.
    #[test]
    fn a_byte_takes_a_part_of_a_nanosecond() {
        let found = read_ns();
        assert!(found.is_none_or(|it| (0.01..10.0).contains(&it)), "{found:?}");
    }
}
