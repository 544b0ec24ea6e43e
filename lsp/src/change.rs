//! What changes a text: renaming, formatting, mending, pinning.

use crate::{
    document::Document,
    hints::is_own,
    names::{Meaning, Occurrence},
    place::uri_of,
    text::Text,
    world::{self, World},
};
use compiler::{
    ast::{self, ExprKind, Formal, Stage, TypeKind},
    caches::Pin,
};
use driver::{Lock, lock::Chosen};
use lsp_types::{
    CodeAction, CodeActionKind, Command, Location, Position, Range, TextEdit, Uri, WorkspaceEdit,
};
use plan::{FileId, Span};
use serde_json::json;
use std::{collections::HashMap, path::Path};

/// The address of a file of the program.
fn uri(document: &Document, file: FileId) -> Uri {
    if file == FileId::default() {
        return Uri(document.uri.clone());
    }
    let path = document.analysis.loaded.files.get(usize::from(file.0)).map_or("", |it| &it.path);
    Uri(uri_of(Path::new(path)))
}

fn location(document: &Document, at: Span) -> Option<Location> {
    let text = document.analysis.text_of(at.file)?;
    Some(Location { uri: uri(document, at.file), range: text.range(at) })
}

/// Where the name at a byte is written.
pub(crate) fn definition(document: &Document, byte: u32) -> Option<Location> {
    let it = document.analysis.names.at(byte)?;
    match it.meaning {
        Meaning::Declared(at) | Meaning::Local(at) | Meaning::Field(Some(at)) => {
            location(document, at)
        }
        Meaning::Field(None) | Meaning::Library => None,
    }
}

/// Wherever the name at a byte stands.
pub(crate) fn references(document: &Document, byte: u32, declaration: bool) -> Vec<Location> {
    let Some(it) = document.analysis.names.at(byte) else { return Vec::new() };
    let declares = |it: &&Occurrence| match it.meaning {
        Meaning::Declared(at) | Meaning::Local(at) | Meaning::Field(Some(at)) => at == it.at,
        _ => false,
    };
    let all = document.analysis.names.like(it);
    let wanted = all.into_iter().filter(|it| declaration || !declares(it));
    wanted.filter_map(|it| location(document, it.at)).collect()
}

/// The name that would be renamed.
///
/// # Errors
/// It cannot be, and why.
pub(crate) fn renamed(document: &Document, byte: u32) -> Result<&Occurrence, String> {
    let it = document.analysis.names.at(byte).ok_or("no name here")?;
    match it.meaning {
        Meaning::Declared(_) | Meaning::Local(_) => Ok(it),
        Meaning::Library => Err(format!("`{}` belongs to the library", it.text)),
        Meaning::Field(_) => Err(format!(
            "`{}` is a field: consumers of the batches use this name, so change it by hand",
            it.text
        )),
    }
}

/// Gives the name at a byte another one, everywhere.
///
/// # Errors
/// It cannot be called so, and why.
pub(crate) fn rename(document: &Document, byte: u32, name: &str) -> Result<WorkspaceEdit, String> {
    let it = renamed(document, byte)?;
    let parsed = compiler::syntax::parse_value(name);
    if !parsed.is_some_and(|it| matches!(it.kind, ExprKind::Name(_)) && !it.bracketed) {
        return Err(format!("`{name}` is not a valid name"));
    }
    let all = document.analysis.names.like(it);
    let files: Vec<FileId> = all.iter().map(|it| it.at.file).collect();
    let taken = document.analysis.names.all.iter().find(|other| {
        other.text == name && files.contains(&other.at.file) && is_own(other.meaning)
    });
    if let Some(taken) = taken {
        let line = document.analysis.text_of(taken.at.file);
        let line = line.map_or(0, |it| it.position(taken.at.start as usize).line + 1);
        return Err(format!("`{name}` is already used in line {line}"));
    }
    let mut changes: HashMap<Uri, Vec<TextEdit>> = HashMap::new();
    for it in all {
        let Some(Location { uri, range }) = location(document, it.at) else { continue };
        // A bare entry keeps its field.
        let new_text = if it.bare { format!("{}: {name}", it.text) } else { name.to_owned() };
        changes.entry(uri).or_default().push(TextEdit { range, new_text });
    }
    Ok(WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() })
}

/// What puts the text into its one form; nothing where it cannot be read.
pub(crate) fn formatted(document: &Document) -> Vec<TextEdit> {
    let old = document.text.as_str();
    let Ok(new) = driver::format(old) else { return Vec::new() };
    if new == old {
        return Vec::new();
    }
    // Lines at both ends that stay are left alone, so that cursors and marks stay as well.
    let same = |(a, b): &(&str, &str)| a == b;
    let (a, b): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let head = a.iter().copied().zip(b.iter().copied()).take_while(same).count();
    let tail = a[head..].iter().rev().copied().zip(b[head..].iter().rev().copied());
    let tail = tail.take_while(same).count();
    let start: usize = a[..head].iter().map(|it| it.len()).sum();
    let end = old.len() - a[a.len() - tail..].iter().map(|it| it.len()).sum::<usize>();
    let range = Range { start: document.text.position(start), end: document.text.position(end) };
    vec![TextEdit { range, new_text: b[head..b.len() - tail].concat() }]
}

/// What can be done about `range`.
pub(crate) fn actions(document: &Document, range: Range, world: &World) -> Vec<CodeAction> {
    let at = document.text.span(range);
    let mut all = Vec::new();
    for it in document.diagnostics() {
        let shown = document.analysis.shown_at(it.span);
        if shown.start > at.end || shown.end < at.start {
            continue;
        }
        if let Some(fix) = it.fix.as_ref().filter(|it| it.span.file == FileId::default()) {
            let title = fix_title(fix.span.text(document.text.as_str()), &fix.replacement);
            all.push(edit(document, title, (fix.span, fix.replacement.clone()), true));
        }
        if it.code.name == "missing-argument" {
            all.extend(missing(document, it.span, world));
        }
        all.push(command(format!("Explain {}", it.code), ("pipec.story", vec![json!(it.code.id)])));
    }
    if let Some(step) = document.step_around(at.start) {
        let args = vec![json!(document.uri), json!(step.pipeline), json!(step.step)];
        all.push(command(format!("Explain this stage: `{}`", step.step), ("pipec.explain", args)));
        all.extend(pins(document, at.start));
    }
    all
}

fn fix_title(old: &str, new: &str) -> String {
    match (old.trim(), new.trim()) {
        ("", new) => format!("Write `{new}`"),
        (old, "") => format!("Remove `{old}`"),
        (old, new) => format!("Replace `{old}` with `{new}`"),
    }
}

fn edit(
    document: &Document,
    title: String,
    (at, new_text): (Span, String),
    is_preferred: bool,
) -> CodeAction {
    let edits = vec![TextEdit { range: document.text.range(at), new_text }];
    let changes = Some(HashMap::from([(Uri(document.uri.clone()), edits)]));
    CodeAction {
        title,
        kind: Some(CodeActionKind::QuickFix),
        is_preferred: Some(is_preferred),
        edit: Some(WorkspaceEdit { changes, ..WorkspaceEdit::default() }),
        ..CodeAction::default()
    }
}

fn command(title: String, (name, arguments): (&str, Vec<serde_json::Value>)) -> CodeAction {
    let command = Command {
        title: title.clone(),
        tooltip: None,
        command: name.to_owned(),
        arguments: Some(arguments),
    };
    CodeAction {
        title,
        kind: Some(CodeActionKind::Empty),
        command: Some(command),
        ..CodeAction::default()
    }
}

/// Adds the arguments that a call lacks.
fn missing(document: &Document, at: Span, world: &World) -> Option<CodeAction> {
    let (call, piped) = call_at(document.analysis.tree(), at)?;
    let declared =
        document.analysis.names.at(call.name.span.start).and_then(|it| match it.meaning {
            Meaning::Declared(at) => world::signature(document.analysis.declaration_named(at)?.0),
            _ => None,
        });
    let item = || world.item(&call.name.text, Some(piped)).and_then(|it| it.signature.clone());
    let formals = declared.or_else(item)?.formals;
    let given = usize::from(piped) + call.args.iter().filter(|it| it.name.is_none()).count();
    let is_named = |it: &Formal| {
        call.args.iter().any(|arg| arg.name.as_ref().is_some_and(|name| name.text == it.name.text))
    };
    let lacks = formals.iter().skip(given).filter(|it| !is_named(it));
    let lacks = lacks.filter(|it| it.default.is_none() && !it.optional);
    let written: Vec<String> =
        lacks.map(|it| format!("{}: {}", it.name.text, placeholder(it))).collect();
    let written = written.join(", ");
    let text = call.span.text(document.text.as_str());
    let (at, new) = match (text.strip_suffix(')'), call.args.is_empty()) {
        (Some(_), true) => (call.span.end - 1, written.clone()),
        (Some(_), false) => (call.span.end - 1, format!(", {written}")),
        (None, _) => (call.span.end, format!("({written})")),
    };
    let at = Span { start: at, end: at, ..call.span };
    (!written.is_empty()).then(|| edit(document, format!("Add `{written}`"), (at, new), true))
}

/// The call that stands at `at`, and whether its first argument stands left of it.
fn call_at(tree: &ast::File, at: Span) -> Option<(&ast::Call, bool)> {
    let mut found = None;
    crate::tree::each(tree, &mut |it| match &it.kind {
        ExprKind::Call(call) if call.span == at => found = Some((call, false)),
        ExprKind::Pipe { stage: Stage::Call(call), .. } if call.span == at => {
            found = Some((call, true));
        }
        _ => {}
    });
    found
}

/// Something of the type of a parameter, to be changed.
fn placeholder(formal: &Formal) -> String {
    let of_name = || formal.name.text.clone();
    match formal.type_.as_ref().map(|it| &it.kind) {
        Some(TypeKind::Words(words)) => words.first().map_or_else(of_name, |it| it.text.clone()),
        Some(TypeKind::Named { name, .. }) => match name.text.as_str() {
            "int" | "i64" | "i32" => "1".to_owned(),
            "float" | "number" | "f32" | "f64" => "0.5".to_owned(),
            "str" | "text" | "path" => "\"\"".to_owned(),
            "bool" => "true".to_owned(),
            "interval" => "0.0..1.0".to_owned(),
            _ => of_name(),
        },
        _ => of_name(),
    }
}

/// Pins what is kept of the step around a byte in the lock, or leaves it to the compiler again.
fn pins(document: &Document, byte: u32) -> Vec<CodeAction> {
    let Some(step) = document.step_around(byte) else { return Vec::new() };
    let path = Lock::path_of(&document.path);
    let Ok(lock) = Lock::read(&path) else { return Vec::new() };
    let lock = lock.unwrap_or_else(Lock::empty);
    let chosen = step.of.lock.clone().unwrap_or_else(|| step.of.plain.clone());
    let prefix = format!("{}.", step.step);
    let values = step.of.values.iter().filter(|it| it.starts_with(&prefix));
    let written = |title: String, chosen: Chosen| {
        let mut new = lock.clone();
        new.pipeline.insert(step.pipeline.to_owned(), chosen);
        lock_edit(title, &path, &new.text())
    };
    let mut all = Vec::new();
    for value in values {
        let is_kept = chosen.keep.iter().any(|it| it.value == *value);
        let is_forbidden = chosen.forbid.contains(value);
        let mut free = chosen.clone();
        free.keep.retain(|it| it.value != *value);
        free.forbid.retain(|it| it != value);
        let mut kept = free.clone();
        kept.keep.push(Pin::of(value));
        let mut forbidden = free.clone();
        forbidden.forbid.push(value.clone());
        if is_kept || is_forbidden {
            all.push(written(format!("Unpin `{value}` in the lock file"), free));
        }
        if !is_kept {
            all.push(written(format!("Pin in the lock file: cache `{value}`"), kept));
        }
        if !is_forbidden {
            all.push(written(format!("Pin in the lock file: never cache `{value}`"), forbidden));
        }
    }
    all
}

/// Writes a lock anew, whether or not it is there.
fn lock_edit(title: String, path: &Path, new: &str) -> CodeAction {
    let uri = uri_of(path);
    let old = driver::read_text(path).unwrap_or_default();
    let range = match old.is_empty() {
        true => Range { start: Position::default(), end: Position::default() },
        false => Text::new(old).whole(),
    };
    let create = json!({ "kind": "create", "uri": uri, "options": { "ignoreIfExists": true } });
    let change = json!({
        "textDocument": { "uri": uri, "version": null },
        "edits": [{ "range": range, "newText": new }],
    });
    let changes = serde_json::from_value(json!([create, change])).ok();
    CodeAction {
        title,
        kind: Some(CodeActionKind::Refactor),
        edit: Some(WorkspaceEdit { document_changes: changes, ..WorkspaceEdit::default() }),
        ..CodeAction::default()
    }
}
