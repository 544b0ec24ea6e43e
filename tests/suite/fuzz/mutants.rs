//! Programs that went wrong: the repository's own, changed at random, the same way every time.

use crate::{cases::suite, random::Dice};
use compiler::syntax::highlight;
use std::{fs, ops::Range, path::PathBuf};

/// Bytes of a mutant of a program, at the most.
pub(crate) const BYTES_MAX: usize = 6000;

/// What breaks readers.
const NASTY: [&[u8]; 14] = [
    b"((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((",
    b"{[{[{[{[{[{[{[{[",
    b"|>",
    b"\"{",
    b"'",
    b"\xff\xfe",
    b"\0",
    "\u{feff}".as_bytes(),
    "\u{2028}é\u{301}".as_bytes(),
    b"99999999999999999999999999",
    b"1e999",
    b"-9223372036854775808",
    b"0..0",
    b" else skip(most: ",
];

/// The programs of the repository.
pub(crate) fn corpus() -> Vec<Vec<u8>> {
    let mut paths: Vec<PathBuf> = Vec::new();
    let mut open = vec![suite().join("../..")];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() && name != "target" && !name.starts_with('.') {
                open.push(path);
            } else if path.extension().is_some_and(|it| it == "pipe") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    paths.into_iter().filter_map(|it| fs::read(it).ok()).collect()
}

/// The mutant of a number, of `most` bytes.
pub(crate) fn mutant(number: u64, (corpus, most): (&[Vec<u8>], usize)) -> Vec<u8> {
    let mut dice = Dice::new(number ^ 0xF022);
    let mut bytes = dice.pick(corpus).clone();
    for _ in 0..1 + dice.below(4) {
        change(&mut bytes, corpus, &mut dice);
    }
    bytes.truncate(most);
    bytes
}

fn change(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], dice: &mut Dice) {
    let at = dice.below(bytes.len() + 1);
    let part = part(bytes, dice);
    match dice.below(10) {
        0 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << dice.below(8);
            }
        }
        1 => bytes.insert(at, dice.below(256) as u8),
        2 => drop(bytes.drain(part)),
        3 => {
            let copy = bytes[part].to_vec();
            insert(bytes, at, &copy);
        }
        4 => {
            let other = dice.pick(corpus);
            let from = dice.below(other.len() + 1);
            bytes.truncate(at);
            bytes.extend(&other[from..]);
        }
        5 => insert(bytes, at, NASTY[dice.below(NASTY.len())]),
        6 => swap_tokens(bytes, dice),
        7 => drop_token(bytes, dice),
        _ => replace_token(bytes, corpus, dice),
    }
}

/// Some bytes in a row, up to 40.
fn part(bytes: &[u8], dice: &mut Dice) -> Range<usize> {
    let from = dice.below(bytes.len() + 1);
    from..(from + dice.below(40)).min(bytes.len())
}

fn insert(bytes: &mut Vec<u8>, at: usize, what: &[u8]) {
    drop(bytes.splice(at..at, what.iter().copied()));
}

fn swap_tokens(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let Some((a, b)) = token(&text, dice).zip(token(&text, dice)) else { return };
    let (a, b) = if a.start < b.start { (a, b) } else { (b, a) };
    if a.end <= b.start {
        let between = &text[a.end..b.start];
        let swapped = [&text[..a.start], &text[b.clone()], between, &text[a], &text[b.end..]];
        *bytes = swapped.concat().into_bytes();
    }
}

fn drop_token(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    if let Some(it) = token(&text, dice) {
        *bytes = [&text[..it.start], &text[it.end..]].concat().into_bytes();
    }
}

fn replace_token(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], dice: &mut Dice) {
    let other = String::from_utf8_lossy(&corpus[dice.below(corpus.len())]);
    let text = String::from_utf8_lossy(bytes).into_owned();
    if let Some((it, by)) = token(&text, dice).zip(token(&other, dice)) {
        *bytes = [&text[..it.start], &other[by], &text[it.end..]].concat().into_bytes();
    }
}

/// The place of a token.
fn token(text: &str, dice: &mut Dice) -> Option<Range<usize>> {
    let all = highlight(text);
    if all.is_empty() { None } else { Some(dice.pick(&all).0.range()) }
}
