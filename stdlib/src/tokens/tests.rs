//! Ids are those of tiktoken and of Hugging Face's `tokenizers`.

mod kinds;

use super::*;
use serde_json::json;
use std::{env, fmt::Write, fs, path::Path};
use tiktoken_rs::{CoreBPE, cl100k_base, o200k_base, p50k_base, r50k_base};

/// A model of a few tokens, as Hugging Face's `tokenizers` writes it: every byte by its number, some words, two special
/// tokens.
pub(crate) fn small() -> File {
    File::new("tokenizer.json", include_bytes!("goldens/tokenizer.json").to_vec())
}

fn read(file: &File) -> Arc<Tokenizer> {
    of_file(file).unwrap().unwrap_or_else(|why| panic!("{why}"))
}

fn encode(of: &Tokenizer, text: &str, specials: bool, most: usize) -> Vec<u32> {
    let mut ids = Ids::default();
    let encoding = Encoding { splitter: of.splitter().unwrap(), specials, most };
    of.encode(text, &encoding, &mut ids).unwrap_or_else(|it| panic!("{it:?}"));
    ids.as_slice().to_vec()
}

fn decode(of: &Tokenizer, ids: &[u32]) -> String {
    let mut text = Vec::new();
    of.decode(ids, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// What `tokenizers` 0.23.3 gives, with `add_special_tokens=False`.
#[test]
fn a_file_of_tokenizers_means_the_same() {
    let of = |model: &Tokenizer, text| encode(model, text, true, usize::MAX);
    let text = small().bytes().map(|it| String::from_utf8_lossy(it).into_owned()).unwrap();
    let pairs = text.replace("\"merges\":[\"b a\",", "\"merges\":[[\"b\",\"a\"],");
    assert_ne!(text, pairs);
    for file in [small(), File::new("newer.json", pairs.into_bytes())] {
        let model = read(&file);
        assert_eq!(of(&model, "the thing row by row"), [259, 32, 258, 261, 266, 32, 98, 121, 266]);
        assert_eq!(of(&model, "ab<|end|>of x"), [257, 268, 32, 120]);
        assert_eq!(
            of(&model, "Gr\u{fc}\u{df}e, \u{65e5}\u{672c}\n\n row"),
            [71, 114, 195, 188, 195, 159, 101, 44, 32, 230, 151, 165, 230, 156, 172, 10, 10, 266]
        );
        assert_eq!(
            (&model.frame().unwrap().before[..], &model.frame().unwrap().behind[..]),
            (&[267][..], &[268][..])
        );
    }
}

#[test]
fn specials_are_tokens_where_that_is_said() {
    let model = read(&small());
    let ids = |text, specials| encode(&model, text, specials, usize::MAX);
    assert_eq!(ids("aba", false), [97, 256], "the merge that stands first");
    assert_eq!(ids("ab<|end|>of<|end|>", true), [257, 268, 267]);
    assert_eq!(ids("a<|e", false), [97, 60, 124, 101]);
    assert_eq!(ids("<|end|>", false).len(), 7);
    assert_eq!(encode(&model, "aaaaaa<|end|>aa", true, 3), [97; 3]);
    assert_eq!(encode(&model, "a<|end|>aa", true, 2), [97, 267]);
    assert!(ids("", true).is_empty());
}

/// What a model of tiktoken is in a file.
fn file_of(oracle: &CoreBPE, ids: u32) -> File {
    let mut text = String::new();
    // The files do not have the one that ends a document.
    for id in (0..ids).filter(|it| *it != 50_256 || ids > 60_000) {
        if let Ok(bytes) = oracle.decode_bytes(&[id]).map_err(|_| ()) {
            use base64::{Engine, engine::general_purpose::STANDARD};
            writeln!(text, "{} {id}", STANDARD.encode(bytes)).unwrap();
        }
    }
    File::new("model.tiktoken", text.into_bytes())
}

/// What drawn texts are made of.
const PARTS: [&str; 64] = [
    "the",
    " the",
    " of",
    "ing",
    "The",
    "THE",
    "don't",
    "I'LL",
    "we've",
    "'s",
    "'S",
    "'ſ",
    "'d",
    "a",
    "b",
    "e",
    "İ",
    "ß",
    "é",
    "e\u{301}",
    "\u{301}",
    "ñ",
    "Ж",
    "мир",
    "日本語",
    "中",
    "文字",
    "हिन्दी",
    "ा",
    "العربية",
    "한국어",
    "ǅ",
    "ʰ",
    "1",
    "12",
    "3456",
    "٣",
    "½",
    "²",
    " ",
    " ",
    "  ",
    "   ",
    "\t",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\u{a0}",
    "\u{3000}",
    "\u{2028}",
    ".",
    ",",
    "!?",
    "...",
    "/",
    "//",
    "-",
    "_",
    "(",
    "😀",
    "👩\u{200d}👩",
    "\u{0}",
    "<|endoftext|>",
];

/// A text of letters, numbers, signs and spaces of many scripts, with words that are there more than once.
pub(super) fn drawn(seed: u64) -> String {
    let draw = |at: u64| plan::mix(seed, at);
    let len = draw(0) % 24;
    let mut text = String::new();
    for at in 1..=len {
        let of = |first: u32, n: u64| char::from_u32(first + (draw(at + 100) % n) as u32);
        match draw(at) % 16 {
            0 => text.extend(of(0, 0x11_0000)),
            // Common characters of China, Japan, India and Korea.
            1 => text.extend(of(0x4e00, 3_000)),
            2 => text.extend(of(0x4e00, 200)),
            3 => text.extend(of(0x3041, 170)),
            4 => text.extend(of(0x900, 128)),
            5 => text.extend(of(0xac00, 400)),
            _ => text.push_str(PARTS[(draw(at + 100) % PARTS.len() as u64) as usize]),
        }
    }
    text
}

/// Many texts where slow tests are asked for.
fn texts() -> u64 {
    if env::var_os("SLOW_TESTS").is_some() { 1_000_000 } else { 20_000 }
}

fn is_like(oracle: &CoreBPE, ids: u32) {
    let model = read(&file_of(oracle, ids));
    for seed in 0..texts() {
        let text = drawn(seed);
        assert_eq!(
            encode(&model, &text, false, usize::MAX),
            oracle.encode_ordinary(&text),
            "{text:?}"
        );
    }
    for file in shared_texts() {
        for line in file.split_inclusive('\n').chain([&file[..file.floor_char_boundary(100_000)]]) {
            assert_eq!(
                encode(&model, line, false, usize::MAX),
                oracle.encode_ordinary(line),
                "{line:?}"
            );
        }
    }
    let text = "Zwei <|endoftext|>s<|endofprompt|>";
    let all = oracle.encode_with_special_tokens(text);
    assert_eq!(encode(&model, text, true, usize::MAX), all);
    assert_eq!(decode(&model, &all), text);
}

/// Some of the texts that are there for tests, if they are.
fn shared_texts() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/text");
    if !root.is_dir() {
        eprintln!("{}: not there, so its texts are not looked at", root.display());
        return Vec::new();
    }
    let names =
        ["wikitext2/test.txt", "wmt23/generaltest2023.de-en.src.de", "sentencepiece/botchan.txt"];
    names.iter().map(|it| fs::read_to_string(root.join(it)).unwrap()).collect()
}

#[test]
fn r50k_is_tiktokens() {
    is_like(&r50k_base().unwrap(), 50_256);
}

#[test]
fn p50k_is_tiktokens() {
    is_like(&p50k_base().unwrap(), 50_281);
}

#[test]
fn cl100k_is_tiktokens() {
    is_like(&cl100k_base().unwrap(), 100_256);
}

#[test]
fn o200k_is_tiktokens() {
    is_like(&o200k_base().unwrap(), 199_998);
}

/// Texts that make a tokenizer slow.
#[test]
fn a_megabyte_of_anything_takes_no_square_of_time() {
    let model = read(&file_of(&o200k_base().unwrap(), 199_998));
    for part in ["a", " ", "\u{301}", "\n", "1", "!", "😀", "a\u{301}", "A", " \n"] {
        let text = part.repeat((1 << 20) / part.len());
        let ids = encode(&model, &text, false, usize::MAX);
        assert!(decode(&model, &ids) == text, "{part:?}");
    }
}

#[test]
fn what_is_no_model_is_refused() {
    let why =
        |bytes: &[u8]| of_file(&File::new("x", bytes.to_vec())).unwrap().map(|_| ()).unwrap_err();
    assert!(why(b"").contains("expected the file of a tokenizer"));
    assert!(why(b"{}").contains("has no `model`"));
    assert!(why(b"{\"a\": 1, \"model\": 2}").contains("not how they are merged"));
    assert!(why(b"{\"a\": 1").contains("not a `tokenizer.json`"));
    assert!(why(b"#version: 0.2\nh e\n").contains("not GPT-2's"));
    assert!(why(b"#version: 0.2\nh e x\n").contains("line 1 of merges"));
    assert!(why(b"IQ== 0\nIQ== 1\n").contains("line 2: this token"));
    assert!(why(b"IQ== 0\n").contains("the byte 0 is no token"));
    assert!(why(b"IQ== 99999999999\n").contains("line 1"));
    assert!(why(b"IQ= 0\n").contains("not Base64"));
    assert!(why(b"\x0a\xff\xfe").contains("not a SentencePiece model"));
    assert!(why(b"ab\xff").contains("UTF-8"));
    for kind in ["WordPiece", "Unigram"] {
        let file = json!({ "model": { "type": kind, "vocab": {} } }).to_string();
        assert!(why(file.as_bytes()).contains(kind));
    }
    let config =
        json!({ "pattern": "a", "default_vocab_size": 9, "default_num_special_tokens": 8 });
    let file = json!({ "config": config, "vocab": [] }).to_string();
    assert!(why(file.as_bytes()).contains("default_vocab_size"));
}
