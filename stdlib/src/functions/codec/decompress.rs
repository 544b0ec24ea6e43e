//! `decompress`: what is compressed in some bytes.

use super::picture::staged;
use crate::prelude::*;
use crate::records::compressed::{Codec, WINDOW_MAX};
use plan::{VALUE_BYTES_MAX, shown_bytes};
use runtime::Working;
use std::io::{self, Read};

function! {
    /// Decompresses bytes, such as a file `NAME.html.gz` in a record of `tar`.
    ///
    /// With `kind: auto`, the first bytes tell which format it is. Several streams one after the other are one. Fails
    /// with `compression-unknown` if the bytes are not compressed in a format that is known (or not in `kind`), with
    /// `compressed-damaged` if they are damaged or truncated, and with `too-large` if there are more than 1 GiB; this is
    /// found out before memory is taken for them. What may be compressed or not is `decompress(bytes) else bytes`.
    ///
    /// Sources of text and of records decompress files themselves.
    ///
    /// ```pipe
    /// range(2) |> map { n: len(decompress(read_file("page.html.gz"))) else 0 }    # { n: i64 }
    /// ```
    "decompress(bytes: bytes, kind: auto | gzip | zstd | xz | bzip2 = auto) fails -> bytes",
    // Assumed: gzip.
    cost: Cost { ns_call: 2_000.0, ns_byte_in: 0.0, ns_byte_out: 2.7, bytes_out_per_in: 3.5 },
}

/// Up to so many bytes, what is decompressed is copied to where it will live. More are decompressed twice: first to
/// count them.
const STAGED: usize = 1 << 20;
/// Bytes by which what a decoder looks back at is counted.
const STEP: u64 = 8 << 20;

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let kind = match call.word(1) {
        "gzip" => Some(Codec::Gzip),
        "zstd" => Some(Codec::Zstd),
        "xz" => Some(Codec::Xz),
        "bzip2" => Some(Codec::Bzip2),
        _ => None,
    };
    Ok(Kernel::compute(move |args, out| {
        let bytes = args.tensor(0).as_text();
        let codec = match (kind, Codec::of(bytes)) {
            (None, Some(found)) => found,
            (Some(kind), Some(found)) if kind == found => kind,
            (kind, found) => return Err(unknown(kind, found)),
        };
        // No window is larger than this where it is only looked back at in what is staged.
        let _window = Working::of(STEP as usize);
        staged(STAGED, |stage| {
            let mut decoder = codec.decoder(bytes);
            let n_bytes = fill(&mut decoder, stage).map_err(|it| damaged(codec, &it))?;
            if n_bytes < stage.len() {
                return out.text(DType::Bytes, &stage[..n_bytes]);
            }
            let more = count(&mut decoder, stage).map_err(|it| damaged(codec, &it))?;
            let all = more.and_then(|it| usize::try_from(n_bytes as u64 + it).ok());
            let all = all.filter(|it| *it <= VALUE_BYTES_MAX).ok_or_else(|| {
                let most = shown_bytes(VALUE_BYTES_MAX as u64);
                Fault::new("too-large", format!("more than {most} are compressed in these bytes"))
            })?;
            drop(decoder);
            let room = out.room(DType::Bytes, Shape::new(&[all]))?;
            let again = codec.decoder(bytes).read_exact(room);
            again.map_err(|it| damaged(codec, &it))
        })
    }))
}

/// Reads until the room is full, or there is no more; gives how many bytes there were.
fn fill(decoder: &mut dyn Read, room: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < room.len() {
        match decoder.read(&mut room[filled..])? {
            0 => break,
            n_bytes => filled += n_bytes,
        }
    }
    Ok(filled)
}

/// Counts what is left, and drops it; none of more than a value may have.
fn count(decoder: &mut dyn Read, room: &mut [u8]) -> io::Result<Option<u64>> {
    let (mut all, mut windows) = (0, Vec::new());
    loop {
        match decoder.read(room)? as u64 {
            0 => return Ok(Some(all)),
            n_bytes => all += n_bytes,
        }
        if all > VALUE_BYTES_MAX as u64 {
            return Ok(None);
        }
        let held = windows.len() as u64 * STEP;
        if all > held && held < WINDOW_MAX {
            windows.push(Working::of(STEP as usize));
        }
    }
}

fn unknown(kind: Option<Codec>, found: Option<Codec>) -> Fault {
    let detail = match (kind, found) {
        (Some(kind), Some(found)) => {
            format!("expected bytes compressed with {}, found {}", kind.name(), found.name())
        }
        (Some(kind), None) => format!("the bytes are not compressed with {}", kind.name()),
        _ => "the bytes are not compressed with gzip, Zstandard, xz or bzip2".to_owned(),
    };
    Fault::new("compression-unknown", detail)
}

fn damaged(codec: Codec, why: &io::Error) -> Fault {
    let detail = format!("the {} data is damaged or truncated: {why}", codec.name());
    Fault::new("compressed-damaged", detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn run(bytes: &[u8], kind: &str) -> Result<Value, Fault> {
        let bytes = Tensor::text(DType::Bytes, bytes);
        Trial::of(&ENTRY).value(bytes).arg(Arg::Word(kind.to_owned())).run()
    }

    /// `b"a table of 4 words\n"` as `gzip -n`, `zstd`, `xz` and `bzip2` write it.
    const FILES: [(&str, &[u8]); 4] = [
        ("gzip", include_bytes!("goldens/words.gz")),
        ("zstd", include_bytes!("goldens/words.zst")),
        ("xz", include_bytes!("goldens/words.xz")),
        ("bzip2", include_bytes!("goldens/words.bz2")),
    ];
    const WORDS: &[u8] = b"a table of 4 words\n";

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn each_kind_is_known_by_its_first_bytes() {
        for (kind, file) in FILES {
            assert_eq!(run(file, "auto"), Ok(Value::bytes(WORDS)), "{kind}");
            assert_eq!(run(file, kind), Ok(Value::bytes(WORDS)), "{kind}");
            assert_eq!(run(&file.repeat(2), kind), Ok(Value::bytes(&WORDS.repeat(2))), "{kind}");
        }
    }

    #[test]
    fn what_is_none_is_told_from_what_is_damaged() {
        for (kind, file) in FILES {
            for len in 0..file.len() {
                let fault = run(&file[..len], kind).unwrap_err();
                let code = if Codec::of(&file[..len]).is_none() {
                    "compression-unknown"
                } else {
                    "compressed-damaged"
                };
                assert_eq!(fault.code, code, "{kind}, {len} bytes: {}", fault.detail);
            }
            // A changed bit is found out, or says nothing of the data, such as the time in the header of gzip.
            for at in 0..file.len() {
                let mut file = file.to_vec();
                file[at] ^= 0x10;
                match run(&file, "auto") {
                    Ok(found) => assert_eq!(found, Value::bytes(WORDS), "{kind}, byte {at}"),
                    Err(fault) => assert!(fault.code.starts_with("compress"), "{kind}, byte {at}"),
                }
            }
        }
        let fault = run(FILES[0].1, "xz").unwrap_err();
        assert_eq!(fault.detail, "expected bytes compressed with xz, found gzip");
        assert_eq!(run(b"", "auto").unwrap_err().code, "compression-unknown");
        assert_eq!(run(WORDS, "auto").unwrap_err().code, "compression-unknown");
    }

    #[test]
    fn any_size_up_to_the_limit() {
        for len in [0, 1, STAGED - 1, STAGED, STAGED + 1, 3 * STAGED] {
            let bytes: Vec<u8> = (0..len).map(|it| ((it * it) >> 7) as u8).collect();
            assert!(run(&gzip(&bytes), "auto") == Ok(Value::bytes(&bytes)), "{len} bytes");
        }
    }

    /// A gigabyte of zeros in little: nothing of that size is held.
    #[test]
    fn a_bomb_is_a_fault() {
        let zeros = gzip(&vec![0; 64 << 20]);
        let bomb = zeros.repeat(17);
        assert!(bomb.len() < 8 << 20);
        let fault = run(&bomb, "auto").unwrap_err();
        assert_eq!(fault.code, "too-large");
        assert_eq!(fault.detail, "more than 1.1 GB are compressed in these bytes");
    }
}
