//! Tar archives (POSIX.1-2001 `ustar` and `pax`, long names of GNU tar) whose files make records as those of
//! WebDataset: files beside each other with one key are one record.
//!
//! The key is the path up to the first point of the file's name, what follows the point names the member. The same
//! walk goes over a record in memory, and over an archive on disk, of which it reads the headers alone.

use std::io;
use std::ops::Range;
use std::path::Path;

use super::framing::{BinaryFormat, End, RECORD_MAX};
use super::walked::Walked;
use super::{FileError, RecordFault};

/// Bytes of a header; data are filled up to a multiple of them.
const BLOCK: u64 = 512;
/// Bytes of an extended header: names are shorter.
const EXTENDED_MAX: u64 = 1 << 20;

/// A file in an archive, whose name makes it a member of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Member {
    /// The path up to the first point of the name.
    key: String,
    /// What follows the point, in lower case.
    name: String,
    /// Where its data lie.
    data: Range<u64>,
}

/// What is walked over.
trait Bytes {
    fn len(&self) -> u64;

    /// Fills `room` with what lies at `at`; it lies there.
    fn read(&self, at: u64, room: &mut [u8]) -> io::Result<()>;
}

impl Bytes for &[u8] {
    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }

    fn read(&self, at: u64, room: &mut [u8]) -> io::Result<()> {
        room.copy_from_slice(&self[at as usize..at as usize + room.len()]);
        Ok(())
    }
}

impl Bytes for Walked {
    fn len(&self) -> u64 {
        self.len()
    }

    fn read(&self, at: u64, room: &mut [u8]) -> io::Result<()> {
        self.read_exact_at(room, at)
    }
}

/// Goes from file to file.
struct Walk<B> {
    bytes: B,
    at: u64,
}

/// A step of a walk.
enum Step {
    /// A file that is a member of a record.
    Member(Member),
    /// Something else than a file, or a file that is no member.
    Other,
    /// A block of zeros, which ends an archive.
    Zeros,
    /// The bytes end within a file.
    Short,
    /// This is no header, or one of a file that is not held as it is.
    Damaged(&'static str),
    /// There is nothing more.
    End,
}

/// What extended headers say of the next file.
#[derive(Default)]
struct Extended {
    path: Option<String>,
    size: Option<u64>,
}

type Header = [u8; BLOCK as usize];

impl<B: Bytes> Walk<B> {
    fn new(bytes: B, at: u64) -> Self {
        Self { bytes, at }
    }

    /// The next file.
    fn next(&mut self) -> io::Result<Step> {
        if self.at == self.bytes.len() {
            return Ok(Step::End);
        }
        let mut extended = Extended::default();
        loop {
            let mut header: Header = [0; BLOCK as usize];
            if self.left() < BLOCK {
                return Ok(Step::Short);
            }
            self.bytes.read(self.at, &mut header)?;
            self.at += BLOCK;
            if header.iter().all(|it| *it == 0) {
                return Ok(Step::Zeros);
            }
            let Some(own) = size(&header) else {
                return Ok(Step::Damaged("a header with an invalid checksum"));
            };
            let (kind, size) = (header[156], extended.size.take().unwrap_or(own));
            match kind {
                b'L' | b'x' | b'g' | b'K' => match self.extended(size)? {
                    Ok(data) if kind == b'L' => extended.path = Some(text(until_zero(&data))),
                    Ok(data) if kind == b'x' => extended.take_in(&data),
                    Ok(_) => {}
                    Err(step) => return Ok(step),
                },
                b'S' => return Ok(Step::Damaged("a sparse file, which is not supported")),
                // Of what holds no data (links, folders, devices) the size says nothing.
                b'1'..=b'6' => return Ok(Step::Other),
                _ if size > RECORD_MAX as u64 => {
                    return Ok(Step::Damaged("a file of more than 64 MiB"));
                }
                _ if size > self.left() => return Ok(Step::Short),
                _ => {
                    let data = self.at..self.at + size;
                    // The last file may do without what fills it up.
                    self.at += size.next_multiple_of(BLOCK).min(self.left());
                    let path = extended.path.unwrap_or_else(|| path_of(&header));
                    return Ok(split(&path).map_or(Step::Other, |(key, name)| {
                        Step::Member(Member { key: key.to_owned(), name, data })
                    }));
                }
            }
        }
    }

    /// The data of an extended header.
    fn extended(&mut self, size: u64) -> io::Result<Result<Vec<u8>, Step>> {
        if size > EXTENDED_MAX {
            return Ok(Err(Step::Damaged("an extended header of more than 1 MiB")));
        }
        if size.next_multiple_of(BLOCK) > self.left() {
            return Ok(Err(Step::Short));
        }
        let mut data = vec![0; size as usize];
        self.bytes.read(self.at, &mut data)?;
        self.at += size.next_multiple_of(BLOCK);
        Ok(Ok(data))
    }

    fn left(&self) -> u64 {
        self.bytes.len() - self.at
    }

    /// Goes to the end of the record that begins here: where a file begins that has another key. Whether it is one,
    /// and no end of an archive or what is no member.
    fn record(&mut self) -> io::Result<(Ends, bool)> {
        let (first, mut key) = (self.at, None);
        loop {
            let start = self.at;
            let end = match self.next()? {
                Step::Other => continue,
                Step::Member(it) if key.as_ref().is_none_or(|key| *key == it.key) => {
                    key = Some(it.key);
                    continue;
                }
                Step::Zeros if key.is_none() => self.at,
                Step::Member(_) | Step::Zeros => start,
                Step::Damaged(_) if start > first => start,
                Step::Damaged(_) => return Ok((Ends::Lost, true)),
                Step::Short => {
                    let rest = key.is_some() || !self.is_zero_from(start)?;
                    return Ok((Ends::Open, rest));
                }
                Step::End => return Ok((Ends::Open, key.is_some())),
            };
            return Ok((Ends::At(end), key.is_some()));
        }
    }

    /// Whether less than a header is left, and nothing but zeros.
    fn is_zero_from(&self, at: u64) -> io::Result<bool> {
        let left = self.bytes.len() - at;
        let mut rest = vec![0; left.min(BLOCK) as usize];
        self.bytes.read(at, &mut rest)?;
        Ok(left < BLOCK && rest.iter().all(|it| *it == 0))
    }
}

/// Where a record ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    At(u64),
    /// With the bytes, or later.
    Open,
    /// Nobody knows.
    Lost,
}

impl Extended {
    /// Takes the path and the size out of the records of a `pax` header: `30 path=…`, a line each.
    fn take_in(&mut self, mut records: &[u8]) {
        while let Some(space) = records.iter().position(|it| *it == b' ') {
            let len = str::from_utf8(&records[..space]).ok().and_then(|it| it.parse().ok());
            let cut: Option<(&[u8], &[u8])> = len.and_then(|it| records.split_at_checked(it));
            let Some((record, rest)) = cut.filter(|it| it.0.len() > space) else { return };
            let record = &record[space + 1..];
            let record = record.strip_suffix(b"\n").unwrap_or(record);
            if let Some(path) = record.strip_prefix(b"path=") {
                self.path = Some(text(path));
            } else if let Some(size) = record.strip_prefix(b"size=") {
                self.size = str::from_utf8(size).ok().and_then(|it| it.parse().ok());
            }
            records = rest;
        }
    }
}

/// The size of the data behind a header; none where its checksum is wrong.
fn size(header: &Header) -> Option<u64> {
    const CHECKSUM: Range<usize> = 148..156;
    let sum = |it: &[u8]| it.iter().map(|it| u64::from(*it)).sum::<u64>();
    // The sum is made while its own field holds spaces.
    let expected = sum(header) - sum(&header[CHECKSUM]) + 8 * u64::from(b' ');
    (octal(&header[CHECKSUM])? == expected).then(|| number(&header[124..136])).flatten()
}

/// A number in octal digits; or, behind a bit, in binary ones.
fn number(field: &[u8]) -> Option<u64> {
    match field {
        [first, rest @ ..] if first & 0x80 != 0 => {
            let digit = |it: u64, byte: &u8| it.checked_mul(256)?.checked_add(u64::from(*byte));
            rest.iter().try_fold(u64::from(first & 0x7f), digit)
        }
        _ => octal(field),
    }
}

fn octal(field: &[u8]) -> Option<u64> {
    let digits = field.trim_ascii_start();
    let end = digits.iter().position(|it| !it.is_ascii_digit()).unwrap_or(digits.len());
    u64::from_str_radix(str::from_utf8(&digits[..end]).ok()?, 8).ok()
}

fn until_zero(field: &[u8]) -> &[u8] {
    &field[..memchr::memchr(0, field).unwrap_or(field.len())]
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The path in a header: its name, behind a prefix where there is one.
fn path_of(header: &Header) -> String {
    let (name, prefix) = (text(until_zero(&header[..100])), until_zero(&header[345..500]));
    // GNU tar has times where POSIX has the prefix.
    let is_posix = header[257..].starts_with(b"ustar\0") && !prefix.is_empty();
    if is_posix { format!("{}/{name}", text(prefix)) } else { name }
}

/// The key and the member's name that a path makes; none of a file that is no member.
fn split(path: &str) -> Option<(&str, String)> {
    if path.starts_with("__") && path.ends_with("__") {
        return None;
    }
    let file = path.rfind('/').map_or(0, |it| it + 1);
    let point = path[file..].find('.').filter(|it| *it > 0)?;
    Some((&path[..file + point], path[file + point + 1..].to_lowercase()))
}

/// Memory is read without fail.
const READ: &str = "bytes in memory can be read";

/// Archives: a record is the files of one key.
#[derive(Debug)]
pub struct Tar;

impl BinaryFormat for Tar {
    fn end(&self, bytes: &[u8]) -> End {
        end(bytes)
    }

    fn starts(&self, path: &Path, visit: &mut dyn FnMut(u64)) -> Result<u64, FileError> {
        starts(path, visit)
    }

    fn record<'r>(&self, raw: &'r [u8]) -> Result<(String, &'r [u8]), RecordFault> {
        Ok((key(raw)?, raw))
    }

    fn is_verbatim(&self) -> bool {
        true
    }

    fn is_record(&self, rest: &[u8]) -> bool {
        is_record(rest)
    }
}

/// Where the record ends that begins these bytes.
fn end(bytes: &[u8]) -> End {
    match Walk::new(bytes, 0).record().expect(READ) {
        (Ends::At(end), true) => End::At { end: end as usize, n_lines: 1 },
        (Ends::At(end), false) => End::Passed { end: end as usize },
        (Ends::Open, _) => End::Later { quoted: false },
        (Ends::Lost, _) => End::Lost,
    }
}

/// Whether the bytes that are left at the end of an archive are a record.
fn is_record(bytes: &[u8]) -> bool {
    Walk::new(bytes, 0).record().expect(READ).1
}

/// Hands the place of each record of an archive to `visit`; gives its length.
///
/// # Errors
/// It cannot be read.
fn starts(path: &Path, mut visit: impl FnMut(u64)) -> Result<u64, FileError> {
    let unreadable = |why| FileError::unreadable(path, &why);
    let (file, len) = Walked::open(path)?;
    let mut walk = Walk::new(file, 0);
    loop {
        let start = walk.at;
        let (ends, is_record) = walk.record().map_err(unreadable)?;
        if is_record {
            visit(start);
        }
        match ends {
            Ends::At(end) => walk.at = end,
            Ends::Open | Ends::Lost => return Ok(len),
        }
    }
}

/// The data of the first member of a record whose name is one of `names`, in their order; none where there is none.
pub fn member<'r, 'n>(
    record: &'r [u8],
    names: impl IntoIterator<Item = &'n str>,
) -> Option<&'r [u8]> {
    names.into_iter().find_map(|name| {
        let found = members(record).find(|it| it.name.eq_ignore_ascii_case(name))?;
        record.get(found.data.start as usize..found.data.end as usize)
    })
}

/// The names of the members of a record, in order.
pub fn names(record: &[u8]) -> impl Iterator<Item = String> {
    members(record).map(|it| it.name)
}

fn members(record: &[u8]) -> impl Iterator<Item = Member> {
    let mut walk = Walk::new(record, 0);
    std::iter::from_fn(move || {
        loop {
            match walk.next().expect(READ) {
                Step::Member(it) => return Some(it),
                Step::Other => {}
                _ => return None,
            }
        }
    })
}

/// The key of a record.
///
/// # Errors
/// It is cut off or damaged, which loses what follows in the file; or it has a member twice.
pub fn key(record: &[u8]) -> Result<String, RecordFault> {
    let mut walk = Walk::new(record, 0);
    let (mut key, mut names) = (None, Vec::new());
    loop {
        match walk.next().expect(READ) {
            Step::Member(it) if names.contains(&it.name) => {
                let message = format!("`{}` has the member `{}` twice", it.key, it.name);
                return Err(RecordFault::new(message, "write each file of a record only once"));
            }
            Step::Member(it) => {
                names.push(it.name);
                key = Some(it.key);
            }
            Step::Other => {}
            Step::Short => {
                let message = "the archive is truncated inside a file";
                let fault = RecordFault::new(message, "write it again: the end is missing");
                return Err(fault.losing_rest());
            }
            Step::Damaged(what) => {
                let message = format!("found {what}");
                let fault = RecordFault::new(message, "write the archive again");
                return Err(fault.losing_rest());
            }
            Step::Zeros | Step::End => break,
        }
    }
    key.ok_or_else(|| RecordFault::new("the record has no files", "write the archive again"))
}
