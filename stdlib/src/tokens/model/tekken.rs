//! `tekken.json` of Mistral: byte-level BPE, as of tiktoken, with special tokens before all others.

use super::{STANDARD, specials};
use crate::tokens::{
    IDS_MAX, Kind, Special, Tokenizer,
    bytes::Bytes,
    merges::{ByteMerges, Vocabulary},
    split::Splitter,
};
use base64::Engine;
use serde::Deserialize;

#[derive(Deserialize)]
struct File {
    config: Config,
    vocab: Vec<Token>,
    #[serde(default)]
    special_tokens: Option<Vec<Control>>,
}

#[derive(Deserialize)]
struct Config {
    pattern: String,
    default_vocab_size: u32,
    default_num_special_tokens: u32,
}

#[derive(Deserialize)]
struct Token {
    token_bytes: String,
}

#[derive(Deserialize)]
struct Control {
    rank: u32,
    token_str: String,
}

/// Special tokens of files that do not name them (`mistral_common`, `DEPRECATED_SPECIAL_TOKENS`).
const CONTROLS: [&str; 20] = [
    "<unk>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CALLS]",
    "[IMG]",
    "<pad>",
    "[IMG_BREAK]",
    "[IMG_END]",
    "[PREFIX]",
    "[MIDDLE]",
    "[SUFFIX]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[TOOL_CONTENT]",
];

/// The model that a file holds; none where it is another.
pub(super) fn read(text: &str) -> Option<Result<Tokenizer, String>> {
    let file: File = serde_json::from_str(text).ok()?;
    Some(model(&file))
}

fn model(file: &File) -> Result<Tokenizer, String> {
    let Config { pattern, default_vocab_size: size, default_num_special_tokens: first } =
        &file.config;
    let inner = size.checked_sub(*first).filter(|it| *it as usize <= file.vocab.len());
    let inner = inner.filter(|_| *size < IDS_MAX).ok_or("its `default_vocab_size` is wrong")?;
    let mut vocabulary = Vocabulary::default();
    for (number, token) in (0..).zip(&file.vocab[..inner as usize]) {
        let bytes = STANDARD.decode(&token.token_bytes).ok().filter(|it| !it.is_empty());
        if !bytes.is_some_and(|it| vocabulary.add(&it, first + number)) {
            return Err(format!("token {number} of `vocab` is wrong, or there twice"));
        }
    }
    let merges = ByteMerges::by_number(&vocabulary)?;
    let mut specials = match &file.special_tokens {
        Some(all) => all.iter().map(|it| Special::new(it.token_str.clone(), it.rank)).collect(),
        None => specials(&CONTROLS.iter().copied().zip(0..).collect::<Vec<_>>()),
    };
    if specials.iter().any(|it| it.id >= *first || it.text.is_empty()) {
        return Err("the number of one of its special tokens is wrong".to_owned());
    }
    let filled = specials.len() as u32..*first;
    specials.extend(filled.map(|it| Special::new(format!("<SPECIAL_{it}>"), it)));
    let splitter = Splitter::parse(pattern, false)?;
    let bytes = Bytes::new(vocabulary, merges, Some(splitter));
    let bytes = Bytes { whole_first: true, ..bytes };
    // Whether a text begins with `<s>` is not said.
    Tokenizer::new(Kind::Bytes(Box::new(bytes)), specials, None)
}
