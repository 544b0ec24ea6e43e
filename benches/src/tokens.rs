//! `tokenize` beside tiktoken's own code, by turns, one core: the same texts, all in memory; and with models of SentencePiece,
//! whose library is in C++, alone.

use crate::{Row, trial::median};
use base64::{Engine, engine::general_purpose::STANDARD};
use plan::{Arg, DType, ExprId, Extent, File, Type, mix};
use runtime::{Args, Call, Kernel, Kernels, Out, Philox, Scratch, Tensor};
use std::{fmt::Write, fs, hint::black_box, path::Path, time::Instant};
use tiktoken_rs::{CoreBPE, o200k_base, r50k_base};

/// A text of English.
const ENGLISH: &str = "../shared/data/text/wikitext2/test.txt";
/// Models of SentencePiece, and megabytes a second that are claimed of them with English.
const PIECES: [(&str, &str, f64); 2] = [
    ("Unigram", "../shared/data/text/sentencepiece/test_model.model", 50.0),
    ("BPE", "../shared/data/text/opennmt_ende10k/sample.sp.model", 50.0),
];
/// Runs of each side, and seconds of each.
const RUNS: usize = 5;
const SECONDS: f64 = 0.5;

/// A text, by lines, and megabytes a second that are claimed of GPT-2's model.
struct Text {
    name: &'static str,
    lines: Vec<String>,
    least: f64,
}

/// The rows of the table.
pub(crate) fn rows() -> Vec<Row> {
    let Ok(english) = fs::read_to_string(Path::new(ENGLISH)) else {
        return vec![Row::skipped("tokens", "as fast as is claimed", ENGLISH)];
    };
    let code = [include_str!("tokens.rs"), include_str!("peers.rs"), include_str!("trial.rs")];
    let text = |name, text: &str, least| Text {
        name,
        lines: text.lines().map(str::to_owned).collect(),
        least,
    };
    let texts = [
        text("English", &english, 200.0),
        text("code", &code.concat(), 80.0),
        text("Chinese", &words(0x4e00, (3_000, 1, 3), '\u{ff0c}'), 80.0),
        text("Hindi", &words(0x915, (37, 2, 5), ' '), 80.0),
    ];
    let models = [("GPT-2", r50k_base(), 50_256), ("GPT-4o", o200k_base(), 199_998)];
    let mut rows = Vec::new();
    for (model, theirs, ids) in models {
        let theirs = theirs.expect("it comes with the crate");
        let ours = kernel(&theirs, ids);
        for text in &texts {
            rows.push(row(model, text, (&ours, &theirs)));
        }
    }
    rows.extend(PIECES.iter().map(|it| of_pieces(it, &texts[0])));
    rows
}

/// A model of SentencePiece.
fn of_pieces((kind, path, least): &(&str, &str, f64), text: &Text) -> Row {
    let claim = format!("{}: {least:.0} MB/s a core", text.name);
    let Ok(bytes) = fs::read(path) else { return Row::skipped("tokens", &claim, path) };
    let ours = kernel_of(File::new("a.model", bytes));
    let mut scratch = Scratch::new();
    let rates = (0..RUNS).map(|_| rate(&text.lines, &mut |it| encoded(&ours, it, &mut scratch)));
    let own = median(rates.collect());
    let figure = format!("{:.0} MB/s", own / 1e6);
    Row::new(&format!("SentencePiece {kind} {}", text.name), &claim, figure, own >= least * 1e6)
}

/// How many ids a text has.
fn encoded(kernel: &Kernel, line: &str, scratch: &mut Scratch) -> usize {
    let nothing = || Tensor::nothing();
    let text = Tensor::text(DType::Str, line.as_bytes());
    let values = [text, nothing(), nothing(), nothing(), nothing(), nothing()];
    let out = &mut Out::grow(scratch);
    kernel.write(&mut Philox::new(1, 2, 3), &Args::of(&values), out).expect("it is text");
    scratch.tensor().elements()
}

/// Text of a script whose letters begin at a place: so many of them, the first ones often, in words of some lengths.
fn words(first: u32, (letters, least, most): (u64, u64, u64), between: char) -> String {
    let mut text = String::new();
    for word in 0..30_000_u64 {
        // One of some thousand words, of which a few are most of a text.
        let word_id = mix(1, mix(2, word) % (1 + mix(3, word) % 6_000));
        for at in 0..least + mix(word_id, 0) % (most - least + 1) {
            let letter = mix(word_id, 1 + at) % (1 + mix(word_id, 100 + at) % letters);
            text.extend(char::from_u32(first + letter as u32));
        }
        match mix(4, word) % 40 {
            0 => text.push('\n'),
            1..5 => text.push(between),
            _ if between == ' ' => text.push(' '),
            _ => {}
        }
    }
    text
}

fn row(model: &str, text: &Text, (ours, theirs): (&Kernel, &CoreBPE)) -> Row {
    let mut scratch = Scratch::new();
    let mut encode = |line: &str| encoded(ours, line, &mut scratch);
    for line in &text.lines {
        let (n, all) = (encode(line), theirs.encode_ordinary(line));
        assert_eq!(n, all.len(), "{line}");
    }
    let (mut own, mut other) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        own.push(rate(&text.lines, &mut encode));
        other.push(rate(&text.lines, &mut |line| theirs.encode_ordinary(line).len()));
    }
    let spread =
        own.iter().copied().fold([f64::INFINITY, 0.0], |[a, b], it| [a.min(it), b.max(it)]);
    let [own, other] = [own, other].map(median);
    let claim = match model {
        "GPT-2" => format!("{}: {:.0} MB/s a core", text.name, text.least),
        _ => format!("{}: as fast as tiktoken", text.name),
    };
    let figure = format!(
        "{:.0} MB/s ({:.0} to {:.0}), tiktoken {:.0}: {:.1} times",
        own / 1e6,
        spread[0] / 1e6,
        spread[1] / 1e6,
        other / 1e6,
        own / other
    );
    let holds = if model == "GPT-2" { own >= text.least * 1e6 } else { own >= other };
    Row::new(&format!("{model} {}", text.name), &claim, figure, holds)
}

/// Bytes a second.
fn rate(lines: &[String], encode: &mut dyn FnMut(&str) -> usize) -> f64 {
    let (begun, mut bytes) = (Instant::now(), 0);
    while begun.elapsed().as_secs_f64() < SECONDS {
        for line in lines {
            black_box(encode(line));
            bytes += line.len();
        }
    }
    bytes as f64 / begun.elapsed().as_secs_f64()
}

/// `tokenize` with a model.
fn kernel(of: &CoreBPE, ids: u32) -> Kernel {
    let mut text = String::new();
    for id in 0..ids {
        if let Ok(bytes) = of.decode_bytes(&[id]) {
            let _ = writeln!(text, "{} {id}", STANDARD.encode(bytes));
        }
    }
    kernel_of(File::new("model.tiktoken", text.into_bytes()))
}

fn kernel_of(file: File) -> Kernel {
    let file = Arg::File(file);
    let no = Arg::Bool(false);
    let args = [Arg::Expr(ExprId(0)), file, no.clone(), no, Arg::None, Arg::None];
    let types = [Some(Type::scalar(DType::Str)), None, None, None, None, None];
    let result = Type::Tensor { dtype: DType::I32, shape: vec![Extent::Unknown] };
    let call = Call { args: &args, types: &types, result: &result, sources: &[], outside: None };
    let build = stdlib::Kernels.function("tokenize").expect("the library has it");
    build(&call).unwrap_or_else(|why| panic!("{why}"))
}
