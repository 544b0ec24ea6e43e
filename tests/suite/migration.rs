//! The names that people bring from elsewhere (`compiler::migration`): every row makes the message that it says, every
//! change that it offers is one that holds, and all that it names is there.

use crate::{cases::suite, trial};
use compiler::migration::{Change, Place, ROWS, Row};
use driver::{Loaded, Settings};
use libtest_mimic::{Failed, Trial};
use plan::Diagnostic;
use std::{fs, path::Path};

/// A stream for what begins with `|>`, and two more; records for values.
const AROUND: &str = "\
pipeline a = range(9) |> map { x: f32(i) }
pipeline b = range(9) |> map { x: f32(i) }
pipeline of = files(\"data/*.jpg\") |> map {
    image: decode_jpeg(bytes), label: class_of(path), text: stem_of(path), path, bytes, x: f32(len(path)),
    ids: permutation(len(path)),
}
";

/// The checks.
pub(crate) fn trials() -> Vec<Trial> {
    let each = |(at, row): (usize, &'static Row)| {
        let name = format!("migration/{at:03}-{}", row.names[0].trim_start_matches('-'));
        trial(name, move || tried(row))
    };
    ROWS.iter().enumerate().map(each).collect()
}

fn tried(row: &'static Row) -> Result<(), Failed> {
    for snippet in row.help.split('`').skip(1).step_by(2) {
        there(snippet, row)?;
    }
    for name in row.names {
        match row.place {
            Place::Flag => {}
            Place::Value => valued(row, name)?,
            Place::Name => called(row, name)?,
            Place::Argument if row.change == Change::Renamed("axis") => given(row, "sum", name)?,
            Place::Argument => given(row, "batch", name)?,
            Place::ArgumentOf(of) => given(row, of, name)?,
        }
    }
    Ok(())
}

/// What was found wrong in a program.
fn messages(source: &str) -> Vec<Diagnostic> {
    let loaded = Loaded::from_text(Path::new("case.pipe"), source.to_owned());
    if loaded.is_broken() {
        return loaded.diagnostics;
    }
    driver::check(&loaded, &Settings::default())
}

fn wrong(what: &str, source: &str, found: &[Diagnostic]) -> Failed {
    let found: Vec<String> =
        found.iter().map(|it| format!("{} ({:?})", it.message, it.help)).collect();
    format!("{what} of\n{source}\nfound: {found:#?}").into()
}

/// What stands in backquotes in a help is there.
fn there(snippet: &str, row: &Row) -> Result<(), Failed> {
    if snippet.starts_with("--") {
        return command_line(snippet.split(' ').next().unwrap_or(snippet));
    }
    if let Some(command) = snippet.strip_prefix("pipec ") {
        return command_line(&command.split(' ').next().map(capital).unwrap_or_default());
    }
    if snippet.starts_with("pipe.")
        || snippet.starts_with("pipec.")
        || snippet.starts_with("torch.")
    {
        return python(snippet);
    }
    if row.names.iter().any(|it| snippet.starts_with(it)) || snippet == "seed=" || snippet == "**" {
        return Ok(());
    }
    let library = stdlib::library();
    let reserved = [
        "where",
        "with",
        "map",
        "flat_map",
        "param",
        "fn",
        "extern fn",
        "extern pipeline",
        "pipeline",
        "as",
        "in",
        "==",
    ];
    if reserved.contains(&snippet) || library.later.iter().any(|it| it.0 == snippet) {
        return Ok(());
    }
    let is_name = snippet.chars().all(|it| it.is_alphanumeric() || it == '_');
    if is_name && (is_entry(snippet) || is_parameter(snippet, row)) {
        return Ok(());
    }
    if let Some((name, _)) = snippet
        .split_once(": ")
        .filter(|it| it.0.chars().all(char::is_alphanumeric) || it.0 == "at_end")
    {
        return if is_parameter(name, row) {
            Ok(())
        } else {
            Err(format!("no parameter in `{snippet}`").into())
        };
    }
    let source = program(snippet);
    let found = messages(&source);
    if found.iter().any(Diagnostic::is_error) {
        Err(wrong(snippet, &source, &found))
    } else {
        Ok(())
    }
}

/// A program that a snippet is part of.
fn program(snippet: &str) -> String {
    match snippet {
        // A batch has no text, and pads only what it is told to pad.
        it if it.contains("batch(") => {
            let fields = if it.contains("ids") { "x, label, ids" } else { "x, label" };
            format!("{AROUND}pipeline p = of |> map {{ {fields} }} {it}\n")
        }
        it if it.starts_with("|>") => format!("{AROUND}pipeline p = of {it}\n"),
        it if ["files(", "tar(", "tfrecord(", "records(", "mix(", "concat(", "range("]
            .iter()
            .any(|head| it.starts_with(head))
            && !it.contains("ids") =>
        {
            format!("{AROUND}pipeline p = {it}\n")
        }
        it if it.starts_with("zip(") => {
            format!("{AROUND}pipeline p = {}\n", it.replace("100", "9"))
        }
        it if it.starts_with('{') => format!("{AROUND}pipeline p = of |> map {it}\n"),
        it => format!("{AROUND}pipeline p = of |> map {{ y: {it} }}\n"),
    }
}

fn is_entry(name: &str) -> bool {
    let library = stdlib::library();
    let all = library.functions.iter().chain(library.operators).chain(library.sources);
    let written = library.written.iter().any(|it| {
        [format!("fn {name}("), format!("pipeline {name}(")]
            .iter()
            .any(|head| it.1.contains(head.as_str()))
    });
    all.into_iter().any(|it| it.name() == name) || name == "one_of" || name == "bytes" || written
}

/// Whether a call that the row is about, or any, has a parameter of this name.
fn is_parameter(name: &str, row: &Row) -> bool {
    let library = stdlib::library();
    let heads = library
        .functions
        .iter()
        .chain(library.operators)
        .chain(library.sources)
        .map(|it| it.signature);
    let written = library.written.iter().flat_map(|it| it.1.split("\n\n"));
    let of = match row.place {
        Place::ArgumentOf(of) => format!("{of}("),
        _ => String::new(),
    };
    let has = |head: &str| {
        let begins = head.starts_with(&of)
            || head.contains(&format!("fn {of}"))
            || head.contains(&format!("pipeline {of}"));
        let named = [": ", " = ", ",", ")"].iter().any(|it| {
            ["(", " "].iter().any(|before| head.contains(&format!("{before}{name}{it}")))
        });
        begins && named
    };
    heads.chain(written).any(has)
}

/// The command line has this flag, or a command whose row is called so.
fn command_line(word: &str) -> Result<(), Failed> {
    let folder = suite().join("../../pipec/src/args");
    let mut text = fs::read_to_string(folder.with_extension("rs"))?;
    for file in fs::read_dir(folder)?.flatten() {
        text += &fs::read_to_string(file.path())?;
    }
    let field = format!("pub(crate) {}:", word.trim_start_matches('-').replace('-', "_"));
    let found = if word.starts_with("--") {
        text.contains(&field)
    } else {
        text.contains(&format!("    {word}("))
    };
    if found { Ok(()) } else { Err(format!("the command line has no `{word}`").into()) }
}

fn capital(word: &str) -> String {
    word[..1].to_uppercase() + &word[1..]
}

/// The Python package has this method, or takes it from that module.
fn python(name: &str) -> Result<(), Failed> {
    let folder = suite().join("../../python/pipec");
    let text: String = ["__init__.py", "_pipe.py", "torch.py"]
        .iter()
        .map(|it| fs::read_to_string(folder.join(it)).unwrap_or_default())
        .collect();
    let last = name.trim_end_matches("()").rsplit('.').next().unwrap_or(name);
    let found = text.contains(&format!("def {last}("))
        || text.contains(name)
        || text.contains(&format!(" {last}"));
    if found { Ok(()) } else { Err(format!("the Python package has no `{name}`").into()) }
}

/// A call of the name makes the message of its row, and the change that it offers mends it.
fn called(row: &Row, name: &str) -> Result<(), Failed> {
    let name = name.replace('.', "_");
    let argument = if row.change == Change::Renamed("where") { "x > 1.0" } else { "" };
    // `decoders.image` comes with its module, and a module is taken off before it gets here.
    let dotted = row.names.iter().find(|it| it.replace('.', "_") == name && it.contains('.'));
    let call = dotted.map_or(name.clone(), |it| format!("fn.{it}"));
    for source in [
        format!("pipeline p = range(9) |> map {{ x: f32(i) }} |> {call}({argument})\n"),
        format!("pipeline p = range(9) |> map {{ x: {call}(f32(i)) }}\n"),
    ] {
        let found = messages(&source);
        let Some(told) = found.iter().find(|it| told(it, row)) else {
            return Err(wrong("no message", &source, &found));
        };
        mended(told, &source, &call)?;
    }
    Ok(())
}

/// A value of the name makes the message of its row.
fn valued(row: &Row, name: &str) -> Result<(), Failed> {
    let source = format!("pipeline p = range(9) |> map {{ x: {name} }}\n");
    let found = messages(&source);
    match found.iter().any(|it| told(it, row)) {
        true => Ok(()),
        false => Err(wrong("no message", &source, &found)),
    }
}

/// Whether it is the message of the row; a module in front is told of with the change.
fn told(it: &Diagnostic, row: &Row) -> bool {
    let renamed = match row.change {
        Change::Renamed(ours) => it.help.as_deref() == Some(&format!("write `{ours}(…`")),
        _ => false,
    };
    it.help.as_deref() == Some(row.help) || renamed
}

/// An argument of this name makes the message of its row.
fn given(row: &Row, of: &str, name: &str) -> Result<(), Failed> {
    let call = match of {
        "batch" | "shuffle" | "take" | "skip" | "repeat" | "windows" | "sample" => {
            format!("range(9) |> {of}({name}: true)")
        }
        "range" | "files" | "csv" | "mix" => format!("{of}({name}: true)"),
        _ => format!("range(9) |> map {{ y: {of}({name}: true) }}"),
    };
    let source = format!("pipeline p = {call}\n");
    let found = messages(&source);
    let Some(told) = found.iter().find(|it| it.help.as_deref() == Some(row.help)) else {
        return Err(wrong("no message", &source, &found));
    };
    mended(told, &source, &format!("{name}:"))
}

/// With the change that a message offers, the foreign name is gone, and what is left can be read.
fn mended(message: &Diagnostic, source: &str, name: &str) -> Result<(), Failed> {
    let Some(fix) = &message.fix else { return Ok(()) };
    let text = format!(
        "{}{}{}",
        &source[..fix.span.start as usize],
        fix.replacement,
        &source[fix.span.end as usize..]
    );
    let found = messages(&text);
    let code = message.code.id;
    if text.contains(&format!(" {name}"))
        || found.iter().any(|it| it.code.id == code || it.code.id < "PC0100")
    {
        return Err(wrong("a change that mends nothing", &text, &found));
    }
    Ok(())
}
