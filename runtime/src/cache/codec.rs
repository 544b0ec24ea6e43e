//! Values as they are encoded in a cache: filters, then LZ4 or Zstandard.
//!
//! Sources: LZ4 block format 1.6.3; RFC 8878 (Zstandard); HDF5's shuffle filter.

use super::CacheKey;
use plan::{Codec, Compressor, DType};
use std::cell::RefCell;

/// What a frame may be of the value at the most, or the value is stored as it is: less is saved than to decode it takes.
const LEFT_MAX: f64 = 0.98;
/// Bytes of scratch memory that a thread keeps from one value to the next.
const SCRATCH_MAX: usize = 16 << 20;
/// Channels of the last axis at the most, for differences within a channel.
const CHANNELS_MAX: usize = 8;

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// What a thread encodes and decodes in.
#[derive(Default)]
struct Scratch {
    /// A value before it is compressed, or after; and what is brought together of it.
    filtered: [Vec<u8>; 2],
    /// The table of LZ4.
    lz4: Option<lz4_flex::block::CompressTable>,
    #[cfg(feature = "zstd")]
    zstd: zstandard::Contexts,
}

/// Which codec each value has: the key says it, so that every process and every epoch takes the same.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Codecs(Vec<(Codec, f64)>);

impl Codecs {
    /// Each of them for its share of the values.
    pub fn new(all: &[(Codec, f64)]) -> Self {
        let sum: f64 = all.iter().map(|it| it.1).sum();
        let (mut most, mut ends) = (0.0, Vec::new());
        for (codec, share) in all.iter().filter(|it| it.1 > 0.0) {
            most += share / sum;
            ends.push((*codec, most));
        }
        Self(ends)
    }

    /// The codec of the value of `key`.
    pub(super) fn of(&self, key: CacheKey) -> Codec {
        let at = key as u64 as f64 / u64::MAX as f64;
        let found = self.0.iter().find(|it| at < it.1).or(self.0.last());
        found.map_or(Codec::NONE, |it| it.0)
    }
}

/// Those that this build has, of all that can do something for elements of a dtype.
pub fn codecs_for(dtype: DType) -> Vec<Codec> {
    Codec::all_for(dtype).into_iter().filter(|it| is_here(*it)).collect()
}

/// Whether this build has a codec.
pub fn is_here(codec: Codec) -> bool {
    cfg!(feature = "zstd") || matches!(codec.compressor, Compressor::None | Compressor::Lz4)
}

/// Encodes the bytes of a value, and hands them on with the codec that they have: none where that would save next to
/// nothing. What they are handed to encodes and decodes nothing itself.
pub fn encode<T>(
    codec: Codec,
    form: (DType, &[usize]),
    bytes: &[u8],
    then: impl FnOnce(Codec, &[u8]) -> T,
) -> T {
    if codec == Codec::NONE || !is_here(codec) || !codec.is_for(form.0) {
        return then(Codec::NONE, bytes);
    }
    SCRATCH.with_borrow_mut(|scratch| {
        let frame = scratch.encoded(codec, form, bytes);
        let done = match frame {
            Some(frame) if frame.len() as f64 <= bytes.len() as f64 * LEFT_MAX => {
                then(codec, &frame)
            }
            _ => then(Codec::NONE, bytes),
        };
        scratch.trim();
        done
    })
}

/// Decodes a frame into the bytes of a value; whether it could be.
#[must_use]
pub fn decode(codec: Codec, form: (DType, &[usize]), frame: &[u8], out: &mut [u8]) -> bool {
    if codec == Codec::NONE {
        let fits = frame.len() == out.len();
        if fits {
            out.copy_from_slice(frame);
        }
        return fits;
    }
    SCRATCH.with_borrow_mut(|scratch| {
        let is_whole = scratch.decoded(codec, form, frame, out);
        scratch.trim();
        is_whole
    })
}

/// How far the element before is, in elements: in the same channel, where the last axis is one of channels.
fn step(shape: &[usize]) -> usize {
    match shape {
        [_, .., channels @ 1..=CHANNELS_MAX] => *channels,
        _ => 1,
    }
}

impl Scratch {
    fn encoded(
        &mut self,
        codec: Codec,
        (dtype, shape): (DType, &[usize]),
        bytes: &[u8],
    ) -> Option<Vec<u8>> {
        let [first, second] = &mut self.filtered;
        let mut now = bytes;
        if codec.delta {
            resize(first, bytes.len());
            filters::delta(dtype.size(), step(shape), now, first);
            now = first;
        }
        if codec.shuffle {
            resize(second, bytes.len());
            filters::shuffle(dtype.size(), now, second);
            now = second;
        }
        match codec.compressor {
            Compressor::None => None,
            Compressor::Lz4 => {
                let table = self.lz4.get_or_insert_with(Default::default);
                let mut out = vec![0; lz4_flex::block::get_maximum_output_size(now.len())];
                let n = lz4_flex::block::compress_into_with_table(now, &mut out, table).ok()?;
                out.truncate(n);
                Some(out)
            }
            #[cfg(feature = "zstd")]
            level => self.zstd.compress(level, now),
            #[cfg(not(feature = "zstd"))]
            _ => None,
        }
    }

    fn decoded(
        &mut self,
        codec: Codec,
        (dtype, shape): (DType, &[usize]),
        frame: &[u8],
        out: &mut [u8],
    ) -> bool {
        let [first, _] = &mut self.filtered;
        let room = match codec.shuffle {
            true => {
                resize(first, out.len());
                &mut first[..]
            }
            false => &mut *out,
        };
        let n = match codec.compressor {
            Compressor::None => None,
            Compressor::Lz4 => lz4_flex::block::decompress_into(frame, room).ok(),
            #[cfg(feature = "zstd")]
            _ => self.zstd.decompress(frame, room),
            #[cfg(not(feature = "zstd"))]
            _ => None,
        };
        if n != Some(room.len()) {
            return false;
        }
        if codec.shuffle {
            filters::unshuffle(dtype.size(), first, out);
        }
        if codec.delta {
            filters::undelta(dtype.size(), step(shape), out);
        }
        true
    }

    /// Gives back what a large value has taken.
    fn trim(&mut self) {
        self.filtered.iter_mut().filter(|it| it.capacity() > SCRATCH_MAX).for_each(|it| {
            *it = Vec::new();
        });
    }
}

fn resize(room: &mut Vec<u8>, n_bytes: usize) {
    // What stands there is written over.
    room.resize(n_bytes, 0);
}

/// Zstandard's contexts, which are large: one of each thread.
#[cfg(feature = "zstd")]
mod zstandard {
    use plan::Compressor;
    use zstd::bulk;

    #[derive(Default)]
    pub(super) struct Contexts {
        compressor: Option<(i32, bulk::Compressor<'static>)>,
        decompressor: Option<bulk::Decompressor<'static>>,
    }

    fn level(of: Compressor) -> i32 {
        match of {
            Compressor::None | Compressor::Lz4 | Compressor::Zstd1 => 1,
            Compressor::Zstd3 => 3,
            Compressor::Zstd9 => 9,
        }
    }

    impl Contexts {
        pub(super) fn compress(&mut self, with: Compressor, bytes: &[u8]) -> Option<Vec<u8>> {
            let level = level(with);
            if self.compressor.as_ref().is_none_or(|it| it.0 != level) {
                self.compressor = Some((level, bulk::Compressor::new(level).ok()?));
            }
            self.compressor.as_mut()?.1.compress(bytes).ok()
        }

        /// Bytes that were decompressed; none where they are no frame, or do not fit.
        pub(super) fn decompress(&mut self, frame: &[u8], out: &mut [u8]) -> Option<usize> {
            if self.decompressor.is_none() {
                self.decompressor = bulk::Decompressor::new().ok();
            }
            self.decompressor.as_mut()?.decompress_to_buffer(frame, out).ok()
        }
    }
}

/// What is done to the bytes of elements before they are compressed.
mod filters {
    /// Each element less the one `step` elements before it, into `out`.
    pub(super) fn delta(size: usize, step: usize, bytes: &[u8], out: &mut [u8]) {
        match size {
            1 => delta_of::<1>(step, bytes, out),
            2 => delta_of::<2>(step, bytes, out),
            4 => delta_of::<4>(step, bytes, out),
            _ => delta_of::<8>(step, bytes, out),
        }
    }

    /// The elements again, in their place.
    pub(super) fn undelta(size: usize, step: usize, bytes: &mut [u8]) {
        match (size, step) {
            (1, 3) => undelta_pixels(bytes),
            (1, _) => undelta_of::<1>(step, bytes),
            (2, _) => undelta_of::<2>(step, bytes),
            (4, _) => undelta_of::<4>(step, bytes),
            _ => undelta_of::<8>(step, bytes),
        }
    }

    /// The first bytes of all elements, then the second ones, into `out`.
    pub(super) fn shuffle(size: usize, bytes: &[u8], out: &mut [u8]) {
        match size {
            2 => shuffle_of::<2>(bytes, out),
            4 => shuffle_of::<4>(bytes, out),
            _ => shuffle_of::<8>(bytes, out),
        }
    }

    /// The elements of what [`shuffle`] has made.
    pub(super) fn unshuffle(size: usize, bytes: &[u8], out: &mut [u8]) {
        match size {
            2 => unshuffle_of::<2>(bytes, out),
            4 => unshuffle_of::<4>(bytes, out),
            _ => unshuffle_of::<8>(bytes, out),
        }
    }

    /// Little-endian numbers of so many bytes, without a carry to their neighbours.
    fn number<const N: usize>(bytes: &[u8; N]) -> u64 {
        let mut all = [0; 8];
        all[..N].copy_from_slice(bytes);
        u64::from_le_bytes(all)
    }

    fn delta_of<const N: usize>(step: usize, bytes: &[u8], out: &mut [u8]) {
        let (all, _) = bytes.as_chunks::<N>();
        let (out, _) = out.as_chunks_mut::<N>();
        let first = step.min(all.len());
        out[..first].copy_from_slice(&all[..first]);
        for ((out, now), before) in out[first..].iter_mut().zip(&all[first..]).zip(all) {
            let less = number(now).wrapping_sub(number(before));
            out.copy_from_slice(&less.to_le_bytes()[..N]);
        }
    }

    fn undelta_of<const N: usize>(step: usize, bytes: &mut [u8]) {
        let (all, _) = bytes.as_chunks_mut::<N>();
        for at in step..all.len() {
            let sum = number(&all[at]).wrapping_add(number(&all[at - step]));
            all[at].copy_from_slice(&sum.to_le_bytes()[..N]);
        }
    }

    /// Three channels of a byte: their sums stay in registers.
    fn undelta_pixels(bytes: &mut [u8]) {
        let (pixels, _) = bytes.as_chunks_mut::<3>();
        let mut sums = [0_u8; 3];
        for pixel in pixels {
            for (byte, sum) in pixel.iter_mut().zip(&mut sums) {
                *sum = sum.wrapping_add(*byte);
                *byte = *sum;
            }
        }
    }

    /// Elements that are looked at together, so that each plane is written in whole words.
    const BLOCK: usize = 16;

    fn shuffle_of<const N: usize>(bytes: &[u8], out: &mut [u8]) {
        let (all, _) = bytes.as_chunks::<N>();
        for (place, plane) in out.chunks_exact_mut(all.len().max(1)).enumerate() {
            let (blocks, rest) = all.as_chunks::<BLOCK>();
            let (planes, rest_of_plane) = plane.as_chunks_mut::<BLOCK>();
            for (block, out) in blocks.iter().zip(planes) {
                *out = std::array::from_fn(|i| block[i][place]);
            }
            for (element, out) in rest.iter().zip(rest_of_plane) {
                *out = element[place];
            }
        }
    }

    fn unshuffle_of<const N: usize>(bytes: &[u8], out: &mut [u8]) {
        let (all, _) = out.as_chunks_mut::<N>();
        let count = all.len();
        let plane = |place: usize| &bytes[place * count..][..count];
        let planes: [&[u8]; N] = std::array::from_fn(plane);
        let (blocks, rest) = all.as_chunks_mut::<BLOCK>();
        for (at, block) in blocks.iter_mut().enumerate() {
            let at = at * BLOCK;
            let words: [&[u8; BLOCK]; N] = std::array::from_fn(|place| {
                planes[place][at..].first_chunk().expect("a block is whole")
            });
            for (i, element) in block.iter_mut().enumerate() {
                *element = std::array::from_fn(|place| words[place][i]);
            }
        }
        let at = count - rest.len();
        for (i, element) in rest.iter_mut().enumerate() {
            *element = std::array::from_fn(|place| planes[place][at + i]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that change slowly, as pictures and measurements do.
    fn smooth(n_bytes: usize) -> Vec<u8> {
        (0..n_bytes).map(|it| (it / 7 % 251) as u8).collect()
    }

    #[test]
    fn what_is_encoded_is_decoded_to_the_same_bytes() {
        for (dtype, shape) in [
            (DType::U8, vec![37, 11, 3]),
            (DType::U8, vec![1]),
            (DType::I16, vec![1023]),
            (DType::I32, vec![3, 5, 4]),
            (DType::F32, vec![257]),
            (DType::F64, vec![17, 9]),
            (DType::I64, vec![0]),
        ] {
            let bytes = smooth(shape.iter().product::<usize>() * dtype.size());
            let mut some = 0;
            for codec in codecs_for(dtype) {
                let form = (dtype, &shape[..]);
                let (used, frame) = encode(codec, form, &bytes, |it, frame| (it, frame.to_vec()));
                let mut out = vec![0xaa; bytes.len()];
                assert!(decode(used, form, &frame, &mut out), "{codec} {dtype:?}");
                assert_eq!(out, bytes, "{codec} {dtype:?}");
                some += usize::from(used != Codec::NONE);
                if used != Codec::NONE {
                    let part = &frame[..frame.len() - 1];
                    assert!(!decode(used, form, part, &mut out), "{codec}");
                }
            }
            assert!(bytes.len() < 100 || some > 3, "{dtype:?}: {some} codecs save something");
        }
    }

    #[test]
    fn filters_do_what_they_say() {
        let shuffled = |bytes: &[u8]| {
            let mut out = vec![0; bytes.len()];
            filters::shuffle(2, bytes, &mut out);
            out
        };
        assert_eq!(shuffled(&[1, 2, 3, 4, 5, 6]), [1, 3, 5, 2, 4, 6]);
        let mut out = [0; 6];
        filters::delta(1, 3, &[1, 2, 3, 5, 7, 2], &mut out);
        assert_eq!(out, [1, 2, 3, 4, 5, 255]);
        filters::delta(2, 1, &[0xff, 0, 0, 1, 0, 0], &mut out);
        assert_eq!(out, [0xff, 0, 1, 0, 0, 0xff]);
        assert_eq!([step(&[4, 4, 3]), step(&[3]), step(&[4, 100]), step(&[])], [3, 1, 1, 1]);
    }

    #[test]
    fn values_share_codecs_as_is_said() {
        let lz4: Codec = "lz4".parse().unwrap();
        let codecs = Codecs::new(&[(lz4, 0.1), (Codec::NONE, 0.3)]);
        let of = |it: u64| codecs.of(u128::from(plan::hash(&it.to_le_bytes())));
        let n = (0..4000).filter(|it| of(*it) == lz4).count();
        assert!((900..1100).contains(&n), "{n}");
        assert_eq!(Codecs::default().of(7), Codec::NONE);
    }
}
