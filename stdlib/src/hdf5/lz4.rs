//! The filter 32004, LZ4: the length of all (`u64`), that of a block, then each block behind its length as it is stored
//! (`u32`, big endian). One that would not become shorter is stored as it is.

use hdf5_reader::error::Error;

/// What a chunk holds, at most `most` bytes.
pub(super) fn decoded(data: &[u8], most: usize) -> Result<Vec<u8>, Error> {
    let damaged = |why: &str| Error::InvalidData(format!("LZ4: {why}"));
    let cut = || damaged("it is truncated");
    let (len, rest) = data.split_first_chunk::<8>().ok_or_else(cut)?;
    let (block, mut rest) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
    let len = usize::try_from(u64::from_be_bytes(*len)).ok().filter(|it| *it <= most);
    let len = len.ok_or_else(|| damaged("it says to be longer than a chunk can be"))?;
    let block = (u32::from_be_bytes(*block) as usize).min(len);
    if len > 0 && block == 0 {
        return Err(damaged("its blocks are empty"));
    }
    // A byte becomes 255 at the most.
    if len / 256 > data.len() {
        return Err(damaged("it says to be longer than it can be"));
    }
    let mut all = vec![0; len];
    for to in all.chunks_mut(block.max(1)) {
        let (stored, behind) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
        let stored = u32::from_be_bytes(*stored) as usize;
        let (from, behind) = behind.split_at_checked(stored).ok_or_else(cut)?;
        rest = behind;
        if stored == to.len() {
            to.copy_from_slice(from);
            continue;
        }
        let written = lz4_flex::block::decompress_into(from, to);
        if written.map_err(|it| damaged(&it.to_string()))? != to.len() {
            return Err(damaged("a block is shorter than it says"));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(block: usize, data: &[u8]) -> Vec<u8> {
        let mut all = (data.len() as u64).to_be_bytes().to_vec();
        all.extend((block as u32).to_be_bytes());
        for it in data.chunks(block) {
            let packed = lz4_flex::block::compress(it);
            let it = if packed.len() < it.len() { &packed } else { it };
            all.extend((it.len() as u32).to_be_bytes());
            all.extend(it);
        }
        all
    }

    #[test]
    fn blocks_are_read_and_damage_is_an_error() {
        let data: Vec<u8> = (0..1000_u32).map(|it| (it / 40) as u8 ^ (it % 3) as u8).collect();
        for block in [7, 64, 999, 1000, 4096] {
            let stored = stored(block, &data);
            assert_eq!(decoded(&stored, 1000).unwrap(), data, "{block}");
            assert!(decoded(&stored, 999).is_err());
            for at in 0..stored.len() {
                assert!(decoded(&stored[..at], 1000).is_err(), "{at}");
                let mut flipped = stored.clone();
                flipped[at] ^= 0x55;
                let _ = decoded(&flipped, 1000);
            }
        }
        assert!(decoded(&[0; 12], 10).unwrap().is_empty());
        assert!(decoded(&[0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 1], 10).is_err());
    }
}
