//! Messages that name flags of the command line, with the arguments that Python has in their place.

use std::borrow::Cow;

/// Flags, the arguments of `pipec.load` that say the same, and whether their values are texts.
const ARGUMENTS: [(&str, &str, bool); 9] = [
    ("--workers", "workers", false),
    ("--seed", "seed", false),
    ("--epochs", "epochs", false),
    ("--rank", "rank", false),
    ("--world-size", "world_size", false),
    ("--max-errors", "max_errors", false),
    ("--memory", "memory", true),
    ("--cache", "cache", true),
    ("--quarantine", "quarantine", true),
];

/// `text` for somebody who calls from Python: `--set n=3` is `params={"n": 3}`. Flags without an argument stay, and so
/// does a text that says itself how it is in Python.
#[must_use]
pub fn in_python(text: &str) -> Cow<'_, str> {
    let pieces: Vec<&str> = text.split('`').collect();
    // Code stands between two backquotes: each second piece, where they are in pairs.
    if !text.contains("`--") || text.contains("in Python") || pieces.len().is_multiple_of(2) {
        return Cow::Borrowed(text);
    }
    let told = |(at, piece): (usize, &&str)| match at % 2 {
        1 => arguments(piece).unwrap_or_else(|| (*piece).to_owned()),
        _ => (*piece).to_owned(),
    };
    Cow::Owned(pieces.iter().enumerate().map(told).collect::<Vec<_>>().join("`"))
}

/// What `code` says as arguments, where all of it is flags that have one.
fn arguments(code: &str) -> Option<String> {
    let mut words = code.split_whitespace().peekable();
    let mut all = Vec::new();
    while let Some(word) = words.next() {
        let (flag, value) = match word.split_once('=') {
            Some((flag, value)) => (flag, Some(value)),
            None => (word, words.next_if(|it| !it.starts_with("--"))),
        };
        all.push(argument(flag, value)?);
    }
    (!all.is_empty()).then(|| all.join(", "))
}

fn argument(flag: &str, value: Option<&str>) -> Option<String> {
    if flag == "--set" {
        return Some(match value.and_then(|it| it.split_once('=')) {
            Some((name, value)) => format!("params={{\"{name}\": {value}}}"),
            None => "params={…}".to_owned(),
        });
    }
    let (_, name, is_text) = ARGUMENTS.iter().find(|it| it.0 == flag)?;
    let value = value.unwrap_or_default();
    let is_placeholder = value.chars().all(char::is_uppercase);
    Some(match *is_text && !is_placeholder {
        true => format!("{name}=\"{value}\""),
        false => format!("{name}={value}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_told_as_arguments() {
        for (text, told) in [
            ("set it with `--set n=…`, or not", "set it with `params={\"n\": …}`, or not"),
            ("take fewer (`--workers`)", "take fewer (`workers=`)"),
            ("`--rank 1 --world-size 2`: it", "`rank=1, world_size=2`: it"),
            ("`--memory 2GiB` or `--cache DIR`", "`memory=\"2GiB\"` or `cache=DIR`"),
            ("`--set`", "`params={…}`"),
            ("`--allow-outside` and `x --set n=1`", "`--allow-outside` and `x --set n=1`"),
            ("`--seed`, and `seed=` in Python", "`--seed`, and `seed=` in Python"),
            ("a ` alone and `--seed 1`", "a ` alone and `--seed 1`"),
        ] {
            assert_eq!(in_python(text), told);
        }
    }
}
