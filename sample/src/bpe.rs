//! A small byte-level BPE tokenizer, learned from some texts (Sennrich et al., ACL 2016), in the form of Hugging Face's
//! `tokenizer.json`: sets of texts have one, so that their examples need no download.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

/// Bytes of text that are learned from, at the most: more of the same changes little.
const LEARNED_MAX: usize = 1 << 20;

/// A tokenizer whose tokens are the bytes, what so many merges make of them, and some special ones, in this order.
pub(crate) fn tokenizer_json(texts: &[String], merges: usize, specials: &[&str]) -> String {
    let Learned { tokens, merges } = learn(texts, merges);
    let vocabulary: Vec<String> = tokens
        .iter()
        .zip(0..)
        .map(|(token, id)| format!("{}:{id}", quoted(&shown(token))))
        .collect();
    let merges: Vec<String> = merges
        .iter()
        .map(|it| it.map(|token| shown(&tokens[token])).join(" "))
        .map(|it| quoted(&it))
        .collect();
    let added: Vec<String> = specials
        .iter()
        .zip(tokens.len()..)
        .map(|(text, id)| {
            format!(
                "{{\"id\":{id},\"content\":{},\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\
                 \"normalized\":false,\"special\":true}}",
                quoted(text)
            )
        })
        .collect();
    let bytes = "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":false,\"use_regex\":true}";
    format!(
        "{{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[{}],\"normalizer\":null,\
         \"pre_tokenizer\":{bytes},\"post_processor\":null,\"decoder\":{bytes},\"model\":{{\"type\":\"BPE\",\
         \"dropout\":null,\"unk_token\":null,\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null,\
         \"fuse_unk\":false,\"byte_fallback\":false,\"ignore_merges\":false,\"vocab\":{{{}}},\"merges\":[{}]}}}}\n",
        added.join(","),
        vocabulary.join(","),
        merges.join(",")
    )
}

/// What was learned: tokens, the bytes first, and pairs of them that become one, the most frequent one first.
struct Learned {
    tokens: Vec<Vec<u8>>,
    merges: Vec<[usize; 2]>,
}

/// A word, as tokens, and how often it is there.
struct Word {
    tokens: Vec<usize>,
    times: i64,
}

fn learn(texts: &[String], most: usize) -> Learned {
    let mut tokens: Vec<Vec<u8>> = letters().map(|it| vec![it.1]).collect();
    let mut by_bytes: HashMap<Vec<u8>, usize> = tokens.iter().cloned().zip(0..).collect();
    let mut words = words(texts, &by_bytes);
    // In order, so that of pairs that are as frequent, always the same one comes first.
    let mut pairs: BTreeMap<[usize; 2], i64> = BTreeMap::new();
    words.iter().for_each(|it| count(&mut pairs, it, 1));
    let mut merges = Vec::new();
    while merges.len() < most {
        let best = pairs.iter().max_by_key(|it| (*it.1, std::cmp::Reverse(it.0)));
        let Some((&pair, _)) = best.filter(|it| *it.1 > 1) else { break };
        let bytes = pair.map(|it| &tokens[it][..]).concat();
        // Two ways can lead to one token.
        let next = tokens.len();
        let id = *by_bytes.entry(bytes.clone()).or_insert(next);
        if id == next {
            tokens.push(bytes);
        }
        merges.push(pair);
        for word in &mut words {
            if word.tokens.windows(2).any(|it| it == pair) {
                count(&mut pairs, word, -1);
                merge(&mut word.tokens, pair, id);
                count(&mut pairs, word, 1);
            }
        }
        pairs.retain(|_, times| *times > 0);
    }
    Learned { tokens, merges }
}

/// Counts the pairs of a word, or takes them away.
fn count(pairs: &mut BTreeMap<[usize; 2], i64>, word: &Word, sign: i64) {
    for pair in word.tokens.windows(2) {
        *pairs.entry([pair[0], pair[1]]).or_default() += sign * word.times;
    }
}

fn merge(tokens: &mut Vec<usize>, pair: [usize; 2], into: usize) {
    let mut at = 0;
    while at + 1 < tokens.len() {
        if [tokens[at], tokens[at + 1]] == pair {
            tokens[at] = into;
            tokens.remove(at + 1);
        }
        at += 1;
    }
}

/// The words of texts, each once: letters, digits or other signs, with a space before them.
fn words(texts: &[String], ids: &HashMap<Vec<u8>, usize>) -> Vec<Word> {
    let mut all: BTreeMap<&str, i64> = BTreeMap::new();
    let mut left = LEARNED_MAX;
    for text in texts {
        if left < text.len() {
            break;
        }
        left -= text.len();
        let mut begin = 0;
        let mut before = None;
        for (at, c) in text.char_indices() {
            let kind = Some(kind(c));
            let joins = before == kind || before == Some(Kind::Space) && text[begin..at] == *" ";
            if !joins {
                *all.entry(&text[begin..at]).or_default() += 1;
                begin = at;
            }
            before = kind;
        }
        *all.entry(&text[begin..]).or_default() += 1;
    }
    let word = |(text, times): (&str, i64)| {
        let tokens = text.bytes().map(|it| ids[&vec![it]]).collect();
        Word { tokens, times }
    };
    all.into_iter().map(word).collect()
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Letter,
    Digit,
    Space,
    Other,
}

fn kind(c: char) -> Kind {
    match c {
        c if c.is_alphabetic() => Kind::Letter,
        c if c.is_numeric() => Kind::Digit,
        c if c.is_whitespace() => Kind::Space,
        _ => Kind::Other,
    }
}

/// The letters that GPT-2 writes bytes as, in the order of their numbers.
fn letters() -> impl Iterator<Item = (char, u8)> {
    let is_shown = |it: &u8| matches!(it, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    let shown = (0..=255_u8).filter(is_shown).map(|it| (char::from(it), it));
    let hidden = (0..=255_u8).filter(move |it| !is_shown(it));
    shown.chain((256_u32..).filter_map(char::from_u32).zip(hidden))
}

/// A token in these letters.
fn shown(token: &[u8]) -> String {
    let letter = |byte: &u8| letters().find(|it| it.1 == *byte).map_or(' ', |it| it.0);
    token.iter().map(letter).collect()
}

/// A text as JSON.
pub(crate) fn quoted(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    json.push('"');
    for c in text.chars() {
        match c {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            c if c < ' ' => write!(json, "\\u{:04x}", u32::from(c)).expect("strings take all"),
            c => json.push(c),
        }
    }
    json.push('"');
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_pairs_become_tokens() {
        let texts = ["low low low lower".to_owned(), "newest newest".to_owned()];
        let Learned { tokens, merges } = learn(&texts, 4);
        let text = |id: usize| String::from_utf8(tokens[id].clone()).unwrap();
        let found: Vec<_> = merges.iter().map(|it| it.map(text)).collect();
        let pair = |a: &str, b: &str| [a.to_owned(), b.to_owned()];
        // `l o` and `o w` are there four times: the one of lower numbers is first.
        assert_eq!(found[..2], [pair("l", "o"), pair("lo", "w")]);
        assert_eq!(tokens.len(), 256 + 4);
        assert_eq!(learn(&[], 4).merges.len(), 0);
        assert_eq!(
            learn(&["aaaa".to_owned()], 9).merges.len(),
            1,
            "a pair that is there once is none"
        );
        let json = tokenizer_json(&texts, 4, &["<|end|>"]);
        assert!(
            json.contains("\"l o\",\"lo w\"")
                && json.contains("\"id\":260,\"content\":\"<|end|>\"")
        );
    }
}
