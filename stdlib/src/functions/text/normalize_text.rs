//! `normalize_text`: a text in one of Unicode's normalization forms.

use crate::prelude::*;
use plan::VALUE_BYTES_MAX;
use unicode_normalization::{
    IsNormalized, UnicodeNormalization, is_nfc_quick, is_nfd_quick, is_nfkc_quick, is_nfkd_quick,
};

function! {
    /// Writes a string in one of Unicode's normalization forms, so that equal texts have equal bytes.
    ///
    /// `nfc` composes characters (`e` and a combining accent become `é`), `nfd` decomposes them; `nfkc` and `nfkd` also
    /// replace compatibility characters, such as ligatures, full-width letters and superscripts, by plain ones. As
    /// `unicodedata.normalize` in Python. ASCII, and what is in the form already, is copied as it is.
    ///
    /// ```pipe
    /// range(2) |> map { text: normalize_text("ﬁne", form: nfkc) }    # { text: str }
    /// ```
    "normalize_text(text: str, form: nfc | nfd | nfkc | nfkd = nfc) -> str",
    // Assumed: mostly ASCII, which is looked at and copied.
    cost: Cost { ns_byte_in: 0.3, ..Cost::call(20.0) },
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    macro_rules! kernel {
        ($is_normalized:ident, $normalized:ident) => {
            Kernel::compute(|args, out| {
                let text = args.tensor(0).as_str();
                let is_plain = text.is_ascii() || $is_normalized(text.chars()) == IsNormalized::Yes;
                if is_plain {
                    return out.text(DType::Str, text.as_bytes());
                }
                let _working = Working::of(text.len());
                let mut normalized = String::with_capacity(text.len());
                for it in text.$normalized() {
                    normalized.push(it);
                    if normalized.len() > VALUE_BYTES_MAX {
                        break;
                    }
                }
                // Refuses what is larger than a value may be.
                out.text(DType::Str, normalized.as_bytes())
            })
        };
    }
    Ok(match call.word(1) {
        "nfd" => kernel!(is_nfd_quick, nfd),
        "nfkc" => kernel!(is_nfkc_quick, nfkc),
        "nfkd" => kernel!(is_nfkd_quick, nfkd),
        _ => kernel!(is_nfc_quick, nfc),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    fn run(text: &str, form: &str) -> Result<Value, Fault> {
        Trial::of(&ENTRY).text(text).arg(Arg::Word(form.to_owned())).run()
    }

    /// `unicodedata.normalize(form, text)` of Python 3.11.
    #[test]
    fn agrees_with_python() {
        let cases = [
            ("", ["", "", "", ""]),
            (
                "plain ASCII, 100%\n",
                [
                    "plain ASCII, 100%\n",
                    "plain ASCII, 100%\n",
                    "plain ASCII, 100%\n",
                    "plain ASCII, 100%\n",
                ],
            ),
            (
                "Gr\u{fc}\u{df}e",
                ["Gr\u{fc}\u{df}e", "Gru\u{308}\u{df}e", "Gr\u{fc}\u{df}e", "Gru\u{308}\u{df}e"],
            ),
            (
                "e\u{301} a\u{308}",
                ["\u{e9} \u{e4}", "e\u{301} a\u{308}", "\u{e9} \u{e4}", "e\u{301} a\u{308}"],
            ),
            (
                "\u{fb01}ne \u{ff21}\u{ff22}\u{b2}\u{2460}",
                [
                    "\u{fb01}ne \u{ff21}\u{ff22}\u{b2}\u{2460}",
                    "\u{fb01}ne \u{ff21}\u{ff22}\u{b2}\u{2460}",
                    "fine AB21",
                    "fine AB21",
                ],
            ),
            (
                "\u{ac00}\u{1100}\u{1161}\u{11a8}",
                [
                    "\u{ac00}\u{ac01}",
                    "\u{1100}\u{1161}\u{1100}\u{1161}\u{11a8}",
                    "\u{ac00}\u{ac01}",
                    "\u{1100}\u{1161}\u{1100}\u{1161}\u{11a8}",
                ],
            ),
            (
                "\u{212b}\u{2126}",
                ["\u{c5}\u{3a9}", "A\u{30a}\u{3a9}", "\u{c5}\u{3a9}", "A\u{30a}\u{3a9}"],
            ),
            (
                "q\u{307}\u{323}",
                ["q\u{323}\u{307}", "q\u{323}\u{307}", "q\u{323}\u{307}", "q\u{323}\u{307}"],
            ),
            (
                "\u{1e9b}\u{323}",
                ["\u{1e9b}\u{323}", "\u{17f}\u{323}\u{307}", "\u{1e69}", "s\u{323}\u{307}"],
            ),
            (
                "\u{958}\u{fb2c}",
                [
                    "\u{915}\u{93c}\u{5e9}\u{5bc}\u{5c1}",
                    "\u{915}\u{93c}\u{5e9}\u{5bc}\u{5c1}",
                    "\u{915}\u{93c}\u{5e9}\u{5bc}\u{5c1}",
                    "\u{915}\u{93c}\u{5e9}\u{5bc}\u{5c1}",
                ],
            ),
            (
                "\u{3392}\u{33a1}\u{fe37}\u{a0}",
                [
                    "\u{3392}\u{33a1}\u{fe37}\u{a0}",
                    "\u{3392}\u{33a1}\u{fe37}\u{a0}",
                    "MHzm2{ ",
                    "MHzm2{ ",
                ],
            ),
            (
                "\u{65e5}\u{672c} \u{1f980}",
                [
                    "\u{65e5}\u{672c} \u{1f980}",
                    "\u{65e5}\u{672c} \u{1f980}",
                    "\u{65e5}\u{672c} \u{1f980}",
                    "\u{65e5}\u{672c} \u{1f980}",
                ],
            ),
        ];
        for (text, forms) in cases {
            for (form, expected) in ["nfc", "nfd", "nfkc", "nfkd"].into_iter().zip(forms) {
                assert_eq!(run(text, form), Ok(Value::text(expected)), "{form} of {text:?}");
                assert_eq!(
                    run(expected, form),
                    Ok(Value::text(expected)),
                    "{form} of {expected:?}"
                );
            }
        }
    }
}
