//! What pages are compressed with.

use crate::records::zstd;
use parquet::basic::Compression;
use runtime::Counted;
use std::io::{self, Read};

/// How often a byte of these codecs can become one of the page, at the most: so much memory is asked for at once.
const SNAPPY_RATIO: usize = 22;
const LZ4_RATIO: usize = 256;

/// Appends the `len` bytes that `page` becomes.
pub(super) fn decompress(
    codec: Compression,
    page: &[u8],
    len: usize,
    to: &mut Counted<u8>,
) -> Result<(), String> {
    let damaged = |it: &str| format!("a page is damaged: {it}");
    let stream = |input: &mut dyn Read, to: &mut Counted<u8>| match to.read(input, len) {
        Ok(read) if read == len => Ok(()),
        Ok(_) => Err(damaged("it is shorter than it says")),
        Err(why) => Err(damaged(&why.to_string())),
    };
    let bounded = |ratio: usize| match len / ratio > page.len() {
        true => Err(damaged("it is shorter than it says")),
        false => Ok(()),
    };
    let at = to.len();
    match codec {
        Compression::UNCOMPRESSED => {
            to.extend_from_slice(
                page.get(..len).ok_or_else(|| damaged("it is shorter than it says"))?,
            );
            Ok(())
        }
        Compression::SNAPPY => {
            bounded(SNAPPY_RATIO)?;
            to.resize(at + len, 0);
            match snap::raw::Decoder::new().decompress(page, &mut to[at..]) {
                Ok(n) if n == len => Ok(()),
                Ok(_) => Err(damaged("it is shorter than it says")),
                Err(why) => Err(damaged(&why.to_string())),
            }
        }
        Compression::LZ4_RAW => {
            bounded(LZ4_RATIO)?;
            to.resize(at + len, 0);
            lz4(page, &mut to[at..]).ok_or_else(|| damaged("its LZ4 block cannot be read"))
        }
        Compression::LZ4 => {
            bounded(LZ4_RATIO)?;
            to.resize(at + len, 0);
            // Three things were written under this number: see PARQUET-1241.
            let done = hadoop_lz4(page, &mut to[at..])
                .or_else(|| lz4_frame(page, &mut to[at..]).ok())
                .or_else(|| lz4(page, &mut to[at..]));
            done.ok_or_else(|| damaged("its LZ4 block cannot be read"))
        }
        Compression::GZIP(_) => stream(&mut flate2::bufread::MultiGzDecoder::new(page), to),
        Compression::BROTLI(_) => {
            stream(&mut brotli_decompressor::Decompressor::new(page, 4 << 10), to)
        }
        Compression::ZSTD(_) => stream(&mut zstd(page), to),
        other => Err(format!("its pages are compressed with {other}, which is not supported")),
    }
}

fn lz4(page: &[u8], to: &mut [u8]) -> Option<()> {
    let n = lz4_flex::block::decompress_into(page, to).ok()?;
    (n == to.len()).then_some(())
}

fn lz4_frame(page: &[u8], to: &mut [u8]) -> io::Result<()> {
    lz4_flex::frame::FrameDecoder::new(page).read_exact(to)
}

/// Blocks, each behind its two lengths, the highest byte first, as Hadoop writes them.
fn hadoop_lz4(mut page: &[u8], mut to: &mut [u8]) -> Option<()> {
    while !to.is_empty() {
        let (long, rest) = page.split_first_chunk::<4>()?;
        let (short, rest) = rest.split_first_chunk::<4>()?;
        let (block, rest) = rest.split_at_checked(u32::from_be_bytes(*short) as usize)?;
        let (room, left) =
            std::mem::take(&mut to).split_at_mut_checked(u32::from_be_bytes(*long) as usize)?;
        lz4(block, room)?;
        (page, to) = (rest, left);
    }
    Some(())
}
