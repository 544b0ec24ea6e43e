//! What a name of the language is: what a program calls a field or a column.

/// The words that no name can be.
pub static KEYWORDS: [&str; 22] = [
    "param", "const", "fn", "extern", "pipeline", "use", "edition", "map", "flat_map", "with",
    "where", "if", "then", "else", "and", "or", "not", "in", "as", "for", "true", "false",
];

/// Whether a program can write `text` as a name.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let is_start = |it: u8| it.is_ascii_alphabetic() || it == b'_';
    let is_rest = |it: u8| is_start(it) || it.is_ascii_digit();
    text.bytes().next().is_some_and(is_start)
        && text.bytes().all(is_rest)
        && !KEYWORDS.contains(&text)
}

/// Whether a program can write `text` as a field, that of a record in a record too: `image.bytes`.
#[must_use]
pub fn is_field_name(text: &str) -> bool {
    text.split('.').all(is_name)
}

/// A name for what is called `text` elsewhere: `trip_distance` for `Trip Distance`, `in_` for `in`.
#[must_use]
pub fn name_for(text: &str) -> String {
    if is_name(text) {
        return text.to_owned();
    }
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|it| !it.is_empty());
    let name = words.collect::<Vec<_>>().join("_").to_ascii_lowercase();
    match name.bytes().next() {
        None => "field".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("f{name}"),
        Some(_) if is_name(&name) => name,
        Some(_) => name + "_",
    }
}

/// A text as a program writes it: `"Trip Distance"`.
#[must_use]
pub fn text_literal(text: &str) -> String {
    let mut written = String::from("\"");
    for (at, c) in text.char_indices() {
        match c {
            '"' | '\\' => written.extend(['\\', c]),
            '\n' => written.push_str("\\n"),
            '\t' => written.push_str("\\t"),
            // `{name}` would be filled in.
            '{' if text[at + 1..].split_once('}').is_some_and(|it| is_name(it.0)) => {
                written.push_str("{{");
            }
            c if c.is_control() => written.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => written.push(c),
        }
    }
    written + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_written_as_it_is_read() {
        let of = [
            ("Trip Distance", r#""Trip Distance""#),
            ("a\"b\\c\n\t\r", r#""a\"b\\c\n\t\u{d}""#),
            ("*.{a,b} {c} {in}", r#""*.{a,b} {{c} {in}""#),
        ];
        for (text, expected) in of {
            assert_eq!(text_literal(text), expected);
        }
    }

    #[test]
    fn a_name_is_a_word_that_is_not_the_languages_own() {
        for name in ["a", "_", "Fare2", "class", "it"] {
            assert!(is_name(name), "{name}");
        }
        for text in ["", "1st", "Trip Distance", "größe", "in", "a.b", "a-b", "a\n"] {
            assert!(!is_name(text), "{text}");
        }
        assert!(is_field_name("image.bytes"));
        assert!(!is_field_name("image.in") && !is_field_name("image.") && !is_field_name(".a"));
    }

    #[test]
    fn every_text_has_a_name() {
        let of = [
            ("Fare", "Fare"),
            ("Trip Distance", "trip_distance"),
            ("fare.amount (USD)", "fare_amount_usd"),
            ("1st", "f1st"),
            ("in", "in_"),
            (" In ", "in_"),
            ("größe", "gr_e"),
            ("", "field"),
            ("€", "field"),
        ];
        for (text, name) in of {
            assert_eq!(name_for(text), name, "{text}");
            assert!(is_name(name), "{name}");
        }
    }
}
