//! What is tried with any bytes: by `hostile.rs` in a loop, by `fuzz/` with a search.

use webp::{Decoder, Error, File, Kind, Tier};

/// Pixels that a picture may have here.
const PIXELS_MAX: usize = 1 << 18;
/// Bytes beside what is to be written, which must stay.
const BESIDE: usize = 64;

/// Numbers that look drawn at random (SplitMix64).
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ z >> 31) % n.max(1) as u64) as usize
    }
}

/// The names and the bytes of the pictures in `goldens`.
pub(crate) fn goldens() -> Vec<(String, Vec<u8>)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/goldens");
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    let paths = entries.map(|it| it.expect("the folder can be read").path());
    let paths = paths.filter(|it| it.extension().is_some_and(|it| it == "webp"));
    let mut files: Vec<_> = paths
        .map(|it| {
            let name = it.file_name().expect("it is a file").to_string_lossy().into_owned();
            (name, std::fs::read(&it).expect("the file can be read"))
        })
        .collect();
    files.sort();
    files
}

/// Changes some bytes, or cuts the file, or doubles a part of it.
pub(crate) fn mutate(bytes: &mut Vec<u8>, draw: &mut Draw) {
    for _ in 0..draw.below(4) + 1 {
        // The header in front is as worthy as the code behind.
        let most = if draw.below(2) == 0 { bytes.len() } else { bytes.len().min(80) };
        let at = draw.below(most);
        match draw.below(9) {
            _ if bytes.is_empty() => return,
            0 => bytes[at] = 0xFF,
            1 | 2 => bytes[at] ^= 1 << draw.below(8),
            3 => bytes.truncate(at),
            4 => drop(bytes.remove(at)),
            5 => bytes.insert(at, draw.below(256) as u8),
            6 => {
                let part = bytes[at..bytes.len().min(at + draw.below(40))].to_vec();
                bytes.splice(at..at, part);
            }
            _ => bytes[at] = draw.below(256) as u8,
        }
    }
}

/// Makes the container say how long the file is, so that more than its frame is tried.
pub(crate) fn mend(bytes: &mut [u8]) {
    let len = bytes.len() as u32;
    if let Some(header) = bytes.first_chunk_mut::<20>() {
        header[..4].copy_from_slice(b"RIFF");
        header[4..8].copy_from_slice(&len.saturating_sub(8).to_le_bytes());
        header[8..16].copy_from_slice(b"WEBPVP8 ");
        header[16..].copy_from_slice(&len.saturating_sub(20).to_le_bytes());
    }
}

/// Decodes `bytes` in all tiers; how many pictures were given.
pub(crate) fn decode(bytes: &[u8]) -> usize {
    let Ok(file) = File::read(bytes) else { return 0 };
    if file.kind == Kind::Animated || file.width * file.height > PIXELS_MAX {
        return 0;
    }
    let mut results: Vec<_> =
        Tier::available().map(|tier| [3, 4].map(|n| pixels(&file, tier, n))).collect();
    let last = results.pop().expect("the plain tier is always there");
    assert!(results.iter().all(|it| *it == last), "the tiers differ");
    last.iter().filter(|it| it.is_ok()).count()
}

/// What is decoded, pixels of `n` bytes; nothing may be written beside it.
pub(crate) fn pixels(file: &File<'_>, tier: Tier, n: usize) -> Result<Vec<u8>, Error> {
    let len = file.width * file.height * n;
    let mut out = vec![0xA5; len + 2 * BESIDE];
    let room = &mut out[BESIDE..BESIDE + len];
    let mut decoder = Decoder::with_tier(tier);
    let result = if n == 3 { decoder.rgb(file, room) } else { decoder.rgba(file, room) };
    let beside = out[..BESIDE].iter().chain(&out[BESIDE + len..]);
    assert!(beside.into_iter().all(|it| *it == 0xA5), "written beside the picture");
    result.map(|()| out[BESIDE..BESIDE + len].to_vec())
}
