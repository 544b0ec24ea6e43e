//! Makes the tree-sitter parser of `.pipe`, and holds it against the compiler.
//!
//! `build OUT` writes what editors load: `OUT/src` (the parser in C), `OUT/parser/pipe.so`,
//! `OUT/queries/pipe`. `check OUT CORPUS` builds and reads each text of a corpus that
//! `cargo run -p compiler --example corpus` has printed: a text has an error where the compiler's grammar
//! does not read it, and nowhere else, and each word of one that is read has the colour that
//! `pipec highlight` gives it. `colours OUT CORPUS` prints the words of each text as JSON.

use serde_json::{Value, json};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};
use tree_sitter::{Language, Parser};
use tree_sitter_highlight::{Highlight, HighlightConfiguration, HighlightEvent, Highlighter};

type Outcome<T> = Result<T, String>;

/// The captures of the query, and the kinds of words that each may stand for.
const KINDS: [(&str, &[&str]); 17] = [
    ("comment", &["Comment"]),
    ("comment.documentation", &["Doc"]),
    ("function", &["Definition"]),
    ("function.call", &["Call"]),
    ("variable.parameter", &["Argument"]),
    ("property", &["Field"]),
    ("variable", &["Name"]),
    ("type", &["Type"]),
    ("number", &["Number"]),
    ("boolean", &["Keyword"]),
    ("string", &["Text"]),
    ("string.special", &["Hole"]),
    ("string.escape", &["Text"]),
    ("keyword", &["Keyword"]),
    ("operator", &["Sign"]),
    ("punctuation.bracket", &["Sign"]),
    ("punctuation.delimiter", &["Sign"]),
];

/// Differences that are shown.
const SHOWN: usize = 20;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args[..] {
        ["build", out] => build(Path::new(out)).map(drop),
        ["check", out, corpus] => build(Path::new(out)).and_then(|it| check(&it, corpus)),
        ["colours", out, corpus] => build(Path::new(out)).and_then(|it| colours(&it, corpus)),
        _ => Err("pipe-tree-sitter build OUT | check OUT CORPUS | colours OUT CORPUS".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// The parser, and how its nodes are coloured.
struct Built {
    language: Language,
    colours: HighlightConfiguration,
}

fn own() -> PathBuf {
    // `cargo run` says it: what was built may have been built in another checkout.
    let here = std::env::var_os("CARGO_MANIFEST_DIR");
    let here = here.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&here).join("..")
}

fn build(out: &Path) -> Outcome<Built> {
    let said = |what: &str, it: &dyn std::fmt::Display| format!("{what}: {it}");
    let (src, parser, queries) = (out.join("src"), out.join("parser"), out.join("queries/pipe"));
    for folder in [&src, &parser, &queries] {
        fs::create_dir_all(folder).map_err(|it| said("a folder cannot be made", &it))?;
    }
    let grammar = tree_sitter_generate::load_grammar_file(&own().join("grammar.js"), None)
        .map_err(|it| said("grammar.js", &it))?;
    let path = out.join("grammar.json");
    fs::write(&path, grammar).map_err(|it| said("the grammar cannot be written", &it))?;
    tree_sitter_generate::generate_parser_in_directory(
        out.to_owned(),
        Some(src.clone()),
        Some(path),
        tree_sitter::LANGUAGE_VERSION,
        None,
        None,
        true,
        tree_sitter_generate::OptLevel::default(),
        &mut Vec::new(),
    )
    .map_err(|it| said("no parser can be made of the grammar", &it))?;
    let library = parser.join("pipe.so");
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let compiled = Command::new(&compiler)
        .args(["-O1", "-fPIC", "-shared", "-o"])
        .arg(&library)
        .arg("-I")
        .arg(&src)
        .arg(src.join("parser.c"))
        .status();
    if !compiled.is_ok_and(|it| it.success()) {
        return Err(format!("`{compiler}` has not compiled the parser"));
    }
    let mut texts = Vec::new();
    for name in ["highlights.scm", "locals.scm", "folds.scm"] {
        let text = fs::read_to_string(own().join("queries").join(name));
        let text = text.map_err(|it| said(name, &it))?;
        fs::write(queries.join(name), &text).map_err(|it| said(name, &it))?;
        texts.push(text);
    }
    let language = loaded(&library).map_err(|it| said("the parser cannot be loaded", &it))?;
    // What a name refers to changes no colour here: the compiler's colours know no definitions.
    let colours = HighlightConfiguration::new(language.clone(), "pipe", &texts[0], "", "");
    let mut colours = colours.map_err(|it| said("highlights.scm", &it))?;
    tree_sitter::Query::new(&language, &texts[1]).map_err(|it| said("locals.scm", &it))?;
    tree_sitter::Query::new(&language, &texts[2]).map_err(|it| said("folds.scm", &it))?;
    colours.configure(&KINDS.map(|it| it.0));
    Ok(Built { language, colours })
}

/// Loads the parser, for as long as the process runs.
fn loaded(library: &Path) -> Result<Language, libloading::Error> {
    // SAFETY: the library was made by this program a moment ago; it runs nothing when it is loaded, its
    // function takes nothing and gives a table that lives as long as the library, which is never unloaded.
    unsafe {
        let library = Box::leak(Box::new(libloading::Library::new(library)?));
        let language = library.get::<unsafe extern "C" fn() -> *const ()>(b"tree_sitter_pipe")?;
        Ok(Language::new(tree_sitter_language::LanguageFn::from_raw(*language)))
    }
}

fn read(corpus: &str) -> Outcome<Vec<Value>> {
    let text = fs::read_to_string(corpus).map_err(|it| format!("`{corpus}`: {it}"))?;
    serde_json::from_str(&text).map_err(|it| format!("`{corpus}`: {it}"))
}

fn check(built: &Built, corpus: &str) -> Outcome<()> {
    let (mut n_read, mut n_words, mut wrong) = (0, 0, Vec::new());
    let all = read(corpus)?;
    for it in &all {
        let (name, text) = (&it["name"], it["text"].as_str().unwrap_or_default());
        let is_read = it["read"] == true;
        let mut parser = Parser::new();
        parser.set_language(&built.language).map_err(|it| it.to_string())?;
        let tree = parser.parse(text, None).ok_or("nothing was parsed")?;
        if tree.root_node().has_error() == is_read {
            let place = first_error(tree.root_node());
            wrong.push(format!(
                "{name}: the compiler reads it: {is_read}, tree-sitter: {}{place}",
                !is_read
            ));
            continue;
        }
        if !is_read {
            continue;
        }
        n_read += 1;
        for word in differing(built, it, &mut n_words)? {
            wrong.push(format!("{name}: {word}"));
        }
    }
    println!("tree-sitter: {} texts, {n_read} of them read, {n_words} words of these", all.len());
    if wrong.is_empty() {
        return Ok(());
    }
    let (n, shown) = (wrong.len(), wrong.into_iter().take(SHOWN).collect::<Vec<_>>().join("\n"));
    Err(format!("{shown}\n{n} differences"))
}

fn first_error(node: tree_sitter::Node<'_>) -> String {
    let mut open = vec![node];
    while let Some(it) = open.pop() {
        if it.is_error() || it.is_missing() {
            let at = it.start_position();
            return format!(", error in line {} at column {}", at.row + 1, at.column + 1);
        }
        let mut cursor = it.walk();
        open.extend(it.children(&mut cursor).filter(tree_sitter::Node::has_error));
    }
    String::new()
}

/// The colours of the bytes of a text: the capture of each, by its place in [`KINDS`].
fn captures(built: &Built, text: &str) -> Outcome<Vec<Option<usize>>> {
    let mut highlighter = Highlighter::new();
    let events = highlighter.highlight(&built.colours, text.as_bytes(), None, None, |_| None);
    let mut of = vec![None; text.len()];
    let mut open: Vec<usize> = Vec::new();
    for event in events.map_err(|it| format!("{it:?}"))? {
        match event.map_err(|it| format!("{it:?}"))? {
            HighlightEvent::HighlightStart(Highlight(it)) => open.push(it),
            HighlightEvent::HighlightEnd => drop(open.pop()),
            HighlightEvent::Source { start, end } => of[start..end].fill(open.last().copied()),
        }
    }
    Ok(of)
}

/// The words whose colours are others than the compiler gives them.
fn differing(built: &Built, it: &Value, n_words: &mut usize) -> Outcome<Vec<String>> {
    let text = it["text"].as_str().unwrap_or_default();
    let of = captures(built, text)?;
    let mut wrong = Vec::new();
    for word in it["words"].as_array().into_iter().flatten() {
        let kind = word[0].as_str().unwrap_or_default();
        let at = |i: usize| word[i].as_u64().unwrap_or_default() as usize;
        *n_words += 1;
        let fits = |it: &Option<usize>| it.is_some_and(|it| KINDS[it].1.contains(&kind));
        if !of[at(1)..at(2)].iter().all(fits) {
            let found = of[at(1)].map_or("nothing", |it| KINDS[it].0);
            let line = text[..at(1)].matches('\n').count() + 1;
            wrong.push(format!(
                "`{}` in line {line} is {kind}, and here {found}",
                &text[at(1)..at(2)]
            ));
        }
    }
    Ok(wrong)
}

/// The colours of each text that is not damaged: runs of bytes and their captures.
fn colours(built: &Built, corpus: &str) -> Outcome<()> {
    let mut all = Vec::new();
    for it in read(corpus)?.iter().filter(|it| it["damaged"] == false) {
        let text = it["text"].as_str().unwrap_or_default();
        let of = captures(built, text)?;
        let mut runs: Vec<(usize, usize, &str)> = Vec::new();
        for (at, it) in of.iter().enumerate() {
            let name = it.map_or("", |it| KINDS[it].0);
            match runs.last_mut() {
                Some(last) if last.2 == name => last.1 = at + 1,
                _ => runs.push((at, at + 1, name)),
            }
        }
        all.push(json!({ "name": it["name"], "runs": runs }));
    }
    println!("{}", Value::from(all));
    Ok(())
}
