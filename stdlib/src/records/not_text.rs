//! What a file is that is read as text and is none, by its first bytes; and what to do.

/// Formats by their first bytes; of those that begin with letters, as many bytes as no text begins with.
const MAGIC: [(&[u8], What); 13] = [
    (b"\x04\x22\x4d\x18", What::Compressed("LZ4", "lz4 -dk")),
    (b"PK\x03\x04", What::Archive("ZIP", "unzip")),
    (b"7z\xbc\xaf\x27\x1c", What::Archive("7-Zip", "7z x")),
    (b"PAR1\x15", What::Other("a Parquet file", "read it with `parquet`")),
    (b"ARROW1\0\0", What::Other("an Arrow file", "read it with `arrow`")),
    (b"\x89HDF\r\n", What::Other("an HDF5 file", "read it with `hdf5`")),
    (b"\x93NUMPY", What::Other("a NumPy file", "read it with `npy`")),
    (b"SQLite format 3\0", What::Other("an SQLite database", "write the table as CSV")),
    (b"\xff\xd8\xff", What::Other("a JPEG image", "use `files` to read images")),
    (b"\x89PNG\r\n", What::Other("a PNG image", "use `files` to read images")),
    // UTF-32 in little endian begins as UTF-16 does.
    (b"\xff\xfe\0\0", What::Encoded("UTF-32", "utf-32")),
    (b"\xff\xfe", What::Encoded("UTF-16", "utf-16")),
    (b"\xfe\xff", What::Encoded("UTF-16", "utf-16")),
];

enum What {
    /// With what, and the command that undoes it.
    Compressed(&'static str, &'static str),
    /// Which, and the command that unpacks it.
    Archive(&'static str, &'static str),
    /// What it is, and what to do.
    Other(&'static str, &'static str),
    /// How, and what `iconv` calls it.
    Encoded(&'static str, &'static str),
}

/// What is wrong with a file that begins so, and what to do.
pub(crate) fn told(path: &str, start: &[u8]) -> Option<(String, String)> {
    let found = MAGIC.iter().find(|it| start.starts_with(it.0)).map(|it| &it.1);
    // Every other byte of UTF-16 is zero in most languages' text, also where no mark stands in front.
    let is_wide = start.len() >= 8 && (zeros(&start[..8], 0) || zeros(&start[..8], 1));
    let encoded = What::Encoded("UTF-16", "utf-16");
    Some(match found.or_else(|| is_wide.then_some(&encoded))? {
        What::Compressed(with, command) => (
            format!("it is compressed with {with}, which is not supported yet"),
            format!("decompress it first: `{command} {path}`"),
        ),
        What::Archive(what, command) => (
            format!("it is a {what} archive, which is not supported yet"),
            format!("unpack it first: `{command} {path}`"),
        ),
        What::Other(what, help) => (format!("it is {what}, not text"), (*help).to_owned()),
        What::Encoded(how, name) => (
            format!("it is {how} text, but only UTF-8 is supported"),
            format!("convert it first: `iconv -f {name} -t utf-8 {path} > utf8.txt`"),
        ),
    })
}

/// Whether the bytes at even places, or at odd ones, are zero and the others are not.
fn zeros(start: &[u8], at: usize) -> bool {
    start.iter().enumerate().all(|(i, it)| (*it == 0) == (i % 2 == at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_named() {
        let said = |start: &[u8]| told("x", start).map(|(what, help)| format!("{what}: {help}"));
        assert!(said(b"\x04\x22\x4d\x18abc").unwrap().contains("lz4 -dk x"));
        assert!(said(b"PK\x03\x04abc").unwrap().contains("ZIP archive"));
        assert!(said(b"PAR1\x15\x04").unwrap().contains("a Parquet file"));
        assert!(said(b"ARROW1\0\0").unwrap().contains("an Arrow file"));
        assert!(said(b"\xff\xfea\0").unwrap().contains("UTF-16"));
        assert!(said(b"\xff\xfe\0\0a\0").unwrap().contains("UTF-32"));
        assert!(said(b"n\0a\0m\0e\0").unwrap().contains("UTF-16"));
        assert!(said(b"\0n\0a\0m\0e").unwrap().contains("UTF-16"));
    }

    #[test]
    fn text_is_none_of_them() {
        let texts: [&[u8]; 7] =
            [b"", b"a", b"name,age\n", b"BMW,1\n", b"PAR1,2\n", b"\xef\xbb\xbfname", b"ARROW1,x\n"];
        for text in texts {
            assert_eq!(told("x", text), None, "{text:?}");
        }
    }
}
