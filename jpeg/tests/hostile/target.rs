//! What is tried with any bytes: by `hostile.rs` in a loop, by `fuzz/` with a search.

use jpeg::{Channels, Decoder, Error, Header, Index, Region, Request, Target, Tier};

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

/// Changes some bytes, or cuts the file, or doubles a part of it.
pub(crate) fn mutate(bytes: &mut Vec<u8>, draw: &mut Draw) {
    for _ in 0..draw.below(4) + 1 {
        // The tables in front are as worthy as the code behind.
        let most = if draw.below(2) == 0 { bytes.len() } else { bytes.len().min(700) };
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

/// Decodes all and a part of `bytes` in all tiers; how many pictures were given.
pub(crate) fn decode(bytes: &[u8]) -> usize {
    let Ok(header) = Header::read(bytes) else { return 0 };
    let mut draw = Draw(bytes.len() as u64);
    let (x, y) = (draw.below(header.width), draw.below(header.height));
    let (width, height) = (draw.below(header.width - x) + 1, draw.below(header.height - y) + 1);
    let channels = [Channels::Rgb, Channels::Gray][draw.below(2)];
    let region = Region { x, y, width, height };
    let request =
        Request { channels, region: Some(region), pixels_max: PIXELS_MAX, ..Request::default() };
    let all = Request { region: None, ..request };
    let results = Tier::available().map(|tier| {
        let mut decoder = Decoder::with_tier(tier);
        let parts = [
            guarded(&mut decoder, bytes, &all, &header),
            guarded(&mut decoder, bytes, &request, &header),
        ];
        indexed(&mut decoder, bytes, &request, &mut draw);
        parts
    });
    let mut results: Vec<_> = results.collect();
    let last = results.pop().expect("the plain tier is always there");
    assert!(results.iter().all(|it| *it == last), "the tiers differ");
    last.iter().filter(|it| it.is_ok()).count()
}

/// What is decoded; nothing may be written beside it.
fn guarded(
    decoder: &mut Decoder,
    bytes: &[u8],
    request: &Request<'_>,
    header: &Header,
) -> Result<Vec<u8>, Error> {
    let (width, height) =
        request.region.map_or((header.width, header.height), |it| (it.width, it.height));
    if header.width * header.height > PIXELS_MAX {
        let result = decoder.decode(bytes, request, &mut [], 0);
        assert!(result.is_err(), "more pixels than are allowed were taken");
        return Err(Error::TooLarge(""));
    }
    let stride = width * request.channels.count();
    let mut out = vec![0xA5; stride * height + 2 * BESIDE];
    let len = out.len();
    let result = decoder.decode(bytes, request, &mut out[BESIDE..len - BESIDE], stride);
    let beside = out[..BESIDE].iter().chain(&out[len - BESIDE..]);
    assert!(beside.into_iter().all(|it| *it == 0xA5), "written beside the rows");
    result.map(|_| out[BESIDE..len - BESIDE].to_vec())
}

/// The same with an index, and with a damaged one.
fn indexed(decoder: &mut Decoder, bytes: &[u8], request: &Request<'_>, draw: &mut Draw) {
    let mut out = vec![0; 3 * PIXELS_MAX];
    let Some(Region { width, .. }) = request.region else { return };
    let target = Target { out: &mut out, stride: 3 * width };
    let spacing = draw.below(9);
    let Ok((_, index)) = decoder.decode_and_index(bytes, request, target, spacing) else { return };
    let mut kept = index.to_bytes(1);
    mutate(&mut kept, draw);
    for index in [Ok(index), Index::from_bytes(&kept, 1)].iter().flatten() {
        let request = Request { index: Some(index), ..*request };
        let _ = decoder.decode(bytes, &request, &mut out, 3 * width);
    }
}
