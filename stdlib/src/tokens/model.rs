//! What the files of tokenizers hold. No message shows what stands in a file that is none: it may be a secret.

mod json;
mod tekken;

use super::{
    Frame, IDS_MAX, Kind, Special, Tokenizer,
    bytes::Bytes,
    merges::{ByteMerges, Vocabulary},
    sentencepiece,
    split::Splitter,
    wordpiece::{Normal, Rules, WordPiece},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use std::{collections::HashMap, str};

/// The model that a file holds.
///
/// # Errors
/// What is wrong with it, or why it cannot be used.
pub(super) fn read(bytes: &[u8]) -> Result<Tokenizer, String> {
    // A model of SentencePiece begins with the mark of its first piece, which a line may end with too.
    if bytes.starts_with(b"\n") && str::from_utf8(bytes).is_err() {
        return sentencepiece_model(bytes);
    }
    let not_text =
        |it: str::Utf8Error| format!("it is not valid UTF-8 (byte {})", it.valid_up_to());
    let text = str::from_utf8(bytes).map_err(not_text)?.trim_start_matches('\u{feff}');
    let first = text.lines().next().unwrap_or_default();
    if text.trim_start().starts_with('{') {
        tekken::read(text).unwrap_or_else(|| json::read(text))
    } else if first.starts_with("#version")
        || words(first).is_some_and(|it| !it[1].bytes().all(|it| it.is_ascii_digit()))
    {
        merges_file(text)
    } else if words(first).is_some() {
        tiktoken(text)
    } else if text.lines().any(|it| it.trim_end() == UNKNOWN) {
        vocabulary(text)
    } else {
        Err("expected the file of a tokenizer: `tokenizer.json`, the `.model` of SentencePiece, `vocab.txt` of BERT, \
             `vocab.bpe`, or one of tiktoken"
            .to_owned())
    }
}

fn sentencepiece_model(bytes: &[u8]) -> Result<Tokenizer, String> {
    let model = sentencepiece::read(bytes)?;
    let text = |it: &[u8]| String::from_utf8(it.to_vec()).ok();
    let specials = model.controls().filter_map(|(id, it)| Some(Special::new(text(it)?, id)));
    let specials = specials.collect();
    Tokenizer::new(Kind::SentencePiece(Box::new(model)), specials, None)
}

/// What BERT's vocabularies call a word that is not known.
const UNKNOWN: &str = "[UNK]";

/// `vocab.txt` of BERT: tokens, each in a line.
fn vocabulary(text: &str) -> Result<Tokenizer, String> {
    let lines = (0..).zip(text.lines().map(str::trim_end));
    let tokens: Vec<(u32, Box<str>)> =
        lines.filter(|it| !it.1.is_empty()).map(|(id, it)| (id, it.into())).collect();
    if tokens.last().is_some_and(|it| it.0 >= IDS_MAX) {
        return Err("it has too many tokens".to_owned());
    }
    let names = [UNKNOWN, "[PAD]", "[CLS]", "[SEP]", "[MASK]"];
    let id = |name: &str| tokens.iter().rfind(|it| &*it.1 == name).map(|it| it.0);
    let found: Vec<(&str, u32)> = names.iter().filter_map(|it| Some((*it, id(it)?))).collect();
    let specials = specials(&found);
    let frame = id("[CLS]").zip(id("[SEP]"));
    let frame = frame.map(|(cls, sep)| Frame { before: vec![cls], behind: vec![sep] });
    let texts = tokens.iter().map(|it| &*it.1);
    let texts = texts.filter(|it| !(it.starts_with('[') && it.ends_with(']')));
    let rules = Rules {
        unknown: id(UNKNOWN).ok_or("it has no `[UNK]`")?,
        prefix: "##".to_owned(),
        longest: 100,
        normal: Normal::of(texts),
        cleans: true,
    };
    Tokenizer::new(Kind::WordPiece(Box::new(WordPiece::new(tokens, rules))), specials, frame)
}

/// Byte-level BPE whose file tells of no frame, as there is none.
fn of_bytes(bytes: Bytes, specials: Vec<Special>) -> Result<Tokenizer, String> {
    Tokenizer::new(Kind::Bytes(Box::new(bytes)), specials, Some(Frame::default()))
}

/// A line of two words.
fn words(line: &str) -> Option<[&str; 2]> {
    let (left, right) = line.trim_end().split_once(' ')?;
    (!left.is_empty() && !right.is_empty() && !right.contains(' ')).then_some([left, right])
}

/// `vocab.bpe` of GPT-2: merges, whose numbers follow from their order.
fn merges_file(text: &str) -> Result<Tokenizer, String> {
    let lines = text.lines().filter(|it| !it.starts_with("#version") && !it.is_empty());
    let mut vocabulary = Vocabulary::default();
    for (id, byte) in (0..).zip(letters().map(|it| it.1)) {
        vocabulary.add(&[byte], id);
    }
    let bytes = bytes_of_letters();
    for (id, line) in (256..).zip(lines) {
        let at = || format!("line {} of merges", id - 255);
        let pair = words(line).ok_or_else(|| format!("{}: expected two tokens", at()))?;
        let merged: Option<Vec<u8>> =
            pair.concat().chars().map(|it| bytes.get(&it).copied()).collect();
        let merged =
            merged.ok_or_else(|| format!("{}: expected tokens of GPT-2's letters", at()))?;
        if id >= IDS_MAX || !vocabulary.add(&merged, id) {
            return Err(format!("{}: this token is there already", at()));
        }
    }
    if vocabulary.len() != 50_256 {
        return Err(format!(
            "it has {} merges, so it is not GPT-2's: the numbers of its tokens are not in it. Use the `tokenizer.json` of \
             the model",
            vocabulary.len().saturating_sub(256)
        ));
    }
    let merges = ByteMerges::by_number(&vocabulary)?;
    let specials = specials(&[("<|endoftext|>", 50_256)]);
    let bytes = Bytes::new(vocabulary, merges, Some(Splitter::Gpt2));
    of_bytes(Bytes { whole_first: true, ..bytes }, specials)
}

/// A file of tiktoken: a token in Base64 and its number in each line.
fn tiktoken(text: &str) -> Result<Tokenizer, String> {
    let mut vocabulary = Vocabulary::default();
    let mut tokens = 0;
    for (number, line) in (1..).zip(text.lines()).filter(|it| !it.1.is_empty()) {
        let wrong = |what: &str| format!("line {number}: {what}");
        let [token, id] = words(line).ok_or_else(|| wrong("expected a token and its number"))?;
        let token = STANDARD.decode(token).map_err(|_| wrong("the token is not Base64"))?;
        let id: u32 = id.parse().map_err(|_| wrong("expected a token and its number"))?;
        if id >= IDS_MAX || token.is_empty() {
            return Err(wrong("no model has such a token"));
        }
        if !vocabulary.add(&token, id) {
            return Err(wrong("this token, or its number, is there already"));
        }
        tokens += 1;
    }
    let merges = ByteMerges::by_number(&vocabulary)?;
    let (splitter, specials) = known(tokens, vocabulary.len());
    let bytes = Bytes::new(vocabulary, merges, splitter);
    of_bytes(Bytes { whole_first: true, ..bytes }, specials)
}

/// How a model of tiktoken splits texts, and its special tokens: neither is in the file, so it is known by its size.
fn known(tokens: u32, len: u32) -> (Option<Splitter>, Vec<Special>) {
    let fim = [("<|fim_prefix|>", 1), ("<|fim_middle|>", 2), ("<|fim_suffix|>", 3)];
    match (tokens, len) {
        (50_256, _) | (50_280, 50_281) => {
            (Some(Splitter::Gpt2), specials(&[("<|endoftext|>", 50_256)]))
        }
        (100_256, _) => {
            let mut all = vec![("<|endoftext|>", 100_257), ("<|endofprompt|>", 100_276)];
            all.extend(fim.map(|(name, at)| (name, 100_257 + at)));
            (Some(Splitter::Cl100k), specials(&all))
        }
        (199_998, _) => (
            Some(Splitter::O200k),
            specials(&[("<|endoftext|>", 199_999), ("<|endofprompt|>", 200_018)]),
        ),
        (128_000, _) => (Some(Splitter::Llama3), llama3()),
        (151_643, _) => {
            let all =
                [("<|endoftext|>", 151_643), ("<|im_start|>", 151_644), ("<|im_end|>", 151_645)];
            (Some(Splitter::Qwen2), specials(&all))
        }
        _ => (None, Vec::new()),
    }
}

/// The special tokens of Llama 3 (`llama_models/llama3/tokenizer.py`); reserved ones fill up 256.
fn llama3() -> Vec<Special> {
    let named = [
        (0, "<|begin_of_text|>"),
        (1, "<|end_of_text|>"),
        (4, "<|finetune_right_pad_id|>"),
        (6, "<|start_header_id|>"),
        (7, "<|end_header_id|>"),
        (8, "<|eom_id|>"),
        (9, "<|eot_id|>"),
        (10, "<|python_tag|>"),
    ];
    named.iter().map(|(at, name)| Special::new((*name).to_owned(), 128_000 + at)).collect()
}

fn specials(all: &[(&str, u32)]) -> Vec<Special> {
    all.iter().map(|(text, id)| Special::new((*text).to_owned(), *id)).collect()
}

/// The letters that GPT-2 writes bytes as, in the order of the numbers of these (`encoder.py`, `bytes_to_unicode`).
pub(super) fn letters() -> impl Iterator<Item = (char, u8)> {
    let is_shown = |it: &u8| matches!(it, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    let shown = (0..=255_u8).filter(is_shown).map(|it| (char::from(it), it));
    let hidden = (0..=255_u8).filter(move |it| !is_shown(it));
    let others = (256_u32..).filter_map(char::from_u32);
    shown.chain(others.zip(hidden))
}

fn bytes_of_letters() -> HashMap<char, u8> {
    letters().collect()
}
