//! A byte within every executable that says whether it was built: so it notices that the program
//! behind it is gone, and one that was not built need not look for any.

use std::{
    io::{self, Read, Seek, SeekFrom},
    ptr,
};

const LEN: usize = 32;
/// Bytes by which the marker is found; the last one says whether it is set.
const PATTERN: usize = LEN - 1;
const SET: u8 = b'B';

/// Only this place of the executable holds the pattern: whoever searches for it reads it from here.
#[used]
static MARKER: [u8; LEN] = *b"\0pipec: was it built? \xd1\x8e\x37\xa2\x5b\xf0\x64\xc9\0-";

/// Bytes of a file that are looked at together.
const BLOCK: usize = 1 << 20;

fn own() -> [u8; LEN] {
    // SAFETY: a static is there to be read. The compiler must not see which bytes these are: in a
    // built file they are others, and a copy of them in the code would be found in their place.
    unsafe { ptr::read_volatile(&raw const MARKER) }
}

/// Whether this executable was built.
pub(super) fn is_set() -> bool {
    own()[PATTERN] == SET
}

/// Whether `bytes` hold the marker of a built executable.
pub(super) fn is_set_in(bytes: &[u8]) -> bool {
    let mut wanted = own();
    wanted[PATTERN] = SET;
    memchr::memmem::find(bytes, &wanted).is_some()
}

/// Where the byte stands in an executable which is [`SET`] in it, or is not; none where there is no
/// such marker, or several.
pub(crate) fn find(file: &mut (impl Read + Seek), set: bool) -> io::Result<Option<u64>> {
    let own = own();
    let finder = memchr::memmem::Finder::new(&own[..PATTERN]);
    file.seek(SeekFrom::Start(0))?;
    let (mut block, mut start, mut found) = (Vec::with_capacity(BLOCK + LEN), 0, None);
    loop {
        let read = file.take(BLOCK as u64).read_to_end(&mut block)?;
        if read == 0 {
            return Ok(found);
        }
        for at in finder.find_iter(&block) {
            let Some(&state) = block.get(at + PATTERN) else { continue };
            if (state == SET) == set && found.replace(start + (at + PATTERN) as u64).is_some() {
                return Ok(None);
            }
        }
        // A marker may begin in one block and end in the next.
        let gone = block.len().saturating_sub(PATTERN);
        block.drain(..gone);
        start += gone as u64;
    }
}

/// Sets the marker whose byte stands at `at`.
pub(crate) fn set(file: &mut (impl io::Write + Seek), at: u64) -> io::Result<()> {
    file.seek(SeekFrom::Start(at))?;
    file.write_all(&[SET])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn a_marker_is_found_across_blocks_and_only_where_it_is_alone() {
        for start in [0, 5, BLOCK - 40, BLOCK - 31, BLOCK - 17, BLOCK - 1, BLOCK, 2 * BLOCK + 3] {
            let mut bytes = vec![7; start];
            bytes.extend(own());
            bytes.extend([9; 100]);
            let at = (start + PATTERN) as u64;
            assert_eq!(find(&mut Cursor::new(&bytes), false).unwrap(), Some(at), "{start}");
            let mut file = Cursor::new(bytes);
            set(&mut file, at).unwrap();
            assert_eq!(find(&mut file, false).unwrap(), None);
            assert_eq!(find(&mut file, true).unwrap(), Some(at));
            assert!(is_set_in(file.get_ref()));
        }
        let twice = [own(), own()].concat();
        assert_eq!(find(&mut Cursor::new(twice), false).unwrap(), None);
        assert!(!is_set() && !is_set_in(&own()));
    }
}
