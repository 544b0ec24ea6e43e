//! Files of other kinds than byte-level BPE: ids and texts are those of `sentencepiece` 0.2.3, `tokenizers` 0.23.3 and tiktoken 0.14.
//!
//! The files in `goldens` are of this script:
//! ```python
//! # sentencepiece 0.2.3, tokenizers 0.23.3
//! import base64, io, json, random, sentencepiece, tokenizers
//! from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers
//!
//! dice = random.Random(1)
//! parts = "ba be bi bo bu da de di la le li lo ma me mo na no ra re ri sa se si ta te to ka ke ko ing the un ß é ü ñ å".split()
//! words = ["".join(dice.choices(parts, k=dice.randint(1, 4))) for _ in range(300)]
//! signs = [".", ",", "!", "don't", "12", "345", "日本", "語", "мир", "ﬁt", "A", "Bob", "CD"]
//! line = lambda: " ".join(dice.choices(words[: dice.choice([10, 300])] + signs, k=12))
//! lines = [line() for _ in range(2000)]
//! open("rules.tsv", "w").write("FB01\t66 69\n41\t61\nA0\t20\n3000\t20\n7F\t\n61 301\tE1\n")
//!
//! def piece(name, **how):
//!     to = io.BytesIO()
//!     sentencepiece.SentencePieceTrainer.train(
//!         sentence_iterator=iter(lines), model_writer=to, num_threads=1, hard_vocab_limit=False,
//!         minloglevel=2, normalization_rule_tsv="rules.tsv", **how)
//!     open(name, "wb").write(to.getvalue())
//!
//! piece("unigram.model", model_type="unigram", vocab_size=300, control_symbols=["<sep>"], user_defined_symbols=["mamo", "#x"])
//! piece("pairs.model", model_type="bpe", vocab_size=500, byte_fallback=True, remove_extra_whitespaces=False,
//!       split_digits=True, control_symbols=["<sep>"], user_defined_symbols=["mamo", "#x"])
//!
//! bert = tokenizers.BertWordPieceTokenizer()
//! bert.train_from_iterator(lines, vocab_size=200)
//! vocab = sorted(bert.get_vocab().items(), key=lambda it: it[1])
//! open("vocab.txt", "w").write("".join(f"{token}\n" for token, _ in vocab))
//!
//! trained = tokenizers.Tokenizer(models.Unigram())
//! trained.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
//! trained.pre_tokenizer = pre_tokenizers.Metaspace()
//! trained.decoder = decoders.Metaspace()
//! trained.train_from_iterator(lines, trainers.UnigramTrainer(vocab_size=150, unk_token="<unk>", special_tokens=["<pad>", "<unk>"]))
//! trained.save("unigram.json", pretty=False)
//!
//! tokens = [bytes([it]) for it in range(256)]
//! tokens += [it.encode() for it in ["re", "the", " t", " the", "12", "in", "ing", "ma", "mo", " ma", "日本", "ß", "мир"]]
//! entry = lambda it: {"rank": it[0], "token_bytes": base64.b64encode(it[1]).decode(), "token_str": None}
//! pattern = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
//! config = {"pattern": pattern, "num_vocab_tokens": 269, "default_vocab_size": 272, "default_num_special_tokens": 5, "version": "v3"}
//! special = [{"rank": at, "token_str": it, "is_control": True} for at, it in enumerate(["<unk>", "<s>", "</s>"])]
//! tekken = {"config": config, "vocab": list(map(entry, enumerate(tokens))), "special_tokens": special}
//! json.dump(tekken, open("tekken.json", "w"), separators=(",", ":"))
//! ```

use super::*;

/// Files that the script above has written, and a digest of what the first drawn texts become.
const GOLDENS: [(&str, &[u8], u64); 5] = [
    ("unigram.model", include_bytes!("../goldens/unigram.model"), 0xcd76_f43b_eba4_d884),
    ("pairs.model", include_bytes!("../goldens/pairs.model"), 0xd88f_bcdd_0ff8_e13b),
    ("vocab.txt", include_bytes!("../goldens/vocab.txt"), 0xb202_2fe5_d632_f8cb),
    ("tekken.json", include_bytes!("../goldens/tekken.json"), 0xacb5_7f52_67f5_fda7),
    ("unigram.json", include_bytes!("../goldens/unigram.json"), 0x6c68_a651_74e5_3a5d),
];
/// Drawn texts of which the digests are.
const DRAWN: u64 = 2_000;

fn golden(name: &str) -> File {
    let found = GOLDENS.iter().find(|it| it.0 == name).expect("it is one of these");
    File::new(name, found.1.to_vec())
}

/// Those that this build reads.
fn goldens() -> impl Iterator<Item = (&'static str, Arc<Tokenizer>, u64)> {
    let all = GOLDENS.into_iter().filter(|it| it.0 != "unigram.json" || HAS_LIBRARY);
    all.map(|(name, _, digest)| (name, read(&golden(name)), digest))
}

const HAS_LIBRARY: bool = cfg!(feature = "tokenizers");

/// FNV-1a of ids and of the texts that they become again: what Python has for the same texts.
fn digest<'a>(model: &Tokenizer, texts: impl Iterator<Item = &'a str>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut take = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    for text in texts {
        let ids = encode(model, text, false, usize::MAX);
        ids.iter().flat_map(|it| it.to_le_bytes()).for_each(&mut take);
        decode(model, &ids).bytes().for_each(&mut take);
        take(0xff);
    }
    hash
}

/// Where a digest differs, this shows how.
#[test]
fn ids_and_texts_are_those_of_python() {
    let text = "the remo  bode, don't mamo! \u{65e5}\u{672c}\u{8a9e} \u{fb01}t A 12345";
    let [unigram, pairs, words, tekken] =
        ["unigram.model", "pairs.model", "vocab.txt", "tekken.json"].map(|it| read(&golden(it)));
    let check = |model: &Tokenizer, text: &str, ids: &[u32], back: &str| {
        assert_eq!(encode(model, text, false, usize::MAX), ids, "{text:?}");
        assert_eq!(decode(model, ids), back);
    };
    check(
        &unigram,
        text,
        &[
            39, 49, 290, 297, 51, 288, 298, 267, 9, 12, 11, 10, 50, 4, 280, 31, 268, 30, 18, 14,
            271, 270, 269,
        ],
        "the remo bode, don't mamo! \u{65e5}\u{672c}\u{8a9e} fit a 12345",
    );
    check(
        &pairs,
        text,
        &[
            349, 334, 272, 459, 347, 315, 495, 302, 482, 464, 459, 4, 481, 339, 494, 337, 307, 459,
            483, 484, 491, 492, 493,
        ],
        "the remo  bode, don't mamo! \u{65e5}\u{672c}\u{8a9e} fit a 12345",
    );
    check(
        &words,
        text,
        &[130, 116, 69, 79, 101, 7, 90, 6, 29, 148, 69, 5, 35, 36, 37, 118, 14, 1],
        "the remo bode, don ' t mamo! \u{65e5} \u{672c} \u{8a9e} \u{fb01}t a [UNK]",
    );
    let text = " \u{3000}x\u{a0}a\u{301}</s> #x \u{2603}\u{2603} \u{df}\n";
    check(
        &unigram,
        text,
        &[50, 0, 50, 0, 291, 0, 50, 5, 50, 0, 43, 0],
        " \u{2047}   \u{2047} s \u{2047}  #x  \u{2047}  \u{df} \u{2047} ",
    );
    check(
        &pairs,
        text,
        &[
            459, 459, 459, 126, 459, 201, 167, 66, 53, 469, 68, 459, 5, 459, 232, 158, 137, 232,
            158, 137, 368, 16,
        ],
        "  x \u{e1}</s> #x \u{2603}\u{2603} \u{df}\n",
    );
    check(&tekken, "x the12", &[125, 264, 54, 55], "x the12");
}

#[test]
fn drawn_texts_have_the_ids_of_python() {
    let texts: Vec<String> = (0..DRAWN).map(drawn).collect();
    for (name, model, expected) in goldens() {
        let found = digest(&model, texts.iter().map(|it| &**it));
        assert_eq!(found, expected, "{name}: {found:#018x}");
    }
}

/// What `sentencepiece` has for texts of the shared data.
#[test]
fn shared_models_have_the_ids_of_sentencepiece() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/text");
    if !root.is_dir() {
        eprintln!("{}: not there, so its models are not looked at", root.display());
        return;
    }
    let text = |name: &str| fs::read_to_string(root.join(name)).unwrap();
    let texts = ["sentencepiece/botchan.txt", "wmt23/generaltest2023.de-en.src.de"].map(text);
    for (name, expected) in [
        ("sentencepiece/test_model.model", 0x5723_26b3_476a_fc4c),
        ("sentencepiece/test_ja_model.model", 0xa5c0_f59c_163e_ffd5),
        ("sentencepiece/sentencepiece.model", 0x11f9_a080_99de_4cf8),
        ("opennmt_ende10k/sample.sp.model", 0xbb6d_1b7b_56a1_312f),
    ] {
        let model = read(&File::new(name, fs::read(root.join(name)).unwrap()));
        let found = digest(&model, texts.iter().flat_map(|it| it.split('\n')));
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn control_symbols_are_tokens_where_that_is_said() {
    let model = read(&golden("unigram.model"));
    let ids = |text, specials, most| encode(&model, text, specials, most);
    let plain = ids("the</s>", false, 99);
    assert!(!plain.contains(&2), "{plain:?}");
    let [the, and] = [ids("the", false, 99), ids("ma mo", false, 99)];
    assert_eq!(ids("the</s>ma mo<sep>", true, 99), [&the[..], &[2], &and[..], &[3]].concat());
    assert_eq!(ids("the</s>ma mo", true, the.len() + 1), [&the[..], &[2]].concat());
    assert_eq!(ids("#x", false, 99).last(), Some(&5), "a symbol that a user has defined");
    let found = ["</s>", "<sep>", "#x", "\u{2581}the", " the"].map(|it| model.id(it));
    assert_eq!(found, [Some(2), Some(3), Some(5), Some(the[0]), Some(the[0])]);
    assert_eq!((model.size(), model.id("xyz"), model.frame().is_none()), (300, None, true));
    assert_eq!(decode(&model, &[1, the[0], 2]), "the");
}

#[test]
fn a_vocabulary_says_how_texts_are_written() {
    let of = |tokens: &[&str]| read(&File::new("vocab.txt", tokens.join("\n").into_bytes()));
    let ids = |tokens: &[&str], text| encode(&of(tokens), text, false, 99);
    assert_eq!(ids(&["[UNK]", "ab", "##c", "e"], "ABC \u{c9}, xab"), [1, 2, 3, 0, 0]);
    assert_eq!(
        ids(&["[UNK]", "Ab", "ab", "e"], "Ab aB \u{e9}"),
        [1, 0, 0],
        "it has a capital letter"
    );
    assert_eq!(ids(&["[UNK]", "ab", "e", "\u{e9}"], "AB \u{c9}"), [1, 3], "it has an accent");
    let framed = of(&["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a"]);
    let frame = framed.frame().unwrap();
    assert_eq!((&frame.before[..], &frame.behind[..]), (&[2][..], &[3][..]));
    assert_eq!(encode(&framed, "a [SEP] a", true, 99), [4, 3, 4]);
    assert_eq!(encode(&framed, "a [SEP]", false, 99), [4, 1, 1, 1]);
    assert_eq!(decode(&framed, &[2, 4, 3]), "[CLS] a [SEP]");
}

/// The same file, as `tokenizer.json` has it.
#[test]
fn word_piece_of_a_json_file_is_the_same() {
    let text = String::from_utf8(golden("vocab.txt").bytes().unwrap().to_vec()).unwrap();
    let vocab: serde_json::Map<_, _> =
        text.lines().zip(0..).map(|(it, id)| (it.to_owned(), json!(id))).collect();
    let file = json!({
        "model": { "type": "WordPiece", "vocab": vocab, "unk_token": "[UNK]" },
        "normalizer": { "type": "BertNormalizer", "lowercase": true },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "decoder": { "type": "WordPiece", "prefix": "##", "cleanup": true },
        "post_processor": { "type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2] },
    });
    let json = read(&File::new("tokenizer.json", file.to_string().into_bytes()));
    let own = read(&golden("vocab.txt"));
    for text in (0..200).map(drawn) {
        assert_eq!(encode(&json, &text, false, 99), encode(&own, &text, false, 99));
    }
    assert_eq!((&json.frame().unwrap().before[..], json.size()), (&[2][..], own.size()));
}

/// Of added tokens, those that are not special are always tokens; some take the spaces beside them.
#[test]
fn added_tokens_do_what_they_say() {
    let small = small();
    let text = String::from_utf8(small.bytes().unwrap().to_vec()).unwrap();
    let special = "\"special\":true";
    assert!(text.contains(special));
    let how = "\"special\":false,\"lstrip\":true,\"rstrip\":true,\"single_word\":true";
    let keys = ["lstrip", "rstrip", "single_word"].map(|it| format!("\"{it}\":false,"));
    let text = keys.iter().fold(text, |text, it| text.replace(it, ""));
    let model = read(&File::new("x.json", text.replace(special, how).into_bytes()));
    let ids = |text| encode(&model, text, false, 99);
    assert_eq!(ids("b  <|end|> \n b"), [98, 267, 98]);
    for text in ["b<|end|>", "<|end|>\u{301}"] {
        assert_eq!(ids(text), encode(&read(&small), text, false, 99), "it is within a word");
    }
}

/// Texts that make a tokenizer slow.
#[test]
fn a_megabyte_of_anything_takes_no_square_of_time() {
    for (name, model, _) in goldens() {
        for part in [
            "a",
            " ",
            "\u{301}",
            "\n",
            "1",
            "!",
            "\u{1f600}",
            "a\u{301}",
            "\u{65e5}",
            " \n",
            "mamo",
        ] {
            let text = part.repeat((1 << 20) / part.len());
            let ids = encode(&model, &text, false, usize::MAX);
            assert!(ids.len() <= 1 << 21, "{name} {part:?}");
        }
    }
}

/// A map of characters that the crate `tokenizers` would panic at.
#[test]
fn a_damaged_map_is_refused() {
    for map in ["", "AAAA", "!", "BAAAAAAAAAA="] {
        let normalizer = json!({ "type": "Precompiled", "precompiled_charsmap": map });
        let normalizer = json!({ "type": "Sequence", "normalizers": [normalizer] });
        let model = json!({ "type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0]] });
        let file = json!({ "model": model, "normalizer": normalizer, "added_tokens": [] });
        let found = of_file(&File::new("x.json", file.to_string().into_bytes())).unwrap();
        let expected = if HAS_LIBRARY { "is damaged" } else { "built without" };
        assert!(found.map(|_| ()).unwrap_err().contains(expected));
    }
}

/// Cut anywhere, or with any byte changed, they are files of something, or refused.
#[test]
fn damaged_files_do_no_harm() {
    for (name, bytes, _) in GOLDENS.into_iter().filter(|it| it.0.ends_with(".model")) {
        for at in (0..bytes.len()).step_by(13) {
            let mut changed = bytes.to_vec();
            changed[at] ^= 0x55;
            for bytes in [bytes[..at].to_vec(), changed] {
                if let Ok(model) = of_file(&File::new(name, bytes)).unwrap() {
                    let ids = encode(&model, "the remo mamo A \u{fb01} \u{2603}", true, 99);
                    let mut text = Vec::new();
                    assert_eq!(model.decode(&ids, &mut text), Ok(()), "{name} {at}");
                }
            }
        }
    }
}
