//! The corpus that editors' grammars are held against, as JSON on stdout: every program of the
//! examples, the suite and the library, and the same with a word left out, doubled or put elsewhere.
//! Of each whether the compiler's grammar reads it, and what each of its words is.

#![expect(clippy::print_stdout, reason = "it prints for a script")]

use compiler::syntax::{Kind, highlight, is_read};
use std::{fmt::Write, fs, path::Path};

/// Damaged forms of each program.
const MUTANTS: usize = 12;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut all = Vec::new();
    for folder in ["examples", "tests/suite", "stdlib/pipe"] {
        below(&root.join(folder), folder, &mut all);
    }
    all.sort();
    let mut texts = Vec::new();
    for (name, text) in all {
        let mutants: Vec<_> = (0..MUTANTS).map(|i| mutant(&text, i)).collect();
        texts.push(entry(&name, &text, false));
        for (i, it) in mutants.iter().enumerate().filter(|it| *it.1 != text) {
            texts.push(entry(&format!("{name} #{i}"), it, true));
        }
    }
    println!("[\n{}\n]", texts.join(",\n"));
}

fn below(folder: &Path, name: &str, all: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) =
            (entry.path(), format!("{name}/{}", entry.file_name().to_string_lossy()));
        if path.is_dir() {
            below(&path, &name, all);
        } else if let Some(text) =
            fs::read_to_string(&path).ok().filter(|_| name.ends_with(".pipe"))
        {
            all.push((name, text));
        }
    }
}

/// One word left out, doubled or exchanged with another; always the same for the same number.
fn mutant(text: &str, number: usize) -> String {
    let words: Vec<_> = highlight(text).into_iter().filter(|it| it.1 != Kind::Comment).collect();
    if words.len() < 2 {
        return text.to_owned();
    }
    let dice = plan::mix(plan::hash(text.as_bytes()), number as u64);
    let at = |shift: u32| words[(dice >> shift) as usize % words.len()].0;
    let (one, other) = (at(8).range(), at(32).range());
    let mut all = text.to_owned();
    match number % 3 {
        0 => all.replace_range(one, ""),
        1 => all.insert_str(one.start, &format!("{} ", &text[other])),
        _ => all.replace_range(one, &text[other]),
    }
    all
}

fn entry(name: &str, text: &str, damaged: bool) -> String {
    let mut words = String::new();
    for (span, kind) in highlight(text) {
        let _ = write!(words, "[\"{kind:?}\",{},{}],", span.start, span.end);
    }
    let (words, text, read) = (words.trim_end_matches(','), quoted(text), is_read(text));
    format!(
        "{{\"name\":{},\"read\":{read},\"damaged\":{damaged},\"text\":{text},\"words\":[{words}]}}",
        quoted(name)
    )
}

/// A text as JSON has it.
fn quoted(text: &str) -> String {
    let mut all = "\"".to_owned();
    for letter in text.chars() {
        match letter {
            '"' | '\\' => all.extend(['\\', letter]),
            '\u{20}'.. => all.push(letter),
            _ => {
                let _ = write!(all, "\\u{:04x}", u32::from(letter));
            }
        }
    }
    all + "\""
}
