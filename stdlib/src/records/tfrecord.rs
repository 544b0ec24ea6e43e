//! TFRecord: the length of the data (8 bytes, little endian), a checksum of that (4), the data, a checksum of them (4);
//! <https://www.tensorflow.org/tutorials/load_data/tfrecord>, "TFRecords format details".

use std::path::Path;

use super::framing::{BinaryFormat, End, RECORD_MAX};
use super::walked::Walked;
use super::{FileError, RecordFault, offsets};

/// Bytes before the data, and behind them.
const HEADER: usize = 12;
const FOOTER: usize = 4;

/// Files of TFRecords.
#[derive(Debug)]
pub struct TfRecord {
    /// Whether the checksums of the data are verified.
    pub check: bool,
}

impl TfRecord {
    /// The data of a record.
    ///
    /// # Errors
    /// Those of [`data`].
    pub fn data<'r>(&self, raw: &'r [u8]) -> Result<&'r [u8], RecordFault> {
        data(raw, self.check)
    }
}

impl BinaryFormat for TfRecord {
    fn end(&self, bytes: &[u8]) -> End {
        end(bytes)
    }

    fn starts(&self, path: &Path, visit: &mut dyn FnMut(u64)) -> Result<u64, FileError> {
        starts(path, visit)
    }

    fn record<'r>(&self, raw: &'r [u8]) -> Result<(String, &'r [u8]), RecordFault> {
        Ok((String::new(), self.data(raw)?))
    }
}

/// What TFRecord makes of a checksum, so that one of data that hold checksums is another.
fn masked(checksum: u32) -> u32 {
    checksum.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// The CRC-32C of the eight bytes of a length: of records of 100 bytes these are verified twice, to find the record and to
/// read it.
fn checksum_of(length: &[u8; 8]) -> u32 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if is_x86_feature_detected!("sse4.2") {
        // SAFETY: the processor has SSE4.2.
        return unsafe { checksum_sse42(u64::from_le_bytes(*length)) };
    }
    crc32c::crc32c(length)
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "sse4.2")]
fn checksum_sse42(length: u64) -> u32 {
    !(std::arch::x86_64::_mm_crc32_u64(u64::from(u32::MAX), length) as u32)
}

/// The length of the data, where the header is sound.
fn length(header: &[u8; HEADER]) -> Option<u64> {
    let (length, checksum) = header.split_at(8);
    let length: &[u8; 8] = length.first_chunk()?;
    let checksum = u32::from_le_bytes(*checksum.first_chunk()?);
    (masked(checksum_of(length)) == checksum).then_some(u64::from_le_bytes(*length))
}

/// Where the record ends that begins these bytes.
fn end(bytes: &[u8]) -> End {
    let Some(header) = bytes.first_chunk() else { return End::Later { quoted: false } };
    let Some(length) = length(header) else { return End::Lost };
    match whole(length) {
        Some(end) if end <= bytes.len() => End::At { end, n_lines: 1 },
        Some(_) => End::Later { quoted: false },
        None => End::Lost,
    }
}

/// Bytes of a record with so many of data, where it is not larger than one may be.
fn whole(length: u64) -> Option<usize> {
    let whole = usize::try_from(length).ok()?.checked_add(HEADER + FOOTER)?;
    (whole <= RECORD_MAX).then_some(whole)
}

/// The data of a record, and what is wrong with it.
///
/// # Errors
/// The header is damaged, or the record is cut off: both lose what follows in the file. Where `check` is asked for,
/// the data are damaged.
pub fn data(record: &[u8], check: bool) -> Result<&[u8], RecordFault> {
    let cut_off = || {
        let message = format!("the record is truncated after {} bytes", record.len());
        RecordFault::new(message, "write the file again: the end is missing").losing_rest()
    };
    let (header, rest) = record.split_first_chunk().ok_or_else(cut_off)?;
    let length = length(header).ok_or_else(|| {
        let help = "write the file again, or check that it is a TFRecord file";
        RecordFault::new("the checksum of the length is invalid", help).losing_rest()
    })?;
    let Some(length) = whole(length).map(|it| it - HEADER - FOOTER) else {
        let message = format!("the record has {length} bytes, but the limit is {RECORD_MAX}");
        return Err(RecordFault::new(message, "write smaller records").losing_rest());
    };
    let (data, footer) = rest.split_at_checked(length).ok_or_else(cut_off)?;
    let footer: &[u8; FOOTER] = footer.first_chunk().ok_or_else(cut_off)?;
    if check && masked(crc32c::crc32c(data)) != u32::from_le_bytes(*footer) {
        let help = "write the file again; `else skip` skips the record, `check: false` uses it \
                    without the check";
        return Err(RecordFault::new("the checksum of the data is invalid", help));
    }
    Ok(data)
}

/// Hands the place of each record of a file to `visit`; reads headers alone, or what lies beside the file.
///
/// # Errors
/// The file cannot be read.
fn starts(path: &Path, mut visit: impl FnMut(u64)) -> Result<u64, FileError> {
    let unreadable = |why| FileError::unreadable(path, &why);
    let (file, len) = Walked::open(path)?;
    let (mut at, mut header) = (0, [0; HEADER]);
    let is_record = |at: u64, bytes: u64| {
        let mut header = [0; HEADER];
        let is_read = bytes >= HEADER as u64 && file.read_exact_at(&mut header, at).is_ok();
        is_read && length(&header).and_then(whole).is_some_and(|it| it as u64 == bytes)
    };
    if let Some(told) = offsets::beside(path, len, is_record) {
        told.iter().copied().for_each(visit);
        return Ok(len);
    }
    while at < len {
        visit(at);
        let room = &mut header[..(len - at).min(HEADER as u64) as usize];
        file.read_exact_at(room, at).map_err(unreadable)?;
        let found = if room.len() == HEADER { length(&header) } else { None };
        let end = found.and_then(whole).map(|it| at + it as u64);
        // What is cut off, or has lost its length, takes the rest.
        at = end.filter(|it| *it <= len).unwrap_or(len);
    }
    Ok(len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        fs,
        time::{Duration, SystemTime},
    };

    /// A record as TensorFlow writes it.
    pub(in super::super) fn record(data: &[u8]) -> Vec<u8> {
        let length = (data.len() as u64).to_le_bytes();
        let sum = |bytes: &[u8]| masked(crc32c::crc32c(bytes)).to_le_bytes();
        let parts = [&length[..], &sum(&length), data, &sum(data)];
        parts.concat()
    }

    /// The file of the one record `b"abc"`, by a CRC that goes bit by bit, which agrees with files of TensorFlow.
    const ABC: [u8; 19] = [
        0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xb0, 0x99, 0x49, 0x0e, 0x61, 0x62, 0x63,
        0x6e, 0x57, 0xf1, 0x21,
    ];

    #[test]
    fn a_record_is_framed_by_checksums() {
        let whole = record(b"abc");
        assert_eq!(whole, ABC);
        assert_eq!(data(&whole, true), Ok(&b"abc"[..]));
        assert_eq!(end(&whole), End::At { end: 19, n_lines: 1 });
        for cut in 0..whole.len() {
            let fault = data(&whole[..cut], true).unwrap_err();
            assert!(fault.loses_rest && fault.message.contains("truncated"), "{fault}");
        }
    }

    #[test]
    fn a_length_has_the_checksum_of_its_bytes() {
        for length in (0..64).map(|it| 0x0123_4567_89ab_cdef_u64.rotate_left(it) >> (it / 2)) {
            let bytes = length.to_le_bytes();
            assert_eq!(checksum_of(&bytes), crc32c::crc32c(&bytes));
        }
    }

    #[test]
    fn a_flipped_bit_is_found() {
        let whole = record(b"abc");
        for bit in 0..whole.len() * 8 {
            let mut torn = whole.clone();
            torn[bit / 8] ^= 1 << (bit % 8);
            let fault = data(&torn, true).unwrap_err();
            assert_eq!(fault.loses_rest, bit < HEADER * 8, "{fault}");
            assert_eq!(data(&torn, false).is_ok(), bit >= HEADER * 8);
        }
    }

    #[test]
    fn what_lies_beside_a_file_is_believed_where_it_is_true() {
        let folder = std::env::temp_dir().join(format!("pipec-offsets-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.tfrecord");
        let data: [&[u8]; 5] = [b"abc", b"", b"abcd", b"e", b"f"];
        let bytes = data.map(record).concat();
        fs::write(&path, &bytes).unwrap();
        let found = || {
            let mut found = Vec::new();
            starts(&path, |it| found.push(it)).unwrap();
            found
        };
        let all = [0, 19, 35, 55, 72];
        assert_eq!(found(), all);

        let list = |starts: &[u64]| {
            let ends = starts.iter().skip(1).copied().chain([bytes.len() as u64]);
            starts
                .iter()
                .zip(ends)
                .map(|(it, end)| format!("{it} {}\n", end - it))
                .collect::<String>()
        };
        let joined = list(&[0, 35, 55, 72]);
        for (name, text, is_true) in [
            ("a.idx", list(&all), true),
            ("a.tfrecord.idx", list(&all), true),
            ("a.idx", joined, false),
            ("a.idx", list(&all).replace("19 16", "19 15"), false),
            ("a.idx", list(&all[..4]), false),
            ("a.idx", list(&all) + "89 1\n", false),
            ("a.idx", "0 18446744073709551615\n".to_owned(), false),
            ("a.idx", "v1.2 5\n".to_owned(), false),
            ("a.idx", String::new(), false),
        ] {
            fs::write(folder.join(name), &text).unwrap();
            let told = offsets::beside(&path, bytes.len() as u64, |at, n| {
                bytes
                    .get(at as usize..)
                    .and_then(|it| it.first_chunk())
                    .and_then(length)
                    .and_then(whole)
                    == Some(n as usize)
            });
            assert_eq!(told.map(|it| it.to_vec()), is_true.then(|| all.to_vec()), "{text}");
            assert_eq!(found(), all);
            fs::remove_file(folder.join(name)).unwrap();
        }

        // It is older than the data.
        fs::write(folder.join("a.idx"), list(&all)).unwrap();
        let data = fs::File::options().write(true).open(&path).unwrap();
        data.set_modified(SystemTime::now() + Duration::from_secs(60)).unwrap();
        assert!(offsets::beside(&path, bytes.len() as u64, |_, _| true).is_none());
        fs::remove_dir_all(&folder).unwrap();
    }
}
