//! `tokenizer.json` of Hugging Face's `tokenizers`.

use super::{bytes_of_letters, words};
use crate::tokens::{
    Frame, IDS_MAX, Kind, Special, Tokenizer,
    bytes::Bytes,
    merges::{ByteMerges, Vocabulary},
    split::Splitter,
    wordpiece::{Normal, Rules, WordPiece},
};
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;

/// A file, as far as it is byte-level BPE or WordPiece.
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
    decoder: Value,
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
    unk_token: Option<String>,
    #[serde(default)]
    continuing_subword_prefix: Option<String>,
    #[serde(default)]
    end_of_word_suffix: Option<String>,
    #[serde(default)]
    max_input_chars_per_word: Option<usize>,
}

#[derive(Deserialize)]
struct Added {
    id: u32,
    content: String,
    #[serde(default)]
    special: bool,
    #[serde(default)]
    single_word: bool,
    #[serde(default)]
    lstrip: bool,
    #[serde(default)]
    rstrip: bool,
}

/// Why a file is not read here.
enum Why {
    /// It is wrong.
    Wrong(String),
    /// It is of a kind that is not known here.
    Other(String),
}

impl From<String> for Why {
    fn from(it: String) -> Self {
        Self::Wrong(it)
    }
}

impl From<&str> for Why {
    fn from(it: &str) -> Self {
        Self::Wrong(it.to_owned())
    }
}

fn other<T>(what: String) -> Result<T, Why> {
    Err(Why::Other(what))
}

/// The model that a file holds.
pub(super) fn read(text: &str) -> Result<Tokenizer, String> {
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
    if file.model.dropout.is_some_and(|it| it > 0.0) {
        return Err("it drops merges at random (`dropout`); set that to null".to_owned());
    }
    let specials = specials_of(&file)?;
    let frame = Some(frame_of(&file.post_processor));
    let kind = match &*file.model.kind {
        // Files of old versions do not say what they are.
        "BPE" | "" => byte_level(&file),
        "WordPiece" => word_piece(&file),
        kind => other(format!("its model is {kind}")),
    };
    match kind {
        Ok(kind) => Tokenizer::new(kind, specials, frame),
        Err(Why::Wrong(why)) => Err(why),
        Err(Why::Other(why)) => Tokenizer::new(library(text, &why)?, specials, frame),
    }
}

/// A kind that is not known here.
fn library(text: &str, why: &str) -> Result<Kind, String> {
    #[cfg(feature = "tokenizers")]
    {
        let model = crate::tokens::library::Library::read(text);
        model.map(|it| Kind::Library(Box::new(it))).map_err(|it| format!("{why}, and {it}"))
    }
    #[cfg(not(feature = "tokenizers"))]
    {
        let _ = text;
        Err(format!("{why}, which this `pipec` was built without: build it with `--features full`"))
    }
}

fn specials_of(file: &File) -> Result<Vec<Special>, String> {
    if file.added_tokens.iter().any(|it| it.id >= IDS_MAX || it.content.is_empty()) {
        return Err("the number of one of its added tokens is wrong".to_owned());
    }
    let special = |it: &Added| Special {
        text: it.content.clone(),
        id: it.id,
        is_always: !it.special,
        takes_before: it.lstrip,
        takes_behind: it.rstrip,
        is_word: it.single_word,
    };
    Ok(file.added_tokens.iter().map(special).collect())
}

fn byte_level(file: &File) -> Result<Kind, Why> {
    let model = &file.model;
    let is_some = |it: &Option<String>| it.as_ref().is_some_and(|it| !it.is_empty());
    if model.byte_fallback
        || is_some(&model.continuing_subword_prefix)
        || is_some(&model.end_of_word_suffix)
    {
        return other("it is BPE that does not begin with bytes".to_owned());
    }
    let composes = match file.normalizer["type"].as_str() {
        None => false,
        Some("NFC") => true,
        Some(kind) => return other(format!("its normalizer is {kind}")),
    };
    let splitter = pre_tokenizer(&file.pre_tokenizer)?;
    let (vocabulary, ids) = vocabulary_of(model)?;
    let merges = merges_of(model, &vocabulary, &ids)?;
    let bytes = Bytes::new(vocabulary, merges, Some(splitter));
    let bytes = Bytes { whole_first: model.ignore_merges, composes, ..bytes };
    Ok(Kind::Bytes(Box::new(bytes)))
}

/// WordPiece as of BERT.
fn word_piece(file: &File) -> Result<Kind, Why> {
    let model = &file.model;
    let normalizer = &file.normalizer;
    if normalizer["type"] != "BertNormalizer" || file.pre_tokenizer["type"] != "BertPreTokenizer" {
        return other("it is WordPiece that does not split texts as BERT does".to_owned());
    }
    let prefix = model.continuing_subword_prefix.clone().unwrap_or_else(|| "##".to_owned());
    let decoder = &file.decoder;
    if decoder["type"] != "WordPiece" || decoder["prefix"].as_str() != Some(&prefix) {
        return other("it is WordPiece with a decoder that is not WordPiece".to_owned());
    }
    let is = |name: &str| normalizer[name].as_bool();
    let lowers = is("lowercase").unwrap_or(true);
    let normal = Normal {
        cleans: is("clean_text").unwrap_or(true),
        separates: is("handle_chinese_chars").unwrap_or(true),
        strips_accents: is("strip_accents").unwrap_or(lowers),
        lowers,
    };
    let Value::Object(vocab) = &model.vocab else { return Err("it has no `vocab`".into()) };
    let token = |(token, id): (&String, &Value)| Ok((number(id)?, token.as_str().into()));
    let mut tokens = vocab.iter().map(token).collect::<Result<Vec<(u32, Box<str>)>, String>>()?;
    tokens.retain(|it| !it.1.is_empty());
    tokens.sort_by_key(|it| it.0);
    if tokens.windows(2).any(|it| it[0].0 == it[1].0) {
        return Err("the number of one of its tokens is there twice".into());
    }
    let unknown = model.unk_token.as_ref().and_then(|it| vocab.get(it));
    let rules = Rules {
        unknown: number(unknown.ok_or("its vocabulary lacks its `unk_token`")?)?,
        prefix,
        longest: model.max_input_chars_per_word.unwrap_or(100),
        normal,
        cleans: decoder["cleanup"].as_bool().unwrap_or(true),
    };
    Ok(Kind::WordPiece(Box::new(WordPiece::new(tokens, rules))))
}

/// The number of a token.
fn number(of: &Value) -> Result<u32, String> {
    let id = of.as_u64().and_then(|it| u32::try_from(it).ok()).filter(|it| *it < IDS_MAX);
    id.ok_or_else(|| "the number of one of its tokens is wrong".to_owned())
}

/// The tokens, and their numbers by how they are written.
fn vocabulary_of(model: &Model) -> Result<(Vocabulary, HashMap<&str, u32>), String> {
    let Value::Object(all) = &model.vocab else { return Err("it has no `vocab`".to_owned()) };
    let bytes = bytes_of_letters();
    let (mut vocabulary, mut ids) = (Vocabulary::default(), HashMap::with_capacity(all.len()));
    for (token, id) in all {
        let id = number(id)?;
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
) -> Result<ByteMerges, String> {
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
    ByteMerges::in_order(vocabulary, &all)
}

/// How a text is split before it is merged.
fn pre_tokenizer(of: &Value) -> Result<Splitter, Why> {
    let parts: Vec<&Value> = match of["type"].as_str() {
        Some("Sequence") => of["pretokenizers"].as_array().into_iter().flatten().collect(),
        _ => vec![of],
    };
    let (mut found, mut is_byte_level) = (None, false);
    for part in parts {
        match part["type"].as_str() {
            Some("ByteLevel") => {
                if part["add_prefix_space"].as_bool() == Some(true) {
                    return other("it begins texts with a space (`add_prefix_space`)".to_owned());
                }
                is_byte_level = true;
                let splits = part["use_regex"].as_bool().unwrap_or(true);
                if splits && found.replace(Splitter::Gpt2).is_some() {
                    return other("it splits texts more than once".to_owned());
                }
            }
            Some("Split") => {
                let pattern = part["pattern"]["Regex"].as_str();
                let pattern = pattern.filter(|_| part["behavior"] == "Isolated");
                let pattern = pattern.filter(|_| part["invert"] == false && !is_byte_level);
                let Some(pattern) = pattern else {
                    return other("it splits texts in an unusual way".to_owned());
                };
                let splitter = Splitter::parse(pattern, true)?;
                if found.replace(splitter).is_some() {
                    return other("it splits texts more than once".to_owned());
                }
            }
            kind => {
                return other(format!("its pre-tokenizer is {}", kind.unwrap_or("none")));
            }
        }
    }
    match is_byte_level {
        true => Ok(found.unwrap_or(Splitter::Whole)),
        false => other("it is BPE that does not begin with bytes".to_owned()),
    }
}

/// What the post-processor puts around a text: those of its special tokens that stand before and behind it.
fn frame_of(of: &Value) -> Frame {
    let parts: Vec<&Value> = match of["type"].as_str() {
        Some("Sequence") => of["processors"].as_array().into_iter().flatten().collect(),
        _ => vec![of],
    };
    let mut frame = Frame::default();
    for part in parts {
        match part["type"].as_str() {
            Some("TemplateProcessing") => template(part, &mut frame),
            Some("BertProcessing" | "RobertaProcessing") => {
                let id =
                    |it: &Value| it[1].as_u64()?.try_into().ok().filter(|it: &u32| *it < IDS_MAX);
                frame.before.extend(id(&part["cls"]));
                frame.behind.extend(id(&part["sep"]));
            }
            _ => {}
        }
    }
    frame
}

fn template(of: &Value, frame: &mut Frame) {
    let mut is_behind = false;
    for piece in of["single"].as_array().into_iter().flatten() {
        if piece.get("Sequence").is_some() {
            is_behind = true;
        }
        let Some(id) = piece["SpecialToken"]["id"].as_str() else { continue };
        let ids = of["special_tokens"][id]["ids"].as_array().into_iter().flatten();
        let side = if is_behind { &mut frame.behind } else { &mut frame.before };
        side.extend(
            ids.filter_map(|it| it.as_u64()?.try_into().ok()).filter(|it: &u32| *it < IDS_MAX),
        );
    }
}
