//! How the values of a candidate may be encoded.

use super::{Choice, Occasion, PLAIN};
use plan::{Codec, CodecFigures, Compressor};

/// What a codec may leave of the bytes at the most.
const LEFT_MAX: f64 = 0.97;

/// What a codec does to values that nobody has encoded yet. Assumed: pictures, on a Xeon.
fn usual(codec: Codec) -> CodecFigures {
    let (left, encode_ns, decode_ns) = match codec.compressor {
        Compressor::None => (1.0, 0.0, 0.0),
        Compressor::Lz4 => (0.9, 0.6, 0.15),
        Compressor::Zstd1 => (0.8, 1.3, 0.6),
        Compressor::Zstd3 => (0.75, 3.0, 0.6),
        Compressor::Zstd9 => (0.7, 13.0, 0.6),
    };
    CodecFigures { codec, left, encode_ns, decode_ns }
}

/// How a candidate may be encoded: as it is, and by each codec that is better than all others in something.
pub(crate) fn codecs(choice: &Choice, occasion: &Occasion) -> Vec<CodecFigures> {
    let all = &choice.candidate.codecs;
    // What a lock names is there, as it was measured or as it usually is.
    let pinned = occasion.pinned.iter().filter(|it| it.value == choice.candidate.value_name());
    let named: Vec<Codec> = pinned.filter_map(|it| it.codec).collect();
    if !named.is_empty() {
        let known = |it: Codec| {
            all.iter().copied().find(|known| known.codec == it).unwrap_or_else(|| usual(it))
        };
        return named.into_iter().map(known).collect();
    }
    let values = |it: &CodecFigures| [it.left, it.decode_ns, it.encode_ns];
    let beats = |a: &CodecFigures, b: &CodecFigures| {
        values(a) != values(b) && values(a).iter().zip(values(b)).all(|it| *it.0 <= it.1)
    };
    let is_best = |it: &&CodecFigures| {
        it.codec != PLAIN.codec && it.left <= LEFT_MAX && !all.iter().any(|other| beats(other, it))
    };
    [PLAIN].into_iter().chain(all.iter().filter(is_best).copied()).collect()
}
