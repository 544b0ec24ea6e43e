//! What the files of tokenizers hold. No message shows what stands in a file that is none: it may be a secret.

use super::{
    Frame, Special, Tokenizer,
    merges::{Merges, Vocabulary},
    split::Splitter,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::Value;
use std::{collections::HashMap, str};

/// Numbers of tokens end before this: no model has so many.
const IDS_MAX: u32 = 1 << 24;

/// The model that a file holds.
///
/// # Errors
/// What is wrong with it, or why it cannot be used.
pub(super) fn read(bytes: &[u8]) -> Result<Tokenizer, String> {
    if bytes.starts_with(b"\x0a") && str::from_utf8(bytes).is_err() {
        return Err("this looks like a SentencePiece model, which later versions read".to_owned());
    }
    let not_text =
        |it: str::Utf8Error| format!("it is not valid UTF-8 (byte {})", it.valid_up_to());
    let text = str::from_utf8(bytes).map_err(not_text)?.trim_start_matches('\u{feff}');
    let first = text.lines().next().unwrap_or_default();
    if text.trim_start().starts_with('{') {
        json(text)
    } else if first.starts_with("#version")
        || words(first).is_some_and(|it| !it[1].bytes().all(|it| it.is_ascii_digit()))
    {
        merges_file(text)
    } else if words(first).is_some() {
        tiktoken(text)
    } else {
        Err("expected the file of a tokenizer: `tokenizer.json`, `vocab.bpe`, or one of tiktoken"
            .to_owned())
    }
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
    let merges = Merges::by_number(&vocabulary)?;
    let specials = specials(&[("<|endoftext|>", 50_256)]);
    Tokenizer::new(vocabulary, merges, Some(Splitter::Gpt2)).with(specials, true)
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
    let merges = Merges::by_number(&vocabulary)?;
    let (splitter, specials) = known(tokens, vocabulary.len());
    Tokenizer::new(vocabulary, merges, splitter).with(specials, true)
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
    named.iter().map(|(at, name)| Special { text: (*name).to_owned(), id: 128_000 + at }).collect()
}

fn specials(all: &[(&str, u32)]) -> Vec<Special> {
    all.iter().map(|(text, id)| Special { text: (*text).to_owned(), id: *id }).collect()
}

/// `tokenizer.json` of Hugging Face's `tokenizers`, as far as it is byte-level BPE.
#[derive(Deserialize)]
struct File {
    model: Model,
    #[serde(default)]
    normalizer: Value,
    #[serde(default)]
    pre_tokenizer: Value,
    #[serde(default)]
    post_processor: Value,
    #[serde(default)]
    added_tokens: Vec<Added>,
}

#[derive(Deserialize)]
struct Model {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    vocab: Value,
    #[serde(default)]
    merges: Vec<Value>,
    #[serde(default)]
    ignore_merges: bool,
    #[serde(default)]
    byte_fallback: bool,
    #[serde(default)]
    dropout: Option<f64>,
    #[serde(default)]
    continuing_subword_prefix: Option<String>,
    #[serde(default)]
    end_of_word_suffix: Option<String>,
}

#[derive(Deserialize)]
struct Added {
    id: u32,
    content: String,
}

fn json(text: &str) -> Result<Tokenizer, String> {
    let file: File = serde_json::from_str(text).map_err(|it| {
        if serde_json::from_str::<HashMap<String, u32>>(text).is_ok_and(|it| !it.is_empty()) {
            return "it has the numbers of tokens, but not how they are merged: use the `tokenizer.json` of the model, or \
                    GPT-2's `vocab.bpe`"
                .to_owned();
        }
        if it.to_string().contains("missing field `model`") {
            return "it has no `model`; expected the `tokenizer.json` of a model, or GPT-2's `vocab.bpe`".to_owned();
        }
        format!("it is not a `tokenizer.json` (line {}, column {})", it.line(), it.column())
    })?;
    let model = &file.model;
    let later = |what: &str| Err(format!("{what}, which later versions read"));
    // Files of old versions do not say what they are.
    if !matches!(&*model.kind, "BPE" | "") {
        return later(&format!("its model is {}", model.kind));
    }
    let is_some = |it: &Option<String>| it.as_ref().is_some_and(|it| !it.is_empty());
    if model.byte_fallback
        || is_some(&model.continuing_subword_prefix)
        || is_some(&model.end_of_word_suffix)
    {
        return later("it is BPE that does not begin with bytes");
    }
    if model.dropout.is_some_and(|it| it > 0.0) {
        return Err("it drops merges at random (`dropout`); set that to null".to_owned());
    }
    let composes = match file.normalizer["type"].as_str() {
        None => false,
        Some("NFC") => true,
        Some(kind) => return later(&format!("its normalizer is {kind}")),
    };
    let splitter = pre_tokenizer(&file.pre_tokenizer)?;
    let (vocabulary, ids) = vocabulary_of(model)?;
    let merges = merges_of(model, &vocabulary, &ids)?;
    let added = |it: Added| Special { text: it.content, id: it.id };
    let specials: Vec<Special> = file.added_tokens.into_iter().map(added).collect();
    if specials.iter().any(|it| it.id >= IDS_MAX || it.text.is_empty()) {
        return Err("the number of one of its added tokens is wrong".to_owned());
    }
    let frame = frame_of(&file.post_processor);
    let new =
        Tokenizer::new(vocabulary, merges, Some(splitter)).with(specials, model.ignore_merges)?;
    Ok(Tokenizer { composes, frame, ..new })
}

/// The tokens, and their numbers by how they are written.
fn vocabulary_of(model: &Model) -> Result<(Vocabulary, HashMap<&str, u32>), String> {
    let Value::Object(all) = &model.vocab else { return Err("it has no `vocab`".to_owned()) };
    let bytes = bytes_of_letters();
    let (mut vocabulary, mut ids) = (Vocabulary::default(), HashMap::with_capacity(all.len()));
    for (token, id) in all {
        let id = id.as_u64().and_then(|it| u32::try_from(it).ok()).filter(|it| *it < IDS_MAX);
        let id = id.ok_or("the number of one of its tokens is wrong")?;
        ids.insert(token.as_str(), id);
        // Special tokens may stand here too, as they are.
        let written: Option<Vec<u8>> = token.chars().map(|it| bytes.get(&it).copied()).collect();
        if let Some(written) = written.filter(|it| !it.is_empty())
            && !vocabulary.add(&written, id)
        {
            return Err("one of its tokens, or its number, is there twice".to_owned());
        }
    }
    Ok((vocabulary, ids))
}

fn merges_of(
    model: &Model,
    vocabulary: &Vocabulary,
    ids: &HashMap<&str, u32>,
) -> Result<Merges, String> {
    let mut all = Vec::with_capacity(model.merges.len());
    for (number, merge) in (1..).zip(&model.merges) {
        let pair = match merge {
            Value::String(it) => words(it),
            Value::Array(it) => match &it[..] {
                [Value::String(left), Value::String(right)] => {
                    Some([left.as_str(), right.as_str()])
                }
                _ => None,
            },
            _ => None,
        };
        let pair = pair.ok_or_else(|| format!("merge {number} is not two tokens"))?;
        let id = |it: &str| {
            let unknown = || format!("merge {number} has tokens that are not in `vocab`");
            ids.get(it).copied().ok_or_else(unknown)
        };
        all.push(([id(pair[0])?, id(pair[1])?], id(&pair.concat())?));
    }
    Merges::in_order(vocabulary, &all)
}

/// How a text is split before it is merged.
fn pre_tokenizer(of: &Value) -> Result<Splitter, String> {
    let parts: Vec<&Value> = match of["type"].as_str() {
        Some("Sequence") => of["pretokenizers"].as_array().into_iter().flatten().collect(),
        _ => vec![of],
    };
    let (mut found, mut is_byte_level) = (None, false);
    for part in parts {
        match part["type"].as_str() {
            Some("ByteLevel") => {
                if part["add_prefix_space"].as_bool() == Some(true) {
                    return Err("it begins texts with a space (`add_prefix_space`), which later versions do".to_owned());
                }
                is_byte_level = true;
                if part["use_regex"].as_bool().unwrap_or(true) {
                    found = found.or(Some(Splitter::Gpt2));
                }
            }
            Some("Split") => {
                let pattern = part["pattern"]["Regex"].as_str().unwrap_or_default();
                let unknown = || format!("it splits texts by `{pattern}`, which later versions do");
                found = Some(Splitter::of(pattern).ok_or_else(unknown)?);
            }
            kind => {
                let kind = kind.unwrap_or("none");
                return Err(format!("its pre-tokenizer is {kind}, which later versions read"));
            }
        }
    }
    if !is_byte_level {
        return Err(
            "it is BPE that does not begin with bytes, which later versions read".to_owned()
        );
    }
    Ok(found.unwrap_or(Splitter::Whole))
}

/// What the post-processor puts around a text: those of its special tokens that stand before and behind it.
fn frame_of(of: &Value) -> Frame {
    let parts: Vec<&Value> = match of["type"].as_str() {
        Some("Sequence") => of["processors"].as_array().into_iter().flatten().collect(),
        _ => vec![of],
    };
    let mut frame = Frame::default();
    let template = |it: &&&Value| it["type"].as_str() == Some("TemplateProcessing");
    let Some(template) = parts.iter().find(template) else { return frame };
    let mut is_behind = false;
    for piece in template["single"].as_array().into_iter().flatten() {
        if piece.get("Sequence").is_some() {
            is_behind = true;
        }
        let Some(id) = piece["SpecialToken"]["id"].as_str() else { continue };
        let ids = template["special_tokens"][id]["ids"].as_array().into_iter().flatten();
        let side = if is_behind { &mut frame.behind } else { &mut frame.before };
        side.extend(
            ids.filter_map(|it| it.as_u64()?.try_into().ok()).filter(|it: &u32| *it < IDS_MAX),
        );
    }
    frame
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
