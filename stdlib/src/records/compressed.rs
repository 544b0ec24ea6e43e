//! Files that are compressed, told by their first bytes, as a stream of what they hold.

use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};
use std::path::Path;

use runtime::storage::{self, Kind, Object};
use runtime::{VALUE_BYTES_MAX, reads};

use super::FileError;

/// Bytes that are read from a compressed file at once.
const READ: usize = 256 << 10;
/// Bytes that a decoder may take to look back at what it gave: what `xz -9` and `zstd --ultra --long=27` need.
pub(crate) const WINDOW_MAX: u64 = 128 << 20;

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Codec {
    Gzip,
    Zstd,
    Xz,
    Bzip2,
}

impl Codec {
    /// By the first bytes of a file.
    pub(crate) fn of(start: &[u8]) -> Option<Codec> {
        const MAGIC: [(&[u8], Codec); 4] = [
            (b"\x1f\x8b", Codec::Gzip),
            (b"\x28\xb5\x2f\xfd", Codec::Zstd),
            (b"\xfd7zXZ\0", Codec::Xz),
            (b"BZh", Codec::Bzip2),
        ];
        // Text may begin with the letters of bzip2; what follows them there is a digit and a block's mark.
        let fits = |it: &&(&[u8], Codec)| {
            let is_bzip2 = it.1 == Codec::Bzip2;
            start.starts_with(it.0)
                && (!is_bzip2
                    || start.get(4..10) == Some(b"1AY&SY")
                    || start.get(4..10) == Some(b"\x17rE8P\x90"))
        };
        MAGIC.iter().find(fits).map(|it| it.1)
    }

    /// What it is called.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Codec::Gzip => "gzip",
            Codec::Zstd => "Zstandard",
            Codec::Xz => "xz",
            Codec::Bzip2 => "bzip2",
        }
    }

    /// What is compressed in `input`, several streams one after the other being one.
    pub(crate) fn decoder<'a>(self, input: impl BufRead + Send + 'a) -> Box<dyn Read + Send + 'a> {
        match self {
            Codec::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(input)),
            Codec::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(input)),
            Codec::Xz => {
                let most = (WINDOW_MAX >> 10) as u32;
                Box::new(lzma_rust2::XzReader::new_mem_limit(input, true, most))
            }
            Codec::Zstd => Box::new(Zstd { input: Some(input), frame: None }),
        }
    }
}

/// An open file: as it is, or what is compressed in it.
pub(super) enum Input {
    Plain(Box<dyn Object>),
    Compressed(Codec, Box<dyn Read + Send>),
}

impl Input {
    /// Opens a file; also gives its bytes where they are known to be those that it holds: not of what is compressed,
    /// nor of what is no file but a pipe.
    pub(super) fn open(path: &Path) -> io::Result<(Input, Option<u64>)> {
        let mut file = storage::of(path).open(path, &mut || ())?;
        let found = file.stat()?;
        // What the system makes up as it is read has no bytes beforehand.
        let len = Some(found.bytes).filter(|it| found.kind == Kind::File && *it > 0);
        let mut start = [0; 16];
        let n_bytes = match len {
            Some(len) => {
                let room = &mut start[..len.min(16) as usize];
                file.read_exact_at(room, 0)?;
                room.len()
            }
            None => 0,
        };
        match Codec::of(&start[..n_bytes]) {
            None => Ok((Input::Plain(file), len)),
            Some(codec) => {
                file.go_to(0)?;
                let input = BufReader::with_capacity(READ, Counted(file));
                Ok((Input::Compressed(codec, codec.decoder(input)), None))
            }
        }
    }

    /// Goes to a byte of what it holds; it was just opened.
    pub(super) fn go_to(&mut self, offset: u64) -> io::Result<()> {
        match self {
            Input::Plain(file) => file.go_to(offset),
            Input::Compressed(_, decoder) => {
                let passed = io::copy(&mut decoder.take(offset), &mut io::sink())?;
                if passed == offset { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
            }
        }
    }

    /// How it is compressed, if it is.
    pub(super) fn codec(&self) -> Option<Codec> {
        if let Input::Compressed(codec, _) = self { Some(*codec) } else { None }
    }
}

/// All that a file holds, as it is or compressed, if it is text in UTF-8; else what is wrong with it.
pub(crate) fn whole_text(path: &Path) -> Result<Vec<u8>, String> {
    let most = VALUE_BYTES_MAX as u64;
    let mut bytes = Vec::new();
    let read = Input::open(path).and_then(|it| it.0.take(most + 1).read_to_end(&mut bytes));
    read.map_err(|why| format!("cannot be read: {why}"))?;
    if bytes.len() as u64 > most {
        return Err(format!("it has more than {most} bytes: a value may have no more"));
    }
    // The mark is no part of the text.
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    match str::from_utf8(&bytes) {
        Ok(_) => Ok(bytes),
        Err(why) => Err(format!("it is not UTF-8 from byte {} on", why.valid_up_to() + 1)),
    }
}

/// Opens a file whose records are read by number, and gives its bytes.
///
/// # Errors
/// It cannot be read, or it is compressed.
pub(crate) fn open_by_number(path: &Path) -> Result<(Box<dyn Object>, u64), FileError> {
    match Input::open(path).map_err(|why| FileError::unreadable(path, &why))? {
        (Input::Plain(file), len) => Ok((file, len.unwrap_or_default())),
        (Input::Compressed(codec, _), _) => Err(FileError::in_order_only(path, codec.name())),
    }
}

impl Read for Input {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        // It may be long until something in it is a record.
        storage::unless_given_up()?;
        match self {
            Input::Plain(file) => {
                let n_bytes = file.read_on(room)?;
                reads::count(n_bytes as u64);
                Ok(n_bytes)
            }
            Input::Compressed(_, decoder) => decoder.read(room),
        }
    }
}

/// Counts what is read from a file.
struct Counted<R>(R);

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let n_bytes = self.0.read(room)?;
        reads::count(n_bytes as u64);
        Ok(n_bytes)
    }
}

/// What the Zstandard frames of `input` hold.
#[cfg(feature = "tables")]
pub(crate) fn zstd(input: impl BufRead) -> impl Read {
    Zstd { input: Some(input), frame: None }
}

/// A frame, of which four bytes were read already.
type Frame<R> =
    ruzstd::decoding::StreamingDecoder<Chain<Cursor<[u8; 4]>, R>, ruzstd::decoding::FrameDecoder>;

/// The frames of a Zstandard file, one after the other; those to be skipped left out (RFC 8878, 3.1).
struct Zstd<R: Read> {
    /// What follows, where no frame is being read.
    input: Option<R>,
    frame: Option<Frame<R>>,
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(frame) = &mut self.frame {
                let n_bytes = frame.read(room).map_err(|why| in_short(&why))?;
                if n_bytes > 0 || room.is_empty() {
                    return Ok(n_bytes);
                }
            }
            if let Some(frame) = self.frame.take() {
                let (said, found) = (
                    frame.decoder.get_checksum_from_data(),
                    frame.decoder.get_calculated_checksum(),
                );
                if said.is_some() && said != found {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        "a checksum does not match",
                    ));
                }
                self.input = Some(frame.into_inner().into_inner().1);
            }
            if !self.begin()? {
                return Ok(0);
            }
        }
    }
}

/// What a decoder of frames says, without its innards.
fn in_short(why: &io::Error) -> io::Error {
    let said = why.to_string();
    match said.contains("UnexpectedEof") {
        true => io::ErrorKind::UnexpectedEof.into(),
        false => io::Error::new(why.kind(), said),
    }
}

impl<R: BufRead> Zstd<R> {
    /// Begins the next frame; `false` where there is none.
    fn begin(&mut self) -> io::Result<bool> {
        let Some(mut input) = self.input.take() else { return Ok(false) };
        let mut mark = [0; 4];
        while !input.fill_buf()?.is_empty() {
            input.read_exact(&mut mark)?;
            // Of the marks of what is to be skipped four bits are free; behind them stands how long it is.
            if u32::from_le_bytes(mark) & 0xffff_fff0 != 0x184d_2a50 {
                let rest = Cursor::new(mark).chain(input);
                self.frame = Some(Frame::new(rest).map_err(io::Error::other)?);
                return Ok(true);
            }
            input.read_exact(&mut mark)?;
            let len = u64::from(u32::from_le_bytes(mark));
            if io::copy(&mut input.by_ref().take(len), &mut io::sink())? < len {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(false)
    }
}
