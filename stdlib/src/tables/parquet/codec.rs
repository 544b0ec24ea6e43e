//! What pages are compressed with.

use crate::records::zstd;
use parquet::basic::Compression;
use std::io::{self, Read};

/// How often a byte of these codecs can become one of the page, at the most: so much memory is asked for at once.
const SNAPPY_RATIO: usize = 22;
const LZ4_RATIO: usize = 256;

/// Fills `to` with the bytes that `page` becomes, as many as there is room for.
pub(super) fn decompress(codec: Compression, page: &[u8], to: &mut [u8]) -> Result<(), String> {
    let damaged = |it: &str| format!("a page is damaged: {it}");
    let short = || damaged("it is shorter than it says");
    let stream = |input: &mut dyn Read, to: &mut [u8]| {
        input.read_exact(to).map_err(|why| match why.kind() {
            io::ErrorKind::UnexpectedEof => short(),
            _ => damaged(&why.to_string()),
        })
    };
    let len = to.len();
    let bounded = |ratio: usize| match len / ratio > page.len() {
        true => Err(short()),
        false => Ok(()),
    };
    match codec {
        Compression::UNCOMPRESSED => {
            to.copy_from_slice(page.get(..len).ok_or_else(short)?);
            Ok(())
        }
        Compression::SNAPPY => {
            bounded(SNAPPY_RATIO)?;
            match snap::raw::Decoder::new().decompress(page, to) {
                Ok(n) if n == len => Ok(()),
                Ok(_) => Err(short()),
                Err(why) => Err(damaged(&why.to_string())),
            }
        }
        Compression::LZ4_RAW => {
            bounded(LZ4_RATIO)?;
            lz4(page, to).ok_or_else(|| damaged("its LZ4 block cannot be read"))
        }
        Compression::LZ4 => {
            bounded(LZ4_RATIO)?;
            // Three things were written under this number: see PARQUET-1241.
            let done =
                hadoop_lz4(page, to).or_else(|| lz4_frame(page, to).ok()).or_else(|| lz4(page, to));
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
