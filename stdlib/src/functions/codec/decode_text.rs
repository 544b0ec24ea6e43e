//! `decode_text`: bytes in some encoding as text.

use crate::prelude::*;
use encoding_rs::{Decoder, DecoderResult, Encoding, REPLACEMENT, UTF_8};

function! {
    /// Decodes bytes as a string.
    ///
    /// A byte order mark of UTF-8 or UTF-16 says the encoding, whatever `encoding` is, and is removed. Without one,
    /// `auto` is UTF-8. Other names are those of the WHATWG's standard, which browsers use: `"windows-1252"` (also
    /// called `"latin1"` there), `"iso-8859-2"`, `"utf-16le"`, `"shift_jis"`, `"gbk"`, `"big5"`, `"euc-kr"`,
    /// `"windows-1251"` and so on. Fails with `text-encoding` if the bytes are not text in this encoding; nothing is
    /// replaced or guessed. `decode_text(bytes) else decode_text(bytes, encoding: "windows-1252")` reads what is not
    /// UTF-8 as browsers do.
    ///
    /// ```pipe
    /// range(2) |> map { text: decode_text(read_file("LICENSE"), encoding: "latin1") else "" }    # { text: str }
    /// ```
    "decode_text(bytes: bytes, encoding: text = \"auto\") fails -> str",
    // Assumed: UTF-8, which is checked and copied.
    cost: Cost { ns_byte_in: 0.1, ..Cost::out(30.0, 0.07) },
    result: Some(result),
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let Arg::Text(name) = &applied.args[1] else {
        return Err("`encoding` must be a name that is known at compile time".to_owned());
    };
    if encoding_of(name).is_none() {
        return Err(format!(
            "there is no encoding `{name}`: write `auto` or a name such as `utf-8`, `utf-16le`, `windows-1252`, \
             `shift_jis` or `gbk`"
        ));
    }
    Ok(Type::scalar(DType::Str))
}

/// The encoding of a name.
fn encoding_of(name: &str) -> Option<&'static Encoding> {
    match name {
        "auto" => Some(UTF_8),
        // Names of encodings that the standard refuses all mean the same.
        _ => Encoding::for_label(name.as_bytes()).filter(|it| *it != REPLACEMENT),
    }
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let said = encoding_of(call.word(1)).expect("the checker saw to a name");
    Ok(Kernel::compute(move |args, out| {
        let bytes = args.tensor(0).as_text();
        let (encoding, mark) = Encoding::for_bom(bytes).unwrap_or((said, 0));
        let bytes = &bytes[mark..];
        if encoding == UTF_8 {
            let text =
                str::from_utf8(bytes).map_err(|it| unfit(encoding, mark + it.valid_up_to()))?;
            return out.text(DType::Str, text.as_bytes());
        }
        let mut len = 0;
        each_piece(encoding, bytes, |piece| len += piece.len())
            .map_err(|at| unfit(encoding, mark + at))?;
        let mut room = out.room(DType::Str, Shape::new(&[len]))?;
        let again = each_piece(encoding, bytes, |piece| {
            let (to, rest) = std::mem::take(&mut room).split_at_mut(piece.len());
            to.copy_from_slice(piece);
            room = rest;
        });
        again.map_err(|at| unfit(encoding, mark + at))
    }))
}

/// Decodes piece by piece; where the bytes that are no text begin, if there are such.
fn each_piece(
    encoding: &'static Encoding,
    bytes: &[u8],
    mut visit: impl FnMut(&[u8]),
) -> Result<(), usize> {
    let mut decoder: Decoder = encoding.new_decoder_without_bom_handling();
    let (mut at, mut piece) = (0, [0; 4096]);
    loop {
        let (result, read, written) =
            decoder.decode_to_utf8_without_replacement(&bytes[at..], &mut piece, true);
        at += read;
        visit(&piece[..written]);
        match result {
            DecoderResult::InputEmpty => return Ok(()),
            DecoderResult::OutputFull => {}
            DecoderResult::Malformed(len, behind) => {
                return Err(at.saturating_sub(usize::from(len) + usize::from(behind)));
            }
        }
    }
}

fn unfit(encoding: &'static Encoding, at: usize) -> Fault {
    let detail = format!(
        "the bytes are not valid {} from byte {at} on: state another encoding, such as `encoding: \"windows-1252\"`",
        encoding.name()
    );
    Fault::new("text-encoding", detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    fn run(bytes: &[u8], encoding: &str) -> Result<Value, String> {
        let trial = Trial::of(&ENTRY).value(Tensor::text(DType::Bytes, bytes));
        let run = trial.arg(Arg::Text(encoding.to_owned())).run();
        run.map_err(|it| format!("{}: {}", it.code, it.detail))
    }

    /// What Python 3.11 encodes with its codecs of the same names, except for the marks.
    #[test]
    fn agrees_with_python() {
        let cases: [(&[u8], &str, &str); 14] = [
            (b"", "auto", ""),
            ("Grüße".as_bytes(), "auto", "Grüße"),
            (b"\xef\xbb\xbfa", "auto", "a"),
            (b"\xef\xbb\xbfa", "windows-1252", "a"),
            (b"\xff\xfea\0\xfc\0", "auto", "aü"),
            (b"\xfe\xff\0a\xd8\x3e\xdd\x80", "utf-16", "a🦀"),
            (b"a\0\xfc\0", "utf-16le", "aü"),
            (b"Gr\xfc\xdfe \x80\x93", "windows-1252", "Grüße €“"),
            (b"Gr\xfc\xdfe", "latin1", "Grüße"),
            (b"\x8a\xbf\x8e\x9a", "shift_jis", "漢字"),
            (b"\xba\xba\xd7\xd6", "gbk", "汉字"),
            (b"\xba\xba\xd7\xd6\x81\x30\x84\x36", "gb18030", "汉字¥"),
            (b"\xc7\xd1\xb1\xdb", "euc-kr", "한글"),
            (b"\xef\xf0\xe8\xe2\xe5\xf2", "cp1251", "привет"),
        ];
        for (bytes, encoding, text) in cases {
            assert_eq!(run(bytes, encoding), Ok(Value::text(text)), "{encoding}");
        }
        // More than a piece, and characters across its end.
        let cases: [(&[u8], &[u8], &str, &str); 2] =
            [(b"a", b"\x8a\xbf", "shift_jis", "漢"), (b"\0a", b"\x22\x6f", "utf-16be", "≯")];
        for (front, unit, encoding, character) in cases {
            for n in [4_095, 4_096, 10_001] {
                let (bytes, text) = (unit.repeat(n), character.repeat(n));
                assert_eq!(run(&bytes, encoding), Ok(Value::text(&text)));
                let shifted = [front, &bytes].concat();
                assert_eq!(run(&shifted, encoding), Ok(Value::text(&format!("a{text}"))));
            }
        }
    }

    #[test]
    fn what_is_no_text_is_a_fault() {
        let fault = |bytes, encoding| run(bytes, encoding).unwrap_err();
        assert_eq!(
            fault(b"Gr\xfc\xdfe", "auto"),
            "text-encoding: the bytes are not valid UTF-8 from byte 2 on: state another encoding, such as \
             `encoding: \"windows-1252\"`"
        );
        assert!(fault(b"\xef\xbb\xbfab\xff", "auto").contains("from byte 5 on"));
        assert!(fault(b"ab\x8a", "shift_jis").contains("Shift_JIS from byte 2 on"));
        assert!(fault(b"ab\x8a\xbf\x8a\x20c", "shift_jis").contains("from byte 4 on"));
        assert!(fault(b"a\0b", "utf-16le").contains("UTF-16LE from byte 2 on"));
        assert!(fault(b"a\0\x00\xd8b\0", "utf-16le").contains("UTF-16LE from byte 2 on"));
    }

    #[test]
    fn names_are_checked() {
        for name in ["", "latin-42", "iso-2022-kr", "replacement", "AUTO"] {
            let trial = Trial::of(&ENTRY).value(Tensor::text(DType::Bytes, b"a"));
            let refused = trial.arg(Arg::Text(name.to_owned())).refused();
            assert!(refused.contains(&format!("no encoding `{name}`")), "{refused}");
        }
    }
}
